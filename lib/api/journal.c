// SPDX-License-Identifier: MIT
/*
 * External journals: find the device of -J device=, and create a journal device (-O journal_dev).
 */
#include "config.h"

#include <blkid/blkid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "api/run.h"
#include "base/auto.h"

/* Resolve -J device= to a path, UUID=... and LABEL=... by libblkid. *out is malloc'd. */
static int find_device(struct xw_mkfs *m, char **out)
{
	const char *name = m->params.journal_device;

	if (strncmp(name, "UUID=", 5) && strncmp(name, "LABEL=", 6)) {
		*out = strdup(name);
		return *out ? 0 : xw_fail_nomem(&m->diag, "journal device");
	}
	*out = blkid_evaluate_tag(name, NULL, NULL);
	return *out ? 0 : xw_fail(&m->diag, XW_ERR_USAGE, "-J device=%s: no such device", name);
}

/* Encode a device number in 32 bits, as the kernel does. */
static uint32_t encode_dev(dev_t dev)
{
	uint32_t ma = major(dev), mi = minor(dev);

	return (mi & 0xff) | ma << 8 | (mi & ~0xffu) << 12;
}

int xw_journal_open(struct xw_mkfs *m, struct xw_jdev *j)
{
	auto_free char *path = NULL;
	struct stat st;
	int rc;

	if (!m->params.journal_device)
		return 0;
	rc = find_device(m, &path);
	if (!rc)
		rc = xw_dev_open_file(path, m->plan_only ? XW_DEV_RDONLY : 0, &m->diag, &j->dev);
	if (!rc)
		rc = xw_jdev_read(j, &m->diag);
	if (!rc && !m->plan_only)
		rc = xw_dev_check_end(j->dev, j->at + XW_JSB_SIZE);
	if (rc)
		return rc;
	if (!stat(path, &st) && S_ISBLK(st.st_mode))
		m->params.journal_dev = encode_dev(st.st_rdev);
	else
		xw_log(&m->diag, XW_LOG_INFO,
		       "%s: not a block device: mount with journal_path= or journal_dev=", path);
	memcpy(m->params.journal_uuid, j->sb.uuid, sizeof(j->sb.uuid));
	if (!m->params.block_size && !m->params.min_block_size)
		m->params.block_size = xw_super_block_size(&j->sb);
	return 0;
}

int xw_journal_check(struct xw_mkfs *m, const struct xw_jdev *j)
{
	uint32_t bs = xw_super_block_size(&j->sb);

	if (!j->dev || !xw_has_compat(&m->params.features, XW_COMPAT_HAS_JOURNAL))
		return 0;
	if (bs != m->params.block_size)
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "-b %u: the journal on %s has blocks of %u bytes",
			       m->params.block_size, j->dev->name, bs);
	if (xw_has_compat(&m->params.features, XW_COMPAT_FAST_COMMIT) &&
	    j->jsb.maxlen < xw_jsb_fast_minimum(&j->jsb))
		return xw_fail(&m->diag, XW_ERR_NOSPC,
			       "-J device: %s: too small for fast commits: %llu blocks needed, "
			       "%u available",
			       j->dev->name, (unsigned long long)xw_jsb_fast_minimum(&j->jsb),
			       j->jsb.maxlen);
	return xw_jdev_check(j, m->params.uuid, m->force > 0, &m->diag);
}

int xw_journal_make(struct xw_mkfs *m, struct xw_target *t)
{
	const struct xw_mkfs_params *p = &m->params;
	struct xw_mkfs_result *res = &m->result;
	uint64_t blocks = p->size_bytes / p->block_size;
	struct xw_super sb;
	int rc;

	if (m->sources.n)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-d %s: an external journal has no files",
			       m->sources.v[0]);
	if (blocks < XW_JBD2_MIN_BLOCKS || blocks > UINT32_MAX)
		return xw_fail(
			&m->diag, XW_ERR_USAGE,
			"SIZE: %llu blocks of %u bytes; an external journal has %u to 2^32-1",
			(unsigned long long)blocks, p->block_size, XW_JBD2_MIN_BLOCKS);
	rc = xw_target_open(m, t);
	if (!rc)
		rc = xw_target_clear(m, t, (struct xw_feed_tick){0});
	if (!rc)
		rc = xw_jdev_make(t->dev, p, &m->diag, &sb);
	if (rc)
		return rc;
	res->size_bytes = blocks * p->block_size;
	res->block_size = p->block_size;
	res->blocks = res->journal_blocks = blocks;
	res->warnings = m->diag.warnings;
	memcpy(res->uuid, sb.uuid, sizeof(res->uuid));
	return 0;
}
