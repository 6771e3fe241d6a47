/* SPDX-License-Identifier: MIT */
/* The partition table of a disk or of an image of one, as libblkid reads it. */
#ifndef XW_DEV_PARTITION_H
#define XW_DEV_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xw_partition {
	uint64_t start, size; /* in bytes */
	unsigned number; /* of the partition in Linux, from 1 */
	char uuid[40]; /* PARTUUID as text, as udev and lsblk show it; "": none */
	char name[128]; /* PARTLABEL, UTF-8; "": none */
	bool container; /* an extended partition, which holds others */
};

struct xw_partitions {
	char type[16]; /* of the table: "dos", "gpt"; "": there is no table */
	size_t n;
	struct xw_partition *v; /* owned; in the order of the table */
	/*
	 * Bytes that a partition may have. Outside of them, and between the logical partitions of a
	 * container, are parts of the table itself.
	 */
	uint64_t first, last_end;
	/*
	 * A GPT that cannot be used: its headers are invalid, or the file was cut. Its type is
	 * "gpt", without partitions, and no byte is known to be free of them.
	 */
	bool damaged;
};

/*
 * Read the partition table of an open file or device; an empty one if there is none. XW_ERR_NOMEM,
 * and XW_ERR_IO where a table may be and cannot be read.
 */
int xw_partitions_read(int fd, struct xw_partitions *out);
void xw_partitions_free(struct xw_partitions *p);
/*
 * Where the place of a filesystem ends that begins at byte `start` of a disk of `size` bytes. In
 * this order: at the end of the partition that begins there, at the end of the partition that
 * contains this byte, at the begin of the next partition or container. Where partitions overlap,
 * the one that ends first counts. Where the table or a container leaves no place, the end is
 * `start`. Never beyond `size`.
 */
uint64_t xw_partitions_end(const struct xw_partitions *p, uint64_t start, uint64_t size);
/* The partition, other than a container, that begins at byte `start`; NULL: none. */
const struct xw_partition *xw_partition_at(const struct xw_partitions *p, uint64_t start);
/*
 * "1 at 1048576, 2 at 537919488": the partitions that can hold a filesystem, as many as fit into
 * the buffer.
 */
void xw_partitions_text(const struct xw_partitions *p, char *buf, size_t size);
/*
 * The same for the partitions that overlap [start, start + size), except one that begins at
 * `start`; "": none.
 */
void xw_partitions_overlap_text(const struct xw_partitions *p, uint64_t start, uint64_t size,
				char *buf, size_t size_of_buf);

#endif
