/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over changes to damaged directories: the input is a list of edits, four bytes each,
 * to the blocks of a directory with htree and itree, sealed again so that checksums do not hide
 * them; then names come and go. Properties, besides no crash: operations end; what fails says why;
 * the store is not asked for blocks that are not there, and nothing is given back twice.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "dir/change.h"
#include "dir/itree_check.h"
#include "disk/inode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define BS 256u
#define BLOCKS 600u
#define DIR_INO 77u
#define SEED 5u

struct store {
	uint8_t data[BLOCKS][BS];
	uint8_t used[BLOCKS];
	xw_blk file[BLOCKS];
	uint32_t n_file;
	bool trusted; /* undamaged: giving back twice is a bug of ours */
};

static int store_read(void *arg, xw_blk blk, void *buf)
{
	struct store *s = arg;

	if (blk >= BLOCKS)
		return XW_ERR_CORRUPT; /* as a device says */
	memcpy(buf, s->data[blk], BS);
	return 0;
}

static int store_write(void *arg, xw_blk blk, const void *buf)
{
	struct store *s = arg;

	MUST(blk < BLOCKS);
	memcpy(s->data[blk], buf, BS);
	return 0;
}

static int store_map(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct store *s = arg;

	MUST(lblk < s->n_file);
	*blk = s->file[lblk];
	return 0;
}

static int store_alloc(void *arg, xw_blk goal, xw_blk *blk)
{
	struct store *s = arg;

	(void)goal;
	for (*blk = 1; *blk < BLOCKS; ++*blk) {
		if (!s->used[*blk]) {
			s->used[*blk] = 1;
			return 0;
		}
	}
	return XW_ERR_NOSPC;
}

static int store_release(void *arg, xw_blk blk)
{
	struct store *s = arg;

	if (blk >= BLOCKS || !s->used[blk]) {
		MUST(!s->trusted);
		return XW_ERR_CORRUPT; /* as an allocator says */
	}
	s->used[blk] = 0;
	return 0;
}

static int store_extend(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct store *s = arg;
	int rc = store_alloc(s, 0, blk);

	MUST(lblk == s->n_file);
	if (!rc)
		s->file[s->n_file++] = *blk;
	return rc;
}

static int store_shrink(void *arg, uint32_t lblk, xw_blk blk)
{
	struct store *s = arg;

	MUST(lblk + 1 == s->n_file && s->file[lblk] == blk);
	s->n_file--;
	s->used[blk] = 0;
	return 0;
}

static const struct xw_dir_format format = {
	.block_size = BS,
	.filetype = true,
	.csum = true,
	.dir_index = true,
	.large_dir = true,
	.itree = true,
	.hash_version = XW_DX_TEA,
	.hash_seed = {1, 2, 3, 4},
};

static int open_dir(struct store *s, uint32_t flags, struct xw_diag *diag, struct xw_dir *d)
{
	const struct xw_dir_self self = {.ino = DIR_INO, .parent = 2, .inode_seed = SEED};
	const struct xw_dir_params o = {
		.format = &format,
		.self = &self,
		.io = {s, store_read, store_write, store_map, store_extend, store_shrink,
		       store_alloc, store_release},
		.blocks = s->n_file,
		.flags = flags,
		.cache_blocks = 8,
		.diag = diag,
		.name = "fuzz",
	};

	return xw_dir_load(&o, d);
}

static unsigned name_of(char *buf, unsigned i)
{
	return (unsigned)sprintf(buf, "name-%u%.*s", i, (int)(i % 19), "-------------------");
}

/* 300 names: an htree of two levels, an itree of three. */
static void make(struct store *s)
{
	struct xw_diag diag = {0};
	struct xw_dir d;
	char name[64];
	xw_blk blk;

	s->used[0] = 1;
	s->trusted = true;
	MUST(!store_extend(s, 0, &blk));
	xw_dirent_encode(s->data[blk], BS, 0, &(struct xw_dirent){DIR_INO, 12, 1, 2, "."});
	xw_dirent_encode(s->data[blk], BS, 12,
			 &(struct xw_dirent){2, BS - 12 - XW_DIR_TAIL, 2, 2, ".."});
	xw_dir_tail_init(s->data[blk], BS);
	xw_dir_block_set_csum(s->data[blk], BS, SEED);
	MUST(!open_dir(s, 0, &diag, &d));
	for (unsigned i = 0; i < 300; i++)
		MUST(!xw_dir_insert(&d, name, name_of(name, i), 12 + i * 7 % 300, 1));
	MUST(d.now.itree && d.now.blocks == s->n_file && !xw_dir_flush(&d));
	xw_dir_close(&d);
	s->trusted = false;
}

/* Whatever a block may be: the checksum of each kind would be right. */
static void seal(uint8_t *block, uint8_t kind)
{
	if (kind % 4 == 0)
		xw_itree_set_csum(block, BS, true, SEED);
	else if (kind % 4 == 1 && xw_dir_has_tail(block, BS))
		xw_dir_block_set_csum(block, BS, SEED);
	else
		xw_dx_block_set_csum(block, BS,
				     kind % 4 == 2 ? XW_DX_ROOT_ENTRIES : XW_DX_NODE_ENTRIES, SEED);
}

static uint8_t kind_of(const uint8_t *block)
{
	if (peek32(block) == XW_ITREE_MAGIC)
		return 0;
	if (xw_dir_has_tail(block, BS))
		return 1;
	return peek32(block) == DIR_INO ? 2 : 3;
}

static int each(void *arg, const struct xw_dirent *e)
{
	*(unsigned *)arg += e->name_len;
	return 0;
}

static bool is_failure(int rc)
{
	return rc && rc != XW_ERR_EXISTS && rc != XW_ERR_NOTFOUND;
}

/* A failed change leaves the handle as it was: go on, the next name may be elsewhere. */
static void change(struct xw_dir *d, struct xw_diag *diag)
{
	unsigned bytes = 0;
	char name[64];
	xw_ino ino;
	int rc;

	for (unsigned i = 0; i < 120; i++) {
		const unsigned len = name_of(name, i % 3 ? 1000 + i : i * 2);

		if (i % 3 == 0)
			rc = xw_dir_delete(d, name, len, &ino);
		else
			rc = xw_dir_insert(d, name, len, 12 + i * 5, 1);
		MUST(!is_failure(rc) || *diag->text);
		xw_diag_clear(diag);
	}
	rc = xw_dir_each(d, each, &bytes);
	MUST(!is_failure(rc) || *diag->text);
	xw_diag_clear(diag);
	if (!xw_dir_itree_drop(d))
		xw_dir_itree_build(d);
	xw_dir_flush(d);
}

static int check_read(void *arg, xw_blk blk, void *buf)
{
	return store_read(arg, blk, buf);
}

static int report(void *arg, const struct xw_itree_finding *f)
{
	(void)arg;
	MUST(f->rule >= 1 && f->rule <= 17 && f->what);
	return 1;
}

static void check(struct store *s)
{
	const struct xw_itree_env env = {
		.block_size = BS,
		.csum = true,
		.feature = true,
		.blocks_count = BLOCKS,
		.arg = s,
		.read = check_read,
		.write = store_write,
		.report = report,
	};
	const struct xw_itree_dir d = {
		.ino = DIR_INO,
		.inode_seed = SEED,
		.flags = XW_FL_INDEX | XW_FL_ITREE,
		.size = (uint64_t)s->n_file * BS,
		.block0 = s->data[s->file[0]],
		.mapped = UINT64_MAX,
	};
	struct xw_itree_result res;

	MUST(!xw_itree_check(&env, &d, &res));
	MUST(res.nodes <= BLOCKS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store whole;
	struct store *s = malloc(sizeof(*s));
	struct xw_diag diag = {0};
	struct xw_dir d;

	MUST(s);
	if (!whole.n_file)
		make(&whole);
	*s = whole;
	for (size_t i = 0; i + 4 <= size && i < 64; i += 4) {
		unsigned blk = 1 + (data[i] | (unsigned)data[i + 1] << 8) % 200;
		uint8_t kind = kind_of(s->data[blk]);

		s->data[blk][data[i + 2]] ^= data[i + 3];
		seal(s->data[blk], kind);
	}
	check(s);
	if (!open_dir(s, XW_FL_INDEX | XW_FL_ITREE, &diag, &d))
		change(&d, &diag);
	else
		MUST(*diag.text);
	xw_dir_close(&d);
	free(s);
	return 0;
}
