#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-mkfs -z: stock e2undo gives back what was there, byte for byte, whatever it was; and $E2FSPROGS_UNDO_DIR.
. "$(dirname "$0")/../cli/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune}
for c in mke2fs e2undo e2fsck; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
mkfs() {
	T_TOOL=xw-mkfs
	run_tool "$MKFS" /dev/null "$@"
}
tune() {
	T_TOOL=xw-tune
	run_tool "$TUNE" /dev/null "$@"
}
# refuses DESCRIPTION STATUS [TEXT]: the last run ended with that status, and said so.
refuses() {
	equal "$1" "$RC $(grep -cF -- "${3-:}" .err)" "$2 1"
}
mkdir -p tree/dir undo
for i in $(seq 1 200); do seq 1 $((i * 7)) >"tree/dir/$i"; done
head -c 20M /dev/urandom >noise

# undone OPTIONS...: after a run with them over img, e2undo makes it what it was.
undone() {
	rm -f u
	cp --sparse=always img same
	mkfs -F -z u "$@"
	works "-z u $*"
	equal "  says how it is undone" "$(grep -c "xw-undo u img" .out)" 1
	is "  for the owner only" test "$(stat -c %a u)" = 600
	is "  e2undo" e2undo u img
	truncate -s "$(stat -c %s same)" img
	is "  gives back every byte" cmp img same
}
mke2fs -qF -t ext4 -b 1024 -d tree img 20M 2>/dev/null
undone img
undone -b 4096 -d tree img
undone -t ext2 -O ^resize_inode img 12M
undone -E discard -d tree img 30M
undone --jobs 1 -D img
cp noise img
undone -d tree img 16M
undone -d tree -E offset=1048576 img 16M
undone -O journal_dev -b 4096 img 8M
mke2fs -qF -t ext4 -b 1024 -d tree img 20M 2>/dev/null
undone -S -b 1024 img
if can_loop; then
	cp noise img
	cp img same
	dev=$(losetup --find --show img)
	rm -f u
	mkfs -F -z u -d tree "$dev"
	works "-z u on a block device"
	is "  e2undo" e2undo u "$dev"
	is "  gives back every byte" cmp "$dev" same
	losetup -d "$dev"
else
	skip "-z u on a block device" "needs root and loop devices"
fi

# A run that fails half way is undone as well.
cp noise img
cp img same
rm -f u
(cd tree && tar c .) >whole.tar
head -c 300000 whole.tar >broken.tar
mkfs -F -z u -d broken.tar img
refuses "a source that ends early" 1
is "  e2undo" e2undo -f u img
is "  gives back every byte" cmp img same

# xw-tune goes on with the file of xw-mkfs, and all of it is undone at once.
mke2fs -qF -t ext4 -b 1024 -d tree img 20M 2>/dev/null
cp img same
rm -f u
mkfs -F -z u -d tree img
tune -z u -I 512 -L again img
works "xw-tune -z continues the file"
is "  e2undo" e2undo u img
is "  gives back every byte" cmp img same

# Where the file may be.
: >empty
mkfs -F -z empty img
refuses "-z: an existing file" 1 "exists already"
equal "  stays" "$(stat -c %s empty)" 0
mkfs -F -z img img
refuses "-z: the image itself" 2
is "  nothing was written" cmp img same
mkfs --replace -z u2 img
refuses "-z with --replace" 2
E2FSPROGS_UNDO_DIR=$T/undo mkfs -F -z '' "$T/img"
works "-z '': E2FSPROGS_UNDO_DIR says where"
is "  under mke2fs's name for it" e2undo undo/mke2fs-img.e2undo img
is "  gives back every byte" cmp img same
E2FSPROGS_UNDO_DIR=$T/undo tune -z '' -L x "$T/img"
works "xw-tune -z '': likewise"
is "  under tune2fs's name for it" e2undo undo/tune2fs-img.e2undo img
is "  gives back every byte" cmp img same
E2FSPROGS_UNDO_DIR=$T/no-such mkfs -F -z '' img
refuses "-z '': no such directory" 1 "E2FSPROGS_UNDO_DIR"
E2FSPROGS_UNDO_DIR=none mkfs -q -F -z '' img
works "E2FSPROGS_UNDO_DIR=none: no undo file"
done_testing 67
