/* SPDX-License-Identifier: MIT */
/*
 * srcdump [-lntqsawvg] SOURCE: one line for each entry that xw_source_open gives, in a form that
 * does not depend on who read it, so that two readers can be compared with diff.
 *
 *   -l  give tar to libarchive      -t  read ahead in a thread
 *   -n  do not read payload         -q  print nothing but failures
 *   -s  also print the data maps    -a  no atime, no directory sizes (what tar listings lack)
 *   -w  warnings to stderr          -v  totals at the end
 *   -g  as tar --numeric-owner --full-time --quoting-style=literal -tv, blanks squeezed
 *
 * Payload appears as a chained hash of the non-zero 4 KiB blocks with their numbers: holes and
 * zeros are the same. ACL text is parsed and sorted; one without named entries is no ACL; where
 * there is one, the group bits of the mode are left out (libarchive folds group:: into them).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "import/source.h"

#define BLOCK 4096
#define ACL_MAX 512

static struct {
	bool quiet, no_data, maps, no_atime, warnings, totals, gnu;
	uint64_t entries, bytes, pieces;
} o;

static void put_bytes(struct xw_slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c >= 0x7f || c == '%')
			printf("%%%02x", c);
		else
			putchar(c);
	}
}

struct digest {
	uint64_t hash, block;
	size_t fill;
	unsigned char buf[BLOCK];
};

static void digest_flush(struct digest *d)
{
	static const unsigned char zeros[BLOCK];

	if (d->fill) {
		memset(d->buf + d->fill, 0, BLOCK - d->fill);
		if (memcmp(d->buf, zeros, BLOCK) != 0)
			d->hash = xw_hash_fixed(d->buf, BLOCK, d->hash ^ (d->block + 1));
	}
	d->fill = 0;
}

static void digest_add(struct digest *d, const unsigned char *p, size_t len, uint64_t off)
{
	while (len) {
		size_t at = off % BLOCK, n = XW_MIN(BLOCK - at, len);

		if (off / BLOCK != d->block) {
			digest_flush(d);
			d->block = off / BLOCK;
		}
		memset(d->buf + d->fill, 0, at > d->fill ? at - d->fill : 0);
		memcpy(d->buf + at, p, n);
		d->fill = at + n;
		p += n;
		len -= n;
		off += n;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Number of named or mask entries; out: sorted "t:id:perm". */
static size_t acl_parse(struct xw_slice text, char out[][32], size_t *n)
{
	static const char *const tags[] = {"user", "group", "mask", "other"};
	char *copy = strndup(text.p, text.len), *save = NULL;
	size_t more = 0;

	*n = 0;
	for (char *it = strtok_r(copy, ",\n", &save); it && *n < ACL_MAX;
	     it = strtok_r(NULL, ",\n", &save)) {
		char *f[4] = {"", "", "", ""}, *rest = it;
		size_t k = 0, tag = 0;

		if (!strncmp(it, "default:", 8))
			rest += 8;
		while (rest && k < 4)
			f[k++] = strsep(&rest, ":");
		while (tag < 3 && strncmp(f[0], tags[tag], strlen(f[0])) != 0)
			tag++;
		if (tag >= 2 && k == 2) {
			f[2] = f[1];
			f[1] = "";
		}
		more += *f[1] || tag == 2;
		snprintf(out[(*n)++], 32, "%c:%.12s:%c%c%c", *tags[tag], *f[3] ? f[3] : f[1],
			 strchr(f[2], 'r') ? 'r' : '-', strchr(f[2], 'w') ? 'w' : '-',
			 strchr(f[2], 'x') ? 'x' : '-');
	}
	free(copy);
	qsort(out, *n, 32, by_text);
	return more;
}

static bool put_acl(const char *what, struct xw_slice text, bool print)
{
	char acl[ACL_MAX][32];
	size_t n;

	if (!text.len || (!acl_parse(text, acl, &n) && *what == 'a'))
		return false;
	if (print) {
		printf(" %s=", what);
		for (size_t i = 0; i < n; i++)
			printf("%s%s", i ? "," : "", acl[i]);
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct xw_entry_xattr *x = a, *y = b;
	int r = memcmp(x->name.p, y->name.p, XW_MIN(x->name.len, y->name.len));

	return r ? r : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static void put_xattrs(const struct xw_entry *e)
{
	struct xw_entry_xattr *v = malloc((e->n_xattrs + 1) * sizeof(*v));

	if (e->n_xattrs)
		memcpy(v, e->xattrs, e->n_xattrs * sizeof(*v));
	qsort(v, e->n_xattrs, sizeof(*v), by_name);
	for (size_t i = 0; i < e->n_xattrs; i++) {
		printf(" ");
		put_bytes(v[i].name);
		printf("=%016" PRIx64 ":%zu", xw_hash_fixed(v[i].value.p, v[i].value.len, 0),
		       v[i].value.len);
	}
	free(v);
}

static void put_entry(const struct xw_entry *e)
{
	bool acl = put_acl("access", e->acl_access, false);

	printf("%c %04o %u %u ", "fdlcbpsh"[e->type], acl ? e->mode & 07707 : e->mode, e->uid,
	       e->gid);
	if (e->size == XW_SIZE_UNKNOWN)
		printf("?");
	else
		printf("%" PRIu64, e->size);
	printf(" %" PRId64 ".%09u", e->mtime.sec, e->mtime.nsec);
	if (e->has_atime && !o.no_atime)
		printf(" atime %" PRId64 ".%09u", e->atime.sec, e->atime.nsec);
	if (e->type == XW_ET_CHR || e->type == XW_ET_BLK)
		printf(" dev %u,%u", e->dev_major, e->dev_minor);
	printf(" ");
	put_bytes(e->path);
	if (e->link.len) {
		printf(" -> ");
		put_bytes(e->link);
	}
	put_xattrs(e);
	put_acl("access", e->acl_access, true);
	put_acl("default", e->acl_default, true);
	for (size_t i = 0; o.maps && i < e->n_segs; i++)
		printf(" %" PRIu64 "+%" PRIu64, e->segs[i].off, e->segs[i].len);
}

static void put_gnu_entry(const struct xw_entry *e)
{
	static const char bits[] = "rwxrwxrwx";
	time_t t = (time_t)e->mtime.sec;
	char mode[10], when[40], ns[12];
	struct tm tm;
	size_t n;

	for (int i = 0; i < 9; i++)
		mode[i] = e->mode & 0400u >> i ? bits[i] : '-';
	for (int i = 0; i < 3; i++)
		if (e->mode & 04000u >> i)
			mode[3 * i + 2] = (char)((i < 2 ? 's' : 't') -
						 (mode[3 * i + 2] == '-' ? 'a' - 'A' : 0));
	printf("%c%.9s %u/%u ", "-dlcbpsh"[e->type], mode, e -> uid, e -> gid);
	if (e->type == XW_ET_CHR || e->type == XW_ET_BLK)
		printf("%u,%u", e->dev_major, e->dev_minor);
	else
		printf("%" PRIu64, e->size);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", gmtime_r(&t, &tm));
	snprintf(ns, sizeof(ns), ".%09u", e->mtime.nsec);
	for (n = strlen(ns); n && (ns[n - 1] == '0' || ns[n - 1] == '.'); n--)
		if (ns[n - 1] == '.') {
			n--;
			break;
		}
	printf(" %s%.*s %.*s", when, (int)n, ns, (int)e->path.len, e->path.p);
	/* GNU tar shows a directory that v7 keeps as a file as what it is */
	if (e->type == XW_ET_DIR && e->path.p[e->path.len - 1] != '/')
		printf("/");
	if (e->link.len)
		printf(" %s %.*s", e->type == XW_ET_LNK ? "->" : "link to", (int)e->link.len,
		       e->link.p);
}

static int dump(struct xw_source *s)
{
	const struct xw_entry *e;
	int r;

	while ((r = xw_source_next(s, &e)) == 1) {
		static struct digest d;
		const void *p;
		uint64_t off, sum = 0;
		size_t len;

		o.entries++;
		d.hash = d.fill = d.block = 0;
		if (!o.quiet && o.gnu)
			put_gnu_entry(e);
		else if (!o.quiet)
			put_entry(e);
		while (!o.no_data && (r = xw_source_read(s, &p, &len, &off)) == 1) {
			if (!o.quiet)
				digest_add(&d, p, len, off);
			sum += len;
			o.pieces++;
		}
		o.bytes += sum;
		digest_flush(&d);
		if (!o.quiet && !o.gnu && (e->type == XW_ET_REG || e->link_data))
			printf(" %016" PRIx64, d.hash);
		if (!o.quiet)
			printf("\n");
		if (r < 0)
			break;
	}
	return r;
}

static void on_log(void *arg, enum xw_log_level level, const char *line)
{
	(void)arg;
	if (o.warnings && level == XW_LOG_WARN)
		fprintf(stderr, "warning: %s\n", line);
}

int main(int argc, char **argv)
{
	struct xw_source_opts opts = {0};
	struct xw_diag diag = {.log = on_log};
	struct xw_source *s;
	int c, r;

	while ((c = getopt(argc, argv, "lntqsawvg")) != -1) {
		opts.by_libarchive |= c == 'l';
		opts.threaded |= c == 't';
		o.no_data |= c == 'n';
		o.quiet |= c == 'q';
		o.maps |= c == 's';
		o.no_atime |= c == 'a';
		o.warnings |= c == 'w';
		o.totals |= c == 'v';
		o.gnu |= c == 'g';
		if (c == '?')
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: srcdump [-lntqsawvg] SOURCE\n");
		return 2;
	}
	r = xw_source_open(argv[optind], &opts, &diag, &s);
	if (!r) {
		r = dump(s);
		if (o.totals)
			fprintf(stderr,
				"%" PRIu64 " entries %" PRIu64 " bytes %" PRIu64 " pieces, %" PRIu64
				" of %" PRIu64 " consumed\n",
				o.entries, o.bytes, o.pieces, xw_source_consumed(s), s->total);
		xw_source_close(s);
	}
	fflush(stdout);
	if (r)
		fprintf(stderr, "srcdump: %s (%s)\n", diag.text, xw_err_text(r));
	return r != 0;
}
