#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bad blocks: -l, -L, -c, -cc and -k of xw-fsck.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
preload=$(ls "$XW_BUILD"/.libs/bad_preload.so "$XW_BUILD"/bad_preload.so 2>/dev/null | head -n 1)
asan=$(ldd "$BIN/xw-fsck" 2>/dev/null | grep -c 'libasan')

fsck() { # WANTED ARGS...
	local want=$1
	shift
	RC=0
	"$FSCK" "$@" >.out 2>.err </dev/null || RC=$?
	equal "xw-fsck $*" "$RC" "$want"
}
blocks_of() { "$DEBUGFS" -R "blocks $1" img 2>/dev/null; }
bad() { blocks_of '<1>' | tr -s ' \n' '\n\n' | sed '/^$/d' | sort -n | tr '\n' ' '; }
sound() {
	fsck 0 -fn img
	clean img "  clean for stock e2fsck, too"
	"$DEBUGFS" -R 'cat file' img >.file 2>/dev/null
	is "  and the file is what it was" cmp -s d/file .file
}
missing() { # of the bad ones: blocks that are not in the list
	local b
	for b in "$@"; do
		case " $(bad)" in *" $b "*) ;; *) echo "$b" ;; esac
	done
}

mkdir d
seq 1 20000 >d/file
mkfs -q -t ext4 -b 1024 -d d img 16M
works "an image"
used=$(blocks_of file | tr ' ' '\n' | sed -n 5p)

printf '12001\n\n 12000\n12001\nnothing\n99999999\n' >list
fsck 0 -y -l list img
is "  a number outside is said" grep -q '99999999 is outside' .err
is "  the list is written" grep -q 'img: Updating bad block inode' .out
equal "  and has both" "$(bad)" "12000 12001 "
sound
seq 13000 13299 >more
fsck 0 -p -l more img
equal "  -l keeps those that are known" "$(missing 12000 12001 13000 13299)" ""
equal "  and -v counts them" "$("$FSCK" -fnv img 2>/dev/null | sed -n 's/ bad blocks//p' | tr -d ' ')" 302
sound
printf '%s\n' "$used" >one
fsck 1 -y -L one img
equal "  -L forgets them; a file's block is bad now" "$(bad)" "$used "
is "  and the file is elsewhere" sh -c '! echo " $1 " | grep -q " $2 "' - "$(blocks_of file)" "$used"
sound
fsck 0 -y -L /dev/null img
equal "  an empty list" "$(bad)" ""
sound
echo 3 >metadata
fsck 0 -y -l metadata img
is "  metadata stays where it is" grep -q 'bad block 3 is filesystem metadata' .err
equal "  and is not in the list" "$(bad)" ""
sound
fsck 16 -y -c -l list img
fsck 8 -n -l list img
fsck 8 -n -c img
fsck 8 -y -l nowhere img

echo 12000 >list
fsck 0 -y -l list img
fsck 0 -y -c -k img
equal "  -k: what is known stays" "$(bad)" "12000 "
fsck 0 -y -cc img
equal "  without it the list is what was found" "$(bad)" ""
sound
fsck 0 -fy -E discard img
blocks=$(stat -c %b img)
fsck 0 -y -cc img
is "  holes of the image are not filled" [ "$(stat -c %b img)" -le "$((blocks + 64))" ]
is "  which it has" [ "$blocks" -lt 16384 ]
sound

# Blocks of the old list that others claim, where the user declines all repairs: the new list needs
# a block of its own for its map, which must be none of these.
old_list() { # BLOCK: the only one of the list
	local c
	for c in "block[0] $1" "size 1024" "blocks 2"; do
		"$DEBUGFS" -w -R "sif <1> $c" img >.out 2>.err
	done
}
decline_all() {
	python3 "$XW_SRC/tests/cli/on_tty.py" "$(printf 'n,%.0s' $(seq 60))" "$FSCK" -f -L list img \
		>.out 2>.err </dev/null || true
	is "  the list is written" grep -q 'Updating bad block inode' .out
}
if python3 -c 'import os, pty; os.close(pty.openpty()[0])' 2>/dev/null; then
	seq 12000 12030 >list
	mkfs -q -F -t ext4 -b 1024 -d d img 16M
	works "an image with an inode table in its list"
	table=$("$DEBUGFS" -R 'stats' img 2>/dev/null | sed -n 's/.*inode table at \([0-9]*\).*/\1/p' | head -n 1)
	old_list $((table + 1))
	dd if=img of=before bs=1024 skip=$((table + 1)) count=1 status=none
	decline_all
	dd if=img of=after bs=1024 skip=$((table + 1)) count=1 status=none
	is "  the inode table is what it was" cmp -s before after
	equal "  the new list is whole" "$(missing 12000 12030)" ""

	mkfs -q -F -t ext4 -b 1024 -d d img 16M
	works "an image with a file's block in its list"
	used=$(blocks_of file | tr ' ' '\n' | sed -n 5p)
	old_list "$used"
	decline_all
	"$DEBUGFS" -R 'cat file' img >.file 2>/dev/null
	is "  the file is what it was" cmp -s d/file .file
	equal "  the new list is whole" "$(missing 12000 12030)" ""
else
	skip "old lists that others claim" "python3 cannot open a terminal"
fi
mkfs -q -F -t ext4 -b 1024 -d d img 16M
works "an image again"

# In the place of a backup: the group has none, and the list is right.
printf '8194\n12000\n' >list
mkfs -q -F -t ext4 -b 1024 -l list img2 16M
"$FSCK" -fn img2 >.out 2>.err
equal "a bad block in the place of a backup: -n" "$?" 0
"$FSCK" -fy img2 >.out 2>.err
equal "  -y" "$? $("$DEBUGFS" -R 'blocks <1>' img2 2>/dev/null | tr -d '\n')" "0 8194 12000 "
clean img2 "  as for stock e2fsck"

if [ -z "$preload" ] || [ "$asan" != 0 ]; then
	skip "a medium with bad blocks" "needs the preload library, and no sanitizer"
else
	export XW_BAD_SIZE=1024
	used=$(blocks_of file | tr ' ' '\n' | sed -n 7p)
	RC=0
	XW_BAD_BLOCKS=14000,$used LD_PRELOAD=$preload "$FSCK" -y -c img >.out 2>.err || RC=$?
	equal "a medium with bad blocks" "$RC" 1
	equal "  they are found" "$(bad)" "$(printf '%s\n' 14000 "$used" | sort -n | tr '\n' ' ')"
	is "  and counted" grep -q 'img: 2 bad blocks found' .err
	is "  that contents were lost is said" grep -q "block $used cannot be read: its copy is zeros" .err
	fsck 0 -fn img
	clean img "  clean for stock e2fsck, too"
	XW_BAD_BLOCKS=14000 LD_PRELOAD=$preload "$FSCK" -y -c img >.out 2>.err || RC=$?
	is "  one block is one block" grep -q 'img: 1 bad block found' .err
fi
done_testing 69
