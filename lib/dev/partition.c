/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <blkid/blkid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/types.h"
#include "dev/partition.h"

/* The unit of libblkid's numbers, whatever the sector size of the disk. */
#define SECTOR 512u
#define SECTORS_MAX (INT64_MAX / SECTOR)

static int copy_list(blkid_partlist list, struct xw_partitions *out)
{
	const int n = blkid_partlist_numof_partitions(list);

	if (n <= 0)
		return 0;
	out->v = calloc((size_t)n, sizeof(*out->v));
	if (!out->v)
		return XW_ERR_NOMEM;
	for (int i = 0; i < n; i++) {
		blkid_partition par = blkid_partlist_get_partition(list, i);
		const blkid_loff_t start = par ? blkid_partition_get_start(par) : -1;
		const blkid_loff_t size = par ? blkid_partition_get_size(par) : -1;

		if (start < 0 || size <= 0 || start > (blkid_loff_t)SECTORS_MAX ||
		    size > (blkid_loff_t)SECTORS_MAX - start)
			continue;
		out->v[out->n++] = (struct xw_partition){
			.start = (uint64_t)start * SECTOR,
			.size = (uint64_t)size * SECTOR,
			.number = (unsigned)XW_MAX(blkid_partition_get_partno(par), 0),
			.container = blkid_partition_is_extended(par),
		};
	}
	return 0;
}

int xw_partitions_read(int fd, struct xw_partitions *out)
{
	blkid_probe pr = blkid_new_probe();
	blkid_partlist list;
	blkid_parttable table;
	int rc = 0;

	*out = (struct xw_partitions){.n = 0};
	if (!pr)
		return XW_ERR_NOMEM;
	if (!blkid_probe_set_device(pr, fd, 0, 0)) {
		blkid_probe_enable_superblocks(pr, 0);
		blkid_probe_enable_partitions(pr, 1);
		list = blkid_do_fullprobe(pr) ? NULL : blkid_probe_get_partitions(pr);
		table = list ? blkid_partlist_get_table(list) : NULL;
		if (table && blkid_parttable_get_type(table)) {
			snprintf(out->type, sizeof(out->type), "%s",
				 blkid_parttable_get_type(table));
			rc = copy_list(list, out);
		}
	}
	blkid_free_probe(pr);
	return rc;
}

void xw_partitions_free(struct xw_partitions *p)
{
	free(p->v);
	*p = (struct xw_partitions){.n = 0};
}

const struct xw_partition *xw_partition_at(const struct xw_partitions *p, uint64_t start)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].start == start && !p->v[i].container)
			return &p->v[i];
	}
	return NULL;
}

const struct xw_partition *xw_partition_number(const struct xw_partitions *p, unsigned number)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].number == number && !p->v[i].container)
			return &p->v[i];
	}
	return NULL;
}

void xw_partitions_text(const struct xw_partitions *p, char *buf, size_t size)
{
	size_t at = 0;
	int n;

	*buf = '\0';
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].container)
			continue;
		n = snprintf(buf + at, size - at, "%s%u at %llu", at ? ", " : "", p->v[i].number,
			     (unsigned long long)p->v[i].start);
		if (n < 0 || (size_t)n + 4 >= size - at) {
			snprintf(buf + at, size - at, "...");
			return;
		}
		at += (size_t)n;
	}
}
