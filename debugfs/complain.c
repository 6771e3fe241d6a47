/* SPDX-License-Identifier: MIT */
/* Messages about the current request. */
#include "config.h"

#include "cli/term.h"
#include "debugfs.h"
#include "pager.h"

#include <stdarg.h>
#include <string.h>

/* Messages that scripts search for are those of stock debugfs, which name the path or the verb. */
static bool print_as_stock(const struct dbg *d, const char *line)
{
	static const struct {
		const char *end, *stock;
		bool path;
	} words[] = {
		{DBG_NO_FILE, "File not found by ext2_lookup ", true},
		{DBG_NO_DIR, "Ext2 inode is not a directory ", true},
		{"': not found", "File not found by ext2_lookup while trying to resolve filename",
		 false},
	};
	const size_t len = strlen(line);

	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const size_t n = strlen(words[i].end);

		if (len <= n || strcmp(line + len - n, words[i].end) != 0)
			continue;
		if (words[i].path)
			cli_note("%.*s: %s", (int)(len - n), line, words[i].stock);
		else
			cli_note("%s: %s", d->verb, words[i].stock);
		return true;
	}
	return false;
}

static void __attribute__((format(printf, 2, 0))) say(struct dbg *d, const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (d->pager)
		dbg_pager_flush(d->pager, d->out);
	else
		fflush(d->out);
	if (!d->verb)
		cli_error("%s", line);
	else if (!d->stock)
		cli_error("%s: %s", d->verb, line);
	else if (!print_as_stock(d, line))
		cli_note("%s: %s", d->verb, line);
	if (!d->complaints++)
		memcpy(d->complaint, line, sizeof(line));
	d->failed = true;
}

void dbg_complain(struct dbg *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(d, fmt, ap);
	va_end(ap);
}

void dbg_complain_diag(struct dbg *d, int code)
{
	dbg_complain(d, "%s", *d->diag.text ? d->diag.text : xw_err_text(code));
	xw_diag_clear(&d->diag);
}

const char *dbg_read_only(const struct dbg *d)
{
	return d->stock ? "Filesystem opened read/only"
			: "the image is open for reading only; see -w";
}
