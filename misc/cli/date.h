/* SPDX-License-Identifier: MIT */
/* Dates on the command line. */
#ifndef XW_CLI_DATE_H
#define XW_CLI_DATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A date as in tar(1), as seconds since 1970 with a fraction, in text: "@SECONDS", "YYYY-MM-DD" or
 * "YYYY-MM-DD HH:MM[:SS]" (or with a T) with an optional fraction and zone ("Z", "UTC", "+HH:MM";
 * default: the zone of this machine), or the time of a file whose name begins with "/" or ".".
 * false: none of these, or no such file, and errno says why.
 */
bool cli_date(const char *word, char *text, size_t room);

#endif
