#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py TAR IMAGE: mounts IMAGE read-only on a loop device (root) and compares it with TAR, entry by entry.

Compared: names in both directions, types, modes, owners, times to the nanosecond, sizes, contents, holes, targets, device
numbers, which names share an inode, link counts, extended attributes and ACLs. Prints at most 20 differences of each kind and at
the end "N passed, N failed"; exit status 0 if nothing failed.
"""
import collections
import decimal
import errno
import grp
import os
import pwd
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile

TYPES = {tarfile.REGTYPE: stat.S_IFREG, tarfile.AREGTYPE: stat.S_IFREG, tarfile.CONTTYPE: stat.S_IFREG,
         tarfile.GNUTYPE_SPARSE: stat.S_IFREG, tarfile.DIRTYPE: stat.S_IFDIR, tarfile.SYMTYPE: stat.S_IFLNK,
         tarfile.CHRTYPE: stat.S_IFCHR, tarfile.BLKTYPE: stat.S_IFBLK, tarfile.FIFOTYPE: stat.S_IFIFO}
ACL_TAGS = {("user", False): 1, ("user", True): 2, ("group", False): 4, ("group", True): 8, ("mask", False): 16, ("other", False): 32}


def raw(text):
    return text.encode("utf-8", "surrogateescape")


def clean(name):
    return os.path.normpath(b"/" + raw(name)).lstrip(b"/") or b"."


def acl(text):
    """The value of system.posix_acl_*: version 2, entries sorted by tag and id. None for what the mode says by itself."""
    entries = []
    for part in text.replace("\n", ",").split(","):
        part = part.partition("#")[0].strip()
        if not part:
            continue
        fields = part.split(":")
        if fields[0] not in ("user", "group", "mask", "other"):  # short forms
            fields[0] = {"u": "user", "g": "group", "m": "mask", "o": "other"}[fields[0]]
        if fields[0] in ("mask", "other") and len(fields) == 2:
            fields.insert(1, "")
        number = fields[3] if len(fields) > 3 else fields[1]
        if number and not number.isdigit():  # GNU tar writes the names of this machine
            number = pwd.getpwnam(number).pw_uid if fields[0] == "user" else grp.getgrnam(number).gr_gid
        perm = sum({"r": 4, "w": 2, "x": 1}.get(c, 0) for c in fields[2])
        entries.append((ACL_TAGS[fields[0], number != ""], int(number) if number else 0xFFFFFFFF, perm))
    if len(entries) <= 3:
        return None
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", t, p, i) for t, i, p in sorted(entries))


def wanted_attributes(m):
    found = {}
    for key, value in m.pax_headers.items():
        if key.startswith("SCHILY.xattr."):
            found[key[13:]] = raw(value)
        elif key == "RHT.security.selinux":
            found.setdefault("security.selinux", raw(value))
    for key, name in (("SCHILY.acl.access", "system.posix_acl_access"), ("SCHILY.acl.default", "system.posix_acl_default")):
        if key in m.pax_headers:
            value = acl(m.pax_headers[key])
            if value:
                found[name] = value
    return found


def attributes(path):
    found = {}
    for name in os.listxattr(path, follow_symlinks=False):
        try:
            found[name] = os.getxattr(path, name, follow_symlinks=False)
        except OSError as e:
            if e.errno != errno.ENODATA:
                raise
    return found


def nanoseconds(m):
    value = m.pax_headers.get("mtime")
    if value is None:
        return int(m.mtime) * 10**9
    return int((decimal.Decimal(value) * 10**9).to_integral_value(decimal.ROUND_FLOOR))


class Comparison:
    def __init__(self, tar, top):
        self.tar, self.top = tar, raw(top)
        self.passed, self.failed = 0, collections.Counter()
        self.entries = {}  # name -> its last entry; hard links stand for the entry that they name
        self.names = collections.defaultdict(set)  # id of an entry -> its names

    def check(self, kind, name, got, want):
        if got == want:
            self.passed += 1
            return
        self.failed[kind] += 1
        if self.failed[kind] <= 20:
            print("%s: %s: %.200r, expected %.200r" % (name.decode("utf-8", "backslashreplace"), kind, got, want))

    def read_names(self):
        for m in self.tar:
            name = clean(m.name)
            if m.islnk():
                m = self.entries.get(clean(m.linkname))
                if m is None:
                    continue
            self.entries[name] = m
        for name, m in self.entries.items():
            self.names[id(m)].add(name)
        for name in list(self.entries):  # directories that only paths name
            while b"/" in name:
                name = name.rpartition(b"/")[0]
                self.entries.setdefault(name, None)

    def contents(self, name, path, m):
        want, size = self.tar.extractfile(m), 0
        with open(path, "rb") as f:
            while True:
                a, b = f.read(1 << 20), want.read(1 << 20)
                if a != b:
                    self.check("contents", name, "differ behind byte %d" % size, "")
                    return
                if not a:
                    break
                size += len(a)
        self.passed += 1

    def holes(self, name, path, m, st):
        """No more blocks than the segments touch, and a few for the map."""
        block = os.statvfs(path).f_bsize
        touched = set()
        for offset, length in m.sparse:
            touched.update(range(offset // block, -(-(offset + length) // block)) if length else ())
        room = len(touched) + 2 + len(m.sparse) // 50
        self.check("holes", name, st.st_blocks * 512 // block <= room, True)

    def entry(self, name, m):
        path = os.path.join(self.top, name)
        try:
            st = os.lstat(path)
        except OSError as e:
            self.check("name", name, e.strerror, "")
            return None
        if m is None:
            self.check("type", name, stat.S_IFMT(st.st_mode), stat.S_IFDIR)
            return st
        kind = TYPES[m.type]
        self.check("type", name, stat.S_IFMT(st.st_mode), kind)
        if kind != stat.S_IFLNK:
            self.check("mode", name, oct(stat.S_IMODE(st.st_mode)), oct(m.mode & 0o7777))
        self.check("owner", name, (st.st_uid, st.st_gid), (m.uid, m.gid))
        self.check("time", name, st.st_mtime_ns, nanoseconds(m))
        self.check("attributes", name, attributes(path), wanted_attributes(m))
        if kind == stat.S_IFLNK:
            self.check("target", name, os.readlink(path), raw(m.linkname))
        elif kind in (stat.S_IFCHR, stat.S_IFBLK):
            self.check("device", name, (os.major(st.st_rdev), os.minor(st.st_rdev)), (m.devmajor, m.devminor))
        elif kind == stat.S_IFREG:
            self.check("size", name, st.st_size, m.size)
            if m.sparse is not None:
                self.holes(name, path, m, st)
        if kind != stat.S_IFDIR:
            self.check("links", name, st.st_nlink, len(self.names[id(m)]))
        return st

    def extra(self):
        for at, dirs, files in os.walk(self.top):
            for n in dirs + files:
                name = os.path.relpath(os.path.join(at, n), self.top)
                if name not in self.entries and name != b"lost+found":
                    self.check("name", name, "in the image only", "")

    def run(self):
        self.read_names()
        self.check("archive", b".", bool(self.entries), True)
        inodes, by_inode = {}, {}
        for name, m in self.entries.items():
            st = self.entry(name, m)
            if not st or m is None:
                continue
            first = id(m) not in inodes
            self.check("hard link", name, inodes.setdefault(id(m), st.st_ino), st.st_ino)
            self.check("hard link", name, by_inode.setdefault(st.st_ino, id(m)), id(m))
            if first and TYPES[m.type] == stat.S_IFREG and stat.S_ISREG(st.st_mode) and m.size < 1 << 31:
                self.contents(name, os.path.join(self.top, name), m)
        self.extra()
        for kind, n in sorted(self.failed.items()):
            print("%s: %d" % (kind, n))
        print("%d passed, %d failed" % (self.passed, sum(self.failed.values())))
        return bool(self.failed)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    # Beside the image: a test that is killed leaves the mount below its own directory, where it is found and ended.
    top = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(sys.argv[2])))
    subprocess.run(["mount", "-o", "loop,ro", sys.argv[2], top], check=True)
    try:
        with tarfile.open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as tar:
            status = Comparison(tar, top).run()
    finally:
        subprocess.run(["umount", top], check=True)
        os.rmdir(top)
    sys.exit(status)


main()
