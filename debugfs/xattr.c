/* SPDX-License-Identifier: MIT */
/* Verbs about extended attributes. */
#include "config.h"

#include "cli/escape.h"
#include "print.h"
#include "read/xattrs.h"
#include "walk/xattr.h"
#include "xattr.h"
#include "xattr/acl.h"
#include "xattr/set.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

enum { LISTED_MAX = 40, UNPRINTABLE_MAX = 3 };

/* ---- values ---- */

static size_t unprintable_bytes(const uint8_t *v, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += !isprint(v[i]);
	return n;
}

static void print_hex(FILE *out, const uint8_t *v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x ", v[i]);
}

/* Is it text? Fewer than one byte in eight may be unprintable. */
static bool is_text(const uint8_t *v, size_t len)
{
	return !unprintable_bytes(v, len) || unprintable_bytes(v, len) * 8 < len;
}

/* Print " = VALUE" after a name; nothing for an empty value. */
static void print_value(FILE *out, const uint8_t *v, size_t len, bool hex, bool c)
{
	if (!len)
		return;
	fputs(" = ", out);
	if (hex || (!c && !is_text(v, len))) {
		print_hex(out, v, len);
	} else {
		fputc('"', out);
		cli_escape(out, CLI_C, v, len);
		fputc('"', out);
	}
}

/* ---- ea_list ---- */

static void print_one(struct dbg *d, const struct xw_xattr_ref *a, bool first)
{
	char name[XW_XATTR_FULL_NAME_MAX];

	if (!xw_xattr_full_name(a->index, a->name, a->name_len, name))
		snprintf(name, sizeof(name), "%.*s", a->name_len, a->name);
	if (first && !d->json)
		fputs("Extended attributes:\n", d->out);
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_str(&d->js, "name", name, strlen(name));
		xw_json_u64(&d->js, "size_bytes", a->value_len);
		xw_json_bool(&d->js, "in_block", a->in_block);
		xw_json_u64(&d->js, "value_inode", a->value_ino);
		xw_json_str(&d->js, "value", (const char *)a->value, a->value_len);
		xw_json_end(&d->js, '}');
		return;
	}
	fputs("  ", d->out);
	if (is_text((const uint8_t *)name, strlen(name)))
		cli_escape(d->out, CLI_C, name, strlen(name));
	else
		print_hex(d->out, (const uint8_t *)name, strlen(name));
	fprintf(d->out, " (%" PRIu32 ")", a->value_len);
	if (a->value_len < LISTED_MAX)
		print_value(d->out, a->value, a->value_len, false, false);
	fputc('\n', d->out);
}

int dbg_print_xattrs(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	bool first = true;
	int rc = xw_xattr_begin(d->img, ino, in, raw, &it);

	while (!rc || rc == 1) {
		rc = xw_xattr_next(&it, &a);
		if (!rc)
			break;
		if (rc < 0) {
			dbg_complain_diag(d, rc);
			rc = rc == XW_ERR_NOMEM ? rc : 0;
			continue;
		}
		print_one(d, &a, first);
		first = false;
	}
	xw_xattr_end(&it);
	return rc;
}

static int verb_ea_list(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, &raw);
	if (rc)
		return rc;
	dbg_list_begin(d);
	rc = dbg_print_xattrs(d, ino, &in, raw);
	dbg_list_end(d);
	return rc;
}

/* ---- ea_get ---- */

struct get {
	bool hex, c, raw, value_only;
	const char *file;
};

/* Convert ACLs from their encoding on disk to that of getxattr(2). */
static int to_user_form(struct dbg *d, uint8_t index, uint8_t **value, uint32_t *len)
{
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	uint8_t *user;
	int rc;

	if (index != XW_XI_ACL_ACCESS && index != XW_XI_ACL_DEFAULT)
		return 0;
	rc = xw_acl_from_disk(&acl, *value, *len, "ACL", &d->diag);
	if (rc)
		return rc;
	user = malloc(xw_acl_to_xattr(&acl, NULL) + 1);
	if (!user)
		return xw_fail_nomem(&d->diag, "ACL");
	*len = (uint32_t)xw_acl_to_xattr(&acl, user);
	free(*value);
	*value = user;
	return 0;
}

static int put_file(struct dbg *d, const char *path, const uint8_t *value, size_t len)
{
	FILE *f = dbg_output_stream(d, path, NULL);
	bool bad;

	if (!f)
		return XW_ERR_IO;
	bad = fwrite(value, 1, len, f) != len;
	if (fclose(f))
		bad = true;
	return bad ? xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", path) : 0;
}

static int put_value(struct dbg *d, const struct get *g, const char *name, const uint8_t *value,
		     size_t len)
{
	if (g->file)
		return put_file(d, g->file, value, len);
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_str(&d->js, "name", name, strlen(name));
		xw_json_u64(&d->js, "size_bytes", len);
		if (g->hex)
			xw_json_hex(&d->js, "value_hex", value, len);
		else
			xw_json_str(&d->js, "value", (const char *)value, len);
		xw_json_end(&d->js, '}');
		return 0;
	}
	if (!g->value_only) {
		dbg_printf(d, "%s (%zu)", name, len);
		print_value(d->out, value, len, g->hex, g->c);
		fputc('\n', d->out);
	} else if (g->hex) {
		print_hex(d->out, value, len);
	} else if (g->c) {
		cli_escape(d->out, CLI_C, value, len);
	} else {
		dbg_put(d, value, len);
	}
	fputc('\n', d->out);
	return 0;
}

static int verb_ea_get(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL, *value = NULL;
	struct get g = {0};
	struct xw_inode in;
	uint32_t len = 0;
	uint8_t index;
	size_t rest;
	xw_ino ino;
	const struct dbg_option options[] = {
		{'f', .text = &g.file}, {'x', .given = &g.hex}, {'V', .given = &g.value_only},
		{'C', .given = &g.c},   {'r', .given = &g.raw}, {0},
	};
	const char *name;
	int rc;

	if (dbg_options(d, argc, argv, options) || argc - optind != 2)
		return DBG_USAGE;
	if (g.file && (g.hex || g.value_only || g.c))
		return DBG_USAGE;
	name = argv[optind + 1];
	rc = dbg_inode(d, argv[optind], &ino, &in, &raw);
	if (rc)
		return rc;
	if (xw_xattr_split_name(name, strlen(name), &index, &rest))
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "%s: not supported by ext4", name);
	rc = xw_xattr_get(d->img, ino, &in, raw, index, name + rest, &value, &len);
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(&d->diag, rc, "%s: has no attribute %s", argv[optind], name);
	if (!rc && !g.raw)
		rc = to_user_form(d, index, &value, &len);
	return rc ? rc : put_value(d, &g, name, value, len);
}

/* ---- the structure ---- */

static void dump_value(struct dbg *d, const uint8_t *v, size_t len)
{
	fputs("value = ", d->out);
	if (unprintable_bytes(v, len) > UNPRINTABLE_MAX) {
		fputs("<hexdump>\n", d->out);
		dbg_hexdump(d, v, len);
	} else {
		cli_escape(d->out, CLI_CAT, v, len);
	}
	fputc('\n', d->out);
}

/* Print the entries of a walk that has been started. */
static void dump_entries(struct dbg *d, struct xw_walk_xattr *it)
{
	const uint8_t *area = it->area;
	const size_t base = it->base;
	struct xw_walk_xattr_item item;

	while (xw_walk_xattr_next(it, &item)) {
		const struct xw_xattr_entry e = item.e;
		const bool lost = item.rule == XW_XATTR_BAD_VALUE || item.rule == XW_XATTR_BAD_SIZE;

		if (lost || item.rule == XW_XATTR_BAD_ENTRY)
			dbg_complain(d, "damaged entry at offset %zu", item.off);
		if (item.rule == XW_XATTR_BAD_ENTRY)
			return;
		fprintf(d->out,
			"offset = %zu (%04zo), hash = %" PRIu32
			", name_len = %u, name_index = %u\n",
			item.off, item.off, e.hash, e.name_len, e.name_index);
		fprintf(d->out,
			"value_offset = %u (%04zo), value_inum = %" PRIu32 ", value_size = %" PRIu32
			"\nname = ",
			e.value_offs, e.value_offs + base, e.value_inum, e.value_size);
		dbg_print_name(d, e.name, e.name_len);
		fputc('\n', d->out);
		if (e.value_inum)
			fprintf(d->out, "value = <ino %" PRIu32 ">\n", e.value_inum);
		else if (e.value_size && !lost)
			dump_value(d, area + base + e.value_offs, e.value_size);
		fputc('\n', d->out);
	}
	fprintf(d->out, "last entry found at offset %zu (%04zo)\n", item.off, item.off);
}

void dbg_dump_xattr_block(struct dbg *d, const uint8_t *block)
{
	struct xw_xattr_bhdr h;
	struct xw_walk_xattr it;
	uint32_t reserved[3];

	fprintf(d->out, "magic = %08" PRIx32 ", length = %" PRIu32 "\n", xw_xattr_magic(block),
		d->img->block_size);
	if (xw_xattr_magic(block) != XW_XATTR_MAGIC)
		return;
	xw_xattr_bhdr_reserved(block, reserved);
	if (xw_xattr_bhdr_decode(block, &h))
		dbg_complain(d, "more than one block, which no system supports");
	fprintf(d->out, "refcount = %" PRIu32 ", blocks = %" PRIu32 "\n", h.refcount, h.blocks);
	fprintf(d->out, "hash = %08" PRIx32 ", checksum = %08" PRIx32 "\n", h.hash, h.checksum);
	fprintf(d->out, "reserved: %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n\n", reserved[0],
		reserved[1], reserved[2]);
	xw_walk_xattr_block(&it, block, d->img->block_size);
	dump_entries(d, &it);
}

void dbg_dump_xattr_inode(struct dbg *d, const uint8_t *area, size_t size)
{
	struct xw_walk_xattr it;

	if (size < XW_XATTR_IHDR) {
		dbg_complain(d, "no room for attributes");
		return;
	}
	fprintf(d->out, "magic = %08" PRIx32 ", length = %zu, value_start =%d \n\n",
		xw_xattr_magic(area), size, XW_XATTR_IHDR);
	if (xw_xattr_magic(area) != XW_XATTR_MAGIC)
		return;
	xw_walk_xattr_inode(&it, area, size);
	dump_entries(d, &it);
}

static const struct dbg_verb verbs[] = {
	{"ea_list", DBG_OPEN, verb_ea_list, "FILE", "the extended attributes of a file"},
	{"ea_get", DBG_OPEN, verb_ea_get, "[-f OUTFILE | -x -V -C] [-r] FILE NAME",
	 "the value of an attribute; -f: to a file, -x: in hexadecimal, -V: value only, -C: as C "
	 "string, -r: as stored"},
	{"xattr_share", DBG_OPEN, dbg_verb_xattr_share, "", "xattr blocks and how they are shared"},
};

const struct dbg_family dbg_xattr_verbs = {"Extended attributes", verbs, XW_ARRAY_SIZE(verbs)};
