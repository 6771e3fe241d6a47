#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fsck_seeds.py BIN [-n] [-s FIRST-LAST] [-b PATTERN] [-k FILE] [IMAGE...]: xw-fsck -fy on images damaged at random.

Base images are made by xw-mkfs, one a kind of filesystem (those whose names match PATTERN), unless IMAGEs are given.
damage.py changes them, every second seed with checksums made right again. After ONE run stock e2fsck -fn, where it is
installed, and a second run must find nothing (images with itrees are shown to e2fsck after -O ^itree); how many files
are kept is told by their contents. No run may crash or take more than 20 seconds. Every failure is printed, with the
seed that makes it again; then a line a base image, and at the end the sums. Exit status 1 where fewer than
97 % are clean (95 % with many small groups), fewer than 98 % of the files kept, or one run crashed or hung.

XW_ACCEPT=DIR: corrupt.py and ext4lib.py in DIR damage and read the images, instead of damage.py and xw-export.
"""
import argparse
import collections
import fnmatch
import hashlib
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile

KIT = os.path.dirname(os.path.abspath(__file__))
ACCEPT = os.environ.get("XW_ACCEPT")
STOCK = shutil.which("e2fsck", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
LIMIT = 900  # seconds: what hangs, not what is slow on a loaded machine
MOST = 64 << 20  # bytes of a file that are compared
BASES = {
    "ext2": ["-t", "ext2", "-b", "1024"],
    "ext3": ["-t", "ext3", "-b", "1024"],
    "ext4-1k": ["-t", "ext4", "-b", "1024"],
    "ext4-4k": ["-t", "ext4", "-b", "4096"],
    "nocsum": ["-t", "ext4", "-b", "1024", "-O", "^metadata_csum"],
    "inline": ["-t", "ext4", "-b", "1024", "-O", "inline_data"],
    "quota": ["-t", "ext4", "-b", "1024", "-O", "quota,orphan_file"],
    "bigalloc": ["-t", "ext4", "-b", "1024", "-O", "bigalloc", "-C", "8192"],
    "ea_inode": ["-t", "ext4", "-b", "1024", "-O", "ea_inode"],
    "meta_bg": ["-t", "ext4", "-b", "1024", "-O", "meta_bg,^resize_inode", "-g", "1024"],
    "casefold": ["-t", "ext4", "-b", "1024", "-O", "casefold", "-E", "encoding=utf8"],
    "itree": ["-t", "ext4", "-b", "1024", "-O", "itree"],
    "groups": ["-t", "ext4", "-b", "1024", "-g", "4096"],
}


def contents(kind):
    """A tar archive with a bit of everything. What is random is so by the kind alone."""
    r, out = random.Random("contents " + kind), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name, data=b"", kind=tarfile.REGTYPE, xattrs=None, link=""):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.mtime, info.mode, info.linkname = kind, len(data), 1600000000, 0o755, link
            info.pax_headers = {"SCHILY.xattr." + k: v for k, v in (xattrs or {}).items()}
            tar.addfile(info, io.BytesIO(data))
        for d in ("many", "docs", "docs/deep", "docs/deep/er", "attrs", "empty"):
            add(d, kind=tarfile.DIRTYPE)
        for i in range(700):
            add("many/a-name-that-fills-blocks-%03d" % i, b"%d\n" % i * (i % 3))
        for i in range(120):
            d = r.choice(("docs", "docs/deep", "docs/deep/er"))
            add("%s/file-%d" % (d, i), r.randbytes(r.choice((10, 300, 1500, 9000, 40000))))
        for i in range(40):
            add("attrs/f%d" % i, b"attributes %d\n" % i,
                xattrs={"user.n": "v%d" % i, "user.long": chr(97 + i % 4) * 700})
        if kind == "ea_inode":
            for i in range(6):
                add("attrs/big%d" % i, b"big %d\n" % i, xattrs={"user.big": chr(97 + i % 3) * 5000})
        for i in range(20):
            add("docs/hard-%d" % i, kind=tarfile.LNKTYPE, link="many/a-name-that-fills-blocks-%03d" % (i * 7))
            add("docs/link-%d" % i, kind=tarfile.SYMTYPE, link="t" * (10 * i + 1))
        add("docs/fifo", kind=tarfile.FIFOTYPE)
        add("docs/null", kind=tarfile.CHRTYPE)
    return out.getvalue()


class Seeds:
    def __init__(self, bin_dir, keep):
        self.bin, self.keep = bin_dir, keep
        if ACCEPT:
            sys.path.insert(0, ACCEPT)

    def run(self, program, *args):
        """Status and output; the status of a run that takes too long is None. The stock tool has a time limit of its own."""
        try:
            done = subprocess.run([program, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=None if program == STOCK else LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return None, b""
        return done.returncode, done.stdout

    def tool(self, name, *args):
        return self.run(os.path.join(self.bin, name), *args)

    def make(self, kind):
        with open("source.tar", "wb") as f:
            f.write(contents(kind))
        status, said = self.tool("xw-mkfs", "-q", "-F", *BASES[kind], "-N", "2048", "-d", "source.tar", "base", "24M")
        if status:
            sys.exit("%s: %s" % (kind, said.decode()))
        # Pieces far apart, so that a map needs blocks of its own.
        with open("pieces", "wb") as f:
            for i in range(40):
                f.seek(i * 20480)
                f.write(b"piece %d\n" % i * 100)
        self.tool("xw-debugfs", "-w", "-R", "write pieces docs/pieces", "base")

    def damage(self, base, seed, fix):
        if ACCEPT:
            import corrupt  # pylint: disable=import-outside-toplevel,import-error
            shutil.copyfile(base, "hurt")
            return "\n".join(corrupt.corrupt("hurt", seed, None, fix))
        # What the seed does not damage, one of its followers does.
        for more in range(0, 10**9, 10**8):
            status, said = self.run(sys.executable, os.path.join(KIT, "damage.py"), base, "hurt", str(seed + more),
                                    *["--fix-csums"] * fix)
            if status == 0:
                return said.decode()
        sys.exit("seed %d damages nothing" % seed)

    def files(self, image):
        """How often there is a file of which contents."""
        if ACCEPT:
            import ext4lib  # pylint: disable=import-outside-toplevel,import-error
            try:
                fs = ext4lib.FS(image)
                found = collections.Counter((size, sha) for _, kind, size, sha in fs.walk() if kind == "f")
                fs.close()
                return found
            except Exception:  # pylint: disable=broad-except
                return collections.Counter()
        self.tool("xw-export", "-q", "-o", "got.tar", image)
        found, known = collections.Counter(), {}
        try:
            with tarfile.open("got.tar") as tar:
                for m in tar:
                    if m.isreg():
                        # A damaged size may be huge, and holes are read as zeros: the beginning is enough.
                        known[m.name] = m.size, hashlib.sha1(tar.extractfile(m).read(MOST)).digest()
                    if m.isreg() or m.islnk():
                        found[known[m.name if m.isreg() else m.linkname]] += 1
        except (OSError, KeyError, tarfile.TarError):
            pass
        return found

    def judge(self, itree):
        """Why the repaired image is not clean, or nothing."""
        status, said = self.tool("xw-fsck", "-fy", "hurt")
        if status != 0:
            return "second run: status %s\n%s" % (status, said.decode(errors="replace"))
        if not STOCK:
            return ""
        if itree:
            self.tool("xw-tune", "-q", "-O", "^itree", "hurt")
        status, said = self.run(STOCK, "-fn", "hurt")
        return "e2fsck -fn: status %s\n%s" % (status, said.decode(errors="replace")) if status else ""

    def seeds(self, name, base, first, last):
        """Damages, repairs and judges: how many were clean, files kept, files there were, and runs that went wrong."""
        itree, want = name == "itree", self.files(base)
        clean = kept = there = wrong = 0
        for seed in range(first, last + 1):
            how = self.damage(base, seed, seed % 2)
            if self.keep:
                shutil.copyfile("hurt", self.keep)
            status, said = self.tool("xw-fsck", "-fy", "hurt")
            why = ""
            if status is None or status < 0 or status >= 64:
                wrong += 1
                why = "status %s\n%s" % (status, said.decode(errors="replace"))
            why = why or self.judge(itree)
            left = sum((want & self.files("hurt")).values())
            clean, kept, there = clean + (not why), kept + left, there + sum(want.values())
            if why or left < sum(want.values()):
                print("%s seed %d: kept %d of %d%s" % (name, seed, left, sum(want.values()), ", NOT CLEAN" * bool(why)))
                print("  " + (how + "\n" + "\n".join(why.splitlines()[:30])).strip().replace("\n", "\n  "), flush=True)
        n = last - first + 1
        print("%s: %d of %d clean, %.2f %% of files kept, %d went wrong" % (name, clean, n, 100 * kept / there, wrong),
              flush=True)
        return name, n, clean, kept, there, wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("images", nargs="*")
    p.add_argument("-s", "--seeds", default="1-200")
    p.add_argument("-b", "--bases", default="*")
    p.add_argument("-n", "--sample", action="store_true",
                   help="too few for percentages: nothing but runs that went wrong fails")
    p.add_argument("-k", "--keep", help="a file that the last damaged image is copied to, before the repair")
    a = p.parse_args()
    first, _, last = a.seeds.partition("-")
    images = [os.path.abspath(i) for i in a.images]
    s, results = Seeds(os.path.abspath(a.bin), a.keep and os.path.abspath(a.keep)), []
    os.environ.update(SOURCE_DATE_EPOCH="1700000000", MKE2FS_CONFIG="", LC_ALL="C")
    with tempfile.TemporaryDirectory(prefix="fsck-seeds.") as work:
        os.chdir(work)
        for image in images:
            results.append(s.seeds(os.path.basename(image), image, int(first), int(last or first)))
        for kind in fnmatch.filter(BASES, a.bases) if not images else []:
            s.make(kind)
            results.append(s.seeds(kind, "base", int(first), int(last or first)))
        os.chdir("/")
    bad = 0
    for small in (False, True):
        of = [x[1:] for x in results if (x[0] == "groups") == small]
        n, clean, kept, there, wrong = (sum(x) for x in zip(*of)) if of else (0,) * 5
        if n:
            print("%s: %d of %d clean (%.1f %%), %.2f %% of files kept, %d went wrong" % (
                "many small groups" if small else "all", clean, n, 100 * clean / n, 100 * kept / there, wrong))
            few = clean < (0.95 if small else 0.97) * n or kept < 0.98 * there
            bad |= wrong > 0 or (few and not a.sample)
    if not results or not all(x[1] > 0 for x in results):
        sys.exit("nothing was tried: no base matches %s, or there are no seeds in %s" % (a.bases, a.seeds))
    sys.exit(bad)


main()
