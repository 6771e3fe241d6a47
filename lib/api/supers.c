// SPDX-License-Identifier: MIT
/*
 * -S: write superblocks and group descriptors of a filesystem that has lost them, and nothing else,
 * as a preparation for e2fsck.
 *
 * All checksums depend on the UUID, and the order of directory entries on the hash seed. Unless
 * given, both are taken from any remaining superblock copy. If the geometry in the copy contradicts
 * the options, the run fails and nothing is written. Copies are searched where the options place
 * them, then, for each block size, where groups of the default size have them.
 */
#include "config.h"

#include <string.h>

#include "api/run.h"
#include "read/copies.h"

int xw_supers_check(struct xw_mkfs *m)
{
	if (!m->supers_only)
		return 0;
	if (m->sources.n)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-d %s: not supported with -S",
			       m->sources.v[0]);
	if (m->params.journal_device)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-J device: not supported with -S");
	if (xw_has_incompat(&m->params.features, XW_INCOMPAT_JOURNAL_DEV))
		return xw_fail(&m->diag, XW_ERR_USAGE, "-O journal_dev: not supported with -S");
	m->find_uuid = !m->params.uuid_set;
	m->find_seed = !m->params.hash_seed_set;
	return 0;
}

/* A valid copy of the superblock; blocks_count 0: none was found. */
struct copy {
	uint64_t at; /* in bytes */
	struct xw_super sb;
};

static bool read_copy(struct xw_mkfs *m, const struct xw_target *t, uint64_t at, struct copy *c)
{
	uint8_t buf[XW_SUPER_SIZE];

	if (at > t->dev->size || t->dev->size - at < sizeof(buf))
		return false;
	if (xw_dev_pread(t->dev, buf, sizeof(buf), at)) {
		xw_diag_clear(&m->diag);
		return false;
	}
	c->at = at;
	if (xw_super_decode(buf, &c->sb) || xw_super_verify(buf) ||
	    at != xw_super_byte_offset(&c->sb))
		c->sb.blocks_count = 0;
	return c->sb.blocks_count != 0;
}

static bool same_shape(const struct copy *c, const struct xw_geo *geo)
{
	return xw_super_block_size(&c->sb) == geo->block_size &&
	       c->sb.blocks_count == geo->blocks &&
	       c->sb.blocks_per_group == geo->blocks_per_group &&
	       c->sb.inodes_per_group == geo->inodes_per_group &&
	       c->sb.inode_size == geo->inode_size;
}

/*
 * Search the places of copies in `places` for a copy with the geometry geo. *other: the first copy
 * with another geometry.
 */
static bool find_copy(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *places,
		      const struct xw_geo *geo, struct copy *found, struct copy *other)
{
	struct copy c;

	for (uint32_t g = 0; g < places->groups; g = xw_geo_next_super(places, g + 1)) {
		uint64_t at = g ? xw_geo_super_at(places, g) * places->block_size : XW_SUPER_OFFSET;

		if (!read_copy(m, t, at, &c))
			continue;
		if (same_shape(&c, geo)) {
			*found = c;
			return true;
		}
		if (!other->sb.blocks_count)
			*other = c;
	}
	return false;
}

/* Search for a copy with another geometry where groups of the default size have copies. */
static void find_other(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo,
		       struct copy *other)
{
	struct copy found;

	for (uint32_t bs = XW_BLOCK_SIZE_MIN; bs <= XW_BLOCK_SIZE_MAX; bs *= 2) {
		const uint64_t bytes = (uint64_t)xw_group_blocks_max(bs) * bs;
		struct xw_geo usual = {
			.block_size = bs,
			.first_data_block = bs == XW_SUPER_OFFSET,
			.blocks_per_group = xw_group_blocks_max(bs),
			.groups = (uint32_t)XW_MIN(t->dev->size / bytes + 1, UINT32_MAX),
			.features.w[XW_FW_RO_COMPAT] = XW_RO_SPARSE_SUPER,
		};

		if (!other->sb.blocks_count)
			(void)find_copy(m, t, &usual, geo, &found, other);
	}
}

static int refuse_other(struct xw_mkfs *m, const struct xw_target *t, const struct copy *c)
{
	return xw_fail(&m->diag, XW_ERR_USAGE,
		       "%s: the superblock copy at byte %llu requires -b %u -g %u -I %u -N %u and "
		       "a SIZE of %llu blocks (-F overrides)",
		       t->path, (unsigned long long)c->at, xw_super_block_size(&c->sb),
		       c->sb.blocks_per_group, c->sb.inode_size, c->sb.inodes_count,
		       (unsigned long long)c->sb.blocks_count);
}

static int go_without(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo)
{
	if (m->find_uuid && !m->force && xw_has_ro(&geo->features, XW_RO_METADATA_CSUM))
		return xw_fail(&m->diag, XW_ERR_USAGE,
			       "%s: no superblock copy found; all checksums depend on the UUID: "
			       "give -U (-F continues without)",
			       t->path);
	if (m->find_uuid || m->find_seed)
		xw_log(&m->diag, XW_LOG_WARN, "%s: no superblock copy found: %s%s%s unknown",
		       t->path, m->find_uuid ? "-U" : "",
		       m->find_uuid && m->find_seed ? " and " : "",
		       !m->find_seed  ? " was"
		       : m->find_uuid ? "-E hash_seed were"
				      : "-E hash_seed was");
	return 0;
}

int xw_supers_identity(struct xw_mkfs *m, const struct xw_target *t, const struct xw_geo *geo)
{
	struct copy c, other = {0};

	if (m->plan_only)
		return 0;
	if (!find_copy(m, t, geo, geo, &c, &other)) {
		find_other(m, t, geo, &other);
		if (!other.sb.blocks_count)
			return go_without(m, t, geo);
		if (!m->force)
			return refuse_other(m, t, &other);
		c = other;
	}
	if (m->find_uuid)
		memcpy(m->params.uuid, c.sb.uuid, sizeof(c.sb.uuid));
	if (m->find_seed)
		memcpy(m->params.hash_seed, c.sb.hash_seed, sizeof(c.sb.hash_seed));
	return 0;
}
