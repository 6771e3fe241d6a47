/* SPDX-License-Identifier: MIT */
/*
 * Completion of a request being typed: verbs for its first word, names in the image for the others.
 * Completions are whole words as typed, quoted if they contain blanks.
 */
#include "config.h"

#include "read/dirs.h"
#include "tool.h"

#include "base/auto.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { OFFERED_MAX = 1000 };

struct offer {
	XW_VEC(char *) words; /* NULL-terminated when it is returned */
	bool nomem;
};

static void offer_word(struct offer *o, char *word)
{
	if (!word || xw_vec_push(&o->words, word)) {
		free(word);
		o->nomem = true;
	}
}

void debugfs_complete_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

/*
 * Find the start of the last word, and return its text without quotes (malloc'd; NULL: no memory).
 */
static char *last_word(const char *line, size_t len, size_t *from)
{
	char *word = malloc(len + 1), *out = word;
	bool quoted = false;

	*from = 0;
	for (size_t i = 0; i < len && word; i++) {
		if (line[i] == '"') {
			quoted = !quoted;
		} else if ((line[i] == ' ' || line[i] == '\t') && !quoted) {
			*from = i + 1;
			out = word;
		} else {
			*out++ = line[i];
		}
	}
	if (word)
		*out = '\0';
	return word;
}

static void offer_verbs(struct offer *o, const struct dbg *d, const char *prefix)
{
	for (const struct dbg_family *const *f = d->families; *f; f++) {
		for (size_t i = 0; i < (*f)->n; i++) {
			for (const char *n = (*f)->verbs[i].names; n; n = dbg_next_name(n)) {
				if (!strncmp(n, prefix, strlen(prefix)))
					offer_word(o, strndup(n, (size_t)dbg_name_len(n)));
			}
		}
	}
}

/* The completion: the directory as typed, the entry's name, and a slash after a directory. */
static char *path_word(const char *dir, size_t dir_len, const struct xw_dirent *e)
{
	const bool blank = memchr(e->name, ' ', e->name_len) ||
			   memchr(e->name, '\t', e->name_len) || memchr(dir, ' ', dir_len) ||
			   memchr(dir, '\t', dir_len);
	const char *q = blank ? "\"" : "";
	char *word;

	if (memchr(e->name, '"', e->name_len) ||
	    asprintf(&word, "%s%.*s%.*s%s%s", q, (int)dir_len, dir, (int)e->name_len, e->name,
		     e->ftype == XW_FT_DIR ? "/" : "", q) < 0)
		return NULL;
	return word;
}

static void offer_names(struct dbg *d, struct offer *o, const char *word)
{
	const char *slash = strrchr(word, '/');
	const size_t dir_len = slash ? (size_t)(slash - word) + 1 : 0;
	const char *prefix = word + dir_len;
	auto_free char *dir = strndup(word, dir_len);
	auto_free uint8_t *raw = malloc(d->img->inode_size);
	struct xw_dir_iter it;
	struct xw_inode in;
	struct xw_dirent e;
	xw_ino ino;
	int rc;

	if (!dir || !raw || dbg_inode_number(d, dir, &ino) || xw_image_inode(d->img, ino, &in, raw))
		return;
	rc = xw_dir_begin(d->img, ino, &in, raw, &it);
	while (!rc && o->words.n < OFFERED_MAX && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		rc = 0;
		if (e.name_len < strlen(prefix) || memcmp(e.name, prefix, strlen(prefix)))
			continue;
		if (e.name[0] == '.' && *prefix != '.')
			continue;
		offer_word(o, path_word(word, dir_len, &e));
	}
	xw_dir_end(&it);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **debugfs_complete(struct dbg *d, const char *line, size_t len, size_t *from)
{
	struct offer o = {0};
	auto_free char *word = last_word(line, len, from);
	bool first = true;

	if (!word)
		return NULL;
	for (size_t i = 0; i < *from; i++)
		first = first && (line[i] == ' ' || line[i] == '\t');
	if (first)
		offer_verbs(&o, d, word);
	else if (d->img)
		offer_names(d, &o, word);
	xw_diag_clear(&d->diag);
	if (!o.words.n || o.nomem || xw_vec_push(&o.words, NULL)) {
		for (size_t i = 0; i < o.words.n; i++)
			free(o.words.v[i]);
		free(o.words.v);
		return NULL;
	}
	qsort(o.words.v, o.words.n - 1, sizeof(*o.words.v), by_name);
	return o.words.v;
}
