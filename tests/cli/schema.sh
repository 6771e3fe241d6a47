#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the tools print with --json fits the schemas that are installed, and the checker finds what does not.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
schema=$XW_SRC/lib/api/schema
check=$XW_SRC/build-aux/json-check
[ -e "$check" ] || skip_all "no build-aux/json-check here"

# ---- the checker itself ----
for name in common mkfs import export dump freefrag tune age debugfs fsck undo; do
	file=$schema/xw-$name.json
	[ "$name" != common ] || file=$schema/common.json
	is "$(basename "$file") names its draft" grep -q '^ "$schema": "https://json-schema.org/draft/2020-12/schema",$' "$file"
done
wrong() {
	echo "$2" >value
	python3 "$check" "$schema/$1.json" value >.out 2>.err
	equal "refused: $3" $? 1
}
wrong xw-fsck '{"image":"x"}' "members are missing"
wrong xw-fsck '{"id":"x","severity":"bad","round":1,"done":"reported"}' "not one of the words"
wrong xw-fsck '{"id":"x","severity":"note","round":0,"done":"reported"}' "a number too small"
wrong xw-fsck '{"id":"x","severity":"note","round":true,"done":"reported"}' "a boolean for a number"
wrong xw-tune '{"error":""}' "an empty reason"
wrong xw-tune '{"error":"x","more":1}' "an unknown member"
wrong xw-debugfs '{"request":"ls","ok":false}' "a failure without a reason"
wrong xw-debugfs 'no JSON' "what is no JSON"
wrong xw-debugfs '' "nothing"
echo '{"error":"x","error_hex":"ff"}' >value
is "a fitting one is accepted" python3 "$check" "$schema/xw-mkfs.json" value

# ---- the tools ----
# fits TOOL ARGUMENT...: kept, named as the command, until all of a tool are compared at once.
fits() {
	run_tool "$BIN/$1" /dev/null --json "${@:2}"
	mkdir -p "said/$1" && cp .out "said/$1/$(printf '%s ' "${@:2}" | tr / :)"
}
mkdir -p src/d && echo hello >src/d/file && ln -s file src/d/link && ln src/d/file src/d/again && mkfifo src/pipe
touch "src/$(printf 'caf\351')"
(cd src && tar cf ../a.tar .)
printf x >bad
fits xw-mkfs -d src img 16M
fits xw-mkfs -n -d a.tar other 16M
fits xw-mkfs -O ^has_journal,bigalloc -C 64K big 64M
fits xw-mkfs -O quota,mmp -b 1024 mmp 16M
fits xw-mkfs -t ext2 -b 2048 old 8M
fits xw-mkfs img 8M
fits xw-mkfs -b x new 8M
fits xw-import img a.tar
fits xw-import --dry-run img src
fits xw-import img missing
fits xw-export -t img
fits xw-export -t missing
fits xw-export -o out.tar img
fits xw-export -x out img
fits xw-export -o out.tar img d missing
fits xw-dump img
fits xw-dump -h mmp
fits xw-dump big
fits xw-dump -m mmp
fits xw-dump old
fits xw-dump bad
fits xw-freefrag img
fits xw-freefrag -c 64 img
fits xw-freefrag bad
fits xw-tune -L label img
fits xw-tune -l img
fits xw-tune -O ^has_journal img
fits xw-tune -f -E clear_pending img
fits xw-tune -m x img
fits xw-tune -z undo -L undone img
fits xw-undo -n undo img
fits xw-undo undo img
fits xw-undo undo
fits xw-age --measure img
fits xw-age --profile pazdera --files 20 --until util=50% img
fits xw-age --profile geriatrix:agrawal --ops 200 img
fits xw-age --profile alternate:64K,64K --fast old
fits xw-age --profile x img
fits xw-debugfs -R "ls /" -R "stat /d/file" -R "ex /d/file" -R "htree /d" -R "nosuch" -R "stat /missing" -R "show_super_stats" -R "mb_stats" -R "freefrag" img
fits xw-debugfs -f missing img
fits xw-debugfs -R "stat <8>" bad
fits xw-fsck -fn img
fits xw-fsck -fn bad
fits xw-fsck -n img extra
# A damaged image: findings, the table of a group and a listing with what cannot be read.
cp img hurt
printf '\377%.0s' $(seq 64) | dd of=hurt bs=1 seek=4096 conv=notrunc status=none
fits xw-fsck -fn hurt
fits xw-dump hurt
fits xw-fsck -fy hurt
fits xw-export -t hurt
# The host is full: the reason is an object.
(ulimit -f 100 && trap '' XFSZ && exec "$BIN/xw-mkfs" --json -d a.tar full 8M) >.out 2>.err
is "xw-mkfs where the host is full says why" grep -q '^{"error":".*"}$' .out
for tool in said/*; do
	is "$(find "$tool" -type f | wc -l) runs of ${tool#said/}" python3 "$check" "$schema/${tool#said/}.json" "$tool"/*
done
done_testing 32
