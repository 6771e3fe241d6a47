/* SPDX-License-Identifier: MIT */
/*
 * Lists the orphans of an image: inodes that were deleted or truncated while open. The superblock
 * is the head of a list linked by i_dtime; the orphan file has slots for more. Invalid entries of
 * either are reported, and the rest is listed.
 */
#include "config.h"

#include "debugfs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "read/map.h"

static void print(struct dbg *d, xw_ino ino, const char *where)
{
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_u64(&d->js, "inode", ino);
		xw_json_str(&d->js, "in", where, strlen(where));
		xw_json_end(&d->js, '}');
	} else {
		fprintf(d->out, "%" PRIu32 "\t%s\n", ino, where);
	}
}

static bool is_inode(const struct dbg *d, xw_ino ino)
{
	return ino >= d->img->sb.first_ino && ino <= d->img->sb.inodes_count;
}

static int list(struct dbg *d)
{
	uint64_t budget = d->img->sb.inodes_count;
	xw_ino ino = d->img->sb.last_orphan;

	while (ino) {
		struct xw_inode in;
		int rc;

		if (!is_inode(d, ino) || !budget--) {
			dbg_complain(d, "orphan list: %s %" PRIu32,
				     is_inode(d, ino) ? "circular at inode" : "invalid inode", ino);
			return DBG_SAID;
		}
		print(d, ino, "list");
		rc = xw_image_inode(d->img, ino, &in, NULL);
		if (rc)
			return rc;
		ino = in.dtime;
	}
	return 0;
}

/* List a block of the orphan file. False: it is damaged. */
static bool file_block(struct dbg *d, uint32_t seed, xw_blk blk, uint8_t *buf)
{
	const uint32_t bs = d->img->block_size;
	bool ok = true;

	if (xw_image_meta(d->img, blk, 0, buf, bs)) {
		dbg_complain_diag(d, XW_ERR_IO);
		return false;
	}
	if (xw_orphan_verify(buf, bs, xw_super_has_csum(&d->img->sb), seed, blk)) {
		dbg_complain(d, "orphan file: block %" PRIu64 " is damaged", blk);
		ok = false;
	}
	for (uint32_t i = 0; i < xw_orphan_slots(bs); i++) {
		const xw_ino ino = xw_orphan_slot(buf, i);

		if (ino && is_inode(d, ino))
			print(d, ino, "file");
	}
	return ok;
}

static int file(struct dbg *d)
{
	const xw_ino ino = d->img->sb.orphan_file_inum;
	auto_free uint8_t *buf = malloc(d->img->block_size);
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	bool ok = true;
	int more = 0, rc;

	if (!buf)
		return xw_fail_nomem(&d->diag, "orphan file");
	rc = xw_image_inode(d->img, ino, &in, NULL);
	if (rc)
		return rc;
	rc = xw_map_begin(d->img, ino, &in, 0, &it);
	while (!rc && (more = xw_map_next(&it, &run)) > 0) {
		for (uint64_t i = 0; i < run.len; i++)
			ok &= file_block(d, xw_image_inode_seed(d->img, ino, &in), run.pblk + i,
					 buf);
	}
	xw_map_end(&it);
	if (rc || more < 0)
		return rc ? rc : more;
	return ok ? 0 : DBG_SAID;
}

static int verb_orphans(struct dbg *d, int argc, char **argv)
{
	int rc, of_file = 0;

	(void)argv;
	if (argc != 1)
		return DBG_USAGE;
	if (d->json)
		xw_json_array(&d->js, NULL);
	rc = list(d);
	if (rc < 0) {
		dbg_complain_diag(d, rc);
		rc = DBG_SAID;
	}
	if (d->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE)
		of_file = file(d);
	if (d->json)
		xw_json_end(&d->js, ']');
	return of_file ? of_file : rc;
}

static const struct dbg_verb verbs[] = {
	{"orphan_inodes", DBG_OPEN, verb_orphans, "", "the orphan list and the orphan file"},
};

const struct dbg_family dbg_orphan_verbs = {"Orphans", verbs, XW_ARRAY_SIZE(verbs)};
