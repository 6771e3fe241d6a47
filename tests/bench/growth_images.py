# SPDX-License-Identifier: MIT
"""Rows of tests/bench/growth: logs, undo files, damage and its repair, and tools that change or show an image."""
import itertools
import struct
import tarfile

from growth_input import MAKERS, Tar, case, files, image, reader, run, verbs

# Logs and undo files ---------------------------------------------------------------------------

def log_block(kind, seq, payload=b""):
    return (struct.pack(">III", 0xC03B3998, kind, seq) + payload).ljust(1024, b"\0")


def recover():
    """The superblock, which has no checksum, says that the log is to be replayed."""
    with open("o.img", "r+b") as f:
        f.seek(1024 + 96)
        incompat = struct.unpack("<I", f.read(4))[0] | 4
        f.seek(1024 + 96)
        f.write(struct.pack("<I", incompat))


def put_log(data):
    """Writes a log that begins in its second block. Its extents may go around copies of the superblock."""
    at = int(run("xw-debugfs", "-R", "bmap <8> 0", "o.img").split()[-1])
    with open("o.img", "r+b") as f:
        f.seek(at * 1024 + 24)
        f.write(struct.pack(">II", 1, 1))
        f.seek(at * 1024 + 40)
        f.write(struct.pack(">I", 1))
        for line in run("xw-debugfs", "-R", "extents -l <8>", "o.img").splitlines():
            v = [int(w) for w in line.replace("/", " ").split() if w.isdigit()]
            if len(v) == 9:
                lblk, pblk, count = v[4], v[6], v[8]
                f.seek(pblk * 1024 + (0 if lblk else 1024))
                f.write(data[max(lblk - 1, 0) * 1024:(lblk + count - 1) * 1024])


@case("journal: tags, then as many revoke records", "xw-fsck -fy", first=16384, last=131072)
def _(n, tool):
    blocks = n + n // 100 + n // 250 + 20
    total = 4 * blocks + 400000
    run("xw-mkfs", "-q", "--replace", "-b", "1024", "-G", "65536", "-N", "2000", "-O", "^metadata_csum,^resize_inode,sparse_super2",
        "-J", "size=%d" % (max(blocks, 1 << 12) // 1024 + 1), "o.img", "%dK" % total)
    free = total - 16384 - n  # before the last group, which has a superblock
    log = bytearray()
    for i in range(0, n, 100):
        m = min(100, n - i)
        tags = b"".join(struct.pack(">IHH", free + i + k, 0, 2 | (8 if k == m - 1 else 0)) for k in range(m))
        log += log_block(1, 1, tags) + bytes(1024 * m)
    log += log_block(2, 1)
    for i in range(0, n, 250):
        m = min(250, n - i)
        log += log_block(5, 2, struct.pack(">I", 16 + 4 * m) + b"".join(struct.pack(">I", free + i + k) for k in range(m)))
    log += log_block(2, 2)
    put_log(log)
    recover()
    return reader(tool)


@case("undo keys", "xw-import -z", "xw-undo", last=65536)
def _(n, tool):
    files(n, data=b"1" * 1000)
    image("4G", options=("-b", "1024", "-N", "1200000"))
    files(n, "new.tar", "new%d", data=b"2" * 1000)
    go = ["xw-import", "-q", "-z", "undo", "o.img", "new.tar"]
    if tool != "xw-undo":
        return go
    run(*go)
    return ["xw-undo", "undo", "o.img"]


def crc32c(crc, data):
    for b in data:
        crc = crc >> 8 ^ CRC[(crc ^ b) & 255]
    return crc


def crc_of(n):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    return n


CRC = [crc_of(n) for n in range(256)]


@case("fast commits: names removed", "xw-fsck -fy", last=32768)
def _(n, tool):
    files(n)
    image("256M", options=("-b", "1024", "-N", "300000", "-O", "fast_commit,^metadata_csum", "-J", "size=4,fast_commit_size=16384"))
    at = int(run("xw-debugfs", "-R", "bmap <8> 0", "o.img").split()[-1])
    field = lambda tag, data: struct.pack("<HH", tag, len(data)) + data  # noqa: E731
    blocks, now = [], field(9, struct.pack("<II", 0, 1))
    for i in range(n):
        name = b"f%d" % i
        one = field(5, struct.pack("<II", 2, 12 + i) + name)
        if len(now) + len(one) > 1024 - 20:
            blocks.append(now + field(7, bytes(1024 - len(now) - 4)))
            now = b""
        now += one
    now += struct.pack("<HHI", 8, 1024 - len(now) - 4, 1)
    crc = 0
    for b in blocks + [now]:
        crc = crc32c(crc, b)
    blocks.append((now + struct.pack("<I", crc)).ljust(1024, b"\0"))
    with open("o.img", "r+b") as f:
        f.seek(at * 1024 + 16)
        total = struct.unpack(">I", f.read(4))[0]
        f.seek(at * 1024 + 28)
        f.write(struct.pack(">I", 1))
        f.seek(at * 1024 + 40)
        f.write(struct.pack(">I", 0x20))
        f.seek(at * 1024 + 84)
        f.write(struct.pack(">I", 16384))
        f.seek((at + 1) * 1024)
        f.write(log_block(2, 0))
        f.seek((at + total - 16384 + 1) * 1024)
        f.write(b"".join(blocks))
    recover()
    return reader(tool)


# Damage ----------------------------------------------------------------------------------------

ROOM = ("--free", "600M")  # for what a repair copies


@case("orphans", "xw-fsck -fy", last=16384)
def _(n, tool):
    files(n)
    image(options=ROOM + ("-O", "^orphan_file",))
    verbs(["set_super_value last_orphan 12"] +
          [v for i in range(n) for v in ("sif <%d> dtime %d" % (12 + i, 13 + i if i < n - 1 else 0), "sif <%d> links_count 0" % (12 + i), "unlink f%d" % i)])
    return reader(tool)


@case("unattached inodes", "xw-fsck -fy", last=65536)
def _(n, tool):
    files(n, data=b"1")
    image(options=ROOM + ("-b", "1024"))
    verbs("unlink f%d" % i for i in range(n))
    return reader(tool)


def same_names(n, length):
    """Directories of `length` names, all the same."""
    with Tar() as t:
        for i in range(n):
            t.add("d%d/AbCd%06d" % (i // length, i % length))
    image(options=ROOM + ("-O", "^metadata_csum,^dir_index"))
    with open("o.img", "rb") as f:
        data = f.read()
    with open("o.img", "wb") as f:
        for part in data.split(b"AbCd")[:1]:
            f.write(part)
        for part in data.split(b"AbCd")[1:]:
            f.write(b"AbCd000000" + part[6:])


@case("entries of one name", "xw-fsck -fy", "xw-export -x")
def _(n, tool):
    same_names(n, n)
    return reader(tool)


@case("inodes that share a block", "xw-fsck -fy", first=250, last=32768)
def _(n, tool):
    files(n, data=b"1")
    image(options=ROOM + ("-b", "1024", "-O", "^metadata_csum"))
    block = int(run("xw-debugfs", "-R", "bmap f0 0", "o.img").split()[-1])
    verbs("set_inode_field <%d> block[5] %d" % (12 + i, block) for i in range(n))
    return reader(tool)


@case("dangling entries", "xw-fsck -fy", last=65536)
def _(n, tool):
    files(n)
    image(options=ROOM + ("-O", "^metadata_csum"))
    verbs("clri <%d>" % (12 + i) for i in range(n))
    return reader(tool)


@case("link counts", "xw-fsck -fy", last=65536)
def _(n, tool):
    files(n)
    image(options=ROOM)
    verbs("sif <%d> links_count 7" % (12 + i) for i in range(n))
    return reader(tool)


@case("files that share blocks in pairs", "xw-fsck -fy", last=65536)
def _(n, tool):
    files(n + n % 2, data=b"1")
    image(options=ROOM + ("-b", "1024", "-O", "^metadata_csum"))
    with open("verbs", "w") as f:
        f.writelines("bmap f%d 0\n" % i for i in range(0, n, 2))
    blocks = [line.split()[-1] for line in run("xw-debugfs", "-f", "verbs", "o.img").splitlines() if line.strip().isdigit()]
    verbs("set_inode_field <%d> block[5] %s" % (13 + 2 * i, b) for i, b in enumerate(blocks))
    return reader(tool)


@case("files that share all their blocks", "xw-fsck -fy", last=4096)
def _(n, tool):
    files(2, data=b"1" * 1024 * n)
    image(options=ROOM + ("-b", "1024", "-O", "^metadata_csum"))
    block = run("xw-debugfs", "-R", "bmap f0 0", "o.img").split()[-1]
    verbs(["set_inode_field <13> block[5] " + block])
    return reader(tool)


@case("files whose map block is lost", "xw-fsck -fy", first=250, last=32768)
def _(n, tool):
    runs = b"".join(b"%011o\0%011o\0" % (i * 4096, 512) for i in range(5))
    i = tarfile.TarInfo()
    i.type, i.size = b"S", 5 * 512
    with Tar() as t:
        for k in range(n):
            i.name = "f%d" % k
            head = bytearray(i.tobuf(tarfile.GNU_FORMAT))
            head[386:495] = runs[:96] + b"\1" + b"%011o\0" % (5 * 4096)
            head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:]) + 8 * 32)
            t.f.write(head + runs[96:].ljust(512, b"\0") + bytes([49]) * 5 * 512)
    image(options=ROOM + ("-b", "1024"))
    verbs("sif <%d> block[4] 5" % (12 + k) for k in range(n))
    return reader(tool)


# Owners ----------------------------------------------------------------------------------------

def owners(n, options=("-O", "quota", "-b", "1024")):
    with Tar() as t:
        for i in range(n):
            t.add("f%d" % i, uid=i + 1)
    image(options=ROOM + options)


def quota_file():
    """The number of bytes of the users' quota file, and where it is: in one piece."""
    at = int(run("xw-debugfs", "-R", "bmap <3> 0", "o.img").split()[-1]) * 1024
    with open("o.img", "rb") as f:
        f.seek(at + 20)
        size = struct.unpack("<I", f.read(4))[0] * 1024
        f.seek(at)
        return at, bytearray(f.read(size))


@case("owners", "xw-mkfs", "xw-import", "xw-fsck -fn", "xw-tune", last=65536)
def _(n, tool):
    if tool == "xw-tune":
        owners(n, ("-b", "1024"))
        return ["xw-tune", "-q", "-O", "quota", "o.img"]
    owners(n)
    if tool == "xw-import":
        run("xw-mkfs", "-q", "--replace", "-O", "quota", "-N", "1200000", "o.img", "4G")
        return ["xw-import", "-q", "o.img", "in.tar"]
    return ["xw-mkfs", "-q", "--replace", "-O", "quota", "-d", "in.tar", "o.img"] if tool in MAKERS else reader(tool)


@case("owners: limits", "of owners of files", "of others", "of others, tree lost", last=65536)
def _(n, of):
    owners(n)
    at, data = quota_file()
    for block in range(1024, len(data), 1024):
        for k in range(block + 16, block + 1024, 72):
            owner, pad = struct.unpack_from("<II", data, k)
            if owner and not pad and struct.unpack_from("<Q", data, k + 24)[0] == 1:
                struct.pack_into("<QQ", data, k + 8, 5, 5)
                if of == "of others, tree lost":
                    struct.pack_into("<I", data, k, owner + (1 << 24))
    with open("o.img", "r+b") as f:
        f.seek(at)
        f.write(data)
    if of == "of others":
        verbs("sif <%d> uid 0" % (12 + i) for i in range(n))
    return reader("xw-fsck -fy")


# Tools -----------------------------------------------------------------------------------------

def bad_blocks(n):
    """A third of all blocks, but for those where a group may have its copy of the superblock."""
    numbers = (b for b in itertools.count(100000, 3) if (b - 1) % 8192 > 300)
    with open("bad", "w") as f:
        f.writelines("%d\n" % b for b in itertools.islice(numbers, n))


@case("bad blocks", "xw-mkfs -l", "xw-fsck -l", "xw-fsck -fn", "xw-dump -b")
def _(n, tool):
    bad_blocks(n)
    size = "%dK" % (200000 + 4 * n)
    make = ("xw-mkfs", "-q", "--replace", "-b", "1024", "-O", "^resize_inode", "-N", "2000")
    if tool == "xw-mkfs -l":
        return [*make, "-l", "bad", "o.img", size]
    if tool == "xw-fsck -l":
        run(*make, "o.img", size)
        return ["xw-fsck", "-fy", "-l", "bad", "o.img"]
    run(*make, "-l", "bad", "o.img", size)
    return ["xw-dump", "-b", "o.img"] if tool == "xw-dump -b" else reader(tool)


@case("fragments of free space", "xw-freefrag", "xw-dump", "xw-import")
def _(n, tool):
    bad_blocks(n)
    run("xw-mkfs", "-q", "--replace", "-b", "1024", "-O", "^resize_inode", "-N", "2000", "-l", "bad", "o.img", "%dK" % (200000 + 4 * n))
    if tool == "xw-import":
        with Tar() as t:
            t.add("f", data=b"1" * 1024 * (60000 + 2 * n))
        return ["xw-import", "-q", "o.img", "in.tar"]
    return [tool, "o.img"]


@case("groups", "xw-mkfs", "xw-freefrag", "xw-dump", "xw-fsck -fn", "xw-tune", "xw-import", first=250, last=65536)
def _(n, tool):
    make = ["xw-mkfs", "-q", "--replace", "-b", "1024", "-g", "1024", "-N", str(16 * n), "-O", "^resize_inode,^has_journal", "o.img", "%dM" % n]
    if tool == "xw-mkfs":
        return make
    run(*make)
    if tool == "xw-import":
        files(n)
        return ["xw-import", "-q", "o.img", "in.tar"]
    if tool == "xw-tune":
        return ["xw-tune", "-q", "-O", "^metadata_csum", "o.img"]
    return [tool, "o.img"] if tool in ("xw-freefrag", "xw-dump") else reader(tool)


@case("inodes, xw-tune", "-O metadata_csum", "-O ^metadata_csum", "-U random", "-I 512", "-O ^dir_index", "-O itree", "-O ^has_journal", last=65536)
def _(n, how):
    files(n)
    image(options=ROOM + {"-O metadata_csum": ("-O", "^metadata_csum")}.get(how, ()))
    return ["xw-tune", "-q", *how.split(), "o.img"]


@case("numbers in a request", "icheck", "ncheck", "testb", "testi", last=131072)
def _(n, verb):
    files(n, data=b"1")
    image(options=("-b", "1024"))
    with open("verbs", "w") as f:
        f.write(verb + " " + " ".join("%d" % (12 + i) for i in range(n)) + "\n" if verb[1:] == "check" else
                "".join("%s <%d>\n" % (verb, 12 + i) if verb == "testi" else "%s %d\n" % (verb, 12 + i) for i in range(n)))
    return ["xw-debugfs", "-f", "verbs", "o.img"]


@case("requests", "write", "ea_set", "mkdir", "sif", "ln", "freei", last=32768)
def _(n, verb):
    files(n)
    image("1G", options=("-N", "600000"))
    with open("small", "w") as f:
        f.write("1" * 300)
    with open("verbs", "w") as f:
        f.writelines({"write": "write small g%d\n", "ea_set": "ea_set f%d user.a b\n", "mkdir": "mkdir d%d\n", "sif": "sif f%d mtime 5\n",
                      "ln": "ln f0 l%d\n", "freei": "freei f%d\n"}[verb] % i for i in range(n))
    return ["xw-debugfs", "-w", "-f", "verbs", "o.img"]


@case("aging", "files", "files removed", "one directory of 256 levels", "overwrites of a file", "appends to two files", "checkouts", "attributes", last=131072)
def _(n, what):
    run("xw-mkfs", "-q", "--replace", "-N", "1200000", "o.img", "8G")
    lines = {"files": ["create f%d 5000" % i for i in range(n)],
             "files removed": ["create f%d 5000" % i for i in range(n)] + ["delete f%d" % i for i in range(n)],
             "one directory of 256 levels": ["create " + "d/" * 250 + "f%d 5000" % i for i in range(n)],
             "overwrites of a file": ["create f 9000"] + ["overwrite f 9000"] * n,
             "appends to two files": ["append f%d 4096" % (i % 2) for i in range(n)],
             "attributes": ["setxattr f%d user.a%d v" % (i // 2, i) for i in range(n)]}.get(what)
    if what == "checkouts":
        files(n, "a.tar")
        files(n, "b.tar", "g%d")
        lines = ["a.tar", "b.tar"]
    with open("list", "w") as f:
        f.writelines(line + "\n" for line in lines)
    return ["xw-age", "-q", "--profile", ("git:" if what == "checkouts" else "trace:") + "list", "o.img"]


@case("an image of e2image", "xw-dump -i", "xw-debugfs -i", last=65536)
def _(n, tool):
    files(n, data=b"1")
    image()
    run("e2image", "o.img", "e2i")
    return ["xw-dump", "-i", "e2i"] if tool == "xw-dump -i" else ["xw-debugfs", "-i", "-R", "ls -l", "e2i"]
