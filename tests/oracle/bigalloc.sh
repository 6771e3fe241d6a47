#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bigalloc: laid out as mke2fs lays it out, filled, clean for e2fsck; Linux reads it and goes on writing. Imports
# into images of mke2fs that Linux wrote to in between. An everyday run takes rows that have every feature and every kind of cluster
# size once; XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v mke2fs >/dev/null || skip_all "needs mke2fs"

mkdir -p tree/dir tree/big tree/deep/er
files tree/big/file-%d 1 600 97
for n in 1 3 7 15 33 64 70; do # data in single blocks, many a cluster and many apart
	# shellcheck disable=SC2046
	pieces "tree/dir/sparse-$n" 4096 data $(seq 0 $((n * 3)) 400)
	truncate -s 3M "tree/dir/sparse-$n"
done
ln tree/big/file-3 tree/deep/hard
ln -s "$(printf '%0100d' 1)" tree/deep/long-link
setfattr -n user.long -v "$(printf '%0900d' 5)" tree/deep/er tree/big/file-9 2>/dev/null

: >valued # its attribute's value takes an inode of its own
tar --format=pax --pax-option="SCHILY.xattr.user.value:=$(printf '%05000d' 7)" -cf value.tar valued
mkdir -p more/big more/new more/deep
files more/big/file-%d 500 700 31
for n in $(seq 1 900); do : >"more/new/a-name-of-some-length-$n"; done
# shellcheck disable=SC2046
pieces more/new/sparse 4096 data $(seq 0 3 90)
: >more/deep/.wh.er
: >more/dir.new
cp -a tree both && cp -a more/. both/ && rm -r both/deep/er both/deep/.wh.er
O_DIR=$XW_BUILD/o_dir

layout() { # what both may differ in is left out
	dumpe2fs "$1" 2>/dev/null | grep -vE 'UUID|created|time|Hash Seed|hecksum|csum|Lifetime|[Ff]ree|writes|Last'
}

# What keeps room for more descriptors; where its first block is, is anybody's choice.
resize_inode() { debugfs -R 'stat <7>' "$1" 2>/dev/null | grep -e Blockcount: -e '^(' | sed 's/(DIND):[0-9]*//'; }
mends_nothing() { cp "$1" mended && fsck_quiet .fsck -fp mended; }

as_stock() { # SIZE OPTIONS: the empty image
	rm -f img stock
	truncate -s "$1" stock
	# shellcheck disable=SC2086
	mke2fs -qF -t ext4 $2 stock >/dev/null 2>&1 || { skip "$2" "mke2fs does not make it"; return; }
	# shellcheck disable=SC2086
	mkfs -q $2 img "$1"
	works "$2 $1: made"
	clean img "$2 $1: e2fsck, empty"
	is "$2 $1: e2fsck -p has nothing to do" mends_nothing img
	is "$2 $1: laid out as by mke2fs" diff <(layout stock) <(layout img)
	is "$2 $1: the resize inode as by mke2fs" diff <(resize_inode stock) <(resize_inode img)
}

while read -r size options; do
	[ "$size" != none ] || size=
	[ -z "$size" ] || as_stock "$size" "$options"
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -N 4000 -d tree img $size
	works "$options ${size:-no SIZE}: filled"
	clean img "$options ${size:-no SIZE}: e2fsck, filled"
	case $options in
	*ea_inode*)
		rm -f valued.img
		# shellcheck disable=SC2086
		mkfs -q $options -d value.tar valued.img $size
		clean valued.img "$options ${size:-no SIZE}: e2fsck, with a value in an inode"
		;;
	esac
	is "$options ${size:-no SIZE}: xw-export gives it back" gives_back img tree
	can_loop || { skip "$options: Linux" "needs root and loop mounts" 3; continue; }
	mkdir -p mnt
	at_end "umount mnt"
	mount -o loop img mnt 2>.err || { skip "$options: Linux" "it does not mount it" 3; continue; }
	is "$options ${size:-no SIZE}: Linux reads it" diff -r --no-dereference -x lost+found tree mnt
	is "$options ${size:-no SIZE}: and writes" eval 'for n in $(seq 1 600); do echo more >>mnt/big/file-$n; done
		for n in 1 7 33; do cat mnt/big/file-4?? | head -c 1310720 | dd of=mnt/dir/sparse-$n bs=64k conv=notrunc status=none; done
		rm -r mnt/deep'
	umount mnt
	clean img "$options ${size:-no SIZE}: e2fsck after that"
done < <(strided 3 <<-'END'
	~1G -O bigalloc
	~300M -O bigalloc -b 4096 -C 8192
	~1G -O bigalloc -b 2048 -C 65536
	300M -b 4096 -O bigalloc,^flex_bg,^has_journal -C 32768
	1G -O bigalloc,orphan_file,inline_data,^64bit,ea_inode
	3G -O bigalloc,meta_bg,^resize_inode,^metadata_csum -C 1048576
	1G -O bigalloc,quota
	~300M -O bigalloc -b 1024 -C 16384
	~300M -O bigalloc,meta_bg,^resize_inode,^flex_bg -b 1024 -C 4096
	~none -O bigalloc --free 30%
	~none -O bigalloc,^flex_bg,orphan_file -b 1024 -C 2048 --free 30%
	~none -O bigalloc,^has_journal,ea_inode,inline_data -C 8192 --free 20M
	none -O bigalloc,sparse_super2,^resize_inode -b 1024 -C 2048 -J size=40 --free 30%
END
)

TUNE=${XW_TUNE:-$BIN/xw-tune} DBG=$BIN/xw-debugfs
# Blocks of 1 KiB: copies of superblock and descriptors begin their groups, and what the resize inode says of them is counted
# from the primary, which is behind the boot block. With 256 descriptor blocks kept, the last it names begins a cluster.
while read -r size options; do
	as_stock "$size" "$options"
	is "  filled" "$IMPORT" -q img tree
	is "  named" "$TUNE" -q -L other -U 12345678-1234-1234-1234-123456789012 img
	clean img "  e2fsck"
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -N 4000 -d tree --free 64M img
	clean img "  e2fsck, SIZE left out"
	is "  import into what mke2fs made" "$IMPORT" -q stock tree
	is "  and a new name for it" "$TUNE" -q -L other -U 12345678-1234-1234-1234-123456789012 stock
	clean stock "  e2fsck"
done < <(strided 3 <<-'END'
	~96M -O bigalloc -b 1024 -C 2048
	300M -O bigalloc -b 1024 -C 8192
	~70M -O bigalloc,^flex_bg,^has_journal -b 1024 -C 4096
	97M -O bigalloc,orphan_file,^metadata_csum -b 1024 -C 2048
END
)

# Values of attributes in inodes of their own take whole clusters of every owner, and of its quota.
long=$(printf '%0120d' 1)
echo text >small
head -c 1500 /dev/zero | tr '\0' a >v1
head -c 3000 /dev/zero | tr '\0' b >v3
head -c 9000 /dev/zero | tr '\0' c >v9
while read -r options; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -d more img 100M
	works "values, $options"
	while read -r what; do
		IFS='|' read -ra requests <<<"$what"
		args=()
		for request in "${requests[@]}"; do args+=(-R "$request"); done
		is "  $what" "$DBG" -w "${args[@]}" img
		clean img "  e2fsck"
	done <<-END
		ea_set -f v3 /dir.new user.e
		ea_set -f v9 /big/file-500 user.e|ea_set -f v3 /big/file-501 user.e
		ea_set -f v1 /dir.new user.h|ea_set -f v9 /dir.new user.k|ea_set /dir.new user.short 1
		ea_set -f v9 /dir.new user.e
		ea_set -f v3 /big/file-500 user.e|ea_rm /dir.new user.k
		ea_rm /dir.new user.e
		mkdir /in|ea_set -f v3 /in user.e|mkdir /in/sub
		ea_set -f v9 /in/sub user.e|write v1 /in/f|write small /in/g|ea_set -f v9 /in/g user.e
		fallocate /in/g 0 9
		mkdir /in/$long.1|mkdir /in/$long.2|mkdir /in/$long.3
		rm /big/file-500|rm /dir.new|rm /in/g
	END
done < <(strided 3 <<-'END'
	~-O bigalloc,ea_inode,quota -b 1024 -C 8192
	-O bigalloc,ea_inode,quota,project -b 1024 -C 2048 -I 512
	-O bigalloc,ea_inode,inline_data,quota -b 1024 -C 4096
	~-O bigalloc,ea_inode -b 4096 -C 16384
	~-O ea_inode,quota,inline_data -b 1024
END
)

while read -r size options; do
	values=()
	[ "${options#*ea_inode}" = "$options" ] || values=(value.tar)
	rm -f img
	truncate -s "$size" img
	# shellcheck disable=SC2086
	mke2fs -qF -t ext4 -N 4000 $options img >/dev/null 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	is "import, $options: into an empty image" "$IMPORT" -q img tree
	clean img "  e2fsck"
	is "  it is there" gives_back img tree
	linux=
	if can_loop && mount -o loop img mnt 2>.err; then
		linux=yes
		is "  Linux reads it" diff -r --no-dereference -x lost+found tree mnt
		for n in $(seq 1 4 300); do cat mnt/big/file-$n >>mnt/big/file-$((601 - n)); done
		for n in 1 7 33; do cat mnt/big/file-4?? | head -c 1310720 | dd of=mnt/dir/sparse-$n bs=64k conv=notrunc status=none; done
		mkdir mnt/used && cp mnt/big/* mnt/used/ && rm mnt/used/*[13579]
		rm -rf used && cp -a mnt used
		umount mnt
	else
		skip "  Linux reads it" "needs root and loop mounts" 1
		rm -rf used && cp -a tree used
	fi
	cp -a more/. used/ && rm -r used/deep/er used/deep/.wh.er
	[ ${#values[@]} = 0 ] || cp valued used/
	is "  more over it" "$IMPORT" -q img more "${values[@]}"
	clean img "  e2fsck"
	is "  all is there" gives_back img used
	is "  names come and go in one directory" "$O_DIR" churn img /big 3000 1
	clean img "  e2fsck"
	ino=$(debugfs -R "stat /used/file-598" img 2>.err | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
	if [ -n "$ino" ]; then # a file of 100 KiB that was being cut to 10 when the power went
		debugfs -w -R "set_inode_field <$ino> size 10000" img 2>.err
		debugfs -w -R "set_super_value last_orphan $ino" img 2>.err
		rm -rf none && mkdir none
		is "  an orphan is cut" "$IMPORT" -q img none
		clean img "  e2fsck"
	elif [ -n "$linux" ]; then
		fail "  a file that Linux wrote"
	else
		skip "  an orphan is cut" "needs a file that Linux wrote" 2
	fi
done < <(strided 3 <<-'END'
	~1G -O bigalloc,ea_inode
	~200M -b 4096 -C 8192 -O bigalloc,^flex_bg,^has_journal
	~300M -O bigalloc,quota -b 2048 -C 65536
	200M -O bigalloc,inline_data,ea_inode,orphan_file,quota -I 512 -C 32768
	~200M -b 1024 -C 16384 -O bigalloc,^metadata_csum
	200M -b 1024 -C 16384 -O bigalloc,^metadata_csum,^flex_bg,^has_journal
END
)

rm -f img
# Copies of the descriptors behind a first block that is in group 0 only, which is the boot block: the resize inode of stock tools
# names the block behind each, and with some numbers of them that one is free.
rm -rf few && mkdir few && head -c 60000000 /dev/urandom >few/data
while read -r options; do
	# shellcheck disable=SC2086
	mkfs -q -F -b 1024 -O bigalloc $options -d few img 96M
	clean img "-b 1024 $options: e2fsck"
	is "  it repairs nothing by itself" e2fsck -fp img
done <<-'END'
	-C 2048
	-C 2048 -E resize=4000000
	-C 8192
END
mkfs -O bigalloc -C 4096 img 64M
fails 2 "-C 4096" "a cluster of one block"
mkfs -O bigalloc -t ext3 img 64M
is "needs extents" [ "$RC" = 2 ]
mkfs -C 65536 img 64M
fails 2 "-C 65536.*bigalloc" "-C without the feature"
done_testing 152
