/* SPDX-License-Identifier: MIT */
/* dx hashes of names: the keys of an htree. */
#ifndef XW_DISK_DX_HASH_H
#define XW_DISK_DX_HASH_H

#include "base/types.h"
#include "disk/super.h"

enum xw_dx_version {
	XW_DX_LEGACY,
	XW_DX_HALF_MD4,
	XW_DX_TEA,
	XW_DX_LEGACY_U,
	XW_DX_HALF_MD4_U,
	XW_DX_TEA_U,
	XW_DX_SIPHASH,
};

struct xw_dx_hash {
	uint32_t major; /* bit 0 clear; never the end-of-directory value */
	uint32_t minor;
};

/*
 * seed: s_hash_seed as four words; all zero selects the default seed. siphash: XW_ERR_UNSUPPORTED.
 */
int xw_dx_hash(enum xw_dx_version version, const uint32_t seed[4], const char *name, size_t len,
	       struct xw_dx_hash *out);

/*
 * The hash parameters of a filesystem: its seed, and the version as superblock and dx_root store it
 * combined with the signedness in s_flags.
 */
void xw_dx_seed(const struct xw_super *sb, uint32_t seed[4]);
enum xw_dx_version xw_dx_version(const struct xw_super *sb, unsigned stored);

#endif
