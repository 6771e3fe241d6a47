/* SPDX-License-Identifier: MIT */
/* Prints the selected parts in their order. */
#include "config.h"

#include "disk/mmp.h"
#include "dump/tool.h"

#include <inttypes.h>
#include <unistd.h>

#include "cli/escape.h"
#include "cli/term.h"

static void blank(struct xw_show *s)
{
	if (s->out)
		fputc('\n', s->out);
}

static void member(struct xw_show *s, const char *name)
{
	if (!s->out)
		xw_json_object(s->json, name);
}

static void end_member(struct xw_show *s)
{
	if (!s->out)
		xw_json_end(s->json, '}');
}

static int superblock(const struct dump_args *args, struct xw_show *s, struct xw_image *img)
{
	int rc;

	member(s, "superblock");
	rc = xw_show_super(s, img);
	end_member(s);
	/* an e2image file has neither journal nor MMP block */
	if (!rc && !args->source.e2image && img->sb.journal_inum) {
		member(s, "journal");
		rc = xw_show_journal(s, img);
		end_member(s);
	}
	if (!rc && !args->source.e2image)
		rc = xw_show_mmp(s, img);
	return rc ? rc : xw_show_bad_blocks(s, img, false);
}

int dump_image(const struct dump_args *args, struct xw_show *s, struct xw_image *img)
{
	int rc;

	if (args->bad_blocks)
		return xw_show_bad_blocks(s, img, true);
	if (args->places) {
		blank(s);
		return xw_show_places(s, img);
	}
	rc = superblock(args, s, img);
	if (rc || args->header)
		return rc;
	blank(s);
	return xw_show_groups(s, img);
}

/* ---- -m ---- */

static int read_mmp(struct xw_image *img, struct xw_mmp *m)
{
	uint8_t buf[XW_MMP_SIZE];
	int rc;

	xw_image_drop_cache(img);
	rc = xw_image_meta(img, img->sb.mmp_block, 0, buf, sizeof(buf));
	if (!rc && xw_mmp_decode(buf, m))
		rc = xw_fail(img->diag, XW_ERR_CORRUPT, "%s: MMP: invalid magic number",
			     img->dev->name);
	if (!rc && xw_super_has_csum(&img->sb) && xw_mmp_verify(buf, img->csum_seed))
		rc = xw_fail(img->diag, XW_ERR_CHECKSUM, "%s: MMP block: checksum mismatch",
			     img->dev->name);
	return rc;
}

static int in_use(struct xw_image *img, const struct xw_mmp *m, const char *why)
{
	return xw_fail(img->diag, XW_ERR_BUSY, "%s: %s: updated by '%.64s' as '%.32s' at %s",
		       img->dev->name, why, m->node, m->device, xw_show_when(m->time).s);
}

/* A user of the image changes the sequence number once per interval. */
static int wait_and_see(struct xw_image *img, const struct xw_mmp *before)
{
	const unsigned interval = XW_MAX(before->check_interval, XW_MMP_INTERVAL);
	struct xw_mmp now;
	int rc;

	sleep(XW_MIN(2 * interval + 1, interval + 60));
	rc = read_mmp(img, &now);
	if (!rc && now.seq != before->seq)
		rc = in_use(img, &now, "is in use");
	return rc;
}

int dump_check_mmp(const struct dump_args *args, struct xw_show *s, struct xw_image *img)
{
	struct xw_mmp m;
	int rc;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_MMP) || !img->sb.mmp_block)
		return xw_fail(img->diag, XW_ERR_UNSUPPORTED, "%s: MMP feature not enabled",
			       img->dev->name);
	if (args->source.e2image) {
		rc = xw_show_mmp(s, img);
		fprintf(s->out, "    mmp_block_number: %" PRIu64 "\n", img->sb.mmp_block);
		return rc;
	}
	rc = read_mmp(img, &m);
	if (!rc && m.seq == XW_MMP_SEQ_FSCK)
		rc = in_use(img, &m, "e2fsck is being run");
	else if (!rc && m.seq != XW_MMP_SEQ_CLEAN)
		rc = wait_and_see(img, &m);
	if (!rc)
		cli_printf(s->out, "%s: it is safe to mount '%s', MMP is clean\n", cli_tool_name(),
			   args->source.path);
	return rc;
}
