/* SPDX-License-Identifier: MIT */
/* Verbs about the whole image: its superblock and groups, its free space, the allocator. */
#include "config.h"

#include "debugfs.h"
#include "mb.h"
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#include "plan/parse.h"

static void problem(void *arg, const char *line)
{
	dbg_complain(arg, "%s", line);
}

struct xw_show dbg_show(struct dbg *d)
{
	return (struct xw_show){
		.out = d->json ? NULL : d->out,
		.json = &d->js,
		.no_csum = d->how.no_csum,
		.problem = problem,
		.arg = d,
	};
}

static int verb_stats(struct dbg *d, int argc, char **argv)
{
	const bool header = argc == 2 && !strcmp(argv[1], "-h");
	struct xw_show s = dbg_show(d);
	int rc;

	if (argc > 2 || (argc == 2 && !header))
		return DBG_USAGE;
	if (d->json)
		xw_json_object(&d->js, NULL);
	rc = xw_show_super(&s, d->img);
	if (!rc)
		rc = xw_show_group_stats(&s, d->img, !header && !d->json);
	if (!rc && !header && d->json)
		rc = xw_show_groups(&s, d->img);
	if (d->json)
		xw_json_end(&d->js, '}');
	xw_show_end(&s);
	return rc;
}

static int verb_freefrag(struct dbg *d, int argc, char **argv)
{
	struct xw_freefrag ff = {0};
	struct xw_show s = dbg_show(d);
	uint64_t kib = 0;
	int rc;

	if (argc != 1 && (argc != 3 || strcmp(argv[1], "-c") || xw_parse_u64(argv[2], &kib)))
		return DBG_USAGE;
	if (kib > UINT64_C(1) << 40 || kib & (kib - 1) || (kib && kib << 10 < d->img->block_size))
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "-c %s: must be a power of 2, and at least one block", argv[2]);
	ff.chunk = (kib << 10) / d->img->block_size;
	if (d->json)
		xw_json_object(&d->js, NULL);
	rc = xw_freefrag_measure(&s, d->img, &ff);
	if (!rc)
		rc = xw_show_freefrag(&s, d->img, d->path, &ff);
	if (d->json)
		xw_json_end(&d->js, '}');
	xw_show_end(&s);
	return rc;
}

/* ---- the allocator ---- */

struct dbg_mb {
	struct xw_show s;
	struct mb m;
	struct xw_alloc_tunables how;
};

static const struct xw_alloc_tunables default_settings = {-1, -1, -1, -1, -1, -1};

static void forget_mb(struct dbg *d)
{
	if (!d->mb)
		return;
	mb_close(&d->mb->m);
	xw_show_end(&d->mb->s);
	free(d->mb);
	d->mb = NULL;
}

/*
 * The allocator over the current image, with its statistics, until the image or the settings
 * change. how: NULL keeps the settings.
 */
static int get_mb(struct dbg *d, const struct xw_alloc_tunables *how, struct mb **out)
{
	int rc;

	if (d->mb && how && memcmp(&d->mb->how, how, sizeof(*how)))
		forget_mb(d);
	if (!d->mb) {
		d->mb = calloc(1, sizeof(*d->mb));
		if (!d->mb)
			return xw_fail_nomem(&d->diag, "allocator");
		d->mb->s = dbg_show(d);
		d->mb->how = how ? *how : default_settings;
		rc = mb_open(&d->mb->m, &d->mb->s, d->img, &d->mb->how);
		if (rc) {
			forget_mb(d);
			return rc;
		}
	}
	d->mb->s.out = d->json ? NULL : d->out; /* this may be a pager */
	*out = &d->mb->m;
	return 0;
}

/* Remove "--kernel" from the words. */
static int kernel_option(struct dbg *d, int *argc, char **argv, bool *found)
{
	int n = 1;

	*found = false;
	for (int i = 1; i < *argc; i++) {
		if (!strcmp(argv[i], "--kernel"))
			*found = true;
		else
			argv[n++] = argv[i];
	}
	*argc = n;
	if (*found && d->json)
		return xw_fail(&d->diag, XW_ERR_USAGE, "--kernel is a layout of text, not JSON");
	return 0;
}

static int mb_verb(struct dbg *d, int argc, char **argv, int (*print)(struct mb *, bool kernel))
{
	bool kernel;
	struct mb *m;
	int rc = kernel_option(d, &argc, argv, &kernel);

	if (argc != 1)
		return DBG_USAGE;
	if (!rc)
		rc = get_mb(d, NULL, &m);
	return rc ? rc : print(m, kernel);
}

struct drawing {
	struct mb *m;
	const char *path;
};

static int draw_structs(void *arg, FILE *out)
{
	const struct drawing *draw = arg;

	return mb_structs_svg(draw->m, out, draw->path);
}

static int verb_mb_structs(struct dbg *d, int argc, char **argv)
{
	const char *svg;
	struct drawing draw = {.path = d->path};
	int rc = dbg_svg_option(d, &argc, argv, &svg);

	if (rc || !svg)
		return rc ? rc : mb_verb(d, argc, argv, mb_structs_summary);
	if (argc != 1)
		return DBG_USAGE;
	rc = get_mb(d, NULL, &draw.m);
	return rc ? rc : dbg_draw(d, svg, draw_structs, &draw);
}

static int verb_mb_stats(struct dbg *d, int argc, char **argv)
{
	return mb_verb(d, argc, argv, mb_stats);
}

static int verb_mb_groups(struct dbg *d, int argc, char **argv)
{
	bool kernel;
	uint64_t first = 0, last = UINT64_MAX;
	struct mb *m;
	int rc = kernel_option(d, &argc, argv, &kernel);

	if (argc > 3)
		return DBG_USAGE;
	if (!rc && argc > 1)
		rc = dbg_number(d, argv[1], "group", &first);
	if (!rc && argc == 2)
		last = first;
	if (!rc && argc > 2)
		rc = dbg_number(d, argv[2], "group", &last);
	if (!rc && first >= d->img->groups)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "there is no group %s", argv[1]);
	if (!rc && last < first)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "groups %s to %s: end before start", argv[1],
			     argv[2]);
	if (!rc)
		rc = get_mb(d, NULL, &m);
	return rc ? rc : mb_groups(m, first, last, kernel);
}

/* Parse -E as xw-import does, but only the settings of the allocator. */
static int read_settings(struct dbg *d, const char *list, struct xw_alloc_tunables *how)
{
	struct xw_mkfs_params p;
	int rc = 0;

	for (const char *item = list; item && !rc; item = strchr(item, ',')) {
		item += *item == ',';
		if (strncmp(item, "mb_", 3))
			rc = xw_fail(&d->diag, XW_ERR_USAGE,
				     "-E %.*s: not a setting mb_...=", (int)strcspn(item, ","),
				     item);
	}
	if (rc)
		return rc;
	xw_params_init(&p);
	rc = xw_params_set_extended(&p, list, &d->diag);
	*how = p.mb;
	xw_params_free(&p);
	return rc;
}

static int verb_mb_find(struct dbg *d, int argc, char **argv)
{
	struct xw_alloc_tunables how = default_settings;
	uint64_t len, goal = 0;
	struct mb *m;
	int rc = 0;

	if (argc > 2 && !strcmp(argv[1], "-E")) {
		rc = read_settings(d, argv[2], &how);
		argc -= 2;
		argv += 2;
	}
	if (argc != 2 && argc != 3)
		return DBG_USAGE;
	if (!rc)
		rc = dbg_number(d, argv[1], "number of blocks", &len);
	if (!rc && !len)
		return DBG_USAGE;
	if (!rc && argc == 3)
		rc = dbg_block(d, argv[2], &goal);
	if (!rc)
		rc = get_mb(d, &how, &m);
	return rc ? rc : mb_find(m, len, goal);
}

static const struct dbg_verb verbs[] = {
	{"show_super_stats, stats", DBG_OPEN | DBG_PAGED, verb_stats, "[-h]",
	 "the superblock and, without -h, the groups"},
	{"freefrag, e2freefrag", DBG_OPEN, verb_freefrag, "[-c KIB]", "free-space fragmentation"},
	{"mb_structs_summary", DBG_OPEN, verb_mb_structs, "[--kernel | --svg FILE]",
	 "groups by largest free order and by average free fragment"},
	{"mb_groups", DBG_OPEN | DBG_PAGED, verb_mb_groups, "[--kernel] [FIRST [LAST]]",
	 "free blocks, fragments and buddies of groups"},
	{"mb_stats", DBG_OPEN, verb_mb_stats, "[--kernel]",
	 "statistics of the allocator of the mb_ commands"},
	{"mb_find", DBG_OPEN, verb_mb_find, "[-E mb_NAME=VALUE[,...]] LEN [GOAL]",
	 "where a request would be placed, by which criterion, and groups considered"},
};

const struct dbg_family dbg_stats_verbs = {
	.title = "The image as a whole",
	.verbs = verbs,
	.n = XW_ARRAY_SIZE(verbs),
	.changed = forget_mb,
};
