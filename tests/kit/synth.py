#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""synth.py OUT [SCALE [SEED [plain]]]: a pax archive with everything that an importer has to keep; the same bytes every time.

SCALE 1.0 (default 0.01): 200,000 small files in 2,000 directories and one directory of 100,000 names. Beside them: deep and long
paths, names of any bytes, holes, hard links, symbolic links of every length, devices, owners over 65,535, extended attributes in
the inode, in shared blocks and larger ones, ACLs, times with nanoseconds before 1970 and after 2038, entries that occur twice. "plain" leaves out devices, which
only root can make, and sparse files: GNU tar fails on their maps, and one of them is 8 GiB long.
"""
import random
import sys


def record(key, value):
    """A pax record; its length counts itself."""
    if isinstance(value, str):
        value = value.encode()
    body = b" " + key.encode() + b"=" + value + b"\n"
    n = len(body)
    while n != len(body) + len(str(n)):
        n = len(body) + len(str(n))
    return str(n).encode() + body


def header(name, typ, size, mode=0o644, uid=0, gid=0, mtime=0, link=b"", dev=(0, 0)):
    b = bytearray(512)
    b[0:100] = name[:100].ljust(100, b"\0")
    b[100:108] = b"%07o\0" % mode
    b[108:116] = b"%07o\0" % (uid if uid < 1 << 21 else 0)
    b[116:124] = b"%07o\0" % (gid if gid < 1 << 21 else 0)
    b[124:136] = b"%011o\0" % size
    b[136:148] = b"%011o\0" % (mtime if 0 <= mtime < 1 << 33 else 0)
    b[148:156] = b" " * 8
    b[156:157] = typ
    b[157:257] = link[:100].ljust(100, b"\0")
    b[257:265] = b"ustar\00000"
    b[329:337] = b"%07o\0" % dev[0]
    b[337:345] = b"%07o\0" % dev[1]
    b[148:156] = b"%06o\0 " % sum(b)
    return bytes(b)


class Archive:
    def __init__(self, path):
        self.f = open(path, "wb", buffering=1 << 20)

    def put(self, data):
        self.f.write(data + b"\0" * (-len(data) % 512))

    def add(self, name, typ=b"0", data=b"", mode=0o644, uid=0, gid=0, time=1_700_000_000_000_000_000, link=b"", dev=(0, 0),
            pax=(), holes=None):
        """TIME in nanoseconds; HOLES: (real size, [(offset, length) of each segment in DATA])."""
        name = name.encode() if isinstance(name, str) else name
        link = link.encode() if isinstance(link, str) else link
        records = [record(k, v) for k, v in pax]
        if len(name) > 100:
            records.append(record("path", name))
        if len(link) > 100:
            records.append(record("linkpath", link))
        for key, value in (("uid", uid), ("gid", gid)):
            if value >= 1 << 21:
                records.append(record(key, str(value)))
        if time % 10**9 or not 0 <= time < 10**9 << 33:
            sign = "-" if time < 0 else ""
            records.append(record("mtime", "%s%d.%09d" % (sign, abs(time) // 10**9, abs(time) % 10**9)))
        if holes:
            records += [record("GNU.sparse.major", "1"), record("GNU.sparse.minor", "0"), record("GNU.sparse.name", name),
                        record("GNU.sparse.realsize", str(holes[0]))]
            table = "".join("%d\n" % n for n in [len(holes[1])] + [v for part in holes[1] for v in part]).encode()
            data = table + b"\0" * (-len(table) % 512) + data
        if records:
            body = b"".join(records)
            self.put(header(b"PaxHeaders/entry", b"x", len(body)))
            self.put(body)
        self.put(header(name, typ, len(data), mode, uid, gid, time // 10**9, link, dev))
        if data:
            self.put(data)

    def close(self):
        self.f.write(b"\0" * 10240)
        self.f.close()


def attributes(rnd, n):
    """The pax records of file number N: most files have none, many the same, some their own."""
    found = []
    if n % 3 == 0:
        found.append(("SCHILY.xattr.security.selinux", b"system_u:object_r:kind_%d_t:s0\0" % (n % 40)))
    if n % 50 == 0:
        found.append(("SCHILY.xattr.user.own", rnd.randbytes(n % 90)))
    if n % 400 == 0:  # all of one file fits a block of 1 KiB
        found.append(("SCHILY.xattr.user.large", b"%08d" % n * 75))
    elif n % 70 == 0:
        found.append(("SCHILY.xattr.user.shared", b"the same value in many files " * 12))
    if n % 90 == 0:
        found.append(("SCHILY.acl.access", "user::rw-,user:%d:r--,user:2000000000:rwx,group::r--,group:%d:r-x,mask::rwx,other::---"
                      % (100000 + n % 7, 200000 + n % 5)))
    return found


def small_files(a, rnd, scale):
    pool = rnd.randbytes(1 << 16)
    a.add("files/", b"5", mode=0o755)
    for d in range(max(2, int(2000 * scale))):
        acl = [("SCHILY.acl.default", "user::rwx,user:%d:r-x,group::r-x,mask::rwx,other::---" % (1000 + d))] if d % 10 == 0 else []
        a.add("files/d%d/" % d, b"5", mode=0o755 if not acl else 0o750, uid=d, gid=70000 + d, pax=acl)
        for i in range(100):
            n = d * 100 + i
            size = rnd.choice((0, 1, 60, 160, 700, 4095, 4096, 4097, 9000))
            at = rnd.randrange(len(pool) - size)
            records = attributes(rnd, n)
            mode = 0o670 if any(k == "SCHILY.acl.access" for k, _ in records) else rnd.choice((0o644, 0o755, 0o600, 0o4755, 0o2711))
            a.add("files/d%d/file-%d" % (d, n), data=pool[at:at + size], mode=mode, uid=n % 70000, gid=n * 65521 % (1 << 32),
                  time=rnd.randrange(-2**31, 2**33) * 10**9 + rnd.randrange(10**9), pax=records)
            if i % 25 == 0:
                a.add("files/d%d/link-%d" % (d, n), b"1", link="files/d%d/file-%d" % (d, n), mode=mode)


def odd_entries(a, rnd, plain):
    a.add("odd/", b"5", mode=0o1777, time=-14_182_940_000_000_001)
    for n in (1, 59, 60, 61, 255, 1000):
        a.add("odd/symlink-%d" % n, b"2", link="t" * n, mode=0o777)
    if not plain:
        a.add("odd/null", b"3", dev=(1, 3), mode=0o666)
        a.add("odd/block", b"4", dev=(259, 70000), mode=0o660)
    a.add("odd/fifo", b"6", mode=0o600)
    for name in (b"new\nline", b"\xff\xfe not UTF-8", "ümläut".encode(), b"\\back", b" blank ", b"n" * 255, b"-dash"):
        a.add(b"odd/" + name, data=name)
    path = "odd/"
    for n in range(60):
        path += "a-directory-far-down-%02d/" % n
        a.add(path, b"5", mode=0o755)
    a.add(path + "leaf", data=b"deep")
    if not plain:
        sparse_files(a, rnd)
    a.add("odd/large", data=rnd.randbytes(3_000_001))
    a.add("odd/twice", data=b"first", mode=0o600)
    a.add("odd/twice", data=b"the second one counts", mode=0o640, pax=[("SCHILY.xattr.user.which", b"second")])


def sparse_files(a, rnd):
    parts = [(0, 4096), (1 << 20, 5000), ((1 << 32) + 8192, 100)]
    a.add("odd/holes", data=rnd.randbytes(sum(n for _, n in parts)), holes=((1 << 33) + 1, parts))
    a.add("odd/only-a-hole", holes=(3 << 20, [(3 << 20, 0)]))
    parts = [(n * 12288, 4096) for n in range(400)]
    a.add("odd/many-holes", data=rnd.randbytes(400 * 4096), holes=(400 * 12288, parts))


def main():
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 0.01
    rnd = random.Random("synth %s" % (sys.argv[3] if len(sys.argv) > 3 else "1"))
    a = Archive(sys.argv[1])
    a.add("./", b"5", mode=0o755, time=1_600_000_000_123_456_789)
    odd_entries(a, rnd, sys.argv[4:] == ["plain"])
    small_files(a, rnd, scale)
    a.add("big/", b"5", mode=0o755)
    for n in range(max(2000, int(100000 * scale))):
        a.add("big/a-name-in-a-large-directory-%d" % (n * 7919 % 1000003), data=b"%d" % n)
    a.close()


main()
