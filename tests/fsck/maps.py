# SPDX-License-Identifier: MIT
"""Cases for run.py: extent nodes, ends of files, and inodes that are something else by their contents."""
from cases import case

# eh_entries, eh_max, eh_depth: offset in the header
HEADER = {"entries": 2, "room": 4, "depth": 6}
PIECES = "pieces"  # the file whose extents do not fit in the inode: eight of them


def node_of(i):
    """The inode, and the node of its tree."""
    ino = i.lookup(PIECES)
    i.blocks(ino)
    return ino, i.map_blocks[0]


def stale(i, node):
    """Behind the last entry, one of contents that were cut off, as truncation used to leave them."""
    at = i.block(node) + 12 + 12 * 8
    i.put(at, 4, 400)
    i.put(at + 4, 2, 1)
    i.put(at + 8, 4, i.block(node) // i.bs + 3)


def header(field, value, sealed):
    def damage(i):
        ino, node = node_of(i)
        stale(i, node)
        i.fix_extent_block(ino, node)
        i.put(i.block(node) + HEADER[field], 2, value)
        if sealed:
            i.fix_extent_block(ino, node)
    damage.__name__ = "%s_of_a_node_%d%s" % (field, value, "_sealed" * sealed)
    return damage


for name, wrong in [("entries", n) for n in (0, 1, 7, 85, 9999)] + [("room", n) for n in (0, 3, 300)]:
    for right in (False, True):
        also = ["extent-empty"] if (name, wrong, right) == ("entries", 0, True) else []
        case("extent-entries", *also, base="ext4", named=True, only=True)(header(name, wrong, right))
        also = ["extent-empty"] if (name, wrong) == ("entries", 0) else []
        if right:
            case("extent-entries", *also, base="nocsum", named=True, only=True)(header(name, wrong, right))
for right in (False, True):
    case("extent-depth", named=True, only=right is False, base=["ext4", "nocsum"])(header("depth", 3, right))


@case("extent-header", only=True, named=True)
def magic_of_a_node(i):
    _, node = node_of(i)
    i.put(i.block(node), 2, 0)


def root_entries(value):
    def damage(i):
        i.iblock(i.lookup("file"), 2, 2, value)
    damage.__name__ = "%d_entries_in_a_root" % value
    return damage


for wrong in (0, 9):
    case("extent-entries", only=True, named=True, base=["ext4", "nocsum"])(root_entries(wrong))


def last_extent(lblk, sealed=True):
    def damage(i):
        ino, node = node_of(i)
        i.put(i.block(node) + 12 + 12 * 7, 4, lblk)
        if sealed:
            i.fix_extent_block(ino, node)
    damage.__name__ = "last_extent_at_%d%s" % (lblk, "_sealed" * sealed)
    return damage


# it belongs to logical block 140, where the size ends
for where in (140 + (1 << 20), 140 + (1 << 31), 8000000, 0xFFFFFFFF):
    case("extent-place", base=["ext4", "nocsum"], only=True, named=True)(last_extent(where))


def mode(name, value):
    def damage(i):
        i.set_inode(i.lookup(name), "mode", value)
    damage.__name__ = "mode_%06o_of_%s" % (value, name)
    return damage


for wrong in (0o000644, 0o170755, 0o177777, 0o010644, 0o140644):
    for name in ("big", "pieces"):
        case("inode-mode-data", named=True, base=["ext4", "ext2"])(mode(name, wrong))
    case("inode-mode-data", named=True, base="inline")(mode("small", wrong))
    case("inode-mode-symlink", named=True, base=["ext4", "ext2"])(mode("link", wrong | 0o777))
    if wrong != 0o000644:
        case("inode-mode-symlink", named=True, base=["ext4", "ext2"])(mode("longlink", wrong | 0o777))
case("inode-mode-symlink", named=True, base=["ext4", "ext2"])(mode("link", 0o100644))


def garbage(name, slot, counted=False):
    """A pointer to a block that is free, behind those of the size."""
    def damage(i):
        ino = i.lookup(name)
        i.iblock(ino, 4 * slot, 4, i.sb("blocks_count") - 3)
        if counted:
            i.set_inode(ino, "blocks", i.inode(ino, "blocks") + i.bs // 512)
    damage.__name__ = "pointer_%d_of_%s%s" % (slot, name, "_counted" * counted)
    return damage


for name, slot in (("small", 1), ("small", 11), ("sub", 7), ("sub/deep/inner", 10), ("small", 12), ("small", 14)):
    case("block-past-size", base=["ext2", "ext3"], only=True, named=True)(garbage(name, slot))
# blocks that are counted are contents, and it is the size that is wrong
case("inode-size", base="ext2", only=False, lost=["small", "hard"])(garbage("small", 11, True))


@case("block-past-size", only=True, named=True, base=["ext4", "nocsum"])
def extent_past_the_size(i):
    ino = i.lookup("file")
    i.iblock(ino, 2, 2, 2)
    i.iblock(ino, 24, 4, 300)
    i.iblock(ino, 28, 4, 2)
    i.iblock(ino, 32, 4, i.sb("blocks_count") - 3)
