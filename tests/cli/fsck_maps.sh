#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options of xw-fsck that change maps or look at them: bmap2extent, optimize_extents, fragcheck, unshare_blocks.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

fsck() { # WANTED ARGS...
	local want=$1
	shift
	RC=0
	"$FSCK" "$@" >.out 2>.err </dev/null || RC=$?
	equal "xw-fsck $*" "$RC" "$want"
}
# facts IMAGE: everything but contents and map: mode, owner, links, size, times, attributes
facts() {
	local name
	for name in file dir; do
		"$DEBUGFS" -R "stat $name" "$1" 2>/dev/null | sed 's/Flags:.*//; s/Blockcount:.*//; /ctime/d; /^EXTENTS\|^BLOCKS/,$d'
	done
}
# adorn IMAGE: give the file what a repair could lose
adorn() {
	"$DEBUGFS" -w -R 'ea_set file user.name value' -R 'ea_set file user.long "a value that is not in the inode"' \
		-R 'ea_set file user.more "so that there is a block of attributes, 0123456789 0123456789 0123456789"' \
		-R 'ea_set dir user.name dir' -R 'sif file uid 1000' -R 'sif file gid 70000' -R 'sif file mode 0104751' \
		-R 'sif file mtime 20200101000000' -R 'sif file version 77' "$1" >.dbg 2>&1 || cat .dbg
	facts "$1" >".facts.$1"
	equal "$1: attributes, owner and times to be kept" "$(grep -c 'user\.\|Group: 70000\|Mode:  04751' ".facts.$1")" 6
}
kept() { # IMAGE
	"$DEBUGFS" -R 'cat file' "$1" >.file 2>/dev/null
	is "  and the file is what it was" cmp -s d/file .file
	facts "$1" >.facts
	is "  with attributes, owner and times" cmp -s ".facts.$1" .facts
}
sound() { # IMAGE
	fsck 0 -fn "$1"
	clean "$1" "  clean for stock e2fsck, too"
	kept "$1"
}

mkdir -p d/dir
seq 1 60000 >d/file
(cd d/dir && seq -f 'a-name-that-is-long-enough-%04g' 1 300 | xargs touch)
mkfs -q -t ext2 -b 1024 -d d old 16M
works "an image with block maps"
adorn old
fsck 0 -fn -E bmap2extent old
fsck 0 -fy -E bmap2extent old
is "  said to be modified" grep -q 'FILE SYSTEM WAS MODIFIED' .out
is "  with right counts of free blocks" sh -c '! grep -q wrong .out'
is "  the feature is set" sh -c "'$DEBUGFS' -R features old 2>/dev/null | grep -q extent"
is "  no file has indirect blocks" sh -c "'$FSCK' -fnv old | grep -q 'ind/dind/tind blocks: 0/0/0'"
sound old
fsck 0 -fy -E bmap2extent old
is "  a second time nothing is to be done" sh -c '! grep -q MODIFIED .out'
fsck 8 -fy -E bmap2extent,fixes_only old

if command -v e2fsck >/dev/null && command -v mke2fs >/dev/null; then
	mke2fs -q -t ext2 -b 1024 -d d stock 16M
	"$DEBUGFS" -w -R 'rm dir/a-name-that-is-long-enough-0001' stock >/dev/null 2>&1
	for move in "file 3 15000" "dir 3 15001"; do
		read -r name n to <<<"$move"
		dd if=stock of=stock bs=1024 skip="$("$DEBUGFS" -R "bmap $name $n" stock 2>/dev/null)" seek="$to" count=1 conv=notrunc status=none
		"$DEBUGFS" -w -R "sif $name block[$n] $to" stock >/dev/null 2>&1
	done
	e2fsck -fy stock >/dev/null 2>&1
	e2fsck -fn -E fragcheck stock >wanted 2>/dev/null
	equal "a file and a directory in pieces" "$(grep -c expecting wanted)" 6
	fsck 0 -fn -E fragcheck stock
	is "  fragcheck prints what stock e2fsck prints" cmp -s wanted .out
else
	skip "fragcheck prints what stock e2fsck prints" "e2fsprogs are not installed" 3
fi

# Two files with the same blocks, by a feature that allows it.
mkfs -q -t ext2 -b 1024 -d d shared 16M
adorn shared
fsck 0 -fy -E unshare_blocks shared
is "  a filesystem without the feature is left alone" sh -c '! grep -q MODIFIED .out'
sound shared
cp d/file d/other
rm -f shared
mkfs -q -t ext2 -b 1024 -d d shared 16M
adorn shared
v=$("$DEBUGFS" -R 'blocks file' shared 2>/dev/null | cut -d' ' -f1)
"$DEBUGFS" -w -R "sif other block[0] $v" shared >.dbg 2>&1 || cat .dbg
"$DEBUGFS" -w -R 'ssv feature_ro_compat 0x4003' shared >.dbg 2>&1 || cat .dbg
fsck 4 -fn -E unshare_blocks shared
fsck 1 -fy -E unshare_blocks shared
is "  the feature is gone" sh -c '! "$1" -R features shared 2>/dev/null | grep -q shared_blocks' - "$DEBUGFS"
sound shared
fsck 0 -fy -E optimize_extents,check_encoding shared
sound shared

holds() { # IMAGE NAME FILE
	"$DEBUGFS" -R "cat $2" "$1" >.file 2>/dev/null
	is "  $2 is what it was" cmp -s "$3" .file
}

# b has the blocks of a, and there is no space for copies.
mkdir e
seq 1000000 1150000 >e/a
: >e/b
mkfs -q -t ext2 -b 1024 -d e full 2M
"$DEBUGFS" -w -R 'copy_inode a b' full >.dbg 2>&1 || cat .dbg
cp full damaged
"$DEBUGFS" -w -R 'ssv feature_ro_compat 0x4003' full >.dbg 2>&1 || cat .dbg
fsck 4 -fy -E unshare_blocks full
is "  both amounts are said" grep -q 'need at least 1178 blocks, and 780 are free' .out
is "  the feature is still there" sh -c '"$1" -R features full 2>/dev/null | grep -q shared_blocks' - "$DEBUGFS"
holds full a e/a
holds full b e/a
"$DEBUGFS" -w -R 'sif a links_count 2' full >.dbg 2>&1 || cat .dbg
fsck 4 -fy -E unshare_blocks full
fsck 0 -fn full
holds full a e/a
fsck 4 -fp damaged
is "  -p stops" grep -q 'need 1178 blocks, and 780 are free' .out
fsck 4 -fy damaged
is "  without the feature they go on sharing, too" grep -q 'goes on sharing 1178 blocks: there is no space' .out
holds damaged a e/a
holds damaged b e/a
fsck 4 -fn damaged

# Nodes to which nothing leads are told apart by the inodes that their checksums prove.
mkdir h
for i in {1..9}; do
	for at in {0..4}; do printf %s "$i-$at" | dd of="h/f$i" bs=65536 seek="$at" conv=notrunc status=none; done
done
mkfs -q -t ext4 -b 1024 -d h lost 8M
for i in {1..9}; do echo "sif f$i block[4] 5"; done >cmds
"$DEBUGFS" -w -f cmds lost >.dbg 2>&1 || cat .dbg
fsck 1 -fy lost
equal "  each lost node is found" "$(grep -c 'its extent node is block' .out)" 9
for i in 1 5 9; do holds lost "f$i" "h/f$i"; done
fsck 0 -fn lost
clean lost "  clean for stock e2fsck, too"

# Maps for which there is no space stay; what was repaired before is kept, and other maps are written.
mkdir g
seq 100000 260000 >g/frag
seq 1 9000 >g/plain
mkfs -q -t ext3 -J size=1 -b 1024 -d g tight 4M
seq 1 2 1099 | sed 's/.*/punch frag & &/' >cmds
"$DEBUGFS" -w -f cmds tight >.dbg 2>&1 || cat .dbg
"$DEBUGFS" -R 'cat frag' tight >frag 2>/dev/null
free=$("$DEBUGFS" -R stats tight 2>/dev/null | sed -n 's/^Free blocks: *//p')
seq 1000000 1600000 | dd of=fill bs=1024 count=$((free - 12)) iflag=fullblock 2>/dev/null
"$DEBUGFS" -w -R 'write fill fill' tight >.dbg 2>&1 || cat .dbg
"$DEBUGFS" -w -R 'sif plain links_count 2' tight >.dbg 2>&1 || cat .dbg
free=$("$DEBUGFS" -R stats tight 2>/dev/null | sed -n 's/^Free blocks: *//p')
is "an image with $free free blocks" test "$free" -lt 8
fsck 1 -fy -E bmap2extent tight
equal "  who keeps its map is said" "$(cat .err)" \
	"xw-fsck: warning: inode 12 and 1 more keep their maps: there is no space for others"
"$DEBUGFS" -R 'stat plain' tight >.stat 2>/dev/null
is "  a map that needs no block is an extent tree" grep -q 'Flags: 0x80000' .stat
fsck 0 -fn tight
clean tight "  clean for stock e2fsck, too"
holds tight frag frag
holds tight fill fill
holds tight plain g/plain

# A block of two files cannot be read.
preload=$(ls "$XW_BUILD"/.libs/bad_preload.so "$XW_BUILD"/bad_preload.so 2>/dev/null | head -n 1)
if [ -z "$preload" ] || ldd "$BIN/xw-fsck" 2>/dev/null | grep -q libasan; then
	skip "nothing is repaired where a block cannot be read" "needs the preload library, and no sanitizer"
else
	mkfs -q -t ext2 -b 1024 -d e medium 8M
	"$DEBUGFS" -w -R 'copy_inode a b' medium >.dbg 2>&1 || cat .dbg
	bad=$("$DEBUGFS" -R 'blocks a' medium 2>/dev/null | cut -d' ' -f5)
	cp medium before
	RC=0
	XW_BAD_SIZE=1024 XW_BAD_BLOCKS=$bad LD_PRELOAD=$preload "$FSCK" -fy medium >.out 2>.err || RC=$?
	equal "nothing is repaired where a block cannot be read" "$((RC & 9))" 8
	is "  nor are zeros put in its place" cmp -s before medium
fi
done_testing 71
