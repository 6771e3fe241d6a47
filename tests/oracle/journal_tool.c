/* SPDX-License-Identifier: MIT */
/*
 * What tests/oracle/journal.sh drives:
 *
 *   journal_tool recover IMAGE [salvage] [unasked]
 *      journal recovery in place, and what it found as one line
 *   journal_tool compare A B
 *      equal but for superblock fields that any writer of a superblock updates in its own way: the
 *      times of writing and checking, kilobytes written, checksum
 *   journal_tool shutdown DIR
 *      stop the ext4 filesystem mounted there as a power cut would, after its log is written
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/types.h"
#include "dev/dev.h"
#include "session/journal.h"

#define IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#define SHUTDOWN_LOGFLUSH 1
#define PART (1u << 20)

static int recover(const char *path, unsigned flags)
{
	struct xw_diag diag = {0};
	struct xw_journal_info info = {0};
	struct xw_dev *dev;
	int rc = xw_dev_open_file(path, 0, &diag, &dev);

	if (!rc) {
		rc = xw_journal_recover(dev, flags, &diag, &info);
		xw_dev_close(dev);
	}
	printf("rc %d needed %d transactions %u blocks %llu revoked %llu bad %llu%s%s\n", rc,
	       info.needed, info.transactions, (unsigned long long)info.blocks,
	       (unsigned long long)info.revoked, (unsigned long long)info.bad, rc ? ": " : "",
	       rc ? diag.text : "");
	return rc != 0;
}

static bool may_differ(uint64_t off)
{
	static const struct {
		unsigned off, len;
	} fields[] = {{0x30, 4}, {0x40, 4}, {0x178, 8}, {0x274, 4}, {0x3FC, 4}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++)
		if (off >= 1024 + fields[i].off && off < 1024 + fields[i].off + fields[i].len)
			return true;
	return false;
}

static int compare(const char *a, const char *b)
{
	static unsigned char x[PART], y[PART];
	FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
	uint64_t off = 0;
	int different = 0;
	size_t n, m;

	if (!fa || !fb)
		return 2;
	do {
		n = fread(x, 1, PART, fa);
		m = fread(y, 1, PART, fb);
		different += n != m;
		if (memcmp(x, y, XW_MIN(n, m)) != 0)
			for (size_t i = 0; i < n && i < m; i++)
				if (x[i] != y[i] && !may_differ(off + i) && different++ < 20)
					printf("byte %llu: %02x %02x\n",
					       (unsigned long long)(off + i), x[i], y[i]);
		off += n;
	} while (n && m);
	fclose(fa);
	fclose(fb);
	return different != 0;
}

static int shut_down(const char *dir)
{
	uint32_t how = SHUTDOWN_LOGFLUSH;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || ioctl(fd, IOC_SHUTDOWN, &how)) {
		perror(dir);
		return 1;
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned flags = 0;

	if (argc == 4 && !strcmp(argv[1], "compare"))
		return compare(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "shutdown"))
		return shut_down(argv[2]);
	if (argc < 3 || strcmp(argv[1], "recover") != 0)
		return 2;
	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "salvage"))
			flags |= XW_REPLAY_SALVAGE;
		else if (!strcmp(argv[i], "unasked"))
			flags |= XW_REPLAY_UNASKED;
		else
			return 2;
	}
	return recover(argv[2], flags);
}
