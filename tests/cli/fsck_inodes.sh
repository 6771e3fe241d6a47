#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Damage to inodes and their maps: each kind is found, repaired, and found no more.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

# Byte offset of inode FILE of image $1.
record() { # IMAGE FILE BLOCK_SIZE
	"$DEBUGFS" -R "imap $2" "$1" 2>/dev/null |
		sed -n "s/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\).*/\1 \2/p" | {
		read -r blk off
		echo $((blk * $3 + off))
	}
}
poke() { # IMAGE OFFSET HEX...
	local img=$1 off=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$(printf '\\x%s' "$@")" | dd of="$img" bs=1 seek="$off" conv=notrunc status=none
}
# The block of the extent tree of FILE, 4 KiB each.
node_of() { # IMAGE FILE
	"$DEBUGFS" -R "ex $2" "$1" 2>/dev/null |
		awk '$1 == "0/" && $2 == "1" { print $(NF - 1); exit }'
}

# found ID IMAGE: the image `bad` has that finding; after one repair it has none of its kind.
found() { # ID
	local id=$1
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	is "$id: found" grep -q "\"$id\"" .json
	cp .json "found.$id"
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	is "  repaired" test $((RC & ~7)) = 0
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	is "  found no more" sh -c "! grep -q '\"$id\"' .json"
}
# hurt ID IMAGE REQUEST...: damage made by xw-debugfs
hurt() {
	local id=$1
	cp "$2" bad
	shift 2
	for request; do
		"$DEBUGFS" -w -R "$request" bad >.dbg 2>&1 || cat .dbg
	done
	found "$id"
}

mkdir -p d/dir/sub
seq 1 3000 >d/a
seq 1 4000 >d/b
: >d/empty
ln -s target d/link
ln -s "$(printf '%0100d' 0)" d/long
mkfifo d/fifo
for i in 0 1 2 3 4 5 6 7 8; do
	echo "part $i" | dd of=d/tree bs=4096 seek=$((2 * i)) conv=notrunc status=none
done
mkfs -q -d d img 16M
works "an image"
mkfs -q -O ^64bit,^huge_file,^metadata_csum -d d plain 16M
works "one without high halves"
mkfs -q -t ext2 -b 1024 -O ^large_file -d d map 16M
works "one with block maps"

hurt inode-dtime-zero img 'sif empty links_count 0'
hurt inode-dtime-set img 'sif a dtime 12345'
hurt inode-extra-isize img 'sif a extra_isize 6666'
hurt inode-mode img 'sif fifo mode 0170644'
hurt inode-mode-directory img 'sif dir mode 0140755'
hurt inode-reserved-mode img 'sif <9> mode 040755'
hurt inode-faddr img 'sif a faddr 5'
hurt inode-flags img 'sif a flags 0x82000'
hurt inode-special-immutable img 'sif fifo flags 0x10'
hurt inode-special-size img 'sif fifo size 5'
hurt inode-special-blocks img 'sif fifo block[5] 7'
hurt inode-extents-flag img 'sif a flags 0'
hurt inode-extents-feature plain 'feature -extents'
hurt extent-header img 'sif a block[0] 0x1'
hurt extent-entries img 'sif a block[0] 0x63f30a'
hurt extent-depth img 'sif a block[1] 0x90004'
hurt extent-length img 'sif a block[4] 0'
hurt extent-order img 'sif a block[0] 0x2f30a' 'sif a block[6] 0' \
	'sif a block[7] 1' 'sif a block[8] 1500'
hurt block-range img 'sif a block[5] 0xFFFFFF'
hurt block-wrap img 'sif a block[3] 0xFFFFFFFF' 'sif a block[4] 0x8004'
hurt map-budget img 'sif a block[0] 0x3f30a' 'sif a block[4] 2000' 'sif a block[5] 100' \
	'sif a block[6] 3000' 'sif a block[7] 2000' 'sif a block[8] 100' \
	'sif a block[9] 6000' 'sif a block[10] 2000' 'sif a block[11] 100'
node=$(node_of img tree)
hurt extent-index img 'sif tree block[4] 0xFFFFFF'
hurt map-block-range img "zap_block $node" 'sif tree block[4] 0xFFFFFF'
hurt map-block-metadata img "zap_block $node" 'sif tree block[4] 1'
hurt map-block-range map 'sif b block[IND] 0xFFFFFF'
hurt map-block-metadata map 'sif b block[DIND] 2'
hurt block-range map 'sif b block[2] 0xFFFFFF'
hurt inode-size img 'sif a size 1'
hurt inode-blocks img 'sif a blocks 2'
hurt large-file-feature map 'sif b size 3000000000'
hurt symlink-invalid img 'sif link block[0] 0'
hurt symlink-size img 'sif link size 3'
hurt symlink-is-file img 'sif a mode 0120644'
hurt extent-place img 'sif a block[3] 900'
hurt symlink-blocks map 'sif long block[1] 1000'
hurt directory-empty img 'sif dir block[0] 0xf30a' 'sif dir blocks 0'
hurt root-missing img 'sif <2> mode 0100644' 'sif <2> block[5] 4000'
hurt directory-too-big img 'sif dir block[3] 0x7FFFFFFF' 'sif dir size 0'

cp img bad
at=$(($(record img a 4096) + 0x64)) # of i_generation, which is random: any other value
poke bad $at "$(printf '%02x' $((0x$(dd if=img bs=1 skip=$at count=1 status=none | od -An -tx1 | tr -d ' ') ^ 1)))"
found inode-csum
cp plain bad
poke bad $(($(record plain a 4096) + 0x76)) 01
found inode-file-acl-high
cp plain bad
poke bad $(($(record plain a 4096) + 0x74)) 01
found inode-blocks-high
cp plain bad
poke bad $(($(record plain dir 4096) + 0x6C)) 01
found inode-size-high

node=$(node_of img tree)
if [ -n "$node" ]; then
	cp img bad
	poke bad $((node * 4096 + 12 + 8)) 01
	found extent-csum
	cp img bad
	poke bad $((node * 4096 + 2)) 00 00
	found extent-entries # the checksum proves how many there were
	cp img bad
	"$DEBUGFS" -w -R 'sif tree block[3] 5' bad >/dev/null 2>&1
	found extent-start
else
	skip "extent blocks" "the file is in one piece"
fi

# Two files with the same blocks: both keep contents.
cp img bad
for i in 3 4 5; do
	v=$("$DEBUGFS" -R "stat a" img >/dev/null 2>&1
	od -An -tu4 -j $(($(record img a 4096) + 0x28 + 4 * i)) -N 4 img | tr -d ' ')
	"$DEBUGFS" -w -R "sif b block[$i] $v" bad >/dev/null 2>&1
done
found contested
"$DEBUGFS" -R 'dump a got' bad >/dev/null 2>&1
is "  the owner's contents are kept" cmp -s got d/a

mkfs -q -O inline_data -d d inl 16M
hurt inode-inline-feature inl 'feature -inline_data'
mkfs -q -O bigalloc -C 16384 -d d big 16M
hurt cluster-allocation big 'sif a block[3] 1'

# The only leaf of an extent tree is in a block of the inode table: the tree is written elsewhere, the contents are kept.
rm -rf s && mkdir s
for ((i = 0; i < 12; i++)); do
	printf "block %d" $i | dd of=s/sparse bs=1024 seek=$((2 * i)) conv=notrunc status=none
done
for o in metadata_csum ^metadata_csum; do
	mkfs -q --replace -b 1024 -O $o -N 512 -d s bad 8M
	for ((i = 1; i < 23; i += 2)); do echo "punch sparse $i $i"; done >verbs
	"$DEBUGFS" -w -f verbs bad >.dbg 2>&1
	node=$(node_of bad sparse)
	table=$("$BIN/xw-dump" bad 2>/dev/null | sed -n 's/.*Inode table at \([0-9]*\)-\([0-9]*\).*/\2/p' | head -1)
	dd if=bad of=bad bs=1024 skip="$node" seek="$table" count=1 conv=notrunc status=none
	"$DEBUGFS" -w -R "sif sparse block[4] $table" bad >.dbg 2>&1 || cat .dbg
	found map-block-metadata
	"$DEBUGFS" -R 'dump sparse got' bad >/dev/null 2>&1
	is "  the contents are kept" cmp -s got s/sparse
	clean bad "  clean for stock e2fsck, too"
done

# A directory whose size and block count lack its last blocks, which name files in use: the size is damaged.
rm -rf s && mkdir -p s/d
(cd s/d && seq -f 'name-of-a-file-%g' 400 | xargs touch)
for o in ^dir_index dir_index; do
	mkfs -q --replace -t ext3 -b 1024 -O ^metadata_csum,$o -d s bad 8M
	size=$("$DEBUGFS" -R 'stat d' bad 2>/dev/null | sed -n 's/.*Size: \([0-9]*\).*/\1/p' | tail -1)
	blocks=$("$DEBUGFS" -R 'stat d' bad 2>/dev/null | sed -n 's/.*Blockcount: \([0-9]*\).*/\1/p')
	"$DEBUGFS" -w -R "sif d size $((size - 3072))" -R "sif d blocks $((blocks - 6))" bad >.dbg 2>&1 || cat .dbg
	found inode-size
	equal "  $o: every name is kept" "$("$DEBUGFS" -R 'ls -p d' bad 2>/dev/null | grep -c name-of-a-file)" 400
	clean bad "  clean for stock e2fsck, too"
done
done_testing 168
