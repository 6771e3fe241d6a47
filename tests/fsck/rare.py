# SPDX-License-Identifier: MIT
"""Cases of findings that need an image of their own, a full one say, or that only a repair comes across."""
import random

from cases import BASES, case
from image import FL_EXTENTS, FL_INLINE, SUPER, crc32c
from kinds import XATTR_MAGIC, context, encrypt

BASES["bigalloc"] = ["-t", "ext4", "-O", "bigalloc", "-C", "4096"]
BASES["ea"] = ["-t", "ext4", "-O", "ea_inode"]
BASES["ea quota"] = ["-t", "ext4", "-O", "ea_inode,quota", "-I", "128"]
BASES["strict"] = ["-t", "ext4", "-O", "casefold", "-E", "encoding=utf8,encoding_flags=strict"]
BASES["names"] = ["-t", "ext4", "-O", "^has_journal"]
FL_EA_INODE, FL_CASEFOLD = 0x200000, 0x40000000
INCOMPAT_EA_INODE, INCOMPAT_CASEFOLD = 0x400, 0x20000
NAME_INDEX_USER = 1


def free_runs(i):
    """(start, length) of what the bitmaps call free."""
    runs, start, end = [], None, i.sb("blocks_count")
    for blk in range(i.first, end + 1):
        g, bit = divmod(blk - i.first, i.sb("blocks_per_group"))
        free = blk < end and not i.gd(g, "flags") & 2 and \
            not i.b[i.block(i.gd(g, "block_bitmap")) + bit // 8] >> bit % 8 & 1
        if free and start is None:
            start = blk
        elif not free and start is not None:
            runs.append((start, blk - start))
            start = None
    return runs


def extents(i, ino, runs):
    """The map of a file: at most four runs, in the inode."""
    i.iblock(ino, 0, 60, bytes(60))
    i.iblock(ino, 0, 8, bytes([0x0A, 0xF3, len(runs), 0, 4, 0, 0, 0]))
    lblk = 0
    for n, (start, length) in enumerate(runs):
        i.iblock(ino, 12 + 12 * n, 4, lblk)
        i.iblock(ino, 16 + 12 * n, 2, length)
        i.iblock(ino, 20 + 12 * n, 4, start)
        lblk += length
    i.set_inode(ino, "flags", FL_EXTENTS)
    i.set_inode(ino, "size", lblk * i.bs)
    i.set_inode(ino, "blocks", lblk * i.bs // 512)


def fill(i, name="file"):
    """One file has all free blocks. What it had is free then, as the bitmaps do not say."""
    ino = i.lookup(name)
    own = sorted(i.blocks(ino).values())
    runs = sorted(free_runs(i), key=lambda r: -r[1])
    assert len(runs) <= 3
    extents(i, ino, sorted(runs + [(own[0], len(own))]))


def backups(i):
    """The copies say what the primary superblock says."""
    per_group = i.sb("blocks_per_group")
    for g in (1, 3, 5, 7, 9):
        at = i.block(i.first + g * per_group)
        if g < i.groups and i.get(at + 56, 2) == 0xEF53:
            i.b[at:at + 1024] = i.b[SUPER:SUPER + 1024]
            i.put(at + 90, 2, g)
            if i.csum:
                i.put(at + 1020, 4, crc32c(0xFFFFFFFF, i.b[at:at + 1020]))


# ---- superblock ----


@case("superblock-checksum-seed", base="nocsum", preen=True)
def seed_of_checksums_that_there_are_not(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 0x2000)
    backups(i)


@case("superblock-reserved-gdt")
def reserved_blocks_without_a_resize_inode(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~0x10)
    i.put(i.inode_off(7), 128, bytes(128))
    i.fix_inode(7)
    backups(i)


@case("superblock-size", left=8)
def image_cut_short(i):
    del i.b[6 << 20:]


@case("journal-device-checksum", base="names", only=True, first=True, note=True, stock=False,
      options=["-j", "log.dev"])
def checksum_of_an_external_journal(i):
    """An empty log that has no user yet; the filesystem names it by its UUID."""
    uuid, blocks = bytes(range(1, 17)), 2048
    i.set_sb("journal_uuid", uuid)
    i.set_sb("feature_compat", i.sb("feature_compat") | 4)
    device = bytearray(blocks * 1024)
    device[SUPER:SUPER + 1024] = i.b[SUPER:SUPER + 1024]
    for at, value in (4, blocks), (0x60, 8), (0x64, 0x400):
        device[SUPER + at:SUPER + at + 4] = value.to_bytes(4, "little")
    device[SUPER + 0x68:SUPER + 0x78] = uuid
    log = 0xC03B3998, 4, 0, 1024, blocks, 3, 1, 0
    for n, value in enumerate(log):
        device[2048 + 4 * n:2052 + 4 * n] = value.to_bytes(4, "big")
    with open("log.dev", "wb") as out:
        out.write(device)


@case("superblock-lost", base=["ext4", "ext2", "nocsum"], only=True, first=True)
def filesystem_called_an_external_journal(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 8)


@case("journal-recreate", base="ext3", late=True)
def journal_that_is_made_again(i):
    i.put(i.inode_off(8), 128, bytes(128))
    i.set_sb("jnl_blocks", bytes(68))


@case("journal-inode-backup", base=["ext3", "ext4"], only=True, first=True)
def journal_without_its_number(i):
    """Its record is whole, with the count of its blocks."""
    i.set_sb("journal_inum", 0)


@case("journal-recreate-no-space", base="nocsum", lost=["file", "big"], late=True)
def journal_that_cannot_be_made_again(i):
    """A file has its blocks, and all free ones."""
    log = sorted(i.blocks(8).values())
    runs = sorted(free_runs(i) + [(log[0], len(log))], key=lambda r: -r[1])[:4]
    extents(i, i.lookup("file"), sorted(runs))
    i.put(i.inode_off(8), 128, bytes(128))
    i.set_sb("jnl_blocks", bytes(68))


def write_log(i, *tags):
    """One transaction of (block, contents); where there is no such block, its tag is damage."""
    log = i.blocks(8)

    def block(n, *words):
        i.zap(log[n])
        for k, word in enumerate(words):
            i.put(i.block(log[n]) + 4 * k, 4, word.to_bytes(4, "big"))
    magic = 0xC03B3998
    block(1, magic, 1, 1, *(word for n, (blk, _) in enumerate(tags, 1) for word in (blk, 10 if n == len(tags) else 2)))
    for n, (_, data) in enumerate(tags):
        block(2 + n)
        i.put(i.block(log[2 + n]), len(data), data)
    block(2 + len(tags), magic, 2, 1)
    i.put(i.block(log[0]) + 0x18, 4, (1).to_bytes(4, "big"))
    i.put(i.block(log[0]) + 0x1C, 4, (1).to_bytes(4, "big"))
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 4)


@case("journal-stale", base="ext3")
def transaction_for_no_block(i):
    write_log(i, (0x7FFFFFFF, b""))


@case("journal-stale", base="ext3")
def damaged_transaction_of_an_older_directory(i):
    """The directory in place has more names, and the inodes of all of them."""
    blk = i.blocks(2)[0]
    old = bytearray(i.b[i.block(blk):i.block(blk) + i.bs])
    old[12 + 4:12 + 6] = (i.bs - 12).to_bytes(2, "little")
    write_log(i, (blk, bytes(old)), (0x7FFFFFFF, b""))


@case("journal-damaged", base="ext3")
def damaged_transaction_of_a_newer_directory(i):
    """The directory in place has no names."""
    blk = i.blocks(2)[0]
    good = bytes(i.b[i.block(blk):i.block(blk) + i.bs])
    i.put(i.block(blk) + 12 + 4, 2, i.bs - 12)
    write_log(i, (blk, good), (0x7FFFFFFF, b""))


BASES["mmp nocsum"] = ["-t", "ext4", "-O", "mmp,^metadata_csum"]


@case("superblock-lost", "mmp-sequence", base="mmp nocsum")
def impossible_number_of_a_mount(i):
    """Without a superblock nothing says that somebody may have it mounted, so nobody waits for that."""
    at = i.block(i.sb("mmp_block"))
    i.put(at + 4, 4, 0xFFFFFFFF)
    i.put(SUPER, 1024, bytes(1024))


@case("orphan-link", base="ext2")
def free_inode_with_a_link(i):
    free = next(n for n in range(i.sb("first_ino") + 100, i.per_group) if not i.inode(n, "mode"))
    i.set_inode(free, "dtime", 7)


@case("quota-inode-number", base="quota")
def quota_inode_that_is_free(i):
    i.set_sb("prj_quota_inum", next(n for n in range(i.sb("first_ino"), i.per_group) if not i.inode(n, "mode")))
    backups(i)


@case("group-unused-inode-named")
def inodes_beyond_those_in_use(i):
    bits = i.block(i.gd(0, "inode_bitmap"))
    i.put(bits + 2, i.per_group // 8 - 2, bytes(i.per_group // 8 - 2))
    i.set_gd(0, "itable_unused", i.per_group - 16)
    i.fix_bitmaps(0)


# ---- inodes ----


@case("extent-end", lost=["pieces"])
def extent_that_reaches_into_the_next_node(i):
    ino = i.lookup("pieces")
    i.blocks(ino)
    node, other = i.map_blocks[0], free_runs(i)[0][0]
    i.zap(other)
    i.b[i.block(other):i.block(other) + 12] = i.b[i.block(node):i.block(node) + 12]
    for k in range(3):
        at = i.block(node) + 12 + 12 * (5 + k)
        i.b[i.block(other) + 12 + 12 * k:i.block(other) + 24 + 12 * k] = i.b[at:at + 12]
    i.put(i.block(node) + 2, 2, 5)
    i.put(i.block(other) + 2, 2, 3)
    i.iblock(ino, 2, 2, 2)
    i.iblock(ino, 24, 4, 80)
    i.iblock(ino, 28, 4, other)
    i.fix_extent_block(ino, node)
    i.fix_extent_block(ino, other)


@case("extent-place")
def only_extent_behind_the_size(i):
    i.iblock(i.lookup("file"), 12, 4, 900)


def split(i, name, k, lblk):
    """Its blocks as three extents, of which number k is stored at logical block lblk."""
    ino = i.lookup(name)
    blocks, flags = [b for _, b in sorted(i.blocks(ino).items())], i.inode(ino, "flags")
    assert blocks == list(range(blocks[0], blocks[0] + len(blocks))) and len(blocks) > 5
    size, held = i.inode(ino, "size"), i.inode(ino, "blocks")
    extents(i, ino, [(blocks[0], 2), (blocks[2], 3), (blocks[5], len(blocks) - 5)])
    i.iblock(ino, 12 + 12 * k, 4, lblk)
    for field, value in (("flags", flags), ("size", size), ("blocks", held)):
        i.set_inode(ino, field, value)


def extent_at_a_wrong_place(name, k, lblk):
    def damage(i):
        split(i, name, k, lblk)
    damage.__name__ = "extent_%d_of_%s_at_%d" % (k, name, lblk)
    return damage


for one in [(name, k, lblk) for name in ("many", "file") for k, lblk in ((0, 0x2000000), (1, 0), (1, 3), (1, 900), (2, 900))]:
    case("extent-place", only=True, first=True)(extent_at_a_wrong_place(*one))


@case("extent-place", only=True, first=True)
def first_extent_of_a_node_at_a_wrong_place(i):
    """The index entry above says where it belongs."""
    ino = i.lookup("pieces")
    i.blocks(ino)
    node = i.map_blocks[0]
    i.put(i.block(node) + 12, 4, 0x1000000)
    i.fix_extent_block(ino, node)


def too_long(name, k, length):
    def damage(i):
        split(i, name, k, (0, 2, 5)[k])
        i.iblock(i.lookup(name), 16 + 12 * k, 2, length)
    damage.__name__ = "extent_%d_of_%s_of_%d_blocks" % (k, name, length)
    return damage


for one in [(name, k, length) for name in ("many", "file") for k, length in ((0, 3), (1, 3000), (2, 32), (2, 3000))]:
    case("extent-long", named=True)(too_long(*one))


@case("system-file-unwritten", base="orphan", only=True, first=True)
def orphan_file_marked_unwritten(i):
    ino = i.sb("orphan_file_inum")
    i.iblock(ino, 16, 2, len(i.blocks(ino)) | 0x8000)


@case("system-file-unwritten", "quota-file-damaged", base="quota", only=True)
def quota_file_marked_unwritten(i):
    i.iblock(3, 16, 2, len(i.blocks(3)) | 0x8000)


@case("inode-size", base="quota")
def quota_file_longer_than_its_size(i):
    i.set_inode(3, "size", i.inode(3, "size") - 3 * i.bs)


@case("map-budget", lost=["file"], left=True)
def file_larger_than_its_filesystem(i):
    start = max(free_runs(i), key=lambda r: r[1])[0]
    extents(i, i.lookup("file"), [(start, 3000)] * 4)


@case("directory-too-big", moved=True)
def directory_that_ends_too_late(i):
    ino = i.lookup("many")
    blocks = i.blocks(ino)
    last = max(blocks)
    i.iblock(ino, 2, 2, 2)
    i.iblock(ino, 16, 2, last)
    i.set_inode(ino, "size", last * i.bs)  # nothing says that there was a block behind these
    i.iblock(ino, 24, 4, 0x7FFFFFF0)
    i.iblock(ino, 28, 4, 1)
    i.iblock(ino, 32, 4, blocks[last])


@case("superblock-features", base=["ext2", "ext3"], only=True, first=True)
def bigalloc_without_extents(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") | 0x200)
    backups(i)


@case("bigalloc-block-map", base=["ext2", "ext3"], only=True)
def bigalloc_with_block_maps(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") | 0x200)
    i.set_sb("feature_incompat", i.sb("feature_incompat") | 0x40)
    backups(i)


@case("cluster-allocation", base="bigalloc", lost=["file"])
def extent_beside_its_cluster(i):
    ino = i.lookup("file")
    i.iblock(ino, 20, 4, i.blocks(ino)[0] + 1)


@case("contested-full", "contested-no-space", lost=["file", "big"], left=True)
def blocks_of_two_large_files(i):
    start = max(free_runs(i), key=lambda r: r[1])
    assert start[1] >= 5000
    for name in ("file", "big"):
        extents(i, i.lookup(name), [(start[0], 5000)])


@case("unshare-no-space", options=["-E", "unshare_blocks"], left=True)
def two_large_files_that_may_share_their_blocks(i):
    start = max(free_runs(i), key=lambda r: r[1])
    for name in ("file", "big"):
        extents(i, i.lookup(name), [(start[0], 5000)])
    i.put(SUPER + 100, 4, i.get(SUPER + 100, 4) | 0x4000)
    i.fix_sb()


@case("symlink-blocks", base="ext2")
def symbolic_link_of_two_blocks(i):
    i.iblock(i.lookup("longlink"), 4, 4, free_runs(i)[0][0])


@case("symlink-blocks", base=["ext2", "ext3"])
def symbolic_link_with_a_pointer_to_a_node(i):
    i.iblock(i.lookup("longlink"), 56, 4, free_runs(i)[0][0])


@case("symlink-is-file", lost=["file"])
def file_called_a_symbolic_link(i):
    i.set_inode(i.lookup("file"), "mode", 0o120644)


@case("symlink-short-in-block", lost=["longlink"])
def short_symbolic_link_in_a_block(i):
    ino = i.lookup("longlink")
    blk = i.blocks(ino)[0]
    i.put(i.block(blk) + 20, i.bs - 20, bytes(i.bs - 20))
    i.set_inode(ino, "size", 20)


@case("inline-no-attribute", base="inline")
def inline_data_without_its_attribute(i):
    ino = i.lookup("small")
    assert i.inode(ino, "flags") & FL_INLINE
    i.put(i.inode_off(ino) + 160, 4, 0)
    i.fix_inode(ino)


@case("inode-inline-flag", base="inline")
def inline_contents_without_the_flag(i):
    ino = i.lookup("small")
    i.set_inode(ino, "flags", i.inode(ino, "flags") & ~FL_INLINE)


@case("inode-inline-flag", base="inline")
def inline_directory_without_any_flag(i):
    i.set_inode(i.lookup("sub"), "flags", 0)


@case("inline-hash", base="inline")
def hash_of_inline_contents(i):
    ino = i.lookup("small")
    i.put(i.inode_off(ino) + 164 + 12, 4, 0x12345678)
    i.fix_inode(ino)


@case("inode-garbage", base=["ext4", "ext2", "nocsum"], lost=["file"])
def random_bytes_in_place_of_a_record(i):
    off = i.inode_off(i.lookup("file"))
    i.put(off, i.inode_size, random.Random(7).randbytes(i.inode_size))
    i.put(off, 2, 0o104755)


@case("inode-misplaced", lost=["many/name-*"])
def block_of_the_inode_table_over_its_neighbor(i):
    at = i.inode_off(i.lookup("many/name-100-of-a-file")) // i.bs
    i.put(at * i.bs, i.bs, bytes(i.b[(at - 1) * i.bs:at * i.bs]))


@case("inode-former")
def record_of_a_former_filesystem(i):
    """In a table that was not zeroed, and whose unused part is no longer known."""
    g = i.groups - 1
    ino = g * i.per_group + 100
    i.put(i.inode_off(ino), i.inode_size, int.from_bytes(
        i.b[i.inode_off(i.lookup("file")):][:i.inode_size], "little"))
    i.set_gd(g, "itable_unused", 0)
    i.set_gd(g, "flags", i.gd(g, "flags") & ~1)


@case("inode-moved")
def block_of_the_inode_table_in_place_of_its_neighbor(i):
    at = i.inode_off(i.lookup("many/name-100-of-a-file")) // i.bs
    i.b[(at - 1) * i.bs:(at + 1) * i.bs] = i.b[at * i.bs:(at + 1) * i.bs] + i.b[(at - 1) * i.bs:at * i.bs]


@case("inode-time-range", moved=True)
def time_before_1970_with_the_last_epoch(i):
    ino = i.lookup("file")
    i.put(i.inode_off(ino) + 136, 4, 3)
    i.set_inode(ino, "mtime", 0x80000000)


# ---- encrypted ----


@case("encrypt-no-context", base="encrypt")
def encrypted_file_without_a_context(i):
    ino = i.lookup("file")
    i.set_inode(ino, "flags", i.inode(ino, "flags") | 0x800)


@case("encrypt-context", base="encrypt", lost=["file"])
def encrypted_file_with_a_strange_context(i):
    encrypt(i, i.lookup("file"), context(1, 7, 20))


@case("dir-not-encrypted", base="encrypt", moved=True)
def plain_files_in_an_encrypted_directory(i):
    encrypt(i, i.lookup("many"), context(1, 7, 28))


@case("dir-name-encrypted", base="encrypt", moved=True)
def short_name_in_an_encrypted_directory(i):
    encrypt(i, i.lookup("sub/deep"), context(1, 7, 28))


@case("dir-duplicate-name", "inode-unattached", base="encrypt", lost=["many/*"], late=True)
def name_twice_in_an_encrypted_directory(i):
    """Nobody can give it a suffix: the second entry is cleared, and its inode put into lost+found."""
    many = i.lookup("many")
    encrypt(i, many, context(1, 7, 28))
    found = [e for e in i.entries(many) if e[3] not in (b".", b"..")]
    for _, child, _, _ in found:
        encrypt(i, child, context(1, 7, 28))
    (_, _, _, name), (second, _, _, _) = found[-2:]
    i.b[second + 8:second + 8 + len(name)] = name
    i.fix_dir_block(many, second // i.bs)


@case("lost-found-encrypted", base="encrypt", moved=True)
def lost_found_is_encrypted(i):
    encrypt(i, i.lookup("lost+found"), context(1, 7, 28))


# ---- attributes ----


def in_inode(i, ino, entries):
    """Attributes in the record of an inode: (name, offset of the value, value)."""
    area = i.inode_off(ino) + 160
    i.put(area, i.inode_size - 160, bytes(i.inode_size - 160))
    i.put(area, 4, XATTR_MAGIC)
    at = area + 4
    for name, off, value in entries:
        i.put(at, 2, bytes([len(name), NAME_INDEX_USER]))
        i.put(at + 2, 2, off)
        i.put(at + 8, 4, len(value))
        i.put(at + 16, len(name), name)
        i.put(area + 4 + off, len(value), value)
        at += 16 + (len(name) + 3 & ~3)
    i.fix_inode(ino)


@case("xattr-overlap")
def two_attributes_with_one_value(i):
    in_inode(i, i.lookup("file"), [(b"one", 80, b"blue"), (b"two", 80, b"blue")])


@case("xattr-share", note=True, options=["-E", "share_xattrs"])
def equal_attribute_blocks(i):
    old, new = i.xattr_block(i.lookup("attrs")), free_runs(i)[0][0]
    i.b[i.block(new):i.block(new + 1)] = i.b[i.block(old):i.block(old + 1)]
    i.set_inode(i.lookup("attrs2"), "file_acl", new)
    for blk in (old, new):
        i.put(i.block(blk) + 4, 4, 1)
        i.fix_xattr_block(blk)


def ea_inode(i):
    return next(n for n in range(i.sb("first_ino"), i.per_group)
                if i.inode(n, "mode") and i.inode(n, "flags") & FL_EA_INODE)


def value_entry(i):
    """The entry of the attribute whose value has an inode: its offset, and the block it is in."""
    ino, number = i.lookup("bigattr"), ea_inode(i).to_bytes(4, "little")
    blk = i.xattr_block(ino)
    at = i.b.find(number, i.inode_off(ino) + 160, i.inode_off(ino) + i.inode_size)
    return (at if at > 0 else i.b.find(number, i.block(blk) + 32, i.block(blk + 1))) - 4, blk


@case("dir-entry-ea-inode", base="ea", moved=True)
def name_of_an_attribute_value(i):
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, ea_inode(i))


@case("ea-inode-invalid", base="ea")
def attribute_with_an_impossible_value_inode(i):
    at, blk = value_entry(i)
    i.put(at + 4, 4, 0x70000000)
    i.fix_inode(i.lookup("bigattr"))
    if blk:
        i.fix_xattr_block(blk)


@case("ea-inode-no-flag", base="ea")
def value_inode_without_its_flag(i):
    ino = ea_inode(i)
    i.set_inode(ino, "flags", i.inode(ino, "flags") & ~FL_EA_INODE)


@case("ea-inode-flag-stray", base=["ea", "ext4"])
def named_file_with_the_flag_of_value_inodes(i):
    ino = i.lookup("file")
    i.set_inode(ino, "flags", i.inode(ino, "flags") | FL_EA_INODE)
@case("ea-inode-place", "contested", base="ea", named=True)
def value_inode_that_leads_into_a_file(i):
    i.iblock(ea_inode(i), 20, 4, i.blocks(i.lookup("file"))[0])


@case("ea-inode-place", "contested", base="ea", named=True)
def value_inode_that_leads_to_the_superblock(i):
    i.iblock(ea_inode(i), 20, 4, 1)


@case("ea-inode-hash", base=["ea", "ea quota"], only=True, preen=True)
def value_that_was_overwritten(i):
    i.put(i.block(i.blocks(ea_inode(i))[1]) + 100, 4, bytes(4))


@case("ea-inode-place", base="ea", named=True, preen=True)
def value_inode_that_leads_to_a_free_block(i):
    i.iblock(ea_inode(i), 20, 4, free_runs(i)[-1][0])


@case("ea-inode-place", "block-range", base="ea", named=True)
def value_inode_that_leads_out_of_the_filesystem(i):
    i.iblock(ea_inode(i), 18, 2, 1)


@case("ea-inode-place", base="ea", named=True)
def value_inode_that_leads_into_its_own_blocks_and_others(i):
    ino = ea_inode(i)
    first = i.blocks(ino)[0]
    i.iblock(ino, 20, 4, first - 1)


@case("ea-inode-place", base="ea", named=True)
def value_inode_of_two_extents_of_which_one_leads_elsewhere(i):
    ino = ea_inode(i)
    first = i.blocks(ino)[0]
    held = i.inode(ino, "flags")
    size, links = i.inode(ino, "size"), i.inode(ino, "blocks")
    extents(i, ino, [(first, 2), (first + 2, len(i.blocks(ino)) - 2)])
    i.iblock(ino, 32, 4, i.blocks(i.lookup("file"))[0])
    for field, value in (("flags", held), ("size", size), ("blocks", links)):
        i.set_inode(ino, field, value)


@case("contested", base="ea", named=True, lost=["small", "hard"])
def file_that_leads_to_an_attribute_value(i):
    i.iblock(i.lookup("small"), 20, 4, i.blocks(ea_inode(i))[0])


@case("ea-inode-feature", base="ea", only=True, first=True)
def value_inodes_without_the_feature(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") & ~INCOMPAT_EA_INODE)
    backups(i)


@case("ea-inode-mode", base="ea", only=True, first=True)
def value_inode_without_a_type(i):
    i.set_inode(ea_inode(i), "mode", 0)


@case("ea-inode-mode", base="ea", only=True, first=True)
def value_inode_that_is_a_fifo(i):
    i.set_inode(ea_inode(i), "mode", 0o010600)


@case("link-count", base="ea", only=True, first=True)
def value_inode_without_links(i):
    i.set_inode(ea_inode(i), "links", 0)


@case("ea-inode-tail", base="ea")
def value_inode_with_a_block_too_many(i):
    ino = ea_inode(i)
    at = i.inode_off(ino) + 40 + 12 + 4
    i.put(at, 2, i.get(at, 2) + 1)
    i.fix_inode(ino)


@case("inode-size", base="ea")
def value_inode_whose_blocks_moved(i):
    """Nothing of the value is where it was."""
    ino = ea_inode(i)
    i.put(i.inode_off(ino) + 40 + 12, 4, 1)
    i.fix_inode(ino)


@case("ea-inode-size", base="ea", only=True, first=True)
def value_inode_that_is_shorter(i):
    ino = ea_inode(i)
    i.set_inode(ino, "size", i.inode(ino, "size") - 9)


@case("ea-inode-size", base="ea", only=True, first=True)
def value_inode_that_is_longer(i):
    ino = ea_inode(i)
    i.set_inode(ino, "size", i.inode(ino, "size") + 9)


@case("xattr-ea-inode-size", base="ea", only=True, first=True)
def attribute_with_another_size_than_its_value(i):
    at, blk = value_entry(i)
    i.put(at + 8, 4, i.get(at + 8, 4) - 100)
    i.fix_inode(i.lookup("bigattr"))
    if blk:
        i.fix_xattr_block(blk)


@case("ea-inode-invalid", base="ea")
def attribute_whose_value_is_gone(i):
    at, blk = value_entry(i)
    i.put(at + 8, 4, 0)
    ino = ea_inode(i)
    for field in ("size", "blocks"):
        i.set_inode(ino, field, 0)
    i.put(i.inode_off(ino) + 40 + 2, 2, 0)
    i.fix_inode(ino)
    i.fix_inode(i.lookup("bigattr"))
    if blk:
        i.fix_xattr_block(blk)


@case("ea-inode-refcount", base="ea")
def references_to_a_value_inode(i):
    ino = ea_inode(i)
    i.put(i.inode_off(ino) + 36, 4, 9)
    i.fix_inode(ino)


# ---- directories ----


@case("dir-name-utf8", base="strict", moved=True)
def name_that_is_no_text(i):
    ino = i.lookup("sub/deep")
    i.set_inode(ino, "flags", i.inode(ino, "flags") | FL_CASEFOLD)
    i.set_entry(ino, "inner", 9, 1, 0xFF)


@case("dir-hard-link", base=["ext4", "ext2"], lost=["small"])
def name_of_a_directory_before_its_own(i):
    """The wrong name is met first, but ".." says which is right."""
    assert min(i.blocks(2).values()) < min(i.blocks(i.lookup("sub")).values())
    deep = i.lookup("sub/deep")
    i.set_entry(2, "small", 0, 4, deep)
    i.set_entry(2, "small", 7, 1, 2)


def casefolded(i):
    ino = i.lookup("sub/deep")
    i.set_inode(ino, "flags", i.inode(ino, "flags") | FL_CASEFOLD)


@case("superblock-encoding", base="strict", only=True)
def encoding_that_nobody_knows(i):
    casefolded(i)
    i.set_sb("encoding", 9)
    backups(i)


@case("superblock-encoding", base="strict", only=True)
def encoding_that_was_lost(i):
    casefolded(i)
    i.set_sb("encoding", 0)
    backups(i)


@case("superblock-casefold", only=True)
def casefold_that_has_no_encoding(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | INCOMPAT_CASEFOLD)
    backups(i)


@case("inode-casefold-feature", base="strict", only=True)
def casefolded_directory_without_the_feature(i):
    casefolded(i)
    i.set_sb("feature_incompat", i.sb("feature_incompat") & ~INCOMPAT_CASEFOLD)
    backups(i)


@case("htree-range", base="names")
def hash_of_a_node_beyond_its_range(i):
    ino = i.lookup("names")
    blocks = i.blocks(ino)
    root = i.block(blocks[0]) + 32
    assert i.b[i.block(blocks[0]) + 30] == 1
    node = i.block(blocks[i.get(root + 4, 4)])
    count = i.get(node + 10, 2)
    i.put(node + 8 + 8 * (count - 1), 4, 0xFFFFFFF0)
    i.fix_dir_block(ino, node // i.bs)


@case("itree-root-full", base="itree")
def index_root_without_a_slot(i):
    ino = i.lookup("many")
    blk = i.blocks(ino)[0]
    at = i.block(blk) + 32
    i.put(at + 2, 2, i.get(at, 2))
    i.fix_dir_block(ino, blk)


def long_names(i, blk, at, end):
    """Entries of a directory's block from byte at to byte end: further names of a file."""
    small = i.lookup("small")
    for n in range(4):
        length = min(264, end - at)
        i.put(i.block(blk) + at, 4, small)
        i.put(i.block(blk) + at + 4, 2, length)
        i.put(i.block(blk) + at + 6, 2, bytes([length - 9, 1]))
        i.put(i.block(blk) + at + 8, length - 9, bytes([ord("a") + n]) * (length - 9))
        at += length
    assert at == end
    i.set_inode(small, "links", i.inode(small, "links") + 4)


@case("dir-rebuild-failed", late=True, left=True, lost=["*"])
def directory_that_grows_in_a_full_filesystem(i):
    ino = i.lookup("sub")
    blk = i.blocks(ino)[0]
    i.set_entry(ino, "deep", 4, 2, 12, csum=False)
    long_names(i, blk, 36, i.bs)
    fill(i)


@case("lost-found-no-space", late=True, moved=True, lost=["file"])
def no_lost_found_in_a_full_filesystem(i):
    i.set_entry(2, "lost+found", 0, 4, 0)
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0)
    fill(i)


@case("lost-found-full", late=True, left=True, lost=["*"])
def full_lost_found_in_a_full_filesystem(i):
    ino, other = i.lookup("empty"), i.lookup("lost+found")
    i.set_entry(2, "lost+found", 0, 4, ino)
    i.set_entry(2, "empty", 0, 4, other)
    i.set_entry(ino, "..", 4, 2, 12, csum=False)
    blk = i.blocks(ino)[0]
    long_names(i, blk, 24, i.bs - 12)
    i.fix_dir_block(ino, blk)
    i.set_entry(i.lookup("sub/deep"), "inner", 0, 4, 0)
    fill(i)


# ---- blocks that cannot be read ----


@case("block-bitmap-unreadable", reads=True)
def unreadable_block_bitmap(i):
    i.unreadable.append(i.gd(0, "block_bitmap"))


@case("inode-bitmap-unreadable", reads=True)
def unreadable_inode_bitmap(i):
    i.unreadable.append(i.gd(0, "inode_bitmap"))


@case("dir-read", reads=True, moved=True)
def unreadable_directory(i):
    i.unreadable.append(i.blocks(i.lookup("sub/deep"))[0])


@case("map-block-read", reads=True, lost=["pieces"])
def unreadable_extent_block(i):
    i.blocks(i.lookup("pieces"))
    i.unreadable.append(i.map_blocks[0])


@case(base="ea quota", note=True)
def values_of_an_attribute_block_in_quota(i):
    """The inodes of values belong to whoever owns the file; their references are in a block here."""
    assert i.xattr_block(i.lookup("bigattr"))
