/* SPDX-License-Identifier: MIT */
/* What a tool takes from its surroundings: environment and signals. The library reads neither. */
#ifndef XW_CLI_ENV_H
#define XW_CLI_ENV_H

#include <stdbool.h>

/*
 * SOURCE_DATE_EPOCH. 0 with *value NULL when it is unset or empty, 0 with *value its text when it
 * is a number of seconds since 1970, -1 when it is anything else (the caller words the error).
 */
int cli_source_date_epoch(const char **value);

/* MKE2FS_CONFIG: the name of a configuration file, "" for none; NULL when it is not set. */
const char *cli_mke2fs_config(void);

/*
 * Make descriptors 0 to 2 what they should be where the caller closed them: the next file opened,
 * which is the image, would get the number, and messages would be written into it. And writing
 * beyond the file size limit fails from here on, with its own line, instead of killing (SIGXFSZ).
 */
void cli_guard_streams(void);

/*
 * From here on the first SIGINT, SIGTERM or SIGHUP only makes cli_interrupted() true, and
 * interrupts a blocking system call; the next of its kind kills as usual. Signals that were ignored
 * stay ignored. A standard output that nobody reads is given up a second later.
 */
void cli_catch_interrupts(void);
/*
 * Between true and false none kills, however many come: what is going on must not be cut. Only
 * behind cli_catch_interrupts(). They are remembered as before.
 */
void cli_hold_interrupts(bool on);
bool cli_interrupted(void);
/* Was it SIGTERM or SIGHUP: not somebody at the terminal who only wants out of what is going on? */
bool cli_terminated(void);

#endif
