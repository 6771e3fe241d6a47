#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every error branch that a run of a tool can take: for each call stack that ends in an allocation, in a read of the image or of an
# archive, or in a write, one run in which that call fails; and one in which what it reads of an image has wrong bits, where
# checksums tell. Such a run either ends with a message, an exit status and the image as it was or as it should be, or has done
# what the run without a fault does.
#
# An everyday run takes one in four of the stacks, and the first and the last of each kind of call; make check-nightly all
# (XW_ALL_K=1). XW_STRIDE=N: one in N. XW_ONLY=REGEX: only the runs whose description matches.
. "$(dirname "$0")/lib.sh"
XW_STRIDE=${XW_STRIDE:-${XW_ALL_K:-4}}
preload=$XW_BUILD/.libs/stack_preload.so
[ -e "$preload" ] || skip_all "stack_preload.so is not built"
command -v tar >/dev/null || skip_all "tar is not installed"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
export SOURCE_DATE_EPOCH=1700000000

# ---- what the tools work on ----
mkdir -p tree/many tree/a/b tree/gone
for i in $(seq 1 90); do echo "$i" >"tree/many/a-name-of-some-length-$i"; done
for i in 1 2 3 4; do seq 1 $((i * 2000)) >"tree/a/f$i"; done
truncate -s 300000 tree/a/sparse && echo end >>tree/a/sparse
ln tree/a/f1 tree/a/b/hard
ln -s a/b tree/link
ln -s "$(printf 'long%.0s' $(seq 30))" tree/a/slow
echo x >tree/gone/x
mkdir -p new/a new/many/more
for i in $(seq 1 20); do seq 1 $((i * i * 9)) >"new/many/new-$i"; done
echo other >new/a/f2
: >new/.wh.gone
ln new/many/new-1 new/a/hard
find tree new -exec touch -h -d @1600000000 {} +
make_tar tree tree.tar --owner 0 --group 0
make_tar new new.tar --owner 0 --group 0

ids=(-U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=01234567-89ab-cdef-0123-456789abcdef)
make_image() { # FILE OPTION...
	local file=$1
	shift
	rm -f "$file"
	"$MKFS" -q -F "${ids[@]}" -d tree.tar "$@" "$file" 6M >.out 2>.err || fail "an image for the tools: $*"
}
make_image plain.old -b 1024
make_image rich.old -b 1024 -O quota,project,ea_inode,inline_data,^has_journal,itree
make_image old.old -b 1024 -t ext2

# ---- runs ----
single=no # whether a run is several changes
# faulty K COMMAND...: standard output in out; what the tool says in .err.
faulty() {
	local k=$1
	shift
	RC=0
	XW_FAULT_PATH=$T/ XW_FAULT_WHAT=$what XW_FAULT_AT=$k LD_PRELOAD=$preload "$@" >out 2>.err </dev/null || RC=$?
}
# State before each run: a copy of OLD as img, or no img where OLD is "none". An img known to equal OLD is kept (untouched=yes).
put_old() {
	[ ! -d dir ] || rm -rf dir
	[ ! -e img.xw-redo ] && [ ! -e img.xw-redo.tmp ] && [ ! -e img.e2undo ] || rm -f img.xw-redo img.xw-redo.tmp img.e2undo
	if [ "$old" = none ]; then
		[ ! -e img ] || rm -f img
	elif [ $untouched = no ]; then
		cp --sparse=always "$old" img
	fi
	untouched=no
}
contents() { "$EXPORT" -q img 2>/dev/null | cksum; }
# extracted: names and contents below dir.
extracted() { [ ! -d dir ] || (cd dir && find . | sort && find . -type f -print0 | sort -z | xargs -0 cat) | cksum; }
# as_wanted: the result is that of the run without a fault: wanted.img, where that run left an image, and $wanted below dir.
as_wanted() {
	if [ -e wanted.img ]; then cmp -s img wanted.img; else gone img; fi &&
		{ [ -z "$wanted" ] && [ ! -d dir ] || [ "$(extracted)" = "$wanted" ]; }
}
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 5 ] || diag "$what $k: $1; it said: $(head -n 1 .err)"
}
# What a tool opens again, with its redo file or journal replayed, is sound.
sound() { "$BIN/xw-fsck" -p img >fsck.out 2>&1 && "$BIN/xw-fsck" -fn img >fsck.out 2>&1; }
# judge: the run that has just ended. Where the journal cannot be opened for lack of memory, a redo file commits instead: then the
# bytes differ, and the contents do not. Requests of a debugger are single changes: any number of them may have succeeded.
judge() {
	[ $RC -lt 64 ] || { wrong "exit status $RC"; return; }
	if [ $RC = 0 ]; then
		[ ! -s out ] && [ ! -s out.wanted ] || cmp -s out out.wanted || wrong "exit status 0, and another output"
		if as_wanted; then untouched=$reads_only; else is_state "$new_contents" || wrong "exit status 0, and another result"; fi
	elif [ ! -s .err ]; then
		wrong "exit status $RC without a word"
	elif [ "$old" != none ] && cmp -s img "$old"; then
		untouched=yes
	elif [ "$old" != none ]; then
		is_state "$old_contents" "$new_contents" || wrong "exit status $RC, and an image that is neither old nor new"
	fi
}
# is_state CONTENTS...: the image has some of these and is sound. Where each request is a change of its own it is only sound. Wrong
# bits of an inode's neighbour in the same block are written as they were read.
is_state() {
	local now
	[ "$old" != none ] || return 1
	[ $RC != 0 ] || [ "$what" != flip ] || return 0
	now=$(contents)
	case "$*" in *"$now"*) ;; *) [ $single = yes ] || return 1 ;; esac
	sound
}
# sweep DESCRIPTION OLD KINDS COMMAND...
sweep() {
	local desc=$1 old=$2 kinds=$3 what k bad=0 n=0 failed=0 wanted new_contents='' old_contents='' untouched=no reads_only
	shift 3
	[[ $desc =~ ${XW_ONLY-} ]] || { skip "$desc" "not in XW_ONLY" 1; return; }
	if [ "$old" != none ]; then
		put_old
		old_contents=$(contents)
	fi
	for what in $kinds; do
		put_old
		rm -f stacks
		XW_FAULT_LOG=$T/stacks faulty 0 "$@"
		if [ $RC != 0 ]; then
			fail "$desc: without a fault"
			return
		fi
		mv out out.wanted
		[ -s stacks ] || wrong "no faults to try"
		rm -f wanted.img
		[ ! -e img ] || cp --sparse=always img wanted.img
		wanted=$(extracted)
		reads_only=no
		[ "$old" = none ] || ! cmp -s "$old" wanted.img || reads_only=yes
		[ "$old" = none ] || new_contents=$(contents)
		for k in $(strided <stacks); do
			put_old
			faulty "$k" "$@"
			judge
			n=$((n + 1))
			[ $RC = 0 ] || failed=$((failed + 1))
		done
	done
	if [ $bad = 0 ] && [ $failed -gt 0 ]; then
		pass "$desc: $n faults, $failed failed"
	else
		fail "$desc: $n faults, $failed failed, $bad wrong"
	fi
}

sweep "xw-mkfs, a tar, no SIZE" none "alloc read write" "$MKFS" -q --jobs 1 "${ids[@]}" -b 1024 -d tree.tar img
sweep "xw-mkfs, a directory, many features" none "alloc read write" "$MKFS" -q --jobs 1 "${ids[@]}" -b 1024 \
	-O quota,project,ea_inode,inline_data,itree -d tree img 6M
for how in file inside journal; do
	sweep "xw-import --commit $how" plain.old "alloc read write flip" "$IMPORT" -q --jobs 1 --commit $how img new.tar
done
sweep "xw-import, many features" rich.old "alloc read write" "$IMPORT" -q --jobs 1 img new.tar
sweep "xw-export" rich.old "alloc read" "$EXPORT" -q --jobs 1 img
sweep "xw-export --extract" plain.old "alloc read" "$EXPORT" -q --jobs 1 --extract dir img
for list in ^has_journal,quota ^metadata_csum ^dir_index,project; do
	sweep "xw-tune -O $list" plain.old "alloc read write flip" "$BIN/xw-tune" -O $list img
done
sweep "xw-tune of ext2" old.old "alloc read write" "$BIN/xw-tune" -O has_journal,extents,metadata_csum img
sweep "xw-dump" rich.old "alloc read flip" "$BIN/xw-dump" img
sweep "xw-freefrag" plain.old "alloc read flip" "$BIN/xw-freefrag" img
cat >look <<'CMDS'
ls -l /many
stat /a/f3
blocks /a/sparse
htree_dump /many
filefrag -v /a/f4
icheck 900
logdump -a
testb 500 10
ffi
lsdel
CMDS
sweep "xw-debugfs looks" plain.old "alloc read flip" "$BIN/xw-debugfs" -f look img
# A path that cannot be read is printed as far as it is known.
sweep "xw-debugfs ncheck" plain.old alloc "$BIN/xw-debugfs" -R "ncheck 12 13 14 100" img
cat >change <<'CMDS'
mkdir /dir
write tree/a/f4 /dir/f
symlink /dir/to /some/where
ea_set /dir/f user.x value
rm /a/f3
sif /dir mtime 1600000000
punch /dir/f 1 3
CMDS
single=yes
sweep "xw-debugfs changes" plain.old "alloc read write flip" "$BIN/xw-debugfs" -w -f change img
done_testing 17
