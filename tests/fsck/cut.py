#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repairs that are cut: cut.py BIN PRELOAD [OPTION...] [PATTERN...]

Each repair runs once, recorded by tests/oracle/record_preload.c. From the record every state is made that a kill could
have left (each prefix, and prefixes whose last write is half done) and samples of what a power failure could have (of all
that was not synced some sectors, some names). On each of them xw-fsck -fy runs again. Then the image must be clean, hold
every file that the uninterrupted repair keeps, and stand alone: no redo file beside it.

Cases are those of cases.py, and with --corpus DIR the damaged images there. PATTERN: only cases that match.

    --every N       of the cases only each N-th
    --states N      of a case at most so many states of each kind
    --undo          with -z FILE; at the end e2undo must restore the image as it was
    --device        recorded on a loop device (root), so that the commit is through the journal where it serves; what is behind
                    the commit point stock e2fsck must finish as well
    --mount DIR     and of these the kernel some, mounted there (never images with inline data)
    --jobs N        so many at a time
    --keep DIR      states that fail are left there

Prints TAP, a case a line, and a sum of all states.
"""
import argparse
import fnmatch
import gzip
import hashlib
import io
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
SECTOR = 512
ENV = dict(os.environ, SOURCE_DATE_EPOCH="1700000000", E2FSCK_CONFIG="/dev/null", E2FSPROGS_SKIP_PROGRESS="yes",
           EXT2FS_NO_MTAB_OK="yes")
OPT = None


def through_journal():
    """A redo file has no place then: what changes a device goes through its journal."""
    ENV["EXTWRIGHT_STATE_DIR"] = os.environ["EXTWRIGHT_STATE_DIR"] = "/dev/null/none"


class Wrong(Exception):
    pass


# ---- sparse files ----

def pieces(fd):
    """(offset, bytes) of what may hold data, at most a MiB each."""
    at, end = 0, os.fstat(fd).st_size
    while at < end:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        hole = os.lseek(fd, at, os.SEEK_HOLE)
        while at < hole:
            data = os.pread(fd, min(hole - at, 1 << 20), at)
            if not data:
                return
            yield at, data
            at += len(data)


def copy(src, dst):
    with open(src, "rb") as i, open(dst, "wb") as o:
        for at, data in pieces(i.fileno()):
            if data.count(0) != len(data):
                os.pwrite(o.fileno(), data, at)
        o.truncate(os.fstat(i.fileno()).st_size)


def digest(path):
    h = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as f:
        h.update(b"%d" % os.fstat(f.fileno()).st_size)
        for at, data in pieces(f.fileno()):
            first = -at % 4096
            for k in ([0] if first else []) + list(range(first, len(data), 4096)):
                part = data[k:first if k < first else k + 4096]
                if part.count(0) != len(part):
                    h.update(b"%d" % (at + k))
                    h.update(part)
    return h.digest()


def unpack(gz, path):
    with gzip.open(gz, "rb") as i, open(path, "wb") as o:
        at = 0
        while True:
            data = i.read(1 << 16)
            if not data:
                break
            if data.count(0) != len(data):
                os.pwrite(o.fileno(), data, at)
            at += len(data)
        o.truncate(at)


# ---- the record ----

def read_record(path):
    ops = []
    with open(path, "rb") as f:
        while True:
            line = f.readline().decode().split()
            if not line:
                return ops
            kind, n = line[0], [int(x) for x in line[1:]]
            if kind == "W":
                ops.append((kind, n[0], n[1], f.read(n[2])))
            elif kind in "CN":
                ops.append((kind, n[0], os.path.basename(f.read(n[1]).decode())))
            elif kind == "R":
                a, b = f.read(n[0]).decode(), f.read(n[1]).decode()
                ops.append((kind, os.path.basename(a), os.path.basename(b)))
            elif kind == "U":
                ops.append((kind, os.path.basename(f.read(n[0]).decode())))
            else:
                ops.append((kind, *n))


class Files:
    """Files by inode number in a folder, and their names."""

    def __init__(self, folder):
        self.folder, self.names = folder, {}
        os.makedirs(folder, exist_ok=True)

    def path(self, ino):
        return os.path.join(self.folder, str(ino))

    def fd(self, ino):
        return os.open(self.path(ino), os.O_RDWR | os.O_CREAT)

    def do(self, op):
        kind = op[0]
        if kind in "WZT":
            fd = self.fd(op[1])
            if kind == "W":
                os.pwrite(fd, op[3], op[2])
            elif kind == "T":
                os.truncate(fd, op[2])
            else:
                for at, data in list(pieces(fd)):
                    first, end = max(at, op[2]), min(at + len(data), op[2] + op[3])
                    if end > first:
                        os.pwrite(fd, bytes(end - first), first)
            os.close(fd)
        elif kind == "C":
            open(self.path(op[1]), "ab").close()  # its contents may have been synced before its name
            self.names[op[2]] = op[1]
        elif kind == "N":
            self.names[op[2]] = op[1]
        elif kind == "R":
            if op[1] in self.names:
                self.names[op[2]] = self.names.pop(op[1])
        elif kind == "U":
            self.names.pop(op[1], None)

    def put(self, folder):
        """What a directory would hold."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, ino in self.names.items():
            if os.path.exists(self.path(ino)):
                copy(self.path(ino), os.path.join(folder, name))
            else:
                open(os.path.join(folder, name), "wb").close()


def halves(op):
    """A write half done, as a kill or a torn sector may leave it."""
    size = len(op[3])
    if size > SECTOR:
        yield op[:3] + (op[3][:size // 2 // SECTOR * SECTOR],)
        yield (op[0], op[1], op[2] + size - SECTOR, op[3][size - SECTOR:])
    else:
        yield op[:3] + (op[3][:size // 2],)


def some_sectors(op, rng):
    """Of a write the sectors that arrived."""
    out, data = [], op[3]
    mode = rng.random()
    for at in range(0, len(data), SECTOR):
        if mode < 0.3 or rng.random() < 0.5:
            out.append(op[:2] + (op[2] + at, data[at:at + SECTOR]))
    return out


def kill_states(ops, start):
    """(label, folder-less list of operations) for each prefix, and for torn ends."""
    for k in range(start, len(ops) + 1):
        yield "kill %d" % k, k, []
        if k < len(ops) and ops[k][0] == "W" and ops[k][3]:
            for n, half in enumerate(halves(ops[k])):
                yield "torn %d.%d" % (k, n), k, [half]


def power_states(ops, tries):
    """Before each sync: what was not synced has arrived in part. (label, k, durable operations, others)"""
    durable, waiting = [], []
    for k, op in enumerate(ops):
        if op[0] in "SD":
            for n in range(tries if waiting else 0):
                rng = random.Random(k * 1000 + n)
                extra = []
                for w in waiting if n else waiting[-1:]:
                    if rng.random() < 0.3 and n:
                        continue
                    extra += some_sectors(w, rng) if w[0] == "W" else [w]
                yield "power %d.%d" % (k, n), list(durable), extra
            synced = [w for w in waiting if (w[0] in "WZT" and op[0] == "S" and w[1] == op[1]) or
                      (w[0] in "CNRU" and op[0] == "D")]
            durable += synced
            waiting = [w for w in waiting if w not in synced]
        else:
            waiting.append(op)


# ---- judging ----

def call(*args, timeout=900, env=None):
    try:
        return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=env or ENV, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Wrong("%s: no end within %d s" % (" ".join(args), timeout)) from None


def tool(name, *args, env=None):
    return call(os.path.join(OPT.bin, name), *args, env=env)


def contents(raw, m):
    """A sum over the blocks of a member that are not zeros, wherever holes are."""
    h, at = hashlib.sha1(b"%d" % m.size), m.offset_data
    for off, size in m.sparse or [(0, m.size)]:
        for k in range(0, size, 4096):
            part = raw[at + k:at + min(k + 4096, size)]
            if part.count(0) != len(part):
                h.update(b"%d" % (off + k))
                h.update(part)
        at += size
    return h.hexdigest()


def listing(path):
    out = tool("xw-export", path)
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(out.stdout)) as tar:
            for m in tar:
                name = m.name.strip("./")
                if m.islnk():
                    found[name] = found.get(m.linkname.strip("./"))
                else:
                    found[name] = ("f" if m.isreg() else str(m.type), contents(out.stdout, m) if m.isreg() else "",
                                   m.linkname)
    except tarfile.TarError:
        return None
    return found


def first_lost(kept, now):
    """A file of the first that is not in the second, under lost+found neither."""
    moved = set(now.values())
    for name, what in kept.items():
        if now.get(name) == what:
            continue
        if name.startswith("lost+found") and what in moved:
            continue
        return name
    return None


def stock_finds(img):
    """What stock e2fsck finds; empty: nothing."""
    out = call("e2fsck", "-fn", img, timeout=None)
    return "%d %s" % (out.returncode, out.stdout.decode(errors="replace")[-300:]) if out.returncode else ""


class Judge:
    """What the uninterrupted repair has made, and images that were held against it."""

    def __init__(self, img, other):
        """other: the damaged image, to be repaired once more: what comes out different each time is held against nobody."""
        self.sum = digest(img)
        self.stock = OPT.device and stock_finds(img)
        self.status = tool("xw-fsck", "-fn", img).returncode
        self.again = tool("xw-fsck", "-fy", img).returncode
        self.kept = listing(img)
        self.known = {}
        tool("xw-fsck", "-fy", other)
        if self.kept and digest(other) != self.sum:
            twice = listing(other) or {}
            self.kept = {k: v for k, v in self.kept.items() if twice.get(k) == v}

    def look(self, img):
        key = digest(img)
        if key == self.sum:
            return None
        if key not in self.known:
            self.known[key] = self.hold(img)
        return self.known[key]

    def hold(self, img):
        out = tool("xw-fsck", "-fn", img, env=os.environ)  # times are those of the clock where others wrote
        if out.returncode not in (0, self.status):
            return "not clean: %d %s" % (out.returncode, (out.stdout + out.stderr).decode(errors="replace")[:400])
        now = listing(img)
        if self.kept is None:
            return None
        lost = "all" if now is None else first_lost(self.kept, now)
        return "lost: " + lost if lost is not None else None


class Case:
    def __init__(self, name, make):
        self.name, self.make = name, make

    def sampled(self, states):
        """All of these, or with --states a few of them, the ends included."""
        states = list(states)
        if not OPT.states or len(states) <= OPT.states:
            return states
        step = (len(states) - 1) / (OPT.states - 1)
        return [states[round(i * step)] for i in range(OPT.states)]

    def run(self, place):
        """(states, [what was wrong])"""
        work, rec = os.path.join(place, "w"), os.path.join(place, "rec")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(work)
        img = os.path.join(work, "img")
        self.make(img)
        old = os.path.join(place, "old")
        copy(img, old)
        self.record(work, img, rec)
        ops = read_record(rec)
        if not [op for op in ops if op[0] in "WZT" and op[1] in (0, self.ino)]:
            return 0, []
        done, other = os.path.join(place, "done"), os.path.join(place, "other")
        copy(img, done)
        copy(old, other)
        self.judge = Judge(done, other)
        if OPT.undo:
            self.check_undo(work, old)
        wrong, count = [], 0
        for label, files in self.states(place, old, ops):
            files.put(work)
            count += 1
            try:
                self.check(label, work, old)
            except Wrong as why:
                wrong.append("%s: %s" % (label, why))
                if OPT.keep:
                    files.put(os.path.join(OPT.keep, self.name.replace("/", "_") + " " + label))
        return count, wrong

    def record(self, work, img, rec):
        env = dict(ENV, LD_PRELOAD=OPT.preload, XW_RECORD_PATH=work, XW_RECORD_LOG=rec)
        args = [os.path.join(OPT.bin, "xw-fsck"), "-fy"] + (["-z", work + "/undo"] if OPT.undo else [])
        self.ino = os.stat(img).st_ino
        target = img
        if OPT.device:
            out = subprocess.run(["losetup", "--show", "-f", img], stdout=subprocess.PIPE, check=True)
            target = out.stdout.decode().strip()
        try:
            self.first = subprocess.run(args + [target], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=env, timeout=120, check=False).returncode
        finally:
            if OPT.device:
                subprocess.run(["losetup", "-d", target], check=True)
        if not os.path.exists(rec):
            open(rec, "wb").close()

    def states(self, place, old, ops):
        image = 0 if OPT.device else self.ino
        files = Files(os.path.join(place, "s"))
        shutil.rmtree(files.folder)

        def fresh(at=files):
            os.makedirs(at.folder, exist_ok=True)
            at.names = {"img": image}
            copy(old, at.path(image))
        fresh()
        done = 0
        for label, k, more in self.sampled(kill_states(ops, 1)):
            for op in ops[done:k]:
                files.do(op)
            done = k
            if not more:
                yield label, files
                continue
            kept = {op[1] for op in more if os.path.exists(files.path(op[1]))}
            for ino in kept:
                copy(files.path(ino), files.path(ino) + ".kept")
            for op in more:
                files.do(op)
            yield label, files
            for op in more:
                os.unlink(files.path(op[1]))
            for ino in kept:
                os.rename(files.path(ino) + ".kept", files.path(ino))
        shutil.rmtree(files.folder)
        durable, done = Files(os.path.join(place, "d")), 0
        fresh(durable)
        for label, synced, extra in self.sampled(power_states(ops, OPT.power)):
            for op in synced[done:]:
                durable.do(op)
            done = len(synced)
            files.names = dict(durable.names)
            shutil.rmtree(files.folder, ignore_errors=True)
            os.makedirs(files.folder)
            for ino in os.listdir(durable.folder):
                copy(durable.path(ino), files.path(ino))
            for op in extra:
                files.do(op)
            yield label, files
        shutil.rmtree(durable.folder)
        shutil.rmtree(files.folder, ignore_errors=True)

    def check(self, label, work, old):
        img, undo = os.path.join(work, "img"), os.path.join(work, "undo")
        if OPT.device and label.startswith("kill"):
            self.check_others(label, work, img)
        out = tool("xw-fsck", "-fy", *(["-z", undo] if OPT.undo else []), img)
        if out.returncode not in (0, 1, self.judge.again, self.first):
            raise Wrong("status %d: %s" % (out.returncode, (out.stdout[-300:] + out.stderr).decode(errors="replace")))
        left = set(os.listdir(work)) - {"img"} - ({"undo"} if OPT.undo else set())
        if left:
            raise Wrong("left behind: %s" % " ".join(sorted(left)))
        wrong = self.judge.look(img)
        if wrong:
            raise Wrong(wrong)
        if OPT.undo:
            self.check_undo(work, old)

    def check_undo(self, work, old):
        img, undo = os.path.join(work, "img"), os.path.join(work, "undo")
        if not os.path.exists(undo):
            if digest(img) != digest(old):
                raise Wrong("changed, and no undo file")
            return
        out = call("e2undo", undo, img)
        if out.returncode or digest(img) != digest(old):
            raise Wrong("e2undo: status %d %s" % (out.returncode, out.stderr.decode(errors="replace")[-300:]))

    def check_others(self, label, work, img):
        """Is the change decided? Then stock e2fsck and the kernel finish it, too."""
        if tool("xw-fsck", "-fn", img).returncode:
            return
        other = os.path.join(work, "other")
        copy(img, other)
        out = call("e2fsck", "-y", other, timeout=None)
        if out.returncode not in (0, 1):
            raise Wrong("stock e2fsck -y: %d %s" % (out.returncode, out.stdout.decode(errors="replace")[-300:]))
        self.check_other(other, "stock e2fsck")
        if OPT.mount and random.Random(self.name + label).random() < 0.25 and self.may_mount(img):
            copy(img, other)
            if subprocess.run(["mount", "-o", "loop,noinit_itable", other, OPT.mount], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                subprocess.run(["umount", OPT.mount], check=True)
                self.check_other(other, "a mount")
                OPT.mounted.value += 1
        os.unlink(other)
        OPT.stock.value += 1

    def check_other(self, other, who):
        found = stock_finds(other)
        if found and not self.judge.stock:
            raise Wrong("after %s, e2fsck -fn: %s" % (who, found))
        wrong = self.judge.hold(other)
        if wrong:
            raise Wrong("after %s: %s" % (who, wrong))

    @staticmethod
    def may_mount(img):
        with open(img, "rb") as f:
            f.seek(1024 + 96)
            incompat = int.from_bytes(f.read(4), "little")
            f.seek(1024 + 100)
            ro = int.from_bytes(f.read(4), "little")
        # not: inline_data, encrypt, casefold, ea_inode; quota, verity and what xw tools alone know
        return not incompat & ~0x22C6 and not ro & ~0x47B


def own_cases():
    import run  # which takes BIN from the command line, as this does
    import cases
    bases = {}

    def maker(case):
        def make(path):
            img = run.Image(bases[case.base].b)
            case.damage(img)
            with open(path, "wb") as f:
                f.write(img.b)
        return make
    out = []
    for case in cases.ALL:
        if case.left or case.reads or case.options:
            continue
        if case.base not in bases:
            bases[case.base], why = run.make_base(case.base, cases.BASES[case.base])
            if not bases[case.base]:
                sys.exit("%s: no image: %s" % (case.base, why))
        out.append(Case(case.name, maker(case)))
    return out


def corpus_cases(folder):
    def maker(name):
        return lambda path: unpack(os.path.join(folder, name, "image.gz"), path)
    return [Case(name, maker(name)) for name in sorted(os.listdir(folder))
            if os.path.exists(os.path.join(folder, name, "image.gz"))]


CASES = []


def one(n):
    case = CASES[n]
    place = os.path.join(OPT.place, str(n))
    try:
        count, wrong = case.run(place)
    except Wrong as why:
        count, wrong = 1, [str(why)]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return case.name, count, wrong


def main():
    global OPT
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("bin")
    ap.add_argument("preload")
    ap.add_argument("--corpus")
    ap.add_argument("--every", type=int, default=1)
    ap.add_argument("--states", type=int, default=0)
    ap.add_argument("--power", type=int, default=6)
    ap.add_argument("--undo", action="store_true")
    ap.add_argument("--device", action="store_true")
    ap.add_argument("--mount")
    ap.add_argument("--jobs", type=int, default=1)
    ap.add_argument("--keep")
    ap.add_argument("patterns", nargs="*")
    OPT = ap.parse_intermixed_args()
    if OPT.device:
        through_journal()
    OPT.stock, OPT.mounted = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
    OPT.place = tempfile.mkdtemp(prefix="cut.", dir=os.getcwd())
    cases = corpus_cases(OPT.corpus) if OPT.corpus else own_cases()
    for pattern in OPT.patterns:
        if not any(fnmatch.fnmatch(c.name, pattern) for c in cases):
            sys.exit("no case matches " + pattern)
    cases = [c for c in cases if not OPT.patterns or any(fnmatch.fnmatch(c.name, p) for p in OPT.patterns)][::OPT.every]
    CASES.extend(cases)
    states = bad = n = 0
    with multiprocessing.get_context("fork").Pool(OPT.jobs) as pool:
        for name, count, wrong in pool.imap(one, range(len(CASES))) if OPT.jobs > 1 else map(one, range(len(CASES))):
            n, states, bad = n + 1, states + count, bad + len(wrong)
            print("%s %d - %s: %d states%s" % ("not ok" if wrong else "ok", n, name, count,
                                               ", %d wrong" % len(wrong) if wrong else ""))
            for line in wrong[:4]:
                print("".join("# %s\n" % part for part in line.splitlines()), end="")
            sys.stdout.flush()
    shutil.rmtree(OPT.place, ignore_errors=True)
    print("# %d cases, %d states, %d wrong; %d finished by stock e2fsck, %d by a mount" %
          (n, states, bad, OPT.stock.value, OPT.mounted.value))
    print("1..%d" % n)
    sys.exit(1 if bad or not states else 0)


if __name__ == "__main__":
    main()
