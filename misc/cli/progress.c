/* SPDX-License-Identifier: MIT */
/*
 * The progress bar: one line on a terminal, rewritten in place.
 *
 *   data      [########        ]  52 %  708 MiB  412 MiB/s  43,112 files  0:02 left
 *
 * The rate is smoothed over about three seconds: an average over the whole run reacts slowly when a
 * pipe stalls, and the last tenth of a second is too short.
 */
#include "config.h"

#include "cli/human.h"
#include "cli/term.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR_MIN = 10, BAR_MAX = 30 };
static const double draw_interval = 0.1, smooth_seconds = 3.0;

double cli_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void cli_progress_init(struct cli_progress *p, bool wanted)
{
	memset(p, 0, sizeof(*p));
	p->on = wanted && isatty(STDERR_FILENO);
	p->rate_at = cli_clock();
}

static void update_rate(struct cli_progress *p, double now, uint64_t done)
{
	double dt = now - p->rate_at, weight, rate;

	if (done < p->rate_done) { /* a new phase starts at zero */
		p->rate_done = done;
		p->rate_at = now;
		p->rate = 0;
		return;
	}
	if (!(dt > 0))
		return;
	rate = (double)(done - p->rate_done) / dt;
	weight = dt / (dt + smooth_seconds);
	p->rate = p->rate > 0 ? p->rate + weight * (rate - p->rate) : rate;
	p->rate_at = now;
	p->rate_done = done;
}

static unsigned columns(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return 80;
}

/*
 * The part to the right of the bar. Returns the number of bytes written to `out`, at most size - 1.
 */
static size_t format_figures(char *out, size_t size, const struct cli_progress *p, uint64_t done,
			     uint64_t total, uint64_t files)
{
	int n = 0;

	if (total)
		n = snprintf(out, size, "%3.0f %%  ", 100.0 * (double)done / (double)total);
	n += snprintf(out + n, size - (size_t)n, "%s  %s  %s", cli_size(done).s,
		      cli_rate((uint64_t)p->rate, 1).s, cli_plural(files, "entry", "entries").s);
	if (total && p->rate > 0)
		n += snprintf(out + n, size - (size_t)n, "  %s left",
			      cli_countdown((double)(total - done) / p->rate).s);
	return (size_t)n;
}

void cli_progress_draw(struct cli_progress *p, const char *phase, uint64_t done, uint64_t total,
		       uint64_t files)
{
	char figures[256], bar[BAR_MAX + 1];
	unsigned width, fill, room;
	double now;

	if (!p->on)
		return;
	now = cli_clock();
	if (p->drawn > 0 && now - p->drawn < draw_interval)
		return;
	if (total && done > total)
		done = total;
	update_rate(p, now, done);
	p->drawn = now;
	width = columns();
	room = 12 + (unsigned)format_figures(figures, sizeof(figures), p, done, total, files) + 4;
	if (!total || width < room + BAR_MIN) {
		fprintf(stderr, "\r\033[K%.*s", (int)(width > 1 ? width - 1 : 1), figures);
		fflush(stderr);
		return;
	}
	width = width - room > BAR_MAX ? BAR_MAX : width - room;
	fill = (unsigned)((double)width * (double)done / (double)total);
	memset(bar, ' ', width);
	memset(bar, '#', fill);
	bar[width] = '\0';
	fprintf(stderr, "\r\033[K%s%-10s%s[%s] %s", cli_style(stderr, CLI_BOLD), phase,
		cli_style(stderr, CLI_PLAIN), bar, figures);
	fflush(stderr);
}

void cli_progress_wipe(struct cli_progress *p)
{
	if (!p->on || !(p->drawn > 0))
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->drawn = 0;
}
