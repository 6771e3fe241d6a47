/* SPDX-License-Identifier: MIT */
/*
 * Runs a libFuzzer target without libFuzzer, so that `make check` exercises it with any compiler.
 *
 * A room's target defines LLVMFuzzerTestOneInput() in tests/fuzz/fuzz_ROOM.c and aborts when a
 * property fails. Its fragment then has
 *
 *	check_PROGRAMS += fuzz_ROOM
 *	TESTS += fuzz_ROOM
 *	fuzz_ROOM_SOURCES = tests/fuzz/fuzz_ROOM.c tests/fuzz/driver.c
 *	fuzz_ROOM_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_NAME='"ROOM"'
 *	fuzz_ROOM_LDADD = libxw_ROOM.la libxw_base.la
 *	if XW_FUZZ
 *	noinst_PROGRAMS += libfuzzer_ROOM
 *	libfuzzer_ROOM_SOURCES = tests/fuzz/fuzz_ROOM.c
 *	libfuzzer_ROOM_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
 *	libfuzzer_ROOM_LDADD = libxw_ROOM.la libxw_base.la
 *	endif
 *
 * where XW_FUZZ is CC=clang ./configure --enable-fuzz. Without arguments (under make check) it runs
 * every file in $XW_SRC/tests/fuzz/corpus/ROOM, which must exist, then random inputs, and prints
 * TAP. A file NAME.hex has an input on each line, as hexadecimal digits; lines with # are comments.
 * tests/fuzz/grow.c makes such files. By hand:
 *
 *	fuzz_ROOM [-n COUNT] [-s SEED] [-m MAXLEN] [FILE | DIRECTORY]...
 *
 * Random inputs are of four kinds, in turn: noise; zeroes with a few bytes set (for targets that
 * combine the input with a valid object); zeroes with one run of noise; and, where files were
 * given, one of them with a few bytes changed. Input number i depends on SEED and i only. Before
 * each input its number is remembered, and said on a crash, so that `fuzz_ROOM -s SEED -o NUMBER`
 * runs just that one.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef FUZZ_NAME
#define FUZZ_NAME "fuzz"
#endif
#ifndef FUZZ_COUNT
#define FUZZ_COUNT 20000
#endif
#ifndef FUZZ_MAXLEN
#define FUZZ_MAXLEN 2048
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *data;
	size_t size;
};

struct run {
	uint64_t seed, count, only;
	bool one;
	size_t max;
	struct input *files;
	size_t n_files;
};

/* What is running, for the crash handler. */
static char now[512];

static void on_crash(int sig)
{
	size_t len = strlen(now);

	if (write(STDERR_FILENO, now, len) == (ssize_t)len)
		signal(sig, SIG_DFL);
	else
		_exit(99);
	raise(sig);
}

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static void noise(uint64_t *rng, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)mix(rng);
}

static void few_bytes(uint64_t *rng, uint8_t *p, size_t n)
{
	for (unsigned k = 1 + (unsigned)(mix(rng) % 12); n && k; k--)
		p[mix(rng) % n] ^= (uint8_t)(mix(rng) % 3 ? mix(rng) : 1u << mix(rng) % 8);
}

/* Input number i; the caller frees. An exact allocation, so that sanitizers see every step beyond
 * it. */
static struct input make_input(const struct run *r, uint64_t i)
{
	uint64_t rng = r->seed * 0xD1342543DE82EF95u + i;
	unsigned kind = (unsigned)(i % (r->n_files ? 4 : 3));
	const struct input *from = kind == 3 ? &r->files[mix(&rng) % r->n_files] : NULL;
	struct input in = {.size = from ? from->size : mix(&rng) % (r->max + 1)};

	in.data = calloc(in.size ? in.size : 1, 1);
	if (!in.data)
		abort();
	if (from && in.size)
		memcpy(in.data, from->data, in.size);
	if (kind == 0) {
		noise(&rng, in.data, in.size);
	} else if (kind == 2 && in.size) {
		size_t at = mix(&rng) % in.size;

		noise(&rng, in.data, in.size < 4 ? in.size : 4);
		noise(&rng, in.data + at, mix(&rng) % (in.size - at) % 64);
	} else {
		few_bytes(&rng, in.data, in.size < 16 ? in.size : 16);
		few_bytes(&rng, in.data, in.size);
	}
	return in;
}

/* Run an input of a file, and keep it for random ones; owns data. */
static void add_input(struct run *r, uint8_t *data, size_t size, const char *path)
{
	r->files = realloc(r->files, (r->n_files + 1) * sizeof(*r->files));
	if (!r->files)
		abort();
	r->files[r->n_files++] = (struct input){data, size};
	snprintf(now, sizeof(now), "# crash in file %s, input %zu of all\n", path, r->n_files);
	LLVMFuzzerTestOneInput(data, size);
}

static void add_hex(struct run *r, FILE *f, const char *path)
{
	size_t room = 0;
	char *line = NULL;
	ssize_t len;

	while ((len = getline(&line, &room, f)) > 0) {
		const size_t n = (size_t)(len - (line[len - 1] == '\n')) / 2;
		uint8_t *data = malloc(n ? n : 1);
		unsigned byte;

		if (!data)
			abort();
		for (size_t i = 0; i < n && *line != '#'; i++) {
			if (sscanf(line + 2 * i, "%2x", &byte) != 1) {
				fprintf(stderr, "%s: not a line of hexadecimal digits\n", path);
				exit(2);
			}
			data[i] = (uint8_t)byte;
		}
		if (*line == '#')
			free(data);
		else
			add_input(r, data, n, path);
	}
	free(line);
}

static void add_file(struct run *r, const char *path)
{
	const char *end = strrchr(path, '.');
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	struct stat st;

	if (!f || fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
		fprintf(stderr, "%s: not a readable file\n", path);
		exit(2);
	}
	if (end && !strcmp(end, ".hex")) {
		add_hex(r, f, path);
		fclose(f);
		return;
	}
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		abort();
	fclose(f);
	add_input(r, data, (size_t)st.st_size, path);
}

static void add_path(struct run *r, const char *path)
{
	struct dirent **names;
	struct stat st;
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(r, path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char full[4096];

		snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			add_path(r, full);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void run_random(const struct run *r)
{
	uint64_t first = r->one ? r->only : 0, end = r->one ? r->only + 1 : r->count;

	for (uint64_t i = first; i < end; i++) {
		struct input in = make_input(r, i);

		snprintf(now, sizeof(now), "# crash: fuzz_" FUZZ_NAME " -s %llu -o %llu\n",
			 (unsigned long long)r->seed, (unsigned long long)i);
		LLVMFuzzerTestOneInput(in.data, in.size);
		free(in.data);
	}
}

static void add_default_corpus(struct run *r)
{
	const char *src = getenv("XW_SRC");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/" FUZZ_NAME, src ? src : ".");
	if (!access(path, R_OK))
		add_path(r, path);
}

int main(int argc, char **argv)
{
	struct run r = {.seed = 1, .count = FUZZ_COUNT, .max = FUZZ_MAXLEN};
	int opt;

	while ((opt = getopt(argc, argv, "n:s:m:o:")) != -1) {
		unsigned long long v = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (opt) {
		case 'n':
			r.count = v;
			break;
		case 's':
			r.seed = v;
			break;
		case 'm':
			r.max = (size_t)v;
			break;
		case 'o':
			r.only = v;
			r.one = true;
			break;
		default:
			fprintf(stderr,
				"usage: fuzz_" FUZZ_NAME " [-n COUNT] [-s SEED] [-m MAXLEN] [-o "
				"NUMBER] [FILE | DIRECTORY]...\n");
			return 2;
		}
	}
	signal(SIGABRT, on_crash);
	signal(SIGSEGV, on_crash);
	printf("1..2\n");
	fflush(stdout);
	if (optind == argc)
		add_default_corpus(&r);
	for (; optind < argc; optind++)
		add_path(&r, argv[optind]);
	printf("%s 1 - %zu inputs from files\n", r.n_files ? "ok" : "not ok", r.n_files);
	fflush(stdout);
	run_random(&r);
	printf("%s 2 - %llu random inputs, seed %llu\n", r.one || r.count ? "ok" : "not ok",
	       r.one ? 1ull : (unsigned long long)r.count, (unsigned long long)r.seed);
	for (size_t i = 0; i < r.n_files; i++)
		free(r.files[i].data);
	free(r.files);
	return 0;
}
