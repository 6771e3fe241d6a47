#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Damage to what says where metadata is: the superblock's geometry, and descriptors of groups without a usable backup. One run
# repairs it, and costs no file.
. "$(dirname "$0")/lib.sh"

# repaired DESCRIPTION IMAGE TREE: with -fy, once.
repaired() {
	fsck -fy "$2"
	equal "$1: repaired" $RC 1
	fsck -fn "$2"
	equal "  clean then" $RC 0
	kept "  nothing is lost" "$2" "$3"
	clean "$2" "  clean for e2fsck"
}
fill() { # DIR FILES BYTES: half of the files are in a subdirectory, with a symlink
	mkdir -p "$1/sub"
	for ((i = 0; i < $2; i++)); do
		head -c "$3" /dev/urandom >"$1/f$i"
		head -c "$3" /dev/urandom >"$1/sub/g$i"
	done
	ln -s f0 "$1/sub/link"
	for ((i = 0; i < 13; i++)); do # a map that does not fit the inode
		printf x | dd of="$1/holes" bs=1 seek=$((i * 16384)) conv=notrunc status=none
	done
	chmod 600 "$1/f1"
}
# super_field IMAGE OFFSET SIZE VALUE [raw]: a field of the superblock, whose checksum is right again unless raw.
super_field() {
	python3 - "$@" <<-'PY'
		import sys
		image, at, size, value = sys.argv[1], *(int(v, 0) for v in sys.argv[2:5])
		with open(image, "r+b") as f:
		    f.seek(1024)
		    sb = bytearray(f.read(1024))
		    sb[at:at + size] = value.to_bytes(size, "little")
		    crc = 0xFFFFFFFF
		    for byte in sb[:1020]:
		        crc ^= byte
		        for _ in range(8):
		            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
		    if len(sys.argv) == 5:
		        sb[1020:] = crc.to_bytes(4, "little")
		    f.seek(1024)
		    f.write(sb)
	PY
}

# meta_bg: behind most copies of the superblock there are no descriptors, but blocks of files.
fill big 6 1000000
mkfs -q -b 1024 -g 1024 -N 512 -J size=1 -O meta_bg,^resize_inode -d big meta 16M
works "an image with meta_bg, of 16 groups"
super_field meta 252 1 9
for how in -p -fy; do
	cp meta bad
	fsck $how bad
	is "$how of an unknown hash: repaired" test $RC -le 1
	fsck -fn bad
	equal "  clean then" $RC 0
	kept "  nothing is lost" bad big
done

# descriptor IMAGE GROUP FIELD VALUE: in all copies of the descriptor.
descriptor() {
	printf 'set_bg %s %s %s\nset_bg %s checksum calc\nclose -a\n' "$2" "$3" "$4" "$2" >.cmd
	"$DEBUGFS" -w -f .cmd "$1" >.dbg 2>&1
}
place() { # IMAGE GROUP WHAT
	"$DEBUGFS" -R stats "$1" 2>/dev/null | sed -n "/^ *Group  *$2:/,/Inode table/p" | tr '\n' ' ' |
		sed "s/.*$3[a-z ]*at \\([0-9]*\\).*/\\1/i"
}

# One group, so that no copy of the descriptors exists: a bitmap is made anew, and never at the cost of a table.
fill small 60 700
for opts in "-b 1024" "-b 1024 -O ^metadata_csum,^uninit_bg" "-b 4096 -t ext2"; do
	rm -f one
	# shellcheck disable=SC2086
	mkfs -q $opts -N 512 -d small one 8M
	works "an image of one group, $opts"
	table=$(place one 0 'inode table')
	last=$((table + 512 * 256 / ${opts:3:4} - 1))
	file=$("$DEBUGFS" -R 'bmap f5 0' one 2>/dev/null)
	root=$("$DEBUGFS" -R 'bmap <2> 0' one 2>/dev/null)
	map=$("$DEBUGFS" -R 'stat holes' one 2>/dev/null | sed -n 's/.*(\(ETB0\|IND\)):\([0-9]*\).*/\2/p')
	while read -r field to; do
		cp one bad
		descriptor bad 0 "$field" "$to"
		repaired "$field in block $to" bad small
	done <<-END
		block_bitmap $table
		block_bitmap $(((table + last) / 2))
		block_bitmap $root
		block_bitmap $map
		inode_bitmap $last
		inode_bitmap $file
		inode_table 0
		inode_table $((table + 1))
		inode_table $file
	END
done

# The root's record is damaged as well, so that the others of the table have to tell where it is. field IMAGE OFFSET XOR: of it.
field() {
	python3 - "$@" "$(place "$1" 0 'inode table')" <<-'PY'
		import struct
		import sys
		image, at, xor, table = sys.argv[1], *(int(v, 0) for v in sys.argv[2:])
		with open(image, "r+b") as f:
		    f.seek(1048)
		    size = 1024 << struct.unpack("<I", f.read(4))[0]
		    f.seek(1112)
		    at += table * size + struct.unpack("<H", f.read(2))[0]
		    f.seek(at)
		    old, = struct.unpack("<H", f.read(2))
		    f.seek(at)
		    f.write(struct.pack("<H", old ^ xor))
	PY
}
for opts in "-b 1024" "-b 4096 -O ^metadata_csum,^uninit_bg" "-b 1024 -O ^metadata_csum,^has_journal,^resize_inode -I 128"; do
	rm -f one
	# shellcheck disable=SC2086
	mkfs -q -t ext4 $opts -N 512 -d small one 8M
	works "an image of one group, with flex_bg, $opts"
	table=$(place one 0 'inode table')
	file=$("$DEBUGFS" -R 'bmap f5 0' one 2>/dev/null)
	while read -r what at xor to; do
		cp one bad
		field bad "$at" "$xor"
		descriptor bad 0 inode_table "$to"
		repaired "$what of the root is damaged, and inode_table in block $to" bad small
	done <<-END
		mode 0 0x4000 0
		mode 0 0x8000 $((table + 1))
		links 26 0x100 $file
	END
done

# Several groups, but the copies agree with the damage: the table is found by its contents.
for opts in "-O ^metadata_csum,^uninit_bg" "-t ext2"; do
	rm -f many
	# shellcheck disable=SC2086
	mkfs -q $opts -b 1024 -N 192 -d small many 24M
	works "an image of three groups, $opts"
	table=$(place many 1 'inode table')
	file=$("$DEBUGFS" -R 'bmap f5 0' many 2>/dev/null)
	while read -r field to; do
		cp many bad
		descriptor bad 1 "$field" "$to"
		repaired "group 1, $field in block $to" bad small
	done <<-END
		block_bitmap $((table + 2))
		inode_bitmap $table
		inode_table 0
		inode_table $((table + 1))
		inode_table $file
	END
done

# A wrong number of blocks, or another field of the geometry: the checksum of the superblock shows the damage, and which value a
# single field had. Without a checksum the bitmap of the last group counts blocks.
fill large 4 500000
for opts in "-b 1024" "-b 1024 -O ^metadata_csum,^uninit_bg" "-b 1024 -g 2048"; do
	rm -f sized
	# shellcheck disable=SC2086
	mkfs -q -N 512 -J size=1 $opts -d large sized 8M
	works "an image of 8 MiB, $opts"
	while read -r what at size value; do
		cp sized bad
		# shellcheck disable=SC2086
		super_field bad $at $size $value raw
		repaired "$what $value" bad large
		equal "  as it was" "$(od -An -tx1 -j $((1024 + at)) -N "$size" bad)" "$(od -An -tx1 -j $((1024 + at)) -N "$size" sized)"
	done <<-END
		blocks_count 4 4 1100
		blocks_count 4 4 700000
		inodes_per_group 40 4 777
		inode_size 88 2 128
	END
done

# A wrong number of blocks per group, with a checksum that is right: -n says so. The places of the copies tell which it was, and
# without them the number of groups that inodes are counted for.
for copies in kept lost; do
	cp sized odd
	for ((group = 1; group < 4; group += 2)); do
		[[ $copies == kept ]] || dd if=/dev/zero of=odd bs=1024 seek=$((1 + group * 2048)) count=1 conv=notrunc status=none
	done
	for value in 2047 2052 1024; do
		cp odd bad
		super_field bad 36 4 $value
		super_field bad 32 4 $value
		fsck -fn bad
		equal "blocks_per_group $value, copies are $copies: found" $RC 4
		is "  and named" grep -q "blocks_per_group is $value, .*should be 2048" .out
		repaired "blocks_per_group $value" bad large
	done
done

# A feature that was lost is set again, if what it is for proves it; one that a tool removed is not.
mkfs -q -O orphan_file -b 1024 -N 512 -d small featured 8M
works "an image with metadata_csum and orphan_file"
word() { od -An -tu4 -j $((1024 + $2)) -N 4 "$1" | tr -d ' '; }
while read -r feature at bit; do
	cp featured bad
	super_field bad "$at" 4 $(($(word featured "$at") & ~bit))
	repaired "$feature was lost" bad small
	equal "  it is set again" "$(word bad "$at")" "$(word featured "$at")"
	cp featured bad
	"${XW_TUNE:-$BIN/xw-tune}" -q -O "^$feature" bad
	fsck -fn bad
	equal "  removed by a tool, it is not missed" $RC 0
done <<-END
	metadata_csum 100 0x400
	orphan_file 92 0x1000
END

# Of a feature word that is garbage the known bits prove nothing: no itree, journal device or shared blocks come of it.
mkfs -q -O ^metadata_csum,^uninit_bg,^64bit -b 1024 -N 512 -d small plain 8M
works "an image without checksums"
for at in 92 96 100; do
	cp plain bad
	super_field bad $at 4 0xffffffff
	repaired "all bits of the feature word at $at" bad small
	equal "  no rare feature is left" $(($(word bad 92) & 0xe03 | $(word bad 96) & 0x4000001c | $(word bad 100) & 0x40015100)) 0
done

# A device that is too short is not checked, as by e2fsck.
mkfs -q -b 1024 -d small short 8M
truncate -s 7M short
cp short was
fsck -fy short
equal "a short device: refused" $RC 8
is "  and left as it was" cmp -s short was

done_testing 329
