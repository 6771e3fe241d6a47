/* SPDX-License-Identifier: MIT */
/*
 * Environment and signals.
 *
 * The usual flag set by a handler would be a mutable global. Here the kernel stores that bit: the
 * handler resets the dispositions to SIG_DFL, which makes the next signal kill the process and
 * tells cli_interrupted() that the first one arrived.
 *
 * A signal may arrive between the check and a blocking call, which it then does not interrupt; and
 * stdio, interrupted while writing to a full pipe, retries. So the handler schedules another signal
 * a second later, which replaces such a pipe by /dev/null.
 */
#include "config.h"

#include "cli/env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"

static const int caught[] = {SIGINT, SIGTERM, SIGHUP}; /* SIGINT must be first */
enum { CAUGHT = sizeof(caught) / sizeof(caught[0]) };

int cli_source_date_epoch(const char **value)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	int64_t seconds;

	*value = NULL;
	if (!text || !*text)
		return 0;
	if (xw_parse_i64(text, &seconds))
		return -1;
	*value = text;
	return 0;
}

const char *cli_fake_time(void)
{
	const char *text = getenv("E2FSPROGS_FAKE_TIME");
	uint64_t seconds;

	/* a longer number is a date in digits, which stock tools misread */
	return text && strlen(text) <= 11 && !xw_parse_u64(text, &seconds) && seconds ? text : NULL;
}

const char *cli_mke2fs_config(void)
{
	return getenv("MKE2FS_CONFIG");
}

const char *cli_mke2fs_sector(bool physical)
{
	const char *text =
		getenv(physical ? "MKE2FS_DEVICE_PHYS_SECTSIZE" : "MKE2FS_DEVICE_SECTSIZE");

	const char *end;
	uint64_t n;

	return text && !xw_parse_digits(text, 10, &n, &end) && n ? text : NULL;
}

const char *cli_tmpdir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : NULL;
}

void cli_guard_streams(void)
{
	/* Opened with the opposite access mode, so that use fails as on a closed descriptor. */
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(1);
	}
	signal(SIGXFSZ, SIG_IGN);
}

static void on_alarm(int sig)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
	const int before = errno;
	struct stat st;
	int fd;

	(void)sig;
	if (!fstat(STDOUT_FILENO, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) &&
	    !poll(&p, 1, 0)) {
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)dup2(fd, STDOUT_FILENO);
	}
	errno = before;
}

static void on_signal(int sig)
{
	struct sigaction now;

	alarm(1);
	/* after SIGINT the others are still caught: a prompt asks which signal it was */
	for (int i = 0; i < (sig == SIGINT ? 1 : CAUGHT); i++) {
		if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler == on_signal)
			signal(caught[i], SIG_DFL);
	}
}

/*
 * While signals are held, the handler only records that one arrived, by installing another handler
 * that does nothing.
 */
static void on_held_again(int sig)
{
	(void)sig;
}

static void hold_one(int sig, void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigemptyset(&act.sa_mask);
	sigaction(sig, &act, NULL);
}

static void on_held(int sig)
{
	struct sigaction now;

	for (int i = 0; i < (sig == SIGINT ? 1 : CAUGHT); i++) {
		if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler == on_held)
			hold_one(caught[i], on_held_again);
	}
}

static bool has_come(const struct sigaction *act)
{
	return act->sa_handler == SIG_DFL || act->sa_handler == on_held_again;
}

void cli_catch_interrupts(void)
{
	struct sigaction act, old;

	alarm(0); /* set by an earlier interrupt */
	memset(&act, 0, sizeof(act));
	act.sa_flags = 0; /* no SA_RESTART: a read from a silent pipe must be interrupted */
	sigemptyset(&act.sa_mask);
	act.sa_handler = on_alarm;
	sigaction(SIGALRM, &act, NULL);
	act.sa_handler = on_signal;
	for (int i = 0; i < CAUGHT; i++) {
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(caught[i], &act, NULL);
	}
}

static bool came(int from)
{
	struct sigaction now;

	for (int i = from; i < CAUGHT; i++) {
		if (sigaction(caught[i], NULL, &now) == 0 && has_come(&now))
			/* without this handler, no signals are caught */
			return sigaction(SIGALRM, NULL, &now) == 0 && now.sa_handler == on_alarm;
	}
	return false;
}

bool cli_interrupted(void)
{
	return came(0);
}

bool cli_terminated(void)
{
	return came(1);
}

void cli_hold_interrupts(bool on)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on ? on_held : on_signal;
	act.sa_flags = on ? SA_RESTART : 0;
	sigemptyset(&act.sa_mask);
	for (int i = 0; i < CAUGHT; i++) {
		/* install the new handler first, so that no signal is missed in between */
		if (sigaction(caught[i], &act, &old))
			continue;
		if (old.sa_handler == SIG_IGN)
			signal(caught[i], SIG_IGN);
		else if (has_come(&old) && on)
			hold_one(caught[i], on_held_again);
		else if (has_come(&old))
			signal(caught[i], SIG_DFL);
	}
}
