#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Free blocks and inodes as we read them from stock images, empty and used, and as dumpe2fs prints them.
. "$(dirname "$0")/../cli/lib.sh"
tool=$XW_BUILD/commit_tool
[ -x "$tool" ] || skip_all "commit_tool is not built"
command -v dumpe2fs >/dev/null && command -v debugfs >/dev/null || skip_all "e2fsprogs is not installed"

# compare DESCRIPTION: img by both.
compare() {
	dumpe2fs img 2>/dev/null | grep -E '^  Free (blocks|inodes):' | sed 's/: $/:/' >stock.txt
	"$tool" bitmaps img >ours.all || { diag "$(tail -n 1 ours.all)"; }
	grep -v ^group ours.all >ours.txt
	is "$1" bash -c 'test -s stock.txt && cmp stock.txt ours.txt'
}

mkdir -p d/sub
seq 1 30000 >d/a
seq 1 5000 >d/sub/b
while read -r size options; do
	# shellcheck disable=SC2086
	if ! mke2fs -qF $options img "$size" >.why 2>&1; then
		skip "$options" "cannot be made here ($(head -n 1 .why))"
		continue
	fi
	compare "$options: empty"
	for i in $(seq 1 60); do echo "write d/a f$i"; [ $((i % 3)) != 0 ] || echo "rm f$((i - 1))"; done |
		debugfs -w -f - img >/dev/null 2>&1
	e2fsck -fy img >/dev/null 2>&1
	compare "$options: used"
done <<'TABLE'
64M -t ext4
64M -t ext4 -b 1024
64M -t ext4 -b 1024 -O ^flex_bg
64M -t ext4 -b 2048 -O ^metadata_csum,uninit_bg
64M -t ext4 -b 1024 -O ^resize_inode,meta_bg
256M -t ext4 -b 1024 -O ^resize_inode,meta_bg,^flex_bg,^sparse_super
64M -t ext4 -b 1024 -O sparse_super2
64M -t ext4 -b 1024 -O ^metadata_csum,^uninit_bg,^64bit
40M -t ext3 -b 1024
33M -t ext2
64M -t ext2 -b 1024 -g 1024 -N 1000
300M -t ext4 -g 4096 -N 777
4G -t ext4 -O ^flex_bg
512M -t ext4 -O bigalloc -C 16384
256M -t ext4 -b 1024 -O bigalloc -C 16384
64M -t ext4 -b 1024 -O bigalloc,^flex_bg -C 2048
TABLE
done_testing 32
