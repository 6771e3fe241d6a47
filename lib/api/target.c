// SPDX-License-Identifier: MIT
/*
 * The target of mkfs: checks, opening, and removal of old contents, so that unwritten ranges read
 * as zeros.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "api/run.h"
#include "base/auto.h"
#include "base/same.h"
#include "commit/store.h"
#include "commit/undo_dev.h"
#include "dev/partition.h"

#define DISCARD_STEP (1ull << 30) /* bytes per request: the run can be canceled in between */
#define DISCARD_ALIGN 4096u
#define PUBLISH_TRIES 100

/*
 * Check the sources before the target is changed: a misspelled name must not destroy an image, and
 * the target must not be a source.
 */
static int check_sources(struct xw_mkfs *m, const char *path, const struct stat *target)
{
	unsigned stdins = 0;

	for (size_t i = 0; i < m->sources.n; i++) {
		auto_free char *file = xw_source_file(m->sources.v[i], m->no_oci);
		const char *name = file ? file : "";
		bool is_stdin = !strcmp(name, "-");
		struct stat st;

		if (!file)
			return xw_fail_nomem(&m->diag, "source");
		if (m->calls.v[i].fn)
			continue;
		if (is_stdin && stdins++)
			return xw_fail(&m->diag, XW_ERR_USAGE,
				       "-d -: standard input can be read only once");
		if (is_stdin ? fstat(STDIN_FILENO, &st)
			     : stat(name, &st) || faccessat(AT_FDCWD, name, R_OK, AT_EACCESS))
			return xw_source_fail_open(is_stdin ? "standard input" : name, &m->diag);
		if (target && !S_ISDIR(st.st_mode) && xw_same_file(&st, target))
			return xw_fail(&m->diag, XW_ERR_USAGE, "%s: is both source and image",
				       path);
	}
	return xw_run_oci_config_check(m, path);
}

/* An undo file is never overwritten, and the image must not be taken for one. */
static int check_undo(struct xw_mkfs *m, const char *path, const struct stat *target)
{
	struct stat st;

	if (!m->undo_file || m->plan_only || stat(m->undo_file, &st))
		return 0;
	if (target && xw_same_file(&st, target))
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: is both undo file and image", path);
	return xw_undo_dev_exists(m->undo_file, &m->diag);
}

/* -n */
static int open_null(struct xw_mkfs *m, struct xw_target *t)
{
	const int rc = xw_dev_open_null("(plan)", &m->diag, &t->dev);

	if (!rc)
		t->dev->fresh = true;
	return rc;
}

/* ---- checking, opening ---- */

void xw_target_sectors(struct xw_mkfs *m, const char *path)
{
	auto_fd int fd = -1;
	unsigned physical = 0;
	int sector = 0;
	struct stat st;

	m->params.in_place = m->params.offset || m->supers_only || m->undo_file;
	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return;
	m->params.in_place = true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!m->sector && !ioctl(fd, BLKSSZGET, &sector) && sector > 0)
		m->sector = (uint32_t)sector;
	if (!m->physical_sector && !ioctl(fd, BLKPBSZGET, &physical))
		m->physical_sector = physical;
}

/* Check for options that contradict --replace. */
static int check_replace(struct xw_mkfs *m, const struct xw_target *t)
{
	const char *with = m->supers_only     ? "-S"
			   : m->params.offset ? "-E offset"
			   : m->undo_file     ? "-z"
					      : NULL;

	if (!m->replace)
		return 0;
	if (with)
		return xw_fail(&m->diag, XW_ERR_USAGE, "--replace: not with %s", with);
	if (t->is_block)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "--replace: %s is a device, not a regular file", t->path);
	return 0;
}

static int read_table(struct xw_mkfs *m, const struct xw_target *t, int fd,
		      struct xw_partitions *out)
{
	const int rc = xw_partitions_read(fd, out);

	if (rc == XW_ERR_IO)
		return xw_fail(&m->diag, rc, "%s: cannot read the partition table", t->path);
	return rc ? xw_fail_nomem(&m->diag, "the partition table") : 0;
}

/*
 * With -E offset on a disk, find the partition that begins there: no filesystem exceeds it, nor the
 * disk.
 */
static int find_window(struct xw_mkfs *m, struct xw_target *t, int fd, uint64_t size)
{
	const uint64_t offset = m->params.offset;
	const struct xw_partition *p;
	struct xw_partitions table;
	uint64_t end = t->is_block ? size : 0;
	char list[240];
	int rc;

	if (!offset)
		return 0;
	rc = read_table(m, t, fd, &table);
	if (rc)
		return rc;
	p = xw_partition_at(&table, offset);
	if (p)
		t->partition = p->number;
	else if (*table.type && !table.damaged && !m->force) {
		xw_partitions_text(&table, list, sizeof(list));
		rc = xw_fail(&m->diag, XW_ERR_EXISTS,
			     "%s: no partition begins at byte %llu: the %s partition table has %s",
			     t->path, (unsigned long long)offset, table.type,
			     *list ? list : "none");
	}
	if (*table.type)
		end = xw_partitions_end(&table, offset, size);
	if (!rc && table.damaged)
		rc = xw_fail(&m->diag, XW_ERR_USAGE,
			     "%s: no space for a filesystem at byte %llu: it belongs to the gpt "
			     "partition table, which is damaged or was cut: its partitions are "
			     "unknown",
			     t->path, (unsigned long long)offset);
	else if (!rc && end == offset && offset < size)
		rc = xw_fail(&m->diag, XW_ERR_USAGE,
			     "%s: no space for a filesystem at byte %llu: it belongs to the %s "
			     "partition table",
			     t->path, (unsigned long long)offset, table.type);
	xw_partitions_free(&table);
	if (!rc && end && end <= offset)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: no space for a filesystem at byte %llu: the %s ends at %llu",
			       t->path, (unsigned long long)offset, t->is_block ? "device" : "file",
			       (unsigned long long)size);
	t->window = end ? end - offset : 0;
	return rc;
}

static int refuse_size(struct xw_mkfs *m, const struct xw_target *t, const char *others)
{
	const unsigned long long size = m->params.size_bytes, have = t->window;

	if (!t->partition)
		return xw_fail(&m->diag, XW_ERR_LIMIT,
			       "%s: SIZE of %llu bytes is larger than the space at byte %llu "
			       "(%llu)%s%s",
			       t->path, size, (unsigned long long)m->params.offset, have,
			       *others ? "; it would overwrite partition " : "", others);
	return xw_fail(&m->diag, XW_ERR_LIMIT,
		       "%s: SIZE of %llu bytes is larger than partition %u (%llu)%s%s", t->path,
		       size, t->partition, have, *others ? "; it would overwrite partition " : "",
		       others);
}

int xw_target_fits(struct xw_mkfs *m, const struct xw_target *t)
{
	const uint64_t size = m->params.size_bytes;
	struct xw_partitions table;
	char list[240];
	auto_fd int fd = -1;
	int rc;

	if (!m->params.offset || !t->exists)
		return 0;
	fd = open(t->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s", t->path);
	rc = read_table(m, t, fd, &table);
	if (rc)
		return rc;
	xw_partitions_overlap_text(&table, m->params.offset, size, list, sizeof(list));
	xw_partitions_free(&table);
	if (t->window && size > t->window)
		return refuse_size(m, t, list);
	if (*list)
		xw_log(&m->diag, XW_LOG_WARN, "%s: the filesystem overwrites partition %s", t->path,
		       list);
	return 0;
}

int xw_target_check(struct xw_mkfs *m, const char *path, struct xw_target *t)
{
	uint64_t have = 0;
	struct stat st;
	int rc = 0;

	if (!*path)
		return xw_fail(&m->diag, XW_ERR_USAGE, "the name of the image is empty");
	*t = (struct xw_target){.path = path, .exists = !stat(path, &st)};
	if (!t->exists && (errno != ENOENT || m->supers_only))
		return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s", path);
	t->is_block = t->exists && S_ISBLK(st.st_mode);
	if (t->exists && !t->is_block && !S_ISREG(st.st_mode))
		return xw_fail(&m->diag, XW_ERR_INPUT,
			       "%s: neither a regular file nor a block device", path);
	rc = check_replace(m, t);
	if (!rc)
		rc = check_sources(m, path, t->exists ? &st : NULL);
	if (!rc)
		rc = check_undo(m, path, t->exists ? &st : NULL);
	if (!rc && t->exists) {
		auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s", path);
		have = (uint64_t)st.st_size;
		if (t->is_block && ioctl(fd, BLKGETSIZE64, &have))
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s: size", path);
		rc = find_window(m, t, fd, have);
		if (!rc)
			rc = xw_overwrite_check(m, path, fd, &st, t->window);
	}
	if (rc)
		return rc;
	if (t->exists && m->replace) {
		t->exists = false;
		t->replaces = true;
		t->replaced = (struct xw_file_id){st.st_dev, st.st_ino};
		have = 0;
	}
	t->file_size = have;
	t->have = have > m->params.offset ? have - m->params.offset : 0;
	if (t->window)
		t->have = t->window;
	if (m->params.size_set || t->have)
		return 0;
	if (m->params.offset)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-E offset: SIZE is needed");
	if (!m->sources.n)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: SIZE is needed for a new image without -d", path);
	return 0;
}

/* Overwrite the backups of superblock sb that are found where it says. */
static int wipe_backups(struct xw_dev *dev, const struct xw_super *sb)
{
	static const uint8_t zeros[XW_SUPER_SIZE];
	const struct xw_geo old = {
		.groups = (uint32_t)XW_MIN(xw_super_groups(sb), UINT32_MAX),
		.features.w = {sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat},
		.backup_bgs = {sb->backup_bgs[0], sb->backup_bgs[1]},
	};
	const uint64_t size = dev->size;
	uint8_t buf[XW_SUPER_SIZE];

	for (uint32_t g = xw_geo_next_super(&old, 1); g < old.groups;
	     g = xw_geo_next_super(&old, g + 1)) {
		const uint64_t at = (sb->first_data_block + (uint64_t)g * sb->blocks_per_group) *
				    xw_super_block_size(sb);
		int rc = 0;

		if (at > size || size - at < sizeof(buf))
			break;
		if (!xw_dev_pread(dev, buf, sizeof(buf), at) && xw_super_has_magic(buf))
			rc = xw_dev_pwrite(dev, zeros, sizeof(zeros), at);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Overwrite the superblock and its backups of an old filesystem: an interrupted run must leave no
 * filesystem, and an old backup must not be taken for one of the new filesystem.
 */
static int wipe_superblocks(struct xw_mkfs *m, struct xw_dev *dev)
{
	static const uint8_t zeros[4096];
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = 0;

	if (dev->size < sizeof(zeros))
		return 0;
	if (!xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET) && !xw_super_decode(buf, &sb))
		rc = wipe_backups(dev, &sb);
	if (rc)
		return rc;
	xw_diag_clear(&m->diag); /* an unreadable old superblock is no failure */
	rc = xw_dev_pwrite(dev, zeros, sizeof(zeros), 0);
	/* Without a flush, a power failure could restore the old superblock after later writes. */
	return rc ? rc : xw_dev_flush(dev);
}

/*
 * Remove the redo file of an interrupted change to the old filesystem. It would prevent changes, or
 * be applied to the new filesystem if that has the same UUID.
 */
static void drop_redo_file(struct xw_mkfs *m, const char *path)
{
	struct xw_redo_store *store = NULL;

	if (!xw_redo_store_open(path, NULL, m->params.offset, &m->diag, &store)) {
		if (store->ops->remove(store))
			xw_log(&m->diag, XW_LOG_WARN, "%s", m->diag.text);
		xw_redo_store_close(store);
	}
	xw_diag_clear(&m->diag);
}

static int open_once(struct xw_mkfs *m, struct xw_target *t, unsigned flags)
{
	return flags & XW_DEV_CREATE ? xw_newfile_open(t->path, flags & XW_DEV_DIRECT, &m->diag,
						       &t->dev, &t->file)
				     : xw_dev_open_file(t->path, flags, &m->diag, &t->dev);
}

/*
 * Open the target, with O_DIRECT if `direct` is set and the host supports it; otherwise log that at
 * `level`.
 */
static int open_dev(struct xw_mkfs *m, struct xw_target *t, unsigned flags, bool direct,
		    enum xw_log_level level)
{
	int rc = direct ? open_once(m, t, flags | XW_DEV_DIRECT) : XW_ERR_UNSUPPORTED;

	if (rc != XW_ERR_UNSUPPORTED)
		return rc ? rc : xw_dev_open_direct(t->dev, t->dev->align, &t->dev);
	if (direct)
		xw_log(&m->diag, level, "%s; going on without", m->diag.text);
	xw_diag_clear(&m->diag);
	return open_once(m, t, flags);
}

int xw_target_open_check(struct xw_mkfs *m, struct xw_target *t)
{
	int rc = open_dev(m, t, m->check > 1 ? 0 : XW_DEV_RDONLY, true, XW_LOG_INFO);

	if (!rc && m->params.offset)
		rc = xw_dev_open_offset(t->dev, m->params.offset, &t->dev);
	if (!rc && m->check > 1)
		rc = xw_dev_check_end(t->dev, m->params.size_bytes);
	return rc;
}

/* Would the new file be in the filesystem of /dev? That is in memory: a device is missing. */
static bool is_missing_device(const struct xw_target *t)
{
	const char *slash = strrchr(t->path, '/');
	auto_free char *dir = strndup(slash ? t->path : ".", slash > t->path ? slash - t->path : 1);
	struct stat in, dev, root;

	return dir && !stat(dir, &in) && !stat("/dev", &dev) && !stat("/", &root) &&
	       in.st_dev == dev.st_dev && dev.st_dev != root.st_dev;
}

static int open_undo(struct xw_mkfs *m, struct xw_target *t)
{
	const int rc = xw_undo_dev_open(t->dev, m->undo_file, m->params.offset, &t->dev);

	t->undo = !rc;
	return rc;
}

int xw_target_open(struct xw_mkfs *m, struct xw_target *t)
{
	uint64_t off = m->params.offset, bytes = m->params.size_bytes;
	const char *name;
	struct stat st;
	int rc;

	if (t->is_block && bytes > t->have)
		return xw_fail(&m->diag, XW_ERR_LIMIT,
			       "%s: SIZE of %llu bytes is larger than the device (%llu)", t->path,
			       (unsigned long long)bytes, (unsigned long long)t->have);
	if (m->plan_only)
		return open_null(m, t);
	if (!t->exists && !m->force && is_missing_device(t))
		return xw_fail(&m->diag, XW_ERR_NOTFOUND,
			       "%s: no such device (-F creates a regular file)", t->path);
	if (m->undo_file) /* discarded blocks would not be saved */
		m->params.discard = 0;
	rc = open_dev(m, t, t->exists ? 0 : XW_DEV_CREATE, m->direct, XW_LOG_WARN);
	if (rc)
		return rc;
	name = t->file ? xw_newfile_name(t->file) : t->path;
	if (name && !stat(name, &st))
		t->opened = (struct xw_file_id){st.st_dev, st.st_ino};
	/* a cleared file has no blocks unless -E nodiscard keeps them */
	t->dev->fresh = !t->is_block && (!t->exists || m->params.discard);
	t->dev->keep = t->exists && !m->params.discard;
	if (off)
		rc = xw_dev_open_offset(t->dev, off, &t->dev);
	if (!rc && m->undo_file)
		rc = open_undo(m, t);
	/* 0 without SIZE: the final size is not known yet */
	return rc ? rc : xw_dev_check_end(t->dev, bytes);
}

/* Discard the target. As in mke2fs it is no failure if that is not supported. */
static int discard(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick)
{
	uint64_t off = m->params.offset;
	uint64_t from = xw_div_up(off, DISCARD_ALIGN) * DISCARD_ALIGN - off;
	uint64_t end = (off + m->params.size_bytes) / DISCARD_ALIGN * DISCARD_ALIGN - off;

	for (uint64_t len; from < end; from += len) {
		int rc;

		len = XW_MIN(end - from, DISCARD_STEP);
		if (xw_dev_discard(t->dev, from, len)) {
			xw_log(&m->diag, XW_LOG_INFO, "%s: discards nothing", t->path);
			return 0;
		}
		rc = tick.fn ? tick.fn(tick.arg) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int xw_target_clear(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick)
{
	uint64_t off = m->params.offset, bytes = m->params.size_bytes;
	/* Data after the filesystem in a longer file is kept. */
	const bool tail = m->params.size_set && bytes < t->file_size;
	bool keep = t->dev->keep;
	int rc = 0;

	t->cleared = true;
	if (m->plan_only || !t->exists)
		return 0;
	if (!t->is_block)
		drop_redo_file(m, t->path);
	if (t->is_block || keep)
		rc = wipe_superblocks(m, t->dev);
	if (rc)
		return rc;
	if (t->is_block)
		return m->params.discard ? discard(m, t, tick) : 0;
	if (off) /* data before and after the filesystem is kept */
		return keep ? 0 : xw_dev_zero(t->dev, 0, XW_MIN(t->have, bytes));
	if (keep || !t->file_size || !xw_dev_discard(t->dev, 0, tail ? bytes : t->file_size))
		return 0;
	if (tail)
		return xw_dev_zero(t->dev, 0, bytes);
	/* holes cannot be punched: truncate and extend the file */
	rc = xw_dev_check_end(t->dev, t->file_size);
	if (!rc)
		rc = xw_dev_set_size(t->dev, 0);
	return rc ? rc : xw_dev_set_size(t->dev, t->file_size);
}

/*
 * With --replace: look at the file of that name again. Another job may have made or replaced it
 * since the start; then it is replaced if it might have been replaced at the start.
 */
static int check_replaced(struct xw_mkfs *m, struct xw_target *t)
{
	auto_fd int fd = open(t->path, O_RDONLY | O_CLOEXEC);
	const int err = fd < 0 ? errno : 0;
	struct xw_file_id now;
	struct stat st;
	int rc = 0;

	if (err == ENOENT) {
		t->replaces = false;
		return 0;
	}
	if (err || fstat(fd, &st))
		return xw_fail_errno(&m->diag, XW_ERR_IO, err ? err : errno, "%s", t->path);
	now = (struct xw_file_id){st.st_dev, st.st_ino};
	if (!t->replaces || now.dev != t->replaced.dev || now.ino != t->replaced.ino)
		rc = xw_overwrite_check(m, t->path, fd, &st, 0);
	t->replaces = true;
	t->replaced = now;
	return rc;
}

/* Give the new file its name. If equal jobs run at the same time, the last one wins. */
static int publish_file(struct xw_mkfs *m, struct xw_target *t)
{
	for (unsigned left = PUBLISH_TRIES;; left--) {
		int rc = m->replace ? check_replaced(m, t) : 0;
		struct stat st;

		if (rc)
			return rc;
		rc = xw_newfile_publish(t->file, t->replaces, &m->diag);
		/* the file may have appeared after it was looked for */
		if (!rc || !m->replace || t->replaces || stat(t->path, &st) || !left)
			return rc;
		xw_diag_clear(&m->diag);
	}
}

int xw_target_publish(struct xw_mkfs *m, struct xw_target *t)
{
	int rc = t->undo ? xw_undo_dev_finish(t->dev) : 0;

	if (rc || !t->file)
		return rc;
	rc = publish_file(m, t);
	if (!rc && t->replaces)
		drop_redo_file(m, t->path);
	return rc;
}

void xw_target_close(struct xw_target *t, bool ok)
{
	const bool restore = t->cleared && t->exists && !t->is_block && !ok;
	struct stat st;

	if (t->undo && !ok) /* a failed run can be undone, too */
		(void)xw_undo_dev_abandon(t->dev);
	xw_dev_close(t->dev);
	t->dev = NULL;
	xw_newfile_close(t->file);
	t->file = NULL;
	/* by name: the device may start at an offset in the file */
	if (restore && !stat(t->path, &st) && st.st_ino == t->opened.ino &&
	    (uint64_t)st.st_size != t->file_size && truncate(t->path, (off_t)t->file_size))
		return; /* the run has failed anyway */
}
