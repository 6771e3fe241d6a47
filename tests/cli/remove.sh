#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many names and whole directories removed: by rm of xw-debugfs (several names, patterns, -r), and by whiteouts of an import.
# What stays is what should, e2fsck and itree_check find nothing, and links and usage are right.
. "$(dirname "$0")/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$DBG" /dev/null "$@"
}
links() { "$DBG" -R "stat $2" "$1" | sed -n 's/.*Links: *\([0-9]*\).*/\1/p'; }
names() { "$DBG" -R "ls -p $2" "$1" | awk -F/ '$6 != "." && $6 != ".." && $6 != "" { print $6 }' | sort | tr '\n' ' '; }
free_inodes() { "$DBG" -R show_super_stats "$1" 2>/dev/null | sed -n 's/^Free inodes: *//p'; }
# sound IMAGE: e2fsck, which knows no itrees, and itree_check of the directories that have one
sound() {
	local d
	for d in $(names "$1" /); do
		[ "$d" = stay ] || [ "$d" = many ] || continue
		is "  itree_check $d" sh -c "'$DBG' -R 'itree_check $d' $1 | grep -E ', 0 findings|no itree'"
	done
	cp "$1" plain
	"$BIN/xw-tune" -O ^itree plain >/dev/null 2>&1
	clean plain "  e2fsck"
}

mkdir -p tree/many/sub/deep tree/stay tree/little
for i in $(seq 1 600); do echo "$i" >"tree/many/file-$i"; done
for i in $(seq 1 600); do : >"tree/stay/name-$i"; done
: >tree/stay/.hidden
: >'tree/stay/odd[1]'
: >'tree/stay/*'
: >tree/little/a
: >tree/little/b
head -c 300000 /dev/urandom >tree/many/sub/deep/big
ln -s "$(printf 'x%.0s' $(seq 1 200))" tree/many/sub/symlink
mkfifo tree/many/sub/fifo
ln tree/many/file-1 tree/stay/kept
ln tree/many/file-2 tree/many/sub/again
ln tree/many/file-3 tree/little/third
ln tree/many/file-3 tree/many/sub/deep/third

for options in "-b 4096" "-b 1024 -O itree" "-O itree,quota,inline_data,ea_inode" "-b 1024 -O ^metadata_csum,^extents,^64bit,quota" \
	"-b 1024 -O itree,^filetype,large_dir"; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -d tree img 32M
	works "an image: $options"
	before=$(free_inodes img)

	cp img one
	dbg -w -R "rm -r many" one
	works "  rm -r"
	equal "  what is left" "$(names one /)" "little lost+found stay "
	equal "  names elsewhere" "$(links one /stay/kept) $(links one /little/third) $(links one /)" "1 1 5"
	equal "  all inodes are free again" "$(($(free_inodes one) - before))" 604
	sound one
	cp img two
	dbg -w -R "cd many" -R "rm -rf /many/ /nothing" two
	fails 1 'is the current directory of this session' "  not from below itself"
	equal "  it is all there" "$(names two / | wc -w) $(names two /many | wc -w)" "4 601"
	dbg -w -R "rm -rf many/ little nothing stay/none*" two
	works "  -f and slashes"
	equal "  what is left" "$(names two /)" "lost+found stay "
	sound two

	cp img three
	dbg -w -R "rm stay/name-1 stay/name-2* /stay/name-2 many/file-2 stay/kept" three
	works "  names and patterns"
	equal "  what is left of them" "$(names three /stay | tr ' ' '\n' | grep -c name-)" 488
	equal "  links of what was named twice" "$(links three /many/sub/again) $(links three /many/file-1)" "1 1"
	sound three
	dbg -w -R "rm stay/name-*" -R "rm stay/odd[1]" -R "rm stay/*" three
	works "  all of a pattern; names that look like one"
	equal "  those and no other" "$(names three /stay)" ".hidden "
	dbg -w -R "rm -f stay/*" -R "rm -f stay/?hidden" three
	works "  patterns that match a hidden name only"
	equal "  which stays" "$(names three /stay)" ".hidden "
	dbg -w -R "rm stay/.h*" three
	works "  a pattern that begins with a dot"
	equal "  matches it" "$(names three /stay)" ""
	sound three
	dbg -w -R "rm little/*" -R "rmdir little" three
	works "  names of a small directory"
	sound three

	# the same by an import, beside names that are still to be seen
	cp img four
	mkdir -p layer/little layer/new
	: >layer/.wh.many
	: >layer/little/.wh.third
	: >layer/stay-not
	tar -C layer -cf layer.tar .wh.many little/.wh.third stay-not new
	import -q four layer.tar
	works "  a whiteout of a directory"
	equal "  what is left" "$(names four /)" "little lost+found new stay stay-not "
	equal "  names elsewhere" "$(links four /stay/kept) $(names four /little)" "1 a b "
	sound four
	rm -rf layer
	mkdir -p layer/many layer/stay
	: >layer/many/.wh..wh..opq
	: >layer/many/fresh
	: >layer/stay/.wh.kept
	tar -C layer -cf layer.tar many/fresh many/.wh..wh..opq stay/.wh.kept
	cp img five
	import -q five layer.tar
	works "  an opaque directory"
	equal "  what is left" "$(names five /many) $(links five /little/third)" "fresh  1"
	equal "  a name that both hid" "$(names five /stay | grep -c kept)" 0
	sound five
	rm -rf layer
done

# ---- what is refused ----
cp img one
sum=$(sha256sum <one)
while IFS='|' read -r request said; do
	dbg -w -R "rm $request" one
	fails 1 "$said" "rm $request"
done <<'END'
|usage: rm
-x many|usage: rm
many|'many': is a directory
stay/name-1 many|'many': is a directory
many/*|'sub': is a directory
-r /|/: cannot be removed
-r many/.|cannot be removed
-r ..|cannot be removed
nothing|'nothing': not found
stay/name-1 stay/nothing|'nothing': not found
stay/none*|stay/none.: no such file
nothing/here|no such file
stay/name-1/x|not a directory
END
dbg -w -R "rm $(printf 'n%.0s' $(seq 1 300))" one
fails 1 'more than 255' "a name that is too long"
equal "nothing was changed" "$(sha256sum <one)" "$sum"
dbg -R "rm stay/name-1" one
fails 1 '-w' "without -w"

# ---- no space ----
mkfs -q -O inline_data -d tree full 32M
head -c 3000 /dev/zero | tr '\0' x >small
dbg -w -R "write small filler" -R "fallocate filler 0" full
works "a full image"
for i in $(seq 1 16); do echo "write small filler-$i"; done >requests
"$DBG" -w -f requests full >.out 2>&1
dbg -w -R "rm little/a" full
fails 1 'no (free )?block' "names in an inode need a block to leave it"
equal "they are there" "$(names full /little)" "a b third "
dbg -w -R "rm -r little" full
works "the directory goes without"
clean full "  e2fsck"
done_testing 236
