/* SPDX-License-Identifier: MIT */
/* The environment of a tool: variables and signals. The library uses neither. */
#ifndef XW_CLI_ENV_H
#define XW_CLI_ENV_H

#include <stdbool.h>

/*
 * SOURCE_DATE_EPOCH. 0 with *value NULL if unset or empty, 0 with *value its text if it is a number
 * of seconds since 1970, -1 otherwise (the caller prints the error).
 */
int cli_source_date_epoch(const char **value);
/* E2FSPROGS_FAKE_TIME: a number of seconds since 1970; NULL if unset, 0 or anything else. */
const char *cli_fake_time(void);

/* MKE2FS_CONFIG: the name of a configuration file, "" for none; NULL if not set. */
const char *cli_mke2fs_config(void);
/* TMPDIR: a directory for temporary files; NULL if unset or empty. */
const char *cli_tmpdir(void);
/*
 * MKE2FS_DEVICE_SECTSIZE and MKE2FS_DEVICE_PHYS_SECTSIZE; NULL if not set to a number, or to 0,
 * which means the sector sizes of the device.
 */
const char *cli_mke2fs_sector(bool physical);
/* The command that restores an undo file: e2undo for a tool called by a stock name. */
const char *cli_undo_tool(void);

/*
 * Open descriptors 0 to 2 if the caller closed them: otherwise the next file opened, the image,
 * would get such a number, and messages would be written into it. Also makes writing beyond the
 * file size limit fail with a message instead of killing the process (SIGXFSZ).
 */
void cli_guard_streams(void);

/*
 * From here on the first SIGINT, SIGTERM or SIGHUP only makes cli_interrupted() true, and
 * interrupts a blocking system call; the next signal of its kind kills as usual. Ignored signals
 * stay ignored. If standard output blocks a second later, it is replaced by /dev/null.
 */
void cli_catch_interrupts(void);
/*
 * Between true and false no signal kills the process, however often it is sent: the current
 * operation must not be interrupted. Only after cli_catch_interrupts(). Signals are recorded as
 * before.
 */
void cli_hold_interrupts(bool on);
bool cli_interrupted(void);
/*
 * Was the signal SIGTERM or SIGHUP, rather than a user at the terminal who cancels the current
 * operation?
 */
bool cli_terminated(void);

#endif
