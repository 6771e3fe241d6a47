/* SPDX-License-Identifier: MIT */
/*
 * What an image says about itself: rows for values that stock images rarely have (each line as
 * dumpe2fs 1.47.0 prints it), free space beside a plain count, JSON and drawing well formed.
 */
#include "holed.h"
#include "show/show.h"

static const char *const small[] = {"SIZE", "40M", "-b", "1024", NULL};

struct output {
	char *text;
	size_t len;
	FILE *f;
};

static void begin(struct output *o, struct xw_show *s)
{
	memset(o, 0, sizeof(*o));
	o->f = open_memstream(&o->text, &o->len);
	ck_assert_ptr_nonnull(o->f);
	*s = (struct xw_show){.out = o->f};
}

/* The text ends here; free it. */
static char *end(struct output *o)
{
	ck_assert_int_eq(fclose(o->f), 0);
	return o->text;
}

/* ---- rows ---- */

#define SET(field, value)                                                                          \
	static void set_##field(struct xw_super *sb)                                               \
	{                                                                                          \
		sb->field = value;                                                                 \
	}
SET(checkinterval, 6480061)
SET(kbytes_written, 8191)
SET(def_hash_version, 7)
SET(default_mount_opts, 0x1067)
SET(flags, 0x8)
SET(errors, 0)
SET(creator_os, 5)
SET(state, 2)
SET(feature_compat, 0x40 | 0x80)
SET(feature_ro_compat, 0x40000000)
SET(journal_dev, 0x34)
SET(log_groups_per_flex, 31)
SET(max_mnt_count, -32768)
SET(jnl_backup_type, 2)
SET(def_resuid, 3000000000u)
SET(mtime, 0)
SET(snapshot_list, 6)
SET(encoding, 9)

static void set_name(struct xw_super *sb)
{
	memcpy(sb->volume_name, "a\033[1mlong label", 16);
}

static void set_no_uuid(struct xw_super *sb)
{
	memset(sb->uuid, 0, sizeof(sb->uuid));
}

static void set_backups(struct xw_super *sb)
{
	sb->backup_bgs[1] = 7;
}

static void set_error(struct xw_super *sb)
{
	sb->first_error_time = 1000;
	sb->first_error_errcode = 18;
	strcpy(sb->first_error_func, "somewhere");
}

static void set_writes(struct xw_super *sb)
{
	sb->kbytes_written = 9728;
}

static void set_many_writes(struct xw_super *sb)
{
	sb->kbytes_written = UINT64_C(1) << 63;
}

static const struct {
	void (*set)(struct xw_super *sb);
	const char *line;
} rows[] = {
	{set_checkinterval,
	 "Check interval:           6480061 (2 months, 2 weeks, 1 day, 0:01:01)"},
	{set_kbytes_written, "Lifetime writes:          8191 kB"},
	{set_writes, "Lifetime writes:          10 MB"},
	{set_many_writes, "Lifetime writes:          8388608 PB"},
	{set_def_hash_version, "Default directory hash:   HASHALG_7"},
	{set_default_mount_opts,
	 "Default mount options:    journal_data_writeback debug bsdgroups user_xattr MNTOPT_12"},
	{set_flags, "Filesystem flags:         (none)"},
	{set_errors, "Errors behavior:          Unknown (continue)"},
	{set_creator_os, "Filesystem OS type:       (unknown os)"},
	{set_state, "Filesystem state:         not clean with errors"},
	{set_feature_compat, " lazy_bg FEATURE_C7 filetype "},
	{set_feature_ro_compat, " itree\n"},
	{set_journal_dev, "Journal device:\t          0x0034"},
	{set_log_groups_per_flex, "Flex block group size:    2147483648"},
	{set_max_mnt_count, "Maximum mount count:      -32768"},
	{set_jnl_backup_type, "Journal backup:           type 2"},
	{set_def_resuid, "Reserved blocks uid:      3000000000 (user unknown)"},
	{set_mtime, "Last mount time:          n/a"},
	{set_snapshot_list, "Snapshot list head:       6"},
	{set_name, "Filesystem volume name:   a\\033[1mlong label"},
	{set_no_uuid, "Filesystem UUID:          <none>"},
	{set_backups, "Backup block groups:      7 \n"},
	{set_error, "First error time:         Thu Jan  1 00:16:40 1970\n"
		    "First error function:     somewhere\n"
		    "First error line #:       0\n"
		    "First error err:          UNKNOWN_ERRCODE_18\n"},
	{set_encoding, "Inode size:\t          256"},
};

START_TEST(row)
{
	struct output o;
	struct xw_show s;
	struct holed h;
	char *text;

	setenv("TZ", "UTC", 1);
	holed_make(&h, small, 1);
	rows[_i].set(&h.img->sb);
	begin(&o, &s);
	ck_assert_int_eq(xw_show_super(&s, h.img), 0);
	text = end(&o);
	ck_assert_msg(strstr(text, rows[_i].line), "no '%s' in\n%s", rows[_i].line, text);
	ck_assert_uint_eq(s.problems, 0);
	free(text);
	holed_free(&h);
}
END_TEST

/* ---- free space ---- */

static const struct {
	const char *name;
	const char *args[10];
} kinds[] = {
	{"1k blocks", {"SIZE", "200M", "-b", "1024", NULL}},
	{"4k blocks", {"SIZE", "900M", NULL}},
	{"bigalloc", {"SIZE", "2G", "-O", "bigalloc", "-C", "16384", "-b", "2048", NULL}},
};

/* All of it in blocks of the filesystem. */
static bool is_free(const struct holed *h, xw_blk blk)
{
	const struct xw_super *sb = &h->img->sb;
	const uint64_t off = blk - sb->first_data_block;
	const uint32_t at = (uint32_t)(off % sb->blocks_per_group);

	return blk >= sb->first_data_block && blk < sb->blocks_count &&
	       !holed_used(h, off / sb->blocks_per_group, at >> xw_image_cluster_bits(h->img));
}

static void count(const struct holed *h, struct xw_freefrag *ff)
{
	uint64_t run = 0;

	for (xw_blk b = 0; b <= h->img->sb.blocks_count; b++) {
		if (is_free(h, b)) {
			run++;
			ff->blocks++;
		} else if (run) {
			const unsigned order = 63 - (unsigned)__builtin_clzll(run);

			ff->count[order]++;
			ff->sum[order] += run;
			ff->longest = XW_MAX(ff->longest, run);
			ff->shortest = ff->extents ? XW_MIN(ff->shortest, run) : run;
			ff->extents++;
			run = 0;
		}
		if (b % ff->chunk == 0) {
			uint64_t n = 0;

			while (n < ff->chunk && is_free(h, b + n))
				n++;
			ff->free_chunks += n == ff->chunk;
		}
	}
}

START_TEST(measured_as_counted)
{
	struct xw_freefrag ff = {.chunk = 16, .group_map = true}, want = {.chunk = 16};
	struct output o;
	struct xw_show s;
	struct holed h;

	holed_make(&h, kinds[_i].args, 7);
	begin(&o, &s);
	ck_assert_int_eq(xw_freefrag_measure(&s, h.img, &ff), 0);
	/* the superblock's count was not kept up to date */
	ck_assert_uint_eq(s.problems, 0);
	count(&h, &want);
	ck_assert_uint_eq(ff.extents, want.extents);
	ck_assert_uint_eq(ff.blocks, want.blocks);
	ck_assert_uint_eq(ff.longest, want.longest);
	ck_assert_uint_eq(ff.shortest, want.shortest);
	ck_assert_uint_eq(ff.free_chunks, want.free_chunks);
	ck_assert_mem_eq(ff.count, want.count, sizeof(ff.count));
	ck_assert_mem_eq(ff.sum, want.sum, sizeof(ff.sum));
	ck_assert_uint_eq(ff.groups, h.img->groups);
	for (uint64_t g = 0; g < ff.groups; g++) {
		uint32_t run = 0, longest = 0;

		for (uint32_t i = 0; i < h.group_bits; i++) {
			run = holed_used(&h, g, i) ? 0 : run + 1;
			longest = XW_MAX(longest, run);
		}
		ck_assert_uint_eq(ff.group_longest[g], longest << xw_image_cluster_bits(h.img));
	}
	xw_freefrag_free(&ff);
	xw_show_end(&s);
	free(end(&o));
	holed_free(&h);
}
END_TEST

/* As many closing as opening tags, and nothing that needs escaping between them. */
static void check_markup(const char *text)
{
	int depth = 0;

	for (const char *p = text; (p = strchr(p, '<')); p++) {
		const char *close = strchr(p, '>');

		ck_assert_ptr_nonnull(close);
		ck_assert(!memchr(p + 1, '<', (size_t)(close - p - 1)));
		if (p[1] == '/')
			depth--;
		else if (close[-1] != '/')
			depth++;
		ck_assert_int_ge(depth, 0);
		p = close;
	}
	ck_assert_int_eq(depth, 0);
	for (const char *p = text; (p = strchr(p, '&')); p++)
		ck_assert_int_eq(p[1], '#');
}

START_TEST(drawing)
{
	struct xw_freefrag ff = {.group_map = true};
	struct output o, svg;
	struct xw_show s, unused;
	struct holed h;
	unsigned cells = 0;
	char *text;

	holed_make(&h, kinds[_i].args, 7);
	begin(&o, &s);
	begin(&svg, &unused);
	ck_assert_int_eq(xw_freefrag_measure(&s, h.img, &ff), 0);
	ck_assert_int_eq(xw_freefrag_svg(svg.f, h.img,
					 "a<b>&'\"\n.img caf\xe9 caf\xc3\xa9 \xc2\x9b \xef\xbf\xbe "
					 "\xef\xbf\xbd \xed\xa0",
					 &ff),
			 0);
	text = end(&svg);
	check_markup(text);
	ck_assert_ptr_nonnull(strstr(text, "a&#60;b&#62;&#38;'&#34;?.img caf? caf\xc3\xa9 ?? ? "
					   "\xef\xbf\xbd ?"
					   "?</text>"));
	for (const char *p = text; (p = strstr(p, "<title>group ")); p++)
		cells++;
	ck_assert_uint_eq(cells, h.img->groups);
	free(text);
	free(end(&o));
	xw_freefrag_free(&ff);
	xw_show_end(&s);
	holed_free(&h);
}
END_TEST

/* ---- groups ---- */

static void note(void *arg, const char *line)
{
	snprintf(arg, 200, "%s", line);
}

START_TEST(damaged_descriptor)
{
	char said[200] = "";
	struct output o;
	struct xw_show s;
	struct holed h;
	uint8_t raw[2];
	char *text;

	holed_make(&h, small, 1);
	ck_assert_int_eq(xw_dev_pread(h.dev, raw, 2, 2 * 1024 + 64 + 0x0C), 0);
	raw[0] ^= 1;
	ck_assert_int_eq(xw_dev_pwrite(h.dev, raw, 2, 2 * 1024 + 64 + 0x0C), 0);
	xw_image_drop_cache(h.img);
	begin(&o, &s);
	s.problem = note;
	s.arg = said;
	ck_assert_int_eq(xw_show_places(&s, h.img), 0);
	ck_assert_uint_eq(s.problems, 1);
	ck_assert_ptr_nonnull(strstr(said, "descriptor of group 1"));
	ck_assert_int_eq(xw_show_groups(&s, h.img), 0);
	ck_assert_uint_gt(s.problems, 1);
	text = end(&o);
	ck_assert_ptr_nonnull(strstr(text, "(EXPECTED 0x"));
	ck_assert_ptr_nonnull(strstr(text, "Group 4: "));
	free(text);
	xw_show_end(&s);
	holed_free(&h);
}
END_TEST

/* A superblock that counts more groups than the image can hold ends with the descriptors. */
START_TEST(too_many_groups)
{
	struct output o;
	struct xw_show s;
	struct holed h;

	holed_make(&h, small, 1);
	h.img->flags |= XW_IMAGE_SHORT;
	h.img->sb.blocks_count = XW_BLK_MAX;
	h.img->sb.blocks_per_group = 256;
	h.img->groups = xw_super_groups(&h.img->sb);
	begin(&o, &s);
	ck_assert_int_eq(xw_show_places(&s, h.img), 0);
	ck_assert_uint_gt(s.problems, 0);
	free(end(&o));
	xw_show_end(&s);
	holed_free(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("show");
	TCase *t = tcase_create("show");

	tcase_set_timeout(t, 120);
	unit_add_rows(t, row, rows, line);
	unit_add_rows(t, measured_as_counted, kinds, name);
	unit_add_rows(t, drawing, kinds, name);
	tcase_add_test(t, damaged_descriptor);
	tcase_add_test(t, too_many_groups);
	suite_add_tcase(s, t);
	return unit_main(s);
}
