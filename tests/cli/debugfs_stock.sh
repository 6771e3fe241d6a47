#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs: requests as scripts for the stock debugger write them, with what those expect of fields, times, hashes and trees.
. "$(dirname "$0")/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$DBG" /dev/null "$@"
}
shows() { "$DBG" -R "$1" img | sed -n "s/^$2 *//p"; }

mkdir tree
seq 5000 >tree/file
mkfs -q -d tree -b 1024 -O ^metadata_csum img 8M
works "an image"

# ---- fields with the prefix that they have in the kernel's structures ----
dbg -w -R "sif /file i_mode 0100600" -R "sif /file i_size_lo 77" -R "sif /file i_block[3] 0" -R "ssv s_mnt_count 7" \
	-R "set_bg 0 bg_free_inodes_count 5" img
works "fields with their prefix"
is "  of an inode" sh -c "'$DBG' -R 'stat /file' img | grep -q 'Mode:  0600'"
equal "  of the superblock" "$(shows 'stats -h' 'Mount count:')" 7
is "  of a group" sh -c "'$DBG' -R stats img | grep -A4 '^ Group *0' | grep -q ' 5 free inodes'"
dbg -w -R "sif /file s_mode 0100600" img
fails 1 "no field 's_mode'" "the prefix of another structure"
dbg -w -R "sif /file i_ 0" img
fails 1 "no field 'i_'" "a prefix alone"

# ---- the time that is set is the superblock's write time ----
dbg -w -R "set_current_time 20200202020202" -R "ssv mnt_count 9" img
works "set_current_time"
equal "  is when the superblock was written" "$(TZ=UTC shows 'stats -h' 'Last write time:')" "Sun Feb  2 02:02:02 2020"
sum=$(sha256sum <img)
dbg -w -R "set_current_time 20210202020202" img
equal "  and alone changes nothing" "$(sha256sum <img)" "$sum"
dbg -w -R "ssv mnt_count 10" img
equal "  as is a field without it" "$(TZ=UTC shows 'stats -h' 'Last write time:')" "Sun Feb  2 02:02:02 2020"

# ---- hashes as the image's directories have them ----
seed=$(shows 'stats -h' 'Directory Hash Seed:')
want=$("$DBG" -R "dx_hash -h half_md4 -s $seed file")
equal "dx_hash: algorithm and seed of the image" "$("$DBG" -R "dx_hash file" img)" "$want"
equal "  without an image, neither" "$("$DBG" -R "dx_hash file")" "$("$DBG" -R "dx_hash -h legacy file")"
unlike() { [ "$1" != "$2" ]; }
is "  another algorithm, the seed of the image" unlike "$("$DBG" -R "dx_hash -h tea file" img)" "$("$DBG" -R "dx_hash -h tea file")"

# ---- a tree deeper than any kernel makes one ----
# node BLOCK DEPTH TARGET: an index node with one entry; depth 0: one extent of one block
node() {
	local at
	at=$(printf '\\x%02x\\x%02x\\x%02x\\x00' $(($3 & 255)) $(($3 >> 8 & 255)) $(($3 >> 16 & 255)))
	if [ "$2" = 0 ]; then
		printf "\x0a\xf3\x01\x00\x54\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00$at"
	else
		printf "\x0a\xf3\x01\x00\x54\x00\\x0$2\x00\x00\x00\x00\x00\x00\x00\x00\x00$at\x00\x00\x00\x00"
	fi | dd of=img bs=1024 seek="$1" conv=notrunc status=none
}
dbg -w -R "set_current_time now" -R "write tree/file /nodes" -R "write tree/file /deep" img
first=$("$DBG" -R "bmap /nodes 0" img)
for i in 0 1 2 3 4 5 6; do node $((first + i)) $((6 - i)) $((first + i + 1)); done
dbg -w -R "sif /deep block[0] 0x1f30a" -R "sif /deep block[1] 0x70004" -R "sif /deep block[3] 0" \
	-R "sif /deep block[4] $first" -R "sif /deep block[5] 0" img
works "a tree of seven levels"
dbg -R "ex /deep" img
equal "ex shows all its levels" "$(awk '/^ [0-9]\/ 7/ { print $1 $2 }' .out | tr '\n' ' ')" "0/7 1/7 2/7 3/7 4/7 5/7 6/7 7/7 "
is "  and its extent" grep -Eq "^ 7/ 7 +1/ +1 +0 - +0 +$((first + 7)) - +$((first + 7)) +1 *$" .out
dbg -w -R "sif /deep block[1] 0x110004" img
dbg -R "ex /deep" img
is "one of seventeen is not followed" grep -q 'no extent header at level' .err
done_testing 18
