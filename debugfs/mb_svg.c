/* SPDX-License-Identifier: MIT */
/* mb_structs_summary as a drawing: groups by their longest free run, and both kinds of lists. */
#include "config.h"

#include "cli/draw.h"
#include "cli/human.h"
#include "mb.h"
#include "show/rows.h"

#include <stdlib.h>

static int measure(struct mb *m, uint32_t *longest)
{
	struct xw_image *img = m->view.img;
	int rc = xw_space_view_resolve(&m->view, m->space, 0);

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		struct xw_group_summary sum;

		xw_space_group(m->space, (uint32_t)g, &sum);
		longest[g] = sum.longest << xw_image_cluster_bits(img);
	}
	return rc;
}

static unsigned lists(FILE *out, const struct cli_scale *s, unsigned top, const char *heading,
		      const uint32_t *count)
{
	struct cli_bar bars[XW_SPACE_ORDERS] = {{0}};
	unsigned n = 0;

	for (unsigned i = 0; i < XW_SPACE_ORDERS; i++) {
		snprintf(bars[i].what, sizeof(bars[i].what), "%.20s",
			 cli_size(s->block_size << i).s);
		snprintf(bars[i].many, sizeof(bars[i].many), "%.20s", cli_count(count[i]).s);
		snprintf(bars[i].text, sizeof(bars[i].text), "order %u, from %.20s: %.40s", i,
			 cli_size(s->block_size << i).s, cli_plural(count[i], "group", "groups").s);
		bars[i].value = count[i];
		bars[i].step = cli_draw_step(s, UINT64_C(1) << i);
		if (count[i])
			n = i + 1;
	}
	return cli_draw_bars(out, top, heading, bars, n);
}

static void draw(const struct mb *m, FILE *out, const char *name, const uint32_t *longest)
{
	struct xw_image *img = m->view.img;
	const struct cli_scale s = cli_draw_scale(img->block_size, img->sb.blocks_per_group);
	const struct cli_scale clusters = {img->block_size << xw_image_cluster_bits(img),
					   cli_draw_scale(0, xw_image_group_bits(img)).orders};
	struct xw_space_structs st;
	unsigned top = cli_draw_groups(NULL, &s, CLI_DRAW_TOP, longest, img->groups);

	xw_space_structs(m->space, &st);
	cli_draw_begin(out, top + 2 * CLI_DRAW_BARS_ALL, "Group order lists of", name);
	cli_draw_text(out, CLI_DRAW_MARGIN, 56, 'n', "%s free; %s full, which are in no list",
		      cli_size(xw_space_free_blocks(m->space) * img->block_size).s,
		      cli_plural(st.full, "group is", "groups are").s);
	top = cli_draw_groups(out, &s, CLI_DRAW_TOP, longest, img->groups);
	top = lists(out, &clusters, top, "Groups by their largest free buddy", st.largest_order);
	lists(out, &clusters, top, "Groups by their average free fragment", st.avg_order);
	cli_draw_end(out);
}

int mb_structs_svg(struct mb *m, FILE *out, const char *name)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_lenient(m->s, img);
	uint32_t *longest = calloc(XW_MAX(img->groups, 1), sizeof(*longest));
	int rc = longest ? measure(m, longest) : xw_fail_nomem(img->diag, "groups");

	if (!rc)
		draw(m, out, name, longest);
	free(longest);
	return show_done(m->s, img, look, rc);
}
