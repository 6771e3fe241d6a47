/* SPDX-License-Identifier: MIT */
/* Statistics of the allocator and of attribute sharing: YAML for -vv, members for --json. */
#include "config.h"

#include "api/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Log each allocation criterion as one line. */
struct lines {
	struct xw_diag *diag;
	char line[256]; /* line of the current criterion; "": none */
};

static void open_line(void *arg, const char *name)
{
	struct lines *l = arg;

	snprintf(l->line, sizeof(l->line), "  %s: {", name);
}

static void number_line(void *arg, const char *name, uint64_t value)
{
	struct lines *l = arg;
	const size_t n = strlen(l->line);

	if (n)
		snprintf(l->line + n, sizeof(l->line) - n, "%s%s: %" PRIu64,
			 l->line[n - 1] == '{' ? "" : ", ", name, value);
	else
		xw_log(l->diag, XW_LOG_DEBUG, "  %s: %" PRIu64, name, value);
}

static void close_line(void *arg)
{
	struct lines *l = arg;

	xw_log(l->diag, XW_LOG_DEBUG, "%s}", l->line);
	l->line[0] = '\0';
}

void xw_run_statistics(struct xw_mkfs *m, const struct xw_space *space, struct xw_share *share,
		       const struct xw_xintern *sets)
{
	struct xw_run_stats *st = &m->stats;
	struct lines l = {.diag = &m->diag};
	const struct xw_stat_sink to = {open_line, number_line, close_line, &l};

	*st = (struct xw_run_stats){.known = true, .memory = xw_space_memory(space)};
	xw_space_stats(space, &st->space);
	xw_share_stats(share, &st->cache);
	if (sets)
		xw_xintern_stats(sets, &st->sets);
	xw_log(&m->diag, XW_LOG_DEBUG, "mballoc:");
	xw_space_stats_report(&st->space, &to);
	number_line(&l, "memory_bytes", st->memory);
	xw_log(&m->diag, XW_LOG_DEBUG,
	       "xattr sets: %" PRIu64 " lookups, %" PRIu64 " different, %" PRIu64 " bytes",
	       st->sets.lookups, st->sets.sets, st->sets.bytes);
	xw_log(&m->diag, XW_LOG_DEBUG,
	       "xattr cache: %" PRIu64 " lookups, %" PRIu64 " found, %" PRIu64
	       " of at most %" PRIu64 " entries, %" PRIu64 " evicted, %" PRIu64 " second chances",
	       st->cache.lookups, st->cache.hits, st->cache.entries, st->cache.max_entries,
	       st->cache.reclaimed, st->cache.second_chances);
}

void xw_run_stats_json(const struct xw_mkfs *m, struct xw_json *j)
{
	const struct xw_run_stats *st = &m->stats;

	if (!st->known)
		return;
	xw_space_stats_json(&st->space, j, "mballoc");
	xw_json_object(j, "xattr_sets");
	xw_json_u64(j, "lookups", st->sets.lookups);
	xw_json_u64(j, "different", st->sets.sets);
	xw_json_u64(j, "bytes", st->sets.bytes);
	xw_json_end(j, '}');
	xw_json_object(j, "xattr_cache");
	xw_json_u64(j, "lookups", st->cache.lookups);
	xw_json_u64(j, "found", st->cache.hits);
	xw_json_u64(j, "entries", st->cache.entries);
	xw_json_u64(j, "entries_max", st->cache.max_entries);
	xw_json_u64(j, "inserts", st->cache.inserts);
	xw_json_u64(j, "evicted", st->cache.reclaimed);
	xw_json_u64(j, "second_chances", st->cache.second_chances);
	xw_json_end(j, '}');
}
