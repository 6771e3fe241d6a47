// SPDX-License-Identifier: MIT
/* xw_edit_discard(): what is discarded, and when nothing is. */
#include "config.h"

#include <fcntl.h>

#include "session/freemap.h"
#include "steps_world.h"

enum { BS = 1024, EACH = 4, APART = 8 }; /* blocks of a range, and from one to the next */

struct ranges {
	xw_blk blk;
	unsigned asked;
};

static bool two_ranges(void *arg, uint64_t *off, uint64_t *len)
{
	struct ranges *r = arg;

	*off = (r->blk + APART * r->asked) * BS;
	*len = EACH * BS;
	return r->asked++ < 2;
}

/* The first of 100 free blocks, at a whole page of the host. */
static xw_blk find_free(struct xw_edit *e)
{
	struct xw_freemap *m;
	bool is_free = false;
	uint64_t len = 0;
	xw_blk blk = 0;

	ok(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m));
	while (!is_free || len < 100) {
		blk += len;
		ck_assert_uint_lt(blk, 16384);
		len = xw_freemap_query(m, blk, 16384 - blk, &is_free);
	}
	xw_freemap_free(m);
	return (blk + APART - 1) / APART * APART;
}

static char byte_at(xw_blk blk)
{
	const int fd = open(path, O_RDONLY);
	char c = 0;

	ck_assert_int_eq(pread(fd, &c, 1, (off_t)(blk * BS)), 1);
	close(fd);
	return c;
}

/* Another program mounts the image: only the mount count tells. */
static void count_a_mount(void)
{
	const int fd = open(path, O_RDWR);
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	ck_assert_int_eq(pread(fd, buf, sizeof(buf), XW_SUPER_OFFSET), sizeof(buf));
	ok(xw_super_decode(buf, &sb));
	sb.mnt_count++;
	xw_super_encode(&sb, buf);
	ck_assert_int_eq(pwrite(fd, buf, sizeof(buf), XW_SUPER_OFFSET), sizeof(buf));
	close(fd);
}

enum { SOUND, CHANGED, LONGER, UNDO, CASES };

START_TEST(discard)
{
	struct xw_edit_opts opts = {.now = 1700000000};
	struct ranges r = {0};
	uint8_t data[16 * BS];
	struct xw_edit *e;
	char undo[128];
	bool kept;
	int rc;

	make(1);
	snprintf(undo, sizeof(undo), "%s/undo", dir);
	opts.undo_file = _i == UNDO ? undo : NULL;
	ok(xw_edit_begin(path, &opts, &diag, &e));
	r.blk = find_free(e);
	memset(data, 'w', sizeof(data));
	ok(xw_dev_pwrite(xw_edit_dev(e), data, 16 * BS, r.blk * BS));
	ok(xw_edit_commit(e, NULL));
	if (_i == CHANGED)
		count_a_mount();
	else if (_i == LONGER)
		ck_assert_int_eq(truncate(path, 17 << 20), 0);
	rc = xw_edit_discard(e, two_ranges, &r);
	if (_i == CHANGED || _i == LONGER) {
		ck_assert_int_eq(rc, XW_ERR_BUSY);
		ck_assert_ptr_nonnull(strstr(diag.text, "free blocks were not discarded"));
	} else if (rc != XW_ERR_UNSUPPORTED || _i != SOUND) { /* not every host can */
		ck_assert_int_eq(rc, 0);
	}
	ck_assert_uint_eq(r.asked, _i != SOUND ? 0 : rc ? 1 : 3);
	xw_edit_end(e);
	kept = _i != SOUND || rc;
	for (unsigned i = 0; i < 16; i++)
		ck_assert_int_eq(byte_at(r.blk + i), kept || i % APART >= EACH ? 'w' : 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("discard");
	TCase *t = tcase_create("discard");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, discard, 0, CASES);
	suite_add_tcase(s, t);
	return unit_main(s);
}
