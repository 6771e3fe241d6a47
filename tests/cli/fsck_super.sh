#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Damage to the superblock, group descriptors, journal and orphans: each kind is found, repaired, and
# found no more, and the files are still there.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
TUNE=${XW_TUNE:-$BIN/xw-tune}
SB=1024

poke() { # IMAGE OFFSET HEX...
	local img=$1 off=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$(printf '\\x%s' "$@")" | dd of="$img" bs=1 seek="$off" conv=notrunc status=none
}

# The image `bad` has the finding; after one repair it has none at all, and file `a` is what it was.
found() { # ID
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	is "$1: found" grep -q "\"$1\"" .json
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "  repaired" test $((RC & ~3)) = 0
	RC=0
	"$FSCK" -fn bad >.out 2>.err || RC=$?
	is "  clean then" test $RC = 0
	"$DEBUGFS" -R 'cat a' bad >.a 2>/dev/null || :
	is "  with its files" cmp -s d/a .a
}
# Bytes of the superblock; hurt ID IMAGE OFFSET HEX...
hurt() {
	local id=$1 off=$3
	cp "$2" bad
	shift 3
	poke bad $((SB + off)) "$@"
	found "$id"
}

mkdir d
seq 1 3000 >d/a
mkfs -q -b 1024 -O ^metadata_csum,^uninit_bg,^flex_bg -d d img 24M
works "an image of three groups without checksums"
mkfs -q -d d csum 24M
works "one of a single group with checksums"
mkfs -q -b 1024 -d d csums 24M
works "one of three groups with checksums"
mkfs -q -t ext2 -b 1024 -d d ext2 24M
works "one without a journal"

hurt superblock-lost img $((0x38)) 00 00
hurt superblock-field img $((0x28)) 00 01 00 00
hurt superblock-field img $((0x20)) 00 10 00 00
hurt superblock-field csum $((0x58)) 00 00
hurt superblock-checksum csum $((0x3fc)) 11 22 33 44
hurt superblock-reserved-blocks img 8 ff ff ff 00
hurt superblock-uuid img $((0x68)) 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
hurt superblock-time img $((0x2c)) ff ff ff ff
hurt superblock-creator-os ext2 $((0x48)) 01
hurt superblock-hash img $((0xfc)) 09
hurt superblock-hash-sign img $((0x160)) 00
hurt superblock-extra-isize img $((0x15e)) ff ff
hurt superblock-quota-inode img $((0x240)) 30 30 30 30
# Room for descriptors that covers the group's metadata, and no backup that knows better.
mkfs -q -b 4096 -O ^metadata_csum,^metadata_csum_seed -d d one 64M
works "one of a single group without checksums"
hurt superblock-field one $((0xce)) bc 02
is "  as it was" cmp -s -i $((SB + 0xce)) -n 2 one bad
hurt superblock-field one $((0xce)) d0 07
is "  as it was" cmp -s -i $((SB + 0xce)) -n 2 one bad
hurt journal-recover-flag ext2 $((0x60)) 06
hurt orphan-list img $((0xe8)) 02 00 00 00

# A filesystem that was cut off is not shortened, and nothing is written to it.
cp img bad
truncate -s 20M bad
cp bad was
RC=0
"$FSCK" -fy bad >.out 2>.err || RC=$?
is "superblock-size: refused" test $((RC & 8)) = 8
is "  with a line that says so" grep -q 'the device' .err
is "  and left as it was" cmp -s bad was

# Descriptors of the image with 1 KiB blocks are in block 2.
gd() { # ID IMAGE GROUP OFFSET SIZE HEX...
	local id=$1 at=$((2048 + $3 * $5 + $4))
	cp "$2" bad
	shift 5
	poke bad $at "$@"
	found "$id"
}
gd group-block-bitmap-place img 1 0 64 ff ff ff 7f
gd group-inode-bitmap-place img 0 4 64 00 00 00 00
gd group-inode-table-place img 0 8 64 ff ff 00 00
gd group-uninit img 1 18 64 01 00
gd group-checksum csums 1 30 64 12 34

journal_blk() {
	"$DEBUGFS" -R 'bmap <8> 0' "$1" 2>/dev/null
}
cp img bad
poke bad $(($(journal_blk img) * 1024)) 00 00 00 00
found journal-superblock
cp img bad
poke bad $(($(journal_blk img) * 1024 + 32)) ff ff ff fb
found journal-errno
cp img bad
"$DEBUGFS" -w -R 'sif <8> mode 0' bad >.dbg 2>&1 || cat .dbg
found journal-inode-backup
"$DEBUGFS" -w -R 'sif <8> mode 0' bad >.dbg 2>&1 || cat .dbg
poke bad $((SB + 0xfd)) 00
found journal-inode
is "  and there is a journal again" sh -c "'$DEBUGFS' -R stats bad 2>/dev/null | grep -q has_journal"
cp img bad
"$DEBUGFS" -w -R 'sif <7> block[DIND] 0' bad >.dbg 2>&1 || cat .dbg
found resize-inode
cp img bad
"$DEBUGFS" -w -R 'sif <1> mode 0100600' bad >.dbg 2>&1 || cat .dbg
found bad-block-inode

# A feature that a newer kernel has set in the primary is no damage.
cp img bad
poke bad $((SB + 0x67)) 10
cp bad was
for how in -fn -fp -fy; do
	RC=0
	"$FSCK" $how bad >.out 2>.err || RC=$?
	is "$how of an unknown feature: refused" test $RC = 8
	is "  with a line that says so" grep -q 'unknown features.*0x10000000' .err
	is "  and left as it was" cmp -s bad was
done

# Times in the future are those of a wrong clock, and SOURCE_DATE_EPOCH is no clock.
cp img bad
poke bad $((SB + 0x2c)) 00 00 00 f0
for how in -fn -fp; do
	RC=0
	"$FSCK" $how bad >.out 2>.err || RC=$?
	is "$how of a mount time in the future: no error" test $RC = 0
done
is "  which -p has set" sh -c "! '$FSCK' -fn bad | grep future"
cp img bad
for epoch in 0 4000000000; do
	RC=0
	SOURCE_DATE_EPOCH=$epoch "$FSCK" -fp bad >.out 2>.err || RC=$?
	is "SOURCE_DATE_EPOCH=$epoch: a good image" test $RC = 0
	is "  with nothing to say of times" sh -c '! grep future .out'
done
RC=0
"$FSCK" -fn bad >.out 2>.err || RC=$?
is "  without it no error either" test $RC = 0

# A copy of the superblock that -b names.
cp img bad
poke bad $((SB + 0x38)) 00 00
RC=0
"$FSCK" -fy -b 8193 -B 1024 bad >.out 2>.err || RC=$?
is "-b 8193: repaired" test $((RC & ~3)) = 0
RC=0
"$FSCK" -fn bad >.out 2>.err || RC=$?
is "  clean then" test $RC = 0
# A field in which the only backup differs, without evidence for either: the backup follows the primary.
cp img bad
poke bad $((SB + 0x174)) 02
is "a stale backup: damage for xw-tune" sh -c "! '$TUNE' -L name bad 2>/dev/null"
RC=0
"$FSCK" -fy bad >.out 2>.err || RC=$?
is "  nothing to repair" test $RC = 0
is "  xw-tune accepts the image then" "$TUNE" -L name bad
# A copy of shared blocks has what they contained before the superblock was repaired.
cp ext2 bad
node=$("$DEBUGFS" -R 'imap a' bad 2>/dev/null | sed -n 's/.*located at block \([0-9]*\), offset 0x\([0-9a-f]*\).*/\1 0x\2/p')
poke bad $((SB + 0x10)) 07 00
poke bad $((${node% *} * 1024 + ${node#* } + 40)) 01 00 00 00
dd if=bad of=.before bs=1024 skip=1 count=1 status=none
RC=0
"$FSCK" -fy bad >.out 2>.err || RC=$?
is "a file with the superblock's block: repaired" test $RC = 1
is "  the block was copied" grep -q 'Clone multiply-claimed' .out
"$DEBUGFS" -R 'cat a' bad 2>/dev/null | dd of=.after bs=1024 count=1 iflag=fullblock status=none || :
is "  as it was before the repair" cmp -s .before .after
# Neither primary nor backup: nothing is touched.
truncate -s 2M none
cp none was
RC=0
"$FSCK" -fy none >.out 2>.err || RC=$?
is "no filesystem: refused" test $((RC & 8)) = 8
is "  and left as it was" cmp -s none was
# Another block of the filesystem in the place of its only superblock: no filesystem is made up from it.
mkdir -p many/1 many/2 many/3
for i in $(seq 8); do
	head -c 15000 /dev/zero | tr '\0' "$i" | tee "many/1/$i" "many/2/$i" >"many/3/$i"
done
mkfs -q -t ext2 -O ^resize_inode -b 1024 -N 1024 -d many lost 8M
rm -r many
table=$("$DEBUGFS" -R 'imap <2>' lost 2>/dev/null | sed -n 's/.*located at block \([0-9]*\),.*/\1/p')
for k in $(seq 0 9); do
	cp lost bad
	dd if=lost of=bad bs=1024 skip=$((table + k)) seek=1 count=1 conv=notrunc status=none
	cp bad was
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	equal "block $k of the inode table as the superblock: refused, and left as it was" "$RC $(cmp bad was)" "8 "
done
# Settings, which nothing on the device says, are those of the backup if the checksum is wrong: the hash seed, the label,
# what to do after errors, reserved blocks.
for off in $((0xEC)) $((0x78)) $((0x3C)) $((0x8)); do
	cp csums bad
	poke bad $((SB + off + 1)) 5a
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "a setting with a wrong checksum, byte $off: repaired" test $RC = 1
	is "  says so" grep -q "differs from the backup's" .out
	equal "  as before" "$(od -An -tx1 -j $((SB + off)) -N4 bad)" "$(od -An -tx1 -j $((SB + off)) -N4 csums)"
done
# ... also if something else is wrong that no backup has.
cp csums bad
poke bad $((SB + 0xEC)) 5a 5b
poke bad $((SB + 0x34)) 77
RC=0
"$FSCK" -fy bad >.out 2>.err || RC=$?
equal "two fields, of which one changes always: repaired" "$RC $(od -An -tx1 -j $((SB + 0xEC)) -N8 bad)" \
	"1 $(od -An -tx1 -j $((SB + 0xEC)) -N8 csums)"
# With a right checksum they may differ from the backup.
cp csums bad
"$DEBUGFS" -w -R 'ssv volume_name other' bad >.dbg 2>&1 || cat .dbg
RC=0
"$FSCK" -fy bad >.out 2>.err || RC=$?
equal "a label that differs from the backup's: nothing to repair" "$RC $(grep -c differs .out)" "0 0"
# Features that differ from those of the backups: one check, which renews these; not for what Linux sets by itself.
mkfs -q -b 1024 -g 4096 -d d many 16M
forced() { # IMAGE
	"$FSCK" -p "$1" >.out 2>.err
	echo "$? $(grep -c 'primary superblock features different from backup, check forced' .out)"
}
ro=$(od -An -tu4 -j $((1024 + 100)) -N4 many | tr -d ' ')
cp many differ
"$DEBUGFS" -w -R "ssv feature_ro_compat $((ro | 0x2000))" differ >.dbg 2>&1 || cat .dbg
cp differ other
cp differ stock.img
equal "features of the backups differ: one check is forced" "$(forced differ) $(forced differ)" "0 1 0 0"
is "  which renews them" grep -q project <<<"$("$DEBUGFS" -b 1024 -s 4097 -R features differ 2>/dev/null)"
if have_e2fsck; then
	e2fsck -p stock.img >.stock 2>&1
	equal "  as e2fsck" "$(grep -c 'features different from backup, check forced' .stock)" 1
else
	skip "  as e2fsck" "e2fsck is not installed" 1
fi
cp many alone
"$DEBUGFS" -w -R "ssv feature_ro_compat $((ro ^ 0x22))" alone >.dbg 2>&1 || cat .dbg
equal "  not for large_file and dir_nlink" "$(forced alone)" "0 0"
equal "  nor with -n" "$("$FSCK" -n other | grep -c forced)" 0
"$DEBUGFS" -w -R "ssv feature_ro_compat $((ro | 0x10000))" many >.dbg 2>&1 || cat .dbg
equal "orphans without an orphan file are no clean filesystem" "$(forced many) $(forced many)" "1 0 0 0"
# Two or more backups do not change a primary with a right checksum: flex group size, shared blocks, hash.
mkfs -q -b 1024 -d d three 64M
ro=$(od -An -tu4 -j $((1024 + 100)) -N4 three | tr -d ' ')
for set in "log_groups_per_flex 5|372 1" "feature_ro_compat $((ro | 0x4000))|100 4" "def_hash_version 2|252 1"; do
	cp three bad
	"$DEBUGFS" -w -R "ssv ${set%|*}" bad >.dbg 2>&1 || cat .dbg
	at=${set#*|}
	want=$(od -An -tx1 -j $((SB + ${at% *})) -N "${at#* }" bad)
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "${set%|*} in the primary alone: no damage" test $((RC & ~1)) = 0
	equal "  and kept" "$(od -An -tx1 -j $((SB + ${at% *})) -N "${at#* }" bad)" "$want"
	equal "  the backups follow" "$(od -An -tx1 -j $((8193 * 1024 + ${at% *})) -N "${at#* }" bad)" "$want"
done
# A journal that was cleared in the primary alone does not come back from the backups, nor from inode 8: its log could be
# older than what was written since.
blk=$("$DEBUGFS" -R 'bmap <2> 0' three 2>/dev/null)
dd if=three of=blk bs=1024 skip="$blk" count=1 status=none
printf 'jo\njw -b %s blk\njc\n' "$blk" >cmd
"$DEBUGFS" -w -f cmd three >.dbg 2>&1 || cat .dbg
printf 'feature ^has_journal ^needs_recovery\nwrite d/a later\nrm a\n' >cmd
"$DEBUGFS" -w -f cmd three >.dbg 2>&1 || cat .dbg
for how in -y -fy -p; do
	cp three bad
	RC=0
	"$FSCK" $how bad >.out 2>.err || RC=$?
	is "$how of a stale log without has_journal: no failure" test $RC -le 1
	equal "  it is not replayed" "$("$DEBUGFS" -R 'ls -p /' bad 2>/dev/null | grep -cE '/(a|later)/')" 1
	equal "  clean then" "$("$FSCK" -fn bad >.out 2>&1; echo $?)" 0
done
# The primary is lost, and the only backup has one wrong field that no checksum shows: it is found by what is on the disk.
mkfs -q -b 1024 -O ^metadata_csum -d d pair 15M
only() { # NAME OFFSET HEX...
	local name=$1 off=$2
	shift 2
	cp pair bad
	dd if=/dev/zero of=bad bs=1024 seek=1 count=1 conv=notrunc status=none
	poke bad $((8193 * 1024 + off)) "$@"
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "$name of the only superblock: repaired" test $RC = 1
	"$DEBUGFS" -R 'cat a' bad >.a 2>/dev/null || :
	is "  with its files" cmp -s d/a .a
	equal "  clean then" "$("$FSCK" -fn bad >.out 2>&1; echo $?)" 0
}
only block_group_nr 90 07 00
only inodes_count 0 05 00 00 00
only blocks_count 4 46 1f 00 00
only first_ino 84 46 1f 00 00
only inodes_per_group 40 f8
only inode_size 88 80 00
only reserved_gdt_blocks 206 46 1f
only blocks_count_hi 336 01
# A backup of an older filesystem that the device does not agree with: refused, with a reason and without a change.
mkfs -q -b 1024 -O "^metadata_csum" -U 12345678-1234-1234-1234-123456789abc -d d under 64M
mkfs -q -b 4096 -O "^metadata_csum" -U 12345678-1234-1234-1234-123456789abc -d d over 64M
dd if=over of=under bs=4096 conv=notrunc,sparse status=none
dd if=/dev/zero of=under bs=1024 seek=1 count=1 conv=notrunc status=none
cp under was
RC=0
"$FSCK" -fy under >.out 2>.err || RC=$?
is "an older filesystem below: refused" test $RC = 8
is "  and left as it was" cmp -s under was
is "  with a line that says why" grep -q 'superblock in block [0-9]*: not used, since ' .err
# The size of inodes is wrong in all copies, whose checksums are right: those of the inodes say the right one.
mkfs -q -b 1024 -I 256 -N 512 -d d sizes 24M
for size in 512 128 1024; do
	cp sizes bad
	printf 'ssv inode_size %s\n' "$size" >cmd
	"$DEBUGFS" -w -f cmd bad >.dbg 2>&1 || cat .dbg
	# a copy with the number of group 1 and the right checksum
	cp bad one
	"$DEBUGFS" -w -R 'ssv block_group_nr 1' one >.dbg 2>&1 || cat .dbg
	dd if=one of=bad bs=1024 skip=1 seek=8193 count=1 conv=notrunc status=none
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "inodes of $size bytes in all copies: repaired" test $RC = 1
	"$DEBUGFS" -R 'cat a' bad >.a 2>/dev/null || :
	is "  with its files" cmp -s d/a .a
	equal "  clean then" "$("$FSCK" -fn bad >.out 2>&1; echo $?)" 0
done
# The stale log from above, with the primary lost or -b: a backup says that there is a journal, but its log is older.
for how in "-fy" "-fy -b 8193 -B 1024"; do
	cp three bad
	[ "$how" != -fy ] || dd if=/dev/zero of=bad bs=1024 seek=1 count=1 conv=notrunc status=none
	RC=0
	# shellcheck disable=SC2086
	"$FSCK" $how bad >.out 2>.err || RC=$?
	is "$how of a stale log, from a backup: repaired" test $RC = 1
	equal "  it is not replayed" "$("$DEBUGFS" -R 'ls -p /' bad 2>/dev/null | grep -cE '/(a|later)/')" 1
	equal "  clean then" "$("$FSCK" -fn bad >.out 2>&1; echo $?)" 0
done
done_testing 240
