#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A root directory whose inode is lost: its blocks are found, and the names with them.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

fsck() { # ARGS...: status in $RC
	RC=0
	"$FSCK" "$@" >.out 2>.err || RC=$?
}
listing() { (cd "$1" && find . ! -path './lost+found*' -printf '%P %y %m %l\n' | sort); }
kept() { # DESCRIPTION IMAGE TREE: names, contents, symlinks and modes
	rm -rf got
	mkdir got
	"$DEBUGFS" -R 'rdump / got' "$2" >.dbg 2>&1
	chmod 755 got
	listing "$3" >.want
	listing got >.got
	is "$1" cmp -s .want .got
	is "  nor contents" diff -r --no-dereference -x lost+found "$3" got
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
	"$DEBUGFS" -w -R 'clri <2>' img >.dbg 2>&1
	fsck -fy img
	equal "  the root is lost: repaired" $RC 1
	equal "  nothing goes to lost+found" "$(grep -c 'lost+found' .out)" 0
	fsck -fn img
	equal "  clean then" $RC 0
	kept "  no name is lost" img tree
	clean img "  clean for e2fsck"
done
done_testing 28
