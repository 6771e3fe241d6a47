/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/export: an edited image (edits.h) is exported. Properties, besides no crash:
 * the archive is made of whole members, its headers have right checksums, and damage is told.
 */
#include "edits.h"
#include "export/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 512

/* Follows the members of the stream as it comes. */
struct stream {
	uint8_t block[BLOCK];
	size_t have;
	uint64_t skip; /* blocks of payload still to come */
	uint64_t total;
	unsigned zeros; /* empty blocks at the end */
};

static uint64_t octal_field(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (; n-- && *p >= '0' && *p <= '7'; p++)
		v = v << 3 | (uint64_t)(*p - '0');
	return v;
}

static void take_block(struct stream *s)
{
	uint64_t sum = 0;

	if (s->skip) {
		s->skip--;
		return;
	}
	for (unsigned i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : s->block[i];
	if (sum == 8 * ' ') {
		s->zeros++;
		return;
	}
	FIX_MUST(!s->zeros);
	FIX_MUST(sum == octal_field(s->block + 148, 8));
	FIX_MUST(!memcmp(s->block + 257,
			 "ustar\0"
			 "00",
			 8));
	s->skip = xw_div_up(octal_field(s->block + 124, 12), BLOCK);
}

static int on_write(void *arg, const void *buf, size_t len)
{
	struct stream *s = arg;
	const uint8_t *p = buf;

	s->total += len;
	while (len) {
		size_t n = XW_MIN(len, BLOCK - s->have);

		memcpy(s->block + s->have, p, n);
		s->have += n;
		p += n;
		len -= n;
		if (s->have == BLOCK) {
			take_block(s);
			s->have = 0;
		}
	}
	return 0;
}

static void export_with(struct fixture *fx, unsigned flags)
{
	const struct xw_export_opts opts = {0};
	struct xw_export_stats stats;
	struct stream s = {0};
	int rc;

	xw_diag_clear(&fx->diag);
	if (xw_image_open(fx->dev, flags, &fx->diag, &fx->img))
		return;
	rc = xw_image_to_tar(fx->img, &opts, on_write, &s, &stats);
	FIX_MUST(rc == 0 || rc == XW_ERR_CORRUPT);
	FIX_MUST((rc != 0) == (stats.damaged != 0));
	FIX_MUST((rc != 0) == (*fx->diag.text != 0));
	FIX_MUST(s.total == stats.bytes_out && s.total % 10240 == 0);
	FIX_MUST(s.zeros >= 2 && !s.skip && !s.have);
	xw_image_close(fx->img);
	fx->img = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture fx;
	struct edit edits[EDITS_MAX];
	unsigned n = apply_edits(&fx, data, size, edits);

	export_with(&fx, 0);
	export_with(&fx, XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES);
	undo_edits(&fx, edits, n);
	return 0;
}
