#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGINT and SIGTERM: one line, status 1, no image left; an image that was there before stays, and keeps its size.
# After SIGKILL, too, the next run does what it would have done. Output that nobody takes, and compression, are left as well.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree good.tar

mkfifo pipe

echo "ls -l /many" >request
echo "dump /random full" >request-dump
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
	cp --sparse=always img before
	interrupt $sig --replace img
	is "SIG$sig and --replace: the old image is as it was" cmp before img
	rm -f before
done
rm -f img
: >after
ls -A >before
interrupt KILL img
ls -A >after
is "SIGKILL while a new image is made: nothing is left" diff before after

# Output into a pipe that is full, and compression that takes long.
signalled() { # SIGNAL UNTIL TOOL ARGUMENT...: with descriptor 9 as standard output
	local sig=$1 until=$2 pid
	T_TOOL=xw-$3
	shift 3
	env --default-signal=INT,TERM,HUP "$BIN/$T_TOOL" "$@" >&9 2>.err &
	pid=$!
	# shellcheck disable=SC2086
	wait_for $until || diag "$until did not come"
	kill -"$sig" $pid 2>/dev/null
	wait_for ended $pid
	if kill -KILL $pid 2>/dev/null; then diag "it had to be killed"; fi
	wait $pid 2>/dev/null
	RC=$?
	T_ARGS="$* (SIG$sig)"
	sed -i '/: warning: /d' .err # what gnu does not keep
}
full() {
	timeout 300 python3 - <<'PY'
import select, time
pipe = select.poll()
pipe.register(9, select.POLLOUT)
while pipe.poll(0):
    time.sleep(0.02)
PY
}
head -c 3000000 /dev/urandom >tree/random
for i in $(seq 1 3000); do : >"tree/many/entry-whose-name-is-somewhat-longer-$i"; done
mkfs -qF -d tree img
if ! command -v python3 >/dev/null; then
	skip "output into a full pipe" "python3 is not installed"
else
	while read -r sig tool args; do
		mkfifo full
		exec 9<>full
		# shellcheck disable=SC2086
		signalled "$sig" full "$tool" $args img
		fails 1 "interrupted" "SIG$sig while nobody takes what xw-$tool $args writes"
		exec 9>&-
		rm -f full
	done <<'TABLE'
INT export
TERM export --xz
HUP export --zstd
INT export --gzip --format gnu
TERM export -tv
INT debugfs -f request
TERM debugfs -f request-dump
TABLE
fi
exec 9>/dev/null
for args in "--xz --level 9" "--zstd --level 19" "--bzip2 --format gnu"; do
	rm -f out
	# shellcheck disable=SC2086
	signalled INT "test -e out" export $args -o out img
	# it may have been done before the signal came
	if [ "$RC" = 0 ]; then
		skip "SIGINT while xw-export $args writes a file" "it was done too soon" 2
		continue
	fi
	fails 1 "interrupted" "SIGINT while xw-export $args writes a file"
	is "  which is removed" gone out
done
done_testing 32
