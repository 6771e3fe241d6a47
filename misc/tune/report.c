// SPDX-License-Identifier: MIT
/* The report of xw-tune: the lines of tune2fs, and a few more. */
#include "config.h"

#include "cli/env.h"
#include "cli/escape.h"
#include "cli/human.h"
#include "show/show.h"
#include "tune/tool.h"

#include <inttypes.h>

static void print_counts(FILE *out, const struct xw_tune_want *w, const struct xw_super *sb)
{
	if (w->set & XW_TUNE_MAX_MNT_COUNT)
		fprintf(out, "Setting maximal mount count to %d\n", w->max_mnt_count);
	if (w->set & XW_TUNE_MNT_COUNT)
		fprintf(out, "Setting current mount count to %d\n", w->mnt_count);
	if (w->set & XW_TUNE_ERRORS)
		fprintf(out, "Setting error behavior to %u\n", w->errors);
	if (w->set & XW_TUNE_RESGID)
		fprintf(out, "Setting reserved blocks gid to %" PRIu32 "\n", w->resgid);
	if (w->set & XW_TUNE_INTERVAL)
		fprintf(out, "Setting interval between checks to %" PRIu32 " seconds\n",
			w->interval);
	if (w->set & XW_TUNE_RESERVED_PERCENT)
		fprintf(out, "Setting reserved blocks percentage to %g%% (%" PRIu64 " blocks)\n",
			w->reserved_percent,
			(uint64_t)(w->reserved_percent * (double)sb->blocks_count / 100.0));
	if (w->set & XW_TUNE_RESERVED_BLOCKS)
		fprintf(out, "Setting reserved blocks count to %" PRIu64 "\n", w->reserved_blocks);
	if (w->set & XW_TUNE_LASTCHECK)
		fprintf(out, "Setting time filesystem last checked to %s\n",
			xw_show_when(w->lastcheck).s);
	if (w->set & XW_TUNE_RESUID)
		fprintf(out, "Setting reserved blocks uid to %" PRIu32 "\n", w->resuid);
}

static void print_extended(FILE *out, const struct tune_args *args)
{
	const struct xw_tune_want *w = &args->o.want;

	if (w->set & XW_TUNE_MMP_INTERVAL)
		fprintf(out, "Setting multiple mount protection update interval to %u second%s\n",
			w->mmp_interval, w->mmp_interval == 1 ? "" : "s");
	if (w->set & XW_TUNE_INODE_SIZE)
		fprintf(out, "Setting inode size %" PRIu32 "\n", w->inode_size);
	if (w->set & XW_TUNE_STRIDE)
		fprintf(out, "Setting stride size to %" PRIu32 "\n", w->stride);
	if (w->set & XW_TUNE_STRIPE_WIDTH)
		fprintf(out, "Setting stripe width to %" PRIu32 "\n", w->stripe_width);
	if (w->set & XW_TUNE_HASH_ALG)
		fprintf(out, "Setting default hash algorithm to %s (%u)\n", args->o.hash_name,
			w->hash_version);
	if (w->set & XW_TUNE_MOUNT_OPTS)
		cli_printf(out, "Setting extended default mount options to '%s'\n", w->mount_opts);
	if (w->set & XW_TUNE_FORCE_FSCK)
		fprintf(out, "Setting filesystem error flag to force fsck.\n");
	if (w->set & XW_TUNE_TEST_FS)
		fprintf(out, "%s test filesystem flag\n", w->test_fs ? "Setting" : "Clearing");
	if (args->o.encoding_name)
		cli_printf(out, "Setting encoding to '%s'\n", args->o.encoding_name);
}

static void print_features(FILE *out, const struct xw_tune_outcome *r)
{
	const struct xw_super *a = &r->before, *b = &r->after;

	if (~a->feature_compat & b->feature_compat & XW_COMPAT_HAS_JOURNAL)
		fprintf(out, "Creating journal inode: done\n");
	if (~a->feature_incompat & b->feature_incompat & XW_INCOMPAT_MMP)
		fprintf(out,
			"Multiple mount protection has been enabled with update interval "
			"%us.\n",
			b->mmp_interval);
	if (r->itrees_built || ~a->feature_ro_compat & b->feature_ro_compat & XW_RO_ITREE)
		fprintf(out, "Built %s\n", cli_plural(r->itrees_built, "itree", "itrees").s);
	else if (r->itrees_dropped)
		fprintf(out, "Dropped %s\n", cli_plural(r->itrees_dropped, "itree", "itrees").s);
	if (r->directories_rebuilt)
		fprintf(out, "Rebuilt %s\n",
			cli_plural(r->directories_rebuilt, "directory", "directories").s);
	if (r->indexes_dropped)
		fprintf(out, "Removed %s\n",
			cli_plural(r->indexes_dropped, "directory index", "directory indexes").s);
}

void tune_print_result(FILE *out, const struct tune_args *args, const struct xw_tune_outcome *r)
{
	print_counts(out, &args->o.want, &r->after);
	print_extended(out, args);
	print_features(out, r);
	if (args->o.opts.undo_file)
		cli_printf(out, "This can be undone using the command:\n    %s %s %s\n",
			   cli_undo_tool(), args->o.opts.undo_file, args->image);
}

void tune_print_pending(FILE *out, const struct tune_args *args, enum xw_tune_pending was)
{
	/* a completed change was reported by the library */
	static const char *const texts[] = {
		[XW_TUNE_NOT_PENDING] = "no change is pending",
		[XW_TUNE_COMPLETED] = NULL,
		[XW_TUNE_GIVEN_UP] = "the interrupted change is given up; run xw-fsck -f",
		[XW_TUNE_CLEARED] = "no change is pending; files left by an interrupted "
				    "change were removed",
	};

	if (texts[was])
		cli_printf(out, "%s: %s\n", args->image, texts[was]);
}
