#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# inline_data: small files and directories are in their inodes, Linux reads them there, and goes on writing
# to them; sizes around every limit, with and without xattrs that compete for the room. XW_ALL=1: more kinds of images.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v debugfs >/dev/null || skip_all "needs debugfs"

mkdir tree tree/small tree/empty tree/many tree/plain tree/tagged
files tree/plain/%d 0 300 1
cp tree/plain/* tree/tagged/
for n in $(seq 0 300); do printf '# file: tree/tagged/%d\nuser.tag="%*s"\n\n' "$n" $((n % 90 + 1)) x; done >tags
setfattr --restore=tags 2>/dev/null
for n in $(seq 1 40); do
	mkdir "tree/many/$n"
	for k in $(seq 1 $((n / 2))); do echo "$k" >"tree/many/$n/f$k"; done
done
ln tree/plain/50 tree/small/hard
ln -s "$(printf '%080d' 7)" tree/small/long-link
truncate -s 100 tree/small/hole

inline_flag() { debugfs -R "stat $2" "$1" 2>/dev/null | grep -q 'Flags: 0x1[0-9a-f]\{7\}'; }
flagged() { # IMAGE: which of plain/0..300 have the flag, as one run
	for n in $(seq 0 300); do echo "stat /plain/$n"; done >requests
	debugfs -f requests "$1" 2>/dev/null | grep -c 'Flags: 0x1[0-9a-f]\{7\}'
}
same_tree() { # IMAGE
	gives_back "$1" tree
}

while read -r limit options; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q -d tree $options img 64M
	is "$options: made" [ "$RC" = 0 ]
	clean img "$options: e2fsck finds no fault in it"
	equal "$options: files of 1 to $limit bytes are inline" "$(flagged img)" "$limit"
	is "$options: an empty directory is" inline_flag img /empty
	is "$options: one of few names is" inline_flag img /many/4
	is "$options: one of many is not" eval '! inline_flag img /plain'
	is "$options: nor is lost+found" eval '! inline_flag img /lost+found'
	is "$options: xw-export gives it back" same_tree img
	can_loop || { skip "$options: Linux" "needs root and loop mounts" 6; continue; }
	mkdir -p mnt
	at_end "umount mnt"
	mount -o loop img mnt || { fail "$options: Linux mounts it"; continue; }
	is "$options: Linux reads it" diff -r --no-dereference tree mnt -x lost+found
	is "$options: appends to it" eval 'for n in $(seq 1 300); do echo more >>mnt/plain/$n; done'
	is "$options: adds names" touch mnt/many/{1..40}/{a-name-more,another}
	is "$options: cuts files" perl -e 'for (1 .. 300) { truncate("mnt/tagged/$_", $_ / 2) or die "$_: $!" }'
	is "$options: removes" rm -r mnt/many/7 mnt/small
	umount mnt
	clean img "$options: e2fsck after that"
done < <(strided 3 <<-'END'
	~128 -O inline_data
	300 -O inline_data -I 512 -b 2048 -N 2000
	128 -O inline_data,ea_inode,^metadata_csum -b 1024
	128 -O inline_data,^extent,^64bit,^flex_bg
END
)

# Contents that begin like the root of an extent tree: in i_block a checker takes them for one, and clears it.
mkdir roots
root() { # NAME ENTRIES MAX DEPTH [BYTES]: a file that begins with such a header; of how many bytes it is
	printf "\\x0a\\xf3\\x$2\\x00\\x$3\\x00\\x$4\\x00\\x00\\x00\\x00\\x00" >"roots/$1" && truncate -s "${5:-12}" "roots/$1"
}
for max in 0 1 2 3 4 5; do
	for entries in 0 2 4; do
		for depth in 0 1 6; do root "e$entries-m$max-d$depth" "0$entries" "0$max" "0$depth"; done
	done
done
for size in 2 4 5 8 60 61 100; do root "s$size" 00 04 00 $size; done
for options in "-O inline_data" "-O inline_data,bigalloc -C 16k" "-O inline_data -b 1024 -I 512"; do
	rm -f roots.img
	# shellcheck disable=SC2086
	mkfs -q $options -d roots roots.img 32M
	clean roots.img "$options: contents like extent trees: e2fsck"
	is "  xw-fsck" "$BIN/xw-fsck" -fn roots.img
	is "  they have a block" eval '! inline_flag roots.img /e0-m4-d0 && ! inline_flag roots.img /s100'
	is "  others are inline" eval 'inline_flag roots.img /e0-m0-d0 && inline_flag roots.img /s4'
	is "  xw-export gives them back" gives_back roots.img roots
done
for name in e0-m4-d0 e4-m4-d6 e2-m2-d0 s5 s100 s4; do
	"$BIN/xw-debugfs" -w -R "write roots/$name new-$name" roots.img >/dev/null 2>&1
	"$BIN/xw-debugfs" -R "cat /new-$name" roots.img >back 2>/dev/null
	is "xw-debugfs writes $name" cmp back "roots/$name"
done
clean roots.img "  e2fsck"

mkfs -q -O inline_data -I 128 -d tree small.img
fails 2 "inline_data.*128" "inodes of 128 bytes have no room"
if [ -x "$IMPORT" ]; then
	mke2fs -qF -t ext4 -O inline_data other.img 32M >/dev/null 2>&1
	is "import into an image with inline data" "$IMPORT" -q other.img tree
	clean other.img "  e2fsck"
	is "  small files are inline" inline_flag other.img /plain/60
	is "  the tree" same_tree other.img
	is "import over it" "$IMPORT" -q other.img tree
	clean other.img "  e2fsck"
	is "  the tree" same_tree other.img
fi
if [ -x "$IMPORT" ]; then
	mke2fs -qF -t ext4 -O inline_data other.img 32M >/dev/null 2>&1
	is "import of contents like extent trees" "$IMPORT" -q other.img roots
	clean other.img "  e2fsck"
	is "  and over it" "$IMPORT" -q other.img roots
	clean other.img "  e2fsck"
	is "  xw-export gives them back" gives_back other.img roots
fi
# --free leaves room for a file in every directory, also where that moves the directory out of its inode.
mkdir roomy
mkdir -p roomy/{1..700} && touch roomy/{1..700}/name
mkfs -q -F -O inline_data --free 1% -d roomy room.img
works "--free with directories in their inodes"
if can_loop; then
	mkdir -p mnt
	mount -o loop room.img mnt
	is "  a file in every directory" eval 'name=$(printf %0250d 7); (for n in $(seq 1 700); do printf %03000d 0 >mnt/$n/$name || exit 1; done)'
	umount mnt
	clean room.img "  e2fsck"
else
	skip "  a file in every directory" "needs root and loop mounts" 2
fi
done_testing 80
