#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-mkfs is asked for is there, or refused: a journal that does not fit, inodes for a later size, and options of
# mke2fs's -E. Stock tools say what the images have.
. "$(dirname "$0")/../cli/lib.sh"
for c in dumpe2fs debugfs e2fsck resize2fs; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
mkfs() {
	T_TOOL=xw-mkfs
	rm -f img
	run_tool "$MKFS" /dev/null "$@"
}
field() { dumpe2fs -h "${2:-img}" 2>/dev/null | sed -n "s/^$1:[[:space:]]*//p"; }
has() { dumpe2fs -h img 2>/dev/null | grep -q "^Filesystem features:.* $1"; }
# refuses DESCRIPTION STATUS TEXT: the last run ended with that status, and said so.
refuses() {
	equal "$1" "$RC $(grep -cF -- "$3" .err)" "$2 1"
}
mkdir -p tree/dir
seq 1 1000 >tree/dir/file
setfattr -n user.mark -v x tree/dir/file 2>/dev/null || skip_all "no extended attributes here"

# ---- a journal ----
for options in -j '-J size=4' '-O has_journal' '-t ext3 -j'; do
	# shellcheck disable=SC2086
	mkfs $options img 4M
	refuses "$options in 4 MiB: refused" 1 "too small for a journal"
	is "  nothing was made" test ! -e img
done
mkfs -t ext3 img 4M
equal "-t ext3 in 4 MiB: a warning" "$RC $(grep -c 'too small for a journal; made without' .err)" "0 1"
mkfs img 4M
works "the default type in 4 MiB goes without a word"
for options in -j '-O has_journal' '-t ext3 -j' '-j -b 1024'; do
	# shellcheck disable=SC2086
	mkfs $options -d tree img
	works "$options, SIZE left out"
	is "  the image holds a journal" has has_journal
	equal "  of the least size" "$(field 'Total journal size')$(field 'Journal size')" "$([ "${options#*1024}" = "$options" ] && echo 4096k || echo 1024k)"
	clean img "  e2fsck finds nothing"
done
mkfs -J size=8 -d tree img
equal "-J size=8, SIZE left out" "$RC $(field 'Total journal size')$(field 'Journal size')" "0 8M"

# ---- an image that resize2fs makes larger ----
mkfs -d tree img
cp img plain
truncate -s 2G plain
resize2fs plain >/dev/null 2>&1
for options in '' '-O ^flex_bg' '-b 1024' '-t ext2'; do
	# shellcheck disable=SC2086
	mkfs $options --grow-ratio 16384 -d tree img
	works "--grow-ratio 16384 $options"
	clean img "  e2fsck finds nothing"
	truncate -s 1G img
	e2fsck -fy img >/dev/null 2>&1
	is "  resize2fs" resize2fs img
	is "  one inode for 16 KiB" test "$(field 'Inode count')" -ge 65536
	clean img "  e2fsck finds nothing"
done
for options in '' '-O ^flex_bg' '-b 1024' '-t ext3' '-O meta_bg,^resize_inode' '-O sparse_super2'; do
	# shellcheck disable=SC2086
	mkfs $options --grow-to 10G -d tree img
	works "--grow-to 10G $options"
	is "  it has a journal" test -n "$(field 'Journal inode')"
	clean img "  e2fsck finds nothing"
	truncate -s 10G img
	e2fsck -fy img >/dev/null 2>&1
	is "  resize2fs" resize2fs img
	is "  as many inodes as mke2fs makes for 10 GiB" test "$(field 'Inode count')" -ge 655360
	clean img "  e2fsck finds nothing"
done
for size in 2T 20T; do
	mkfs --grow-to $size -d tree img
	works "--grow-to $size"
	truncate -s $size img 2>/dev/null || {
		skip "  resize2fs" "files end before $size here" 3
		continue
	}
	e2fsck -fy img >/dev/null 2>&1
	is "  resize2fs" resize2fs img
	equal "  the size" "$(($(field 'Block count') >> 28))" "$((${size%T}))"
	clean img "  e2fsck finds nothing"
done
rm -f img
mkfs --grow-to 10G img 64M
works "--grow-to with SIZE"
truncate -s 10G img
e2fsck -fy img >/dev/null 2>&1
is "  resize2fs" resize2fs img
is "  inodes" test "$(field 'Inode count')" -ge 655360
equal "  a journal as large as an eighth of SIZE has room for" "$(field 'Total journal size')" 8M
rm -f img
mkfs --grow-to 10M img 64M
refuses "--grow-to less than SIZE" 2 "not larger than the filesystem"
rm -f img
mkfs --grow-to 1M -d tree img
refuses "--grow-to less than the image needs" 1 "less than the filesystem needs"
is "  makes none" test ! -e img
mkfs -O ^64bit --grow-to 20T -d tree img
refuses "--grow-to beyond numbers of 32 bits" 2 "5368709120 blocks need the feature 64bit"
for where in '-d tree img' 'img 64M'; do
	# shellcheck disable=SC2086
	mkfs -N 1000 --grow-to 10G $where
	says=$(sed -n 's/^xw-mkfs: warning: -N 1000: .*has \([0-9]*\) inodes; without -N it has 655360$/\1/p' .err)
	equal "-N below what --grow-to makes by itself, $where: honored" "$RC $(field 'Inode count') $(wc -l <.err)" "0 1008 1"
	truncate -s 10G img
	e2fsck -fy img >/dev/null 2>&1
	is "  resize2fs" resize2fs img
	equal "  a warning has named the number" "$(field 'Inode count')" "$says"
	clean img "  e2fsck finds nothing"
done
mkfs -N 40000 --grow-to 1G -d tree img
works "-N above it"
mkfs -N 1000 --grow-ratio 16384 -d tree img
refuses "-N and --grow-ratio" 2 "-N and --grow-ratio: both"
mkfs -E resize=5G --grow-to 10G -d tree img
refuses "-E resize below --grow-to" 2 "-E resize, --grow-to: descriptors for 5368709120 bytes"
mkfs -E resize=100000 --grow-to 10G img 64M
refuses "  in blocks, with SIZE" 2 "-E resize, --grow-to: descriptors for 409600000 bytes"
mkfs -E resize=600G --grow-to 10G -d tree img
works "  above it"
for options in '-O bigalloc' '-O bigalloc -C 16384 -b 1024'; do
	# shellcheck disable=SC2086
	mkfs $options --grow-to 4G -d tree img
	refuses "--grow-to 4G $options: a warning" 0 "only with its option -f"
	truncate -s 4G img
	e2fsck -fy img >/dev/null 2>&1
	is "  which is true" sh -c '! resize2fs img 2>.why && grep -q "Use the force option" .why'
	is "  resize2fs -f" resize2fs -f img
	equal "  the size" "$(($(field 'Block count') * $(field 'Block size') >> 30))" 4
	clean img "  e2fsck finds nothing"
done
mkfs --grow-to 12 -d tree img
refuses "--grow-to 12" 2 "must be a number of bytes"
mkfs -v -d tree img
is "-v says that it grows badly" grep -q "(few for small files).*; see --grow-to" .out
rm -f img
mkfs -v --grow-to 10G -d tree img
is "  and with --grow-to that it does not" grep -Eq "grows +up to 512 GiB, with 8,192 inodes per 128 MiB$" .out
is "without it there are fewer" test "$(field 'Inode count' plain)" -lt 65536
mkfs --grow-ratio 12 -d tree img
refuses "--grow-ratio 12" 2 "must be 1024 to"

# ---- -E ----
mkfs -E test_fs img 16M
equal "-E test_fs" "$RC $(field 'Filesystem flags' | sed 's/ *$//')" "0 signed_directory_hash test_filesystem"
mkfs -E hash_seed=null img 16M
equal "-E hash_seed=null" "$RC $(debugfs -R 'show_super_stats -h' img 2>/dev/null | grep -c 'Directory Hash Seed')" "0 0"
mkfs -E no_copy_xattrs -d tree img
equal "-E no_copy_xattrs" "$RC $(debugfs -R 'ea_list /dir/file' img 2>/dev/null)" "0 "
mkfs -d tree img
is "  without it they are copied" sh -c "debugfs -R 'ea_list /dir/file' img 2>/dev/null | grep -q user.mark"
mkfs -E revision=0 -t ext2 -O none img 16M
equal "-E revision=0" "$RC $(field 'Filesystem revision #')" "0 0 (original)"
for size in 64 128 512; do
	for where in '32M' '-d tree'; do
		# shellcheck disable=SC2086
		if [ "$where" = 32M ]; then mkfs -E desc_size=$size img 32M; else mkfs -E desc_size=$size $where img; fi
		equal "-E desc_size=$size, $where" "$RC $(field 'Group descriptor size')" "0 $size"
		clean img "  e2fsck finds nothing"
	done
done
mkfs -E desc_size=96 img 16M
refuses "-E desc_size=96" 2 "power of two"
mkfs -E desc_size=128 -O ^64bit img 16M
refuses "-E desc_size=128 without 64bit" 2 "without the feature 64bit"

# ---- what resize2fs and e2fsck see ----
mkfs -b 1024 -O ^flex_bg img 100M
equal "no group with a backup of the superblock is BLOCK_UNINIT" \
	"$(dumpe2fs img 2>/dev/null | grep -A1 '^Group [0-9]*:.*BLOCK_UNINIT' | grep -c 'Backup superblock')" 0
while read -r bs least; do
	mkfs -t ext2 -b "$bs" img 64M
	equal "-b $bs: lost+found as mke2fs makes it" "$(debugfs -R 'stat lost+found' img 2>/dev/null | sed -n 's/^User.*Size: //p')" "$least"
	equal "  in one piece" "$(e2fsck -fn img 2>/dev/null | sed -n 's/.*(\(.*\)% non-con.*/\1/p')" 0.0
done <<'TABLE'
1024 12288
2048 16384
4096 16384
TABLE

# ---- messages ----
mkfs 'img?offset=4096' 16M
refuses "IMAGE?offset=: says how" 2 "-E offset=BYTES"
mke2fs -qF img 16M 2>/dev/null
T_TOOL=xw-mkfs run_tool "$MKFS" /dev/null -S img
equal "-S: --replace is not proposed" "$(grep -c -- --replace .err)" 0
T_TOOL=xw-mkfs run_tool "$MKFS" /dev/null -E offset=0 -S img
if can_loop; then
	mkdir -p mnt
	dev=$(losetup --find --show img)
	mount "$dev" mnt
	T_TOOL=xw-mkfs run_tool "$MKFS" /dev/null -F -F "$dev"
	refuses "-F -F on a mounted device: says what to do" 1 "unmount it"
	umount mnt
	losetup -d "$dev"
else
	skip "-F -F on a mounted device: says what to do" "needs root and loop mounts"
fi
# ---- a failure is an object ----
if command -v python3 >/dev/null; then
	: >broken
	while read -r tool args; do
		# shellcheck disable=SC2086
		run_tool "$BIN/$tool" /dev/null --json $args
		is "$tool --json $args: the failure is an object" python3 -c '
import json, sys
assert json.load(open(".out"))["error"] and sys.argv[1] != "0"' "$RC"
	done <<-'TABLE'
		xw-mkfs -d no-such img2
		xw-import broken tree
		xw-export -x out broken
		xw-export -t broken
		xw-tune -L x broken
		xw-dump broken
		xw-freefrag broken
		xw-age --measure broken
		xw-fsck -n broken
	TABLE
	mkfs --json img 16M
	is "no share without data" python3 -c 'import json; assert "metadata_share" not in json.load(open(".out"))'
else
	skip "a failure is an object" "python3 is not installed" 10
fi
done_testing 166
