#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The feature fast_commit needs a journal with room for fast commits: Linux refuses an image without. So xw-tune does not set the feature
# there, and xw-mkfs never makes such an image.
. "$(dirname "$0")/../cli/lib.sh"
loop=
can_loop && loop=yes
mkdir mnt
# mounts IMAGE: Linux mounts it read-write.
mounts() {
	[ -n "$loop" ] || { skip "  Linux mounts it" "needs root and loop mounts" 1; return; }
	is "  Linux mounts it" mount -o loop "$1" mnt
	umount mnt 2>/dev/null
}
tune() {
	T_TOOL=xw-tune
	run_tool "$BIN/xw-tune" /dev/null "$@"
}
for b in 1024 2048 4096; do
	rm -f a.img
	mkfs -q -b $b -J size=$((b / 1024)) a.img 64M
	cp a.img before
	tune -q -O fast_commit a.img
	fails 1 "journal too small for fast commits: 1280 blocks needed, 1024 available; .*has_journal" "1024 blocks of $b bytes"
	is "  the image is unchanged" cmp a.img before
	tune -q -O ^has_journal a.img
	tune -q -O has_journal,fast_commit a.img
	works "  a new journal"
	mounts a.img
	rm -f a.img
	mkfs -q -b $b -J size=$((b * 5 / 4096 + (b < 4096))) a.img 64M
	tune -q -O fast_commit a.img
	works "1280 blocks or more of $b bytes"
	mounts a.img
done
for size in 1 4 5 1000; do
	rm -f a.img
	mkfs -q -b 4096 -O fast_commit -J fast_commit_size=$size a.img 64M
	works "xw-mkfs -J fast_commit_size=$size"
	mounts a.img
done
rm -f a.img
mkfs -q -O fast_commit,^has_journal a.img 64M
works "without a journal"
mounts a.img
mkfs -q -b 4096 -O journal_dev j.img 4M
mkfs -q -O fast_commit -J device=j.img a2.img 64M
fails 1 "-J device: j.img: too small for fast commits: 1280 blocks needed, 1024 available" "an external journal"
mkfs -q -J device=j.img a2.img 64M
works "  for other features it is large enough"
tune -q -O fast_commit a2.img
fails 1 "the journal is external.*-f" "xw-tune with an external journal"
done_testing 31
