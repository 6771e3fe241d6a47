#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-fsck where blocks cannot be read, writes and syncs fail, or a signal comes: one line says what failed, the exit status is
# the documented one, and the image is as it was or repaired.
#
# XW_ALL_K=1: every step and every block in use, and not a sample of them.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so bad_blocks=$XW_BUILD/.libs/bad_preload.so
[ -e "$fault" ] && [ -e "$bad_blocks" ] || skip_all "fault_preload.so and bad_preload.so are not built"
command -v python3 >/dev/null || skip_all "python3 is not installed"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
env --default-signal=INT true 2>/dev/null || skip_all "env --default-signal is missing (coreutils 8.31)"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

# An image whose root directory has a name that leads nowhere, and whose counts are wrong.
mkdir -p d/sub/deep work
for i in $(seq 1 200); do echo "$i" >"d/sub/name-of-file-$i"; done
seq 1 3000 >d/sub/deep/file
mkfs -q -b 1024 -U $U -E hash_seed=$U -d d sound 8M
works "an image"
T_TOOL=xw-fsck
cat >hurt.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from image import Image
i = Image(open("sound", "rb").read())
i.set_entry(i.lookup("/sub/deep"), "file", 7, 1, 6)
i.set_inode(i.lookup("/sub/name-of-file-7"), "links", 9)
i.set_sb("free_blocks_count", 7)
open("old", "wb").write(i.b)
PY
PYTHONDONTWRITEBYTECODE=1 python3 hurt.py "$XW_SRC/tests/fsck" || { fail "it is damaged"; done_testing 33; }
put_old() { rm -rf work && mkdir work && cp --sparse=always old work/img; }
fsck() { # ARGUMENT...: on work/img; further variables are in ENV
	RC=0
	env --default-signal=INT "${ENV[@]}" "$BIN/xw-fsck" "$@" work/img </dev/null >.out 2>.err || RC=$?
	T_ARGS="${ENV[*]} $*"
}
ENV=(X=)
put_old
fsck -fy
equal "it is damaged, and repaired" $RC 1
cp --sparse=always work/img new
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "$at: $1 (status $RC; $(head -n 3 .err | tr '\n' ' '))"
}
is_old() { cmp -s work/img old; }
is_new() { cmp -s work/img new; }
# What is demanded of any run that failed; $1: what the line must say.
check_failed() {
	[ $((RC & 8)) != 0 ] && [ $RC -lt 16 ] || wrong "status"
	[ "$(grep -c '^xw-fsck: ' .err)" -ge 1 ] && [ "$(grep -vc warning: .err)" = 1 ] || wrong "not one line"
	grep -Eq "^xw-fsck: .*($1)" .err || wrong "the line says nothing of it"
	! grep -q 'WAS MODIFIED' .out || wrong "says that it modified the filesystem"
}

# Blocks that cannot be read. Those of files do not matter; nothing else is repaired.
"$BIN/xw-debugfs" -R "icheck $(seq -s ' ' 1 2000)" old 2>/dev/null | awk '$2 ~ /^[0-9]+$/ {print $1}' >of_inodes
blocks=$({ seq 1 60 && cat of_inodes; } | sort -un | awk -v n="${XW_ALL_K:-23}" 'NR % n == 1 || n == 1')
bad=0 n_failed=0 n_done=0
put_old
for b in $blocks; do
	at="block $b cannot be read"
	ENV=(LD_PRELOAD="$bad_blocks" XW_BAD_SIZE=1024 XW_BAD_BLOCKS="$b")
	for how in -fn -fy; do
		fsck $how
		[ $how = -fy ] || is_old || wrong "-n wrote"
		if [ $((RC & 8)) != 0 ]; then
			n_failed=$((n_failed + 1))
			is_old || wrong "failed, and changed"
			check_failed 'Input/output error'
		elif [ $how = -fy ]; then
			n_done=$((n_done + 1))
			[ $RC = 1 ] && is_new || wrong "neither failed nor repaired"
			put_old
		fi
		[ "$(echo work/*)" = work/img ] || { wrong "left behind: $(echo work/*)"; put_old; }
	done
done
if [ $bad = 0 ] && [ $n_failed -gt 0 ]; then
	pass "blocks that cannot be read: $n_failed runs failed, $n_done repaired"
else
	fail "blocks that cannot be read: $n_failed runs failed, $n_done repaired, $bad wrong"
fi

# Calls that fail, and signals, at each step.
put_old
ENV=(LD_PRELOAD="$fault" XW_FAULT_PATH="$T/work" XW_FAULT_LOG="$T/steps")
fsck -fy
steps=$(cat steps)
for mode in eio enospc dead int twice; do
	bad=0 n_old=0 n_new=0 n_half=0
	for k in $(seq 1 "${XW_ALL_K:-3}" "$steps") $((steps - 1)) $((steps)); do
		at="$mode at $k of $steps"
		put_old
		ENV=(LD_PRELOAD="$fault" XW_FAULT_PATH="$T/work" XW_FAULT_AT="$k" XW_FAULT_MODE=$mode)
		fsck -fy
		case $mode in
		int | twice)
			if [ $((RC & 32)) != 0 ]; then
				is_old || wrong "canceled, and changed"
				! grep -q 'WAS MODIFIED' .out || wrong "says that it modified the filesystem"
				grep -q 'canceled; nothing was changed' .out || wrong "does not say so"
			elif [ $RC = 1 ]; then
				is_new || wrong "status 1, and not repaired"
			else
				wrong "status"
			fi
			[ "$(echo work/*)" = work/img ] || wrong "left behind: $(echo work/*)"
			;;
		*)
			if [ $RC != 1 ]; then
				check_failed 'Input/output error|No space left'
			elif ! is_new; then
				wrong "status 1, and not repaired"
			fi
			;;
		esac
		if is_old; then n_old=$((n_old + 1)); elif is_new; then n_new=$((n_new + 1)); else n_half=$((n_half + 1)); fi
		ENV=(X=)
		fsck -p -f
		case $RC in 0 | 1 | 4) ;; *) wrong "then -p" ;; esac
		fsck -fy
		[ $RC -le 1 ] && is_new || wrong "run again, and not repaired"
		[ "$(echo work/*)" = work/img ] || wrong "left behind by the second run: $(echo work/*)"
	done
	if [ $bad = 0 ] && [ $n_old -gt 0 ]; then
		pass "$mode at 1 in ${XW_ALL_K:-3} of $steps steps: $n_old unchanged, $n_half to be completed, $n_new repaired"
	else
		fail "$mode at 1 in ${XW_ALL_K:-3} of $steps steps: $n_old unchanged, $n_half to be completed, $n_new repaired, $bad wrong"
	fi
done

# Limits of the host, and images that are no whole ones.
fails_old() { # STATUS REGEX DESCRIPTION
	fails "$@"
	is "  and the image is unchanged" cmp work/img "${WHOLE:-old}"
	equal "  and nothing lies beside it" "$(ls work)" img
}
ENV=(X=)
put_old
RC=0
(ulimit -f 1000 && exec "$BIN/xw-fsck" -fy work/img) </dev/null >.out 2>.err || RC=$?
fails_old 8 'img: .*file size limit \(ulimit -f\)' "a file size limit below the image's size"
put_old
truncate -s 4M work/img && cp work/img short
WHOLE=short
fsck -fy
fails_old 8 'img: the filesystem has 8192 blocks, the device 4096' "an image shorter than its superblock says"
truncate -s 1500 work/img && cp work/img short
fsck -fy
fails_old 8 'img: too small to hold' "an image that ends within its superblock"
WHOLE=
if ! is_root || { command -v setpriv >/dev/null && chmod 711 "$T" && reach_tools && user_reaches; }; then
	as_user() { # ARGUMENT...
		RC=0
		# shellcheck disable=SC2086
		if is_root; then $AS_USER "$REACHABLE/xw-fsck" "$@"; else "$BIN/xw-fsck" "$@"; fi </dev/null >.out 2>.err || RC=$?
	}
	put_old
	chmod 777 work
	chmod 444 work/img
	for how in -fy -p; do
		as_user $how work/img
		fails_old 8 'img: cannot open: Permission denied' "$how of a file that is read-only"
	done
	as_user -fn work/img
	equal "-fn of it finds what is wrong" $RC 4
	is "  and the image is unchanged" cmp work/img old
	chmod 666 work/img
	chmod 555 work
	as_user -fy work/img
	equal "in a directory that is read-only: repaired" $RC 1
	clean work/img "  and clean"
	chmod 755 work
else
	skip "files and directories that are read-only" "needs setpriv and a build that others reach"
fi
put_old
fsck -fy --redo-file "$T/nowhere/redo"
fails_old 8 'nowhere/redo: cannot create it in .*No such file' "a redo file where there is no directory"
fsck -fy -z "$T/nowhere/undo"
fails_old 8 'nowhere/undo: cannot create it in .*No such file' "an undo file likewise"
done_testing 33
