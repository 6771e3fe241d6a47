// SPDX-License-Identifier: MIT
/*
 * Records of inode table blocks that were written to a wrong place. The checksum of a record covers
 * its inode number, so a record whose checksum is valid for another number is known to be moved. It
 * is moved back if its own place is unused or damaged, and cleared otherwise; in the wrong place it
 * is never repaired, since a name would then lead to the contents of another file.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/dirent.h"
#include "facts/hidden.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"

/* Limit of the numbers tried for records with checksums of 16 bits: some seconds. */
#define TRY_MAX (UINT64_C(1) << 25)
/* Number of table blocks up to which 16 bits prove the place of a record alone in its block. */
#define ALONE_MAX 256u

#define OFF_EXTRA_ISIZE 128
#define HURD 1u
#define NONE SIZE_MAX

struct fsck_mover {
	struct fsck *f;
	struct xw_image *img;
	uint32_t per_block; /* records in a table block */
	uint32_t effect[32]; /* of each bit of the inode number on the checksum */
	uint32_t inverse[32]; /* of each bit of the checksum on the inode number */
	uint64_t tried;
	uint8_t *block; /* a table block */
	uint8_t *raw, *held; /* records */
	XW_VEC(struct fsck_moved) moved; /* by ino */
};

/* ---- numbers from checksums ---- */

static void swap(uint32_t *a, uint32_t *b)
{
	const uint32_t was = *a;

	*a = *b;
	*b = was;
}

/*
 * The checksum is linear in the bits of the inode number: compute the effect of each bit, and the
 * inverse of this matrix by elimination.
 */
static void learn_effects(struct fsck_mover *m)
{
	const struct xw_super *sb = &m->img->sb;
	uint32_t rows[32], base = 0;
	bool whole = m->img->inode_size > XW_INODE_BODY;

	memset(m->raw, 0, m->img->inode_size);
	if (whole)
		m->raw[OFF_EXTRA_ISIZE] = XW_INODE_EXTRA_WANTED;
	for (unsigned i = 0; i <= 32; i++) {
		const xw_ino ino = i ? (xw_ino)1 << (i - 1) : 0;

		xw_inode_set_csum(m->raw, sb, m->img->csum_seed, ino);
		if (!i)
			base = xw_inode_raw_csum(m->raw, sb, &whole);
		else
			m->effect[i - 1] = xw_inode_raw_csum(m->raw, sb, &whole) ^ base;
	}
	for (unsigned i = 0; i < 32; i++) {
		rows[i] = m->effect[i];
		m->inverse[i] = 1u << i;
	}
	/* Afterwards row i has bit i only, and inverse[i] the bits of the number that cause it. */
	for (unsigned bit = 0; bit < 32 && whole; bit++) {
		unsigned at = bit;

		while (at < 31 && !(rows[at] >> bit & 1))
			at++;
		swap(&rows[bit], &rows[at]);
		swap(&m->inverse[bit], &m->inverse[at]);
		for (unsigned i = 0; i < 32; i++)
			if (i != bit && rows[i] >> bit & 1) {
				rows[i] ^= rows[bit];
				m->inverse[i] ^= m->inverse[bit];
			}
	}
}

static uint32_t product(const uint32_t matrix[32], uint32_t bits)
{
	uint32_t sum = 0;

	for (unsigned i = 0; bits; i++, bits >>= 1)
		sum ^= bits & 1 ? matrix[i] : 0;
	return sum;
}

/* The stored checksum minus that for number ino. *whole: of 32 bits. */
static uint32_t difference(struct fsck_mover *m, xw_ino ino, const uint8_t *raw, bool *whole)
{
	const struct xw_super *sb = &m->img->sb;
	const uint32_t stored = xw_inode_raw_csum(raw, sb, whole);

	memcpy(m->raw, raw, m->img->inode_size);
	xw_inode_set_csum(m->raw, sb, m->img->csum_seed, ino);
	return xw_inode_raw_csum(m->raw, sb, whole) ^ stored;
}

/* ---- the blocks ---- */

static bool is_record_of(const struct fsck_mover *m, const uint8_t *raw, xw_ino ino)
{
	return ino && ino <= m->img->sb.inodes_count &&
	       !xw_inode_verify(raw, &m->img->sb, m->img->csum_seed, ino);
}

/*
 * Are the other records of the block displaced by the same distance? One such record proves it. For
 * a record alone in its block the checksum must be sufficient: 32 bits, or the same position in one
 * of a few blocks.
 */
static bool is_displaced(const struct fsck_mover *m, xw_ino first, xw_ino ino, xw_ino other)
{
	const uint32_t size = m->img->inode_size;
	const xw_ino shift = other - ino;
	bool alone = true;

	for (uint32_t i = 0; i < m->per_block; i++) {
		const uint8_t *raw = m->block + (size_t)i * size;

		if (first + i == ino || !xw_inode_raw_links(raw))
			continue;
		alone = false;
		if (!is_record_of(m, raw, first + i) && is_record_of(m, raw, first + i + shift))
			return true;
	}
	return alone &&
	       (size > XW_INODE_BODY ||
		(shift % m->per_block == 0 && m->img->sb.inodes_count / m->per_block <= ALONE_MAX));
}

/* Is `other` the number of the record at `ino`, whose checksum differs by `diff`? */
static bool is_number(const struct fsck_mover *m, xw_ino first, xw_ino ino, uint32_t diff,
		      xw_ino other)
{
	return other && other <= m->img->sb.inodes_count && other != ino &&
	       (product(m->effect, ino ^ other) & 0xFFFF) == diff &&
	       is_displaced(m, first, ino, other);
}

/*
 * The number of a record, whose checksum is wrong for `ino`; 0: unknown. 16 bits do not tell one
 * number: all of the group are tried, then those with the same position in a table block.
 */
static xw_ino number_of(struct fsck_mover *m, xw_ino first, xw_ino ino)
{
	const struct xw_super *sb = &m->img->sb;
	const uint8_t *raw = m->block + (size_t)(ino - first) * m->img->inode_size;
	bool whole;
	const uint32_t diff = difference(m, ino, raw, &whole);
	const xw_ino group = ino - (ino - 1) % sb->inodes_per_group;
	const xw_ino slot = 1 + (ino - 1) % m->per_block;
	xw_ino other;

	if (whole) {
		other = ino ^ product(m->inverse, diff);
		return is_record_of(m, raw, other) && is_displaced(m, first, ino, other) ? other
											 : 0;
	}
	/* The distance of the record before needs no other witness than the checksum. */
	if (m->moved.n) {
		const struct fsck_moved *last = &m->moved.v[m->moved.n - 1];

		other = ino + last->other - last->ino;
		if (other != ino && is_record_of(m, raw, other))
			return other;
	}
	for (uint32_t i = 0; i < sb->inodes_count / m->per_block && m->tried < TRY_MAX; i++) {
		m->tried++;
		if (is_number(m, first, ino, diff, slot + i * m->per_block))
			return slot + i * m->per_block;
	}
	for (uint32_t i = 0; i < sb->inodes_per_group && m->tried < TRY_MAX; i++) {
		m->tried++;
		if (is_number(m, first, ino, diff, group + i))
			return group + i;
	}
	return 0;
}

static bool read_block(struct fsck_mover *m, xw_ino ino, xw_ino *first)
{
	const uint32_t index = (ino - 1) % m->img->sb.inodes_per_group;
	struct xw_group_desc gd;

	*first = ino - index % m->per_block;
	return !xw_image_group(m->img, (ino - 1) / m->img->sb.inodes_per_group, &gd) &&
	       xw_image_has_blocks(m->img, gd.inode_table, m->img->itable_blocks) &&
	       !fsck_read(m->f, gd.inode_table + index / m->per_block, 1, m->block);
}

/* Add the moved records of the block in m->block. */
static int collect_block(struct fsck_mover *m, xw_ino first)
{
	for (uint32_t i = 0; i < m->per_block; i++) {
		const uint8_t *raw = m->block + (size_t)i * m->img->inode_size;
		struct fsck_moved moved = {.ino = first + i};

		if (!xw_inode_raw_links(raw) || is_record_of(m, raw, moved.ino))
			continue;
		moved.other = number_of(m, first, moved.ino);
		if (moved.other && xw_vec_push(&m->moved, moved))
			return xw_fail_nomem(&m->f->ses.diag, "inode tables");
	}
	return 0;
}

/*
 * How far records were moved up, at most, by what was found from moved[from] on: that far they may
 * be in the part of the table that the descriptor calls unused.
 */
static uint32_t reach(const struct fsck_mover *m, size_t from)
{
	uint32_t most = 0;

	for (size_t i = from; i < m->moved.n; i++)
		if (m->moved.v[i].ino > m->moved.v[i].other)
			most = XW_MAX(most, m->moved.v[i].ino - m->moved.v[i].other);
	return most;
}

/* Collect the moved records of a group. */
static int collect_group(struct fsck_mover *m, uint64_t group)
{
	const uint32_t per_group = m->img->sb.inodes_per_group;
	struct xw_group_desc gd;
	uint32_t n = 0, more = 0;
	int rc = 0;

	if (!xw_image_group(m->img, group, &gd))
		n = fsck_records_of(m->f, group, &gd);
	for (uint32_t i = 0; n && i < XW_MIN(per_group, n + more) && !rc; i += m->per_block) {
		xw_ino first = (xw_ino)(group * per_group + i + 1);
		const size_t had = m->moved.n;

		if (read_block(m, first, &first))
			rc = collect_block(m, first);
		more = XW_MAX(more, XW_MIN(reach(m, had), per_group));
	}
	return rc;
}

static int collect(struct fsck_mover *m)
{
	const uint64_t groups = xw_image_groups_here(m->img);
	int rc = 0;

	for (uint64_t g = 0; g < groups && !rc; g++)
		rc = collect_group(m, g);
	xw_diag_clear(&m->f->ses.diag);
	return rc;
}

/* ---- moving back ---- */

static size_t find(const struct fsck_mover *m, xw_ino ino)
{
	size_t low = 0, high = m->moved.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (m->moved.v[mid].ino < ino)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->moved.n && m->moved.v[low].ino == ino ? low : NONE;
}

static bool is_marked(struct fsck_mover *m, xw_ino ino)
{
	const uint32_t index = (ino - 1) % m->img->sb.inodes_per_group;
	struct xw_group_desc gd;

	return !xw_image_group(m->img, (ino - 1) / m->img->sb.inodes_per_group, &gd) &&
	       xw_image_has_blocks(m->img, gd.inode_bitmap, 1) &&
	       !fsck_read(m->f, gd.inode_bitmap, 1, m->block) &&
	       m->block[index / 8] >> index % 8 & 1;
}

/*
 * May a record be moved to its place? Not over another in use, and a record that was deleted
 * properly is newer than the moved one.
 */
static bool is_vacant(struct fsck_mover *m, xw_ino ino)
{
	const size_t other = find(m, ino);
	struct xw_inode in;

	if (other != NONE && (m->moved.v[other].gone || m->f->opts.mode == FSCK_NO))
		return true;
	if (fsck_inode_read(m->f, ino, &in, m->raw))
		return false;
	if (xw_all_zero(m->raw, m->img->inode_size))
		return is_marked(m, ino);
	if (is_record_of(m, m->raw, ino))
		return false;
	return !in.links || fsck_is_garbage(m->img, ino, m->raw, 0);
}

/* Move the record back, or clear it; `held`: its contents, if another has its place already. */
static int put_back(struct fsck_mover *m, struct fsck_moved *r, const uint8_t *held)
{
	const bool vacant = is_vacant(m, r->other);
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	if (!(vacant ? FSCK_FOUND(m->f, INODE_MOVED, .ino = r->ino, .num = r->other)
		     : FSCK_FOUND(m->f, INODE_MISPLACED, .ino = r->ino, .num = r->other)))
		return 0;
	rc = fsck_inode_load(m->f, r->ino, &in, &raw);
	if (rc)
		return rc;
	if (!held) /* cleared first, so that another record can be moved here */
		rc = fsck_inode_clear(m->f, r->ino);
	else
		xw_inode_decode(held, &m->img->sb, &in);
	r->gone = !held;
	m->f->round.again = true;
	if (rc || !vacant)
		return rc;
	if (held)
		memcpy(raw, held, m->img->inode_size);
	if (find(m, r->other) != NONE)
		m->moved.v[find(m, r->other)].gone = false;
	return fsck_inode_write(m->f, r->other, &in, raw);
}

/*
 * A place may hold another moved record, which is moved first: follow them to the end, and move the
 * last one first. If they form a circle, one is held in memory.
 */
static int put_all(struct fsck_mover *m)
{
	XW_VEC(size_t) path = {0};
	int rc = 0;

	for (size_t i = 0; i < m->moved.n && !rc && !m->f->ses.stop; i++) {
		size_t at = i, circle = NONE;
		struct xw_inode in;

		for (path.n = 0; at != NONE && !m->moved.v[at].seen && !rc;) {
			m->moved.v[at].seen = true;
			m->moved.v[at].step = path.n;
			rc = xw_vec_push(&path, at);
			at = find(m, m->moved.v[at].other);
		}
		if (!rc && at != NONE && path.n && m->moved.v[at].step < path.n &&
		    path.v[m->moved.v[at].step] == at)
			circle = at;
		if (!rc && circle != NONE)
			rc = fsck_inode_read(m->f, m->moved.v[circle].ino, &in, m->held);
		if (!rc && circle != NONE)
			m->moved.v[circle].gone = true;
		while (path.n && !rc && !m->f->ses.stop) {
			const size_t k = path.v[--path.n];

			rc = put_back(m, &m->moved.v[k], k == circle ? m->held : NULL);
		}
	}
	xw_vec_free(&path);
	return rc;
}

/* ---- one record ---- */

static int mover_begin(struct fsck_mover *m, struct fsck *f)
{
	*m = (struct fsck_mover){.f = f, .img = f->ses.img};
	m->per_block = m->img->block_size / m->img->inode_size;
	m->block = malloc(m->img->block_size);
	m->raw = malloc(m->img->inode_size);
	m->held = malloc(m->img->inode_size);
	return m->block && m->raw && m->held ? 0 : xw_fail_nomem(&f->ses.diag, "inode tables");
}

static void mover_end(struct fsck_mover *m)
{
	xw_vec_free(&m->moved);
	free(m->block);
	free(m->raw);
	free(m->held);
}

int fsck_look_moved(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	struct fsck_mover m;
	xw_ino first;
	int rc;

	if (!l->wrong_sum || l->moved_known || l->tried >= TRY_MAX || !xw_super_has_csum(sb) ||
	    sb->creator_os == HURD)
		return 0;
	rc = mover_begin(&m, l->f);
	m.tried = l->tried;
	if (!rc)
		learn_effects(&m);
	if (!rc && read_block(&m, l->ino, &first) && number_of(&m, first, l->ino)) {
		l->moved_known = true;
		rc = collect(&m);
		if (!rc)
			rc = put_all(&m);
	}
	l->tried = m.tried;
	if (l->f->round.again) /* the tables are read again */
		memset(l->f->ses.looked, 0, sizeof(l->f->ses.looked));
	mover_end(&m);
	return rc;
}
