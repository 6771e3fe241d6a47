/* SPDX-License-Identifier: MIT */
/* State of a recovery, for recover*.c. */
#ifndef XW_SESSION_RECOVER_INTERNAL_H
#define XW_SESSION_RECOVER_INTERNAL_H

#include "commit/redo.h"
#include "session/recover.h"

struct recovery {
	struct xw_dev *dev;
	struct xw_redo_store *store;
	struct xw_redo_store *inside; /* store of the record in the image; NULL: none */
	struct xw_diag *diag;
	unsigned flags;
	struct xw_recover_info *info;
	struct xw_redo *redo; /* NULL: no file, or an invalid one */
	bool file; /* a redo file of ours exists */
	bool readable, valid, pending; /* state of the superblock */
	bool overlaid; /* dev is our overlay (RDONLY, and a write was necessary) */
	uint8_t super[XW_SUPER_SIZE];
};

/* Drop the message of an expected failure. */
static inline void quiet(struct recovery *v, const struct xw_diag *before)
{
	if (v->diag)
		*v->diag = *before;
}

static inline struct xw_diag diag_of(const struct recovery *v)
{
	return v->diag ? *v->diag : (struct xw_diag){0};
}

/* A record was refused because it is forged: tell, since nothing else may fail. */
static inline void tell_forged(const struct recovery *v)
{
	if (v->redo->forged && v->diag)
		xw_log(v->diag, XW_LOG_WARN, "%s", v->diag->text);
}

enum verdict { NOTHING, APPLY, DROP, STUCK };

/* recover_judge.c: decide whether to apply or drop v->redo, which may be NULL. */
int xw_recovery_judge(struct recovery *v, enum verdict *verdict);
/* Find the redo file of the image. APPLY, DROP: it is selected in v->store. */
int xw_recovery_find_file(struct recovery *v, enum verdict *verdict);
/* The change of the file is complete here: must the file be kept for another image? */
bool xw_recovery_keeps_file(struct recovery *v);
/* A failure is only a warning. Sets *removed if the file was removed. */
void xw_recovery_remove_file(struct recovery *v, bool *removed);

#endif
