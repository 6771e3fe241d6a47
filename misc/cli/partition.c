/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/human.h"
#include "cli/partition.h"
#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "dev/partition.h"
#include "disk/super.h"
#include "plan/parse.h"

#define LIST_MAX 240

/* What a value of --partition is compared with. */
enum key { KEY_NUMBER, KEY_PARTUUID, KEY_PARTLABEL, KEY_UUID, KEY_LABEL, KEYS };

static const char *const key_names[KEYS] = {
	[KEY_PARTUUID] = "PARTUUID",
	[KEY_PARTLABEL] = "PARTLABEL",
	[KEY_UUID] = "UUID",
	[KEY_LABEL] = "LABEL",
};

/* Does the filesystem in a partition have this UUID or label? */
static bool holds_named(int fd, const struct xw_partition *p, enum key key, const char *value)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	if (pread(fd, buf, sizeof(buf), (off_t)(p->start + XW_SUPER_OFFSET)) != sizeof(buf) ||
	    xw_super_decode(buf, &sb))
		return false;
	if (key == KEY_UUID)
		return !strcasecmp(value, cli_uuid(sb.uuid).s);
	return strlen(value) <= sizeof(sb.volume_name) &&
	       !strncmp(value, sb.volume_name, sizeof(sb.volume_name));
}

static bool is_named(const struct xw_partition *p, int fd, enum key key, const char *value)
{
	uint64_t number;

	switch (key) {
	case KEY_NUMBER:
		return !xw_parse_u64(value, &number) && number == p->number;
	case KEY_PARTUUID:
		return !strcasecmp(value, p->uuid);
	case KEY_PARTLABEL:
		return !strcmp(value, p->name);
	default:
		return holds_named(fd, p, key, value);
	}
}

/* Count the partitions that match a key and its value; *out is the first match. */
static unsigned count_named(const struct xw_partitions *table, int fd, enum key key,
			    const char *value, const struct xw_partition **out)
{
	unsigned found = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct xw_partition *p = &table->v[i];

		if (*value && !p->container && is_named(p, fd, key, value) && !found++)
			*out = p;
	}
	return found;
}

/* NAME=VALUE is compared by one key; a bare value by all keys, up to the first with a match. */
static unsigned count_matches(const struct xw_partitions *table, int fd, const char *text,
			      const struct xw_partition **out)
{
	unsigned found = 0;

	for (enum key key = KEY_PARTUUID; key < KEYS; key++) {
		const size_t len = strlen(key_names[key]);

		if (!strncmp(text, key_names[key], len) && text[len] == '=')
			return count_named(table, fd, key, text + len + 1, out);
	}
	for (enum key key = KEY_NUMBER; key < KEYS && !found; key++)
		found = count_named(table, fd, key, text, out);
	return found;
}

static bool find(int fd, const struct xw_partitions *table, const char *name, uint64_t *start,
		 struct cli_partition_why *why)
{
	const struct xw_partition *p = NULL;
	char list[LIST_MAX];
	unsigned found;

	if (!*table->type) {
		snprintf(why->s, sizeof(why->s), "no partition table (--partition)");
		return false;
	}
	if (table->damaged) {
		snprintf(why->s, sizeof(why->s),
			 "the GPT is damaged or was cut: partition %.100s is unknown; restore the "
			 "table or the end of the disk first",
			 name);
		return false;
	}
	found = count_matches(table, fd, name, &p);
	/* Byte 0 stands for the whole disk, beyond the end of the partition. */
	if (found == 1 && !p->start) {
		snprintf(why->s, sizeof(why->s),
			 "partition %u begins at byte 0, together with the disk; copy it to a file",
			 p->number);
		return false;
	}
	if (found == 1) {
		*start = p->start;
		return true;
	}
	xw_partitions_text(table, list, sizeof(list));
	if (found)
		snprintf(why->s, sizeof(why->s),
			 "%u partitions are called %.100s; give the number: the %s partition "
			 "table has %s",
			 found, name, table->type, list);
	else
		snprintf(why->s, sizeof(why->s),
			 "no partition %.100s: the %s partition table has %s", name, table->type,
			 *list ? list : "none");
	return false;
}

bool cli_partition_find(const char *image, const char *name, uint64_t *start,
			struct cli_partition_why *why)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct xw_partitions table;
	bool found;
	int rc;

	if (fd < 0) {
		snprintf(why->s, sizeof(why->s), "cannot open: %s", strerror(errno));
		return false;
	}
	rc = xw_partitions_read(fd, &table);
	if (rc) {
		snprintf(why->s, sizeof(why->s), "%s the partition table",
			 rc == XW_ERR_IO ? "cannot read" : "out of memory reading");
		return false;
	}
	found = find(fd, &table, name, start, why);
	xw_partitions_free(&table);
	return found;
}

static bool has_magic(int fd, uint64_t offset)
{
	const uint64_t end = XW_SUPER_OFFSET + XW_SUPER_SIZE;
	uint8_t super[XW_SUPER_SIZE];

	return offset <= INT64_MAX - end &&
	       pread(fd, super, sizeof(super), (off_t)offset + XW_SUPER_OFFSET) == sizeof(super) &&
	       xw_super_has_magic(super);
}

bool cli_holds_ext(const char *image, uint64_t offset)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && has_magic(fd, offset);
}

bool cli_partition_hint(const char *image)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct xw_partitions table;
	char list[LIST_MAX];
	bool found;

	if (fd < 0 || has_magic(fd, 0) || xw_partitions_read(fd, &table))
		return false;
	xw_partitions_text(&table, list, sizeof(list));
	found = *list || table.damaged;
	if (table.damaged)
		cli_hint("it has a GPT that is damaged or was cut: its partitions are unknown");
	else if (*list)
		cli_hint("it has a %s partition table: --partition N selects a partition (%s)",
			 table.type, list);
	xw_partitions_free(&table);
	return found;
}
