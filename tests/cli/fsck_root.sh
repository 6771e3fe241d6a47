#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A root directory whose inode or map is lost: its blocks are found, and the names with them.
. "$(dirname "$0")/lib.sh"

repaired() { # DESCRIPTION IMAGE: with -fy, once
	fsck -fy "$2"
	cp .out .first
	equal "$1: repaired" $RC 1
	equal "  nothing goes to lost+found" "$(grep -c 'lost+found' .out)" 0
	fsck -fn "$2"
	equal "  clean then" $RC 0
	kept "  nothing is lost" "$2" tree
	clean "$2" "  clean for e2fsck"
}
journal_map() { # IMAGE: size and map of inode 2 become those of inode 8
	python3 - "$1" "$("$DEBUGFS" -R 'imap <2>' "$1" 2>/dev/null | sed -n 's/.*block \([0-9]*\).*/\1/p')" <<-'PY'
		import struct
		import sys
		image, table = sys.argv[1], int(sys.argv[2])
		with open(image, "r+b") as f:
		    data = bytearray(f.read())
		    block = 1024 << struct.unpack_from("<I", data, 1048)[0]
		    size, = struct.unpack_from("<H", data, 1112)
		    for at, n in (4, 4), (40, 60):
		        root = table * block + size + at
		        data[root:root + n] = data[root + 6 * size:root + 6 * size + n]
		    f.seek(0)
		    f.write(data)
	PY
}

mkdir -p tree/dir/sub tree/other
for i in {1..300}; do echo "$i" >"tree/a name that takes up some space, $i"; done
for i in 1 2 3; do echo "$i" >tree/dir/sub/$i; done
ln -s dir/sub/1 tree/link
chmod 600 tree/dir/sub/2
chmod 750 tree/other
for opts in "-t ext4" "-t ext4 -O ^metadata_csum,^uninit_bg" "-t ext2" "-t ext4 -b 4096 -O ^dir_index"; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q -b 1024 $opts -N 1024 -d tree img 16M
	works "an image, $opts"
	cp img bad
	"$DEBUGFS" -w -R 'clri <2>' bad >.dbg 2>&1
	repaired "the inode is lost" bad
	is "  says so" grep -q 'Root inode is not allocated' .first
	[[ $opts != *ext2* ]] || continue
	cp img bad
	journal_map bad
	repaired "it has the map of the journal" bad
	is "  says so" grep -q 'Root inode does not lead to its directory' .first
done

# Another directory with the same names is lost as well, whose inodes and blocks come first: the root's names stay with
# its own files, and those of the other one get a suffix.
mkdir -p second/a root
for i in {1..120}; do
	name="a name that takes up some space, $i"
	echo "other $i" >"second/a/$name"
	echo "root $i" >"root/$name"
	echo "write \"root/$name\" \"$name\""
done >cmds
cat second/a/* root/* | sort >contents
for opts in "-t ext4" "-t ext4 -O ^dir_index" "-t ext4 -O ^metadata_csum"; do
	rm -f bad
	# shellcheck disable=SC2086
	mkfs -q -b 1024 $opts -N 1024 -d second bad 16M
	"$DEBUGFS" -w -f cmds bad >.dbg 2>&1 || cat .dbg
	for lost in a '<2>'; do
		"$DEBUGFS" -w -R "clri $lost" bad >.dbg 2>&1 || cat .dbg
	done
	fsck -fy bad
	equal "the root and a directory with the same names are lost, $opts: repaired" $RC 1
	fsck -fn bad
	equal "  clean then" $RC 0
	clean bad "  clean for e2fsck"
	rm -rf got
	mkdir got
	"$DEBUGFS" -R 'rdump / got' bad >.dbg 2>&1
	find got -type f -exec cat {} + | sort >.contents
	is "  every file has a name" cmp -s contents .contents
	[[ $opts != *csum* ]] || continue
	is "  names of the root stay with its files" sh -c 'for f in root/*; do cmp "$f" "got/${f#root/}" || exit 1; done'
done
# An image file holds another filesystem with the same UUID. Its inode is lost, and that of the root: the names of the
# other filesystem's root stay out.
UUID=12345678-1234-1234-1234-123456789abc
for block in 1024 4096; do
	rm -rf inner outer
	mkdir -p inner/od outer/nd
	for i in 1 2 3 4 5 6; do
		echo "$i" | tee "inner/old-$i" "inner/od/$i" "outer/nd/$i" >"outer/new-$i"
	done
	rm -f inner.img bad
	mkfs -q -b $block -U $UUID -d inner inner.img 8M
	cp inner.img outer/vm.img
	mkfs -q -b $block -U $UUID -d outer bad 60M
	rm outer/vm.img
	printf 'clri /vm.img\nclri <2>\n' >cmd
	"$DEBUGFS" -w -f cmd bad >.dbg 2>&1 || cat .dbg
	fsck -fy bad
	equal "a filesystem inside, blocks of $block: repaired" $RC 1
	equal "  its names stay out" "$("$DEBUGFS" -R 'ls -p /' bad 2>/dev/null | grep -c '/old-')" 0
	rm -rf got
	mkdir got
	"$DEBUGFS" -R 'rdump / got' bad >.dbg 2>&1
	is "  nothing else is lost" sh -c 'for f in new-1 new-6 nd/3; do cmp "outer/$f" "got/$f" || exit 1; done'
done
done_testing 66
