# SPDX-License-Identifier: MIT
"""The cases: what is damaged in which image, what is found, and what may be lost. run.py says what is demanded."""
from image import (COMPAT_HAS_JOURNAL, FL_EXTENTS, FL_INDEX, FL_INLINE, FL_ITREE, INCOMPAT_RECOVER, SUPER,
                   crc32c)

BASES = {
    "ext4": ["-t", "ext4"],
    "ext2": ["-t", "ext2"],
    "ext3": ["-t", "ext3"],
    "nocsum": ["-t", "ext4", "-O", "^metadata_csum"],
    "inline": ["-t", "ext4", "-O", "inline_data"],
    "quota": ["-t", "ext4", "-O", "quota"],
    "orphan": ["-t", "ext4", "-O", "orphan_file"],
    "mmp": ["-t", "ext4", "-O", "mmp"],
    "itree": ["-t", "ext4", "-O", "itree"],
    "casefold": ["-t", "ext4", "-O", "casefold", "-E", "encoding=utf8"],
    "large inodes": ["-t", "ext4", "-O", "^has_journal", "-b", "65536", "-I", "8192", "-N", "256"],
    "large itree": ["-t", "ext4", "-O", "^has_journal,itree", "-b", "65536", "-I", "8192", "-N", "256"],
}
ALL = []


class Case:
    def __init__(self, damage, findings, base, lost, only, stock, note, moved, todo, late, left, options, reads,
                 first, named, preen):
        self.damage, self.findings, self.base, self.lost = damage, findings, base, lost
        self.only, self.stock, self.note, self.moved, self.todo = only, stock, note, moved, todo
        self.late, self.left, self.options, self.reads = late, left, options, reads
        self.first, self.named, self.preen = first, named, preen
        self.name = "%s: %s" % (base, damage.__name__.replace("_", " "))


def case(*findings, base="ext4", lost=(), only=False, stock=True, note=False, moved=False,
         todo=None, late=False, left=False, options=(), reads=False, first=False,
         named=False, preen=False):
    """Decorates a function that damages an image.

    findings: what must be found, at least (only: nothing else); lost: names, or patterns of them, that may be lost;
    note: not an error, so that the status is 0; moved: contents may be under other names; todo: what xw-fsck does not
    do yet; late: only a repair comes across it; left: it cannot be repaired, and is said to be left (or with
    another exit status, the bit of that); options: further
    ones of xw-fsck; reads: blocks that the function puts into .unreadable cannot be read; first: a repair reports
    what -fn finds, and nothing as its consequence; named: contents in lost+found count as lost, and so do attributes; preen: -p
    repairs it, too, without anybody's help.
    """
    def add(damage):
        for b in [base] if isinstance(base, str) else base:
            ALL.append(Case(damage, findings, b, lost, only, stock and "itree" not in b, note, moved, todo, late,
                            left, options, reads, first, named, preen))
        return damage
    return add


# ---- superblock ----


@case("superblock-checksum", only=True)
def superblock_checksum(i):
    i.put(SUPER + 0x34, 1, i.get(SUPER + 0x34, 1) ^ 4)


@case("superblock-setting", "superblock-checksum")
def superblock_hash_seed(i):
    i.put(SUPER + 0xEC, 1, i.get(SUPER + 0xEC, 1) ^ 0x81)


@case("superblock-lost", stock=False)
def superblock_of_zeros(i):
    i.put(SUPER, 1024, bytes(1024))


@case("superblock-reserved-blocks")
def reserved_blocks(i):
    i.set_sb("r_blocks_count", i.sb("blocks_count") - 1)


@case("superblock-uuid", base="nocsum", note=True)
def no_uuid(i):
    i.set_sb("uuid", bytes(16))


@case("superblock-time", note=True)
def superblock_time_in_the_future(i):
    i.set_sb("mtime", 0xF0000000)


@case("superblock-first-meta-bg", base="nocsum")
def first_meta_bg(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 0x10)
    i.set_sb("feature_compat", i.sb("feature_compat") & ~0x10)
    i.set_sb("first_meta_bg", 9999)


@case("superblock-extra-isize")
def extra_isize_wanted(i):
    i.set_sb("want_extra_isize", 500)


@case("superblock-hash")
def default_hash(i):
    i.set_sb("def_hash_version", 77)


@case("superblock-quota-inode", base="quota")
def quota_inode(i):
    i.set_sb("usr_quota_inum", 5000)


@case("free-blocks", note=True)
def free_blocks_of_the_superblock(i):
    i.set_sb("free_blocks_count", 77)


@case("free-inodes", note=True)
def free_inodes_of_the_superblock(i):
    i.set_sb("free_inodes_count", 7)


# ---- groups ----


@case("group-checksum", base=["ext4"])
def group_checksum(i):
    i.put(i.gd_off(0) + 30, 2, 0x1234)


@case("group-free-blocks")
def free_blocks_of_a_group(i):
    i.set_gd(0, "free_blocks", 3)


@case("group-free-inodes", base=["ext4", "ext2"])
def free_inodes_of_a_group(i):
    i.set_gd(0, "free_inodes", 3)


@case("group-directories", base=["ext4", "ext2"])
def directories_of_a_group(i):
    i.set_gd(0, "used_dirs", 99)


@case("group-block-bitmap-place")
def block_bitmap_beyond_the_end(i):
    i.set_gd(0, "block_bitmap", 0x7FFFFFFF)


@case("group-inode-bitmap-place")
def inode_bitmap_beyond_the_end(i):
    i.set_gd(0, "inode_bitmap", 0x7FFFFFFF)


@case("group-inode-table-place")
def inode_table_beyond_the_end(i):
    i.set_gd(0, "inode_table", 0x7FFFFFFF)


@case("group-unused-inodes")
def unused_inodes_beyond_the_table(i):
    i.set_gd(0, "itable_unused", 0xFFF0)


@case("group-unused-inodes", base=["ext4", "groups"])
def all_inodes_unused(i):
    """The root inode among them: nothing refers to any of the others then."""
    for g in range(i.groups):
        i.set_gd(g, "itable_unused", i.per_group)


@case("group-unused-inodes")
def more_unused_inodes_than_free_ones(i):
    i.set_gd(0, "itable_unused", i.gd(0, "free_inodes") + 1)


@case("itable-unused")
def unused_inodes_in_use(i):
    i.set_gd(0, "free_inodes", i.per_group - 12)
    i.set_gd(0, "itable_unused", i.per_group - 12)


@case("block-bitmap-differences", base=["ext4", "ext2", "nocsum"])
def block_free_in_the_bitmap(i):
    blk = i.blocks(i.lookup("file"))[0]
    i.flip_bit(0, "block_bitmap", blk - i.first)


@case("block-bitmap-differences", base=["ext4", "ext2"])
def blocks_used_in_the_bitmap(i):
    at = i.block(i.gd(0, "block_bitmap"))
    i.put(at + 900, 20, b"\xff" * 20)
    i.fix_bitmaps(0)


@case("inode-bitmap-differences", base=["ext4", "ext2"])
def inode_free_in_the_bitmap(i):
    i.flip_bit(0, "inode_bitmap", i.lookup("file") - 1)


@case("inode-bitmap-differences")
def inode_used_in_the_bitmap(i):
    i.flip_bit(0, "inode_bitmap", i.per_group - 1)


@case("block-bitmap-checksum")
def block_bitmap_checksum(i):
    i.set_gd(0, "block_bitmap_csum", 0x4321)


@case("inode-bitmap-checksum")
def inode_bitmap_checksum(i):
    i.set_gd(0, "inode_bitmap_csum", 0x4321)


@case("inode-bitmap-padding")
def padding_of_an_inode_bitmap(i):
    i.put(i.block(i.gd(0, "inode_bitmap")) + i.bs - 1, 1, 0)
    i.fix_bitmaps(0)


@case("group-uninit", base="ext2")
def uninitialized_without_the_feature(i):
    i.set_gd(0, "flags", 2)


# ---- inodes ----


@case("inode-csum", only=True)
def inode_checksum(i):
    i.set_inode(i.lookup("file"), "csum_lo", 0x1111, csum=False)


@case("inode-dtime-set", base=["ext4", "ext2"])
def dtime_of_an_inode_in_use(i):
    i.set_inode(i.lookup("file"), "dtime", 1600000000)


@case("inode-extra-isize")
def extra_size_too_large(i):
    i.set_inode(i.lookup("file"), "extra_isize", 300)


@case("inode-mode", base=["ext4", "ext2"], lost=["dev"])
def mode_of_nothing(i):
    i.set_inode(i.lookup("dev"), "mode", 0o030644)


@case("inode-mode-directory")
def directory_with_the_mode_of_a_device(i):
    i.set_inode(i.lookup("sub"), "mode", 0o020755)


@case("dir-filetype", moved=True)
def directory_with_the_mode_of_a_file(i):
    i.set_inode(i.lookup("sub"), "mode", 0o100755)
    i.set_inode(i.lookup("sub"), "links", 1)


@case("inode-faddr", base="ext2")
def fragment_address(i):
    i.set_inode(i.lookup("file"), "faddr", 99)


@case("inode-index-flag", preen=True)
def index_of_a_fifo(i):
    ino = i.lookup("fifo")
    i.set_inode(ino, "flags", FL_INDEX)


@case("inode-flags")
def flags_that_are_not_allowed(i):
    i.set_inode(i.lookup("fifo"), "flags", FL_EXTENTS)


@case("inode-special-immutable", preen=True)
def immutable_device(i):
    i.set_inode(i.lookup("dev"), "flags", 0x10)


@case("inode-special-size")
def size_of_a_device(i):
    i.set_inode(i.lookup("dev"), "size", 1024)


@case("inode-size", base=["ext4", "ext2"])
def size_too_small(i):
    i.set_inode(i.lookup("sub"), "size", 3 * i.bs)


@case("inode-blocks", base=["ext4", "ext2"], only=True)
def count_of_blocks(i):
    i.set_inode(i.lookup("file"), "blocks", 2)


@case("inode-extents-flag")
def extents_without_the_flag(i):
    ino = i.lookup("file")
    i.set_inode(ino, "flags", i.inode(ino, "flags") & ~FL_EXTENTS)


@case("inode-inline-feature", lost=["small", "hard"])
def inline_data_without_the_feature(i):
    ino = i.lookup("small")
    i.set_inode(ino, "flags", FL_INLINE)


@case("symlink-invalid", lost=["longlink"])
def symbolic_link_without_a_target(i):
    ino = i.lookup("longlink")
    i.zap(i.blocks(ino)[0])


@case("symlink-size")
def size_of_a_symbolic_link(i):
    i.set_inode(i.lookup("link"), "size", 3)


@case("directory-empty", lost=["empty"])
def directory_without_blocks(i):
    ino = i.lookup("empty")
    i.iblock(ino, 2, 2, 0)
    i.set_inode(ino, "size", 0)
    i.set_inode(ino, "blocks", 0)


# ---- maps ----


@case("extent-header", lost=["file"])
def extent_header_in_an_inode(i):
    i.iblock(i.lookup("file"), 0, 2, 0x1234)


@case("extent-entries", lost=["file"])
def extents_more_than_fit(i):
    i.iblock(i.lookup("file"), 2, 2, 9)


@case("extent-length", lost=["file"])
def extent_of_length_zero(i):
    i.iblock(i.lookup("file"), 12 + 4, 2, 0)


@case("block-range", lost=["file"], base="ext4")
def extent_beyond_the_end(i):
    i.iblock(i.lookup("file"), 12 + 8, 4, 0x7FFFFFF0)


@case("extent-header", lost=["pieces"])
def extent_header_in_a_block(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    i.zap(i.map_blocks[0])


@case("extent-csum", only=True)
def checksum_of_an_extent_block(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    at = i.block(i.map_blocks[0]) + 12 + 12 * ((i.bs - 12) // 12)
    i.put(at, 4, 0x12345678)


@case("extent-depth", lost=["pieces"])
def depth_of_an_extent_block(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    blk = i.map_blocks[0]
    i.put(i.block(blk) + 6, 2, 3)
    i.fix_extent_block(ino, blk)


@case("extent-empty", lost=["pieces"])
def empty_extent_block(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    blk = i.map_blocks[0]
    i.put(i.block(blk) + 2, 2, 0)
    i.fix_extent_block(ino, blk)


@case("extent-start", lost=["pieces"])
def index_before_its_block(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    i.put(i.block(i.map_blocks[0]) + 12, 4, 1)
    i.fix_extent_block(ino, i.map_blocks[0])


@case("extent-long", base=["ext4", "nocsum"])
def extent_over_those_behind_it(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    i.put(i.block(i.map_blocks[0]) + 24 + 4, 2, 300)
    i.fix_extent_block(ino, i.map_blocks[0])


@case("extent-long", base=["ext4", "nocsum"])
def extent_over_those_behind_it_and_the_end(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    i.put(i.block(i.map_blocks[0]) + 24 + 4, 2, 32000)
    i.fix_extent_block(ino, i.map_blocks[0])


@case("extent-order", lost=["pieces"])
def extents_out_of_order(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    at = i.block(i.map_blocks[0])
    i.put(at + 24, 4, 200)
    i.fix_extent_block(ino, i.map_blocks[0])


@case("map-block-range", lost=["pieces", "big"], base=["ext4", "ext2"])
def map_block_beyond_the_end(i):
    if i.csum:
        i.blocks(i.lookup("pieces"))
        i.zap(i.map_blocks[0])
        i.iblock(i.lookup("pieces"), 12 + 4, 4, 0x7FFFFFF0)
    else:
        i.iblock(i.lookup("big"), 48, 4, 0x7FFFFFF0)


@case("map-block-metadata", lost=["pieces", "big"], base="ext2")
def map_block_in_the_inode_table(i):
    i.iblock(i.lookup("big"), 52, 4, i.gd(0, "inode_table") + 1)


@case("block-range", lost=["file"], base="ext2")
def block_beyond_the_end(i):
    i.iblock(i.lookup("file"), 0, 4, 0x7FFFFFF0)


@case("contested", base=["ext4", "ext2"], lost=["small", "hard"])
def blocks_of_two_files(i):
    blk = i.blocks(i.lookup("file"))[0]
    i.iblock(i.lookup("small"), 12 + 8 if i.csum else 0, 4, blk)


@case("contested", base=["ext4", "ext2"], lost=["many/name-00*"])
def two_blocks_of_many_files(i):
    blk = i.blocks(i.lookup("file"))[0]
    for n in range(10):
        i.iblock(i.lookup("many/name-%03d-of-a-file" % n), 12 + 8 if i.csum else 0, 4, blk + n % 2)


# ---- directories ----


@case("dir-csum")
def directory_checksum(i):
    blk = i.blocks(i.lookup("sub"))[0]
    i.put(i.block(blk + 1) - 4, 4, 0x1234)


@case("dir-rec-len", base=["ext4", "ext2"], moved=True)
def length_of_an_entry(i):
    i.set_entry(i.lookup("sub"), "deep", 4, 2, 3)


@case("dir-name-len", base=["ext4", "ext2"], moved=True)
def name_longer_than_its_entry(i):
    ino = i.lookup("sub")
    at = i.entry(ino, ".")[0]
    i.put(at + 6, 1, 50)
    i.fix_dir_block(ino, at // i.bs)


@case("dir-no-dot")
def no_dot(i):
    i.set_entry(i.lookup("sub"), ".", 8, 1, ord("x"))


@case("dir-no-dotdot", moved=True)
def no_dotdot(i):
    i.set_entry(i.lookup("sub"), "..", 8, 2, b"xy")


@case("dir-dot-inode")
def dot_leads_elsewhere(i):
    i.set_entry(i.lookup("sub"), ".", 0, 4, 2)


@case("dir-dotdot")
def dotdot_leads_elsewhere(i):
    i.set_entry(i.lookup("sub/deep"), "..", 0, 4, i.lookup("empty"))


@case("dir-name-characters", base=["ext4", "ext2"], moved=True)
def slash_in_a_name(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 9, 1, ord("/"))


@case("dir-entry-number", lost=["sub/deep/inner"])
def entry_of_an_impossible_inode(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0x70000000)


@case("dir-entry-unused", lost=["sub/deep/inner"])
def entry_of_an_unused_inode(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, i.per_group - 3)


@case("dir-filetype", base=["ext4", "ext2"], only=True)
def type_in_an_entry(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 7, 1, 7)


@case("dir-link-root", moved=True)
def entry_of_the_root(i):
    i.set_entry(i.lookup("sub"), "deep", 0, 4, 2)


@case("dir-hard-link", moved=True)
def second_entry_of_a_directory(i):
    i.set_entry(i.lookup("sub"), "deep", 0, 4, i.lookup("empty"))


@case("dir-hole", base=["ext2"], moved=True)
def hole_in_a_directory(i):
    i.iblock(i.lookup("many"), 12, 4, 0)


@case("dir-unconnected", moved=True)
def directory_without_a_name(i):
    i.set_entry(i.lookup("sub"), "deep", 0, 4, 0)


@case("inode-unattached", base=["ext4", "ext2"], moved=True)
def file_without_a_name(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0)


@case("inode-unattached", base=["ext4", "ext2"], moved=True)
def many_files_without_a_name(i):
    i.set_inode(i.lookup("many"), "mode", 0o100644)
    i.set_inode(i.lookup("many"), "links", 1)


@case("link-count", base=["ext4", "ext2"])
def link_count_of_a_file(i):
    i.set_inode(i.lookup("file"), "links", 5)


@case("link-count")
def link_count_of_a_directory(i):
    i.set_inode(i.lookup("sub"), "links", 7)


@case("root-missing")
def no_root(i):
    i.put(i.inode_off(2), i.inode_size, bytes(i.inode_size))


@case("root-blocks")
def map_of_the_root(i):
    i.iblock(2, 20, 4, i.blocks(i.lookup("file"))[0])


@case("lost-found-not-dir")
def lost_found_is_a_file(i):
    i.set_entry(2, "lost+found", 0, 4, i.lookup("file"))


@case("htree-root")
def root_of_an_index(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 29, 1, 3)
    i.fix_dir_block(ino, blk)


@case("htree-hash-version")
def hash_of_an_index(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 28, 1, 99)
    i.fix_dir_block(ino, blk)


@case("htree-flags")
def flags_of_an_index(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 31, 1, 1)
    i.fix_dir_block(ino, blk)


@case("htree-depth")
def depth_of_an_index(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 30, 1, 7)
    i.fix_dir_block(ino, blk)


@case("htree-csum")
def checksum_of_an_index(i):
    blk = i.blocks(i.lookup("many"))[0]
    i.put(i.block(blk + 1) - 4, 4, 0x1234)


@case("htree-count")
def count_of_an_index(i):
    blk = i.blocks(i.lookup("many"))[0]
    i.put(i.block(blk) + 34, 2, 9999)


@case("htree-limit")
def limit_of_an_index(i):
    blk = i.blocks(i.lookup("many"))[0]
    i.put(i.block(blk) + 32, 2, 9999)


@case("htree-block", base=["ext4"])
def index_of_no_block(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 32 + 8 + 4, 4, 500)
    i.fix_dir_block(ino, blk)


@case("htree-leaf-range")
def name_in_the_wrong_block(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 32 + 8, 4, 0x02000002)
    i.fix_dir_block(ino, blk)


# ---- journal ----


@case("journal-superblock", base=["ext4", "ext3"])
def journal_superblock_of_zeros(i):
    i.zap(i.blocks(8)[0])


@case("journal-inode", base=["ext3"])
def journal_inode_of_zeros(i):
    i.put(i.inode_off(8), 128, bytes(128))
    i.set_sb("jnl_blocks", bytes(68))


@case("journal-stray", base="ext3")
def journal_without_the_feature(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~COMPAT_HAS_JOURNAL)


@case("journal-recover-flag", base="ext2")
def recovery_without_a_journal(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | INCOMPAT_RECOVER)


@case("journal-backup", base=["ext4"], note=True)
def copy_of_the_journal_map(i):
    i.set_sb("jnl_blocks", bytes(68))


@case("journal-inode-backup", base=["ext4", "nocsum"])
def journal_extent_over_files(i):
    """Behind the journal are files: their data must not become part of the journal, nor the journal theirs."""
    i.iblock(8, 16, 2, i.get(i.inode_off(8) + 40 + 16, 2) + 8)


@case("journal-inode-backup", base=["ext4", "ext3"])
def size_of_the_journal(i):
    i.set_inode(8, "size", i.inode(8, "size") + 5 * i.bs)


@case("journal-inode-backup", base=["ext4", "ext3"])
def journal_that_begins_in_a_file(i):
    """No journal superblock may be written there."""
    data = i.blocks(i.lookup("file"))[0]
    i.iblock(8, 20 if i.inode(8, "flags") & FL_EXTENTS else 0, 4, data)


@case("journal-inode", base=["ext4"])
def copy_of_the_journal_map_with_an_overlap(i):
    i.put(i.inode_off(8), 128, bytes(128))
    blocks = bytearray(i.sb_bytes("jnl_blocks"))
    half, start = int.from_bytes(blocks[16:18], "little") // 2, blocks[20:24]
    blocks[2:4] = b"\2\0"
    blocks[16:18] = half.to_bytes(2, "little")
    blocks[24:36] = half.to_bytes(4, "little") + half.to_bytes(4, "little") + start
    i.set_sb("jnl_blocks", bytes(blocks))


@case("journal-inode-and-device", base=["ext4", "ext3"])
def uuid_beside_a_journal_inode(i):
    i.set_sb("journal_uuid", bytes(range(16)))


@case("journal-checksum-features", base=["ext4"])
def two_versions_of_checksums_in_the_journal(i):
    at = i.block(i.blocks(8)[0])
    i.put(at + 0x24, 8, bytes([0, 0, 0, 1, 0, 0, 0, 0x12]))
    i.put(at + 0x50, 1, 4)
    i.put(at + 0xFC, 4, 0)
    i.put(at + 0xFC, 4, crc32c(0xFFFFFFFF, i.b[at:at + 1024]).to_bytes(4, "big"))


@case("orphan-list", base=["ext4", "ext2"])
def list_of_orphans(i):
    i.set_sb("last_orphan", 0x70000000)


@case("orphans", base=["ext4", "ext2"], note=True)
def orphan_with_a_name(i):
    i.set_sb("last_orphan", i.lookup("file"))


@case("resize-inode", base=["ext4"])
def resize_inode_of_zeros(i):
    i.put(i.inode_off(7), 128, bytes(128))
    i.fix_inode(7)


@case("resize-inode", base=["ext4"], only=True, first=True, preen=True)
def indirect_block_of_the_resize_inode_is_zeros(i):
    i.zap(i.get(i.inode_off(7) + 40 + 52, 4))


@case("resize-inode", base=["ext4", "ext2"], only=True, first=True, preen=True)
def bit_of_the_indirect_block_of_the_resize_inode(i):
    at = i.block(i.get(i.inode_off(7) + 40 + 52, 4)) + 4 * 30
    i.put(at, 4, i.get(at, 4) ^ 64)


@case("bad-block-inode")
def bad_block_inode_is_a_directory(i):
    i.set_inode(1, "mode", 0o040755)


# ---- more of the same ----


@case("block-bitmap-padding", base=["ext4", "ext2"])
def padding_of_a_block_bitmap(i):
    i.put(i.block(i.gd(i.groups - 1, "block_bitmap")) + i.bs - 1, 1, 0)
    i.fix_bitmaps(i.groups - 1)


@case("dir-dot-duplicate", moved=True)
def second_dot(i):
    i.set_entry(i.lookup("sub"), "deep", 6, 1, 1)
    at = i.entry(i.lookup("sub"), "d")[0]
    i.put(at + 8, 1, ord("."))
    i.fix_dir_block(i.lookup("sub"), at // i.bs)


@case("dir-duplicate-name", moved=True)
def two_entries_of_a_name(i):
    i.set_entry(2, "attrs2", 6, 1, 5)


@case("dir-filetype-set", base="ext2")
def types_without_the_feature(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") & ~2)


@case("dir-index-feature", base=["ext4", "ext2"])
def index_without_the_feature(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~0x20)


@case("dir-link-self", moved=True)
def entry_of_its_own_directory(i):
    i.set_entry(i.lookup("sub"), "deep", 0, 4, i.lookup("sub"))


@case("dir-name-empty", moved=True)
def entry_without_a_name(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 6, 1, 0)


@case("dir-dot-rec-len")
def long_dot(i):
    ino = i.lookup("empty")
    i.set_entry(ino, ".", 4, 2, 24, csum=False)
    at = i.block(i.blocks(ino)[0])
    i.b[at + 24:at + 36] = i.b[at + 12:at + 24]
    i.put(at + 28, 2, i.get(at + 28, 2) - 12)
    i.fix_dir_block(ino, at // i.bs)


@case("dir-dot-terminator")
def dot_without_a_terminator(i):
    i.set_entry(i.lookup("sub"), ".", 9, 1, ord("x"))


@case("dir-no-tail")
def directory_block_without_a_tail(i):
    ino = i.lookup("sub")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk + 1) - 12, 12, bytes(12))


@case("htree-order")
def index_out_of_order(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    at = i.block(blk) + 32
    i.put(at + 8, 4, 0xFFFFFFF0)
    i.fix_dir_block(ino, blk)


@case("htree-referenced-twice")
def index_of_one_block_twice(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 32 + 8 + 4, 4, i.get(i.block(blk) + 32 + 4, 4))
    i.fix_dir_block(ino, blk)


@case("htree-unreferenced")
def block_outside_the_index(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    at = i.block(blk) + 34
    i.put(at, 2, i.get(at, 2) - 1)
    i.fix_dir_block(ino, blk)


@case("inode-blocks-high", base="ext2")
def high_half_of_the_count_of_blocks(i):
    i.set_inode(i.lookup("file"), "blocks_high", 3)


@case("inode-dtime-zero", base=["ext2", "ext4"])
def deleted_inode_without_a_time(i):
    ino = i.lookup("sub/deep/inner")
    i.set_inode(ino, "links", 0)
    i.set_inode(ino, "dtime", 0)
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0)


ALL[-1].lost = ALL[-2].lost = ["sub/deep/inner"]


@case("inode-file-acl-high", base="ext2")
def high_half_of_the_attribute_block(i):
    i.set_inode(i.lookup("file"), "file_acl_high", 3)


@case("inode-size-high", base=["ext2", "ext4"])
def high_half_of_the_size_of_a_symbolic_link(i):
    i.set_inode(i.lookup("fifo"), "size_high", 3)


@case("inode-special-blocks")
def blocks_of_a_fifo(i):
    i.iblock(i.lookup("fifo"), 20, 4, 77)


@case("inode-zero-length")
def empty_file_without_a_name(i):
    free = next(n for n in range(i.sb("first_ino") + 200, i.per_group) if not i.inode(n, "mode"))
    i.b[i.inode_off(free):i.inode_off(free) + i.inode_size] = bytes(i.inode_size)
    i.set_inode(free, "mode", 0o100644)
    i.set_inode(free, "extra_isize", 32)
    i.set_inode(free, "links", 1)
    i.set_gd(0, "itable_unused", 0)


@case("map-block-twice", base="ext2", lost=["big"])
def map_block_twice(i):
    ino = i.lookup("big")
    i.iblock(ino, 52, 4, i.get(i.inode_off(ino) + 40 + 48, 4))


# ---- extended attributes ----


ATTRS = ["attrs", "attrs2"]


@case("xattr-block-bad")
def attribute_block_of_zeros(i):
    i.zap(i.xattr_block(i.lookup("attrs")))


@case("xattr-block-checksum", only=True)
def checksum_of_an_attribute_block(i):
    i.put(i.block(i.xattr_block(i.lookup("attrs"))) + 16, 4, 0x1234)


@case("xattr-block-refcount", base=["ext4", "ext2"])
def references_to_an_attribute_block(i):
    blk = i.xattr_block(i.lookup("attrs"))
    i.put(i.block(blk) + 4, 4, 9)
    i.fix_xattr_block(blk)


@case("xattr-block-range", base=["ext4", "ext2"])
def attribute_block_beyond_the_end(i):
    i.set_inode(i.lookup("attrs"), "file_acl", 0x7FFFFFFF)


def entry_field(i, at, size, value):
    blk = i.xattr_block(i.lookup("attrs"))
    i.put(i.block(blk) + 32 + at, size, value)
    i.fix_xattr_block(blk)


@case("xattr-value-offset", base=["ext4", "ext2"])
def place_of_an_attribute_value(i):
    entry_field(i, 2, 2, 0xFFF0)


@case("xattr-value-size", base=["ext4", "ext2"])
def size_of_an_attribute_value(i):
    entry_field(i, 8, 4, 0x00FFFFFF)


@case("xattr-hash", base=["ext4", "ext2"], only=True, first=True, named=True, preen=True)
def hash_of_an_attribute(i):
    entry_field(i, 12, 4, 0x12345678)


@case("xattr-name")
def index_of_an_attribute(i):
    entry_field(i, 1, 1, 0)


@case("xattr-entry")
def attribute_that_leaves_its_block(i):
    blk = i.block(i.xattr_block(i.lookup("attrs")))
    i.put(blk + 32, 4, 0xFF)
    for at in range(64, 1000, 4):
        i.put(blk + at, 4, 0x010101FF)
    i.fix_xattr_block(i.xattr_block(i.lookup("attrs")))


@case("xattr-without-feature", base=["ext4", "ext2"])
def attributes_without_the_feature(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~8)


# ---- flags of groups ----


@case("uninit-without-feature", base="ext2")
def unused_inodes_without_the_feature(i):
    i.set_gd(0, "itable_unused", 5)


# ---- the filesystem's own files ----


@case("superblock-hash-sign", note=True)
def sign_of_hashes(i):
    i.set_sb("flags", i.sb("flags") & ~3)


@case("superblock-field")
def reserved_descriptor_blocks(i):
    i.set_sb("reserved_gdt_blocks", 9999)


@case("superblock-creator-os", base=["ext2", "ext3"], only=True, first=True)
def linux_called_the_hurd(i):
    i.set_sb("creator_os", 1)


@case("superblock-hurd-filetype", base="ext2")
def types_on_the_hurd(i):
    i.set_sb("creator_os", 1)
    i.put(i.block(i.blocks(2)[0]) + 7, 1, 0)


@case("journal-inode-backup", base="ext4")
def journal_inode_of_zeros_with_a_copy(i):
    i.put(i.inode_off(8), 128, bytes(128))


@case("journal-errno", base="ext3")
def error_in_the_journal(i):
    i.put(i.block(i.blocks(8)[0]) + 0x20, 4, bytes([0, 0, 0, 5]))


@case("orphan-present", base="orphan", only=True)
def orphan_file_that_is_said_to_have_orphans(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") | 0x10000)


@case("orphan-present")
def orphans_without_an_orphan_file(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") | 0x10000)


@case("orphan-file", base="orphan")
def orphan_file_beyond_the_last_inode(i):
    i.set_sb("orphan_file_inum", 0x70000000)


@case("orphan-file-block", base="orphan")
def block_of_the_orphan_file(i):
    i.put(i.block(i.blocks(i.sb("orphan_file_inum"))[0]), 4, i.lookup("file"))


@case("mmp-magic", base="mmp")
def mmp_block_of_zeros(i):
    i.zap(i.sb("mmp_block"))


@case("mmp-block", base="mmp")
def mmp_block_beyond_the_end(i):
    i.set_sb("mmp_block", 0x7FFFFFFF)


@case("quota-usage", base="quota")
def usage_in_a_quota_file(i):
    blocks = i.blocks(i.sb("usr_quota_inum"))
    i.put(i.block(blocks[max(blocks)]) + 16 + 24, 8, 999)


@case("quota-file-damaged", base="quota", only=True)
def quota_file_with_a_bit_in_a_slot_of_no_id(i):
    blocks = i.blocks(i.sb("usr_quota_inum"))
    i.put(i.block(blocks[max(blocks)]) + 16 + 13 * 72 + 40, 1, 4)


@case("root-missing", "quota-file-damaged", base="quota", moved=True)
def first_inode_records_of_zeros_with_quota(i):
    for ino in range(1, 7):
        i.put(i.inode_off(ino), i.inode_size, bytes(i.inode_size))


@case("quota-file-damaged", base="quota")
def quota_file_of_zeros(i):
    i.zap(i.blocks(i.sb("usr_quota_inum"))[0])


@case("itree-feature", base="itree")
def itrees_without_the_feature(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~0x40000000)


@case("itree-flag-lost", base="itree")
def itree_without_its_flag(i):
    many = i.lookup("many")
    i.set_inode(many, "flags", i.inode(many, "flags") & ~FL_ITREE)


@case("itree-flag-lost", base="itree")
def itree_without_the_flag_of_its_index(i):
    many = i.lookup("many")
    i.set_inode(many, "flags", i.inode(many, "flags") & ~FL_INDEX)


@case("itree-flag-lost", base="itree")
def itree_without_any_flag(i):
    many = i.lookup("many")
    i.set_inode(many, "flags", i.inode(many, "flags") & ~(FL_INDEX | FL_ITREE))


@case("htree-root", base="itree")
def itree_behind_a_damaged_root(i):
    blk = i.blocks(i.lookup("many"))[0]
    i.put(i.block(blk) + 29, 1, 9)
    i.fix_dir_block(i.lookup("many"), blk)


@case("htree-limit", base="itree")
def itree_behind_a_root_with_another_limit(i):
    blk = i.blocks(i.lookup("many"))[0]
    i.put(i.block(blk) + 32, 2, 77)
    i.fix_dir_block(i.lookup("many"), blk)


@case("itree-flag", base=["itree", "large itree"])
def itree_of_a_small_directory(i):
    ino = i.lookup("sub")
    i.set_inode(ino, "flags", i.inode(ino, "flags") | FL_ITREE)


def itree_slot(i):
    """Where dx_root of `many` keeps the pointer to its itree."""
    root = i.block(i.blocks(i.lookup("many"))[0])
    return root + 32 + 8 * (i.get(root + 32, 2) - 1)


def itree_nodes(i):
    """Blocks of the itree of `many`: an index node over leaves."""
    root = i.get(itree_slot(i), 8)
    at = i.block(root)
    return [root] + [i.get(at + 32 + 16 * k + 8, 6) for k in range(i.get(at + 6, 2))]


def itree_put(i, blk, off, size, value):
    """Changes a node, whose checksum follows."""
    at = i.block(blk)
    i.put(at + off, size, value)
    i.put(at + i.bs - 4, 4, crc32c(i.inode_seed(i.lookup("many")), i.b[at:at + i.bs - 4]))


@case("itree-csum", base="itree", only=True)
def itree_checksum(i):
    i.put(i.block(itree_nodes(i)[1]) + i.bs - 4, 4, 0x1234)


@case("itree-node", base="itree")
def itree_leaf_of_zeros(i):
    i.zap(itree_nodes(i)[2])


@case("itree-node", base="itree")
def itree_node_of_another_directory(i):
    itree_put(i, itree_nodes(i)[1], 12, 4, 77)


@case("itree-root", base="itree")
def itree_pointer_of_zero(i):
    i.put(itree_slot(i), 8, 0)


@case("itree-block-taken", base="itree")
def itree_pointer_to_a_block_of_a_file(i):
    i.put(itree_slot(i), 8, i.blocks(i.lookup("file"))[0])


@case("itree-quartile", base="itree", only=True)
def itree_fullness(i):
    root = itree_nodes(i)[0]
    itree_put(i, root, 32 + 14, 2, i.get(i.block(root) + 32 + 14, 2) ^ 1)


@case("itree-separator", base="itree", only=True)
def itree_leftmost_separator(i):
    itree_put(i, itree_nodes(i)[0], 32, 4, 1)


@case("itree-entries", base="itree")
def itree_entry_of_another_type(i):
    itree_put(i, itree_nodes(i)[1], 32 + 11, 1, 3)


@case("itree-entries", base="itree")
def entry_that_the_itree_does_not_have(i):
    i.set_entry(i.lookup("many"), "name-003-of-a-file", 0, 4, i.lookup("small"))


@case("htree-node", base=["ext4", "ext2"])
def index_that_leads_to_a_leaf_for_a_node(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 30, 1, 1)
    i.fix_dir_block(ino, blk)


@case("itree-blocks", base="itree")
def blocks_of_a_directory_with_an_itree(i):
    ino = i.lookup("many")
    i.set_inode(ino, "blocks", i.inode(ino, "blocks") - 2)


@case("lost-found-missing", base=["ext4", "ext2", "inline", "itree"], moved=True, late=True)
def lost_found_under_another_name(i):
    """A repair creates it although nothing needs it yet."""
    i.set_entry(2, "lost+found", 8, 1, ord("k"))


@case("lost-found-missing", moved=True)
def no_lost_found(i):
    i.set_entry(2, "lost+found", 0, 4, 0)


@case("inode-extents-feature", base="ext4")
def extents_without_the_feature(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") & ~0x40)


@case("large-file-feature", base="ext4", lost=["pieces"])
def large_file_without_the_feature(i):
    i.set_inode(i.lookup("pieces"), "size", 0xC0000000)
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~2)


@case("inode-reserved-mode")
def mode_of_the_journal(i):
    i.set_inode(8, "mode", 0o040600)


@case("block-wrap", lost=["file"])
def extent_beyond_the_largest_file(i):
    """Preallocated, so nothing says where it belongs."""
    ino = i.lookup("file")
    i.iblock(ino, 12, 4, 0xFFFFFFF8)
    i.iblock(ino, 12 + 4, 2, 0x8010)


@case("itree-root", base="itree")
def root_of_an_itree_beyond_the_end(i):
    i.put(i.itree_slot(i.lookup("many")), 8, 0x7FFFFFFF)


@case("itree-csum", base="itree")
def checksum_of_an_itree_node(i):
    i.put(i.block(i.itree_root(i.lookup("many")) + 1) - 4, 4, 0x12345678)


@case("itree-node", base="itree")
def itree_node_of_zeros(i):
    i.zap(i.itree_root(i.lookup("many")))


@case("resize-inode-stray")
def resize_inode_without_the_feature(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~0x10)


@case("last-group-uninit")
def last_group_uninitialized(i):
    i.set_gd(i.groups - 1, "flags", i.gd(i.groups - 1, "flags") | 2)


@case("pending-change-lost")
def change_without_its_redo_file(i):
    i.put(SUPER + 0x3F0, 8, 0x1122334455667788)
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 0x40000000)


@case("journal-has-data", base="ext3")
def journal_that_is_not_empty(i):
    i.put(i.block(i.blocks(8)[0]) + 0x1C, 4, bytes([0, 0, 0, 1]))


# ---- inodes larger than a usual block ----


@case("link-count", base="large inodes", only=True)
def link_count_in_a_large_inode(i):
    i.set_inode(i.lookup("sub"), "links", 7)


@case("dir-dotdot", base="large inodes", only=True)
def dotdot_beside_large_inodes(i):
    i.set_entry(i.lookup("sub/deep"), "..", 0, 4, i.lookup("empty"))
