// SPDX-License-Identifier: MIT
/*
 * --oci-config: write the configuration of the last container image to a file. It is written after
 * all sources were read and renamed into place when the image is complete: a failed run leaves an
 * existing file unchanged. A pipe or device is opened only when the image is complete, since
 * opening may block.
 */
#include "config.h"

#include "api/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/same.h"
#include "base/write.h"
#include "dev/newfile.h"

static int fail(struct xw_mkfs *m, int err, const char *more)
{
	return xw_fail_errno(&m->diag, err == ENOSPC ? XW_ERR_HOSTFULL : XW_ERR_IO, err,
			     "--oci-config %s%s", m->oci_config_file, more);
}

/* "-", or a name that may refer to an open file, which must not be replaced. */
static bool is_descriptor(const char *file)
{
	return !strcmp(file, "-") || !strncmp(file, "/dev/", 5) || !strncmp(file, "/proc/", 6);
}

/* The directory part of a path; malloc'd. */
static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Do both paths name the same file, or would they if it existed? */
static bool same_path(const char *a, const char *b)
{
	auto_free char *dir_a = dir_of(a), *dir_b = dir_of(b);
	struct stat x, y;

	if (!stat(a, &x) && !stat(b, &y))
		return S_ISREG(x.st_mode) && xw_same_file(&x, &y);
	return dir_a && dir_b && !strcmp(base_of(a), base_of(b)) && !stat(dir_a, &x) &&
	       !stat(dir_b, &y) && xw_same_file(&x, &y);
}

/* Can the existing file be replaced or written to? */
static int check_file(struct xw_mkfs *m, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return fail(m, EISDIR, "");
	return access(m->oci_config_file, W_OK) ? fail(m, errno, "") : 0;
}

/* Check that the file can be written, before an existing image is overwritten. */
static int check_place(struct xw_mkfs *m)
{
	const char *file = m->oci_config_file;
	auto_free char *dir = NULL;
	struct stat st;

	if (is_descriptor(file))
		return 0;
	if (!stat(file, &st))
		return check_file(m, &st);
	/* a dangling symbolic link: its target is created */
	if (!lstat(file, &st) && S_ISLNK(st.st_mode))
		return 0;
	dir = dir_of(file);
	if (!dir)
		return xw_fail_nomem(&m->diag, "--oci-config");
	return access(dir, W_OK | X_OK) ? fail(m, errno, ": cannot open") : 0;
}

int xw_run_oci_config_needed(struct xw_mkfs *m, size_t opened)
{
	return m->oci_config_file && !m->oci_config && opened == m->sources.n
		       ? xw_fail(&m->diag, XW_ERR_INPUT,
				 "--oci-config: no source is a container image")
		       : 0;
}

int xw_run_oci_config_check(struct xw_mkfs *m, const char *path)
{
	const char *file = m->oci_config_file;
	bool clash;

	if (!file || !strcmp(file, "-"))
		return 0;
	clash = same_path(file, path);
	for (size_t i = 0; i < m->sources.n && !clash; i++) {
		auto_free char *name = xw_source_file(m->sources.v[i], m->no_oci);

		clash = name && same_path(file, name);
	}
	return clash ? xw_fail(&m->diag, XW_ERR_USAGE,
			       "--oci-config %s: is also the image or a source", file)
		     : check_place(m);
}

/* Write a new file, which xw_run_oci_config_publish() renames into place. */
static int write_new(struct xw_mkfs *m)
{
	struct xw_dev *dev;
	int rc = xw_newfile_open(m->oci_config_file, 0, &m->diag, &dev, &m->oci_config_new);

	if (rc)
		return rc;
	rc = xw_dev_pwrite(dev, m->oci_config, m->oci_config_len, 0);
	if (!rc)
		rc = xw_dev_flush(dev);
	xw_dev_close(dev);
	return rc;
}

int xw_run_oci_config(struct xw_mkfs *m)
{
	const char *file = m->oci_config_file;
	char was[sizeof(m->diag.text)];
	struct stat st;
	bool exists;
	int rc;

	if (!file)
		return 0;
	if (is_descriptor(file))
		return 0;
	exists = !stat(file, &st);
	rc = exists ? check_file(m, &st) : 0;
	if (rc || (exists && !S_ISREG(st.st_mode)))
		return rc;
	rc = write_new(m);
	if (!rc)
		return 0;
	xw_newfile_close(m->oci_config_new);
	m->oci_config_new = NULL;
	memcpy(was, m->diag.text, sizeof(was));
	xw_diag_clear(&m->diag);
	if (exists && rc != XW_ERR_NOMEM && rc != XW_ERR_HOSTFULL)
		return 0; /* written in place later, e.g. if the directory is read-only */
	return xw_fail(&m->diag, rc == XW_ERR_HOSTFULL ? rc : XW_ERR_IO, "--oci-config %s", was);
}

static int open_in_place(const char *file)
{
	return !strcmp(file, "-")
		       ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
		       : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
}

static int write_in_place(struct xw_mkfs *m)
{
	int fd = open_in_place(m->oci_config_file);
	int err = fd < 0 ? errno : xw_write_all(fd, m->oci_config, m->oci_config_len);

	if (fd >= 0 && close(fd) && !err)
		err = errno;
	return err ? fail(m, err, " (the image is complete)") : 0;
}

int xw_run_oci_config_publish(struct xw_mkfs *m)
{
	struct stat st;
	int rc;

	if (!m->oci_config_file || !m->oci_config)
		return 0; /* no container image, or no source at all */
	if (!m->oci_config_new)
		return write_in_place(m);
	rc = xw_newfile_publish(m->oci_config_new, true, &m->diag);
	/* a mount point cannot be replaced, but written to */
	if (rc && !stat(m->oci_config_file, &st) && S_ISREG(st.st_mode)) {
		xw_diag_clear(&m->diag);
		rc = write_in_place(m);
	}
	return rc;
}

void xw_run_oci_config_clear(struct xw_mkfs *m)
{
	xw_newfile_close(m->oci_config_new);
	free(m->oci_config_file);
	free(m->oci_config);
}
