/* SPDX-License-Identifier: MIT */
/* Opening images that other tools refuse, and using backup superblocks. */
#include "config.h"

#include "base/auto.h"
#include "cli/options.h"
#include "cli/redo.h"
#include "cli/run.h"
#include "cli/term.h"
#include "session/recover.h"
#include "dev/overlay.h"
#include "plan/parse.h"
#include "show/rows.h"

#include <inttypes.h>
#include <string.h>

int xw_show_open(struct xw_show *s, struct xw_dev *dev, bool any_features, struct xw_diag *diag,
		 struct xw_image **out)
{
	static const struct {
		int code;
		unsigned flag;
	} allowed[] = {{XW_ERR_CHECKSUM, XW_IMAGE_NOCSUM},
		       {XW_ERR_UNSUPPORTED, XW_IMAGE_ANY_FEATURES},
		       {XW_ERR_TRUNCATED, XW_IMAGE_SHORT}};
	unsigned flags = s->no_csum ? XW_IMAGE_NOCSUM : 0;
	int rc = xw_image_open(dev, flags, diag, out);

	for (unsigned i = 0; rc && i < XW_ARRAY_SIZE(allowed); i++) {
		if (rc != allowed[i].code ||
		    (allowed[i].flag == XW_IMAGE_ANY_FEATURES && !any_features))
			continue;
		show_problem(s, diag);
		flags |= allowed[i].flag;
		rc = xw_image_open(dev, flags, diag, out);
	}
	return rc;
}

/* ---- backups ---- */

struct backup {
	struct xw_dev *dev;
	struct xw_diag *diag;
	uint32_t block_size;
	uint64_t super;
	struct xw_super sb;
	uint8_t raw[XW_SUPER_SIZE];
};

/* Is there a superblock in that block? It must have the assumed block size. */
static bool find_super(struct backup *b)
{
	const uint64_t at = b->super ? b->super * b->block_size : XW_SUPER_OFFSET;

	return b->super < XW_BLK_MAX && b->dev->size >= XW_SUPER_SIZE &&
	       at <= b->dev->size - XW_SUPER_SIZE &&
	       !xw_dev_pread(b->dev, b->raw, sizeof(b->raw), at) &&
	       !xw_super_decode(b->raw, &b->sb) && xw_super_block_size(&b->sb) == b->block_size;
}

static int find_backup(struct backup *b, uint32_t block_size)
{
	for (unsigned log = 0; log <= XW_LOG_BLOCK_MAX; log++) {
		b->block_size = 1024u << log;
		if ((!block_size || b->block_size == block_size) && find_super(b))
			return 0;
	}
	xw_diag_clear(b->diag);
	if (block_size)
		return xw_fail(b->diag, XW_ERR_INPUT,
			       "%s: no superblock with blocks of %" PRIu32
			       " bytes in block %" PRIu64,
			       b->dev->name, block_size, b->super);
	return xw_fail(b->diag, XW_ERR_INPUT, "%s: no superblock in block %" PRIu64, b->dev->name,
		       b->super);
}

/* The descriptors follow each copy, except those placed elsewhere by meta_bg. */
static int copy_descriptors(const struct backup *b, struct xw_dev *overlay)
{
	const struct xw_super *sb = &b->sb;
	const uint32_t bs = b->block_size;
	const uint64_t per_block = bs / xw_super_desc_size(sb);
	uint64_t n = xw_div_up(xw_super_groups(sb), XW_MAX(per_block, 1));
	auto_free uint8_t *buf = malloc(bs);

	if (!buf)
		return xw_fail_nomem(b->diag, "group descriptors");
	if (sb->feature_incompat & XW_INCOMPAT_META_BG)
		n = XW_MIN(n, sb->first_meta_bg);
	n = XW_MIN(n, sb->blocks_per_group);
	for (uint64_t i = 1; i <= n; i++) {
		int rc = xw_dev_pread(b->dev, buf, bs, (b->super + i) * bs);

		if (!rc)
			rc = xw_dev_pwrite(overlay, buf, bs, (XW_SUPER_OFFSET / bs + i) * bs);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_show_backup(struct xw_dev **dev, uint64_t super, uint32_t block_size, struct xw_diag *diag)
{
	struct backup b = {.dev = *dev, .diag = diag, .super = super};
	struct xw_dev *overlay;
	int rc = find_backup(&b, block_size);

	if (rc || !super)
		return rc;
	rc = xw_overlay_open(*dev, b.block_size, diag, &overlay);
	if (rc)
		return rc;
	*dev = overlay;
	rc = xw_dev_pwrite(overlay, b.raw, sizeof(b.raw), XW_SUPER_OFFSET);
	return rc ? rc : copy_descriptors(&b, overlay);
}

void xw_show_log(void *arg, enum xw_log_level level, const char *line)
{
	const struct cli_line *l = arg;

	if (level == XW_LOG_WARN && !l->quiet)
		cli_warning("%s", line);
	else if (level != XW_LOG_WARN && cli_line_says(l, (enum xw_severity)level))
		cli_note("%s", line);
}

/* ---- by name ---- */

static int set_one(struct cli_line *l, struct xw_show_source *src, const char *option,
		   const char *word, size_t len)
{
	static const char *const keys[] = {"superblock", "blocksize", "offset"};
	const bool is_o = !strcmp(option, "-o");
	const size_t name = strcspn(word, "=,");
	char number[24] = "";
	uint64_t v;

	for (unsigned i = is_o ? 0 : 2; i < (is_o ? 2 : 3); i++) {
		if (strlen(keys[i]) != name || strncmp(keys[i], word, name))
			continue;
		if (name < len && len - name - 1 < sizeof(number))
			memcpy(number, word + name + 1, len - name - 1);
		if (xw_parse_size(number, 1, &v) || (i == 1 && v > 65536) || v > INT64_MAX)
			return cli_line_refuse(l, "%s %.*s: not %s=NUMBER", option, (int)len, word,
					       keys[i]);
		if (i == 0)
			src->super = v;
		else if (i == 1)
			src->block_size = (uint32_t)v;
		else
			src->offset = v;
		return -1;
	}
	return cli_line_refuse(l, "%s %.*s: it takes %s", option, (int)len, word,
			       is_o ? "superblock=BLOCK and blocksize=BYTES" : "offset=BYTES");
}

int xw_show_take_source(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct xw_show_source *src = (void *)((char *)l + o->at);
	int status;

	do {
		const size_t len = strcspn(value, ",");

		status = set_one(l, src, o->letter, value, len);
		value += len;
	} while (status < 0 && *value++ == ',');
	return status;
}

int xw_show_source_path(struct cli_line *l, struct xw_show_source *src)
{
	const int status = cli_line_image(l, &src->path);

	if (status < 0 && !src->redo_file)
		src->redo_file = cli_line_redo_dir(l, src->path);
	return status;
}

void xw_show_pending(struct xw_json *json, bool pending)
{
	if (pending)
		xw_json_bool(json, "pending_change", true);
}

int xw_show_device(const struct xw_show_source *src, struct xw_diag *diag, struct xw_dev **out,
		   bool *pending)
{
	struct xw_recover_info info = {0};
	struct xw_dev *dev = NULL;
	int rc;

	rc = xw_recover_open(src->path, src->redo_file, src->offset,
			     XW_RECOVER_RDONLY | XW_RECOVER_FORCE, diag, &dev, &info);
	if (!rc && src->e2image)
		rc = xw_show_e2image(dev, NULL, diag, &dev);
	if (!rc && (src->super || src->block_size))
		rc = xw_show_backup(&dev, src->super, src->block_size, diag);
	if (rc)
		xw_dev_close(dev);
	else
		*out = dev;
	if (pending)
		*pending = info.redo_applied;
	return rc;
}

bool xw_show_is_journal(struct xw_dev *dev)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;
	struct xw_diag *diag = dev->diag;
	bool is;

	dev->diag = NULL; /* errors are reported when the device is used */
	is = dev->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE &&
	     !xw_dev_pread(dev, raw, sizeof(raw), XW_SUPER_OFFSET) && !xw_super_decode(raw, &sb) &&
	     sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV;
	dev->diag = diag;
	return is;
}
