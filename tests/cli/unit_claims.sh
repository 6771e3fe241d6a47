#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unit tests print one claim for each test function, and the name of each case that fails.
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99
[ -x "$XW_BUILD/unit_failures" ] || skip_all "no unit_failures here"
CK_FORK=yes "$XW_BUILD/unit_failures" >.out 2>.err # one of its tests aborts
equal "exit status" "$?" 0
# The marks keep this script's own output free of further claims.
equal "claims" "$(grep -E '^(not )?ok|^1\.\.' .out | sed 's/^/: /')" ": not ok 1 - first: named
: not ok 2 - first: strings
: not ok 3 - first: table
: not ok 4 - first: seeds
: not ok 5 - second: cases
: not ok 6 - second: single
: ok 7 - second: passes
: 1..7"
sed -n 's/^# .*failures\.c:[0-9]*: //p' .out >cases
equal "cases" "$(sed 's/: .*//' cases)" "case 'two'
case 'three'
case 'second'
case sizes[2]
_i = 7
case 'never'
Assertion '!words[0]' failed"
is "a message of two lines is a comment" grep -qx '# ok 1 - not a claim' .out
is "a crash is named with its signal" grep -q "^case 'three': .*signal 6" cases
done_testing 5
