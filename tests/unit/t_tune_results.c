/* SPDX-License-Identifier: MIT */
/*
 * What a change of parameters or features leaves: what is wanted is, word for word, the code and
 * the message, or the fields of the superblock, the counts, and the digest of the whole image with
 * its copies. Numbers are tried where they fit, and one more.
 */
#include "config.h"

#include <inttypes.h>

#include "import_world.h"
#include "said.h"
#include "tune/tune.h"
#include "unit.h"

static struct import_world iw;

static void setup(void)
{
	import_world_open(&iw);
	said[0] = 0;
}

static void teardown(void)
{
	import_world_close(&iw);
}

/* A directory with an index, attributes in inodes and in blocks, two owners, a link. */
static void put_names(struct tm_tar *t)
{
	static char big[700] = "SCHILY.xattr.user.big=";
	char name[64];

	memset(big + 22, 'x', sizeof(big) - 23);
	tm_file(t, '5', "d", "", NULL, 0);
	for (unsigned i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "d/a-name-of-some-length-%u", i);
		if (i % 20 == 0)
			TM_PAX(t, big);
		if (i % 9 == 0)
			TM_PAX(t, "SCHILY.xattr.user.small=of a file");
		tm_file(t, '0', name, "", name, i % 3 ? strlen(name) : 0);
	}
	tm_file(t, '2', "link", "d", NULL, 0);
	tm_end(t);
}

/* ---- what there is to say of a superblock ---- */

static void add_super(const struct xw_super *sb)
{
	add("%x/%x/%x", sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat);
	add(" free=%" PRIu64 ",%u r=%" PRIu64 " over=%u", sb->free_blocks_count,
	    sb->free_inodes_count, sb->r_blocks_count, sb->overhead_blocks);
	add(" j=%u,%u,%u o=%u q=%u,%u,%u", sb->journal_inum, sb->jnl_blocks[15], sb->jnl_blocks[16],
	    sb->orphan_file_inum, sb->usr_quota_inum, sb->grp_quota_inum, sb->prj_quota_inum);
	add(" mmp=%" PRIu64 ",%u seed=%x,%u gdt=%u enc=%u,%u/%u,%u", (uint64_t)sb->mmp_block,
	    sb->mmp_interval, sb->checksum_seed, sb->checksum_type, sb->reserved_gdt_blocks,
	    sb->encoding, sb->encoding_flags, sb->encrypt_algos[0], sb->encrypt_algos[1]);
	add(" isize=%u state=%x flags=%x opts=%x", sb->inode_size, sb->state, sb->flags,
	    sb->default_mount_opts);
	add(" n=%d,%u,%u,%u,%u,%u,%u,%u", sb->max_mnt_count, sb->mnt_count, sb->checkinterval,
	    sb->errors, sb->def_resuid, sb->def_resgid, sb->raid_stride, sb->raid_stripe_width);
	add(" check=%" PRId64 " hash=%u '%.16s' '%.64s' '%.64s'", (int64_t)sb->lastcheck,
	    sb->def_hash_version, (const char *)sb->volume_name, (const char *)sb->last_mounted,
	    (const char *)sb->mount_opts);
}

/* ---- changes ---- */

#define ALL "itree,orphan_file,quota,mmp,ea_inode"
#define SET(bits, ...) .want = {.set = (bits), __VA_ARGS__}

static const struct {
	const char *image, *features; /* of the image; the change's list */
	struct xw_tune_want want;
	bool force;
	int code;
	const char *text;
} changes[] = {
	/* features, each on and off */
	{"",
	 "^has_journal",
	 {0},
	 false,
	 0,
	 "38/2c2/46b free=6773,921 r=358 over=316 j=0,0,0 o=0 q=0,0,0 mmp=0,0 seed=0,1 gdt=55 "
	 "enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 hash=1 "
	 "'' '' '' itrees=+0-0 dirs=0 lost=0 b2ac9d533acd94c2"},
	{"^has_journal",
	 "has_journal",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 c48668325ba86e88"},
	{"^has_journal", "", SET(XW_TUNE_JOURNAL, .journal_bytes = 2 << 20), false, 0,
	 "3c/2c2/46b free=4725,921 r=358 over=2364 j=8,0,2097152 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 c8cd3359ee3f3e38"},
	{"^has_journal", "", SET(XW_TUNE_JOURNAL, .journal_bytes = 3584 << 10), false, 0,
	 "3c/2c2/46b free=3189,921 r=358 over=3900 j=8,0,3670016 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 4d9586070fc51b60"},
	{"^has_journal", "", SET(XW_TUNE_JOURNAL, .journal_bytes = 3585 << 10), false, XW_ERR_NOSPC,
	 " Total journal size too big for filesystem."},
	{"", "", SET(XW_TUNE_JOURNAL), false, XW_ERR_EXISTS,
	 " The filesystem already has a journal."},
	{"^has_journal",
	 "has_journal,fast_commit,orphan_file",
	 {0},
	 false,
	 0,
	 "143c/2c2/46b free=5701,920 r=358 over=1356 j=8,0,1064960 o=104 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 a1b8876ae0668f19"},
	{"^has_journal",
	 "has_journal,orphan_file",
	 {.orphan_blocks = 40},
	 false,
	 0,
	 "103c/2c2/46b free=5709,920 r=358 over=1340 j=8,0,1048576 o=104 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 55230c06fe2bdc48"},
	{"orphan_file",
	 "^orphan_file",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 759747ef1d02f81a"},
	{"orphan_file",
	 "^has_journal",
	 {0},
	 false,
	 0,
	 "38/2c2/46b free=6773,921 r=358 over=316 j=0,0,0 o=0 q=0,0,0 mmp=0,0 seed=0,1 gdt=55 "
	 "enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 hash=1 "
	 "'' '' '' itrees=+0-0 dirs=0 lost=0 f222078a736a6052"},
	{"",
	 "mmp",
	 {0},
	 false,
	 0,
	 "3c/3c2/46b free=5748,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=59,5 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 f9b8312a263cbe0c"},
	{"", "mmp", SET(XW_TUNE_MMP_INTERVAL, .mmp_interval = 9), false, 0,
	 "3c/3c2/46b free=5748,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=59,9 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 cf0a066c6c289ead"},
	{"mmp",
	 "^mmp",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 198a59a67ddade30"},
	{"mmp", "", SET(XW_TUNE_MMP_INTERVAL | XW_TUNE_CLEAR_MMP, .mmp_interval = 7), false, 0,
	 "3c/3c2/46b free=5748,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=1371,7 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 c7b31e910e61e15b"},
	{"", "", SET(XW_TUNE_MMP_INTERVAL | XW_TUNE_CLEAR_MMP), false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,5 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 78ed1888b7318f9c"},
	{"",
	 "quota",
	 {0},
	 false,
	 0,
	 "3c/2c2/56b free=5736,921 r=358 over=1340 j=8,0,1048576 o=0 q=3,4,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 4716319cf0d9a1fb"},
	{"",
	 "project",
	 {0},
	 false,
	 0,
	 "3c/2c2/256b free=5743,920 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,104 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 7fb5c69937ea1ae2"},
	{"quota",
	 "project",
	 {0},
	 false,
	 0,
	 "3c/2c2/256b free=5730,920 r=358 over=1340 j=8,0,1048576 o=0 q=3,4,104 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 7439a2b577e59e47"},
	{"quota,project",
	 "^project",
	 {0},
	 false,
	 0,
	 "3c/2c2/56b free=5736,921 r=358 over=1340 j=8,0,1048576 o=0 q=3,4,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 c80f4ee2144fbb88"},
	{"quota",
	 "^quota",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 d21d275126f708c7"},
	{"",
	 "",
	 {.quota_on = 2},
	 false,
	 0,
	 "3c/2c2/56b free=5743,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,4,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 1b1eb868c245b462"},
	{"quota",
	 "",
	 {.quota_off = 1},
	 false,
	 0,
	 "3c/2c2/56b free=5743,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,4,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 34c643e7327b43c8"},
	{"quota",
	 "",
	 {.quota_on = 4, .quota_off = 3},
	 false,
	 0,
	 "3c/2c2/256b free=5743,920 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,104 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 005da8ea3763b85d"},
	{"",
	 "^resize_inode",
	 {0},
	 false,
	 0,
	 "2c/2c2/46b free=5805,921 r=358 over=1285 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=0 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 07e5b64f7e99e5ad"},
	{"^sparse_super,^resize_inode",
	 "sparse_super",
	 {0},
	 false,
	 0,
	 "2c/2c2/46b free=5805,921 r=358 over=1285 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=0 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 5ef38d3ca16030a1"},
	{"",
	 "^dir_index",
	 {0},
	 false,
	 0,
	 "1c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=1 9b53ea3555b5641d"},
	{"^dir_index",
	 "dir_index",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=1 lost=0 2ff9ce6e6695050f"},
	{"",
	 "itree",
	 {0},
	 false,
	 0,
	 "3c/2c2/4000046b free=5744,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+1-0 dirs=0 lost=0 299f492408e36d6f"},
	{"itree",
	 "^itree",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-1 dirs=0 lost=0 b7aec9259ccce3d2"},
	{"itree",
	 "^dir_index",
	 {0},
	 false,
	 0,
	 "1c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-1 dirs=0 lost=1 7897335b805c9f5c"},
	{"itree",
	 "^filetype",
	 {0},
	 false,
	 0,
	 "3c/2c0/4000046b free=5744,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+1-1 dirs=0 lost=0 3daabf2241db201f"},
	{"",
	 "^metadata_csum",
	 {0},
	 false,
	 0,
	 "3c/2c2/7b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 03ad67abbea48caa"},
	{"",
	 "^metadata_csum,^uninit_bg",
	 {0},
	 false,
	 0,
	 "3c/2c2/6b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 8e9c2981aa425dee"},
	{"^metadata_csum",
	 "metadata_csum",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=1 lost=0 17c8d9cc4cd6fbb1"},
	{"^metadata_csum,uninit_bg",
	 "metadata_csum,metadata_csum_seed",
	 {0},
	 false,
	 0,
	 "3c/22c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 "
	 "seed=688cb585,1 gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=1 lost=0 749dfaa6ced2e42b"},
	{"^metadata_csum",
	 "uninit_bg",
	 {0},
	 false,
	 0,
	 "3c/2c2/7b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 f4a6408eda7ffd2d"},
	{"^metadata_csum,uninit_bg",
	 "^uninit_bg",
	 {0},
	 false,
	 0,
	 "3c/2c2/6b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 2248bd91c275ea94"},
	{"",
	 "metadata_csum_seed",
	 {0},
	 false,
	 0,
	 "3c/22c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 "
	 "seed=688cb585,1 gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 cc6aa98d7c73803b"},
	{"metadata_csum_seed",
	 "^metadata_csum_seed",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 8eca4f7b04744fb1"},
	{"^filetype",
	 "filetype",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 ff964302d42bf426"},
	{"",
	 "casefold,encrypt,verity,large_dir,stable_inodes,read-only",
	 {0},
	 false,
	 0,
	 "83c/342c2/946b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=1,0/1,4 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 e834772a2e26a373"},
	{"casefold", "", {.encoding = 1}, false, XW_ERR_USAGE, " Cannot alter existing encoding"},
	{"",
	 "",
	 {.encoding_flags = 1},
	 false,
	 XW_ERR_USAGE,
	 " encoding_flags require the feature casefold"},
	{"",
	 "casefold",
	 {.encoding = 1, .encoding_flags = 1},
	 false,
	 0,
	 "3c/202c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=1,1/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 39c845b7e8abc697"},
	{"casefold",
	 "^casefold",
	 {0},
	 false,
	 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 8eca4f7b04744fb1"},
	{"^extra_isize,^large_file,^huge_file,^dir_nlink",
	 "large_file,huge_file,dir_nlink",
	 {0},
	 false,
	 0,
	 "3c/2c2/42b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 96a94b89cce9b213"},
	{"", "^64bit", {0}, false, XW_ERR_UNSUPPORTED, " 64-bit mode is changed by resize2fs -s"},
	{"bigalloc",
	 "^resize_inode",
	 {0},
	 false,
	 XW_ERR_UNSUPPORTED,
	 " resize_inode and sparse_super cannot be changed with bigalloc"},
	{"bigalloc",
	 "itree",
	 {0},
	 false,
	 XW_ERR_USAGE,
	 " features itree and bigalloc exclude each other"},
	{"bigalloc",
	 "^has_journal,quota",
	 {0},
	 false,
	 0,
	 "38/2c2/76b free=6722,921 r=358 over=0 j=0,0,0 o=0 q=3,4,0 mmp=0,0 seed=0,1 gdt=27 "
	 "enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 hash=1 "
	 "'' '' '' itrees=+0-0 dirs=0 lost=0 4269a29b04cdfa2c"},
	{ALL,
	 "^itree,^orphan_file,^quota,^mmp",
	 {0},
	 false,
	 0,
	 "3c/6c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-1 dirs=0 lost=0 edf1015c2f2364a3"},
	/* identifiers, and what hangs on them */
	{"", "", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 d20c090fcd1a9d3b"},
	{ALL, "", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "103c/7c2/4000056b free=5698,920 r=358 over=1340 j=8,0,1048576 o=12 q=3,4,0 mmp=1403,5 "
	 "seed=0,1 gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 cc6c0d6b774f8ccc"},
	{"metadata_csum_seed", "", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "3c/22c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 "
	 "seed=688cb585,1 gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 7dafae23761ab202"},
	{"^metadata_csum,uninit_bg", "", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "3c/2c2/7b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 1ce8c2bd031937d3"},
	{"^metadata_csum", "", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "3c/2c2/6b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 3a0b01486656cf98"},
	{"", "metadata_csum_seed", SET(XW_TUNE_UUID, .uuid = {1, 2, 3}), false, 0,
	 "3c/22c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 "
	 "seed=688cb585,1 gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 7dafae23761ab202"},
	/* numbers */
	{"", "", SET(XW_TUNE_RESERVED_BLOCKS, .reserved_blocks = 3584), false, 0,
	 "3c/2c2/46b free=5749,921 r=3584 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 ef7b2f33266a6ffa"},
	{"", "", SET(XW_TUNE_RESERVED_BLOCKS, .reserved_blocks = 3585), false, XW_ERR_USAGE,
	 " reserved blocks count is too big (3585)"},
	{"", "", SET(XW_TUNE_RESERVED_PERCENT, .reserved_percent = 12.5), false, 0,
	 "3c/2c2/46b free=5749,921 r=896 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 5c9770174e6c00d8"},
	{"", "",
	 SET(XW_TUNE_RESERVED_PERCENT | XW_TUNE_RESERVED_BLOCKS, .reserved_percent = 12.5,
	     .reserved_blocks = 7),
	 false, 0,
	 "3c/2c2/46b free=5749,921 r=7 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 gdt=55 "
	 "enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 hash=1 "
	 "'' '' '' itrees=+0-0 dirs=0 lost=0 92b4c04b153d3828"},
	{"", "",
	 SET(XW_TUNE_LABEL | XW_TUNE_LAST_MOUNTED | XW_TUNE_MOUNT_OPTS, .label = "sixteen letters!",
	     .last_mounted = "/mnt", .mount_opts = "noatime"),
	 false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 'sixteen letters!' '/mnt' 'noatime' itrees=+0-0 dirs=0 lost=0 3a27b21bc189c1a9"},
	{"", "",
	 SET(XW_TUNE_ERRORS | XW_TUNE_MAX_MNT_COUNT | XW_TUNE_MNT_COUNT | XW_TUNE_INTERVAL,
	     .errors = 3, .max_mnt_count = -1, .mnt_count = 12, .interval = 86400),
	 false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,12,86400,3,0,0,0,0 "
	 "check=1700000000 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 aaffed1faa91de0f"},
	{"", "",
	 SET(XW_TUNE_LASTCHECK | XW_TUNE_RESUID | XW_TUNE_RESGID | XW_TUNE_STRIDE |
		     XW_TUNE_STRIPE_WIDTH,
	     .lastcheck = 1234567890, .resuid = 1000, .resgid = 70000, .stride = 16,
	     .stripe_width = 64),
	 false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,1000,70000,16,64 "
	 "check=1234567890 hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 c513409e25aeb8a1"},
	{"", "",
	 SET(XW_TUNE_HASH_ALG | XW_TUNE_FORCE_FSCK | XW_TUNE_TEST_FS, .hash_version = 2,
	     .test_fs = true, .default_opts_on = 5, .default_opts_off = 8),
	 false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=3 flags=5 opts=5 n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=2 '' '' '' itrees=+0-0 dirs=0 lost=0 7daaadf84fe74b44"},
	{"^dir_index", "dir_index", SET(XW_TUNE_HASH_ALG, .hash_version = 2), false, 0,
	 "3c/2c2/46b free=5749,921 r=358 over=1340 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=256 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=2 '' '' '' itrees=+0-0 dirs=1 lost=0 d6abf671a0d82d1f"},
	/* inode size */
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 512), false, 0,
	 "3c/2c2/46b free=5493,921 r=358 over=1596 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,1 "
	 "gdt=55 enc=0,0/0,0 isize=512 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 "
	 "hash=1 '' '' '' itrees=+0-0 dirs=0 lost=0 262dce48d139fe7c"},
	{"^metadata_csum,^flex_bg", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 1024), false, 0,
	 "3c/c2/6b free=4981,921 r=358 over=2108 j=8,0,1048576 o=0 q=0,0,0 mmp=0,0 seed=0,0 gdt=55 "
	 "enc=0,0/0,0 isize=1024 state=1 flags=1 opts=c n=-1,0,0,1,0,0,0,0 check=1700000000 hash=1 "
	 "'' '' '' itrees=+0-0 dirs=0 lost=0 3fb61ae179d96407"},
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 2048), false, XW_ERR_USAGE,
	 " Invalid inode size 2048 (max 1024)"},
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 64), false, XW_ERR_USAGE,
	 " Invalid inode size 64 (max 1024)"},
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 384), false, XW_ERR_USAGE,
	 " Invalid inode size 384 (max 1024)"},
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 256), false, XW_ERR_USAGE,
	 " The inode size is already 256"},
	{"", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 128), false, XW_ERR_UNSUPPORTED,
	 " Shrinking inode size is not supported"},
	{"bigalloc", "", SET(XW_TUNE_INODE_SIZE, .inode_size = 512), false, XW_ERR_UNSUPPORTED,
	 " the inode size cannot be changed with bigalloc"},
};

static const char *without_dir(const char *text)
{
	const char *at = strchr(text, ':');

	return at ? at + 1 : text;
}

START_TEST(results)
{
	const struct xw_tune_opts o = {.now = 1700000001, .jobs = 1, .force = changes[_i].force};
	struct xw_tune_want want = changes[_i].want;
	struct xw_tune_outcome res;
	struct xw_diag diag;
	struct xw_edit *e;
	struct world w;
	uint64_t old;
	int rc;

	ck_assert_int_eq(xw_tune_want_features(&want, changes[_i].features, NULL), 0);
	import_world_image(&iw, "ext4", *changes[_i].image ? changes[_i].image : "ext_attr",
			   put_names);
	world_around(&w, iw.image, iw.image_size);
	old = world_reopen(&w);
	ck_assert_int_eq(import_begin(&w, XW_COMMIT_AUTO, &e), 0);
	diag = w.diag;
	rc = xw_tune_edit(e, &o, &want, &diag, &res);
	ck_assert_int_eq(rc, changes[_i].code);
	if (rc) {
		add("%s", without_dir(diag.text));
		ck_assert_uint_eq(world_reopen(&w), old);
	} else {
		add_super(&res.after);
		add(" itrees=+%" PRIu64 "-%" PRIu64 " dirs=%" PRIu64 " lost=%" PRIu64
		    " %016" PRIx64,
		    res.itrees_built, res.itrees_dropped, res.directories_rebuilt,
		    res.indexes_dropped, world_reopen(&w));
	}
	world_close(&w);
	ck_assert_str_eq(said, changes[_i].text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tune_results");
	TCase *t = tcase_create("tune");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	unit_add_rows(t, results, changes, image);
	suite_add_tcase(s, t);
	return unit_main(s);
}
