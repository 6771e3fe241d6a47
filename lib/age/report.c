// SPDX-License-Identifier: MIT
/* The report on a run, or on an image. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "age/options.h"
#include "age/source.h"

/* A map of the non-zero elements, with 2^i as their names. */
static void classes(const struct xw_age_sink *to, const char *name, const uint64_t *v, size_t n)
{
	char label[24];

	to->open(to->arg, name);
	for (size_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		snprintf(label, sizeof(label), "%" PRIu64, UINT64_C(1) << i);
		to->number(to->arg, label, v[i]);
	}
	to->close(to->arg);
}

static void measure(const struct xw_age_sink *to, const char *name, const struct xw_age_measure *m)
{
	to->open(to->arg, name);
	if (m->pending)
		to->yes(to->arg, "pending_change");
	to->number(to->arg, "blocks", m->blocks);
	to->number(to->arg, "block_size_bytes", m->block_size);
	to->number(to->arg, "used_blocks", m->used);
	to->share(to->arg, "utilization",
		  (uint64_t)((unsigned __int128)m->used * XW_AGE_ONE / m->blocks));
	to->number(to->arg, "files", m->files);
	to->number(to->arg, "extents", m->extents);
	if (m->files) { /* no ratio without data */
		to->share(to->arg, "extents_per_file", m->extents * XW_AGE_ONE / m->files);
		to->share(to->arg, "layout_score", xw_age_layout(m));
		to->share(to->arg, "dynamic_layout_score", xw_age_walk_layout(m));
	}
	to->number(to->arg, "longest_free_run_blocks", m->longest_free);
	to->number(to->arg, "directories_with_index", m->indexes);
	to->number(to->arg, "directories_with_itree", m->itrees);
	classes(to, "free_runs_of_blocks", m->free_runs, XW_AGE_ORDERS);
	classes(to, "free_blocks_in_runs_of", m->free_blocks, XW_AGE_ORDERS);
	classes(to, "free_buddies_of_blocks", m->buddies, XW_SPACE_ORDERS);
	classes(to, "files_of_extents", m->files_of, XW_AGE_ORDERS);
	to->close(to->arg);
}

static void counts(const struct xw_age_sink *to, const struct xw_age_opts *o,
		   const struct xw_age_outcome *run)
{
	const struct xw_age_counts *c = &run->total;

	to->open(to->arg, "run");
	to->text(to->arg, "ended_by", xw_age_reason_text(run->reason));
	if (!o->fast)
		to->text(to->arg, "allocator", xw_age_allocator_name(o->allocator));
	to->number(to->arg, "operations", c->ops);
	to->number(to->arg, "operations_resumed", run->resumed);
	to->number(to->arg, "created", c->created);
	to->number(to->arg, "removed", c->removed);
	to->number(to->arg, "changed", c->changed);
	to->number(to->arg, "skipped", c->skipped);
	to->number(to->arg, "shortened", c->shortened);
	to->number(to->arg, "bytes_written", c->written);
	to->number(to->arg, "steps", c->steps);
	to->close(to->arg);
}

/* The limits of --until, and the values reached. */
static void is_requested(const struct xw_age_sink *to, const struct xw_age_until *until,
			 const struct xw_age_outcome *run, const struct xw_age_measure *after)
{
	const uint64_t bytes = after->blocks * after->block_size;

	if (!xw_age_until_any(until))
		return;
	to->open(to->arg, "asked");
	if (until->util)
		to->share(to->arg, "util", until->util);
	if (until->layout)
		to->share(to->arg, "layout", until->layout);
	if (until->no_run)
		to->number(to->arg, "no_run_bytes", until->no_run);
	if (until->ops)
		to->number(to->arg, "ops", until->ops);
	if (until->overwrites)
		to->number(to->arg, "overwrites", until->overwrites);
	to->close(to->arg);
	to->open(to->arg, "achieved");
	if (until->util)
		to->share(to->arg, "util",
			  (uint64_t)((unsigned __int128)after->used * XW_AGE_ONE / after->blocks));
	if (until->layout)
		to->share(to->arg, "layout", xw_age_layout(after));
	if (until->no_run)
		to->number(to->arg, "longest_free_bytes", after->longest_free * after->block_size);
	if (until->ops)
		to->number(to->arg, "ops", run->total.ops);
	if (until->overwrites)
		to->share(to->arg, "overwrites",
			  (uint64_t)((unsigned __int128)run->total.written * XW_AGE_ONE / bytes));
	to->close(to->arg);
}

/* A distribution: for each value the requested share and that of the files. */
static void distribution(const struct xw_age_sink *to, const char *name,
			 const struct xw_age_shares *s)
{
	char label[24];

	if (!s->n)
		return;
	to->open(to->arg, name);
	for (size_t i = 0; i < s->n; i++) {
		snprintf(label, sizeof(label), "%" PRIu64, s->row[i].value);
		to->open(to->arg, label);
		to->share(to->arg, "asked", s->row[i].asked);
		to->share(to->arg, "achieved", s->row[i].achieved);
		to->close(to->arg);
	}
	to->close(to->arg);
}

static void told_run(const struct xw_age_sink *to, const struct xw_age_told *t)
{
	const struct xw_stat_sink stats = {to->open, to->number, to->close, to->arg};
	const struct xw_age_outcome *run = t->run;

	to->number(to->arg, "seed", t->opts->seed);
	counts(to, t->opts, run);
	is_requested(to, &t->opts->until, run, t->after);
	distribution(to, "sizes_in_bytes", &run->sizes);
	distribution(to, "depths", &run->depths);
	distribution(to, "ages_in_thousandths_of_the_oldest", &run->ages);
	if (run->ages.n)
		to->share(to->arg, "ages_distance", run->age_distance);
	to->open(to->arg, "mballoc");
	xw_space_stats_report(&run->space, &stats);
	to->close(to->arg);
	to->open(to->arg, "itree_nodes");
	to->number(to->arg, "appended", run->itree.appends);
	to->number(to->arg, "split", run->itree.splits);
	to->number(to->arg, "merged", run->itree.merges);
	to->number(to->arg, "freed", run->itree.freed);
	to->close(to->arg);
}

void xw_age_report(const struct xw_age_told *t, const struct xw_age_sink *to)
{
	to->text(to->arg, "image", t->image);
	if (t->run)
		told_run(to, t);
	if (t->before)
		measure(to, "before", t->before);
	measure(to, t->before ? "after" : "measured", t->after);
}

/* ---- as JSON ---- */

static void json_open(void *arg, const char *name)
{
	xw_json_object(arg, name);
}

static void json_close(void *arg)
{
	xw_json_end(arg, '}');
}

static void json_number(void *arg, const char *name, uint64_t v)
{
	xw_json_u64(arg, name, v);
}

static void json_share(void *arg, const char *name, uint64_t v)
{
	xw_json_f64(arg, name, (double)v / XW_AGE_ONE, 4);
}

static void json_text(void *arg, const char *name, const char *s)
{
	xw_json_str(arg, name, s, strlen(s));
}

static void json_yes(void *arg, const char *name)
{
	xw_json_bool(arg, name, true);
}

void xw_age_report_json(const struct xw_age_told *t, struct xw_json *j)
{
	const struct xw_age_sink to = {json_open, json_close, json_number, json_share, json_text,
				       json_yes,  j};

	xw_json_object(j, NULL);
	xw_age_report(t, &to);
	xw_json_end(j, '}');
}
