#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cases of damage for xw-fsck: run.py BIN FINDINGS [--record | PATTERN...]

BIN is where the tools are, FINDINGS a file with the names of all findings; with PATTERN only cases that match are run.
Every case damages an image that xw-mkfs has made. xw-fsck -fn must find what the case names, -fy repair it, and a
second -fn find nothing; stock e2fsck, where it is installed, nothing either; and contents are kept but for what the
case says. Both must find all that found.txt lists, and nothing else. Prints TAP. At the end every finding must have
had a case.
"""
import fnmatch
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import dirs  # noqa: E402, F401  pylint: disable=unused-import
import found  # noqa: E402
import journal  # noqa: E402, F401  pylint: disable=unused-import
import kinds  # noqa: E402, F401  pylint: disable=unused-import
import maps  # noqa: E402, F401  pylint: disable=unused-import
import modes  # noqa: E402, F401  pylint: disable=unused-import
import owners  # noqa: E402, F401  pylint: disable=unused-import
import rare  # noqa: E402, F401  pylint: disable=unused-import
import seeded  # noqa: E402, F401  pylint: disable=unused-import
import trees  # noqa: E402, F401  pylint: disable=unused-import
from image import FL_ITREE, RO_ITREE, Image  # noqa: E402

BIN = sys.argv[1]
ENV = dict(os.environ, SOURCE_DATE_EPOCH="1700000000", MKE2FS_CONFIG="")
E2FSCK = shutil.which("e2fsck")
JUDGED = [0]  # images that stock e2fsck has looked at
RECORD = sys.argv[3:] == ["--record"]
FOUND = {} if RECORD else found.read()
SEEN = {}  # what found.txt would be


class Failed(Exception):
    pass


def tool(name, *args, stdin=None):
    return subprocess.run([os.path.join(BIN, name), *args], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=ENV, timeout=300, check=False)


BIG = bytes((i * 7 + i // 251) % 256 for i in range(300000))


LARGEST = 1 << 20  # bytes, of a file in an image before the damage


@functools.lru_cache(maxsize=None)
def source(base):
    """What the images hold, as a tar archive: it has devices and attributes whoever makes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name, kind=tarfile.REGTYPE, data=b"", xattrs=None, **fields):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.mtime, info.mode = kind, len(data), 1600000000, 0o755
            for key, value in fields.items():
                setattr(info, key, value)
            info.pax_headers = {"SCHILY.xattr." + k: v for k, v in (xattrs or {}).items()}
            tar.addfile(info, io.BytesIO(data))
        add("small", data=b"hello\n")
        add("file", data=b"".join(b"line %d\n" % i for i in range(2000)))
        add("big", data=BIG)
        add("attrs", data=b"attributes\n" * 20, xattrs={"user.color": "blue", "user.long": "x" * 600})
        add("attrs2", data=b"attributes\n" * 21, xattrs={"user.color": "blue", "user.long": "x" * 600})
        add("link", kind=tarfile.SYMTYPE, linkname="small")
        add("longlink", kind=tarfile.SYMTYPE, linkname="t" * 100)
        add("hard", kind=tarfile.LNKTYPE, linkname="small")
        add("fifo", kind=tarfile.FIFOTYPE)
        add("dev", kind=tarfile.CHRTYPE, devmajor=1, devminor=3)
        add("sub", kind=tarfile.DIRTYPE)
        add("sub/deep", kind=tarfile.DIRTYPE)
        add("sub/deep/inner", data=b"inner\n" * 400)
        add("empty", kind=tarfile.DIRTYPE)
        add("many", kind=tarfile.DIRTYPE)
        for i in range(150):
            add("many/name-%03d-of-a-file" % i, data=b"%d\n" % i)
        if base.startswith("ea"):
            add("bigattr", data=b"value inodes\n", xattrs={"user.big": "y" * 5000})
        if base == "ea files":
            add("both", data=b"".join(b"line %d\n" % i for i in range(3000)), xattrs={"user.big": "z" * 5000})
        if base == "names":
            add("names", kind=tarfile.DIRTYPE)
            for i in range(6000):
                add("names/a-longer-name-of-a-link-%04d" % i, kind=tarfile.LNKTYPE, linkname="small")
    return out.getvalue()


def holes():
    """What a file has whose extents do not fit in the inode."""
    return [(i * 20480, b"piece %d\n" % i * 100) for i in range(8)]


def make_base(name, options):
    path, archive = "base-" + name, "source.tar"
    with open(archive, "wb") as f:
        f.write(source(name if name.startswith("ea") or name == "names" else "others"))
    made = tool("xw-mkfs", "-q", "-F", "-b", "1024", "-U", "01234567-89ab-cdef-0123-456789abcdef",
                "-E", "hash_seed=01234567-89ab-cdef-0123-456789abcdef", *options, "-d", archive, path,
                "20M" if "65536" in options else "10M")
    if made.returncode:
        return None, made.stderr.decode(errors="replace").strip()
    with open("pieces", "wb") as f:
        for at, data in holes():
            f.seek(at)
            f.write(data)
    tool("xw-debugfs", "-w", "-R", "write pieces pieces", path)
    return Image(open(path, "rb").read()), None


def export(path):
    """The image as a tar archive."""
    with open("export.tar", "w+b") as archive:  # hundreds of KiB, for which a pipe would be slow
        out = subprocess.run([os.path.join(BIN, "xw-export"), path], stdin=subprocess.DEVNULL, stdout=archive,
                             stderr=subprocess.PIPE, env=ENV, timeout=300, check=False)
        archive.seek(0)
        data = archive.read()
    if out.returncode not in (0, 1) or not data:
        raise Failed("xw-export: " + out.stderr.decode(errors="replace"))
    return data


def contents(archive, attributes=True):
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for m in tar:
            # A damaged size may be gigabytes of a hole; no file that is kept is that large.
            data = tar.extractfile(m).read() if m.isreg() and m.size <= LARGEST else b"size %d" % m.size
            kind = "file" if m.isreg() or m.islnk() else str(m.type)
            if m.islnk():
                found[m.name.strip("./")] = found.get(m.linkname.strip("./"))
            else:
                named = sorted((k, v) for k, v in m.pax_headers.items() if k.startswith("SCHILY.xattr."))
                found[m.name.strip("./")] = (kind, hashlib.sha1(data).hexdigest(), m.linkname, *named * attributes)
    return found


BUFFER = bytearray()  # of the image that the last case damaged
PRELOAD = os.path.join(BIN, "bad_preload.so")


def has_bad_media():
    """Can reads be made to fail? Not where a sanitizer must be loaded first."""
    libs = subprocess.run(["ldd", os.path.join(BIN, "xw-fsck")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False).stdout
    return os.path.exists(PRELOAD) and b"libasan" not in libs


def on_bad_medium(blocks, size):
    """Until off_bad_medium(): these blocks cannot be read before they are written."""
    ENV.update(LD_PRELOAD=PRELOAD, XW_BAD_HEAL="1", XW_BAD_SIZE=str(size),
               XW_BAD_BLOCKS=",".join(str(blk) for blk in blocks))


def off_bad_medium():
    for name in ("LD_PRELOAD", "XW_BAD_HEAL", "XW_BAD_SIZE", "XW_BAD_BLOCKS"):
        ENV.pop(name, None)


def fsck(*args):
    out = tool("xw-fsck", *args)
    lines = [json.loads(line) for line in out.stdout.decode(errors="replace").splitlines()]
    return out.returncode, lines, out.stderr.decode(errors="replace")


def names(lines):
    """Of all findings; one that is told for a range counts for each of its inodes."""
    return [line["id"] for line in lines if "id" in line for _ in range(line.get("count", 1))]


def stock_is_content(path):
    if not E2FSCK:
        return
    out = subprocess.run([E2FSCK, "-fn", path], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env=ENV, check=False)
    JUDGED[0] += 1
    text = out.stdout.decode(errors="replace")
    asked = [line for line in text.splitlines() if line.endswith("? no") and "Optimize" not in line]
    if out.returncode or asked:
        raise Failed("stock e2fsck -fn: status %d\n%s" % (out.returncode, text))


def keeps_itree(path):
    """A repair may rebuild the itree of a directory; that is no reason to have none."""
    after = Image(open(path, "rb").read())
    many = after.lookup("many")
    if not after.inode(many, "flags") & FL_ITREE or not after.sb("feature_ro_compat") & RO_ITREE:
        raise Failed("the directory `many` has lost its itree")


def expect_all(case, how, status, lines):
    """Nothing but what found.txt lists is found."""
    later = lines[-1].get("later", 0) if lines else 0
    SEEN.setdefault(case.name, {})[how] = (status, names(lines), later)
    line, wanted = found.told(*SEEN[case.name][how]), FOUND.get(case.name, {}).get(how)
    if not RECORD and line != wanted:
        raise Failed("%s found: %s\nfound.txt: %s" % (how, line, wanted))


def preen(case):
    """Repaired by -p, which ends with 4 where somebody must look at it."""
    status, lines, err = fsck("-fp", "--json", "case.img")
    if status not in (0, 1) or not set(case.findings) <= set(names(lines)):
        raise Failed("-fp found %s, status %d\n%s" % (names(lines), status, err))
    status, lines, err = fsck("-fn", "--json", "case.img")
    if status or names(lines):
        raise Failed("-fp has left %s, status %d\n%s" % (names(lines), status, err))


def check(case, base, kept, archive):
    global BUFFER  # pylint: disable=global-statement
    img = Image(base.b, BUFFER)
    BUFFER = img.b
    case.damage(img)
    img.save("case.img")
    if case.preen:
        preen(case)
        img.save("case.img")
    if img.unreadable:
        on_bad_medium(img.unreadable, img.bs)
    status, lines, err = fsck("-fn", "--json", *case.options, "case.img")
    if not case.late and not set(case.findings) <= set(names(lines)):
        raise Failed("-fn found %s, status %d\n%s" % (sorted(set(names(lines))), status, err))
    if case.only and set(names(lines)) != set(case.findings):
        raise Failed("-fn found %s besides" % sorted(set(names(lines)) - set(case.findings)))
    expect_all(case, "-fn", status, lines)
    wanted = names(lines)
    if status & 8 and not case.left and not case.reads:
        raise Failed("-fn: status %d\n%s" % (status, err))
    status, lines, err = fsck("-fy", "--json", *case.options, "case.img")
    off_bad_medium()
    if (case.late or case.left) and not set(case.findings) <= set(names(lines)):
        raise Failed("-fy found %s, status %d\n%s" % (sorted(set(names(lines))), status, err))
    if case.first and (names(lines) != wanted or lines[-1]["later"]):
        raise Failed("-fy found %s, %d later; -fn %s" % (names(lines), lines[-1]["later"], wanted))
    expect_all(case, "-fy", status, lines)
    if case.reads and status & 8:
        return  # nothing is repaired where something cannot be read
    if case.left:
        if not status & (4 if case.left is True else case.left):
            raise Failed("-fy: status %d, nothing is left" % status)
        return
    if status not in ((0, 1) if case.note else (1,)):
        raise Failed("-fy: status %d, %s\n%s" % (status, lines[-1:], err))
    status, lines, err = fsck("-fn", "--json", *case.options, "case.img")
    if status or names(lines):
        raise Failed("again: status %d, found %s\n%s\n%s" % (status, sorted(set(names(lines))), lines[:3], err))
    if case.stock:
        stock_is_content("case.img")
    if case.base == "itree" and not case.options:
        keeps_itree("case.img")
    archive_after = export("case.img")
    if archive_after == archive:
        return  # the same contents: nothing is lost
    after = contents(archive_after, case.named)
    saved = set(v for k, v in after.items() if not case.named and (k.startswith("lost+found/") or case.moved))
    for name, what in kept.items():
        what = what if case.named or not what else what[:3]
        if after.get(name) != what and what not in saved and \
                not any(fnmatch.fnmatch(name, p) for p in case.lost):
            raise Failed("lost: %s (%s, now %s)" % (name, what, after.get(name)))


def main():
    known = set(open(sys.argv[2]).read().split())
    patterns = [] if RECORD else sys.argv[3:]
    bases, made, skipped, count = {}, set(), set(), 0
    for case in cases.ALL:
        if patterns and not any(fnmatch.fnmatch(case.name, p) for p in patterns):
            continue
        count += 1
        made.update(case.findings)
        missing = set(case.findings) - known
        if missing:
            print("not ok %d - %s: no finding %s" % (count, case.name, ", ".join(sorted(missing))))
            continue
        if case.base not in bases:
            img, why = make_base(case.base, cases.BASES[case.base])
            archive = export("base-" + case.base) if img else b""
            bases[case.base] = (img, why if not img else contents(archive), archive)
        base, kept, archive = bases[case.base]
        if not base:
            print("not ok %d - %s: no image: %s" % (count, case.name, kept))
            continue
        if case.reads and not has_bad_media():
            skipped.add(case.name)
            print("ok %d - %s # SKIP no preload library, or a sanitizer" % (count, case.name))
            continue
        try:
            check(case, base, kept, archive)
            print("ok %d - %s" % (count, case.name))
        except (Failed, subprocess.TimeoutExpired) as why:
            print("not ok %d - %s%s" % (count, case.name, " # TODO " + case.todo if case.todo else ""))
            print("".join("# %s\n" % line for line in str(why).splitlines()[:12]), end="")
        except Exception:  # a fault of the case itself
            print("not ok %d - %s" % (count, case.name))
            print("".join("# %s\n" % line for line in traceback.format_exc().splitlines()[-6:]), end="")
        off_bad_medium()
        sys.stdout.flush()
    if RECORD:
        found.write(SEEN.items())
    elif not patterns:
        count += 1
        print("%s %d - found.txt has no cases but these" % ("not ok" if set(FOUND) - set(SEEN) - skipped else "ok", count))
    if not patterns:
        count += 1
        missing = sorted(known - made)
        print("%s %d - every finding has a case" % ("not ok" if missing or not known else "ok", count))
        if missing:
            print("# findings without a case: " + " ".join(missing))
        count += 1
        if E2FSCK:
            print("%s %d - stock e2fsck checked %d repaired images" % ("ok" if JUDGED[0] else "not ok", count, JUDGED[0]))
        else:
            print("ok %d - stock e2fsck checks repaired images # SKIP e2fsck is not installed" % count)
    if not count:
        count = 1
        print("not ok 1 - no case matches " + " ".join(patterns))
    print("1..%d" % count)


if __name__ == "__main__":
    main()
