# SPDX-License-Identifier: MIT
"""The rows of tests/bench/growth register here; helpers that make their inputs in the current folder."""
import os
import struct
import subprocess
import tarfile

import record

CASES = []


def case(name, *tools, first=1000, last=1 << 19):
    """Registers a function that makes the input of size n in the current folder and returns the command to measure."""
    def register(make):
        CASES.extend((name + (": " + t if t else ""), lambda n, t=t: make(n, t), first, last) for t in tools or ("",))
        return make
    return register


def run(*argv, ok=(0,)):
    p = subprocess.run([record.tool(argv[0]), *argv[1:]] if argv[0].startswith("xw-") else argv, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=record.tool_env(), check=False)
    if p.returncode not in ok:
        raise RuntimeError("%s: status %d: %s" % (argv[0], p.returncode, p.stdout.decode(errors="replace").strip()[-300:]))
    return p.stdout.decode(errors="replace")


class Tar:
    """An archive of what add() is called for. pax: records of the entry. tarfile is slow, and only used for the rare forms."""

    def __init__(self, path="in.tar"):
        self.f = open(path, "wb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.f.write(bytes(1024))
        self.f.close()

    def add(self, name, kind=tarfile.REGTYPE, link="", data=b"", pax=None, uid=0):
        n, l, size = name.encode("utf-8", "surrogateescape"), link.encode(), b"%011o" % len(data)
        if pax or len(n) > 99 or len(l) > 99:
            i = tarfile.TarInfo(name)
            i.type, i.linkname, i.size, i.pax_headers = kind, link, len(data), pax or {}
            self.f.write(i.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT))
        else:
            modes = b"0000644\0%07o\0" % uid + b"0000000\0"
            sums = sum(n) + sum(l) + sum(size) + kind[0] + sum(modes) + sum(MTIME) + 8 * 32 + sum(MAGIC)
            self.f.write(b"".join((n.ljust(100, b"\0"), modes, size, b"\0", MTIME, b"%06o\0 " % sums, kind, l.ljust(100, b"\0"), MAGIC, bytes(247))))
        self.f.write(data + bytes(-len(data) % 512))


MTIME, MAGIC = b"00000000000\0", b"ustar  \0"


def files(n, path="in.tar", name="f%d", data=b""):
    with Tar(path) as t:
        for i in range(n):
            t.add(name % i, data=data)


def image(*more, source="in.tar", options=()):
    run("xw-mkfs", "-q", "--replace", *options, "-d", source, "o.img", *more)


def cpio(path, entries):
    """newc: (name, inode, links) for each empty file."""
    with open(path, "wb") as f:
        for name, ino, links in list(entries) + [("TRAILER!!!", 0, 1)]:
            b = name.encode() + b"\0"
            head = b"070701" + b"".join(b"%08X" % v for v in (ino, 0o100644, 0, 0, links, 0, 0, 0, 0, 0, 0, len(b), 0)) + b
            f.write(head + bytes(-len(head) % 4))


def reader(tool):
    """The command that reads o.img."""
    os.mkdir("out")
    return {"xw-export": ["xw-export", "-q", "-o", "/dev/null", "o.img"], "xw-export -x": ["xw-export", "-q", "-x", "out", "o.img"],
            "xw-export --list": ["xw-export", "--list", "o.img"], "xw-fsck -fn": ["xw-fsck", "-fn", "o.img"],
            "xw-fsck -fy": ["xw-fsck", "-fy", "o.img"],
            "xw-debugfs rdump": ["xw-debugfs", "-R", "rdump / out", "o.img"]}[tool]


MAKERS = ("xw-mkfs", "xw-import")
READERS = ("xw-export", "xw-export --list", "xw-export -x", "xw-fsck -fn", "xw-debugfs rdump")


def source_of(tool, source="in.tar", options=()):
    if tool == "xw-mkfs":
        return ["xw-mkfs", "-q", "--replace", *options, "-d", source, "o.img"]
    run("xw-mkfs", "-q", "--replace", "-N", "1200000", "o.img", "4G")
    return ["xw-import", "-q", *options, "o.img", source]


def verbs(lines):
    with open("verbs", "w") as f:
        f.writelines(line + "\n" for line in lines)
    run("xw-debugfs", "-w", "-f", "verbs", "o.img")


def deep(n, path="in.tar"):
    with Tar(path) as t:
        t.add("/".join(["d"] * n), tarfile.DIRTYPE)
