/* SPDX-License-Identifier: MIT */
/*
 * logdump: the contents of a journal, block by block.
 *
 * The journal is shown as it is on disk. Opening the session's image may have replayed it in
 * memory, so the image is opened once more, without replay.
 */
#include "config.h"

#include "cli/env.h"
#include "session/recover.h"
#include "dev/overlay.h"
#include "inode.h"
#include "journal/log.h"
#include "mb.h"
#include "read/bitmaps.h"
#include "walk/map.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"

struct logdump {
	struct dbg *d;
	FILE *out;
	/* options */
	bool all; /* -a: descriptors and revoke blocks */
	bool contents; /* -c */
	bool old; /* -O */
	bool super; /* -S */
	const char *journal; /* -f */
	uint64_t max_trans; /* -n; 0: none */
	bool by_block, by_inode; /* -b, -i: search for this block, this inode */
	xw_blk block;
	xw_ino ino;
	/* bitmap of `block`; location of the record of `ino`; 0: no search */
	xw_blk block_bitmap, inode_block;
	uint32_t inode_off;
	/* state */
	struct xw_log *log;
	uint32_t sequence; /* expected sequence number */
	uint64_t transactions;
	uint8_t *buf; /* two blocks: of the log, and a copy of filesystem data */
};

static bool is_search(const struct logdump *l)
{
	return l->by_block || l->by_inode;
}

/* ---- contents ---- */

static void print_words(const struct logdump *l, const uint8_t *buf, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		fprintf(l->out, "    %04zx: ", at);
		for (size_t i = 0; i < 16; i += 4)
			fprintf(l->out, " %08" PRIx32, peek32(buf + at + i));
		fputc(' ', l->out);
		for (size_t i = 0; i < 16; i++) {
			const uint8_t c = buf[at + i];

			fputc(c >= ' ' && c < 0x7F ? c : '.', l->out);
		}
		fputc('\n', l->out);
	}
}

/* Print the part of a map that is inside an old copy of an inode. */
static void print_map(const struct logdump *l, const struct xw_inode *in)
{
	static const char *const names[] = {"", "IND", "DIND", "TIND"};
	struct xw_walk_map_item item;
	struct xw_walk_map w;

	fputs("    Blocks:  ", l->out);
	xw_walk_map_init(&w, l->d->img->dev, &l->d->img->sb);
	(void)xw_walk_map_begin(&w, 0, in, -1);
	while (xw_walk_map_next(&w, &item) > 0) {
		if (item.rule && item.rule != XW_MAP_RANGE && item.rule != XW_MAP_NODE_RANGE)
			continue;
		if (item.kind == XW_WALK_RUN)
			fprintf(l->out, "(%" PRIu64 "+%" PRIu64 "): %" PRIu64 " ", item.lblk,
				item.len, item.pblk);
		else if (!w.extents)
			fprintf(l->out, "(%s): %" PRIu64 " ", names[item.height], item.pblk);
		xw_walk_map_skip(&w);
	}
	xw_walk_map_free(&w);
	fputc('\n', l->out);
}

static void print_inode(const struct logdump *l, const uint8_t *data)
{
	const uint8_t *raw = data + l->inode_off;
	struct xw_inode in;

	(void)xw_inode_decode(raw, &l->d->img->sb, &in);
	fprintf(l->out, "    (inode block for inode %" PRIu32 "):\n", l->ino);
	dbg_print_inode_head(l->d, "    ", l->ino, &in, raw);
	dbg_print_inode_tail(l->d, &in);
	if (xw_super_has_csum(&l->d->img->sb))
		fprintf(l->out, "Inode checksum: 0x%08" PRIx32 "\n", in.checksum);
	print_map(l, &in);
}

/* Print the copy of a filesystem block that is in block `at` of the log. */
static void dump_data(const struct logdump *l, const struct xw_jtag *tag, uint32_t at)
{
	const struct xw_super *sb = &l->d->img->sb;
	uint8_t *data = l->buf + l->log->block_size;
	const bool is_inode = l->inode_block && tag->blk == l->inode_block;
	const bool is_bbm = l->block_bitmap && tag->blk == l->block_bitmap;
	const bool wanted = (l->by_block && tag->blk == l->block) || is_inode || is_bbm;
	uint64_t bit;
	int rc;

	if (!wanted && !l->all)
		return;
	fprintf(l->out, "  FS block %" PRIu64 " logged at ", tag->blk);
	if (!l->all)
		fprintf(l->out, "sequence %" PRIu32 ", ", l->sequence);
	fprintf(l->out, "journal block %" PRIu32 " (flags 0x%" PRIx32 ")\n", at, tag->flags);
	if (!wanted && !l->contents)
		return;
	rc = xw_log_read(l->log, at, data);
	if (rc) {
		dbg_complain_diag(l->d, rc);
		return;
	}
	if (tag->flags & XW_JTAG_ESCAPED) {
		static const uint8_t magic[] = {0xC0, 0x3B, 0x39, 0x98};

		memcpy(data, magic, sizeof(magic));
	}
	if (is_bbm) {
		bit = (l->block - sb->first_data_block) % sb->blocks_per_group >>
		      xw_image_cluster_bits(l->d->img);
		fprintf(l->out, "    (block bitmap for block %" PRIu64 ": block is %s)\n", l->block,
			data[bit / 8] >> bit % 8 & 1 ? "SET" : "CLEAR");
	}
	if (is_inode)
		print_inode(l, data);
	if (l->contents)
		print_words(l, data, l->log->block_size);
}

/* ---- blocks of the log ---- */

static void begin_block(const struct logdump *l, const char *kind, uint32_t at)
{
	if (!xw_jblock_verify_tail(&l->log->fmt, l->buf) && !l->d->how.no_csum)
		dbg_complain(l->d, "%s block %" PRIu32 ": checksum mismatch", kind, at);
	if (l->all)
		fprintf(l->out, "Dumping %s block, sequence %" PRIu32 ", at block %" PRIu32 ":\n",
			kind, l->sequence, at);
}

static uint32_t dump_descriptor(const struct logdump *l, uint32_t at)
{
	struct xw_jtag_iter it = {.f = &l->log->fmt, .blk = l->buf};
	struct xw_jtag tag;
	uint32_t data = at;

	begin_block(l, "descriptor", at);
	while (xw_jtag_next(&it, &tag)) {
		data = xw_log_next(l->log, data);
		dump_data(l, &tag, data);
	}
	return data;
}

static void dump_revoke(const struct logdump *l, uint32_t at)
{
	uint32_t n = 0;

	begin_block(l, "revoke", at);
	if (xw_jrevoke_count(&l->log->fmt, l->buf, &n))
		dbg_complain(l->d, "revoke block %" PRIu32 ": impossible length", at);
	for (uint32_t i = 0; i < n; i++) {
		const xw_blk blk = xw_jrevoke_get(&l->log->fmt, l->buf, i);

		if (l->all)
			fprintf(l->out, "  Revoke FS block %" PRIu64 "\n", blk);
		else if (l->by_block && blk == l->block)
			fprintf(l->out,
				"  Revoke FS block %" PRIu64 " at block %" PRIu32
				", sequence %" PRIu32 "\n",
				blk, at, l->sequence);
	}
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {"descriptor block", "commit block", "V1 superblock",
					    "V2 superblock", "revoke table"};

	return type >= 1 && type <= XW_ARRAY_SIZE(names) ? names[type - 1] : "unknown type";
}

/*
 * Print block `at` of the log; *next is the next block to examine. False: the log ends here, at a
 * block without a header or, unless -O, of another sequence.
 */
static bool dump_block(struct logdump *l, uint32_t at, uint32_t *next)
{
	uint32_t type, sequence;

	*next = at + 1;
	if (!xw_jblock_header(l->buf, &type, &sequence)) {
		fprintf(l->out, "No magic number at block %" PRIu32 ": end of journal.\n", at);
		return false;
	}
	if (sequence != l->sequence) {
		fprintf(l->out,
			"Found sequence %" PRIu32 " (not %" PRIu32 ") at block %" PRIu32
			": end of journal.\n",
			sequence, l->sequence, at);
		if (!l->old)
			return false;
	}
	if (!is_search(l))
		fprintf(l->out,
			"Found expected sequence %" PRIu32 ", type %" PRIu32
			" (%s) at block %" PRIu32 "\n",
			sequence, type, type_name(type), at);
	switch (type) {
	case XW_JBD2_DESCRIPTOR:
		*next = dump_descriptor(l, at) + 1;
		break;
	case XW_JBD2_COMMIT:
		l->sequence++;
		l->transactions++;
		break;
	case XW_JBD2_REVOKE:
		dump_revoke(l, at);
		break;
	default:
		break;
	}
	return true;
}

static int dump_log(struct logdump *l)
{
	const struct xw_jsb *jsb = &l->log->jsb;
	uint64_t left = l->log->last; /* a log that wraps around is printed once */
	uint32_t at = jsb->start;

	fprintf(l->out, "Journal starts at block %" PRIu32 ", transaction %" PRIu32 "\n",
		jsb->start, jsb->sequence);
	if (!at && !l->old)
		return 0;
	if (!at)
		at = l->log->first;
	l->sequence = jsb->sequence;
	while (left) {
		uint32_t next;
		int rc;

		if (cli_interrupted())
			return DBG_SAID;
		if (at < l->log->first || at >= l->log->last)
			at = l->log->first;
		rc = xw_log_read(l->log, at, l->buf);
		if (rc)
			return rc;
		if (!dump_block(l, at, &next))
			break;
		if (l->max_trans && l->transactions >= l->max_trans)
			break;
		left -= XW_MIN(left, next > at ? next - at : l->log->last - at + next);
		at = next;
	}
	if (l->old && l->transactions < l->max_trans)
		fprintf(l->out, "Dump all %" PRIu64 " journal records.\n", l->transactions);
	return 0;
}

/* ---- opening the journal ---- */

/*
 * An external journal has a filesystem superblock before that of the journal. Replace *dev by an
 * overlay that begins with the journal's superblock, as a journal in a file does.
 */
static int make_flat(struct xw_dev **dev, struct xw_diag *diag)
{
	uint8_t buf[XW_SUPER_SIZE], head[XW_JSB_SIZE];
	struct xw_dev *overlay;
	struct xw_super sb;
	int rc;

	if ((*dev)->size < XW_SUPER_OFFSET + sizeof(buf) ||
	    xw_dev_pread(*dev, buf, sizeof(buf), XW_SUPER_OFFSET) ||
	    xw_super_decode(buf, &sb) == XW_ERR_INPUT)
		return 0;
	rc = xw_dev_pread(*dev, head, sizeof(head),
			  XW_MAX(xw_super_block_size(&sb), 2 * XW_SUPER_OFFSET));
	if (!rc)
		rc = xw_overlay_open(*dev, sizeof(head), diag, &overlay);
	if (rc)
		return rc;
	*dev = overlay;
	return xw_dev_pwrite(overlay, head, sizeof(head), 0);
}

static int dump_opened(struct logdump *l)
{
	const uint32_t bs = l->d->img->block_size;
	auto_free uint8_t *buf = NULL;

	/* the location searched for is in blocks of the image */
	if (is_search(l) && l->log->block_size != bs)
		return xw_fail(&l->d->diag, XW_ERR_UNSUPPORTED,
			       "the journal has blocks of %" PRIu32 " bytes, the image of %" PRIu32
			       ": -b and -i are not supported",
			       l->log->block_size, bs);
	buf = malloc(2 * (size_t)l->log->block_size);
	if (!buf)
		return xw_fail_nomem(&l->d->diag, "log blocks");
	l->buf = buf;
	return dump_log(l);
}

static int dump_file(struct logdump *l)
{
	struct dbg *d = l->d;
	struct xw_dev *dev;
	uint32_t bs = 1024;
	uint8_t head[XW_JSB_SIZE];
	struct xw_jsb jsb;
	int rc = xw_dev_open_file(l->journal, XW_DEV_RDONLY, &d->diag, &dev);

	if (rc)
		return rc;
	rc = make_flat(&dev, &d->diag);
	if (!rc && dev->size >= sizeof(head) && !xw_dev_pread(dev, head, sizeof(head), 0) &&
	    !xw_jsb_decode(head, &jsb))
		bs = jsb.blocksize;
	if (!rc)
		rc = xw_log_open_flat(dev, 0, bs, dev->size / bs, &d->diag, &l->log);
	if (!rc)
		rc = dump_opened(l);
	xw_log_close(l->log);
	xw_dev_close(dev);
	return rc;
}

static int show_super(struct logdump *l, struct xw_image *img)
{
	struct xw_show s = dbg_show(l->d);
	int rc;

	s.out = l->out;
	rc = xw_show_journal(&s, img);
	if (img->sb.journal_inum)
		fputc('\n', l->out);
	xw_show_end(&s);
	return rc;
}

static int dump_image(struct logdump *l)
{
	struct xw_recover_info info = {0};
	struct xw_image *img = NULL;
	struct dbg *d = l->d;
	struct xw_dev *dev = NULL;
	int rc = 0;

	if (!d->edit) {
		const struct xw_diag said = d->diag;

		d->diag.log = NULL; /* the same messages as when the session opened the image */
		rc = xw_recover_open(d->real, d->redo_file, d->how.offset,
				     XW_RECOVER_RDONLY | XW_RECOVER_FORCE, &d->diag, &dev, &info);
		if (!rc)
			rc = xw_image_open(dev, d->img->flags, &d->diag, &img);
		d->diag.log = said.log;
	}
	if (!rc && l->super)
		rc = show_super(l, img ? img : d->img);
	if (!rc)
		rc = xw_log_open_image(img ? img : d->img, &l->log);
	if (!rc)
		rc = dump_opened(l);
	xw_log_close(l->log);
	xw_image_close(img);
	xw_dev_close(dev);
	return rc;
}

/* ---- the command ---- */

static int find_block(struct logdump *l, const char *text)
{
	const struct xw_super *sb = &l->d->img->sb;
	struct xw_group_desc gd;
	int rc = dbg_block(l->d, text, &l->block);

	if (!rc)
		rc = xw_image_group(l->d->img,
				    (l->block - sb->first_data_block) / sb->blocks_per_group, &gd);
	l->by_block = true;
	l->block_bitmap = rc ? 0 : gd.block_bitmap;
	return rc;
}

static int find_inode(struct logdump *l, const char *spec)
{
	struct dbg_record r;
	int rc = dbg_inode_number(l->d, spec, &l->ino);

	if (!rc)
		rc = dbg_find_record(l->d, l->ino, &r);
	if (rc)
		return rc;
	l->by_inode = true;
	l->inode_block = r.blk;
	l->inode_off = r.off;
	fprintf(l->out,
		"Inode %" PRIu32 " is at group %" PRIu64 ", block %" PRIu64 ", offset %" PRIu32
		"\n",
		l->ino, r.group, l->inode_block, l->inode_off);
	return 0;
}

static int verb_logdump(struct dbg *d, int argc, char **argv)
{
	struct logdump l = {.d = d, .out = d->out};
	const char *block = NULL, *inode = NULL;
	const struct dbg_option options[] = {
		{'a', .given = &l.all},
		{'b', .text = &block},
		{'c', .given = &l.contents},
		{'f', .text = &l.journal},
		{'i', .text = &inode},
		{'n', .number = &l.max_trans, .what = "number of transactions"},
		{'O', .given = &l.old},
		{'S', .given = &l.super},
		{0},
	};
	FILE *file = NULL, *before = d->out;
	int rc = dbg_options(d, argc, argv, options);

	if (rc || argc - optind > 1)
		return rc ? rc : DBG_USAGE;
	if (optind < argc) {
		file = dbg_output_stream(d, argv[optind], l.journal);
		if (!file)
			return XW_ERR_IO;
		l.out = d->out = file;
	}
	rc = inode ? find_inode(&l, inode) : 0;
	if (!rc && block)
		rc = find_block(&l, block);
	if (!rc)
		rc = l.journal ? dump_file(&l) : dump_image(&l);
	d->out = before;
	if (file && fclose(file) && !rc)
		rc = xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", argv[optind]);
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"logdump", DBG_OPEN | DBG_PAGED, verb_logdump,
	 "[-acOS] [-n COUNT] [-b BLOCK] [-i FILE] [-f JOURNAL] [OUTFILE]",
	 "contents of the journal; -a: all, -b: copies of a block, -i: of an inode"},
};

const struct dbg_family dbg_journal_verbs = {"The journal", verbs, XW_ARRAY_SIZE(verbs)};
