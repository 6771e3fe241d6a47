#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The account of what was made: the summary and --json against a tree whose numbers are known.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree in.tar
files=$(find tree -type f -links 1 -printf x | wc -c) # names may hold newlines
files=$((files + $(find tree -type f -links +1 -printf '%i\n' | sort -u | wc -l)))
dirs=$(find tree -mindepth 1 -type d | wc -l)
links=$(find tree -type l | wc -l)

for source in in.tar tree; do
	rm -f img
	mkfs --json -d "$source" img
	works "$source: --json"
	equal "$source: files" "$(json files .out)" "$files"
	got=$(json directories .out) # the root may or may not be counted
	is "$source: directories" test "$got" = "$dirs" -o "$got" = $((dirs + 1))
	equal "$source: symlinks" "$(json symlinks .out)" "$links"
	equal "$source: specials" "$(json specials .out)" 1
	equal "$source: hard links" "$(json hardlinks .out)" 1
	equal "$source: size" "$(json size_bytes .out)" "$(stat -c %s img)"
	is "$source: one extent a file, but for the sparse one's three" test \
		"$(json extents .out)" -le $(($(json files_with_data .out) + 3))
	if command -v dumpe2fs >/dev/null; then
		dumpe2fs -h img >dump 2>/dev/null
		for pair in "blocks:Block count" "free_blocks:Free blocks" "inodes:Inode count" \
			"free_inodes:Free inodes"; do
			equal "$source: ${pair%%:*} as dumpe2fs says" "$(json "${pair%%:*}" .out)" \
				"$(sed -n "s/^${pair#*:}: *//p" dump)"
		done
		equal "$source: UUID as dumpe2fs says" "$(json uuid .out)" "$(sed -n 's/^Filesystem UUID: *//p' dump)"
	else
		skip "$source: numbers as dumpe2fs says" "dumpe2fs is not installed" 5
	fi
	clean img "$source: clean"
done

rm -f img
mkfs -d in.tar img
works "a summary"
for label in size inodes free files data metadata time; do
	is "it has a line for $label" grep -q "^  $label " .out
done
is "lines are aligned" sh -c 'test "$(tail -n +2 .out | cut -c1-14 | grep -vc " $")" = 0'

# --free leaves what it says.
for free in 5% 20% 3M; do
	rm -f img
	mkfs --json --free $free -d in.tar img
	works "--free $free"
	blocks=$(json blocks .out) unused=$(json free_blocks .out)
	case $free in
	*%) is "  $unused of $blocks blocks are free" test $((unused * 100)) -ge $((blocks * ${free%\%})) -a \
		$((unused * 100)) -le $((blocks * (${free%\%} + 3))) ;;
	*) is "  $unused of $blocks blocks are free" test "$unused" -ge 768 -a "$unused" -le 1100 ;;
	esac
	is "  and inodes" test "$(json free_inodes .out)" -gt 0
	clean img "  clean"
done
# Many files without content: groups as small as what is in them, not one of 128 MiB for 32,768 inodes.
if python3 -c '
import tarfile
with tarfile.open("tiny.tar", "w") as t:
    for i in range(70000):
        t.addfile(tarfile.TarInfo("d%d/file%d" % (i % 50, i)))' 2>/dev/null; then
	while IFS='|' read -r options most; do
		rm -f img
		# shellcheck disable=SC2086
		mkfs --json $options -d tiny.tar img
		works "70,000 empty files: $options"
		is "  in at most $most MiB" test "$(stat -c %s img)" -le $((most << 20))
		clean img "  and clean"
	done <<'TABLE'
|40
-t ext2|34
-t ext3 -b 1024|40
-O ^flex_bg|34
-O meta_bg,^resize_inode|40
-O quota,orphan_file,sparse_super2|40
--free 50%|90
-g 16384|160
TABLE
	rm -f img tiny.tar
else
	skip "many files without content" "python3 is not installed"
fi

# What cannot be said is not what could not be done.
if [ -e /dev/full ]; then
	rm -f img
	RC=0
	T_ARGS="-d in.tar img >/dev/full"
	"$MKFS" -d in.tar img >/dev/full 2>.err || RC=$?
	: >.out
	fails 1 "the image is made, but its summary could not be written: No space left" "a summary that cannot be written"
	clean img "  and the image is clean"
	RC=0
	"$MKFS" -V >/dev/full 2>.err || RC=$?
	fails 1 "cannot write to standard output" "but not where nothing is made"
	mkfs -q -F img 64M
	RC=0
	T_TOOL=xw-import
	"$IMPORT" img in.tar >/dev/full 2>.err || RC=$?
	fails 1 "the import is done, but its summary could not be written: No space left" "the same of an import"
	T_TOOL=xw-mkfs
fi
done_testing 77
