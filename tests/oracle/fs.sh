#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The library's handle for reading an image against Linux: what both tell of images that Linux has filled, of one whose journal is to
# be replayed, and of one with an interrupted change. Fields that Linux does not tell: against debugfs.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
print=$XW_BUILD/fs_print
[ -x "$print" ] || { echo "Bail out! $print is not there: build the tests first"; exit 1; }
show() { RC=0; "$print" "$@" >out 2>.err || RC=$?; }
linux() { python3 "$KIT/tree_print.py" "$1" | sort; }
# Linux tells no birth time by stat(2), nor the flags of special files and the extents of long links. Through a block map it cuts a file
# into extents where the map has its own blocks, and for inline data it tells a block that there is not.
alike() { # DIR: the lines that differ of what Linux tells of it and `out`
	linux "$1" | grep -v "$dropped" >linux
	sort out | grep -v "^ \(info\|features\) \| crtime \|$dropped" >ours
	comm -23 linux ours | head -n 5
	sed -n 's/ mode \(010\|020\|060\|120\|140\).*/ /p' linux >special
	comm -13 linux ours | grep -v ' \(flags\|generation\|project\|extent\) ' | head -n 5
	comm -13 linux ours | grep -vFf special | head -n 5
}

fill() { # DIR
	mkdir "$1/d" "$1/d/deep" "$1/many" && printf tiny >"$1/tiny" && seq 30000 >"$1/d/numbers" && chmod 4751 "$1/d/numbers"
	head -c 150 /dev/urandom >"$1/d/inline"
	truncate -s 3000000 "$1/sparse" && for i in 0 7 8 9 100 700; do printf 'block %d' $i | dd of="$1/sparse" bs=4096 seek=$i conv=notrunc status=none; done
	fallocate -l 300000 "$1/unwritten" 2>/dev/null; printf x | dd of="$1/unwritten" bs=1 seek=150000 conv=notrunc status=none
	ln "$1/tiny" "$1/d/again" && ln -s d/numbers "$1/fast" && ln -s "$(printf '%01000d' 0)" "$1/slow"
	mknod "$1/null" c 1 3 && mknod "$1/big" b 4000 1000000 && mkfifo "$1/fifo"
	touch "$1/$(printf '%0255d' 1)" "$1/$(printf 'a\\ \n\377')"
	touch -hd '1960-01-01 00:00:00.25' "$1/fast" && touch -d '2400-01-01' "$1/tiny" && chown 70000:4000000000 "$1/tiny"
	(cd "$1/many" && seq 400 | sed 's/^/name_of_a_file_/' | xargs touch)
	setfattr -n user.one -v 1 "$1/tiny" && setfattr -n trusted.t -v "$(printf '%0300d' 1)" "$1/d"
	setfattr -n user.in_a_block -v "$(printf '%0600d' 1)" "$1/d/numbers"
	setfattr -n user.huge -v "$(printf '%09000d' 1)" "$1/sparse" 2>/dev/null
	setfacl -m u:1000:rw,g:2000:r "$1/tiny" && setfacl -m d:u:1000:rwx "$1/d/deep"
	chattr +i "$1/d/inline" && chattr +A "$1/many" && chattr -p 77 "$1/many" 2>/dev/null
	sync -f "$1"
}

if can_loop && command -v setfattr >/dev/null && command -v setfacl >/dev/null; then
	mkdir mnt
	at_end umount mnt
	while read -r options; do
		dropped='^$'
		case $options in *ext2*) dropped=' extent ' ;; *inline_data*) dropped=' blocks_512 [01]$' ;; esac
		# shellcheck disable=SC2086
		mke2fs -qF $options img 64M >.out 2>.err && mount -o loop img mnt && fill mnt
		cp img replay
		mount -o remount,ro mnt
		show -j 2 img
		equal "mke2fs $options: read" "$RC $(grep -c ' error ' out)" "0 0"
		equal "  as Linux reads it" "$(alike mnt)" ""
		umount mnt
		rm img # Linux may need its loop device a moment longer
		# The copy was made while it was mounted: what was synced is in the journal.
		cp replay before
		show replay
		is "  copied while it was mounted: nothing is written" cmp -s replay before
		case $options in
		*ext2*) skip "  its journal" "ext2 has none" 2 ;;
		*)
			equal "    its journal is replayed" "$(grep -o '"replayed":[a-z]*' out)" '"replayed":true'
			mount -o loop replay mnt && mount -o remount,ro mnt
			equal "    as Linux does it" "$(alike mnt)" ""
			umount mnt
			rm replay
			;;
		esac
	done <<-'OPTIONS'
	-t ext4
	-t ext2 -I 256 -b 1024
	-t ext4 -O ea_inode,inline_data -I 512
	-t ext4 -O ^metadata_csum,bigalloc -C 16384
	OPTIONS
else
	skip "images of Linux" "needs root, loop mounts and the tools for attributes" 20
fi

# Birth time, flags and generation, which debugfs has in lines of their own.
mkdir src && seq 1000 >src/a && mkdir src/d && ln -s a src/l
rm -f img
"$MKFS" -q -d src img 8M
if command -v debugfs >/dev/null; then
	show img
	for path in /a /d /l; do
		debugfs -R "stat $path" img 2>/dev/null >stat
		equal "debugfs: $path" "$(sed -n "s,^$path \(ino\|flags\|generation\|crtime\) ,\1 ,p" out)" "$(python3 - <<'END'
import re
s = open("stat").read()
print("ino", re.search(r"Inode: (\d+)", s)[1])
print("flags", int(re.search(r"Flags: (\S+)", s)[1], 16))
print("generation", re.search(r"Generation: (\d+)", s)[1])
sec, extra = (int(x, 16) for x in re.search(r"crtime: 0x(\w+):(\w+)", s).groups())
print("crtime %d.%09d" % (sec + ((extra & 3) << 32), extra >> 2))
END
)"
	done
else
	skip "debugfs" "it is not installed" 3
fi

# A change that was interrupted: with what it would have made, and nothing is written.
tool=$XW_BUILD/commit_tool
if [ -x "$tool" ]; then
	cp img old && cp img new
	"$BIN/xw-debugfs" -w -R 'mkdir sub' -R 'rm a' new >out 2>&1
	cp old img && "$tool" change img new how=inside >out 2>&1
	k=$(($(awk 'END { print $2 }' out) - 12))
	cp old img && "$tool" change img new how=inside "fail=$k" mode=cut >out 2>&1
	cp img half
	show img
	equal "an interrupted change: it is told" "$RC $(grep -o '"pending_change":[a-z]*' out)" '0 "pending_change":true'
	equal "  names as it makes them" "$(sed -n 's/ ino [0-9]*//p' out | sort | tr '\n' ' ')" " /d /l /lost+found /sub "
	is "  nothing is written" cmp -s img half
else
	skip "an interrupted change" "commit_tool is not built" 3
fi
done_testing 26
