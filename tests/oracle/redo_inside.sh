#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Redo records in images: their format as extwright(7) describes it, decoded by a program that knows nothing else; where
# they are in a full image, in a folder that cannot be written to, and beside bitmaps that cannot be believed.
. "$(dirname "$0")/../cli/lib.sh"
tool=$XW_BUILD/commit_tool
[ -x "$tool" ] || skip_all "commit_tool is not built"
decode=$XW_SRC/tests/kit/redo_decode.py
states=$XW_SRC/tests/kit/redo_states.py

mkdir d
for i in $(seq 1 30); do seq 1 $((i * 50)) >"d/f$i"; done
# pair OPTIONS SIZE: old and new, with the changes of a debugger between them
pair() {
	rm -f old new img
	# shellcheck disable=SC2086
	"$MKFS" -q -F $1 -E hash_seed=12345678-1234-1234-1234-123456789012 -d d old "$2" || return 1
	cp --sparse=always old new
	{
		for i in $(seq 1 3 30); do echo "rm f$i"; done
		echo "mkdir sub"
		for i in $(seq 1 20); do echo "symlink sub/link$i f2"; done
	} | "$BIN/xw-debugfs" -w -f - new >out 2>&1
}
# pending BEFORE_END: img as it is so many steps before the end of the change
pending() {
	cp --sparse=always old img
	"$tool" change img new how=inside >out 2>&1
	k=$(($(awk 'END { print $2 }' out) - $1))
	cp --sparse=always old img
	"$tool" change img new how=inside "fail=$k" mode=cut >out 2>&1
}
label() { "$BIN/xw-dump" -h "$1" 2>/dev/null | sed -n 's/^Filesystem volume name: *//p'; }
for options in "-t ext2 -b 1024" "-t ext4 -b 4096" "-t ext4 -b 1024 -O itree"; do
	pair "$options" 8M
	pending 12
	is "$options: the record is as described" python3 "$decode" img decoded
	is "  xw-fsck -n sees what it describes" "$FSCK" -fn img
	is "  and it is completed" "$tool" open img
	is "  to the image that the description leads to" cmp img decoded
	equal "  which is the new one" "$("$tool" state img old new)" new
done

# Nobody to ask: completing a change needs no answer, and a check that is due does.
pair "-t ext4 -b 1024" 8M
pending 12
cp --sparse=always img half
fsck img
equal "xw-fsck without a terminal completes a change" "$RC $(cat .out .err | grep -c '^img: completed an interrupted change\|img: clean')" "0 2"
equal "  which is the new state" "$("$tool" state img old new)" new
fsck img
fails 8 "need terminal for interactive repairs" "  without a change to complete it does nothing"
fsck -f half
equal "  and does not check" "$RC $(grep -c 'completed an interrupted change\|need terminal for interactive repairs' .err)" "8 2"
equal "  but completes" "$("$tool" state half old new)" new

# Behind the end: a filesystem that was not unmounted cleanly, whose bitmaps may be wrong, of an odd length.
pair "-t ext2 -b 1024" 8M
"$BIN/xw-debugfs" -w -R 'ssv state 0' old >out 2>&1
head -c 700 /dev/urandom >>old
cp --sparse=always old new
"$BIN/xw-debugfs" -w -R 'ssv mtime 20200101' new >out 2>&1
equal "behind the end: the file has its old size" "$(stat -c %s new)" "$(stat -c %s old)"
pending 6
is "  killed: the record is as described" python3 "$decode" img decoded
is "  and it is completed" "$tool" open img
is "  to the image that the description leads to" cmp img decoded
# begun, and never committed
cp --sparse=always old img
"$tool" change img new how=inside fail=9 mode=cut >out 2>&1
is "  killed before the commit point: the file is longer" test "$(stat -c %s img)" -gt "$(stat -c %s old)"
is "  readers do not mind" "$EXPORT" -f /dev/null img
is "  the next tool that writes" "$tool" open img
is "  makes it what it was" cmp img old
cp --sparse=always old img
"$tool" change img new how=inside fail=9 mode=cut >out 2>&1
truncate -s -512 img # all of its list that is not zeros
is "  killed earlier: half a block of the list" "$tool" open img
is "  is removed as well" cmp img old
truncate -s -700 old && cp old img && truncate -s +9K img && cp img longer
is "  zeros behind a filesystem are somebody's" "$tool" open img
is "  and stay" cmp img longer

# The bytes of such a record in a block of the filesystem: whoever may write a file can put them there.
"$MKFS" -q -F -t ext2 -b 1024 -d d evil 8M
python3 "$states" forged evil
is "a forged record in the last block of a filesystem" "$BIN/xw-tune" -L name evil
equal "  does not cut it off" "$(stat -c %s evil)" $((8 << 20))
python3 "$states" wrapped evil
is "one behind its end, of a file of 1 TiB" "$BIN/xw-tune" -L other evil
equal "  is not believed" "$(stat -c %s evil)" $(((8 << 20) + 1024))

# Power fails while a record is removed, and its list is the last that reaches the medium.
pair "-t ext2 -b 1024" 8M
pending 12
is "a record" python3 "$decode" img decoded
python3 "$states" removed img decoded half
is "  of which a part is removed: readers do not mind" "$EXPORT" -f /dev/null half
is "  the next tool that writes" "$tool" open half
is "  removes the rest" cmp half decoded

# What is pending in a larger place: no tool cuts off what is there, and the change is complete. around BEFORE AFTER: img
# between random bytes, as `disk`, and as `want` when it is complete; what a record behind the end has left are zeros.
head -c 3M /dev/urandom >noise
mbr() { # one partition from 1 MiB on, of img's size
	local n=$((($(stat -c %s img) + 511) / 512))
	head -c 446 /dev/zero
	# shellcheck disable=SC2059
	printf "\\0\\0\\0\\0\\x83\\0\\0\\0\\0\\x08\\0\\0\\x$(printf %02x $((n & 255)))\\x$(printf %02x $((n >> 8 & 255)))\\x$(printf %02x $((n >> 16)))\\0"
	head -c 48 /dev/zero && printf '\x55\xaa'
}
around() {
	{ [ "$1" = 0 ] || { mbr && head -c $(($1 - 512)) noise; }; } >before
	head -c "$2" noise >after
	cat before img after >disk
	cp done done.long && truncate -s "$(stat -c %s img)" done.long
	cat before done.long after >want
}
is_pending() { [ $(($(od -An -tu1 -j1123 -N1 img) & 64)) != 0 ]; }
bigger() { # WHAT BEFORE AFTER DISK ARGUMENT...
	around "$2" "$3"
	"$FSCK" -p "${@:5}" "$4" >out 2>&1 || [ $? = 1 ] || diag "$(cat out)"
	is "  $1: completed, and all else is as it was" cmp disk want
}
export SOURCE_DATE_EPOCH=1700000000 # s_wtime, of checks that are compared
for where in "in free blocks" "behind the end"; do
	pair "-t ext2 -b 1024" 8M
	if [ "$where" = "behind the end" ]; then
		"$BIN/xw-debugfs" -w -R 'ssv state 0' old >out 2>&1
		cp --sparse=always old new
		"$BIN/xw-debugfs" -w -R 'ssv mtime 20200101' new >out 2>&1
	fi
	pending 6
	is "a record $where" python3 "$decode" img decoded
	cp img done && "$FSCK" -p done >out 2>&1
	equal "  alone: completed, of its old size" "$(grep -c 'completed an interrupted change' out) $(stat -c %s done)" "1 $(stat -c %s old)"
	bigger "inside a larger file" 1048576 3M "disk?offset=1048576"
	bigger "in a partition" 1048576 2M disk --partition 1
	bigger "in a file with data behind it" 0 700 disk
	bigger "in a longer file" 0 1M disk
	around 0 0 && truncate -s +1M disk want
	"$FSCK" -p disk >out 2>&1
	is "  in a file that was made longer: the same" cmp disk want
	bad=
	for before_end in 1 2 3 4 5 6 7 8; do # and killed there, each step of the removal too
		pending $before_end
		cp img done && "$tool" open done >out 2>&1 || bad="$bad $before_end: $(cat out)"
		around 0 5000
		is_pending || cp disk want # what was not begun is not looked for elsewhere
		"$tool" open disk >out 2>&1 || bad="$bad $before_end: $(cat out)"
		cmp disk want >out 2>&1 || bad="$bad $before_end: $(cat out)"
	done
	equal "  killed elsewhere" "$bad" ""
done
unset SOURCE_DATE_EPOCH

# Power fails at the commit point, and only the second sector of the superblock, without the bit, is on the medium: every tool
# accepts the filesystem.
poke() { printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE OFFSET BYTES
left() { od -An -tx1 -j2024 -N16 "$1" | tr -d ' 0\n'; }                            # number and nonce
for place in free behind; do
	pair "-t ext2 -b 1024" 8M
	[ $place = free ] || { "$BIN/xw-debugfs" -w -R 'ssv state 0' old && cp old new && "$BIN/xw-debugfs" -w -R 'rm f3' new; } >out 2>&1
	[ $place = free ] && pending 12 || pending 6
	python3 "$decode" img decoded || diag "no pending record"
	python3 "$states" torn img old half
	cp half img
	is "a torn commit point, the record $place" "$tool" open img
	is "  is completed if nobody has changed the filesystem" cmp img decoded
	cp half begun
	poke begun 1078 '\024' # another tool: s_max_mnt_count
	for call in "xw-tune -L again" "xw-tune -f -E clear_pending" "xw-fsck -fy"; do
		cp begun img
		cp old want
		poke want 1078 '\024'
		# shellcheck disable=SC2086
		RC=0 && "$BIN"/${call%% *} ${call#* } img >out 2>&1 </dev/null || RC=$?
		# shellcheck disable=SC2086
		"$BIN"/${call%% *} ${call#* } want >want.out 2>&1 </dev/null && want=0 || want=$?
		equal "  changed by another tool: $call works" "$RC $(left img) $(label img)" "$want  $(label want)"
		equal "  and applies nothing" "$("$EXPORT" img 2>/dev/null | cksum)" "$("$EXPORT" want 2>/dev/null | cksum)"
		"$FSCK" -fn img >out 2>&1 || { fail "  but leaves errors" && sed 's/^/# /' out; }
	done
	cp begun img
	is "  readers ignore it" "$EXPORT" -f /dev/null img
	is "  and change nothing" cmp img begun
done
# The superblock is as it was, a block of the change is not: f2 has another name.
pair "-t ext2 -b 1024" 8M
pending 12
python3 "$states" torn img old half
python3 - half <<'END'
import sys
image = bytearray(open(sys.argv[1], "rb").read())
image[image.index(b"\x02\x01f2") + 2] = ord("g")
open(sys.argv[1], "wb").write(image)
END
is "a torn commit point, and a changed block" "$tool" open half
equal "  nothing is applied" "$("$BIN/xw-debugfs" -R 'ls -p' half 2>&1 | grep -c '/\(g2\|f3\|f4\)/') $(left half)" "3 "

# A full image has no room inside.
"$MKFS" -q -t ext2 -b 1024 -d d full 2>out
"$BIN/xw-dump" -h full 2>&1 | grep -i '^free blocks' >free
is "a full image: $(cat free)" test "$(grep -o '[0-9]*$' free)" -lt 8
size=$(stat -c %s full)
run_tool "$BIN/xw-tune" /dev/null -U random full
equal "  gets a new UUID" "$RC" 0
equal "  keeps its size" "$(stat -c %s full)" "$size"
is "  and is clean" "$FSCK" -fn full
equal "  nothing is beside any image" "$(find . -name '*xw-redo*')" ""

# A folder that nobody may write to.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && reach_tools && user_reaches; then
	mkdir closed
	"$MKFS" -q -t ext2 -d d/f1 closed/img 8M 2>/dev/null || "$MKFS" -q -t ext2 closed/img 8M
	"$BIN/xw-debugfs" -w -R 'ssv free_blocks_count 5' closed/img >out 2>&1
	chmod 755 . closed
	chmod 666 closed/img
	rc=0
	$AS_USER "$REACHABLE/xw-fsck" -fy closed/img >out 2>&1 || rc=$?
	equal "an image in a folder that cannot be written to: repaired" "$rc" 1
	is "  and clean" "$FSCK" -fn closed/img
else
	skip "an image in a folder that cannot be written to" "needs root, setpriv and a place that others reach" 2
fi

# Two copies of a filesystem in a larger file, whose bitmaps cannot be believed: redo files are in the state directory.
export EXTWRIGHT_STATE_DIR=$T/state/of/redo
fault=$XW_BUILD/.libs/fault_preload.so
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 A="disk?offset=1048576" B="disk?offset=3145728"
"$MKFS" -q -t ext2 -b 1024 -U $U -d d part 2M
"$BIN/xw-debugfs" -w -R 'ssv state 0' part >out 2>&1
put_disk() {
	head -c 6M /dev/urandom >disk
	dd if=part of=disk bs=1M seek=1 conv=notrunc status=none
	dd if=part of=disk bs=1M seek=3 conv=notrunc status=none
	cp disk disk.old
	rm -rf state
}
around() { cat <(head -c 1M "$1") <(tail -c +5242881 "$1"); } # what belongs to others
redo_files() { ls -A "$EXTWRIGHT_STATE_DIR" 2>/dev/null | wc -l; }
half() { # IMAGE LABEL ARGUMENT...
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/disk XW_FAULT_AT=2 XW_FAULT_MODE=cut "$BIN/xw-tune" -L "$2" "${@:3}" "$1" </dev/null >out 2>&1
}
put_disk
run_tool "$BIN/xw-tune" /dev/null -L changed "$A"
equal "a change of a filesystem inside a file" "$RC $(label "$A") $(redo_files) $(ls -d disk*)" "0 changed 0 disk
disk.old"
if nm -D "$XW_BUILD/.libs/libextwright.so" 2>/dev/null | grep -q __asan_init || [ ! -e "$fault" ]; then
	skip "half a change of it" "a sanitizer wants to be loaded first" 8
else
	put_disk
	half "$A" first
	half "$B" second
	equal "half a change of two of the same UUID: two files" "$(redo_files) $(echo disk*)" "2 disk disk.old"
	cp -r state copy
	equal "  readers find each its own" "$(label "$A") $(label "$B")" "first second"
	"$FSCK" -p "$A" >out 2>&1
	equal "  one is completed, and the other file stays" "$(redo_files) $(label "$A")" "1 first"
	for f in copy/of/redo/*; do cmp -s "$f" "$EXTWRIGHT_STATE_DIR"/* || continue; mkdir gone && mv "$EXTWRIGHT_STATE_DIR"/* gone/; done
	cp copy/of/redo/* "$EXTWRIGHT_STATE_DIR"/ && rm "$EXTWRIGHT_STATE_DIR/$(ls gone)"
	run_tool "$BIN/xw-tune" /dev/null -L x "$B"
	equal "  the file of the other one alone: refused, and kept" "$RC $(redo_files)" "1 1"
	is "  with the reason" grep -q "no redo file in $EXTWRIGHT_STATE_DIR completes it" .err
	rm "$EXTWRIGHT_STATE_DIR"/* && mv gone/* "$EXTWRIGHT_STATE_DIR"/
	"$FSCK" -p "$B" >out 2>&1
	equal "  its own completes it" "$(redo_files) $(label "$B")" "0 second"
	is "  and the rest of the file is as it was" cmp <(around disk) <(around disk.old)
	put_disk
	half "$A" earlier --redo-file "$T/away"
	mv away disk@1048576.xw-redo
	run_tool "$BIN/xw-tune" /dev/null -M /x "$A"
	equal "the file of an earlier version, beside the image: is used and removed" "$RC $(label "$A") $(echo disk*)" "0 earlier disk disk.old"
fi

# --commit: each tool has it, and says what is impossible and why.
"$MKFS" -q -t ext2 -b 1024 -d d forms 4M
cp forms whole
commit() { # TOOL OPTION...
	cp forms img
	case $1 in
	xw-age) set -- "$@" -q --profile pazdera --ops 50 --size 0-8k img ;;
	xw-debugfs) set -- "$@" -w -R 'mkdir /made' img ;;
	xw-fsck) set -- "$@" -fy img ;;
	xw-import) set -- "$@" -q img d ;;
	xw-tune) set -- "$@" -L changed img ;;
	esac
	run_tool "$BIN/$1" /dev/null "${@:2}"
}
refuses() { # WHY -- TOOL OPTION...
	local why=$1
	commit "${@:3}"
	[ "$RC" != 0 ] && grep -qF -- "$why" .err && cmp -s forms img || bad="$bad ${*:4}: $RC $(cat .err)"
}
for t in xw-age xw-debugfs xw-import xw-tune xw-fsck; do
	bad=
	cp whole forms
	[ $t != xw-fsck ] || "$BIN/xw-debugfs" -w -R 'setb 3000' forms >out 2>&1
	refuses '"fast" is not auto, journal, inside or file' -- $t --commit fast
	refuses 'cannot commit through the journal: ' -- $t --commit journal
	refuses 'no room for a redo record in the image: --redo-file is given' -- $t --commit inside --redo-file "$T/named"
	echo text >img.xw-redo
	refuses 'img.xw-redo: exists and is not a redo file' -- $t --commit file
	for how in auto inside; do
		commit $t --commit $how
		case $t-$RC in xw-fsck-1 | xw-[!f]*-0) ;; *) bad="$bad $how: $RC $(cat .err)" ;; esac
		! cmp -s forms img && "$FSCK" -fy img >out 2>&1 && "$FSCK" -fn img >out 2>&1 || [ $? = 1 ] || bad="$bad $how: not clean"
	done
	rm img.xw-redo
	equal "$t --commit" "$bad" ""
done
put_disk
run_tool "$BIN/xw-tune" /dev/null --commit inside -L x "$A"
is "  why there can be no record in an image" grep -q 'no room for a redo record in the image: its bitmaps may be wrong' .err

# Blocks that a debugger gives to a file, while the bitmaps call them free: the record is elsewhere.
for request in 'sif /f2 block[0] 4090' 'bmap /f2 2 4090' 'zap -f /f30 -o 0 -l 4 -p 0x10 0' 'sif /f2 file_acl 4090' 'set_bg 0 block_bitmap 4090' \
	'mkdir /not-so' 'clri /f30'; do
	cp whole img
	for k in $(seq 4000 4094); do echo "deleted long ago: $k"; done >text
	dd if=text of=img bs=1k seek=4090 conv=notrunc status=none && cp img before
	dd if=img bs=1k skip=4085 count=10 status=none >was
	"$BIN/xw-debugfs" -w -R "$request" img >out 2>&1 || diag "$(cat out)"
	dd if=img bs=1k skip=4085 count=10 status=none >is
	kept=no
	! cmp -s was is || kept=yes
	case $request in mkdir* | clri*) want=no ;; *) want=yes ;; esac
	equal "$request: free blocks are as they were: $want" "$kept $(stat -c %s img)" "$want $(stat -c %s whole)"
	! cmp -s img before || fail "  nothing was changed"
done
done_testing 107
