#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGINT and SIGTERM: one line, status 1, no image left; an image that was there before stays.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree good.tar

mkfifo pipe

# interrupt SIGNAL IMAGE [SIZE]: feed half an archive, wait until the image is there, send the signal.
interrupt() {
	local sig=$1 img=$2 i
	shift
	exec 9<>pipe # both ends open: the reader sees neither an end nor more data
	# A background job of a script ignores SIGINT, and what is ignored stays ignored: reset it.
	env --default-signal=INT "$MKFS" -d - "$@" <pipe >.out 2>.err &
	local pid=$!
	head -c 40000 good.tar >&9
	for i in $(seq 1 100); do
		[ -e "$img" ] && break
		sleep 0.05
	done
	sleep 0.3
	kill -"$sig" $pid
	for i in $(seq 1 100); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.05
	done
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
truncate -s 64M img
interrupt INT img
equal "an image that was there before: status" "$RC" 1
is "  it stays" test -e img
done_testing
