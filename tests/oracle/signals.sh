#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Signals to xw-tune and xw-debugfs -w at the steps of a change: the first one ends it, with the old image and nothing beside it,
# or comes too late, and the new image is whole. A second one kills, but not while the change is being committed.
#
# XW_ALL_K=1: every step, and not a sample of them. XW_STRIDE=N: an N-th of the sample.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
env --default-signal=INT true 2>/dev/null || skip_all "env --default-signal is missing (coreutils 8.31)"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

# A background job of a script ignores SIGINT; so may this script itself.
faulty() { # K MODE TOOL [ARGUMENT...]
	local k=$1 mode=$2 tool=$3
	shift 3
	RC=0
	env --default-signal=INT LD_PRELOAD="$fault" XW_FAULT_PATH="$T/img" XW_FAULT_AT="$k" XW_FAULT_MODE="$mode" \
		XW_FAULT_LOG="$T/steps" "$BIN/$tool" "$@" img </dev/null >.out 2>.err || RC=$?
}
put_old() { rm -f img* && cp --sparse=always old img; }
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "$mode at $k: $1 ($(cat .err))"
}
contents() { { "$EXPORT" "$1" && "$BIN/xw-dump" -h "$1"; } 2>&1 | cksum; }
# every DESCRIPTION MODE TOOL [ARGUMENT...]
every() {
	local desc=$1 mode=$2 k bad=0 n_old=0 n_new=0 n_killed=0 stride
	shift 2
	put_old
	faulty 0 none "$@"
	[ $RC = 0 ] || { fail "$desc: rc $RC"; return; }
	rm -f img.undo
	mv img new
	stride=1
	[ -n "${XW_ALL_K-}" ] || stride=$((($(cat steps) / 24 + 1) * ${XW_STRIDE:-1}))
	for k in $({ seq 1 $stride "$(cat steps)" && cat steps; } | sort -un); do
		put_old
		faulty "$k" "$mode" "$@"
		[ $RC != 0 ] || rm -f img.undo # which is wanted
		[ "$(echo img*)" = img ] || wrong "left behind: $(echo img*)"
		case $RC in
		0) n_new=$((n_new + 1)) && { cmp -s img new || wrong "done, and not new"; } ;;
		1)
			n_old=$((n_old + 1))
			cmp -s img old || wrong "ended, and not old"
			grep -q interrupted .err || wrong "ended for another reason"
			;;
		130)
			n_killed=$((n_killed + 1))
			[ $mode = twice ] || wrong "killed"
			[ "$(contents img)" = "$(contents old)" ] || wrong "killed, and not old"
			;;
		*) wrong "exit status $RC" ;;
		esac
	done
	if [ $bad = 0 ] && [ $((n_old + n_killed)) -gt 0 ] && [ $n_new -gt 0 ]; then
		pass "$desc, $mode at $(cat steps) steps: $n_old old, $n_new new, $n_killed killed"
	else
		fail "$desc, $mode at $(cat steps) steps: $n_old old, $n_new new, $n_killed killed, $bad wrong"
	fi
}

make_tree tree
mkfs -q -U $U -E hash_seed=$U --free 3M -d tree old
works "an image"
for mode in int twice; do
	every "xw-tune -L" $mode xw-tune -L label
	every "xw-tune -U" $mode xw-tune -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
	every "xw-tune -O ^has_journal,itree" $mode xw-tune -O ^has_journal,itree
	every "xw-debugfs, through the journal" $mode xw-debugfs -w -R "write $T/tree/sub/big /big" -R "rm /many/entry-number-7"
	every "xw-debugfs, an undo file" $mode xw-debugfs -w -z "$T/img.undo" -R "mkdir /dir"
done
done_testing 11
