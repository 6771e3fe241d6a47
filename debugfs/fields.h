/* SPDX-License-Identifier: MIT */
/*
 * Fields of on-disk structures by their names in debugfs(8): offset, width, and format of values.
 */
#ifndef XW_DEBUGFS_FIELDS_H
#define XW_DEBUGFS_FIELDS_H

#include "debugfs.h"

enum field_kind {
	FIELD_UINT,
	FIELD_INT,
	FIELD_TIME, /* in seconds; the high part has bits 32 and up */
	FIELD_ITIME, /* of an inode: the low 2 bits of the high part are bits 32 and 33 */
	FIELD_STRING,
	FIELD_UUID,
	FIELD_HASH, /* name of a directory hash */
	FIELD_OWN, /* handled by the verb; width 0 */
};

struct field {
	const char *name; /* of an array: without the index */
	enum field_kind kind;
	uint16_t off, width; /* in bytes */
	uint16_t hi_off, hi_width; /* of the high part; 0: none */
	uint16_t count; /* elements of an array; 0: none */
};

struct field_table {
	const char *of; /* the structure, in the heading of the list */
	const char *command; /* the verb, in the heading of the list */
	const char *prefix; /* optional before each name: the prefix in the kernel's structure */
	const struct field *fields;
	size_t n;
};

extern const struct field_table inode_fields, super_fields, group_fields, mmp_fields;

/* What a name refers to. */
struct field_ref {
	const struct field *f;
	enum { FIELD_WHOLE, FIELD_LO, FIELD_HI } part;
	bool cut; /* part is FIELD_LO because the structure has no room for the high part */
	uint32_t index; /* of an array's element */
};

/*
 * Find "NAME", "NAME_lo", "NAME_hi" or "NAME[INDEX]", with or without the prefix, in a structure of
 * `size` bytes. XW_ERR_USAGE: no such field, or it lies beyond that size.
 */
int field_find(struct dbg *d, const struct field_table *t, size_t size, const char *name,
	       struct field_ref *out);
/* Set a field. XW_ERR_USAGE: invalid value; the structure is unchanged. */
int field_set(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value);
/* Value of a numeric field. */
uint64_t field_get(const struct field_ref *ref, const uint8_t *buf);
/* Names of directory hashes by s_def_hash_version. */
#define FIELD_HASHES 7
extern const char *const field_hashes[FIELD_HASHES];
/* Print the list of option -l. */
void field_list(struct dbg *d, const struct field_table *t);
/* The earliest and the latest time of an inode with extra fields, in seconds since 1970. */
#define FIELD_ITIME_MIN INT64_C(-0x80000000)
#define FIELD_ITIME_MAX INT64_C(0x37fffffff)
/* "now", "@SECONDS", "YYYYMMDD[HH[MM[SS]]]" (UTC), or a number. XW_ERR_USAGE, without a message. */
int field_time(const struct dbg *d, const char *text, int64_t *out);

#endif
