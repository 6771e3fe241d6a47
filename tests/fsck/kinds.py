# SPDX-License-Identifier: MIT
"""More cases for run.py: damage of several structures at once, and of kinds that one finding does not tell."""
from cases import BASES, case
from image import FL_EXTENTS

BASES["encrypt"] = ["-t", "ext4", "-O", "encrypt"]
BASES["groups"] = ["-t", "ext4", "-g", "4096"]
FL_ENCRYPT, XATTR_MAGIC, INDEX_ENCRYPTION = 0x800, 0xEA020000, 9
COMPAT_SPARSE_SUPER2 = 0x200


def encrypt(i, ino, context):
    """Makes an inode encrypted, with one attribute: the context."""
    off, at = i.inode_off(ino) + 128 + i.inode(ino, "extra_isize"), 32
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


@case("superblock-field", base="large inodes")
def inode_size_of_large_inodes(i):
    i.set_sb("inode_size", 256)


@case("contested", base="ext2")
def superblock_in_the_root_directory(i):
    i.iblock(2, 4, 4, 1)


@case("inode-extents-flag", base="inline", lost=["small", "hard"])
def extents_in_place_of_inline_data(i):
    ino = i.lookup("small")
    i.put(i.inode_off(ino) + 40, 60, bytes(60))
    i.iblock(ino, 0, 8, b"\x0a\xf3\0\0\4\0\0\0")


@case("contested", base=["ext4", "ext2"], lost=["small", "hard"])
def metadata_in_a_directory(i):
    """Its blocks are copied before anything is repaired in them."""
    i.iblock(i.lookup("empty"), 20 if i.inode(i.lookup("empty"), "flags") & FL_EXTENTS else 0, 4, i.gd(0, "inode_table"))
