#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-fsck makes of a damaged journal, and of a filesystem that a crash left marked as in use (multiple mount protection).
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck} DBG=$BIN/xw-debugfs TUNE=$BIN/xw-tune
status() { equal "$1" "$RC" "$2"; }
mmp_seq() { "$DBG" -R dump_mmp "$1" 2>/dev/null | sed -n 's/^sequence: *//p'; }

mkdir d
for i in 1 2 3 4 5 6 7 8; do seq "$i" $((i * 500)) >"d/file $i"; done

# ---- MMP after a crash: the waits of 11 seconds are in the background, and their results are looked at below ----
mkfs -q -t ext4 -b 1024 -O mmp,^metadata_csum -d d mmp 8M
works "an image with mmp"
cp mmp mmp.odd
"$DBG" -w -R 'smmp seq 0xffffffff' mmp.odd >.out 2>.err
cp mmp.odd mmp.odd0
"$DBG" -w -R 'smmp seq 4660' mmp >.out 2>.err
block=$("$DBG" -R dump_mmp mmp | sed -n 's/^block_number: *//p')
for n in fsck tune used none; do cp mmp "mmp.$n"; done
# A checker is at work, or has crashed.
cp mmp mmp.checked
"$DBG" -w -R 'smmp seq 0xe24d4d50' mmp.checked >.out 2>.err
cp mmp.checked mmp.before
for how in -fn -n -fp -fy; do
	fsck $how mmp.checked
	status "mmp, in use by a checker, $how" 12
	is "  says so" grep -q 'in use by a checker' .err
	is "  and nothing is written" cmp mmp.checked mmp.before
done
wait_mmp() { # NAME COMMAND...
	local rc=0 from=$EPOCHREALTIME name=$1
	shift
	"$@" >"$name.out" 2>"$name.err" || rc=$?
	echo "$rc $(((${EPOCHREALTIME/./} - ${from/./}) / 1000000))" >"$name.rc"
}
wait_mmp fsck "$FSCK" -fy mmp.fsck &
mmp_block=$block
wait_mmp tune "$TUNE" -L there mmp.tune &
wait_mmp used "$FSCK" -fy mmp.used &
wait_mmp odd "$FSCK" -p mmp.odd &
fsck -fn mmp.none
works "mmp, -n: does not wait"
# Another node updates the block of one of them.
wait_for grep -q MMP used.err
printf '\065\022' | dd of=mmp.used bs=1 seek=$((mmp_block * 1024 + 4)) conv=notrunc status=none

# ---- no clean short cut beside a log that is not empty ----
head -c 1024 /dev/zero >zeros
mkfs -q -t ext4 -b 1024 -d d img 8M
works "an image"
block=$("$DBG" -R 'blocks "file 3"' img | cut -d' ' -f1)
printf 'jo\njw -b %s zeros\njc\nfeature ^needs_recovery\n' "$block" | "$DBG" -w -f - img >.out 2>.err
for how in -p -y; do
	cp img work
	fsck $how work
	status "needs_recovery cleared over a full log, $how" 1
	is "  says so" grep -q 'does not ask for recovery, but the journal has data' .out
	is "  and replays it" cmp -s -n 1024 -i $((block * 1024)):0 work zeros
	clean work "  e2fsck finds nothing"
	fsck $how work
	status "  nor does a second run" 0
done
cp img work
fsck -n work
status "  -n: not clean" 4
is "  and nothing is written" cmp img work
# The map of the journal is replayed from its copy in the superblock, and not called clean after that.
mkfs -q --replace -t ext4 -b 1024 -d d img 8M
printf 'jo\njw -b %s zeros\njc\nclri <8>\n' "$block" | "$DBG" -w -f - img >.out 2>.err
fsck -p img
status "no journal inode, but its copy, and a full log" 1
is "  is replayed" cmp -s -n 1024 -i $((block * 1024)):0 img zeros
clean img "  e2fsck finds nothing"

# ---- fields of a journal device, but the journal is in the filesystem: that is where its transactions are ----
mkfs -q --replace -t ext4 -b 1024 -O ^metadata_csum,^uninit_bg -d d img 8M
block=$("$DBG" -R 'blocks "file 3"' img | cut -d' ' -f1)
cp img clean
printf 'jo\njw -b %s zeros\njc\n' "$block" | "$DBG" -w -f - img >.out 2>.err
journal_fields() { # IMAGE INODE DEVICE UUID: bytes as for printf
	printf "$2" | dd of="$1" bs=1 seek=$((1024 + 0xE0)) conv=notrunc status=none
	printf "$3" | dd of="$1" bs=1 seek=$((1024 + 0xE4)) conv=notrunc status=none
	printf "$4" | dd of="$1" bs=1 seek=$((1024 + 0xD0)) conv=notrunc status=none
}
while read -r what inode device uuid; do
	for from in clean img; do
		cp $from work
		journal_fields work "$inode" "$device" "$uuid"
		fsck -fn work
		status "$what, $from: found" 4
		fsck -p work
		status "  -p repairs it, also where it is marked clean" 1
		[[ $from == clean ]] || is "  the log is replayed" cmp -s -n 1024 -i $((block * 1024)):0 work zeros
		fsck -fn work
		status "  clean then" 0
		equal "  with the journal" "$("$DBG" -R 'stat <8>' work 2>.err | grep -c 'Type: regular')" 1
		clean work "  e2fsck finds nothing"
	done
done <<-'END'
	uuid \000 \000 \021\022
	device \000 \001\007 \000
	both \000 \001\007 \021\022
	inode-and-uuid \010 \000 \021\022
	inode-and-device \010 \001\007 \000
END

# ---- MMP: what became of it ----
wait_for test -e fsck.rc && wait_for test -e tune.rc && wait_for test -e used.rc
sed 's/ 1[1-9]$/ waited/; s/ [2-9][0-9]$/ waited/' fsck.rc >fsck.how
equal "mmp after a crash: waits and checks" "$(cat fsck.how)" "0 waited"
is "  says so" grep -q 'MMP: node.*waiting 11 seconds' fsck.err
equal "  marks it clean" "$(mmp_seq mmp.fsck)" ff4d4d50
clean mmp.fsck "  e2fsck finds nothing"
sed 's/ 1[1-9]$/ waited/; s/ [2-9][0-9]$/ waited/' tune.rc >tune.how
equal "  so does xw-tune" "$(cat tune.how) $("$BIN/xw-dump" -h mmp.tune | sed -n 's/^Filesystem volume name: *//p')" "0 waited there"
equal "mmp of another node that goes on: refused" "$(cut -d' ' -f1 used.rc)" 8
is "  says so" grep -q 'in use by a mount' used.err
is "  and nothing is written" sh -c 'cp mmp was; printf "\065\022" | dd of=was bs=1 seek='$((mmp_block * 1024 + 4))' conv=notrunc status=none; cmp mmp.used was'
wait_for test -e odd.rc
equal "impossible number in the MMP block: repaired" "$(cut -d' ' -f1 odd.rc) $(mmp_seq mmp.odd)" "1 ff4d4d50"
fsck -n mmp.odd0
equal "  and found" "$RC $(grep -c 'impossible sequence number' .out)" "4 1"
clean mmp.odd "  e2fsck finds nothing"
done_testing 96
