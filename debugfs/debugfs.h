/* SPDX-License-Identifier: MIT */
/*
 * xw-debugfs: declarations shared by its parts.
 *
 * A request is a line: words (lex.c), of which the first is a verb (table.c). Verbs are grouped in
 * families, one file each, which export a table. A verb gets the session and its words; it prints
 * results to d->out and returns 0, DBG_USAGE, or a failure: an error code of the library with the
 * message in d->diag, or DBG_SAID when it has printed all messages itself.
 *
 * Damage: a verb that reads reports it (dbg_complain) and continues with the rest.
 */
#ifndef XW_DEBUGFS_H
#define XW_DEBUGFS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/types.h"
#include "session/edit.h"
#include "read/image.h"
#include "update/steps.h"

/* Returned by verbs in addition to the library's negative codes. */
enum { DBG_USAGE = 1, DBG_SAID = 2 };

struct dbg;
struct pager;
struct dbg_log;
struct dbg_extents;

/* Requirements of a verb. */
#define DBG_OPEN 0x1 /* an open image */
#define DBG_WRITE 0x2 /* an image opened for writing; its changes are committed with all others */
#define DBG_BYTES 0x4 /* prints raw bytes of the image: not with --json */
#define DBG_PAGED 0x8 /* at a prompt, long output goes through the pager */
#define DBG_LISTS 0x10 /* "-l" alone lists fields, which does not require write access */
#define DBG_EXTENTS 0x20 /* an inode opened with extent_open */

struct dbg_verb {
	const char *names; /* the name, then aliases, each after ", " */
	unsigned flags;
	int (*run)(struct dbg *d, int argc, char **argv);
	const char *usage; /* the words after the name */
	const char *help; /* one phrase */
};

struct dbg_family {
	const char *title;
	const struct dbg_verb *verbs;
	size_t n;
	/*
	 * Free what the verbs keep in struct dbg between requests; both may be NULL. `changed`,
	 * after the image was changed or closed: data derived from its contents. `closed`, when the
	 * image is closed: everything else.
	 */
	void (*changed)(struct dbg *d);
	void (*closed)(struct dbg *d);
};

/* In the order of listings; NULL-terminated. */
extern const struct dbg_family *const dbg_families[];
extern const struct dbg_family dbg_session_verbs;
extern const struct dbg_family dbg_stats_verbs;
extern const struct dbg_family dbg_write_verbs;
extern const struct dbg_family dbg_dir_verbs;
extern const struct dbg_family dbg_inode_verbs;
extern const struct dbg_family dbg_block_verbs;
extern const struct dbg_family dbg_xattr_verbs;
extern const struct dbg_family dbg_content_verbs;
extern const struct dbg_family dbg_bit_verbs;
extern const struct dbg_family dbg_scan_verbs;
extern const struct dbg_family dbg_orphan_verbs;
extern const struct dbg_family dbg_init_verbs;
extern const struct dbg_family dbg_ea_verbs;
extern const struct dbg_family dbg_remove_verbs;
extern const struct dbg_family dbg_set_verbs;
extern const struct dbg_family dbg_poke_verbs;
extern const struct dbg_family dbg_journal_write_verbs;
extern const struct dbg_family dbg_index_verbs;
extern const struct dbg_family dbg_journal_verbs;
extern const struct dbg_family dbg_fs_verbs;
extern const struct dbg_family dbg_extent_verbs;

/* How to open an image: options of the tool and of the verb open. */
struct dbg_how {
	bool write; /* -w */
	bool catastrophic; /* -c */
	bool e2image; /* -i */
	const char *data_source; /* -d: the blocks that an e2image file does not hold */
	bool no_csum; /* -n: checksums are not verified */
	bool any_features; /* open -f */
	bool no_replay; /* --no-replay: the journal is not replayed */
	uint64_t super_block; /* -s, in blocks of block_size; 0: the primary */
	uint32_t block_size; /* -b; 0: from the superblock */
	uint64_t offset; /* -E offset=, in bytes */
	const char *redo_file; /* --redo-file */
	enum xw_commit_how commit; /* --commit */
	const char *undo_file; /* -z */
};

struct dbg {
	const struct dbg_family *const *families; /* dbg_families */
	struct dbg_how how; /* for the open image, or the next one */
	char *path; /* as given; NULL: no image is open */
	const char *redo_file; /* how.redo_file or redo_dir; NULL: beside the image */
	char *redo_dir; /* owned; for redo files of block devices and of parts of a file */
	char *real; /* absolute path of the image, independent of lcd */
	struct xw_dev *dev; /* owned; without -w */
	struct xw_edit *edit; /* with -w */
	struct xw_commit_watch watch; /* of the edit */
	struct xw_steps steps; /* on the edit: the steps of dbg_step_begin() */
	struct dbg_log *log; /* journal_open */
	char *journal; /* owned; the external journal opened last; NULL: none */
	char *undo; /* owned: how.undo_file, if a request named it */
	struct dbg_extents *extents; /* extent_open */
	struct xw_image *img; /* used by verbs for reading */
	xw_ino root, cwd;
	bool dirty; /* there are changes to commit */
	bool spoiled; /* a change failed halfway, or was interrupted: nothing must be committed */

	FILE *out; /* results */
	struct pager *pager; /* the pager behind `out`; NULL: none */
	bool json;
	/* with --json: the verb's result; if it is empty, the printed text is the result */
	struct xw_json js;
	struct xw_diag diag;
	const char *verb; /* the current verb, as typed; NULL: none */
	bool stock; /* called as debugfs: messages are those of stock debugfs */
	unsigned complaints; /* in the current request */
	char complaint[1024]; /* the first complaint, or "" */
	bool failed; /* a request failed */
	/* Failures that change the exit status under the stock name, too. */
	bool unknown; /* an unknown verb; ignored in requests from standard input */
	bool fatal; /* the commit failed, or the file of requests cannot be opened */
	bool quit;
	int64_t now; /* in seconds: the time that writing verbs set */
	bool set_now; /* set_current_time: the superblock's write time, too */
	bool interactive;
	bool pending; /* the image has an interrupted change, which is shown as completed */
	/* stats.c: the allocator over the current image; NULL: not created yet */
	struct dbg_mb *mb;
};

/* ---- requests (run.c) ---- */

/* Run one line; an empty one is ignored. Failures are reported and set d->failed. */
void dbg_run(struct dbg *d, const char *line);
/* The verb of that name or alias, or NULL. */
const struct dbg_verb *dbg_find_verb(const struct dbg *d, const char *name);
bool dbg_is_called(const struct dbg_verb *v, const char *name);
/* Length of the first name in a list of names. */
static inline int dbg_name_len(const char *names)
{
	return (int)strcspn(names, ",");
}
/* The names after the first one, or NULL. */
static inline const char *dbg_next_name(const char *names)
{
	names += dbg_name_len(names);
	return *names ? names + 2 : NULL;
}
/*
 * Split a line into words, which *words owns together with the array (free both). Words are
 * separated by blanks; double quotes preserve blanks, and a doubled quote inside them is literal.
 * -1: an unclosed quote, or out of memory (*words is NULL then).
 */
int dbg_lex(const char *line, int *argc, char ***argv, char **words);

/* Message for a change of an image that is open for reading only. */
const char *dbg_read_only(const struct dbg *d);

/* ---- messages (complain.c) ---- */

/* Ends of messages about paths, for which stock debugfs has other words (complain.c). */
#define DBG_NO_FILE ": no such file or directory"
#define DBG_NO_DIR ": not a directory"

/*
 * Print a message about the current request on stderr: "xw-debugfs: VERB: LINE", under the stock
 * name "VERB: LINE". The request has failed, but continues.
 */
void dbg_complain(struct dbg *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with the message in d->diag (or the text of `code`), which is cleared. */
void dbg_complain_diag(struct dbg *d, int code);

/* ---- the image (session.c) ---- */

/* Open path as specified by `how`. A failure is in d->diag. */
int dbg_open(struct dbg *d, const char *path, const struct dbg_how *how);
/* Commit all changes (unless d->spoiled or !commit) and close. */
int dbg_close(struct dbg *d, bool commit);
/*
 * An atomic change (update/steps.h). dbg_step_end() keeps it if rc is 0, and rolls it back
 * otherwise; it returns rc, or an error if the change cannot be kept.
 */
int dbg_step_begin(struct dbg *d, struct xw_update **out);
int dbg_step_end(struct dbg *d, int rc);
/*
 * Open and truncate a file on the host for results: returns a descriptor, or a failure.
 * XW_ERR_USAGE: the file is the open image, its redo or undo file, or `journal` (may be NULL).
 */
int dbg_output_open(struct dbg *d, const char *path, const char *journal);
/* As dbg_output_open(), but returns a stream, or NULL. */
FILE *dbg_output_stream(struct dbg *d, const char *path, const char *journal);
/* Drop cached data, after bytes of the image were written without a step. */
void dbg_wrote(struct dbg *d);

/* After set_current_time: set s_wtime of a changed image to that time, as stock debugfs does. */
int dbg_stamp(struct dbg *d); /* set.c */

/* ---- operands (words.c) ---- */

/*
 * "<N>" or a path relative to d->cwd; absolute ones start at d->root. A final symlink is not
 * followed.
 */
int dbg_inode_number(struct dbg *d, const char *spec, xw_ino *out);
/*
 * As dbg_inode_number(), and read the inode. raw may be NULL; otherwise *raw is the record,
 * inode_size bytes to be freed by the caller in any case, or NULL. A wrong checksum, or a record
 * that cannot be decoded completely, is reported but is not a failure.
 */
int dbg_inode(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw);
/* Location of an inode's record on disk, which is not checked. */
struct dbg_record {
	uint64_t group;
	xw_blk table, blk; /* start of the group's inode table; block of the record */
	uint32_t off; /* in that block, in bytes */
};
int dbg_find_record(struct dbg *d, xw_ino ino, struct dbg_record *r);
/*
 * As xw_image_inode() (raw: a buffer of inode_size bytes, or NULL), but problems of a readable
 * record are only reported.
 */
int dbg_read_inode(struct dbg *d, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* As dbg_inode(); XW_ERR_INPUT if it is not a directory. */
int dbg_directory(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw);
/*
 * The path of a directory, from its ".." and the entries of its parents, in malloc'd memory; NULL:
 * out of memory. Unknown components are "<N>".
 */
char *dbg_path_of(struct dbg *d, xw_ino dir);
/*
 * An absolute path on the host, independent of lcd, malloc'd; NULL: out of memory, or the current
 * directory is unknown.
 */
char *dbg_absolute(const char *path);
/* Must be called before getopt() on the words of a verb. */
void dbg_getopt_reset(void);
/* An option of a verb; members that do not apply are NULL. */
struct dbg_option {
	char letter; /* 0: the end of the table */
	bool *given; /* set to true */
	const char **text; /* set to the option's value */
	uint64_t *number; /* the value as a number, which messages call `what` */
	const char *what;
};
/* Parse options. Operands start at optind. DBG_USAGE: an unknown option; or an invalid number. */
int dbg_options(struct dbg *d, int argc, char **argv, const struct dbg_option *options);
/*
 * Parse options without values: sets bit i of *set for letters[i]. Operands start at optind.
 * DBG_USAGE: an unknown option.
 */
int dbg_flags(int argc, char **argv, const char *letters, unsigned *set);
/* A number in decimal, 0x or 0 notation; `what` is used in the message of a failure. */
int dbg_number(struct dbg *d, const char *text, const char *what, uint64_t *out);
/* A block of the filesystem, not below first_data_block. */
int dbg_block(struct dbg *d, const char *text, xw_blk *out);
/* A logical block of a file, at most 32 bits. */
int dbg_logical(struct dbg *d, const char *text, uint64_t *out);
/* The number of logical blocks that the map of a file can have. */
uint64_t dbg_map_end(const struct dbg *d, const struct xw_inode *in);
/* XW_ERR_LIMIT: the block is past the end of what the map of a file can have. */
int dbg_logical_fits(struct dbg *d, const struct xw_inode *in, uint64_t lblk);
/* An optional word COUNT: default 1, must not be 0. */
int dbg_count(struct dbg *d, int argc, char **argv, int i, uint64_t *out);

#endif
