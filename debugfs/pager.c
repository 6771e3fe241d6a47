/* SPDX-License-Identifier: MIT */
/*
 * The pager is a shell that reads from a pipe. It is started when the output exceeds one screen:
 * short results, and requests that fail before they print anything, do not use it.
 *
 * If the terminal disappears or the tool is terminated, writing to the pager and waiting for it
 * end, and it is killed. The pager inherits the write end of a second pipe, whose hang-up shows
 * that it has ended, so that poll() can wait for both.
 */
#include "config.h"

#include "cli/env.h"
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GRACE_MS = 1000 };

struct pager {
	FILE *term;
	const char *command;
	char *kept; /* buffered text */
	size_t n, cap;
	unsigned rows, columns; /* size of the terminal */
	unsigned row, column; /* end of the buffered text on the screen */
	pid_t pid; /* of the pager; 0: not started */
	int pipe; /* the pager's standard input */
	int alive; /* read end of the pipe that hangs up when the pager has ended */
	bool failed; /* the pager could not be started */
	bool left; /* the user has quit the pager */
};

static void measure(struct pager *p)
{
	struct winsize size;

	if (ioctl(fileno(p->term), TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	p->rows = size.ws_row;
	p->columns = size.ws_col;
}

/* Do the buffered text and this one fill the screen, so that no row is left for the prompt? */
static bool is_long(struct pager *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len && p->row < p->rows; i++) {
		if (text[i] == '\n' || ++p->column > p->columns) {
			p->column = text[i] != '\n';
			p->row++;
		}
	}
	return p->row >= p->rows;
}

/* ---- the process ---- */

static int spawn(struct pager *p, int in)
{
	const char *const argv[] = {"sh", "-c", p->command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t usual;
	int err;

	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!err)
		err = posix_spawn(&p->pid, "/bin/sh", &files, &attr, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

static bool start(struct pager *p)
{
	int in[2], alive[2];

	if (pipe2(in, O_CLOEXEC))
		return false;
	if (pipe2(alive, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return false;
	}
	fcntl(alive[1], F_SETFD, 0);
	if (spawn(p, in[0]))
		p->pid = 0;
	close(in[0]);
	close(alive[1]);
	p->pipe = in[1];
	p->alive = alive[0];
	if (p->pid) {
		fcntl(p->pipe, F_SETFL, O_NONBLOCK);
		return true;
	}
	close(p->pipe);
	close(p->alive);
	return false;
}

/*
 * Wait for the descriptor. False: the tool is being terminated, or the terminal was lost, for which
 * a shell would send SIGHUP.
 */
static bool wait_for(const struct pager *p, int fd, short what)
{
	struct pollfd on[] = {{.fd = fd, .events = what}, {.fd = fileno(p->term)}};

	for (;;) {
		if (cli_terminated())
			return false;
		if (poll(on, 2, -1) < 0 && errno != EINTR)
			return true;
		if (on[1].revents & (POLLHUP | POLLERR)) {
			raise(SIGHUP);
			return false;
		}
		if (on[0].revents)
			return true;
	}
}

static void stop(struct pager *p)
{
	struct pollfd ended = {.fd = p->alive};

	kill(p->pid, SIGTERM);
	if (poll(&ended, 1, GRACE_MS) <= 0)
		kill(p->pid, SIGKILL);
}

/* ---- the stream ---- */

static bool put(struct pager *p, const char *text, size_t len)
{
	while (len) {
		const ssize_t n = write(p->pipe, text, len);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!wait_for(p, p->pipe, POLLOUT))
				return false;
		} else if (errno != EINTR || cli_terminated()) {
			p->left = errno == EPIPE;
			return false;
		}
	}
	return true;
}

/* Write the buffered text to the pager or the terminal. */
static bool flush(struct pager *p)
{
	bool ok = true;

	if (p->pid)
		ok = put(p, p->kept, p->n);
	else if (p->n)
		ok = fwrite(p->kept, 1, p->n, p->term) == p->n && !fflush(p->term);
	p->n = 0;
	return ok;
}

static bool keep(struct pager *p, const char *text, size_t len)
{
	if (p->n + len > p->cap) {
		const size_t cap = 2 * (p->n + len);
		char *more = realloc(p->kept, cap);

		if (!more)
			return false;
		p->kept = more;
		p->cap = cap;
	}
	memcpy(p->kept + p->n, text, len);
	p->n += len;
	return true;
}

static ssize_t on_write(void *cookie, const char *text, size_t len)
{
	struct pager *p = cookie;

	if (!keep(p, text, len))
		return 0;
	if (!p->pid && !p->failed) {
		if (!is_long(p, text, len))
			return (ssize_t)len;
		p->failed = !start(p);
	}
	return flush(p) ? (ssize_t)len : 0;
}

FILE *dbg_pager_open(FILE *term, struct pager **out)
{
	const cookie_io_functions_t io = {.write = on_write};
	const char *command = getenv("DEBUGFS_PAGER");
	struct pager *p;
	FILE *f;

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "more";
	if (!*command || !isatty(fileno(term)))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->term = term;
	p->command = command;
	measure(p);
	f = fopencookie(p, "w", io);
	if (!f) {
		free(p);
		return NULL;
	}
	signal(SIGPIPE, SIG_IGN);
	*out = p;
	return f;
}

void dbg_pager_flush(struct pager *p, FILE *stream)
{
	fflush(stream);
	if (!p->pid)
		(void)flush(p);
}

bool dbg_pager_left(const struct pager *p)
{
	return p->left;
}

void dbg_pager_close(struct pager *p, FILE *stream)
{
	fclose(stream);
	(void)flush(p);
	if (p->pid) {
		/* interrupts are handled by the pager from here on */
		void (*const before)(int) = signal(SIGINT, SIG_IGN);

		close(p->pipe);
		if (!wait_for(p, p->alive, 0))
			stop(p);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(p->alive);
		signal(SIGINT, before);
	}
	free(p->kept);
	free(p);
}
