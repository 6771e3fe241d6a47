/* SPDX-License-Identifier: MIT */
/* Rows with a name and a value: text or JSON members from the same call. */
#ifndef XW_SHOW_ROWS_H
#define XW_SHOW_ROWS_H

#include "show/show.h"

/*
 * "NAME:", blanks up to column 26, the value. The member of the JSON object is the name in lower
 * case with underscores. A name that ends with a tab is followed by one, as in two rows of the
 * stock tools.
 */
void show_text(struct xw_show *s, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void show_number(struct xw_show *s, const char *name, uint64_t v);
/* An amount: as a number, but the member of the JSON object is NAME_UNIT. */
void show_amount(struct xw_show *s, const char *name, const char *unit, uint64_t v);
/* A checksum: in hexadecimal, as JSON a number. */
void show_checksum(struct xw_show *s, const char *name, uint32_t v);
void show_signed(struct xw_show *s, const char *name, int64_t v);
/*
 * Bytes of the image up to size or a NUL; control characters and bytes that are not UTF-8 as \ooo.
 * `none` (may be NULL): the text printed if there are none.
 */
void show_bytes(struct xw_show *s, const char *name, const void *bytes, size_t size,
		const char *none);
/* Words separated by blanks; in JSON an array of them. */
void show_words(struct xw_show *s, const char *name, const char *words);
/* "    NAME: VALUE", a string from the image; in JSON a member of that name. */
void show_inner(struct xw_show *s, const char *name, const char *text);
/* Local time; in JSON seconds. */
void show_time(struct xw_show *s, const char *name, int64_t sec);
/* xxxxxxxx-...; "<none>" for zeros. */
void show_uuid(struct xw_show *s, const char *name, const uint8_t uuid[16]);

/* Report and clear the message in img->diag. */
void show_problem(struct xw_show *s, struct xw_diag *diag);
/* Report a message. */
void show_damage(struct xw_show *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Read img leniently until the matching call; returns the previous flags. */
unsigned show_lenient(const struct xw_show *s, struct xw_image *img);
/* The final result: rc, or the failure of out or of a memory allocation. */
int show_done(struct xw_show *s, struct xw_image *img, unsigned look, int rc);

/* The location of metadata, computed on first use. */
int show_sysmap(struct xw_show *s, struct xw_image *img);

#endif
