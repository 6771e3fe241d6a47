# SPDX-License-Identifier: MIT
"""Cases of directories: in their inode, in a circle, with names that are folded."""
from cases import case
from image import FL_INDEX

FL_CASEFOLD = 0x40000000


def inline_entry(ino, name, rec_len, kind):
    return ino.to_bytes(4, "little") + rec_len.to_bytes(2, "little") + bytes([len(name), kind]) + name.ljust(
        rec_len - 8, b"\0")


def set_inline(i, ino, at, size, value):
    """Bytes of a directory in its inode: 0 the number of the parent, then entries."""
    i.iblock(ino, at, size, value)


@case("dir-dotdot", base="inline")
def inline_directory_with_another_parent(i):
    set_inline(i, i.lookup("sub"), 0, 4, i.lookup("many"))


@case("dir-dotdot", base="inline")
def inline_directory_without_a_parent(i):
    set_inline(i, i.lookup("empty"), 0, 4, 0)


@case("dir-entry-unused", base="inline", moved=True)
def inline_entry_of_an_unused_inode(i):
    set_inline(i, i.lookup("sub"), 4, 4, i.per_group)


@case("dir-name-characters", base="inline", moved=True)
def slash_in_an_inline_name(i):
    set_inline(i, i.lookup("sub"), 4 + 8 + 1, 1, ord("/"))


@case("dir-filetype", base="inline")
def type_in_an_inline_entry(i):
    set_inline(i, i.lookup("sub"), 4 + 7, 1, 1)


@case("dir-duplicate-name", base="inline")
def two_inline_entries_of_a_name(i):
    small, empty = i.lookup("small"), i.lookup("empty")
    twins = inline_entry(small, b"twin", 16, 1) + inline_entry(small, b"twin", 40, 1)
    set_inline(i, empty, 4, 56, twins)
    i.set_inode(small, "links", i.inode(small, "links") + 2)


@case("dir-duplicate-name", "dir-entry-unused", base="inline")
def two_inline_entries_of_a_name_and_one_of_no_inode(i):
    small, empty = i.lookup("small"), i.lookup("empty")
    set_inline(i, empty, 4, 56, inline_entry(small, b"twin", 16, 1) + inline_entry(i.per_group, b"none", 16, 1)
               + inline_entry(small, b"twin", 24, 1))
    i.set_inode(small, "links", i.inode(small, "links") + 2)


@case("dir-unconnected", base=["ext4", "ext2"], moved=True)
def circle_of_directories(i):
    """Each has a name, but none of them is below the root."""
    sub, deep = i.lookup("sub"), i.lookup("sub/deep")
    i.set_entry(deep, "inner", 0, 4, sub)
    i.set_entry(deep, "inner", 7, 1, 2)
    i.set_entry(sub, "..", 0, 4, deep)
    i.set_inode(deep, "links", 3)
    i.set_entry(2, "sub", 0, 4, 0)
    i.set_inode(2, "links", i.inode(2, "links") - 1)


@case(base="casefold", note=True, lost=["many/*"])
def folded_names_in_an_index(i):
    """The hash of a folded name is that of its small letters."""
    many = i.lookup("many")
    assert i.inode(many, "flags") & FL_INDEX
    i.set_inode(many, "flags", i.inode(many, "flags") | FL_CASEFOLD)
    for name, other in (("name-003-of-a-file", b"NAME-003-OF-A-FILE"), ("name-077-of-a-file", b"nAmE-077-Of-A-fIlE")):
        i.set_entry(many, name, 8, len(other), other)


@case("htree-leaf-range", base="casefold", lost=["many/*"])
def folded_name_in_the_wrong_block(i):
    many = i.lookup("many")
    i.set_inode(many, "flags", i.inode(many, "flags") | FL_CASEFOLD)
    for n in range(0, 100, 10):
        i.set_entry(many, "name-%03d-of-a-file" % n, 8, 18, b"NAME-%03d-ON-A-TREE" % n)


@case(base="casefold", note=True, lost=["many/*"], stock=False)
def folded_name_that_is_not_ascii(i):
    """Its hash is not known without tables of Unicode: it may be in any block."""
    many = i.lookup("many")
    i.set_inode(many, "flags", i.inode(many, "flags") | FL_CASEFOLD)
    for n in range(20, 40):
        i.set_entry(many, "name-%03d-of-a-file" % n, 8, 10, b"n\xc3\xa4me-%03d-" % n)
