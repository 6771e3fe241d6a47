# SPDX-License-Identifier: MIT
"""Cases for run.py that tests/kit/fsck_seeds.py has found: fields taken for others, and two at once."""
from cases import BASES, case
from image import SUPER

BASES["one plain"] = ["-t", "ext2", "-b", "4096"]
BASES["one group"] = ["-t", "ext4", "-b", "4096"]
BASES["project"] = ["-t", "ext4", "-O", "quota,project"]
BASES["bigalloc"] = ["-t", "ext4", "-O", "bigalloc", "-C", "8192"]
COMPAT_ORPHAN_FILE, INCOMPAT_PENDING, RO_UNKNOWN, RO_LARGE_FILE = 0x1000, 0x40000000, 4, 2
FIRST_DATA_BLOCK = 20


@case("group-inode-table-place", base="one group")
def inode_table_one_block_before(i):
    """No backup of the descriptor says where it is, but the root directory does."""
    i.set_gd(0, "inode_table", i.gd(0, "inode_table") - 1)


@case("link-count", base="one group", only=True)
def root_directory_without_links(i):
    """The first inode of the next block is a directory, too: that is no reason for larger inodes."""
    i.set_inode(2, "links", 0)


@case("pending-change-lost")
def pending_change_under_a_lost_magic(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") | INCOMPAT_PENDING)
    i.set_sb("magic", 0xCF53, csum=False)


@case("superblock-field", base="bigalloc")
def clusters_per_group_one_too_few(i):
    i.set_sb("clusters_per_group", i.sb("clusters_per_group") - 1)


@case("superblock-field", base="one group")
def revision_and_inodes_per_group(i):
    i.set_sb("rev_level", 0x8001)
    i.set_sb("inodes_per_group", 0x80604AF3)


@case("superblock-field", base="one group")
def fewer_blocks_than_metadata(i):
    i.set_sb("blocks_count", 4)


@case("superblock-field", "group-inode-bitmap-place", base="one group")
def blocks_count_beside_a_damaged_descriptor(i):
    """The checksum is right, but the number of inodes is one of a single group."""
    i.set_sb("blocks_count", 0xFFFFFFFF)
    i.set_gd(0, "inode_bitmap", 0x7FFFFFFF, csum=False)


@case("superblock-field", "group-inode-bitmap-place", base="one group")
def cluster_size_beside_a_damaged_descriptor(i):
    i.set_sb("log_cluster_size", 128)
    i.set_gd(0, "inode_bitmap", 0x7FFFFFFF)


@case("superblock-field", base="one group")
def block_size_and_journal_number(i):
    i.set_sb("log_block_size", 4)
    i.set_sb("journal_inum", 0x8FBB095F)


@case("superblock-field", base="bigalloc")
def cluster_size_and_blocks_count(i):
    i.set_sb("log_cluster_size", 63)
    i.set_sb("blocks_count", i.sb("blocks_count") - 1)


@case("superblock-field", base="one group")
def blocks_count_and_magic(i):
    i.set_sb("blocks_count", 0xFFFFFFFF)
    i.set_sb("magic", 0xEF52, csum=False)


@case("superblock-field", base="ext2")
def blocks_count_beside_a_damaged_backup(i):
    i.put(SUPER - 1024 + i.block(8193) + FIRST_DATA_BLOCK, 4, 0x81)
    i.set_sb("blocks_count", i.sb("blocks_count") + 1)


@case("superblock-field", "group-inode-table-place", base="one plain")
def inodes_per_group_beside_a_lost_table(i):
    """With 14 inodes the others would be lost."""
    i.set_sb("inodes_per_group", 14)
    i.set_gd(0, "inode_table", i.gd(0, "inode_table") - 1)


@case("superblock-field", "group-inode-table-place", base="one group")
def flexible_groups_beside_a_lost_table(i):
    i.put(SUPER + 372, 1, 255)
    i.fix_sb()
    i.set_gd(0, "inode_table", 0x7AE426ED, csum=False)


@case("superblock-field", "superblock-features", base="one group")
def unknown_features_beside_a_contradiction(i):
    """No tool sets meta_bg beside resize_inode, and the damaged descriptor proves nothing."""
    i.set_sb("feature_incompat", 0x1297)
    i.put(i.gd_off(0) + 30, 2, 0)


@case("superblock-field", base="one group")
def unknown_feature_for_file_types(i):
    i.set_sb("feature_incompat", i.sb("feature_incompat") & ~2 | 1)
    i.put(i.gd_off(0) + 30, 2, 0)


@case("superblock-field", base="one group")
def unknown_feature_for_usual_ones(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~3 | 4)
    i.put(i.gd_off(0) + 30, 2, 0)


@case("superblock-field")
def unknown_feature_for_known_ones(i):
    """A newer kernel adds features, and takes none away."""
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~3 | RO_UNKNOWN)


@case("superblock-quota-inode", base="quota")
def quota_inode_that_the_superblock_forgot(i):
    i.set_sb("grp_quota_inum", 0)


@case("quota-inode-lost", base="project", only=True)
def quota_inode_of_another_file(i):
    i.set_sb("prj_quota_inum", i.lookup("file"))


@case("quota-inode-mode", base="project")
def quota_inode_of_another_type(i):
    i.set_inode(i.sb("prj_quota_inum"), "mode", 0o010600)


@case("quota-inode-number", base="quota", only=True)
def quota_inode_that_is_a_file(i):
    i.set_sb("prj_quota_inum", i.lookup("file"))


@case("orphan-file-feature", base="orphan")
def orphan_file_without_the_feature(i):
    i.set_sb("feature_compat", i.sb("feature_compat") & ~COMPAT_ORPHAN_FILE)


@case("orphan-file-without-journal", base="orphan")
def orphan_file_beside_no_journal(i):
    """As tune2fs leaves it."""
    i.set_sb("feature_compat", i.sb("feature_compat") & ~4)
    i.put(i.inode_off(8), i.inode_size, bytes(i.inode_size))
    i.fix_inode(8)
    for field in ("journal_inum", "jnl_backup_type"):
        i.set_sb(field, 0)
    i.put(1024 + 268, 68, bytes(68))
    i.fix_sb()


@case("inode-size", only=True)
def resize_inode_shorter_than_its_map(i):
    i.set_inode(7, "size", 46)


@case("resize-inode", base="large inodes")
def resize_inode_without_a_map(i):
    """It has a block even if no descriptors are reserved."""
    i.iblock(7, 52, 4, 0)


@case("large-file-feature", base="one group")
def large_resize_inode_without_the_feature(i):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") & ~RO_LARGE_FILE)


@case("superblock-field", base="one group")
def first_data_block_and_inode_size(i):
    """As long as the inode size is impossible, another block size explains the first block as well."""
    i.set_sb("inode_size", 0)
    i.set_sb("first_data_block", 0x8000)


@case("superblock-field", base="bigalloc")
def cluster_size_and_blocks_per_group(i):
    i.set_sb("log_cluster_size", 0x83)
    i.set_sb("blocks_per_group", 0x256C5CF5)


@case("superblock-field", base="bigalloc")
def cluster_size_and_clusters_per_group(i):
    """One cluster a group would have the right ratio, too."""
    i.set_sb("log_cluster_size", 0x40003)
    i.set_sb("clusters_per_group", 1)


@case("contested", base="orphan", lost=["small", "hard"])
def blocks_of_the_orphan_file(i):
    """The file gets the copies: checksums of the orphan file include block numbers."""
    src, dst = i.inode_off(i.sb("orphan_file_inum")), i.inode_off(i.lookup("small"))
    i.put(dst + 40, 60, bytes(i.b[src + 40:src + 100]))
    i.fix_inode(i.lookup("small"))


@case("journal-superblock", base=["ext4", "ext3"])
def fast_commits_in_a_small_journal(i):
    """The smallest journal has no room for an area of fast commits."""
    i.put(i.block(i.blocks(8)[0]) + 40, 4, bytes([0, 0, 0, 0x20]))


@case("bad-block-inode", "block-bitmap-differences", base="bigalloc", lost=["big"])
def bad_block_in_the_cluster_of_a_bitmap(i):
    """The bitmap must be alone in its cluster to be written."""
    bitmap, big = i.gd(0, "block_bitmap"), i.lookup("big")
    i.iblock(1, 4 * ((bitmap + 1) % 8), 4, bitmap + 1)
    i.iblock(big, 12 + 4, 2, 8)
    i.set_inode(big, "size", 8 * i.bs)


# ---- one thing for another ----


@case("inode-mode-file", base=["ext4", "ext2", "nocsum", "inline"], only=True)
def files_for_directories(i):
    """Neither a link count nor a size of a directory, and nothing of one in them."""
    for name in ("file", "small", "big"):
        i.set_inode(i.lookup(name), "mode", 0o040755)


@case("inode-size", base="inline")
def inline_directory_of_an_odd_size(i):
    """Its size and link count are those of a file, but not its entries."""
    i.set_inode(i.lookup("sub"), "size", 3)
    i.set_inode(i.lookup("sub"), "links", 1)


def add_value(i, ino, size, start):
    """Gives an inline file or directory a value of that many bytes beside i_block."""
    area = i.inode_off(ino) + 128 + i.inode(ino, "extra_isize") + 4
    i.put(area + 2, 2, 60)
    i.put(area + 8, 4, size)
    i.put(area + 60, len(start), start)
    i.set_inode(ino, "size", 60 + size)


@case("dir-inline-size", base="inline")
def inline_entries_of_an_odd_length(i):
    """Of the 31 bytes the last three are no entry."""
    add_value(i, i.lookup("sub"), 31, bytes([0, 0, 0, 0, 28, 0]))


@case("symlink-short-in-block", base="inline", lost=["small", "hard"])
def inline_symlink_with_the_start_of_a_directory(i):
    """It remains a symlink, since its end holds no entries."""
    small, sub = i.lookup("small"), i.inode_off(i.lookup("sub"))
    i.iblock(small, 0, 60, bytes(i.b[sub + 40:sub + 100]))
    i.set_inode(small, "mode", 0o120777)
    add_value(i, small, 31, b"L" * 31)
