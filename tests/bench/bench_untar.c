/* SPDX-License-Identifier: MIT */
/*
 * The writer of xw-mkfs with the steps of "Untar unleashed" taken back, and a trace of what it
 * writes; tests/bench/untar runs it.
 *
 *      bench_untar STAGE TAR IMAGE SIZE TRACE
 *
 *   two-blocks  each file has two extent blocks (a root and a leaf, as a btree that begins with a
 *               root), far from its data, and written after it; inode table blocks follow when the
 *               inodes of one have arrived
 *   one-block   one extent block a file, at the same place and time
 *   together    the extent block directly behind the file's data, and written with it
 *   direct      no extent block: the extents are in the inode
 *   after       and inode tables after all data: xw-mkfs with SIZE
 *   tail        inode tables behind the data in space, too: xw-mkfs without SIZE (SIZE is 0)
 *
 * The product has no switch for any of this. This program is the product's writer, linked with
 * --wrap: it stands between the rooms where a file's data has been written (xw_sink_file), where
 * its map is encoded (xw_map_encode_inode), where inodes get their numbers (xw_build_number), and
 * where the device is opened (xw_target_open). The images of all stages are valid.
 *
 * TRACE gets a line for each write to the device in its order: offset and length in bytes. Printed
 * is one JSON object.
 */
#include "config.h"

#include "api/run.h"
#include "recorder.h"

enum stage { TWO_BLOCKS, ONE_BLOCK, TOGETHER, DIRECT, AFTER, TAIL, STAGES };
static const char *const names[STAGES] = {"two-blocks", "one-block", "together",
					  "direct",     "after",     "tail"};

/* The functions that are wrapped have no argument for it. */
static struct untar {
	enum stage stage;
	struct recorder rec;
	struct xw_tree *tree;
	struct xw_builder *b;
	xw_blk goal; /* of extent blocks that lie apart */
	uint8_t *data; /* bitmap: blocks of contents */
	uint64_t blocks;
	const struct xw_binode *last; /* the last one that has a number */
	xw_ino ino; /* which is this */
	struct xw_binode *pending[RECORDER_BLOCK / 128]; /* of the current block of a table */
	uint64_t forced; /* extent blocks */
} u;

/* ---- the device ---- */

int __real_xw_target_open(struct xw_mkfs *m, struct xw_target *t);
int __wrap_xw_target_open(struct xw_mkfs *m, struct xw_target *t);
int __wrap_xw_target_open(struct xw_mkfs *m, struct xw_target *t)
{
	const int rc = __real_xw_target_open(m, t);

	if (rc)
		return rc;
	recorder_init(&u.rec, t->dev);
	t->dev = &u.rec.dev;
	return 0;
}

int __real_xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag);
int __wrap_xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag);
int __wrap_xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag)
{
	u.tree = t;
	return __real_xw_tree_init(t, now, diag);
}

int __real_xw_build_init(struct xw_builder *b);
int __wrap_xw_build_init(struct xw_builder *b);
int __wrap_xw_build_init(struct xw_builder *b)
{
	u.b = b;
	u.blocks = b->geo.blocks;
	u.goal = u.blocks / 4 * 3;
	u.data = calloc(u.blocks / 8 + 1, 1);
	MUST(u.data);
	if (u.stage < AFTER) {
		MUST(b->geo.block_size == RECORDER_BLOCK && b->geo.kind == XW_GEO_SIZED);
		u.rec.early = calloc(u.blocks / 8 + 1, 1);
		u.rec.blocks = u.blocks;
		MUST(u.rec.early);
	}
	return __real_xw_build_init(b);
}

/* ---- extent blocks ---- */

static bool is_forced(const struct xw_binode *n)
{
	return u.stage < DIRECT && xw_binode_is(n, XW_S_IFREG) && n->ino > XW_INO_FIRST && n->map &&
	       n->n_ext && n->n_ext <= XW_EXT_INODE_ENTRIES;
}

void __real_xw_map_encode_inode(const struct xw_encoder *enc, const struct xw_binode *n,
				struct xw_inode *in);
void __wrap_xw_map_encode_inode(const struct xw_encoder *enc, const struct xw_binode *n,
				struct xw_inode *in);
void __wrap_xw_map_encode_inode(const struct xw_encoder *enc, const struct xw_binode *n,
				struct xw_inode *in)
{
	if (!is_forced(n)) {
		__real_xw_map_encode_inode(enc, n, in);
		return;
	}
	in->flags |= XW_FL_EXTENTS;
	xw_extent_hdr_encode(in->block, &(struct xw_extent_hdr){.entries = 1,
								.max = XW_EXT_INODE_ENTRIES,
								.depth = (uint16_t)n->map->blocks});
	xw_extent_idx_encode(in->block, 0,
			     &(struct xw_extent_idx){.pblk = xw_map_block(n->map, 0, 0)});
}

/* The blocks below that root: an index block, if there are two, and a leaf. */
static int write_extents(struct xw_out *out, const struct xw_binode *n)
{
	const struct xw_encoder *enc = &u.b->place.enc;
	const unsigned max = xw_extent_node_max(enc->block_size);
	int rc = 0;

	for (uint32_t i = 0; i < n->map->blocks && !rc; i++) {
		const bool leaf = i + 1 == n->map->blocks;
		uint8_t block[RECORDER_BLOCK] = {0};

		xw_extent_hdr_encode(
			block, &(struct xw_extent_hdr){.entries = (uint16_t)(leaf ? n->n_ext : 1),
						       .max = (uint16_t)max,
						       .depth = !leaf});
		if (!leaf)
			xw_extent_idx_encode(
				block, 0,
				&(struct xw_extent_idx){.pblk = xw_map_block(n->map, i + 1, 0)});
		for (uint32_t k = 0; leaf && k < n->n_ext; k++)
			xw_extent_leaf_encode(block, k, &xw_binode_extents(n)[k]);
		if (enc->dirfmt.csum)
			xw_extent_block_set_csum(block, enc->block_size, xw_encode_seed(enc, n));
		rc = xw_out_write(out, xw_map_block(n->map, i, 0) * enc->block_size, block,
				  sizeof(block));
	}
	u.forced += n->map->blocks;
	return rc;
}

static int add_extent_blocks(struct xw_sink *k, struct xw_binode *n)
{
	const struct xw_alloc_req far = {.goal = u.goal, .len = u.stage == TWO_BLOCKS ? 2 : 1};
	struct xw_bmap *map = calloc(1, sizeof(*map));
	int rc;

	MUST(map);
	rc = u.stage == TOGETHER ? xw_stream_alloc(k->space, k->stream, 1, &map->runs, &map->n_runs)
				 : xw_space_alloc_all(k->space, &far, &map->runs, &map->n_runs);
	MUST(!rc && map->n_runs);
	map->blocks = (uint32_t)far.len;
	u.goal = map->runs[map->n_runs - 1].start + map->runs[map->n_runs - 1].len;
	n->map = map;
	n->ino = u.ino;
	rc = write_extents(k->out, n);
	n->ino = 0;
	return rc;
}

/* ---- inode tables ---- */

/* The index of an inode in its block of the table. */
static uint32_t ino_in_block(xw_ino ino)
{
	return (ino - 1) % (RECORDER_BLOCK / u.b->geo.inode_size);
}

/* Early, with what is known: records of directories and of attributes are written again. */
static int write_table_block(struct xw_out *out, xw_ino ino)
{
	struct xw_builder *b = u.b;
	const uint32_t isize = b->geo.inode_size, per_block = RECORDER_BLOCK / isize;
	const uint32_t index = (ino - 1) % b->geo.inodes_per_group;
	uint8_t block[RECORDER_BLOCK] = {0};
	struct xw_group_place at;
	xw_blk blk;

	xw_geo_group(&b->geo, (ino - 1) / b->geo.inodes_per_group, &at);
	blk = at.inode_table + index / per_block;
	for (uint32_t i = 0; i < per_block; i++) {
		struct xw_binode *n = u.pending[i];
		uint8_t *record = block + i * isize;

		if (!n || !xw_binode_is(n, XW_S_IFREG) || n->xattrs)
			continue;
		n->ino = ino - ino_in_block(ino) + i;
		MUST(!xw_itable_record(&b->place.enc, n, record));
		xw_inode_set_csum(record, &b->place.enc.sb, b->place.enc.csum_seed, n->ino);
		n->ino = 0; /* as the tree wants it until all have arrived */
	}
	recorder_set(u.rec.early, blk);
	return xw_out_write(out, blk * RECORDER_BLOCK, block, sizeof(block));
}

static bool has_number(const struct xw_binode *n)
{
	return n != u.tree->root && n != u.b->lost_found;
}

/* Count as xw_build_number() will, all inodes that have arrived. */
static int count(struct xw_out *out)
{
	struct xw_binode *n = u.last ? u.last->next : u.tree->first;
	int rc = 0; /* the inode of the current file is the last one */

	if (!u.last)
		u.ino = XW_INO_FIRST;
	for (; n && !rc; n = n->next) {
		u.last = n;
		if (!has_number(n))
			continue;
		if (ino_in_block(u.ino + 1) == 0) {
			rc = write_table_block(out, u.ino);
			memset(u.pending, 0, sizeof(u.pending));
		}
		u.pending[ino_in_block(++u.ino)] = n;
	}
	return rc;
}

/* ---- a file ---- */

int __real_xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
			struct xw_binode *n);
int __wrap_xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
			struct xw_binode *n);
int __wrap_xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
			struct xw_binode *n)
{
	int rc = __real_xw_sink_file(k, s, e, n);

	for (uint32_t i = 0; i < n->n_ext && !rc; i++) {
		const struct xw_extent *x = &xw_binode_extents(n)[i];

		for (uint32_t j = 0; j < x->len; j++)
			recorder_set(u.data, x->pblk + j);
	}
	if (rc || u.stage >= AFTER)
		return rc;
	rc = count(k->out);
	if (!rc && u.stage < DIRECT && n->n_ext && n->n_ext <= XW_EXT_INODE_ENTRIES)
		rc = add_extent_blocks(k, n);
	return rc;
}

int __real_xw_build_number(struct xw_builder *b);
int __wrap_xw_build_number(struct xw_builder *b);
int __wrap_xw_build_number(struct xw_builder *b)
{
	const int rc = __real_xw_build_number(b);

	MUST(rc || !u.last || u.last->ino == u.ino); /* else an entry was replaced */
	return rc;
}

/* ---- the run ---- */

static void print(const struct xw_mkfs_result *res, const char *trace)
{
	uint64_t bytes[2] = {0}, backward = 0, jumps = 0, end = 0;
	FILE *f = fopen(trace, "we");

	MUST(f);
	for (size_t i = 0; i < u.rec.writes.n; i++) {
		const struct recorded *w = &u.rec.writes.v[i];
		const uint64_t bs = res->block_size;

		fprintf(f, "%" PRIu64 " %" PRIu64 "\n", w->off, w->len);
		jumps += w->off != end;
		backward += w->off < end;
		end = w->off + w->len;
		for (uint64_t at = w->off; at < end;) {
			const uint64_t next = XW_MIN((at / bs + 1) * bs, end);

			bytes[at / bs < u.blocks && recorder_bit(u.data, at / bs)] += next - at;
			at = next;
		}
	}
	MUST(!fclose(f));
	printf("{\"files\": %" PRIu64 ", \"data_bytes\": %" PRIu64 ", \"metadata_bytes\": %" PRIu64
	       ", \"extent_blocks\": %" PRIu64 ", \"writes\": %zu, \"jumps\": %" PRIu64
	       ", \"backward\": %" PRIu64 "}\n",
	       res->files, bytes[1], bytes[0], u.forced, u.rec.writes.n, jumps, backward);
}

int main(int argc, char **argv)
{
	struct xw_mkfs *m = NULL;

	while (argc == 6 && u.stage < STAGES && strcmp(argv[1], names[u.stage]) != 0)
		u.stage++;
	if (argc != 6 || u.stage == STAGES) {
		fprintf(stderr, "usage: bench_untar STAGE TAR IMAGE SIZE TRACE; see its source\n");
		return 2;
	}
	MUST(!xw_mkfs_new(&m) && !xw_mkfs_set(m, "--jobs", "1") && !xw_mkfs_set(m, "-F", NULL) &&
	     !xw_mkfs_add_source(m, argv[2]));
	if (u.stage != TAIL)
		MUST(!xw_mkfs_set(m, "SIZE", argv[4]) && !xw_mkfs_set(m, "-i", "4096"));
	if (xw_mkfs_run(m, argv[3])) {
		fprintf(stderr, "bench_untar: %s\n", xw_mkfs_error(m));
		return 1;
	}
	print(xw_mkfs_result(m), argv[5]);
	xw_mkfs_free(m);
	free(u.data);
	free(u.rec.early);
	xw_vec_free(&u.rec.writes);
	return 0;
}
