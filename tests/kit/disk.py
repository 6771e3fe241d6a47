#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Partition tables: disk.py FILE KIND MIB START:SIZE[:l]... writes one into FILE, a disk of so many MiB, and leaves the rest of it.

KIND: dos, gpt, gpt4096 (in sectors of 4096 bytes) or none. START and SIZE are KiB. With dos, those with :l are logical partitions, in
an extended partition that begins 64 KiB before the first of them and ends with the disk; there is one free sector before each."""
import struct
import sys
import uuid
import zlib

KIB = 1024
LINUX = uuid.UUID('0fc63daf-8483-4772-8e79-3d69d8477de4').bytes_le


def mbr(entries):
    b = bytearray(512)
    for i, (kind, start, size) in enumerate(entries):
        b[446 + 16 * i:462 + 16 * i] = struct.pack('<B3sB3sII', 0, b'\0\2\0', kind, b'\xff' * 3, start, size)
    b[510:] = b'\x55\xaa'
    return b


def dos(disk, parts):
    """Sectors of the table are the only ones that are written."""
    primary = [(0x83, s * 2, n * 2) for s, n, logical in parts if not logical]
    inner = [(s * 2, n * 2) for s, n, logical in parts if logical]
    if inner:
        base = inner[0][0] - 128
        primary.append((5, base, len(disk) // 512 - base))
        places = [base] + [start - 1 for start, n in inner[1:]]  # of the extended boot records
        for i, (start, n) in enumerate(inner):
            chain = [(0x83, start - places[i], n)]
            if i + 1 < len(inner):
                chain.append((5, places[i + 1] - base, inner[i + 1][0] + inner[i + 1][1] - places[i + 1]))
            disk[places[i] * 512:places[i] * 512 + 512] = mbr(chain)
    disk[:512] = mbr(primary)


def gpt(disk, parts, sector):
    per = KIB // sector if sector < KIB else 0
    last = len(disk) // sector - 1
    table = bytearray(128 * 128)
    for i, (start, size, _) in enumerate(parts):
        a, b = (start * per, (start + size) * per) if per else (start * KIB // sector, (start + size) * KIB // sector)
        table[128 * i:128 * i + 48] = LINUX + uuid.UUID(int=i + 1).bytes_le + struct.pack('<QQ', a, b - 1)
        name = ('part%d' % (i + 1)).encode('utf-16-le')
        table[128 * i + 56:128 * i + 56 + len(name)] = name
    blocks = -(-len(table) // sector)

    def header(own, other, at):
        h = struct.pack('<8sIIIIQQQQ16sQIII', b'EFI PART', 0x10000, 92, 0, 0, own, other, 2 + blocks, last - blocks - 1,
                        uuid.UUID(int=9).bytes_le, at, 128, 128, zlib.crc32(table))
        return h[:16] + struct.pack('<I', zlib.crc32(h)) + h[20:]
    disk[:512] = mbr([(0xee, 1, min(last, 0xffffffff))])
    disk[sector:sector + 92] = header(1, last, 2)
    disk[2 * sector:2 * sector + len(table)] = table
    disk[(last - blocks) * sector:(last - blocks) * sector + len(table)] = table
    disk[last * sector:last * sector + 92] = header(last, 1, last - blocks)


def write_table(disk, kind, parts):
    """Into a bytearray. parts: (start, size, logical) in KiB."""
    if kind == 'dos':
        dos(disk, parts)
    elif kind != 'none':
        gpt(disk, parts, 4096 if kind == 'gpt4096' else 512)


def main():
    name, kind, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])
    parts = [(int(p.split(':')[0]), int(p.split(':')[1]), p.endswith(':l')) for p in sys.argv[4:]]
    try:
        with open(name, 'rb') as f:
            disk = bytearray(f.read())
    except FileNotFoundError:
        disk = bytearray()
    disk = (disk + bytes(max(0, (mib << 20) - len(disk))))[:mib << 20]
    write_table(disk, kind, parts)
    with open(name, 'wb') as f:
        f.write(disk)


if __name__ == '__main__':
    main()
