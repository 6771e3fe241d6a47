#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An import into directories that exist: mode, owner, times and attributes are those of the archive, names are added, and blocks, values and
# quota are counted right, whatever the directory had before.
. "$(dirname "$0")/lib.sh"
DBG=$BIN/xw-debugfs
FSCK=$BIN/xw-fsck
dirs="d1 d2 d3 d4 d5 d6"

# facts IMAGE: of each directory mode, owner, modification time and attributes
facts() {
	local d
	for d in $dirs; do
		"$DBG" -R "stat $d" "$1" 2>/dev/null | sed -n "s/.*\(Mode: *[0-9]*\).*/$d \1/p; s/\(User:.*\)Project.*/$d \1/p; s/^ mtime/$d mtime/p"
		"$DBG" -R "ea_list $d" "$1" 2>/dev/null | sed -n "s/^ *user/$d user/p"
	done
}
# Attributes that the archive does not name stay.
united() { # ARCHIVE'S-FACTS IMAGE'S-FACTS
	awk 'NR == FNR { have[$1 $2] = 1; print; next } !have[$1 $2]' "$1" "$2" | sort
}
# dress IMAGE SHIFT: directory number k gets the attributes of kind k + SHIFT
dress() {
	local d k i=0
	for d in $dirs; do
		k=$(((i + $2) % 6)) i=$((i + 1))
		echo "sif $d mode 040$((700 + k))"
		echo "sif $d uid $((1000 + k))"
		echo "sif $d gid $((70000 + k))"
		echo "sif $d mtime 2020010100000$k"
		case $k in
		0) echo "ea_set -f letters $d user.a" ;;
		1) # zeros where others have letters: nothing of those may shine through
			echo "ea_set -f zeros $d user.a"
			echo "ea_set $d user.small $k"
			;;
		2 | 3) # one block for both, where it is shared
			echo "ea_set -f middle $d user.middle"
			echo "ea_set $d user.small same"
			;;
		4) echo "ea_set -f large $d user.large" ;;
		5)
			echo "ea_set -f large $d user.large"
			echo "ea_set -f middle $d user.middle"
			echo "ea_set $d user.small $k"
			;;
		esac
	done >requests
	"$DBG" -w -f requests "$1" >.dbg 2>.err || cat .dbg .err
}

head -c 16 /dev/zero >zeros
tr '\0' x <zeros >letters
head -c 400 /dev/zero | tr '\0' m >middle
head -c 3000 /dev/zero | tr '\0' l >large
for d in $dirs; do
	mkdir -p "old/$d" "new/$d/sub"
	echo old >"old/$d/kept"
	seq 1 400 | sed "s,^,new/$d/name-," | xargs touch
done
for options in "-b 1024 -O quota,ea_inode" "-b 4096 -O quota,project,ea_inode,inline_data" "-b 1024 -O quota,ea_inode,^extents,^64bit,^metadata_csum" \
	"-b 1024 -O ea_inode,itree"; do
	rm -f img from
	# shellcheck disable=SC2086
	mkfs -q $options -d old img 24M
	works "an image: $options"
	# shellcheck disable=SC2086
	mkfs -q $options -d new from 24M
	works "  the archive's"
	dress img 0
	dress from 1
	"$FSCK" -fy img >.out 2>.err # debugfs writes owners without counting them
	"$FSCK" -fn img >.out 2>.err
	equal "  sound" $? 0
	"$BIN/xw-export" from >new.tar 2>.err
	facts from >theirs
	facts img >ours
	equal "  attributes of archive and image" "$(grep -c 'user\.' theirs) $(grep -c 'user\.' ours)" "11 11"
	united theirs ours >wanted
	import img new.tar
	works "  imported"
	facts img | sort >got
	is "  attributes, modes, owners and times are what they should be" diff wanted got
	equal "  names are added" "$(for d in $dirs; do "$DBG" -R "ls -p $d" img 2>/dev/null | grep -c 'name-\|kept\|/sub/'; done | sort -u)" 402
	RC=0
	"$FSCK" -fn img >.out 2>.err || RC=$?
	equal "  xw-fsck finds nothing" $RC 0
done
done_testing 32
