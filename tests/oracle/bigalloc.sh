#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bigalloc: laid out as mke2fs lays it out, filled, clean for e2fsck; Linux reads it and goes on writing.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v mke2fs >/dev/null || skip_all "needs mke2fs"

mkdir -p tree/dir tree/big tree/deep/er
for n in $(seq 1 600); do head -c $((n * 97)) /dev/urandom >"tree/big/file-$n"; done
for n in 1 3 7 15 33 64 70; do # data in single blocks, many a cluster and many apart
	for k in $(seq 0 $((n * 3)) 400); do
		printf data | dd of="tree/dir/sparse-$n" bs=4096 seek="$k" conv=notrunc status=none
	done
	truncate -s 3M "tree/dir/sparse-$n"
done
ln tree/big/file-3 tree/deep/hard
ln -s "$(printf '%0100d' 1)" tree/deep/long-link
setfattr -n user.long -v "$(printf '%0900d' 5)" tree/deep/er tree/big/file-9 2>/dev/null

layout() { # what both may differ in is left out
	dumpe2fs "$1" 2>/dev/null | grep -vE 'UUID|created|time|Hash Seed|hecksum|csum|Lifetime|[Ff]ree|writes|Last'
}

while read -r size options; do
	rm -f img stock
	truncate -s "$size" stock
	# shellcheck disable=SC2086
	mke2fs -qF -t ext4 $options stock >/dev/null 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	# shellcheck disable=SC2086
	mkfs -q $options img "$size"
	works "$options $size: made"
	clean img "$options $size: e2fsck, empty"
	is "$options $size: laid out as by mke2fs" diff <(layout stock) <(layout img)
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -N 4000 -d tree img "$size"
	works "$options $size: filled"
	clean img "$options $size: e2fsck, filled"
	rm -rf out && mkdir out
	"$(dirname "$MKFS")/xw-export" -o - img 2>.err | tar -C out -xSf -
	is "$options $size: xw-export gives it back" diff -r --no-dereference -x lost+found tree out
	can_loop || continue
	mkdir -p mnt
	at_end "umount mnt"
	mount -o loop img mnt 2>.err || { skip "$options: Linux" "it does not mount it"; continue; }
	is "$options $size: Linux reads it" diff -r --no-dereference -x lost+found tree mnt
	is "$options $size: and writes" eval 'for n in $(seq 1 600); do echo more >>mnt/big/file-$n; done
		for n in 1 7 33; do dd if=/dev/urandom of=mnt/dir/sparse-$n bs=64k count=20 conv=notrunc status=none; done
		rm -r mnt/deep'
	umount mnt
	clean img "$options $size: e2fsck after that"
done <<-'END'
	1G -O bigalloc
	300M -O bigalloc -b 4096 -C 8192
	1G -O bigalloc -b 2048 -C 65536
	300M -b 4096 -O bigalloc,^flex_bg,^has_journal -C 32768
	1G -O bigalloc,orphan_file,inline_data,^64bit,ea_inode
	3G -O bigalloc,meta_bg,^resize_inode,^metadata_csum -C 1048576
	1G -O bigalloc,quota
END

rm -f img
mkfs -O bigalloc -C 4096 img 64M
fails 2 "-C 4096" "a cluster of one block"
mkfs -O bigalloc -t ext3 img 64M
is "needs extents" [ "$RC" = 2 ]
mkfs -C 65536 img 64M
fails 2 "-C 65536.*bigalloc" "-C without the feature"
done_testing
