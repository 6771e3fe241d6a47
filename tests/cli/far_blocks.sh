#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sparse files that end at the last block that their map can address: they are legal, and a repair of something else leaves them alone.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DBG=$BIN/xw-debugfs

fsck() { # WANTED ARGS...
	local want=$1
	shift
	RC=0
	"$FSCK" "$@" >.out 2>.err </dev/null || RC=$?
	equal "  xw-fsck $*" "$RC" "$want"
}
# holds IMAGE SIZE: the file has this size, and both of its ends
holds() {
	rm -f copy
	"$DBG" -R 'dump file copy' "$1" >.dbg 2>&1 || cat .dbg
	equal "  size and contents" "$(stat -c %s copy) $(head -c 5 copy) $(tail -c 4 copy)" "$2 first last"
	rm -f copy
}
# far WHAT SIZE MKFS-ARGUMENTS...
far() {
	local what=$1 size=$2
	shift 2
	if ! { mkdir -p d && printf first >d/file && truncate -s "$size" d/file &&
		printf last | dd of=d/file bs=1 seek=$((size - 4)) conv=notrunc status=none; } 2>.err; then
		skip "$what" "the host has no files of that size" 9
		return
	fi
	rm -f img
	mkfs -q "$@" -d d img 8M
	works "$what"
	fsck 0 -fn img
	is "  no finding" test ! -s .err
	holds img "$size"
	clean img "  clean for stock e2fsck"
	"$DBG" -w -R 'sif file links_count 3' img >.dbg 2>&1 || cat .dbg
	fsck 1 -fy img
	equal "  one thing is repaired" "$(grep -c '? yes' .out)" 1
	holds img "$size"
	fsck 0 -fn img
}

far "extents, 1 KiB blocks" $(((4294967296 - 1) * 1024)) -b 1024
far "a block map, 1 KiB blocks: 16 GiB" $(((12 + 256 + 256 * 256 + 256 * 256 * 256) * 1024)) -t ext2 -b 1024
far "a block map, 4 KiB blocks: 4 TiB" $(((12 + 1024 + 1024 * 1024 + 1024 * 1024 * 1024) * 4096)) -t ext2 -b 4096
far "extents, 4 KiB blocks: 16 TiB" $(((4294967296 - 1) * 4096)) -b 4096
done_testing 36
