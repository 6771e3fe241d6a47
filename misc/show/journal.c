/* SPDX-License-Identifier: MIT */
/*
 * Other structures: the journal superblock, the MMP block, the list of bad blocks. All are read as
 * they are: a journal that cannot be replayed is shown, too.
 */
#include "config.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "cli/human.h"
#include "disk/jblock.h"
#include "disk/mmp.h"
#include "read/map.h"
#include "show/rows.h"

#include <inttypes.h>
#include <string.h>

#define COMPAT_CHECKSUM 0x1u
#define CSUM_V2_V3 (XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3)
#define FAST_COMMIT_BLOCKS 256u /* default if the journal superblock has 0 */

const char *xw_show_journal_feature(unsigned word, unsigned bit)
{
	static const char *const names[3][5] = {
		{"journal_checksum"},
		{"journal_incompat_revoke", "journal_64bit", "journal_async_commit",
		 "journal_checksum_v2", "journal_checksum_v3"},
	};

	return word < 3 && bit < 5 ? names[word][bit] : NULL;
}

static void journal_features(struct xw_show *s, const struct xw_jsb *j)
{
	static const char letters[] = "CIR";
	const uint32_t words[] = {j->feature_compat, j->feature_incompat, j->feature_ro_compat};
	char list[96 * 24] = "";
	size_t len = 0;

	for (unsigned w = 0; w < 3; w++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			const char *name = xw_show_journal_feature(w, bit);
			char unknown[16];

			if (!(words[w] >> bit & 1))
				continue;
			snprintf(unknown, sizeof(unknown), "FEATURE_%c%u", letters[w], bit);
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? " " : "", name ? name : unknown);
		}
	}
	show_words(s, "Journal features", list);
}

static void journal_users(struct xw_show *s, const struct xw_jsb *j)
{
	const uint32_t n = XW_MIN(j->nr_users, sizeof(j->users) / 16);

	if (j->nr_users != 1)
		show_number(s, "Journal number of users", j->nr_users);
	if (!n || (n == 1 && xw_all_zero(j->users, 16)))
		return;
	if (!s->out)
		xw_json_array(s->json, "journal_users");
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *u = j->users + (size_t)16 * i;
		const char *text = xw_all_zero(u, 16) ? "<none>" : cli_uuid(u).s;

		if (s->out)
			fprintf(s->out, "%-26s%s\n", i ? "" : "Journal users:", text);
		else
			xw_json_str(s->json, NULL, text, strlen(text));
	}
	if (!s->out)
		xw_json_end(s->json, ']');
}

static void journal_rows(struct xw_show *s, const struct xw_jsb *j, const struct xw_super *sb)
{
	const uint64_t kbytes = ((uint64_t)j->blocksize * j->maxlen) >> 10;
	uint32_t fast = 0;

	if (sb->feature_compat & XW_COMPAT_FAST_COMMIT)
		fast = j->num_fc_blks ? j->num_fc_blks : FAST_COMMIT_BLOCKS;
	journal_features(s, j);
	if (!s->out)
		show_number(s, "Total journal size KiB", kbytes);
	else if (kbytes < 8192)
		show_text(s, "Total journal size", "%" PRIu64 "k", kbytes);
	else
		show_text(s, "Total journal size", "%" PRIu64 "M", kbytes >> 10);
	if (j->blocksize != xw_super_block_size(sb))
		show_amount(s, "Journal block size", "bytes", j->blocksize);
	show_number(s, "Total journal blocks", j->maxlen);
	show_amount(s, "Max transaction length", "blocks", j->maxlen - fast);
	show_amount(s, "Fast commit length", "blocks", fast);
	if (j->first != 1)
		show_number(s, "Journal first block", j->first);
	if (s->out)
		show_text(s, "Journal sequence", "0x%08" PRIx32, j->sequence);
	else
		show_number(s, "Journal sequence", j->sequence);
	show_number(s, "Journal start", j->start);
	if (j->feature_compat & COMPAT_CHECKSUM)
		show_text(s, "Journal checksum type", "crc32");
	if (j->feature_incompat & CSUM_V2_V3) {
		show_text(s, "Journal checksum type", j->checksum_type == 4 ? "crc32c" : "unknown");
		show_checksum(s, "Journal checksum", j->checksum);
	}
	journal_users(s, j);
	if (j->err)
		show_signed(s, "Journal errno", (int32_t)j->err);
}

static void show_jsb(struct xw_show *s, const uint8_t *buf, const struct xw_super *sb,
		     const char *name)
{
	struct xw_jsb j;
	uint32_t type, sequence;
	int rc = xw_jsb_decode(buf, &j);

	if (!xw_jblock_header(buf, &type, &sequence)) {
		show_damage(s, "%s: journal: the superblock has no magic number", name);
		return;
	}
	if (rc)
		show_damage(s, "%s: journal: the superblock is damaged", name);
	else if (!s->no_csum && xw_jsb_verify(buf))
		show_damage(s, "%s: journal: superblock: checksum mismatch", name);
	journal_rows(s, &j, sb);
}

/* Read the first kilobyte of the journal. */
static int read_journal(struct xw_image *img, uint8_t *buf)
{
	struct xw_inode inode;
	struct xw_map_run run;
	int rc = xw_image_inode(img, img->sb.journal_inum, &inode, NULL);

	if (!rc)
		rc = xw_map_lookup(img, img->sb.journal_inum, &inode, 0, &run);
	if (!rc && !run.len)
		rc = xw_fail(img->diag, XW_ERR_CORRUPT, "%s: journal: inode %" PRIu32 " is empty",
			     img->dev->name, img->sb.journal_inum);
	return rc ? rc : xw_image_meta(img, run.pblk, 0, buf, XW_JSB_SIZE);
}

int xw_show_journal(struct xw_show *s, struct xw_image *img)
{
	const unsigned look = show_lenient(s, img);
	uint8_t buf[XW_JSB_SIZE];

	if (img->sb.journal_inum && !(img->sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV)) {
		if (read_journal(img, buf))
			show_problem(s, img->diag);
		else
			show_jsb(s, buf, &img->sb, img->dev->name);
	}
	return show_done(s, img, look, 0);
}

int xw_show_external(struct xw_show *s, struct xw_dev *dev, struct xw_diag *diag)
{
	struct xw_super sb;
	uint8_t buf[XW_SUPER_SIZE];
	uint64_t at;
	int rc = xw_show_raw_super(s, dev, &sb);

	if (rc)
		return rc;
	/* in the block after that of the superblock */
	at = ((uint64_t)XW_SUPER_OFFSET / xw_super_block_size(&sb) + 1) * xw_super_block_size(&sb);
	if (xw_dev_pread(dev, buf, sizeof(buf), at))
		show_problem(s, diag);
	else
		show_jsb(s, buf, &sb, dev->name);
	return s->out && ferror(s->out) ? XW_ERR_IO : 0;
}

/* ---- MMP ---- */

static void mmp_rows(struct xw_show *s, const struct xw_mmp *m)
{
	if (s->out) {
		fprintf(s->out,
			"MMP_block:\n"
			"    mmp_magic: 0x%x\n"
			"    mmp_check_interval: %u\n"
			"    mmp_sequence: %#08" PRIx32 "\n"
			"    mmp_update_date: %s\n"
			"    mmp_update_time: %" PRId64 "\n",
			XW_MMP_MAGIC, m->check_interval, m->seq, xw_show_when(m->time).s, m->time);
		show_inner(s, "mmp_node_name", m->node);
		show_inner(s, "mmp_device_name", m->device);
		return;
	}
	xw_json_object(s->json, "mmp_block");
	xw_json_u64(s->json, "mmp_check_interval_seconds", m->check_interval);
	xw_json_u64(s->json, "mmp_sequence", m->seq);
	xw_json_i64(s->json, "mmp_update_time", m->time);
	show_inner(s, "mmp_node_name", m->node);
	show_inner(s, "mmp_device_name", m->device);
	xw_json_end(s->json, '}');
}

int xw_show_mmp(struct xw_show *s, struct xw_image *img)
{
	const unsigned look = show_lenient(s, img);
	uint8_t buf[XW_MMP_SIZE];
	struct xw_mmp m;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_MMP) || !img->sb.mmp_block)
		return show_done(s, img, look, 0);
	if (xw_image_meta(img, img->sb.mmp_block, 0, buf, sizeof(buf)))
		show_problem(s, img->diag);
	else if (xw_mmp_decode(buf, &m))
		show_damage(s, "%s: MMP: block %" PRIu64 " has no magic number", img->dev->name,
			    img->sb.mmp_block);
	else {
		if (!s->no_csum && xw_super_has_csum(&img->sb) &&
		    xw_mmp_verify(buf, img->csum_seed))
			show_damage(s, "%s: MMP: block %" PRIu64 ": checksum mismatch",
				    img->dev->name, img->sb.mmp_block);
		mmp_rows(s, &m);
	}
	return show_done(s, img, look, 0);
}

/* ---- bad blocks ---- */

static void put_bad(struct xw_show *s, xw_blk blk, bool list)
{
	if (!s->out)
		xw_json_u64(s->json, NULL, blk);
	else if (list)
		fprintf(s->out, "%" PRIu64 "\n", blk);
	else
		fprintf(s->out, "%s%" PRIu64, s->any ? ", " : "Bad blocks: ", blk);
	s->any = true;
}

int xw_show_bad_blocks(struct xw_show *s, struct xw_image *img, bool list)
{
	const unsigned look = show_lenient(s, img);
	struct xw_inode inode;
	struct xw_map_iter it;
	struct xw_map_run run;
	xw_blk end = 0;
	int rc = xw_image_inode(img, XW_INO_BAD, &inode, NULL);

	s->any = false;
	if (!s->out)
		xw_json_array(s->json, "bad_blocks");
	if (!rc) {
		rc = xw_map_begin(img, XW_INO_BAD, &inode, 0, &it);
		while (!rc && (rc = xw_map_next(&it, &run)) > 0) {
			if (run.pblk < end)
				show_damage(s, "%s: bad blocks: %" PRIu64 " is out of order",
					    img->dev->name, run.pblk);
			end = run.pblk + run.len;
			for (uint64_t i = 0; i < run.len; i++)
				put_bad(s, run.pblk + i, list);
			rc = 0;
		}
		xw_map_end(&it);
	}
	if (rc)
		show_problem(s, img->diag);
	if (!s->out)
		xw_json_end(s->json, ']');
	else if (!list && (!rc || s->any)) /* a separate line, empty without bad blocks */
		fputc('\n', s->out);
	return show_done(s, img, look, 0);
}
