#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A tool that refuses an image because it is damaged says that xw-fsck repairs it, and changes nothing.
. "$(dirname "$0")/lib.sh"

mkdir -p tree/dir && echo text >tree/file
for i in $(seq 200); do : >"tree/dir/name-number-$i"; done
mkfs -q -b 1024 -O quota -d tree base 16M
works "an image"
tar -C tree -cf more.tar file
dbg() { "$BIN/xw-debugfs" "${@:2}" -R "$1" bad 2>/dev/null; }
cp base bad
read -r block offset < <(dbg "imap /dir" | sed -n 's/.*block \([0-9]*\), offset 0x0*\(.*\)/\1 0x\2/p')
inode=$((block * 1024 + offset)) leaf=$(($(dbg "bmap /dir 2") * 1024))
poke() { printf '\377\377' | dd of=bad bs=1 seek="$1" conv=notrunc status=none; }

# name | how to damage it
while IFS='|' read -r name how; do
	rm -f bad && cp base bad
	eval "$how" >/dev/null 2>&1
	cp bad before
	refused=0
	: >wrong
	while read -r tool args; do
		cp before bad
		eval "\"$BIN/xw-$tool\" $args bad" >.out 2>.err </dev/null && continue
		refused=$((refused + 1))
		# aging is a sequence of commits, and ends with the last one
		[ "$tool" = age ] || cmp -s bad before || echo "xw-$tool $args: changed the image" >>wrong
		grep -q 'xw-fsck' .err || echo "xw-$tool $args: $(tail -n 1 .err)" >>wrong
	done <<'TOOLS'
tune -L label
tune -O ^quota
tune -O ^dir_index
age -q --profile pazdera --ops 300 --dir dir
export -o /dev/null
export -t
debugfs -w -R "rm /dir/name-number-7"
debugfs -w -R "mkdir /dir/new"
TOOLS
	cp before bad
	if ! "$IMPORT" --directory dir bad more.tar >.out 2>.err; then
		refused=$((refused + 1))
		grep -q 'xw-fsck' .err || echo "xw-import: $(tail -n 1 .err)" >>wrong
	fi
	equal "$name: $refused refused" "$(cat wrong)" ""
	is "  some did" [ $refused -gt 0 ]
done <<'TABLE'
a descriptor|poke 2050
the superblock|poke 1100
an inode|poke $((inode + 4))
a directory block|poke $((leaf + 4))
an extent tree|poke $((inode + 60))
an error that Linux recorded|dbg "ssv state 2" -w
not unmounted|dbg "ssv state 0" -w
the number of blocks|dbg "ssv blocks_count 999999" -w
the number of inodes|dbg "ssv inodes_count 99" -w
a file that was cut off|truncate -s 9M bad
the block count of a directory|dbg "sif /dir blocks 1" -w
the number of a quota file|dbg "ssv usr_quota_inum 12" -w
TABLE
done_testing 25
