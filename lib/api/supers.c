// SPDX-License-Identifier: MIT
/*
 * -S: superblocks and descriptors over a filesystem that has lost them; everything else stays, for
 * e2fsck to make sense of.
 *
 * All checksums, and the order of names in directories, hang on the UUID and the hash seed. Who
 * does not give them means those of the filesystem, so they are looked for in any copy left.
 */
#include "config.h"

#include <string.h>

#include "api/run.h"

int xw_supers_check(struct xw_mkfs *m)
{
	if (!m->supers_only)
		return 0;
	if (m->sources.n)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-d %s: not with -S", m->sources.v[0]);
	if (m->params.journal_device)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-J device: not with -S");
	if (xw_has_incompat(&m->params.features, XW_INCOMPAT_JOURNAL_DEV))
		return xw_fail(&m->diag, XW_ERR_USAGE, "-O journal_dev: not with -S");
	m->find_uuid = !m->params.uuid_set;
	m->find_seed = !m->params.hash_seed_set;
	return 0;
}

/* A copy that is whole, and of a filesystem like ours. */
static bool read_copy(struct xw_mkfs *m, const struct xw_target *t, uint64_t at, uint32_t bs,
		      struct xw_super *sb)
{
	uint8_t buf[XW_SUPER_SIZE];

	if (xw_dev_pread(t->dev, buf, sizeof(buf), at)) {
		xw_diag_clear(&m->diag);
		return false;
	}
	return !xw_super_decode(buf, sb) && xw_super_block_size(sb) == bs && !xw_super_verify(buf);
}

int xw_supers_identity(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo)
{
	struct xw_super sb;

	if (m->plan_only || (!m->find_uuid && !m->find_seed))
		return 0;
	for (uint32_t g = 0; g < geo->groups; g = xw_geo_next_super(geo, g + 1)) {
		uint64_t at = g ? xw_geo_super_at(geo, g) * geo->block_size : XW_SUPER_OFFSET;

		if (!read_copy(m, t, at, geo->block_size, &sb))
			continue;
		if (m->find_uuid)
			memcpy(m->params.uuid, sb.uuid, sizeof(sb.uuid));
		if (m->find_seed)
			memcpy(m->params.hash_seed, sb.hash_seed, sizeof(sb.hash_seed));
		return 0;
	}
	xw_log(&m->diag, XW_LOG_WARN,
	       "%s: no copy of the superblock is left: -U and -E hash_seed were not found",
	       t->path);
	return 0;
}
