/* SPDX-License-Identifier: MIT */
/* The handle behind struct xw_mkfs, and the steps of a run. */
#ifndef XW_API_RUN_H
#define XW_API_RUN_H

#include <sys/stat.h>
#include <time.h>

#include "api/xw.h"
#include "base/json.h"
#include "dev/newfile.h"
#include "fill/builder.h"
#include "fill/jdev.h"
#include "import/fill.h"
#include "plan/params.h"

struct xw_mkfs {
	struct xw_diag diag;
	struct xw_mkfs_params params;
	struct xw_select select;
	XW_VEC(char *) sources;
	bool plan_only, direct, supers_only; /* -n, -D, -S */
	bool replace; /* --replace: a new file in place of an old one */
	char *bad_list; /* -l; owned */
	unsigned check; /* how often -c was set */
	bool find_uuid, find_seed; /* -S: those of the filesystem that is there */
	unsigned force; /* how often -F was set: once for content, twice for a target in use */
	enum xw_whiteouts whiteouts;
	bool one_file_system;
	unsigned jobs; /* 0 = processors */
	bool ran;
	xw_progress_cb *progress;
	void *progress_arg;
	xw_names_cb *names;
	void *names_arg;
	xw_log_cb *log;
	void *log_arg;
	struct xw_mkfs_result result;
	struct xw_json json;
};

/* sources.c: what making and importing share. */

/* Options that say how sources are read. XW_ERR_NOTFOUND: none of them. */
int xw_run_source_option(struct xw_mkfs *m, const char *option, const char *value);

/* What comes in: the tree that grows, where its data goes, and who hears of it. */
struct xw_intake {
	struct xw_mkfs *m;
	const char *path; /* of the image */
	const char *interrupted; /* what an interrupt is said to be */
	struct xw_edit *edit; /* whose image others may have while there is no input; or NULL */
	struct xw_tree tree;
	struct xw_sink sink;
	struct xw_fill fill;
	struct xw_source *source; /* the one being read; NULL in between */
	struct timespec begin, last_tick;
};
void xw_intake_begin(struct xw_intake *in, struct xw_mkfs *m, const char *path);
double xw_intake_seconds(const struct xw_intake *in); /* since then */
/* Is anybody to hear something again? */
bool xw_intake_due(const struct xw_intake *in);
/* XW_ERR_IO: interrupted. */
int xw_intake_tell(struct xw_intake *in, const struct xw_progress *p);
int xw_intake_report(struct xw_intake *in, const char *phase);
/* arg: the intake. While data comes, when it is due; and before each entry. */
int xw_intake_tick(void *arg);
int xw_intake_tick_entry(void *arg, uint64_t entries);
/* The tree is there. Sink and fill as they begin, and p's sharing, which is the caller's. */
int xw_intake_open(struct xw_intake *in, struct xw_placer *p);
/* Read all sources to their ends. skip: the target, should a source directory hold it. */
int xw_intake_read(struct xw_intake *in, bool threaded, const struct xw_file_id skip[2]);
void xw_intake_close(struct xw_intake *in); /* but for the tree */
/* New inodes of a tree, by kind. */
struct xw_run_count {
	uint64_t files, directories, symlinks, specials, hardlinks, files_with_data, extents;
	uint64_t in_inodes; /* files and directories that are inline */
};
void xw_run_count(const struct xw_binode *first, struct xw_run_count *c);
/* What allocator and sharing cache had to do, as lines of the log. */
void xw_run_statistics(struct xw_mkfs *m, const struct xw_space *space, struct xw_share *share);

/* Free what the handle owns, but not the handle. */
void xw_mkfs_clear(struct xw_mkfs *m);

/*
 * overwrite.c: may the target, open as fd, go? XW_ERR_BUSY: it is in use; XW_ERR_EXISTS: it holds
 * something, and -F was not set.
 */
int xw_overwrite_check(struct xw_mkfs *m, const char *path, int fd, const struct stat *st);

/* target.c: the device. */
struct xw_target {
	struct xw_dev *dev; /* NULL with plan_only */
	const char *path;
	uint64_t have; /* bytes an existing target offers behind -E offset; 0 = none */
	bool exists, is_block; /* exists: and is written to; a file to be replaced is not */
	bool replaces; /* --replace: there is a file of that name */
	struct xw_file_id opened, replaced; /* a source directory may hold them */
	struct xw_newfile *file; /* a new file of ours, without its name as yet */
	uint64_t file_size; /* of an existing regular file, which a failure gives back to it */
	bool cleared; /* the old content is gone */
};
/* What a device takes at least at once, in bytes; 0: it is none, or cannot be asked. */
uint32_t xw_target_sector(const char *path);
/* May the target be overwritten, and what does it offer? Opens nothing for writing. */
int xw_target_check(struct xw_mkfs *m, const char *path, struct xw_target *t);
/*
 * For looking at what the medium holds, past the page cache where that can be; for writing too with
 * -cc. t->dev is the caller's to close.
 */
int xw_target_open_check(struct xw_mkfs *m, struct xw_target *t);
/* Once params.size_bytes is settled. What is there is left as it is. */
int xw_target_open(struct xw_mkfs *m, struct xw_target *t);
/*
 * Now the old content goes: superblocks, redo file, everything that -E discard lets go. The source
 * is known to be good by then.
 */
int xw_target_clear(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick);
/* The filesystem is whole: a new file gets its name, an old one the size that it is to have. */
int xw_target_publish(struct xw_mkfs *m, struct xw_target *t);
/* Closes. When `ok` is false a new file goes, and an old one has its old size. */
void xw_target_close(struct xw_target *t, bool ok);

/* bad.c: -l and -c. */

/* The list of -l into params.bad, once params are final. */
int xw_bad_load(struct xw_mkfs *m);
struct xw_bad_scan {
	struct xw_mkfs *m;
	int (*progress)(void *arg, uint64_t done, uint64_t total); /* non-zero ends the search */
	void *arg;
};
/* Search the target, and add what is found to params.bad. -cc destroys the content. */
int xw_bad_find(const struct xw_bad_scan *b, const struct xw_target *t);

/* supers.c: -S. */

/* What does not go with it. Between xw_params_check and xw_params_finish. */
int xw_supers_check(struct xw_mkfs *m);
/*
 * UUID and hash seed from a copy of the superblock. XW_ERR_USAGE when one says that geo is not the
 * shape of the filesystem, and, with checksums, when none is left; with force not.
 */
int xw_supers_identity(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo);

/* journal.c: external journals. */

/*
 * -J device=: open and read it, so that its block size and UUID are known to xw_params_finish.
 * Without that option nothing, and j->dev stays NULL.
 */
int xw_journal_open(struct xw_mkfs *m, struct xw_jdev *j);
/* Once the parameters are final: does it fit, is it free? */
int xw_journal_check(struct xw_mkfs *m, const struct xw_jdev *j);
/* -O journal_dev: make one in place of a filesystem. */
int xw_journal_make(struct xw_mkfs *m, struct xw_target *t);

#endif
