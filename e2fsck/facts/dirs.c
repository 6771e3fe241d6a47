// SPDX-License-Identifier: MIT
/* Directories: what their blocks must be. */
#include "config.h"

#include "facts/dirs.h"

enum { DOT_SIZE = 12 };

void fsck_dir_enter(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->dirs.v[i];
	const struct fsck_inode *in = fsck_inode(f, d->ino);

	if (s->d == d)
		return;
	s->d = d;
	s->tree = d->itree ? fsck_itree(f, d->ino) : NULL;
	s->seed = xw_inode_seed(f->img->csum_seed, d->ino, d->generation);
	s->encrypted = in && in->flags & FSCK_I_ENCRYPT;
	s->folded = in && in->flags & FSCK_I_CASEFOLD;
	s->version = xw_dx_version(&f->img->sb, f->img->sb.def_hash_version);
}

bool fsck_dir_is_root(const void *block, uint32_t block_size)
{
	struct xw_dirent e;

	return !xw_dirent_decode(block, block_size, 0, &e) && e.rec_len == DOT_SIZE &&
	       !xw_dirent_decode(block, block_size, DOT_SIZE, &e) &&
	       e.rec_len == block_size - DOT_SIZE && e.name_len == 2;
}

struct xw_dirblock_area fsck_dir_area_of(const struct fsck_dirscan *s, const struct fsck_area *a)
{
	return (struct xw_dirblock_area){
		.data = a->data,
		.size = a->size,
		.seed = s->seed,
		.inodes_count = s->f->img->sb.inodes_count,
		.csum = a->tail,
		.filetype = true, /* without the feature it must be 0 */
		.any_names = s->encrypted,
	};
}

/* Only ASCII: other characters would need Unicode tables. */
static bool fold(const struct xw_dirent *e, char *out)
{
	for (unsigned i = 0; i < e->name_len; i++) {
		const char c = e->name[i];

		if (c & 0x80)
			return false;
		out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
	}
	return true;
}

bool fsck_dir_hash(const struct fsck_dirscan *s, const struct xw_dirent *e, uint32_t *major)
{
	char folded[XW_NAME_MAX];
	struct xw_dx_hash hash;

	if (s->folded && (s->encrypted || !fold(e, folded)))
		return false;
	if (xw_dx_hash(s->version, s->hash_seed, s->folded ? folded : e->name, e->name_len, &hash))
		return false;
	*major = hash.major;
	return true;
}

struct fsck_itree *fsck_itree(const struct fsck *f, xw_ino ino)
{
	size_t low = 0, high = f->itrees.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (f->itrees.v[mid].ino < ino)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->itrees.n && f->itrees.v[low].ino == ino ? &f->itrees.v[low] : NULL;
}
