/* SPDX-License-Identifier: MIT */
/*
 * Types determine parameters as documented in mke2fs.conf(5), and as observed with mke2fs 1.47.0.
 * The built-in table has the values of Debian's mke2fs.conf, and is parsed like it.
 *
 * Unlike with mke2fs, a type of the built-in table that was selected by the filesystem size does
 * not determine the block size (see DESIGN, "Defaults"). A file given by the user is followed
 * exactly.
 */
#include "plan/usage.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/parse.h"

#define DEFAULT_TYPE "ext4"

/* Default of mke2fs without base_features; other defaults are in usage_values.c. */
#define PLAIN_FEATURES "sparse_super,large_file,filetype,resize_inode,dir_index"

static const char builtin[] =
	"[defaults]\n"
	"base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr\n"
	"default_mntopts = acl,user_xattr\n"
	"enable_periodic_fsck = 0\n"
	"blocksize = 4096\n"
	"inode_size = 256\n"
	"inode_ratio = 16384\n"
	"[fs_types]\n"
	"ext3 = {\n"
	"features = has_journal\n"
	"}\n"
	"ext4 = {\n"
	"features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,"
	"extra_isize\n"
	"}\n"
	"small = {\n"
	"blocksize = 1024\n"
	"inode_ratio = 4096\n"
	"}\n"
	"floppy = {\n"
	"blocksize = 1024\n"
	"inode_ratio = 8192\n"
	"}\n"
	"big = {\n"
	"inode_ratio = 32768\n"
	"}\n"
	"huge = {\n"
	"inode_ratio = 65536\n"
	"}\n"
	"news = {\n"
	"inode_ratio = 4096\n"
	"}\n"
	"largefile = {\n"
	"inode_ratio = 1048576\n"
	"blocksize = -1\n"
	"}\n"
	"largefile4 = {\n"
	"inode_ratio = 4194304\n"
	"blocksize = -1\n"
	"}\n"
	"hurd = {\n"
	"blocksize = 4096\n"
	"inode_size = 128\n"
	"}\n";

/* Usage types and the minimum filesystem size for which they are selected; ascending. */
static const struct {
	const char *name;
	uint64_t from;
} by_size[] = {
	{"floppy", 0},       {"small", 3ull << 20}, {"default", 512ull << 20},
	{"big", 4ull << 40}, {"huge", 16ull << 40},
};

/* ---- the list of types ---- */

static bool is(const char *name, size_t len, const char *other)
{
	return strlen(other) == len && !memcmp(name, other, len);
}

/* Is a type valid without a stanza, as ext2, ext3, ext4 and the default usage type are? */
static bool needs_no_stanza(const char *name, size_t len)
{
	return is(name, len, "ext2") || is(name, len, "ext3") || is(name, len, "ext4") ||
	       is(name, len, "default");
}

static int add_type(struct xw_usage *u, struct xw_usage_type t, struct xw_diag *diag)
{
	t.stanza = xw_profile_stanza(u->profile, "fs_types", t.name, t.len);
	return xw_vec_push(&u->types, t) ? xw_fail_nomem(diag, "usage types") : 0;
}

/* The value of a relation in the target device's stanza, or NULL. */
static const char *of_device(const struct xw_usage *u, const struct xw_mkfs_params *p,
			     const char *tag)
{
	const struct xw_relation *device =
		p->target ? xw_profile_stanza(u->profile, "devices", p->target, strlen(p->target))
			  : NULL;
	const struct xw_relation *r =
		device ? xw_profile_find(u->profile, "devices", device, tag) : NULL;

	return r ? r->value : NULL;
}

static int add_fs_type(struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_relation *r = xw_profile_find(u->profile, "defaults", NULL, "fs_type");
	const char *name = *p->fs_type ? p->fs_type : of_device(u, p, "fs_type");
	struct xw_usage_type t = {0};
	int rc;

	if (!name)
		name = r ? r->value : DEFAULT_TYPE;
	t.name = name;
	t.len = strlen(name);
	rc = add_type(u, t, diag);
	if (rc)
		return rc;
	if (!u->types.v[0].stanza && !needs_no_stanza(name, t.len))
		return xw_fail(diag, XW_ERR_USAGE,
			       "-t %.40s: the types are ext2, ext3, ext4 and what %s defines", name,
			       u->profile->name);
	if (!u->types.v[0].stanza && strcmp(name, "ext2"))
		xw_log(diag, XW_LOG_WARN, "%s does not define the filesystem type %s",
		       u->profile->name, name);
	return 0;
}

static int add_named(struct xw_usage *u, const char *list, struct xw_diag *diag)
{
	for (;;) {
		struct xw_usage_type t = {.named = true};
		int rc;

		list += strspn(list, ",");
		t.name = list;
		t.len = strcspn(list, ",");
		if (!t.len)
			return 0;
		rc = add_type(u, t, diag);
		if (rc)
			return rc;
		if (!u->types.v[u->types.n - 1].stanza && !needs_no_stanza(list, t.len))
			return xw_fail(diag, XW_ERR_USAGE, "-T %.*s: no such usage type in %s",
				       (int)XW_MIN(t.len, 40), list, u->profile->name);
		list += t.len;
	}
}

static int add_by_size(struct xw_usage *u, uint64_t bytes, struct xw_diag *diag)
{
	struct xw_usage_type t = {.by_size = true};

	for (size_t i = 0; i < XW_ARRAY_SIZE(by_size); i++) {
		if (by_size[i].from <= bytes)
			t.name = by_size[i].name;
	}
	t.len = strlen(t.name);
	return add_type(u, t, diag);
}

int xw_usage_blame(const struct xw_usage *u, const struct xw_relation *r, int code, const char *why,
		   struct xw_diag *diag)
{
	return xw_fail(diag, code, "%s:%u: %s: %s", u->profile->name, r->line, r->tag, why);
}

int xw_usage_set(const struct xw_usage *u, const struct xw_relation *r, struct xw_mkfs_params *p,
		 enum xw_mkfs_option opt, struct xw_diag *diag)
{
	struct xw_diag quiet = {0};
	int rc = xw_params_set(p, opt, r->value, &quiet);

	return rc ? xw_usage_blame(u, r, rc, quiet.text, diag) : 0;
}

int xw_usage_open(struct xw_mkfs_params *p, uint64_t bytes, struct xw_diag *diag,
		  struct xw_usage *out)
{
	const struct xw_relation *creator;
	const char *list;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!p->profile)
		rc = xw_profile_parse("the built-in table", builtin, sizeof(builtin) - 1, diag,
				      &out->builtin);
	if (rc)
		return rc;
	out->profile = p->profile ? p->profile : out->builtin;
	creator = xw_profile_find(out->profile, "defaults", NULL, "creator_os");
	if (p->creator_os == XW_OS_DEFAULT && creator)
		rc = xw_usage_set(out, creator, p, XW_MKFS_CREATOR_OS, diag);
	if (!rc)
		rc = add_fs_type(out, p, diag);
	list = p->usage_list ? p->usage_list : of_device(out, p, "usage_types");
	if (!rc && list)
		rc = add_named(out, list, diag);
	else if (!rc && bytes)
		rc = add_by_size(out, bytes, diag);
	/* last, since the Hurd's type clears features that other types set */
	if (!rc && p->creator_os == XW_OS_HURD)
		rc = add_type(out, (struct xw_usage_type){.name = "hurd", .len = 4}, diag);
	return rc;
}

void xw_usage_close(struct xw_usage *u)
{
	xw_vec_free(&u->types);
	xw_profile_free(u->builtin);
	u->builtin = NULL;
}

/* ---- relations ---- */

const struct xw_relation *xw_usage_find(const struct xw_usage *u, const char *tag)
{
	const struct xw_relation *r = NULL;

	for (size_t i = u->types.n; i-- > 0 && !r;) {
		if (u->types.v[i].stanza)
			r = xw_profile_find(u->profile, "fs_types", u->types.v[i].stanza, tag);
	}
	return r ? r : xw_profile_find(u->profile, "defaults", NULL, tag);
}

/* ---- features ---- */

static int apply(const struct xw_usage *u, const struct xw_relation *r, struct xw_features *f,
		 struct xw_diag *diag)
{
	struct xw_diag quiet = {0};
	int rc = r ? xw_features_apply(f, r->value, &quiet) : 0;

	return rc ? xw_usage_blame(u, r, rc, quiet.text, diag) : 0;
}

int xw_usage_features(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_relation *base = xw_usage_find(u, "base_features");
	int rc;

	memset(&p->features, 0, sizeof(p->features));
	rc = base ? apply(u, base, &p->features, diag)
		  : xw_features_apply(&p->features, PLAIN_FEATURES, diag);
	for (size_t i = 0; i < u->types.n && !rc; i++) {
		const struct xw_usage_type *t = &u->types.v[i];

		if (t->stanza)
			rc = apply(u,
				   xw_profile_find(u->profile, "fs_types", t->stanza, "features"),
				   &p->features, diag);
	}
	if (rc)
		return rc;
	return p->feature_list ? xw_features_apply(&p->features, p->feature_list, diag)
			       : apply(u, xw_usage_find(u, "default_features"), &p->features, diag);
}

/* The user's -E, which was applied when it was set, is applied again after the types' "options". */
int xw_usage_extended(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	bool any = false;

	for (size_t i = 0; i < u->types.n; i++) {
		const struct xw_usage_type *t = &u->types.v[i];
		const struct xw_relation *r =
			t->stanza ? xw_profile_find(u->profile, "fs_types", t->stanza, "options")
				  : NULL;
		struct xw_diag quiet = {0};
		int rc = r ? xw_params_set_extended(p, r->value, &quiet) : 0;

		if (rc)
			return xw_usage_blame(u, r, rc, quiet.text, diag);
		any |= r != NULL;
	}
	return any && p->extended_list ? xw_params_set_extended(p, p->extended_list, diag) : 0;
}

int xw_usage_bool(const struct xw_usage *u, const char *tag, int missing, int *out,
		  struct xw_diag *diag)
{
	static const char *const words[2][6] = {
		{"n", "no", "false", "nil", "0", "off"},
		{"y", "yes", "true", "t", "1", "on"},
	};
	const struct xw_relation *r = xw_usage_find(u, tag);

	*out = missing;
	if (!r)
		return 0;
	for (int b = 0; b < 2; b++) {
		for (size_t i = 0; i < XW_ARRAY_SIZE(words[b]); i++) {
			if (!strcasecmp(r->value, words[b][i])) {
				*out = b;
				return 0;
			}
		}
	}
	return xw_usage_blame(u, r, XW_ERR_USAGE, "must be yes or no", diag);
}
