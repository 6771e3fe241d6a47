/* SPDX-License-Identifier: MIT */
/*
 * One archive: the image on one side, a file or pipe on the other. A new file that nothing came of
 * is removed; one that came out whole but for damage in the image is kept.
 */
#include "cli/env.h"
#include "cli/human.h"
#include "export/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
	const struct export_args *args;
	struct cli_progress bar;
	unsigned warnings;
	int fd;
	int write_errno; /* why the output failed, 0 = it did not */
	bool created;
};

enum { WARNINGS_SHOWN = 20 };

static void on_log(void *arg, enum xw_severity severity, const char *line)
{
	struct run *run = arg;

	if (severity == XW_WARNING) {
		run->warnings++;
		if (run->warnings > WARNINGS_SHOWN && !run->args->verbose)
			return;
		cli_progress_wipe(&run->bar);
		cli_warning("%s", line);
	} else if (run->args->verbose >= (severity == XW_INFO ? 1u : 2u)) {
		cli_progress_wipe(&run->bar);
		cli_note("%s", line);
	}
}

static int on_progress(void *arg, const struct xw_progress *p)
{
	struct run *run = arg;

	cli_progress_draw(&run->bar, p->phase, p->done, p->total, p->files);
	return cli_interrupted();
}

static int on_write(void *arg, const void *buf, size_t len)
{
	struct run *run = arg;
	const char *p = buf;

	while (len) {
		ssize_t n = write(run->fd, p, len);

		if (n < 0 && (errno != EINTR || cli_interrupted())) {
			run->write_errno = errno;
			return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? XW_E_HOSTFULL
										    : XW_E_IO;
		}
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static bool same_file(const char *path, const struct stat *b)
{
	struct stat a;

	return !stat(path, &a) && a.st_dev == b->st_dev && a.st_ino == b->st_ino;
}

/* Open the output; -1 or a status. An existing file is not cut before it is known not to be the
 * image. */
static int open_output(struct run *run)
{
	const char *path = run->args->output;
	struct stat st;

	run->fd = STDOUT_FILENO;
	if (!path || !strcmp(path, "-"))
		return -1;
	run->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	run->created = run->fd >= 0;
	if (run->fd < 0 && errno == EEXIST)
		run->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (run->fd < 0 || fstat(run->fd, &st)) {
		cli_error("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	if (same_file(run->args->image, &st)) {
		cli_error("%s: the archive would overwrite the image", path);
		return EXIT_USAGE;
	}
	if (!run->created && S_ISREG(st.st_mode) && ftruncate(run->fd, 0)) {
		cli_error("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	return -1;
}

/* 0, or the status of an output that could not be finished. */
static int close_output(struct run *run, bool keep)
{
	int bad = 0;

	if (run->fd == STDOUT_FILENO)
		return 0;
	if (close(run->fd) && keep) {
		cli_error("%s: %s", run->args->output, strerror(errno));
		keep = false;
		bad = EXIT_FAILED;
	}
	if (!keep && run->created)
		unlink(run->args->output);
	return bad;
}

static void print_result(const struct run *run, const struct xw_export_result *r)
{
	if (run->args->quiet || run->fd == STDOUT_FILENO)
		return;
	printf("%s: %s, %s", run->args->output, cli_plural(r->files, "file", "files").s,
	       cli_plural(r->directories, "directory", "directories").s);
	if (r->symlinks)
		printf(", %s", cli_plural(r->symlinks, "symlink", "symlinks").s);
	if (r->hardlinks)
		printf(", %s", cli_plural(r->hardlinks, "hard link", "hard links").s);
	if (r->specials)
		printf(", %s", cli_plural(r->specials, "special", "specials").s);
	printf("; %s in %s, %s\n", cli_size(r->bytes_out).s, cli_duration(r->seconds).s,
	       cli_rate(r->bytes_out, r->seconds).s);
}

int export_archive(const struct export_args *args, struct xw_export *x)
{
	struct run run = {.args = args, .fd = -1};
	const struct xw_export_result *r = xw_export_result(x);
	int err, status = open_output(&run);
	bool whole;

	if (status >= 0) {
		if (run.fd > STDOUT_FILENO)
			close_output(&run, false);
		return status;
	}
	cli_progress_init(&run.bar, !args->quiet && !args->json);
	xw_export_on_log(x, on_log, &run);
	xw_export_on_progress(x, on_progress, &run);
	err = xw_export_run(x, args->image, on_write, &run);
	cli_progress_wipe(&run.bar);
	if (run.warnings > WARNINGS_SHOWN && !args->verbose)
		cli_warning("%u more warnings; -v shows all", run.warnings - WARNINGS_SHOWN);
	whole = !err || (err == XW_E_CORRUPT && r->damaged);
	if (run.write_errno && !cli_interrupted())
		cli_error("%s: %s", args->output ? args->output : "standard output",
			  strerror(run.write_errno));
	else if (err)
		cli_error("%s", xw_export_error(x));
	status = close_output(&run, whole);
	if (!status && whole && args->json)
		puts(xw_export_json(x));
	else if (!status && whole)
		print_result(&run, r);
	return status ? status : err ? EXIT_FAILED : EXIT_DONE;
}
