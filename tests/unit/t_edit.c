/* SPDX-License-Identifier: MIT */
/*
 * Changing an image from begin to end: what goes to the image at once, what waits for the commit,
 * and what is left when there is none.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "session/edit.h"
#include "session/mmp.h"
#include "session/freemap.h"
#include "disk/mmp.h"
#include "groups.h"
#include "read/bitmaps.h"
#include "tmp.h"
#include "unit.h"

#define BS 1024u
#define LIVE 8193u /* the superblock's first copy: in use, and nobody looks at it here */

static char dir[64], path[96], redo[128];
static struct xw_diag diag;
static const struct xw_edit_opts defaults = {.now = 1700000000};

static void make(const char *features, const char *size)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "1024"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-F", NULL), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", "1700000000"), 0);
	if (features)
		ck_assert_int_eq(xw_mkfs_set(m, "-O", features), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_edit")));
	snprintf(path, sizeof(path), "%s/image", dir);
	snprintf(redo, sizeof(redo), "%s.xw-redo", path);
	memset(&diag, 0, sizeof(diag));
	make(NULL, "40M");
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static struct xw_edit *begin(const struct xw_edit_opts *opts)
{
	struct xw_edit *e;

	if (xw_edit_begin(path, opts, &diag, &e))
		ck_abort_msg("%s", diag.text);
	return e;
}

static unsigned char *whole(size_t *size)
{
	struct stat st;
	unsigned char *p;
	int fd = open(path, O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	p = malloc(*size);
	ck_assert_int_eq(pread(fd, p, *size, 0), (ssize_t)*size);
	close(fd);
	return p;
}

static void on_disk(uint64_t blk, const void *want, size_t len, bool there)
{
	unsigned char buf[BS];
	int fd = open(path, O_RDONLY);

	ck_assert_int_eq(pread(fd, buf, len, (off_t)(blk * BS)), (ssize_t)len);
	close(fd);
	ck_assert_int_eq(!memcmp(buf, want, len), there);
}

/* The first of n free blocks, from `from` on. */
static xw_blk find(struct xw_edit *e, uint64_t n, xw_blk from)
{
	struct xw_freemap *m;
	bool is_free;
	uint64_t len;

	ck_assert_int_eq(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m), 0);
	for (xw_blk b = from;; b += len) {
		ck_assert_uint_lt(b, 40960);
		len = xw_freemap_query(m, b, 40960 - b, &is_free);
		if (is_free && len >= n) {
			xw_freemap_free(m);
			return b;
		}
	}
}

START_TEST(split_and_commit)
{
	static const enum xw_commit_how hows[] = {XW_COMMIT_FILE, XW_COMMIT_JOURNAL,
						  XW_COMMIT_INSIDE};
	const struct xw_edit_opts opts = {.how = hows[_i]};
	struct xw_edit *e = begin(&opts);
	struct xw_dev *d = xw_edit_dev(e);
	const xw_blk spare = find(e, 20, 100), live = LIVE;
	struct xw_overlay_stats stats;
	struct xw_commit_info info;
	unsigned char data[2 * BS];

	memset(data, 0x5A, sizeof(data));
	ck_assert_int_eq(xw_dev_pwrite(d, "fresh", 5, spare * BS), 0);
	on_disk(spare, "fresh", 5, true);
	ck_assert_int_eq(xw_dev_pwrite(d, data, sizeof(data), (spare + 5) * BS), 0);
	on_disk(spare + 6, data, BS, true);
	ck_assert_int_eq(xw_dev_pwrite(d, "alive", 5, live * BS), 0);
	on_disk(live, "alive", 5, false);
	xw_overlay_stats(d, &stats);
	ck_assert_uint_eq(stats.dirty, 1);
	ck_assert_uint_eq(stats.shadow, 5 + 2 * BS);
	if (xw_edit_commit(e, &info))
		ck_abort_msg("%s", diag.text);
	ck_assert_int_eq(info.how, opts.how);
	ck_assert_uint_eq(info.blocks, 2); /* and the superblock's */
	on_disk(live, "alive", 5, true);
	on_disk(spare, "fresh", 5, true);

	/* and on from there */
	ck_assert_int_eq(xw_dev_pwrite(d, "again", 5, live * BS), 0);
	on_disk(live, "again", 5, false);
	ck_assert_int_eq(xw_edit_commit(e, &info), 0);
	on_disk(live, "again", 5, true);
	ck_assert_int_eq(xw_dev_pwrite(d, "never", 5, live * BS), 0);
	xw_edit_end(e);
	on_disk(live, "again", 5, true);
	if (opts.how != XW_COMMIT_INSIDE) /* the block is free, and the next record may be there */
		on_disk(spare, "fresh", 5, true);
	ck_assert_int_ne(access(redo, F_OK), 0);
}
END_TEST

START_TEST(abort_leaves_nothing)
{
	struct xw_edit *e = begin(&defaults);
	const xw_blk spare = find(e, 5000, 100), live = LIVE;
	unsigned char *before, *after, *data = malloc(3000 * BS);
	size_t size, now;
	struct stat st, st2;

	memset(data, 0x77, 3000 * BS);
	before = whole(&size);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), data, 3000 * BS, spare * BS), 0);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(
			xw_dev_pwrite(xw_edit_dev(e), data, 3, (spare + 3100 + 7 * i) * BS), 0);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), data, 5 * BS, live * BS), 0);
	on_disk(spare + 2999, data, BS, true);
	xw_edit_end(e);
	after = whole(&now);
	ck_assert_uint_eq(now, size);
	ck_assert(!memcmp(before, after, size));
	ck_assert_int_eq(stat(path, &st2), 0);
	/* what the scattered blocks share with others in a block of the host stays */
	ck_assert_int_le(st2.st_blocks, st.st_blocks + 60 * 8);
	free(before);
	free(after);
	free(data);
}
END_TEST

START_TEST(hold_all)
{
	struct xw_edit *e = begin(&defaults);
	const xw_blk spare = find(e, 20, 100);

	xw_edit_hold_all(e);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "held", 4, spare * BS), 0);
	on_disk(spare, "held", 4, false);
	xw_edit_end(e);
}
END_TEST

/* More writes to free blocks than are recorded: no record may be put into any of them. */
START_TEST(unrecorded_shadow)
{
	const struct xw_edit_opts opts = {
		.now = 1700000000, .how = XW_COMMIT_INSIDE, .offset = 4096, .hold = true};
	struct xw_edit *e;
	char cmd[320];
	xw_blk spare;

	snprintf(cmd, sizeof(cmd),
		 "cd '%s' && head -c 4096 /dev/zero >d && cat image >>d && mv d image", dir);
	ck_assert_int_eq(system(cmd), 0);
	for (uint64_t n = 100; n <= (1u << 20) + 100; n += 1u << 20) {
		e = begin(&opts);
		spare = find(e, 20, 100);
		for (uint64_t i = 0; i < n; i++)
			ck_assert_int_eq(
				xw_dev_pwrite(xw_edit_dev(e), "x", 1, (spare + i % 2 * 2) * BS), 0);
		ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), &n, sizeof(n), LIVE * BS), 0);
		ck_assert_int_eq(xw_edit_commit(e, NULL), n > 1u << 20 ? XW_ERR_NOSPC : 0);
		xw_edit_end(e);
	}
	ck_assert_ptr_nonnull(strstr(diag.text, "no room"));
}
END_TEST

START_TEST(one_at_a_time)
{
	struct xw_edit *e = begin(&defaults), *e2;

	ck_assert_int_eq(xw_edit_begin(path, &defaults, &diag, &e2), XW_ERR_BUSY);
	xw_edit_end(e);
	xw_diag_clear(&diag);
	e = begin(&defaults);
	xw_edit_end(e);
	xw_edit_end(NULL);
}
END_TEST

START_TEST(read_only)
{
	const struct xw_edit_opts opts = {.recover = XW_RECOVER_RDONLY};
	struct xw_edit *e;
	unsigned char *before, *after, data[BS];
	size_t size;
	xw_blk spare;

	before = whole(&size);
	ck_assert_int_eq(chmod(path, 0444), 0);
	e = begin(&opts);
	spare = find(e, 20, 100);
	memset(data, 3, sizeof(data));
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), data, BS, spare * BS), 0);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), data, BS, 1), 0);
	ck_assert_int_eq(xw_edit_commit(e, NULL), XW_ERR_STATE);
	xw_edit_end(e);
	after = whole(&size);
	ck_assert(!memcmp(before, after, size));
	free(before);
	free(after);
}
END_TEST

/* A commit that fails early leaves the old state, and an edit that is good for nothing more. */
START_TEST(failed_commit)
{
	const struct xw_edit_opts opts = {.how = XW_COMMIT_FILE};
	struct xw_edit *e = begin(&opts);
	const xw_blk live = LIVE;
	int fd = open(redo, O_CREAT | O_WRONLY, 0666);

	ck_assert_int_eq(write(fd, "somebody's own", 14), 14);
	close(fd);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "alive", 5, live * BS), 0);
	ck_assert_int_eq(xw_edit_commit(e, NULL), XW_ERR_EXISTS);
	xw_diag_clear(&diag);
	ck_assert_int_eq(unlink(redo), 0);
	ck_assert_int_eq(xw_edit_commit(e, NULL), XW_ERR_STATE);
	xw_edit_end(e);
	on_disk(live, "alive", 5, false);
}
END_TEST

static void edit_super(void (*fn)(struct xw_super *sb))
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(pread(fd, buf, sizeof(buf), XW_SUPER_OFFSET), sizeof(buf));
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	fn(&sb);
	xw_super_encode(&sb, buf);
	ck_assert_int_eq(pwrite(fd, buf, sizeof(buf), XW_SUPER_OFFSET), sizeof(buf));
	close(fd);
}

static void count_a_mount(struct xw_super *sb)
{
	sb->mnt_count++;
}

/* Somebody else writes to the image: it is theirs, also where we wrote; what we hold is void. */
START_TEST(changed_meanwhile)
{
	struct xw_edit *e = begin(&defaults);
	const xw_blk spare = find(e, 100, 100), live = LIVE;

	unsigned char data[BS];

	memset(data, 'w', sizeof(data));
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), data, BS, spare * BS), 0);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "alive", 5, live * BS), 0);
	if (_i == 2) { /* from a new state on */
		ck_assert_int_eq(xw_edit_commit(e, NULL), 0);
		ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "again", 5, live * BS), 0);
	}
	edit_super(count_a_mount);
	if (_i) {
		ck_assert_int_eq(xw_edit_commit(e, NULL), XW_ERR_BUSY);
		ck_assert_ptr_nonnull(strstr(diag.text, "changed by another program"));
	}
	xw_edit_end(e);
	on_disk(spare, "wwww", 4, true);
	on_disk(live, "alive", 5, _i == 2);
	on_disk(live, "again", 5, false);
}
END_TEST

static void want_recovery(struct xw_super *sb)
{
	sb->feature_incompat |= XW_INCOMPAT_RECOVER;
}

START_TEST(keep_log)
{
	struct xw_edit_opts opts = {.keep_log = true};
	struct xw_commit_info info;
	struct xw_super sb;
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_edit *e;

	edit_super(want_recovery);
	e = begin(&opts);
	ck_assert(!xw_edit_recovered(e)->journal.needed);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "boot", 4, 0), 0);
	ck_assert_int_eq(xw_edit_commit(e, &info), 0);
	ck_assert_int_eq(info.how, XW_COMMIT_INSIDE);
	xw_edit_end(e);
	e = begin(&defaults);
	ck_assert(xw_edit_recovered(e)->journal.needed);
	ck_assert_int_eq(xw_dev_pread(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET), 0);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	ck_assert_uint_eq(sb.feature_incompat & XW_INCOMPAT_RECOVER, 0);
	xw_edit_end(e);
}
END_TEST

static bool canceled(void *arg)
{
	(void)arg;
	return true;
}

static struct xw_mmp read_mmp(struct xw_edit *e, struct xw_super *sb)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_mmp mmp;

	ck_assert_int_eq(xw_dev_pread(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET), 0);
	ck_assert_int_eq(xw_super_decode(buf, sb), 0);
	ck_assert_int_eq(xw_dev_pread(xw_edit_dev(e), buf, sizeof(buf), sb->mmp_block * BS), 0);
	ck_assert_int_eq(xw_mmp_decode(buf, &mmp), 0);
	return mmp;
}

static void write_mmp(const struct xw_super *sb, struct xw_mmp mmp, uint32_t seq)
{
	uint8_t buf[XW_MMP_SIZE];
	const int fd = open(path, O_RDWR);

	mmp.seq = seq;
	strcpy(mmp.node, "elsewhere");
	xw_mmp_encode(&mmp, true, xw_super_csum_seed(sb), buf);
	ck_assert_int_eq(pwrite(fd, buf, sizeof(buf), (off_t)(sb->mmp_block * BS)), sizeof(buf));
	close(fd);
}

/* A checker, a node that may be alive, and one that is known to be dead. */
START_TEST(mmp_in_use)
{
	const struct xw_commit_watch watch = {.ended = canceled};
	struct xw_edit_opts opts = defaults;
	struct xw_super sb;
	struct xw_mmp mmp;
	struct xw_edit *e;
	uint32_t idle = 77;

	make("mmp", "40M");
	e = begin(&defaults);
	mmp = read_mmp(e, &sb);
	xw_edit_end(e);
	write_mmp(&sb, mmp, XW_MMP_SEQ_FSCK);
	ck_assert_int_eq(xw_edit_begin(path, &defaults, &diag, &e), XW_ERR_BUSY);
	ck_assert_ptr_nonnull(strstr(diag.text, "elsewhere"));
	xw_diag_clear(&diag);
	opts.in_use_too = true;
	xw_edit_end(begin(&opts));
	write_mmp(&sb, mmp, 77);
	opts = defaults;
	opts.watch = &watch;
	ck_assert_int_eq(xw_edit_begin(path, &opts, &diag, &e), XW_ERR_CANCELED);
	xw_diag_clear(&diag);
	opts = defaults;
	opts.mmp_idle = &idle;
	e = begin(&opts);
	ck_assert_uint_eq(idle, 77);
	ck_assert_int_eq(xw_edit_commit(e, NULL), 0);
	xw_edit_end(e);
	e = begin(&opts);
	ck_assert_uint_eq(idle, 0);
	ck_assert_uint_eq(read_mmp(e, &sb).seq, XW_MMP_SEQ_CLEAN);
	xw_edit_end(e);
}
END_TEST

/* Half of what e2fsck announces for intervals of 10 and 40 seconds, since it waits twice. */
START_TEST(mmp_seconds)
{
	static const unsigned table[][2] = {{0, 11},  {1, 11},    {5, 11},    {10, 21},
					    {40, 81}, {100, 160}, {9999, 360}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(table); i++)
		ck_assert_uint_eq(xw_mmp_wait_seconds(table[i][0]), table[i][1]);
}
END_TEST

START_TEST(no_filesystem)
{
	struct xw_edit *e;
	uint64_t n;
	bool is_free;
	struct xw_freemap *m;

	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert_int_eq(truncate(path, 100000), 0);
	e = begin(&defaults);
	ck_assert_uint_eq(xw_overlay_block_size(xw_edit_dev(e)), 1024);
	ck_assert_int_eq(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m), 0);
	n = xw_freemap_query(m, 50, 10, &is_free);
	ck_assert_uint_eq(n, 10);
	ck_assert(!is_free);
	xw_freemap_free(m);
	ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "x", 1, 50 * BS), 0);
	on_disk(50, "x", 1, false);
	ck_assert_int_eq(xw_edit_commit(e, NULL), XW_ERR_INTERNAL);
	xw_edit_end(e);
	xw_diag_clear(&diag);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(xw_edit_begin(path, &defaults, &diag, &e), XW_ERR_NOTFOUND);
}
END_TEST

/* ---- the map of free blocks against the bitmaps ---- */

static const char *const layouts[] = {
	NULL, "^flex_bg", "^metadata_csum,uninit_bg", "^metadata_csum,^uninit_bg", "^resize_inode",
};

/* The file of `path`, with groups from `first` on as lazy initialisation has them. */
static void make_lazy(uint64_t first)
{
	struct xw_dev *d;

	ck_assert_int_eq(xw_dev_open_file(path, 0, &diag, &d), 0);
	leave_lazy(d, first);
	xw_dev_close(d);
}

/* Never used, and never zeroed. */
static uint64_t mark_tail(struct xw_image *img, uint64_t group, uint8_t *is)
{
	const uint32_t per = BS / img->inode_size;
	struct xw_group_desc gd;
	uint64_t n = 0, used;

	ck_assert_int_eq(xw_image_group(img, group, &gd), 0);
	used = gd.flags & XW_BG_INODE_UNINIT ? 0 : img->sb.inodes_per_group - gd.itable_unused;
	if (gd.flags & XW_BG_INODE_ZEROED ||
	    !(img->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM)))
		return 0;
	for (uint64_t i = (used + per - 1) / per; i < img->itable_blocks; i++, n++) {
		ck_assert(!is[gd.inode_table + i]);
		is[gd.inode_table + i] = 1;
	}
	return n;
}

START_TEST(freemap_is_the_bitmaps)
{
	const uint64_t blocks = 40960;
	struct xw_edit *e;
	struct xw_image *img;
	struct xw_sysmap *sys;
	struct xw_freemap *m;
	uint8_t bits[BS], *is = calloc(1, blocks + 1);
	uint64_t total = 0, tables = 0, n;
	bool yes;

	make(layouts[_i / 3], "40M");
	make_lazy((uint64_t)_i % 3); /* 0: all groups */
	e = begin(&defaults);
	ck_assert_int_eq(xw_image_open(xw_edit_dev(e), 0, &diag, &img), 0);
	ck_assert_int_eq(xw_sysmap_new(img, &sys), 0);
	ck_assert_int_eq(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m), 0);
	for (uint64_t g = 0; g < img->groups; g++) {
		ck_assert_int_eq(xw_image_block_bitmap(img, sys, g, bits), 0);
		for (uint64_t i = 0; i < 8 * BS && 1 + g * 8 * BS + i < blocks; i++) {
			is[1 + g * 8 * BS + i] = !(bits[i / 8] >> (i % 8) & 1);
			total += is[1 + g * 8 * BS + i];
		}
		ck_assert_int_eq(xw_image_inode_bitmap(img, g, bits), 0);
	}
	ck_assert_uint_eq(total, img->sb.free_blocks_count);
	for (uint64_t g = 0; g < img->groups; g++)
		tables += mark_tail(img, g, is);
	ck_assert_int_eq(tables > 0, !layouts[_i / 3] || !strstr(layouts[_i / 3], "^uninit_bg"));
	/* in runs, from everywhere, of all lengths */
	for (uint64_t from = 0, x = 1; from < blocks; from += x % 50) {
		x = x * 1664525 % 4294967296 + 1013904223;
		n = xw_freemap_query(m, from, 1 + x % 9000, &yes);
		ck_assert_uint_ge(n, 1);
		ck_assert_uint_le(n, 1 + x % 9000);
		for (uint64_t i = 0; i < n; i++)
			if ((from + i < blocks && is[from + i]) != yes)
				ck_abort_msg("block %llu", (unsigned long long)(from + i));
	}
	xw_freemap_free(m);
	xw_sysmap_free(sys);
	xw_image_close(img);
	xw_edit_end(e);
	free(is);
}
END_TEST

/* Unused is what the inode bitmap, too, says is. */
START_TEST(unused_is_doubted)
{
	struct xw_group_desc gd;
	struct xw_image *img;
	struct xw_freemap *m;
	struct xw_dev *d;
	uint8_t bits[BS];
	bool is_free;

	make_lazy(0);
	ck_assert_int_eq(xw_dev_open_file(path, 0, &diag, &d), 0);
	ck_assert_int_eq(xw_image_open(d, 0, &diag, &img), 0);
	ck_assert_int_eq(xw_image_group(img, 0, &gd), 0);
	if (_i) {
		gd.itable_unused = img->sb.inodes_per_group;
		put_group(img, 0, &gd);
		xw_image_drop_cache(img);
	}
	ck_assert_int_eq(xw_image_inode_bitmap(img, 0, bits), _i ? XW_ERR_CORRUPT : 0);
	ck_assert_int_eq(xw_freemap_new(d, &diag, &m), 0);
	ck_assert_uint_eq(xw_freemap_query(m, gd.inode_table + img->itable_blocks - 1, 1, &is_free),
			  1);
	ck_assert_int_eq(is_free, !_i);
	xw_freemap_free(m);
	xw_image_close(img);
	xw_dev_close(d);
}
END_TEST

/* A bitmap that is wrong in any way makes nothing free. */
START_TEST(damaged_bitmap)
{
	struct xw_group_desc gd;
	struct xw_edit *e;
	struct xw_image *img;
	struct xw_freemap *m;
	uint8_t bits[BS];
	bool is_free;
	int fd;

	make(_i ? "^metadata_csum" : NULL, "40M");
	e = begin(&defaults);
	ck_assert_int_eq(xw_image_open(xw_edit_dev(e), 0, &diag, &img), 0);
	ck_assert_int_eq(xw_image_group(img, 0, &gd), 0);
	xw_image_close(img);
	xw_edit_end(e);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pread(fd, bits, BS, (off_t)(gd.block_bitmap * BS)), BS);
	switch (_i) {
	case 0: /* checksum */
	case 1: /* count */
		bits[1000] ^= 1;
		break;
	case 2: /* count is right, but its own inode table is free */
		bits[gd.inode_table / 8] &= (uint8_t) ~(1u << (gd.inode_table - 1) % 8);
		bits[1000] |= 1;
	}
	ck_assert_int_eq(pwrite(fd, bits, BS, (off_t)(gd.block_bitmap * BS)), BS);
	close(fd);
	e = begin(&defaults);
	ck_assert_int_eq(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m), 0);
	for (uint64_t b = 1, n; b < 8193; b += n) {
		n = xw_freemap_query(m, b, 8193 - b, &is_free);
		/* tables of groups that were never used need no bitmap to be known */
		if (is_free)
			ck_assert_uint_ge(b, gd.inode_table);
		if (is_free)
			ck_assert_uint_lt(b, gd.inode_table + 8192);
	}
	(void)xw_freemap_query(m, 8100, 1, &is_free);
	ck_assert(!is_free);
	(void)xw_freemap_query(m, 30000, 1, &is_free);
	ck_assert(is_free);
	ck_assert_int_eq(diag.code, 0);
	xw_freemap_free(m);
	xw_edit_end(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("edit");
	TCase *tc = tcase_create("edit"), *map = tcase_create("freemap");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, split_and_commit, 0, 3);
	tcase_add_test(tc, abort_leaves_nothing);
	tcase_add_test(tc, hold_all);
	tcase_add_test(tc, unrecorded_shadow);
	tcase_add_test(tc, one_at_a_time);
	tcase_add_test(tc, read_only);
	tcase_add_test(tc, failed_commit);
	tcase_add_loop_test(tc, changed_meanwhile, 0, 3);
	tcase_add_test(tc, keep_log);
	tcase_add_test(tc, mmp_in_use);
	tcase_add_test(tc, mmp_seconds);
	tcase_add_test(tc, no_filesystem);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(map, setup, teardown);
	tcase_add_loop_test(map, freemap_is_the_bitmaps, 0, 3 * XW_ARRAY_SIZE(layouts));
	unit_add_cases(map, unused_is_doubted, "sound", "damaged");
	tcase_add_loop_test(map, damaged_bitmap, 0, 3);
	suite_add_tcase(s, map);
	return unit_main(s);
}
