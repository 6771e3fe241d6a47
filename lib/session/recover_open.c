/* SPDX-License-Identifier: MIT */
/* Opens an image by name, and recovers it (recover.c). */
#include "config.h"

#include "base/types.h"
#include "session/recover.h"

/* No message if there is no place for a redo file. */
static int open_store(const char *path, const char *redo_file, uint64_t offset,
		      struct xw_diag *diag, struct xw_redo_store **store)
{
	const struct xw_diag before = diag ? *diag : (struct xw_diag){0};
	int rc = xw_redo_store_open(path, redo_file, offset, diag, store);

	if (rc != XW_ERR_USAGE)
		return rc;
	if (diag)
		*diag = before;
	return 0;
}

int xw_recover_store(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		     struct xw_redo_store **store)
{
	int rc = open_store(path, redo_file, offset, diag, store);

	/* earlier versions put the file of a filesystem inside a larger file beside that file */
	if (!rc && offset && *store && (*store)->ops->select)
		rc = open_store(path, NULL, offset, diag, &(*store)->beside);
	return rc;
}

int xw_recover_open(const char *path, const char *redo_file, uint64_t offset, unsigned flags,
		    struct xw_diag *diag, struct xw_dev **out, struct xw_recover_info *info)
{
	struct xw_redo_store *store = NULL;
	struct xw_dev *dev = NULL;
	int rc = xw_dev_open_file(path, flags & XW_RECOVER_RDONLY ? XW_DEV_RDONLY : 0, diag, &dev);

	if (!rc && offset)
		rc = xw_dev_open_existing(dev, offset, &dev);
	if (!rc)
		rc = xw_recover_store(path, redo_file, offset, diag, &store);
	if (!rc)
		rc = xw_recover_dev(&dev, store, flags, diag, info);
	xw_redo_store_close(store);
	if (rc)
		xw_dev_close(dev);
	else
		*out = dev;
	return rc;
}

static bool may_go_on(int rc)
{
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_UNSUPPORTED ||
	       rc == XW_ERR_TRUNCATED || rc == XW_ERR_IO || rc == XW_ERR_INPUT;
}

int xw_recover_read(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		    struct xw_dev **out, struct xw_recover_info *info)
{
	static const unsigned tries[] = {XW_RECOVER_JOURNAL,
					 XW_RECOVER_JOURNAL | XW_RECOVER_SALVAGE, 0};
	struct xw_diag first = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < XW_ARRAY_SIZE(tries); i++) {
		rc = xw_recover_open(path, redo_file, offset, XW_RECOVER_RDONLY | tries[i], diag,
				     out, info);
		if (!may_go_on(rc) || i + 1 == XW_ARRAY_SIZE(tries))
			break;
		if (!i)
			first = *diag;
		xw_diag_clear(diag);
	}
	if (rc || !i)
		return rc;
	if (info)
		info->journal_lost = true;
	xw_log(diag, XW_LOG_WARN, "%s; reading the image without %s", first.text,
	       i == 1 ? "what is lost of it" : "it");
	return 0;
}
