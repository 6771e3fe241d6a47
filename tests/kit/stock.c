/* SPDX-License-Identifier: MIT */
/*
 * Runs a tool of e2fsprogs for the tests. The build makes links to this program, stock/e2fsck,
 * stock/debugfs and so on, and that directory is the first of PATH in every test, so that shell,
 * Python and C tests all run stock tools through it.
 *
 * Stock tools can deadlock, and on a loaded machine they are slow. A tool is killed when it has
 * run longer than a limit that grows with the load, or has slept without using the processor for
 * as long, and is tried again: three times in all. Before a tool that may write, the regular
 * files among its arguments are copied, and a retry begins with what they held. Its output is
 * passed on when it has ended, so that nothing of a killed try is seen.
 *
 * There is only one try if a second one could not start from the same state: the input or an
 * argument of the tool is a pipe, a device is among the arguments of a tool that may write, debugfs
 * makes directories with rdump, or a library is preloaded.
 *
 * If no try ends, the exit status is 124, and a line is appended to the file that XW_UNANSWERED
 * names, by which tests/run turns later claims into skips. Otherwise it is the status of the tool.
 *
 * XW_STOCK_LIMIT=SECONDS is the limit on an idle machine (default 60).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 3
#define UNANSWERED 124
#define TICK_MS 500
#define FILES_MAX 16
/* Files with more data are not copied; their tools have one try. */
#define COPY_MAX (1024LL << 20)

/* An argument that names a file, and what the file held before the tool ran. */
struct file {
	char path[PATH_MAX];
	int saved; /* -1: did not exist */
	off_t size;
};

struct run {
	const char *tool; /* e2fsck */
	char **argv;
	bool once; /* no retry */
	struct file files[FILES_MAX];
	int file_count;
	int out, err; /* what the tool writes; -1: not captured */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* How much longer things take than on an idle machine, at least 1. */
static double load_factor(void)
{
	double load;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (getloadavg(&load, 1) != 1 || cpus < 1)
		return 1;
	return 1 + load / (double)cpus;
}

static double base_limit(void)
{
	const char *s = getenv("XW_STOCK_LIMIT");
	double limit = s ? strtod(s, NULL) : 60;

	return limit > 0 ? limit : 60;
}

/*
 * The tool of that name in PATH which is not this program: the first one behind this program, so
 * that the wrapper of another build does not find this one again, or else the first one.
 */
static int find_tool(const char *name, char path[PATH_MAX])
{
	static const char *const more = "/usr/sbin:/sbin";
	const char *env = getenv("PATH");
	char candidate[PATH_MAX];
	struct stat self, st;
	char *dirs, *dir, *rest;
	bool found = false, seen_self = false, behind = false; /* was the tool found behind self? */

	if (stat("/proc/self/exe", &self) || asprintf(&dirs, "%s:%s", env ? env : "", more) < 0)
		return -1;
	for (dir = strtok_r(dirs, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
		if (snprintf(candidate, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX ||
		    stat(candidate, &st) || !S_ISREG(st.st_mode) || access(candidate, X_OK))
			continue;
		if (st.st_dev == self.st_dev && st.st_ino == self.st_ino) {
			seen_self = true;
		} else if (!found || (seen_self && !behind)) {
			strcpy(path, candidate);
			found = true;
			behind = seen_self;
		}
	}
	free(dirs);
	return found ? 0 : -1;
}

/*
 * Is there an option of one letter, alone or in a cluster? Letters behind one of `valued` are
 * that option's value.
 */
static bool has_option(char **argv, char letter, const char *valued)
{
	for (argv++; *argv; argv++) {
		const char *s = *argv;

		if (*s++ != '-')
			continue;
		for (; *s && !strchr(valued, *s); s++)
			if (*s == letter)
				return true;
		if (*s == letter)
			return true;
	}
	return false;
}

static bool may_write(const char *tool, char **argv)
{
	if (!strcmp(tool, "dumpe2fs") || !strcmp(tool, "e2freefrag"))
		return false;
	if (!strcmp(tool, "e2fsck") || !strncmp(tool, "fsck.", 5))
		return !has_option(argv, 'n', "bBCEjlLPz");
	if (!strcmp(tool, "debugfs"))
		return has_option(argv, 'w', "bsdfRVz");
	if (!strcmp(tool, "tune2fs"))
		return !has_option(argv, 'l', "cCeEgiIJLmMoOrTuUQz");
	return true;
}

/* Does a file have that word? Only its first 64 KiB are read. */
static bool has_word(int fd, const char *word)
{
	static char buf[65536];
	ssize_t got = pread(fd, buf, sizeof(buf), 0);

	return got > 0 && memmem(buf, (size_t)got, word, strlen(word));
}

/*
 * Does an argument name a pipe, which a second try would find empty, or a request that fails the
 * second time?
 */
static bool only_once(const struct run *run)
{
	bool dbg = !strcmp(run->tool, "debugfs");
	struct stat st = {0};
	char **arg;

	if (!fstat(0, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return true;
	if (dbg && S_ISREG(st.st_mode) && has_word(0, "rdump"))
		return true;
	for (arg = run->argv + 1; *arg; arg++) {
		int fd;
		bool found;

		if (dbg && strstr(*arg, "rdump"))
			return true;
		if (stat(*arg, &st))
			continue;
		if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
			return true;
		if (!dbg || !S_ISREG(st.st_mode) || strcmp(arg[-1], "-f") != 0)
			continue;
		fd = open(*arg, O_RDONLY | O_CLOEXEC);
		found = fd >= 0 && has_word(fd, "rdump");
		if (fd >= 0)
			close(fd);
		if (found)
			return true;
	}
	return false;
}

/* Copies the data of one file to another; holes stay holes. The file offset of `from` changes. */
static int copy_data(int from, int to, off_t size)
{
	char buf[65536];
	off_t at = 0, end, copied = 0;

	while (at < size) {
		at = lseek(from, at, SEEK_DATA);
		if (at < 0)
			return errno == ENXIO ? 0 : -1;
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -1;
		while (at < end) {
			size_t want =
				(size_t)(end - at) < sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
			ssize_t got = pread(from, buf, want, at);

			if (got <= 0 || pwrite(to, buf, (size_t)got, at) != got)
				return -1;
			at += got;
			copied += got;
			if (copied > COPY_MAX)
				return -1;
		}
	}
	return 0;
}

static int temporary_file(void)
{
	const char *dir = getenv("TMPDIR");

	return open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Keeps what an argument names. Returns false if a retry could not begin with it. */
static bool save_file(struct run *run, const char *arg)
{
	struct file *f = &run->files[run->file_count];
	struct stat st;
	char *query;
	int fd;
	bool ok;

	if (!strncmp(arg, "device=", 7))
		arg += 7;
	if (strlen(arg) >= sizeof(f->path) || run->file_count == FILES_MAX)
		return false;
	strcpy(f->path, arg);
	query = strchr(f->path, '?'); /* IMAGE?offset=N */
	if (query)
		*query = 0;
	f->saved = -1;
	if (stat(f->path, &st)) {
		/* A word that is no file now may be one that the tool makes. */
		run->file_count++;
		return true;
	}
	if (S_ISBLK(st.st_mode))
		return false;
	if (!S_ISREG(st.st_mode))
		return true;
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	f->saved = temporary_file();
	f->size = st.st_size;
	ok = fd >= 0 && f->saved >= 0 && !ftruncate(f->saved, st.st_size) &&
	     !copy_data(fd, f->saved, st.st_size);
	if (fd >= 0)
		close(fd);
	run->file_count++;
	return ok;
}

static void save_files(struct run *run)
{
	char **arg;

	for (arg = run->argv + 1; *arg && !run->once; arg++)
		if (**arg != '-' && !save_file(run, *arg))
			run->once = true;
}

static int restore_files(const struct run *run)
{
	struct stat st;
	int i;

	for (i = 0; i < run->file_count; i++) {
		const struct file *f = &run->files[i];
		int fd, rc;

		if (f->saved < 0) {
			if (!lstat(f->path, &st) && S_ISREG(st.st_mode) && unlink(f->path))
				return -1;
			continue;
		}
		fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		rc = ftruncate(fd, 0) || ftruncate(fd, f->size) || copy_data(f->saved, fd, f->size);
		if (close(fd) || rc)
			return -1;
	}
	return 0;
}

/* Where the output of the tool goes: one file where both of its streams go to one. */
static void capture(struct run *run)
{
	struct stat out, err;
	bool have_out = !fstat(1, &out), have_err = !fstat(2, &err);

	run->out = have_out ? memfd_create("out", MFD_CLOEXEC) : -1;
	if (have_out && have_err && out.st_dev == err.st_dev && out.st_ino == err.st_ino)
		run->err = run->out;
	else
		run->err = have_err ? memfd_create("err", MFD_CLOEXEC) : -1;
}

/* Returns false if something of the output is lost. */
static bool pass_on(int from, int to)
{
	char buf[65536];
	ssize_t got;
	off_t at = 0;

	if (from < 0)
		return true;
	while ((got = pread(from, buf, sizeof(buf), at)) > 0) {
		ssize_t done = 0, n;

		while (done < got && (n = write(to, buf + done, (size_t)(got - done))) > 0)
			done += n;
		if (done < got)
			return errno == EPIPE; /* nobody reads it */
		at += got;
	}
	return got == 0;
}

static void drop_output(const struct run *run)
{
	if (run->out >= 0 && (ftruncate(run->out, 0) || lseek(run->out, 0, SEEK_SET)))
		exit(125);
	if (run->err >= 0 && (ftruncate(run->err, 0) || lseek(run->err, 0, SEEK_SET)))
		exit(125);
}

static pid_t start(const struct run *run, const char *path, off_t input)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	if (input >= 0)
		lseek(0, input, SEEK_SET);
	if (run->out >= 0)
		dup2(run->out, 1);
	if (run->err >= 0)
		dup2(run->err, 2);
	execv(path, run->argv);
	_exit(127);
}

/* Ticks of the processor that a process has used, and whether it sleeps now. */
static unsigned long used(pid_t pid, bool *asleep)
{
	char path[64], line[1024], *end;
	unsigned long user = 0, sys = 0;
	char state = '?';
	FILE *f;

	*asleep = false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f) && (end = strrchr(line, ')')) &&
	    sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user,
		   &sys) == 3)
		*asleep = state == 'S';
	fclose(f);
	return user + sys;
}

/*
 * Waits for a tool to end. Returns false if it was killed because it had taken too long. A
 * sleeper that is waiting for nothing but time, as stock tools do before they write to an image
 * with MMP, wakes up long before the limit.
 */
static bool wait_for(pid_t pid, int *status)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	double began = now(), busy = began;
	unsigned long last = 0;

	for (;;) {
		double limit, t;
		unsigned long ticks;
		bool asleep;

		poll(&ended, 1, TICK_MS);
		if (waitpid(pid, status, WNOHANG) == pid)
			break;
		t = now();
		limit = base_limit() * load_factor();
		ticks = used(pid, &asleep);
		if (!asleep || ticks != last)
			busy = t;
		last = ticks;
		if (t - busy <= base_limit() && t - began <= 4 * limit)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, status, 0);
		close(ended.fd);
		return false;
	}
	close(ended.fd);
	return true;
}

/* The tool never ended: says so to whoever runs the test. */
static int unanswered(const struct run *run, int tries)
{
	const char *path = getenv("XW_UNANSWERED");
	FILE *f = path ? fopen(path, "ae") : NULL;
	char **arg;

	fprintf(stderr, "%s: killed %d times without an answer\n", run->tool, tries);
	if (!f)
		return UNANSWERED;
	fputs(run->tool, f);
	for (arg = run->argv + 1; *arg; arg++)
		fprintf(f, " %s", *arg);
	fprintf(f, " did not end, tries: %d\n", tries);
	fclose(f);
	return UNANSWERED;
}

/* Ends as the tool did. */
static int end_like(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct run run = {.argv = argv, .out = -1, .err = -1};
	char path[PATH_MAX];
	off_t input = -1;
	int tries, status = 0;
	bool lost;

	if (argc < 1)
		return 125;
	signal(SIGCHLD, SIG_DFL); /* ignored, it would leave no status to wait for */
	run.tool = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (find_tool(run.tool, path)) {
		fprintf(stderr, "%s: not installed\n", run.tool);
		return 127;
	}
	if (isatty(0) || isatty(1)) { /* somebody answers its questions */
		execv(path, argv);
		return 127;
	}
	run.once = getenv("LD_PRELOAD") || only_once(&run);
	if (!run.once) {
		capture(&run);
		input = lseek(0, 0, SEEK_CUR);
		if (may_write(run.tool, argv))
			save_files(&run);
	}
	for (tries = 1;; tries++) {
		pid_t pid = start(&run, path, input);

		if (pid < 0)
			return 125;
		if (wait_for(pid, &status))
			break;
		if (run.once || tries == TRIES || restore_files(&run))
			return unanswered(&run, tries);
		drop_output(&run);
	}
	lost = !pass_on(run.out, 1);
	if (run.err != run.out && !pass_on(run.err, 2))
		lost = true;
	if (lost && WIFEXITED(status) && !WEXITSTATUS(status)) {
		fprintf(stderr, "%s: output lost: %s\n", run.tool, strerror(errno));
		return 125;
	}
	return end_like(status);
}
