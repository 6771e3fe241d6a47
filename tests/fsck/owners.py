# SPDX-License-Identifier: MIT
"""More cases for run.py: pointers into blocks of another owner. Nothing of that owner may be lost, or change."""
import functools

import cases
from cases import BASES
from image import FL_EXTENTS, SUPER
from rare import fill

case = functools.partial(cases.case, named=True)

BASES.setdefault("groups", ["-t", "ext4", "-g", "4096"])
BASES["4k groups"] = ["-t", "ext4", "-b", "4096", "-g", "1024"]
BASES["mmp nocsum"] = ["-t", "ext4", "-O", "mmp,^metadata_csum"]
BASES["orphan nocsum"] = ["-t", "ext4", "-O", "orphan_file,^metadata_csum"]
EXT = ["ext4", "nocsum"]


def first_block(i, path):
    return i.blocks(i.lookup(path))[0]


def attr_block(i):
    return i.xattr_block(i.lookup("attrs"))


# ---- map blocks ----


def lead(i, to):
    """The index entry leads elsewhere, and the node that it should lead to is lost."""
    i.blocks(i.lookup("pieces"))
    i.zap(i.map_blocks[0])
    i.iblock(i.lookup("pieces"), 12 + 4, 4, to)


@case("extent-header", base=EXT, lost=["pieces"])
def extent_index_into_a_file(i):
    lead(i, first_block(i, "file"))


@case("extent-header", base=EXT, lost=["pieces"])
def extent_index_into_a_directory(i):
    lead(i, first_block(i, "many"))


@case("extent-header", base=EXT, lost=["pieces"])
def extent_index_into_an_xattr_block(i):
    lead(i, attr_block(i))


@case("map-block-foreign", base=["ext2", "ext3"], lost=["big"])
def indirect_block_in_a_file(i):
    i.iblock(i.lookup("big"), 48, 4, first_block(i, "file"))


@case("map-block-foreign", base=["ext2", "ext3"], lost=["big"])
def double_indirect_block_in_a_directory(i):
    i.iblock(i.lookup("big"), 52, 4, first_block(i, "many"))


# ---- directories ----


@case("contested", base=["ext4", "nocsum", "ext2"], lost=["many/*"])
def block_of_another_directory(i):
    many = i.lookup("many")
    i.iblock(many, 12 + 8 if i.inode(many, "flags") & FL_EXTENTS else 0, 4, first_block(i, "sub"))


@case("contested", base=["ext4", "nocsum"], lost=["many/*"])
def directory_in_the_inode_table(i):
    i.iblock(i.lookup("many"), 12 + 8, 4, i.gd(0, "inode_table") + 1)


@case("contested", base=EXT, lost=["small", "hard"])
def file_in_a_damaged_directory(i):
    """A wrong checksum alone does not make it another one's block."""
    i.set_entry(2, "file", 7, 1, 7, csum=False)
    i.iblock(i.lookup("small"), 12 + 8, 4, i.blocks(2)[0])


@case("contested", base=EXT, lost=["small", "hard"])
def file_in_a_damaged_directory_of_many_blocks(i):
    many = i.lookup("many")
    i.set_entry(many, "name-149-of-a-file", 7, 1, 7, csum=False)
    i.iblock(i.lookup("small"), 12 + 8, 4, max(i.blocks(many).items())[1])


# ---- what a later round looks at first ----


def dangling(i):
    """Two names of inodes that are not in use, in directories of their own."""
    i.set_entry(i.lookup("many"), "name-007-of-a-file", 0, 4, i.per_group)
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, i.per_group - 1)


@cases.case("contested", "dir-entry-unused", base=EXT, lost=["small", "hard"], moved=True)
def dangling_names_beside_a_contested_block(i):
    """No directory is read before the block has one owner: what is wrong in them came with the image."""
    dangling(i)
    i.iblock(i.lookup("small"), 12 + 8, 4, first_block(i, "file"))


@cases.case("contested", "root-missing", "dir-entry-unused", base=["ext4", "ext2"], lost=["small", "hard"], moved=True)
def names_below_a_lost_root_beside_a_contested_bitmap(i):
    """The root is made when the bitmap is its own again, and directories are read after that."""
    small = i.lookup("small")
    dangling(i)
    i.iblock(small, 12 + 8 if i.inode(small, "flags") & FL_EXTENTS else 0, 4, i.gd(0, "block_bitmap"))
    i.put(i.inode_off(2), 128, bytes(128))


# ---- what has changed hands ----


@case("contested", base=EXT, lost=["file", "small", "hard"])
def truncated_orphan_whose_blocks_become_a_copy(i):
    """The file had the block before, and has the same map but for its end."""
    file = i.lookup("file")
    i.set_inode(file, "size", 1000)
    i.set_sb("last_orphan", file)
    i.iblock(i.lookup("small"), 12 + 8, 4, first_block(i, "big"))


@case("superblock-lost", base="4k groups")
def lost_superblock_of_large_blocks(i):
    """The overlay's blocks are smaller than those of the filesystem then."""
    i.set_entry(2, "file", 7, 1, 7, csum=False)
    i.put(SUPER, 1024, bytes(1024))


# ---- what only the superblock refers to ----


@case("contested", base=["orphan", "orphan nocsum"])
def orphan_file_in_a_file(i):
    i.iblock(i.sb("orphan_file_inum"), 12 + 8, 4, first_block(i, "file"))


@case("contested", base=["orphan", "orphan nocsum"])
def orphan_file_in_a_directory(i):
    i.iblock(i.sb("orphan_file_inum"), 12 + 8, 4, first_block(i, "many"))


@case("contested", base=["orphan", "orphan nocsum"])
def orphan_file_in_use_in_a_directory(i):
    i.iblock(i.sb("orphan_file_inum"), 12 + 8, 4, first_block(i, "many"))
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") | 0x10000)


@case("orphan-file-block", base=["orphan", "orphan nocsum"], only=True, first=True)
def first_block_of_the_orphan_file_is_lost(i):
    i.zap(i.blocks(i.sb("orphan_file_inum"))[0])


@case("orphan-file-block", base=["orphan", "orphan nocsum"], only=True, first=True)
def all_blocks_of_the_orphan_file_are_lost(i):
    """No name refers to the inode, so it is no other file."""
    for blk in i.blocks(i.sb("orphan_file_inum")).values():
        i.zap(blk, 0x5a)


@case("orphan-file", base="orphan", moved=True)
def orphan_file_number_of_a_file(i):
    i.set_sb("orphan_file_inum", i.lookup("file"))


@case("resize-inode", base=["ext4", "ext2"])
def resize_inode_in_a_file(i):
    i.iblock(7, 52, 4, first_block(i, "file"))


@case("resize-inode", base=["ext4", "ext2"])
def resize_inode_in_a_directory(i):
    i.iblock(7, 52, 4, first_block(i, "many"))


@case("resize-inode", base=["ext4", "ext2"])
def resize_inode_in_an_xattr_block(i):
    i.iblock(7, 52, 4, attr_block(i))


@case("resize-inode", base=["ext4", "ext2"])
def resize_inode_in_the_inode_table(i):
    i.iblock(7, 52, 4, i.gd(0, "inode_table") + 2)


@case("contested", base=["mmp", "mmp nocsum"])
def mmp_block_in_a_file(i):
    i.set_sb("mmp_block", first_block(i, "file"))


@case("contested", base=["mmp", "mmp nocsum"])
def mmp_block_in_a_directory(i):
    i.set_sb("mmp_block", first_block(i, "many"))


@case("mmp-block", base=["mmp", "mmp nocsum"])
def mmp_block_in_an_xattr_block(i):
    i.set_sb("mmp_block", attr_block(i))


@case("journal-no-space", lost=["file", "small", "hard"])
def file_in_the_journal_of_a_full_filesystem(i):
    """The file keeps its block: a journal can be made anew."""
    small = i.lookup("small")
    i.flip_bit(0, "block_bitmap", i.blocks(small)[0] - i.first)
    i.iblock(small, 12 + 8, 4, i.blocks(8)[5])
    fill(i)


# ---- group metadata ----


@case(base="groups")
def block_bitmap_in_a_file(i):
    i.set_gd(1, "block_bitmap", first_block(i, "file"))


@case(base="groups")
def inode_bitmap_in_a_directory(i):
    i.set_gd(1, "inode_bitmap", first_block(i, "many"))


@case("contested", base=EXT, lost=["small", "hard"])
def file_in_the_block_bitmap(i):
    i.iblock(i.lookup("small"), 12 + 8, 4, i.gd(0, "block_bitmap"))


@case("contested", base=EXT, lost=["small", "hard"])
def file_in_the_inode_table(i):
    i.iblock(i.lookup("small"), 12 + 8, 4, i.gd(0, "inode_table"))
