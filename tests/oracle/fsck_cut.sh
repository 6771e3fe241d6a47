#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Repairs of xw-fsck that are killed at any write, or torn by a power failure, and run again: tests/fsck/cut.py says what is
# demanded. Few cases and states of them.
#
# XW_ALL_K=1: all cases and states, and with XW_ACCEPT the whole corpus: some 20 minutes. XW_JOBS=N: so many at a time.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
record=$XW_BUILD/.libs/record_preload.so
[ -e "$record" ] || skip_all "record_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
cut_all() { python3 "$XW_SRC/tests/fsck/cut.py" "$BIN" "$record" --jobs "${XW_JOBS:-1}" "$@"; }
# cut DESCRIPTION ARGUMENT...
cut() {
	local what=$1
	shift
	if cut_all "$@" >cut.out 2>&1; then
		pass "$what: $(sed -n 's/^# \([0-9]* cases,.*\)/\1/p' cut.out)"
	else
		fail "$what"
		grep -v '^ok' cut.out | head -n 40 | sed 's/^/# /'
	fi
}

few="--states 8 --power 2"
cases=("ext4: superblock checksum" "ext4: length of an entry" "ext3: journal inode of zeros" "itree: checksum of an itree node" "ext4: change without its redo file")
if [ -n "${XW_ALL_K-}" ]; then
	few=
	cases=()
fi
# shellcheck disable=SC2086
{
	cut "repairs cut by kills and power failures" $few ${cases[@]+"${cases[@]}"}
	if command -v e2undo >/dev/null; then
		cut "with an undo file" --undo $few ${cases[@]+"${cases[0]}"}
	else
		skip "with an undo file" "e2undo is not installed"
	fi
	if can_loop && have_e2fsck; then
		mkdir mnt
		cut "through the journal of a device" --device --mount "$T/mnt" $few ${cases[@]+"${cases[1]}"}
	else
		skip "through the journal of a device" "needs root, loop devices and e2fsck"
	fi
}
if [ -n "$CORPUS" ] && [ -n "${XW_ALL_K-}" ]; then
	cut "corpus" --corpus "$CORPUS"
	cut "corpus, with an undo file" --corpus "$CORPUS" --undo --states 40
	if can_loop; then
		cut "corpus, through the journal" --corpus "$CORPUS" --device --mount "$T/mnt"
	else
		skip "corpus, through the journal" "needs root and loop mounts" 1
	fi
elif [ -n "${XW_ALL_K-}" ]; then
	skip "corpus" "XW_ACCEPT is not set" 3
fi
done_testing 3
