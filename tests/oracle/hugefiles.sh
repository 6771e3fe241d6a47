#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make_hugefiles of mke2fs.conf: the same files as mke2fs makes, with their owners, modes and sizes; aligned, full of zeros also on a
# device that was not, clean for e2fsck; as many as fit.
. "$(dirname "$0")/../cli/lib.sh"
for tool in mke2fs debugfs e2fsck; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

cat >conf <<'E'
[defaults]
	base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr,metadata_csum,64bit,extent,flex_bg,huge_file
	blocksize = 4096
	inode_size = 256
	inode_ratio = 16384
[fs_types]
	ext4 = {
	}
	owned = {
		make_hugefiles = true
		hugefiles_dir = /store/sub
		hugefiles_name = big-data
		hugefiles_digits = 3
		hugefiles_size = 2M
		num_hugefiles = 3
		hugefiles_uid = 1000
		hugefiles_gid = 1001
		hugefiles_umask = 027
	}
	aligned = {
		make_hugefiles = true
		hugefiles_size = 5M
		hugefiles_align = 4M
		hugefiles_dir = big
	}
	one = {
		make_hugefiles = true
		zero_hugefiles = false
	}
	four = {
		make_hugefiles = true
		num_hugefiles = 4
	}
	slack = {
		make_hugefiles = true
		hugefiles_size = 10M
		hugefiles_digits = 2
		hugefiles_slack = 30M
	}
	blocks = {
		make_hugefiles = true
		hugefiles_size = 512
		num_hugefiles = 2
		hugefiles_slack = 100
		hugefiles_align = 100
	}
	none = {
		make_hugefiles = false
		hugefiles_size = 1M
	}
	large = {
		make_hugefiles = true
		hugefiles_size = 100M
		num_hugefiles = 3
	}
	some = {
		make_hugefiles = true
		hugefiles_size = 5M
		num_hugefiles = 50
	}
	somealigned = {
		make_hugefiles = true
		hugefiles_size = 4M
		hugefiles_align = 8M
		num_hugefiles = 50
	}
	wrong = {
		make_hugefiles = true
		hugefiles_size = many
	}
E
export MKE2FS_CONFIG=$PWD/conf
printf 'ls -l %s\n' / /store /store/sub /big >ask
# made IMAGE: what is in it, without dates
made() { debugfs -f ask "$1" 2>/dev/null | awk '/^ +[0-9]/ && $NF != "." && $NF != ".." { print $1, $2, $4, $5, $6, $NF }'; }
for type in owned aligned one four slack blocks none; do
	rm -f stock img
	mke2fs -qF -t ext4 -T $type stock 64M >/dev/null 2>&1
	mkfs -q -F -t ext4 -T $type img 64M
	made stock >stock.list
	made img >our.list
	[ "$RC" = 0 ] && cmp -s stock.list our.list && pass "$type: the files of mke2fs" || { fail "$type: the files of mke2fs"; diff stock.list our.list | sed 's/^/# /'; }
	clean img "$type: clean"
done
mkfs -q -F -t ext4 -T aligned img 64M
[ "$(debugfs -R 'bmap /big/hugefile00000 0' img 2>/dev/null)" = 1024 ] && pass "4 MiB are where 4 MiB begin" || fail "4 MiB are where 4 MiB begin"
mkfs -q -F -t ext4 -T large img 64M
made img >our.list
[ "$RC" = 0 ] && grep -q 'warning.*make_hugefiles: no space for 3 of 3 files of 25600 blocks' .err && ! grep -q hugefile our.list && pass "too large: none, with a warning" || fail "too large: none, with a warning"
clean img "too large: clean"
mkfs -q -F -t ext4 -T some img 64M
made img >our.list
[ "$RC" = 0 ] && grep -q 'warning.*make_hugefiles: no space for [0-9]* of 50 files of 1280 blocks' .err && [ "$(grep -c hugefile our.list)" -ge 8 ] && pass "too many: as many as fit" || fail "too many: as many as fit"
clean img "too many: clean"
mkfs -q -F -t ext4 -T somealigned img 64M
[ "$RC" = 0 ] && grep -q 'warning.*make_hugefiles: no space for [0-9]* of 50 files' .err && pass "too many that are aligned" || fail "too many that are aligned"
clean img "too many that are aligned: clean"
mkfs -q -F -t ext4 -T wrong img 64M
[ "$RC" != 0 ] && grep -q 'conf:[0-9]*: hugefiles_size' .err && pass "not a size: refused with its line" || fail "not a size: refused with its line"
rm -f img
mkdir -p src/store && seq 100000 >src/store/file
mkfs -q -t ext4 -T owned -d src img
[ "$RC" != 0 ] && grep -q 'SIZE' .err && pass "without SIZE the message asks for it" || fail "without SIZE the message asks for it"
mkfs -q -F -t ext4 -T owned -d src img 64M
clean img "beside a source: clean"
debugfs -R 'dump /store/sub/big-data002 out' img 2>/dev/null
[ "$(stat -c %s out)" = 2097152 ] && ! tr -d '\0' <out | grep -q . && pass "they are full of zeros" || fail "they are full of zeros"

if is_root && losetup -f >/dev/null 2>&1; then
	head -c 64M /dev/zero | tr '\0' x >old
	dev=$(losetup -f --show old)
	mkfs -q -F -t ext4 -E nodiscard -T owned "$dev"
	debugfs -R 'dump /store/sub/big-data002 out' "$dev" 2>/dev/null
	[ "$RC" = 0 ] && [ "$(stat -c %s out)" = 2097152 ] && ! tr -d '\0' <out | grep -q . && pass "also on a device that held something" || fail "also on a device that held something"
else
	skip "also on a device that held something" "needs loop devices"
fi
done_testing 26
