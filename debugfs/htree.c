/* SPDX-License-Identifier: MIT */
/*
 * Verbs about the index of a directory and its hash. The index is walked by walk/htree.h, leaves by
 * walk/dirblock.h; findings are reported.
 */
#include "config.h"

#include "cli/env.h"
#include "disk/dx_hash.h"
#include "fields.h"
#include "itree.h"
#include "print.h"
#include "read/map.h"
#include "walk.h"
#include "walk/dirblock.h"
#include "walk/htree.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uuid/uuid.h>

#include "base/auto.h"

struct htree {
	struct dbg *d;
	xw_ino ino;
	const struct xw_inode *in;
	uint32_t hash_version; /* as on disk */
	uint32_t seed[4];
	bool csum;
	uint8_t *buf; /* a leaf */
	struct xw_htree it;
	struct xw_dirblock leaf;
	unsigned open; /* number of nodes on the path whose output has begun */
	bool shown[XW_HTREE_DEPTH_MAX]; /* by level: the node's entries were printed */
};

/* Read block lblk of the directory. *pblk is 0 if that failed, which has been reported. */
static int read_block(struct htree *h, uint32_t lblk, uint8_t *buf, xw_blk *pblk)
{
	struct xw_map_run run = {0};
	int rc = xw_map_lookup(h->d->img, h->ino, h->in, lblk, &run);

	if (!rc && !run.len)
		rc = xw_fail(&h->d->diag, XW_ERR_CORRUPT,
			     "directory inode %" PRIu32 ": block %" PRIu32 " is a hole", h->ino,
			     lblk);
	if (!rc)
		rc = xw_image_meta(h->d->img, run.pblk, 0, buf, h->d->img->block_size);
	*pblk = rc ? 0 : run.pblk;
	if (rc)
		dbg_complain_diag(h->d, rc);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

static int read_node(void *arg, uint32_t lblk, void *buf)
{
	struct htree *h = arg;
	xw_blk pblk;
	int rc = read_block(h, lblk, buf, &pblk);

	return rc || pblk ? rc : XW_ERR_IO;
}

/* ---- leaves ---- */

static void hash_of(const struct htree *h, const struct xw_dirent *e, struct xw_dx_hash *out)
{
	char name[XW_NAME_MAX];

	*out = (struct xw_dx_hash){0};
	if (h->hash_version == XW_DX_SIPHASH) { /* keyed: the hash is stored with the entry */
		(void)xw_dirent_hash(e, &out->major, &out->minor);
		return;
	}
	memcpy(name, e->name, e->name_len);
	if (h->in->flags & XW_FL_CASEFOLD) {
		/* only ASCII is folded: other characters would need Unicode tables */
		for (unsigned i = 0; i < e->name_len; i++)
			name[i] = (char)tolower((unsigned char)name[i]);
	}
	(void)xw_dx_hash(xw_dx_version(&h->d->img->sb, h->hash_version), h->seed, name, e->name_len,
			 out);
}

static void leaf_entry_json(struct xw_json *j, const struct xw_dirent *e,
			    const struct xw_dx_hash *hash)
{
	xw_json_object(j, NULL);
	xw_json_u64(j, "inode", e->ino);
	xw_json_u64(j, "hash", hash->major);
	xw_json_u64(j, "minor", hash->minor);
	xw_json_u64(j, "rec_len", e->rec_len);
	xw_json_str(j, "name", e->name, e->name_len);
	xw_json_end(j, '}');
}

static int leaf_entry(struct htree *h, const struct xw_dirent *e, unsigned *col)
{
	auto_free char *name = NULL;
	struct xw_dx_hash hash;

	hash_of(h, e, &hash);
	if (h->d->json) {
		leaf_entry_json(&h->d->js, e, &hash);
		return 0;
	}
	if (!(h->in->flags & XW_FL_ENCRYPT))
		name = dbg_shown_name(e->name, e->name_len);
	else if (asprintf(&name, "<encrypted (%u)>", e->name_len) < 0)
		name = NULL;
	if (!name)
		return xw_fail_nomem(&h->d->diag, "name");
	dbg_wrap(h->d, col, "%" PRIu32 " 0x%08" PRIx32 "-%08" PRIx32 " (%" PRIu32 ") %s   ", e->ino,
		 hash.major, hash.minor, e->rec_len, name);
	return 0;
}

static int leaf_entries(struct htree *h, uint32_t lblk, const uint8_t *buf, uint32_t end,
			unsigned *col)
{
	const struct xw_dirblock_area area = {
		.data = buf,
		.size = end,
		.inodes_count = UINT32_MAX,
		.filetype = true,
		.any_names = true,
	};
	struct xw_dirblock_item item;
	int more, rc = 0;

	xw_dirblock_begin(&h->leaf, &area);
	while (!rc && (more = xw_dirblock_next(&h->leaf, &item)) != 0) {
		const bool damaged = more == 2 && item.rule != XW_DIRBLOCK_NAME_EMPTY;

		if (damaged)
			dbg_complain(h->d, "block %" PRIu32 ": damaged entry at %" PRIu32, lblk,
				     item.off);
		if (!damaged || item.keep)
			rc = leaf_entry(h, &item.e, col);
	}
	return rc;
}

static void begin_leaf(struct htree *h, uint32_t lblk, xw_blk pblk)
{
	struct xw_json *j = &h->d->js;

	if (!h->d->json) {
		fprintf(h->d->out, "Reading directory block %" PRIu32 ", phys %" PRIu64 "\n", lblk,
			pblk);
		return;
	}
	xw_json_object(j, "leaf");
	xw_json_u64(j, "physical", pblk);
	xw_json_array(j, "entries");
}

/* has_sum: the leaf has a checksum. */
static void end_leaf(struct htree *h, bool has_sum, uint32_t sum, unsigned *col)
{
	if (!h->d->json) {
		if (has_sum)
			dbg_wrap(h->d, col, "leaf block checksum: 0x%08" PRIx32 "  ", sum);
		fputc('\n', h->d->out);
		return;
	}
	xw_json_end(&h->d->js, ']');
	if (has_sum)
		xw_json_u64(&h->d->js, "checksum", sum);
	xw_json_end(&h->d->js, '}');
}

static int dump_leaf(struct htree *h, uint32_t lblk, uint8_t *buf)
{
	const uint32_t bs = h->d->img->block_size;
	unsigned col = 0;
	xw_blk pblk;
	int rc = read_block(h, lblk, buf, &pblk);
	bool tail;

	if (rc || !pblk)
		return rc;
	tail = h->csum && xw_dir_has_tail(buf, bs);
	begin_leaf(h, lblk, pblk);
	rc = leaf_entries(h, lblk, buf, bs - (tail ? XW_DIR_TAIL : 0), &col);
	end_leaf(h, tail, tail ? xw_dir_tail_csum(buf, bs) : 0, &col);
	if (tail && !h->d->how.no_csum &&
	    xw_dir_block_verify(buf, bs, xw_image_inode_seed(h->d->img, h->ino, h->in)))
		dbg_complain(h->d, "block %" PRIu32 ": checksum mismatch", lblk);
	return rc;
}

/* ---- nodes ---- */

static uint8_t *node_at(const struct htree *h, unsigned level)
{
	return h->it.nodes + (size_t)level * h->d->img->block_size;
}

static unsigned entries_of(unsigned level)
{
	return level ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
}

/* Print entry i of the current node. */
static void begin_entry(struct htree *h, unsigned i)
{
	const unsigned level = h->open - 1;
	struct xw_dx_entry e;

	xw_dx_entry_decode(node_at(h, level), entries_of(level), i, &e);
	if (h->d->json) {
		xw_json_object(&h->d->js, NULL);
		xw_json_u64(&h->d->js, "hash", e.hash);
		xw_json_u64(&h->d->js, "block", e.lblk);
	} else {
		fprintf(h->d->out, "Entry #%u: Hash 0x%08" PRIx32 ", block %" PRIu32 "\n", i,
			e.hash, e.lblk);
	}
}

static void end_entry(struct htree *h)
{
	if (h->d->json)
		xw_json_end(&h->d->js, '}');
}

/* The stock debugger lists the entries before it follows them. */
static void begin_node(struct htree *h, unsigned level)
{
	const uint8_t *buf = node_at(h, level);
	const unsigned off = entries_of(level);
	struct xw_json *j = &h->d->js;
	unsigned limit, count;
	uint32_t sum = 0;
	bool csum;

	xw_dx_limit_peek(buf, off, &limit, &count);
	csum = h->csum && xw_dx_csum_peek(buf, h->d->img->block_size, off, &sum);
	if (h->d->json) {
		if (level)
			xw_json_object(j, "node");
		xw_json_u64(j, "count", count);
		xw_json_u64(j, "limit", limit);
		if (csum)
			xw_json_u64(j, "checksum", sum);
		xw_json_array(j, "entries");
		return;
	}
	fprintf(h->d->out, "Number of entries (count): %u\nNumber of entries (limit): %u\n", count,
		limit);
	if (csum)
		fprintf(h->d->out, "Checksum: 0x%08" PRIx32 "\n", sum);
	for (unsigned i = 0; i < count; i++)
		begin_entry(h, i);
	fputc('\n', h->d->out);
}

/* End nodes until `open` remain. */
static void end_nodes(struct htree *h, unsigned open)
{
	while (h->open > open) {
		const unsigned level = --h->open;

		if (h->shown[level] && !h->d->json)
			fputs("---------------------\n", h->d->out);
		if (h->shown[level] && h->d->json) {
			xw_json_end(&h->d->js, ']');
			if (level)
				xw_json_end(&h->d->js, '}');
		}
		if (level)
			end_entry(h);
	}
}

static void print_info(struct htree *h, const struct xw_dx_info *info)
{
	struct xw_json *j = &h->d->js;

	if (h->d->json) {
		xw_json_u64(j, "hash_version", info->hash_version);
		xw_json_u64(j, "info_length", info->info_length);
		xw_json_u64(j, "indirect_levels", info->indirect_levels);
		xw_json_u64(j, "flags", info->unused_flags);
		xw_json_u64(j, "reserved_zero", info->reserved_zero);
		return;
	}
	fprintf(h->d->out,
		"Root node dump:\n\t Reserved zero: %" PRIu32 "\n\t Hash Version: %u\n"
		"\t Info length: %u\n\t Indirect levels: %u\n\t Flags: %u\n",
		info->reserved_zero, info->hash_version, info->info_length, info->indirect_levels,
		info->unused_flags);
}

/* Can the entries of the node be followed? If not, a finding reports the reason. */
static bool is_usable(const struct xw_htree *it)
{
	return !(it->pending & (1u << XW_HTREE_READ | 1u << XW_HTREE_NO_NODE |
				1u << XW_HTREE_COUNT | 1u << XW_HTREE_DEPTH | 1u << XW_HTREE_INFO));
}

static int on_item(struct htree *h, const struct xw_htree_item *item)
{
	const bool usable = is_usable(&h->it);
	int rc = 0;

	if (cli_interrupted())
		return DBG_SAID;
	end_nodes(h, item->level);
	if (item->level)
		begin_entry(h, item->entry);
	if (item->leaf) {
		rc = dump_leaf(h, item->lblk, h->buf);
		end_entry(h);
		return rc;
	}
	if (!item->level && !(h->it.pending & 1u << XW_HTREE_READ)) {
		print_info(h, &h->it.info);
		h->hash_version = h->it.info.hash_version;
	}
	h->shown[item->level] = usable;
	h->open = item->level + 1;
	if (usable)
		begin_node(h, item->level);
	return 0;
}

static int on_finding(struct htree *h, const struct xw_htree_item *f)
{
	switch (f->rule) {
	case XW_HTREE_READ: /* reported by the read function */
		return f->lblk ? 0 : DBG_SAID;
	case XW_HTREE_INFO:
	case XW_HTREE_DEPTH:
		return xw_fail(&h->d->diag, XW_ERR_CORRUPT,
			       "directory inode %" PRIu32 ": damaged index", h->ino);
	case XW_HTREE_COUNT:
		if (!f->lblk)
			return xw_fail(&h->d->diag, XW_ERR_CORRUPT,
				       "directory inode %" PRIu32 ": damaged index (count %" PRIu64
				       ", limit %" PRIu64 ")",
				       h->ino, f->found, f->wanted);
		dbg_complain(h->d,
			     "block %" PRIu32 ": not an index node (count %" PRIu64
			     ", limit %" PRIu64 ")",
			     f->lblk, f->found, f->wanted);
		break;
	case XW_HTREE_NO_NODE:
		dbg_complain(h->d, "block %" PRIu32 ": not an index node", f->lblk);
		break;
	case XW_HTREE_CSUM:
		if (!h->d->how.no_csum)
			dbg_complain(h->d, "checksum mismatch of an index block");
		break;
	case XW_HTREE_ORDER:
	case XW_HTREE_RANGE:
		dbg_complain(h->d, "block %" PRIu32 ": entry %u: hash out of order", f->lblk,
			     f->entry);
		break;
	case XW_HTREE_LBLK:
	case XW_HTREE_TWICE:
		end_nodes(h, h->it.depth);
		begin_entry(h, f->entry);
		if (f->rule == XW_HTREE_LBLK)
			dbg_complain(h->d, "block %" PRIu64 ": beyond the directory's end",
				     f->found);
		else
			dbg_complain(h->d, "block %" PRIu32 ": referenced twice by the index",
				     f->lblk);
		end_entry(h);
		break;
	default: /* the output shows what was found */
		break;
	}
	return 0;
}

static int dump(struct htree *h)
{
	const uint64_t blocks = XW_MIN(xw_div_up(h->in->size, h->d->img->block_size),
				       xw_image_blocks_here(h->d->img));
	const struct xw_htree_env env = {
		.block_size = h->d->img->block_size,
		.seed = xw_image_inode_seed(h->d->img, h->ino, h->in),
		.blocks = (uint32_t)XW_MIN(blocks, (uint64_t)UINT32_MAX),
		.levels_max = XW_HTREE_DEPTH_MAX - 1,
		.csum = h->csum,
		.read = read_node,
		.arg = h,
	};
	struct xw_htree_item item;
	int more, rc = xw_htree_begin(&h->it, &env);

	if (h->d->json)
		xw_json_object(&h->d->js, NULL);
	while (!rc && (more = xw_htree_next(&h->it, &item)) != 0) {
		if (more < 0)
			rc = more;
		else if (item.rule == XW_HTREE_UNREFERENCED)
			break;
		else
			rc = more == 2 ? on_finding(h, &item) : on_item(h, &item);
	}
	end_nodes(h, 0);
	if (h->d->json)
		xw_json_end(&h->d->js, '}');
	xw_htree_end(&h->it);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&h->d->diag, "index blocks") : rc;
}

static int verb_htree(struct dbg *d, int argc, char **argv)
{
	struct htree h = {.d = d};
	auto_free uint8_t *buf = NULL;
	struct xw_inode in;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_directory(d, argv[1], &h.ino, &in, NULL);
	if (rc)
		return rc;
	if (!(in.flags & XW_FL_INDEX))
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: not a hash-indexed directory", argv[1]);
	buf = malloc(d->img->block_size);
	if (!buf)
		return xw_fail_nomem(&d->diag, "index blocks");
	h.in = &in;
	h.buf = buf;
	h.csum = xw_super_has_csum(&d->img->sb);
	xw_dx_seed(&d->img->sb, h.seed);
	return dump(&h);
}

/* ---- dx_hash ---- */

static int hash_version(const char *name, enum xw_dx_version *out)
{
	for (size_t i = 0; i < XW_DX_SIPHASH; i++) {
		if (!strcmp(name, field_hashes[i]) || (name[0] == (char)('0' + i) && !name[1])) {
			*out = (enum xw_dx_version)i;
			return 0;
		}
	}
	return -1;
}

static int verb_dx_hash(struct dbg *d, int argc, char **argv)
{
	enum xw_dx_version version = XW_DX_LEGACY;
	struct xw_dx_hash hash;
	uint32_t seed[4];
	const struct xw_super *sb = d->img ? &d->img->sb : NULL;
	const char *hash_name = NULL, *seed_text = NULL;
	bool fold = false, verbose = false;
	const struct dbg_option options[] = {{'h', .text = &hash_name},
					     {'s', .text = &seed_text},
					     {'c', .given = &fold},
					     {'v', .given = &verbose},
					     {0}};
	struct xw_super seeded = {0}; /* has the seed alone */
	auto_free char *name = NULL;
	char text[37];
	int rc = dbg_options(d, argc, argv, options);

	if (rc)
		return rc;
	/* by default, hash version and seed of the open image */
	if (sb) {
		version = xw_dx_version(sb, sb->def_hash_version);
		memcpy(seeded.hash_seed, sb->hash_seed, sizeof(seeded.hash_seed));
	}
	if (hash_name && hash_version(hash_name, &version))
		return xw_fail(&d->diag, XW_ERR_USAGE, "unknown hash '%s'", hash_name);
	if (seed_text && uuid_parse(seed_text, seeded.hash_seed))
		return xw_fail(&d->diag, XW_ERR_USAGE, "'%s' is not a UUID", seed_text);
	if (optind + 1 != argc)
		return DBG_USAGE;
	xw_dx_seed(&seeded, seed);
	name = strdup(argv[optind]);
	if (!name)
		return xw_fail_nomem(&d->diag, "name");
	for (char *c = name; fold && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	rc = xw_dx_hash(version, seed, name, strlen(name), &hash);
	if (rc)
		return rc;
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_str(&d->js, "name", argv[optind], strlen(argv[optind]));
		xw_json_u64(&d->js, "hash", hash.major);
		xw_json_u64(&d->js, "minor", hash.minor);
		xw_json_end(&d->js, '}');
		return 0;
	}
	uuid_unparse_lower(seeded.hash_seed, text);
	if (verbose)
		fprintf(d->out, "Hash algorithm: %s\nHash seed: %s\n", field_hashes[version], text);
	dbg_printf(d, "Hash of %s is 0x%0" PRIx32 " (minor 0x%0" PRIx32 ")\n", argv[optind],
		   hash.major, hash.minor);
	return 0;
}

static const struct dbg_verb verbs[] = {
	{"htree_dump, htree", DBG_OPEN | DBG_PAGED, verb_htree, "DIR",
	 "the hash tree of a directory"},
	{"dx_hash, hash", 0, verb_dx_hash, "[-h HASH] [-s SEED] [-cv] NAME",
	 "the hash of a name: legacy, half_md4 or tea; -c: of the casefolded name"},
	{"itree_dump, itree", DBG_OPEN | DBG_PAGED, dbg_verb_itree, "[--svg FILE] DIR",
	 "the inode-ordered tree of a directory"},
	{"itree_check", DBG_OPEN, dbg_verb_itree_check, "DIR",
	 "check the inode-ordered tree of a directory against itree(5)"},
};

const struct dbg_family dbg_index_verbs = {"Indexes of directories", verbs, XW_ARRAY_SIZE(verbs)};
