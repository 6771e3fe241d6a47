/* SPDX-License-Identifier: MIT */
/*
 * One request, from its line to the messages about it.
 *
 * Results go to standard output, messages to standard error, in the order in which they occur. With
 * --json each request prints one object on a line: the request and its result (or its text, if the
 * verb has no structured result); messages go to standard error as well.
 *
 * A writing verb that fails has changed nothing; changes of other verbs are kept.
 */
#include "config.h"

#include "debugfs.h"
#include "pager.h"

#include <stdlib.h>
#include <string.h>

/* ---- where results go ---- */

struct output {
	FILE *before;
	char *text; /* with --json: text that the verb printed */
	size_t len;
};

static int begin_output(struct dbg *d, const struct dbg_verb *v, struct output *o)
{
	*o = (struct output){.before = d->out};
	if (d->json) {
		d->out = open_memstream(&o->text, &o->len);
		if (!d->out) {
			d->out = o->before;
			return xw_fail_nomem(&d->diag, "output");
		}
	} else if (d->interactive && v->flags & DBG_PAGED) {
		FILE *paged = dbg_pager_open(d->out, &d->pager);

		if (paged)
			d->out = paged;
	}
	return 0;
}

static void print_json(struct dbg *d, const char *line, bool ok, const struct output *o)
{
	const bool has_result = d->js.len || d->js.nomem;
	struct xw_json j = {0};
	const char *text;

	xw_json_object(&j, NULL);
	xw_json_str(&j, "request", line, strlen(line));
	xw_json_bool(&j, "ok", ok);
	if (d->pending)
		xw_json_bool(&j, "pending_change", true);
	if (!ok && *d->complaint)
		xw_json_str(&j, "error", d->complaint, strlen(d->complaint));
	if (!has_result && o->text && (ok || o->len))
		xw_json_str(&j, "text", o->text, o->len);
	xw_json_end(&j, '}');
	text = xw_json_text(&j);
	if (!text || (has_result && !xw_json_text(&d->js)))
		dbg_complain(d, "out of memory");
	else if (has_result)
		/* js holds a complete value: insert it before the closing brace */
		fprintf(d->out, "%.*s, \"result\": %s}\n", (int)j.len - 1, text, d->js.buf);
	else
		fprintf(d->out, "%s\n", text);
	xw_json_free(&j);
}

/* Restore d->out. Returns the result of the verb, or 0 if only a pager that was quit failed it. */
static int end_output(struct dbg *d, struct output *o, int rc)
{
	if (d->pager) {
		if (dbg_pager_left(d->pager) && rc == XW_ERR_IO && !*d->diag.text)
			rc = 0;
		dbg_pager_close(d->pager, d->out);
		d->pager = NULL;
	} else if (d->out != o->before) {
		fclose(d->out);
	}
	d->out = o->before;
	return rc;
}

/* ---- the request ---- */

bool dbg_is_called(const struct dbg_verb *v, const char *name)
{
	const size_t len = strlen(name);

	for (const char *n = v->names; n; n = dbg_next_name(n)) {
		if ((size_t)dbg_name_len(n) == len && !memcmp(n, name, len))
			return true;
	}
	return false;
}

const struct dbg_verb *dbg_find_verb(const struct dbg *d, const char *name)
{
	for (const struct dbg_family *const *f = d->families; *f; f++) {
		for (size_t i = 0; i < (*f)->n; i++) {
			if (dbg_is_called(&(*f)->verbs[i], name))
				return &(*f)->verbs[i];
		}
	}
	return NULL;
}

/* Does the request only ask about a writing verb: its fields (-l), or its usage (no operands)? */
static bool is_question(const struct dbg_verb *v, int argc, char **argv)
{
	if (v->flags & DBG_LISTS && argc == 2)
		return !strcmp(argv[1], "-l");
	return argc == 1 && *v->usage && *v->usage != '[';
}

static bool may_run(struct dbg *d, const struct dbg_verb *v, int argc, char **argv)
{
	const bool writes = v->flags & DBG_WRITE && !is_question(v, argc, argv);

	if (v->flags & (DBG_OPEN | DBG_WRITE | DBG_EXTENTS) && !d->img)
		dbg_complain(d, d->stock ? "Filesystem not open" : "no image is open");
	else if (writes && !d->edit)
		dbg_complain(d, "%s", dbg_read_only(d));
	else if (writes && d->spoiled)
		dbg_complain(d, "not done: an earlier change failed halfway");
	else if (v->flags & DBG_EXTENTS && !d->extents)
		dbg_complain(d, "no extent handle is open; see extent_open");
	else if (v->flags & DBG_BYTES && d->json)
		dbg_complain(d, "prints raw bytes, which --json does not support");
	else
		return true;
	return false;
}

static void conclude(struct dbg *d, const struct dbg_verb *v, int rc)
{
	if (rc == DBG_USAGE) {
		const char *const typed = d->stock && d->verb ? d->verb : v->names;

		fflush(d->out);
		if (!d->stock)
			d->verb = NULL;
		dbg_complain(d, "%csage: %.*s%s%s", d->stock ? 'U' : 'u', dbg_name_len(typed),
			     typed, *v->usage ? " " : "", v->usage);
	} else if (rc == DBG_SAID || (rc == XW_ERR_IO && !*d->diag.text && ferror(d->out))) {
		d->failed = true; /* the tool reports at its end that output was lost */
	} else if (rc) {
		if (v->flags & DBG_WRITE)
			xw_fail_repair(&d->diag);
		dbg_complain_diag(d, rc);
	}
	xw_diag_clear(&d->diag);
	d->dirty |= v->flags & DBG_WRITE && d->edit && !rc;
	if (d->dirty && d->set_now && !d->spoiled) {
		rc = dbg_stamp(d);
		if (rc)
			dbg_complain_diag(d, rc);
	}
}

/* 0 on success. Failures have been reported. */
static int run_verb(struct dbg *d, int argc, char **argv, struct output *o)
{
	const struct dbg_verb *v = dbg_find_verb(d, argv[0]);
	int rc;

	if (!v) {
		d->unknown = true;
		dbg_complain(d,
			     d->stock ? "Command not found %s"
				      : "unknown verb '%s' ('help' lists the verbs)",
			     argv[0]);
		return DBG_SAID;
	}
	d->verb = argv[0];
	rc = may_run(d, v, argc, argv) ? begin_output(d, v, o) : DBG_SAID;
	if (!rc)
		rc = end_output(d, o, v->run(d, argc, argv));
	conclude(d, v, rc);
	d->verb = NULL;
	return rc;
}

void dbg_run(struct dbg *d, const char *line)
{
	struct output o = {.before = d->out};
	char **argv, *words;
	int argc, rc;

	xw_diag_clear(&d->diag);
	d->complaints = 0;
	*d->complaint = '\0';
	rc = dbg_lex(line, &argc, &argv, &words);
	if (rc)
		dbg_complain(d, words ? "unclosed quote: %s" : "out of memory: %.40s", line);
	else if (argc)
		rc = run_verb(d, argc, argv, &o);
	if (d->json && (rc || argc))
		print_json(d, line, !rc && !d->complaints, &o);
	fflush(d->out);
	free(o.text);
	xw_json_free(&d->js);
	free(words);
	free(argv);
}
