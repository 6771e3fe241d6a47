/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over the state of an aging run. The input is XORed over a valid state: byte 0 chooses
 * whether its checksum is corrected afterwards (bit 0) and the size of the filesystem, each further
 * group of four bytes is an offset (le16, modulo the size) and two bytes.
 *
 * What is decoded is within the bounds, and encodes to a state that decodes to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/age_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define CSUM (XW_AGE_STATE_SIZE - 4)

static struct xw_age_state example(const struct xw_age_bounds *fs)
{
	struct xw_age_state s = {
		.base = {.blocks = fs->blocks, .free = 100, .block_size = fs->block_size},
		.counts = {.ops = 9, .created = 4, .removed = 2, .changed = 1, .skipped = 2},
		.writing = 3,
	};

	for (unsigned c = 0; c < XW_AGE_CPUS; c++)
		for (uint32_t i = 0; i < 3; i++)
			s.memory.pools[c].run[s.memory.pools[c].n++] =
				(struct xw_run){300 + 100 * c + 20 * i, 1 + i};
	return s;
}

static void check_pools(const struct xw_age_state *s, const struct xw_age_bounds *fs)
{
	for (unsigned c = 0; c < XW_AGE_CPUS; c++) {
		const struct xw_age_pools *p = &s->memory.pools[c];

		MUST(s->memory.stream[c] < fs->groups && p->n <= XW_AGE_POOLS);
		for (uint32_t i = 0; i < p->n; i++) {
			const struct xw_run *a = &p->run[i];

			MUST(a->len && a->start >= fs->first_data_block);
			MUST(a->start + a->len > a->start && a->start + a->len <= fs->blocks);
			for (uint32_t k = 0; k < i; k++)
				MUST(p->run[k].start + p->run[k].len <= a->start ||
				     a->start + a->len <= p->run[k].start);
		}
	}
}

static void check(const struct xw_age_state *s, const struct xw_age_bounds *fs)
{
	const struct xw_age_counts *c = &s->counts;
	struct xw_age_state again;
	uint8_t buf[XW_AGE_STATE_SIZE], twice[XW_AGE_STATE_SIZE];
	unsigned format;

	MUST(s->base.blocks == fs->blocks && s->base.block_size == fs->block_size);
	MUST(s->base.free <= fs->blocks && s->base.now >= 0 && s->ended <= XW_AGE_ENDS);
	MUST(c->ops <= XW_AGE_OPS_MAX && s->writing <= c->ops && s->writing <= XW_AGE_STEP_MAX);
	MUST(c->created + c->removed + c->changed + c->skipped == c->ops);
	check_pools(s, fs);
	xw_age_state_encode(s, buf);
	MUST(!xw_age_state_decode(buf, fs, &again, &format) && format == 3);
	xw_age_state_encode(&again, twice);
	MUST(!memcmp(buf, twice, sizeof(buf)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[0] : 1;
	const struct xw_age_bounds fs = {
		.blocks = how & 2 ? UINT64_C(1) << 40 : 8192,
		.first_data_block = how & 4 ? 0 : 1,
		.inodes = how & 8 ? UINT32_MAX : 1024,
		.groups = how & 16 ? UINT32_MAX : 1,
		.block_size = how & 4 ? 4096 : 1024,
	};
	struct xw_age_state s = example(&fs);
	uint8_t *buf = malloc(XW_AGE_STATE_SIZE);
	unsigned format;
	int rc;

	MUST(buf);
	xw_age_state_encode(&s, buf);
	for (size_t i = 1; i + 4 <= size; i += 4) {
		const size_t at = peek16(data + i) % (XW_AGE_STATE_SIZE - 1);

		buf[at] ^= data[i + 2];
		buf[at + 1] ^= data[i + 3];
	}
	if (how & 1)
		poke32(buf + CSUM, xw_crc32c(~0u, buf, CSUM));
	rc = xw_age_state_decode(buf, &fs, &s, &format);
	MUST(size > 1 || !rc); /* the example itself */
	if (!rc)
		check(&s, &fs);
	free(buf);
	return 0;
}
