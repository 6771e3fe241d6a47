/* SPDX-License-Identifier: MIT */
/*
 * Environment and signals.
 *
 * A handler's usual flag would be a mutable global. Here the kernel keeps that bit: the handler
 * puts the dispositions back to SIG_DFL, which both lets the next signal kill and tells
 * cli_interrupted() that the first one came.
 */
#include "config.h"

#include "cli/env.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP}; /* the interrupt first */
enum { CAUGHT = sizeof(caught) / sizeof(caught[0]) };

int cli_source_date_epoch(const char **value)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	const char *digits;
	char *end;

	*value = NULL;
	if (!text || !*text)
		return 0;
	digits = *text == '-' ? text + 1 : text;
	if (*digits < '0' || *digits > '9')
		return -1; /* strtoll would take blanks and a plus sign */
	errno = 0;
	(void)strtoll(text, &end, 10);
	if (errno || *end)
		return -1;
	*value = text;
	return 0;
}

const char *cli_mke2fs_config(void)
{
	return getenv("MKE2FS_CONFIG");
}

void cli_guard_streams(void)
{
	/* Opened the wrong way round, so that use fails as it does on a closed descriptor. */
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(1);
	}
	signal(SIGXFSZ, SIG_IGN);
}

static void on_signal(int sig)
{
	struct sigaction now;

	/* an interrupt says nothing of the others: a prompt asks which it was */
	for (int i = 0; i < (sig == SIGINT ? 1 : CAUGHT); i++) {
		if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler == on_signal)
			signal(caught[i], SIG_DFL);
	}
}

void cli_catch_interrupts(void)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	act.sa_flags = 0; /* no SA_RESTART: a read from a silent pipe must end */
	sigemptyset(&act.sa_mask);
	for (int i = 0; i < CAUGHT; i++) {
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(caught[i], &act, NULL);
	}
}

static bool came(int from)
{
	struct sigaction now;

	for (int i = from; i < CAUGHT; i++) {
		if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			return true;
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
