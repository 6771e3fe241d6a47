#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What -y tells: all that the image came with, in whichever round it is found, and nothing that follows from a repair.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
export PYTHONDONTWRITEBYTECODE=1

fsck() { # ARGS...: status in $RC
	RC=0
	"$FSCK" "$@" >.out 2>.err || RC=$?
}
count() { grep -c "$1" .out; }
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" .out | tail -n 1; }
damage() { # [root]: img becomes bad; two names lead to no inode, and a file claims another one's block, or the bitmap's
	python3 - "$XW_SRC/tests/fsck" "$@" <<-'PY'
		import sys
		sys.path.insert(0, sys.argv[1])
		from image import Image
		i = Image(open("img", "rb").read())
		one = i.lookup("one")
		i.set_entry(i.lookup("dir"), "a", 0, 4, i.per_group)
		i.set_entry(i.lookup("dir/sub"), "b", 0, 4, i.per_group - 1)
		lost = sys.argv[2:] == ["root"]
		i.iblock(one, 12 + 8, 4, i.gd(0, "block_bitmap") if lost else i.blocks(i.lookup("two"))[0])
		if lost:
		    i.put(i.inode_off(2), 128, bytes(128))
		i.save("bad")
	PY
	for copy in json verbose; do cp bad $copy; done
}
told() { # DESCRIPTION: the dangling names, and the files that have lost theirs by that
	equal "$1" "$(count "^Entry '[ab]' in .* has deleted or unused inode .*? yes")" 2
	equal "  and the files that had them" "$(count '^Unattached inode .*? yes')" "$2"
}
files() { # IMAGE: contents of all files but the one that has another block now
	rm -rf got
	mkdir got
	"$DEBUGFS" -R 'rdump / got' "$1" >.dbg 2>&1
	find got -type f ! -size 0 -exec sha1sum {} + | cut -d ' ' -f 1 | sort
}

mkdir -p tree/dir/sub
for f in one two dir/a dir/b dir/sub/b dir/sub/c; do echo "contents of $f" >tree/$f; done
mkfs -q -b 1024 -t ext4 -N 1024 -d tree img 16M
files img >.before

damage
fsck -fy bad
equal "names beside a contested block: repaired" $RC 1
told "  what is wrong in directories that were not read before is told" 2
files bad >.after
equal "  nothing else is lost" "$(comm -23 .before .after | wc -l)" 1
fsck -fy --json json
equal "  all is counted as found" "$(grep -c '"severity":"\(error\|minor\)"' .out)" "$(number found)"
equal "  and nothing as a consequence" "$(number later)" 0
fsck -fn bad
equal "  clean then" $RC 0
clean bad "  clean for e2fsck"

damage root
fsck -fy bad
equal "names below a lost root beside a contested bitmap: repaired" $RC 1
told "  what is wrong below is told" 4
equal "  and the root" "$(count '^Root inode is not allocated.*? yes')" 1
equal "  directories without a name" "$(count '^Unconnected directory inode .*? yes')" 2
equal "  not the count of directories after the root was made" "$(count '^Directories count wrong')" 1
equal "  nor its record after that was cleared" "$(count '^Inode 2 (/) has invalid mode')" 1
files bad >.after
equal "  nothing else is lost" "$(comm -23 .before .after | wc -l)" 1
fsck -fy -v verbose
equal "  -v tells both" "$(count '^Directories count wrong')-$(count '^Inode 2 (/) has invalid mode')" 2-2
fsck -fy --json json
equal "  they are counted apart, and said to follow" "$(number later)-$(count '"follows":true')" 2-2
equal "  and all is repaired" "$(number found)-$(number left)" "$(number repaired)-0"
fsck -fn bad
equal "  clean then" $RC 0
clean bad "  clean for e2fsck"
done_testing 21
