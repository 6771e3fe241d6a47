/* SPDX-License-Identifier: MIT */
/* Converts libarchive's errors. */
#ifndef XW_IMPORT_LIBARCHIVE_ERR_H
#define XW_IMPORT_LIBARCHIVE_ERR_H

#include <archive.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/* libarchive's message, or a clearer one. NULL: none. */
static inline const char *xw_la_text(struct archive *a)
{
	const char *text = archive_error_string(a);

	/* liblzma's message for truncated input */
	if (text && strstr(text, "No progress is possible"))
		return "truncated input";
	if (text && strstr(text, "Unrecognized archive format"))
		return "neither a directory nor an archive in a known format";
	return text;
}

/* libarchive reports truncated and encrypted input only in the text of its messages. */
static inline int xw_la_code(struct archive *a)
{
	static const char *const short_words[] = {"truncated",      "premature",   "unexpected end",
						  "unexpected eof", "end of file", "end-of-file"};
	static const char *const locked_words[] = {"encrypt", "passphrase", "password"};
	const char *text = xw_la_text(a);

	if (archive_errno(a) == ENOMEM)
		return XW_ERR_NOMEM;
	for (size_t i = 0; text && i < sizeof(short_words) / sizeof(*short_words); i++)
		if (strcasestr(text, short_words[i]))
			return XW_ERR_TRUNCATED;
	for (size_t i = 0; text && i < sizeof(locked_words) / sizeof(*locked_words); i++)
		if (strcasestr(text, locked_words[i]))
			return XW_ERR_UNSUPPORTED;
	return XW_ERR_INPUT;
}

#endif
