/* SPDX-License-Identifier: MIT */
/* Partitions of an image that is a whole disk. */
#ifndef XW_CLI_PARTITION_H
#define XW_CLI_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

/* Why a partition was not found; a long text is cut. */
struct cli_partition_why {
	char s[512];
};
/* The first byte of the partition of image that --partition names. */
bool cli_partition_find(const char *image, const char *name, uint64_t *start,
			struct cli_partition_why *why);
/*
 * Print a hint that names the partitions, and return true, if the image is not an ext filesystem
 * but has a partition table, even a damaged one.
 */
bool cli_partition_hint(const char *image);
/* Is an ext superblock, or its magic number at least, in the filesystem at this byte? */
bool cli_holds_ext(const char *image, uint64_t offset);

#endif
