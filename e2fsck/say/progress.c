// SPDX-License-Identifier: MIT
/* Headings and progress of passes. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/env.h"
#include "cli/human.h"
#include "cli/escape.h"
#include "cli/term.h"

#include "say/say.h"

enum { BAR_MAX = 60, PER_MILLE = 1000 };
static const double bar_delay = 1.0, bar_interval = 0.1, look_interval = 0.01;

/* Signals that switch reports on and off stay pending until they are polled. */
static void switch_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
}

/*
 * -C 0 requests the bar on standard output, whatever that is. In a boot script it is a pipe to
 * logsave(8), which copies the output to the console, and omits text between the marks from its
 * log.
 */
static void begin_bar(struct say *s)
{
	struct say_progress *p = &s->progress;
	const bool requested = s->progress_fd == 0;

	p->open = p->close = "";
	if (p->fd >= 0 || s->json || s->quiet)
		return;
	if (requested) {
		p->bar = stdout;
		if (!isatty(STDOUT_FILENO)) {
			p->open = "\001";
			p->close = "\002";
		}
	} else if (isatty(STDERR_FILENO)) {
		p->bar = stderr;
	}
}

void say_progress_init(struct say *s)
{
	struct say_progress *p = &s->progress;
	sigset_t set;

	switch_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	p->began = cli_clock();
	p->fd = s->progress_fd > 0 ? s->progress_fd : -1;
	begin_bar(s);
	p->on = !s->progress_late;
}

/*
 * Not done more often than necessary: the seven system calls would be half of those for a small
 * image. True: the check is canceled.
 */
static bool check_signals(struct say *s)
{
	const struct timespec none = {0};
	const double now = cli_clock();
	const bool canceled = cli_interrupted();
	sigset_t set;
	int sig;

	if (now - s->progress.looked_at < look_interval)
		return false;
	s->progress.looked_at = now;
	switch_signals(&set);
	while ((sig = sigtimedwait(&set, NULL, &none)) > 0) {
		s->progress.on = sig == SIGUSR1;
		if (!s->progress.on)
			say_wipe(s);
	}
	return canceled;
}

void say_wipe(struct say *s)
{
	struct say_progress *p = &s->progress;

	if (!p->drawn)
		return;
	fflush(stdout);
	fprintf(p->bar, "%s\r\033[K%s", p->open, p->close);
	fflush(p->bar);
	p->drawn = false;
}

static void draw_bar(struct say *s, const struct fsck *f, double part)
{
	struct say_progress *p = &s->progress;
	const double now = cli_clock(), percent = xw_fsck_share(p->pass, part);
	struct winsize ws;
	int width = 80, fill;
	char bar[BAR_MAX + 1], name[41];

	/* Short runs have no bar, unless -C 0 requests it. The end is always shown. */
	if ((now - p->drawn_at < bar_interval && percent < 100) ||
	    (s->progress_fd && now - p->began < bar_delay))
		return;
	if (!ioctl(fileno(p->bar), TIOCGWINSZ, &ws) && ws.ws_col)
		width = ws.ws_col;
	snprintf(name, sizeof(name), "%s", xw_fsck_name(f));
	width -= (int)strlen(name) + 16;
	width = XW_MIN(width, BAR_MAX);
	if (width < 5)
		return;
	fill = (int)(width * percent / 100);
	memset(bar, ' ', (size_t)width);
	memset(bar, '=', (size_t)fill);
	bar[width] = '\0';
	fflush(stdout);
	fprintf(p->bar, "%s\r\033[K", p->open);
	cli_escape(p->bar, CLI_TEXT, name, strlen(name));
	fprintf(p->bar, ": |%s| %.1f%% %s", bar, percent, p->close);
	fflush(p->bar);
	p->drawn = true;
	p->drawn_at = now;
}

/* If the reader, such as systemd-fsckd, has exited, SIGPIPE must not kill the check. */
static bool write_alive(int fd, const char *line, size_t len)
{
	const struct timespec none = {0};
	sigset_t pipe, before;
	bool written;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	written = write(fd, line, len) >= 0;
	if (!written && errno == EPIPE && !sigismember(&before, SIGPIPE))
		(void)sigtimedwait(&pipe, NULL, &none);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return written;
}

static void write_line(struct say *s, const struct fsck *f, uint64_t done, uint64_t of)
{
	char line[256];
	const int n = snprintf(line, sizeof(line), "%u %" PRIu64 " %" PRIu64 " %.160s\n",
			       s->progress.pass, done, of, xw_fsck_name(f));

	fflush(stdout); /* standard output may be the same descriptor */
	if (!write_alive(s->progress.fd, line, (size_t)n))
		s->progress.fd = -1;
}

bool say_progress(void *arg, const struct fsck *f, uint64_t done, uint64_t of)
{
	struct say *s = arg;
	struct say_progress *p = &s->progress;
	const double part = of ? (double)XW_MIN(done, of) / (double)of : 1;
	const uint64_t mille = (uint64_t)(part * PER_MILLE);
	const bool canceled = check_signals(s);

	if (!p->on || f->round.number || (done && done < of && mille == p->reported))
		return canceled;
	p->reported = mille;
	if (p->fd >= 0)
		write_line(s, f, done, of);
	else if (p->bar)
		draw_bar(s, f, part);
	return canceled;
}

/* Are headings of passes printed? */
static bool has_headings(const struct say *s, const struct fsck *f)
{
	return !s->json && !s->quiet && f->opts.mode != FSCK_PREEN;
}

void say_heading(void *arg, const struct fsck *f, const char *text)
{
	struct say *s = arg;

	if (!has_headings(s, f) || (f->round.number && !s->verbose))
		return;
	say_wipe(s);
	puts(text);
	fflush(stdout);
}

/* "Memory used: ..., time: real/user/system" since `began`. */
static void print_times(struct say *s, const char *what, double began)
{
	struct rusage used;

	if (s->json || getrusage(RUSAGE_SELF, &used))
		return;
	say_wipe(s);
	printf("%s: Memory used: %s, time: %5.2f/%5.2f/%5.2f\n", what,
	       cli_size((uint64_t)used.ru_maxrss * 1024).s, cli_clock() - began,
	       (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6,
	       (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6);
}

static bool end_pass(struct say *s, const struct fsck *f)
{
	struct say_progress *p = &s->progress;
	bool canceled = false;
	char name[16];

	if (!p->pass)
		return false;
	if (p->reported < PER_MILLE)
		canceled = say_progress(s, f, 1, 1);
	snprintf(name, sizeof(name), "Pass %u", p->pass);
	if (s->times > 1)
		print_times(s, name, p->pass_began);
	return canceled;
}

bool say_pass(void *arg, const struct fsck *f, unsigned pass)
{
	static const char *const headings[FSCK_PASSES + 1] = {
		[1] = "Pass 1: Checking inodes, blocks, and sizes",
		[2] = "Pass 2: Checking directory structure",
		[3] = "Pass 3: Checking directory connectivity",
		[4] = "Pass 4: Checking reference counts",
		[5] = "Pass 5: Checking group summary information",
	};
	struct say *s = arg;
	struct say_progress *p = &s->progress;
	const bool canceled = end_pass(s, f);
	char round[48];

	p->pass = pass;
	p->pass_began = cli_clock();
	p->reported = 0;
	if (pass == 1 && f->round.number) {
		snprintf(round, sizeof(round), "Checking again (round %u)", f->round.number + 1);
		say_heading(s, f, round);
	}
	if (pass && !f->ses.stop && !canceled)
		say_heading(s, f, headings[pass]);
	return canceled;
}

bool say_pass_end(void *arg, const struct fsck *f)
{
	struct say *s = arg;
	const bool canceled = end_pass(s, f);

	say_wipe(s);
	s->progress.pass = 0;
	if (s->times)
		print_times(s, xw_fsck_name(f), s->progress.began);
	return canceled;
}
