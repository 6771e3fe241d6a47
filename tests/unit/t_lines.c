/* SPDX-License-Identifier: MIT */
/* Parsers of lib/import: tables, owner maps, --transform, image specifications, first bytes. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "disk/foreign.h"
#include "import/cpio.h"
#include "import/devtable.h"
#include "import/idmap.h"
#include "import/labels.h"
#include "import/oci.h"
#include "import/transform.h"
#include "tmp.h"
#include "unit.h"

static struct xw_diag diag;
static char file[256];

/* The host has the user `daemon` and the group `adm`. */
static int lookup(void *arg, bool group, const char *name, uint32_t *id)
{
	(void)arg;
	*id = group ? 4 : 1;
	return strcmp(name, group ? "adm" : "daemon") ? XW_ERR_NOTFOUND : 0;
}

static const struct xw_acl_names host = {.lookup = lookup};

static void write_file(const char *text)
{
	const size_t len = strlen(text);
	int fd;

	memset(&diag, 0, sizeof(diag));
	fd = mkstemp(tmp_template(file, sizeof(file), "t_lines"));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
}

/* ---- refused lines ---- */

enum reader { TABLE, CONFIG, OWNERS, GROUPS };

static int read_text(enum reader how, const char *text)
{
	struct xw_source *s = NULL;
	struct xw_labels labels = {0};
	struct xw_idmap map = {0};
	int rc;

	write_file(text);
	if (how == TABLE)
		rc = xw_devtable_open(file, &host, &diag, &s);
	else if (how == CONFIG)
		rc = xw_labels_set(&labels, "--fs-config", file, &diag);
	else
		rc = xw_idmap_read(&map, "--owner-map", file, how == GROUPS, &host, &diag);
	unlink(file);
	xw_source_close(s);
	xw_labels_free(&labels);
	xw_idmap_free(&map);
	return rc;
}

static const struct {
	enum reader how;
	const char *line, *why;
} refusals[] = {
	{TABLE, "/dev/x", "must be NAME"},
	{TABLE, "/dev/x q 600 0 0", "the type 'q' is not f, F, d, c, b or p"},
	{TABLE, "/dev/x cc 600 0 0", "the type 'cc' is not f, F, d, c, b or p"},
	{TABLE, "/dev/x c 900 0 0 1 1", "the mode '900' is not octal up to 7777"},
	{TABLE, "/dev/x c 10000 0 0 1 1", "the mode '10000' is not octal up to 7777"},
	{TABLE, "/dev/x c 600 nobody 0 1 1",
	 "'nobody' is neither a user of this machine nor a number"},
	{TABLE, "/dev/x c 600 0 daemon 1 1",
	 "'daemon' is neither a group of this machine nor a number"},
	{TABLE, "/dev/x c 600 0 0 1 x", "'x' is neither a number nor -"},
	{TABLE, "/dev/x c 600 0 0 1 4294967296", "'4294967296' is neither a number nor -"},
	{TABLE, "/dev/x c 600 0 0 1 1 1 1 2000000", "more than 1048576 devices"},
	{TABLE, "/dev/x c 600 0 0 1 1 1 1 1 1", "must be"},
	{TABLE, "/dev/x p 600 0 0 - - 4294967290 1 7",
	 "START and COUNT: the number in a name exceeds 4294967295"},
	{TABLE, "/dev/x c 600 0 0 4096 0", "a device number is over 4095:1048575"},
	{TABLE, "/dev/x c 600 0 0 1 1048576", "a device number is over 4095:1048575"},
	{TABLE, "/dev/x b 600 0 0 1 4294967295 0 1 2", "a device number is over 4095:1048575"},
	{TABLE, "/dev/x c 600 0 0 1 0 0 2147483648 3", "a device number is over 4095:1048575"},
	{TABLE, "/dev/x c 600 0 0 1 1048570 0 2 4", "a device number is over 4095:1048575"},
	{CONFIG, "etc 1 2", "must be PATH UID GID MODE"},
	{CONFIG, "etc 1 2 010755", "MODE in octal up to 7777"},
	{CONFIG, "etc 1 x 0755", "must be PATH UID GID MODE"},
	{CONFIG, "etc 1 2 0755 capabilities=x", "must be PATH UID GID MODE"},
	{CONFIG, "etc 1 2 0755\n/etc/ 1 3 0755", "line 2 has different values for /etc"},
	{CONFIG, "etc 1 2 0755\netc 1 2 0711", "line 2 has different values for /etc"},
	{CONFIG, "etc 1 2 0755\netc 1 2 0755 capabilities=1",
	 "line 2 has different values for /etc"},
	{OWNERS, "+1", "must be two words, OLD NEW"},
	{OWNERS, "+1 +2 +3", "must be two words, OLD NEW"},
	{OWNERS, "1 +2", "unknown name '1' (numbers are written +NUMBER)"},
	{OWNERS, "+1 2", "unknown name '2' (numbers are written +NUMBER or NAME:NUMBER)"},
	{OWNERS, "+1 +4294967296", "'+4294967296' is not + and a number up to 4294967295"},
	{OWNERS, "+1 x:y", "'x:y' is not NAME:NUMBER"},
	{OWNERS, "adm +2", "unknown name 'adm'"},
	{GROUPS, "daemon +2", "unknown name 'daemon'"},
};

START_TEST(refused)
{
	char text[256];

	snprintf(text, sizeof(text), "# one\n%s\n", refusals[_i].line);
	ck_assert_msg(read_text(refusals[_i].how, text) == XW_ERR_USAGE, "%s is accepted",
		      refusals[_i].line);
	ck_assert_msg(strstr(diag.text, refusals[_i].why), "%s: %s", refusals[_i].line, diag.text);
	ck_assert_msg(strstr(diag.text, strchr(refusals[_i].line, '\n') ? "line 3" : "line 2"),
		      "%s: %s", refusals[_i].line, diag.text);
}
END_TEST

/* ---- accepted ones ---- */

static const struct {
	const char *path;
	uint32_t uid, minor;
} devices[] = {{"/dev/a", 1, 0}, {"/dev/t8", 7, 64}, {"/dev/t9", 7, 66}, {"/f", 0, 0}};

START_TEST(device_table)
{
	const struct xw_entry *e;
	struct xw_source *s;

	write_file(
		"/dev/a d 755 daemon adm\n\n/dev/t c 620 7 0 4 64 8 2 2 # comment\n/f F 644 0 0\n");
	ck_assert_int_eq(xw_devtable_open(file, &host, &diag, &s), 0);
	unlink(file);
	for (size_t i = 0; i < XW_ARRAY_SIZE(devices); i++) {
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		ck_assert_msg(xw_slice_is(e->path, devices[i].path), "%.*s for %s",
			      XW_SHOWN(e->path), devices[i].path);
		ck_assert_msg(e->uid == devices[i].uid && e->dev_minor == devices[i].minor, "%s",
			      devices[i].path);
	}
	ck_assert(e->optional && e->listed == 4);
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	xw_source_close(s);
}
END_TEST

static const struct {
	uint32_t from, to;
	bool mapped;
} ids[] = {{0, 50, true}, {1, 9, true}, {2, 2, false}, {7, 3, true}, {UINT32_MAX, 0, true}};

START_TEST(owner_map)
{
	struct xw_idmap map = {0};

	write_file("+7 daemon:3\n+4294967295\t+0\n+7 +8\n  # comment\n+0 +50\ndaemon +9\n");
	ck_assert_int_eq(xw_idmap_read(&map, "--owner-map", file, false, &host, &diag), 0);
	unlink(file);
	for (size_t i = 0; i < XW_ARRAY_SIZE(ids); i++) {
		uint32_t id = ids[i].from;

		ck_assert_msg(xw_idmap_apply(&map, &id) == ids[i].mapped && id == ids[i].to,
			      "%u becomes %u", ids[i].from, id);
	}
	xw_idmap_free(&map);
}
END_TEST

START_TEST(config)
{
	const struct xw_label_config *c;
	struct xw_labels l = {0};

	write_file(" 0 0 0711\n#x\nusr/bin/ping 0 2000 0755 selabel=x capabilities=0x2000\n");
	ck_assert_int_eq(xw_labels_set(&l, "--fs-config", file, &diag), 0);
	unlink(file);
	c = xw_labels_config(&l, "/usr/bin/ping");
	ck_assert(c && c->gid == 2000 && c->mode == 0755 && c->capabilities == 0x2000);
	c = xw_labels_config(&l, "/");
	ck_assert(c && c->mode == 0711);
	ck_assert_ptr_null(xw_labels_config(&l, "/usr"));
	ck_assert_int_eq(xw_labels_set(&l, "--mount-point", "/system/", &diag), 0);
	ck_assert_str_eq(xw_labels_path(&l, "a//b", "./c/.//d/", 8), "/system/a/b/c/d");
	ck_assert_str_eq(xw_labels_path(&l, NULL, "", 0), "/system");
	xw_labels_free(&l);
}
END_TEST

/* ---- --transform ---- */

static const struct {
	const char *text, *name, *want; /* want NULL: the expression is refused */
} transforms[] = {
	{"s/o/0/", "foo", "f0o"},
	{"s/o/0/g", "foo", "f00"},
	{"s/o/0/2", "foo", "fo0"},
	{"s/o/0/2g", "oooo", "o000"},
	{"s/x*/-/g", "abc", "-a-b-c-"},
	{"s,a/b,c,", "a/b/d", "c/d"},
	{"s,a\\,b,c,", "a,b", "c"},
	{"s/\\(a\\)\\(b\\)/\\2\\1/", "abc", "bac"},
	{"s/(a)(b)/\\2&/x", "abc", "babc"},
	{"s/A/x/i", "abc", "xbc"},
	{"s/.*/\\U&\\E-&/", "Ab", "AB-Ab"},
	{"s/.*/\\u&/", "ab", "Ab"},
	{"s/a/b/;s/b/c/g", "ab", "cc"},
	{"s/a/b/S", "a", "b"},
	{"s/a/b/R", "a", "a"},
	{"flags=s;s/a/b/", "a", "a"},
	{"s/a/\\n\\t/", "a", "\n\t"},
	{"s/x/y/", "a", "a"},
	{"x", "", NULL},
	{"s,", "", NULL},
	{"s,a,b", "", NULL},
	{"s,a,b,q", "", NULL},
	{"s,\\(a,b,", "", NULL},
	{"s,a,\\1,", "", NULL},
	{"s,a,b\\,", "", NULL},
	{"", "", NULL},
	{"flags=q", "", NULL},
};

START_TEST(transform)
{
	struct xw_transforms t = {0};
	struct xw_slice name = xw_slice_of(transforms[_i].name);
	const int rc = xw_transforms_add(&t, transforms[_i].text, &diag);

	ck_assert_msg(rc == (transforms[_i].want ? 0 : XW_ERR_USAGE), "%s: %d", transforms[_i].text,
		      rc);
	if (!rc) {
		ck_assert_int_eq(xw_transforms_apply(&t, XW_TRANSFORM_NAME, &name), 0);
		ck_assert_msg(xw_slice_is(name, transforms[_i].want), "%s: %.*s",
			      transforms[_i].text, XW_SHOWN(name));
	}
	xw_transforms_free(&t);
}
END_TEST

/* ---- first bytes, specifications ---- */

static const struct {
	const char *head;
	size_t len;
	const char *foreign; /* NULL: unknown */
	bool cpio;
} heads[] = {
	{"hsqs", 4, "a squashfs image", false},
	{"hsq", 3, NULL, false},
	{"#mtree\n", 7, "an mtree specification, whose files are elsewhere", false},
	{"QFI\xfb", 4, "a qcow2 image", false},
	{"KDMV", 4, "a VMDK image", false},
	{"vhdxfil", 7, NULL, false},
	{"vhdxfile", 8, "a VHDX image", false},
	{"\x3a\xff\x26\xed", 4, "an Android sparse image", false},
	{"\xfc\x4e\x2b\xa9", 4, "a member of an md array", false},
	{"070701", 6, "a cpio archive", true},
	{"070707", 6, "a cpio archive", true},
	{"070703", 6, "a cpio archive", false},
	{"\xc7\x71\0\0\0\0\0\x80\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0", 26, NULL, true},
	{"\x71\xc7\0\0\0\0\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0", 26, NULL, true},
	{"\x71\xc7\0\0\0\0\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26, NULL, false},
	{"\x71\xc7\0\0\0\0\x70\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0", 26, NULL, false},
};

START_TEST(first_bytes)
{
	const unsigned char *p = (const unsigned char *)heads[_i].head;
	const struct xw_foreign *kind = xw_foreign_find(p, heads[_i].len);

	ck_assert_msg(heads[_i].foreign ? kind && !strcmp(kind->what, heads[_i].foreign) : !kind,
		      "%.6s is %s", heads[_i].head, kind ? kind->what : "unknown");
	ck_assert_msg(xw_cpio_begins(p, heads[_i].len) == heads[_i].cpio, "row %d, %.6s", _i,
		      heads[_i].head);
}
END_TEST

static const struct {
	const char *text;
	int rc;
	enum xw_oci_form form;
	const char *path, *ref;
} specs[] = {
	{"oci:nothing", 1, XW_OCI_FORM_OCI, "nothing", NULL},
	{"oci:nothing:v1", 1, XW_OCI_FORM_OCI, "nothing", "v1"},
	{"oci:nothing:", 1, XW_OCI_FORM_OCI, "nothing", NULL},
	{"oci-archive:/dev/null:a:b", 1, XW_OCI_FORM_OCI, "/dev/null", "a:b"},
	{"docker-archive:x:y:z", 1, XW_OCI_FORM_DOCKER, "x", "y:z"},
	{"nothing:v1", 0, XW_OCI_FORM_ANY, NULL, NULL},
};

START_TEST(image_spec)
{
	struct xw_oci_spec spec;

	ck_assert_msg(xw_oci_spec_parse(specs[_i].text, &spec) == specs[_i].rc, "%s",
		      specs[_i].text);
	if (!specs[_i].rc)
		return;
	ck_assert_int_eq(spec.form, specs[_i].form);
	ck_assert_str_eq(spec.path, specs[_i].path);
	ck_assert_msg(specs[_i].ref ? spec.ref && !strcmp(spec.ref, specs[_i].ref) : !spec.ref,
		      "%s: %s", specs[_i].text, spec.ref ? spec.ref : "none");
	free(spec.path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lines");
	TCase *t = tcase_create("lines");

	unit_add_rows(t, refused, refusals, line);
	tcase_add_test(t, device_table);
	tcase_add_test(t, owner_map);
	tcase_add_test(t, config);
	unit_add_rows(t, transform, transforms, text);
	unit_add_rows(t, first_bytes, heads, head);
	unit_add_rows(t, image_spec, specs, text);
	suite_add_tcase(s, t);
	return unit_main(s);
}
