/* SPDX-License-Identifier: MIT */
/*
 * bench_share: how fast a build shares equal attribute blocks, behind the interning front and
 * alone.
 *
 *      bench_share [FILES]         755,000 files by default
 */
#include "base/crc.h"
#include "base/hash.h"
#include "disk/xattrblk.h"
#include "xattr/cache.h"
#include "xattr/intern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BS 4096u
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

/* Files with one of `distinct` sets, as the synthetic archive has them. */
static void build_bench(uint32_t files, uint32_t distinct)
{
	const struct xw_xintern_opts o = {.ibody = 96, .block_size = BS};
	struct xw_xattr_set s = {0};
	struct xw_xintern_stats st;
	struct xw_xintern *x;
	struct xw_share *share;
	uint64_t seed = 1;
	double start;

	if (xw_xintern_new(&o, &x) || xw_share_new(BS, XW_CACHE_BUILD, &share))
		abort();
	start = now();
	for (unsigned i = 0; i < files; i++) {
		const struct xw_xplaced *p;
		struct xw_share_block *b;
		char value[160];
		uint32_t n = rnd(&seed) % distinct;

		memset(value, 'a', sizeof(value));
		memcpy(value, &n, sizeof(n));
		xw_xattr_set_clear(&s);
		xw_xattr_set_put(&s, "security.selinux", 16, "system_u:object_r:usr_t:s0", 26,
				 NULL);
		xw_xattr_set_put(&s, "user.blob", 9, value, sizeof(value), NULL);
		if (xw_xintern_get(x, &s, NULL, &p) || xw_share_get_packed(share, &p->block, &b))
			abort();
	}
	start = now() - start;
	xw_xintern_stats(x, &st);
	printf("%u files, %u sets: %.3f s, %llu distinct, %zu blocks, %llu KiB\n", files, distinct,
	       start, (unsigned long long)st.sets, xw_share_count(share),
	       (unsigned long long)st.bytes / 1024);
	xw_xattr_set_free(&s);
	xw_share_free(share);
	xw_xintern_free(x);
}

/* The same without the interning front: whole blocks. */
static void share_bench(uint32_t files, uint32_t distinct)
{
	struct xw_share *share;
	uint8_t block[BS] = {0}, bytes[BS];
	struct xw_share_content c = {.bytes = bytes, .head_len = 32 + 20 + 4, .tail_len = 160};
	uint64_t seed = 1;
	double start;

	if (xw_share_new(BS, XW_CACHE_BUILD, &share))
		abort();
	xw_xattr_bhdr_encode(block, &(struct xw_xattr_bhdr){.refcount = 1, .blocks = 1});
	xw_xattr_entry_encode(block, 32,
			      &(struct xw_xattr_entry){.name_len = 4,
						       .name_index = 1,
						       .value_offs = BS - 160,
						       .value_size = 160,
						       .name = "blob"});
	start = now();
	for (unsigned i = 0; i < files; i++) {
		struct xw_share_block *b;
		uint32_t n = rnd(&seed) % distinct;

		memcpy(block + BS - 160, &n, sizeof(n));
		memcpy(bytes, block, c.head_len);
		memcpy(bytes + c.head_len, block + BS - c.tail_len, c.tail_len);
		c.key = xw_share_key(bytes, c.head_len + c.tail_len);
		if (xw_share_get_packed(share, &c, &b))
			abort();
	}
	printf("%u blocks, %u contents: %.3f s, %zu blocks\n", files, distinct, now() - start,
	       xw_share_count(share));
	xw_share_free(share);
}

int main(int argc, char **argv)
{
	const uint32_t files = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 755000;

	share_bench(files, 10000);
	for (uint32_t n = 50; n <= 50000; n *= 10)
		build_bench(files, n);
	return 0;
}
