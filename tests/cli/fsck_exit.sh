#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exit statuses of xw-fsck: those of e2fsck for the same image and options, apart from what xw-fsck(8) says is different; the counts
# that -n prints; options that e2fsck takes.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DBG=$BIN/xw-debugfs

mkdir -p tree/sub && seq 1 3000 >tree/file && ln -s file tree/link && echo x >tree/sub/other
mkfs -q -U 5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 -d tree base 16M
works "an image"
mkfs -q -b 1024 -O ^metadata_csum,^has_journal -d tree plain 16M
works "one without checksums and journal"
edit() {
	local image=$1
	shift
	for request; do "$DBG" -w -R "$request" "$image" >/dev/null 2>&1; done
}

# run_fsck OPTIONS: on a copy of `bad`; status in $RC
run_fsck() {
	rm -f img && cp --sparse=always bad img
	RC=0
	# shellcheck disable=SC2086
	"$FSCK" $1 img >.out 2>.err </dev/null || RC=$?
}
# name | statuses with -p -y -n -fp -fy -fn | what to do with `bad`
while IFS='|' read -r name base statuses how; do
	rm -f bad && cp --sparse=always "$base" bad
	eval "$how"
	theirs='' ours=''
	for mode in -p -y -n -fp -fy -fn; do
		run_fsck $mode
		ours+="$RC "
		case $mode in
		-fy) "$FSCK" -fn img >.out 2>.err && again=clean || again="status $?" ;;
		esac
		if have_e2fsck; then
			rm -f img && cp --sparse=always bad img
			e2fsck $mode img >.stock 2>&1 </dev/null
			theirs+="$? "
		fi
	done
	equal "$name" "$ours" "$statuses "
	if ! have_e2fsck; then skip "  as e2fsck" "e2fsck is not installed" 1; else equal "  as e2fsck" "$theirs" "$statuses "; fi
	case $statuses in
	*' 1 '?) equal "  and clean after -fy" "$again" clean ;;
	esac
done <<'TABLE'
consistent|base|0 0 0 0 0 0|:
free blocks of the superblock|base|0 0 0 1 1 0|edit bad "ssv free_blocks_count 5"
free inodes of the superblock|plain|0 0 0 1 1 0|edit bad "ssv free_inodes_count 5"
not cleanly unmounted|base|1 1 0 1 1 0|edit bad "ssv state 0"
not cleanly unmounted, no journal|plain|1 1 0 1 1 0|edit bad "ssv state 0"
marked with errors, not cleanly unmounted|base|1 1 0 1 1 0|edit bad "ssv state 2"
marked with errors only|base|0 0 0 0 0 0|edit bad "ssv state 3"
blocks marked in use|base|0 0 0 1 1 4|edit bad "setb 3000 3"
a link count|base|0 0 0 1 1 4|edit bad "sif /file links_count 3"
an unattached inode|base|0 0 0 4 1 4|edit bad "unlink /file"
a journal without needs_recovery|base|0 0 0 0 0 0|edit bad "feature needs_recovery"
an incompatible feature of later versions|plain|8 8 8 8 8 8|printf '\x02' | dd of=bad bs=1 seek=$((1024 + 0x63)) conv=notrunc status=none
TABLE

# Too short a device is no work for a checker: 8, and 4 where nobody can be asked.
rm -f bad && cp --sparse=always base bad && truncate -s 15M bad
for mode in -y:8 -fy:8 -p:4 -fp:4; do
	run_fsck "${mode%:*}"
	equal "a short device, ${mode%:*}" "$RC" "${mode#*:}"
	is "  changes nothing" cmp -s img bad
done

# The journal of a mounted filesystem.
rm -f bad && cp --sparse=always base bad
if can_loop; then
	mkdir -p mnt && mount -o loop,commit=1 bad mnt && at_end "umount $T/mnt"
	for i in $(seq 20); do head -c 50000 /dev/zero | tr '\0' "$((i % 10))" >"mnt/new$i"; done
	sync -f mnt
	cp --sparse=always bad live && umount mnt
	sums=$("$FSCK" -n bad | grep -o '[0-9]*/[0-9]* files') blocks=$("$FSCK" -n bad | grep -o '[0-9]*/[0-9]* blocks')
	mv live bad
	for mode in -n:0 -fn:0 -p:0 -y:0 -fp:1 -fy:1; do
		run_fsck "${mode%:*}"
		equal "a journal to be replayed, ${mode%:*}: status, files and blocks" \
			"$RC $(tail -n 1 .out | grep -o '[0-9]*/[0-9]* files') $(tail -n 1 .out | grep -o '[0-9]*/[0-9]* blocks')" "${mode#*:} $sums $blocks"
	done
else
	skip "a journal to be replayed" "no loop mounts" 6
fi

# Nothing but repairs on a filesystem with the feature read-only.
rm -f bad && cp --sparse=always base bad
edit bad "unlink /file" "feature read-only"
for options in "-D" "-E bmap2extent" "-E optimize_extents" "-E unshare_blocks" "-E share_xattrs" "-E itree=build"; do
	run_fsck "-fy $options"
	equal "read-only, -fy $options" "$RC $(grep -c "has the feature read-only: ${options%=*} is skipped" .err)" "1 1"
	is "  is repaired" grep -q '#' <("$DBG" -R "ls /lost+found" img 2>/dev/null)
	is "  and still has the feature" grep -q read-only <("$DBG" -R "show_super_stats -h" img 2>/dev/null | grep '^Filesystem features')
	is "  and is consistent" "$FSCK" -fn img
done

# Options of e2fsck without a meaning here, and values that it ignores.
rm -f bad && cp --sparse=always base bad
for options in "-E discard" "-E nodiscard" "-E ea_ver=1" "-E ea_ver=2" "-B 512" "-B 3" "-B 1024" "-B 131072" "-I 5" "-P 5" "-N name" "-r"; do
	run_fsck "-fn $options"
	equal "$options" "$RC" 0
done
for options in "-I x" "-P x" "-N" "-E ea_ver=3"; do
	run_fsck "-fn $options"
	equal "$options" "$RC" 16
done
run_fsck "-fn -N somewhere"
is "-N names the filesystem" grep -q '^somewhere: [0-9]*/[0-9]* files' .out
rm -f bad && cp --sparse=always plain bad
run_fsck "-fn -b 8193 -B 1024"
equal "-b with the right -B" "$RC" 0
run_fsck "-fn -b 8193 -B 4096"
equal "  and with a wrong one" "$RC" 8
done_testing 91
