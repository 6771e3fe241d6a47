// SPDX-License-Identifier: MIT
/* -l: the superblock as it is, or as it has become. Nothing is written. */
#include "config.h"

#include "base/json.h"
#include "cli/escape.h"
#include "cli/term.h"
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
	int ret = read_super(dev, &sb, diag);

	return ret ? ret : xw_show_raw_super(s, dev, &sb);
}

int tune_print_label(const struct tune_args *args, struct xw_diag *diag)
{
	const struct xw_show_source src = {.path = args->image};
	struct xw_dev *dev = NULL;
	struct xw_super sb;
	int ret = xw_show_device(&src, diag, &dev);

	if (ret)
		return ret;
	ret = read_super(dev, &sb, diag);
	if (!ret) {
		cli_escape(stdout, CLI_TEXT, sb.volume_name,
			   strnlen(sb.volume_name, sizeof(sb.volume_name)));
		putchar('\n');
	}
	xw_dev_close(dev);
	return ret;
}

int tune_list(const struct tune_args *args, struct xw_diag *diag)
{
	const struct xw_show_source src = {
		.path = args->image,
		.redo_file = args->opts.redo_file,
		.offset = args->opts.offset,
	};
	struct xw_json json = {0};
	struct xw_show s = {.out = args->line.json ? NULL : stdout, .json = &json, .problem = warn};
	struct xw_dev *dev = NULL;
	int ret = xw_show_device(&src, diag, &dev);

	if (ret)
		return ret;
	xw_json_object(&json, NULL);
	ret = show(&s, dev, diag);
	xw_json_end(&json, '}');
	if (!ret && args->line.json) {
		const char *text = xw_json_text(&json);

		ret = text ? 0 : xw_fail_nomem(diag, "the superblock's description");
		if (text)
			puts(text);
	}
	xw_json_free(&json);
	xw_show_end(&s);
	xw_dev_close(dev);
	return ret;
}
