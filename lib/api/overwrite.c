// SPDX-License-Identifier: MIT
/* Check whether the target may be overwritten or replaced: its existing contents, and users. */
#include "config.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run.h"
#include "base/auto.h"
#include "base/bytes.h"
#include "dev/mounted.h"
#include "dev/partition.h"
#include "disk/foreign.h"

#define PIECE (1 << 20)

/*
 * Detect what libblkid does not know: archives and compressed files, which are the target if IMAGE
 * and source were swapped, and disk images.
 */
static const char *find_foreign(int fd, uint64_t offset)
{
	auto_free uint8_t *head = malloc(XW_FOREIGN_LOOK);
	const ssize_t n =
		!head || offset > INT64_MAX ? -1 : pread(fd, head, XW_FOREIGN_LOOK, (off_t)offset);
	const struct xw_foreign *kind = n > 0 ? xw_foreign_find(head, (size_t)n) : NULL;

	return kind ? kind->what : NULL;
}

/* libblkid does not know the partition table of a disk that was cut. */
static bool has_damaged_gpt(int fd)
{
	struct xw_partitions table;
	bool damaged;

	if (xw_partitions_read(fd, &table))
		return false;
	damaged = table.damaged;
	xw_partitions_free(&table);
	return damaged;
}

/* Is it a filesystem type that mkfs creates? */
static bool is_ext(const char *type)
{
	return !strcmp(type, "ext2") || !strcmp(type, "ext3") || !strcmp(type, "ext4") ||
	       !strcmp(type, "ext4dev") /* -E test_fs */ || !strcmp(type, "jbd");
}

/*
 * Convert libblkid's result to a description: "an ext4 filesystem labelled "x"", "LVM2_member
 * data".
 */
static void describe(blkid_probe pr, char *what, size_t size, bool *ours)
{
	const char *type = NULL, *usage = NULL, *label = NULL;

	if (blkid_probe_lookup_value(pr, "TYPE", &type, NULL)) {
		if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL) && strcmp(type, "PMBR"))
			snprintf(what, size, "a %s partition table", type);
		return;
	}
	*ours = is_ext(type);
	if (blkid_probe_lookup_value(pr, "LABEL", &label, NULL))
		label = NULL;
	if (!blkid_probe_lookup_value(pr, "USAGE", &usage, NULL) && strcmp(usage, "filesystem"))
		snprintf(what, size, "%s %s", type, strcmp(usage, "other") ? usage : "space");
	else
		snprintf(what, size, "%s %s filesystem%s%s%s", strchr("aeiou", *type) ? "an" : "a",
			 type, label ? " labelled \"" : "", label ? label : "", label ? "\"" : "");
}

/*
 * Identify the contents of fd, within `window` bytes (0: to the end). what: a description, "" if
 * unknown; *ours: a filesystem type that mkfs creates.
 */
static int probe(struct xw_mkfs *m, int fd, uint64_t window, char *what, size_t size, bool *ours)
{
	blkid_probe pr = blkid_new_probe();
	const uint64_t offset = m->params.offset;
	const char *foreign;

	what[0] = 0;
	*ours = false;
	if (!pr)
		return xw_fail_nomem(&m->diag, "libblkid probe");
	/*
	 * A device too small for any filesystem is not probed. Read errors are ignored: they recur
	 * when the target is written.
	 */
	if (!blkid_probe_set_device(pr, fd, (blkid_loff_t)offset, (blkid_loff_t)window)) {
		blkid_probe_enable_superblocks(pr, 1);
		blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
							      BLKID_SUBLKS_USAGE);
		blkid_probe_enable_partitions(pr, 1);
		if (!blkid_do_fullprobe(pr))
			describe(pr, what, size, ours);
	}
	blkid_free_probe(pr);
	if (!what[0] && !offset && has_damaged_gpt(fd))
		snprintf(what, size, "a damaged or cut gpt partition table");
	foreign = what[0] ? NULL : find_foreign(fd, offset);
	if (foreign)
		snprintf(what, size, "%s", foreign);
	return 0;
}

/*
 * For --replace, without a known signature: any data protects the file. Overwriting in place is
 * allowed, as in mke2fs.
 */
static int find_data(struct xw_mkfs *m, const char *path, int fd, char *what, size_t size)
{
	auto_free uint8_t *buf = malloc(PIECE);
	off_t at = 0, hole = 0;
	ssize_t n;

	if (!buf)
		return xw_fail_nomem(&m->diag, "checking existing contents");
	for (;;) {
		if (at >= hole) {
			at = lseek(fd, at, SEEK_DATA);
			hole = at < 0 ? -1 : lseek(fd, at, SEEK_HOLE);
			if (at < 0 && errno == ENXIO)
				return 0;
		}
		n = hole < 0 ? -1 : pread(fd, buf, (size_t)XW_MIN(hole - at, PIECE), at);
		if (n < 0)
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s: cannot read", path);
		if (!n)
			return 0;
		if (!xw_all_zero(buf, (size_t)n)) {
			snprintf(what, size, "data other than a filesystem");
			return 0;
		}
		at += n;
	}
}

static int check(struct xw_mkfs *m, const char *path, int fd, const struct stat *st,
		 uint64_t window)
{
	char what[256];
	bool ours;
	int rc;

	if (m->force < 2 && S_ISREG(st->st_mode) && xw_dev_backs_loop(fd, what, sizeof(what)))
		return xw_fail(&m->diag, XW_ERR_BUSY, "%s: in use by %s", path, what);
	if (m->force < 2 && S_ISBLK(st->st_mode)) {
		auto_fd int excl = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);

		if (excl < 0 && errno == EBUSY)
			return xw_dev_fail_busy(&m->diag, path);
	}
	if (m->force)
		return 0;
	rc = probe(m, fd, window, what, sizeof(what), &ours);
	if (rc || (ours && m->replace)) /* --replace allows to replace an old image */
		return rc;
	if (!what[0] && m->replace)
		rc = find_data(m, path, fd, what, sizeof(what));
	return rc || !what[0] ? rc : xw_fail(&m->diag, XW_ERR_EXISTS, "%s: holds %s", path, what);
}

int xw_overwrite_check(struct xw_mkfs *m, const char *path, int fd, const struct stat *st,
		       uint64_t window)
{
	int rc = check(m, path, fd, st, window);

	/* With -n nothing is overwritten: only warn. */
	if (m->plan_only && (rc == XW_ERR_EXISTS || rc == XW_ERR_BUSY)) {
		xw_log(&m->diag, XW_LOG_WARN, "%s", m->diag.text);
		xw_diag_clear(&m->diag);
		rc = 0;
	}
	return rc;
}
