/* SPDX-License-Identifier: MIT */
/*
 * How types determine parameters: mke2fs.conf(5), and observation of mke2fs 1.47.0 where that is
 * silent. The built-in table is Debian's file in its own syntax, so that there is only one code
 * path.
 *
 * One difference (DESIGN, "Defaults"): in the built-in table the type selected for a small
 * filesystem does not determine the block size. A file given by the user is taken literally.
 */
#include "plan/usage.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/parse.h"

#define DEFAULT_TYPE "ext4"

/* Defaults of mke2fs where the file says nothing; the others are in usage_values.c. */
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

/* Selected for filesystems from this size on; ascending. */
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

/* Valid without a stanza: the format names, and the default type. */
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

/* The relation for the target device: NULL when there is none. */
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
	int err;

	if (!name)
		name = r ? r->value : DEFAULT_TYPE;
	t.name = name;
	t.len = strlen(name);
	err = add_type(u, t, diag);
	if (err)
		return err;
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
	int err = 0;

	while (!err) {
		struct xw_usage_type t = {.named = true};

		list += strspn(list, ",");
		t.name = list;
		t.len = strcspn(list, ",");
		if (!t.len)
			break;
		err = add_type(u, t, diag);
		if (!err && !u->types.v[u->types.n - 1].stanza && !needs_no_stanza(list, t.len))
			err = xw_fail(diag, XW_ERR_USAGE, "-T %.*s: no such usage type in %s",
				      (int)XW_MIN(t.len, 40), list, u->profile->name);
		list += t.len;
	}
	return err;
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

/* The Hurd's own type comes last, since it removes features that the others add. */
static int add_creator(struct xw_usage *u, const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	struct xw_usage_type t = {.name = "hurd", .len = 4};

	return p->creator_os == XW_OS_HURD ? add_type(u, t, diag) : 0;
}

int xw_usage_blame(const struct xw_usage *u, const struct xw_relation *r, int code, const char *why,
		   struct xw_diag *diag)
{
	return xw_fail(diag, code, "%s:%u: %s: %s", u->profile->name, r->line, r->tag, why);
}

/* Set a command line option from a relation. */
int xw_usage_set(const struct xw_usage *u, const struct xw_relation *r, struct xw_mkfs_params *p,
		 enum xw_mkfs_option opt, struct xw_diag *diag)
{
	struct xw_diag quiet = {0};
	int err = xw_params_set(p, opt, r->value, &quiet);

	return err ? xw_usage_blame(u, r, err, quiet.text, diag) : 0;
}

int xw_usage_open(struct xw_mkfs_params *p, uint64_t bytes, struct xw_diag *diag,
		  struct xw_usage *out)
{
	const struct xw_relation *creator;
	const char *list;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (!p->profile)
		err = xw_profile_parse("the built-in table", builtin, sizeof(builtin) - 1, diag,
				       &out->builtin);
	if (err)
		return err;
	out->profile = p->profile ? p->profile : out->builtin;
	creator = xw_profile_find(out->profile, "defaults", NULL, "creator_os");
	if (p->creator_os == XW_OS_DEFAULT && creator)
		err = xw_usage_set(out, creator, p, XW_MKFS_CREATOR_OS, diag);
	if (!err)
		err = add_fs_type(out, p, diag);
	list = p->usage_list ? p->usage_list : of_device(out, p, "usage_types");
	if (!err && list)
		err = add_named(out, list, diag);
	else if (!err && bytes)
		err = add_by_size(out, bytes, diag);
	if (!err)
		err = add_creator(out, p, diag);
	if (err)
		xw_usage_close(out);
	return err;
}

void xw_usage_close(struct xw_usage *u)
{
	xw_vec_free(&u->types);
	xw_profile_free(u->builtin);
	u->builtin = NULL;
}

/* ---- relations ---- */

/* The last type that has the relation, else the defaults. */
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
	int err = r ? xw_features_apply(f, r->value, &quiet) : 0;

	return err ? xw_usage_blame(u, r, err, quiet.text, diag) : 0;
}

int xw_usage_features(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_relation *base = xw_usage_find(u, "base_features");
	int err;

	memset(&p->features, 0, sizeof(p->features));
	err = base ? apply(u, base, &p->features, diag)
		   : xw_features_apply(&p->features, PLAIN_FEATURES, diag);
	for (size_t i = 0; i < u->types.n && !err; i++) {
		const struct xw_usage_type *t = &u->types.v[i];

		if (t->stanza)
			err = apply(u,
				    xw_profile_find(u->profile, "fs_types", t->stanza, "features"),
				    &p->features, diag);
	}
	if (err)
		return err;
	return p->feature_list ? xw_features_apply(&p->features, p->feature_list, diag)
			       : apply(u, xw_usage_find(u, "default_features"), &p->features, diag);
}

/* The "options" of all types come before the user's -E, which is therefore applied once more. */
int xw_usage_extended(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < u->types.n && !err; i++) {
		const struct xw_usage_type *t = &u->types.v[i];
		const struct xw_relation *r =
			t->stanza ? xw_profile_find(u->profile, "fs_types", t->stanza, "options")
				  : NULL;
		struct xw_diag quiet = {0};

		if (!r)
			continue;
		any = true;
		err = xw_params_set_extended(p, r->value, &quiet);
		if (err)
			err = xw_usage_blame(u, r, err, quiet.text, diag);
	}
	return err || !any || !p->extended_list ? err
						: xw_params_set_extended(p, p->extended_list, diag);
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
