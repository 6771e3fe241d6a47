/* SPDX-License-Identifier: MIT */
/* The tar reader on hand-made archives: fields, types, names, ends, and what must be refused. */
#include "config.h"

#include "tarmake.h"

static const struct {
	const char *field;
	size_t len;
	int rc;
	int64_t v;
} numbers[] = {
	{"0000644\0", 8, 0, 0644},
	{"  644 \0\0", 8, 0, 0644},
	{"\0\0\0\0\0\0\0\0", 8, 0, 0},
	{"        ", 8, 0, 0},
	{"77777777", 8, 0, 077777777},
	{"777777777777", 12, 0, 077777777777777777 >> 15},
	{"-0000002\0\0\0\0", 12, 0, -2},
	{"0000644\0xyz9", 12, 0, 0644}, /* the rest of the field does not count */
	{"0000648\0", 8, XW_ERR_INPUT, 0},
	{"abc\0\0\0\0\0", 8, XW_ERR_INPUT, 0},
	{"\x80\0\0\0\xb2\xd0\x5e\0", 8, 0, 3000000000},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 12, 0, -2},
	{"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12, 0, INT64_MAX},
	{"\x80\0\0\0\x80\0\0\0\0\0\0\0", 12, XW_ERR_INPUT, 0},
	{"\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", 12, 0, INT64_MIN},
	{"\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 12, XW_ERR_INPUT, 0},
};

START_TEST(number)
{
	int64_t v = 0;

	ck_assert_msg(xw_tar_number(numbers[_i].field, numbers[_i].len, &v) == numbers[_i].rc &&
			      v == numbers[_i].v,
		      "field '%.*s'", (int)numbers[_i].len, numbers[_i].field);
}
END_TEST

START_TEST(checksums)
{
	struct tm_tar t = {0};
	struct xw_tar_hdr *h = tm_hdr(&t, '0', "gr\xc3\xb6\xc3\x9f", "", 0);
	int sum = 0;
	char text[8];

	ck_assert(xw_tar_checksum_ok(h));
	h->name[0]++;
	ck_assert(!xw_tar_checksum_ok(h));
	h->name[0]--;
	/* as old writers with signed characters summed */
	memset(h->chksum, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += ((signed char *)h)[i];
	snprintf(text, sizeof(text), "%06o", (unsigned)sum);
	memcpy(h->chksum, text, 7);
	ck_assert(xw_tar_checksum_ok(h));
	ck_assert(!xw_tar_is_zero(h));
	memset(h, 0, 512);
	ck_assert(xw_tar_is_zero(h));
	for (int i = 0; i < 512; i++) {
		((char *)h)[i] = 1;
		ck_assert(!xw_tar_is_zero(h));
		((char *)h)[i] = 0;
	}
	free(t.p);
}
END_TEST

static const struct {
	char type;
	const char *name, *link;
	enum xw_etype want;
} types[] = {
	{'0', "f", "", XW_ET_REG},        {'\0', "f", "", XW_ET_REG},  {'7', "f", "", XW_ET_REG},
	{'Z', "f", "", XW_ET_REG},        {'0', "d/", "", XW_ET_DIR},  {'\0', "d/", "", XW_ET_DIR},
	{'1', "f", "to", XW_ET_HARDLINK}, {'2', "f", "to", XW_ET_LNK}, {'3', "f", "", XW_ET_CHR},
	{'4', "f", "", XW_ET_BLK},        {'5', "d", "", XW_ET_DIR},   {'6', "f", "", XW_ET_FIFO},
	{'D', "d", "", XW_ET_DIR},
};

START_TEST(type)
{
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	struct xw_tar_hdr *h = tm_hdr(&t, types[_i].type, types[_i].name, types[_i].link, 0);
	const struct xw_entry *e;
	struct xw_source *s;
	const void *p;
	uint64_t off;
	size_t len;

	memcpy(h->devmajor, "0000403", 8);
	memcpy(h->devminor, "\x80\0\0\0\0\x01\x11\x70", 8);
	tm_sum(h);
	tm_end(&t);
	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_msg(e->type == types[_i].want, "type %c of %s: %d", types[_i].type,
		      types[_i].name, e->type);
	tm_assert_slice(e->path, types[_i].name);
	tm_assert_slice(e->link, types[_i].link);
	ck_assert_uint_eq(e->mode, 0644);
	ck_assert_uint_eq(e->uid, 1000);
	ck_assert_uint_eq(e->gid, 100);
	ck_assert_int_eq(e->mtime.sec, 1700000000);
	ck_assert_uint_eq(e->mtime.nsec, 0);
	ck_assert_uint_eq(e->size, 0);
	ck_assert(!e->has_atime && !e->sparse && !e->link_data && !e->n_xattrs);
	if (e->type == XW_ET_CHR || e->type == XW_ET_BLK) {
		ck_assert_uint_eq(e->dev_major, 259);
		ck_assert_uint_eq(e->dev_minor, 70000);
	} else {
		ck_assert_uint_eq(e->dev_major | e->dev_minor, 0);
	}
	ck_assert_int_eq(xw_source_read(s, &p, &len, &off), 0);
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	ck_assert_uint_eq(diag.warnings, types[_i].type == 'Z');
	xw_source_close(s);
	free(t.p);
}
END_TEST

START_TEST(names)
{
	char name100[101], prefix155[156], both[260], gnu[300], pax[400], key[420];
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	const struct xw_entry *e;
	struct xw_tar_hdr *h;
	struct xw_source *s;

	memset(name100, 'n', 100);
	memset(prefix155, 'p', 155);
	memset(gnu, 'g', 299);
	memset(pax, 'x', 399);
	name100[100] = prefix155[155] = gnu[299] = pax[399] = 0;
	snprintf(both, sizeof(both), "%s/%s", prefix155, name100);
	snprintf(key, sizeof(key), "path=%s", pax);

	h = tm_hdr(&t, '2', name100, name100, 0); /* fills the fields, no NUL */
	memcpy(h->prefix, prefix155, 155);
	tm_sum(h);
	h = tm_hdr(&t, '0', "short", "", 0); /* GNU has other things where ustar has a prefix */
	memcpy(h->magic, "ustar  ", 8);
	memcpy(h->gnu.atime, "00000000017", 12);
	tm_sum(h);
	tm_file(&t, 'L', "././@LongLink", "", gnu, 300);
	tm_file(&t, 'K', "././@LongLink", "", "target", 6); /* without its NUL */
	tm_hdr(&t, '2', "cut", "cut", 0);
	tm_file(&t, 'L', "././@LongLink", "", gnu, 300);
	TM_PAX(&t, key, "linkpath=elsewhere", "hdrcharset=BINARY");
	tm_hdr(&t, '2', "cut", "cut", 0);
	tm_hdr(&t, '2', "plain", "again", 0); /* none of it lasts */
	tm_end(&t);

	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	tm_assert_slice(e->path, both);
	tm_assert_slice(e->link, name100);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	tm_assert_slice(e->path, "short");
	ck_assert(e->has_atime);
	ck_assert_int_eq(e->atime.sec, 15);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	tm_assert_slice(e->path, gnu);
	tm_assert_slice(e->link, "target");
	ck_assert_uint_eq(e->pos, 1024); /* of the first L header */
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	tm_assert_slice(e->path, pax);
	tm_assert_slice(e->link, "elsewhere");
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	tm_assert_slice(e->path, "plain");
	tm_assert_slice(e->link, "again");
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	ck_assert_uint_eq(diag.warnings, 0);
	xw_source_close(s);
	free(t.p);
}
END_TEST

START_TEST(pax_member)
{
	static const char *const globals[] = {"mtime=5.5", "uid=77", "gid=78",
					      "SCHILY.xattr.user.g=global", NULL};
	static const char *const later[] = {"uid=", "SCHILY.xattr.user.g=other", NULL};
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char text[8];

	tm_pax(&t, 'g', globals);
	TM_PAX(&t, "size=3", "mtime=-1.25", "atime=7.000000001", "uid=4294967295",
	       "gid=", "SCHILY.xattr.user.empty=", "LIBARCHIVE.xattr.user.%6d%3D=aGk=",
	       "RHT.security.selinux=label", "SCHILY.acl.access=user::rw-", "SCHILY.acl.ace=x",
	       "SCHILY.acl.default=user::rwx", "SCHILY.dev=9", "comment=none of ours");
	tm_hdr(&t, '0', "a", "", 0);
	tm_add(&t, "abc", 3);
	tm_pax(&t, 'g', later);
	TM_PAX(&t, "SCHILY.devmajor=4294967295", "SCHILY.devminor=12");
	tm_hdr(&t, '3', "b", "", 0);
	tm_end(&t);

	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->size, 3);
	ck_assert_int_eq(e->mtime.sec, -2);
	ck_assert_uint_eq(e->mtime.nsec, 750000000);
	ck_assert(e->has_atime);
	ck_assert_int_eq(e->atime.sec, 7);
	ck_assert_uint_eq(e->atime.nsec, 1);
	ck_assert_uint_eq(e->uid, 4294967295);
	ck_assert_uint_eq(e->gid, 100); /* deleted: the header's */
	ck_assert_uint_eq(e->n_xattrs, 4);
	tm_assert_slice(e->xattrs[0].name, "user.g");
	tm_assert_slice(e->xattrs[0].value, "global");
	tm_assert_slice(e->xattrs[1].name, "user.empty");
	tm_assert_slice(e->xattrs[1].value, "");
	tm_assert_slice(e->xattrs[2].name, "user.m=");
	tm_assert_slice(e->xattrs[2].value, "hi");
	tm_assert_slice(e->xattrs[3].name, "security.selinux");
	tm_assert_slice(e->xattrs[3].value, "label");
	tm_assert_slice(e->acl_access, "user::rw-");
	tm_assert_slice(e->acl_default, "user::rwx");
	ck_assert_uint_eq(diag.warnings, 1); /* NFSv4 ACL */
	ck_assert_int_eq(tm_read(s, text, sizeof(text)), 3);
	ck_assert_mem_eq(text, "abc", 3);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->uid, 1000);
	ck_assert_uint_eq(e->gid, 78);
	ck_assert_int_eq(e->mtime.sec, 5);
	ck_assert_uint_eq(e->dev_major, 4294967295);
	ck_assert_uint_eq(e->dev_minor, 12);
	ck_assert_uint_eq(e->n_xattrs, 1);
	tm_assert_slice(e->xattrs[0].value, "other");
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	xw_source_close(s);
	free(t.p);
}
END_TEST

/* Who has payload. what: 'n' the size lies and nothing follows, 'p' payload follows. */
static const struct {
	char type;
	const char *name, *magic;
	bool pax;
	char what;
	bool data; /* the consumer gets it */
} bodies[] = {
	{'0', "f", "ustar\00000", false, 'p', true},
	{'7', "f", "ustar  ", false, 'p', true},
	{'Q', "f", "ustar\00000", false, 'p', true},
	{'1', "f", "ustar\00000", true, 'p', true},
	{'1', "f", "ustar\00000", false, 'p', true},
	{'1', "f", "ustar\00000", false, 'n', false},
	{'1', "f", "ustar  ", false, 'n', false},
	{'1', "f", "\0\0\0\0\0\0\0", false, 'n', false},
	{'2', "f", "ustar\00000", false, 'n', false},
	{'5', "f", "ustar\00000", true, 'n', false},
	{'5', "f", "ustar\00000", false, 'p', false},
	{'0', "d/", "ustar\00000", false, 'n', false},
	{'0', "d/", "\0\0\0\0\0\0\0", false, 'p', false},
	{'3', "f", "ustar  ", false, 'n', false},
	{'D', "d", "ustar  ", false, 'p', false},
	{'V', "label", "ustar  ", false, 'p', false},
	{'N', "names", "ustar  ", false, 'p', false},
	{'A', "acl", "ustar\00000", false, 'p', false},
};

START_TEST(payload)
{
	bool skipped = strchr("VNA", bodies[_i].type);
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	struct xw_tar_hdr *h;
	char data[700], got[1000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i % 23);
	if (bodies[_i].pax)
		TM_PAX(&t, "mtime=1");
	h = tm_hdr(&t, bodies[_i].type, bodies[_i].name, "to", sizeof(data));
	memcpy(h->magic, bodies[_i].magic, 8);
	tm_sum(h);
	if (bodies[_i].what == 'p')
		tm_add(&t, data, sizeof(data));
	tm_hdr(&t, '5', "next", "", 0);
	tm_end(&t);
	for (int skip = 0; skip < 2; skip++) {
		s = tm_open(t.p, t.n, &diag);
		if (!skipped) {
			ck_assert_int_eq(xw_source_next(s, &e), 1);
			tm_assert_slice(e->path, bodies[_i].name);
			ck_assert_uint_eq(e->size, bodies[_i].data ? sizeof(data) : 0);
			ck_assert_int_eq(e->link_data, bodies[_i].data && bodies[_i].type == '1');
			if (!skip) {
				ck_assert_int_eq(tm_read(s, got, sizeof(got)), (int)e->size);
				ck_assert_mem_eq(got, data, e->size);
			}
		}
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		tm_assert_slice(e->path, "next");
		ck_assert_int_eq(xw_source_next(s, &e), 0);
		xw_source_close(s);
	}
	free(t.p);
}
END_TEST

static const struct {
	const char *what;
	size_t zeros; /* blocks after the only member */
	bool more; /* another member behind them */
	size_t garbage; /* bytes of it at the end */
	int entries; /* or the failure */
	unsigned warnings;
	size_t cut; /* bytes that are missing at the end */
} ends[] = {
	{"proper", 2, false, 0, 1, 0},
	{"many blocks", 21, false, 0, 1, 0},
	{"no mark", 0, false, 0, 1, 1},
	{"one block", 1, false, 0, 1, 0},
	{"a lone block, then a member", 1, true, 0, 2, 2},
	{"two blocks, then a member", 2, true, 0, 1, 1},
	{"trailing garbage", 2, false, 100, 1, 1},
	{"garbage instead", 0, false, 512, XW_ERR_INPUT, 0},
	{"a piece of garbage instead", 0, false, 100, XW_ERR_TRUNCATED, 0},
	{"garbage after one block", 1, false, 512, XW_ERR_INPUT, 0},
	{"padding is cut", 0, false, 0, XW_ERR_TRUNCATED, 0, 1},
	{"no padding", 0, false, 0, XW_ERR_TRUNCATED, 0, 507},
	{"a piece of zeros", 1, false, 0, XW_ERR_TRUNCATED, 0, 500},
	{"one and a half blocks", 2, false, 0, 1, 0, 256},
};

START_TEST(end)
{
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	struct xw_source *s;

	tm_file(&t, '0', "f", "", "hello", 5);
	if (ends[_i].zeros)
		tm_add(&t, NULL, ends[_i].zeros * 512);
	if (ends[_i].more)
		tm_hdr(&t, '5', "d", "", 0);
	if (ends[_i].garbage) {
		memset(tm_add(&t, NULL, ends[_i].garbage), 'x', ends[_i].garbage);
		t.n -= -ends[_i].garbage % 512;
	}
	t.n -= ends[_i].cut;
	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(tm_walk(s), ends[_i].entries);
	ck_assert_uint_eq(diag.warnings, ends[_i].warnings);
	if (ends[_i].entries < 0)
		ck_assert_ptr_nonnull(strstr(diag.text, "byte "));
	xw_source_close(s);
	free(t.p);
}
END_TEST

enum {
	BAD_SUM,
	BAD_SIZE,
	NEG_SIZE,
	BIG_SIZE,
	BAD_UID,
	BIG_UID,
	NEG_GID,
	BAD_MTIME,
	NO_NAME,
	NO_LINK,
	NO_HLINK,
	PAX_NUL,
	PAX_LINK_NUL,
	PAX_HUGE,
	L_HUGE,
	PAX_BAD,
	PAX_ALONE,
	L_ALONE,
	PAX_EOF,
	PAX_UID,
	PAX_SIZE,
	PAX_TIME,
	PAX_XNAME,
	PAX_XBIG,
	M_TYPE,
	VOLUME,
	STAR_S,
	BAD_DEV,
	SHORT,
	SHORT_PAX,
	GLOBAL_BAD,
	N_BAD
};

static const struct {
	int code;
	const char *text; /* part of the line, besides the archive's name */
} bad[N_BAD] = {
	[BAD_SUM] = {XW_ERR_INPUT, "byte 512: not a tar header"},
	[BAD_SIZE] = {XW_ERR_INPUT, "'f' at byte 512: the size in its header is malformed"},
	[NEG_SIZE] = {XW_ERR_INPUT, "'f' at byte 512: the size in its header, -1, is out of range"},
	[BIG_SIZE] = {XW_ERR_INPUT, "'f' at byte 512: the size in its header is malformed"},
	[BAD_UID] = {XW_ERR_INPUT, "'f' at byte 512: the user ID in its header is malformed"},
	[BIG_UID] = {XW_ERR_INPUT, "the user ID in its header, 4294967296, is out of range"},
	[NEG_GID] = {XW_ERR_INPUT, "the group ID in its header, -2, is out of range"},
	[BAD_MTIME] = {XW_ERR_INPUT, "the time in its header is malformed"},
	[NO_NAME] = {XW_ERR_INPUT, "byte 512: empty name"},
	[NO_LINK] = {XW_ERR_INPUT, "'f' at byte 512: it links to an empty name"},
	[NO_HLINK] = {XW_ERR_INPUT, "'f' at byte 512: it links to an empty name"},
	[PAX_NUL] = {XW_ERR_INPUT, "at byte 512: its name holds a NUL byte"},
	[PAX_LINK_NUL] = {XW_ERR_INPUT, "'f' at byte 512: its link target holds a NUL byte"},
	[PAX_HUGE] = {XW_ERR_INPUT, "at byte 512: an extended header of 16777217 bytes"},
	[L_HUGE] = {XW_ERR_INPUT, "at byte 512: an extended header of 8589934591 bytes"},
	[PAX_BAD] = {XW_ERR_INPUT, "'f' at byte 512: malformed record in its extended header"},
	[PAX_ALONE] = {XW_ERR_TRUNCATED, "byte 512: an extended header without its member"},
	[L_ALONE] = {XW_ERR_TRUNCATED, "byte 512: an extended header without its member"},
	[PAX_EOF] = {XW_ERR_TRUNCATED, "byte 512: an extended header without its member"},
	[PAX_UID] = {XW_ERR_INPUT, "'f' at byte 512: a number in its extended header"},
	[PAX_SIZE] = {XW_ERR_INPUT, "'f' at byte 512: a number in its extended header"},
	[PAX_TIME] = {XW_ERR_INPUT, "'f' at byte 512: a time in its extended header"},
	[PAX_XNAME] = {XW_ERR_INPUT, "'f' at byte 512: an extended attribute's name"},
	[PAX_XBIG] = {XW_ERR_INPUT, "'f' at byte 512: the value of an extended attribute"},
	[M_TYPE] = {XW_ERR_UNSUPPORTED, "'f' at byte 512: it continues from another volume"},
	[VOLUME] = {XW_ERR_UNSUPPORTED, "'f' at byte 1536: it continues from another volume"},
	[STAR_S] = {XW_ERR_UNSUPPORTED, "'f' at byte 512: star's sparse format"},
	[BAD_DEV] = {XW_ERR_INPUT, "'f' at byte 512: the device minor in its header"},
	[SHORT] = {XW_ERR_TRUNCATED, "'f' at byte 512: the archive ends inside it, at byte 1536"},
	[SHORT_PAX] = {XW_ERR_TRUNCATED, "at byte 512: the archive ends inside it"},
	[GLOBAL_BAD] = {XW_ERR_INPUT, "at byte 512: global extended header: malformed record"},
};

static void make_pax_bad(struct tm_tar *t, int i)
{
	static const char *const volume[] = {"GNU.volume.offset=512", NULL};
	size_t n = XW_PAX_XATTR_VALUE_MAX + 1;
	char *big = calloc(1, n + 100);

	if (i == PAX_NUL)
		tm_file(t, 'x', "x", "", big + 50, tm_rec(big + 50, "path", "a\0b", 3));
	if (i == PAX_LINK_NUL)
		tm_file(t, 'x', "x", "", big + 50, tm_rec(big + 50, "linkpath", "a\0b", 3));
	if (i == PAX_BAD)
		tm_file(t, 'x', "x", "", "99 path=x\n", 10);
	if (i == GLOBAL_BAD)
		tm_file(t, 'g', "x", "", "99 path=x\n", 10);
	if (i == PAX_UID)
		TM_PAX(t, "uid=4294967296");
	if (i == PAX_SIZE)
		TM_PAX(t, "size=-1");
	if (i == PAX_TIME)
		TM_PAX(t, "mtime=yesterday");
	if (i == PAX_XNAME)
		TM_PAX(t, "SCHILY.xattr.=v");
	if (i == PAX_ALONE || i == PAX_EOF)
		TM_PAX(t, "uid=1");
	if (i == PAX_HUGE)
		tm_hdr(t, 'x', "x", "", XW_PAX_BODY_MAX + 1);
	if (i == VOLUME)
		tm_pax(t, 'g', volume);
	if (i == PAX_XBIG) {
		char *value = calloc(1, n);

		tm_file(t, 'x', "x", "", big, tm_rec(big, "SCHILY.xattr.user.v", value, n));
		free(value);
	}
	free(big);
}

static void make_bad(struct tm_tar *t, int i)
{
	struct xw_tar_hdr *h;

	make_pax_bad(t, i);
	if (i == L_ALONE)
		tm_file(t, 'L', "././@LongLink", "", "long", 5);
	if (i == L_HUGE)
		tm_hdr(t, 'L', "././@LongLink", "", 8589934591);
	if (i == SHORT_PAX) {
		tm_hdr(t, 'x', "x", "", 4096);
		return;
	}
	if (i == PAX_EOF || i == PAX_ALONE || i == L_ALONE) {
		if (i != PAX_EOF)
			tm_end(t);
		return;
	}
	h = tm_hdr(t, '0', i == NO_NAME ? "" : "f", "", i == SHORT ? 3000 : 0);
	h->type = i == NO_LINK || i == PAX_LINK_NUL ? '2'
		  : i == NO_HLINK                   ? '1'
		  : i == M_TYPE                     ? 'M'
		  : i == STAR_S                     ? 'S'
		  : i == BAD_DEV                    ? '4'
						    : '0';
	if (i == BAD_SIZE)
		memcpy(h->size, "0000000009", 11);
	if (i == NEG_SIZE)
		memset(h->size, 0xff, 12);
	if (i == BIG_SIZE)
		memcpy(h->size, "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	if (i == BAD_UID)
		memcpy(h->uid, "root", 5);
	if (i == BIG_UID)
		memcpy(h->uid, "\x80\0\0\x01\0\0\0", 8);
	if (i == NEG_GID)
		memcpy(h->gid, "\xff\xff\xff\xff\xff\xff\xff\xfe", 8);
	if (i == BAD_MTIME)
		memcpy(h->mtime, "1.5", 4);
	if (i == BAD_DEV)
		memset(h->devminor, 0xff, 8);
	tm_sum(h);
	if (i == BAD_SUM)
		h->mode[3]++;
	if (i == SHORT)
		tm_add(t, "some", 4);
	else
		tm_end(t);
}

START_TEST(refused)
{
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	const struct xw_entry *e;
	struct xw_source *s;

	tm_hdr(&t, '5', "dir", "", 0);
	make_bad(&t, _i);
	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(tm_walk(s), bad[_i].code);
	ck_assert_int_eq(diag.code, bad[_i].code);
	ck_assert_msg(!strncmp(diag.text, "a.tar: ", 7), "%s", diag.text);
	ck_assert_msg(strstr(diag.text, bad[_i].text), "'%s' lacks '%s'", diag.text, bad[_i].text);
	ck_assert_int_eq(xw_source_next(s, &e), bad[_i].code); /* it stays so */
	xw_source_close(s);
	free(t.p);
}
END_TEST

/* Cut anywhere, and any byte of the headers changed: an orderly result. */
START_TEST(damage)
{
	struct tm_tar t = {0};
	struct xw_source *whole;
	unsigned char *copy;

	TM_PAX(&t, "mtime=-1.25", "SCHILY.xattr.user.a=b", "LIBARCHIVE.xattr.user.b=aGk",
	       "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=sp",
	       "GNU.sparse.realsize=100");
	tm_hdr(&t, '0', "f", "", 512 + 10);
	tm_add(&t, "2\n0\n5\n90\n5\n", 11);
	tm_add(&t, "helloworld", 10);
	tm_file(&t, 'L', "././@LongLink", "", "a/long/name", 12);
	tm_file(&t, '0', "g", "", "hello", 5);
	tm_end(&t);
	copy = malloc(t.n);
	whole = tm_open(t.p, t.n, NULL);
	ck_assert_int_eq(tm_walk(whole), 2);
	xw_source_close(whole);
	for (size_t i = 0; i < t.n * 3; i++) {
		struct xw_diag diag = {0};
		size_t n = i < t.n ? i : t.n;
		struct xw_source *s;
		int r;

		memcpy(copy, t.p, t.n);
		if (i >= t.n)
			copy[i % t.n] ^= (unsigned char)(i < 2 * t.n ? 0xff : 1u << i % 7);
		/* with the checksums mended, damage gets past them */
		for (size_t b = 0; i >= 2 * t.n && b < t.n; b += 512)
			if (!memcmp(copy + b + 257, "ustar", 5))
				tm_sum((struct xw_tar_hdr *)(copy + b));
		s = tm_open(copy, n, &diag);
		r = tm_walk(s);
		ck_assert_msg(r >= 0 || diag.text[0], "%d without a word", r);
		ck_assert(r >= 0 || r == XW_ERR_INPUT || r == XW_ERR_TRUNCATED ||
			  r == XW_ERR_UNSUPPORTED);
		xw_source_close(s);
	}
	free(copy);
	free(t.p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tar");
	TCase *tc = tcase_create("tar");

	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, number, numbers, field);
	tcase_add_test(tc, checksums);
	unit_add_rows(tc, type, types, name);
	tcase_add_test(tc, names);
	tcase_add_test(tc, pax_member);
	unit_add_rows(tc, payload, bodies, name);
	unit_add_rows(tc, end, ends, what);
	tcase_add_loop_test(tc, refused, 0, N_BAD);
	tcase_add_test(tc, damage);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
