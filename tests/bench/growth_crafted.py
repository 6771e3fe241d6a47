# SPDX-License-Identifier: MIT
"""Second table of tests/bench/growth: input that was chosen to meet in a table, beside random input of the same form.

Names and values are those of one value of xw_hash64(), the fixed hash that tables once had; numbers agree in their low or high bits.
"""
import random
import struct

from growth_input import Tar, cpio, image, reader, run
from growth_images import log_block, put_log, recover

N = 32000
PAIRS = []
MASK = (1 << 64) - 1
PLAIN = bytes(c for c in range(128, 256))
K0, K1, K2, K3 = 0x243F6A8885A308D3, 0xB7E151628AED2A6B, 0x6A09E667F3BCC909, 0x9E3779B97F4A7C15


def pair(name):
    """Registers a function of what makes the i-th of n strings of 16 bytes, and of what makes the i-th number below 2^bits."""
    def register(make):
        PAIRS.append((name, make))
        return make
    return register


def fold(a, b):
    r = a * b
    return (a ^ b ^ r ^ r >> 64) & MASK


def values(crafted, n):
    """With these 8 bytes the first factor is 1 for seed 0, and the hash does not depend on the other one, of which the last 8 are a part."""
    first, r = struct.pack("<Q", fold(K2, K3) ^ K0 ^ 1), random.Random(1)
    for i in range(n):
        plain = bytes(r.choice(PLAIN) for _ in range(8))
        yield ((first if crafted else plain) + b"%08x" % i).decode("utf-8", "surrogateescape")


def numbers(crafted, n, bits):
    """Distinct: multiples of a power of two, or random ones."""
    if crafted:
        step = 1 << (bits - 1 - n.bit_length())
        return [(i + 1) * step for i in range(n)]
    return random.Random(1).sample(range(1, 1 << (bits - 1)), n)


@pair("names")
def _(crafted, n):
    with Tar() as t:
        for s in values(crafted, n):
            t.add(s)
    return ["xw-mkfs", "-q", "--replace", "-d", "in.tar", "o.img"]


@pair("sets of attributes")
def _(crafted, n):
    with Tar() as t:
        for i, v in enumerate(values(crafted, n)):
            t.add("f%d" % i, pax={"SCHILY.xattr.user.a": v})
    return ["xw-mkfs", "-q", "--replace", "-d", "in.tar", "o.img"]


@pair("values in inodes of their own")
def _(crafted, n):
    with Tar() as t:
        for i, v in enumerate(values(crafted, n // 4)):
            t.add("f%d" % i, pax={"SCHILY.xattr.user.a": v * 70})
    return ["xw-mkfs", "-q", "--replace", "-b", "1024", "-O", "ea_inode", "-d", "in.tar", "o.img"]


@pair("inode numbers of links in cpio")
def _(crafted, n):
    ids = numbers(crafted, n // 2, 32)
    cpio("in.cpio", (("f%d" % i, ids[i % (n // 2)], 2) for i in range(n)))
    return ["xw-mkfs", "-q", "--replace", "-d", "in.cpio", "o.img"]


@pair("whiteouts")
def _(crafted, n):
    for path, prefix in ("a.tar", ""), ("b.tar", ".wh."):
        with Tar(path) as t:
            for s in values(crafted, n):
                t.add(prefix + s)
    run("xw-mkfs", "-q", "--replace", "-N", "100000", "o.img", "1G")
    return ["xw-import", "-q", "--whiteouts", "apply", "o.img", "a.tar", "b.tar"]


@pair("owners")
def _(crafted, n):
    with Tar() as t:
        for i, owner in enumerate(numbers(crafted, n, 22)):
            t.add("f%d" % i, uid=owner)
    image(options=("-b", "1024", "-O", "quota"))
    return reader("xw-fsck -fn")


@pair("block numbers of a log, each revoked")
def _(crafted, n):
    run("xw-mkfs", "-q", "--replace", "-b", "1024", "-G", "65536", "-N", "2000", "-O", "^metadata_csum,^resize_inode,sparse_super2",
        "-J", "size=64", "o.img", "3G")
    targets = [400000 + b for b in numbers(crafted, n, 22)]
    log = bytearray()
    for i in range(0, n, 100):
        some = targets[i:i + 100]
        log += log_block(1, 1, b"".join(struct.pack(">IHH", b, 0, 2 | (8 if b == some[-1] else 0)) for b in some)) + bytes(1024 * len(some))
    log += log_block(2, 1)
    for i in range(0, n, 250):
        some = targets[i:i + 250]
        log += log_block(5, 2, struct.pack(">I", 16 + 4 * len(some)) + b"".join(struct.pack(">I", b) for b in some))
    log += log_block(2, 2)
    put_log(log)
    recover()
    return reader("xw-fsck -fy")
