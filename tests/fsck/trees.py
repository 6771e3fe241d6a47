# SPDX-License-Identifier: MIT
"""Cases for run.py: deeper maps, of which a pointer or header is wrong and the checksums are right."""
from cases import case

CAP = (1024 - 16) // 12  # entries of a node


def take_block(i):
    """Allocates the last free block."""
    g = i.groups - 1
    start = i.first + g * i.sb("blocks_per_group")
    bitmap = i.block(i.gd(g, "block_bitmap"))
    bit = max(n for n in range(i.sb("blocks_count") - start) if not i.b[bitmap + n // 8] >> n % 8 & 1)
    i.flip_bit(g, "block_bitmap", bit)
    i.set_gd(g, "free_blocks", i.gd(g, "free_blocks") - 1)
    i.set_sb("free_blocks_count", i.sb("free_blocks_count") - 1)
    return start + bit


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
    i.set_inode(ino, "blocks", i.inode(ino, "blocks") + count * i.bs // 512)
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
