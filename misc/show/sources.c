/* SPDX-License-Identifier: MIT */
/* Opening images that other tools refuse. */
#include "config.h"

#include "base/auto.h"
#include "cli/options.h"
#include "cli/redo.h"
#include "cli/run.h"
#include "cli/term.h"
#include "disk/e2image.h"
#include "session/recover.h"
#include "plan/parse.h"
#include "read/backup.h"
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

void xw_show_log(void *arg, enum xw_log_level level, const char *line)
{
	const struct cli_line *l = arg;

	if (level == XW_LOG_WARN && !l->quiet)
		cli_warning("%s", line);
	else if (level != XW_LOG_WARN && cli_line_logs(l, (enum xw_severity)level))
		cli_note("%s", line);
}

/* ---- by name ---- */

static int set_one(struct cli_line *l, struct xw_show_source *src, const char *option,
		   const char *word, size_t len)
{
	static const char *const keys[] = {"superblock", "blocksize", "offset"};
	const bool is_o = !strcmp(option, "-o");
	const size_t name = strcspn(word, "=,");
	struct xw_diag diag = {0};
	char number[24] = "";
	uint64_t v;

	for (unsigned i = is_o ? 0 : 2; i < (is_o ? 2 : 3); i++) {
		if (strlen(keys[i]) != name || strncmp(keys[i], word, name))
			continue;
		if (name < len && len - name - 1 < sizeof(number))
			memcpy(number, word + name + 1, len - name - 1);
		if (i == 2 && xw_parse_offset(number, &v, &diag))
			return cli_line_refuse(l, "%s", diag.text);
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

int xw_show_set_source(struct cli_line *l, const struct cli_option *o, const char *value)
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

static bool is_e2image(struct xw_dev *dev)
{
	uint8_t head[XW_E2IMAGE_HEADER];
	struct xw_e2image h;

	return dev->size >= sizeof(head) && !xw_dev_pread(dev, head, sizeof(head), 0) &&
	       !xw_e2image_decode(head, &h);
}

int xw_show_device(const struct xw_show_source *src, struct xw_diag *diag, struct xw_dev **out,
		   bool *pending)
{
	struct xw_recover_info info = {0};
	struct xw_dev *dev = NULL;
	int rc;

	rc = xw_recover_open(src->path, src->redo_file, src->offset,
			     XW_RECOVER_RDONLY | XW_RECOVER_FORCE, diag, &dev, &info);
	if (!rc && src->e2image && (!src->or_image || is_e2image(dev)))
		rc = xw_show_e2image(dev, NULL, diag, &dev);
	if (!rc && (src->super || src->block_size))
		rc = xw_backup_view(&dev, src->super, src->block_size, diag);
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
