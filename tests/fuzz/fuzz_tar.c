/* SPDX-License-Identifier: MIT */
/*
 * Fuzz targets: the tar reader, and with FUZZ_CPIO the cpio reader, over an archive in memory.
 *
 * Checksums are mended first (unless the last byte says not to), or hardly any damage would get
 * past them. What the reader hands out must keep the promises of import/source.h, a failure must
 * come with a line, and whether the consumer reads the payload must not change the entries.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/memfeed.h"
#include "base/hash.h"
#include "import/cpio_part.h"
#include "import/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "fuzz_tar: %s (line %d)\n", #x, __LINE__);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void mend(uint8_t *p, size_t size)
{
	for (size_t b = 0; b + XW_TAR_BLOCK <= size; b += XW_TAR_BLOCK) {
		struct xw_tar_hdr *h = (struct xw_tar_hdr *)(p + b);
		unsigned sum = 0;
		char text[8];

		if (memcmp(h->magic, "ustar", 5) != 0)
			continue;
		memset(h->chksum, ' ', sizeof(h->chksum));
		for (size_t i = 0; i < XW_TAR_BLOCK; i++)
			sum += p[b + i];
		snprintf(text, sizeof(text), "%06o", sum & 0777777);
		memcpy(h->chksum, text, 7);
	}
}

static void check_text(struct xw_slice s)
{
	MUST(s.len && !memchr(s.p, '\0', s.len));
}

static void check_entry(const struct xw_entry *e)
{
	uint64_t end = 0;

	check_text(e->path);
	if (e->type == XW_ET_LNK || e->type == XW_ET_HARDLINK)
		check_text(e->link);
	else
		MUST(!e->link.len);
	MUST(e->type <= XW_ET_HARDLINK && e->mode <= 07777 && e->mtime.nsec < 1000000000);
	MUST(!e->has_atime || e->atime.nsec < 1000000000);
	MUST(e->type == XW_ET_REG || e->link_data || !e->size);
	MUST(e->size <= INT64_MAX);
	for (size_t i = 0; i < e->n_xattrs; i++) {
		check_text(e->xattrs[i].name);
		MUST(e->xattrs[i].value.len <= 65536);
	}
	MUST(e->sparse || !e->n_segs);
	for (size_t i = 0; i < e->n_segs; i++) {
		MUST(e->segs[i].len && e->segs[i].off >= end);
		MUST(e->segs[i].len <= e->size && e->segs[i].off <= e->size - e->segs[i].len);
		end = e->segs[i].off + e->segs[i].len;
	}
}

/* The whole payload: 0 or the failure. */
static int check_payload(struct xw_source *s, const struct xw_entry *e, uint64_t *hash)
{
	uint64_t off, end = 0, sum = 0, want = e->size;
	const void *p;
	size_t len;
	int r;

	while ((r = xw_source_read(s, &p, &len, &off)) == 1) {
		MUST(len && off >= end && len <= e->size && off <= e->size - len);
		end = off + len;
		sum += len;
		*hash = xw_hash_fixed(p, len, *hash ^ off);
	}
	for (size_t i = want = e->sparse ? 0 : want; i < e->n_segs; i++)
		want += e->segs[i].len;
	MUST(r || sum == want);
	return r;
}

#ifdef FUZZ_CPIO
#define OPEN xw_cpio_part_open
#define UNREAD_IS_SAME false /* checksums are verified only if the contents are read */
#else
#define OPEN xw_tar_open
#define UNREAD_IS_SAME true
#endif

/* A digest of the entries, up to and with the end or the failure. */
static uint64_t walk(const uint8_t *p, size_t size, size_t chunk, bool read)
{
	struct xw_diag diag = {0};
	struct xw_archive_params tp = {.name = "fuzz", .diag = &diag, .drain = true};
	const struct xw_entry *e;
	struct xw_source *s;
	uint64_t h = 0;
	int r;

	MUST(!OPEN(xw_input_new(mem_feed(p, size, chunk), false), &tp, &s));
	while ((r = xw_source_next(s, &e)) == 1) {
		uint64_t ignored = 0;

		check_entry(e);
		h = xw_hash_fixed(e->path.p, e->path.len, h + e->size);
		if (read && (r = check_payload(s, e, &ignored)))
			break;
		check_entry(e); /* still whole */
	}
	MUST(!r || (diag.code == r && diag.text[0]));
	xw_source_close(s);
	return h ^ (uint64_t)r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(size ? size : 1);
	uint64_t h;

	MUST(p);
	if (size)
		memcpy(p, data, size);
	if (size && data[size - 1] % 4 != 3)
		mend(p, size);
	h = walk(p, size, 0, true);
	MUST(walk(p, size, 0, false) == h || !UNREAD_IS_SAME);
	MUST(walk(p, size, 97, true) == h);
	free(p);
	return 0;
}
