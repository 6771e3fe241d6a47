#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs -w on damaged bitmaps: nothing is allocated from one whose checksum is wrong, unless -n says so; metadata of groups
# and inodes with links are never allocated, and a bitmap that calls them free does so afterwards.
. "$(dirname "$0")/lib.sh"
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$BIN/xw-debugfs" /dev/null "$@"
}
mkdir src
for i in 1 2 3; do seq $i 4000 >src/f$i; done
seq 1 9999 >new
# where FIELD: of group 0, as dump has it
where() { "$BIN/xw-dump" img 2>/dev/null | sed -n "s/.*$1 at \([0-9]*\).*/\1/p" | head -n 1; }
contents() { "$BIN/xw-debugfs" -R "cat $1" img 2>/dev/null; }

mkfs -q -F -b 1024 -O metadata_csum -d src good 20M
works "an image with checksums"
cp good img
blocks=$(where "Block bitmap") inodes=$(where "Inode bitmap")
for map in block inode; do
	cp good img
	at=$blocks
	[ $map = block ] || at=$inodes
	[ -n "$at" ] || { fail "no $map bitmap"; continue; }
	dd if=/dev/zero of=img bs=1024 seek="$at" count=1 conv=notrunc status=none
	cp img before
	dbg -w -R "write $T/new /new" img
	equal "a $map bitmap with a wrong checksum: status" $RC 1
	is "  says so" grep -q "$map bitmap: checksum mismatch; nothing is allocated or freed there (-n ignores checksums)" .err
	is "  nothing is changed" cmp img before
	dbg -w -R "rm /f2" img
	equal "  nothing is freed" $RC 1
	is "  nothing is changed" cmp img before
	dbg -w -n -R "mkdir /dir" img
	equal "  -n: goes on" $RC 0
	is "  and takes no inode that is in use" test "$(contents f1 | cksum)" = "$(cksum <src/f1)"
	equal "  nor the inode of the root" "$("$BIN/xw-debugfs" -R "stat /" img 2>/dev/null | grep -c 'Type: directory')" 1
done

# No checksums, and metadata and inode 13 are free in the bitmaps.
mkfs -q -F -b 1024 -O ^metadata_csum,^uninit_bg,^resize_inode,^has_journal -d src good 20M
works "an image without checksums"
cp good img
table=$(where "Inode table")
blocks=$(where "Block bitmap")
used=$("$BIN/xw-debugfs" -R "stat /f2" img 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\).*/\1/p')
dbg -w -R "freeb 1 2" -R "freeb $blocks" -R "freeb $table 100" -R "freei <$used>" img
works "metadata and an inode that is in use become free"
cp img damaged
dbg -w -R "write $T/new /new" -R "mkdir /dir" -R "write $T/new /dir/new" img
equal "allocated from these bitmaps: status" $RC 0
is "  the new file is there" cmp <(contents new) new
is "  and the other one" cmp <(contents dir/new) new
for i in 1 2 3; do is "  and the old one $i" cmp <(contents f$i) src/f$i; done
is "  the inode is another" test "$("$BIN/xw-debugfs" -R "stat /new" img 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\).*/\1/p')" != "$used"
is "  descriptors are there" cmp <(dd if=img bs=1024 skip=2 count=1 status=none | od -An -tu4 -N 12) <(dd if=good bs=1024 skip=2 count=1 status=none | od -An -tu4 -N 12)
for b in 1 2 "$blocks" "$table" $((table + 99)); do
	dbg -R "testb $b" img
	is "  block $b is as free as it was" grep -q "Block $b not in use" .out
done
dbg -R "testi <$used>" img
is "  and so is the inode" grep -q 'not in use' .out
dbg -w -R "setb 1 2" -R "setb $blocks" -R "setb $table 100" -R "seti <$used>" img
works "in use again"
clean img "  then all is well"

# The same within a session; and a file that goes.
cp good img
dbg -w -R "freeb $table 50" -R "freei <$used>" -R "write $T/new /new" -R "seti <$used>" -R "setb $table 50" -R "rm /f2" img
works "in one session"
is "  the new file is there" cmp <(contents new) new
clean img "  and all is well"
cp damaged img
dbg -w -R "write $T/new /new" -R "rm /f2" -R "write $T/new /again" img
works "the inode goes that was free"
is "  the new file is there" cmp <(contents again) new

# A file of which the bitmap calls one block free: all others are freed with it.
for which in 1 3 last; do
	cp good img
	all=$("$BIN/xw-debugfs" -R "blocks /f1" img 2>/dev/null | tr ' ' '\n' | grep .)
	case $which in last) b=$(tail -n 1 <<<"$all") ;; *) b=$(sed -n ${which}p <<<"$all") ;; esac
	dbg -w -R "freeb $b" -R "rm /f1" img
	works "a file whose block $which is free goes"
	equal "  none of its blocks stays in use" \
		"$(for b in $all; do "$BIN/xw-debugfs" -R "testb $b" img 2>/dev/null; done | grep -c 'not in use') $(wc -l <<<"$all" | grep -c .)" "$(wc -l <<<"$all") 1"
done
done_testing 46
