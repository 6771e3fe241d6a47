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
kept() { # IMAGE
	"$DEBUGFS" -R 'cat file' "$1" >.file 2>/dev/null
	is "  and the file is what it was" cmp -s d/file .file
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
fsck 0 -fn -E bmap2extent old
fsck 0 -fy -E bmap2extent old
is "  said to be modified" grep -q 'FILE SYSTEM WAS MODIFIED' .out
is "  the feature is set" sh -c "'$DEBUGFS' -R features old 2>/dev/null | grep -q extent"
is "  no file has indirect blocks" sh -c "'$FSCK' -fnv old | grep -q 'ind/dind/tind blocks: 0/0/0'"
sound old
fsck 0 -fy -E bmap2extent old
is "  a second time nothing is to be done" sh -c '! grep -q MODIFIED .out'
fsck 16 -fy -E bmap2extent,fixes_only old

if command -v e2fsck >/dev/null && command -v mke2fs >/dev/null; then
	mke2fs -q -t ext2 -b 1024 -d d stock 16M
	"$DEBUGFS" -w -R 'rm dir/a-name-that-is-long-enough-0001' stock >/dev/null 2>&1
	timeout -s KILL 60 e2fsck -fn -E fragcheck stock >wanted 2>/dev/null
	fsck 0 -fn -E fragcheck stock
	is "  fragcheck prints what stock e2fsck prints" cmp -s wanted .out
else
	skip "  fragcheck prints what stock e2fsck prints" "e2fsprogs are not installed"
fi

# Two files with the same blocks, by a feature that allows it.
mkfs -q -t ext2 -b 1024 -d d shared 16M
fsck 0 -fy -E unshare_blocks shared
is "  a filesystem without the feature is left alone" sh -c '! grep -q MODIFIED .out'
sound shared
cp d/file d/other
rm -f shared
mkfs -q -t ext2 -b 1024 -d d shared 16M
v=$("$DEBUGFS" -R 'blocks file' shared 2>/dev/null | cut -d' ' -f1)
"$DEBUGFS" -w -R "sif other block[0] $v" shared >.dbg 2>&1 || cat .dbg
"$DEBUGFS" -w -R 'ssv feature_ro_compat 0x4003' shared >.dbg 2>&1 || cat .dbg
fsck 4 -fn -E unshare_blocks shared
fsck 1 -fy -E unshare_blocks shared
is "  the feature is gone" sh -c '! "$1" -R features shared 2>/dev/null | grep -q shared_blocks' - "$DEBUGFS"
sound shared
fsck 0 -fy -E optimize_extents,check_encoding shared
sound shared
done_testing
