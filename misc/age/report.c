// SPDX-License-Identifier: MIT
/* The report, as YAML for people and scripts, or the same as JSON. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "age/tool.h"
#include "base/json.h"
#include "cli/escape.h"

struct report {
	FILE *out; /* YAML; NULL: JSON */
	struct xw_json json;
	unsigned depth;
};

static void key(struct report *r, const char *name)
{
	fprintf(r->out, "%*s%s:", (int)(2 * r->depth), "", name);
}

static void open_map(struct report *r, const char *name)
{
	if (r->out) {
		key(r, name);
		fputc('\n', r->out);
	} else {
		xw_json_object(&r->json, name);
	}
	r->depth++;
}

static void close_map(struct report *r)
{
	r->depth--;
	if (!r->out)
		xw_json_end(&r->json, '}');
}

static void number(struct report *r, const char *name, uint64_t v)
{
	if (!r->out) {
		xw_json_u64(&r->json, name, v);
		return;
	}
	key(r, name);
	fprintf(r->out, " %" PRIu64 "\n", v);
}

/* v / 10000 */
static void share(struct report *r, const char *name, uint64_t v)
{
	if (!r->out) {
		xw_json_f64(&r->json, name, (double)v / XW_AGE_ONE, 4);
		return;
	}
	key(r, name);
	fprintf(r->out, " %" PRIu64 ".%04" PRIu64 "\n", v / XW_AGE_ONE, v % XW_AGE_ONE);
}

static void text(struct report *r, const char *name, const char *s)
{
	if (!r->out) {
		xw_json_str(&r->json, name, s, strlen(s));
		return;
	}
	key(r, name);
	fputs(" \"", r->out);
	cli_escape(r->out, CLI_C, s, strlen(s));
	fputs("\"\n", r->out);
}

/* Members for the classes that are not empty. */
static void classes(struct report *r, const char *name, const uint64_t *v, size_t n)
{
	char label[24];
	uint64_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= v[i];
	if (!any && r->out) {
		key(r, name);
		fputs(" {}\n", r->out);
		return;
	}
	open_map(r, name);
	for (size_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		snprintf(label, sizeof(label), "%" PRIu64, UINT64_C(1) << i);
		number(r, label, v[i]);
	}
	close_map(r);
}

static void measure(struct report *r, const char *name, const struct xw_age_measure *m)
{
	open_map(r, name);
	number(r, "blocks", m->blocks);
	number(r, "block_size_bytes", m->block_size);
	number(r, "used_blocks", m->used);
	share(r, "utilization", (uint64_t)((unsigned __int128)m->used * XW_AGE_ONE / m->blocks));
	number(r, "files", m->files);
	number(r, "extents", m->extents);
	if (m->files) { /* no ratio without data */
		share(r, "extents_per_file", m->extents * XW_AGE_ONE / m->files);
		share(r, "layout_score", xw_age_layout(m));
		share(r, "dynamic_layout_score", xw_age_walk_layout(m));
	}
	number(r, "longest_free_run_blocks", m->longest_free);
	number(r, "directories_with_index", m->indexes);
	number(r, "directories_with_itree", m->itrees);
	classes(r, "free_runs_of_blocks", m->free_runs, XW_AGE_ORDERS);
	classes(r, "free_blocks_in_runs_of", m->free_blocks, XW_AGE_ORDERS);
	classes(r, "free_buddies_of_blocks", m->buddies, XW_SPACE_ORDERS);
	classes(r, "files_of_extents", m->files_of, XW_AGE_ORDERS);
	close_map(r);
}

static void counts(struct report *r, const struct xw_age_opts *o, const struct xw_age_outcome *run)
{
	const struct xw_age_counts *c = &run->total;

	open_map(r, "run");
	text(r, "ended_by", xw_age_reason_text(run->reason));
	if (!o->fast)
		text(r, "allocator", xw_age_allocator_name(o->allocator));
	number(r, "operations", c->ops);
	number(r, "operations_resumed", run->resumed);
	number(r, "created", c->created);
	number(r, "removed", c->removed);
	number(r, "changed", c->changed);
	number(r, "skipped", c->skipped);
	number(r, "shortened", c->shortened);
	number(r, "bytes_written", c->written);
	number(r, "steps", c->steps);
	close_map(r);
}

static void stat_open(void *arg, const char *name)
{
	open_map(arg, name);
}

static void stat_number(void *arg, const char *name, uint64_t value)
{
	number(arg, name, value);
}

static void stat_close(void *arg)
{
	close_map(arg);
}

static void allocator(struct report *r, const struct xw_space_stats *st)
{
	const struct xw_stat_sink to = {stat_open, stat_number, stat_close, r};

	open_map(r, "mballoc");
	xw_space_stats_tell(st, &to);
	close_map(r);
}

/* The limits of --until beside the values reached. */
static void asked(struct report *r, const struct xw_age_until *until,
		  const struct xw_age_outcome *run, const struct xw_age_measure *after)
{
	const uint64_t bytes = after->blocks * after->block_size;

	if (!until->util && !until->layout && !until->no_run && !until->ops && !until->overwrites)
		return;
	open_map(r, "asked");
	if (until->util)
		share(r, "util", until->util);
	if (until->layout)
		share(r, "layout", until->layout);
	if (until->no_run)
		number(r, "no_run_bytes", until->no_run);
	if (until->ops)
		number(r, "ops", until->ops);
	if (until->overwrites)
		number(r, "overwrites", until->overwrites);
	close_map(r);
	open_map(r, "achieved");
	if (until->util)
		share(r, "util",
		      (uint64_t)((unsigned __int128)after->used * XW_AGE_ONE / after->blocks));
	if (until->layout)
		share(r, "layout", xw_age_layout(after));
	if (until->no_run)
		number(r, "longest_free_bytes", after->longest_free * after->block_size);
	if (until->ops)
		number(r, "ops", run->total.ops);
	if (until->overwrites)
		share(r, "overwrites",
		      (uint64_t)((unsigned __int128)run->total.written * XW_AGE_ONE / bytes));
	close_map(r);
}

/* A distribution: for each value the requested share and that of the files. */
static void distribution(struct report *r, const char *name, const struct xw_age_shares *s)
{
	char label[24];

	if (!s->n)
		return;
	open_map(r, name);
	for (size_t i = 0; i < s->n; i++) {
		snprintf(label, sizeof(label), "%" PRIu64, s->row[i].value);
		open_map(r, label);
		share(r, "asked", s->row[i].asked);
		share(r, "achieved", s->row[i].achieved);
		close_map(r);
	}
	close_map(r);
}

int age_report(FILE *out, const struct age_args *args, const struct xw_age_outcome *run,
	       const struct xw_age_measure *before, const struct xw_age_measure *after)
{
	struct report r = {.out = args->line.json ? NULL : out};
	const char *json;
	int err = 0;

	if (!r.out)
		xw_json_object(&r.json, NULL);
	text(&r, "image", args->image);
	if (run) {
		number(&r, "seed", args->opts.seed);
		counts(&r, &args->opts, run);
		asked(&r, &args->opts.until, run, after);
		distribution(&r, "sizes_in_bytes", &run->sizes);
		distribution(&r, "depths", &run->depths);
		distribution(&r, "ages_in_thousandths_of_the_oldest", &run->ages);
		if (run->ages.n)
			share(&r, "ages_distance", run->age_distance);
		allocator(&r, &run->space);
		open_map(&r, "itree_nodes");
		number(&r, "appended", run->itree.appends);
		number(&r, "split", run->itree.splits);
		number(&r, "merged", run->itree.merges);
		number(&r, "freed", run->itree.freed);
		close_map(&r);
	}
	if (before)
		measure(&r, "before", before);
	measure(&r, before ? "after" : "measured", after);
	if (!r.out) {
		xw_json_end(&r.json, '}');
		json = xw_json_text(&r.json);
		if (json)
			fprintf(out, "%s\n", json);
		else
			err = XW_ERR_NOMEM;
	}
	xw_json_free(&r.json);
	return err;
}
