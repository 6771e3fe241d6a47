// SPDX-License-Identifier: MIT
/* The public mkfs handle: options by name, one run, and a result. */
#include "config.h"

#include "api/option.h"
#include "api/run.h"

#include <stdlib.h>
#include <string.h>

#include "plan/parse.h"

static const char *const option_names[] = {
#define X(name, text) [XW_MKFS_##name] = text,
	XW_MKFS_OPTIONS(X)
#undef X
};

const char *xw_version(void)
{
	return PACKAGE_VERSION;
}

int xw_mkfs_new(struct xw_mkfs **out)
{
	struct xw_mkfs *m = out ? calloc(1, sizeof(*m)) : NULL;

	if (!out)
		return XW_ERR_USAGE;
	*out = m;
	if (!m)
		return XW_ERR_NOMEM;
	xw_params_init(&m->params);
	m->params.now = (int64_t)time(NULL);
	return 0;
}

void xw_mkfs_clear(struct xw_mkfs *m)
{
	for (size_t i = 0; i < m->sources.n; i++)
		free(m->sources.v[i]);
	for (size_t i = 0; i < m->tables.n; i++)
		free(m->tables.v[i]);
	xw_vec_free(&m->sources);
	xw_vec_free(&m->tables);
	xw_vec_free(&m->backups);
	xw_vec_free(&m->calls);
	xw_select_free(&m->select);
	xw_labels_free(&m->labels);
	xw_params_free(&m->params);
	xw_json_free(&m->json);
	xw_run_source_clear(m);
	free(m->bad_list);
	free(m->undo_file);
}

void xw_mkfs_free(struct xw_mkfs *m)
{
	if (m)
		xw_mkfs_clear(m);
	free(m);
}

static int set_sector(struct xw_mkfs *m, const char *option, const char *value, uint32_t *to)
{
	uint64_t n;

	if (!value || xw_parse_u64(value, &n) || n < 512 || n > XW_BLOCK_SIZE_MAX || n & (n - 1))
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s %.80s: must be a power of two from 512 to 65536", option,
			       value ? value : "");
	*to = (uint32_t)n;
	return 0;
}

/* Options that are not filesystem parameters. XW_ERR_NOTFOUND: unknown option. */
static int set_own(struct xw_mkfs *m, const char *option, const char *value)
{
	const struct xw_option_flag flags[] = {
		{"-n", &m->plan_only},
		{"-D", &m->direct},
		{"-S", &m->supers_only},
		{"--replace", &m->replace},
	};

	if (xw_option_flag(flags, XW_ARRAY_SIZE(flags), option))
		return 0;
	if (!strcmp(option, "-F") || !strcmp(option, "-c")) {
		++*(option[1] == 'F' ? &m->force : &m->check);
		return 0;
	}
	if (!strcmp(option, "-l"))
		return xw_run_set_text(m, option, value, &m->bad_list);
	if (!strcmp(option, "-z"))
		return xw_run_set_text(m, option, value, &m->undo_file);
	if (!strcmp(option, "sector-size"))
		return set_sector(m, option, value, &m->sector);
	if (!strcmp(option, "physical-sector-size"))
		return set_sector(m, option, value, &m->physical_sector);
	return xw_run_source_option(m, option, value);
}

int xw_mkfs_set(struct xw_mkfs *m, const char *option, const char *value)
{
	static const char *const flags[] = {"-c", "-D", "-F", "-j", "-n", "-S", "--replace", NULL};
	int rc = xw_option_given(m ? &m->diag : NULL, option, "option");

	if (!rc)
		rc = xw_option_unused(m->ran, option, &m->diag);
	if (!rc)
		rc = xw_option_alone(flags, option, value, &m->diag);
	if (rc)
		return rc;
	for (size_t i = 0; i < XW_ARRAY_SIZE(option_names); i++) {
		if (!strcmp(option, option_names[i]))
			return xw_params_set(&m->params, (enum xw_mkfs_option)i, value, &m->diag);
	}
	rc = set_own(m, option, value);
	if (rc == XW_ERR_NOTFOUND)
		rc = xw_fail(&m->diag, XW_ERR_USAGE, "unknown option %s", option);
	return rc;
}

int xw_mkfs_set_config(struct xw_mkfs *m, const char *name, const char *text, size_t len)
{
	int rc = xw_option_given(m ? &m->diag : NULL, name, "name");

	if (!rc)
		rc = xw_option_given(&m->diag, text || !len, "text");
	if (!rc)
		rc = xw_option_unused(m->ran, name, &m->diag);
	return rc ? rc : xw_params_set_config(&m->params, name, text, len, &m->diag);
}

void xw_mkfs_on_log(struct xw_mkfs *m, xw_log_cb *cb, void *arg)
{
	if (m)
		xw_forward_log(&m->diag, &m->log, cb, arg);
}

void xw_mkfs_on_names(struct xw_mkfs *m, xw_names_cb *cb, void *arg)
{
	if (!m)
		return;
	m->names = cb;
	m->names_arg = arg;
}

void xw_mkfs_on_progress(struct xw_mkfs *m, xw_progress_cb *cb, void *arg)
{
	if (!m)
		return;
	m->progress = cb;
	m->progress_arg = arg;
}

const struct xw_mkfs_result *xw_mkfs_result(const struct xw_mkfs *m)
{
	return m ? &m->result : NULL;
}

const char *xw_mkfs_error(const struct xw_mkfs *m)
{
	return m ? m->diag.text : XW_NO_HANDLE;
}

/* clang-format off */
#define RESULT_COUNTS(X) \
	X(size_bytes) \
	X(blocks) \
	X(free_blocks) \
	X(inodes) \
	X(free_inodes) \
	X(groups) \
	X(files) \
	X(directories) \
	X(symlinks) \
	X(specials) \
	X(hardlinks) \
	X(data_blocks) \
	X(metadata_blocks) \
	X(journal_blocks) \
	X(directory_blocks) \
	X(indexed_directories) \
	X(xattr_blocks) \
	X(xattr_references) \
	X(xattr_in_inode) \
	X(ea_inodes) \
	X(extents) \
	X(files_with_data) \
	X(inline_inodes) \
	X(replaced_blocks) \
	X(bad_blocks) \
	X(growth_bytes) \
	X(group_bytes) \
	X(inodes_per_group) \
	X(bytes_in) \
	X(bytes_written) \
	X(writes) \
	X(sequential_writes) \
	X(backward_seeks) \
	X(warnings)
/* clang-format on */

const char *xw_mkfs_json(struct xw_mkfs *m)
{
	const struct xw_mkfs_result *r = xw_mkfs_result(m);
	struct xw_json *j;

	if (!m)
		return NULL;
	j = &m->json;
	xw_json_free(j);
	xw_json_object(j, NULL);
	xw_json_u64(j, "block_size_bytes", r->block_size);
#define X(name) xw_json_u64(j, #name, r->name);
	RESULT_COUNTS(X)
#undef X
	if (r->data_blocks) /* no ratio without data */
		xw_json_f64(j, "metadata_share",
			    (double)r->metadata_blocks / (double)r->data_blocks, 5);
	xw_json_f64(j, "seconds", r->seconds, 3);
	xw_put_uuid(j, r->uuid);
	xw_json_array(j, "superblock_backups");
	for (uint64_t i = 0; i < r->n_superblock_backups; i++)
		xw_json_u64(j, NULL, r->superblock_backups[i]);
	xw_json_end(j, ']');
	xw_run_stats_json(m, j);
	xw_json_end(j, '}');
	return xw_json_text(j);
}
