// SPDX-License-Identifier: MIT
/*
 * One run of mkfs: plan the geometry, set up the allocator, read the sources while their data is
 * written, then write metadata and finally the superblock.
 */
#include "config.h"

#include "api/hugefiles.h"
#include "api/option.h"
#include "api/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "plan/bad.h"

/*
 * Gaps of up to this many bytes are written as zeros rather than skipped: the size of the space for
 * descriptors at the start of a group.
 */
#define MAX_ZERO_GAP (512u << 10)
/*
 * The gap that streamed data leaves before a superblock backup or a reserve is used later if it is
 * at least this part of a group.
 */
#define GAP_KEEP_PART 8u
#define USUAL_PAGE 4096u

struct run {
	struct xw_mkfs *m;
	struct xw_target target;
	struct xw_jdev jdev; /* -J device= */
	struct xw_builder b;
	/* the geometry that the allocator was created for: its bitmap callback must not change */
	struct xw_geo first_geo;
	struct xw_out out;
	struct xw_intake in;
	struct xw_space *space;
	bool threaded;
};

/* ---- progress ---- */

static int tick_discard(void *arg)
{
	return xw_intake_report(&((struct run *)arg)->in, "discard");
}

static int clear(struct run *r)
{
	const struct xw_feed_tick t = {tick_discard, r};

	return xw_target_clear(r->m, &r->target, t);
}

/*
 * Called before an entry is added. The first entry shows that the source is valid, so the target is
 * cleared.
 */
static int tick_entry(void *arg, uint64_t entries)
{
	struct run *r = arg;
	int rc = r->target.cleared ? 0 : clear(r);

	return rc ? rc : xw_intake_tick_entry(&r->in, entries);
}

/* ---- set-up ---- */

static int geo_summary(void *arg, uint32_t group, struct xw_group_summary *out, bool *known)
{
	const struct xw_geo *geo = arg;

	*known = true;
	xw_geo_group_summary(geo, group, &out->free, &out->longest, &out->fragments,
			     &out->first_free);
	return 0;
}

static int geo_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	xw_geo_group_bitmap(arg, group, bits);
	return 0;
}

static int plan_geometry(const struct xw_mkfs_params *p, struct xw_geo *geo, struct xw_diag *diag)
{
	return p->size_bytes ? xw_geo_plan(p, p->size_bytes, geo, diag)
			     : xw_geo_stream(p, geo, diag);
}

static int plan(struct run *r)
{
	struct xw_mkfs *m = r->m;
	const uint64_t have = r->target.have;
	int rc;

	if (have && have < 4096 && !m->params.size_set)
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: too small for a filesystem",
			       r->target.path);
	rc = xw_params_finish(&m->params, have ? have + m->params.offset : 0, &m->diag);
	if (!rc)
		rc = xw_bad_load(m);
	if (rc || xw_has_incompat(&m->params.features, XW_INCOMPAT_JOURNAL_DEV))
		return rc;
	rc = plan_geometry(&m->params, &r->b.geo, &m->diag);
	if (!rc && !m->force && r->b.geo.block_size > USUAL_PAGE)
		xw_log(&m->diag, XW_LOG_WARN,
		       "-b %u: Linux mounts no blocks larger than its pages, %u bytes on most "
		       "machines (-F: no warning)",
		       r->b.geo.block_size, USUAL_PAGE);
	return rc ? rc : plan_geometry(&m->params, &r->first_geo, NULL);
}

static int tick_check(void *arg, uint64_t done, uint64_t total)
{
	struct run *r = arg;
	const struct xw_progress p = {.phase = "check", .done = done, .total = total};

	return xw_intake_due(&r->in) || done >= total ? xw_intake_progress(&r->in, &p) : 0;
}

/* Search for bad blocks, after all other checks have succeeded, and plan again with the result. */
static int find_bad(struct run *r)
{
	const struct xw_bad_scan b = {.m = r->m, .progress = tick_check, .arg = r};
	const size_t before = r->m->params.bad.n;
	struct xw_diag quiet = {0}; /* the first planning has logged warnings already */
	int rc = xw_bad_find(&b, &r->target);

	if (rc || r->m->params.bad.n == before)
		return rc;
	xw_geo_free(&r->b.geo);
	xw_geo_free(&r->first_geo);
	rc = plan_geometry(&r->m->params, &r->b.geo, &quiet);
	if (!rc)
		rc = xw_geo_check_bad(&r->b.geo, &r->m->diag);
	if (!rc)
		rc = plan_geometry(&r->m->params, &r->first_geo, NULL);
	return rc && quiet.code ? xw_fail(&r->m->diag, rc, "%s", quiet.text) : rc;
}

/* As in mke2fs: warn unless the physical sector is larger than any usual block size. */
static void warn_physical(struct xw_mkfs *m, const char *path)
{
	if (m->params.block_size && m->params.block_size >= m->sector &&
	    m->params.block_size < m->physical_sector && m->physical_sector <= USUAL_PAGE)
		xw_log(&m->diag, XW_LOG_WARN,
		       "-b %u: less than the physical sector size of %s, %u bytes",
		       m->params.block_size, path, m->physical_sector);
}

/*
 * Check everything before the target is written. Errors in options that do not depend on the target
 * are reported first: all of them if SIZE is given and -J device= is not.
 */
static int check_parameters(struct run *r, const char *path)
{
	struct xw_mkfs *m = r->m;
	bool early = m->params.size_set && !m->params.journal_device;
	int rc;

	m->params.target = path;
	if (m->params.no_copy_xattrs &&
	    xw_select_set(&m->select, "--xattrs-exclude", "*", &m->diag))
		return XW_ERR_NOMEM;
	xw_target_sectors(m, path);
	warn_physical(m, path);
	if (!m->params.block_size && m->sector > XW_BLOCK_SIZE_MIN)
		m->params.min_block_size = XW_MAX(m->params.min_block_size, m->sector);
	rc = xw_params_check(&m->params, &m->diag);
	if (!rc)
		rc = xw_supers_check(m);
	if (!rc && early)
		rc = plan(r);
	if (!rc)
		rc = xw_target_check(m, path, &r->target);
	if (!rc)
		rc = xw_journal_open(m, &r->jdev);
	if (!rc && !early)
		rc = plan(r);
	if (!rc)
		rc = xw_target_fits(m, &r->target);
	if (!rc && m->params.block_size < m->sector)
		rc = xw_fail(&m->diag, XW_ERR_USAGE,
			     "-b %u: less than the sector size of %s, %u bytes",
			     m->params.block_size, path, m->sector);
	if (!rc && m->check && !m->plan_only)
		rc = find_bad(r);
	return rc ? rc : xw_journal_check(m, &r->jdev);
}

static int open_space(struct run *r)
{
	const struct xw_geo *geo = &r->b.geo;
	struct xw_space_params p = {
		.blocks = geo->blocks,
		.first_data_block = geo->first_data_block,
		.blocks_per_group = geo->blocks_per_group,
		.groups = geo->groups,
		.cluster_bits = geo->cluster_bits,
	};
	struct xw_space_source src = {
		.summary = geo_summary, .bitmap = geo_bitmap, .arg = &r->first_geo};

	xw_space_params_tune(&p, &r->m->params.mb);
	return xw_space_new(&p, &src, &r->m->diag, &r->space);
}

static int open_out(struct run *r)
{
	r->b.place.pool = xw_pool_new(r->m->jobs);
	if (!r->b.place.pool)
		return xw_fail_nomem(&r->m->diag, "threads");
	r->threaded = r->m->jobs != 1;
	/* zeros must not be written to bad blocks */
	r->out.max_gap = r->target.dev->fresh && !r->b.geo.n_bad ? MAX_ZERO_GAP : 0;
	return xw_batch_new(r->target.dev, XW_MAX(r->b.geo.block_size, XW_BATCH_UNIT), r->threaded,
			    &r->m->diag, &r->out.batch);
}

static void root_options(struct run *r)
{
	const struct xw_mkfs_params *p = &r->m->params;
	struct xw_binode *root = r->in.tree.root;

	if (p->root_owner_set) {
		root->uid = p->root_uid;
		root->gid = p->root_gid;
		r->in.fill.keep_root_owner = true;
	}
	if (p->root_perms != UINT32_MAX) {
		root->mode = (uint16_t)(XW_S_IFDIR | p->root_perms);
		r->in.fill.keep_root_perms = true;
	}
}

static int open_tree(struct run *r)
{
	static const char name[] = "lost+found";
	struct xw_binode *lf;
	int rc = xw_tree_init(&r->in.tree, r->m->params.now, &r->m->diag);

	if (rc)
		return rc;
	lf = xw_tree_node(&r->in.tree, XW_S_IFDIR | 0700);
	if (!lf)
		return xw_fail_nomem(&r->m->diag, "lost+found");
	lf->dir->min_blocks = xw_tree_lost_found_blocks(r->b.geo.block_size);
	r->b.lost_found = lf;
	return xw_tree_link(&r->in.tree, r->in.tree.root, name, sizeof(name) - 1, lf);
}

static int open_fill(struct run *r)
{
	struct xw_fill *f = &r->in.fill;
	const int rc = xw_intake_open(&r->in, &r->b.place);

	r->in.sink.stream = &r->b.place.stream;
	f->root_selinux = r->m->params.root_selinux;
	if (f->whiteouts == XW_WHITEOUTS_AUTO)
		f->whiteouts = r->m->sources.n > 1 ? XW_WHITEOUTS_APPLY : XW_WHITEOUTS_KEEP;
	f->tick = tick_entry;
	f->tick_arg = r;
	root_options(r);
	return rc;
}

static int open_builder(struct run *r)
{
	int rc = xw_target_open(r->m, &r->target);

	if (!rc)
		rc = open_space(r);
	if (!rc)
		rc = open_out(r);
	if (!rc && r->m->supers_only)
		rc = xw_supers_identity(r->m, &r->target, &r->b.geo);
	if (rc)
		return rc;
	r->b.dev = r->target.dev;
	r->b.place.out = &r->out;
	r->b.place.enc.diag = &r->m->diag;
	r->b.params = &r->m->params;
	r->b.place.space = r->space;
	r->b.place.stream.gap_keep =
		(r->b.geo.blocks_per_group >> r->b.geo.cluster_bits) / GAP_KEEP_PART;
	return xw_build_init(&r->b);
}

static int prepare(struct run *r)
{
	int rc = open_builder(r);

	if (!rc)
		rc = xw_build_reserve(&r->b);
	if (!rc)
		rc = open_tree(r);
	return rc ? rc : open_fill(r);
}

/* ---- the run ---- */

static int fill(struct run *r)
{
	const struct xw_file_id skip[2] = {r->target.opened, r->target.replaced};
	int rc = xw_fill_root(&r->in.fill);

	if (!rc)
		rc = xw_intake_read(&r->in, r->threaded, skip);
	/* a source without entries: the target is not cleared yet */
	return rc || r->target.cleared ? rc : clear(r);
}

/* Start of the target's partition on its disk in bytes; 0: no partition, or unknown. */
static uint64_t partition_start(const struct run *r)
{
	unsigned long long sectors = 0;
	char path[64];
	struct stat st;
	FILE *f;

	if (!r->target.is_block || stat(r->target.path, &st))
		return 0;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/start", major(st.st_rdev),
		 minor(st.st_rdev));
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &sectors) != 1)
		sectors = 0;
	fclose(f);
	return sectors * 512;
}

static int hugefiles(struct run *r)
{
	const struct xw_mkfs_params *p = &r->m->params;
	const struct xw_huge_place at = {
		.tree = &r->in.tree,
		.place = &r->b.place,
		.dev = r->target.dev,
		.block_size = r->b.geo.block_size,
		.cluster_bits = r->b.geo.cluster_bits,
		.fresh = r->target.dev->fresh,
		.disk_offset = p->offset + partition_start(r),
		.large_file = &r->in.fill.large_file,
		.data_blocks = &r->in.sink.data_blocks,
	};

	if (!p->size_bytes)
		return xw_fail(&r->m->diag, XW_ERR_USAGE,
			       "make_hugefiles fills a filesystem of known size: give SIZE");
	return xw_hugefiles_make(&at, &p->hugefiles);
}

static int build(struct run *r)
{
	int rc = xw_intake_report(&r->in, "metadata");

	if (!rc && r->m->params.hugefiles.make)
		rc = hugefiles(r);
	r->b.place.enc.first = r->in.tree.first;
	r->b.place.enc.sources = r->in.fill.layers.v;
	r->b.root = r->in.tree.root;
	if (!rc)
		rc = xw_build_number(&r->b);
	if (!rc)
		rc = xw_build_place(&r->b);
	if (!rc)
		rc = xw_build_close(&r->b);
	if (r->in.fill.large_file)
		r->b.place.enc.sb.feature_ro_compat |= XW_RO_LARGE_FILE;
	if (!rc)
		rc = xw_build_sweep(&r->b);
	if (!rc)
		rc = xw_intake_report(&r->in, "flush");
	if (!rc && r->jdev.dev && !r->m->plan_only)
		rc = xw_jdev_attach(&r->jdev, r->m->params.uuid);
	if (!rc && !r->m->plan_only)
		rc = xw_run_oci_config(r->m);
	return rc ? rc : xw_build_finish(&r->b);
}

static int list_backups(struct run *r)
{
	const struct xw_geo *geo = &r->b.geo;
	struct xw_mkfs *m = r->m;

	for (uint32_t g = xw_geo_next_super(geo, 1); g < geo->groups;
	     g = xw_geo_next_super(geo, g + 1)) {
		if (xw_vec_push(&m->backups, xw_geo_super_at(geo, g)))
			return xw_fail_nomem(&m->diag, "list of superblocks");
	}
	m->result.superblock_backups = m->backups.v;
	m->result.n_superblock_backups = m->backups.n;
	return 0;
}

static void summarise(struct run *r)
{
	struct xw_mkfs_result *res = &r->m->result;
	const struct xw_builder *b = &r->b;
	struct xw_batch_stats st;
	struct xw_run_count c;
	uint64_t used;

	xw_batch_stats(r->out.batch, &st);
	xw_run_count(r->in.tree.first, &c);
	res->files = c.files;
	if (b->lost_found) /* NULL with -S */
		res->directories = c.directories - 1 - !(b->lost_found->flags & XW_BN_DEAD);
	res->symlinks = c.symlinks;
	res->specials = c.specials;
	res->hardlinks = c.hardlinks;
	res->files_with_data = c.files_with_data;
	res->extents = c.extents;
	res->inline_inodes = c.in_inodes;
	res->size_bytes = b->geo.blocks * b->geo.block_size;
	res->block_size = b->geo.block_size;
	res->blocks = b->geo.blocks;
	res->free_blocks = b->place.enc.sb.free_blocks_count;
	res->inodes = (uint64_t)b->geo.groups * b->geo.inodes_per_group;
	res->free_inodes = b->place.enc.sb.free_inodes_count;
	res->groups = b->geo.groups;
	res->growth_bytes = xw_geo_growth(&b->geo) * b->geo.block_size;
	res->group_bytes = (uint64_t)b->geo.blocks_per_group * b->geo.block_size;
	res->inodes_per_group = b->geo.inodes_per_group;
	used = b->geo.blocks - b->place.enc.sb.free_blocks_count;
	res->data_blocks = r->in.sink.data_blocks;
	res->journal_blocks = b->journal.n_ext ? b->geo.journal_blocks : 0;
	res->bad_blocks = b->geo.n_bad;
	res->metadata_blocks = used - res->data_blocks - res->journal_blocks - res->bad_blocks;
	res->directory_blocks = b->place.counts.directory_blocks;
	res->indexed_directories = b->place.counts.indexed_dirs;
	res->xattr_blocks = b->place.counts.xattr_blocks;
	res->xattr_references = b->place.counts.xattr_refs;
	res->xattr_in_inode = b->place.counts.xattr_in_inode;
	res->ea_inodes = b->place.counts.ea_inodes;
	res->replaced_blocks = r->in.sink.replaced_blocks;
	res->bytes_written = st.bytes;
	res->writes = st.writes;
	res->sequential_writes = st.sequential;
	res->backward_seeks = st.backward;
	res->warnings = r->m->diag.warnings;
	memcpy(res->uuid, b->place.enc.sb.uuid, sizeof(res->uuid));
	res->seconds = xw_intake_seconds(&r->in);
	if (b->place.share) /* NULL with -S */
		xw_run_statistics(r->m, r->space, b->place.share, b->place.intern);
}

static void cleanup(struct run *r, bool ok)
{
	xw_intake_close(&r->in);
	xw_batch_free(r->out.batch);
	xw_pool_free(r->b.place.pool);
	xw_target_close(&r->target, ok);
	xw_dev_close(r->jdev.dev);
	xw_build_free(&r->b);
	xw_share_free(r->b.place.share);
	xw_xintern_free(r->b.place.intern);
	xw_tree_free(&r->in.tree);
	if (r->b.place.space != r->space)
		xw_space_free(r->b.place.space);
	xw_space_free(r->space);
	xw_geo_free(&r->first_geo);
}

static int make(struct run *r)
{
	int rc;

	if (xw_has_incompat(&r->m->params.features, XW_INCOMPAT_JOURNAL_DEV))
		return xw_journal_make(r->m, &r->target);
	if (r->m->supers_only) {
		rc = open_builder(r);
		if (!rc)
			rc = xw_build_supers(&r->b);
	} else {
		rc = prepare(r);
		if (!rc)
			rc = fill(r);
		if (!rc)
			rc = build(r);
	}
	if (!rc)
		rc = list_backups(r);
	if (!rc)
		summarise(r);
	return rc;
}

/* Add to the message that the image is too small because of the size of an existing file. */
static void explain_size(struct run *r, int code)
{
	struct xw_diag *diag = &r->m->diag;
	char text[sizeof(diag->text)];

	if (r->m->params.size_set || !r->target.exists || r->m->params.in_place)
		return;
	memcpy(text, diag->text, sizeof(text));
	xw_diag_clear(diag);
	xw_fail(diag, code,
		"%s; the existing file determines the size: --replace creates a new one, as large "
		"as needed",
		text);
}

int xw_mkfs_run(struct xw_mkfs *m, const char *path)
{
	struct run *r;
	int rc;

	rc = xw_option_given(m ? &m->diag : NULL, path, "path");
	if (!rc)
		rc = xw_option_unused(m->ran, path, &m->diag);
	if (rc)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return xw_fail_nomem(&m->diag, "run");
	m->ran = true;
	r->m = m;
	xw_intake_begin(&r->in, m, path);
	rc = check_parameters(r, path);
	if (!rc)
		rc = make(r);
	if (!rc)
		rc = xw_target_publish(m, &r->target);
	if (rc == XW_ERR_NOSPC || rc == XW_ERR_NOINODES)
		explain_size(r, rc);
	if (rc && !m->diag.code)
		xw_fail(&m->diag, rc, "%s: %s", path, xw_err_text(rc));
	cleanup(r, !rc);
	free(r);
	return rc || m->plan_only ? rc : xw_run_oci_config_publish(m);
}
