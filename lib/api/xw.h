/* SPDX-License-Identifier: MIT */
/*
 * libextwright: build, populate and inspect ext4 images offline, as an ordinary user.
 *
 * A handle is created, given options by the names that the tools' man pages use, run once, read,
 * and freed. Functions return 0 or a negative code (XW_E_*); xw_*_error() returns a one-line
 * message with object and reason. The library never prints, exits, or reads the environment. A
 * handle belongs to one thread at a time; different handles are independent.
 */
#ifndef XW_H
#define XW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Error codes that callers may want to distinguish; other negative values are further failures. */
#define XW_E_NOMEM (-1) /* out of memory */
#define XW_E_USAGE (-2) /* invalid option or argument: nothing was done */
#define XW_E_IO (-3) /* reading a source or the image, or writing the target failed */
#define XW_E_NOSPC (-4) /* the image is too small */
#define XW_E_NOINODES (-5) /* the image has too few inodes */
#define XW_E_HOSTFULL (-6) /* the host filesystem is full */
#define XW_E_CORRUPT (-7) /* the image is damaged */
#define XW_E_CHECKSUM (-8) /* damaged, possibly only a checksum */
#define XW_E_UNSUPPORTED (-9) /* a feature that this version does not support */
#define XW_E_INPUT (-10) /* not in the expected format: malformed archive, no ext filesystem */
#define XW_E_TRUNCATED (-11) /* the source or image ends early */
#define XW_E_EXISTS (-12) /* the target has contents and "-F" was not set; a file exists already */
#define XW_E_LIMIT (-13) /* a limit of the filesystem format would be exceeded */
#define XW_E_NOTFOUND (-14) /* a file, or a path in the image, does not exist */
/* the image does not allow it now: it needs a check, or an interrupted change cannot be completed */
#define XW_E_STATE (-15)
#define XW_E_BUSY (-17) /* the target is mounted or in use; "-F" set twice overwrites even that */
#define XW_E_CANCELED (-18) /* a progress callback canceled the run */
#define XW_E_RAN (-19) /* the handle, of a kind that runs once, was run already */
#define XW_E_MISSED (-20) /* aging ended without reaching what "--until" asks for */

/* "0.1.0". Static storage. */
const char *xw_version(void);

/* XW_NOTE: no problem, but for the user's eyes, unless asked to be quiet. */
enum xw_severity { XW_WARNING = 1, XW_INFO = 2, XW_DEBUG = 3, XW_NOTE = 4 };

/* One line without newline; called from the thread that runs the handle. */
typedef void xw_log_cb(void *arg, enum xw_severity severity, const char *line);

struct xw_progress {
	const char *phase; /* "data", "metadata", "flush" */
	uint64_t done, total; /* bytes of input; total 0 = unknown */
	uint64_t files; /* entries read so far */
};
/* At most a few times a second. Non-zero cancels the run with XW_E_CANCELED. */
typedef int xw_progress_cb(void *arg, const struct xw_progress *p);

/* Result of a run. All counts are those of the finished image. */
struct xw_mkfs_result {
	uint64_t size_bytes, block_size, blocks, free_blocks, inodes, free_inodes, groups;
	/* entries of the source; the root and lost+found are not counted among the directories */
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t data_blocks, metadata_blocks, journal_blocks; /* metadata without the journal */
	uint64_t directory_blocks, indexed_directories;
	uint64_t xattr_blocks, xattr_references, xattr_in_inode, ea_inodes;
	uint64_t extents, files_with_data;
	uint64_t inline_inodes; /* files and directories without blocks (inline_data) */
	/* blocks written for files that a later entry or layer replaced */
	uint64_t replaced_blocks;
	uint64_t bytes_in, bytes_written, writes, sequential_writes, backward_seeks;
	uint64_t warnings;
	double seconds;
	uint8_t uuid[16];
	uint64_t bad_blocks; /* excluded from use */
	/* how large resize2fs(8) makes it without moving anything, and what every new group gets */
	uint64_t growth_bytes, group_bytes, inodes_per_group;
	const uint64_t *superblock_backups; /* their blocks; owned by the handle */
	uint64_t n_superblock_backups;
};

struct xw_mkfs;

int xw_mkfs_new(struct xw_mkfs **out);
void xw_mkfs_free(struct xw_mkfs *m);
/*
 * Set one option by its name on the command line: "-b" "4096", "-O" "^has_journal", "--free" "5%",
 * "-F" NULL, "SIZE" "1G". See xw-mkfs(8) for all of them; also "now" (seconds since 1970, default:
 * the clock), "sector-size" and "physical-sector-size" (bytes, default: the device's). Dates
 * ("--mtime", "--newer") are seconds since 1970, too, with or without a fraction; names in
 * "--owner-map" need xw_mkfs_on_names() before. The message of XW_E_USAGE or XW_E_UNSUPPORTED names
 * option and value.
 */
int xw_mkfs_set(struct xw_mkfs *m, const char *option, const char *value);
/*
 * Types ("-t", "-T") and defaults from a text in the syntax of mke2fs.conf(5), instead of the
 * built-in table. `name` is its name in messages. The message of XW_E_USAGE has the line number.
 */
int xw_mkfs_set_config(struct xw_mkfs *m, const char *name, const char *text, size_t len);
/*
 * Fill from a directory, archive or "-" (standard input), or from a container image: an OCI layout
 * or the archive of docker save, also as "oci:PATH[:REF]" or "docker-archive:FILE[:TAG]"
 * ("--platform", "--oci-config", "--no-oci"; "--tmpdir" and "--spool-limit" for temporary files).
 * Several sources are layers: later ones take precedence, and OCI whiteouts are applied
 * ("--whiteouts").
 */
int xw_mkfs_add_source(struct xw_mkfs *m, const char *path);
/*
 * Reads up to len bytes of an archive into buf: returns their number, which may be smaller, 0 at
 * the end, or a negative number: the run ends with XW_E_IO. Called on the thread that runs the
 * handle, in the order of the sources; not after it has returned one of the last two.
 */
typedef int64_t xw_read_cb(void *arg, void *buf, size_t len);
/*
 * The same for an archive (of any format and compression) that a function supplies; name is for
 * messages. What it supplies is read once, so that it need not be seekable.
 */
int xw_mkfs_add_source_cb(struct xw_mkfs *m, xw_read_cb *read, void *arg, const char *name);
void xw_mkfs_on_log(struct xw_mkfs *m, xw_log_cb *cb, void *arg);
/*
 * Resolves the name of a user (group: of a group) to its number: 0 and *id, or non-zero. ACLs in
 * archives may have names without numbers; without this callback such an ACL is an error.
 */
typedef int xw_names_cb(void *arg, int group, const char *name, uint32_t *id);
void xw_mkfs_on_names(struct xw_mkfs *m, xw_names_cb *cb, void *arg);
void xw_mkfs_on_progress(struct xw_mkfs *m, xw_progress_cb *cb, void *arg);
/*
 * Create the image at `path`. With "-n" set, plan only: nothing is opened for writing. A new
 * regular file that could not be completed is removed. One run per handle.
 */
int xw_mkfs_run(struct xw_mkfs *m, const char *path);
/* Valid after a run that returned 0; owned by the handle. */
const struct xw_mkfs_result *xw_mkfs_result(const struct xw_mkfs *m);
/* The result as one JSON object; NULL when out of memory. Owned by the handle. */
const char *xw_mkfs_json(struct xw_mkfs *m);
/* The message of the last failure; "" if there was none. Owned by the handle. */
const char *xw_mkfs_error(const struct xw_mkfs *m);

/* ---- importing archives and directories into an existing image ---- */

struct xw_import;

struct xw_import_result {
	uint64_t files, directories, symlinks, specials, hardlinks; /* new inodes and names */
	uint64_t new_inodes;
	uint64_t removed_inodes; /* of files that were replaced or whited out */
	uint64_t freed_blocks; /* blocks of these, and of directories that were rebuilt */
	uint64_t rebuilt_directories; /* existing ones whose names changed */
	uint64_t orphans; /* released before the import */
	uint64_t data_blocks, extents, files_with_data, inline_inodes;
	/* blocks written for files that a later entry or layer replaced */
	uint64_t replaced_blocks;
	uint64_t block_size, free_blocks, free_inodes; /* of the resulting image */
	uint64_t commit_blocks; /* live blocks overwritten, as one unit */
	uint64_t bytes_in, bytes_written, warnings;
	/*
	 * How it was committed: "journal" (the image's), "inside" (a redo record in the image),
	 * "file" (a redo file), "auto" (there was nothing to commit); a constant.
	 */
	const char *commit;
	int replayed; /* the journal was replayed before the import */
	double seconds;
};

int xw_import_new(struct xw_import **out);
void xw_import_free(struct xw_import *x);
/*
 * The options of xw_mkfs_set() for reading sources ("--exclude", "--directory", "--whiteouts",
 * "--jobs", ...), "-E" with "offset=" and "mb_...=", "now"; "--redo-file" FILE, "--redo-dir" DIR
 * (for a redo file if there is no room in the image), "--undo-file" FILE, "--commit" auto, journal,
 * inside or file; "--keep-old-files" or "--skip-old-files"; "--dry-run": nothing
 * is written, and the result describes what the run would do.
 */
int xw_import_set(struct xw_import *x, const char *option, const char *value);
/*
 * A directory, archive or "-"; later ones take precedence, and the contents of the image are the
 * lowest layer.
 */
int xw_import_add_source(struct xw_import *x, const char *path);
/* As xw_mkfs_add_source_cb(). */
int xw_import_add_source_cb(struct xw_import *x, xw_read_cb *read, void *arg, const char *name);
void xw_import_on_log(struct xw_import *x, xw_log_cb *cb, void *arg);
void xw_import_on_names(struct xw_import *x, xw_names_cb *cb, void *arg);
void xw_import_on_progress(struct xw_import *x, xw_progress_cb *cb, void *arg);
/*
 * Import all sources into the image at `path`, as one change: after a failure, or if the process is
 * killed, the image has the old state, or gets the new one when it is opened next. One run per
 * handle.
 */
int xw_import_run(struct xw_import *x, const char *path);
const struct xw_import_result *xw_import_result(const struct xw_import *x);
const char *xw_import_json(struct xw_import *x);
const char *xw_import_error(const struct xw_import *x);

/* ---- exporting an image as an archive, as files, or as a listing ---- */

struct xw_export;

struct xw_export_result {
	/* number exported or listed; the root is not counted among the directories */
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t sparse_files, xattrs, acls;
	uint64_t sockets; /* skipped in archives, which cannot store them */
	uint64_t damaged; /* skipped or incomplete: each is named in the log */
	uint64_t data_bytes, bytes_out;
	double seconds;
	uint64_t failed; /* not written, or not unchanged: each is named in the log */
	uint64_t missing; /* requested paths that do not exist */
	int pending; /* the image has an interrupted change, and is read as if completed */
};

int xw_export_new(struct xw_export **out);
void xw_export_free(struct xw_export *x);
/*
 * Set one option by its name on the command line of xw-export(8): "--directory" DIR, "--order"
 * "name", "--exclude" PATTERN, "--format" "newc", "--zstd" NULL, "--level" "19", "--same-owner"
 * NULL, "--preserve-permissions" NULL, "--ignore-checksums" NULL, "-E" "offset=BYTES",
 * "--redo-file" PATH, ...; "--auto-compress" FILE: as the end of this name asks; also "umask"
 * (octal, for extracting; default 022). XW_E_USAGE names option and value.
 */
int xw_export_set(struct xw_export *x, const char *option, const char *value);
/*
 * Export only this path of the image, with everything below it; may be called several times. It may
 * be a shell pattern.
 */
int xw_export_add_path(struct xw_export *x, const char *path);
void xw_export_on_log(struct xw_export *x, xw_log_cb *cb, void *arg);
void xw_export_on_progress(struct xw_export *x, xw_progress_cb *cb, void *arg);

/* Consumes all bytes: 0, or a negative code that ends the run and is returned by it. */
typedef int xw_write_cb(void *arg, const void *buf, size_t len);
/*
 * Write the contents of the image as an archive, pax unless "--format" selects another one; each
 * directory precedes its contents. The contents of the journal or a redo file are taken into
 * account in memory: nothing is written to the image.
 *
 * Callbacks are called on the caller's thread. Compression uses another one; if the run is canceled
 * meanwhile it returns at once, and that thread may end later, without touching anything owned by
 * the caller.
 *
 * This and the next two functions: after XW_E_CORRUPT (the image is damaged), XW_E_NOTFOUND (a path
 * does not exist) and, with `failed` counted in the result, other codes (something could not be
 * written unchanged), all the rest was written, and an archive is complete (bytes_out 0: the image
 * could not be opened).
 */
int xw_export_run(struct xw_export *x, const char *image, xw_write_cb *write, void *arg);
/*
 * Unpack everything into directory `dir`, which is created if missing, as tar(1) does. Symbolic
 * links in it are never followed.
 */
int xw_export_extract(struct xw_export *x, const char *image, const char *dir);

struct xw_export_entry {
	const char *path; /* no leading slash; "" is the root. Valid during the call, like link */
	const char
		/* target of a symlink, or the first name of a file with several; else NULL */
		*link;
	int hardlink; /* this is a further name */
	uint32_t ino, mode, uid, gid, links, dev_major, dev_minor;
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_nsec;
};
/* Non-zero ends the listing and is returned. */
typedef int xw_entry_cb(void *arg, const struct xw_export_entry *e);
int xw_export_list(struct xw_export *x, const char *image, xw_entry_cb *each, void *arg);
/* Called by xw_export_extract() for each file that was created. NULL: nothing is. */
void xw_export_on_entry(struct xw_export *x, xw_entry_cb *cb, void *arg);

/* Valid after run or list; owned by the handle. A handle can be run again. */
const struct xw_export_result *xw_export_result(const struct xw_export *x);
const char *xw_export_json(struct xw_export *x);
const char *xw_export_error(const struct xw_export *x);

/* ---- checking and repairing an image ---- */

struct xw_check;

/* Exit status of xw-fsck(8), the sum of these. */
#define XW_CHECK_REPAIRED 1
#define XW_CHECK_REBOOT 2 /* the root filesystem was changed while it is mounted */
#define XW_CHECK_LEFT 4 /* errors are left */
#define XW_CHECK_FAILED 8 /* the check was not completed, and nothing was repaired */
#define XW_CHECK_USAGE 16
#define XW_CHECK_CANCELED 32

/* A note repairs no damage (an index is rebuilt, a count follows), and does not count as found. */
enum xw_finding_severity { XW_FINDING_NOTE, XW_FINDING_MINOR, XW_FINDING_ERROR, XW_FINDING_FATAL };

struct xw_finding {
	const char *id; /* "inode-dtime-set": permanent, xw-fsck(8) lists them all; a constant */
	enum xw_finding_severity severity;
	const char *text; /* one line; valid during the call */
	/* what it is about: numbers of inodes, groups and blocks; -1: not about one */
	int64_t inode, directory, group, block, logical_block;
	/*
	 * It is repaired by this run: if that is completed, and with "-p", unless a later finding
	 * needs an administrator.
	 */
	int repaired;
	int follows; /* it follows from a repair; the image did not come with it */
	uint64_t round; /* how often everything was checked by then, from 1 */
};
typedef void xw_finding_cb(void *arg, const struct xw_finding *f);

struct xw_check_result {
	int status; /* the exit status that xw-fsck would have: XW_CHECK_* */
	int clean; /* no error is left */
	int modified; /* the image was written to */
	int reboot; /* the system should be rebooted: XW_CHECK_REBOOT */
	int skipped; /* it is marked clean, and was not checked ("-f" checks it nevertheless) */
	/* an interrupted change is pending: the image was checked as if it were complete ("-n") */
	int pending;
	int completed; /* an interrupted change was completed first */
	/* errors that the image came with, without notes: all of them, repaired, and left */
	uint64_t found, repaired, left;
	uint64_t later; /* that followed from repairs */
	uint64_t notes;
	uint64_t rounds; /* how often everything was checked */
	/* of the filesystem; blocks are of block_size bytes. 0 if it could not be opened */
	uint64_t block_size, blocks, used_blocks, inodes, used_inodes;
	/* of all inodes in use, as xw-fsck -v prints them; 0 if it was skipped */
	uint64_t regular_files, directories, symlinks, specials, hardlinks;
	uint64_t fragmented_files, fragmented_directories; /* not contiguous */
	uint64_t warnings;
	double seconds;
};

int xw_check_new(struct xw_check **out);
void xw_check_free(struct xw_check *c);
/*
 * Set one option by its name on the command line of xw-fsck(8): "-y" NULL, "-f" NULL, "-b" "32768",
 * "-E" "offset=1048576", "-z" FILE, ...; also "--redo-dir" DIR (for a redo file if there is no room
 * in the image) and "now" (seconds since 1970, default: the clock). Questions cannot be asked:
 * without "-p", "-n" and "-y" it is "-n". "-j" has to name an external journal. Options for what
 * the tool prints (-C, -d, -q, -t, -v, --json) do not exist. XW_E_USAGE names option and value.
 */
int xw_check_set(struct xw_check *c, const char *option, const char *value);
/* XW_INFO: what is done; XW_NOTE: what "-E" "fragcheck" finds, and a pending change. */
void xw_check_on_log(struct xw_check *c, xw_log_cb *cb, void *arg);
/*
 * Called at the start of each pass and a few times a second. phase is "open", "bad blocks" ("-c"),
 * or "pass 1" to "pass 5", as e2fsck(8) numbers them; done and total are of the first round over
 * everything, not in bytes. Non-zero cancels the run: nothing is repaired.
 */
void xw_check_on_progress(struct xw_check *c, xw_progress_cb *cb, void *arg);
/* Called for each finding, on the thread that runs the handle. NULL: nothing is. */
void xw_check_on_finding(struct xw_check *c, xw_finding_cb *cb, void *arg);
/*
 * Check the image at `path`, a file or device. All repairs are written as one change, at the end:
 * after a failure, or if the process is killed, the image has the old state, or gets the new one
 * when it is opened next. But a valid journal is replayed first, unless "-n" is set.
 *
 * 0: the check is complete, whatever it has found, which the result says. XW_E_USAGE: options
 * contradict each other; XW_E_BUSY: the image is mounted; XW_E_IO: a block could not be read;
 * XW_E_CANCELED, with XW_CHECK_CANCELED in the result; other codes if nothing can be checked, such
 * as XW_E_INPUT: no ext filesystem was found. A handle can be run again.
 */
int xw_check_run(struct xw_check *c, const char *path);
/* Valid after each run, also one that failed; owned by the handle. */
const struct xw_check_result *xw_check_result(const struct xw_check *c);
/* The same, as the last line of xw-fsck --json; NULL: out of memory, or no run so far. */
const char *xw_check_json(struct xw_check *c);
const char *xw_check_error(const struct xw_check *c);

/* ---- changing parameters and features of an existing image ---- */

struct xw_tune;

/* What the superblock says. Strings are owned by the handle. */
struct xw_tune_state {
	const char *features; /* names with a blank between two, as dumpe2fs(8) prints them */
	const char *label;
	uint8_t uuid[16];
	uint64_t block_size, blocks, free_blocks, reserved_blocks;
	uint64_t inode_size, inodes, free_inodes;
	uint64_t journal_blocks; /* 0: no internal journal, or its size is not noted there */
};

struct xw_tune_result {
	struct xw_tune_state before, after;
	uint64_t itrees_built, itrees_dropped;
	uint64_t rebuilt_directories, dropped_indexes;
	const char *commit; /* how, and next how many live blocks: as in struct xw_import_result */
	uint64_t commit_blocks;
	int replayed; /* the journal was replayed before the change */
	/*
	 * With "-E" "clear_pending", where the other members are not set, what was found: "none",
	 * "completed", "given up" or "cleared"; else NULL.
	 */
	const char *pending;
	double seconds;
};

int xw_tune_new(struct xw_tune **out);
void xw_tune_free(struct xw_tune *t);
/*
 * Set one option by its name on the command line of xw-tune(8): "-L" "root", "-m" "5", "-O"
 * "^has_journal,itree", "-E" "stride=4", "-j" NULL, "-f" NULL, "--commit" "journal", "--jobs" "2",
 * ...; all letters but -l and those of output. "-T" is "now" or seconds since 1970; names in "-u"
 * and "-g" need xw_tune_on_names() before; "-z" and "--redo-file" take a file, "--redo-dir" a
 * directory (for a redo file if there is no room in the image), "now" seconds since 1970 (default:
 * the clock). The message of XW_E_USAGE or XW_E_UNSUPPORTED names option and value.
 */
int xw_tune_set(struct xw_tune *t, const char *option, const char *value);
void xw_tune_on_log(struct xw_tune *t, xw_log_cb *cb, void *arg);
void xw_tune_on_names(struct xw_tune *t, xw_names_cb *cb, void *arg);
/*
 * The phase is "change", and how much is done is not known: for canceling, which is possible up to
 * the commit point and leaves the image as it was.
 */
void xw_tune_on_progress(struct xw_tune *t, xw_progress_cb *cb, void *arg);
/*
 * Change the image at `path` as all options ask, as one change: after a failure, or if the process
 * is killed, the image has the old state, or gets the new one when it is opened next. One run per
 * handle.
 */
int xw_tune_run(struct xw_tune *t, const char *path);
/* Valid after a run that returned 0; owned by the handle, as are the next two. */
const struct xw_tune_result *xw_tune_result(const struct xw_tune *t);
/* What xw-tune --json prints; NULL when out of memory. */
const char *xw_tune_json(struct xw_tune *t);
const char *xw_tune_error(const struct xw_tune *t);

/* ---- aging an image, and measuring its fragmentation ---- */

struct xw_age;

#define XW_AGE_CLASSES 32 /* class i: 2^i and more, below 2^(i + 1) */
struct xw_age_fragmentation {
	uint64_t block_size, blocks, used_blocks, longest_free_run_blocks;
	uint64_t files, extents; /* regular files with blocks, and theirs */
	/*
	 * The share of blocks that follow the one before them on disk (Smith and Seltzer): within
	 * files, and over all files in the order of a walk over the tree; 1 is best.
	 */
	double layout_score, dynamic_layout_score;
	uint64_t directories_with_index, directories_with_itree;
	/* by the length of the run in blocks: free runs, and the blocks in them */
	uint64_t free_runs[XW_AGE_CLASSES], free_blocks[XW_AGE_CLASSES];
	uint64_t free_buddies[XW_AGE_CLASSES]; /* aligned runs of exactly 2^i blocks */
	uint64_t files_by_extents[XW_AGE_CLASSES]; /* by their number of extents */
};

struct xw_age_result {
	struct xw_age_fragmentation before, after; /* xw_age_measure() sets the second alone */
	/* since the aging began; those of earlier runs that "--resume" continued */
	uint64_t operations, operations_resumed;
	uint64_t created, removed, changed;
	uint64_t skipped; /* operations on missing files, or without space */
	uint64_t shortened; /* files that got fewer blocks than requested */
	uint64_t bytes_written, steps;
	/*
	 * "profile", "util", "layout", "no-run", "ops", "overwrites" or "stalled"; a constant, ""
	 * after xw_age_measure()
	 */
	const char *ended_by;
	int missed; /* the run ended without what "--until" asks for */
	double seconds;
};

int xw_age_new(struct xw_age **out);
void xw_age_free(struct xw_age *a);
/*
 * Set one option by its name on the command line of xw-age(8): "--profile" "pazdera", "--files"
 * "1000", "--until" "util=80%", "--seed" "7", "--fast" NULL, "--resume" NULL, "-E" "offset=BYTES",
 * "--redo-file" FILE, "--jobs" "2", ...; also "--redo-dir" DIR (for redo files if there is no room
 * in the image) and "now" (seconds since 1970, default: when the image was made). The message of
 * XW_E_USAGE names option and value.
 */
int xw_age_set(struct xw_age *a, const char *option, const char *value);
void xw_age_on_log(struct xw_age *a, xw_log_cb *cb, void *arg);
/*
 * The phase is "aging", `done` the bytes written, `files` the operations. What was committed before
 * a run is canceled stays, and "--resume" continues it. Not called while the image is measured.
 */
void xw_age_on_progress(struct xw_age *a, xw_progress_cb *cb, void *arg);
/*
 * Age the image at `path`, and measure it before and after. The outcome depends on the image and
 * the options alone. XW_E_MISSED: all is done, and the result is valid. One run per handle.
 */
int xw_age_run(struct xw_age *a, const char *path);
/* Measure the image, which is not changed; any number of times, before and after a run, too. */
int xw_age_measure(struct xw_age *a, const char *path);
/* Of the last run or measurement, if it returned 0; owned by the handle, as are the next two. */
const struct xw_age_result *xw_age_result(const struct xw_age *a);
/* What xw-age --json prints; NULL: there is no result, or out of memory. */
const char *xw_age_json(struct xw_age *a);
const char *xw_age_error(const struct xw_age *a);

/* ---- an image opened for reading: names, inodes, contents, attributes ---- */

/*
 * Files are accessed by their inode numbers: xw_fs_stat() finds that of a path, and xw_fs_list()
 * those in a directory. An image is not trusted: after XW_E_CORRUPT or XW_E_CHECKSUM the handle is
 * as usable as before. Callbacks may use the handle, but not free it or open another image with it.
 */
struct xw_fs;

struct xw_fs_info {
	uint64_t block_size, cluster_size, inode_size; /* in bytes */
	/* free ones: as the superblock has them, which is late where a journal was replayed */
	uint64_t blocks, free_blocks, reserved_blocks, inodes, free_inodes, groups;
	uint8_t uuid[16];
	const char *label, *last_mounted_on; /* bytes of the image, terminated; "" if not set */
	const char *features; /* names separated by blanks, as dumpe2fs(8) prints them */
	/* seconds since 1970; 0: never */
	int64_t created, last_mounted, last_written, last_checked;
	int has_errors; /* marked: a check is due */
	/* how it is shown, although nothing was written: */
	int replayed; /* with the contents of the journal */
	int journal_lost; /* without a part of the journal, which is damaged: see the log */
	int pending; /* with a change completed that was interrupted */
};

struct xw_fs_stat {
	uint32_t ino, mode, uid, gid;
	uint32_t links; /* 0: deleted, or never used */
	uint32_t flags; /* as lsattr(1) shows them: FS_*_FL of linux/fs.h, and others */
	uint32_t generation, project;
	uint32_t dev_major, dev_minor; /* of devices */
	uint64_t size;
	uint64_t blocks_512; /* allocated, in units of 512 bytes; 0 for inline data */
	int64_t atime, mtime, ctime, crtime; /* crtime 0: small inodes have none */
	uint32_t atime_nsec, mtime_nsec, ctime_nsec, crtime_nsec;
	uint64_t reserved[4]; /* 0 */
};

int xw_fs_new(struct xw_fs **out);
void xw_fs_free(struct xw_fs *fs);
/*
 * Before opening: "-E" "offset=BYTES", "--redo-file" FILE and "--redo-dir" DIR (where an
 * interrupted change may have left a redo file), "--ignore-checksums" NULL. XW_E_USAGE names option
 * and value.
 */
int xw_fs_set(struct xw_fs *fs, const char *option, const char *value);
void xw_fs_on_log(struct xw_fs *fs, xw_log_cb *cb, void *arg);
/*
 * Open the image at `path`; one that the handle has open is closed. Nothing is written: the
 * journal, and a change that was interrupted, are completed in memory. XW_E_INPUT: there is no
 * filesystem. The image must not be changed while it is open.
 */
int xw_fs_open(struct xw_fs *fs, const char *path);
/* NULL if no image is open. Owned by the handle, like all that it points to. */
const struct xw_fs_info *xw_fs_info(const struct xw_fs *fs);
/* The same as one JSON object; NULL when out of memory, or if no image is open. */
const char *xw_fs_json(struct xw_fs *fs);

/*
 * The inode of a path, which starts at the root with or without a slash. Symbolic links on the way
 * are followed inside the image, a final one only if `follow` is not 0. XW_E_NOTFOUND: no such
 * file.
 */
int xw_fs_stat(struct xw_fs *fs, const char *path, int follow, struct xw_fs_stat *st);
/*
 * Any inode by its number: a deleted one, too, or one without a name such as 8, the journal.
 * XW_E_NOTFOUND: the filesystem has no inode of that number. After XW_E_CHECKSUM *st is filled.
 */
int xw_fs_stat_ino(struct xw_fs *fs, uint32_t ino, struct xw_fs_stat *st);

struct xw_fs_name {
	const char *name; /* 1 to 255 bytes of any kind but NUL and '/', terminated */
	size_t len;
	uint32_t ino;
	uint32_t type; /* S_IFREG, S_IFDIR, ...; 0: not known here (ask xw_fs_stat_ino()) */
};
/* Non-zero ends the listing and is returned. *n is valid during the call. */
typedef int xw_fs_name_cb(void *arg, const struct xw_fs_name *n);
/*
 * The names in directory `ino` as they are stored, "." and ".." left out. Of a damaged directory
 * all that is readable; each damage is logged, and the first one is the failure at the end.
 * XW_E_USAGE: not a directory. XW_E_UNSUPPORTED: names are encrypted. A damaged image may have
 * directories in a circle.
 */
int xw_fs_list(struct xw_fs *fs, uint32_t ino, xw_fs_name_cb *each, void *arg);

/*
 * Up to len bytes of a regular file from `offset`: their number, less than len only at the end of
 * the file, or a negative code. Holes are zeros. XW_E_USAGE: not a regular file. XW_E_UNSUPPORTED:
 * encrypted.
 */
int64_t xw_fs_pread(struct xw_fs *fs, uint32_t ino, uint64_t offset, void *buf, size_t len);
/*
 * The target of a symbolic link, terminated; owned by the handle until the next call of this
 * function. XW_E_USAGE: not a symbolic link.
 */
int xw_fs_readlink(struct xw_fs *fs, uint32_t ino, const char **target);

struct xw_fs_xattr {
	const char *name; /* "user.x", "system.posix_acl_access", ... */
	const void *value; /* as getxattr(2) returns it, that of an ACL as well */
	size_t len;
};
typedef int xw_fs_xattr_cb(void *arg, const struct xw_fs_xattr *x);
/* The extended attributes of an inode. Callback and damage as for xw_fs_list(). */
int xw_fs_xattrs(struct xw_fs *fs, uint32_t ino, xw_fs_xattr_cb *each, void *arg);

struct xw_fs_extent {
	uint64_t offset; /* in the file; bytes, as all of these */
	uint64_t physical; /* in the filesystem, which may itself start at an offset in the image */
	uint64_t length; /* of whole blocks: may go beyond the end of the file */
	int unwritten; /* allocated, but reads as zeros */
};
typedef int xw_fs_extent_cb(void *arg, const struct xw_fs_extent *e);
/*
 * Where the contents of a file, directory or long symbolic link are, in ascending order; what is
 * between is a hole. Nothing is called for inline data. Damage ends it. Callback as above.
 */
int xw_fs_extents(struct xw_fs *fs, uint32_t ino, xw_fs_extent_cb *each, void *arg);
/* The message of the last failure; "" if there was none. Owned by the handle. */
const char *xw_fs_error(const struct xw_fs *fs);

#ifdef __cplusplus
}
#endif
#endif
