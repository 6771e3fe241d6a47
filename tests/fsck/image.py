# SPDX-License-Identifier: MIT
"""An ext4 image in memory, to be damaged: places of structures, and their checksums.

Made for images that xw-mkfs has just built: nothing is checked. Fields are (offset, bytes) and little-endian.
"""
import os
import struct

SUPER = 1024

SB = {
    "inodes_count": (0, 4), "blocks_count": (4, 4), "r_blocks_count": (8, 4), "free_blocks_count": (12, 4),
    "free_inodes_count": (16, 4), "first_data_block": (20, 4), "log_block_size": (24, 4),
    "log_cluster_size": (28, 4), "blocks_per_group": (32, 4),
    "clusters_per_group": (36, 4), "inodes_per_group": (40, 4), "mtime": (44, 4), "wtime": (48, 4),
    "mnt_count": (52, 2), "max_mnt_count": (54, 2),
    "magic": (56, 2), "state": (58, 2), "lastcheck": (64, 4), "checkinterval": (68, 4), "creator_os": (72, 4),
    "rev_level": (76, 4), "first_ino": (84, 4), "inode_size": (88, 2), "feature_compat": (92, 4),
    "feature_incompat": (96, 4), "feature_ro_compat": (100, 4), "uuid": (104, 16), "reserved_gdt_blocks": (206, 2),
    "journal_uuid": (208, 16), "journal_inum": (224, 4), "journal_dev": (228, 4), "last_orphan": (232, 4),
    "hash_seed": (236, 16), "def_hash_version": (252, 1), "jnl_backup_type": (253, 1), "desc_size": (254, 2),
    "first_meta_bg": (260, 4), "mkfs_time": (264, 4), "jnl_blocks": (268, 68), "min_extra_isize": (348, 2),
    "want_extra_isize": (350, 2), "flags": (352, 4), "mmp_interval": (356, 2), "mmp_block": (360, 8),
    "usr_quota_inum": (576, 4), "grp_quota_inum": (580, 4), "prj_quota_inum": (620, 4), "checksum_seed": (624, 4), "encoding": (636, 2), "orphan_file_inum": (640, 4),
    "checksum": (1020, 4),
}
INODE = {
    "mode": (0, 2), "uid": (2, 2), "size": (4, 4), "atime": (8, 4), "ctime": (12, 4), "mtime": (16, 4),
    "dtime": (20, 4), "gid": (24, 2), "links": (26, 2), "blocks": (28, 4), "flags": (32, 4), "block": (40, 60),
    "generation": (100, 4), "file_acl": (104, 4), "size_high": (108, 4), "faddr": (112, 4), "blocks_high": (116, 2),
    "file_acl_high": (118, 2), "csum_lo": (124, 2), "extra_isize": (128, 2), "csum_hi": (130, 2),
}
GROUP = {
    "block_bitmap": (0, 4), "inode_bitmap": (4, 4), "inode_table": (8, 4), "free_blocks": (12, 2),
    "free_inodes": (14, 2), "used_dirs": (16, 2), "flags": (18, 2), "block_bitmap_csum": (24, 2),
    "inode_bitmap_csum": (26, 2), "itable_unused": (28, 2), "checksum": (30, 2),
}
FL_INDEX, FL_EXTENTS, FL_INLINE, FL_ITREE = 0x1000, 0x80000, 0x10000000, 0x08000000
RO_METADATA_CSUM, RO_GDT_CSUM, RO_ITREE = 0x400, 0x10, 0x40000000
COMPAT_HAS_JOURNAL, INCOMPAT_RECOVER, INCOMPAT_64BIT, INCOMPAT_CSUM_SEED = 4, 4, 0x80, 0x2000


def _table(poly):
    out = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (poly if n & 1 else 0)
        out.append(n)
    return out


_CRC32C, _CRC16 = _table(0x82F63B78), _table(0xA001)


def crc32c(seed, data):
    for b in data:
        seed = seed >> 8 ^ _CRC32C[(seed ^ b) & 255]
    return seed


def crc16(seed, data):
    for b in data:
        seed = seed >> 8 ^ _CRC16[(seed ^ b) & 255]
    return seed


class Image:
    def __init__(self, data, buffer=None):
        """buffer: a bytearray to copy the data into, which costs less than a new one of the same size."""
        if buffer is not None and len(buffer) == len(data):
            buffer[:] = data
            self.b = buffer
        else:
            self.b = bytearray(data)
        self.unreadable = []
        self.bs = 1024 << self.sb("log_block_size")
        self.inode_size = self.sb("inode_size") or 128
        self.per_group = self.sb("inodes_per_group")
        self.first = self.sb("first_data_block")
        big = self.sb("feature_incompat") & INCOMPAT_64BIT
        self.desc_size = (self.sb("desc_size") or 64) if big else 32
        self.groups = -(-(self.sb("blocks_count") - self.first) // self.sb("blocks_per_group"))
        self.csum = bool(self.sb("feature_ro_compat") & RO_METADATA_CSUM)
        self.seed = crc32c(0xFFFFFFFF, self.sb_bytes("uuid"))
        if self.sb("feature_incompat") & INCOMPAT_CSUM_SEED:
            self.seed = self.sb("checksum_seed")

    def save(self, path):
        """Writes the image as a sparse file."""
        step, zeros = 16384, bytes(16384)
        with open(path, "wb", buffering=0) as f:
            f.truncate(len(self.b))
            for at in range(0, len(self.b), step):
                piece = self.b[at:at + step]
                if piece != zeros:
                    os.pwrite(f.fileno(), piece, at)

    # bytes
    def get(self, off, size):
        return int.from_bytes(self.b[off:off + size], "little")

    def put(self, off, size, value):
        if isinstance(value, (bytes, bytearray)):
            assert len(value) <= size
            self.b[off:off + len(value)] = value
        else:
            self.b[off:off + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def block(self, n):
        return n * self.bs

    def zap(self, blk, byte=0):
        self.b[blk * self.bs:(blk + 1) * self.bs] = bytes([byte]) * self.bs

    # superblock
    def sb(self, field):
        return self.get(SUPER + SB[field][0], SB[field][1])

    def sb_bytes(self, field):
        return bytes(self.b[SUPER + SB[field][0]:SUPER + sum(SB[field])])

    def set_sb(self, field, value, csum=True):
        self.put(SUPER + SB[field][0], SB[field][1], value)
        if csum:
            self.fix_sb()

    def fix_sb(self):
        if self.sb("feature_ro_compat") & RO_METADATA_CSUM:
            self.put(SUPER + 1020, 4, crc32c(0xFFFFFFFF, self.b[SUPER:SUPER + 1020]))

    # groups
    def gd_off(self, g):
        return (2048 if self.bs == 1024 else self.bs) + g * self.desc_size

    def gd(self, g, field):
        return self.get(self.gd_off(g) + GROUP[field][0], GROUP[field][1])

    def set_gd(self, g, field, value, csum=True):
        self.put(self.gd_off(g) + GROUP[field][0], GROUP[field][1], value)
        if csum:
            self.fix_gd(g)

    def fix_gd(self, g):
        off, number = self.gd_off(g), struct.pack("<I", g)
        raw = bytearray(self.b[off:off + self.desc_size])
        if self.csum:
            raw[30:32] = b"\0\0"
            self.put(off + 30, 2, crc32c(crc32c(self.seed, number), raw))
        elif self.sb("feature_ro_compat") & RO_GDT_CSUM:
            c = crc16(crc16(0xFFFF, self.sb_bytes("uuid")), number)
            c = crc16(crc16(c, raw[:30]), raw[32:])
            self.put(off + 30, 2, c)

    def fix_bitmaps(self, g):
        if not self.csum:
            return
        for field, bits, high in (("block_bitmap", self.sb("clusters_per_group"), 0x38),
                                  ("inode_bitmap", self.per_group, 0x3A)):
            at = self.block(self.gd(g, field))
            c = crc32c(self.seed, self.b[at:at + bits // 8])
            self.put(self.gd_off(g) + GROUP[field + "_csum"][0], 2, c)
            if self.desc_size >= 64:
                self.put(self.gd_off(g) + high, 2, c >> 16)
        self.fix_gd(g)

    def flip_bit(self, g, field, bit, csum=True):
        self.b[self.block(self.gd(g, field)) + bit // 8] ^= 1 << bit % 8
        if csum:
            self.fix_bitmaps(g)

    # inodes
    def inode_off(self, ino):
        g, i = divmod(ino - 1, self.per_group)
        return self.block(self.gd(g, "inode_table")) + i * self.inode_size

    def inode(self, ino, field):
        return self.get(self.inode_off(ino) + INODE[field][0], INODE[field][1])

    def set_inode(self, ino, field, value, csum=True):
        self.put(self.inode_off(ino) + INODE[field][0], INODE[field][1], value)
        if csum:
            self.fix_inode(ino)

    def iblock(self, ino, at, size, value, csum=True):
        """Bytes of i_block: 60 of them, a map, the root of an extent tree, or the target of a symbolic link."""
        self.put(self.inode_off(ino) + 40 + at, size, value)
        if csum:
            self.fix_inode(ino)

    def inode_seed(self, ino):
        off = self.inode_off(ino)
        return crc32c(crc32c(self.seed, struct.pack("<I", ino)), self.b[off + 100:off + 104])

    def fix_inode(self, ino):
        if not self.csum:
            return
        off = self.inode_off(ino)
        raw = bytearray(self.b[off:off + self.inode_size])
        raw[124:126] = b"\0\0"
        high = self.inode_size > 128 and self.inode(ino, "extra_isize") >= 4
        if high:
            raw[130:132] = b"\0\0"
        c = crc32c(self.inode_seed(ino), raw)
        self.put(off + 124, 2, c)
        if high:
            self.put(off + 130, 2, c >> 16)

    # maps: {logical: physical}, and blocks of the map itself in self.map_blocks
    def blocks(self, ino):
        out, self.map_blocks = {}, []
        at = self.inode_off(ino) + 40
        if self.inode(ino, "flags") & FL_EXTENTS:
            self._extents(at, out)
        else:
            for i in range(12):
                if self.get(at + 4 * i, 4):
                    out[i] = self.get(at + 4 * i, 4)
            start = 12
            for level in (1, 2, 3):
                start = self._indirect(self.get(at + 4 * (11 + level), 4), level, start, out)
        return out

    def _extents(self, at, out):
        entries, depth = self.get(at + 2, 2), self.get(at + 6, 2)
        for i in range(entries):
            e = at + 12 + 12 * i
            if depth:
                node = self.get(e + 4, 4)
                self.map_blocks.append(node)
                self._extents(self.block(node), out)
            else:
                for k in range(self.get(e + 4, 2) & 0x7FFF):
                    out[self.get(e, 4) + k] = self.get(e + 8, 4) + k

    def _indirect(self, blk, level, start, out):
        step = (self.bs // 4) ** (level - 1)
        if not blk:
            return start + step * (self.bs // 4)
        self.map_blocks.append(blk)
        for i in range(self.bs // 4):
            n = self.get(self.block(blk) + 4 * i, 4)
            if level > 1:
                self._indirect(n, level - 1, start + i * step, out)
            elif n:
                out[start + i] = n
        return start + step * (self.bs // 4)

    def fix_extent_block(self, ino, blk):
        if self.csum:
            off = self.block(blk)
            tail = 12 + 12 * ((self.bs - 12) // 12)
            self.put(off + tail, 4, crc32c(self.inode_seed(ino), self.b[off:off + tail]))

    # directories
    def entries(self, ino):
        """(offset in the image, inode, rec_len, name) of every entry that is in use, but for index nodes."""
        for _, blk in sorted(self.blocks(ino).items()):
            at, end = self.block(blk), self.block(blk + 1)
            while at < end:
                child, rec_len, name_len = self.get(at, 4), self.get(at + 4, 2), self.b[at + 6]
                if rec_len < 8:
                    break
                if child and name_len:
                    yield at, child, rec_len, bytes(self.b[at + 8:at + 8 + name_len])
                at += rec_len

    def entry(self, ino, name):
        for at, child, _, found in self.entries(ino):
            if found == name.encode():
                return at, child
        raise KeyError(name)

    def lookup(self, path):
        ino = 2
        for name in filter(None, path.split("/")):
            ino = self.entry(ino, name)[1]
        return ino

    def fix_dir_block(self, ino, blk):
        if not self.csum:
            return
        off, seed = self.block(blk), self.inode_seed(ino)
        if bytes(self.b[off + self.bs - 12:off + self.bs - 4]) == b"\0\0\0\0\x0c\0\0\xde":
            self.put(off + self.bs - 4, 4, crc32c(seed, self.b[off:off + self.bs - 12]))
            return
        head = off + (8 if self.get(off + 4, 2) == self.bs else 32)
        limit, count = self.get(head, 2), self.get(head + 2, 2)
        tail = head + 8 * limit
        c = crc32c(seed, self.b[off:head + 8 * count])
        c = crc32c(crc32c(c, self.b[tail:tail + 4]), b"\0\0\0\0")
        self.put(tail + 4, 4, c)

    def set_entry(self, ino, name, at, size, value, csum=True):
        """A field of an entry: 0 inode, 4 rec_len, 6 name_len, 7 type, 8 name."""
        off = self.entry(ino, name)[0]
        self.put(off + at, size, value)
        if csum:
            self.fix_dir_block(ino, off // self.bs)

    # blocks of extended attributes: entries begin at byte 32
    def xattr_block(self, ino):
        return self.inode(ino, "file_acl")

    def fix_xattr_block(self, blk):
        if self.csum:
            raw = bytearray(self.b[self.block(blk):self.block(blk + 1)])
            raw[16:20] = bytes(4)
            self.put(self.block(blk) + 16, 4, crc32c(crc32c(self.seed, struct.pack("<Q", blk)), raw))

    # itrees: the last slot of the index's root names the root of the tree; see itree(5)
    def itree_slot(self, ino):
        return self.block(self.blocks(ino)[0] + 1) - (16 if self.csum else 8)

    def itree_root(self, ino):
        return self.get(self.itree_slot(ino), 8)
