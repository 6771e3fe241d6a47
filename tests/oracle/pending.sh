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
for call in "xw-tune -q -L x img" "xw-fsck -fpq img" "xw-import -q img d"; do
	cp half img
	# shellcheck disable=SC2086
	run_tool "$BIN/${call%% *}" /dev/null ${call#* }
	equal "$call: no note" "$(grep -c 'interrupted' .err)" 0
done
done_testing 52
