#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extent verbs of xw-debugfs beside stock debugfs: moving in trees of depth 0 to 3, editing them, judged by e2fsck; and what
# is refused has changed nothing.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in mke2fs debugfs e2fsck python3; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

# image NAME EXTENTS [OPTION...]: /f has that many extents of one block, and holes between them
image() {
	python3 -c 'import sys; sys.stdout.buffer.write((b"a" * 1024 + bytes(1024)) * int(sys.argv[1]))' "$2" >src
	rm -f "$1"
	mke2fs -qF -t ext4 -b 1024 -O ^has_journal "${@:3}" "$1" 16M >/dev/null 2>&1
	printf '%s\n' "write src f" "setb 3000 1000" >ask # the edits map these blocks; no node shall be there
	debugfs -w -f ask "$1" >/dev/null 2>&1
}
image flat 3
image many 200
image deep 12
printf '%s\n' "eo f" root split "goto 0" split "goto 0" split "goto 12" split root split ec >ask
debugfs -w -f ask deep >/dev/null 2>&1
image plain 12 -O ^metadata_csum,^64bit

for img in flat many deep plain; do
	out=$(python3 "$HERE/extents.py" "$DBG" "$img" move 1 15 40)
	[ "${out##*$'\n'}" = "AGREE 15 OF 15" ] && pass "$img: 15 ways through the tree, as stock debugfs" || { fail "$img: moves"; echo "$out" | sed 's/^/# /'; }
	out=$(python3 "$HERE/extents.py" "$DBG" "$img" edit 1 15 12)
	[ "${out##*$'\n'}" = "AGREE 15 OF 15" ] && pass "$img: 15 edits of the tree, as stock debugfs" || { fail "$img: edits"; echo "$out" | sed 's/^/# /'; }
done

# The help of both names the same verbs.
printf 'eo f\nhelp\n' >ask
debugfs -f ask flat 2>/dev/null | grep -oE '^[a-z?][a-z_0-9?, ]+' | tr -d ' ' | tr ',' '\n' | grep -vE '^$|^debugfs' | sort -u | grep -vx init_filesys >stock.verbs
"$DBG" -R help flat 2>/dev/null | grep -oE '^[a-z?][a-z_0-9?, ]+' | tr ',' '\n' | sed 's/^ //; s/ .*//' | sort -u >our.verbs
comm -23 stock.verbs our.verbs >missing
[ -s missing ] || [ ! -s stock.verbs ] && fail "verbs that stock has: $(tr '\n' ' ' <missing)" || pass "every verb and alias of stock debugfs is one"

# Requests that fail change nothing.
cp flat img
sum=$(sha256sum <img)
for request in "insert_node 5 1" "insert_node 5 40000 5000" "replace_node 5 0 5000" "set_bmap 4294967296 1" split_node delete_node \
	"insert_node 4294967296 1 5000" "goto 99" "set_bmap x 1" "replace_node 0 1 5000"; do
	case $request in delete_node | split_node | replace*) pre= ;; *) pre=root ;; esac
	printf '%s\n' "eo f" $pre "$request" ec >ask
	"$DBG" -w -f ask img >.out 2>.err
	[ -s .err ] && [ "$sum" = "$(sha256sum <img)" ] && pass "$request: refused, nothing changed" || fail "$request: refused, nothing changed"
done
"$DBG" -R "current_node" flat >.out 2>.err
grep -q extent_open .err && pass "without extent_open the message names it" || fail "without extent_open the message names it"
done_testing 20
