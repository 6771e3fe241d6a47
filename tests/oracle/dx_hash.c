/* SPDX-License-Identifier: MIT */
/*
 * Oracle test: the dx hash of many random names against stock debugfs's dx_hash command, for every
 * version and signedness, with and without a seed, lengths 1 to 255, bytes from the whole range a
 * command line can carry.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "disk/dx_hash.h"
#include "tmp.h"

#define ROUNDS 4 /* random names of each length, per version and seed */

static const char *const seeds[] = {NULL, "01020304-8506-0708-f90a-0b0c0d0e0f10"};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Any byte but those that mean something to debugfs's command parser. */
static void random_name(uint64_t *state, char *buf, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int c;

		do
			c = (int)(next_random(state) & 0xFF);
		while (c <= ' ' || c == '"' || c == 0x7F || (i == 0 && (c == '-' || c == '#')));
		buf[i] = (char)c;
	}
	buf[len] = '\0';
}

static void parse_seed(const char *uuid, uint32_t seed[4])
{
	uint8_t bytes[16] = {0};
	int n = 0;

	for (const char *p = uuid; p && *p && n < 16;) {
		unsigned v;

		if (*p == '-') {
			p++;
			continue;
		}
		if (sscanf(p, "%2x", &v) != 1)
			abort();
		bytes[n++] = (uint8_t)v;
		p += 2;
	}
	for (int i = 0; i < 4; i++)
		seed[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
			  (uint32_t)bytes[4 * i + 2] << 16 | (uint32_t)bytes[4 * i + 3] << 24;
}

/* Compare debugfs's answers in f with ours; returns how many differ. */
static unsigned compare(FILE *f, int version, const char *uuid, unsigned *seen)
{
	uint32_t seed[4] = {0}, major, minor;
	char line[1024], name[512];
	unsigned bad = 0;

	parse_seed(uuid, seed);
	*seen = 0;
	while (fgets(line, sizeof(line), f)) {
		struct xw_dx_hash h;
		char *is, *start = strstr(line, "Hash of ");

		if (start != line)
			continue;
		for (is = NULL, start += 8; (start = strstr(start, " is 0x")); start++)
			is = start;
		if (!is ||
		    sscanf(is, " is 0x%" SCNx32 " (minor 0x%" SCNx32 ")", &major, &minor) != 2)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(is - line - 8), line + 8);
		(*seen)++;
		if (xw_dx_hash((enum xw_dx_version)version, seed, name, strlen(name), &h) ||
		    h.major != major || h.minor != minor) {
			if (!bad++)
				printf("# version %d, %zu bytes: 0x%" PRIx32 "/0x%" PRIx32
				       " here, 0x%" PRIx32 "/0x%" PRIx32 " there\n",
				       version, strlen(name), h.major, h.minor, major, minor);
		}
	}
	return bad;
}

static bool run_case(const char *dir, int version, const char *uuid)
{
	char cmds[256], shell[600], name[256];
	uint64_t state = 77u + (unsigned)version;
	unsigned seen = 0, bad;
	FILE *f;

	snprintf(cmds, sizeof(cmds), "%s/cmds", dir);
	f = fopen(cmds, "w");
	if (!f)
		return false;
	for (size_t len = 1; len <= 255; len++) {
		for (int i = 0; i < ROUNDS; i++) {
			random_name(&state, name, len);
			fprintf(f, "dx_hash -h %d %s%s %s\n", version, uuid ? "-s " : "",
				uuid ? uuid : "", name);
		}
	}
	fclose(f);
	snprintf(shell, sizeof(shell), "debugfs -f '%s' 2>/dev/null", cmds);
	f = popen(shell, "r");
	if (!f)
		return false;
	bad = compare(f, version, uuid, &seen);
	pclose(f);
	unlink(cmds);
	if (seen != 255 * ROUNDS)
		printf("# debugfs answered %u of %u\n", seen, 255 * ROUNDS);
	return !bad && seen == 255 * ROUNDS;
}

int main(void)
{
	char dir[64];
	unsigned n = 0;

	if (system("PATH=$PATH:/sbin:/usr/sbin; command -v debugfs >/dev/null 2>&1")) {
		puts("1..0 # SKIP debugfs is not installed");
		return 0;
	}
	if (setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1) ||
	    !mkdtemp(tmp_template(dir, sizeof(dir), "xw-dxhash")))
		return 99;
	printf("1..%zu\n", 6 * XW_ARRAY_SIZE(seeds));
	for (int version = 0; version < 6; version++) {
		for (size_t s = 0; s < XW_ARRAY_SIZE(seeds); s++) {
			bool ok = run_case(dir, version, seeds[s]);

			printf("%s %u - dx_hash version %d, seed %s\n", ok ? "ok" : "not ok", ++n,
			       version, seeds[s] ? seeds[s] : "built in");
		}
	}
	rmdir(dir);
	return 0;
}
