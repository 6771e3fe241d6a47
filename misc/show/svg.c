/* SPDX-License-Identifier: MIT */
/* Free space as a drawing: groups by their longest free run, and runs by size. */
#include "config.h"

#include "base/auto.h"
#include "cli/draw.h"
#include "cli/human.h"
#include "show/show.h"

static struct cli_bar bar_of(const struct cli_scale *s, const struct xw_freefrag *ff, unsigned i)
{
	struct cli_bar b = {.value = ff->sum[i], .step = cli_draw_step(s, UINT64_C(1) << i)};

	snprintf(b.what, sizeof(b.what), "%.20s", cli_size(s->block_size << i).s);
	snprintf(b.many, sizeof(b.many), "%.20s", cli_count(ff->count[i]).s);
	snprintf(b.text, sizeof(b.text), "%.20s in %.40s, from %.20s",
		 cli_size(ff->sum[i] * s->block_size).s,
		 cli_plural(ff->count[i], "extent", "extents").s, b.what);
	return b;
}

int xw_freefrag_svg(FILE *out, struct xw_image *img, const char *name, const struct xw_freefrag *ff)
{
	const struct cli_scale s = cli_draw_scale(img->block_size, img->sb.blocks_per_group);
	auto_free struct cli_bar *bars = calloc(XW_FREEFRAG_SIZES, sizeof(*bars));
	unsigned first = XW_FREEFRAG_SIZES, last = 0, n = 0, top;

	if (!bars)
		return XW_ERR_NOMEM;
	for (unsigned i = 0; i < XW_FREEFRAG_SIZES; i++) {
		if (!ff->count[i])
			continue;
		first = XW_MIN(first, i);
		last = i;
	}
	for (unsigned i = first; i <= last && i < XW_FREEFRAG_SIZES; i++)
		bars[n++] = bar_of(&s, ff, i);
	top = cli_draw_groups(NULL, &s, CLI_DRAW_TOP, ff->group_longest, ff->groups);
	cli_draw_begin(out, top + CLI_DRAW_BARS_ALL, "Free space in", name);
	cli_draw_text(out, CLI_DRAW_MARGIN, 56, 'n', "%s of %s free, in %s; the longest %s",
		      cli_size(ff->blocks * img->block_size).s,
		      cli_size(img->sb.blocks_count * img->block_size).s,
		      cli_plural(ff->extents, "extent", "extents").s,
		      cli_size(ff->longest * img->block_size).s);
	top = cli_draw_groups(out, &s, CLI_DRAW_TOP, ff->group_longest, ff->groups);
	cli_draw_bars(out, top, "Free space by the size of its runs, and their number", bars, n);
	cli_draw_end(out);
	return ferror(out) ? XW_ERR_IO : 0;
}
