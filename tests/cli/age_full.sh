#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-age up to the last blocks of an image whose maps take many of them: files end where the blocks do, and no map is written anew for
# a file that gets none.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

age() {
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null "$@"
}

checked() { "$BIN/xw-fsck" -fn img >.fsck 2>&1; }

full() { # TYPE SIZE PROFILE UTIL SEED
	rm -f img && mkfs -q -t "$1" -b 1024 -U $U -E hash_seed=$U img "$2"
	age --seed "$5" --profile "geriatrix:$3" --util "$4" img
}

for case in "ext3 96M dayal 90% 0" "ext2 128M dayal 90% 0" "ext4 96M agrawal 97% 2"; do
	# shellcheck disable=SC2086
	full $case
	works "$case"
	is "  files were shortened" awk '/^ *shortened:/ { n = $2 } END { exit !(n > 0) }' "$T/.out"
	is "  consistent" checked
	clean img "  for stock, too"
done

mv img once
full ext4 96M agrawal 97% 2
is "the same twice" cmp once img

done_testing 13
