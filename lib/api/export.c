/* SPDX-License-Identifier: MIT */
/* The public export handle: options by name, and runs that write an archive, files or a listing. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/option.h"
#include "api/tell.h"
#include "api/xw.h"
#include "base/auto.h"
#include "base/json.h"
#include "base/mode.h"
#include "base/parse.h"
#include "session/recover.h"
#include "export/compress.h"
#include "export/extract.h"
#include "fastcommit/fastcommit.h"

struct xw_export {
	struct xw_diag diag;
	struct xw_select select;
	char *directory, *redo_file; /* owned, or NULL */
	XW_VEC(char *) paths; /* owned */
	enum xw_export_order order;
	bool no_xattrs, no_acls;
	struct xw_archive_opts archive;
	struct xw_extract_opts extract;
	unsigned image_flags;
	uint64_t offset;
	xw_progress_cb *progress;
	void *progress_arg;
	xw_entry_cb *entry;
	void *entry_arg;
	struct xw_log_to log;
	struct xw_export_result result;
	struct xw_json json;
};

/* State of one run, the argument of its callbacks. */
struct run {
	struct xw_export *x;
	struct xw_dev *dev;
	struct xw_recover_info recovered;
	struct xw_image *img;
	struct xw_export_opts opts;
	struct xw_export_stats stats;
	struct timespec began, ticked;
	uint64_t total; /* expected size in bytes, for progress */
	xw_write_cb *write;
	uint64_t written; /* bytes passed to write() */
	xw_entry_cb *each;
	void *arg;
};

int xw_export_new(struct xw_export **out)
{
	if (!out)
		return XW_ERR_USAGE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return XW_ERR_NOMEM;
	(*out)->archive.level = XW_LEVEL_DEFAULT;
	(*out)->extract.umask = 022;
	return 0;
}

void xw_export_free(struct xw_export *x)
{
	if (!x)
		return;
	xw_select_free(&x->select);
	xw_json_free(&x->json);
	for (size_t i = 0; i < x->paths.n; i++)
		free(x->paths.v[i]);
	xw_vec_free(&x->paths);
	free(x->directory);
	free(x->redo_file);
	free(x);
}

/* ---- options ---- */

static int set_number(struct xw_export *x, const char *option, const char *value, int64_t min,
		      int64_t max, int64_t *out)
{
	if (!value || xw_parse_i64(value, out) || *out < min || *out > max)
		return xw_fail(&x->diag, XW_ERR_USAGE, "%s: \"%s\" is not in %lld..%lld", option,
			       value ? value : "", (long long)min, (long long)max);
	return 0;
}

static int set_order(struct xw_export *x, const char *value)
{
	static const char *const names[] = {
		[XW_ORDER_TREE] = "tree",
		[XW_ORDER_DISK] = "disk",
		[XW_ORDER_INODE] = "inode",
		[XW_ORDER_NAME] = "name",
	};

	for (unsigned i = XW_ORDER_TREE; value && i < XW_ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i])) {
			x->order = (enum xw_export_order)i;
			return 0;
		}
	}
	return xw_fail(&x->diag, XW_ERR_USAGE, "--order: \"%s\" is not tree, disk, inode or name",
		       value ? value : "");
}

static int set_format(struct xw_export *x, const char *value)
{
	if (value && xw_archive_format_by_name(value, &x->archive.format))
		return 0;
	return xw_fail(&x->diag, XW_ERR_USAGE,
		       "--format: \"%s\" is not pax, gnu, ustar, newc or odc", value ? value : "");
}

/* Set a boolean option. Returns false if `option` is not one. */
static bool set_flag(struct xw_export *x, const char *option)
{
	static const char *const kept[] = {"--acls", "--numeric-owner", "--selinux", "--xattrs"};
	const struct {
		const char *option;
		bool *flag, value;
	} flags[] = {
		{"--acls", &x->no_acls, false},
		{"--no-acls", &x->no_acls, true},
		{"--no-same-owner", &x->extract.same_owner, false},
		{"--no-same-permissions", &x->extract.same_modes, false},
		{"--no-xattrs", &x->no_xattrs, true},
		{"--preserve-permissions", &x->extract.same_modes, true},
		{"--same-owner", &x->extract.same_owner, true},
		{"--xattrs", &x->no_xattrs, false},
	};
	bool known = false;

	for (unsigned i = 0; i < XW_ARRAY_SIZE(flags); i++) {
		if (!strcmp(option, flags[i].option)) {
			*flags[i].flag = flags[i].value;
			return true;
		}
	}
	/* options of tar(1) whose effect is the default here */
	for (unsigned i = 0; i < XW_ARRAY_SIZE(kept); i++)
		known |= !strcmp(option, kept[i]);
	if (!strcmp(option, "--keep-old-files"))
		x->extract.existing = XW_EXISTING_KEEP;
	else if (!strcmp(option, "--skip-old-files"))
		x->extract.existing = XW_EXISTING_SKIP;
	else if (!strcmp(option, "--ignore-checksums"))
		x->image_flags |= XW_IMAGE_NOCSUM;
	else
		return known || (!strncmp(option, "--", 2) &&
				 xw_compression_by_name(option + 2, &x->archive.compression));
	return true;
}

/* Options of struct xw_select that have no effect on an export. */
static bool is_for_sources(const char *option)
{
	static const char *const names[] = {"--clamp-mtime", "--mtime", "--newer", "--newer-mtime",
					    "--transform"};

	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++)
		if (!strcmp(option, names[i]))
			return true;
	return false;
}

/*
 * As with tar -a, an unknown suffix gives a plain tar archive. The suffix of a format that cannot
 * be written is refused.
 */
static int set_suffix(struct xw_export *x, const char *file)
{
	const char *foreign = xw_archive_foreign_suffix(file);

	if (foreign)
		return xw_fail(
			&x->diag, XW_ERR_USAGE,
			"--auto-compress: %s: %s is not a format that is written (these are: "
			".tar and .cpio, also with .gz, .bz2, .xz, .zst or .lz4 after them)",
			file, foreign);
	xw_archive_by_suffix(file, &x->archive);
	return 0;
}

static int set_value(struct xw_export *x, const char *option, const char *value)
{
	int64_t n;
	int rc;

	if (!strcmp(option, "--level")) {
		rc = set_number(x, option, value, -100, 100, &n);
		if (!rc)
			x->archive.level = (int)n;
		return rc;
	}
	if (!strcmp(option, "--jobs")) {
		rc = set_number(x, option, value, 1, 1024, &n);
		if (!rc)
			x->archive.jobs = (unsigned)n;
		return rc;
	}
	if (!strcmp(option, "umask")) {
		uint32_t mask;

		if (!value || !xw_mode_octal(value, &mask) || mask > 0777)
			return xw_fail(&x->diag, XW_ERR_USAGE, "umask: \"%s\" is not in 0..777",
				       value ? value : "");
		x->extract.umask = mask;
		return 0;
	}
	if (!strcmp(option, "--auto-compress"))
		return set_suffix(x, value ? value : "");
	rc = is_for_sources(option) ? XW_ERR_NOTFOUND
				    : xw_select_set(&x->select, option, value, &x->diag);
	return rc == XW_ERR_NOTFOUND ? xw_fail(&x->diag, XW_ERR_USAGE, "unknown option %s", option)
				     : rc;
}

/* Is it an option of set_flag()? */
static bool is_flag(const char *option)
{
	struct xw_export nobody = {0};

	return set_flag(&nobody, option);
}

int xw_export_set(struct xw_export *x, const char *option, const char *value)
{
	const int rc = xw_option_given(x ? &x->diag : NULL, option, "option");

	if (rc)
		return rc;
	if (!strcmp(option, "-E"))
		return xw_option_offset(value, &x->offset, &x->diag);
	if (!strcmp(option, "--directory"))
		return xw_option_text(option, value, &x->directory, &x->diag);
	if (!strcmp(option, "--redo-file"))
		return xw_option_text(option, value, &x->redo_file, &x->diag);
	if (!strcmp(option, "--order"))
		return set_order(x, value);
	if (!strcmp(option, "--format"))
		return set_format(x, value);
	if (value && is_flag(option))
		return xw_fail(&x->diag, XW_ERR_USAGE, "%s: takes no value", option);
	return set_flag(x, option) ? 0 : set_value(x, option, value);
}

int xw_export_add_path(struct xw_export *x, const char *path)
{
	const int rc = xw_option_given(x ? &x->diag : NULL, path, "path");
	char *own;

	if (rc)
		return rc;
	/* "", e.g. from an unset shell variable, must not select the whole image */
	if (!*path)
		return xw_fail(&x->diag, XW_ERR_USAGE, "PATH: empty; the whole image is /");
	own = strdup(path);
	if (own && !xw_vec_push(&x->paths, own))
		return 0;
	free(own);
	return xw_fail_nomem(&x->diag, "path");
}

/* ---- callbacks ---- */

void xw_export_on_log(struct xw_export *x, xw_log_cb *cb, void *arg)
{
	if (x)
		xw_forward_log(&x->diag, &x->log, cb, arg);
}

void xw_export_on_entry(struct xw_export *x, xw_entry_cb *cb, void *arg)
{
	if (!x)
		return;
	x->entry = cb;
	x->entry_arg = arg;
}

void xw_export_on_progress(struct xw_export *x, xw_progress_cb *cb, void *arg)
{
	if (!x)
		return;
	x->progress = cb;
	x->progress_arg = arg;
}

static int tick(struct run *r, uint64_t bytes)
{
	struct xw_progress p = {.phase = "data", .done = bytes, .total = r->total};

	if (!r->x->progress || xw_seconds_since(&r->ticked) < XW_TELL_EACH)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &r->ticked);
	p.done = XW_MIN(bytes, r->total);
	p.files = r->stats.files + r->stats.directories + r->stats.symlinks + r->stats.specials;
	if (r->x->progress(r->x->progress_arg, &p))
		return xw_fail(&r->x->diag, XW_ERR_CANCELED, "%s: interrupted", r->dev->name);
	return 0;
}

static int on_item(void *arg, const struct xw_export_stats *so_far)
{
	return tick(arg, so_far->bytes_out);
}

/* Report progress after each write: a large file takes many of them. */
static int on_write(void *arg, const void *buf, size_t len)
{
	struct run *r = arg;
	int rc = r->write(r->arg, buf, len);

	if (rc)
		return xw_fail(&r->x->diag, rc, "%s: writing the archive failed", r->dev->name);
	r->written += len;
	return tick(r, r->written);
}

static int on_entry(void *arg, const struct xw_export_item *item)
{
	struct run *r = arg;
	const struct xw_inode *inode = &item->at->inode;
	struct xw_export_entry e = {
		.path = item->path,
		.link = item->link,
		.hardlink = item->hardlink,
		.ino = item->at->ino,
		.mode = inode->mode,
		.uid = inode->uid,
		.gid = inode->gid,
		.links = inode->links,
		.size = inode->size,
		.mtime = inode->mtime.sec,
		.mtime_nsec = inode->mtime.nsec,
	};
	const uint32_t type = inode->mode & XW_S_IFMT;

	if (type == XW_S_IFCHR || type == XW_S_IFBLK)
		xw_inode_get_rdev(inode, &e.dev_major, &e.dev_minor);
	return r->each(r->arg, &e);
}

static int open_run(struct run *r, const char *path)
{
	struct xw_export *x = r->x;
	uint64_t used;
	int rc;

	xw_diag_clear(&x->diag);
	memset(&x->result, 0, sizeof(x->result));
	clock_gettime(CLOCK_MONOTONIC, &r->began);
	r->ticked = r->began;
	rc = xw_recover_read(path, x->redo_file, x->offset, &x->diag, &r->dev, &r->recovered);
	if (!rc)
		rc = xw_image_open(r->dev, x->image_flags, &x->diag, &r->img);
	if (rc)
		return rc;
	used = r->img->sb.blocks_count -
	       XW_MIN(r->img->sb.blocks_count, r->img->sb.free_blocks_count);
	r->total = used * r->img->block_size;
	r->opts = (struct xw_export_opts){
		.top = x->directory,
		.paths = {x->paths.v, x->paths.n},
		.order = x->order,
		.select = &x->select,
		.no_xattrs = x->no_xattrs,
		.no_acls = x->no_acls,
		.tick = on_item,
		.tick_arg = r,
	};
	return 0;
}

/*
 * End a run with result rc. Fails if the journal could not be replayed: damage of single items is
 * reported elsewhere.
 */
static int close_run(struct run *r, int rc)
{
	const struct xw_export_stats *s = &r->stats;

	if (!rc && r->recovered.journal_lost)
		rc = xw_fail(&r->x->diag, XW_ERR_CORRUPT, "%s: the journal could not be replayed",
			     r->dev->name);
	r->x->result = (struct xw_export_result){
		.files = s->files,
		.directories = s->directories,
		.symlinks = s->symlinks,
		.specials = s->specials,
		.hardlinks = s->hardlinks,
		.sparse_files = s->sparse_files,
		.xattrs = s->xattrs,
		.acls = s->acls,
		.sockets = s->sockets,
		.damaged = s->damaged + r->recovered.journal_lost,
		.failed = s->failed,
		.missing = s->missing,
		.data_bytes = s->data_bytes,
		.bytes_out = s->bytes_out,
		.seconds = xw_seconds_since(&r->began),
		.pending = r->recovered.redo_applied,
	};
	xw_fail_repair(&r->x->diag);
	xw_image_close(r->img);
	xw_dev_close(r->dev);
	return rc;
}

/* Check the arguments of a run, of which a second one is called `what`. */
static int check_run(struct xw_export *x, const char *image, bool given, const char *what)
{
	const int rc = xw_option_given(x ? &x->diag : NULL, image, "image");

	return rc ? rc : xw_option_given(&x->diag, given, what);
}

static int check_archive(struct xw_export *x)
{
	if (x->archive.level != XW_LEVEL_DEFAULT && x->archive.compression == XW_COMPRESS_NONE)
		return xw_fail(&x->diag, XW_ERR_USAGE, "--level: nothing is to be compressed");
	return 0;
}

int xw_export_run(struct xw_export *x, const char *image, xw_write_cb *write, void *arg)
{
	struct run r = {.x = x, .write = write, .arg = arg};
	int rc = check_run(x, image, write, "write");

	if (rc)
		return rc;
	rc = check_archive(x);
	if (!rc)
		rc = open_run(&r, image);
	if (!rc)
		rc = xw_image_to_archive(r.img, &r.opts, &x->archive, on_write, &r, &r.stats);
	return close_run(&r, rc);
}

int xw_export_extract(struct xw_export *x, const char *image, const char *dir)
{
	struct run r = {.x = x};
	int rc = check_run(x, image, dir, "dir");

	if (rc)
		return rc;
	r.each = x->entry;
	r.arg = x->entry_arg;
	rc = open_run(&r, image);
	if (r.opts.order == XW_ORDER_DEFAULT)
		/* directory timestamps are restored at the end, so the order is free */
		r.opts.order = XW_ORDER_DISK;
	x->extract.dir = dir;
	x->extract.made = x->entry ? on_entry : NULL;
	x->extract.made_arg = &r;
	if (!rc)
		rc = xw_image_to_dir(r.img, &r.opts, &x->extract, &r.stats);
	return close_run(&r, rc);
}

int xw_export_list(struct xw_export *x, const char *image, xw_entry_cb *each, void *arg)
{
	struct run r = {.x = x, .each = each, .arg = arg};
	int rc = check_run(x, image, each, "each");

	if (rc)
		return rc;
	rc = open_run(&r, image);
	if (!rc)
		rc = xw_image_to_list(r.img, &r.opts, on_entry, &r, &r.stats);
	return close_run(&r, rc);
}

const struct xw_export_result *xw_export_result(const struct xw_export *x)
{
	return x ? &x->result : NULL;
}

const char *xw_export_json(struct xw_export *x)
{
	const struct xw_export_result *r = xw_export_result(x);
	struct xw_json *j;

	if (!x)
		return NULL;
	j = &x->json;
	xw_json_free(j);
	xw_json_object(j, NULL);
	xw_json_u64(j, "files", r->files);
	xw_json_u64(j, "directories", r->directories);
	xw_json_u64(j, "symlinks", r->symlinks);
	xw_json_u64(j, "specials", r->specials);
	xw_json_u64(j, "hardlinks", r->hardlinks);
	xw_json_u64(j, "sparse_files", r->sparse_files);
	xw_json_u64(j, "xattrs", r->xattrs);
	xw_json_u64(j, "acls", r->acls);
	xw_json_u64(j, "sockets", r->sockets);
	xw_json_u64(j, "damaged", r->damaged);
	xw_json_u64(j, "failed", r->failed);
	xw_json_u64(j, "missing", r->missing);
	xw_json_u64(j, "data_bytes", r->data_bytes);
	xw_json_u64(j, "bytes_out", r->bytes_out);
	xw_json_f64(j, "seconds", r->seconds, 3);
	if (r->pending)
		xw_json_bool(j, "pending_change", true);
	xw_json_end(j, '}');
	return xw_json_text(j);
}

const char *xw_export_error(const struct xw_export *x)
{
	return x ? x->diag.text : XW_NO_HANDLE;
}
