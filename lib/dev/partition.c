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

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

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
		struct xw_partition *p;

		if (start < 0 || size <= 0 || start > (blkid_loff_t)SECTORS_MAX ||
		    size > (blkid_loff_t)SECTORS_MAX - start)
			continue;
		p = &out->v[out->n++];
		*p = (struct xw_partition){
			.start = (uint64_t)start * SECTOR,
			.size = (uint64_t)size * SECTOR,
			.number = (unsigned)XW_MAX(blkid_partition_get_partno(par), 0),
			.container = blkid_partition_is_extended(par),
		};
		copy_text(p->uuid, sizeof(p->uuid), blkid_partition_get_uuid(par));
		copy_text(p->name, sizeof(p->name), blkid_partition_get_name(par));
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

/* Append "NUMBER at START" to a list. False: the buffer is full, and the list ends in "...". */
static bool append(const struct xw_partition *p, char *buf, size_t size)
{
	const size_t at = strlen(buf);
	const int n = snprintf(buf + at, size - at, "%s%u at %llu", at ? ", " : "", p->number,
			       (unsigned long long)p->start);

	if (n >= 0 && (size_t)n + 4 < size - at)
		return true;
	snprintf(buf + at, size - at, "...");
	return false;
}

void xw_partitions_text(const struct xw_partitions *p, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < p->n; i++) {
		if (!p->v[i].container && !append(&p->v[i], buf, size))
			return;
	}
}

void xw_partitions_overlap_text(const struct xw_partitions *p, uint64_t start, uint64_t size,
				char *buf, size_t size_of_buf)
{
	*buf = '\0';
	for (size_t i = 0; i < p->n; i++) {
		const struct xw_partition *v = &p->v[i];
		const bool overlaps =
			v->start > start ? v->start - start < size : start - v->start < v->size;

		if (overlaps && v->start != start && !v->container && !append(v, buf, size_of_buf))
			return;
	}
}
