/* SPDX-License-Identifier: MIT */
/* Is a redo record to be applied, or dropped? Decided by the superblock and the record alone. */
#include "config.h"

#include <string.h>

#include "base/types.h"
#include "commit/super.h"
#include "session/recover_internal.h"

static bool same_uuid(const struct xw_redo *r, const uint8_t super[XW_SUPER_SIZE])
{
	struct xw_super sb;

	(void)xw_super_decode(super, &sb);
	return memcmp(sb.uuid, r->h.uuid, sizeof(sb.uuid)) == 0;
}

/* Does the backup superblock in group 1, if there is one, contradict the redo file? */
static bool backup_differs(struct recovery *v)
{
	const struct xw_diag before = diag_of(v);
	uint8_t copy[XW_SUPER_SIZE];
	struct xw_super sb;
	uint64_t off;
	int rc;

	if (xw_super_decode(v->redo->h.new_super, &sb))
		return true;
	off = ((uint64_t)sb.first_data_block + sb.blocks_per_group) * xw_super_block_size(&sb);
	if (off > v->dev->size || v->dev->size - off < XW_SUPER_SIZE)
		return false;
	rc = xw_dev_pread(v->dev, copy, sizeof(copy), off);
	quiet(v, &before);
	return !rc && !xw_super_decode(copy, &sb) && !same_uuid(v->redo, copy);
}

/* The superblock is lost: does the redo file belong to this image nevertheless? */
static int judge_lost(struct recovery *v, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	int rc;

	*verdict = NOTHING;
	if (v->readable && xw_super_bytes_nonce(v->super) == v->redo->h.nonce) {
		*verdict = APPLY;
		return 0;
	}
	if (backup_differs(v))
		return 0;
	rc = xw_redo_load(v->redo, v->dev);
	if (rc) {
		tell_forged(v);
		quiet(v, &before);
		return rc == XW_ERR_NOMEM ? rc : 0;
	}
	rc = xw_redo_matches(v->redo, v->dev);
	if (rc == 1)
		*verdict = APPLY;
	return rc < 0 ? rc : 0;
}

/* Is every byte of the superblock from one of the states that the change writes? */
static bool is_torn(const struct recovery *v)
{
	const struct xw_redo *r = v->redo;
	uint8_t done[XW_SUPER_SIZE];
	const uint8_t *const states[] = {r->h.old_super, r->h.pending_super, done, r->h.new_super};

	xw_super_bytes_done(r->h.new_super, r->h.nonce,
			    xw_super_bytes_number(r->h.pending_super, 0), done);
	return xw_super_bytes_mixed(v->super, states, XW_ARRAY_SIZE(states));
}

/*
 * A torn superblock without the bit: every other tool accepts it, and may have changed the image
 * since without changing the superblock. Then the record contradicts the blocks.
 */
static int judge_torn(struct recovery *v, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	int rc = 1;

	if (v->valid && !v->pending) {
		rc = xw_redo_load(v->redo, v->dev);
		if (!rc)
			rc = xw_redo_matches(v->redo, v->dev);
		if (rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_STATE) {
			tell_forged(v);
			quiet(v, &before);
			rc = 0;
		}
	}
	*verdict = rc == 1 ? APPLY : DROP;
	return rc < 0 ? rc : 0;
}

int xw_recovery_judge(struct recovery *v, enum verdict *verdict)
{
	const struct xw_redo *r = v->redo;

	*verdict = NOTHING;
	if (!r) {
		if (v->pending)
			*verdict = STUCK;
		else if (v->file && v->valid)
			*verdict = DROP;
		return 0;
	}
	if (v->readable && (!memcmp(v->super, r->h.old_super, XW_SUPER_SIZE) ||
			    !memcmp(v->super, r->h.new_super, XW_SUPER_SIZE)))
		*verdict = DROP; /* before the commit point, or complete */
	else if (v->readable && is_torn(v))
		return judge_torn(v, verdict);
	else if (v->pending)
		*verdict = xw_super_bytes_nonce(v->super) == r->h.nonce ? APPLY : STUCK;
	else if (v->valid)
		*verdict = same_uuid(r, v->super) ? DROP : NOTHING;
	else
		return judge_lost(v, verdict);
	return 0;
}
