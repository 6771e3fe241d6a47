/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/account.h"
#include "cli/escape.h"
#include "cli/human.h"
#include "cli/term.h"

#include <stdarg.h>

static void begin(FILE *out, const char *label)
{
	fprintf(out, "  %s%-12s%s", cli_style(out, CLI_DIM), label, cli_style(out, CLI_PLAIN));
}

void cli_row(FILE *out, const char *label, const char *fmt, ...)
{
	va_list ap;

	begin(out, label);
	va_start(ap, fmt);
	cli_vprintf(out, cli_is_terminal(out), fmt, ap);
	va_end(ap);
	fputc('\n', out);
}

void cli_print_files(FILE *out, const struct cli_files *f)
{
	fprintf(out, "%s, %s", cli_plural(f->files, "file", "files").s,
		cli_plural(f->directories, "directory", "directories").s);
	if (f->symlinks)
		fprintf(out, ", %s", cli_plural(f->symlinks, "symlink", "symlinks").s);
	if (f->hardlinks)
		fprintf(out, ", %s", cli_plural(f->hardlinks, "hard link", "hard links").s);
	if (f->specials)
		fprintf(out, ", %s", cli_plural(f->specials, "special", "specials").s);
}

void cli_row_files(FILE *out, const struct cli_files *f)
{
	begin(out, "files");
	cli_print_files(out, f);
	fputc('\n', out);
}

void cli_row_data(FILE *out, uint64_t bytes, uint64_t extents, uint64_t files)
{
	cli_row(out, "data", "%s in %s for %s", cli_size(bytes).s,
		cli_plural(extents, "extent", "extents").s, cli_plural(files, "file", "files").s);
}

void cli_row_free(FILE *out, uint64_t blocks, uint64_t of_blocks, uint64_t block_size)
{
	cli_row(out, "free", "%s, %s of the blocks", cli_size(blocks * block_size).s,
		cli_share((double)blocks, (double)of_blocks).s);
}

void cli_row_replaced(FILE *out, uint64_t bytes)
{
	if (bytes)
		cli_row(out, "replaced", "%s written for files that a later entry replaced",
			cli_size(bytes).s);
}

void cli_row_time(FILE *out, double seconds, uint64_t bytes_in)
{
	if (bytes_in)
		cli_row(out, "time", "%s for %s, %s", cli_duration(seconds).s, cli_size(bytes_in).s,
			cli_rate(bytes_in, seconds).s);
	else
		cli_row(out, "time", "%s", cli_duration(seconds).s);
}
