// SPDX-License-Identifier: MIT
/*
 * What xw-fsck says of a whole filesystem, and of its progress: counts in, lines out, as e2fsck
 * words them. The bar is drawn on a terminal of a certain width.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "say/say.h"
#include "unit.h"

static struct fsck f;

static struct say say;

/* finding.c */
void say_counted(const struct say *s)
{
	(void)s;
	printf("(counted)\n");
}

/* changes.c */
void say_changes(const struct say *s, const struct fsck *told)
{
	(void)s;
	(void)told;
	printf("(changes)\n");
}

static const struct fsck_reporter reporter = {
	.pass = say_pass,
	.pass_end = say_pass_end,
	.progress = say_progress,
	.heading = say_heading,
};

/* ---- what was written to a descriptor ---- */

struct taken {
	int fd, was;
	FILE *file;
	char text[4096];
};

static void take(struct taken *t, int fd)
{
	fflush(NULL);
	t->fd = fd;
	t->was = dup(fd);
	t->file = tmpfile();
	ck_assert_ptr_nonnull(t->file);
	ck_assert_int_eq(dup2(fileno(t->file), fd), fd);
}

static const char *taken(struct taken *t)
{
	size_t n;

	fflush(NULL);
	ck_assert_int_eq(dup2(t->was, t->fd), t->fd);
	close(t->was);
	rewind(t->file);
	n = fread(t->text, 1, sizeof(t->text) - 1, t->file);
	t->text[n] = '\0';
	fclose(t->file);
	return t->text;
}

static void start(enum fsck_mode mode)
{
	memset(&f, 0, sizeof(f));
	f.opts.mode = mode;
	f.opts.image = "img";
	f.ses.to = &reporter;
	f.ses.to_arg = &say;
	memset(&say, 0, sizeof(say));
	say.progress.fd = -1;
}

/* ---- the end ---- */

static const struct fsck_summary counts = {
	.inodes = 150,
	.inodes_count = 400,
	.blocks = 1000,
	.blocks_count = 4096,
	.valid = true,
	.counts = {.regular = 40,
		   .dirs = 30,
		   .char_devices = 5,
		   .block_devices = 6,
		   .fifos = 7,
		   .links = 8,
		   .symlinks = 20,
		   .fast_symlinks = 15,
		   .sockets = 9,
		   .ea_inodes = 3,
		   .fragmented = 12,
		   .fragmented_dirs = 3,
		   .indirect = {4, 2, 1},
		   .by_depth = {11, 5, 0, 7},
		   .bad_blocks = 2,
		   .large_files = 13,
		   .itrees = 14},
};

#define LAST_LINES                                                                                 \
	"          40 regular files\n"                                                             \
	"          30 directories\n"                                                               \
	"           5 character device files\n"                                                    \
	"           6 block device files\n"                                                        \
	"           7 fifos\n"                                                                     \
	"           8 links\n"                                                                     \
	"          20 symbolic links (15 fast symbolic links)\n"                                   \
	"           9 sockets\n"                                                                   \
	"------------\n"                                                                           \
	"         122 files\n"

static const char many[] = "(counted)\n\n"
			   "         150 inodes used (37.50%, out of 400)\n"
			   "          12 non-contiguous files (8.0%)\n"
			   "           3 non-contiguous directories (2.0%)\n"
			   "             # of inodes with ind/dind/tind blocks: 4/2/1\n"
			   "             Extent depth histogram: 11/5\n"
			   "        1000 blocks used (24.41%, out of 4096)\n"
			   "           2 bad blocks\n"
			   "          13 large files\n"
			   "          14 directories with inode-ordered trees\n\n" LAST_LINES;

static const char one[] = "(counted)\n\n"
			  "           1 inode used (100.00%, out of 1)\n"
			  "           1 non-contiguous file (100.0%)\n"
			  "           1 non-contiguous directory (100.0%)\n"
			  "             # of inodes with ind/dind/tind blocks: 0/0/0\n"
			  "           1 block used (100.00%, out of 1)\n"
			  "           1 bad block\n"
			  "           1 large file\n"
			  "           1 directory with an inode-ordered tree\n\n"
			  "           1 regular file\n"
			  "           1 directory\n"
			  "           1 character device file\n"
			  "           1 block device file\n"
			  "           1 fifo\n"
			  "           1 link\n"
			  "           1 symbolic link (1 fast symbolic link)\n"
			  "           1 socket\n"
			  "------------\n"
			  "           1 file\n";

static const char none[] = "(counted)\n\n"
			   "           0 inodes used (0.00%, out of 0)\n"
			   "           0 non-contiguous files (0.0%)\n"
			   "           0 non-contiguous directories (0.0%)\n"
			   "             # of inodes with ind/dind/tind blocks: 0/0/0\n"
			   "             Extent depth histogram: 0\n"
			   "           0 blocks used (0.00%, out of 0)\n"
			   "           0 bad blocks\n"
			   "           0 large files\n\n"
			   "           0 regular files\n"
			   "           0 directories\n"
			   "           0 character device files\n"
			   "           0 block device files\n"
			   "           0 fifos\n"
			   "           0 links\n"
			   "           0 symbolic links (0 fast symbolic links)\n"
			   "           0 sockets\n"
			   "------------\n"
			   "           0 files\n";

static const char *said_at_end(const struct fsck_summary *s, bool modified)
{
	static struct taken t;
	const struct fsck_outcome o = {.committed = modified};

	take(&t, STDOUT_FILENO);
	f.ses.findings.modified = modified;
	say_end(&say, &f, &o, s);
	return taken(&t);
}

START_TEST(statistics)
{
	struct fsck_summary s = {.inodes = 1, .inodes_count = 1, .blocks = 1, .blocks_count = 1};

	start(FSCK_YES);
	say.verbose = true;
	ck_assert_str_eq(said_at_end(&counts, false), many);
	s.valid = true;
	s.counts = (struct fsck_counts){
		.regular = 1, .dirs = 1, .char_devices = 1, .block_devices = 1};
	s.counts.fifos = s.counts.links = s.counts.symlinks = s.counts.fast_symlinks = 1;
	s.counts.sockets = s.counts.fragmented = s.counts.fragmented_dirs = 1;
	s.counts.bad_blocks = s.counts.large_files = s.counts.itrees = 1;
	s.counts.ea_inodes = 7; /* the total is theirs, too */
	ck_assert_str_eq(said_at_end(&s, false), one);
	s = (struct fsck_summary){.valid = true, .counts = {.by_depth = {[5] = 1}}};
	ck_assert_str_eq(said_at_end(&s, false), none);
}
END_TEST

static const struct {
	enum fsck_mode mode;
	bool modified, reboot, valid, stop;
	uint64_t found, left;
	const char *says;
} ends[] = {
#define COUNTS "img: 150/400 files (10.0% non-contiguous), 1000/4096 blocks\n"
#define MODIFIED "\nimg: ***** FILE SYSTEM WAS MODIFIED *****\n"
#define ERRORS "\nimg: ********** WARNING: Filesystem still has errors **********\n\n"
	{FSCK_YES, false, false, true, false, 0, 0, COUNTS},
	{FSCK_YES, true, false, true, false, 5, 0, MODIFIED COUNTS},
	{FSCK_YES, true, true, true, false, 5, 0,
	 MODIFIED "img: ***** REBOOT SYSTEM *****\n" COUNTS},
	{FSCK_YES, true, false, true, false, 5, 1, MODIFIED ERRORS COUNTS},
	{FSCK_NO, false, false, true, false, 5, 1, ERRORS COUNTS},
	{FSCK_YES, false, false, false, false, 5, 0, ERRORS},
	{FSCK_YES, false, false, false, false, 0, 0, ""},
	{FSCK_YES, false, false, true, true, 0, 0, ""},
	{FSCK_PREEN, true, false, true, false, 5, 1, COUNTS},
	{FSCK_PREEN, true, true, true, false, 5, 1, "img: ***** REBOOT SYSTEM *****\n" COUNTS},
};

START_TEST(last_lines)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(ends); i++) {
		struct fsck_summary s = counts;
		/* what was changed is said of changes that were made, or with -n would be */
		const bool listed = ends[i].found && (ends[i].modified || ends[i].mode == FSCK_NO);
		const char *const before = listed ? "(counted)\n(changes)\n" : "(counted)\n";
		const char *said;

		start(ends[i].mode);
		f.ses.findings.reboot = ends[i].reboot;
		f.ses.findings.found = ends[i].found;
		f.ses.findings.left = ends[i].left;
		f.ses.stop = ends[i].stop;
		s.valid = ends[i].valid;
		said = said_at_end(&s, ends[i].modified);
		ck_assert_msg(!strncmp(said, before, strlen(before)) &&
				      !strcmp(said + strlen(before), ends[i].says),
			      "mode %d, found %u, left %u: %s", ends[i].mode,
			      (unsigned)ends[i].found, (unsigned)ends[i].left, said);
	}
}
END_TEST

static const struct {
	uint32_t mounts;
	const char *says;
} next[] = {
	{0, ""},
	{1, " (check after next mount)"},
	{2, " (check in 2 mounts)"},
	{5, " (check in 5 mounts)"},
	{6, ""},
};

START_TEST(clean)
{
	struct taken t;
	char want[128];

	for (size_t i = 0; i < XW_ARRAY_SIZE(next); i++) {
		struct fsck_summary s = counts;

		start(FSCK_YES);
		s.mounts_left = next[i].mounts;
		take(&t, STDOUT_FILENO);
		say_clean(&f, &s);
		snprintf(want, sizeof(want), "img: clean, 150/400 files, 1000/4096 blocks%s\n",
			 next[i].says);
		ck_assert_str_eq(taken(&t), want);
	}
}
END_TEST

/* ---- progress ---- */

/* Shares of the bar at the start, at a quarter and at the end of each pass: those of e2fsck. */
static const double shares[FSCK_PASSES][3] = {
	{0, 17.5, 70}, {70, 75, 90}, {90, 90.5, 92}, {92, 92.8, 95}, {95, 96.25, 100},
};

/* The bar as it is drawn: width characters, so many of them filled. */
static void bar(char *out, size_t size, const char *name, int width, double percent)
{
	const int fill = (int)(width * percent / 100);
	const size_t n = (size_t)snprintf(
		out, size, "\r\033[K%s: |%.*s%*s| %.1f%% ", name, fill,
		"============================================================", width - fill, "",
		percent);

	ck_assert_uint_lt(n, size);
}

/* Draw it at done of `of` in a pass. */
static const char *drawn(unsigned pass, uint64_t done, uint64_t of)
{
	static struct taken t;

	say.progress.bar = stderr;
	say.progress.open = say.progress.close = "";
	say.progress.on = true;
	say.progress.pass = pass;
	say.progress.reported = 12345;
	say.progress.drawn_at = 0;
	say.progress.drawn = false;
	take(&t, STDERR_FILENO);
	fsck_progress(&f, done, of);
	return taken(&t);
}

START_TEST(bars)
{
	char want[256];

	start(FSCK_YES);
	for (unsigned pass = 1; pass <= FSCK_PASSES; pass++)
		for (unsigned k = 0; k < 3; k++) {
			bar(want, sizeof(want), "img", 60, shares[pass - 1][k]);
			ck_assert_str_eq(drawn(pass, (uint64_t[]){0, 100, 400}[k], 400), want);
			ck_assert(say.progress.drawn);
		}
	bar(want, sizeof(want), "img", 60, 70);
	ck_assert_str_eq(drawn(1, 500, 400), want); /* more than there is */
	ck_assert_str_eq(drawn(1, 0, 0), want);
	bar(want, sizeof(want), "img", 60, 0);
	ck_assert_str_eq(drawn(0, 1, 2), want);
	/* a long image name is cut to 40 characters, and the progress bar gets shorter */
	f.opts.image = "a-name-of-an-image-that-is-longer-than-forty-characters";
	bar(want, sizeof(want), "a-name-of-an-image-that-is-longer-than-f", 24, 35);
	ck_assert_str_eq(drawn(1, 200, 400), want);
}
END_TEST

static const struct {
	unsigned short columns;
	int width; /* of the bar; 0: none */
} widths[] = {
	{200, 60}, {79, 60}, {78, 59}, {24, 5}, {23, 0}, {10, 0}, {0, 60},
};

START_TEST(terminals)
{
	char want[256], got[256];
	int master, slave, was;

	for (size_t i = 0; i < XW_ARRAY_SIZE(widths); i++) {
		struct winsize ws = {.ws_row = 24, .ws_col = widths[i].columns};
		ssize_t n = 0;

		start(FSCK_YES);
		say.progress.bar = stderr;
		say.progress.open = say.progress.close = "";
		say.progress.on = true;
		say.progress.pass = 2;
		master = posix_openpt(O_RDWR | O_NOCTTY);
		ck_assert(!grantpt(master) && !unlockpt(master));
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
		ck_assert(!ioctl(slave, TIOCSWINSZ, &ws));
		was = dup(STDERR_FILENO);
		fflush(NULL);
		dup2(slave, STDERR_FILENO);
		fsck_progress(&f, 1, 2);
		dup2(was, STDERR_FILENO);
		close(was);
		want[0] = '\0';
		if (widths[i].width)
			bar(want, sizeof(want), "img", widths[i].width, 80);
		/* A terminal passes on each write by itself, and may do so late. */
		while (say.progress.drawn &&
		       (n < (ssize_t)strlen(want) ||
			poll(&(struct pollfd){.fd = master, .events = POLLIN}, 1, 0) > 0)) {
			const ssize_t more = read(master, got + n, sizeof(got) - 1 - (size_t)n);

			ck_assert_int_gt(more, 0);
			n += more;
		}
		close(master);
		close(slave);
		got[n] = '\0';
		ck_assert_msg(!strcmp(got, want), "%u columns: %s", widths[i].columns, got);
	}
}
END_TEST

/* What keeps the bar away. */
START_TEST(no_bar)
{
	start(FSCK_YES);
	say.progress_fd = -1; /* not asked for: none in the first second */
	say.progress.began = 1e12;
	ck_assert_str_eq(drawn(1, 1, 2), "");
	say.progress.began = 0;
	ck_assert_str_ne(drawn(1, 1, 2), "");
	f.round.number = 1;
	ck_assert_str_eq(drawn(1, 1, 2), "");
	f.round.number = 0;
	say.progress.bar = NULL;
	say.progress.drawn = false;
	say.progress.on = false;
	say.progress.reported = 12345;
	fsck_progress(&f, 1, 2);
	ck_assert_uint_eq(say.progress.reported, 12345);
	say.progress.on = true;
	fsck_progress(&f, 1, 2);
	ck_assert_uint_eq(say.progress.reported, 500);
	say.progress.bar = stderr;
	say.progress.drawn_at = 1e12; /* just before */
	fsck_progress(&f, 3, 4);
	ck_assert(!say.progress.drawn);
}
END_TEST

START_TEST(lines)
{
	struct taken t;
	FILE *to = tmpfile();
	int fds[2];

	start(FSCK_YES);
	say.progress.on = true;
	say.progress.pass = 3;
	take(&t, fileno(to));
	say.progress.fd = fileno(to);
	fsck_progress(&f, 0, 5000);
	fsck_progress(&f, 1, 5000); /* less than one per mille */
	fsck_progress(&f, 5, 5000);
	fsck_progress(&f, 9, 5000);
	fsck_progress(&f, 10, 5000);
	fsck_progress(&f, 5000, 5000);
	fsck_progress(&f, 5000, 5000); /* the end is told however often */
	fsck_progress(&f, 0, 5000);
	ck_assert_str_eq(taken(&t), "3 0 5000 img\n3 5 5000 img\n3 10 5000 img\n3 5000 5000 img\n"
				    "3 5000 5000 img\n3 0 5000 img\n");
	fclose(to);
	say.progress.fd = 999; /* closed by whoever reads */
	say.progress.pass = 1;
	fsck_progress(&f, 0, 1);
	ck_assert_int_eq(say.progress.fd, -1);
	/* a reader that has gone is no reason to die of SIGPIPE */
	ck_assert(!pipe(fds));
	close(fds[0]);
	say.progress.fd = fds[1];
	fsck_progress(&f, 0, 1);
	ck_assert_int_eq(say.progress.fd, -1);
	close(fds[1]);
}
END_TEST

/* With -C 0 into a pipe, as to logsave(8): on standard output, between marks. */
START_TEST(marks)
{
	char line[256], want[300];
	struct taken t;

	start(FSCK_YES);
	take(&t, STDOUT_FILENO);
	say_progress_init(&say);
	say.progress.pass = 5;
	fsck_progress(&f, 1, 1);
	say_wipe(&say);
	bar(line, sizeof(line), "img", 60, 100);
	snprintf(want, sizeof(want), "\001%s\002\001\r\033[K\002", line);
	ck_assert_str_eq(taken(&t), want);
}
END_TEST

/* SIGUSR1 switches reports on, SIGUSR2 off, which wipes the bar. */
START_TEST(signals)
{
	struct taken t;

	start(FSCK_YES);
	say.progress_late = true;
	say.progress_fd = 77;
	say_progress_init(&say);
	ck_assert(!say.progress.on);
	ck_assert(!say.progress.bar);
	ck_assert_int_eq(say.progress.fd, 77);
	raise(SIGUSR1);
	fsck_progress(&f, 1, 2);
	ck_assert(say.progress.on);
	say.progress.looked_at = 0;
	say.progress.bar = stderr;
	say.progress.drawn = true;
	take(&t, STDERR_FILENO);
	raise(SIGUSR2);
	fsck_progress(&f, 1, 2);
	ck_assert_str_eq(taken(&t), "\r\033[K");
	ck_assert(!say.progress.on);
	ck_assert(!say.progress.drawn);
	take(&t, STDERR_FILENO);
	say_wipe(&say);
	ck_assert_str_eq(taken(&t), "");
	say.progress.looked_at = 1e12; /* not more often than due */
	raise(SIGUSR1);
	fsck_progress(&f, 1, 2);
	ck_assert(!say.progress.on);
	ck_assert(!f.ses.stop);
	start(FSCK_YES);
	say_progress_init(&say);
	ck_assert(say.progress.on);
	ck_assert_int_eq(say.progress.fd, -1);
}
END_TEST

/* ---- headings of passes ---- */

static const struct {
	enum fsck_mode mode;
	bool json, quiet, verbose;
	unsigned round, pass;
	const char *says;
} headings[] = {
	{FSCK_YES, false, false, false, 0, 1, "Pass 1: Checking inodes, blocks, and sizes\n"},
	{FSCK_NO, false, false, false, 0, 2, "Pass 2: Checking directory structure\n"},
	{FSCK_NO, false, false, false, 0, 3, "Pass 3: Checking directory connectivity\n"},
	{FSCK_NO, false, false, false, 0, 4, "Pass 4: Checking reference counts\n"},
	{FSCK_NO, false, false, false, 0, 5, "Pass 5: Checking group summary information\n"},
	{FSCK_YES, false, false, false, 1, 1, ""},
	{FSCK_YES, false, false, true, 1, 1,
	 "Checking again (round 2)\nPass 1: Checking inodes, blocks, and sizes\n"},
	{FSCK_YES, false, false, true, 1, 2, "Pass 2: Checking directory structure\n"},
	{FSCK_PREEN, false, false, false, 0, 1, ""},
	{FSCK_YES, true, false, false, 0, 1, ""},
	{FSCK_YES, false, true, false, 0, 1, ""},
	{FSCK_YES, false, false, false, 0, 0, ""},
};

START_TEST(passes)
{
	struct taken t;

	for (size_t i = 0; i < XW_ARRAY_SIZE(headings); i++) {
		const unsigned pass = headings[i].pass;

		start(headings[i].mode);
		say.json = headings[i].json;
		say.quiet = headings[i].quiet;
		say.verbose = headings[i].verbose;
		f.round.number = headings[i].round;
		f.round.pass = say.progress.pass = pass + 1;
		say.progress.reported = 1000;
		take(&t, STDOUT_FILENO);
		fsck_pass(&f, pass);
		fsck_pass(&f, pass); /* it is the current one */
		ck_assert_msg(!strcmp(taken(&t), headings[i].says), "round %u, pass %u: %s",
			      headings[i].round, pass, t.text);
		ck_assert_uint_eq(say.progress.pass, pass);
		ck_assert_uint_eq(say.progress.reported, 0);
	}
	start(FSCK_YES);
	f.ses.stop = true;
	take(&t, STDOUT_FILENO);
	fsck_pass(&f, 1);
	ck_assert_str_eq(taken(&t), "");
}
END_TEST

/* A pass that ends has all of it done; -t once: the whole, twice: each pass. */
START_TEST(ends_of_passes)
{
	for (unsigned times = 0; times < 3; times++) {
		struct taken t, out;
		FILE *to = tmpfile();
		const char *said;

		start(FSCK_PREEN);
		say.times = times;
		say.progress.on = true;
		say.progress.fd = fileno(to);
		take(&out, STDOUT_FILENO);
		take(&t, fileno(to));
		fsck_pass(&f, 4);
		fsck_pass(&f, 5);
		fsck_progress(&f, 7, 7);
		fsck_pass_end(&f);
		ck_assert_uint_eq(say.progress.pass, 0);
		ck_assert_str_eq(taken(&t), "4 0 1 img\n4 1 1 img\n5 0 1 img\n5 7 7 img\n");
		said = taken(&out);
		ck_assert_int_eq(strstr(said, "Pass 4: Memory used: ") != NULL, times > 1);
		ck_assert_int_eq(strstr(said, "Pass 5: Memory used: ") != NULL, times > 1);
		ck_assert_int_eq(strstr(said, "img: Memory used: ") != NULL, times > 0);
		say.json = true;
		take(&out, STDOUT_FILENO);
		fsck_pass_end(&f);
		ck_assert_str_eq(taken(&out), "");
		fclose(to);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_report");
	TCase *t = tcase_create("fsck_report");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, statistics);
	tcase_add_test(t, last_lines);
	tcase_add_test(t, clean);
	tcase_add_test(t, bars);
	tcase_add_test(t, terminals);
	tcase_add_test(t, no_bar);
	tcase_add_test(t, lines);
	tcase_add_test(t, marks);
	tcase_add_test(t, signals);
	tcase_add_test(t, passes);
	tcase_add_test(t, ends_of_passes);
	suite_add_tcase(s, t);
	return unit_main(s);
}
