#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What tools write, flush and name, in which order: nothing that makes an image appear, or a change count, comes before what it
# points to has been flushed, and nothing is written behind the last flush. The calls are recorded by a preloaded library.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
mkdir w tree
W=$T/w
seq 20000 >tree/file

# The record as words: W writes, holes and sizes, P the superblock, S a flush, N the file gets its name, R it loses it; with j before
# them of a journal device, u of an undo file, r of a redo file; D the flush of a directory. Neighboring writes are one W.
words() {
	awk '{
		file = $2 ~ /\/journal$/ ? "j" : $2 ~ /\/[^\/]*undo[^\/]*$/ ? "u" : $2 ~ /xw-redo/ ? "r" : $2 ~ /\/[^\/]*(img|#)[^\/]*$/ ? "" : "dir"
		word = file "W"
		if ($1 == "write" && $NF == 1024 && $(NF - 1) == 1024) word = file "P"
		if ($1 == "sync") word = file == "dir" ? "D" : file "S"
		if ($1 == "name") word = file "N"
		if ($1 == "remove") word = file "R"
		if (word != last || word !~ /W$/) printf "%s ", word
		last = word
	} END { print "" }' record
}
# order DESCRIPTION PATTERN TOOL ARGUMENT...: the words match the pattern
order() {
	local desc=$1 pattern=$2 tool=$3 got
	shift 3
	rm -f record
	RC=0
	LD_PRELOAD=$fault XW_FAULT_PATH=$W XW_FAULT_TRACE=$T/record "$BIN/$tool" "$@" </dev/null >.out 2>.err || RC=$?
	[ $RC = 0 ] || { fail "$desc: status $RC"; return; }
	got=$(words)
	if [[ $got =~ ^$pattern\ $ ]]; then pass "$desc"; else
		fail "$desc"
		diag "got '$got', wanted '$pattern'"
	fi
}

order "a new image: contents, superblock, name" "W S P S N D" xw-mkfs -q -d tree "$W/img" 8M
order "  with direct I/O, where the superblock is in a larger piece" "(W S W|W S P) S N D" xw-mkfs -q -D -d tree "$W/img-d" 8M
order "a new image without a size" "W S P S N D" xw-mkfs -q -d tree "$W/img-s"
order "into an existing file" "W S P S" xw-mkfs -q -F -d tree "$W/img" 8M
order "  whose room is kept: first the old superblock goes" "W S W S P S" xw-mkfs -q -F -K -d tree "$W/img" 8M
order "a journal device: log, superblock, name" "W S P S jN D" xw-mkfs -q -O journal_dev "$W/journal" 4M
# a thread of its own writes the image meanwhile
order "an image with that journal, which knows its user before" "(W )?jW (W )?jS (W )?S P S N D" \
	xw-mkfs -q -J device="$W/journal" "$W/img-j" 8M
order "bad blocks: each pattern is flushed before it is read" "(W S ){4,}W S P S" xw-mkfs -q -F -cc "$W/img-d" 8M

# a record in the image: blocks, flush; the superblock that points to it, blocks, the superblock that says that they are in
# place, removal of the record, superblock
inside="(W S )*W S"
rest="P S W S P S (W )?P S"
order "a change with a redo record" "$inside $rest" xw-tune -q -U random "$W/img"
order "  and an undo file, which has its name before the change counts" "$inside (W S )?uN D $rest" \
	xw-tune -q -U random -z "$W/undo" "$W/img"
order "an import with a redo record" "W S $inside $rest" xw-import -q --commit inside "$W/img" tree
# redo file: blocks, flush, name, directory; then the superblock that points to it, blocks, superblock, removal
redo="(W S )*W? ?rW rS rN D"
rest="P S W S P S rR D"
order "a change with a redo file" "$redo $rest" xw-tune -q --commit file -U random "$W/img"
order "  and an undo file" "$redo W S uN D $rest" xw-tune -q --commit file -U random -z "$W/undo2" "$W/img"
order "  which goes on" "$redo W S (uN )?uN D $rest" xw-tune -q --commit file -U random -z "$W/undo2" "$W/img"
order "an import with a redo file" "W S (W )?$redo $rest" xw-import -q --commit file "$W/img" tree
"$MKFS" -q -F -j "$W/img" 16M
# journal: RECOVER set, log, commit block, start of the log, blocks, empty log, RECOVER cleared
order "a change through the journal" "(W S )?W? ?P S (W S ){4,5}P S" xw-debugfs -w -R "mkdir dir" "$W/img"
order "an import through the journal" "W S (W )?P S (W S ){4,5}P S" xw-import -q --commit journal "$W/img" tree
done_testing 17
