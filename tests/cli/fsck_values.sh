#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many attribute values whose EA inodes lead elsewhere at once: each is found, whatever the others need.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
command -v python3 >/dev/null || skip_all "python3 is not installed"

# Values of 20 to 60 KB: more places than may be tried for one of them
python3 - >values.tar <<'PY'
import io, sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as tar:
    for i in range(200):
        info = tarfile.TarInfo("f%03d" % i)
        info.mtime = 1600000000
        info.pax_headers = {"SCHILY.xattr.user.v": ("value %d, " % i) * (2000 + 11 * i)}
        tar.addfile(info, io.BytesIO(b""))
PY
mkfs -q -t ext4 -O ea_inode,^has_journal -b 1024 -N 4096 -d values.tar img 32M
works "an image with 200 values"
"$BIN/xw-export" img >want.tar 2>/dev/null
is "  with all of them" test "$(stat -c %s want.tar)" -gt 6000000

# leads TO...: EA inodes lead to these blocks, in turn; or each to the value of the next one: "circle", or "chain",
# where the last two lead to the same one
leads() {
	python3 - "$@" <<'PY'
import struct, sys
image = bytearray(open("img", "rb").read())
per_group, desc = struct.unpack_from("<I", image, 1024 + 40)[0], struct.unpack_from("<H", image, 1024 + 254)[0] or 32
places = []
for ino in range(12, 1025):
    group, index = divmod(ino - 1, per_group)
    at = struct.unpack_from("<I", image, 2048 + desc * group + 8)[0] * 1024 + index * 256
    if struct.unpack_from("<I", image, at + 32)[0] & 0x200000:
        places.append(at + 60)
values = [struct.unpack_from("<I", image, at)[0] for at in places]
if sys.argv[1] == "circle":
    to = values[1:] + values[:1]
elif sys.argv[1] == "chain":
    to = values[1:] + values[-1:]
else:
    to = [int(n) for n in sys.argv[1:]]
for n, at in enumerate(places):
    struct.pack_into("<I", image, at, to[n % len(to)])
open("bad", "wb").write(image)
print(len(places))
PY
}

for to in "31000" "2500 20000 31000" circle chain; do
	# shellcheck disable=SC2086
	equal "200 values lead to ${to%% *} and others" "$(leads $to)" 200
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	equal "  repaired" "$RC" 1
	RC=0
	"$FSCK" -fn bad >.out 2>.err || RC=$?
	equal "  clean" "$RC" 0
	"$BIN/xw-export" bad >got.tar 2>/dev/null
	is "  and every value is there" cmp -s want.tar got.tar
done

# A value of which bytes were overwritten: what is left of it can be read, and the others are as they were.
cp img bad
at=$(python3 -c "print(open('bad', 'rb').read().index(b'value 150, value 150') // 1024 * 1024 + 100)")
printf 'JUNK' | dd of=bad bs=1 seek="$at" conv=notrunc status=none
RC=0
"$FSCK" -fp bad >.out 2>.err || RC=$?
equal "an overwritten value, -p" "$RC $(grep -c 'not that of its value' .out)" "1 1"
"$FSCK" -fn bad >.out 2>.err && RC=0 || RC=$?
equal "  clean" "$RC" 0
clean bad "  e2fsck finds nothing"
"$BIN/xw-export" bad >got.tar 2>/dev/null
equal "  four bytes differ" "$(cmp -l want.tar got.tar | wc -l) $(grep -ac JUNK got.tar)" "4 1"
done_testing 22
