/* SPDX-License-Identifier: MIT */
/*
 * xw-debugfs: what its parts share.
 *
 * A request is a line: words (lex.c), of which the first names a verb (table.c). Verbs are grouped
 * in families, one file each, that export a table. A verb gets the session and its words; it prints
 * results to d->out and returns 0, DBG_USAGE, or a failure: an error code of the library with the
 * line in d->diag, or DBG_SAID when it has said all there is to say.
 *
 * Damage: a verb that reads says what is wrong (dbg_complain) and goes on with the rest.
 */
#ifndef XW_DEBUGFS_H
#define XW_DEBUGFS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/types.h"
#include "session/edit.h"
#include "read/image.h"
#include "update/session.h"

/* Returned by verbs beside the library's negative codes. */
enum { DBG_USAGE = 1, DBG_SAID = 2 };

struct dbg;
struct pager;
struct dbg_log;

/* What a verb needs. */
#define DBG_OPEN 0x1 /* an open image */
#define DBG_WRITE 0x2 /* one that is open for writing; what it does is committed with the rest */
#define DBG_BYTES 0x4 /* prints bytes of the image as they are: not with --json */
#define DBG_PAGED 0x8 /* at a prompt, through the pager when it is long */
#define DBG_LISTS 0x10 /* "-l" alone lists fields, for which nothing needs to be written */

struct dbg_verb {
	const char *name;
	const char *alias[3];
	unsigned flags;
	int (*run)(struct dbg *d, int argc, char **argv);
	const char *usage; /* the words behind the name */
	const char *help; /* a phrase */
};

struct dbg_family {
	const char *title;
	const struct dbg_verb *verbs;
	size_t n;
};

/* In the order in which they are listed; ends with NULL. */
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
extern const struct dbg_family dbg_ea_verbs;
extern const struct dbg_family dbg_remove_verbs;
extern const struct dbg_family dbg_set_verbs;
extern const struct dbg_family dbg_poke_verbs;
extern const struct dbg_family dbg_journal_write_verbs;
extern const struct dbg_family dbg_index_verbs;
extern const struct dbg_family dbg_journal_verbs;
extern const struct dbg_family dbg_fs_verbs;

/* How an image is opened: options of the tool and of the verb open. */
struct dbg_how {
	bool write; /* -w */
	bool catastrophic; /* -c */
	bool e2image; /* -i */
	bool no_csum; /* -n: checksums are not looked at */
	bool any_features; /* open -f */
	bool no_replay; /* --no-replay: the journal stays as it is */
	uint64_t super_block; /* -s, in blocks of block_size; 0: the primary */
	uint32_t block_size; /* -b; 0: the superblock says it */
	uint64_t offset; /* -E offset=: bytes */
	const char *redo_file; /* --redo-file */
	const char *undo_file; /* -z */
};

struct dbg {
	struct dbg_how how; /* of the image that is open, or the next one */
	char *path; /* as it was named; NULL: no image is open */
	char *real; /* the same from the root of this machine, wherever lcd leads */
	struct xw_dev *dev; /* owned; without -w */
	struct xw_edit *edit; /* with -w */
	struct xw_commit_watch watch; /* of it */
	struct xw_session session; /* on it: the steps of dbg_step_begin() */
	struct dbg_log *log; /* journal_open */
	struct xw_image *img; /* what verbs read */
	xw_ino root, cwd;
	bool dirty; /* something was changed */
	bool spoiled; /* a change failed half way, or was interrupted: nothing is to be committed */

	FILE *out; /* results */
	struct pager *pager; /* behind it; NULL: none is */
	bool json;
	struct xw_json js; /* with it, a result; verbs that leave it empty have their text quoted */
	struct xw_diag diag;
	const char *verb; /* being run, as it was called; NULL: none is */
	unsigned complaints; /* of this request */
	char complaint[1024]; /* the first of them; "" */
	bool failed; /* a request failed */
	bool quit;
	int64_t now; /* seconds: what writing verbs put into times */
	bool interactive;
	struct dbg_mb *mb; /* stats.c: the allocator over the image as it is; NULL: none yet */
};

/* ---- requests (run.c) ---- */

/* Run one line; an empty one is none. What goes wrong is said, and d->failed set. */
void dbg_run(struct dbg *d, const char *line);
/* The verb of that name or alias, or NULL. */
const struct dbg_verb *dbg_find_verb(const char *name);
/*
 * Split a line into words, which *words owns together with the array (free both). Blanks part
 * words; double quotes keep blanks, and inside them two are one. -1: a quote is open, or memory ran
 * out (*words NULL then).
 */
int dbg_lex(const char *line, int *argc, char ***argv, char **words);

/* "xw-debugfs: VERB: LINE" on stderr, and the request has failed; it goes on. */
void dbg_complain(struct dbg *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with the line in d->diag (or what `code` means), which is cleared. */
void dbg_complain_diag(struct dbg *d, int code);
/* Before getopt() on a verb's words. */
void dbg_getopt_reset(void);

/* ---- the image (session.c) ---- */

/* Open path as `how` says. A failure is in d->diag. */
int dbg_open(struct dbg *d, const char *path, const struct dbg_how *how);
/* Commit what was changed (unless d->spoiled or !commit) and close. */
int dbg_close(struct dbg *d, bool commit);
/*
 * A change that happens as a whole or not at all (update/session.h). End it with what became of it:
 * 0: it is kept, else it is undone; returns that or, when it cannot be kept, why.
 */
int dbg_step_begin(struct dbg *d, struct xw_update **out);
int dbg_step_end(struct dbg *d, int rc);
void dbg_log_close(struct dbg *d); /* write_journal.c */
/*
 * Open a file of this machine for results, cut: a descriptor, or a failure. XW_ERR_USAGE: it is the
 * image that is open, its redo or undo file, or `journal` (NULL: none).
 */
int dbg_output_open(struct dbg *d, const char *path, const char *journal);
/* The same, as a stream, or NULL. */
FILE *dbg_output_stream(struct dbg *d, const char *path, const char *journal);
/* Bytes of the image were written without a step: what is known of it is out of date. */
void dbg_wrote(struct dbg *d);

/* The image changed or goes: its allocator (stats.c) knows nothing any more. */
void dbg_mb_forget(struct dbg *d);

/* ---- words that mean something (words.c) ---- */

/* "<N>" or a path, from d->cwd; absolute ones from d->root. The last symlink is not followed. */
int dbg_inode_number(struct dbg *d, const char *spec, xw_ino *out);
/*
 * The same, and read. raw may be NULL; else *raw is the record, inode_size bytes for the caller to
 * free whatever is returned, or NULL. A wrong checksum, or a record that cannot all be decoded, is
 * complained of and no failure.
 */
int dbg_inode(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw);
/*
 * As xw_image_inode() (raw: a buffer of inode_size bytes, or NULL), with complaints instead of
 * failures where a record could be read.
 */
int dbg_read_inode(struct dbg *d, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* As dbg_inode(), of a directory; XW_ERR_INPUT for anything else. */
int dbg_directory(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw);
/*
 * The path of a directory, by its ".." and its parents' entries, in malloc'd memory; NULL: out of
 * memory. What cannot be found out is "<N>".
 */
char *dbg_path_of(struct dbg *d, xw_ino dir);
/*
 * A path of this machine that lcd does not change the meaning of, malloc'd; NULL: out of memory, or
 * nobody knows where we are.
 */
char *dbg_absolute(const char *path);
/* A number, decimal, 0x or 0: what it is called goes into the failure. */
int dbg_number(struct dbg *d, const char *text, const char *what, uint64_t *out);
/* A block of the filesystem, from first_data_block on. */
int dbg_block(struct dbg *d, const char *text, xw_blk *out);
/* "[COUNT]" words: 1 without one; not 0. */
int dbg_count(struct dbg *d, int argc, char **argv, int i, uint64_t *out);

#endif
