// SPDX-License-Identifier: MIT
/* Shared by mkfs and import: options for sources, progress, and reading the sources. */
#include "config.h"

#include "base/parse.h"
#include "api/option.h"
#include "api/run.h"

#include <stdlib.h>
#include <string.h>

#include "session/edit.h"
#include "disk/indirect.h"
#include "import/devtable.h"

/* ---- options ---- */

static int parse_number(struct xw_mkfs *m, const char *option, const char *value, int64_t min,
			int64_t max, int64_t *out)
{
	if (!value || !*value || strspn(value, "-0123456789") != strlen(value))
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: \"%s\" is not a number", option,
			       value ? value : "");
	if (xw_parse_i64(value, out) || *out < min || *out > max)
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: %s is not in %lld..%lld", option, value,
			       (long long)min, (long long)max);
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

static int lookup_name(void *arg, bool group, const char *name, uint32_t *id)
{
	const struct xw_mkfs *m = arg;

	return m->names ? m->names(m->names_arg, group, name, id) : XW_ERR_NOTFOUND;
}

int xw_run_set_text(struct xw_mkfs *m, const char *option, const char *value, char **to)
{
	return xw_option_text(option, value && *value ? value : NULL, to, &m->diag);
}

static int set_spool_limit(struct xw_mkfs *m, const char *option, const char *value)
{
	if (!value || xw_parse_size(value, 1, &m->spool_limit))
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: \"%s\" is not a size", option,
			       value ? value : "");
	m->spool_limited = true;
	return 0;
}

/* Options for container images. XW_ERR_NOTFOUND: unknown option. */
static int set_oci(struct xw_mkfs *m, const char *option, const char *value)
{
	if (!strcmp(option, "--platform"))
		return xw_run_set_text(m, option, value, &m->platform);
	if (!strcmp(option, "--oci-config"))
		return xw_run_set_text(m, option, value, &m->oci_config_file);
	if (!strcmp(option, "--tmpdir") || !strcmp(option, "tmpdir"))
		return xw_run_set_text(m, option, value, &m->spool_dir);
	if (!strcmp(option, "--spool-limit"))
		return set_spool_limit(m, option, value);
	return XW_ERR_NOTFOUND;
}

void xw_run_source_clear(struct xw_mkfs *m)
{
	free(m->platform);
	free(m->spool_dir);
	xw_run_oci_config_clear(m);
}

static int add_source(struct xw_mkfs *m, const char *name, struct xw_feed_call call)
{
	char *copy;
	int rc;

	rc = xw_option_unused(m->ran, name ? name : "-d", &m->diag);
	if (rc)
		return rc;
	if (!name)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-d: needs a value");
	copy = strdup(name);
	if (!copy || xw_vec_push(&m->calls, call)) {
		free(copy);
		return xw_fail_nomem(&m->diag, "source");
	}
	if (xw_vec_push(&m->sources, copy)) {
		free(copy);
		m->calls.n--;
		return xw_fail_nomem(&m->diag, "source");
	}
	return 0;
}

int xw_mkfs_add_source(struct xw_mkfs *m, const char *path)
{
	return m ? add_source(m, path, (struct xw_feed_call){0}) : XW_ERR_USAGE;
}

int xw_mkfs_add_source_cb(struct xw_mkfs *m, xw_read_cb *read, void *arg, const char *name)
{
	if (!m)
		return XW_ERR_USAGE;
	xw_diag_clear(&m->diag);
	if (!read || !name)
		return xw_fail(&m->diag, XW_ERR_USAGE, "a source needs a function and a name");
	return add_source(m, name, (struct xw_feed_call){read, arg});
}

int xw_run_source_option(struct xw_mkfs *m, const char *option, const char *value)
{
	static const char *const flags[] = {
		"--all-root", "--clamp-mtime",      "--ignore-unreadable",
		"--no-oci",   "--no-overwrite-dir", "--one-file-system",
		NULL,
	};
	const struct xw_option_flag own[] = {
		{"--ignore-unreadable", &m->ignore_unreadable},
		{"--no-oci", &m->no_oci},
		{"--no-overwrite-dir", &m->no_overwrite_dir},
		{"--one-file-system", &m->one_file_system},
	};
	int64_t v;
	int rc = xw_option_alone(flags, option, value, &m->diag);

	if (rc || xw_option_flag(own, XW_ARRAY_SIZE(own), option))
		return rc;
	if (!strcmp(option, "-d"))
		return xw_mkfs_add_source(m, value);
	if (!strcmp(option, "--jobs")) {
		rc = parse_number(m, option, value, 1, 1024, &v);
		if (!rc)
			m->jobs = (unsigned)v;
		return rc;
	}
	if (!strcmp(option, "--whiteouts"))
		return set_whiteouts(m, value);
	if (!strcmp(option, "now")) {
		rc = parse_number(m, "SOURCE_DATE_EPOCH", value, -(1ll << 31),
				  (1ll << 34) - (1ll << 31) - 1, &v);
		if (!rc)
			m->params.now = v;
		return rc;
	}
	if (!strcmp(option, "--device-table")) {
		char *file = strdup(value ? value : "");

		if (file && !xw_vec_push(&m->tables, file))
			return 0;
		free(file);
		return xw_fail_nomem(&m->diag, option);
	}
	rc = xw_labels_set(&m->labels, option, value, &m->diag);
	if (rc != XW_ERR_NOTFOUND)
		return rc;
	m->select.names = (struct xw_acl_names){lookup_name, m};
	rc = set_oci(m, option, value);
	return rc == XW_ERR_NOTFOUND ? xw_select_set(&m->select, option, value, &m->diag) : rc;
}

/* ---- progress ---- */

void xw_intake_begin(struct xw_intake *in, struct xw_mkfs *m, const char *path)
{
	in->m = m;
	in->path = path;
	in->interrupted = "interrupted";
	clock_gettime(CLOCK_MONOTONIC, &in->begin);
	in->last_tick = in->begin;
}

double xw_intake_seconds(const struct xw_intake *in)
{
	return xw_seconds_since(&in->begin);
}

bool xw_intake_due(const struct xw_intake *in)
{
	return in->m->progress && xw_seconds_since(&in->last_tick) >= XW_TELL_EACH;
}

int xw_intake_progress(struct xw_intake *in, const struct xw_progress *p)
{
	struct xw_mkfs *m = in->m;

	clock_gettime(CLOCK_MONOTONIC, &in->last_tick);
	if (m->diag.code == XW_ERR_CANCELED) /* a reader calls once more while it is closed */
		return XW_ERR_CANCELED;
	if (m->progress && m->progress(m->progress_arg, p))
		return xw_fail(&m->diag, XW_ERR_CANCELED, "%s: %s", in->path, in->interrupted);
	return 0;
}

int xw_intake_report(struct xw_intake *in, const char *phase)
{
	const uint64_t done = in->m->result.bytes_in;
	const struct xw_progress p = {
		.phase = phase,
		.done = in->source ? xw_source_consumed(in->source) : done,
		.total = in->source ? in->source->total : done,
		.files = in->fill.entries,
	};

	return xw_intake_progress(in, &p);
}

int xw_intake_tick(void *arg)
{
	const struct xw_intake *in = arg;

	if (in->edit)
		xw_edit_yield(in->edit);
	return xw_intake_due(arg) ? xw_intake_report(arg, "data") : 0;
}

int xw_intake_tick_entry(void *arg, uint64_t entries)
{
	return entries % 256 ? 0 : xw_intake_tick(arg);
}

/* ---- filling ---- */

static int64_t inline_room(void *enc, const struct xw_binode *n)
{
	return xw_inline_room(enc, n);
}

static void open_sink(struct xw_intake *in, struct xw_placer *p)
{
	const bool extents = xw_has_incompat(&p->enc.features, XW_INCOMPAT_EXTENTS);

	in->sink = (struct xw_sink){
		.space = p->space,
		.out = p->out,
		.diag = &in->m->diag,
		.missing = &p->missing,
		.block_size = p->enc.block_size,
		.cluster_bits = p->enc.cluster_bits,
		.max_lblk = extents ? UINT32_MAX : xw_indirect_max_lblk(p->enc.block_size),
		.tick = xw_intake_tick,
		.tick_arg = in,
	};
	/* with inline_data, small files are stored in the inode */
	if (!xw_has_incompat(&p->enc.features, XW_INCOMPAT_INLINE_DATA))
		return;
	in->sink.inline_room = inline_room;
	in->sink.inline_arg = &p->enc;
	in->sink.arena = &in->tree.arena;
}

static int open_xattrs(struct xw_intake *in, struct xw_placer *p, uint32_t extra)
{
	const struct xw_xintern_opts o = {
		.ibody = p->enc.inode_size - XW_INODE_BODY - extra,
		.block_size = p->enc.block_size,
		.cluster_size = p->enc.block_size << p->enc.cluster_bits,
		.ea_inode = xw_has_incompat(&p->enc.features, XW_INCOMPAT_EA_INODE),
		.csum_seed = p->enc.csum_seed,
	};
	int rc = xw_share_new(p->enc.block_size, XW_CACHE_BUILD, &p->share);

	if (!rc)
		rc = xw_xintern_new(&o, &p->intern);
	p->enc.intern = p->intern;
	return rc ? xw_fail_nomem(&in->m->diag, "xattr sharing") : 0;
}

static struct xw_spool_opts spool_opts(const struct xw_mkfs *m)
{
	return (struct xw_spool_opts){m->spool_dir, m->spool_limited, m->spool_limit};
}

/* Does --mtime fit the inodes? As the latest time, with --clamp-mtime, it need not. */
static int check_mtime(const struct xw_intake *in)
{
	const struct xw_select *s = &in->m->select;

	if (!s->mtime_set || s->clamp_mtime ||
	    (s->mtime.sec >= INT32_MIN && s->mtime.sec <= in->fill.latest))
		return 0;
	return xw_fail(
		&in->m->diag, XW_ERR_USAGE,
		"--mtime: %lld seconds since 1970 do not fit the inode, which holds %d to %lld",
		(long long)s->mtime.sec, INT32_MIN, (long long)in->fill.latest);
}

int xw_intake_open(struct xw_intake *in, struct xw_placer *p)
{
	const uint32_t extra = XW_MIN(p->enc.inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	struct xw_mkfs *m = in->m;
	int rc = open_xattrs(in, p, extra);

	if (rc)
		return rc;
	open_sink(in, p);
	m->select.clamp = m->params.now;
	in->fill.tree = &in->tree;
	in->fill.sink = &in->sink;
	in->fill.share = p->share;
	in->fill.intern = p->intern;
	in->fill.xattrs_allowed = xw_has_compat(&p->enc.features, XW_COMPAT_EXT_ATTR);
	in->fill.latest = extra ? (1ll << 34) - (1ll << 31) - 1 : INT32_MAX;
	in->fill.select = &m->select;
	in->fill.labels = xw_labels_any(&m->labels) ? &m->labels : NULL;
	in->fill.diag = &m->diag;
	in->fill.names = (struct xw_acl_names){lookup_name, m};
	in->fill.whiteouts = m->whiteouts;
	in->fill.whiteouts_default = m->whiteouts == XW_WHITEOUTS_AUTO;
	in->fill.keep_images = m->no_oci;
	in->fill.spool = spool_opts(m);
	in->fill.plain_root = !m->params.root_from_source;
	in->fill.no_overwrite_dir = m->no_overwrite_dir;
	in->fill.tick = xw_intake_tick_entry;
	in->fill.tick_arg = in;
	xw_fill_set_callbacks(&in->fill);
	return check_mtime(in);
}

void xw_intake_close(struct xw_intake *in)
{
	xw_source_close(in->source);
	xw_sink_free(&in->sink);
	xw_fill_free(&in->fill);
}

static int excluded(const void *arg, struct xw_slice path)
{
	return xw_select_excluded(arg, path);
}

/*
 * Device tables, all read before the sources: an invalid one is found before an existing image is
 * overwritten.
 */
struct tables {
	XW_VEC(struct xw_source *) v;
};

static int read_tables(const struct xw_intake *in, struct tables *t)
{
	struct xw_mkfs *m = in->m;
	int rc = 0;

	for (size_t i = 0; i < m->tables.n && !rc; i++) {
		struct xw_source *s = NULL;

		rc = xw_devtable_open(m->tables.v[i], &in->fill.names, &m->diag, &s);
		if (!rc && xw_vec_push(&t->v, s)) {
			xw_source_close(s);
			rc = xw_fail_nomem(&m->diag, "--device-table");
		}
	}
	return rc;
}

static int fill_tables(struct xw_intake *in, const struct tables *t)
{
	int rc = 0;

	for (size_t i = 0; i < t->v.n && !rc; i++) {
		in->source = t->v.v[i];
		rc = xw_fill_source(&in->fill, in->source);
		in->source = NULL;
	}
	return rc == XW_ERR_USAGE ? XW_ERR_INPUT : rc;
}

static void close_tables(struct tables *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		xw_source_close(t->v.v[i]);
	xw_vec_free(&t->v);
}

/* Keep the configuration of the last container image. */
static int keep_config(struct xw_mkfs *m, const struct xw_source *s)
{
	char *copy;

	if (!s->config)
		return 0;
	m->oci_source = true;
	if (!m->oci_config_file)
		return 0;
	copy = malloc(s->config_len + 1);
	if (!copy)
		return xw_fail_nomem(&m->diag, "--oci-config");
	memcpy(copy, s->config, s->config_len);
	free(m->oci_config);
	m->oci_config = copy;
	m->oci_config_len = s->config_len;
	return 0;
}

static int read_sources(struct xw_intake *in, bool threaded, const struct xw_file_id skip[2])
{
	struct xw_mkfs *m = in->m;
	const struct xw_source_opts o = {
		.threaded = threaded,
		.one_file_system = m->one_file_system,
		.ignore_unreadable = m->ignore_unreadable,
		.no_atime = xw_select_sets_times(&m->select),
		.tick = {xw_intake_tick, in},
		.skip = {skip[0], skip[1]},
		.excluded = excluded,
		.excluded_arg = &m->select,
		.no_oci = m->no_oci,
		.platform = m->platform,
		.spool = spool_opts(m),
	};
	int rc = xw_run_oci_config_needed(m, 0);

	for (size_t i = 0; i < m->sources.n && !rc; i++) {
		struct xw_source **s = &in->source;

		rc = m->calls.v[i].fn
			     ? xw_source_open_call(m->calls.v[i], m->sources.v[i], &o, &m->diag, s)
			     : xw_source_open(m->sources.v[i], &o, &m->diag, s);
		if (!rc)
			rc = keep_config(m, *s);
		if (!rc)
			rc = xw_run_oci_config_needed(m, i + 1);
		if (!rc)
			rc = xw_fill_source(&in->fill, *s);
		if (rc == XW_ERR_UNSUPPORTED)
			rc = XW_ERR_INPUT; /* caused by the source, not by options */
		if (*s)
			m->result.bytes_in += xw_source_consumed(*s);
		xw_source_close(*s);
		*s = NULL;
	}
	if (!rc && m->platform && !m->oci_source)
		xw_log(&m->diag, XW_LOG_WARN, "--platform: no source is a container image");
	return rc;
}

int xw_intake_read(struct xw_intake *in, bool threaded, const struct xw_file_id skip[2])
{
	struct tables tables = {0};
	int rc = read_tables(in, &tables);

	if (!rc)
		rc = read_sources(in, threaded, skip);
	if (!rc)
		rc = fill_tables(in, &tables);
	close_tables(&tables);
	return rc ? rc : xw_fill_label_directories(&in->fill);
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
