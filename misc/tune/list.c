// SPDX-License-Identifier: MIT
/* -l: prints the current superblock, or the one after the change. Writes nothing. */
#include "config.h"

#include "base/json.h"
#include "cli/escape.h"
#include "cli/term.h"
#include "read/image.h"
#include "show/show.h"
#include "tune/tool.h"

#include <string.h>

static void warn(void *arg, const char *line)
{
	(void)arg;
	cli_warning("%s", line);
}

static int read_super(struct xw_dev *dev, struct xw_super *sb, struct xw_diag *diag)
{
	uint8_t buf[XW_SUPER_SIZE];

	if (dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE ||
	    xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET) ||
	    xw_super_decode(buf, sb) == XW_ERR_INPUT)
		return xw_fail(diag, XW_ERR_INPUT, "%s: not an ext2, ext3 or ext4 filesystem",
			       dev->name);
	return 0;
}

static int show(struct xw_show *s, struct xw_dev *dev, struct xw_diag *diag)
{
	struct xw_super sb;
	struct xw_diag small = {0};
	int rc = read_super(dev, &sb, diag);

	if (!rc && xw_image_fits(dev, &sb, &small))
		warn(NULL, small.text);
	return rc ? rc : xw_show_raw_super(s, dev, &sb);
}

static const char *tune_redo(const struct tune_args *args)
{
	return args->o.opts.redo_file ? args->o.opts.redo_file : args->o.opts.redo_dir;
}

int tune_print_label(struct tune_args *args)
{
	const struct xw_show_source src = {.path = args->image, .redo_file = tune_redo(args)};
	struct xw_dev *dev = NULL;
	struct xw_super sb;
	int rc = xw_show_device(&src, &args->diag, &dev, NULL);

	if (rc)
		return rc;
	rc = read_super(dev, &sb, &args->diag);
	if (!rc) {
		cli_escape(stdout, CLI_TEXT, sb.volume_name,
			   strnlen(sb.volume_name, sizeof(sb.volume_name)));
		putchar('\n');
	}
	xw_dev_close(dev);
	return rc;
}

int tune_list(struct tune_args *args)
{
	const struct xw_show_source src = {
		.path = args->image,
		.redo_file = tune_redo(args),
		.offset = args->o.opts.offset,
	};
	struct xw_json json = {0};
	struct xw_show s = {.out = args->line.json ? NULL : stdout, .json = &json, .problem = warn};
	struct xw_dev *dev = NULL;
	bool pending;
	int rc = xw_show_device(&src, &args->diag, &dev, &pending);

	if (rc)
		return rc;
	xw_json_object(&json, NULL);
	xw_show_pending(&json, pending);
	rc = show(&s, dev, &args->diag);
	xw_json_end(&json, '}');
	if (!rc && args->line.json) {
		const char *text = xw_json_text(&json);

		rc = text ? 0 : xw_fail_nomem(&args->diag, "the superblock's description");
		if (text)
			puts(text);
	}
	xw_json_free(&json);
	xw_show_end(&s);
	xw_dev_close(dev);
	return rc;
}
