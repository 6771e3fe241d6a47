// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/place.h"

#include "base/hash.h"

struct room {
	uint32_t inodes, blocks, dirs;
};

static struct room look(const struct xw_update *u, uint64_t group)
{
	struct xw_igroup_summary i;
	struct xw_group_summary b;

	xw_ispace_group(u->inodes, (uint32_t)group, &i);
	xw_space_group(u->space, (uint32_t)group, &b);
	return (struct room){i.free, b.free, i.used_dirs};
}

static xw_ino first_of(const struct xw_update *u, uint64_t group)
{
	const struct xw_super *sb = &u->img->sb;

	return (xw_ino)XW_MAX(group * sb->inodes_per_group + 1, sb->first_ino);
}

static uint64_t group_of(const struct xw_update *u, xw_ino ino)
{
	return (ino - 1) / u->img->sb.inodes_per_group;
}

/*
 * Use the directory's group; if it has no free inode or block, probe groups at distances 1, 3, 7,
 * ... so that files of adjacent full groups are spread differently.
 */
xw_ino xw_age_place_file(const struct xw_update *u, xw_ino dir)
{
	const uint64_t groups = u->img->groups, home = group_of(u, dir);
	uint64_t at = home;

	for (uint64_t step = 1; step < 2 * groups; step *= 2) {
		const struct room r = look(u, at);

		if (r.inodes && r.blocks)
			return first_of(u, at);
		at = (at + step) % groups;
	}
	return first_of(u, home);
}

struct averages {
	uint64_t inodes, blocks, dirs;
};

static struct averages average(const struct xw_update *u)
{
	const uint64_t groups = u->img->groups;

	return (struct averages){xw_ispace_free_count(u->inodes) / groups,
				 xw_space_free_blocks(u->space) / groups, u->dirs / groups};
}

/*
 * Find the group with the fewest directories among those with at least average free inodes and
 * blocks.
 */
static bool spread(const struct xw_update *u, uint64_t from, const struct averages *avg,
		   uint64_t *out)
{
	const uint64_t groups = u->img->groups;
	uint32_t best = UINT32_MAX;

	for (uint64_t i = 0; i < groups && best; i++) {
		const uint64_t g = (from + i) % groups;
		const struct room r = look(u, g);

		if (!r.inodes || r.inodes < avg->inodes || r.blocks < avg->blocks || r.dirs >= best)
			continue;
		best = r.dirs;
		*out = g;
	}
	return best != UINT32_MAX;
}

/*
 * Find the first group from the parent's on with few directories and enough free inodes and blocks.
 */
static bool near(const struct xw_update *u, uint64_t from, const struct averages *avg,
		 uint64_t *out)
{
	const uint64_t groups = u->img->groups, per = u->img->sb.inodes_per_group;
	const uint64_t slack = u->img->sb.blocks_per_group / 4;
	const uint64_t min_inodes = avg->inodes > per / 4 ? avg->inodes - per / 4 : 1;
	const uint64_t min_blocks = avg->blocks > slack ? avg->blocks - slack : 0;

	for (uint64_t i = 0; i < groups; i++) {
		const uint64_t g = (from + i) % groups;
		const struct room r = look(u, g);

		if (r.dirs < avg->dirs + per / 16 + 1 && r.inodes >= min_inodes &&
		    r.blocks >= min_blocks) {
			*out = g;
			return true;
		}
	}
	return false;
}

xw_ino xw_age_place_dir(const struct xw_update *u, xw_ino parent, const char *name, size_t len)
{
	const struct averages avg = average(u);
	uint64_t g;

	if (parent == XW_INO_ROOT &&
	    spread(u, xw_hash_fixed(name, len, 0) % u->img->groups, &avg, &g))
		return first_of(u, g);
	if (near(u, group_of(u, parent), &avg, &g))
		return first_of(u, g);
	return xw_age_place_file(u, parent);
}
