/* SPDX-License-Identifier: MIT */
/* The handle behind struct xw_mkfs, and the steps of a run. */
#ifndef XW_API_RUN_H
#define XW_API_RUN_H

#include <sys/stat.h>
#include <time.h>

#include "api/tell.h"
#include "api/xw.h"
#include "base/json.h"
#include "dev/newfile.h"
#include "fill/builder.h"
#include "fill/jdev.h"
#include "import/fill.h"
#include "plan/params.h"

/* What the run did, for reports. */
struct xw_run_stats {
	bool known;
	struct xw_space_stats space;
	size_t memory; /* of the allocator */
	struct xw_cache_stats cache; /* of blocks, by contents */
	struct xw_xintern_stats sets; /* of attributes, before they are blocks */
};

struct xw_mkfs {
	struct xw_diag diag;
	struct xw_mkfs_params params;
	struct xw_select select;
	struct xw_labels labels;
	XW_VEC(char *) sources;
	XW_VEC(char *) tables; /* --device-table: read after the sources */
	/* for each of sources: fn NULL if that is a path, else what supplies it, and its name */
	XW_VEC(struct xw_feed_call) calls;
	bool plan_only, direct, supers_only; /* -n, -D, -S */
	bool replace; /* --replace: a new file replaces an old one */
	char *bad_list; /* -l; owned */
	char *undo_file; /* -z; owned */
	unsigned check; /* number of -c options */
	uint32_t sector, physical_sector; /* 0: those of the device */
	bool find_uuid, find_seed; /* -S: use those of the existing filesystem */
	/* number of -F options: one for existing contents, two for a target in use */
	unsigned force;
	enum xw_whiteouts whiteouts;
	bool one_file_system, ignore_unreadable;
	bool no_oci; /* --no-oci: container images are stored as files */
	char *platform, *spool_dir; /* --platform, --tmpdir; owned, or NULL */
	bool spool_limited; /* --spool-limit */
	uint64_t spool_limit;
	/* --oci-config, and what it will hold: owned */
	char *oci_config_file;
	bool oci_source; /* a container image was read */
	char *oci_config;
	size_t oci_config_len;
	struct xw_newfile *oci_config_new; /* it is written, and has no name yet */
	unsigned jobs; /* 0 = one per processor */
	bool ran;
	xw_progress_cb *progress;
	void *progress_arg;
	xw_names_cb *names;
	void *names_arg;
	struct xw_log_to log;
	struct xw_mkfs_result result;
	XW_VEC(uint64_t) backups; /* of the superblock, for the result */
	struct xw_run_stats stats;
	struct xw_json json;
};

/* sources.c: shared by creating and importing. */

/* Options for reading sources. XW_ERR_NOTFOUND: not one of these. */
int xw_run_source_option(struct xw_mkfs *m, const char *option, const char *value);

/* Store a copy of the value of an option, which must not be empty. */
int xw_run_set_text(struct xw_mkfs *m, const char *option, const char *value, char **to);
/* Free what these options have stored. */
void xw_run_source_clear(struct xw_mkfs *m);
/*
 * oci_config.c: --oci-config. When all sources were read, prepare to write the configuration of the
 * last container image, as far as that can be done without a change to an existing file.
 * XW_ERR_INPUT: there was none.
 */
int xw_run_oci_config(struct xw_mkfs *m);
/* So many sources were opened, which are all: XW_ERR_INPUT if none has a configuration. */
int xw_run_oci_config_needed(struct xw_mkfs *m, size_t opened);
/* When the image is complete, and closed: may block. */
int xw_run_oci_config_publish(struct xw_mkfs *m);
void xw_run_oci_config_clear(struct xw_mkfs *m);
/*
 * Before anything is read: the file must be neither the image nor a source (XW_ERR_USAGE), and in a
 * place that can be written.
 */
int xw_run_oci_config_check(struct xw_mkfs *m, const char *path);

/* The input of a run: the tree being filled, the destination of data, and progress reports. */
struct xw_intake {
	struct xw_mkfs *m;
	const char *path; /* path of the image */
	const char *interrupted; /* the message on an interrupt */
	/* other processes may open its image while waiting for input; or NULL */
	struct xw_edit *edit;
	struct xw_tree tree;
	struct xw_sink sink;
	struct xw_fill fill;
	struct xw_source *source; /* the current source; NULL in between */
	struct timespec begin, last_tick;
};
void xw_intake_begin(struct xw_intake *in, struct xw_mkfs *m, const char *path);
double xw_intake_seconds(const struct xw_intake *in); /* seconds since then */
/* Is a progress report due? */
bool xw_intake_due(const struct xw_intake *in);
/* XW_ERR_CANCELED */
int xw_intake_tell(struct xw_intake *in, const struct xw_progress *p);
int xw_intake_report(struct xw_intake *in, const char *phase);
/* arg: the intake. Called periodically while data arrives, and before each entry. */
int xw_intake_tick(void *arg);
int xw_intake_tick_entry(void *arg, uint64_t entries);
/* The tree exists. Initializes sink and fill, and the sharing of p, which the caller owns. */
int xw_intake_open(struct xw_intake *in, struct xw_placer *p);
/* Read all sources completely. skip: the target, in case a source directory contains it. */
int xw_intake_read(struct xw_intake *in, bool threaded, const struct xw_file_id skip[2]);
void xw_intake_close(struct xw_intake *in); /* does not close the tree */
/* Counts of the new inodes of a tree, by type. */
struct xw_run_count {
	uint64_t files, directories, symlinks, specials, hardlinks, files_with_data, extents;
	uint64_t in_inodes; /* files and directories stored inline */
};
void xw_run_count(const struct xw_binode *first, struct xw_run_count *c);
/* statistics.c: keep and log what the allocator did, and the sharing of attributes. */
void xw_run_statistics(struct xw_mkfs *m, const struct xw_space *space, struct xw_share *share,
		       const struct xw_xintern *sets);
/* The same as members of the result. */
void xw_run_stats_json(const struct xw_mkfs *m, struct xw_json *j);

/* Free the contents of the handle, not the handle itself. */
void xw_mkfs_clear(struct xw_mkfs *m);

/*
 * overwrite.c: may the target, open as fd, be overwritten? XW_ERR_BUSY: it is in use;
 * XW_ERR_EXISTS: it has contents, and -F was not set. Only `window` bytes from -E offset on are
 * examined; 0: all up to the end.
 */
int xw_overwrite_check(struct xw_mkfs *m, const char *path, int fd, const struct stat *st,
		       uint64_t window);

/* target.c: the device. */
struct xw_target {
	struct xw_dev *dev; /* NULL with plan_only */
	const char *path;
	uint64_t have; /* size available in an existing target after -E offset; 0 = none */
	uint64_t partition_size; /* of the partition that begins at -E offset; 0: none */
	unsigned partition; /* its number */
	bool exists, is_block; /* exists: and is overwritten; false for a file to be replaced */
	bool replaces; /* --replace: there is a file of that name */
	struct xw_file_id opened, replaced; /* may be inside a source directory */
	struct xw_newfile *file; /* a new file of ours, not named yet */
	uint64_t file_size; /* size of an existing regular file, restored after a failure */
	bool cleared; /* the old contents were removed */
	bool undo; /* dev writes an undo file */
};
/* Set the sector sizes that no option gave to those of the device; 0: not a device, or unknown. */
void xw_target_sectors(struct xw_mkfs *m, const char *path);
/* May the target be overwritten, and what is its size? Does not open it for writing. */
int xw_target_check(struct xw_mkfs *m, const char *path, struct xw_target *t);
/* XW_ERR_EXISTS: params.size_bytes, now final, reaches beyond the partition, and -F was not set. */
int xw_target_fits(struct xw_mkfs *m, const struct xw_target *t);
/*
 * Open for reading the medium, bypassing the page cache if possible; with -cc for writing, too. The
 * caller closes t->dev.
 */
int xw_target_open_check(struct xw_mkfs *m, struct xw_target *t);
/* Called when params.size_bytes is final. Existing contents are not touched. */
int xw_target_open(struct xw_mkfs *m, struct xw_target *t);
/*
 * Remove the old contents: superblocks, redo file, everything that -E discard discards. The source
 * was opened successfully by then.
 */
int xw_target_clear(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick);
/* The filesystem is complete: a new file gets its name, an old one its final size. */
int xw_target_publish(struct xw_mkfs *m, struct xw_target *t);
/* Close. If `ok` is false a new file is removed, and an old one gets its old size. */
void xw_target_close(struct xw_target *t, bool ok);

/* bad.c: -l and -c. */

/* Read the list of -l into params.bad, when params are final. */
int xw_bad_load(struct xw_mkfs *m);
struct xw_bad_scan {
	struct xw_mkfs *m;
	int (*progress)(void *arg, uint64_t done, uint64_t total); /* non-zero ends the search */
	void *arg;
};
/* Search the target, and add the bad blocks to params.bad. -cc destroys the contents. */
int xw_bad_find(const struct xw_bad_scan *b, const struct xw_target *t);

/* supers.c: -S. */

/*
 * Check for options that contradict it. To be called between xw_params_check and xw_params_finish.
 */
int xw_supers_check(struct xw_mkfs *m);
/*
 * Take UUID and hash seed from a copy of the superblock. XW_ERR_USAGE when a copy shows that geo is
 * not the geometry of the filesystem, and, with checksums, when no copy is left; not with force.
 */
int xw_supers_identity(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo);

/* journal.c: external journals. */

/*
 * -J device=: open and read it, so that its block size and UUID are known to xw_params_finish.
 * Without that option j->dev stays NULL.
 */
int xw_journal_open(struct xw_mkfs *m, struct xw_jdev *j);
/* When the parameters are final: is it suitable and unused? */
int xw_journal_check(struct xw_mkfs *m, const struct xw_jdev *j);
/* -O journal_dev: create one instead of a filesystem. */
int xw_journal_make(struct xw_mkfs *m, struct xw_target *t);

#endif
