/* SPDX-License-Identifier: MIT */
/*
 * libextwright: build, populate and inspect ext4 images offline, as an ordinary user.
 *
 * A handle is created, given options by the names that the tools' man pages use, run once, read,
 * and freed. Functions return 0 or a negative code (XW_E_*); xw_*_error() returns a one-line
 * message with object and reason. A null pointer for a handle or another required argument is
 * XW_E_USAGE, or NULL where a pointer is returned; the value of an option, `arg`, and the callbacks
 * of xw_*_on_*() may be NULL. The library never prints, exits, or reads the environment. A
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
#define XW_E_STATE (-15) /* the image needs a check, or an interrupted change is incomplete */
#define XW_E_BUSY (-17) /* the target is mounted or in use; "-F" set twice overwrites even that */
#define XW_E_CANCELED (-18) /* a progress callback canceled the run */
#define XW_E_RAN (-19) /* the handle, of a kind that runs once, was run already */
#define XW_E_MISSED (-20) /* aging ended without reaching a limit of "--until" */

/* "0.1.0". Static storage. */
const char *xw_version(void);

/* XW_NOTE: no problem, but information for every user. */
enum xw_severity { XW_WARNING = 1, XW_INFO = 2, XW_DEBUG = 3, XW_NOTE = 4 };

/* One line without newline; called from the thread that runs the handle. */
typedef void xw_log_cb(void *arg, enum xw_severity severity, const char *line);

struct xw_progress {
	const char *phase; /* "data", "metadata", "flush" */
	uint64_t done, total; /* bytes of input; total 0 = unknown */
	uint64_t files; /* entries read so far */
};
/* Called at most a few times a second. A non-zero result cancels the run with XW_E_CANCELED. */
typedef int xw_progress_cb(void *arg, const struct xw_progress *p);

/* Result of a run. Counts describe the finished image. */
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
	uint64_t bad_blocks; /* bad blocks, which are not used */
	/*
	 * size up to which resize2fs(8) can grow the image without moving blocks; size and inodes
	 * of each new group
	 */
	uint64_t growth_bytes, group_bytes, inodes_per_group;
	const uint64_t *superblock_backups; /* block numbers of the backups; owned by the handle */
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
 * Set types ("-t", "-T") and defaults from a text in the syntax of mke2fs.conf(5), instead of the
 * built-in table. `name` is the name of the text in messages. The message of XW_E_USAGE has the
 * line number.
 */
int xw_mkfs_set_config(struct xw_mkfs *m, const char *name, const char *text, size_t len);
/*
 * Add a source: a directory, an archive, "-" (an archive on standard input), or a container image,
 * that is, an OCI layout or an archive of docker save, also as "oci:PATH[:REF]" or
 * "docker-archive:FILE[:TAG]". Options for container images: "--platform", "--oci-config",
 * "--no-oci"; "--tmpdir" and "--spool-limit" for temporary files. Several sources are layers: later
 * ones take precedence, and OCI whiteouts are applied ("--whiteouts").
 */
int xw_mkfs_add_source(struct xw_mkfs *m, const char *path);
/*
 * Reads up to len bytes of an archive into buf. Returns the number of bytes read, 0 at the end, or
 * a negative number, which ends the run with XW_E_IO. Called on the thread that runs the handle, in
 * the order of the sources; not called again after the end or a failure.
 */
typedef int64_t xw_read_cb(void *arg, void *buf, size_t len);
/*
 * Add a source whose archive, of any format and compression, is supplied by a function. The archive
 * is read once, from start to end. `name` is its name in messages.
 */
int xw_mkfs_add_source_cb(struct xw_mkfs *m, xw_read_cb *read, void *arg, const char *name);
void xw_mkfs_on_log(struct xw_mkfs *m, xw_log_cb *cb, void *arg);
/*
 * Resolves the name of a user or, if `group` is not 0, of a group to its number: returns 0 and *id,
 * or non-zero if the name is unknown. ACLs in archives may have names without numbers; without this
 * callback such an ACL is an error.
 */
typedef int xw_names_cb(void *arg, int group, const char *name, uint32_t *id);
void xw_mkfs_on_names(struct xw_mkfs *m, xw_names_cb *cb, void *arg);
void xw_mkfs_on_progress(struct xw_mkfs *m, xw_progress_cb *cb, void *arg);
/*
 * Create the image at `path`. With "-n", only plan it: nothing is opened for writing. A new regular
 * file that could not be completed is removed. One run per handle.
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
	uint64_t removed_inodes; /* inodes of replaced and whited out files */
	uint64_t freed_blocks; /* freed by removed inodes and rebuilt directories */
	uint64_t rebuilt_directories; /* existing directories with changed entries */
	uint64_t orphans; /* orphan inodes released before the import */
	uint64_t data_blocks, extents, files_with_data, inline_inodes;
	/* blocks written for files that a later entry or layer replaced */
	uint64_t replaced_blocks;
	uint64_t block_size, free_blocks, free_inodes; /* of the resulting image */
	uint64_t commit_blocks; /* allocated blocks that the commit overwrote */
	uint64_t bytes_in, bytes_written, warnings;
	/*
	 * How the change was committed: "journal" (through the journal), "inside" (by a redo record
	 * in the image), "file" (by a redo file), "auto" (nothing to commit); a constant.
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
/* Add a source, as xw_mkfs_add_source(). The contents of the image are the lowest layer. */
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
	/* number of files exported or listed; the root is not counted as a directory */
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t sparse_files, xattrs, acls;
	uint64_t sockets; /* skipped in archives, which cannot store them */
	uint64_t damaged; /* damaged files, skipped or incomplete; each is named in the log */
	uint64_t data_bytes, bytes_out;
	double seconds;
	/* files not written, or not with all attributes; each is named in the log */
	uint64_t failed;
	uint64_t missing; /* requested paths that do not exist */
	int pending; /* an interrupted change was completed in memory */
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
 * Export only this path of the image, or all paths that match a shell pattern, with everything
 * below. May be called several times.
 */
int xw_export_add_path(struct xw_export *x, const char *path);
void xw_export_on_log(struct xw_export *x, xw_log_cb *cb, void *arg);
void xw_export_on_progress(struct xw_export *x, xw_progress_cb *cb, void *arg);

/* Consumes all bytes. Returns 0, or a negative code that ends the run, which returns it. */
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
	/* target of a symlink, or the first name of a file with several; else NULL */
	const char *link;
	int hardlink; /* not the first name of the file */
	uint32_t ino, mode, uid, gid, links, dev_major, dev_minor;
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_nsec;
};
/* A non-zero result ends the listing, which returns it. */
typedef int xw_entry_cb(void *arg, const struct xw_export_entry *e);
int xw_export_list(struct xw_export *x, const char *image, xw_entry_cb *each, void *arg);
/* Set a callback of xw_export_extract() for each file created, or none with NULL. */
void xw_export_on_entry(struct xw_export *x, xw_entry_cb *cb, void *arg);

/* Valid after each run or listing; owned by the handle. A handle can be run again. */
const struct xw_export_result *xw_export_result(const struct xw_export *x);
const char *xw_export_json(struct xw_export *x);
const char *xw_export_error(const struct xw_export *x);

/* ---- checking and repairing an image ---- */

struct xw_check;

/* Bits of the exit status of xw-fsck(8). */
#define XW_CHECK_REPAIRED 1
#define XW_CHECK_REBOOT 2 /* the root filesystem was changed while it is mounted */
#define XW_CHECK_LEFT 4 /* errors are left */
#define XW_CHECK_FAILED 8 /* the check was not completed, and nothing was repaired */
#define XW_CHECK_USAGE 16
#define XW_CHECK_CANCELED 32

/* A note is no damage, e.g. an index that is rebuilt, and is not counted as found. */
enum xw_finding_severity { XW_FINDING_NOTE, XW_FINDING_MINOR, XW_FINDING_ERROR, XW_FINDING_FATAL };

struct xw_finding {
	const char *id; /* e.g. "inode-dtime-set"; stable, listed in xw-fsck(8); a constant */
	enum xw_finding_severity severity;
	const char *text; /* one line; valid during the call */
	/* numbers of the inodes, group and blocks concerned; -1: none */
	int64_t inode, directory, group, block, logical_block;
	/*
	 * Repaired by this run if it is completed; with "-p", unless a later finding needs an
	 * administrator.
	 */
	int repaired;
	int follows; /* caused by a repair of this run */
	uint64_t round; /* number of the check round, from 1 */
	/*
	 * Paths of `inode` and `directory`, and for an unattached inode the name or the directory
	 * that it had. NULL: none, or not known. Bytes of names are unchanged; valid during the
	 * call.
	 */
	const char *path, *directory_path, *from;
	/* The finding is about so many inodes, `inode` and those after it; 1: one, or none. */
	uint64_t count;
};
typedef void xw_finding_cb(void *arg, const struct xw_finding *f);

/*
 * Something that repairs have changed for users of the filesystem, or with "-n" would change. kind
 * is a constant: "connected" (an inode without a name, to /lost+found), "cleared" (an inode),
 * "shortened" (a file or directory has lost blocks, or may have), "copied" (blocks that it shared
 * with another inode), "unnamed" (a name was removed), "renamed", "attribute" (extended attributes
 * were removed), "setting" (of the superblock). Members that do not apply are -1 and NULL.
 */
struct xw_check_change {
	const char *kind;
	int64_t inode, other_inode; /* "copied": one of those that have the same blocks */
	const char *path; /* of the inode; the name that was removed or changed */
	const char *from; /* "connected": the name or the directory that it had */
	const char *other_path;
	const char *text; /* "setting": the text of the finding */
};

struct xw_check_result {
	int status; /* the exit status that xw-fsck would have: XW_CHECK_* */
	int clean; /* no error is left */
	int modified; /* the image was written to */
	int reboot; /* the system should be rebooted: XW_CHECK_REBOOT */
	int skipped; /* the image is marked clean and was not checked ("-f" forces a check) */
	/* "-n": an interrupted change is pending, and was completed in memory for the check */
	int pending;
	int completed; /* an interrupted change was completed first */
	/* errors without notes and without those caused by repairs: all, repaired, and left */
	uint64_t found, repaired, left;
	uint64_t later; /* errors caused by repairs */
	uint64_t notes;
	uint64_t rounds; /* number of check rounds */
	/* of the filesystem; 0 if it could not be opened */
	uint64_t block_size, blocks, used_blocks, inodes, used_inodes;
	/* inodes in use by type, as xw-fsck -v prints them; 0 if the check was skipped */
	uint64_t regular_files, directories, symlinks, specials, hardlinks;
	uint64_t fragmented_files, fragmented_directories; /* not contiguous */
	uint64_t warnings;
	double seconds;
	/*
	 * All changes, owned by the handle until the next run; none if they were not written and
	 * the run was without "-n".
	 */
	const struct xw_check_change *changes;
	uint64_t n_changes;
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
/* XW_INFO: the current step; XW_NOTE: results of "-E" "fragcheck", and a pending change. */
void xw_check_on_log(struct xw_check *c, xw_log_cb *cb, void *arg);
/*
 * Called at the start of each pass and a few times a second. phase is "open", "bad blocks" ("-c"),
 * or "pass 1" to "pass 5", as e2fsck(8) numbers them; done and total refer to the first round, and
 * are not in bytes. A non-zero result cancels the run: nothing is repaired.
 */
void xw_check_on_progress(struct xw_check *c, xw_progress_cb *cb, void *arg);
/* Set a callback for each finding, called on the thread that runs the handle, or none with NULL. */
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
/* The result as the last line of xw-fsck --json; NULL: out of memory, or no run so far. */
const char *xw_check_json(struct xw_check *c);
const char *xw_check_error(const struct xw_check *c);

/* ---- changing parameters and features of an existing image ---- */

struct xw_tune;

/* Contents of the superblock. Strings are owned by the handle. */
struct xw_tune_state {
	const char *features; /* names separated by blanks, as dumpe2fs(8) prints them */
	const char *label;
	uint8_t uuid[16];
	uint64_t block_size, blocks, free_blocks, reserved_blocks;
	uint64_t inode_size, inodes, free_inodes;
	uint64_t journal_blocks; /* 0: no internal journal, or its size is not in the superblock */
};

struct xw_tune_result {
	struct xw_tune_state before, after;
	uint64_t itrees_built, itrees_dropped;
	uint64_t rebuilt_directories, dropped_indexes;
	const char *commit; /* as in struct xw_import_result, as is commit_blocks */
	uint64_t commit_blocks;
	int replayed; /* the journal was replayed before the change */
	/*
	 * With "-E" "clear_pending", the state of the interrupted change: "none", "completed",
	 * "given up" or "cleared", and other members are not set; otherwise NULL.
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
 * Set a callback to cancel the change, which is possible up to the commit point and leaves the
 * image unchanged. The phase is "change"; done and total are 0.
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
/* The result as xw-tune --json prints it; NULL when out of memory. */
const char *xw_tune_json(struct xw_tune *t);
const char *xw_tune_error(const struct xw_tune *t);

/* ---- aging an image, and measuring its fragmentation ---- */

struct xw_age;

#define XW_AGE_CLASSES 32 /* class i: values from 2^i to 2^(i + 1) - 1 */
struct xw_age_fragmentation {
	uint64_t block_size, blocks, used_blocks, longest_free_run_blocks;
	uint64_t files, extents; /* regular files with blocks, and their extents */
	/*
	 * The share of adjacent blocks (Smith and Seltzer), within files, and over all files in the
	 * order of a directory tree walk; 1 is best.
	 */
	double layout_score, dynamic_layout_score;
	uint64_t directories_with_index, directories_with_itree;
	/* by the length of free runs in blocks: number of runs, and of blocks in them */
	uint64_t free_runs[XW_AGE_CLASSES], free_blocks[XW_AGE_CLASSES];
	uint64_t free_buddies[XW_AGE_CLASSES]; /* aligned runs of exactly 2^i blocks */
	uint64_t files_by_extents[XW_AGE_CLASSES]; /* files by number of extents */
};

struct xw_age_result {
	struct xw_age_fragmentation before, after; /* xw_age_measure() sets only `after` */
	/* since the start of aging; thereof in earlier runs that "--resume" continued */
	uint64_t operations, operations_resumed;
	uint64_t created, removed, changed;
	uint64_t skipped; /* operations on missing files, or without space */
	uint64_t shortened; /* files with fewer blocks than requested */
	uint64_t bytes_written, steps;
	/*
	 * "profile", "util", "layout", "no-run", "ops", "overwrites" or "stalled"; a constant, ""
	 * after xw_age_measure()
	 */
	const char *ended_by;
	int missed; /* the run ended without reaching a limit of "--until" */
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
 * The phase is "aging", `done` counts bytes written, `files` operations. Steps committed before a
 * run is canceled remain, and "--resume" continues the run. Not called during measurements.
 */
void xw_age_on_progress(struct xw_age *a, xw_progress_cb *cb, void *arg);
/*
 * Age the image at `path`, and measure it before and after. The resulting image depends only on the
 * image and the options. XW_E_MISSED: the run is complete, and the result is valid. One run per
 * handle.
 */
int xw_age_run(struct xw_age *a, const char *path);
/*
 * Measure the image without changing it. May be called any number of times, also before and after a
 * run.
 */
int xw_age_measure(struct xw_age *a, const char *path);
/*
 * The result of the last run or measurement, if it returned 0 or XW_E_MISSED; owned by the handle,
 * as are the next two.
 */
const struct xw_age_result *xw_age_result(const struct xw_age *a);
/* The result as xw-age --json prints it; NULL: no result, or out of memory. */
const char *xw_age_json(struct xw_age *a);
const char *xw_age_error(const struct xw_age *a);

/* ---- an image opened for reading: names, inodes, contents, attributes ---- */

/*
 * Files are accessed by inode number: xw_fs_stat() finds the inode of a path, and xw_fs_list()
 * lists those in a directory. Images are not trusted: a handle can be used after XW_E_CORRUPT and
 * XW_E_CHECKSUM. Callbacks may use the handle, but must not free it or open another image with it.
 */
struct xw_fs;

struct xw_fs_info {
	uint64_t block_size, cluster_size, inode_size; /* in bytes */
	/*
	 * free blocks and inodes: s_free_blocks_count, s_free_inodes_count, outdated after a replay
	 */
	uint64_t blocks, free_blocks, reserved_blocks, inodes, free_inodes, groups;
	uint8_t uuid[16];
	/* bytes as in the image, NUL-terminated; "" if not set */
	const char *label, *last_mounted_on;
	const char *features; /* names separated by blanks, as dumpe2fs(8) prints them */
	/* seconds since 1970; 0: never */
	int64_t created, last_mounted, last_written, last_checked;
	int has_errors; /* marked as having errors: a check is due */
	/* completed in memory, without a write to the image: */
	int replayed; /* the journal was replayed */
	int journal_lost; /* the journal is damaged and was replayed only partly: see the log */
	int pending; /* an interrupted change was completed */
};

struct xw_fs_stat {
	uint32_t ino, mode, uid, gid;
	uint32_t links; /* 0: deleted, or never used */
	uint32_t flags; /* as lsattr(1) shows them: FS_*_FL of linux/fs.h, and others */
	uint32_t generation, project;
	uint32_t dev_major, dev_minor; /* of devices */
	uint64_t size;
	uint64_t blocks_512; /* i_blocks in units of 512 bytes; 0 for inline data */
	int64_t atime, mtime, ctime, crtime; /* crtime 0: small inodes have none */
	uint32_t atime_nsec, mtime_nsec, ctime_nsec, crtime_nsec;
	uint64_t reserved[4]; /* 0 */
};

int xw_fs_new(struct xw_fs **out);
void xw_fs_free(struct xw_fs *fs);
/*
 * Set one option before opening: "-E" "offset=BYTES", "--redo-file" FILE and "--redo-dir" DIR
 * (where an interrupted change may have left a redo file), "--ignore-checksums" NULL; "-b" BLOCK
 * and "-B" BYTES: read the image through the backup superblock and descriptors in that block, in
 * units of the block size, which is detected without "-B". The journal is not replayed then.
 * XW_E_USAGE names option and value.
 */
int xw_fs_set(struct xw_fs *fs, const char *option, const char *value);
void xw_fs_on_log(struct xw_fs *fs, xw_log_cb *cb, void *arg);
/*
 * Open the image at `path`; one that the handle has open is closed. Nothing is written: the
 * journal, and a change that was interrupted, are completed in memory. XW_E_INPUT: there is no
 * filesystem, or no superblock in the block of "-b". The image must not be changed while it is
 * open.
 */
int xw_fs_open(struct xw_fs *fs, const char *path);
/* NULL if no image is open. The struct and its strings are owned by the handle. */
const struct xw_fs_info *xw_fs_info(const struct xw_fs *fs);
/* The information as one JSON object; NULL when out of memory, or if no image is open. */
const char *xw_fs_json(struct xw_fs *fs);

/*
 * Get the inode of a path, which is relative to the root directory with or without a leading slash.
 * Symbolic links are followed inside the image, a final one only if `follow` is not 0.
 * XW_E_NOTFOUND: no such file.
 */
int xw_fs_stat(struct xw_fs *fs, const char *path, int follow, struct xw_fs_stat *st);
/*
 * Get any inode by its number, also a deleted one, or one without a name such as 8, the journal.
 * XW_E_NOTFOUND: the filesystem has no inode of that number. After XW_E_CHECKSUM *st is filled.
 */
int xw_fs_stat_ino(struct xw_fs *fs, uint32_t ino, struct xw_fs_stat *st);

struct xw_fs_name {
	const char *name; /* 1 to 255 bytes without NUL and '/', NUL-terminated */
	size_t len;
	uint32_t ino;
	uint32_t type; /* S_IFREG, S_IFDIR, ...; 0: unknown (call xw_fs_stat_ino()) */
};
/* A non-zero result ends the listing, which returns it. *n is valid during the call. */
typedef int xw_fs_name_cb(void *arg, const struct xw_fs_name *n);
/*
 * List the names in directory `ino` in storage order, without "." and "..". All readable names of a
 * damaged directory are listed; each damage is logged, and the first one is returned at the end.
 * XW_E_USAGE: not a directory. XW_E_UNSUPPORTED: names are encrypted. The directories of a damaged
 * image may form a loop.
 */
int xw_fs_list(struct xw_fs *fs, uint32_t ino, xw_fs_name_cb *each, void *arg);

/*
 * Read up to len bytes of a regular file from `offset`. Returns the number of bytes, less than len
 * only at the end of the file, or a negative code. Holes read as zeros. XW_E_USAGE: not a regular
 * file. XW_E_UNSUPPORTED: encrypted.
 */
int64_t xw_fs_pread(struct xw_fs *fs, uint32_t ino, uint64_t offset, void *buf, size_t len);
/*
 * Read the target of a symbolic link, NUL-terminated. It is owned by the handle, and valid until
 * the next call of this function. XW_E_USAGE: not a symbolic link.
 */
int xw_fs_readlink(struct xw_fs *fs, uint32_t ino, const char **target);

struct xw_fs_xattr {
	const char *name; /* "user.x", "system.posix_acl_access", ... */
	const void *value; /* as getxattr(2) returns it, also for ACLs */
	size_t len;
};
typedef int xw_fs_xattr_cb(void *arg, const struct xw_fs_xattr *x);
/* List the extended attributes of an inode. Callback and damage as for xw_fs_list(). */
int xw_fs_xattrs(struct xw_fs *fs, uint32_t ino, xw_fs_xattr_cb *each, void *arg);

struct xw_fs_extent {
	uint64_t offset; /* offset in the file, in bytes like the other members */
	uint64_t physical; /* offset in the filesystem, which may start at an offset in the image */
	uint64_t length; /* a multiple of the block size: may exceed the end of the file */
	int unwritten; /* allocated, but reads as zeros */
};
typedef int xw_fs_extent_cb(void *arg, const struct xw_fs_extent *e);
/*
 * List the extents of a file, directory or long symbolic link in ascending order; ranges in between
 * are holes. Inline data has no extents. Damage ends the listing. Callback as for xw_fs_list().
 */
int xw_fs_extents(struct xw_fs *fs, uint32_t ino, xw_fs_extent_cb *each, void *arg);
/* The message of the last failure; "" if there was none. Owned by the handle. */
const char *xw_fs_error(const struct xw_fs *fs);

#ifdef __cplusplus
}
#endif
#endif
