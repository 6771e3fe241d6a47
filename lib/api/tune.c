// SPDX-License-Identifier: MIT
/* The public tune handle: options by name, one run, and a result. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "api/handle.h"
#include "api/option.h"
#include "plan/features.h"
#include "tune/options.h"

struct xw_tune {
	struct xw_handle h;
	struct xw_tune_options o;
	struct xw_tune_outcome outcome;
	enum xw_tune_pending pending;
	struct xw_tune_result result;
	char features[2][XW_FEATURE_WORDS], labels[2][17]; /* before and after, for the result */
};

int xw_tune_new(struct xw_tune **out)
{
	struct xw_tune *t = out ? calloc(1, sizeof(*t)) : NULL;

	if (!out)
		return XW_ERR_USAGE;
	*out = t;
	if (!t)
		return XW_ERR_NOMEM;
	t->h.phase = "change";
	t->result.before.features = t->result.before.label = "";
	t->result.after = t->result.before;
	t->result.commit = xw_commit_how_name(XW_COMMIT_AUTO);
	xw_tune_options_init(&t->o, &t->h.diag);
	return 0;
}

void xw_tune_free(struct xw_tune *t)
{
	if (!t)
		return;
	xw_tune_options_free(&t->o);
	xw_json_free(&t->h.json);
	free(t);
}

int xw_tune_set(struct xw_tune *t, const char *option, const char *value)
{
	struct xw_diag diag = {0};
	int rc = xw_option_given(t ? &t->h.diag : NULL, option, "option");

	if (!rc)
		rc = xw_option_unused(t->h.ran, option, &t->h.diag);
	if (rc)
		return rc;
	diag.log = t->h.diag.log;
	diag.log_arg = t->h.diag.log_arg;
	t->o.diag = &diag;
	rc = xw_tune_option(&t->o, option, value);
	t->o.diag = &t->h.diag;
	return xw_handle_was_set(&t->h, rc, option, value, diag.text);
}

void xw_tune_on_log(struct xw_tune *t, xw_log_cb *cb, void *arg)
{
	xw_handle_on_log(t ? &t->h : NULL, cb, arg);
}

void xw_tune_on_names(struct xw_tune *t, xw_names_cb *cb, void *arg)
{
	if (!t)
		return;
	t->o.names = cb;
	t->o.names_arg = arg;
}

void xw_tune_on_progress(struct xw_tune *t, xw_progress_cb *cb, void *arg)
{
	xw_handle_on_progress(t ? &t->h : NULL, cb, arg);
}

static void describe(struct xw_tune_state *to, const struct xw_super *sb, char *features,
		     char *label)
{
	const struct xw_features f = {
		{sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat}};

	xw_feature_words(&f, features);
	memcpy(label, sb->volume_name, sizeof(sb->volume_name));
	*to = (struct xw_tune_state){
		.features = features,
		.label = label,
		.block_size = UINT64_C(1024) << sb->log_block_size,
		.blocks = sb->blocks_count,
		.free_blocks = sb->free_blocks_count,
		.reserved_blocks = sb->r_blocks_count,
		.inodes = sb->inodes_count,
		.free_inodes = sb->free_inodes_count,
		.inode_size = sb->inode_size,
	};
	memcpy(to->uuid, sb->uuid, sizeof(to->uuid));
	if (sb->feature_compat & XW_COMPAT_HAS_JOURNAL && sb->journal_inum)
		to->journal_blocks =
			((uint64_t)sb->jnl_blocks[15] << 32 | sb->jnl_blocks[16]) / to->block_size;
}

static int change(struct xw_tune *t, const char *path)
{
	struct xw_tune_result *r = &t->result;
	const struct xw_tune_outcome *o = &t->outcome;
	int rc;

	if (!xw_tune_options_change(&t->o))
		return xw_fail(&t->h.diag, XW_ERR_USAGE, "%s: nothing to change is given", path);
	t->o.opts.watch = xw_handle_watch(&t->h);
	rc = xw_tune_image(path, &t->o.opts, &t->o.want, &t->h.diag, &t->outcome);
	if (rc)
		return rc;
	r->itrees_built = o->itrees_built;
	r->itrees_dropped = o->itrees_dropped;
	r->rebuilt_directories = o->directories_rebuilt;
	r->dropped_indexes = o->indexes_dropped;
	r->commit = xw_commit_how_name(o->commit.how);
	r->commit_blocks = o->commit.blocks;
	r->replayed = o->replayed;
	describe(&r->before, &o->before, t->features[0], t->labels[0]);
	describe(&r->after, &o->after, t->features[1], t->labels[1]);
	return 0;
}

int xw_tune_run(struct xw_tune *t, const char *path)
{
	int rc = xw_handle_begin(t ? &t->h : NULL, path);

	if (rc)
		return rc;
	rc = xw_tune_options_check(&t->o, path);
	if (!rc && t->o.clear_pending) {
		rc = xw_tune_clear_pending(path, &t->o.opts, &t->h.diag, &t->pending);
		t->result.pending = rc ? NULL : xw_tune_pending_name(t->pending);
	} else if (!rc) {
		rc = change(t, path);
	}
	t->result.seconds = xw_handle_seconds(&t->h);
	return xw_handle_end(&t->h, rc, path);
}

const struct xw_tune_result *xw_tune_result(const struct xw_tune *t)
{
	return t ? &t->result : NULL;
}

const char *xw_tune_json(struct xw_tune *t)
{
	if (!t)
		return NULL;
	xw_json_free(&t->h.json);
	if (t->o.clear_pending)
		xw_tune_pending_json(t->pending, &t->h.json);
	else
		xw_tune_outcome_json(&t->outcome, &t->h.json);
	return xw_json_text(&t->h.json);
}

const char *xw_tune_error(const struct xw_tune *t)
{
	return t ? t->h.diag.text : XW_NO_HANDLE;
}
