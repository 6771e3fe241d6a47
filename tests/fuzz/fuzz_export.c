/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/export: an edited image (edits.h) is exported. Properties, besides no crash:
 * the archive is made of whole members, its headers have right checksums, and damage is told; every
 * order has as many items; what is unpacked stays in its directory.
 */
#include "config.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edits.h"
#include "export/compress.h"
#include "export/extract.h"
#include "tmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 512
#define ENOUGH (64u << 20) /* bytes: a sparse file may be terabytes */

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

static void export_with(struct fixture *fx, unsigned flags, enum xw_export_order order)
{
	const struct xw_export_opts opts = {.order = order};
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

static int to_nowhere(void *arg, const void *buf, size_t len)
{
	(void)buf;
	*(uint64_t *)arg += len;
	return *(uint64_t *)arg > ENOUGH ? XW_ERR_HOSTFULL : 0;
}

static int count_item(void *arg, const struct xw_export_item *item)
{
	FIX_MUST(item->path[0] != '/' && strlen(item->at->path) == item->at->path_len);
	++*(uint64_t *)arg;
	return 0;
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/* Into a directory that nothing may leave: its neighbour, to which a link leads, stays empty. */
static void extract(struct fixture *fx, const struct xw_export_opts *opts)
{
	char top[64], in[80], out[80], link[96];
	struct xw_extract_opts eo = {.dir = in, .umask = 022};
	struct xw_export_stats stats;
	int rc;

	FIX_MUST(mkdtemp(tmp_template(top, sizeof(top), "fuzz_export")));
	snprintf(in, sizeof(in), "%s/in", top);
	snprintf(out, sizeof(out), "%s/out", top);
	snprintf(link, sizeof(link), "%s/name0", in);
	FIX_MUST(!mkdir(in, 0700) && !mkdir(out, 0700) && !symlink("../out", link));
	xw_diag_clear(&fx->diag);
	rc = xw_image_to_dir(fx->img, opts, &eo, &stats);
	FIX_MUST(rc == XW_ERR_NOTFOUND || rc == XW_ERR_CORRUPT || rc == XW_ERR_IO ||
		 rc == XW_ERR_HOSTFULL);
	FIX_MUST(!rmdir(out));
	FIX_MUST(!nftw(top, unlink_one, 16, FTW_DEPTH | FTW_PHYS));
}

/* The same items in any order; other formats, and directories, end too. */
static void other_ways(struct fixture *fx, bool unpack)
{
	char *paths[] = {"name1", "name[2-5]*9", "name0/../name7", "name0/name1", "name6"};
	struct xw_export_opts opts = {.paths = {paths, XW_ARRAY_SIZE(paths)}};
	struct xw_archive_opts archive = {.level = XW_LEVEL_DEFAULT, .jobs = 1};
	struct xw_export_stats stats;
	uint64_t items[3] = {0}, bytes = 0;
	int rc;

	xw_diag_clear(&fx->diag);
	if (xw_image_open(fx->dev, 0, &fx->diag, &fx->img))
		return;
	for (unsigned i = 0; i < 3; i++) {
		opts.order = (enum xw_export_order)i;
		xw_diag_clear(&fx->diag);
		rc = xw_image_to_list(fx->img, &opts, count_item, &items[i], &stats);
		FIX_MUST(rc == XW_ERR_NOTFOUND || rc == XW_ERR_CORRUPT);
		FIX_MUST(stats.missing);
	}
	FIX_MUST(items[0] == items[1] && items[0] == items[2]);
	FIX_MUST(xw_archive_format_by_name("newc", &archive.format));
	xw_diag_clear(&fx->diag);
	rc = xw_image_to_archive(fx->img, &opts, &archive, to_nowhere, &bytes, &stats);
	FIX_MUST(rc == XW_ERR_NOTFOUND || rc == XW_ERR_CORRUPT || rc == XW_ERR_UNSUPPORTED ||
		 rc == XW_ERR_HOSTFULL);
	FIX_MUST(bytes > ENOUGH || bytes == stats.bytes_out);
	if (unpack)
		extract(fx, &opts);
	xw_image_close(fx->img);
	fx->img = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture fx;
	struct edit edits[EDITS_MAX];
	unsigned n = apply_edits(&fx, data, size, edits);

	export_with(&fx, 0, (enum xw_export_order)(size % 3));
	export_with(&fx, XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES, XW_ORDER_DISK);
	if (size % 4 == 0)
		other_ways(&fx, size % 32 == 0);
	undo_edits(&fx, edits, n);
	return 0;
}
