#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inode records whose fields contradict each other: what they hold stays as it was.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

edit() { # IMAGE REQUEST...
	local img=$1
	shift
	for request; do
		"$DEBUGFS" -w -R "$request" "$img" >.dbg 2>&1 || cat .dbg
	done
}
# Names, types, modes, owners, times, targets, attributes and contents of an image.
content() { # IMAGE
	"$EXPORT" "$1" - 2>.err | sha256sum
}
# One repair, and nothing is found afterwards.
repaired() { # DESCRIPTION IMAGE
	RC=0
	"$FSCK" -fy "$2" >.out 2>.err || RC=$?
	equal "$1: repaired" "$RC" 1
	RC=0
	"$FSCK" -fn "$2" >.out 2>.err || RC=$?
	equal "  clean afterwards" "$RC" 0
}
# One finding of that id, and the repair restores what `base` holds.
restored() { # ID DESCRIPTION
	"$FSCK" -fn --json bad >.json 2>.err || true
	is "$2: $1" grep -q "\"$1\"" .json
	repaired "$2" bad
	equal "  same contents" "$(content bad)" "$(content "$base")"
}

mkdir -p d/dir/sub
for i in 1 2 3; do echo "$i" >"d/dir/f$i"; done

# ---- deletion times ----

# A clock that has not been set: a number below the inode count would be a link of the orphan list.
mkfs -q -d d img 8M
count=$("$BIN/xw-dump" -h img 2>/dev/null | sed -n 's/^Inode count: *//p')
cp img gone
edit gone 'rm dir/f2'
ino=$("$DEBUGFS" -R 'stat dir/f2' img 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\).*/\1/p')
for clock in 0 5 4294967295 4294967296 15032385535; do
	case $clock in
	0 | 5) want=$(printf '0x%08x' "$count") ;;
	*) want=0xffffffff ;;
	esac
	for dtime in 0 7; do
		cp gone bad
		edit bad "sif <$ino> dtime @$dtime" "sif <$ino> mode 0100644"
		SOURCE_DATE_EPOCH=$clock "$FSCK" -fy bad >.out 2>.err || RC=$?
		SOURCE_DATE_EPOCH=$clock "$FSCK" -fn bad >.out 2>.err
		equal "deletion time $dtime at $clock" "$? $("$DEBUGFS" -R "stat <$ino>" bad 2>/dev/null |
			sed -n 's/.*dtime: \(0x[0-9a-f]*\).*/\1/p')" "0 $want"
	done
done
cp img bad
SOURCE_DATE_EPOCH=0 "$DEBUGFS" -w -R 'rm dir/f1' bad >.dbg 2>&1
is "removed at 0: clean" "$FSCK" -fn bad

done_testing 11
