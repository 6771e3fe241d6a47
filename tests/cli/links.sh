#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import where an inode has more names than its links say: what goes through one name is refused, since another one would be left
# that leads nowhere. Whatever the order in which names are met, and with the right count, everything works.
. "$(dirname "$0")/lib.sh"
[ -x "$IMPORT" ] || skip_all "xw-import is not built"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"

mkdir -p base/d1 base/d2/deep/er base/d3
echo old >base/d1/a
ln base/d1/a base/d2/deep/er/b
echo kept >base/d1/kept
ln base/d1/kept base/d3/kept
mkdir -p new/d1 new/d2/deep/er
echo new >new/d1/a
ln new/d1/a new/d1/h
echo new >new/d2/deep/er/more
: >new/.wh.d1
: >new/.wh.d2
: >new/d1/.wh.a
archive() { tar -C new -cf "$1.tar" "${@:2}"; }
archive link d1/a d1/h
tar --delete -f link.tar d1/a
archive a d1/a
archive h d1/h
archive more d2/deep/er/more
archive no-d1 .wh.d1
archive no-d2 .wh.d2
archive no-a d1/.wh.a

for options in "" "-O itree,^filetype" "-O inline_data -b 1024"; do
	rm -f right wrong
	# shellcheck disable=SC2086
	mkfs -q $options -d base right 16M
	works "an image: $options"
	cp right wrong
	is "  with a wrong count" "$DBG" -w -R "sif /d1/a links_count 1" wrong
	while read -r -a sources; do
		cp wrong img
		import -q img "${sources[@]/%/.tar}"
		fails 1 "img: inode [0-9]+: has more names than links; run" "  ${sources[*]}"
		is "    the image is what it was" cmp img wrong
		cp right img
		import -q img "${sources[@]/%/.tar}"
		works "    with the right count"
		case $options in *itree*) "$BIN/xw-tune" -O ^itree img >/dev/null 2>&1 ;; esac
		clean img "    e2fsck"
	done <<-'TABLE'
		a
		no-a
		no-d1
		no-d2
		more a
		a more
		more no-d1
		no-d1 more
		no-d1 no-d2
		link a h
		link more a h
		link a more h
		link a h more
		more link a h
		link no-d1
		link no-d2
		a no-d2
	TABLE
done
done_testing 210
