#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""damage.py IN OUT SEED [-n N] [--fix-csums]: copies an ext2, ext3 or ext4 image and damages single fields of its metadata.

The same SEED always changes the same places. Each change is printed as one line. N changes, else 1 to 6 as the seed has it. With
--fix-csums the checksums over what was changed are computed again, so that the damage is found behind them, too. Exit status 1,
without an image, if nothing could be changed. Not for meta_bg and bigalloc beyond their superblocks, descriptors and inodes.
"""
import argparse
import random
import struct
import sys

EXTENTS, INLINE = 0x80000, 0x10000000
SUPER_FIELDS = {"inodes_count": (0, 4), "blocks_count": (4, 4), "free_blocks": (12, 4), "free_inodes": (16, 4), "first_data_block": (20, 4),
                "log_block_size": (24, 4), "log_cluster_size": (28, 4), "blocks_per_group": (32, 4), "clusters_per_group": (36, 4),
                "inodes_per_group": (40, 4), "mnt_count": (52, 2), "magic": (56, 2), "state": (58, 2), "errors": (60, 2), "rev_level": (76, 4),
                "first_ino": (84, 4), "inode_size": (88, 2), "feature_compat": (92, 4), "feature_incompat": (96, 4),
                "feature_ro_compat": (100, 4), "reserved_gdt_blocks": (206, 2), "journal_inum": (224, 4), "last_orphan": (232, 4),
                "hash_seed": (236, 4), "def_hash_version": (252, 1), "desc_size": (254, 2), "first_meta_bg": (260, 4),
                "want_extra_isize": (350, 2), "log_groups_per_flex": (372, 1), "checksum_type": (373, 1), "usr_quota_inum": (576, 4),
                "orphan_file_inum": (640, 4)}
INODE_FIELDS = {"mode": (0, 2), "size": (4, 4), "dtime": (20, 4), "links": (26, 2), "blocks": (28, 4), "flags": (32, 4), "block[0]": (40, 4),
                "block[1]": (44, 4), "block[3]": (52, 4), "block[4]": (56, 4), "block[5]": (60, 4), "block[12]": (88, 4),
                "block[13]": (92, 4), "file_acl": (104, 4), "size_high": (108, 4), "extra_isize": (128, 2)}

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(crc, data):
    for b in data:
        crc = TABLE[(crc ^ b) & 255] ^ crc >> 8
    return crc


def crc16(crc, data):
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def get(b, at, size):
    return int.from_bytes(b[at:at + size], "little")


class Image:
    """As much of an image as is needed to find its metadata; a valid image is assumed, and looked at before any damage."""

    def __init__(self, data):
        self.d = data
        sb = data[1024:2048]
        self.bs = 1024 << get(sb, 24, 4)
        self.ipg, self.bpg = get(sb, 40, 4), get(sb, 32, 4)
        self.blocks = len(data) // self.bs
        self.inode_size = get(sb, 88, 2) if get(sb, 76, 4) else 128
        self.incompat, self.ro = get(sb, 96, 4), get(sb, 100, 4)
        self.desc_size = get(sb, 254, 2) if self.incompat & 0x80 else 32
        self.clusters, self.first = get(sb, 36, 4), get(sb, 20, 4)
        self.groups = -(-(get(sb, 4, 4) - self.first) // self.bpg)
        self.csum = bool(self.ro & 0x400)
        self.uuid = sb[104:120]
        self.seed = get(sb, 624, 4) if self.incompat & 0x2000 else crc32c(0xFFFFFFFF, self.uuid)
        self.inodes, self.dirs, self.nodes, self.attrs, self.journal = [], [], [], [], []
        if not self.incompat & 0x10:
            self.scan(get(sb, 224, 4))

    def desc_at(self, group):
        return (1024 // self.bs + 1) * self.bs + group * self.desc_size

    def desc(self, group, field):
        at = self.desc_at(group)
        high = get(self.d, at + 32 + field, 4) if self.desc_size >= 64 else 0
        return get(self.d, at + field, 4) | high << 32

    def inode_at(self, ino):
        group, index = divmod(ino - 1, self.ipg)
        return self.desc(group, 8) * self.bs + index * self.inode_size

    def scan(self, journal):
        for group in range(self.groups):
            if get(self.d, self.desc_at(group) + 18, 2) & 1 and self.ro & 0x410:
                continue
            bitmap = self.desc(group, 4) * self.bs
            for i in range(self.ipg):
                ino = group * self.ipg + i + 1
                if self.d[bitmap + i // 8] >> i % 8 & 1 and get(self.d, self.inode_at(ino), 2):
                    self.inodes.append(ino)
                    self.scan_inode(ino, ino == journal)

    def scan_inode(self, ino, journal):
        at = self.inode_at(ino)
        kind, flags = get(self.d, at, 2) >> 12, get(self.d, at + 32, 4)
        acl = get(self.d, at + 104, 4)
        if 0 < acl < self.blocks:
            self.attrs.append((ino, acl))
        if kind not in (4, 8) or flags & INLINE:
            return
        found = []
        if flags & EXTENTS:
            self.scan_extents(ino, at + 40, found, 0)
        else:
            found += [b for b in (get(self.d, at + 40 + 4 * n, 4) for n in range(12)) if 0 < b < self.blocks]
            tree = get(self.d, at + 88, 4)
            if 0 < tree < self.blocks:
                self.nodes.append((ino, tree))
                found += [b for b in (get(self.d, tree * self.bs + 4 * n, 4) for n in range(self.bs // 4)) if 0 < b < self.blocks]
        if journal:
            self.journal += found[:3]
        elif kind == 4:
            self.dirs += [(ino, b) for b in found]

    def scan_extents(self, ino, at, found, depth):
        if get(self.d, at, 2) != 0xF30A or depth > 5:
            return
        for n in range(min(get(self.d, at + 2, 2), 340)):
            entry = at + 12 + 12 * n
            if get(self.d, at + 6, 2):
                block = get(self.d, entry + 4, 4)
                if 0 < block < self.blocks:
                    self.nodes.append((ino, block))
                    self.scan_extents(ino, block * self.bs, found, depth + 1)
            else:
                start, length = get(self.d, entry + 8, 4), get(self.d, entry + 4, 2) & 0x7FFF
                found += range(start, min(start + length, self.blocks))

    # ---- checksums ----
    def put(self, at, size, value):
        self.d[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def inode_seed(self, ino):
        at = self.inode_at(ino) + 100
        return crc32c(crc32c(self.seed, struct.pack("<I", ino)), self.d[at:at + 4])

    def fix_super(self):
        if self.csum:
            self.put(1024 + 1020, 4, crc32c(0xFFFFFFFF, self.d[1024:2044]))

    def fix_desc(self, group):
        at, number = self.desc_at(group), struct.pack("<I", group)
        b = self.d[at:at + self.desc_size]
        if self.csum:
            b[30:32] = b"\0\0"
            self.put(at + 30, 2, crc32c(crc32c(self.seed, number), b))
        elif self.ro & 0x10:
            self.put(at + 30, 2, crc16(crc16(crc16(0xFFFF, self.uuid), number), b[:30] + b[32:]))

    def fix_bitmap(self, group, field, at, length):
        if self.csum:
            crc = crc32c(self.seed, self.d[at:at + length])
            self.put(self.desc_at(group) + field, 2, crc)
            if self.desc_size >= 64:
                self.put(self.desc_at(group) + field + 32, 2, crc >> 16)
            self.fix_desc(group)

    def fix_inode(self, ino):
        if not self.csum:
            return
        at = self.inode_at(ino)
        high = self.inode_size > 128 and get(self.d, at + 128, 2) >= 4
        self.put(at + 124, 2, 0)
        if high:
            self.put(at + 130, 2, 0)
        crc = crc32c(self.inode_seed(ino), self.d[at:at + self.inode_size])
        self.put(at + 124, 2, crc)
        if high:
            self.put(at + 130, 2, crc >> 16)

    def fix_node(self, ino, at):
        tail = at + 12 + 12 * get(self.d, at + 4, 2)
        if self.csum and get(self.d, at, 2) == 0xF30A and tail + 4 <= at + self.bs:
            self.put(tail, 4, crc32c(self.inode_seed(ino), self.d[at:tail]))

    def fix_dir(self, ino, at):
        end = at + self.bs
        if not self.csum:
            return
        if self.d[end - 12:end - 4] == b"\0\0\0\0\x0c\0\0\xde":
            self.put(end - 4, 4, crc32c(self.inode_seed(ino), self.d[at:end - 12]))
            return
        table = at + 8 if get(self.d, at + 4, 2) == self.bs else at + 32
        count, limit = get(self.d, table + 2, 2), get(self.d, table, 2)
        tail = table + 8 * limit
        if tail + 8 == end and count <= limit:
            crc = crc32c(self.inode_seed(ino), self.d[at:table + 8 * count])
            self.put(tail + 4, 4, crc32c(crc32c(crc, self.d[tail:tail + 4]), b"\0" * 4))

    def fix_attrs(self, block):
        at = block * self.bs
        if self.csum:
            self.put(at + 16, 4, 0)
            self.put(at + 16, 4, crc32c(crc32c(self.seed, struct.pack("<Q", block)), self.d[at:at + self.bs]))


class Damage:
    def __init__(self, image, seed, fix):
        self.i, self.r, self.fix, self.done = image, random.Random("damage %d" % seed), fix, 0

    def change(self, what, at, size):
        """Another value in SIZE bytes: near the old one, an end of the range, a single bit, or anything."""
        old = get(self.i.d, at, size)
        top = (1 << 8 * size) - 1
        for _ in range(20):
            new = self.r.choice((0, 1, top, old + 1, old - 1, old ^ 1 << self.r.randrange(8 * size), self.r.randrange(top + 1),
                                 self.r.randrange(self.i.blocks + 16), old << 1)) & top
            if new != old:
                self.i.put(at, size, new)
                self.done += 1
                print("%s at %d: %#x is %#x" % (what, at, old, new))
                return

    def super(self):
        name, (at, size) = self.r.choice(list(SUPER_FIELDS.items()))
        before = get(self.i.d, 1024 + 96, 4)
        self.change("superblock: " + name, 1024 + at, size)
        if (before ^ get(self.i.d, 1024 + 96, 4)) & 4:
            print("  which is needs_recovery")
        if self.fix:
            self.i.fix_super()

    def desc(self):
        group = self.r.randrange(self.i.groups)
        at, size = self.r.choice(((0, 4), (4, 4), (8, 4), (12, 2), (14, 2), (16, 2), (18, 2), (28, 2)))
        self.change("descriptor %d: byte %d" % (group, at), self.i.desc_at(group) + at, size)
        if self.fix:
            self.i.fix_desc(group)

    def bitmap(self):
        group = self.r.randrange(self.i.groups)
        field, sum_at, length = self.r.choice(((0, 24, self.i.clusters // 8), (4, 26, self.i.ipg // 8)))
        block = self.i.desc(group, field)
        if not 0 < block < self.i.blocks:
            return
        at = block * self.i.bs
        self.change("%s bitmap %d" % ("block" if field == 0 else "inode", group), at + self.r.randrange(length), 1)
        if self.fix:
            self.i.fix_bitmap(group, sum_at, at, length)

    def inode(self):
        if not self.i.inodes:
            return
        ino = self.r.choice(self.i.inodes)
        name, (at, size) = self.r.choice(list(INODE_FIELDS.items()))
        if at + size <= self.i.inode_size:
            self.change("inode %d: %s" % (ino, name), self.i.inode_at(ino) + at, size)
            if self.fix:
                self.i.fix_inode(ino)

    def node(self):
        if not self.i.nodes:
            return
        ino, block = self.r.choice(self.i.nodes)
        at = block * self.i.bs
        offset = self.r.choice((0, 2, 4, 6, 12, 16, 18, 20, 24, 28, 4 * self.r.randrange(self.i.bs // 4)))
        self.change("map block %d of inode %d: byte %d" % (block, ino, offset), at + offset, self.r.choice((2, 4)) if offset >= 12 else 2)
        if self.fix:
            self.i.fix_node(ino, at)

    def dir(self):
        if not self.i.dirs:
            return
        ino, block = self.r.choice(self.i.dirs)
        at, entries, offset = block * self.i.bs, [], 0
        while offset + 8 <= self.i.bs:
            entries.append(offset)
            length = get(self.i.d, at + offset + 4, 2)
            if length < 8 or length % 4:
                break
            offset += length
        entry = self.r.choice(entries + [32, 40, 48])
        field, size = self.r.choice(((0, 4), (4, 2), (6, 1), (7, 1), (8, 1), (9, 1)))
        self.change("directory %d: block %d, byte %d" % (ino, block, entry + field), at + entry + field, size)
        if self.fix:
            self.i.fix_dir(ino, at)

    def attr(self):
        if not self.i.attrs:
            return
        ino, block = self.r.choice(self.i.attrs)
        offset, size = self.r.choice(((0, 4), (4, 4), (8, 4), (12, 4), (32, 1), (33, 1), (34, 2), (36, 4), (40, 4), (44, 4), (48, 4)))
        self.change("attribute block %d of inode %d: byte %d" % (block, ino, offset), block * self.i.bs + offset, size)
        if self.fix:
            self.i.fix_attrs(block)

    def journal(self):
        if self.i.journal:
            offset, size = self.r.choice(((0, 4), (4, 4), (12, 4), (16, 4), (20, 4), (24, 4), (28, 4), (36, 4), (40, 4)))
            self.change("journal: byte %d" % offset, self.i.journal[0] * self.i.bs + offset, size)

    def run(self, n):
        kinds = (self.super, self.desc, self.bitmap, self.inode, self.inode, self.node, self.dir, self.dir, self.attr, self.journal)
        for _ in range(n or self.r.randrange(1, 7)):
            self.r.choice(kinds)()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("input")
    p.add_argument("output")
    p.add_argument("seed", type=int)
    p.add_argument("-n", type=int, default=0)
    p.add_argument("--fix-csums", action="store_true")
    a = p.parse_args()
    with open(a.input, "rb") as f:
        image = Image(bytearray(f.read()))
    damage = Damage(image, a.seed, a.fix_csums)
    damage.run(a.n)
    if not damage.done:
        sys.exit(3)
    with open(a.output, "wb") as f:
        f.write(image.d)


if __name__ == "__main__":
    main()
