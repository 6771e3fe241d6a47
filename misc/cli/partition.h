/* SPDX-License-Identifier: MIT */
/* Partitions of an image that is a whole disk. */
#ifndef XW_CLI_PARTITION_H
#define XW_CLI_PARTITION_H

#include <stdint.h>

#include "cli/options.h"

/* The first byte of partition l->partition of image. -1, or the exit status: a line was printed. */
int cli_partition_find(const struct cli_line *l, const char *image, uint64_t *start);
/*
 * If the image is no ext filesystem but has a partition table with partitions: a hint that names
 * them. Returns true if so.
 */
bool cli_partition_hint(const char *image);

#endif
