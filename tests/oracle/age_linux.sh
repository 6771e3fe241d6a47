#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-age --allocator linux beside Linux: the same trace, with contents, on a loop mount of the same image. Extents a file and the
# layout score lie within 15 %. Needs root and loop mounts. XW_ALL=1: three traces, at 70, 85 and 90 % of 1 GiB.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
can_loop || skip_all "needs root and loop mounts"
KIT=$XW_SRC/tests/kit
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
EVERY=512 # operations of a writeback

# measured FILE: extents a file, 1 - layout score, and blocks in use.
measured() {
	"$BIN/xw-age" --measure --json "$1" | python3 -c '
import json, sys
m = json.load(sys.stdin)["measured"]
print(m["extents_per_file"], m["layout_score"], m["used_blocks"])'
}
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { exit !(b >= a * (1 - by) && b <= a * (1 + by)) }'; }

one() { # TRACE MIB PERCENT OVERWRITES
	python3 "$KIT/age_trace.py" "$@" 1 >trace
	rm -f linux ours && mkdir -p mnt
	mkfs -q -U $U -E hash_seed=$U linux "$2M"
	cp --sparse=always linux ours
	mount -o loop linux mnt || { skip "$*" "Linux does not mount it" 4; return; }
	equal "$*: Linux did all of it" "$(python3 "$KIT/age_replay.py" trace mnt/age $EVERY)" 0
	umount mnt
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null -q --profile trace:trace --step $EVERY ours
	equal "  and xw-age" "$RC" 0
	read -r ext layout used < <(measured linux)
	read -r our_ext our_layout our_used < <(measured ours)
	diag "$*: extents a file $ext, xw-age $our_ext; layout score $layout, $our_layout"
	is "  extents a file: $ext and $our_ext" near "$ext" "$our_ext" .15
	is "  layout score: $layout and $our_layout" near "$layout" "$our_layout" .15
	is "  blocks in use: $used and $our_used" near "$used" "$our_used" .01
}
at_end "umount mnt 2>/dev/null"
one mail 256 85 2
if [ -n "${XW_ALL:-}" ]; then
	for trace in agrawal mail mixed; do
		for percent in 70 85 90; do one $trace 1024 $percent 2; done
	done
	done_testing 50
fi
done_testing 5
