/* SPDX-License-Identifier: MIT */
/*
 * Bits: the kernel's "ext4 Data Structures", s_default_mount_opts. The data journaling mode is a
 * number of two bits, every other option is one bit.
 */
#include "plan/mntopts.h"

#include <string.h>

#include "plan/features.h"

static const struct {
	const char *name;
	uint32_t bits, mask;
} rows[] = {
	{"debug", 0x0001, 0x0001},
	{"bsdgroups", 0x0002, 0x0002},
	{"user_xattr", XW_MNTOPT_XATTR_USER, XW_MNTOPT_XATTR_USER},
	{"acl", XW_MNTOPT_ACL, XW_MNTOPT_ACL},
	{"uid16", 0x0010, 0x0010},
	{"journal_data", 0x0020, 0x0060},
	{"journal_data_ordered", 0x0040, 0x0060},
	{"journal_data_writeback", 0x0060, 0x0060},
	{"nobarrier", 0x0100, 0x0100},
	{"block_validity", 0x0200, 0x0200},
	{"discard", 0x0400, 0x0400},
	{"nodelalloc", 0x0800, 0x0800},
};

int xw_mntopt_find(const char *name, size_t len, uint32_t *bits, uint32_t *mask)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].name) != len || memcmp(rows[i].name, name, len))
			continue;
		*bits = rows[i].bits;
		*mask = rows[i].mask;
		return 0;
	}
	return XW_ERR_NOTFOUND;
}

static int apply_word(uint32_t *opts, const char *what, const char *word, size_t len,
		      struct xw_diag *diag)
{
	bool clear = *word == '^' || *word == '-';
	size_t sign = clear || *word == '+';
	uint32_t bits, mask;

	if (xw_mntopt_find(word + sign, len - sign, &bits, &mask))
		return xw_fail(diag, XW_ERR_USAGE, "%s %.*s: no such default mount option", what,
			       (int)XW_MIN(len, 80), word);
	if (!clear)
		*opts = (*opts & ~mask) | bits;
	else if ((*opts & mask) == bits)
		*opts &= ~mask;
	return 0;
}

int xw_mntopts_apply(uint32_t *opts, const char *what, const char *list, struct xw_diag *diag)
{
	const char *word;
	size_t len;

	while ((word = xw_list_word(&list, &len))) {
		int rc = apply_word(opts, what, word, len, diag);

		if (rc)
			return rc;
	}
	return 0;
}
