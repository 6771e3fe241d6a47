#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Pipes whose other end does what it wants: input that goes on behind the archive, for ever even.
. "$(dirname "$0")/lib.sh"

mkdir -p tree/sub
seq 1 100000 >tree/sub/big
printf 'hello\n' >tree/small
make_tar tree good.tar
mkfs -q -d good.tar wanted
works "an image to compare with"
"$EXPORT" --format newc wanted >good.cpio 2>/dev/null
"$EXPORT" --order=name wanted | tar -tf - | sort >names

# fed COMMAND TOOL ARGS...: what the command writes, for as long as somebody takes it.
fed() {
	local from=$1 both
	T_TOOL=xw-$2
	shift 2
	(eval "$from") 2>/dev/null | timeout -s KILL 900 "$BIN/$T_TOOL" "$@" >.out 2>.err
	both=("${PIPESTATUS[@]}")
	RC=${both[1]} FROM=${both[0]}
	T_ARGS="$* (fed by $from)"
}
whole() { "$EXPORT" --order=name img | tar -tf - | sort | diff names -; }
left_alone() { whole && [ "$FROM" != 0 ]; }

for jobs in 1 4; do
	for archive in good.tar good.cpio; do
		rm -f img
		fed "cat $archive /dev/zero" mkfs --jobs $jobs -qd - img
		works "xw-mkfs, zeros without end behind $archive, --jobs $jobs"
		is "  all of it is there, and the writer is left" left_alone
	done
done
rm -f img
fed "cat good.tar; yes" mkfs -qd - img
equal "something else without end: status" "$RC" 0
is "  one warning" test "$(wc -l <.err) $(grep -c 'trailing data after the' .err)" = "1 1"
is "  all of it is there, and the writer is left" left_alone
mkfs -qF img 8M
fed "cat good.tar /dev/zero" import -q img -
works "xw-import, zeros without end"
rm -f img
fed "cat good.tar; head -c 12M /dev/zero" mkfs -qd - img
works "zeros with an end"
equal "  their writer ends as it wants" "$FROM" 0
truncate -s 100T long 2>/dev/null || truncate -s 10T long
dd if=good.tar of=long conv=notrunc status=none
mkfs -qF -d long img
works "an archive in a file with a long hole behind it"
rm -f long

# What was compressed is read to its checksum, however far that is.
{ cat good.tar && head -c 40M /dev/zero; } | gzip -1 >far.gz
fed "cat far.gz" mkfs -qFd - img
works "a compressed archive with much behind it"
printf '\377\377\377\377' | dd of=far.gz bs=1 seek=$(($(stat -c %s far.gz) - 8)) conv=notrunc status=none
rm -f img
fed "cat far.gz" mkfs -qd - img
fails 1 "checksum" "the same with a wrong checksum"
is "  no image is left" gone img

# What is behind the end of the compressed data is no secret either, but for padding.
for tool in gzip bzip2 lz4 xz zstd; do
	command -v $tool >/dev/null || { skip "what is behind $tool" "$tool is missing"; continue; }
	$tool -c <good.tar >long.z
	head -c 300k /dev/zero >>long.z
	for tar in long.z -; do
		rm -f img
		fed "cat long.z" mkfs -qd $tar img
		works "zeros behind what $tool made, -d $tar"
		is "  all of it is there" whole
	done
	echo garbage >>long.z
	for tar in long.z -; do
		rm -f img
		fed "cat long.z" mkfs -qd $tar img
		fails 0 "warning: .*: trailing data after the compressed stream is ignored" "garbage, -d $tar"
		is "  all of it is there" whole
	done
	$tool -c <good.cpio >long.z
	echo garbage >>long.z
	rm -f img
	fed "cat long.z" mkfs -qd - img
	fails 0 "warning: .*: trailing data after the compressed stream is ignored" "behind a cpio"
done
rm -f img
for cut in '\x1f' '\x1f\x8b' '\x1f\x8b\x08\x00'; do
	{ gzip -c <good.tar; printf "$cut"; } >cut.gz
	fed "cat cut.gz" mkfs -qd - img
	fails 1 "gzip: the compressed data ends early" "a gzip member that ends after $cut"
	is "  no image is left" gone img
done

# A list of bad blocks comes from a pipe as from a file.
seq 1000 1999 >bad
fixed=(-q -U 5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 -E hash_seed=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10)
export SOURCE_DATE_EPOCH=1700000000
mkfs "${fixed[@]}" -l bad list.img 16M
works "bad blocks from a file"
fed "cat bad" mkfs "${fixed[@]}" -l /dev/stdin img 16M
works "bad blocks from a pipe"
is "  the same image" cmp list.img img
rm -f img
fed "cat /dev/zero" mkfs -q -l /dev/stdin img 16M
fails 2 "-l /dev/stdin: more than 64 MiB" "a list without end"
mkfs -q -l . img 16M
fails 1 "-l \\.: not a regular file or pipe" "a list that is a directory"
rm -f img
unset SOURCE_DATE_EPOCH

# Where there is no end to that, there is the signal.
ended() { ! kill -0 "$1"; }
has_read() { awk -v n="$2" '$1 == "rchar:" { exit $2 < n }' "/proc/$1/io"; }
if ! env --default-signal=INT true 2>/dev/null; then
	skip "SIGINT" "env --default-signal is missing (coreutils 8.31)"
elif ! has_read self 0; then
	skip "SIGINT" "/proc/PID/io is missing"
else
	for jobs in 1 4; do
		mkfifo pipe$jobs
		{ cat good.tar /dev/zero | gzip -1 >pipe$jobs; } 2>/dev/null &
		env --default-signal=INT "$MKFS" --jobs $jobs -qd - img <pipe$jobs >.out 2>.err &
		pid=$!
		wait_for has_read $pid $(($(stat -c %s good.tar) + 200000))
		kill -INT $pid
		wait_for ended $pid || { diag "it had to be killed"; kill -KILL $pid; }
		wait $pid 2>/dev/null
		RC=$? T_TOOL=xw-mkfs T_ARGS="--jobs $jobs"
		fails 1 "interrupted" "SIGINT while a compressed stream goes on for ever, --jobs $jobs"
		is "  no image is left" gone img
	done
fi
done_testing 79
