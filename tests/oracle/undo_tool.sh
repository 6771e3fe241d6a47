#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-undo: undo files of stock tools and of the suite's are written back, byte for byte as e2undo does; a state that a file is not
# for, and a file that is damaged anywhere, cost nothing; a run that was cut can be repeated.
. "$(dirname "$0")/../cli/lib.sh"
UNDO=$BIN/xw-undo TUNE=$BIN/xw-tune DBG=$BIN/xw-debugfs
[ -x "$UNDO" ] || skip_all "xw-undo is not built"
for tool in mke2fs tune2fs debugfs e2fsck e2undo; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
undo() {
	T_TOOL=xw-undo
	run_tool "$UNDO" /dev/null "$@"
}
mkdir -p tree/dir
seq 20000 >tree/file
for n in $(seq 60); do echo "$n" >"tree/dir/name$n"; done
printf '%s\n' "rm file" "mkdir new" "write tree/file new/copy" "clri dir" >changes
mke2fs -qF -t ext4 -b 1024 -d tree start 16M >/dev/null 2>&1

# ---- whose files, and of what ----
# back WHAT: img with undo, which came from start, is start again; e2undo says the same.
back() {
	cp img other
	undo undo img
	works "$1: written back"
	e2undo undo other >.fsck 2>&1
	is "  to the same bytes as by e2undo" cmp img other
	is "  those of before" cmp -n "$(stat -c %s start)" img start
}
while IFS='|' read -r what command; do
	rm -f undo
	cp start img
	eval "$command" >.out 2>&1 || fail "$what: the change"
	back "$what"
done <<'TABLE'
tune2fs|tune2fs -z undo -O ^has_journal img
mke2fs|mke2fs -qF -z undo -b 4096 -O ^64bit img
debugfs|debugfs -w -z undo -f changes img
e2fsck|debugfs -w -R 'clri dir' img; cp img start2; e2fsck -fy -z undo img; cp start2 start
TABLE
mke2fs -qF -t ext4 -b 1024 -d tree start 16M >/dev/null 2>&1
while IFS='|' read -r what command; do
	rm -f undo
	cp start img
	eval "$command" >.out 2>&1 || fail "$what: the change"
	cp img other
	undo undo img
	works "$what: written back"
	e2undo undo other >.fsck 2>&1
	is "  to the same bytes as by e2undo" cmp img other
	clean img "  it is clean"
	equal "  and holds what it held" "$("$DBG" -R 'ls -l /' img 2>/dev/null)" "$("$DBG" -R 'ls -l /' start 2>/dev/null)"
done <<'TABLE'
xw-tune|"$TUNE" -z undo -O ^has_journal -U random img
xw-debugfs|"$DBG" -w -z undo -f changes img
xw-mkfs|"$MKFS" -F -z undo -b 4096 img
twice|"$TUNE" -z undo -L one img && "$TUNE" -z undo -O ^has_journal img
both suites|tune2fs -z undo -L one img && "$DBG" -w -z undo -f changes img && tune2fs -z undo -L two img
TABLE

# ---- with an offset, on a device ----
{ head -c 1M /dev/urandom; cat start; head -c 64K /dev/urandom; } >disk
cp disk before
rm -f undo
"$TUNE" -z undo -L there -E offset=1048576 disk >.out 2>&1 || "$DBG" -w -z undo -E offset=1048576 -R "ssv volume_name there" disk >.out 2>&1
is "a filesystem inside a disk: the change" sh -c '! cmp -s disk before'
undo undo disk
works "  written back: the file says where"
is "  every byte" cmp disk before
if can_loop; then
	cp start img
	dev=$(losetup --find --show img)
	rm -f undo
	tune2fs -z undo -O ^has_journal "$dev" >.out 2>&1
	undo undo "$dev"
	works "a block device"
	losetup -d "$dev"
	is "  every byte" cmp img start
else
	skip "a block device" "needs root and loop devices" 2
fi

# ---- options ----
rm -f undo img # the loop device may be there a moment longer
cp start img
tune2fs -z undo -L name img >/dev/null 2>&1
cp img changed
undo -n undo img
works "-n"
is "  writes nothing" cmp img changed
undo -v undo img
equal "-v names the pieces, as e2undo" "$RC $(grep -c '^Replayed block of size 1024 from [0-9]* to 1$' .err)" "0 1"
undo undo img
fails 1 "is in the state before the change already" "a second time: refused"
is "  nothing is written" cmp img start
undo -f undo img
works "  -f"
mke2fs -qF -t ext4 -b 1024 other 16M >/dev/null 2>&1
cp other other2
undo undo other
fails 1 "another filesystem: the UUID differs" "another filesystem: refused"
is "  and is as it was" cmp other other2
cp changed img
undo -z again undo img
works "-z"
undo again img
works "  takes that back"
is "  every byte" cmp img changed
undo -z again undo img
fails 1 "exists already" "  an existing file is refused"
undo -q undo img
equal "-q prints nothing" "$RC$(cat .out .err)" 0
cp changed img
undo --json undo img
is "--json" grep -q '"written": *true' .out
for args in "" undo "undo img x" "-o x undo img"; do
	# shellcheck disable=SC2086
	undo $args
	equal "xw-undo $args: usage" "$RC" 2
done
ln -s "$UNDO" e2undo
cp changed img
is "called as e2undo" ./e2undo undo img
is "  the same" cmp img start

# ---- damaged files ----
damaged=0 all=0
size=$(stat -c %s undo)
for at in 0 9 17 33 45 70 300 510 1025 1080 1700 2048 2052 2064 2070 2080 3072 3500 4096 5000 $((size - 900)); do
	all=$((all + 1))
	cp undo bad
	old=$(od -An -tu1 -j $at -N 1 bad)
	printf '%b' "\\x$(printf %x $(((old + 85) % 256)))" | dd of=bad bs=1 seek=$at conv=notrunc status=none
	cp changed img
	undo bad img
	if [ "$RC" = 1 ] && cmp -s img changed; then damaged=$((damaged + 1)); else diag "byte $at: status $RC"; fi
done
for length in 0 100 600 1024 2048 2500 $((size - 1024)); do
	all=$((all + 1))
	head -c $length undo >bad
	cp changed img
	undo -f bad img
	if [ "$RC" = 1 ] && cmp -s img changed; then damaged=$((damaged + 1)); else diag "length $length: status $RC"; fi
done
equal "damaged undo files, and cut ones also with -f: refused, and the image is as it was" "$damaged of $all" "28 of 28"

# ---- cut, and run again ----
fault=$XW_BUILD/.libs/fault_preload.so
if [ -e "$fault" ]; then
	rm -f undo
	cp start img
	tune2fs -z undo -O ^has_journal -U random img >/dev/null 2>&1
	cp img changed
	steps=0 good=0
	for at in $(seq 1 40); do
		cp changed img
		rc=0
		LD_PRELOAD=$fault XW_FAULT_PATH=$T/img XW_FAULT_MODE=cut XW_FAULT_AT=$at "$UNDO" undo "$T/img" >.out 2>.err || rc=$?
		[ $rc != 0 ] || break
		steps=$((steps + 1))
		# refused only where nothing is left to do
		"$UNDO" undo img >.out 2>.err || true
		! cmp -s img start || good=$((good + 1))
	done
	is "cut at each step" test $steps -gt 2
	equal "  and run again it ends the same" "$good" "$steps"
else
	skip "cut at each step" "fault_preload.so is not built" 2
fi
done_testing 60
