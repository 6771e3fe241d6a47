#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Cases of damage for xw-fsck, at least one a finding: tests/fsck/run.py says what is demanded of each.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
"$XW_SRC/build-aux/finding-list" --names "$XW_SRC/e2fsck/report/findings.def" >findings
python3 "$XW_SRC/tests/fsck/run.py" "$BIN" findings "$@"
