/* SPDX-License-Identifier: MIT */
/*
 * All that the library's handle for reading tells of an image, a line for each fact, "PATH KEY
 * VALUE": fs_print [-j THREADS] [-o OPTION[=VALUE]]... IMAGE. Each thread has a handle; status 3 if
 * they do not say the same. Beside the names, inodes N given as -i N. tree_print.py says the same
 * of a mounted tree.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xw.h>

#define MAX 16

struct args {
	const char *image, *options[MAX], *inodes[MAX];
	int n_options, n_inodes, threads;
};

struct printer {
	const struct args *args;
	struct xw_fs *fs;
	FILE *out;
	unsigned char *seen;
	char *text;
	size_t len;
	int rc;
};

/* One file; `up` is that of the directory, in a call for one of its names. */
struct item {
	struct printer *p;
	const char *path;
	uint32_t type; /* as its name has it */
};

static void put_escaped(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s > ' ' && *s < 0x7F && *s != '\\')
			putc(*s, out);
		else
			fprintf(out, "\\x%02x", (unsigned)*s & 0xFF);
	}
}

static void key(const struct item *f, const char *name)
{
	put_escaped(f->p->out, f->path);
	fprintf(f->p->out, " %s ", name);
}

static void number(const struct item *f, const char *name, uint64_t value)
{
	key(f, name);
	fprintf(f->p->out, "%" PRIu64 "\n", value);
}

static void moment(const struct item *f, const char *name, int64_t sec, uint32_t nsec)
{
	key(f, name);
	fprintf(f->p->out, "%" PRId64 ".%09" PRIu32 "\n", sec, nsec);
}

static void failed(const struct item *f, const char *what, int64_t rc)
{
	key(f, "error");
	fprintf(f->p->out, "%s %d %s\n", what, (int)rc, xw_fs_error(f->p->fs));
}

static uint32_t crc32_add(uint32_t crc, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
	}
	return crc;
}

/* Odd pieces, so that they begin and end anywhere; damaged ones are skipped. */
static void print_data(const struct item *f, const struct xw_fs_stat *st)
{
	unsigned char buf[10007];
	uint32_t crc = 0xFFFFFFFFu;
	uint64_t at = 0, left = 64 << 20; /* damage may make a file large */

	while (at < st->size && at < left) {
		const int64_t n = xw_fs_pread(f->p->fs, st->ino, at, buf, sizeof(buf));

		if (n <= 0) {
			failed(f, "data", n);
			break;
		}
		crc = crc32_add(crc, buf, (size_t)n);
		at += (uint64_t)n;
	}
	number(f, "data", ~crc);
}

static int print_xattr(void *arg, const struct xw_fs_xattr *x)
{
	const struct item *f = arg;
	const unsigned char *p = x->value;

	key(f, "xattr");
	put_escaped(f->p->out, x->name);
	putc(' ', f->p->out);
	for (size_t i = 0; i < x->len; i++)
		fprintf(f->p->out, "%02x", p[i]);
	putc('\n', f->p->out);
	return 0;
}

static int print_extent(void *arg, const struct xw_fs_extent *e)
{
	const struct item *f = arg;

	key(f, "extent");
	fprintf(f->p->out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", e->offset, e->physical,
		e->length, e->unwritten);
	return 0;
}

static void print_inode(const struct item *f, const struct xw_fs_stat *st)
{
	number(f, "ino", st->ino);
	key(f, "mode");
	fprintf(f->p->out, "%06" PRIo32 "\n", st->mode);
	number(f, "uid", st->uid);
	number(f, "gid", st->gid);
	number(f, "links", st->links);
	number(f, "size", st->size);
	number(f, "blocks_512", st->blocks_512);
	number(f, "flags", st->flags);
	number(f, "generation", st->generation);
	number(f, "project", st->project);
	moment(f, "atime", st->atime, st->atime_nsec);
	moment(f, "mtime", st->mtime, st->mtime_nsec);
	moment(f, "ctime", st->ctime, st->ctime_nsec);
	moment(f, "crtime", st->crtime, st->crtime_nsec);
	if (S_ISCHR(st->mode) || S_ISBLK(st->mode)) {
		key(f, "dev");
		fprintf(f->p->out, "%" PRIu32 ":%" PRIu32 "\n", st->dev_major, st->dev_minor);
	}
}

static int print_name(void *arg, const struct xw_fs_name *n);

static void print_file(struct item *f, uint32_t ino)
{
	struct xw_fs *fs = f->p->fs;
	struct xw_fs_stat st;
	const char *target;
	int rc = xw_fs_stat_ino(fs, ino, &st);

	if (rc) {
		failed(f, "stat", rc);
		return;
	}
	print_inode(f, &st);
	if (f->type && f->type != (st.mode & S_IFMT))
		number(f, "other-type", f->type);
	rc = xw_fs_xattrs(fs, ino, print_xattr, f);
	if (rc)
		failed(f, "xattrs", rc);
	rc = xw_fs_extents(fs, ino, print_extent, f);
	if (rc)
		failed(f, "extents", rc);
	if (S_ISREG(st.mode)) {
		print_data(f, &st);
	} else if (S_ISLNK(st.mode)) {
		rc = xw_fs_readlink(fs, ino, &target);
		if (rc) {
			failed(f, "target", rc);
			return;
		}
		key(f, "target");
		put_escaped(f->p->out, target);
		putc('\n', f->p->out);
	} else if (S_ISDIR(st.mode) && !(f->p->seen[ino / 8] >> ino % 8 & 1)) {
		f->p->seen[ino / 8] |= (unsigned char)(1u << ino % 8);
		rc = xw_fs_list(fs, ino, print_name, f);
		if (rc)
			failed(f, "list", rc);
	}
}

static int print_name(void *arg, const struct xw_fs_name *n)
{
	const struct item *up = arg;
	char path[8192];
	struct item f = {.p = up->p, .path = path, .type = n->type};

	if (strlen(n->name) != n->len)
		failed(up, "length of a name", 0);
	if (snprintf(path, sizeof(path), "%s/%s", up->path, n->name) < (int)sizeof(path))
		print_file(&f, n->ino);
	return 0;
}

static int open_image(struct printer *p)
{
	int rc = xw_fs_new(&p->fs);

	for (int i = 0; i < p->args->n_options && !rc; i++) {
		char option[64], *value;

		snprintf(option, sizeof(option), "%s", p->args->options[i]);
		value = strchr(option, '=');
		if (value)
			*value++ = '\0';
		rc = xw_fs_set(p->fs, option, value);
	}
	return rc ? rc : xw_fs_open(p->fs, p->args->image);
}

static void *print_image(void *arg)
{
	struct printer *p = arg;
	struct item root = {.p = p, .path = ""};
	const char *json;

	p->out = open_memstream(&p->text, &p->len);
	p->rc = open_image(p);
	if (p->rc) {
		failed(&root, "open", p->rc);
	} else {
		json = xw_fs_json(p->fs);
		fprintf(p->out, " info %s\n features %s\n", json ? json : "none",
			xw_fs_info(p->fs)->features);
		p->seen = calloc(xw_fs_info(p->fs)->inodes / 8 + 1, 1);
		print_file(&root, 2);
	}
	for (int i = 0; i < p->args->n_inodes && !p->rc; i++) {
		struct item f = {.p = p, .path = p->args->inodes[i]};

		print_file(&f, (uint32_t)strtoul(p->args->inodes[i], NULL, 10));
	}
	fclose(p->out);
	xw_fs_free(p->fs);
	free(p->seen);
	return NULL;
}

int main(int argc, char **argv)
{
	struct args args = {.threads = 1};
	struct printer p[MAX];
	pthread_t t[MAX];
	int c, rc;

	while ((c = getopt(argc, argv, "i:j:o:")) != -1) {
		if (c == 'j')
			args.threads = atoi(optarg);
		else if (c == 'o' && args.n_options < MAX)
			args.options[args.n_options++] = optarg;
		else if (c == 'i' && args.n_inodes < MAX)
			args.inodes[args.n_inodes++] = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc || args.threads < 1 || args.threads > MAX)
		return 2;
	args.image = argv[optind];
	for (int i = 0; i < args.threads; i++) {
		p[i] = (struct printer){.args = &args};
		if (pthread_create(&t[i], NULL, print_image, &p[i]))
			return 2;
	}
	for (int i = 0; i < args.threads; i++)
		pthread_join(t[i], NULL);
	rc = p[0].rc != 0;
	fwrite(p[0].text, 1, p[0].len, stdout);
	for (int i = 0; i < args.threads; i++) {
		if (strcmp(p[0].text, p[i].text))
			rc = 3;
	}
	for (int i = 0; i < args.threads; i++)
		free(p[i].text);
	return rc;
}
