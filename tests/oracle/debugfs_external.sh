#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# journal_run of external journals made by both suites: what it replays, what else the session changes, damage, and kills at each step.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in debugfs mke2fs dumpe2fs e2fsck e2undo python3; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$DBG" /dev/null "$@"
}
mkdir -p tree/dir
seq 3000 >tree/file
head -c 2048 /dev/urandom >data
printf '%s\n' 'jo -f jd' 'jw -b 9000,9001 data' 'jc' 'jo -f jd' 'jw -b 9002 data' 'jw -r 9002' 'jc' >jw
placed() { dd if="$1" bs=1024 skip=9000 count=2 status=none | { cmp -s - data && echo yes || echo no; }; }
third() { dd if="$1" bs=1024 skip=9002 count=1 status=none | tr -d '\0' | wc -c; }

# journal_run: journals of both suites, the device named by journal_open, by -f, or found; what else the session changes stays.
replayed() { # IMAGE JOURNAL: RECOVER and what the log holds, by stock
	dumpe2fs -h "$1" 2>/dev/null | grep -c needs_recovery
	debugfs -R "logdump -f $2" "$1" 2>/dev/null | grep -c 'Found expected'
}
for suite in ours stock; do
	if [ $suite = ours ]; then
		mkfs -q -O journal_dev -b 1024 jd 8M
		mkfs -q -t ext4 -b 1024 -J device=jd -d tree run 16M
	else
		if ! can_loop; then
			skip "journal_run of a stock journal" "needs root and loop devices" 13
			continue
		fi
		rm -f jd run
		mke2fs -qF -O journal_dev -b 1024 jd 8M >.out 2>&1
		dev=$(losetup --find --show jd)
		mke2fs -qF -t ext4 -b 1024 -J device="$dev" -d tree run 16M >.out 2>&1
		losetup -d "$dev"
	fi
	cp run before
	cp jd jd.before
	rm -f undo
	printf '%s\n' 'cd dir' 'mkdir early' 'jo -f jd' 'jw -b 9000,9001 data' 'jc' 'jr' 'pwd' 'write data late' >script
	dbg -w -z undo -f script run
	works "$suite: journal_run in the session that wrote the journal"
	equal "  says what it did" "$(grep transactions .out)" "1 transactions, 2 blocks"
	is "  and stays in its directory" grep -q 'PATH: /dir$' .out
	equal "  the blocks are in place, and the journal is empty" "$(placed run) $(echo $(replayed run jd))" "yes 0 0"
	is "  both changes are there" sh -c 'debugfs -R "ls -p /dir" run 2>/dev/null | grep -q /early/ && debugfs -R "cat /dir/late" run 2>/dev/null | cmp -s - data'
	is "  it is clean" fsck_quiet .fsck -fn -j jd run
	e2undo undo run >.out 2>&1
	equal "  the undo file takes all back" "$? $(debugfs -R "ls -l /dir" run 2>/dev/null | cksum)" "0 $(debugfs -R "ls -l /dir" before 2>/dev/null | cksum)"

	cp before run
	cp jd.before jd
	dbg -w -f jw run
	dbg -w -R jr run
	is "$suite: in another session a file has to be named" grep -q "no device has its UUID, .*; give -f DEVICE" .err
	dbg -w -R "jr -f jd" run
	equal "  -f does" "$RC $(placed run) $(third run) $(echo $(replayed run jd))" "0 yes 0 0 0"
	is "  and it is clean" fsck_quiet .fsck -fn -j jd run
	dbg -w -R "jr -f jd" run
	works "  once more there is nothing to do"

	cp before run
	cp jd.before jd
	dbg -w -R "jo -c -f jd" -R "jw -b 9000,9001 data" run
	python3 - <<-'PY'
		import re
		b = bytearray(open('jd', 'rb').read())
		at = b.find(open('data', 'rb').read(1024))
		b[at + 100] ^= 0xff # a block of the transaction
		open('jd', 'r+b').write(b)
	PY
	cp run damaged
	dbg -w -R "jr -f jd" run
	equal "$suite: a block of the journal is damaged" "$RC $(grep -c 'jr: jd: journal: checksum mismatch' .err)" "1 1"
	is "  nothing is changed" cmp run damaged
done
cp before run
cp jd.before jd
dbg -w -f jw run
cp run asked
dbg -w -R "jr -f other.none" run
equal "journal_run of a missing journal" "$RC $(grep -c 'jr: other.none: cannot open' .err)" "1 1"
is "  nothing is changed" cmp run asked
mkfs -q img 8M
dbg -w -R "jr -f jd" img
fails 1 "the journal is inside the image" "  -f for an image with its own journal"

# Killed at each write and flush: xw-fsck completes it, from the journal or without it.
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>/dev/null; then
	calls=pwrite64,pwritev,pwritev2,fsync,fdatasync
	cp jd jd.full
	killed=0 lost=0
	while [ $killed -lt 60 ]; do
		cp asked run
		cp jd.full jd
		# by a shell of its own, which says there that something was killed
		if sh -c '"$@"; exit $?' sh strace -qq -f -o /dev/null -e trace=$calls \
			-e inject=$calls:signal=KILL:when=$((killed + 1)) "$DBG" -w -R "jr -f jd" run >.out 2>&1; then break; fi
		killed=$((killed + 1))
		fsck -fy -j jd run
		[ "$(placed run) $(third run)" = "yes 0" ] && fsck_quiet .fsck -fn -j jd run || lost=$((lost + 1))
	done
	is "killed at some steps" test $killed -ge 8
	equal "  nothing is lost" "$lost $(placed run)" "0 yes"
else
	skip "killed at each step" "strace is not there, or not allowed" 2
fi
done_testing 31
