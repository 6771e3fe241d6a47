#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Undo files (-z) of xw-debugfs, xw-tune and xw-import: e2undo, which wrote none of it, brings the old image back, but
# for what is in free space; files are continued, also those of stock tools and by them; and a file that cannot be written leaves the image alone.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$XW_BUILD/xw-debugfs TUNE=$XW_BUILD/xw-tune
for tool in "$DBG" "$TUNE" "$IMPORT"; do [ -x "$tool" ] || skip_all "$tool is not built"; done
for tool in e2undo mke2fs tune2fs debugfs; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

mkdir -p tree/many
seq 30000 >tree/seq
for n in $(seq 300); do : >"tree/many/entry-number-$n-of-many"; done
printf '%s\n' "mkdir /new" "rm /many/entry-number-7-of-many" "write tree/seq /new/copy" "rm /seq" "ea_set /many user.a 1" \
	"ssv volume_name changed" >changes
mkdir -p layer/many layer/brought
for n in $(seq 200 400); do echo "$n" >"layer/many/entry-number-$n-of-many"; done
seq 50000 >layer/brought/seq
: >layer/.wh.seq
for n in $(seq 100 250); do echo "ln /many/entry-number-$n-of-many /new/$n"; done >>changes

# same A B: all that is in use in A is the same in B, byte by byte; free blocks may be anything.
same() {
	local bs
	bs=$(dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Block size: *//p')
	cmp -l "$1" "$2" | awk -v bs="$bs" '{ b = int(($1 - 1) / bs) } b != l { print "testb", b; l = b }' >ask
	debugfs -f ask "$1" 2>/dev/null | grep 'marked in use' && return 1
	return 0
}
# as_before A B: the same, but for records of inodes that were never used, where an import writes as it does to free blocks
as_before() {
	dumpe2fs "$1" >one.dump 2>/dev/null
	dumpe2fs "$2" >two.dump 2>/dev/null
	cmp one.dump two.dump && "$EXPORT" "$1" >one.tar && "$EXPORT" "$2" >two.tar && cmp one.tar two.tar
}
# back IMAGE OLD FILE DESCRIPTION [OPTION...]
back() {
	local image=$1 old=$2 file=$3 what=$4
	shift 4
	is "$what: e2undo takes it" e2undo "$@" "$file" "$image"
	is "$what: the old image is back" same "$old" "$image"
	clean "$image" "$what: it is clean"
}

while read -r options; do
	rm -f img undo
	# shellcheck disable=SC2086
	mke2fs -qF -d tree $options img 24M >/dev/null 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	cp img old
	"$DBG" -w -z undo -f changes img >.out 2>.err || fail "$options: the changes"
	back img old undo "$options"
	cp old img
	rm -f undo
	"$TUNE" -z undo -U random -L label img >.out 2>.err || fail "$options: xw-tune"
	back img old undo "$options, xw-tune"
	cp old img
	rm -f undo
	"$IMPORT" -q -z undo img layer >.out 2>.err || fail "$options: xw-import"
	"$IMPORT" -q --undo-file undo --directory again img layer >.out 2>.err || fail "$options: xw-import goes on"
	is "$options, xw-import: e2undo takes it" e2undo undo img
	is "$options, xw-import: the old image is back" as_before img old
	clean img "$options, xw-import: it is clean"
done <<-'END'
	-t ext4 -b 1024
	-t ext4 -b 4096
	-t ext2 -b 2048
	-t ext4 -O ^has_journal,bigalloc -b 1024 -C 4096
END

mke2fs -qF -t ext4 -b 1024 -d tree img 24M >/dev/null 2>&1
cp img old
# many changes, one file; among them those of stock tools
rm -f undo
"$DBG" -q -w -z undo -R "mkdir /one" img
"$DBG" -q -w -z undo -R "rm /seq" -R "mkdir /many/sub" img # its blocks are free from here on, and are used:
"$DBG" -q -w -z undo -R "write tree/seq /other" -R "mkdir /two" -R "rm /many/entry-number-9-of-many" img
cp undo ours
tune2fs -z undo -L three img >/dev/null 2>.err
equal "tune2fs adds to our file" $? 0
"$TUNE" -q -z undo -L four img
printf 'open -w -z undo img\nmkdir /five\nclose\nopen -w -z undo img\nmkdir /six\nclose\n' >requests
"$DBG" -q -f requests >.out 2>.err
equal "verb open takes it" $? 0
back img old undo "seven changes"
rm -f undo
tune2fs -z undo -L one img >/dev/null 2>.err
"$DBG" -q -w -z undo -f changes img >.out 2>.err
equal "we add to a file of tune2fs" $? 0
back img old undo "tune2fs, then ours"
mke2fs -qF -t ext4 -b 1024 -z undo2 img >/dev/null 2>&1 # whose units are larger
"$DBG" -q -w -z undo2 -R "mkdir /x" -R "write tree/seq /x/y" img >.out 2>.err
equal "we add to a file of mke2fs" $? 0
back img old undo2 "mke2fs, then ours"

# inside of another file
{ head -c 1048576 /dev/zero; cat old; } >disk
rm -f undo
"$DBG" -q -w -z undo -E offset=1048576 -f changes disk >.out 2>.err
is "an offset: e2undo takes it" e2undo undo disk
tail -c +1048577 disk >img
is "an offset: the old image is back" same old img

# more than is ever held
truncate -s 140M large.img && mke2fs -qF -t ext4 large.img
"$DBG" -R "stats -h" large.img >before
head -c 80000000 /dev/zero | tr '\0' z >large
rm -f undo
"$DBG" -q -w -z undo -R "write large /large" large.img >.out 2>.err
equal "a file of 80 MB" $? 0
is "a file of 80 MB: the undo file is small" [ "$(stat -c %s undo)" -lt 1000000 ]
is "a file of 80 MB: e2undo takes it" e2undo undo large.img
clean large.img "a file of 80 MB: it is clean"
"$DBG" -R "stats -h" large.img >after
is "a file of 80 MB: it is gone" cmp before after
rm -f large*

# files that are in the way
cp old img
echo precious >junk
"$DBG" -w -z junk -R "mkdir /x" img >.out 2>.err
equal "no undo file: refused" $? 1
equal "no undo file: it stays" "$(cat junk)" precious
is "no undo file: nothing was changed" same old img
"$DBG" -q -w -R "mkdir /x" img
cp img later
cp ours undo
"$DBG" -w -z undo -R "mkdir /y" img >.out 2>.err
equal "of another state: refused" $? 1
is "of another state: it stays" cmp ours undo
is "of another state: nothing was changed" same later img
cp old img
"$DBG" -w -z img -R "mkdir /x" img >.out 2>.err
is "the image itself: nothing was changed" same old img
"$IMPORT" -q -z junk img layer >.out 2>.err
equal "xw-import, no undo file: refused" $? 1
equal "xw-import, no undo file: it stays" "$(cat junk)" precious
is "xw-import, no undo file: nothing was changed" same old img
"$DBG" -w -z /dev/null -R "mkdir /x" img >.out 2>.err
equal "a device: refused" "$? $(stat -c %F /dev/null)" "1 character special file"
"$TUNE" --commit journal -z undo3 -L x img >.out 2>.err
is "through the journal: refused" grep -q 'undo file' .err
# shellcheck disable=SC2010
equal "nothing is left lying about" "$(ls | grep -c -e tmp -e redo -e undo3)" 0
: >empty
"$DBG" -q -w -z empty -R "mkdir /x" img
back img old empty "an empty file"

# a host without room
if is_root && mkdir -p small && mount -t tmpfs -o size=8k none small 2>/dev/null; then
	at_end "umount '$T/small'"
	cp old img
	"$DBG" -w -z small/undo -f changes img >.out 2>.err
	equal "no room: it fails" $? 1
	is "no room: it is said" grep -q 'small/undo: .*No space left' .err
	is "no room: nothing was changed" same old img
	equal "no room: nothing is left" "$(ls small)" ""
	"$DBG" -q -w -z small/undo -R "ssv volume_name a" img
	cp small/undo kept
	cp img later
	"$DBG" -w -z small/undo -f changes img >.out 2>.err
	equal "no room to go on: it fails" $? 1
	is "no room to go on: the file is what it was" cmp kept small/undo
	is "no room to go on: nothing was changed" same later img
	back img old small/undo "the file from before"
else
	skip "a host without room" "needs root"
fi
done_testing 82
