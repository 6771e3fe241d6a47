#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-fsck on images damaged at random: tests/kit/fsck_seeds.py says what is demanded. XW_SEEDS=N (default 2): seeds
# 1 to N over each kind of filesystem, 200 at most; XW_ACCEPT=DIR: with corrupt.py, too, in an everyday run with every second kind and
# then without damage.py. XW_ALL=1: every kind with both.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
: "${XW_SEEDS:=2}"
[ "$XW_SEEDS" -le 200 ] || XW_SEEDS=200
export PYTHONDONTWRITEBYTECODE=1 TMPDIR=$T
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=98
n=0
for kind in ext2 ext3 ext4-1k ext4-4k nocsum inline quota bigalloc ea_inode meta_bg casefold itree groups; do
	# The promise is over many seeds: of a few, one that is not clean is not yet a failure.
	[ "$XW_SEEDS" -ge 100 ] || sample=-n
	n=$((n + 1))
	if [ -n "$CORPUS" ] && [ -z "${XW_ALL-}" ] && [ $((n % 2)) = 0 ]; then
		: # corrupt.py has its turn
	elif env -u XW_ACCEPT "$KIT/fsck_seeds.py" ${sample:+"$sample"} -s 1-"$XW_SEEDS" -b "$kind" "$BIN" >said 2>&1; then
		pass "$kind: $(tail -n 1 said)"
	else
		fail "$kind"
		tail -n 60 said | sed 's/^/# /'
	fi
	[ -n "$CORPUS" ] || continue
	[ -n "${XW_ALL-}" ] || [ $((n % 2)) = 0 ] || continue
	if "$KIT/fsck_seeds.py" ${sample:+"$sample"} -s 1-"$XW_SEEDS" -b "$kind" "$BIN" >said 2>&1; then
		pass "$kind, corrupt.py: $(tail -n 1 said)"
	else
		fail "$kind, corrupt.py"
		tail -n 60 said | sed 's/^/# /'
	fi
done
[ -n "$CORPUS" ] || skip "corrupt.py" "XW_ACCEPT is not set" 0 # none of the claims that are counted
done_testing 13
