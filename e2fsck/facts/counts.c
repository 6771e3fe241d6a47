// SPDX-License-Identifier: MIT
/* The statistics of -v that the scan of the inode tables can compute. */
#include "config.h"

#include "facts/counts.h"

#include "disk/indirect.h"

void fsck_count_indirect(struct fsck_counts *c, const struct xw_inode *in)
{
	for (size_t level = 0; level < XW_ARRAY_SIZE(c->indirect); level++)
		c->indirect[level] += xw_inode_slot(in, XW_IND_SLOT + (unsigned)level) != 0;
}

static void count_type(struct fsck_counts *c, const struct xw_inode *in, bool has_map)
{
	switch (in->mode & XW_S_IFMT) {
	case XW_S_IFDIR:
		c->dirs++;
		return;
	case XW_S_IFREG:
		c->regular++;
		c->large_files += in->size > INT32_MAX;
		break;
	case XW_S_IFLNK:
		c->symlinks++;
		c->fast_symlinks += !has_map;
		break;
	case XW_S_IFCHR:
		c->char_devices++;
		break;
	case XW_S_IFBLK:
		c->block_devices++;
		break;
	case XW_S_IFIFO:
		c->fifos++;
		break;
	case XW_S_IFSOCK:
		c->sockets++;
		break;
	default:
		break;
	}
	c->links += in->links ? in->links - 1u : 0;
}

void fsck_count_inode(struct fsck_counts *c, const struct xw_inode *in, int depth, bool has_map,
		      bool fragmented, bool is_system)
{
	c->files++;
	if (depth >= 0 && (size_t)depth < XW_ARRAY_SIZE(c->by_depth))
		c->by_depth[depth]++;
	if ((in->mode & XW_S_IFMT) == XW_S_IFDIR)
		c->fragmented_dirs += fragmented;
	else
		c->fragmented += fragmented;
	if (is_system)
		return;
	count_type(c, in, has_map);
	if (has_map && depth < 0)
		fsck_count_indirect(c, in);
}

void fsck_counts_add(struct fsck_counts *to, const struct fsck_counts *c)
{
	to->files += c->files;
	to->links += c->links;
	to->regular += c->regular;
	to->symlinks += c->symlinks;
	to->fast_symlinks += c->fast_symlinks;
	to->char_devices += c->char_devices;
	to->block_devices += c->block_devices;
	to->fifos += c->fifos;
	to->sockets += c->sockets;
	to->fragmented += c->fragmented;
	to->large_files += c->large_files;
	for (size_t i = 0; i < XW_ARRAY_SIZE(c->indirect); i++)
		to->indirect[i] += c->indirect[i];
	for (size_t i = 0; i < XW_ARRAY_SIZE(c->by_depth); i++)
		to->by_depth[i] += c->by_depth[i];
}
