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
/* Of a GPT header, in the second sector of the disk and in the last one. */
#define GPT_SIGNATURE "EFI PART"
#define GPT_SIGNATURE_LEN 8
#define GPT_FIRST_USABLE 40 /* le64: a sector */
#define GPT_LAST_USABLE 48 /* likewise */
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

/* The GPT header in this sector, or false. */
static bool read_gpt_header(int fd, uint64_t number, unsigned sector, uint8_t h[GPT_HEADER])
{
	return pread(fd, h, GPT_HEADER, (off_t)(number * sector)) == GPT_HEADER &&
	       !memcmp(h, GPT_SIGNATURE, GPT_SIGNATURE_LEN);
}

/*
 * Where partitions may be. The tables of a GPT lie before and behind its usable sectors; the backup
 * header says the same as the primary one, which may be damaged. A DOS table has the first sector.
 * Of other tables only the partitions are known.
 */
static void set_bounds(struct xw_partitions *out, int fd, uint64_t size, unsigned sector)
{
	uint8_t h[GPT_HEADER];
	uint64_t first, last;

	out->first = out->last_end = 0;
	if (!strcmp(out->type, "dos")) {
		out->first = SECTOR;
		out->last_end = UINT64_MAX;
	}
	if (strcmp(out->type, "gpt") != 0 || size / sector < 2 ||
	    (!read_gpt_header(fd, 1, sector, h) &&
	     !read_gpt_header(fd, size / sector - 1, sector, h)))
		return;
	first = peek64(h + GPT_FIRST_USABLE);
	last = peek64(h + GPT_LAST_USABLE);
	if (first <= last && last < size / sector) {
		out->first = first * sector;
		out->last_end = (last + 1) * sector;
	}
}

/* Read the table with this sector size; 0: the default, which for a device is its own. */
static int read_with(int fd, unsigned sector, struct xw_partitions *out)
{
	blkid_probe pr = blkid_new_probe();
	blkid_partlist list;
	blkid_parttable table;
	int probed, rc = 0;

	if (!pr)
		return XW_ERR_NOMEM;
	if (!blkid_probe_set_device(pr, fd, 0, 0) &&
	    !(sector && blkid_probe_set_sectorsize(pr, sector))) {
		blkid_probe_enable_superblocks(pr, 0);
		blkid_probe_enable_partitions(pr, 1);
		probed = blkid_do_fullprobe(pr);
		list = probed ? NULL : blkid_probe_get_partitions(pr);
		table = list ? blkid_partlist_get_table(list) : NULL;
		if (probed < 0) {
			rc = XW_ERR_IO;
		} else if (table && blkid_parttable_get_type(table)) {
			copy_text(out->type, sizeof(out->type), blkid_parttable_get_type(table));
			set_bounds(out, fd, (uint64_t)XW_MAX(blkid_probe_get_size(pr), 0),
				   blkid_probe_get_sectorsize(pr));
			rc = copy_list(list, out);
		}
	}
	blkid_free_probe(pr);
	return rc;
}

/* The only partition of a protective MBR has this type. */
static bool has_protective_mbr(int fd)
{
	uint8_t b[SECTOR];

	if (pread(fd, b, sizeof(b), 0) != sizeof(b) || peek16(b + 510) != 0xAA55)
		return false;
	return b[450] == 0xEE || b[466] == 0xEE || b[482] == 0xEE || b[498] == 0xEE;
}

/*
 * libblkid refuses a GPT whose disk was cut, and finds only the protective MBR, or nothing. This
 * must not make its partitions free space.
 */
static void find_damaged_gpt(int fd, struct xw_partitions *out)
{
	static const unsigned sectors[] = {512, 1024, 2048, 4096};
	bool found = !strcmp(out->type, "PMBR") || (!*out->type && has_protective_mbr(fd));
	uint8_t h[GPT_HEADER];

	if (!found && *out->type)
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(sectors) && !found; i++)
		found = read_gpt_header(fd, 1, sectors[i], h);
	if (found)
		*out = (struct xw_partitions){.type = "gpt", .damaged = true};
}

int xw_partitions_read(int fd, struct xw_partitions *out)
{
	/* An image file does not tell the sector size of its disk, on which a GPT depends. */
	static const unsigned sectors[] = {4096, 1024, 2048};
	struct xw_partitions other;
	struct stat st;
	int rc;

	*out = (struct xw_partitions){.n = 0};
	rc = read_with(fd, 0, out);
	if (rc || out->n || fstat(fd, &st))
		return rc;
	for (size_t i = 0; S_ISREG(st.st_mode) && i < XW_ARRAY_SIZE(sectors) && !rc; i++) {
		other = (struct xw_partitions){.n = 0};
		rc = read_with(fd, sectors[i], &other);
		if (!rc && !strcmp(other.type, "gpt")) {
			xw_partitions_free(out);
			*out = other;
			return 0;
		}
		xw_partitions_free(&other);
	}
	if (!rc)
		find_damaged_gpt(fd, out);
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
	uint64_t gap = start >= p->first && start < p->last_end ? p->last_end : start;

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
