/* SPDX-License-Identifier: MIT */
/* Dates in text that a person gives. */
#ifndef XW_BASE_DATE_H
#define XW_BASE_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/types.h"

/*
 * Seconds since 1970 with a fraction, as touch(1) takes them behind "@": -1.5 is one and a half
 * seconds before 1970. Digits beyond nanoseconds round toward earlier times.
 */
bool xw_date_seconds(const char *text, struct xw_time *out);
/* The same as text, exactly; terminated. */
#define XW_DATE_TEXT 40
void xw_date_text(struct xw_time t, char text[XW_DATE_TEXT]);
/*
 * "YYYY-MM-DD", or "YYYY-MM-DD HH:MM[:SS]" (or with a T) with an optional fraction, and an optional
 * zone: "Z", "UTC", "GMT", "+HH[[:]MM]". local() converts a time without a zone, as mktime(3),
 * which reads the environment, does.
 */
bool xw_date_calendar(const char *text, time_t (*local)(struct tm *), struct xw_time *out);
/*
 * YYYYMMDD[HH[MM[SS]]], as tune2fs and debugfs take it. `local` as above, or timegm(3). Fields
 * beyond their range are refused.
 */
bool xw_date_digits(const char *text, time_t (*local)(struct tm *), int64_t *out);

#endif
