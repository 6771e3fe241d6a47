#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune removes features that own inodes: nothing of them is left, neither an inode, nor a block, nor a feature that depends on them.
. "$(dirname "$0")/lib.sh"
tune() {
	T_TOOL=xw-tune
	run_tool "$BIN/xw-tune" /dev/null "$@"
}
dbg() { "$BIN/xw-debugfs" "${@:3}" -R "$2" "$1" 2>/dev/null; }
# mode NUMBER: of an inode of img.
mode() { dbg img "stat <$1>" | sed -n 's/.*Mode: *\([0-7]*\).*/\1/p'; }
features() { dbg img "show_super_stats -h" | sed -n 's/^Filesystem features: *//p'; }
checked() { "$BIN/xw-fsck" -fn img >.fsck 2>&1; }

mkdir -p tree/sub && seq 1 2000 >tree/sub/file && ln -s sub/file tree/link
mkfs -q -O quota,project,orphan_file -d tree base 32M
works "an image with quota and an orphan file"
# As Linux leaves it while it is mounted, without a journal to be replayed.
dbg base "feature orphan_present" -w >/dev/null
orphan=$(dbg base "show_super_stats -h" | sed -n 's/^Orphan file inode: *//p')
project=$(dbg base "show_super_stats -h" | sed -n 's/^Project quota inode: *//p')
is "the special inodes have numbers" [ "${orphan:-0}" -gt 10 -a "${project:-0}" -gt 10 ]

# options | features that are gone | inodes that are gone
while IFS='|' read -r options gone inodes; do
	cp --sparse=always base img
	tune -q -O "$options" img
	equal "-O $options" "$RC" 0
	left=
	for f in $gone; do case " $(features) " in *" $f "*) left+=" $f" ;; esac; done
	equal "  features left" "$left" ""
	left=
	for i in $inodes; do [ "$(mode "$i")" = 0000 ] || left+=" $i"; done
	equal "  inodes left" "$left" ""
	is "  consistent" checked
	clean img "  for stock, too"
	"$BIN/xw-export" -o - img 2>/dev/null | tar -tf - | sed 's,^\./,,; /^$/d' | sort >names
	equal "  its files" "$(tr '\n' ' ' <names)" "link sub/ sub/file "
done <<TABLE
^orphan_file|orphan_file orphan_present|$orphan
^has_journal|has_journal orphan_file orphan_present|8 $orphan
^has_journal,^orphan_file|has_journal orphan_file orphan_present|8 $orphan
^quota|quota orphan_present|3 4 $project
^project|project orphan_present|$project
^quota,^has_journal|quota has_journal orphan_file orphan_present|3 4 8 $orphan $project
TABLE

done_testing 38
