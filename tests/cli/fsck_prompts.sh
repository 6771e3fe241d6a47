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
# ---- what everything depends on is declined: no other repair is one, and what was agreed to is kept ----
yes() { printf 'y,%.0s' $(seq 60); }
put() { # IMAGE OFFSET BYTES, as for printf
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
files() { # IMAGE TREE: contents
	rm -rf got
	mkdir got
	"$BIN/xw-debugfs" -R 'rdump / got' "$1" >.dbg 2>&1
	diff -r -x lost+found "$2" got
}
mkdir -p tree/sub
for i in 1 2 3 4 5 6; do seq "$i" $((i * 700)) >tree/sub/$i; done
seq 1 100 >tree/top
# answered DESCRIPTION KEYS IMAGE: 4, and then -y repairs all.
answered() {
	cp "$3" bad
	on_terminal "$2,$(yes)" -f bad
	equal "$1: errors are left" "$RC" 4
	equal "  the size of the image stays" "$(stat -c %s bad)" "$(stat -c %s "$3")"
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	equal "  -y repairs then" "$RC" 1
	is "  clean then" "$FSCK" -fn bad
	is "  nothing is lost" files bad tree
}
mkfs -q -t ext4 -b 1024 -O ^metadata_csum -d tree plain 8M
works "an image without checksums"
cp plain size
put size $((1024 + 0xFE)) 'A\0'
put size $((1024 + 4)) '\144\040'
answered "the number of blocks, not the size of descriptors" y,n size
cp size bad
on_terminal "y,n,$(yes)" -f bad
equal "  which was corrected" "$(od -An -tu2 -j $((1024 + 0xFE)) -N 2 bad)" "$(od -An -tu2 -j $((1024 + 0xFE)) -N 2 plain)"
answered "the size of descriptors" n size
cp size bad
on_terminal "n,$(yes)" -f bad
is "  nothing is written" cmp -s size bad
cp plain huge
put huge $((1024 + 4)) '\377\377\377\177'
answered "a huge number of blocks" n huge
cp plain first
put first $((1024 + 84)) '\377\0'
answered "the first inode" n first
cp plain feature
put feature $((1024 + 56)) '\0\0'
put feature $((1024 + 95)) '\040'
answered "an unknown feature, not the magic" y,n feature
mkfs -q -t ext4 -b 1024 -d tree sums 24M
works "one with backups"
cp sums lost
dd if=/dev/zero of=lost bs=1024 seek=1 count=1 conv=notrunc status=none
answered "a lost superblock" n lost
cp lost bad
on_terminal "n,$(yes)" -f bad
is "  nothing is written" cmp -s lost bad

# A journal that needs recovery and cannot be recovered: the rest is repaired.
journal=$("$BIN/xw-debugfs" -R 'bmap <8> 0' sums 2>/dev/null)
"$BIN/xw-debugfs" -w -R 'feature needs_recovery' -R 'sif top links_count 9' sums >.dbg 2>&1
put sums $((journal * 1024 + 16)) '\0\0\0\0'
put sums $((1024 + 0x3FC)) 'xxxx'
answered "the superblock's checksum and the journal" n,n sums
mkfs -q -O journal_dev -b 1024 log 4M
works "an external journal"
mkfs -q -t ext4 -b 1024 -J device=log -d tree outside 8M
works "  and an image with it"
"$BIN/xw-debugfs" -w -R 'feature needs_recovery' -R 'sif top links_count 9' outside >.dbg 2>&1
put log $((2 * 1024)) 'garbage'
cp log log.was
cp outside bad
on_terminal "n,$(yes)" -f -j log bad
equal "an external journal: errors are left" "$RC" 4
is "  it is left alone" cmp -s log log.was
equal "  the link count was repaired" "$("$BIN/xw-debugfs" -R 'stat top' bad 2>/dev/null | sed -n 's/.*Links: \([0-9]*\).*/\1/p')" 1
RC=0
"$FSCK" -fy -j log bad >.out 2>.err || RC=$?
equal "  -y drops it" "$RC" 1
is "  clean then" "$FSCK" -fn bad
is "  nothing is lost" files bad tree
done_testing 123
