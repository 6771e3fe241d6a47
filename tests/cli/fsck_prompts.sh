#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Questions of xw-fsck on a terminal, answered with single keys.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
command -v python3 >/dev/null || skip_all "python3 is not installed"
python3 -c 'import os, pty; os.waitstatus_to_exitcode(0); os.close(pty.openpty()[0])' 2>/dev/null ||
	skip_all "python3 cannot open a terminal"

# on_terminal KEYS ARGS...: output in .out
on_terminal() {
	local keys=$1
	shift
	RC=0
	python3 "$XW_SRC/tests/cli/on_tty.py" "$keys" "$FSCK" "$@" >.out 2>.err </dev/null || RC=$?
	T_ARGS="$*"
	is "  no question before the terminal was set" sh -c '! grep -q "before the terminal" .out'
}
damaged() {
	cp img bad
	printf 'x' | dd of=bad bs=1 seek=$((1024 + 136)) conv=notrunc status=none
}
asked() { is "  $2" grep -qE "Superblock checksum does not match superblock\.  [A-Z][a-z ]*<y>\? $1\$" .out; }

mkdir d
seq 1 1000 >d/file
mkfs -q -d d img 8M
works "an image"

on_terminal '' img
equal "a clean image: no question" "$RC" 0
on_terminal '' -f img
equal "  nor where it is checked" "$RC" 0

for key in y Y ' ' '\x0d'; do
	damaged
	on_terminal "$key" bad
	equal "key '$key' repairs" "$RC" 1
	asked yes "and is a yes"
	is "  the filesystem was modified" grep -q 'FILE SYSTEM WAS MODIFIED' .out
done
damaged
on_terminal a bad
equal "a: all" "$RC" 1
asked 'yes to all' "says so"
damaged
on_terminal n bad
equal "n: errors are left" "$RC" 4
asked no "and is a no"
damaged
on_terminal 'xqy' bad
equal "other keys are no answer" "$RC" 1
for key in '\x03' '\x04'; do
	damaged
	cp bad before
	on_terminal "$key" bad
	equal "key $key ends the check" "$RC" $((32 + 4))
	is "  which says so" grep -q 'bad: xw-fsck canceled' .out
	is "  and changed nothing" cmp -s bad before
done
damaged
on_terminal '' -fy bad
equal "-y asks nothing" "$RC" 1
done_testing 39
