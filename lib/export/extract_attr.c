/* SPDX-License-Identifier: MIT */
/*
 * The order matters: setting the owner removes capabilities and set-ID bits, so it comes first;
 * attributes come before the mode, which may forbid writing them; times come last.
 *
 * Files are accessed through descriptors only. A descriptor opened with O_PATH (a symbolic link, a
 * device) does not support attributes, so they are set through its name in /proc, which refers to
 * that very file.
 */
#include "config.h"

#include "export/extract_attr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "read/xattrs.h"

struct setter {
	struct xw_attr_target *t;
	char proc[40]; /* name of the file in /proc */
	bool has_acl, has_default;
	bool failed;
};

/* Log and count the first failure of the item. */
static void fail(struct setter *s, int err, const char *what)
{
	struct xw_exporter *x = s->t->x;

	if (s->failed)
		return;
	s->failed = true;
	xw_fail_errno(x->img->diag, XW_ERR_IO, err, "cannot set %s", what);
	xw_export_failed(x, s->t->item->path, XW_ERR_IO);
}

static uint32_t type_of(const struct setter *s)
{
	return s->t->item->at->inode.mode & XW_S_IFMT;
}

static void set_owner(struct setter *s)
{
	const struct xw_inode *inode = &s->t->item->at->inode;

	if (s->t->o->same_owner &&
	    fchownat(s->t->fd, "", inode->uid, inode->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		fail(s, errno, "its owner");
}

/* ---- attributes ---- */

static void set_one(struct setter *s, uint8_t index, const char *name, const void *value,
		    size_t len)
{
	struct xw_attr_notes *n = s->t->notes;
	int rc = s->t->by_path ? setxattr(s->proc, name, value, len, 0)
			       : fsetxattr(s->t->fd, name, value, len, 0);
	char what[XW_XATTR_FULL_NAME_MAX + 32];

	if (!rc)
		return;
	if (errno == EPERM && (index == XW_XI_SECURITY || index == XW_XI_TRUSTED)) {
		n->privileged++;
	} else if (errno == EOPNOTSUPP) {
		if (!n->unsupported)
			xw_log(s->t->x->img->diag, XW_LOG_WARN,
			       "%s: %s: not supported there; further ones are not mentioned",
			       s->t->item->path, name);
		n->unsupported = true;
	} else {
		snprintf(what, sizeof(what), "attribute %s", name);
		fail(s, errno, what);
	}
}

static int set_attribute(void *arg, const struct xw_xattr_ref *a)
{
	struct setter *s = arg;
	const bool is_acl = a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT;
	auto_end(xw_xattr_linux_free) struct xw_xattr_linux x;
	int rc = xw_xattr_to_linux(a, s->t->x->img->diag, &x);

	if (rc)
		return rc;
	set_one(s, a->index, x.name, x.value, x.value_len);
	s->has_acl |= a->index == XW_XI_ACL_ACCESS;
	s->has_default |= a->index == XW_XI_ACL_DEFAULT;
	*(is_acl ? &s->t->x->stats->acls : &s->t->x->stats->xattrs) += 1;
	return 0;
}

static void remove_one(struct setter *s, const char *name)
{
	if (s->t->by_path)
		removexattr(s->proc, name);
	else
		fremovexattr(s->t->fd, name);
}

/* A new file may have inherited an ACL from its directory. */
static void remove_inherited(struct setter *s)
{
	if (!s->t->inherits || !s->t->o->same_modes || type_of(s) == XW_S_IFLNK)
		return;
	if (!s->has_acl)
		remove_one(s, "system.posix_acl_access");
	if (!s->has_default && type_of(s) == XW_S_IFDIR)
		remove_one(s, "system.posix_acl_default");
}

/* ---- mode and times ---- */

static void set_mode(struct setter *s)
{
	const struct xw_extract_opts *o = s->t->o;
	uint32_t mode = s->t->item->at->inode.mode;

	if (type_of(s) == XW_S_IFLNK)
		return;
	mode = o->same_modes ? mode & 07777 : mode & 0777 & ~o->umask;
	if (s->t->by_path ? chmod(s->proc, mode) : fchmod(s->t->fd, mode))
		fail(s, errno, "its mode");
}

static void set_times(struct setter *s)
{
	const struct xw_inode *inode = &s->t->item->at->inode;
	const struct timespec times[2] = {{(time_t)inode->atime.sec, (long)inode->atime.nsec},
					  {(time_t)inode->mtime.sec, (long)inode->mtime.nsec}};

	if (s->t->by_path ? utimensat(AT_FDCWD, s->proc, times, 0) : futimens(s->t->fd, times))
		fail(s, errno, "its times");
}

int xw_extract_attributes(struct xw_attr_target *t)
{
	struct setter s = {.t = t};
	int rc;

	snprintf(s.proc, sizeof(s.proc), "/proc/self/fd/%d", t->fd);
	set_owner(&s);
	rc = xw_export_attributes(t->x, t->item, set_attribute, &s);
	if (rc)
		return rc;
	remove_inherited(&s);
	set_mode(&s);
	set_times(&s);
	return 0;
}
