#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tree_print.py DIR: what Linux tells of a mounted filesystem, in the lines of fs_print.c.

Names, inodes, times, contents, attributes and extents; flags, generation and project where a file can be opened to ask for them.
"""
import array
import fcntl
import os
import stat
import struct
import sys
import zlib

FIEMAP, GETFLAGS, GETVERSION, GETXATTR = 0xC020660B, 0x80086601, 0x80087601, 0x801C581F
LAST, INLINE, UNWRITTEN = 1, 0x200, 0x800
SYNC, XATTR = 1, 2


def esc(b):
    return "".join(chr(c) if 32 < c < 127 and c != 92 else "\\x%02x" % c for c in b)


def extents(fd):
    start = 0
    while True:
        buf = bytearray(struct.pack("=QQIIII", start, 2**64 - 1 - start, SYNC, 0, 100, 0) + bytes(56 * 100))
        fcntl.ioctl(fd, FIEMAP, buf)
        n = struct.unpack_from("=I", buf, 20)[0]
        if not n:
            return
        for i in range(n):
            logical, physical, length, _, _, flags = struct.unpack_from("=QQQQQI", buf, 32 + 56 * i)
            if not flags & INLINE:
                yield logical, physical, length, int(bool(flags & UNWRITTEN))
            start = logical + length
            if flags & LAST:
                return


def opened(path, name):
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    for key, request in (("flags", GETFLAGS), ("generation", GETVERSION)):
        buf = array.array("L", [0])
        fcntl.ioctl(fd, request, buf)
        print(name, key, buf[0] & 0xFFFFFFFF)
    buf = bytearray(28)
    fcntl.ioctl(fd, GETXATTR, buf)
    print(name, "project", struct.unpack_from("=I", buf, 12)[0])
    for e in extents(fd):
        print(name, "extent", *e)
    os.close(fd)


def show(path, name):
    s = os.lstat(path)
    for key, value in (("ino", s.st_ino), ("mode", "%06o" % s.st_mode), ("uid", s.st_uid), ("gid", s.st_gid), ("links", s.st_nlink),
                       ("size", s.st_size), ("blocks_512", s.st_blocks)):
        print(name, key, value)
    for key in ("atime", "mtime", "ctime"):
        ns = getattr(s, "st_%s_ns" % key)
        print(name, key, "%d.%09d" % (ns // 10**9, ns % 10**9))
    for x in os.listxattr(path, follow_symlinks=False):
        print(name, "xattr", esc(os.fsencode(x)), os.getxattr(path, x, follow_symlinks=False).hex())
    if stat.S_ISCHR(s.st_mode) or stat.S_ISBLK(s.st_mode):
        print(name, "dev", "%d:%d" % (os.major(s.st_rdev), os.minor(s.st_rdev)))
    elif stat.S_ISLNK(s.st_mode):
        print(name, "target", esc(os.fsencode(os.readlink(path))))
    elif stat.S_ISREG(s.st_mode):
        opened(path, name)
        with open(path, "rb") as f:
            print(name, "data", zlib.crc32(f.read()))
    elif stat.S_ISDIR(s.st_mode):
        opened(path, name)
        for n in os.listdir(path):
            show(path + b"/" + n, name + "/" + esc(n))


show(os.fsencode(sys.argv[1]), "")
