#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Blocks with two owners where a repair is due before that is known, or where the user wants no copy: what the other owner has
# stays as it is.
. "$(dirname "$0")/lib.sh"

dbg() { # IMAGE COMMAND
	"$DEBUGFS" -w -R "$2" "$1" 2>.dbg
}
number_of() { dbg "$1" "stat $2" | sed -n 's/^Inode: *\([0-9]*\).*/\1/p'; }
block_of() { dbg "$1" "blocks $2" | tr ' ' '\n' | sed -n "${3:-1}p"; }
cat_of() { dbg "$1" "cat $2"; }
raw_of() { dd if="$1" bs=1024 skip="$2" count=1 status=none; }

mkdir d
for f in short other whole; do
	head -c 3000 /dev/urandom >d/$f
done
# Block maps and extents: where a pointer to the first block is in the record.
for kind in ext2 ext4 'ext4 -O ^metadata_csum'; do
	# shellcheck disable=SC2086
	mkfs -q -t $kind -b 1024 -d d img 8M
	ino=$(number_of img short)
	at=0
	[ "$kind" = ext2 ] || at=5 # e_start_lo of the first extent

	# An orphan that is cut short within a block: the rest of it is zeroed.
	cp img own
	dbg own "sif short size 600"
	dbg own "ssv last_orphan $ino"
	block=$(block_of own short)
	fsck -fy own
	equal "$kind: an orphan is cut short" $RC 0
	raw_of own "$block" >block
	is "  what it keeps" cmp -s -n 600 block d/short
	equal "  the rest is zeros" "$(tail -c +601 block | tr -d '\0' | wc -c)" 0
	clean own "  clean"

	# The same, but the block is one of another file.
	cp img two
	dbg two "sif short size 600"
	dbg two "sif short block[$at] $(block_of two other)"
	dbg two "ssv last_orphan $ino"
	fsck -fy two
	equal "$kind: it shares the block" $RC 1
	cat_of two other >other
	is "  the other file is as it was" cmp -s other d/other
	cat_of two whole >whole
	is "  and a third one" cmp -s whole d/whole
	clean two "  clean"

	# A filesystem that is marked clean is checked before that, too.
	cp img two
	dbg two "sif short size 600"
	dbg two "sif short block[$at] $(block_of two other)"
	dbg two "ssv last_orphan $ino"
	fsck -p two
	equal "$kind: with -p" $RC 4
	cat_of two other >other
	is "  the other file is as it was" cmp -s other d/other
done

# A file with the block of a bitmap, and the user declines everything: nothing is written there.
mkfs -q -t ext2 -b 1024 -d d img 8M
bitmap=$(dbg img 'stats' | sed -n 's/.*block bitmap at \([0-9]*\).*/\1/p' | head -n 1)
dbg img "sif other block[0] $bitmap"
dbg img 'sif whole links_count 7' # a repair of its own, in the same table
raw_of img "$bitmap" >before
RC=0
python3 "$XW_SRC/tests/cli/on_tty.py" "$(printf 'n,%.0s' $(seq 40))" "$FSCK" -f img >.out 2>.err </dev/null || RC=$?
equal "no copy of a bitmap" $RC 4
raw_of img "$bitmap" >after
is "  its block is as it was" cmp -s before after
is "  the file was asked for" grep -q 'Clone' .out
# With yes to all of it both get what is theirs.
fsck -fy img
equal "a copy of it" $RC 1
clean img "  clean"
cat_of img whole >whole
is "  other files are as they were" cmp -s whole d/whole

# The same with the place of a table, and with the size of a group: what depends on them is not repaired either.
mkfs -q -t ext4 -O ^flex_bg -b 1024 -g 2048 -d d groups 8M
for damage in "set_bg 1 inode_table $(block_of groups other)" 'ssv blocks_per_group 2047'; do
	cp groups hurt
	dbg hurt "$damage"
	cp hurt was
	RC=0
	python3 "$XW_SRC/tests/cli/on_tty.py" "n$(printf ',y%.0s' $(seq 400))" "$FSCK" -f hurt >.out 2>.err </dev/null || RC=$?
	equal "no to $damage" $((RC & ~1)) 4
	is "  nothing but superblock and descriptors was written" \
		cmp -s <(tail -c +8193 hurt) <(tail -c +8193 was)
	fsck -fy hurt
	equal "  yes to it" $RC 1
	for f in short other whole; do
		cat_of hurt $f >$f
		is "  $f is as it was" cmp -s $f d/$f
	done
	clean hurt "  clean"
done
done_testing 50
