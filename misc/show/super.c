/* SPDX-License-Identifier: MIT */
/*
 * The superblock, row by row. Rows, their order and wording were observed with dumpe2fs 1.47.0, by
 * changing one field at a time.
 */
#include "config.h"

#include "base/bytes.h"
#include "plan/features.h"
#include "show/rows.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

static void add_word(char *list, size_t size, const char *sep, const char *word)
{
	const size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? sep : "", word);
}

static void features(struct xw_show *s, const struct xw_super *sb)
{
	const struct xw_features f = {
		{sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat}};
	char list[XW_FEATURE_WORDS];

	xw_feature_words(&f, list);
	show_words(s, "Filesystem features", list);
}

static void flags(struct xw_show *s, uint32_t v)
{
	static const char *const names[] = {"signed_directory_hash ", "unsigned_directory_hash ",
					    "test_filesystem "};
	char list[80] = "";

	for (unsigned i = 0; i < XW_ARRAY_SIZE(names); i++)
		if (v >> i & 1)
			add_word(list, sizeof(list), "", names[i]);
	if (v)
		show_words(s, "Filesystem flags", list);
}

/* The journal mode is a number of two bits; the rest are flags. */
static void mount_options(struct xw_show *s, uint32_t v)
{
	static const char *const modes[] = {NULL, "journal_data", "journal_data_ordered",
					    "journal_data_writeback"};
	static const char *const names[32] = {
		[0] = "debug",       [1] = "bsdgroups", [2] = "user_xattr",     [3] = "acl",
		[4] = "uid16",       [8] = "nobarrier", [9] = "block_validity", [10] = "discard",
		[11] = "nodelalloc",
	};
	const char *mode = modes[v >> 5 & 3];
	char list[512] = "";

	if (mode)
		add_word(list, sizeof(list), " ", mode);
	for (int bit = 0; bit < 32; bit++) {
		char unknown[16];

		if (bit == 5 || bit == 6 || !(v >> bit & 1))
			continue;
		snprintf(unknown, sizeof(unknown), "MNTOPT_%d", bit);
		add_word(list, sizeof(list), " ", names[bit] ? names[bit] : unknown);
	}
	show_words(s, "Default mount options", list);
}

static const char *name_of(const char *const *names, size_t n, uint32_t i, const char *other)
{
	return i < n && names[i] ? names[i] : other;
}

static void head(struct xw_show *s, const struct xw_super *sb)
{
	static const char *const behaviors[] = {NULL, "Continue", "Remount read-only", "Panic"};
	static const char *const systems[] = {"Linux", "Hurd", "Masix", "FreeBSD", "Lites"};
	static const char *const revisions[] = {" (original)", " (dynamic)"};

	show_bytes(s, "Filesystem volume name", sb->volume_name, sizeof(sb->volume_name), "<none>");
	show_bytes(s, "Last mounted on", sb->last_mounted, sizeof(sb->last_mounted),
		   "<not available>");
	show_uuid(s, "Filesystem UUID", sb->uuid);
	show_text(s, "Filesystem magic number", "0x%04X", sb->magic);
	show_text(s, "Filesystem revision #", "%" PRIu32 "%s", sb->rev_level,
		  name_of(revisions, XW_ARRAY_SIZE(revisions), sb->rev_level, ""));
	features(s, sb);
	flags(s, sb->flags);
	mount_options(s, sb->default_mount_opts);
	if (*sb->mount_opts)
		show_bytes(s, "Mount options", sb->mount_opts, sizeof(sb->mount_opts), NULL);
	show_text(s, "Filesystem state", "%s%s", sb->state & XW_STATE_VALID ? "clean" : "not clean",
		  sb->state & XW_STATE_ERROR ? " with errors" : "");
	show_text(s, "Errors behavior", "%s",
		  name_of(behaviors, XW_ARRAY_SIZE(behaviors), sb->errors, "Unknown (continue)"));
	show_text(s, "Filesystem OS type", "%s",
		  name_of(systems, XW_ARRAY_SIZE(systems), sb->creator_os, "(unknown os)"));
}

static void number_if(struct xw_show *s, const char *name, uint64_t v)
{
	if (v)
		show_number(s, name, v);
}

static void amount_if(struct xw_show *s, const char *name, const char *unit, uint64_t v)
{
	if (v)
		show_amount(s, name, unit, v);
}

static void geometry(struct xw_show *s, const struct xw_super *sb)
{
	const bool big = sb->feature_ro_compat & XW_RO_BIGALLOC;
	const uint32_t block_size = xw_super_block_size(sb);
	const uint32_t shift = XW_MIN(sb->log_cluster_size, XW_LOG_CLUSTER_MAX);
	const uint64_t table = (uint64_t)sb->inodes_per_group * sb->inode_size;

	show_number(s, "Inode count", sb->inodes_count);
	show_number(s, "Block count", sb->blocks_count);
	show_number(s, "Reserved block count", sb->r_blocks_count);
	number_if(s, "Overhead clusters", sb->overhead_blocks);
	show_number(s, "Free blocks", sb->free_blocks_count);
	show_number(s, "Free inodes", sb->free_inodes_count);
	show_number(s, "First block", sb->first_data_block);
	show_amount(s, "Block size", "bytes", block_size);
	show_amount(s, big ? "Cluster size" : "Fragment size", "bytes", UINT64_C(1024) << shift);
	if (sb->feature_incompat & XW_INCOMPAT_64BIT)
		show_amount(s, "Group descriptor size", "bytes", sb->desc_size);
	number_if(s, "Reserved GDT blocks", sb->reserved_gdt_blocks);
	show_number(s, "Blocks per group", sb->blocks_per_group);
	show_number(s, big ? "Clusters per group" : "Fragments per group", sb->clusters_per_group);
	show_number(s, "Inodes per group", sb->inodes_per_group);
	show_number(s, "Inode blocks per group", xw_div_up(table, block_size));
	amount_if(s, "RAID stride", "blocks", sb->raid_stride);
	amount_if(s, "RAID stripe width", "blocks", sb->raid_stripe_width);
	number_if(s, "First meta block group", sb->first_meta_bg);
	if (sb->log_groups_per_flex)
		show_amount(s, "Flex block group size", "groups",
			    UINT64_C(1) << XW_MIN(sb->log_groups_per_flex, 63));
}

/* "1 week, 1 day, 0:01:01"; a month has 30 days */
static void interval(char *text, size_t size, uint32_t sec)
{
	static const struct {
		uint32_t sec;
		const char *one;
	} units[] = {{2592000, "month"}, {604800, "week"}, {86400, "day"}};
	char part[32];

	*text = '\0';
	for (unsigned i = 0; i < XW_ARRAY_SIZE(units); i++) {
		const uint32_t n = sec / units[i].sec;

		sec %= units[i].sec;
		snprintf(part, sizeof(part), "%" PRIu32 " %s%s", n, units[i].one, n > 1 ? "s" : "");
		if (n)
			add_word(text, size, ", ", part);
	}
	snprintf(part, sizeof(part), "%" PRIu32 ":%02" PRIu32 ":%02" PRIu32, sec / 3600,
		 sec / 60 % 60, sec % 60);
	if (sec)
		add_word(text, size, ", ", part);
}

static void lifetime_writes(struct xw_show *s, uint64_t kbytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	unsigned u = 0, shift = 0;

	/* the largest unit with a value of at least eight */
	while (u + 1 < XW_ARRAY_SIZE(units) && kbytes >> shift >= 8192) {
		u++;
		shift += 10;
	}
	if (!s->out)
		show_number(s, "Lifetime writes KiB", kbytes);
	else if (kbytes)
		show_text(s, "Lifetime writes", "%" PRIu64 " %s",
			  (kbytes + (shift ? UINT64_C(1) << (shift - 1) : 0)) >> shift, units[u]);
}

static void times(struct xw_show *s, const struct xw_super *sb)
{
	char text[96];

	if (sb->mkfs_time)
		show_time(s, "Filesystem created", sb->mkfs_time);
	if (sb->mtime || !s->out)
		show_time(s, "Last mount time", sb->mtime);
	else
		show_text(s, "Last mount time", "n/a");
	show_time(s, "Last write time", sb->wtime);
	show_number(s, "Mount count", sb->mnt_count);
	show_signed(s, "Maximum mount count", sb->max_mnt_count);
	show_time(s, "Last checked", sb->lastcheck);
	interval(text, sizeof(text), sb->checkinterval);
	if (s->out)
		show_text(s, "Check interval", "%" PRIu32 " (%s)", sb->checkinterval,
			  sb->checkinterval ? text : "<none>");
	else
		show_amount(s, "Check interval", "seconds", sb->checkinterval);
	if (sb->checkinterval)
		show_time(s, "Next check after", sb->lastcheck + sb->checkinterval);
	lifetime_writes(s, sb->kbytes_written);
}

/* The name of an id, for which getpwuid() or getgrgid() has set errno. */
static const char *owner_name(const char *name)
{
	if (name)
		return name;
	/* "unknown" would be wrong if the table could not be read */
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO
		       ? strerror(errno)
		       : "unknown";
}

static void show_owner(struct xw_show *s, const char *label, const char *kind, uint32_t id,
		       const char *name)
{
	show_text(s, label, "%" PRIu32 " (%s %s)", id, kind, owner_name(name));
}

static void owners_and_inodes(struct xw_show *s, const struct xw_super *sb)
{
	const struct passwd *user;
	const struct group *group;

	if (s->out) {
		errno = 0;
		user = getpwuid(sb->def_resuid);
		show_owner(s, "Reserved blocks uid", "user", sb->def_resuid,
			   user ? user->pw_name : NULL);
		errno = 0;
		group = getgrgid(sb->def_resgid);
		show_owner(s, "Reserved blocks gid", "group", sb->def_resgid,
			   group ? group->gr_name : NULL);
	} else {
		show_number(s, "Reserved blocks uid", sb->def_resuid);
		show_number(s, "Reserved blocks gid", sb->def_resgid);
	}
	if (!sb->rev_level)
		return;
	show_number(s, "First inode", sb->first_ino);
	show_amount(s, "Inode size\t", "bytes", sb->inode_size);
	amount_if(s, "Required extra isize", "bytes", sb->min_extra_isize);
	amount_if(s, "Desired extra isize", "bytes", sb->want_extra_isize);
}

static void show_hash(struct xw_show *s, const struct xw_super *sb)
{
	static const char *const names[] = {"legacy", "half_md4", "tea"};
	char unknown[16];

	snprintf(unknown, sizeof(unknown), "HASHALG_%u", sb->def_hash_version);
	if (sb->feature_compat & XW_COMPAT_DIR_INDEX || sb->def_hash_version)
		show_text(s, "Default directory hash", "%s",
			  name_of(names, XW_ARRAY_SIZE(names), sb->def_hash_version, unknown));
	if (!xw_all_zero(sb->hash_seed, sizeof(sb->hash_seed)))
		show_uuid(s, "Directory Hash Seed", sb->hash_seed);
}

static void journal_rows(struct xw_show *s, const struct xw_super *sb)
{
	if (!xw_all_zero(sb->journal_uuid, sizeof(sb->journal_uuid)))
		show_uuid(s, "Journal UUID", sb->journal_uuid);
	number_if(s, "Journal inode", sb->journal_inum);
	if (sb->journal_dev)
		show_text(s, "Journal device\t", "0x%04" PRIx32, sb->journal_dev);
	number_if(s, "First orphan inode", sb->last_orphan);
	show_hash(s, sb);
	if (sb->jnl_backup_type == 1)
		show_text(s, "Journal backup", "inode blocks");
	else if (sb->jnl_backup_type)
		show_text(s, "Journal backup", "type %u", sb->jnl_backup_type);
}

static void backups_and_snapshots(struct xw_show *s, const struct xw_super *sb)
{
	char text[32] = "", one[16];

	for (unsigned i = 0; i < XW_ARRAY_SIZE(sb->backup_bgs); i++) {
		snprintf(one, sizeof(one), "%" PRIu32 " ", sb->backup_bgs[i]);
		if (sb->backup_bgs[i])
			add_word(text, sizeof(text), "", one);
	}
	if (*text)
		show_text(s, "Backup block groups", "%s", text);
	if (sb->snapshot_inum) {
		show_number(s, "Snapshot inode", sb->snapshot_inum);
		show_number(s, "Snapshot ID", sb->snapshot_id);
		show_number(s, "Snapshot reserved blocks", sb->snapshot_r_blocks);
	}
	number_if(s, "Snapshot list head", sb->snapshot_list);
}

/* One of the two recorded errors. */
struct recorded_error {
	const char *which;
	int64_t time;
	const char *func;
	uint32_t line, ino;
	uint64_t block;
	uint8_t code;
};

static void recorded_error(struct xw_show *s, const struct recorded_error *e)
{
	static const char *const codes[] = {
		NULL,        "UNKNOWN", "EIO",     "ENOMEM",    "EFSBADCRC", "EFSCORRUPTED",
		"ENOSPC",    "ENOKEY",  "EROFS",   "EFBIG",     "EEXIST",    "ERANGE",
		"EOVERFLOW", "EBUSY",   "ENOTDIR", "ENOTEMPTY", "ESHUTDOWN", "EFAULT"};
	char name[32], unknown[24];

#define NAME(what) (snprintf(name, sizeof(name), "%s error " what, e->which), name)
	if (!e->time)
		return;
	show_time(s, NAME("time"), e->time);
	show_bytes(s, NAME("function"), e->func, 32, NULL);
	show_number(s, NAME("line #"), e->line);
	if (e->ino)
		show_number(s, NAME("inode #"), e->ino);
	if (e->block)
		show_number(s, NAME("block #"), e->block);
	snprintf(unknown, sizeof(unknown), "UNKNOWN_ERRCODE_%u", e->code);
	if (e->code)
		show_text(s, NAME("err"), "%s",
			  name_of(codes, XW_ARRAY_SIZE(codes), e->code, unknown));
#undef NAME
}

static void recorded_errors(struct xw_show *s, const struct xw_super *sb)
{
	const struct recorded_error first = {"First",
					     sb->first_error_time,
					     sb->first_error_func,
					     sb->first_error_line,
					     sb->first_error_ino,
					     sb->first_error_block,
					     sb->first_error_errcode};
	const struct recorded_error last = {"Last",
					    sb->last_error_time,
					    sb->last_error_func,
					    sb->last_error_line,
					    sb->last_error_ino,
					    sb->last_error_block,
					    sb->last_error_errcode};

	number_if(s, "FS Error count", sb->error_count);
	recorded_error(s, &first);
	recorded_error(s, &last);
}

static void rest(struct xw_show *s, const struct xw_super *sb)
{
	if (sb->feature_incompat & XW_INCOMPAT_MMP) {
		show_number(s, "MMP block number", sb->mmp_block);
		show_amount(s, "MMP update interval", "seconds", sb->mmp_interval);
	}
	number_if(s, "User quota inode", sb->usr_quota_inum);
	number_if(s, "Group quota inode", sb->grp_quota_inum);
	number_if(s, "Project quota inode", sb->prj_quota_inum);
	if (xw_super_has_csum(sb)) {
		show_text(s, "Checksum type", sb->checksum_type == 1 ? "crc32c" : "unknown");
		show_checksum(s, "Checksum", sb->checksum);
	}
	if (!xw_all_zero(sb->encrypt_pw_salt, sizeof(sb->encrypt_pw_salt)))
		show_uuid(s, "Encryption PW Salt", sb->encrypt_pw_salt);
	if (sb->feature_incompat & XW_INCOMPAT_CSUM_SEED)
		show_checksum(s, "Checksum seed", sb->checksum_seed);
	if (sb->feature_incompat & XW_INCOMPAT_CASEFOLD && sb->encoding == 1)
		show_text(s, "Character encoding", "utf8-12.1");
	else if (sb->feature_incompat & XW_INCOMPAT_CASEFOLD)
		show_text(s, "Character encoding", "UNKNOWN_ENCODING_%u", sb->encoding);
	if (sb->feature_compat & XW_COMPAT_ORPHAN_FILE)
		show_number(s, "Orphan file inode", sb->orphan_file_inum);
	if (sb->xw_nonce)
		show_text(s, "Pending change", "0x%016" PRIx64, sb->xw_nonce);
}

static void show_super_rows(struct xw_show *s, const struct xw_super *sb)
{
	head(s, sb);
	geometry(s, sb);
	times(s, sb);
	owners_and_inodes(s, sb);
	journal_rows(s, sb);
	backups_and_snapshots(s, sb);
	recorded_errors(s, sb);
	rest(s, sb);
}

int xw_show_super(struct xw_show *s, struct xw_image *img)
{
	show_super_rows(s, &img->sb);
	return show_done(s, img, img->flags, 0);
}

int xw_show_raw_super(struct xw_show *s, struct xw_dev *dev, struct xw_super *sb)
{
	uint8_t buf[XW_SUPER_SIZE];
	int rc = xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET);

	if (rc)
		return rc;
	if (xw_super_decode(buf, sb))
		show_damage(s, "%s: superblock: impossible values", dev->name);
	if (!s->no_csum && xw_super_verify(buf))
		show_damage(s, "%s: superblock: checksum mismatch", dev->name);
	show_super_rows(s, sb);
	return 0;
}
