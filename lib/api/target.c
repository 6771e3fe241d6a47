// SPDX-License-Identifier: MIT
/*
 * The target of a mkfs: how large is it, and how does it become ground on which unwritten ranges
 * read as zeros.
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

#define DISCARD_STEP (1ull << 30) /* bytes at once, so that an interrupt is noticed */
#define DISCARD_ALIGN 4096u

/*
 * Sources are looked at before the target is touched: a misspelt one must not cost an image, and
 * reading what is being overwritten can only end badly.
 */
static int check_sources(struct xw_mkfs *m, const char *path, const struct stat *target)
{
	unsigned stdins = 0;

	for (size_t i = 0; i < m->sources.n; i++) {
		const char *name = m->sources.v[i];
		bool is_stdin = !strcmp(name, "-");
		struct stat st;

		if (is_stdin && stdins++)
			return xw_fail(&m->diag, XW_ERR_USAGE,
				       "-d -: standard input can be read only once");
		if (is_stdin ? fstat(STDIN_FILENO, &st)
			     : stat(name, &st) || faccessat(AT_FDCWD, name, R_OK, AT_EACCESS))
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s: cannot open",
					     is_stdin ? "standard input" : name);
		if (target && !S_ISDIR(st.st_mode) && xw_same_file(&st, target))
			return xw_fail(&m->diag, XW_ERR_USAGE, "%s: is both source and image",
				       path);
	}
	return 0;
}

/* -n */
static int open_null(struct xw_mkfs *m, struct xw_target *t)
{
	const int ret = xw_dev_open_null("(plan)", &m->diag, &t->dev);

	if (!ret)
		t->dev->fresh = true;
	return ret;
}

/* ---- checking, opening ---- */

uint32_t xw_target_sector(const char *path)
{
	auto_fd int fd = -1;
	struct stat st;
	int sector;

	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || ioctl(fd, BLKSSZGET, &sector) || sector < 0 ? 0 : (uint32_t)sector;
}

/* What does not go with a file that is new in any case. */
static int check_replace(struct xw_mkfs *m, const struct xw_target *t)
{
	const char *with = m->supers_only ? "-S" : m->params.offset ? "-E offset" : NULL;

	if (!m->replace)
		return 0;
	if (with)
		return xw_fail(&m->diag, XW_ERR_USAGE, "--replace: not with %s", with);
	if (t->is_block)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "--replace: %s is a device, not a regular file", t->path);
	return 0;
}

int xw_target_check(struct xw_mkfs *m, const char *path, struct xw_target *t)
{
	uint64_t have = 0;
	struct stat st;
	int ret = 0;

	if (!*path)
		return xw_fail(&m->diag, XW_ERR_USAGE, "the name of the image is empty");
	*t = (struct xw_target){.path = path, .exists = !stat(path, &st)};
	if (!t->exists && (errno != ENOENT || m->supers_only))
		return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s", path);
	t->is_block = t->exists && S_ISBLK(st.st_mode);
	if (t->exists && !t->is_block && !S_ISREG(st.st_mode))
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: neither a regular file nor a block device", path);
	ret = check_replace(m, t);
	if (!ret)
		ret = check_sources(m, path, t->exists ? &st : NULL);
	if (!ret && t->exists) {
		auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s", path);
		have = (uint64_t)st.st_size;
		if (t->is_block && ioctl(fd, BLKGETSIZE64, &have))
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s: size", path);
		ret = xw_overwrite_check(m, path, fd, &st);
	}
	if (ret)
		return ret;
	if (t->exists && m->replace) {
		t->exists = false;
		t->replaces = true;
		t->replaced = (struct xw_file_id){st.st_dev, st.st_ino};
		have = 0;
	}
	t->file_size = have;
	t->have = have > m->params.offset ? have - m->params.offset : 0;
	if (m->params.size_set || t->have)
		return 0;
	if (m->params.offset)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-E offset: SIZE is needed");
	if (!m->sources.n)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: SIZE is needed for a new image without -d", path);
	return 0;
}

/*
 * The superblocks of what was on the target go first: a run that is cut must leave no filesystem,
 * and a backup of the old one must never be taken for one of ours.
 */
static int wipe_superblocks(struct xw_mkfs *m, struct xw_dev *dev)
{
	static const uint8_t zeros[4096];
	uint64_t size = dev->size;
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;
	int ret = 0;

	if (dev->size < sizeof(zeros))
		return 0;
	if (!xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET) && !xw_super_decode(buf, &sb)) {
		struct xw_geo old = {
			.groups = (uint32_t)XW_MIN(xw_super_groups(&sb), UINT32_MAX),
			.features.w = {sb.feature_compat, sb.feature_incompat,
				       sb.feature_ro_compat},
			.backup_bgs = {sb.backup_bgs[0], sb.backup_bgs[1]},
		};

		for (uint32_t g = xw_geo_next_super(&old, 1); g < old.groups && !ret;
		     g = xw_geo_next_super(&old, g + 1)) {
			uint64_t at = (sb.first_data_block + (uint64_t)g * sb.blocks_per_group) *
				      xw_super_block_size(&sb);

			if (at > size || size - at < sizeof(buf))
				break;
			if (!xw_dev_pread(dev, buf, sizeof(buf), at) &&
			    peek16(buf + 56) == XW_SUPER_MAGIC)
				ret = xw_dev_pwrite(dev, zeros, sizeof(buf), at);
		}
	}
	if (!ret)
		xw_diag_clear(&m->diag); /* an unreadable old superblock is no failure of ours */
	if (!ret)
		ret = xw_dev_pwrite(dev, zeros, sizeof(zeros), 0);
	/* Flushed, or a power cut could leave the old superblock over what is written next. */
	return ret ? ret : xw_dev_flush(dev);
}

/*
 * What would complete an interrupted change to the filesystem that is being overwritten. Left there
 * it would be in the way, and with the same UUID set could be taken for ours.
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

/* With `direct` past the page cache; that the host has no such thing is said at `level`. */
static int open_dev(struct xw_mkfs *m, struct xw_target *t, unsigned flags, bool direct,
		    enum xw_log_level level)
{
	int ret = direct ? open_once(m, t, flags | XW_DEV_DIRECT) : XW_ERR_UNSUPPORTED;

	if (ret != XW_ERR_UNSUPPORTED)
		return ret ? ret : xw_dev_open_direct(t->dev, t->dev->align, &t->dev);
	if (direct)
		xw_log(&m->diag, level, "%s; going on without", m->diag.text);
	xw_diag_clear(&m->diag);
	return open_once(m, t, flags);
}

int xw_target_open_check(struct xw_mkfs *m, struct xw_target *t)
{
	int ret = open_dev(m, t, m->check > 1 ? 0 : XW_DEV_RDONLY, true, XW_LOG_INFO);

	if (!ret && m->params.offset)
		ret = xw_dev_open_offset(t->dev, m->params.offset, &t->dev);
	if (!ret && m->check > 1)
		ret = xw_dev_check_end(t->dev, m->params.size_bytes);
	return ret;
}

/* A new file in the filesystem of /dev: that is memory, and what was meant is a device. */
static bool is_missing_device(const struct xw_target *t)
{
	const char *slash = strrchr(t->path, '/');
	auto_free char *dir = strndup(slash ? t->path : ".", slash > t->path ? slash - t->path : 1);
	struct stat in, dev, root;

	return dir && !stat(dir, &in) && !stat("/dev", &dev) && !stat("/", &root) &&
	       in.st_dev == dev.st_dev && dev.st_dev != root.st_dev;
}

int xw_target_open(struct xw_mkfs *m, struct xw_target *t)
{
	uint64_t off = m->params.offset, bytes = m->params.size_bytes;
	const char *name;
	struct stat st;
	int ret;

	if (t->is_block && bytes > t->have)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: SIZE of %llu bytes is larger than the device (%llu)", t->path,
			       (unsigned long long)bytes, (unsigned long long)t->have);
	if (m->plan_only)
		return open_null(m, t);
	if (!t->exists && !m->force && is_missing_device(t))
		return xw_fail(&m->diag, XW_ERR_NOTFOUND,
			       "%s: no such device; -F makes a file there", t->path);
	ret = open_dev(m, t, t->exists ? 0 : XW_DEV_CREATE, m->direct, XW_LOG_WARN);
	if (ret)
		return ret;
	name = t->file ? xw_newfile_name(t->file) : t->path;
	if (name && !stat(name, &st))
		t->opened = (struct xw_file_id){st.st_dev, st.st_ino};
	/* a file will be all holes once it is cleared, unless its blocks are to stay */
	t->dev->fresh = !t->is_block && (!t->exists || m->params.discard);
	t->dev->keep = t->exists && !m->params.discard;
	if (off)
		ret = xw_dev_open_offset(t->dev, off, &t->dev);
	/* what it takes without SIZE, nobody knows yet */
	return ret ? ret : xw_dev_check_end(t->dev, bytes);
}

/* As in mke2fs: what the host cannot discard is no failure. */
static int discard(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick)
{
	uint64_t off = m->params.offset;
	uint64_t from = xw_div_up(off, DISCARD_ALIGN) * DISCARD_ALIGN - off;
	uint64_t end = (off + m->params.size_bytes) / DISCARD_ALIGN * DISCARD_ALIGN - off;
	int ret = 0;

	while (from < end && !ret) {
		uint64_t len = XW_MIN(end - from, DISCARD_STEP);

		if (xw_dev_discard(t->dev, from, len)) {
			xw_log(&m->diag, XW_LOG_INFO, "%s: discards nothing", t->path);
			return 0;
		}
		from += len;
		ret = tick.fn ? tick.fn(tick.arg) : 0;
	}
	return ret;
}

int xw_target_clear(struct xw_mkfs *m, struct xw_target *t, struct xw_feed_tick tick)
{
	uint64_t off = m->params.offset, bytes = m->params.size_bytes;
	/* What lies behind the filesystem in a longer file stays. */
	const bool tail = m->params.size_set && bytes < t->file_size;
	bool keep = t->dev->keep;
	int ret = 0;

	t->cleared = true;
	if (m->plan_only || !t->exists)
		return 0;
	if (!t->is_block)
		drop_redo_file(m, t->path);
	if (t->is_block || keep)
		ret = wipe_superblocks(m, t->dev);
	if (ret)
		return ret;
	if (t->is_block)
		return m->params.discard ? discard(m, t, tick) : 0;
	if (off) /* what lies around our range is somebody else's */
		return keep ? 0 : xw_dev_zero(t->dev, 0, XW_MIN(t->have, bytes));
	if (keep || !t->file_size || !xw_dev_discard(t->dev, 0, tail ? bytes : t->file_size))
		return 0;
	if (tail)
		return xw_dev_zero(t->dev, 0, bytes);
	/* no holes here: what goes and comes back is all holes, too */
	ret = xw_dev_check_end(t->dev, t->file_size);
	if (!ret)
		ret = xw_dev_set_size(t->dev, 0);
	return ret ? ret : xw_dev_set_size(t->dev, t->file_size);
}

int xw_target_publish(struct xw_mkfs *m, struct xw_target *t)
{
	int ret;

	if (!t->file)
		return 0;
	ret = xw_newfile_publish(t->file, t->replaces, &m->diag);
	if (!ret && t->replaces)
		drop_redo_file(m, t->path);
	return ret;
}

void xw_target_close(struct xw_target *t, bool ok)
{
	const bool restore = t->cleared && t->exists && !t->is_block && !ok;
	struct stat st;

	xw_dev_close(t->dev);
	t->dev = NULL;
	xw_newfile_close(t->file);
	t->file = NULL;
	/* by its name, since a device that begins in the middle of it cannot end before */
	if (restore && !stat(t->path, &st) && st.st_ino == t->opened.ino &&
	    (uint64_t)st.st_size != t->file_size && truncate(t->path, (off_t)t->file_size))
		return; /* the failure is told already */
}
