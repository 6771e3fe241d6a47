#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# More unattached inodes than lost+found has room for, and no free block: as many as fit get a name, the others are reported. What
# this costs is measured by tests/bench/growth.
. "$(dirname "$0")/lib.sh"

dbg() { # IMAGE REQUEST...: the output
	"$BIN/xw-debugfs" -R "$2" "$1" 2>/dev/null
}
# full IMAGE OPTION...: 3000 files without a name, and no free block
full() {
	rm -rf tree && mkdir tree
	(cd tree && for ((i = 0; i < 3000; i++)); do echo $i >f$i; done)
	mkfs -q --replace -b 1024 "${@:2}" -d tree "$1"
	for ((i = 0; i < 3000; i++)); do echo "unlink f$i"; done >verbs
	"$BIN/xw-debugfs" -w -f verbs "$1" >/dev/null 2>&1
}
# fills NAME LEAST: with -fy every inode either has a name or was reported, and at least LEAST have one.
fills() {
	fsck -fy -v img
	equal "$1: left with errors" $RC 4
	local told got
	told=$(grep -c 'cannot be connected' .out)
	dbg img 'ls -p /lost+found' >.names
	got=$(grep -c '/#[0-9]*/' .names)
	is "  each other inode is reported" test "$told" -ge $((3000 - got))
	is "  at least $2 have one, and $got have" test "$got" -ge "$2"
	fsck -fn -v img
	equal "  the others are found again" "$(grep -c '^Unattached inode' .out)" $((3000 - got))
}

full img
fills "a lost+found without an index" 900
full img -O ^dir_index
fills "a filesystem without indexes" 900

# The '..' of lost+found is an unused entry: no new name is put in its place, and one run is sufficient.
rm -rf tree && mkdir -p tree/d/e
echo 1 >tree/d/f
echo 2 >tree/d/e/g
mkfs -q --replace -b 1024 -O ^metadata_csum -d tree img 8M
for v in 0 12; do
	cp img work
	printf 'unlink /d/e\nunlink /d/f\n' >verbs
	"$BIN/xw-debugfs" -w -f verbs work >/dev/null 2>&1
	printf "\\x$(printf %02x $v)\\0\\0\\0" |
		dd of=work bs=1 seek=$(($(dbg work 'bmap lost+found 0') * 1024 + 12)) conv=notrunc status=none
	fsck -fy work
	equal "'..' of lost+found is $v: repaired" $RC 1
	is "  nothing is left" sh -c '! grep -q "cannot be connected" .out'
	fsck -fn work
	equal "  and nothing is found again" $RC 0
done

# The index flag of a directory without an index, and no free block to make one: the directory has none then.
rm -rf tree && mkdir -p tree/d
(cd tree/d && seq -f 'name-of-a-file-%g' 300 | xargs touch)
for o in ^metadata_csum,^dir_index ^dir_index; do
	mkfs -q --replace -b 1024 -m 0 -O $o -d tree img
	"$BIN/xw-debugfs" -w -R 'feature dir_index' -R 'sif /d flags 0x81000' img >/dev/null 2>&1
	# fill what is left, if anything is
	head -c "$(("$("$BIN/xw-dump" -h img 2>/dev/null | sed -n 's/^Free blocks: *//p')" * 1024))" /dev/zero >rest
	"$BIN/xw-debugfs" -w -R 'write rest rest' img >/dev/null 2>&1
	equal "$o: no block is free" "$("$BIN/xw-dump" -h img 2>/dev/null | sed -n 's/^Free blocks: *//p')" 0
	fsck -fn img
	is "  the index is damaged" grep -q 'invalid HTREE root' .out
	fsck -fy img
	equal "  repaired" $RC 1
	equal "  every name is kept" "$(dbg img 'ls -p /d' | grep -c name-of-a-file)" 300
	fsck -fn img
	equal "  and nothing is found again" $RC 0
done

done_testing 24
