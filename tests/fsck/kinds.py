# SPDX-License-Identifier: MIT
"""More cases for run.py: damage of several structures at once, and of kinds that one finding does not tell."""
from cases import BASES, case
from image import FL_EXTENTS, SUPER, crc32c

BASES["encrypt"] = ["-t", "ext4", "-O", "encrypt"]
BASES["flex"] = ["-t", "ext4", "-g", "1024", "-G", "4"]
BASES["groups"] = ["-t", "ext4", "-g", "4096"]
FL_ENCRYPT, XATTR_MAGIC, INDEX_ENCRYPTION = 0x800, 0xEA020000, 9
COMPAT_SPARSE_SUPER2 = 0x200


def encrypt(i, ino, context):
    """Makes an inode encrypted, with one attribute: the context."""
    off, at = i.inode_off(ino) + 128 + i.inode(ino, "extra_isize"), 56
    i.put(off, i.inode_size - (off - i.inode_off(ino)), bytes(i.inode_size - (off - i.inode_off(ino))))
    i.put(off, 4, XATTR_MAGIC)
    i.put(off + 4, 2, bytes([1, INDEX_ENCRYPTION]))
    i.put(off + 4 + 2, 2, at - 4)
    i.put(off + 4 + 8, 4, len(context))
    i.put(off + 4 + 16, 1, b"c")
    i.put(off + at, len(context), context)
    i.set_inode(ino, "flags", i.inode(ino, "flags") | FL_ENCRYPT)


def context(version, key, size):
    return bytes([version, 1, 4, 0]) + bytes([key]) * (size - 4)


def encrypted_names(i, directory):
    """Names that are long enough to be encrypted ones."""
    for at, child, _, name in list(i.entries(directory)):
        if name not in (b".", b".."):
            yield at, child


@case("dir-other-policy", base="encrypt", lost=["many/*"])
def files_of_another_policy(i):
    many = i.lookup("many")
    encrypt(i, many, context(1, 7, 28))
    for n, (_, child) in enumerate(encrypted_names(i, many)):
        encrypt(i, child, context(1, 8 if n == 5 else 7, 28) if n % 2 else context(1, 7, 28))


@case(base="encrypt", note=True, only=True, lost=["many/*"])
def policy_of_an_unknown_version(i):
    many = i.lookup("many")
    encrypt(i, many, context(9, 7, 33))
    for n, (_, child) in enumerate(encrypted_names(i, many)):
        encrypt(i, child, context(3, n, 28))


@case("encrypt-context-name", base="encrypt", only=True, lost=["many/*"])
def contexts_under_other_names(i):
    """Name length, index and first character: the policy is known nevertheless, and the files stay where they are."""
    many = i.lookup("many")
    encrypt(i, many, context(1, 7, 28))
    for n, (_, child) in enumerate(encrypted_names(i, many)):
        encrypt(i, child, context(1, 7, 28))
        entry = i.inode_off(child) + 128 + i.inode(child, "extra_isize") + 4
        if n < 3:
            i.put(entry + (0, 1, 16)[n], 1, (19, 0, 0x64)[n])
            i.fix_inode(child)


@case("encrypt-context", base="encrypt", lost=["many/*"])
def context_of_a_wrong_size(i):
    many = i.lookup("many")
    encrypt(i, many, context(2, 7, 40))
    for n, (_, child) in enumerate(encrypted_names(i, many)):
        encrypt(i, child, context(2, 7, 39 if n < 3 else 40))


@case("superblock-field", base=["ext2", "ext3"])
def descriptor_size_that_is_none(i):
    i.set_sb("desc_size", 0x8F32)


@case("superblock-field", base="groups")
def features_nobody_knows_hide_the_backups(i):
    i.set_sb("feature_compat", 0x9AD06000 | i.sb("feature_compat") | COMPAT_SPARSE_SUPER2)


def both_superblocks_damaged(i):
    """The magic of the primary, and in the backup a number of blocks that its descriptors contradict."""
    i.put(SUPER + 0x38, 2, 0xFFFF)
    i.put(i.block(i.sb("blocks_per_group") + 1) + 0x150, 4, 1)


@case("superblock-field", base="ext4")
def magic_of_the_superblock_and_its_backup_damaged(i):
    both_superblocks_damaged(i)


@case("superblock-lost", base="nocsum")
def magic_of_the_superblock_and_size_of_its_backup(i):
    both_superblocks_damaged(i)


@case("superblock-field", base="large inodes")
def inode_size_of_large_inodes(i):
    i.set_sb("inode_size", 256)


@case("contested", base="ext2")
def superblock_in_the_root_directory(i):
    i.iblock(2, 4, 4, 1)
    i.set_inode(2, "size", i.inode(2, "size") + i.bs)
    i.set_inode(2, "blocks", i.inode(2, "blocks") + i.bs // 512)


@case("inode-extents-flag", base="inline", lost=["small", "hard"])
def extents_in_place_of_inline_data(i):
    ino = i.lookup("small")
    i.put(i.inode_off(ino) + 40, 60, bytes(60))
    i.iblock(ino, 0, 8, b"\x0a\xf3\0\0\4\0\0\0")


@case("contested", base=["ext4", "ext2"], lost=["small", "hard"])
def metadata_in_a_directory(i):
    """Its blocks are copied before anything is repaired in them."""
    ino = i.lookup("empty")
    i.iblock(ino, 20 if i.inode(ino, "flags") & FL_EXTENTS else 0, 4, i.gd(0, "inode_table"))


@case("group-block-bitmap-place", base=["groups", "flex"])
def descriptors_of_zeros(i):
    """A seed of zero would fit their checksums."""
    i.zap(i.first + 1)


@case("directory-unwritten")
def directory_of_unwritten_blocks(i):
    ino = i.lookup("sub")
    i.iblock(ino, 12 + 4, 2, 0x8001)


@case("extent-entries", only=True)
def root_without_room(i):
    i.iblock(i.lookup("file"), 4, 2, 1)


@case("extent-depth", base=["ext4", "nocsum"])
def tree_that_is_too_deep(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    below, top = i.map_blocks[0], i.sb("blocks_count") - 8
    for depth in range(1, 7):
        off = i.block(top + depth)
        i.put(off, 24, bytes(24))
        i.put(off, 8, b"\x0a\xf3\1\0\x54\0" + bytes([depth, 0]))
        i.put(off + 16, 4, below)
        i.fix_extent_block(ino, top + depth)
        below = top + depth
    i.iblock(ino, 16, 4, below, csum=False)
    i.iblock(ino, 6, 2, 7)


@case("quota-inode-unused", base=["ext4", "ext2"])
def quota_inode_of_nobody(i):
    i.set_inode(3, "blocks", 2)


@case("quota-inode-unused", base="quota")
def quota_files_without_the_feature(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~0x100)


@case("inode-reserved-mode", only=True)
def reserved_inode_with_a_mode(i):
    i.set_inode(9, "mode", 0o100644)


@case("inode-size", base="inline")
def size_of_an_inline_directory(i):
    i.set_inode(i.lookup("empty"), "size", 61)


@case("superblock-field", base="ext2")
def count_of_inodes(i):
    i.set_sb("inodes_count", i.sb("inodes_count") + 8)


@case("mmp-magic", base="mmp")
def mmp_block_in_use_with_a_wrong_checksum(i):
    i.put(i.block(i.sb("mmp_block")) + 4, 4, 0xE24D4D50)


@case("mmp-block", base="mmp")
def mmp_block_among_the_descriptors(i):
    i.set_sb("mmp_block", 3)


@case("extent-entries", base=["ext4", "nocsum"], only=True)
def node_without_room(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    i.put(i.block(i.map_blocks[0]) + 4, 2, 29)
    if i.csum:  # the tail follows the room that is left
        off = i.block(i.map_blocks[0])
        i.put(off + 12 + 12 * 29, 4, crc32c(i.inode_seed(ino), i.b[off:off + 12 + 12 * 29]))


@case("inode-blocks", base=["ext4", "ext2"], only=True)
def blocks_of_the_resize_inode(i):
    i.set_inode(7, "blocks", i.inode(7, "blocks") - 1)


@case("inode-size-high", base=["ext4", "ext2"])
def high_half_of_the_size_of_the_root(i):
    i.set_inode(2, "size_high", 0xFFFFFFFF)


# A repair that allocates comes before bitmaps and quota are looked at: it must not hide what is wrong with them.


def file_that_lost_its_name(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0)


@case("inode-unattached", "quota-file-damaged", base="quota", moved=True, only=True, first=True)
def file_without_a_name_and_a_quota_file_of_zeros(i):
    file_that_lost_its_name(i)
    i.zap(i.blocks(i.sb("usr_quota_inum"))[0])


@case("inode-unattached", "quota-usage", base="quota", moved=True, only=True, first=True)
def file_without_a_name_and_usage_in_a_quota_file(i):
    file_that_lost_its_name(i)
    blocks = i.blocks(i.sb("usr_quota_inum"))
    i.put(i.block(blocks[max(blocks)]) + 16 + 24, 8, 999)


@case("inode-unattached", "block-bitmap-differences", base=["ext4", "ext2", "quota"], moved=True, first=True)
def file_without_a_name_and_a_block_free_in_the_bitmap(i):
    file_that_lost_its_name(i)
    i.flip_bit(0, "block_bitmap", i.blocks(i.lookup("file"))[0] - i.first)


@case("inode-unattached", "inode-bitmap-differences", base="itree", moved=True, options=("-E", "itree=drop"), first=True)
def file_without_a_name_and_a_bit_of_an_inode_as_itrees_go(i):
    file_that_lost_its_name(i)
    i.flip_bit(0, "inode_bitmap", i.per_group - 1)


@case("inode-unattached", "block-bitmap-differences", base="itree", moved=True, options=("-E", "itree=drop"), first=True)
def file_without_a_name_and_a_bit_of_a_block_as_itrees_go(i):
    file_that_lost_its_name(i)
    i.flip_bit(0, "block_bitmap", i.blocks(i.lookup("file"))[0] - i.first)
