/* SPDX-License-Identifier: MIT */
/* The state of an aging run. Everybody who can write to an image can make one. */
#include "config.h"

#include "disk/age_state.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

#define MAGIC "xw-age "
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define FORMAT '3'
/* Steps, and files shortened in them: far more than XW_AGE_OPS_MAX operations can have. */
#define COUNT_MAX (UINT64_C(1) << 48)

struct XW_ON_DISK disk_age_pool {
	le64 start;
	le16 len;
	le16 zero[3];
};

struct XW_ON_DISK disk_age_cpu {
	le32 stream;
	le32 n;
	struct disk_age_pool pool[XW_AGE_POOLS];
};

struct XW_ON_DISK disk_age_state {
	char magic[8];
	le64 options;
	le64 blocks, free, now;
	le64 ops, created, removed, changed, skipped, shortened, written, steps;
	le64 writing;
	le64 free_blocks, mtime, wtime;
	le32 block_size, ended;
	le32 free_inodes, dirs, mnt_count, zero;
	struct disk_age_cpu cpu[XW_AGE_CPUS];
	le32 pad[83];
	le32 checksum;
};
static_assert(offsetof(struct disk_age_state, writing) == 104, "writing");
static_assert(offsetof(struct disk_age_state, block_size) == 136, "block_size");
static_assert(offsetof(struct disk_age_state, cpu) == 160, "cpu");
static_assert(offsetof(struct disk_age_state, checksum) == 1020, "checksum");
static_assert(sizeof(struct disk_age_state) == XW_AGE_STATE_SIZE, "size");

static uint32_t csum_of(const struct disk_age_state *d)
{
	return xw_crc32c(~0u, d, offsetof(struct disk_age_state, checksum));
}

/* ---- encoding ---- */

void xw_age_state_encode(const struct xw_age_state *s, void *buf)
{
	const struct xw_age_counts *c = &s->counts;
	struct disk_age_state *d = buf;

	*d = (struct disk_age_state){
		.options = put64(s->options),
		.blocks = put64(s->base.blocks),
		.free = put64(s->base.free),
		.now = put64((uint64_t)s->base.now),
		.ops = put64(c->ops),
		.created = put64(c->created),
		.removed = put64(c->removed),
		.changed = put64(c->changed),
		.skipped = put64(c->skipped),
		.shortened = put64(c->shortened),
		.written = put64(c->written),
		.steps = put64(c->steps),
		.writing = put64(s->writing),
		.free_blocks = put64(s->seen.free_blocks),
		.mtime = put64((uint64_t)s->seen.mtime),
		.wtime = put64((uint64_t)s->seen.wtime),
		.block_size = put32(s->base.block_size),
		.ended = put32(s->ended),
		.free_inodes = put32(s->seen.free_inodes),
		.dirs = put32(s->seen.dirs),
		.mnt_count = put32(s->seen.mnt_count),
	};
	memcpy(d->magic, MAGIC, MAGIC_LEN);
	d->magic[MAGIC_LEN] = FORMAT;
	for (unsigned i = 0; i < XW_AGE_CPUS; i++) {
		const struct xw_age_pools *p = &s->memory.pools[i];

		d->cpu[i].stream = put32(s->memory.stream[i]);
		d->cpu[i].n = put32(p->n);
		for (uint32_t k = 0; k < p->n; k++) {
			d->cpu[i].pool[k].start = put64(p->run[k].start);
			d->cpu[i].pool[k].len = put16((uint16_t)p->run[k].len);
		}
	}
	d->checksum = put32(csum_of(d));
}

/* ---- decoding ---- */

static bool overlap(const struct xw_run *a, const struct xw_run *b)
{
	return a->start < b->start + b->len && b->start < a->start + a->len;
}

static bool is_taken(const struct xw_age_memory *m, const struct xw_run *run)
{
	for (unsigned i = 0; i < XW_AGE_CPUS; i++)
		for (uint32_t k = 0; k < m->pools[i].n; k++)
			if (overlap(&m->pools[i].run[k], run))
				return true;
	return false;
}

/* The preallocations: inside the filesystem, none empty, no block in two of them. */
static bool decode_pools(const struct disk_age_cpu *d, const struct xw_age_bounds *fs,
			 struct xw_age_memory *m, struct xw_age_pools *p)
{
	const uint32_t n = get32(d->n);

	if (n > XW_AGE_POOLS)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct xw_run run = {get64(d->pool[k].start), get16(d->pool[k].len)};

		if (!run.len || run.start < fs->first_data_block || run.start >= fs->blocks ||
		    run.len > fs->blocks - run.start || is_taken(m, &run))
			return false;
		p->run[p->n++] = run;
	}
	return true;
}

static bool decode_memory(const struct disk_age_state *d, const struct xw_age_bounds *fs,
			  struct xw_age_memory *m)
{
	for (unsigned i = 0; i < XW_AGE_CPUS; i++) {
		m->stream[i] = get32(d->cpu[i].stream);
		if (m->stream[i] >= fs->groups || !decode_pools(&d->cpu[i], fs, m, &m->pools[i]))
			return false;
	}
	return true;
}

static void decode_numbers(const struct disk_age_state *d, struct xw_age_state *s)
{
	*s = (struct xw_age_state){
		.options = get64(d->options),
		.base = {.blocks = get64(d->blocks),
			 .free = get64(d->free),
			 .block_size = get32(d->block_size),
			 .now = (int64_t)get64(d->now)},
		.counts = {.ops = get64(d->ops),
			   .created = get64(d->created),
			   .removed = get64(d->removed),
			   .changed = get64(d->changed),
			   .skipped = get64(d->skipped),
			   .shortened = get64(d->shortened),
			   .written = get64(d->written),
			   .steps = get64(d->steps)},
		.ended = get32(d->ended),
		.writing = get64(d->writing),
		.seen = {.free_blocks = get64(d->free_blocks),
			 .free_inodes = get32(d->free_inodes),
			 .dirs = get32(d->dirs),
			 .mnt_count = get32(d->mnt_count),
			 .mtime = (int64_t)get64(d->mtime),
			 .wtime = (int64_t)get64(d->wtime)},
	};
}

/* Each operation is counted once more, by what became of it. */
static bool counts_possible(const struct xw_age_state *s, const struct xw_age_bounds *fs)
{
	const struct xw_age_counts *c = &s->counts;

	if (c->ops > XW_AGE_OPS_MAX || c->created > c->ops || c->removed > c->ops ||
	    c->changed > c->ops || c->skipped > c->ops)
		return false;
	/* a changed file may have replaced another one by a rename */
	return c->created + c->removed + c->changed + c->skipped == c->ops &&
	       c->created <= c->removed + c->changed + fs->inodes && c->shortened <= COUNT_MAX &&
	       c->steps <= COUNT_MAX && s->writing <= XW_MIN(c->ops, XW_AGE_STEP_MAX);
}

int xw_age_state_decode(const void *buf, const struct xw_age_bounds *fs, struct xw_age_state *s,
			unsigned *format)
{
	const struct disk_age_state *d = buf;
	const char version = d->magic[MAGIC_LEN];

	*format = 0;
	if (memcmp(d->magic, MAGIC, MAGIC_LEN) != 0 || version < '1' || version > '9')
		return XW_ERR_INPUT;
	*format = (unsigned)(version - '0');
	if (version != FORMAT)
		return XW_ERR_UNSUPPORTED;
	if (get32(d->checksum) != csum_of(d))
		return XW_ERR_CHECKSUM;
	decode_numbers(d, s);
	if (s->base.block_size != fs->block_size || s->base.blocks != fs->blocks)
		return XW_ERR_STATE;
	if (!s->base.blocks || s->base.free > s->base.blocks || s->base.now < 0 ||
	    s->ended > XW_AGE_ENDS || !counts_possible(s, fs) || !decode_memory(d, fs, &s->memory))
		return XW_ERR_CORRUPT;
	return 0;
}
