/* SPDX-License-Identifier: MIT */
/* Devices of the system. */
#ifndef XW_CLI_DEVICE_H
#define XW_CLI_DEVICE_H

/* Path of the device whose UUID is `uuid`, or NULL; the caller frees it. */
char *cli_find_device(const char *uuid);

#endif
