#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes the redo record inside an image by its description in extwright(7) alone, and applies it to a copy.

redo_decode.py IMAGE COPY: COPY gets what IMAGE is once its interrupted change is complete: every block of the log in
place, the final superblock, zeros where the record was. Fails, with the reason, where anything differs from the
description.
"""
import struct
import sys

SUPER, PENDING, DONE = 1024, 0x40000000, 1 << 63


def crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def need(ok, what):
    if not ok:
        sys.exit("redo_decode.py: " + what)


def le32(data, off):
    return struct.unpack_from("<I", data, off)[0]


def le64(data, off):
    return struct.unpack_from("<Q", data, off)[0]


def be32(data, off):
    return struct.unpack_from(">I", data, off)[0]


def zeroed(data, off, n):
    return data[:off] + bytes(n) + data[off + n:]


def read_list(image, number, nonce):
    """The runs of the record, the blocks of the list, block size, length, and the size before the change."""
    at, runs, listed = number * 1024, [], []
    bs = le32(image, at + 8)
    blk = at // bs
    while True:
        need(blk * bs + bs <= len(image), "the list leads past the end")
        d = image[blk * bs:(blk + 1) * bs]
        need(d[:8] == b"XW-INSD1", "no magic in the list")
        need(le32(d, 0x0C) == crc32c(zeroed(d, 0x0C, 4)), "checksum of the list")
        need(le32(d, 8) == bs and le64(d, 0x20) == nonce, "block size or nonce of the list")
        need(d[0x10:0x20] == image[SUPER + 0x68:SUPER + 0x78], "UUID of the list")
        need(le32(d, 0x3C) == len(listed), "order of the list")
        need(d[0x48:0x50] == bytes(8), "reserved bytes of the list")
        runs += [struct.unpack_from("<QQ", d, 0x50 + 16 * i) for i in range(le32(d, 0x38))]
        listed.append(blk)
        blk = le64(d, 0x30)
        if not blk:
            return runs, listed, bs, le64(d, 0x28), le64(d, 0x40)


def read_log(record, start, bs, count):
    """The blocks of the one transaction: number -> contents."""
    log = record[start:]
    need(be32(log, 0) == 0xC03B3998 and be32(log, 4) == 4 and be32(log, 12) == bs, "superblock of the log")
    need(be32(log, 0x28) == 0x12, "features of the log: 64-bit, checksums of version 3")
    blocks, at = {}, 1
    while len(blocks) < count:
        head = log[at * bs:(at + 1) * bs]
        need(be32(head, 0) == 0xC03B3998 and be32(head, 4) == 1, "descriptor block expected")
        off, at, last = 12, at + 1, False
        while not last:
            low, flags, high = struct.unpack_from(">III", head, off)
            off += 16 if flags & 2 else 32
            data = log[at * bs:(at + 1) * bs]
            blocks[high << 32 | low] = struct.pack(">I", 0xC03B3998) + data[4:] if flags & 1 else data
            at, last = at + 1, flags & 8
    need(be32(log, at * bs) == 0xC03B3998 and be32(log, at * bs + 4) == 2, "commit block expected")
    need(sorted(blocks) == list(blocks), "blocks in ascending order")
    return blocks


def used_blocks(image):
    """Bits of the block bitmaps: what is in use in the state before the change."""
    sb = image[SUPER:SUPER + 1024]
    bs, per, first = 1024 << le32(sb, 0x18), le32(sb, 0x20), le32(sb, 0x14)
    wide = le32(sb, 0x60) & 0x80
    size = struct.unpack_from("<H", sb, 0xFE)[0] if wide else 32
    used, blocks = set(), le32(sb, 4)
    for group in range(-(-(blocks - first) // per)):
        d = (first + 1) * bs + group * size
        if struct.unpack_from("<H", image, d + 0x12)[0] & 2:
            continue  # BLOCK_UNINIT: all but metadata is free
        bits = image[le32(image, d) * bs:][:bs]
        used |= {first + group * per + i for i in range(per) if bits[i // 8] >> i % 8 & 1}
    return used


def main():
    with open(sys.argv[1], "rb") as f:
        image = f.read()
    sb = image[SUPER:SUPER + 1024]
    number, nonce = le64(sb, 0x3E8), le64(sb, 0x3F0)
    need(le32(sb, 0x60) & PENDING and nonce, "no change is pending")
    need(number and le64(sb, 0x188) == number and not number & DONE, "both halves have the number")
    runs, listed, bs, length, before = read_list(image, number, nonce)
    record = b"".join(image[start * bs:(start + n) * bs] for start, n in runs)
    need(len(record) >= length > len(record) - bs, "length of the record")
    head = record[:4096]
    need(head[:8] == b"XW-REDO1" and le32(head, 8) == 1 and le32(head, 0xC) == bs, "header of the record")
    need(le32(head, 0x3FC) == crc32c(zeroed(head, 0x3FC, 4)), "checksum of the header")
    need(head[0x10:0x20] == sb[0x68:0x78] and le64(head, 0x20) == nonce, "UUID and nonce of the record")
    need(head[0x800:0xC00] == sb, "pending superblock of the record")
    need(le32(head, 0x400 + 0x60) & PENDING == 0 and le64(head, 0x400 + 0x3E8) == 0, "superblock before the change")
    count, log_at = le64(head, 0x38), le64(head, 0x40)
    hashes = record[4096:4096 + count * (bs // 512) * 8]
    need(le32(head, 0x50) == crc32c(hashes), "checksum of the hashes")
    need(log_at + le64(head, 0x48) * bs == length, "length of the log")
    blocks = read_log(record, log_at, bs, count)
    need(len(blocks) == count, "number of blocks")
    if before:
        need(before == le64(head, 0x28) and sum(runs[0]) == listed[0], "a record behind the end")
        image = image[:le64(head, 0x30)]
    else:
        places = set(listed).union(*(range(start, start + n) for start, n in runs))
        need(not places & used_blocks(image), "the record is in free blocks")
        need(not places & set(blocks), "the change does not write to the record")
        for start, n in runs + [(blk, 1) for blk in listed]:
            image = zeroed(image, start * bs, n * bs)
    for blk, data in blocks.items():
        image = image[:blk * bs] + data + image[(blk + 1) * bs:]
    with open(sys.argv[2], "wb") as f:
        f.write(image[:SUPER] + head[0xC00:] + image[SUPER + 1024:])
    print("%d blocks, %d runs, number %d" % (count, len(runs), number))


if __name__ == "__main__":
    main()
