# SPDX-License-Identifier: MIT
"""Cases for run.py: directories whose mode says something else, and files that only look like directories."""
from cases import case

TYPE_DIR = 2  # of an entry


def mode(value, *names):
    def damage(i):
        for name in names:
            i.set_inode(i.lookup(name), "mode", value)
    damage.__name__ = "directory_mode_%06o_of_%s" % (value, "_and_".join(names))
    return damage


for wrong in (0o100755, 0o104711, 0o010755, 0o120777, 0o020755, 0o060755, 0o140755, 0, 0o170755):
    for damaged in (("sub",), ("empty",), ("many",), ("sub", "sub/deep")):
        for base in ("ext4", "ext2", "inline", "itree"):
            if base == "ext4" or (wrong in (0o100755, 0o010755) and len(damaged) == 1):
                case("inode-mode-directory", base=base, named=True)(mode(wrong, *damaged))


def copy_of_directory(i, number, parent):
    """The file "small", with two links, holds a directory block with these numbers."""
    ino, sub = i.lookup("small"), i.lookup("sub")
    at, of = i.block(i.blocks(ino)[0]), i.block(i.blocks(sub)[0])
    i.put(at, i.bs, i.b[of:of + i.bs])
    i.put(at, 4, number or ino)
    i.put(at + 12, 4, parent)
    i.set_inode(ino, "size", i.bs)


@case(base=["ext4", "ext2"], note=True, only=True, lost=["small", "hard"])
def file_with_a_copy_of_a_directory(i):
    copy_of_directory(i, i.lookup("sub"), 2)


@case(base=["ext4", "ext2"], note=True, only=True, lost=["small", "hard"])
def file_with_a_directory_of_its_number(i):
    copy_of_directory(i, 0, 2)


@case("dir-filetype", base=["ext4", "ext2"], only=True, lost=["small", "hard"])
def file_with_a_copy_of_a_directory_and_the_type_of_one(i):
    copy_of_directory(i, i.lookup("sub"), 2)
    i.set_entry(2, "small", 7, 1, TYPE_DIR)


@case("dir-filetype", base=["ext4", "ext2"], only=True, lost=["small", "hard"])
def file_with_a_directory_of_its_number_in_another_one(i):
    copy_of_directory(i, 0, i.lookup("empty"))
    i.set_entry(2, "small", 7, 1, TYPE_DIR)


@case("dir-filetype", base=["ext4", "ext2"], only=True)
def file_with_the_type_of_a_directory(i):
    i.set_entry(2, "small", 7, 1, TYPE_DIR)
