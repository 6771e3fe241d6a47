#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The disk beside a partition, whatever a tool does in it: tests/kit/window_seeds.py. XW_SEEDS=N (default 4): seeds 1 to N.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
: "${XW_SEEDS:=4}"
export PYTHONDONTWRITEBYTECODE=1 TMPDIR=$T
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=98
if "$KIT/window_seeds.py" "$BIN" 1 "$XW_SEEDS" >said 2>&1; then
	pass "$(tail -n 1 said)"
else
	fail "bytes outside of the partition"
	tail -n 60 said | sed 's/^/# /'
fi
done_testing 1
