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
seq 1 10 >d/other
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
	equal "key $key ends the check" "$RC" 32
	is "  which says so" grep -q 'bad: xw-fsck canceled' .out
	is "  and changed nothing" cmp -s bad before
done
damaged
on_terminal '' -fy bad
equal "-y asks nothing" "$RC" 1

# From the 100th finding of a kind on there is a line each power of ten.
mkdir many
for ((i = 0; i < 1200; i++)); do : >"many/$i"; done
mkfs -q -t ext4 -N 2048 -d many crowd 16M
for ((i = 0; i < 1200; i++)); do echo "sif $i links_count 5"; done >wrong
"$BIN/xw-debugfs" -w -f wrong crowd >/dev/null
RC=0
"$FSCK" -fn crowd >.out || RC=$?
equal "1200 wrong link counts: -n" "$RC" 4
equal "  the first 99 are shown" "$(grep -c 'has link count 5, should be 1' .out)" 99
equal "  then powers of ten, and the total" "$(grep -o 'link-count: [0-9]* times' .out | tr -dc '0-9\n' | xargs)" "100 1000 1200"
"$FSCK" -fnv crowd >.out || :
equal "  -v: all" "$(grep -c 'has link count 5, should be 1' .out)" 1200
"$FSCK" -fn --json crowd >.out || :
equal "  --json: all" "$(grep -c '"link-count"' .out)" 1200
RC=0
"$FSCK" -fy crowd >.out || RC=$?
equal "  all of them are repaired" "$RC" 1
is "  clean then" "$FSCK" -fn crowd

# A "no" is for its question alone: three names of one directory lead to the same unused inode.
mkdir -p names/d && for i in a b c; do echo x >names/d/$i; done
mkfs -q -d names linked 8M
"$BIN/xw-debugfs" -w -R "unlink /d/b" -R "unlink /d/c" -R "ln /d/a /d/b" -R "ln /d/a /d/c" -R "clri /d/a" linked >/dev/null 2>&1
for keys in n,n,n n,y,n y,n,n n,n,y; do
	cp linked bad
	on_terminal "$keys,$(printf 'y,%.0s' $(seq 30))y" -f bad
	equal "three names, answers $keys" "$(sed -n "s/^Entry '\\(.\\)' in .*Clear<y>? \\([yn]\\).*/\\1\\2/p" .out | tr '\n' ' ')" \
		"$(paste -d '' <(printf '%s\n' a b c) <(tr , '\n' <<<"$keys") | tr '\n' ' ')"
	equal "  and those are left" "$("$BIN/xw-debugfs" -R "ls -p /d" bad 2>/dev/null | grep -c '^/[1-9].*/[abc]/')" "$(tr -cd n <<<"$keys" | wc -c)"
done
# What is repaired beside what is left does not count, in either order.
for keys in y,n n,y; do
	cp img bad
	for name in file other; do "$BIN/xw-debugfs" -w -R "sif $name links_count 7" bad >.dbg 2>&1 || cat .dbg; done
	on_terminal "$keys" -f bad
	equal "one of two is repaired: $keys" "$RC $(grep -c 'link count 7.*Fix' .out)" "4 2"
	"$FSCK" -fn --json bad >.json 2>.err
	equal "  and one is left" "$(grep -c '"link-count"' .json)" 1
done
done_testing 64
