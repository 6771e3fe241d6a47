/* SPDX-License-Identifier: MIT */
/* Verbs about the filesystem as a whole: quota, multiple mount protection, unused blocks. */
#include "config.h"

#include "bits.h"
#include "cli/env.h"
#include "disk/mmp.h"
#include "disk/quota.h"
#include "print.h"
#include "show/show.h"
#include "read/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"

/* ---- quota ---- */

enum { QUOTA_FILE_MAX = 256 << 20 };

static const char *const quota_names[XW_QUOTA_TYPES] = {"user", "group", "project"};

struct quota {
	struct dbg *d;
	bool one; /* only `id` */
	uint64_t id;
	bool found;
};

static void quota_json(struct xw_json *j, const struct xw_quota_entry *e)
{
	xw_json_object(j, NULL);
	xw_json_u64(j, "id", e->id);
	xw_json_u64(j, "space", e->space);
	xw_json_u64(j, "space_soft", e->block_soft << 10);
	xw_json_u64(j, "space_hard", e->block_hard << 10);
	xw_json_u64(j, "inodes", e->inodes);
	xw_json_u64(j, "inodes_soft", e->inode_soft);
	xw_json_u64(j, "inodes_hard", e->inode_hard);
	xw_json_end(j, '}');
}

static int print_quota(void *arg, const struct xw_quota_entry *e)
{
	struct quota *q = arg;

	if (q->one && e->id != q->id)
		return 0;
	q->found = true;
	if (q->d->json) {
		quota_json(&q->d->js, e);
		return 0;
	}
	fprintf(q->d->out,
		"%10" PRIu32 " %10" PRIu64 " %8" PRIu64 " %8" PRIu64 "  %10" PRIu64 " %8" PRIu64
		" %8" PRIu64 "\n",
		e->id, e->space, e->block_soft << 10, e->block_hard << 10, e->inodes, e->inode_soft,
		e->inode_hard);
	return 0;
}

static int quota_type(struct dbg *d, const char *name, enum xw_quota_type *out)
{
	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		if (!strcmp(name, quota_names[t])) {
			*out = (enum xw_quota_type)t;
			return 0;
		}
	}
	return xw_fail(&d->diag, XW_ERR_USAGE, "'%s' is neither user, group nor project", name);
}

/* Read a whole quota file. */
static int read_quota(struct dbg *d, enum xw_quota_type type, uint8_t **buf, size_t *len)
{
	const struct xw_super *sb = &d->img->sb;
	const xw_ino inums[] = {sb->usr_quota_inum, sb->grp_quota_inum, sb->prj_quota_inum};
	auto_free uint8_t *raw = malloc(d->img->inode_size);
	struct xw_inode in;
	int rc;

	if (!(sb->feature_ro_compat & XW_RO_QUOTA))
		return xw_fail(&d->diag, XW_ERR_INPUT, "the quota feature is not enabled");
	if (!inums[type])
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "there is no %s quota",
			       quota_names[type]);
	if (!raw)
		return xw_fail_nomem(&d->diag, "inode");
	rc = dbg_read_inode(d, inums[type], &in, raw);
	if (rc)
		return rc;
	if (in.size > QUOTA_FILE_MAX)
		return xw_fail(&d->diag, XW_ERR_CORRUPT,
			       "inode %" PRIu32 ": quota file too large, %" PRIu64 " bytes",
			       inums[type], in.size);
	*buf = malloc((size_t)in.size + 1);
	if (!*buf)
		return xw_fail_nomem(&d->diag, "quota file");
	return xw_file_pread(d->img, inums[type], &in, raw, 0, *buf, (size_t)in.size, len);
}

static int show_quota(struct dbg *d, const char *name, struct quota *q)
{
	auto_free uint8_t *buf = NULL;
	struct xw_quota_info info;
	enum xw_quota_type type = XW_QUOTA_USER;
	size_t len = 0;
	int rc = quota_type(d, name, &type);

	if (!rc)
		rc = read_quota(d, type, &buf, &len);
	if (rc)
		return rc;
	if (!dbg_list_begin(d))
		fprintf(d->out, "%7s id %10s %8s %8s  %10s %8s %8s\n", quota_names[type], "space",
			"quota", "limit", "inodes", "quota", "limit");
	rc = xw_quota_decode(buf, len, type, &info, print_quota, q);
	if (rc == XW_ERR_CORRUPT)
		rc = xw_fail(&d->diag, rc, "the %s quota file is damaged", quota_names[type]);
	if (!rc && q->one && !q->found)
		print_quota(q, &(struct xw_quota_entry){.id = (uint32_t)q->id});
	dbg_list_end(d);
	return rc;
}

static int verb_list_quota(struct dbg *d, int argc, char **argv)
{
	struct quota q = {.d = d};

	return argc == 2 ? show_quota(d, argv[1], &q) : DBG_USAGE;
}

static int verb_get_quota(struct dbg *d, int argc, char **argv)
{
	struct quota q = {.d = d, .one = true};
	int rc;

	if (argc != 3)
		return DBG_USAGE;
	rc = dbg_number(d, argv[2], "id", &q.id);
	if (!rc && q.id > UINT32_MAX)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "bad id '%s'", argv[2]);
	return rc ? rc : show_quota(d, argv[1], &q);
}

/* ---- multiple mount protection ---- */

static void print_mmp(struct dbg *d, xw_blk blk, const struct xw_mmp *m)
{
	const struct xw_super *sb = &d->img->sb;

	fprintf(d->out,
		"block_number: %" PRIu64 "\nupdate_interval: %u\ncheck_interval: %u\n"
		"sequence: %08" PRIx32 "\ntime: %" PRId64 " -- %s\n",
		blk, sb->mmp_interval, m->check_interval, m->seq, m->time, xw_show_when(m->time).s);
	fputs("node_name: ", d->out);
	dbg_print_name(d, m->node, strlen(m->node));
	fputs("\ndevice_name: ", d->out);
	dbg_print_name(d, m->device, strlen(m->device));
	fprintf(d->out, "\nmagic: 0x%x\n", XW_MMP_MAGIC);
	if (xw_super_has_csum(sb))
		fprintf(d->out, "checksum: 0x%08" PRIx32 "\n", m->checksum);
}

static void mmp_json(struct dbg *d, xw_blk blk, const struct xw_mmp *m)
{
	struct xw_json *j = &d->js;

	xw_json_object(j, NULL);
	xw_json_u64(j, "block_number", blk);
	xw_json_u64(j, "update_interval_seconds", d->img->sb.mmp_interval);
	xw_json_u64(j, "check_interval_seconds", m->check_interval);
	xw_json_u64(j, "sequence", m->seq);
	xw_json_i64(j, "time", m->time);
	xw_json_str(j, "node_name", m->node, strlen(m->node));
	xw_json_str(j, "device_name", m->device, strlen(m->device));
	xw_json_u64(j, "magic", XW_MMP_MAGIC);
	if (xw_super_has_csum(&d->img->sb))
		xw_json_u64(j, "checksum", m->checksum);
	xw_json_end(j, '}');
}

static int verb_dump_mmp(struct dbg *d, int argc, char **argv)
{
	const struct xw_super *sb = &d->img->sb;
	uint8_t buf[XW_MMP_SIZE];
	xw_blk blk = sb->mmp_block;
	struct xw_mmp m;
	int rc = 0;

	if (argc > 2)
		return DBG_USAGE;
	if (argc == 2)
		rc = dbg_block(d, argv[1], &blk);
	else if (!(sb->feature_incompat & XW_INCOMPAT_MMP))
		rc = xw_fail(&d->diag, XW_ERR_INPUT, "multiple mount protection is not active");
	if (!rc)
		rc = xw_image_meta(d->img, blk, 0, buf, sizeof(buf));
	if (rc)
		return rc;
	if (xw_mmp_decode(buf, &m))
		return xw_fail(&d->diag, XW_ERR_CORRUPT, "block %" PRIu64 " has no MMP data", blk);
	if (xw_super_has_csum(sb) && !d->how.no_csum && xw_mmp_verify(buf, d->img->csum_seed))
		dbg_complain(d, "block %" PRIu64 ": checksum mismatch", blk);
	(d->json ? mmp_json : print_mmp)(d, blk, &m);
	return 0;
}

/* ---- contents of free blocks ---- */

static int verb_dump_unused(struct dbg *d, int argc, char **argv)
{
	const uint64_t end = xw_image_blocks_here(d->img);
	const uint32_t bs = d->img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	auto_end(dbg_bits_end) struct dbg_bits b = {.d = d};
	bool used;
	int rc = 0;

	(void)argv;
	if (argc > 1)
		return DBG_USAGE;
	if (!buf)
		return xw_fail_nomem(&d->diag, "block");
	for (xw_blk blk = d->img->sb.first_data_block; blk < end && !rc; blk++) {
		if (cli_interrupted())
			return DBG_SAID;
		rc = dbg_bits_test(&b, blk, &used);
		if (rc || used)
			continue;
		rc = xw_dev_pread(d->img->dev, buf, bs, blk * bs);
		if (!rc && !xw_all_zero(buf, bs)) {
			fprintf(d->out, "\nUnused block %" PRIu64 " contains non-zero data:\n\n",
				blk);
			fwrite(buf, 1, bs, d->out);
		}
	}
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"list_quota, lq", DBG_OPEN, verb_list_quota, "user|group|project", "usage by owner"},
	{"get_quota, gq", DBG_OPEN, verb_get_quota, "user|group|project ID", "usage of one owner"},
	{"dump_mmp", DBG_OPEN, verb_dump_mmp, "[BLOCK]", "the multiple mount protection block"},
	{"dump_unused", DBG_OPEN | DBG_BYTES, verb_dump_unused, "",
	 "the contents of free blocks that are not zero"},
};

const struct dbg_family dbg_fs_verbs = {"The filesystem", verbs, XW_ARRAY_SIZE(verbs)};
