/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <blkid/blkid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/err.h"
#include "base/types.h"
#include "dev/partition.h"

/* The unit of libblkid's numbers, whatever the sector size of the disk. */
#define SECTOR 512u
#define SECTORS_MAX (INT64_MAX / SECTOR)
/* Of a GPT header, in the second sector of the disk; its backup is in the last one. */
#define GPT_SIGNATURE "EFI PART"
#define GPT_SIGNATURE_LEN 8
#define GPT_FIRST_USABLE 40 /* le64: a sector */
#define GPT_LAST_USABLE 48 /* le64: a sector */
#define GPT_HEADER 92

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

static bool read_usable(int fd, unsigned sector, uint64_t at, struct xw_partitions *out)
{
	uint8_t h[GPT_HEADER];
	uint64_t first, last;

	if (pread(fd, h, sizeof(h), (off_t)at) != sizeof(h) ||
	    memcmp(h, GPT_SIGNATURE, GPT_SIGNATURE_LEN) != 0)
		return false;
	first = peek64(h + GPT_FIRST_USABLE);
	last = peek64(h + GPT_LAST_USABLE);
	if (first > last || last >= INT64_MAX / sector)
		return false;
	out->first = first * sector;
	out->usable = (last + 1) * sector;
	return true;
}

/*
 * Before the first usable sector is the table, and behind the last one its backup. If the primary
 * is damaged, libblkid has read the backup.
 */
static void find_usable(int fd, unsigned sector, uint64_t size, struct xw_partitions *out)
{
	if (!read_usable(fd, sector, sector, out) && size >= sector)
		read_usable(fd, sector, size / sector * sector - sector, out);
}

/* Read the table with this sector size; 0: the default, which for a device is its own. */
static int read_with(int fd, unsigned sector, struct xw_partitions *out)
{
	blkid_probe pr = blkid_new_probe();
	blkid_partlist list;
	blkid_parttable table;
	int rc = 0;

	if (!pr)
		return XW_ERR_NOMEM;
	if (!blkid_probe_set_device(pr, fd, 0, 0) &&
	    !(sector && blkid_probe_set_sectorsize(pr, sector))) {
		blkid_probe_enable_superblocks(pr, 0);
		blkid_probe_enable_partitions(pr, 1);
		list = blkid_do_fullprobe(pr) ? NULL : blkid_probe_get_partitions(pr);
		table = list ? blkid_partlist_get_table(list) : NULL;
		if (table && blkid_parttable_get_type(table)) {
			copy_text(out->type, sizeof(out->type), blkid_parttable_get_type(table));
			if (!strcmp(out->type, "gpt"))
				find_usable(fd, blkid_probe_get_sectorsize(pr),
					    (uint64_t)blkid_probe_get_size(pr), out);
			rc = copy_list(list, out);
		}
	}
	blkid_free_probe(pr);
	return rc;
}

int xw_partitions_read(int fd, struct xw_partitions *out)
{
	/* An image file does not tell the sector size of its disk, on which a GPT depends. */
	static const unsigned sectors[] = {4096, 1024, 2048};
	struct xw_partitions other;
	struct stat st;
	int rc;

	*out = (struct xw_partitions){.usable = UINT64_MAX};
	rc = read_with(fd, 0, out);
	if (rc || out->n || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return rc;
	for (size_t i = 0; i < XW_ARRAY_SIZE(sectors) && !rc; i++) {
		other = (struct xw_partitions){.usable = UINT64_MAX};
		rc = read_with(fd, sectors[i], &other);
		if (!rc && !strcmp(other.type, "gpt")) {
			xw_partitions_free(out);
			*out = other;
			return 0;
		}
		xw_partitions_free(&other);
	}
	return rc;
}

void xw_partitions_free(struct xw_partitions *p)
{
	free(p->v);
	*p = (struct xw_partitions){.n = 0};
}

static bool contains(const struct xw_partition *p, uint64_t byte)
{
	return byte >= p->start && byte - p->start < p->size;
}

uint64_t xw_partitions_end(const struct xw_partitions *p, uint64_t start, uint64_t size)
{
	uint64_t begins = UINT64_MAX, inside = UINT64_MAX, end;
	uint64_t gap = start < p->first ? start : XW_MIN(size, p->usable);

	for (size_t i = 0; i < p->n; i++) {
		const struct xw_partition *v = &p->v[i];

		end = v->start + v->size;
		if (!v->container && v->start == start)
			begins = XW_MIN(begins, end);
		else if (!v->container && contains(v, start))
			inside = XW_MIN(inside, end);
		else if (v->container && contains(v, start))
			gap = start;
		else if (v->start > start)
			gap = XW_MIN(gap, v->start);
	}
	end = begins != UINT64_MAX ? begins : inside != UINT64_MAX ? inside : gap;
	return XW_MIN(end, size);
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
