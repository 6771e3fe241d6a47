#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --commit journal where the journal cannot be used, whatever the change is: refused before contents are written.
. "$(dirname "$0")/lib.sh"

head -c 3000000 /dev/urandom >big
tar -cf big.tar big
mkfs -q -O ^has_journal none.img 16M
mkfs -q -O itree itree.img 16M
mkfs -q -b 4096 -O journal_dev j.dev 8M
mkfs -q -J device=j.dev external.img 16M
mkfs -q plain.img 32M
# refuses REASON IMAGE TOOL ARGS...: the tool fails, and the image has all its bytes.
refuses() {
	local why=$1 img=$2 name=$3
	shift 3
	cp "$img" now.img
	T_TOOL=$name
	run_tool "$BIN/$name" /dev/null "$@"
	fails 1 "now.img: cannot commit through the journal: $why" "$img: $name"
	is "  nothing is written" cmp "$img" now.img
}
while read -r image why; do
	refuses "$why" "$image" xw-import --commit journal now.img big.tar
	refuses "$why" "$image" xw-debugfs -w --commit journal -R "write big big" now.img
	refuses "$why" "$image" xw-tune --commit journal -L label now.img
	refuses "$why" "$image" xw-age --commit journal --profile pazdera --files 20 now.img
done <<'TABLE'
none.img the image has no internal journal
itree.img images with itrees are not committed through the journal
external.img the image has no internal journal
TABLE
refuses "features change" plain.img xw-tune --commit journal -O itree now.img
cp plain.img now.img
import --commit journal now.img big.tar
works "with a journal"
clean now.img "  and clean"
done_testing 28
