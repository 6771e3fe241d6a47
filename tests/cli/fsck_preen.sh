#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What -p repairs, as e2fsck does: afterwards nothing is found. Counts of the superblock make it exit with 1.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

# preened WHAT REQUEST...: damage made by xw-debugfs; -fp exits with 1, then -fn finds nothing
preened() {
	local what=$1
	shift
	cp img bad
	for request; do
		"$DEBUGFS" -w -R "$request" bad >.dbg 2>&1 || cat .dbg
	done
	again "$what"
}
again() { # WHAT
	RC=0
	"$FSCK" -fp bad >.out 2>.err || RC=$?
	is "$1: -p exits with 1, not $RC" test "$RC" = 1
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	is "  and nothing is left" sh -c "test $RC = 0 && ! grep -q '\"id\"' .json"
}

mkdir -p d/dir
seq 1 3000 >d/a
: >d/empty
mkfifo d/fifo
mkfs -q -d d img 16M
works "an image"

preened "extra size" 'sif a extra_isize 6666'
preened "size of a fifo" 'sif fifo size 77'
preened "mode of a reserved inode" 'sif <9> mode 040755'
preened "journal inode" 'clri <8>'
preened "extents flag" 'sif a flags 0'
preened "has_journal" 'feature -has_journal'
preened "free blocks" 'ssv free_blocks_count 77'
preened "free inodes" 'ssv free_inodes_count 7'

# It is marked clean, but Linux would not mount it.
for place in block_bitmap inode_bitmap inode_table; do
	cp img bad
	"$DEBUGFS" -w -R "set_bg 0 $place 99999999" bad >.dbg 2>&1
	"$DEBUGFS" -w -R "set_bg 0 checksum calc" bad >.dbg 2>&1
	RC=0
	"$FSCK" -p bad >.out 2>.err || RC=$?
	equal "$place outside of the filesystem: it is not called clean" "$RC" 4
done

is "-E ea_ver=1" "$FSCK" -fn -E ea_ver=1 img
is "-E ea_ver=2" "$FSCK" -fn -E ea_ver=2 img
RC=0
"$FSCK" -fn -E ea_ver=3 img >.out 2>.err || RC=$?
equal "-E ea_ver=3 is none" "$RC" 16

# says MAX COUNT: what follows the numbers of a clean filesystem, as e2fsck writes it
says() {
	cp img bad
	"$DEBUGFS" -w -R "ssv max_mnt_count $1" bad >.dbg 2>&1
	"$DEBUGFS" -w -R "ssv mnt_count $2" bad >.dbg 2>&1
	"$FSCK" -p bad 2>.err | sed 's/.* blocks//'
}
equal "a check in 6 mounts is not announced" "$(says 20 14)" ""
equal "one in 5 is" "$(says 20 15)" " (check in 5 mounts)"
equal "one in 2 is" "$(says 20 18)" " (check in 2 mounts)"
equal "and after the next" "$(says 20 19)" " (check after next mount)"
equal "none is without a maximum" "$(says 0 4)" ""
done_testing 28
