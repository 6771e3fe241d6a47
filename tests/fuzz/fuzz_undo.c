/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over undo files. Byte 0 of the input chooses the block size of a valid one in memory
 * and whether checksums are made right again (bit 7); then come records of three bytes: where in
 * the file (le16), what is XORed there.
 *
 * Properties, besides no crash and an end: a failure has its line; what is accepted is written
 * back, and the target grows by no more than what the file holds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "commit/undo_apply.h"
#include "commit/undo_file.h"
#include "../unit/memdev.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define TARGET (64u << 10)
#define AT_CSUM 0x1FC /* in the header */
#define KEYS_MAGIC 0xCADECADEu

/* More keys than a block of keys of 1 KiB holds. */
static void fill(struct xw_dev *dev, uint32_t unit)
{
	struct xw_undo_file f = {.dev = dev};
	uint8_t super[XW_SUPER_SIZE] = {1, 2, 3}, *buf = malloc((size_t)3 * unit);

	MUST(buf);
	MUST(!xw_undo_file_begin(&f, unit));
	for (unsigned i = 0; i < 70; i++) {
		const unsigned n = i % 7 ? 1 : 1 + i % 3;

		memset(buf, (int)i, (size_t)n * unit);
		MUST(!xw_undo_file_put(&f, (uint64_t)(i % 16) * unit, buf, n, n * unit - i % 5));
	}
	MUST(!xw_undo_file_finish(&f, super));
	free(f.keys);
	free(buf);
}

static void mutate(struct xw_dev *dev, const uint8_t *data, size_t size)
{
	for (; size >= 3; data += 3, size -= 3) {
		uint64_t off = peek16(data) % dev->size;
		uint8_t c;

		MUST(!xw_dev_pread(dev, &c, 1, off));
		c ^= data[2];
		MUST(!xw_dev_pwrite(dev, &c, 1, off));
	}
}

/* Right checksums of the header and of whatever looks like a block of keys. */
static void fix_checksums(struct xw_dev *dev, uint32_t unit)
{
	uint8_t header[XW_UNDO_HEADER_SIZE], *buf = malloc(unit);

	MUST(buf);
	MUST(!xw_dev_pread(dev, header, sizeof(header), 0));
	poke32(header + AT_CSUM, xw_crc32c(~0u, header, AT_CSUM));
	MUST(!xw_dev_pwrite(dev, header, sizeof(header), 0));
	for (uint64_t at = 0; at + unit <= dev->size; at += unit) {
		MUST(!xw_dev_pread(dev, buf, unit, at));
		if (peek32(buf) != KEYS_MAGIC)
			continue;
		xw_undo_keys_seal(buf, unit);
		MUST(!xw_dev_pwrite(dev, buf, unit, at));
	}
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t unit = 1024u << (size ? data[0] % 3 : 0);
	struct xw_dev *dev, *target;
	struct xw_undo *u = NULL;
	struct xw_diag diag = {0};
	uint64_t bytes;
	int rc;

	MUST(!xw_dev_open_mem(0, NULL, &dev));
	fill(dev, unit);
	if (size > 1)
		mutate(dev, data + 1, size - 1);
	if (size && data[0] & 0x80)
		fix_checksums(dev, unit);
	rc = xw_undo_open_dev(dev, size && data[0] & 0x40, &diag, &u);
	MUST(!rc == !diag.code);
	if (rc) {
		xw_dev_close(dev);
		return 0;
	}
	MUST(!xw_dev_open_mem(TARGET, &diag, &target));
	bytes = xw_undo_info(u)->bytes;
	rc = xw_undo_match(u, target);
	MUST(!rc == !diag.code);
	xw_diag_clear(&diag);
	rc = xw_undo_apply(u, target, NULL, NULL);
	MUST(!rc == !diag.code);
	MUST(target->size <= TARGET + bytes);
	xw_undo_close(u);
	xw_dev_close(target);
	return 0;
}
