/* SPDX-License-Identifier: MIT */
/*
 * Contents of a file. The file's map is walked up to three times (plan, sparse map, data) instead
 * of being kept in memory: a file may have millions of holes, and most maps are in the inode.
 */
#include "export/payload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "read/file.h"

#define BLOCK 512

/* Iterates over the written parts of a file, as segments and as runs of blocks. */
struct segments {
	struct xw_map_iter it;
	uint64_t size; /* size of the file in bytes */
	uint32_t bs;
	bool have; /* `run` is not yet part of a returned segment */
	struct xw_map_run run;
};

static int segments_begin(const struct xw_payload *p, struct segments *s)
{
	s->size = p->inode->size;
	s->bs = p->img->block_size;
	s->have = false;
	return xw_map_begin(p->img, p->ino, p->inode, 0, &s->it);
}

/* Get the next written run that starts before the end of the file. 1, 0, or a failure. */
static int next_run(struct segments *s)
{
	int rc;

	do
		rc = xw_map_next(&s->it, &s->run);
	while (rc == 1 && s->run.unwritten);
	if (rc == 1 && s->run.lblk * s->bs >= s->size)
		rc = 0;
	s->have = rc == 1;
	return rc;
}

/* Get the next segment, merged from adjacent runs. 1, 0, or a failure. */
static int next_segment(struct segments *s, struct xw_data_segment *seg)
{
	uint64_t end;
	int rc = s->have ? 1 : next_run(s);

	if (rc != 1)
		return rc;
	seg->off = s->run.lblk * s->bs;
	do {
		end = s->run.lblk + s->run.len;
		rc = next_run(s);
	} while (rc == 1 && s->run.lblk == end);
	if (rc < 0)
		return rc;
	seg->len = XW_MIN(end * s->bs, s->size) - seg->off;
	return 1;
}

static uint64_t digits(uint64_t v)
{
	uint64_t n = 1;

	for (; v >= 10; v /= 10)
		n++;
	return n;
}

int xw_payload_plan(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, struct xw_payload *p)
{
	struct xw_data_segment seg;
	struct segments s;
	uint64_t map = 0;
	int rc;

	*p = (struct xw_payload){.img = img, .ino = ino, .inode = inode, .raw = raw};
	if (inode->flags & XW_FL_INLINE_DATA) {
		p->data = inode->size;
		if (inode->size > XW_INLINE_MAX)
			return xw_fail(img->diag, XW_ERR_CORRUPT,
				       "%s: inode %" PRIu32 ": %" PRIu64 " bytes of inline data",
				       img->dev->name, ino, inode->size);
		return 0;
	}
	rc = segments_begin(p, &s);
	while (!rc && (rc = next_segment(&s, &seg)) == 1) {
		p->segments++;
		p->data += seg.len;
		map += digits(seg.off) + digits(seg.len) + 2;
		rc = 0;
	}
	xw_map_end(&s.it);
	if (rc)
		return rc;
	p->sparse = p->data < inode->size;
	/* the last entry of the map, (file size, 0), marks the end of the file */
	map += digits(p->segments + 1) + 1 + digits(inode->size) + 1 + 2;
	p->map_len = p->sparse ? xw_round_up(map, BLOCK) : 0;
	return 0;
}

uint64_t xw_payload_size(const struct xw_payload *p)
{
	return p->map_len + p->data;
}

static int put_number(struct xw_output *o, uint64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", v);

	return xw_output_put(o, text, (size_t)n);
}

static int put_map(const struct xw_payload *p, struct xw_output *o)
{
	struct xw_data_segment seg;
	struct segments s;
	int rc = put_number(o, p->segments + 1);
	int read = segments_begin(p, &s);

	while (!rc && !read && (read = next_segment(&s, &seg)) == 1) {
		rc = put_number(o, seg.off);
		rc = rc ? rc : put_number(o, seg.len);
		read = 0;
	}
	xw_map_end(&s.it);
	if (read) /* the map was readable before, and half of it is useless */
		return o->failed = read;
	rc = rc ? rc : put_number(o, p->inode->size);
	rc = rc ? rc : put_number(o, 0);
	return rc ? rc : xw_output_pad(o, BLOCK);
}

#define INLINE UINT64_MAX

/*
 * Read len bytes at byte `at` of the device; if `at` is INLINE, inline data from byte `off` of the
 * file on. Unreadable data becomes zeros.
 */
static void read_data(const struct xw_payload *p, void *to, size_t len, uint64_t off, uint64_t at,
		      int *damage)
{
	size_t got = 0;
	int rc;

	if (at == INLINE) {
		rc = xw_file_pread(p->img, p->ino, p->inode, p->raw, off, to, len, &got);
	} else {
		rc = xw_dev_pread(p->img->dev, to, len, at);
		got = rc ? 0 : len;
		if (rc && !*damage)
			xw_fail(p->img->diag, rc, "%s: inode %" PRIu32 ": cannot read its data",
				p->img->dev->name, p->ino);
	}
	if (rc && !*damage)
		*damage = rc;
	memset((uint8_t *)to + got, 0, len - got);
}

static int copy(const struct xw_payload *p, struct xw_output *o, uint64_t off, uint64_t at,
		uint64_t len, int *damage)
{
	while (len) {
		size_t room;
		void *to;
		int rc = xw_output_room(o, (size_t)XW_MIN(len, SIZE_MAX), &to, &room);

		if (rc)
			return rc;
		read_data(p, to, room, off, at, damage);
		xw_output_made(o, room);
		off += room;
		at += at == INLINE ? 0 : room;
		len -= room;
	}
	return 0;
}

static int put_runs(const struct xw_payload *p, struct xw_output *o, int *damage)
{
	const uint64_t end = o->total + p->data;
	struct segments s;
	int rc = 0, read = segments_begin(p, &s);

	while (!rc && !read && (read = next_run(&s)) == 1) {
		uint64_t off = s.run.lblk * s.bs;

		rc = copy(p, o, off, s.run.pblk * s.bs, XW_MIN(s.run.len * s.bs, s.size - off),
			  damage);
		read = 0;
	}
	xw_map_end(&s.it);
	if (!rc && read && !*damage)
		*damage = read;
	return rc ? rc : xw_output_zeros(o, end - o->total);
}

int xw_payload_put(const struct xw_payload *p, struct xw_output *o, int *damage)
{
	int rc;

	*damage = 0;
	if (p->inode->flags & XW_FL_INLINE_DATA) {
		rc = copy(p, o, 0, INLINE, p->data, damage);
	} else {
		rc = p->sparse ? put_map(p, o) : 0;
		rc = rc ? rc : put_runs(p, o, damage);
	}
	return rc ? rc : xw_output_pad(o, BLOCK);
}

/* Pass len bytes from byte `off` of the file on to `each`; `at` is as for read_data(). */
static int each_piece(const struct xw_payload *p, uint64_t off, uint64_t at, uint64_t len,
		      void *buf, size_t size,
		      int (*each)(void *arg, uint64_t off, const void *data, size_t len), void *arg,
		      int *damage)
{
	int rc = 0;

	for (uint64_t done = 0; done < len && !rc;) {
		const size_t n = (size_t)XW_MIN(len - done, size);

		read_data(p, buf, n, off + done, at == INLINE ? at : at + done, damage);
		rc = each(arg, off + done, buf, n);
		done += n;
	}
	return rc;
}

int xw_payload_each(const struct xw_payload *p, void *buf, size_t size,
		    int (*each)(void *arg, uint64_t off, const void *data, size_t len), void *arg,
		    int *damage)
{
	struct segments s;
	int rc = 0, read;

	*damage = 0;
	if (p->inode->flags & XW_FL_INLINE_DATA)
		return each_piece(p, 0, INLINE, p->data, buf, size, each, arg, damage);
	read = segments_begin(p, &s);
	while (!rc && !read && (read = next_run(&s)) == 1) {
		const uint64_t off = s.run.lblk * s.bs;

		rc = each_piece(p, off, s.run.pblk * s.bs, XW_MIN(s.run.len * s.bs, s.size - off),
				buf, size, each, arg, damage);
		read = 0;
	}
	xw_map_end(&s.it);
	if (!rc && read && !*damage)
		*damage = read;
	return rc;
}
