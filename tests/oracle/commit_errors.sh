#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A commit that fails at any of its steps, those on redo file and directory included, exits with 1, and says which state the image
# has; the next tool that writes finds it so, and leaves nothing beside it.
#
# XW_ALL_K=1: every step, and not a sample of them.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

make_tree tree
mkdir work
mkfs -q -j -J size=4 -U $U -E hash_seed=$U --free 3M -d tree old
works "an image"
faulty() { # K TOOL ARGUMENT...: in work, whose files and itself are all watched
	local k=$1 tool=$2
	shift 2
	RC=0
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/work XW_FAULT_AT=$k XW_FAULT_MODE=eio XW_FAULT_LOG=$T/steps \
		"$BIN/$tool" "$@" work/img </dev/null >.out 2>.err || RC=$?
}
put_old() { rm -f work/* && cp --sparse=always old work/img; }
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "step $k: $1 ($(cat .err))"
}
contents() { { "$EXPORT" "$1" && "$BIN/xw-dump" -h "$1"; } 2>/dev/null | grep -av '^Journal sequence' | cksum; }
# every DESCRIPTION NEW TOOL ARGUMENT...: NEW: commits that are complete, and still fail, are wanted
every() {
	local desc=$1 want_new=$2 k bad=0 n_old=0 n_new=0 n_half=0 stride=1 last
	shift 2
	put_old
	faulty 0 "$@"
	[ $RC = 0 ] || { fail "$desc: status $RC"; return; }
	mv work/img new
	[ -n "${XW_ALL_K-}" ] || stride=$(($(cat steps) / 40 + 1))
	last=$(cat steps)
	# the last ones are those of redo file and directory
	for k in $({ seq 1 $stride "$last" && seq $((last - 3)) "$last"; } | sort -un); do
		put_old
		faulty "$k" "$@"
		[ $RC != 0 ] || continue
		[ $RC = 1 ] || wrong "status $RC"
		tail -n 1 .err >.last
		if grep -Eq 'the change is complete in .*(finishes it|recovers)' .last; then
			n_half=$((n_half + 1))
		elif grep -q 'the change is complete in the image' .last; then
			n_new=$((n_new + 1))
			cmp -s work/img new || wrong "not new"
		elif grep -Eq 'unchanged|nothing was committed' .err; then
			n_old=$((n_old + 1))
			[ "$(contents work/img)" = "$before" ] || wrong "not old"
		else # before the commit
			[ "$(contents work/img)" = "$before" ] || wrong "says nothing of the state, and is not old"
		fi
		"$BIN/xw-debugfs" -w -R "stats -h" work/img >.out2 2>.err2 || wrong "cannot be opened again: $(cat .err2)"
		[ "$(echo work/*)" = work/img ] || wrong "left behind: $(echo work/*)"
	done
	if [ $bad = 0 ] && [ $n_old -gt 0 ] && [ $n_half -gt 0 ]; then
		pass "$desc: $n_old old, $n_half half way, $n_new new"
	else
		fail "$desc: $n_old old, $n_half half way, $n_new new, $bad wrong"
	fi
	[ -z "$want_new" ] || is "  the removal of the redo file is among them" test $n_new -gt 0
}
before=$(contents old)
every "xw-tune -U, a redo record" "" xw-tune -U 7c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
every "xw-tune -U, a redo file" 1 xw-tune --commit file -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
every "xw-debugfs -w, through the journal" "" xw-debugfs -w -R "mkdir /dir"
done_testing 5
