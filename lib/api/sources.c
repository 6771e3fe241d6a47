// SPDX-License-Identifier: MIT
/* What making and importing share: how sources are read, and what came of them. */
#include "config.h"

#include "api/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int parse_number(struct xw_mkfs *m, const char *option, const char *value, long long min,
			long long max, long long *out)
{
	char *end;

	if (!value || !*value || strspn(value, "-0123456789") != strlen(value))
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: \"%s\" is not a number", option,
			       value ? value : "");
	*out = strtoll(value, &end, 10);
	if (*end || *out < min || *out > max)
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: %s is not in %lld..%lld", option, value,
			       min, max);
	return 0;
}

static int set_whiteouts(struct xw_mkfs *m, const char *value)
{
	static const char *const names[] = {
		[XW_WHITEOUTS_AUTO] = "auto",
		[XW_WHITEOUTS_APPLY] = "apply",
		[XW_WHITEOUTS_KEEP] = "keep",
		[XW_WHITEOUTS_OVERLAY] = "overlay",
	};

	for (size_t i = 0; value && i < XW_ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i])) {
			m->whiteouts = (enum xw_whiteouts)i;
			return 0;
		}
	}
	return xw_fail(&m->diag, XW_ERR_USAGE, "--whiteouts: \"%s\" is not apply, keep or overlay",
		       value ? value : "");
}

int xw_run_source_option(struct xw_mkfs *m, const char *option, const char *value)
{
	long long v;
	int ret;

	if (!strcmp(option, "-d"))
		return xw_mkfs_add_source(m, value);
	if (!strcmp(option, "--one-file-system")) {
		m->one_file_system = true;
		return 0;
	}
	if (!strcmp(option, "--jobs")) {
		ret = parse_number(m, option, value, 1, 1024, &v);
		if (!ret)
			m->jobs = (unsigned)v;
		return ret;
	}
	if (!strcmp(option, "--whiteouts"))
		return set_whiteouts(m, value);
	if (!strcmp(option, "now")) {
		ret = parse_number(m, "SOURCE_DATE_EPOCH", value, -(1ll << 31),
				   (1ll << 34) - (1ll << 31) - 1, &v);
		if (!ret)
			m->params.now = v;
		return ret;
	}
	return xw_select_set(&m->select, option, value, &m->diag);
}

/* ---- filling ---- */

static int lookup_name(void *arg, bool group, const char *name, uint32_t *id)
{
	const struct xw_mkfs *m = arg;

	return m->names ? m->names(m->names_arg, group, name, id) : XW_ERR_NOTFOUND;
}

void xw_run_fill_options(struct xw_mkfs *m, struct xw_fill *f)
{
	m->select.clamp = m->params.now;
	f->select = &m->select;
	f->diag = &m->diag;
	f->names = (struct xw_acl_names){lookup_name, m};
	f->whiteouts = m->whiteouts;
}

static int64_t inline_room(void *b, const struct xw_binode *n)
{
	return xw_inline_room(b, n);
}

void xw_run_inline(struct xw_sink *k, struct xw_builder *b, struct xw_tree *t)
{
	if (!xw_has_incompat(&b->geo.features, XW_INCOMPAT_INLINE_DATA))
		return;
	k->inline_room = inline_room;
	k->inline_arg = b;
	k->arena = &t->arena;
}

static bool excluded(const void *arg, struct xw_slice path)
{
	return xw_select_excluded(arg, path);
}

int xw_run_fill(const struct xw_run_sources *r)
{
	struct xw_mkfs *m = r->m;
	const struct xw_source_opts o = {
		.threaded = r->threaded,
		.one_file_system = m->one_file_system,
		.tick = r->tick,
		.skip = {r->skip[0], r->skip[1]},
		.excluded = excluded,
		.excluded_arg = &m->select,
	};
	int ret = 0;

	for (size_t i = 0; i < m->sources.n && !ret; i++) {
		struct xw_source **s = r->current;

		ret = xw_source_open(m->sources.v[i], &o, &m->diag, s);
		if (!ret)
			ret = xw_fill_source(r->fill, *s);
		if (ret == XW_ERR_UNSUPPORTED)
			ret = XW_ERR_INPUT; /* the source's, not of this program's options */
		if (*s)
			m->result.bytes_in += xw_source_consumed(*s);
		xw_source_close(*s);
		*s = NULL;
	}
	return ret;
}

/* ---- results ---- */

void xw_run_count(const struct xw_binode *first, struct xw_run_count *c)
{
	memset(c, 0, sizeof(*c));
	for (const struct xw_binode *n = first; n; n = n->next) {
		if (n->flags & (XW_BN_DEAD | XW_BN_EA | XW_BN_OLD))
			continue;
		c->in_inodes += (n->flags & XW_BN_INLINE) != 0;
		switch (n->mode & XW_S_IFMT) {
		case XW_S_IFDIR:
			c->directories++;
			break;
		case XW_S_IFLNK:
			c->symlinks++;
			break;
		case XW_S_IFREG:
			c->files++;
			c->files_with_data += n->n_ext != 0;
			c->extents += n->n_ext;
			break;
		default:
			c->specials++;
		}
		if (!xw_binode_is(n, XW_S_IFDIR))
			c->hardlinks += n->links - 1;
	}
}

void xw_run_statistics(struct xw_mkfs *m, const struct xw_space *space, struct xw_share *share)
{
	struct xw_cache_stats c;
	struct xw_space_stats a;

	xw_space_stats(space, &a);
	xw_log(&m->diag, XW_LOG_DEBUG,
	       "allocator: %llu requests, %llu at their goals, %llu groups and %llu extents looked "
	       "at",
	       (unsigned long long)a.requests, (unsigned long long)a.goal_hits,
	       (unsigned long long)a.groups_scanned, (unsigned long long)a.extents_scanned);
	xw_share_stats(share, &c);
	xw_log(&m->diag, XW_LOG_DEBUG,
	       "xattr cache: %llu lookups, %llu found, %llu of at most %llu entries, %llu evicted",
	       (unsigned long long)c.lookups, (unsigned long long)c.hits,
	       (unsigned long long)c.entries, (unsigned long long)c.max_entries,
	       (unsigned long long)c.reclaimed);
}
