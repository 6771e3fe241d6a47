#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""States around redo records in images that no kill leaves.

redo_states.py forged IMAGE: the last block holds what looks like the list of a record behind the end of a file of 8 KiB.
redo_states.py wrapped IMAGE: a block more, with the list of a record behind the end of a file of 1 TiB: the number of its
blocks is as if it were negative.
redo_states.py removed PENDING FINAL OUT: OUT is FINAL, marked as done, after a power failure while the record of PENDING
was removed: the last block of the record is gone, its list is not. For images without checksums.
redo_states.py torn PENDING OLD OUT: OUT is OLD, and of the commit point that made it PENDING only the second sector of the
superblock is on the medium, beside the record. For images without checksums.
redo_states.py booted FILE: a redo file that was made before the last boot.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from redo_decode import DONE, PENDING, SUPER, crc32c, le32, le64, read_list  # noqa: E402


def load(path):
    with open(path, "rb") as f:
        return bytearray(f.read())


def store(path, image):
    with open(path, "wb") as f:
        f.write(image)


def put_forged(image, last, size):
    bs = 1024 << le32(image, SUPER + 0x18)
    blocks = (last - size // bs) % (1 << 64)
    block = bytearray(bs)
    block[:8] = b"XW-INSD1"
    struct.pack_into("<I", block, 0x08, bs)
    block[0x10:0x20] = image[SUPER + 0x68:SUPER + 0x78]
    struct.pack_into("<Q", block, 0x28, blocks * bs % (1 << 64))
    struct.pack_into("<IIQ", block, 0x38, 1, 0, size)
    struct.pack_into("<QQ", block, 0x50, size // bs, blocks)
    struct.pack_into("<I", block, 0x0C, crc32c(bytes(block)))
    image[last * bs:(last + 1) * bs] = block


def forged(path):
    image = load(path)
    put_forged(image, len(image) // (1024 << le32(image, SUPER + 0x18)) - 1, 8192)
    store(path, image)


def wrapped(path):
    image = load(path)
    put_forged(image, len(image) // (1024 << le32(image, SUPER + 0x18)), 1 << 40)
    store(path, image)


def removed(pending, final, out):
    image, was = load(final), bytes(load(pending))
    number, nonce = le64(was, SUPER + 0x3E8), le64(was, SUPER + 0x3F0)
    runs, listed, bs, _, _ = read_list(was, number, nonce)
    blocks = [blk for start, n in runs for blk in range(start, start + n)]
    for blk in listed + blocks[:-1]:
        image[blk * bs:(blk + 1) * bs] = was[blk * bs:(blk + 1) * bs]
    struct.pack_into("<I", image, SUPER + 0x60, le32(image, SUPER + 0x60) | PENDING)
    struct.pack_into("<QQ", image, SUPER + 0x3E8, number | DONE, nonce)
    struct.pack_into("<Q", image, SUPER + 0x188, number | DONE)
    store(out, image)


def torn(pending, old, out):
    image, was = load(old), bytes(load(pending))
    runs, listed, bs, _, _ = read_list(was, le64(was, SUPER + 0x3E8), le64(was, SUPER + 0x3F0))
    blocks = [blk for start, n in runs for blk in range(start, start + n)]
    image += bytes(max(len(was) - len(image), 0))
    for blk in listed + blocks:
        image[blk * bs:(blk + 1) * bs] = was[blk * bs:(blk + 1) * bs]
    image[SUPER + 512:SUPER + 1024] = was[SUPER + 512:SUPER + 1024]
    store(out, image)


def booted(path):
    """The place of the image, as extwright(7) describes it, with another boot ID."""
    redo = load(path)
    if not any(redo[0x58:0x68]):
        sys.exit("no place is known")
    redo[0x58] ^= 1
    struct.pack_into("<I", redo, 0x3FC, 0)
    struct.pack_into("<I", redo, 0x3FC, crc32c(bytes(redo[:4096])))
    store(path, redo)


{"forged": forged, "wrapped": wrapped, "removed": removed, "torn": torn, "booted": booted}[sys.argv[1]](*sys.argv[2:])
