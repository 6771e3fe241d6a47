#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-fsck on itrees damaged at random: tests/kit/itree_seeds.py says what is demanded, of every seed. XW_SEEDS=N: seeds 1 to N.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
: "${XW_SEEDS:=12}"
export PYTHONDONTWRITEBYTECODE=1 TMPDIR=$T
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=98
if "$KIT/itree_seeds.py" -s 1-"$XW_SEEDS" "$BIN" >said 2>&1; then
	pass "$(tail -n 1 said)"
else
	fail "$(tail -n 1 said)"
	tail -n 60 said | sed 's/^/# /'
fi
done_testing 1
