/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: mke2fs.conf(5). An even first byte makes the rest choose words of the syntax and of
 * its relations, or hardly any input would get past the first line; an odd one (like '[') means the
 * input is the text. Properties: a failure has a line that names file and line, and parameters that
 * come out are within the format's bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/params.h"
#include "plan/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "fuzz_plan: %s (line %d)\n", #x, __LINE__);                \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static const char *const words[] = {
	"\n[defaults]\n",
	"\n[fs_types]\n",
	"\n[devices]\n",
	"\next4 = {\n",
	"\nsmall = {\n",
	"\nx =\n{\n",
	"\n}\n",
	"}",
	"{",
	"=",
	"\"",
	"\\",
	"#",
	";",
	"*",
	"\n",
	" ",
	"[",
	"]",
	"\nblocksize = ",
	"\ninode_size = ",
	"\ninode_ratio = ",
	"\nfeatures = ",
	"\nbase_features = ",
	"\ndefault_features = ",
	"\nreserved_ratio = ",
	"\nflex_bg_size = ",
	"\nerrors = ",
	"\nhash_alg = ",
	"\noptions = ",
	"\ndefault_mntopts = ",
	"\nenable_periodic_fsck = ",
	"\ncluster_size = ",
	"\nfs_type = ",
	"\nusage_types = ",
	"\nauto_64-bit_support = ",
	"\ncreator_os = ",
	"\nimg = {\n",
	"extent",
	",",
	"^",
	"-1",
	"1024",
	"4096",
	"0",
	"8",
	"99999999999999999999",
	"yes",
	"no",
	"has_journal",
	"bigalloc",
	"flex_bg",
	"tea",
	"panic",
	"stride=4",
	"acl",
	"small",
	"x",
	"ext4",
};

static size_t spell(const uint8_t *data, size_t size, char *text, size_t room)
{
	size_t len = 0;

	for (size_t i = 0; i < size; i++) {
		const char *word = words[data[i] % XW_ARRAY_SIZE(words)];
		size_t n = strlen(word);

		if (n > room - len)
			break;
		memcpy(text + len, word, n);
		len += n;
	}
	return len;
}

static void check(const char *text, size_t len, const char *type)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	int err;

	xw_params_init(&p);
	p.target = "img";
	err = xw_params_set_config(&p, "conf", text, len, &diag);
	MUST(!err || !strncmp(diag.text, "conf:", 5));
	if (!err && type)
		err = xw_params_set(&p, XW_MKFS_USAGE, type, &diag);
	if (!err)
		err = xw_params_set(&p, XW_MKFS_SIZE, "64M", &diag);
	if (!err)
		err = xw_params_check(&p, &diag);
	if (!err)
		err = xw_params_finish(&p, 0, &diag);
	MUST(!err == !*diag.text);
	if (!err) {
		MUST(p.block_size >= 1024 && p.block_size <= XW_BLOCK_SIZE_MAX);
		MUST(!(p.block_size & (p.block_size - 1)) && p.inode_size >= 128);
		MUST(p.inode_size <= p.block_size && p.bytes_per_inode >= 1024);
		MUST(p.reserved_percent >= 0 && p.reserved_percent <= 50);
		MUST(p.errors >= 1 && p.errors <= 3 && p.flex_size && p.hash_version <= 2);
	}
	xw_params_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[8192];
	size_t len;

	if (!size)
		return 0;
	if (data[0] % 2) {
		check((const char *)data, size, NULL);
		return 0;
	}
	len = spell(data + 1, size - 1, text, sizeof(text));
	check(text, len, data[0] % 4 ? "x" : NULL);
	return 0;
}
