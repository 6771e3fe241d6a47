/* SPDX-License-Identifier: MIT */
/* Names of users and groups on this machine. */
#ifndef XW_CLI_NAMES_H
#define XW_CLI_NAMES_H

#include <stdint.h>

/* An xw_names_cb over getpwnam_r(3) and getgrnam_r(3): 0 and *id, -1 for an unknown name. */
int cli_name_to_id(void *arg, int group, const char *name, uint32_t *id);

#endif
