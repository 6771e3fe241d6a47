/* SPDX-License-Identifier: MIT */
/*
 * Planning a replay, in four steps:
 * 1. walk: from start on, as long as blocks carry the expected sequence number; descriptor and
 *    revoke blocks are recorded, and become valid once their commit block is found.
 * 2. revokes: for each block the latest transaction that revoked it.
 * 3. tags: every copy that is not revoked by its own or a later transaction; the latest one wins.
 * 4. fast commits of the transaction that was running when the log ended.
 *
 * Termination on any input: the walk takes at most as many steps as the log has blocks, and
 * the other steps are bounded by what it recorded.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/crc.h"
#include "base/endian.h"
#include "base/search.h"
#include "base/types.h"
#include "disk/fast.h"
#include "journal/replay.h"

#define FAST_MAX (UINT64_C(64) << 20) /* maximum size of the fast commits in memory, in bytes */

struct note {
	uint32_t at, sequence;
	bool revoke;
};

struct revoked {
	xw_blk blk;
	/* sequence minus the first sequence of the log: a wrap-safe order of transactions */
	uint32_t age;
};

struct scan {
	struct xw_log *log;
	struct xw_replay *r;
	bool salvage, rest;
	uint64_t limit;
	uint8_t *blk, *data;
	XW_VEC(struct note) notes;
	XW_VEC(struct revoked) revoked;
	/* state of the walk */
	uint32_t at, sequence;
	uint64_t steps;
	uint32_t crc; /* v1: checksum of the current transaction so far */
	bool suspect; /* a block of this transaction has a wrong checksum */
	/*
	 * walk_beyond(): a skipped block may be a revoke block; a descriptor explains unreadable
	 * data blocks
	 */
	bool unknown, explained;
	size_t committed; /* walk_beyond(): number of notes that are committed */
	bool hit; /* walk_beyond(): a damaged block was found; the first one is in `transaction` */
	uint32_t hit_in;
	uint64_t last_time;
};

static void free_scan(struct scan *s)
{
	xw_vec_free(&s->notes);
	xw_vec_free(&s->revoked);
	free(s->blk);
	free(s->data);
}

static int damage(struct scan *s, const char *what, uint64_t at)
{
	s->r->damaged = true;
	if (s->salvage)
		return 0;
	return xw_fail(s->log->diag, XW_ERR_CHECKSUM,
		       "%s: journal: checksum mismatch of %s at block %" PRIu64 " of the log",
		       s->log->dev->name, what, at);
}

static int note(struct scan *s, uint32_t at, bool revoke)
{
	struct note n = {.at = at, .sequence = s->sequence, .revoke = revoke};

	if (xw_vec_push(&s->notes, n))
		return xw_fail_nomem(s->log->diag, "a journal's transactions");
	if (!xw_jblock_verify_tail(&s->log->fmt, s->blk))
		s->suspect = true;
	return 0;
}

/* Skip the data blocks of the descriptor in s->blk, adding them to the checksum under v1. */
static int skip_data(struct scan *s)
{
	const uint32_t n = xw_jtag_count(&s->log->fmt, s->blk);
	int rc = 0;

	if (s->log->fmt.csum1)
		s->crc = xw_crc32_be(s->crc, s->blk, s->log->block_size);
	for (uint32_t i = 0; i < n && !rc; i++) {
		if (s->log->fmt.csum1) {
			rc = xw_log_read(s->log, s->at, s->data);
			s->crc = xw_crc32_be(s->crc, s->data, s->log->block_size);
		}
		s->at = xw_log_next(s->log, s->at);
	}
	s->steps += n;
	return rc;
}

/* 1: the transaction is valid; 0: the log ends before it; negative: damage. */
static int end_transaction(struct scan *s, uint32_t at)
{
	struct xw_jcommit c;
	int rc = 0;

	xw_jcommit_decode(s->blk, &c);
	/* Older than the previous transaction: left by an earlier use of the journal, no damage. */
	if (s->suspect)
		rc = c.sec < s->last_time ? 0
					  : damage(s, "a descriptor or revoke block before", at);
	else if (!xw_jcommit_verify(&s->log->fmt, s->blk, s->crc))
		rc = c.sec < s->last_time ? 0 : damage(s, "the commit", at);
	else
		rc = 1;
	s->r->headers = s->r->damaged;
	s->last_time = c.sec;
	s->crc = ~0u;
	return rc;
}

static int walk(struct scan *s)
{
	const uint64_t blocks = s->log->last - s->log->first;
	size_t committed = 0;
	int rc = 0;

	s->at = s->log->jsb.start;
	s->sequence = s->log->jsb.sequence;
	s->crc = ~0u;
	s->r->end_at = s->at;
	while (!rc && s->steps++ < blocks) {
		const uint32_t at = s->at;
		uint32_t type, sequence;

		rc = xw_log_read(s->log, at, s->blk);
		if (rc || !xw_jblock_header(s->blk, &type, &sequence) || sequence != s->sequence)
			break;
		s->at = xw_log_next(s->log, at);
		if (type == XW_JBD2_DESCRIPTOR) {
			rc = note(s, at, false);
			if (!rc)
				rc = skip_data(s);
		} else if (type == XW_JBD2_REVOKE) {
			rc = note(s, at, true);
		} else if (type == XW_JBD2_COMMIT) {
			rc = end_transaction(s, at);
			if (rc != 1)
				break;
			rc = 0;
			committed = s->notes.n;
			s->sequence++;
			s->r->end_at = s->at;
			s->r->transactions++;
		} else {
			break;
		}
	}
	s->notes.n = committed;
	s->r->end_sequence = s->sequence;
	return rc;
}

static void hit(struct scan *s)
{
	if (!s->hit)
		s->hit_in = s->sequence;
	s->hit = true;
}

/*
 * Process a commit block after damage. 1: everything noted up to here is committed; 0: it is not.
 */
static int commit_beyond(struct scan *s)
{
	const bool ok = xw_jcommit_verify(&s->log->fmt, s->blk, s->crc);

	if (!ok && s->log->fmt.csum1) /* no block has a checksum of its own */
		s->notes.n = s->committed;
	s->crc = ~0u;
	if (!ok)
		hit(s);
	s->sequence++;
	if (!ok)
		return 0;
	s->committed = s->notes.n;
	s->r->end_at = s->at;
	s->r->transactions++;
	return 1;
}

static int note_beyond(struct scan *s, uint32_t at, uint32_t type)
{
	const bool revoke = type == XW_JBD2_REVOKE;
	uint32_t count;
	int rc = 0;

	if (!xw_jblock_verify_tail(&s->log->fmt, s->blk) ||
	    (revoke && xw_jrevoke_count(&s->log->fmt, s->blk, &count))) {
		s->unknown |= revoke;
		s->explained = !revoke;
		hit(s);
		return 0;
	}
	rc = note(s, at, revoke);
	return rc || revoke ? rc : skip_data(s);
}

/*
 * Walk the whole log, past damage. A block with the magic is a header, since data blocks never
 * start with it. A header whose sequence number is not less than that of the previous header
 * belongs to the current use of the log. A commit block proves that the transactions before it were
 * committed.
 */
static int walk_beyond(struct scan *s)
{
	const uint64_t blocks = s->log->last - s->log->first;
	int rc = 0;

	s->at = s->log->jsb.start;
	s->sequence = s->log->jsb.sequence;
	s->crc = ~0u;
	s->r->damaged = true;
	while (!rc && s->steps++ < blocks) {
		const uint32_t at = s->at;
		uint32_t type, sequence;
		struct xw_jcommit c;

		rc = xw_log_read(s->log, at, s->blk);
		s->at = xw_log_next(s->log, at);
		if (rc || !xw_jblock_header(s->blk, &type, &sequence) ||
		    sequence - s->sequence >= blocks) {
			s->unknown |= !s->explained; /* may be a damaged revoke block */
			hit(s);
			continue;
		}
		s->sequence = sequence;
		s->explained = false;
		if (type == XW_JBD2_DESCRIPTOR || type == XW_JBD2_REVOKE) {
			rc = note_beyond(s, at, type);
		} else if (type == XW_JBD2_COMMIT) {
			xw_jcommit_decode(s->blk, &c);
			if (c.sec < s->last_time) /* left by an earlier use of the journal */
				break;
			s->last_time = c.sec;
			if (commit_beyond(s))
				s->r->revokes_lost |= s->unknown;
		}
	}
	s->notes.n = s->committed;
	s->r->end_sequence = s->sequence;
	return rc;
}

static int refuse_fast(struct scan *s, const char *why)
{
	return xw_fail(
		s->log->diag, XW_ERR_UNSUPPORTED,
		"%s: journal: it contains fast commits %s; mount the image with Linux once, or "
		"run xw-fsck -p",
		s->log->dev->name, why);
}

/*
 * Collect the fast commits that continue the log. The first block of the area is unused
 * (disk/fast.h).
 */
static int collect_fast(struct scan *s)
{
	const uint32_t bs = s->log->block_size;
	struct xw_fast_scan fast = {.tid = s->sequence};
	XW_VEC(uint8_t) got = {0};
	bool more = true;
	int rc = 0;

	for (uint32_t i = 1; i < s->log->fc_blocks && more && !rc; i++) {
		if (got.n >= FAST_MAX)
			rc = refuse_fast(s, "of more than 64 MiB");
		if (!rc && xw_vec_reserve(&got, got.n + bs))
			rc = xw_fail_nomem(s->log->diag, "fast commits");
		if (!rc)
			rc = xw_log_read(s->log, s->log->last + i, got.v + got.n);
		if (!rc)
			more = xw_fast_scan_block(&fast, got.v + got.n, bs);
		got.n += bs;
	}
	if (!rc && fast.features)
		rc = refuse_fast(s, "of an unknown type");
	if (rc || !fast.good) {
		xw_vec_free(&got);
		return rc;
	}
	s->r->fast = got.v;
	s->r->fast_blocks = fast.good;
	return 0;
}

static int by_block_then_age(const void *a, const void *b)
{
	const struct revoked *x = a, *y = b;

	if (x->blk != y->blk)
		return x->blk < y->blk ? -1 : 1;
	return (x->age > y->age) - (x->age < y->age);
}

static int collect_revoked(struct scan *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->notes.n; i++) {
		const struct note *n = &s->notes.v[i];
		struct revoked rv = {.age = n->sequence - s->log->jsb.sequence};
		uint32_t count;
		int rc = n->revoke ? xw_log_read(s->log, n->at, s->blk) : 0;

		if (rc)
			return rc;
		if (!n->revoke)
			continue;
		if (xw_jrevoke_count(&s->log->fmt, s->blk, &count)) {
			s->r->damaged = s->r->headers = true;
			if (s->salvage)
				continue;
			return xw_fail(s->log->diag, XW_ERR_CORRUPT,
				       "%s: journal: the revoke block at block %" PRIu32
				       " of the log has an impossible length",
				       s->log->dev->name, n->at);
		}
		for (uint32_t k = 0; k < count; k++) {
			rv.blk = xw_jrevoke_get(&s->log->fmt, s->blk, k);
			if (xw_vec_push(&s->revoked, rv))
				return xw_fail_nomem(s->log->diag, "a journal's revoked blocks");
		}
	}
	if (!s->revoked.n)
		return 0;
	qsort(s->revoked.v, s->revoked.n, sizeof(*s->revoked.v), by_block_then_age);
	/* the last record of each block is the latest one */
	for (size_t i = 0; i < s->revoked.n; i++)
		if (i + 1 == s->revoked.n || s->revoked.v[i + 1].blk != s->revoked.v[i].blk)
			s->revoked.v[kept++] = s->revoked.v[i];
	s->revoked.n = kept;
	return 0;
}

static bool is_revoked(const struct scan *s, xw_blk blk, uint32_t sequence)
{
	const struct revoked *v = s->revoked.v;
	const size_t at = XW_LOWER_BOUND(i, s->revoked.n, v[i].blk >= blk);

	return at < s->revoked.n && v[at].blk == blk &&
	       sequence - s->log->jsb.sequence <= v[at].age;
}

/* Add a copy of a block, which is at block s->at of the log. */
static int add_copy(struct scan *s, const struct xw_jtag *tag, uint32_t sequence)
{
	struct xw_replay_block b = {
		.blk = tag->blk, .at = s->at, .escaped = tag->flags & XW_JTAG_ESCAPED};
	int rc = 0;

	s->r->tags++;
	if (is_revoked(s, tag->blk, sequence)) {
		s->r->revoked++;
		return 0;
	}
	if (tag->blk >= s->limit) {
		s->r->bad++;
		if (!s->r->outside)
			s->r->outside_blk = tag->blk;
		s->r->outside = true;
		s->r->damaged = s->r->headers = true;
		if (s->salvage)
			return 0;
		return xw_fail(s->log->diag, XW_ERR_CORRUPT,
			       "%s: journal: block %" PRIu64 " is beyond the filesystem's end",
			       s->log->dev->name, tag->blk);
	}
	if (s->log->fmt.csum) {
		rc = xw_log_read(s->log, s->at, s->data);
		if (!rc && xw_jtag_csum(&s->log->fmt, sequence, s->data) != tag->csum) {
			s->r->bad++;
			return damage(s, "the data", s->at);
		}
	}
	if (!rc && xw_vec_push(&s->r->blocks, b))
		rc = xw_fail_nomem(s->log->diag, "a journal's blocks");
	return rc;
}

static int collect_tags(struct scan *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->notes.n && !rc; i++) {
		const struct note *n = &s->notes.v[i];
		struct xw_jtag_iter it = {.f = &s->log->fmt, .blk = s->blk};
		struct xw_jtag tag;

		if (n->revoke || (s->rest && n->sequence - s->hit_in >= UINT32_MAX / 2))
			continue;
		rc = xw_log_read(s->log, n->at, s->blk);
		s->at = xw_log_next(s->log, n->at);
		while (!rc && xw_jtag_next(&it, &tag)) {
			rc = add_copy(s, &tag, n->sequence);
			s->at = xw_log_next(s->log, s->at);
		}
	}
	return rc;
}

/* Keep only the latest copy of each block; for this comparison `at` is relative to start. */
static void keep_latest(struct scan *s)
{
	struct xw_replay *r = s->r;
	const uint32_t blocks = s->log->last - s->log->first;
	const uint32_t start = s->log->jsb.start;
	size_t kept = 0;

	for (size_t i = 0; i < r->blocks.n; i++)
		r->blocks.v[i].at = (r->blocks.v[i].at + blocks - start) % blocks;
	if (r->blocks.n)
		qsort(r->blocks.v, r->blocks.n, sizeof(*r->blocks.v), xw_by_u64);
	for (size_t i = 0; i < r->blocks.n; i++) {
		struct xw_replay_block b = r->blocks.v[i];

		for (; i + 1 < r->blocks.n && r->blocks.v[i + 1].blk == b.blk; i++)
			if (r->blocks.v[i + 1].at > b.at)
				b = r->blocks.v[i + 1];
		b.at = s->log->first + (b.at + start - s->log->first) % blocks;
		r->blocks.v[kept++] = b;
	}
	r->blocks.n = kept;
}

int xw_replay_plan(struct xw_log *log, unsigned flags, uint64_t limit, struct xw_replay *r)
{
	auto_end(free_scan) struct scan s = {.log = log, .r = r, .limit = limit};
	int rc;

	memset(r, 0, sizeof(*r));
	r->end_sequence = log->jsb.sequence;
	if (!log->jsb.start)
		return 0;
	s.salvage = flags & XW_REPLAY_SALVAGE;
	s.rest = flags & XW_REPLAY_REST;
	s.blk = malloc(log->block_size);
	s.data = malloc(log->block_size);
	if (!s.blk || !s.data)
		return xw_fail_nomem(log->diag, "a journal");
	rc = flags & XW_REPLAY_BEYOND ? walk_beyond(&s) : walk(&s);
	if (!rc)
		rc = collect_revoked(&s);
	if (!rc)
		rc = collect_tags(&s);
	if (rc)
		return rc;
	keep_latest(&s);
	/* fast commits apply on top of the transactions before them */
	return r->damaged ? 0 : collect_fast(&s);
}

bool xw_replay_find(const struct xw_replay *r, xw_blk blk, size_t *i)
{
	*i = XW_LOWER_BOUND(k, r->blocks.n, r->blocks.v[k].blk >= blk);
	return *i < r->blocks.n && r->blocks.v[*i].blk == blk;
}

void xw_replay_free(struct xw_replay *r)
{
	xw_vec_free(&r->blocks);
	free(r->fast);
	r->fast = NULL;
}
