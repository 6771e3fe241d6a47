#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune on a damaged superblock, where no checksum tells: it refuses, and the backups stay what they are. A backup that is made
# valid again has descriptors behind it.
. "$(dirname "$0")/lib.sh"

# made NAME MKFS_OPTION...
made() {
	rm -f "$1"
	mkfs -q -F -b 1024 "${@:2}" "$1" 40M
	works "an image: ${*:2}"
}
tune() {
	T_TOOL=xw-tune
	run_tool "$BIN/xw-tune" /dev/null "$@"
}
# put OFFSET BYTES VALUE FILE: little-endian
put() {
	local i v=$3 s=
	for ((i = 0; i < $2; i++)); do
		s+=$(printf '\\x%02x' $((v & 255)))
		v=$((v >> 8))
	done
	printf "$s" | dd of="$4" bs=1 seek="$1" conv=notrunc status=none
}
# refuses NAME OFFSET BYTES VALUE TUNE_OPTION...: a field of the primary superblock of base
refuses() {
	cp --sparse=always base img
	put $((1024 + $2)) "$3" "$4" img
	cp --sparse=always img before
	tune "${@:5}" img
	if [ "$RC" = 1 ] && grep -q 'damaged superblock' .err && cmp -s img before; then return 0; fi
	wrong=$((wrong + 1))
	diag "$1 = $4, ${*:5}: status $RC ($(cat .err))"
}
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
# all_refused DESCRIPTION, of lines "name offset bytes values..."
all_refused() {
	local name off bytes values v wrong=0 n=0
	while read -r name off bytes values; do
		for v in $values; do
			n=$((n + 1))
			case $((n % 3)) in
			0) refuses "$name" "$off" "$bytes" "$v" -L foo ;;
			1) refuses "$name" "$off" "$bytes" "$v" -U $U ;;
			2) refuses "$name" "$off" "$bytes" "$v" -O ^dir_index ;;
			esac
		done
	done
	equal "$1: $n values" $wrong 0
}
made base -O ^metadata_csum,^uninit_bg
all_refused "what does not fit, or is not what the backups say" <<'TABLE'
inodes_count 0 4 0 1 100 10239 20480 4294967295
blocks_count 4 4 100 20480 40959
first_data_block 20 4 0 2
log_cluster_size 28 4 1 2 7 100 4294967295
blocks_per_group 32 4 8 4096 8191
clusters_per_group 36 4 1 100 4096 8191 16384
inodes_per_group 40 4 1 7 1024 4096
rev_level 76 4 2 100
first_ino 84 4 0 12 4294967295
inode_size 88 2 128 512
feature_incompat 96 4 0x42 0x202
reserved_gdt_blocks 206 2 0 255 65535
log_groups_per_flex 372 1 1 32 200
TABLE

mkfs -q -F -b 1024 -O ^metadata_csum,^uninit_bg,^resize_inode small 4M
works "an image without backups"
mv small base
all_refused "what does not fit, without backups" <<'TABLE'
inodes_count 0 4 0 1
log_cluster_size 28 4 1 7
clusters_per_group 36 4 1 4096
inodes_per_group 40 4 1 7
rev_level 76 4 2
reserved_gdt_blocks 206 2 257
log_groups_per_flex 372 1 32
TABLE

# -f: the user knows better.
made base -O ^metadata_csum,^uninit_bg
cp base img
put $((1024 + 84)) 4 12 img
tune -L foo img
fails 1 "its first inode differs from the backup in block 8193" "a field that only a backup contradicts"
tune -f -L foo img
works "  -f changes it all the same"

# A backup of another filesystem says nothing; it is replaced.
cp base img
put $((8193 * 1024 + 104)) 1 99 img
put $((8193 * 1024 + 84)) 4 12 img
tune -L foo img
works "one valid backup agrees"

# The backup and its descriptors are zeros.
cp base img
dd if=/dev/zero of=img bs=1024 seek=8193 count=2 conv=notrunc status=none
cp img before
tune -L foo img
works "a zeroed backup"
is "  its descriptors are there, too" cmp -s <(dd if=img bs=1024 skip=8194 count=1 status=none) <(dd if=base bs=1024 skip=8194 count=1 status=none)
if have_e2fsck; then
	is "  and e2fsck takes it" fsck_quiet .fsck -fn -b 8193 -B 1024 img
else
	skip "  and e2fsck takes it" "e2fsck is not installed" 1
fi
# Of the descriptors alone something is left.
cp base img
dd if=/dev/zero of=img bs=1024 seek=8193 count=1 conv=notrunc status=none
put $((8194 * 1024)) 4 77 img
tune -L foo img
works "a zeroed backup before descriptors"
equal "  which stay as they are" "$(od -An -tu4 -j $((8194 * 1024)) -N 4 img | tr -d ' ')" 77
done_testing 13
