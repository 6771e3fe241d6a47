/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/partition.h"
#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/endian.h"
#include "dev/partition.h"
#include "disk/super.h"
#include "plan/parse.h"

/* Offset of s_magic in the device. */
#define MAGIC_AT (XW_SUPER_OFFSET + 56)
#define LIST_MAX 240

/* Print a failure about the image; at most a sentence, so cut rather than allocated. */
static int fail(const struct cli_line *l, const char *image, const char *what)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s: %s", image, what);
	cli_line_failed(l, line);
	return EXIT_FAILED;
}

static int find(const struct cli_line *l, const char *image, const struct xw_partitions *table,
		uint64_t *start)
{
	char list[LIST_MAX], what[LIST_MAX + 128];
	const struct xw_partition *p;
	uint64_t number;

	if (xw_parse_u64(l->partition, &number) || !number || number > UINT32_MAX) {
		cli_error("--partition %s: not the number of a partition", l->partition);
		return EXIT_USAGE;
	}
	if (!*table->type)
		return fail(l, image, "no partition table (--partition)");
	p = xw_partition_number(table, (unsigned)number);
	if (p) {
		*start = p->start;
		return -1;
	}
	xw_partitions_text(table, list, sizeof(list));
	snprintf(what, sizeof(what), "no partition %u: the %s partition table has %s",
		 (unsigned)number, table->type, *list ? list : "none");
	return fail(l, image, what);
}

int cli_partition_find(const struct cli_line *l, const char *image, uint64_t *start)
{
	const int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct xw_partitions table;
	char what[128];
	int status;

	if (fd < 0) {
		snprintf(what, sizeof(what), "cannot open: %s", strerror(errno));
		return fail(l, image, what);
	}
	if (xw_partitions_read(fd, &table))
		status = fail(l, image, "out of memory reading the partition table");
	else
		status = find(l, image, &table, start);
	xw_partitions_free(&table);
	close(fd);
	return status;
}

void cli_partition_hint(const char *image)
{
	const int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct xw_partitions table;
	char list[LIST_MAX];
	uint8_t magic[2];

	if (fd < 0)
		return;
	if (pread(fd, magic, sizeof(magic), MAGIC_AT) == sizeof(magic) &&
	    peek16(magic) != XW_SUPER_MAGIC && !xw_partitions_read(fd, &table)) {
		xw_partitions_text(&table, list, sizeof(list));
		if (*list)
			cli_hint("it has a %s partition table: --partition N selects one (%s)",
				 table.type, list);
		xw_partitions_free(&table);
	}
	close(fd);
}
