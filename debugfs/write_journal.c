/* SPDX-License-Identifier: MIT */
/*
 * Verbs that write transactions to the journal. They are appended to those in the log; the first
 * transaction in an empty log sets its start, and then RECOVER is set in the superblock. All of it
 * is part of the session's commit, except for an external journal, which is written at once, before
 * RECOVER is set.
 */
#include "config.h"

#include "journals.h"
#include "poke.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/search.h"
#include "session/edit.h"
#include "commit/super.h"
#include "journal/txn.h"

/* The open journal. */
struct dbg_log {
	struct xw_log *log;
	struct xw_dev *dev; /* of an external journal; owned; else NULL */
	uint32_t at, sequence; /* position and sequence number of the next transaction */
	uint64_t room; /* unused blocks of the log */
};

static void close_log(struct dbg *d)
{
	if (d->log) {
		xw_log_close(d->log->log);
		xw_dev_close(d->log->dev);
	}
	free(d->log);
	d->log = NULL;
}

static int need_log(struct dbg *d)
{
	return d->log ? 0 : xw_fail(&d->diag, XW_ERR_STATE, "no journal is open (journal_open)");
}

/* ---- journal_open ---- */

/* Find the position of the next transaction. */
static int find_end(struct dbg *d, struct dbg_log *l)
{
	struct xw_log *log = l->log;
	const uint32_t blocks = log->last - log->first;
	struct xw_replay r;
	int rc = xw_replay_plan(log, XW_REPLAY_SALVAGE, d->img->sb.blocks_count, &r);

	l->at = log->jsb.start ? r.end_at : log->first;
	l->sequence = r.end_sequence;
	l->room = blocks;
	if (log->jsb.start)
		l->room -= (l->at + blocks - log->jsb.start) % blocks;
	xw_replay_free(&r);
	return rc;
}

/* Use checksums of this version; only in an empty log, whose blocks all have the same version. */
static int set_checksums(struct dbg *d, struct xw_log *log, uint64_t version)
{
	const uint32_t csum = XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3;

	if (version != 2 && version != 3)
		return xw_fail(&d->diag, XW_ERR_USAGE, "checksums of version %" PRIu64 ": 2 or 3",
			       version);
	if (log->jsb.start)
		return xw_fail(&d->diag, XW_ERR_STATE, "the journal is not empty: replay it first");
	log->jsb.feature_incompat &= ~csum;
	log->jsb.feature_incompat |=
		version == 2 ? XW_JBD2_INCOMPAT_CSUM_V2 : XW_JBD2_INCOMPAT_CSUM_V3;
	log->jsb.feature_compat &= ~XW_JBD2_COMPAT_CHECKSUM;
	log->jsb.checksum_type = 4;
	return 0;
}

/* device: of an external journal; NULL: see dbg_journal_device(), unless the journal is internal */
static int open_log(struct dbg *d, struct dbg_log *l, const char *device)
{
	const struct xw_super *sb = &d->img->sb;
	auto_free char *found = NULL;
	int rc;

	if (device || dbg_journal_external(sb)) {
		rc = dbg_journal_device(d, device, &found);
		if (!rc)
			rc = xw_dev_open_file(found, 0, &d->diag, &l->dev);
		if (!rc)
			rc = xw_log_open_external(l->dev, sb, NULL, &d->diag, &l->log);
		if (rc)
			return rc;
		free(d->journal);
		d->journal = dbg_absolute(found); /* for journal_run */
		return 0;
	}
	rc = xw_log_open_image(d->img, &l->log);
	if (rc == XW_ERR_NOTFOUND)
		rc = xw_fail(&d->diag, rc, "the image has no journal");
	return rc;
}

/* version: of checksums; 0: keep it. */
static int prepare_log(struct dbg *d, struct dbg_log *l, uint64_t version)
{
	struct xw_log *log = l->log;
	int rc;

	log->diag = &d->diag;
	rc = version ? set_checksums(d, log, version) : 0;
	if (rc)
		return rc;
	if (!log->jsb.start && d->img->sb.feature_incompat & XW_INCOMPAT_64BIT)
		log->jsb.feature_incompat |= XW_JBD2_INCOMPAT_64BIT;
	xw_jfmt_init(&log->jsb, &log->fmt);
	return find_end(d, l);
}

static int verb_open(struct dbg *d, int argc, char **argv)
{
	const char *device = NULL;
	struct dbg_log *l;
	uint64_t version = 0;
	bool csum = false;
	const struct dbg_option options[] = {
		{'c', .given = &csum},
		{'f', .text = &device},
		{'v', .number = &version, .what = "version"},
		{0},
	};
	int rc;

	if (d->log)
		return xw_fail(&d->diag, XW_ERR_STATE, "the journal is open already");
	rc = dbg_options(d, argc, argv, options);
	if (rc || optind != argc)
		return rc ? rc : DBG_USAGE;
	if (csum && !version)
		version = 3;
	l = calloc(1, sizeof(*l));
	if (!l)
		return xw_fail_nomem(&d->diag, "journal");
	d->log = l;
	rc = open_log(d, l, device);
	if (!rc)
		rc = prepare_log(d, l, version);
	if (rc)
		close_log(d);
	return rc;
}

/* ---- journal_write ---- */

struct numbers {
	XW_VEC(xw_blk) v;
};

struct txn {
	struct dbg *d;
	struct numbers blocks, revoke;
	const char *path;
	int fd;
	uint8_t *buf;
	bool uncommitted;
};

/* Parse "N[-M],...". */
static int add_blocks(struct dbg *d, char *list, struct numbers *out)
{
	char *save = NULL;
	int rc = 0;

	for (char *w = strtok_r(list, ",", &save); w && !rc; w = strtok_r(NULL, ",", &save)) {
		char *dash = strchr(w, '-');
		xw_blk from, to;

		if (dash)
			*dash++ = 0;
		rc = dbg_block(d, w, &from);
		to = from;
		if (!rc && dash)
			rc = dbg_block(d, dash, &to);
		for (xw_blk b = from; !rc && b <= to; b++)
			if (xw_vec_push(&out->v, b))
				rc = xw_fail_nomem(&d->diag, "list of blocks");
	}
	return rc;
}

static int get_block(void *arg, size_t i, xw_blk *blk, const void **data)
{
	struct txn *t = arg;
	const uint32_t bs = t->d->img->block_size;
	const ssize_t got = pread(t->fd, t->buf, bs, (off_t)(i * bs));

	*blk = t->blocks.v.v[i];
	*data = t->buf;
	if (got < 0)
		return xw_fail_errno(&t->d->diag, XW_ERR_IO, errno, "%s", t->path);
	if (got == (ssize_t)bs)
		return 0;
	return xw_fail(&t->d->diag, XW_ERR_TRUNCATED, "%s: has no %zu blocks of %u bytes", t->path,
		       t->blocks.v.n, bs);
}

static void txn_free(struct txn *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->buf);
	xw_vec_free(&t->blocks.v);
	xw_vec_free(&t->revoke.v);
}

static int txn_options(struct txn *t, int argc, char **argv)
{
	int key, rc = 0;

	dbg_getopt_reset();
	while (!rc && (key = getopt(argc, argv, "b:cr:")) != -1) {
		switch (key) {
		case 'b':
			rc = add_blocks(t->d, optarg, &t->blocks);
			break;
		case 'r':
			rc = add_blocks(t->d, optarg, &t->revoke);
			break;
		case 'c':
			t->uncommitted = true;
			break;
		default:
			return DBG_USAGE;
		}
	}
	if (rc)
		return rc;
	if (argc - optind > 1 || (t->blocks.v.n && optind == argc))
		return DBG_USAGE;
	if (!t->blocks.v.n && !t->revoke.v.n)
		return xw_fail(&t->d->diag, XW_ERR_USAGE, "neither -b nor -r: nothing to write");
	t->path = optind < argc ? argv[optind] : NULL;
	if (t->blocks.v.n > 1)
		qsort(t->blocks.v.v, t->blocks.v.n, sizeof(xw_blk), xw_by_u64);
	return 0;
}

static int set_recover(struct dbg *d)
{
	uint8_t buf[XW_SUPER_SIZE];
	int rc = poke_read(d, XW_SUPER_OFFSET, buf, sizeof(buf));

	if (rc)
		return rc;
	xw_super_bytes_incompat(buf, XW_INCOMPAT_RECOVER, 0);
	return poke_write(d, XW_SUPER_OFFSET, buf, sizeof(buf));
}

static int write_txn(struct dbg *d, struct txn *t)
{
	struct dbg_log *l = d->log;
	struct xw_log *log = l->log;
	const struct xw_txn what = {
		.src = {.n = t->blocks.v.n, .arg = t, .get = get_block},
		.revoke = t->revoke.v.v,
		.n_revoke = t->revoke.v.n,
		.sec = (uint64_t)d->now,
		.uncommitted = t->uncommitted,
	};
	const uint64_t needed = xw_txn_blocks(log, t->blocks.v.n) +
				xw_div_up(t->revoke.v.n, xw_jrevoke_capacity(&log->fmt));
	const uint32_t from = l->at;
	int rc;

	/* one block stays free: a log whose end equals its start counts as empty */
	if (needed >= l->room)
		return xw_fail(&d->diag, XW_ERR_LIMIT,
			       "the journal has room for %" PRIu64
			       " blocks, and the transaction needs %" PRIu64,
			       l->room ? l->room - 1 : 0, needed);
	if (t->revoke.v.n)
		log->jsb.feature_incompat |= XW_JBD2_INCOMPAT_REVOKE;
	rc = xw_txn_put(log, &l->at, l->sequence, &what);
	if (!rc && l->dev)
		rc = xw_dev_flush(l->dev);
	if (!rc)
		rc = xw_log_set_start(log, log->jsb.start ? log->jsb.start : from,
				      log->jsb.start ? log->jsb.sequence : l->sequence);
	if (!rc && l->dev)
		rc = xw_dev_flush(l->dev);
	if (rc) {
		d->spoiled |= !l->dev; /* the log may contain a part of the transaction */
		return rc;
	}
	l->sequence++;
	l->room -= needed;
	return set_recover(d);
}

static int verb_write(struct dbg *d, int argc, char **argv)
{
	auto_end(txn_free) struct txn t = {.d = d, .fd = -1};
	int rc = need_log(d);

	if (!rc)
		rc = txn_options(&t, argc, argv);
	if (rc)
		return rc;
	if (t.blocks.v.n) {
		t.buf = malloc(d->img->block_size);
		if (!t.buf)
			return xw_fail_nomem(&d->diag, "block");
		t.fd = open(t.path, O_RDONLY | O_CLOEXEC);
		if (t.fd < 0)
			return xw_fail_errno(&d->diag, XW_ERR_NOTFOUND, errno, "%s", t.path);
	}
	/* read all blocks once, so that a short file is found before anything is written */
	for (size_t i = 0; i < t.blocks.v.n && !rc; i++) {
		const void *data;
		xw_blk blk;

		rc = get_block(&t, i, &blk, &data);
	}
	return rc ? rc : write_txn(d, &t);
}

/* ---- the rest ---- */

static int verb_close(struct dbg *d, int argc, char **argv)
{
	int rc = argc == 1 ? need_log(d) : DBG_USAGE;

	(void)argv;
	if (!rc)
		close_log(d);
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"journal_open, jo", DBG_WRITE, verb_open, "[-c] [-v 2|3] [-f DEVICE]",
	 "open the journal; -c: use checksums, -f: an external journal"},
	{"journal_write, jw", DBG_WRITE, verb_write, "[-b BLOCKS] [-r BLOCKS] [-c] HOSTFILE",
	 "write a transaction; -r: revoked blocks, -c: without a commit block"},
	{"journal_close, jc", DBG_WRITE, verb_close, "", "close the journal"},
	{"journal_run, jr", DBG_WRITE, dbg_verb_journal_run, "[-f DEVICE]",
	 "replay the journal; -f: an external journal"},
};

const struct dbg_family dbg_journal_write_verbs = {
	.title = "Writing the journal",
	.verbs = verbs,
	.n = XW_ARRAY_SIZE(verbs),
	.closed = close_log,
};
