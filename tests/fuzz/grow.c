/* SPDX-License-Identifier: MIT */
/*
 * Makes a corpus for a fuzz target: mutates inputs for some seconds and prints, as the driver reads
 * them, those that reach code which none before them did.
 *
 *	./configure --disable-shared CFLAGS='-O1 -fsanitize-coverage=trace-pc' LIBS=grow.o
 *	fuzz_ROOM SECONDS [SEEDFILE...] >tests/fuzz/corpus/ROOM/grown.hex
 *
 * where this file takes the place of driver.c, and grow.o is compiled from it with -DGROW_STUB: an
 * empty callback, for the programs that are no fuzz targets. No part of the build: corpora change
 * when formats do.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void __sanitizer_cov_trace_pc(void);

#ifdef GROW_STUB
__attribute__((weak)) void __sanitizer_cov_trace_pc(void)
{
}
#else

#ifndef FUZZ_MAXLEN
#define FUZZ_MAXLEN 2048
#endif
#define PLACES (1u << 22)
#define INPUTS_MAX 4096
#define ROOM (FUZZ_MAXLEN + 65536u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern char __executable_start;

static struct {
	uint8_t seen[PLACES]; /* by address in the program */
	unsigned fresh;
	int on;
	uint64_t rng;
	struct {
		uint8_t *data;
		size_t size;
	} inputs[INPUTS_MAX];
	unsigned n;
} g = {.rng = 88172645463325252u};

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
	const uintptr_t pc = (uintptr_t)__builtin_return_address(0);
	uint8_t *seen = &g.seen[(pc - (uintptr_t)&__executable_start) % PLACES];

	if (g.on && !*seen) {
		*seen = 1;
		g.fresh++;
	}
}

static size_t random_below(size_t n)
{
	g.rng ^= g.rng << 13;
	g.rng ^= g.rng >> 7;
	g.rng ^= g.rng << 17;
	return n ? g.rng % n : 0;
}

/* Run an input; keep and print it if it reaches something new. */
static void try_input(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy || g.n == INPUTS_MAX)
		exit(1);
	memcpy(copy, data, size);
	g.fresh = 0;
	g.on = 1;
	LLVMFuzzerTestOneInput(copy, size);
	g.on = 0;
	if (!g.fresh && g.n) {
		free(copy);
		return;
	}
	g.inputs[g.n].data = copy;
	g.inputs[g.n++].size = size;
	for (size_t i = 0; i < size; i++)
		printf("%02x", data[i]);
	printf("\n");
	fflush(stdout);
}

static size_t mutate(uint8_t *p, size_t size)
{
	static const uint8_t edges[] = {0, 1, 4, 8, 16, 32, 0x7F, 0x80, 0xFF};
	const unsigned other = (unsigned)random_below(g.n);
	size_t n;

	switch (random_below(6)) {
	case 0: /* a bit */
		p[random_below(size)] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1: /* a byte */
		p[random_below(size)] = (uint8_t)random_below(256);
		break;
	case 2: /* two bytes at the edge of a range */
		p[random_below(size)] = edges[random_below(sizeof(edges))];
		p[random_below(size)] = edges[random_below(sizeof(edges))];
		break;
	case 3: /* longer */
		for (n = 1 + random_below(8); n && size < FUZZ_MAXLEN; n--)
			p[size++] = (uint8_t)(random_below(3) ? random_below(256) : 0);
		break;
	case 4: /* shorter */
		size -= random_below(size < 8 ? size : 8);
		break;
	default: /* another input over it */
		n = random_below(size);
		memcpy(p + n, g.inputs[other].data, g.inputs[other].size);
		n += g.inputs[other].size;
		size = n < size ? size : n < FUZZ_MAXLEN ? n : FUZZ_MAXLEN;
	}
	return size;
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	static uint8_t p[ROOM];
	size_t size;

	printf("# Made by tests/fuzz/grow.c\n");
	try_input(p, 0);
	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");

		if (!f)
			return 1;
		size = fread(p, 1, FUZZ_MAXLEN, f);
		fclose(f);
		try_input(p, size);
	}
	while (time(NULL) < end) {
		const unsigned k = (unsigned)random_below(g.n);

		size = g.inputs[k].size;
		memcpy(p, g.inputs[k].data, size);
		for (size_t n = 1 + random_below(4); n; n--)
			size = mutate(p, size);
		try_input(p, size);
	}
	return 0;
}
#endif
