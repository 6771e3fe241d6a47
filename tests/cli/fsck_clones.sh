#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copies of blocks with two owners: memory does not grow with them, -n makes none, an undo file has what was in the free blocks that
# they take, and without space for them the files keep on sharing.
. "$(dirname "$0")/lib.sh"

# The shadow memory of a sanitizer is larger than any limit.
limit() { # KIB
	grep -q '^XW_SANITIZE_FLAGS = .*-fsanitize' "$XW_BUILD/Makefile" || ulimit -v "$1"
}
dbg() { # IMAGE COMMAND
	"$DEBUGFS" -w -R "$2" "$1" 2>.dbg
}
holds() { # IMAGE NAME FILE
	dbg "$1" "cat $2" >.file
	is "  $2 is what it was" cmp -s "$3" .file
}

# 24 MiB with two owners; the free blocks are not zeros.
mkdir d
head -c 24M /dev/urandom >d/big
: >d/dup
for kind in ext4 ext3; do
	rm -f img
	mkfs -q -t $kind -b 1024 -d d img 64M
	"$DEBUGFS" -w -R 'write /dev/stdin filler' img < <(yes 'of the free blocks' | head -c 20M) >/dev/null 2>.dbg
	dbg img 'rm filler'
	dbg img 'copy_inode /big /dup'
	cp img was
	(
		limit 40000
		fsck -fn img
		echo "$RC" >.rc
	)
	equal "$kind: -n within 40 MB" "$(cat .rc)" 4
	is "  writes nothing" cmp -s img was
	(
		limit 40000
		fsck -fy -z undo img
		echo "$RC" >.rc
	)
	equal "$kind: the repair within 40 MB" "$(cat .rc)" 1
	clean img "  clean"
	holds img big d/big
	holds img dup d/big
	"$BIN/xw-undo" undo img >.out 2>&1 || cat .out
	is "  undone, free blocks too" cmp -s img was

	# A later change of the same undo file.
	rm undo
	"$BIN/xw-tune" -L name -z undo img >.out 2>&1 || cat .out
	fsck -fy -z undo img
	equal "  with the undo file of an earlier change" $RC 1
	"$BIN/xw-undo" undo img >.out 2>&1 || cat .out
	is "  undone, both of them" cmp -s img was
	rm undo
done

# A bitmap whose checksum is wrong says nothing about free blocks.
rm img
mkfs -q -t ext4 -b 1024 -d d img 64M
dbg img 'copy_inode /big /dup'
for group in 1 2 3 4 5 6 7; do dbg img "set_bg $group block_bitmap_csum 4711"; done
(
	limit 45000
	fsck -fy img
	echo "$RC" >.rc
)
equal "no bitmap is valid" "$(cat .rc)" 1
clean img "  clean"
holds img big d/big
holds img dup d/big

# The filesystem is in the middle of a file.
rm img
mkfs -q -t ext4 -b 1024 -d d img 64M
dbg img 'copy_inode /big /dup'
{
	head -c 1M /dev/urandom
	cat img
	head -c 1M /dev/urandom
} >disk
cp disk before
fsck -fy "disk?offset=1048576"
equal "at an offset" $RC 1
is "  what is before it is as it was" cmp -s -n 1048576 disk before
is "  and what is behind it" cmp -s -i $((65 * 1048576)) disk before
tail -c +1048577 disk | head -c 64M >img
clean img "  clean"
holds img dup d/big

# No space: the rest is repaired.
rm img
mkfs -q -t ext4 -b 1024 -d d img 40M
dbg img 'copy_inode /big /dup'
head -c 3000 /dev/urandom >small
dbg img 'write small small' >.dbg
dbg img 'sif small links_count 5'
cp img full
fsck -fp full
equal "no space: -p" $RC 4
is "  changes nothing" cmp -s img full
fsck -fy full
equal "no space: -y" $RC 4
is "  says how much is missing" grep -q 'Copies of multiply-claimed blocks need [0-9]* blocks, and [0-9]* are free' .out
is "  names a file" grep -q 'Inode 1[23] (.*) goes on sharing 24576 blocks' .out
holds full big d/big
holds full dup d/big
holds full small small
fsck -fn full
is "  the rest is repaired" sh -c '! grep -q "should be 1" .out'
done_testing 36
