// SPDX-License-Identifier: MIT
/* Before an image is opened: detects other users, and drops cached blocks. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "dev/mounted.h"

#include "check/check.h"

/* Who has an unmounted image open: a loop device, whose name is put in `loop`, or a process. */
static const char *user_of(const char *image, char *loop, size_t size)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK), alone = -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	if (S_ISREG(st.st_mode)) {
		if (xw_dev_backs_loop(fd, loop, size))
			return loop;
		return flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK ? "another process"
									    : NULL;
	}
	if (S_ISBLK(st.st_mode))
		alone = open(image, O_RDONLY | O_CLOEXEC | O_EXCL);
	return S_ISBLK(st.st_mode) && alone < 0 && errno == EBUSY ? "another program" : NULL;
}

/* -n also checks an image in use, which may be in the middle of a change. */
static void warn_if_in_use(struct fsck *f, enum xw_mounted how)
{
	char loop[64];
	const char *user;

	if (how == XW_MOUNTED)
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "%s is mounted; what is found may be a change in progress", f->opts.image);
	else if (how == XW_MOUNTED_RDONLY)
		xw_log(&f->ses.diag, XW_LOG_WARN, "%s is mounted read-only", f->opts.image);
	if (how != XW_NOT_MOUNTED)
		return;
	user = user_of(f->opts.image, loop, sizeof(loop));
	if (user)
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "%s is in use by %s; what is found may be a change in progress",
		       f->opts.image, user);
}

/* -F: make reads come from the disk. Best effort. */
void fsck_drop_caches(const struct fsck *f)
{
	auto_fd int fd = -1;
	struct stat st;

	if (!f->opts.flush)
		return;
	fd = open(f->opts.image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return;
	(void)fsync(fd);
	if (S_ISBLK(st.st_mode))
		(void)ioctl(fd, BLKFLSBUF, 0);
	else
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/*
 * A device that is mounted read-only is repaired if it is the root filesystem, for boot scripts, or
 * with -f. *root: it is the root filesystem, which stays mounted after the check.
 */
int fsck_check_mounted(struct fsck *f, bool *root)
{
	const enum xw_mounted how = xw_dev_mounted(f->opts.image);

	*root = how == XW_MOUNTED_RDONLY_ROOT;
	if (f->opts.mode == FSCK_NO) {
		warn_if_in_use(f, how);
		return 0;
	}
	f->opts.mounted = *root || (how == XW_MOUNTED_RDONLY && f->opts.force);
	/* this is normal for the root filesystem at boot, and e2fsck is silent, too */
	if (f->opts.mounted && !*root)
		xw_log(&f->ses.diag, XW_LOG_WARN, "%s is mounted read-only", f->opts.image);
	if (how == XW_NOT_MOUNTED || f->opts.mounted)
		return 0;
	return xw_fail(&f->ses.diag, XW_ERR_BUSY, "%s is mounted; cannot continue", f->opts.image);
}
