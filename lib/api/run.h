/* SPDX-License-Identifier: MIT */
/* struct xw_mkfs, and the steps of a run. */
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

/* Statistics of a run. */
struct xw_run_stats {
	bool known;
	struct xw_space_stats space;
	size_t memory; /* used by the allocator, in bytes */
	struct xw_cache_stats cache; /* sharing of xattr blocks */
	struct xw_xintern_stats sets; /* sharing of attribute sets */
};

struct xw_mkfs {
	struct xw_diag diag;
	struct xw_mkfs_params params;
	struct xw_select select;
	bool no_overwrite_dir;
	struct xw_labels labels;
	XW_VEC(char *) sources;
	XW_VEC(char *) tables; /* --device-table; applied after the sources */
	/* parallel to sources: the callback that supplies the source; fn NULL: a path */
	XW_VEC(struct xw_feed_call) calls;
	bool plan_only, direct, supers_only; /* -n, -D, -S */
	bool replace; /* --replace: create a new file and rename it over an existing one */
	char *bad_list; /* -l; owned */
	char *undo_file; /* -z; owned */
	unsigned check; /* number of -c options */
	uint32_t sector, physical_sector; /* in bytes; 0: as the device reports */
	bool find_uuid, find_seed; /* -S: use those of the existing filesystem */
	/* number of -F options: one for existing contents, two for a target in use */
	unsigned force;
	enum xw_whiteouts whiteouts;
	bool one_file_system, ignore_unreadable;
	bool no_oci; /* --no-oci: container images are stored as files */
	char *platform, *spool_dir; /* --platform, --tmpdir; owned, or NULL */
	bool spool_limited; /* --spool-limit */
	uint64_t spool_limit;
	/* --oci-config, and its contents; owned */
	char *oci_config_file;
	bool oci_source; /* a container image was read */
	char *oci_config;
	size_t oci_config_len;
	struct xw_newfile *oci_config_new; /* written but not yet renamed into place */
	unsigned jobs; /* 0 = one per processor */
	bool ran;
	xw_progress_cb *progress;
	void *progress_arg;
	xw_names_cb *names;
	void *names_arg;
	struct xw_log_to log;
	struct xw_mkfs_result result;
	XW_VEC(uint64_t) backups; /* blocks of superblock backups, for the result */
	struct xw_run_stats stats;
	struct xw_json json;
};

/* sources.c: shared by creating and importing. */

/* Set an option for reading sources. XW_ERR_NOTFOUND: unknown option. */
int xw_run_source_option(struct xw_mkfs *m, const char *option, const char *value);

/* Store a copy of the value of an option, which must not be empty. */
int xw_run_set_text(struct xw_mkfs *m, const char *option, const char *value, char **to);
/* Free the values of these options. */
void xw_run_source_clear(struct xw_mkfs *m);
/*
 * oci_config.c: --oci-config. Called after all sources were read: write the configuration of the
 * last container image, without changing an existing file.
 */
int xw_run_oci_config(struct xw_mkfs *m);
/* XW_ERR_INPUT if all sources were opened and none is a container image. */
int xw_run_oci_config_needed(struct xw_mkfs *m, size_t opened);
/* Called when the image is complete and closed. May block. */
int xw_run_oci_config_publish(struct xw_mkfs *m);
void xw_run_oci_config_clear(struct xw_mkfs *m);
/*
 * Called before anything is read. XW_ERR_USAGE: the file is the image or a source; XW_ERR_IO: it
 * cannot be written.
 */
int xw_run_oci_config_check(struct xw_mkfs *m, const char *path);

/* The input of a run: the tree being filled, the destination of data, and progress reports. */
struct xw_intake {
	struct xw_mkfs *m;
	const char *path; /* path of the image */
	const char *interrupted; /* message of a canceled run */
	/* other processes may access its image while the run waits for input; or NULL */
	struct xw_edit *edit;
	struct xw_tree tree;
	struct xw_sink sink;
	struct xw_fill fill;
	struct xw_source *source; /* the source being read, or NULL */
	struct timespec begin, last_tick;
};
void xw_intake_begin(struct xw_intake *in, struct xw_mkfs *m, const char *path);
double xw_intake_seconds(const struct xw_intake *in); /* since xw_intake_begin() */
/* Is a progress report due? */
bool xw_intake_due(const struct xw_intake *in);
/* Report progress. XW_ERR_CANCELED. */
int xw_intake_progress(struct xw_intake *in, const struct xw_progress *p);
int xw_intake_report(struct xw_intake *in, const char *phase);
/*
 * Callbacks of sources: called periodically while data is read, and before each entry. arg: the
 * intake.
 */
int xw_intake_tick(void *arg);
int xw_intake_tick_entry(void *arg, uint64_t entries);
/*
 * Initialize sink, fill, and p->share and p->intern, which the caller frees. in->tree must be
 * initialized.
 */
int xw_intake_open(struct xw_intake *in, struct xw_placer *p);
/* Read all sources. skip: files that are skipped in source directories: the target. */
int xw_intake_read(struct xw_intake *in, bool threaded, const struct xw_file_id skip[2]);
void xw_intake_close(struct xw_intake *in); /* does not close the tree */
/* Counts of the new inodes of a tree, by type. */
struct xw_run_count {
	uint64_t files, directories, symlinks, specials, hardlinks, files_with_data, extents;
	uint64_t in_inodes; /* files and directories stored inline */
};
void xw_run_count(const struct xw_binode *first, struct xw_run_count *c);
/* statistics.c: store and log statistics of the allocator and of attribute sharing. */
void xw_run_statistics(struct xw_mkfs *m, const struct xw_space *space, struct xw_share *share,
		       const struct xw_xintern *sets);
/* Write the stored statistics as JSON members. */
void xw_run_stats_json(const struct xw_mkfs *m, struct xw_json *j);

/* Free the contents of the handle but not *m. */
void xw_mkfs_clear(struct xw_mkfs *m);

/*
 * overwrite.c: may the target, open as fd, be overwritten? XW_ERR_BUSY: it is in use;
 * XW_ERR_EXISTS: it has contents, and -F was not set. Contents are examined from -E offset on, for
 * `window` bytes or, with 0, to the end.
 */
int xw_overwrite_check(struct xw_mkfs *m, const char *path, int fd, const struct stat *st,
		       uint64_t window);

/* target.c: the image file or device. */
struct xw_target {
	struct xw_dev *dev; /* NULL before xw_target_open() */
	const char *path;
	uint64_t have; /* size available in an existing target after -E offset; 0 = none */
	/* with -E offset: bytes to the end of the partition or device; 0: the file may grow */
	uint64_t window;
	unsigned partition; /* number of the partition that begins there; 0: none */
	bool exists, is_block; /* exists: overwrite in place; false for --replace */
	bool replaces; /* --replace: a file of that name exists */
	struct xw_file_id opened, replaced; /* may be inside a source directory */
	struct xw_newfile *file; /* a new file without a name yet */
	uint64_t file_size; /* size of an existing file, restored after a failure */
	bool cleared; /* the old contents were removed */
	bool undo; /* dev writes an undo file */
};
/* Set sector sizes that no option has set to those of the device, if path is one. */
void xw_target_sectors(struct xw_mkfs *m, const char *path);
/*
 * Check that the target may be overwritten, and determine its size, without opening it for writing.
 */
int xw_target_check(struct xw_mkfs *m, const char *path, struct xw_target *t);
/*
 * Check the final params.size_bytes. XW_ERR_EXISTS: the filesystem would exceed its partition, and
 * -F was not set.
 */
int xw_target_fits(struct xw_mkfs *m, const struct xw_target *t);
/*
 * Open the target for the bad block search: with O_DIRECT if possible, read-only unless -cc is set.
 * The caller closes t->dev.
 */
int xw_target_open_check(struct xw_mkfs *m, struct xw_target *t);
/* Open the target, with params.size_bytes final. Existing contents are not changed. */
int xw_target_open(struct xw_mkfs *m, struct xw_target *t);
/*
 * Remove the old contents: superblocks, redo file, and with -E discard everything. Called when the
 * first source has proved readable.
 */
int xw_target_clear(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick);
/* Called when the filesystem is complete: rename a new file into place and finish the undo file. */
int xw_target_publish(struct xw_mkfs *m, struct xw_target *t);
/* Close the target. Unless `ok`, remove a new file or restore the size of an existing one. */
void xw_target_close(struct xw_target *t, bool ok);

/* bad.c: -l and -c. */

/* Read the list of -l into params.bad, when params are final. */
int xw_bad_load(struct xw_mkfs *m);
struct xw_bad_scan {
	struct xw_mkfs *m;
	int (*progress)(void *arg, uint64_t done, uint64_t total); /* non-zero ends the search */
	void *arg;
};
/* Search the target for bad blocks and add them to params.bad. -cc destroys the contents. */
int xw_bad_find(const struct xw_bad_scan *b, const struct xw_target *t);

/* supers.c: -S. */

/* Check for options that contradict -S. Called between xw_params_check() and xw_params_finish(). */
int xw_supers_check(struct xw_mkfs *m);
/*
 * Take UUID and hash seed from a superblock copy. XW_ERR_USAGE, unless -F is set: a copy shows
 * another geometry than geo, or no copy was found and checksums depend on the UUID.
 */
int xw_supers_identity(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo);

/* journal.c: external journals. */

/*
 * -J device=: open and read it, so that its block size and UUID are known to xw_params_finish.
 * Without that option j->dev stays NULL.
 */
int xw_journal_open(struct xw_mkfs *m, struct xw_jdev *j);
/* Check with final parameters that the journal is suitable and unused. */
int xw_journal_check(struct xw_mkfs *m, const struct xw_jdev *j);
/* -O journal_dev: create a journal device instead of a filesystem. */
int xw_journal_make(struct xw_mkfs *m, struct xw_target *t);

#endif
