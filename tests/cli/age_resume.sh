#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The state of an interrupted xw-age run, /.xw-age: numbers that no run has are refused whatever its checksum says, another
# format by its number; long resumes can be ended; and changes that others made since are said.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
age() {
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null "$@"
}
command -v python3 >/dev/null || skip_all "python3 is not installed"

# edit FORM [OFFSET SIZE VALUE]...: img, with these bytes in the state; FORM seal corrects the checksum, keep does not.
cat >edit.py <<'P'
import struct, sys
image, block, size, form = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
table = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    table.append(i)
with open(image, 'r+b') as f:
    f.seek(block * size)
    state = bytearray(f.read(1024))
    for at, n, value in zip(*[map(int, sys.argv[5:])] * 3):
        state[at:at + n] = (value & (1 << 8 * n) - 1).to_bytes(n, 'little')
    if form == 'seal':
        crc = 0xFFFFFFFF
        for byte in state[:1020]:
            crc = crc >> 8 ^ table[(crc ^ byte) & 255]
        state[1020:] = struct.pack('<I', crc)
    f.seek(block * size)
    f.write(state)
P
edit() { cp --sparse=always begun img && python3 edit.py img "$at" 1024 "$@"; }
options=(--profile pazdera --files 60 --size 8k --step 100)

# A run whose limit is out of reach leaves its state, from which it can be resumed.
mkfs -q -b 1024 img 8M
age -q "${options[@]}" --until layout=0.01 img
equal "a run that has not ended" "$RC" 3
cp img begun
at=$("$BIN/xw-debugfs" -R 'blocks /.xw-age' begun 2>/dev/null | awk '{ print $1 }')
equal "its state is one block" "$(dd if=begun bs=1024 skip="${at:-0}" count=1 2>/dev/null | head -c 8)" "xw-age 3"
edit seal
is "  its checksum is a CRC-32C" cmp img begun
age -q "${options[@]}" --until ops=1 --resume img
works "  it can be resumed"
equal "  in silence" "$(cat .err)" ""

ops=$(od -An -tu8 -j$((at * 1024 + 40)) -N8 begun | tr -d ' ')
skipped=$(od -An -tu8 -j$((at * 1024 + 72)) -N8 begun | tr -d ' ')
n=0 bad=
while read -r want edits; do
	# shellcheck disable=SC2086
	edit ${edits/FORM/seal}
	age -q "${options[@]}" --until ops=1 --resume img
	n=$((n + 1))
	{ [ "$RC" = 1 ] && grep -q "/.xw-age: $want.*xw-debugfs" .err; } || bad="$bad; $edits: $RC $(cat .err)"
	"$FSCK" -fn img >.out 2>&1 || bad="$bad; $edits: not clean"
done <<END
damaged keep 8 8 1
damaged keep 1020 4 0
of.a.filesystem.of.another.size FORM 16 8 0
of.a.filesystem.of.another.size FORM 136 4 0
damaged FORM 24 8 -1
damaged FORM 32 8 -1
damaged FORM 40 8 10000000000000 72 8 $((10000000000000 - ops + skipped))
damaged FORM 40 8 -1
damaged FORM 96 8 -1
damaged FORM 104 8 1000001
damaged FORM 140 4 4294967295
damaged FORM 160 4 1
damaged FORM 164 4 17
damaged FORM 164 4 4294967295
damaged FORM 164 4 1 168 8 -1 176 2 65535
damaged FORM 164 4 1 168 8 8191 176 2 2
damaged FORM 164 4 1 168 8 100 176 2 0
damaged FORM 164 4 2 168 8 100 176 2 9 184 8 108 192 2 1
has.format.2 FORM 7 1 50
has.format.4 FORM 7 1 52
not.a.file.of.xw-age FORM 0 8 0
not.a.file.of.xw-age FORM 7 1 120
END
equal "what no run writes is refused, and says how to go on: $n states" "$n$bad" 22
# Its file is a file of its own, or nothing is written to it.
while IFS=: read -r first second; do
	line="$first, $second"
	cp begun img
	"$BIN/xw-debugfs" -w -R "$first" img >.out 2>&1 && "$BIN/xw-debugfs" -w -R "${second:-$first}" img >.out 2>&1 || diag "$(cat .out)"
	age -q "${options[@]}" --until ops=1 --resume img
	fails 1 "not a file of xw-age" "$line"
	clean img "  the image is clean"
done <<'END'
ln /.xw-age /other:sif /.xw-age links_count 2
rm /.xw-age:mkdir /.xw-age
sif /.xw-age size 2000:sif /.xw-age size 2000
END

# Changes since: of files, of something else; a check that changes nothing.
resumed() { # WARNING DESCRIPTION
	age -q "${options[@]}" --until ops=1 --resume img
	equal "$2" "$RC $(grep -c "$1" .err)" "0 1"
	clean img "  the image is clean"
}
cp begun img
"$BIN/xw-debugfs" -w -R 'mkdir /new' img >.out 2>&1
resumed "warning: .*img: files were changed since the aging run was interrupted" "a new directory since: said"
cp begun img
SOURCE_DATE_EPOCH=1700009999 "$BIN/xw-tune" -L name img >.out 2>&1
resumed "warning: .*img: was mounted or changed since" "a label since: said"
cp begun img
SOURCE_DATE_EPOCH=1700009999 "$FSCK" -fy img >.out 2>&1
age -q "${options[@]}" --until ops=1 --resume img
equal "a check since: nothing to say" "$RC $(cat .err)" "0 "

# A resume that would take minutes, of a state that looks right, ends when it is told to. So does what reads trees.
interrupted() { # DESCRIPTION ARGUMENT...
	"$BIN/xw-age" -q "${@:2}" >.out 2>.err &
	local pid=$! # a shell starts background jobs with SIGINT ignored
	sleep 0.7
	kill -TERM $pid
	for _ in $(seq 300); do kill -0 $pid 2>/dev/null && sleep 0.1 || break; done
	kill -KILL $pid 2>/dev/null && diag "it had to be killed"
	RC=0
	wait $pid || RC=$?
	T_TOOL=xw-age T_ARGS="${*:2}"
	fails 1 "interrupted; " "$1"
}
most=$((1 << 32))
edit seal 40 8 $most 72 8 $((most - ops + skipped)) 140 4 0
interrupted "repeating 2^32 operations" "${options[@]}" --until ops=$most --resume img
is "  the message says what then" grep -q -e '--resume continues' .err
clean img "  the image is clean"
python3 - <<'P'
import tarfile
t = tarfile.TarInfo('large')
t.size = 4 << 40
with open('large.tar', 'wb') as f:
    f.write(t.tobuf(tarfile.GNU_FORMAT))
    f.truncate(t.size)
P
if [ "$(stat -c %s large.tar 2>/dev/null)" = $((4 << 40)) ]; then
	echo large.tar >list
	mkfs -qF -b 1024 img 8M
	interrupted "hashing an archive of 4 TiB" --profile git:list img
	clean img "  the image is clean"
else
	skip "hashing an archive of 4 TiB" "no file of this size can be made here" 2
fi
rm -f large.tar

# Distributions that lead to a division by zero; a name of any length.
printf '1\n0 5\n' >zero
mkfs -qF -b 1024 img 8M
age -q --profile geriatrix --age-dist zero --ops 10 img
fails 2 "zero: line 2: the last age must be at least 0.001" "a distribution of ages that are all 0"
age -q --profile "geriatrix:$(printf 'x%.0s' $(seq 3000))" --ops 10 img
fails 2 "no such model" "a name of 3000 bytes"
clean img "  the image is clean"
done_testing 25
