/* SPDX-License-Identifier: MIT */
/* Verbs about the session: opening images, listing verbs, quitting. */
#include "config.h"

#include "debugfs.h"
#include "print.h"
#include "plan/features.h"
#include "show/show.h"
#include "tune/tune.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"

/* ---- open and close ---- */

static int open_options(struct dbg *d, int argc, char **argv, struct dbg_how *how, char **undo)
{
	const char *size_text = NULL, *undo_name = NULL;
	uint64_t size = 0;
	const struct dbg_option options[] = {
		{'b', .text = &size_text, .number = &size, .what = "block size"},
		{'c', .given = &how->catastrophic},
		{'d', .text = &how->data_source},
		{'e'}, /* exclusive access: images are always locked */
		{'f', .given = &how->any_features},
		{'i', .given = &how->e2image},
		{'n', .given = &how->no_csum},
		{'s', .number = &how->super_block, .what = "block number"},
		{'w', .given = &how->write},
		{'z', .text = &undo_name},
		{0},
	};
	int rc = dbg_options(d, argc, argv, options);

	if (rc)
		return rc;
	if (size_text && (size < 1024 || size > 65536 || (size & (size - 1))))
		return xw_fail(&d->diag, XW_ERR_USAGE, "bad block size '%s'", size_text);
	how->block_size = (uint32_t)size;
	if (undo_name) {
		how->undo_file = *undo = dbg_absolute(undo_name);
		if (!*undo)
			return xw_fail_nomem(&d->diag, "name of the undo file");
	}
	return 0;
}

/* Remove "?offset=BYTES" from the end of a name, unless a file of the whole name exists. */
static int split_offset(struct dbg *d, char *image, uint64_t *offset)
{
	static const char key[] = "?offset=";
	char *at = strstr(image, key);

	if (!at || !access(image, F_OK))
		return 0;
	*at = '\0';
	return xw_parse_offset(at + sizeof(key) - 1, offset, &d->diag);
}

static int verb_open(struct dbg *d, int argc, char **argv)
{
	struct dbg_how how = {
		.no_replay = d->how.no_replay,
		.redo_file = d->how.redo_file,
		.commit = d->how.commit,
	};
	auto_free char *undo = NULL;
	int rc;

	if (d->img)
		return xw_fail(&d->diag, XW_ERR_STATE, "%s is still open; close it first", d->path);
	rc = open_options(d, argc, argv, &how, &undo);
	if (rc)
		return rc;
	if (optind + 1 != argc)
		return DBG_USAGE;
	rc = split_offset(d, argv[optind], &how.offset);
	if (!rc)
		rc = dbg_open(d, argv[optind], &how);
	if (!rc)
		d->undo = steal(undo);
	else
		d->how.undo_file = NULL;
	d->how.data_source = NULL; /* it points into the request */
	return rc;
}

static int verb_close(struct dbg *d, int argc, char **argv)
{
	const bool discard = argc == 2 && !strcmp(argv[1], "-n");
	const bool copies = argc == 2 && !strcmp(argv[1], "-a");
	int rc;

	if (argc > 1 && !discard && !copies)
		return DBG_USAGE;
	if (copies && !d->edit)
		return xw_fail(&d->diag, XW_ERR_STATE, "%s", dbg_read_only(d));
	if (copies && !d->spoiled) {
		rc = xw_tune_copies(d->img, true);
		if (rc)
			return rc;
		d->dirty = true;
	}
	return dbg_close(d, !discard);
}

static int verb_quit(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return DBG_USAGE;
	d->quit = true;
	return 0;
}

static int verb_params(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return DBG_USAGE;
	if (!d->json) {
		if (d->img)
			fprintf(d->out, "Open mode: read-%s\n", d->edit ? "write" : "only");
		dbg_printf(d, "Filesystem in use: %s\n", d->img ? d->path : "--none--");
		return 0;
	}
	xw_json_object(&d->js, NULL);
	if (d->img)
		xw_json_str(&d->js, "image", d->path, strlen(d->path));
	else
		xw_json_null(&d->js, "image");
	xw_json_bool(&d->js, "writable", d->edit);
	xw_json_end(&d->js, '}');
	return 0;
}

static int verb_lcd(struct dbg *d, int argc, char **argv)
{
	if (argc != 2)
		return DBG_USAGE;
	if (chdir(argv[1]))
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "%s: %s", argv[1], strerror(errno));
	return 0;
}

/* ---- help ---- */

static void list_verb(struct dbg *d, const struct dbg_verb *v)
{
	const int width = fprintf(d->out, "%s", v->names);

	if (width >= 25)
		fprintf(d->out, "\n%*s%s\n", 25, "", v->help);
	else
		fprintf(d->out, "%*s%s\n", 25 - width, "", v->help);
}

static int list_all(struct dbg *d)
{
	for (const struct dbg_family *const *f = d->families; *f; f++) {
		fprintf(d->out, "%s%s:\n", f == d->families ? "" : "\n", (*f)->title);
		for (size_t i = 0; i < (*f)->n; i++)
			list_verb(d, &(*f)->verbs[i]);
	}
	return 0;
}

static int verb_help(struct dbg *d, int argc, char **argv)
{
	const struct dbg_verb *v;

	if (argc > 2)
		return DBG_USAGE;
	if (argc < 2)
		return list_all(d);
	v = dbg_find_verb(d, argv[1]);
	if (!v)
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "unknown verb '%s'", argv[1]);
	fprintf(d->out, "%.*s%s%s\n\t%s\n", dbg_name_len(v->names), v->names, *v->usage ? " " : "",
		v->usage, v->help);
	for (const char *n = v->names; (n = dbg_next_name(n));)
		fprintf(d->out, "\talso: %.*s\n", dbg_name_len(n), n);
	if (v->flags & DBG_WRITE)
		fputs("\tneeds -w\n", d->out);
	return 0;
}

/* ---- features ---- */

/* The name of a feature that this tool supports, or NULL. */
static const char *known_feature(unsigned word, unsigned bit)
{
	/* not supported, only named: lazy_bg, snapshot_bitmap; compression, dirdata; replica */
	static const uint32_t others[XW_FW_COUNT] = {0x140, 0x1001, 0x800};
	const uint32_t mask = UINT32_C(1) << bit;

	return others[word] & mask ? NULL : xw_feature_name((enum xw_feature_word)word, mask);
}

static const char *known_journal_feature(unsigned word, unsigned bit)
{
	return word == XW_FW_INCOMPAT ? xw_show_journal_feature(word, bit) : NULL;
}

/* like NULL: print all names that `get` returns; otherwise, is `like` one of them? */
static bool each_feature(struct dbg *d, const char *(*get)(unsigned word, unsigned bit),
			 const char *like)
{
	for (unsigned i = 0; i < XW_FW_COUNT * 32u; i++) {
		const char *name = get(i / 32, i % 32);

		if (name && like && !strcasecmp(name, like))
			return true;
		if (name && !like && d->json)
			xw_json_str(&d->js, NULL, name, strlen(name));
		else if (name && !like)
			fprintf(d->out, " %s", name);
	}
	return false;
}

static void list_supported(struct dbg *d)
{
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_array(&d->js, "features");
		each_feature(d, known_feature, NULL);
		xw_json_end(&d->js, ']');
		xw_json_array(&d->js, "journal_features");
		each_feature(d, known_journal_feature, NULL);
		xw_json_end(&d->js, ']');
		xw_json_end(&d->js, '}');
		return;
	}
	fputs("Supported features:", d->out);
	each_feature(d, known_feature, NULL);
	fputc('\n', d->out);
	each_feature(d, known_journal_feature, NULL);
	fputc('\n', d->out);
}

static int verb_supported(struct dbg *d, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	enum xw_feature_word word;
	uint32_t bit;

	if (argc > 2)
		return DBG_USAGE;
	if (!name) {
		list_supported(d);
		return 0;
	}
	if (!xw_feature_find(name, strlen(name), &word, &bit))
		name = xw_feature_name(word, bit); /* an alias was typed */
	if (!each_feature(d, known_feature, name) && !each_feature(d, known_journal_feature, name))
		return xw_fail(&d->diag, XW_ERR_NOTFOUND, "unknown feature: %s", argv[1]);
	dbg_printf(d, "Supported feature: %s\n", argv[1]);
	return 0;
}

static const struct dbg_verb verbs[] = {
	{"show_debugfs_params, params", 0, verb_params, "", "the open image and its options"},
	{"open_filesys, open", 0, verb_open,
	 "[-cefinw] [-b SIZE] [-d DATA] [-s BLOCK] [-z UNDO] IMAGE",
	 "open an image, with options of xw-debugfs"},
	{"close_filesys, close", DBG_OPEN, verb_close, "[-a | -n]",
	 "commit all changes and close the image; -a: also update the backups of superblock and "
	 "descriptors, -n: discard the changes"},
	{"supported_features", 0, verb_supported, "[FEATURE]", "features this tool knows"},
	{"lcd", 0, verb_lcd, "DIR", "change the directory on the host"},
	{"help, list_requests, lr, ?", DBG_PAGED, verb_help, "[VERB]",
	 "the verbs, or how one is used"},
	{"quit, q, exit", 0, verb_quit, "", "commit and leave"},
};

const struct dbg_family dbg_session_verbs = {"Session", verbs, XW_ARRAY_SIZE(verbs)};
