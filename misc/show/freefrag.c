/* SPDX-License-Identifier: MIT */
/*
 * Free space by the size of its runs: one pass over the groups; a run that reaches the end of a
 * group may continue in the next. For groups with an uninitialized bitmap the map of metadata is
 * used, so the time for a large filesystem depends on the part in use.
 *
 * The text is that of e2freefrag (1.47.0): chunks are aligned to block 0 and one more of them is
 * counted than exists. With bigalloc, where that tool finds nothing, runs are counted in blocks.
 */
#include "config.h"

#include "base/auto.h"
#include "cli/escape.h"
#include "show/rows.h"

#include <inttypes.h>
#include <string.h>

struct measure {
	struct xw_freefrag *ff;
	uint32_t ratio; /* log2 of the number of blocks in a cluster */
	xw_blk base; /* first block of the group */
	xw_blk start;
	uint64_t len; /* a run that may continue */
	uint32_t group_longest; /* in clusters */
};

static void put_extent(struct measure *m)
{
	struct xw_freefrag *ff = m->ff;
	const unsigned order = 63 - (unsigned)__builtin_clzll(m->len | 1);
	const xw_blk end = m->start + m->len;

	if (!m->len)
		return;
	ff->extents++;
	ff->blocks += m->len;
	ff->longest = XW_MAX(ff->longest, m->len);
	ff->shortest = ff->extents == 1 ? m->len : XW_MIN(ff->shortest, m->len);
	ff->count[XW_MIN(order, XW_FREEFRAG_SIZES - 1)]++;
	ff->sum[XW_MIN(order, XW_FREEFRAG_SIZES - 1)] += m->len;
	if (ff->chunk && end / ff->chunk > xw_div_up(m->start, ff->chunk))
		ff->free_chunks += end / ff->chunk - xw_div_up(m->start, ff->chunk);
	m->len = 0;
}

static int add_run(void *arg, uint32_t at, uint32_t len)
{
	struct measure *m = arg;
	const xw_blk start = m->base + ((uint64_t)at << m->ratio);

	if (m->len && m->start + m->len != start)
		put_extent(m);
	if (!m->len)
		m->start = start;
	m->len += (uint64_t)len << m->ratio;
	m->group_longest = XW_MAX(m->group_longest, len);
	return 0;
}

/* Count one group. Returns false if no more descriptors can be read. */
static bool measure_group(struct xw_show *s, struct xw_image *img, uint64_t g, void *bits,
			  struct measure *m)
{
	struct xw_group_desc gd;
	int rc = xw_image_group(img, g, &gd);

	if (rc && rc != XW_ERR_CHECKSUM) {
		show_problem(s, img->diag);
		return false;
	}
	m->base = img->sb.first_data_block + g * img->sb.blocks_per_group;
	m->group_longest = 0;
	if (xw_image_free_runs(img, s->sysmap, g, bits, add_run, m))
		show_problem(s, img->diag);
	return true;
}

static int add_group(struct xw_freefrag *ff, uint64_t g, uint32_t longest, struct xw_diag *diag)
{
	if (!ff->group_map)
		return 0;
	if (!(g & (g - 1)) || !g) { /* double the room */
		const size_t room = g ? 2 * (size_t)g : 1;
		uint32_t *map = realloc(ff->group_longest, room * sizeof(*map));

		if (!map)
			return xw_fail_nomem(diag, "the map of groups");
		ff->group_longest = map;
	}
	ff->group_longest[g] = longest;
	return 0;
}

int xw_freefrag_measure(struct xw_show *s, struct xw_image *img, struct xw_freefrag *ff)
{
	const unsigned look = show_lenient(s, img);
	auto_free void *bits = malloc(img->block_size);
	struct measure m = {.ff = ff, .ratio = xw_image_cluster_bits(img)};
	int rc = bits ? show_sysmap(s, img) : xw_fail_nomem(img->diag, "bitmap");

	for (uint64_t g = 0; g < xw_image_groups_here(img) && !rc; g++) {
		if (!measure_group(s, img, g, bits, &m))
			break;
		rc = add_group(ff, g, m.group_longest << m.ratio, img->diag);
		ff->groups = g + 1;
	}
	put_extent(&m);
	ff->in_blocks = img->sb.free_blocks_count;
	if (ff->chunk)
		ff->chunks = img->sb.blocks_count / ff->chunk + 1;
	img->flags = look;
	return rc;
}

void xw_freefrag_free(struct xw_freefrag *ff)
{
	free(ff->group_longest);
	ff->group_longest = NULL;
}

/* ---- text ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t in_kib(const struct xw_image *img, uint64_t blocks)
{
	return blocks * (img->block_size >> 10);
}

/* A row from "   1K..." on: a power of two of KiB in the largest unit in which it is an integer. */
static void text_row(FILE *out, uint64_t kib, uint64_t count, uint64_t sum, uint64_t of)
{
	static const char units[] = "KMGTPE";
	unsigned u = 0;

	for (; kib >= 1024 && u + 1 < sizeof(units) - 1; u++)
		kib >>= 10;
	fprintf(out, "%5" PRIu64 "%c...%5" PRIu64 "%c-  :  %12" PRIu64 "  %12" PRIu64 "  %6.2f%%\n",
		kib, units[u], 2 * kib, units[u], count, sum, share(sum, of));
}

static void text(struct xw_show *s, const struct xw_image *img, const char *name,
		 const struct xw_freefrag *ff)
{
	FILE *out = s->out;

	if (name)
		cli_printf(out, "Device: %s\n", name);
	fprintf(out, "Blocksize: %" PRIu32 " bytes\nTotal blocks: %" PRIu64 "\n", img->block_size,
		img->sb.blocks_count);
	fprintf(out, "Free blocks: %" PRIu64 " (%0.1f%%)\n", ff->in_blocks,
		share(ff->in_blocks, img->sb.blocks_count));
	if (ff->chunk)
		fprintf(out,
			"\nChunksize: %" PRIu64 " bytes (%" PRIu64
			" blocks)\nTotal chunks: %" PRIu64 "\nFree chunks: %" PRIu64 " (%0.1f%%)\n",
			ff->chunk * img->block_size, ff->chunk, ff->chunks, ff->free_chunks,
			share(ff->free_chunks, ff->chunks));
	fprintf(out,
		"\nMin. free extent: %" PRIu64 " KB \nMax. free extent: %" PRIu64
		" KB\nAvg. free extent: %" PRIu64 " KB\nNum. free extent: %" PRIu64 "\n",
		in_kib(img, ff->shortest), in_kib(img, ff->longest),
		ff->extents ? in_kib(img, ff->blocks / ff->extents) : 0, ff->extents);
	fprintf(out, "\nHISTOGRAM OF FREE EXTENT SIZES:\n"
		     "Extent Size Range :  Free extents   Free Blocks  Percent\n");
	for (unsigned i = 0; i < XW_FREEFRAG_SIZES; i++)
		if (ff->count[i])
			text_row(out, in_kib(img, UINT64_C(1) << i), ff->count[i], ff->sum[i],
				 ff->in_blocks);
}

static void json(struct xw_show *s, const struct xw_image *img, const char *name,
		 const struct xw_freefrag *ff)
{
	struct xw_json *j = s->json;

	if (name)
		xw_json_str(j, "device", name, strlen(name));
	xw_json_u64(j, "block_size_bytes", img->block_size);
	xw_json_u64(j, "blocks", img->sb.blocks_count);
	xw_json_u64(j, "free_blocks", ff->in_blocks);
	if (ff->chunk) {
		xw_json_u64(j, "chunk_blocks", ff->chunk);
		xw_json_u64(j, "chunks", ff->chunks);
		xw_json_u64(j, "free_chunks", ff->free_chunks);
	}
	xw_json_u64(j, "free_extents", ff->extents);
	xw_json_u64(j, "shortest_blocks", ff->shortest);
	xw_json_u64(j, "longest_blocks", ff->longest);
	xw_json_u64(j, "found_blocks", ff->blocks);
	xw_json_array(j, "histogram");
	for (unsigned i = 0; i < XW_FREEFRAG_SIZES; i++) {
		if (!ff->count[i])
			continue;
		xw_json_object(j, NULL);
		xw_json_u64(j, "from_blocks", UINT64_C(1) << i);
		xw_json_u64(j, "extents", ff->count[i]);
		xw_json_u64(j, "blocks", ff->sum[i]);
		xw_json_end(j, '}');
	}
	xw_json_end(j, ']');
}

int xw_show_freefrag(struct xw_show *s, struct xw_image *img, const char *name,
		     const struct xw_freefrag *ff)
{
	if (s->out)
		text(s, img, name, ff);
	else
		json(s, img, name, ff);
	return show_done(s, img, img->flags, 0);
}
