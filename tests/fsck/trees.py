# SPDX-License-Identifier: MIT
"""Cases for run.py: deeper maps, of which a pointer or header is wrong and the checksums are right."""
from cases import BASES, case
from image import FL_EXTENTS

BASES["ea files"] = ["-t", "ext4", "-O", "ea_inode"]
CAP = (1024 - 16) // 12  # entries of a node


def cluster(i):
    """Its size in blocks."""
    return 1 << i.sb("log_cluster_size") - i.sb("log_block_size")


def take_block(i):
    """Allocates the last free block, or cluster."""
    g = i.groups - 1
    start = i.first + g * i.sb("blocks_per_group")
    bitmap, count = i.block(i.gd(g, "block_bitmap")), (i.sb("blocks_count") - start) // cluster(i)
    bit = max(n for n in range(count) if not i.b[bitmap + n // 8] >> n % 8 & 1)
    i.flip_bit(g, "block_bitmap", bit)
    i.set_gd(g, "free_blocks", i.gd(g, "free_blocks") - 1)
    i.set_sb("free_blocks_count", i.sb("free_blocks_count") - cluster(i))
    return start + bit * cluster(i)


def write_node(i, at, extents, room, depth=0):
    """extents: (logical block, length, physical block), or (logical block, node) with a depth"""
    i.put(at, 8, b"\x0a\xf3" + b"".join(n.to_bytes(2, "little") for n in (len(extents), room, depth)))
    for n, (lblk, *to) in enumerate(extents):
        i.put(at + 12 + 12 * n, 4, lblk)
        i.put(at + 16 + 12 * n, 4, to[0])
        i.put(at + 20 + 12 * n, 4, 0 if depth else to[1])


def deepen(i, ino, count):
    """Gives the inode a tree of depth 1 with so many nodes, which are returned, and an extent for each block."""
    blocks = sorted(i.blocks(ino).items())
    per, root, nodes = -(-len(blocks) // count), i.inode_off(ino) + 40, []
    i.put(root, 60, bytes(60))
    for n in range(count):
        part = [(lblk, 1, pblk) for lblk, pblk in blocks[n * per:(n + 1) * per]]
        nodes.append((part[0][0], take_block(i)))
        i.zap(nodes[-1][1])
        write_node(i, i.block(nodes[-1][1]), part, CAP)
        i.fix_extent_block(ino, nodes[-1][1])
    write_node(i, root, nodes, 4, 1)
    i.set_inode(ino, "blocks", i.inode(ino, "blocks") + count * cluster(i) * i.bs // 512)
    return [blk for _, blk in nodes]


def index(path, n, low=None, high=None):
    """Entry n of the root leads elsewhere: low(nodes) is the lower part of where, high the upper one."""
    def damage(i):
        ino = i.lookup(path)
        nodes = deepen(i, ino, 2 if path else 1)
        if high is not None:
            i.iblock(ino, 20 + 12 * n, 2, high)
        if low:
            i.iblock(ino, 16 + 12 * n, 4, low(nodes))
    damage.__name__ = "entry_%d_of_%s_leads_%s" % (
        n, path or "the root", low.__name__ if low else "past the end %d" % high)
    return damage


def a_bit_away(nodes):
    return nodes[0] ^ 64


def elsewhere(nodes):
    return 5000 + 0 * nodes[0]


def to_the_other_node(nodes):
    return nodes[0]


for directory in ("", "many", "file"):
    for upper in (77, 0xFFFF):
        at = upper & 1 if directory and upper > 77 else 0
        case("extent-index", base=["ext4", "nocsum"], named=True, only=True)(index(directory, at, high=upper))
    case("extent-index", named=True, only=True)(index(directory, 0, a_bit_away))
    case("extent-index", named=True, only=True)(index(directory, 0, elsewhere))
    if directory:
        case("extent-index", named=True, only=True)(index(directory, 1, to_the_other_node))


# ---- headers of nodes, with a right checksum ----

HEADER = {"entries": 2, "room": 4, "depth": 6}  # offsets


def value_of(i, path):
    """The EA inode of a value that is in none of the inode and its attribute block."""
    off = i.inode_off(i.lookup(path)) + 128 + i.inode(i.lookup(path), "extra_isize") + 4
    while i.get(off, 4):
        if i.get(off + 4, 4):
            return i.get(off + 4, 4)
        off += 16 + (i.b[off] + 3 & ~3)
    raise KeyError(path)


def header(path, field, value, which=0, of_value=False):
    def damage(i):
        ino = value_of(i, path) if of_value else i.lookup(path)
        node = deepen(i, ino, 2)[which]
        i.put(i.block(node) + HEADER[field], 2, value(i.get(i.block(node) + 2, 2)) if callable(value) else value)
        i.fix_extent_block(ino, node)
    damage.__name__ = "%s_of_node_%d_of_%s%s_%s" % (
        field, which, "the_value_of_" * of_value, path, value.__name__ if callable(value) else value)
    return damage


def one_less(n):
    return n - 1


for file, kind, value in (("file", "bigalloc", False), ("many", "bigalloc", False), ("many", "itree", False),
                          ("bigattr", "ea", True), ("both", "ea files", False)):
    for last in (0, 1):
        for what, wrong in (("entries", one_less), ("entries", 1), ("room", 300), ("depth", 3)):
            case("extent-" + ("depth" if what == "depth" else "entries"), base=kind, only=kind != "itree", named=True)(
                header(file, what, wrong, last, value))
        case("extent-entries", "extent-empty", base=kind, only=kind != "itree", named=True)(
            header(file, "entries", 0, last, value))


# ---- block maps ----

BASES["bigalloc nocsum"] = ["-t", "ext4", "-O", "bigalloc,^metadata_csum", "-C", "8192"]


def map_by_blocks(path, wrong=False):
    """The inode gets a block map; wrong: with a pointer out of the filesystem."""
    def damage(i):
        ino, indirect = i.lookup(path), 0
        blocks = i.blocks(ino)
        i.set_inode(ino, "flags", i.inode(ino, "flags") & ~FL_EXTENTS)
        i.iblock(ino, 0, 60, bytes(60))
        for lblk, pblk in blocks.items():
            if lblk < 12:
                i.iblock(ino, 4 * lblk, 4, pblk)
                continue
            if not indirect:
                indirect = take_block(i)
                i.zap(indirect)
                i.iblock(ino, 48, 4, indirect)
                i.set_inode(ino, "blocks", i.inode(ino, "blocks") + cluster(i) * i.bs // 512)
            i.put(i.block(indirect) + 4 * (lblk - 12), 4, pblk)
        if wrong:
            i.put(i.block(indirect) + 4, 4, i.sb("blocks_count") + 7)
    damage.__name__ = "block_map_of_%s%s" % (path, "_with_a_wrong_pointer" * wrong)
    return damage


for file in ("file", "many", "small", "pieces", "longlink", "sub"):
    case("inode-block-mapped", base=["bigalloc", "bigalloc nocsum"], only=file != "pieces", named=True)(
        map_by_blocks(file))
case("inode-block-mapped", "block-range", base="bigalloc", lost=["file"])(map_by_blocks("file", True))


@case("contested", "extent-index", base=["ext4", "nocsum"], lost=["small", "hard"])
def wrong_tree_whose_record_is_in_a_block_of_a_file(i):
    """The record is written when the block is the table's alone, in the next round."""
    deepen(i, i.lookup("big"), 4)
    i.iblock(i.lookup("big"), 20, 2, 77)
    i.iblock(i.lookup("small"), 12 + 8, 4, i.inode_off(i.lookup("big")) // i.bs)
