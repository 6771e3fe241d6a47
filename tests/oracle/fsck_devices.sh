#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Block devices without a place for redo files: every kind of change goes through, every kind of damage is repaired, with the
# exit status of stock e2fsck, cut at any write, too.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"
have_e2fsck || skip_all "e2fsck is not installed"
EXTWRIGHT_STATE_DIR=/dev/null/none
export EXTWRIGHT_STATE_DIR
fault=$XW_BUILD/.libs/fault_preload.so

make_tree tree
truncate -s 24M disk
loop=$(losetup -f --show disk) || skip_all "no loop device"
at_end "losetup -d $loop"
put() { cat "$1" >"$loop"; }
stock() { # ARGUMENT...: its status in RC
	RC=0
	e2fsck "$@" >.stock 2>&1 || RC=$?
}
poke() { # IMAGE BYTE HEX...
	printf '%b' "$(printf '\\x%s' "${@:3}")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
dbg() { "$BIN/xw-debugfs" -w "$@" >.out 2>.err; }

# What was refused on devices: changes of each kind of filesystem, the next tool's view, and stock's.
while IFS='|' read -r options changes; do
	# shellcheck disable=SC2086
	"$MKFS" -q -F $options -d tree base 24M >.out 2>.err || { fail "xw-mkfs $options"; continue; }
	refused=
	while read -r tool args; do
		put base
		# shellcheck disable=SC2086
		run_tool "$BIN/$tool" /dev/null $args "$loop"
		[ "$RC" = 0 ] || refused+=" $tool $args: $RC, $(head -n 1 .err);"
		"$BIN/xw-fsck" -fn "$loop" >.out 2>&1 || refused+=" $tool $args: not clean;"
		case "$options $args" in *itree*) ;; *) fsck_quiet .fsck -fn "$loop" || refused+=" $tool $args: stock complains;" ;; esac
	done < <(tr ';' '\n' <<<"$changes")
	equal "changes of a device, $options" "$refused" ""
done <<'TABLE'
-t ext2|xw-tune -U random;xw-tune -O quota;xw-tune -O itree;xw-tune -Q usrquota;xw-tune -L x;xw-tune -I 512;xw-tune -j;xw-age -q --profile pazdera --ops 50 --size 0-8k
-t ext4|xw-tune -U random;xw-tune -O quota;xw-tune -O itree;xw-tune -O ^metadata_csum;xw-tune -Q usrquota;xw-age -q --profile pazdera --ops 50 --size 0-8k
-t ext4 -O ^has_journal|xw-tune -U random;xw-tune -O quota;xw-tune -O itree;xw-age -q --profile pazdera --ops 50 --size 0-8k
-t ext4 -O itree|xw-tune -U random;xw-tune -O ^itree;xw-tune -L x;xw-age -q --profile pazdera --ops 50 --size 0-8k
-t ext4 -b 1024 -O bigalloc,^resize_inode|xw-tune -U random;xw-tune -O quota;xw-tune -L x
-t ext4 -b 1024 -O meta_bg,^resize_inode,^flex_bg|xw-tune -U random;xw-tune -O quota;xw-tune -O itree
TABLE

# With an undo file, too: the record is in blocks that it need not bring back.
for change in "xw-tune -U random" "xw-tune -O quota" "xw-fsck -fy"; do
	if ! command -v e2undo >/dev/null; then
		skip "$change with an undo file" "e2undo is not installed" 4
		continue
	fi
	"$MKFS" -q -F -t ext2 -b 1024 -d tree base 24M
	[ "$change" != "xw-fsck -fy" ] || dbg -R "sif /small links_count 9" base
	put base
	"$EXPORT" "$loop" >old.tar 2>.err
	rm -f undo
	# shellcheck disable=SC2086
	run_tool "$BIN/${change%% *}" /dev/null -z undo ${change#* } "$loop"
	case $RC-$change in 0-xw-tune* | 1-xw-fsck*) pass "$change with an undo file" ;; *) fail "$change with an undo file: $RC" ;; esac
	clean "$loop" "  it is clean"
	run_tool "$BIN/xw-tune" /dev/null -z undo -L more "$loop" # and its blocks may be in use in the oldest state
	grep -q "redo file" .err && [ "$RC" = 1 ] && pass "  a second change does not use free blocks" || fail "  a second change: $RC"
	e2undo undo "$loop" >.out 2>&1
	is "  e2undo brings the old files and superblock back" bash -c "'$EXPORT' '$loop' | cmp - old.tar && cmp -n 2048 '$loop' base"
done

# Kinds of damage: DESCRIPTION|OPTIONS|STATUS|a command with the image in $img. STATUS: empty for that of stock e2fsck, which is 0
# after some repairs, and which cannot judge itrees or, without a backup, a superblock's checksum.
while IFS='|' read -r desc options want damage; do
	# shellcheck disable=SC2086
	"$MKFS" -q -F $options -U 5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 -d tree img 24M >.out 2>.err || { fail "$desc"; continue; }
	img=img
	eval "$damage"
	cp --sparse=always img theirs
	put img
	[ -n "$want" ] || { stock -fy theirs && want=$RC; }
	found=0
	"$BIN/xw-fsck" -fn "$loop" >.out 2>&1 || found=$?
	run_tool "$BIN/xw-fsck" /dev/null -fy "$loop"
	clean=0
	"$BIN/xw-fsck" -fn "$loop" >.out 2>&1 || clean=$?
	case $options in *itree*) ;; *) fsck_quiet .fsck -fn "$loop" || clean="stock: $?" ;; esac
	equal "damage on a device, $desc: found, status, and clean" "$((found > 0)) $RC $clean" "1 $want 0"
done <<'TABLE'
ext2, link count|-t ext2||dbg -R "sif /small links_count 9" $img
ext2, not unmounted|-t ext2||dbg -R "ssv state 0" -R "setb 5000" $img
ext2, superblock lost|-t ext2 -b 1024|1|dd if=/dev/zero of=$img bs=1024 seek=1 count=1 conv=notrunc status=none
no journal, block bitmap|-t ext4 -O ^has_journal||dbg -R "setb 5000 20" $img
no journal, descriptor checksum|-t ext4 -O ^has_journal -b 1024|1|poke $img 2078 aa aa
ext3, journal superblock|-t ext3||dbg -R "bmap <8> 0" $img; dd if=/dev/zero of=$img bs=4096 seek=$(grep -o '[0-9]*$' .out | tail -n 1) count=1 conv=notrunc status=none
ext4, superblock lost|-t ext4 -b 1024||dd if=/dev/zero of=$img bs=1024 seek=1 count=1 conv=notrunc status=none
ext4, superblock checksum|-t ext4|1|poke $img 2044 11 22 33 44
ext4, inode bitmap|-t ext4||dbg -R "seti <3000>" $img
ext4, a directory entry to a free inode|-t ext4||dbg -R "clri /small" $img
ext4, extent out of the filesystem|-t ext4||dbg -R "sif /small block[5] 0x7fffffff" $img
ext4, root's type|-t ext4||dbg -R "sif / mode 0100755" $img
itree, link count|-t ext4 -O itree|1|dbg -R "sif /small links_count 9" $img
itree, superblock checksum|-t ext4 -O itree|1|poke $img 2044 11 22 33 44
TABLE

# A repair that is cut at its writes, and finished by another run.
if [ -e "$fault" ] && ! nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init; then
	"$MKFS" -q -F -t ext2 -d tree img 24M
	dbg -R "setb 3000 40" -R "sif /small links_count 9" img
	want=$("$EXPORT" img | cksum)
	put img
	LD_PRELOAD=$fault XW_FAULT_PATH=$loop XW_FAULT_LOG=$T/steps "$BIN/xw-fsck" -fy "$loop" >.out 2>.err </dev/null
	bad=0 n=0
	for k in $(seq 1 "$(cat steps)"); do
		for mode in cut torn; do
			put img
			LD_PRELOAD=$fault XW_FAULT_PATH=$loop XW_FAULT_AT=$k XW_FAULT_MODE=$mode "$BIN/xw-fsck" -fy "$loop" >.out 2>.err </dev/null
			n=$((n + 1))
			"$BIN/xw-fsck" -fy "$loop" >.out 2>.err </dev/null
			fsck_quiet .fsck -fn "$loop" && [ "$("$EXPORT" "$loop" | cksum)" = "$want" ] || { bad=$((bad + 1)) && diag "$mode at $k"; }
		done
	done
	equal "a repair cut at $n places" "$bad" 0
else
	skip "a repair cut at its writes" "needs fault_preload.so, and no sanitizer"
fi

done_testing 33
