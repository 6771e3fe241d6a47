#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What users are told about changes that were interrupted, and what such changes leave: a note of every tool that reads an image
# whose change is pending, and of every tool that completes one; in both cases one line on standard error.
. "$(dirname "$0")/../cli/lib.sh"
tool=$XW_BUILD/commit_tool
[ -x "$tool" ] || skip_all "commit_tool is not built"

mkdir d
for i in $(seq 1 30); do seq 1 $((i * 50)) >"d/f$i"; done
"$MKFS" -q -F -t ext4 -b 1024 -E hash_seed=12345678-1234-1234-1234-123456789012 -d d old 8M
cp old new
"$BIN/xw-debugfs" -w -R 'mkdir sub' -R 'rm f3' new >out 2>&1
# interrupted BEFORE_END: img as it is so many steps before the end of the change
interrupted() {
	cp old img
	"$tool" change img new how=inside >out 2>&1
	k=$(($(awk 'END { print $2 }' out) - $1))
	cp old img
	"$tool" change img new how=inside "fail=$k" mode=cut >out 2>&1
}
interrupted 12
cp img half
fits_schema() { # DESC: what xw-fsck --json has just printed
	if command -v python3 >/dev/null && [ -e "$XW_SRC/build-aux/json-check" ]; then
		is "$1" python3 "$XW_SRC/build-aux/json-check" "$XW_SRC/lib/api/schema/xw-fsck.json" .out
	else
		skip "$1" "no python3"
	fi
}

# Tools that read.
is "Linux and e2fsprogs refuse it: bit 30 of feature_incompat" test $(($(od -An -tu1 -j1123 -N1 half) & 64)) != 0
note='img: an interrupted change is pending and shown as completed; Linux and e2fsprogs refuse the image until xw-tune -f -E clear_pending completes it'
while read -r call; do
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* } img
	equal "$call: one note, on standard error" "$(cat .err)" "$note"
	equal "  and none in its output" "$(grep -c 'interrupted change' .out)" 0
	cmp -s img half || fail "  the image is as it was"
done <<'CALLS'
xw-dump -h
xw-dump --json
xw-tune -l
xw-tune -l --json
xw-debugfs -R ls
xw-export -f /dev/null
xw-export -t
xw-freefrag -c 4
xw-fsck -n
xw-fsck -fn --json
xw-age --measure
CALLS
# In JSON it is a member.
if command -v python3 >/dev/null; then
	while read -r call; do
		# shellcheck disable=SC2086
		run_tool "$BIN/${call%% *}" /dev/null --json ${call#* } img
		equal "$call --json: a member" "$RC $(grep -o '"pending_change":[a-z]*' .out)" '0 "pending_change":true'
		is "  which the schema knows" python3 "$XW_SRC/build-aux/json-check" "$XW_SRC/lib/api/schema/${call%% *}.json" .out
		# shellcheck disable=SC2086
		run_tool "$BIN/${call%% *}" /dev/null --json ${call#* } old
		equal "  and none of an image without" "$RC $(grep -c pending .out)" "0 0"
	done <<-'CALLS'
	xw-dump -x
	xw-dump -h
	xw-tune -l
	xw-debugfs -R ls
	xw-export -o out.tar
	xw-export -x unpacked
	xw-export -t
	xw-freefrag -c 4
	xw-age --measure
	CALLS
	"$BIN/xw-age" --measure img >out 2>.err
	equal "in YAML, too" "$(grep -c '^  pending_change: true$' out)" 1
else
	skip "JSON" "python3 is not installed" 28
fi
run_tool "$BIN/xw-fsck" /dev/null -fn --json img
equal "xw-fsck --json: the last object says so, too" "$RC $(tail -n 1 .out | grep -o '"pending_change":[a-z]*')" '0 "pending_change":true'
fits_schema "  which fits the schema"
for call in "xw-dump -q" "xw-tune -q -l" "xw-export -q -f /dev/null" "xw-fsck -fnq"; do
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* } img
	equal "$call: no note" "$RC $(cat .err)" "0 "
done
# without the bit, of a torn write of the superblock, others do not refuse it
cp half img
dd if=old of=img bs=512 skip=2 seek=2 count=1 conv=notrunc status=none
if [ $(($(od -An -tu1 -j1123 -N1 img) & 64)) = 0 ] && run_tool "$BIN/xw-dump" /dev/null -h img && grep -q pending .err; then
	is "torn, without the bit" grep -q 'completed; xw-tune -f -E clear_pending completes it\|Linux and e2fsprogs refuse' .err
else
	fail "torn, without the bit: $(cat .err)"
fi

# Tools that write.
while read -r call; do
	cp half img
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* }
	equal "$call: one note" "$(grep -v '^xw-' .err)" "img: completed an interrupted change"
	equal "  and none in its output" "$(grep -c 'interrupted change' .out)" 0
	run_tool "$BIN/xw-dump" /dev/null -h img
	equal "  and the change is complete" "$(cat .err)" ""
done <<'CALLS'
xw-fsck -p img
xw-fsck -fy --json img
xw-tune -L x img
xw-tune -f -E clear_pending img
xw-tune -f -E clear_pending --json img
xw-import img d
xw-debugfs -w -R ls img
CALLS
cp half img
run_tool "$BIN/xw-fsck" /dev/null -fy --json img
equal "xw-fsck --json: the last object says so, too" "$(tail -n 1 .out | grep -o '"completed_change":[a-z]*')" '"completed_change":true'
fits_schema "  which fits the schema"
run_tool "$BIN/xw-fsck" /dev/null -fn --json img
equal "  and nothing of it the next time" "$RC $(grep -c pending .out)" "0 0"
for call in "xw-tune -q -L x img" "xw-fsck -fpq img" "xw-import -q img d"; do
	cp half img
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* }
	equal "$call: no note" "$(grep -c 'interrupted' .err)" 0
done

# What was left behind the end of an image file, by a change that was not begun, every tool that writes removes.
"$MKFS" -q -F -t ext2 -b 1024 -d d tail 4M
"$BIN/xw-debugfs" -w -R 'ssv state 0' tail >out 2>&1
cp tail new
"$BIN/xw-debugfs" -w -R 'ssv mtime 20200101' new >out 2>&1
cp tail longer
"$tool" change longer new how=inside fail=9 mode=cut >out 2>&1
is "a kill leaves a longer file" test "$(stat -c %s longer)" -gt $((4 << 20))
while read -r call; do
	cp longer img
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* }
	equal "$call: of its old size" "$(stat -c %s img)" $((4 << 20))
done <<'CALLS'
xw-fsck -p img
xw-fsck -fy img
xw-tune -L x img
xw-import img d
xw-debugfs -w -R ls img
xw-tune -f -E clear_pending img
CALLS
equal "  which says what it did" "$RC $(cat .out)" "0 img: no change is pending; files left by an interrupted change were removed"
run_tool "$BIN/xw-tune" /dev/null -f -E clear_pending img
equal "  and has nothing to do now" "$RC $(cat .out .err)" "0 img: no change is pending"
cp longer img
run_tool "$BIN/xw-tune" /dev/null -f -E clear_pending --json img
equal "  the same as JSON" "$RC $(cat .out)" '0 {"pending":"cleared"}'
cp longer img
run_tool "$FSCK" /dev/null -fn img
is "xw-fsck -n leaves it" cmp img longer

# Redo files in the state directory: of two copies of a filesystem in a larger file.
export EXTWRIGHT_STATE_DIR=$T/state SOURCE_DATE_EPOCH=1700000000
fault=$XW_BUILD/.libs/fault_preload.so
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 A="disk?offset=1048576" B="disk?offset=3145728"
"$MKFS" -q -t ext2 -b 1024 -U $U -d d part 2M
"$BIN/xw-debugfs" -w -R 'ssv state 0' part >out 2>&1 # no record in the image: its bitmaps may be wrong
{ head -c 1M /dev/zero && cat part part && head -c 1M /dev/zero; } >disk.old
put_disk() { cat disk.old >disk && rm -rf state; }
cut() { # WRITE IMAGE LABEL: killed before that write to the disk
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/disk XW_FAULT_AT=$1 XW_FAULT_MODE=cut "$BIN/xw-tune" -L "$3" "$2" </dev/null >out 2>&1
}
redo_files() { ls -A state 2>/dev/null | wc -l; }
label() { "$BIN/xw-dump" -h "$1" 2>/dev/null | sed -n 's/^Filesystem volume name: *//p'; }
tune() { run_tool "$BIN/xw-tune" /dev/null "$@"; }
if nm -D "$XW_BUILD/.libs/libextwright.so" 2>/dev/null | grep -q __asan_init || [ ! -e "$fault" ]; then
	skip "left-over redo files" "a sanitizer wants to be loaded first" 22
else
	put_disk
	cut 1 "$A" early
	equal "killed before the commit point: a file is left" "$(ls state | sed 's/-[0-9a-f]\{16\}[.]/-NONCE./')" "$U-NONCE.new.xw-redo"
	"$FSCK" -fn "$A" >out 2>&1
	tune -M /b "$B"
	equal "  readers leave it, and tools that change a copy" "$RC $(redo_files) $(grep -c 'did not reach its commit point' .err)" "0 1 1"
	tune -M /a "$A"
	equal "  one that changes its filesystem removes it" "$RC $(redo_files) $(grep -c 'did not reach its commit point' .err)" "0 0 0"
	put_disk
	cut 1 "$A" early
	cut 1 "$A" later
	cut 2 "$B" half
	equal "and while a copy is pending" "$(redo_files)" 2
	"$FSCK" -p "$A" >out 2>&1
	equal "  only its own is removed" "$(redo_files) $(label "$B")" "1 half"
	tune -M /b "$B"
	equal "  and the copy is completed" "$RC $(redo_files) $(label "$B")" "0 0 half"
	put_disk
	cut 2 "$A" same
	tune -L same "$B"
	tune -M /b "$B"
	equal "the same change of two copies" "$RC $(redo_files)" "0 1"
	"$FSCK" -p "$A" >out 2>&1
	equal "  the one that was interrupted has kept its file" "$(redo_files) $(label "$A")" "0 same"
	put_disk
	cut 2 "$A" half
	cp disk moved && cat disk.old >disk
	tune -M /a "$A"
	equal "a copy of a pending one, which got its old contents back" "$RC $(redo_files) $(grep -c 'did not reach its commit point' .err)" "0 1 1"
	"$FSCK" -p "moved?offset=1048576" >out 2>&1
	equal "  is completed" "$(redo_files) $(label "moved?offset=1048576")" "1 half"
	for boot in same another; do
		put_disk
		cut 2 "$A" half
		cp disk moved
		[ $boot = same ] || python3 "$KIT/redo_states.py" booted state/*
		tune -M /a "moved?offset=1048576"
		equal "$boot boot: a copy of a pending one is completed first: the file stays" \
			"$RC $(redo_files) $(label "moved?offset=1048576") $(grep -c 'is complete in moved' .err)" "0 1 half 1"
		tune -M /a "$A"
		equal "  and completes the other one" "$RC $(redo_files) $(label "$A") $(grep -c warning .err)" "0 0 half 0"
	done
	put_disk
	cut 1 "$A" early
	flock -s "$(echo state/*)" "$BIN/xw-tune" -L x "$A" >out 2>&1
	equal "a left-over that another tool reads" "$? $(redo_files) $(label "$A") $(grep -c 'warning: .*in use.*no longer needed' out)" "0 1 x 1"
	put_disk
	cut 2 "$A" half
	flock -s "$(echo state/*)" "$BIN/xw-tune" -M /a "$A" >out 2>&1
	equal "  completed by a file that another tool reads" "$? $(redo_files) $(label "$A") $(grep -c 'warning: .*in use.*no longer needed' out)" "0 1 half 1"
	put_disk
	cut 1 "$A" early
	is "after a boot" python3 "$KIT/redo_states.py" booted state/*
	tune -M /a "$A"
	equal "  it stays, with a warning" "$RC $(redo_files) $(grep -c 'did not reach its commit point in .*; delete it unless' .err)" "0 1 1"
	tune -M /b "$A"
	equal "  without one, when the filesystem has changed" "$RC $(redo_files) $(cat .err)" "0 1 "
	put_disk
	cut 1 "$A" early
	cat disk >other && mv other disk # another file: as after a boot, the place is not known
	tune -f -E clear_pending --json "$A"
	equal "elsewhere, clear_pending removes it" "$RC $(redo_files) $(cat .out)" '0 0 {"pending":"cleared"}'
	put_disk
	cut 2 "$A" half
	mv state/* away
	tune -f -E clear_pending "$A"
	equal "clear_pending without the file" "$RC $(cat .out)" "0 disk: the interrupted change is given up; run xw-fsck -f"
	put_disk
	mkdir state && echo XW-REDO1 >state/$U-0123456789abcdef.new.xw-redo.tmp && echo XW-REDO1 >state/6${U#?}-0123456789abcdef.new.xw-redo.tmp
	tune -f -E clear_pending "$A"
	equal "a file that was never complete, and one of another filesystem" "$RC $(ls state)" "0 6${U#?}-0123456789abcdef.new.xw-redo.tmp"
fi

# --commit holds for the counts that belong to a replayed journal, too: where that form is impossible, they are not committed.
"$MKFS" -q -F -t ext4 -b 1024 -d d dirty 8M
head -c 1024 /dev/zero >zeros
"$BIN/xw-debugfs" -w -R 'ssv free_blocks_count 17' dirty >out 2>&1
printf 'jo\njw -b 5000 zeros\njc\n' | "$BIN/xw-debugfs" -w -f - dirty >out 2>&1
needs_recovery() { "$BIN/xw-dump" -h "$1" 2>/dev/null | grep -c needs_recovery; }
cp dirty img && echo text >img.xw-redo
tune --commit file -L x img
equal "--commit file, where a file is impossible: not through the journal" "$RC $(needs_recovery img)" "1 1"
rm img.xw-redo
bad=
for how in auto journal inside file; do
	cp dirty img
	tune --commit $how -L x img
	[ "$RC $(needs_recovery img) $(label img)" = "0 0 x" ] || bad="$bad $how: $(cat .err)"
	"$FSCK" -fn img >out 2>&1 || bad="$bad $how: $(cat out)"
done
equal "  each form, after a replay" "$bad" ""

# No home, and no state directory.
put_disk && cp disk.old disk.alone
user=(env -u HOME -u XDG_STATE_HOME -u EXTWRIGHT_STATE_DIR)
theirs=$BIN
if is_root; then # the build may be where another user cannot go
	reach_tools
	read -ra user <<<"$AS_USER ${user[*]}"
	theirs=$REACHABLE
fi
chmod 755 . && chmod 666 disk
if "${user[@]}" "$theirs/xw-dump" -h "$A" >out 2>&1; then
	run_tool "${user[0]}" /dev/null "${user[@]:1}" "$theirs/xw-tune" -L x "$A"
	equal "no place for a redo file is known" "$RC $(cat .err)" "1 xw-tune: disk: no location for the redo file: give --redo-file FILE"
	equal "  nothing has changed" "$(cmp disk disk.old 2>&1) $(echo disk*)" " disk disk.alone disk.old"
	mkdir -m 777 mine
	run_tool "${user[0]}" /dev/null "${user[@]:1}" "$theirs/xw-tune" --redo-file mine/ -L x "$A"
	equal "  --redo-file" "$RC $(ls mine) $(label "$A")" "0  x"
	mkdir -m 0 home
	run_tool "${user[0]}" /dev/null "${user[@]:1}" HOME="$T/home" "$theirs/xw-dump" -h "$A"
	equal "a home that cannot be read: nothing is there" "$RC $(cat .err)" "0 "
else
	skip "no place for a redo file is known" "another user cannot run the tools" 4
fi
done_testing 124
