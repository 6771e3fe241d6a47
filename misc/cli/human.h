/* SPDX-License-Identifier: MIT */
/*
 * Numbers in readable form: sizes, rates, durations, counts, shares.
 *
 * Each function returns its text by value, so that `printf("%s", cli_size(n).s)` needs no buffer in
 * the caller: the text lives until the end of the full expression (C11 6.2.4p8).
 */
#ifndef XW_CLI_HUMAN_H
#define XW_CLI_HUMAN_H

#include <stdint.h>

struct cli_text {
	char s[48];
};

/* "0 B", "512 B", "4 KiB", "1.31 GiB": three significant digits, binary units. */
struct cli_text cli_size(uint64_t bytes);
/* "412 MiB/s"; "-" if no time has passed. */
struct cli_text cli_rate(uint64_t bytes, double seconds);
/* "0.42 s", "12.3 s", "3:07", "1:02:09". */
struct cli_text cli_duration(double seconds);
/* "0:02", "3:07", "1:02:09": whole seconds, for values that change while they are displayed. */
struct cli_text cli_countdown(double seconds);
/* "1,234,567" in any locale. */
struct cli_text cli_count(uint64_t n);
/* "1 file", "2,000 files": `one` and `many` are the nouns, up to 20 bytes. */
struct cli_text cli_plural(uint64_t n, const char *one, const char *many);
/* part / whole as "3.14 %"; "-" when whole is 0. */
struct cli_text cli_share(double part, double whole);
/* A binary UUID in its text form. */
struct cli_text cli_uuid(const uint8_t uuid[16]);

#endif
