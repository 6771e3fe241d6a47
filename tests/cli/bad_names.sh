#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Directory entries whose name cannot be one: "." and ".." among the names, or with a slash. What reads the image says so, and reads the
# others; what would remove or rewrite the directory refuses.
. "$(dirname "$0")/lib.sh"

# rename_entry OLD NEW: in img, the one entry with that name.
rename_entry() {
	python3 - "$1" "$2" <<'P'
import sys
old, new = (a.encode() for a in sys.argv[1:])
with open("img", "r+b") as f:
    image = f.read()
    at = image.index(old)
    assert image.count(old) == 1
    f.seek(at)
    f.write(new.ljust(len(old), b"\0"))
    f.seek(at - 2)
    f.write(bytes([len(new)]))
P
}
mkdir -p tree/dir && echo first >tree/dir/aaaa && echo hidden >tree/dir/vvvvvvvv && echo last >tree/dir/zzzz
echo more >more && tar -cf more.tar more

while read -r features; do
	rm -f base
	mkfs -q -b 1024 -O "^metadata_csum,^dir_index,$features" -d tree base 4M
	works "an image: $features"
	for name in .. . a/b; do
		rm -f img && cp base img
		rename_entry vvvvvvvv "$name"
		cp img damaged
		T_TOOL=xw-export
		run_tool "$EXPORT" /dev/null -o out.tar img
		equal "export: '$name'" "$RC $(grep -c 'warning: dir: .*directory inode 12: .*\(name\|misplaced\)' .err) $(tail -n 1 .err | grep -c '; run xw-fsck -f$')" "1 1 1"
		equal "  the others" "$(tar -tf out.tar | grep -v '^\./$' | sed 's,^\./,,' | sort | tr '\n' ' ')" "dir/ dir/aaaa dir/zzzz "
		rm -rf out && mkdir out
		"$BIN/xw-debugfs" -R "rdump / out" img >.out 2>.err
		equal "rdump: '$name'" "$? $(grep -c "impossible name" .err)" "1 1"
		equal "  the others" "$(cd out && find . -type f | sort | tr '\n' ' ')" "./dir/aaaa ./dir/zzzz "
		import img --directory dir more.tar
		fails 1 "directory inode 12: .*(name|misplaced).*run xw-fsck" "import into the directory"
		is "  changes nothing" cmp img damaged
		"$BIN/xw-debugfs" -w -R "rm -r /dir" img >.out 2>.err
		equal "rm -r" "$? $(grep -c '; run xw-fsck -f$' .err)" "1 1"
		is "  changes nothing" cmp img damaged
		"$BIN/xw-debugfs" -w -R "rm /dir/aaaa" -R "rm /dir/zzzz" -R "rmdir /dir" img >.out 2>.err
		equal "rmdir" "$?" 1
		is "  the directory stays" grep -q 'dir' <("$BIN/xw-debugfs" -R "ls /" img 2>/dev/null)
		"$BIN/xw-fsck" -fy damaged >.out 2>.err
		equal "repaired" "$?" 1
		"$EXPORT" -o - damaged 2>/dev/null | tar -xOf - >contents
		is "  nothing is lost" grep -q hidden contents
	done
done <<'END'
^inline_data
inline_data
END
done_testing 74
