#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-fsck does without -f on a filesystem that is marked clean and yet has work left: a journal to be recovered, orphaned
# inodes, a journal on another device.
. "$(dirname "$0")/lib.sh"
command -v debugfs >/dev/null || skip_all "debugfs is not installed"
# As `equal`, of the exit status.
status() { equal "$1" "$RC" "$2"; }
stock() { debugfs -w -R "$1" "$2" >>.dbg 2>&1; }
said() { is "  says '$1'" grep -q "$1" .out; }
count_free() { debugfs -R 'stats -h' "$1" 2>/dev/null | sed -n 's/^Free inodes: *//p'; }
put() { printf %b "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
is_same() { is "  and the image is what it was" cmp -s "$1" "$2"; }

mkdir d
seq 1 20000 >d/orphan
seq 1 1000 >d/keep

# Orphans: a list, and the orphan file. Without checksums, so that a block of it can be written here.
for kind in list file; do
	features=^metadata_csum
	[ $kind = list ] || features=$features,orphan_file
	mkfs -q --replace -t ext4 -b 1024 -O $features -d d img 8M
	works "$kind: an image"
	free=$(count_free img)
	ino=$(debugfs -R 'stat orphan' img 2>/dev/null | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
	stock 'unlink orphan' img
	stock "sif <$ino> links_count 0" img
	if [ $kind = list ]; then
		stock "ssv last_orphan $ino" img
	else
		block=$(debugfs -R 'stat <12>' img 2>/dev/null | sed -n 's/^(0-*[0-9]*):\([0-9]*\).*/\1/p')
		printf "\\x$(printf %02x "$ino")" | dd of=img bs=1 seek=$((block * 1024)) conv=notrunc status=none
		stock 'feature orphan_present' img
		debugfs -R 'stats -h' img 2>/dev/null | grep -q orphan_present || {
			skip "orphan file" "debugfs does not know it"
			continue
		}
	fi
	for how in -p -y "-y -z undo"; do
		cp img work
		rm -f undo
		# shellcheck disable=SC2086
		fsck $how work
		# e2fsck has an exit status for an orphan file that was in use, and none for the list
		status "$kind: $how" "$([ $kind = list ] && echo 0 || echo 1)"
		said "Clearing orphaned inode"
		said "work: clean, "
		equal "  the inode is free" "$(count_free work)" $((free + 1))
		clean work "  e2fsck finds nothing"
		fsck -p work
		works "  nor does a second run"
		is "  which says no more than that" test "$(wc -l <.out)" = 1
	done
	cp img work
	fsck -y --json work
	equal "$kind: JSON says modified" "$(tail -n 1 .out | json modified -)" true
	cp img work
	fsck -n work
	works "$kind: -n"
	is_same img work
done
mkfs -q --replace -t ext4 -b 1024 -d d img 8M
cp img work
stock 'ssv last_orphan 99999' work
fsck -p work
status "a list that leads nowhere: checked, and repaired" 1
clean work "  e2fsck finds nothing"

# A journal with a transaction: block 0 of a file becomes zeros.
stock 'dump keep was' img
block=$(debugfs -R 'stat keep' img 2>/dev/null | sed -n 's/^(0-*[0-9]*):\([0-9]*\).*/\1/p')
head -c 1024 /dev/zero >zeros
printf 'jo\njw -b %s zeros\njc\n' "$block" | debugfs -w -f - img >>.dbg 2>&1
is "an image that needs recovery" sh -c 'debugfs -R "stats -h" img 2>/dev/null | grep -q needs_recovery'
for how in -p -y "-y -z undo"; do
	cp img work
	rm -f undo
	# shellcheck disable=SC2086
	fsck $how work
	works "$how"
	said '^work: recovering journal$'
	said '^work: clean, '
	is "  the block was written" cmp -s -n 1024 -i $((block * 1024)):0 work zeros
	clean work "  e2fsck finds nothing"
	cp img work
	rm -f undo
	# shellcheck disable=SC2086
	fsck $how --json work
	works "$how --json"
	equal "  says modified" "$(json modified .out)" true
done
cp img work
fsck -n work
works "-n"
said '^Warning: recovering the journal in memory alone'
is_same img work

# A copy of a mounted filesystem has orphan_present, although the orphan file is empty: no damage, and a replay clears it.
feature() { debugfs -R 'stats -h' "$1" 2>/dev/null | grep -c orphan_present; }
for o in "-b 1024 -O ^metadata_csum,orphan_file" "-b 1024 -O orphan_file -I 128"; do
	# shellcheck disable=SC2086
	mkfs -q --replace -t ext4 $o -d d img 8M
	printf 'feature orphan_present\njo\njw -b %s zeros\njc\n' "$(debugfs -R 'bmap keep 0' img 2>/dev/null)" |
		debugfs -w -f - img >>.dbg 2>&1
	if [ "$(feature img)" = 0 ]; then
		skip "$o: an empty orphan file" "debugfs does not know it"
		continue
	fi
	fsck -fn img
	works "$o: an empty orphan file of a mounted filesystem: -fn"
	for how in -fp -p -fy; do
		cp img work
		fsck $how work
		works "  $how"
		equal "  the feature is cleared, without a word" "$(grep -c orphan_present .out) $(feature work)" "0 0"
	done
	cp img work
	"$BIN/xw-tune" -q -L label work
	equal "  xw-tune clears it, too" "$? $(feature work)" "0 0"
	clean work "  e2fsck finds nothing"
	cp work img
	stock 'feature orphan_present' img
	fsck -fn img
	status "  without a replay it is an error" 4
done

# A log whose copy of the superblock is none is not replayed over the only superblock.
for o in ^metadata_csum metadata_csum; do
	mkfs -q --replace -t ext4 -b 1024 -O $o -d d img 8M
	printf 'jo\njw -b 1 zeros\njc\n' | debugfs -w -f - img >>.dbg 2>&1
	cp img work
	"$BIN/xw-tune" -L label work 2>.err
	equal "$o: no superblock in the log: refused by xw-tune" $? 1
	is "  which says why" grep -q 'copy of the superblock is not valid' .err
	is_same img work
	fsck -fy work
	status "  -fy" 1
	fsck -fn work
	status "  clean then" 0
	clean work "  for e2fsck, too"
done

# A journal on another device.
mkfs -q -O journal_dev -b 1024 jdev 4M
works "an external journal"
mkfs -q -O journal_dev -b 1024 other 4M
mkfs -q --replace -t ext4 -b 1024 -J device=jdev -d d img 8M
works "an image with it"
cp jdev jdev.was
for how in -n -p -y -fn "-fn -j jdev" "-p -j jdev"; do
	cp img work
	# shellcheck disable=SC2086
	fsck $how work
	works "no recovery wanted, $how: clean"
	is_same img work
done
for how in -fp -fy "-fy -j jdev"; do
	cp img work
	# shellcheck disable=SC2086
	fsck $how work
	works "$how: clean"
	is "  the journal stays" sh -c 'debugfs -R "stats -h" work 2>/dev/null | grep -q has_journal'
done
cp img work
stock 'set_inode_field keep links_count 7' work
fsck -fy work
status "-fy of one with an error" 1
is "  the journal stays" sh -c 'debugfs -R "stats -h" work 2>/dev/null | grep -q has_journal'
fsck -fn work
works "  clean then"
fsck -fn -j other img
fails 8 'journal of another filesystem' "-j of another filesystem's"

# The checksum of the journal's superblock is repaired, which is no change of the filesystem.
mkfs -q -O journal_dev,metadata_csum -b 1024 summed 4M
mkfs -q --replace -t ext4 -b 1024 -J device=summed -d d onsum 8M
cp summed bad
put bad $((1024 + 0x3FC)) 'xxxx'
cp bad bad.was
for how in -n -fn; do
	fsck $how -j bad onsum
	works "$how: a journal device with a wrong checksum"
	said '^External journal superblock checksum does not match superblock\.  Fix. no$'
	is_same bad bad.was
done
for how in -p -fp -y -fy; do
	cp bad.was bad
	cp onsum work
	fsck $how -j bad work
	works "$how: it is repaired"
	said 'External journal superblock checksum does not match superblock\.'
	is_same summed bad
done
cp bad.was bad
stock 'feature needs_recovery' onsum
cp onsum work
fsck -fy -j bad work
works "recovery wanted: repaired, and then recovered"
fsck -fn -j bad work
works "  nothing is found then"
is "  nor said" sh -c "! grep -q checksum .out"
put bad $((1024 + 0x68)) 'x'
fsck -fy -j bad work
fails 8 'journal of another filesystem' "another UUID beside it"

# As made by hand with debugfs: the filesystem names a journal that does not know it yet.
mkfs -q -O journal_dev -b 1024 -U 01020304-0506-0708-090a-0b0c0d0e0f10 free.dev 4M
mkfs -q --replace -t ext4 -b 1024 -O ^has_journal -d d byhand 8M
stock 'feature has_journal' byhand
stock 'ssv journal_dev 0x9999' byhand
stock 'ssv journal_uuid 01020304-0506-0708-090a-0b0c0d0e0f10' byhand
for how in -fn -p -fy; do
	fsck $how -j free.dev byhand
	works "$how: a journal without users"
done
is "  the journal stays" sh -c 'debugfs -R "stats -h" byhand 2>/dev/null | grep -q has_journal'

fsck -fn -j d/keep img
fails 8 'not an external journal' "-j of no journal"
stock 'feature needs_recovery' img
for how in -n -p -y -fn -fp -fy "-y -j other" "-fy -z undo"; do
	cp img work
	# shellcheck disable=SC2086
	fsck $how work
	fails 8 'needs to be recovered|another filesystem' "recovery wanted, $how, and no device: refused"
	is_same img work
done
is "the journal is what it was" cmp -s jdev jdev.was
for how in -n -p -y; do
	cp img work
	fsck $how -j jdev work
	works "recovery wanted, $how -j: nothing to replay"
done
done_testing 180
