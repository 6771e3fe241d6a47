/* SPDX-License-Identifier: MIT */
/*
 * Block groups: the contents of descriptors, and free blocks according to the bitmaps. A group with
 * a damaged descriptor or bitmap is shown as it is; the list ends where no more descriptors can be
 * read, and at the end of the device, whatever the superblock claims.
 */
#include "config.h"

#include "base/auto.h"
#include "show/rows.h"
#include "space/bits.h"

#include <endian.h>
#include <inttypes.h>

/* The group being shown. */
struct view {
	uint64_t group;
	xw_blk first, last;
	struct xw_group_head head;
	struct xw_group_desc gd;
	uint16_t expected; /* the expected checksum of the descriptor */
	bool csum; /* descriptors have checksums */
};

struct place {
	char s[24];
};

static struct place place_of(const struct xw_show *s, const struct xw_image *img, uint64_t n)
{
	const int width = img->sb.feature_incompat & XW_INCOMPAT_64BIT ? 8 : 4;
	struct place p;

	if (s->hex)
		snprintf(p.s, sizeof(p.s), "0x%0*" PRIx64, width, n);
	else
		snprintf(p.s, sizeof(p.s), "%" PRIu64, n);
	return p;
}

#define PLACE(n) place_of(s, img, n).s

static int read_view(struct xw_image *img, uint64_t group, struct view *v)
{
	const struct xw_super *sb = &img->sb;
	const uint64_t per_block = img->block_size / img->desc_size;
	struct xw_group_desc right;
	uint8_t raw[1024];
	int rc = xw_image_group(img, group, &v->gd);

	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	v->group = group;
	v->first = sb->first_data_block + group * sb->blocks_per_group;
	v->last = XW_MIN(v->first + sb->blocks_per_group, sb->blocks_count) - 1;
	v->csum = xw_super_has_group_csum(sb);
	v->expected = v->gd.checksum;
	xw_image_group_head(img, group, &v->head);
	if (rc) { /* the block is cached */
		rc = xw_image_meta(img, xw_image_desc_block(img, group),
				   (uint32_t)(group % per_block) * img->desc_size, raw,
				   img->desc_size);
		if (rc)
			return rc;
		xw_group_encode(&v->gd, sb, img->csum_seed, (uint32_t)group, raw);
		xw_group_decode(raw, img->desc_size, &right);
		v->expected = right.checksum;
	}
	return 0;
}

/* ---- lists of free blocks and inodes ---- */

/* Print numbers a to b as the next item of a list. */
static void put_range(struct xw_show *s, const struct xw_image *img, uint64_t a, uint64_t b)
{
	if (!s->out) {
		xw_json_array(s->json, NULL);
		xw_json_u64(s->json, NULL, a);
		xw_json_u64(s->json, NULL, b);
		xw_json_end(s->json, ']');
		return;
	}
	fprintf(s->out, "%s%s", s->any ? ", " : "", PLACE(a));
	if (b > a)
		fprintf(s->out, "-%s", PLACE(b));
	s->any = true;
}

struct listing {
	struct xw_show *s;
	struct xw_image *img;
};

/* A range ends with the last block of its last cluster; e2fsprogs 1.47.0 prints the first one. */
static int put_blocks(void *arg, uint32_t at, uint32_t len)
{
	const struct listing *l = arg;
	const uint32_t ratio = xw_image_cluster_bits(l->img);
	const uint64_t end = l->s->base + ((uint64_t)(at + len) << ratio);

	put_range(l->s, l->img, l->s->base + ((uint64_t)at << ratio),
		  XW_MIN(end, l->img->sb.blocks_count) - 1);
	return 0;
}

static void begin_list(struct xw_show *s, const char *text, const char *key, uint64_t base)
{
	s->base = base;
	s->any = false;
	if (s->out)
		fprintf(s->out, "  %s: ", text);
	else
		xw_json_array(s->json, key);
}

static void end_list(struct xw_show *s)
{
	if (s->out)
		fputc('\n', s->out);
	else
		xw_json_end(s->json, ']');
}

static void free_blocks(struct xw_show *s, struct xw_image *img, const struct view *v, void *bits)
{
	struct listing l = {s, img};
	int rc;

	begin_list(s, "Free blocks", "free_block_ranges", v->first);
	rc = xw_image_free_runs(img, s->sysmap, v->group, bits, put_blocks, &l);
	end_list(s);
	if (rc)
		show_problem(s, img->diag);
}

static void free_inodes(struct xw_show *s, struct xw_image *img, const struct view *v,
			uint64_t *words)
{
	const uint32_t n = img->sb.inodes_per_group;
	int rc = xw_image_inode_bitmap(img, v->group, (uint8_t *)words);

	begin_list(s, "Free inodes", "free_inode_ranges", v->group * n + 1);
	for (uint32_t i = 0; i < (XW_MIN(n, img->block_size * 8) + 63) / 64; i++)
		words[i] = le64toh(words[i]);
	for (uint32_t end = 0; end < n;) {
		const uint32_t at = xw_bits_next_free(words, end, n);

		end = xw_bits_next_used(words, at, n);
		if (end > at)
			put_range(s, img, s->base + at, s->base + end - 1);
	}
	end_list(s);
	if (rc)
		show_problem(s, img->diag);
}

/* ---- a group as text ---- */

static void text_title(struct xw_show *s, const struct xw_image *img, const struct view *v)
{
	static const char *const names[] = {"INODE_UNINIT", "BLOCK_UNINIT", "ITABLE_ZEROED"};
	bool any = false;

	fprintf(s->out, "Group %" PRIu64 ": (Blocks %s-", v->group, PLACE(v->first));
	fprintf(s->out, "%s)", PLACE(v->last));
	if (v->csum)
		fprintf(s->out, " csum 0x%04x", v->gd.checksum);
	if (v->csum && v->expected != v->gd.checksum)
		fprintf(s->out, " (EXPECTED 0x%04x)", v->expected);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(names) && v->csum; i++) {
		if (!(v->gd.flags >> i & 1))
			continue;
		fprintf(s->out, "%s%s", any ? ", " : " [", names[i]);
		any = true;
	}
	fputs(any ? "]\n" : "\n", s->out);
}

static void text_head(struct xw_show *s, const struct xw_image *img, const struct view *v)
{
	const struct xw_group_head *h = &v->head;
	const xw_blk desc = h->super + h->has_super, reserved = desc + h->desc_len;

	if (h->has_super)
		fprintf(s->out, "  %s superblock at %s%s", v->group ? "Backup" : "Primary",
			PLACE(h->super), h->desc_len ? "," : "\n");
	else if (h->desc_len)
		fputc(' ', s->out);
	if (h->desc_len && h->meta_bg)
		fprintf(s->out, " Group descriptor at %s\n", PLACE(desc));
	else if (h->desc_len) {
		fprintf(s->out, " Group descriptors at %s-", PLACE(desc));
		fprintf(s->out, "%s\n", PLACE(reserved - 1));
	}
	if (h->reserved_len) {
		fprintf(s->out, "  Reserved GDT blocks at %s-", PLACE(reserved));
		fprintf(s->out, "%s\n", PLACE(reserved + h->reserved_len - 1));
	}
}

/* The position of a block relative to its group: "(+261)", or with flex_bg "(bg #0 + 261)". */
static void text_offset(struct xw_show *s, const struct xw_image *img, const struct view *v,
			xw_blk blk)
{
	const struct xw_super *sb = &img->sb;
	const xw_blk off = blk - sb->first_data_block;

	if (blk >= v->first && blk <= v->last)
		fprintf(s->out, " (+%" PRIu64 ")", blk - v->first);
	else if (sb->feature_incompat & XW_INCOMPAT_FLEX_BG && blk >= sb->first_data_block)
		fprintf(s->out, " (bg #%" PRIu64 " + %" PRIu64 ")", off / sb->blocks_per_group,
			off % sb->blocks_per_group);
}

static void text_bitmap(struct xw_show *s, const struct xw_image *img, const struct view *v,
			const char *which, xw_blk blk, uint32_t csum)
{
	fprintf(s->out, "  %s bitmap at %s", which, PLACE(blk));
	text_offset(s, img, v, blk);
	if (xw_super_has_csum(&img->sb))
		fprintf(s->out, ", csum 0x%08" PRIx32, csum);
	fputc('\n', s->out);
}

static const char *unit(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & XW_RO_BIGALLOC ? "cluster" : "block";
}

static void text_group(struct xw_show *s, struct xw_image *img, const struct view *v, void *bits)
{
	const struct xw_group_desc *gd = &v->gd;

	text_title(s, img, v);
	text_head(s, img, v);
	text_bitmap(s, img, v, "Block", gd->block_bitmap, gd->block_bitmap_csum);
	text_bitmap(s, img, v, "Inode", gd->inode_bitmap, gd->inode_bitmap_csum);
	fprintf(s->out, "  Inode table at %s-", PLACE(gd->inode_table));
	fprintf(s->out, "%s", PLACE(gd->inode_table + img->itable_blocks - 1));
	text_offset(s, img, v, gd->inode_table);
	fprintf(s->out,
		"\n  %" PRIu32 " free %ss, %" PRIu32 " free inodes, %" PRIu32 " directories",
		gd->free_blocks, unit(img), gd->free_inodes, gd->used_dirs);
	if (gd->itable_unused)
		fprintf(s->out, ", %" PRIu32 " unused inodes", gd->itable_unused);
	fputc('\n', s->out);
	free_blocks(s, img, v, bits);
	free_inodes(s, img, v, bits);
}

static void json_group(struct xw_show *s, struct xw_image *img, const struct view *v, void *bits)
{
	const struct xw_group_head *h = &v->head;
	const struct xw_group_desc *gd = &v->gd;
	struct xw_json *j = s->json;

	xw_json_object(j, NULL);
	xw_json_u64(j, "group", v->group);
	xw_json_u64(j, "first_block", v->first);
	xw_json_u64(j, "last_block", v->last);
	if (v->csum) {
		xw_json_u64(j, "checksum", gd->checksum);
		xw_json_bool(j, "checksum_ok", v->expected == gd->checksum);
		xw_json_bool(j, "inode_uninit", gd->flags & XW_BG_INODE_UNINIT);
		xw_json_bool(j, "block_uninit", gd->flags & XW_BG_BLOCK_UNINIT);
		xw_json_bool(j, "itable_zeroed", gd->flags & XW_BG_INODE_ZEROED);
	}
	if (h->has_super)
		xw_json_u64(j, "superblock", h->super);
	if (h->desc_len) {
		xw_json_u64(j, "descriptors", h->super + h->has_super);
		xw_json_u64(j, "descriptor_blocks", h->desc_len);
	}
	if (h->reserved_len)
		xw_json_u64(j, "reserved_gdt_blocks", h->reserved_len);
	xw_json_u64(j, "block_bitmap", gd->block_bitmap);
	xw_json_u64(j, "inode_bitmap", gd->inode_bitmap);
	xw_json_u64(j, "inode_table", gd->inode_table);
	if (xw_super_has_csum(&img->sb)) {
		xw_json_u64(j, "block_bitmap_checksum", gd->block_bitmap_csum);
		xw_json_u64(j, "inode_bitmap_checksum", gd->inode_bitmap_csum);
	}
	xw_json_u64(j, img->sb.feature_ro_compat & XW_RO_BIGALLOC ? "free_clusters" : "free_blocks",
		    gd->free_blocks);
	xw_json_u64(j, "free_inodes", gd->free_inodes);
	xw_json_u64(j, "directories", gd->used_dirs);
	if (v->csum)
		xw_json_u64(j, "unused_inodes", gd->itable_unused);
	free_blocks(s, img, v, bits);
	free_inodes(s, img, v, bits);
	xw_json_end(j, '}');
}

/* ---- all groups ---- */

/* Call fn for each group whose descriptor can be read. */
static void each_group(struct xw_show *s, struct xw_image *img,
		       void (*fn)(struct xw_show *s, struct xw_image *img, const struct view *v,
				  void *bits),
		       void *bits)
{
	for (uint64_t g = 0; g < xw_image_groups_here(img); g++) {
		struct view v;

		if (read_view(img, g, &v)) {
			show_problem(s, img->diag);
			return;
		}
		if (img->diag->code)
			show_problem(s, img->diag);
		fn(s, img, &v, bits);
		if (s->out ? ferror(s->out) : s->json->nomem)
			return;
	}
}

int xw_show_groups(struct xw_show *s, struct xw_image *img)
{
	const unsigned look = show_lenient(s, img);
	auto_free void *bits = malloc(img->block_size);
	int rc = bits ? show_sysmap(s, img) : xw_fail_nomem(img->diag, "bitmap");

	if (!rc && s->out)
		each_group(s, img, text_group, bits);
	if (!rc && !s->out) {
		xw_json_array(s->json, "groups");
		each_group(s, img, json_group, bits);
		xw_json_end(s->json, ']');
	}
	return show_done(s, img, look, rc);
}

static void places_line(struct xw_show *s, struct xw_image *img, const struct view *v, void *bits)
{
	const struct xw_group_head *h = &v->head;
	const xw_blk desc = h->super + h->has_super;

	(void)bits;
	fprintf(s->out, "%" PRIu64 ":%" PRIu64 ":", v->group, v->first);
	if (h->has_super)
		fprintf(s->out, "%" PRIu64 ":", h->super);
	else
		fputs("-1:", s->out);
	if (!h->desc_len)
		fputs("-1", s->out);
	else if (h->meta_bg)
		fprintf(s->out, "%" PRIu64, desc); /* dumpe2fs does not apply -x here */
	else
		fprintf(s->out, "%s-%s", PLACE(desc), PLACE(desc + h->desc_len - 1));
	fprintf(s->out, ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 "\n", v->gd.block_bitmap,
		v->gd.inode_bitmap, v->gd.inode_table);
}

int xw_show_places(struct xw_show *s, struct xw_image *img)
{
	const unsigned look = show_lenient(s, img);

	fputs("group:block:super:gdt:bbitmap:ibitmap:itable\n", s->out);
	each_group(s, img, places_line, NULL);
	return show_done(s, img, look, 0);
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void stats_lines(struct xw_show *s, struct xw_image *img, const struct view *v, void *bits)
{
	const struct xw_group_desc *gd = &v->gd;
	const char *sep = "           [";

	(void)bits;
	fprintf(s->out,
		" Group %2" PRIu64 ": block bitmap at %" PRIu64 ", inode bitmap at %" PRIu64
		", inode table at %" PRIu64 "\n",
		v->group, gd->block_bitmap, gd->inode_bitmap, gd->inode_table);
	fprintf(s->out,
		"           %" PRIu32 " free %s%s, %" PRIu32 " free inode%s, %" PRIu32
		" used director%s",
		gd->free_blocks, unit(img), plural(gd->free_blocks), gd->free_inodes,
		plural(gd->free_inodes), gd->used_dirs, gd->used_dirs == 1 ? "y" : "ies");
	if (v->csum)
		fprintf(s->out, ", %" PRIu32 " unused inode%s", gd->itable_unused,
			plural(gd->itable_unused));
	fputc('\n', s->out);
	if (!v->csum)
		return;
	if (gd->flags & XW_BG_INODE_UNINIT) {
		fprintf(s->out, "%sInode not init", sep);
		sep = ", ";
	}
	if (gd->flags & XW_BG_BLOCK_UNINIT) {
		fprintf(s->out, "%sBlock not init", sep);
		sep = ", ";
	}
	fprintf(s->out, "%sChecksum 0x%04x]\n", sep, gd->checksum);
}

int xw_show_group_stats(struct xw_show *s, struct xw_image *img, bool groups)
{
	const unsigned look = show_lenient(s, img);
	uint64_t dirs = 0;
	struct xw_group_desc gd;

	for (uint64_t g = 0; g < xw_image_groups_here(img); g++) {
		int rc = xw_image_group(img, g, &gd);

		if (rc && rc != XW_ERR_CHECKSUM)
			break;
		dirs += gd.used_dirs;
	}
	if (groups)
		xw_diag_clear(img->diag); /* they are reported with the groups */
	else if (img->diag->code)
		show_problem(s, img->diag);
	show_number(s, "Directories", dirs);
	if (groups && s->out)
		each_group(s, img, stats_lines, NULL);
	return show_done(s, img, look, 0);
}
