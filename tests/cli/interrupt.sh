#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGINT and SIGTERM: one line, status 1, no image left; an image that was there before stays, and keeps its size.
# After SIGKILL, too, the next run does what it would have done.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree good.tar

mkfifo pipe

ended() { ! kill -0 "$1"; }
# interrupt SIGNAL IMAGE [ARGUMENT...]: feed half an archive, wait until it is read, send the signal.
interrupt() {
	local sig=$1
	shift
	exec 9<>pipe # both ends open: the reader sees neither an end nor more data
	# A background job of a script ignores SIGINT, and what is ignored stays ignored: reset it.
	env --default-signal=INT "$MKFS" -d - "$@" <pipe >.out 2>.err &
	local pid=$!
	half good.tar
	kill -"$sig" $pid 2>/dev/null
	wait_for ended $pid
	if kill -KILL $pid 2>/dev/null; then diag "it had to be killed"; fi
	wait $pid 2>/dev/null
	RC=$?
	exec 9>&-
	T_ARGS="-d - $* (SIG$sig)"
}
env --default-signal=INT true 2>/dev/null || skip_all "env --default-signal is missing (coreutils 8.31)"

for sig in INT TERM; do
	for size in "" 64M; do
		rm -f img
		interrupt $sig img $size
		fails 1 "interrupted" "SIG$sig while reading a pipe${size:+, with SIZE}"
		is "  no image is left" gone img
	done
done
for sig in INT KILL; do
	for size in "" 32M; do
		rm -f img
		truncate -s 64M img
		# shellcheck disable=SC2086
		interrupt $sig img $size
		equal "SIG$sig, an image that was there before${size:+, with SIZE}: status" "$RC" "$([ $sig = INT ] && echo 1 || echo 137)"
		equal "  it keeps its size" "$(stat -c %s img)" 67108864
	done
	mkfs -qF -L old img 32M
	sha256sum img >before
	interrupt $sig --replace img
	is "SIG$sig and --replace: the old image is as it was" sha256sum -c before
done
rm -f img
: >after
ls -A >before
interrupt KILL img
ls -A >after
is "SIGKILL while a new image is made: nothing is left" diff before after
done_testing
