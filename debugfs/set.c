/* SPDX-License-Identifier: MIT */
/* Verbs that set fields: of inodes, the superblock, descriptors, and the MMP block. */
#include "config.h"

#include "fields.h"
#include "itree.h"
#include "poke.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "commit/super.h"
#include "show/show.h"
#include "disk/mmp.h"
#include "plan/features.h"
#include "edit/edit.h"

/* With -l as the only word: list the fields. */
static bool list_fields(struct dbg *d, int argc, char **argv, const struct field_table *t)
{
	if (argc != 2 || strcmp(argv[1], "-l"))
		return false;
	field_list(d, t);
	return true;
}

/* ---- inodes ---- */

/*
 * Bytes after the first 128 that i_extra_isize does not cover are attributes, or unused: a time has
 * only its low half then, or does not exist.
 */
static int limit_time(struct dbg *d, const struct poke_inode *p, struct field_ref *ref)
{
	struct field_ref extra;
	uint64_t end = XW_INODE_BODY;

	if (ref->f->kind != FIELD_ITIME)
		return 0;
	if (d->img->inode_size > XW_INODE_BODY) {
		const int rc =
			field_find(d, &inode_fields, d->img->inode_size, "extra_isize", &extra);

		if (rc)
			return rc;
		end += field_get(&extra, p->raw);
	}
	if (ref->f->off >= XW_INODE_BODY && ref->f->off + ref->f->width > end)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "inode <%" PRIu32 "> has no %s: its extra_isize is %" PRIu64, p->ino,
			       ref->f->name, end - XW_INODE_BODY);
	if (ref->part == FIELD_WHOLE && ref->f->hi_off + ref->f->hi_width > end) {
		ref->part = FIELD_LO;
		ref->cut = true;
	}
	return 0;
}

static int verb_sif(struct dbg *d, int argc, char **argv)
{
	auto_end(poke_inode_free) struct poke_inode p = {0};
	struct field_ref ref;
	xw_blk blk;
	int rc;

	if (list_fields(d, argc, argv, &inode_fields))
		return 0;
	rc = argc == 4 ? poke_inode_read(d, argv[1], &p) : DBG_USAGE;
	if (!rc)
		rc = field_find(d, &inode_fields, d->img->inode_size, argv[2], &ref);
	if (!rc)
		rc = limit_time(d, &p, &ref);
	if (rc)
		return rc;
	if (ref.f->kind == FIELD_OWN) {
		rc = dbg_block(d, argv[3], &blk);
		return rc ? rc : poke_map_block(d, p.ino, ref.index, &blk);
	}
	if (!strcmp(ref.f->name, "checksum"))
		p.csum_ok = false;
	rc = field_set(d, &ref, p.raw, argv[3]);
	return rc ? rc : poke_inode_write(d, &p);
}

/* A question of modify_inode: its label, the field, and the base of its current value. */
struct question {
	const char *label, *field;
	int base;
};

/* Ask for a field; an empty line, or the end of the input, leaves it unchanged. */
static int ask(struct dbg *d, const struct question *q, uint8_t *raw)
{
	struct field_ref ref;
	char line[128];
	uint64_t v;
	int rc = field_find(d, &inode_fields, d->img->inode_size, q->field, &ref);

	if (rc)
		return rc;
	v = field_get(&ref, raw);
	fprintf(d->out, "%30s    ", q->label);
	fprintf(d->out,
		q->base == 16  ? "[0x%" PRIx64 "] "
		: q->base == 8 ? "[0%" PRIo64 "] "
			       : "[%" PRIu64 "] ",
		v);
	fflush(d->out);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	line[strcspn(line, "\n")] = 0;
	return *line ? field_set(d, &ref, raw, line) : 0;
}

static int verb_mi(struct dbg *d, int argc, char **argv)
{
	static const struct question questions[] = {
		{"Mode", "mode", 8},
		{"User ID", "uid", 10},
		{"Group ID", "gid", 10},
		{"Size", "size_lo", 10},
		{"Creation time", "ctime", 10},
		{"Modification time", "mtime", 10},
		{"Access time", "atime", 10},
		{"Deletion time", "dtime", 10},
		{"Link count", "links_count", 10},
		{"Block count high", "blocks_hi", 10},
		{"Block count", "blocks_lo", 10},
		{"File flags", "flags", 16},
		{"Generation", "generation", 16},
		{"File acl", "file_acl", 10},
		{"High 32bits of size", "size_hi", 10},
		{"Fragment address", "faddr", 10},
	};
	static const struct question indirect[] = {
		{"Indirect Block", "block[IND]", 10},
		{"Double Indirect Block", "block[DIND]", 10},
		{"Triple Indirect Block", "block[TIND]", 10},
	};
	auto_end(poke_inode_free) struct poke_inode p = {0};
	int rc = argc == 2 ? poke_inode_read(d, argv[1], &p) : DBG_USAGE;

	for (size_t i = 0; i < XW_ARRAY_SIZE(questions) && !rc; i++)
		rc = ask(d, &questions[i], p.raw);
	for (int i = 0; i < 12 && !rc; i++) {
		char label[32], field[16];

		snprintf(label, sizeof(label), "Direct Block #%d", i);
		snprintf(field, sizeof(field), "block[%d]", i);
		rc = ask(d, &(struct question){label, field, 10}, p.raw);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(indirect) && !rc; i++)
		rc = ask(d, &indirect[i], p.raw);
	if (p.raw)
		fputc('\n', d->out);
	return rc ? rc : poke_inode_write(d, &p);
}

/* ---- superblock ---- */

static int read_super(struct dbg *d, uint8_t buf[XW_SUPER_SIZE])
{
	return poke_read(d, XW_SUPER_OFFSET, buf, XW_SUPER_SIZE);
}

/* Set the checksum, and write. */
static int write_super(struct dbg *d, uint8_t buf[XW_SUPER_SIZE])
{
	xw_super_bytes_incompat(buf, 0, 0);
	return poke_write(d, XW_SUPER_OFFSET, buf, XW_SUPER_SIZE);
}

/* Set or clear bits of a field of the superblock. */
static int set_super_bit(struct dbg *d, uint8_t buf[XW_SUPER_SIZE], const char *field,
			 uint64_t bits, bool on)
{
	struct field_ref ref;
	char text[24];
	uint64_t v;
	int rc = field_find(d, &super_fields, XW_SUPER_SIZE, field, &ref);

	if (rc)
		return rc;
	v = field_get(&ref, buf);
	snprintf(text, sizeof(text), "%" PRIu64, on ? v | bits : v & ~bits);
	return field_set(d, &ref, buf, text);
}

#define WTIME_MAX INT64_C(0xffffffffff)

int dbg_stamp(struct dbg *d)
{
	uint8_t buf[XW_SUPER_SIZE], before[XW_SUPER_SIZE];
	char text[24];
	struct field_ref ref;
	bool csum_ok;
	int rc = field_find(d, &super_fields, sizeof(buf), "wtime", &ref);

	if (!rc)
		rc = read_super(d, buf);
	if (rc)
		return rc;
	memcpy(before, buf, sizeof(buf));
	csum_ok = xw_super_bytes_valid(buf);
	snprintf(text, sizeof(text), "@%" PRId64, XW_MIN(XW_MAX(d->now, 0), WTIME_MAX));
	rc = field_set(d, &ref, buf, text);
	if (rc || !memcmp(buf, before, sizeof(buf)))
		return rc;
	return csum_ok ? write_super(d, buf) : poke_write(d, XW_SUPER_OFFSET, buf, sizeof(buf));
}

static int verb_ssv(struct dbg *d, int argc, char **argv)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct field_ref ref;
	int rc;

	if (list_fields(d, argc, argv, &super_fields))
		return 0;
	if (argc != 3)
		return DBG_USAGE;
	rc = field_find(d, &super_fields, sizeof(buf), argv[1], &ref);
	if (!rc)
		rc = read_super(d, buf);
	if (!rc)
		rc = field_set(d, &ref, buf, argv[2]);
	if (rc)
		return rc;
	if (!strcmp(ref.f->name, "checksum"))
		return poke_write(d, XW_SUPER_OFFSET, buf, sizeof(buf));
	return write_super(d, buf);
}

static void print_features(struct dbg *d, const struct xw_super *sb)
{
	const uint32_t w[XW_FW_COUNT] = {sb->feature_compat, sb->feature_incompat,
					 sb->feature_ro_compat};

	if (!dbg_list_begin(d))
		fputs("Filesystem features:", d->out);
	for (int i = 0; i < XW_FW_COUNT; i++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			const char *name = xw_feature_name((enum xw_feature_word)i, 1u << bit);
			char number[16];

			if (!(w[i] & 1u << bit))
				continue;
			snprintf(number, sizeof(number), "FEATURE_%c%u", "CIR"[i], bit);
			name = name ? name : number;
			if (d->json)
				xw_json_str(&d->js, NULL, name, strlen(name));
			else
				fprintf(d->out, " %s", name);
		}
	}
	if (!dbg_list_end(d))
		fputc('\n', d->out);
}

/* word: "[^|-|+]NAME" */
static int change_feature(struct dbg *d, const char *word, uint8_t buf[XW_SUPER_SIZE])
{
	static const char *const fields[] = {"feature_compat", "feature_incompat",
					     "feature_ro_compat"};
	const bool clear = *word == '^' || *word == '-';
	enum xw_feature_word which;
	uint32_t bit;

	word += clear || *word == '+';
	if (xw_feature_find(word, strlen(word), &which, &bit))
		return xw_fail(&d->diag, XW_ERR_USAGE, "unknown feature: %s", word);
	return set_super_bit(d, buf, fields[which], bit, !clear);
}

static int verb_feature(struct dbg *d, int argc, char **argv)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb = d->img->sb;
	int rc = 0;

	if (argc > 1 && !d->edit)
		return xw_fail(&d->diag, XW_ERR_STATE, "%s", dbg_read_only(d));
	if (argc > 1)
		rc = read_super(d, buf);
	for (int i = 1; i < argc && !rc; i++)
		rc = change_feature(d, argv[i], buf);
	if (rc)
		return rc;
	if (argc > 1) {
		(void)xw_super_decode(buf, &sb);
		if (sb.feature_ro_compat & ~d->img->sb.feature_ro_compat & XW_RO_ITREE)
			rc = dbg_check_itree_flags(d);
		if (!rc)
			rc = write_super(d, buf);
		if (rc)
			return rc;
		d->dirty = true;
	}
	print_features(d, &sb);
	return 0;
}

static int set_state(struct dbg *d, bool clean)
{
	uint8_t buf[XW_SUPER_SIZE];
	int rc = read_super(d, buf);

	if (!rc)
		rc = set_super_bit(d, buf, "state", XW_STATE_VALID, clean);
	return rc ? rc : write_super(d, buf);
}

static int verb_dirty(struct dbg *d, int argc, char **argv)
{
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "-clean")))
		return DBG_USAGE;
	return set_state(d, argc == 2);
}

static int verb_clean(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	return argc == 1 ? set_state(d, true) : DBG_USAGE;
}

/* ---- group descriptors ---- */

static int verb_set_bg(struct dbg *d, int argc, char **argv)
{
	const uint32_t size = d->img->desc_size;
	auto_free uint8_t *buf = NULL;
	struct xw_group_desc gd;
	struct field_ref ref;
	uint64_t group, off;
	int rc;

	if (list_fields(d, argc, argv, &group_fields))
		return 0;
	if (argc != 4)
		return DBG_USAGE;
	rc = dbg_number(d, argv[1], "group", &group);
	if (!rc && group >= d->img->groups)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "there is no group %" PRIu64, group);
	if (!rc)
		rc = field_find(d, &group_fields, size, argv[2], &ref);
	if (rc)
		return rc;
	off = xw_image_desc_block(d->img, group) * d->img->block_size +
	      group % (d->img->block_size / size) * size;
	buf = malloc(size);
	rc = buf ? poke_read(d, off, buf, size) : xw_fail_nomem(&d->diag, "group descriptor");
	if (rc)
		return rc;
	if (!strcmp(ref.f->name, "checksum") && !strcmp(argv[3], "calc")) {
		xw_group_decode(buf, size, &gd);
		xw_group_encode(&gd, &d->img->sb, d->img->csum_seed, (uint32_t)group, buf);
		fprintf(d->out, "Checksum set to 0x%04" PRIx64 "\n", field_get(&ref, buf));
	} else {
		rc = field_set(d, &ref, buf, argv[3]);
	}
	return rc ? rc : poke_write(d, off, buf, size);
}

/* ---- multiple mount protection ---- */

static int verb_smmp(struct dbg *d, int argc, char **argv)
{
	const struct xw_super *sb = &d->img->sb;
	const bool csum = xw_super_has_csum(sb);
	const uint64_t off = sb->mmp_block * d->img->block_size;
	uint8_t buf[XW_MMP_SIZE];
	struct field_ref ref;
	struct xw_mmp mmp;
	bool was_ok;
	int rc;

	if (list_fields(d, argc, argv, &mmp_fields))
		return 0;
	if (argc < 2 || argc > 3)
		return DBG_USAGE;
	if (!(sb->feature_incompat & XW_INCOMPAT_MMP) ||
	    !xw_image_has_blocks(d->img, sb->mmp_block, 1))
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "the image has no MMP block");
	rc = field_find(d, &mmp_fields, sizeof(buf), argv[1], &ref);
	if (!rc && (ref.f->kind == FIELD_OWN) != (argc == 2))
		rc = DBG_USAGE;
	if (!rc)
		rc = poke_read(d, off, buf, sizeof(buf));
	if (rc)
		return rc;
	was_ok = csum && !xw_mmp_verify(buf, d->img->csum_seed);
	if (argc == 2) {
		mmp = (struct xw_mmp){.seq = XW_MMP_SEQ_CLEAN,
				      .time = d->now,
				      .check_interval = sb->mmp_interval};
		xw_mmp_encode(&mmp, csum, d->img->csum_seed, buf);
	} else {
		rc = field_set(d, &ref, buf, argv[2]);
		if (!rc && was_ok && strcmp(ref.f->name, "checksum"))
			xw_mmp_set_csum(buf, d->img->csum_seed);
	}
	return rc ? rc : poke_write(d, off, buf, sizeof(buf));
}

/* ---- time ---- */

static int verb_time(struct dbg *d, int argc, char **argv)
{
	int64_t t;

	if (argc != 2)
		return DBG_USAGE;
	if (!strcmp(argv[1], "now"))
		t = (int64_t)time(NULL);
	else if (field_time(d, argv[1], &t))
		return xw_fail(&d->diag, XW_ERR_USAGE, "'%s' is not a time", argv[1]);
	if (t < FIELD_ITIME_MIN || t > FIELD_ITIME_MAX)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "%s: inodes have room for @%" PRId64 " .. @%" PRId64, argv[1],
			       FIELD_ITIME_MIN, FIELD_ITIME_MAX);
	d->now = t;
	d->set_now = true;
	fprintf(d->out, "Setting current time to %s\n\n", xw_show_when(t).s);
	return 0;
}

static const struct dbg_verb verbs[] = {
	{"set_inode_field, sif", DBG_WRITE | DBG_LISTS, verb_sif, "FILE FIELD VALUE | -l",
	 "set a field of an inode; -l lists them"},
	{"modify_inode, mi", DBG_WRITE, verb_mi, "FILE", "ask for the fields of an inode"},
	{"set_super_value, ssv", DBG_WRITE | DBG_LISTS, verb_ssv, "FIELD VALUE | -l",
	 "set a field of the superblock"},
	{"set_block_group, set_bg", DBG_WRITE | DBG_LISTS, verb_set_bg, "GROUP FIELD VALUE | -l",
	 "set a field of a group descriptor; checksum calc: compute it"},
	{"set_mmp_value, smmp", DBG_WRITE | DBG_LISTS, verb_smmp, "FIELD VALUE | clear | -l",
	 "set a field of the MMP block"},
	{"feature, features", DBG_OPEN, verb_feature, "[[^]FEATURE]...",
	 "set or clear bits of features, and print them"},
	{"dirty_filesys, dirty", DBG_WRITE, verb_dirty, "[-clean]",
	 "clear the mark of a clean filesystem"},
	{"clean", DBG_WRITE, verb_clean, "", "set the mark of a clean filesystem"},
	{"set_current_time", 0, verb_time, "TIME",
	 "set the current time: now, @SECONDS or YYYYMMDDHHMMSS"},
};

const struct dbg_family dbg_set_verbs = {"Fields", verbs, XW_ARRAY_SIZE(verbs)};
