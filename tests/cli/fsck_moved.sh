#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Blocks of the inode table at wrong places, and records of a former filesystem: no name leads to the contents of another
# file, records that still exist keep their names, and former files do not come back.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

mkdir -p d/sub
for i in $(seq 200); do echo "contents $i" >"d/sub/f$i"; done
cat >move.py <<'EOF'
"""IMAGE OFFSET SIZE RECORD KIND SEED: damage to the table at OFFSET of SIZE bytes, past its first 16 KiB."""
import random, sys
img, at, size, record, bs, kind, seed = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6], int(sys.argv[7])
r = random.Random(seed)
with open(img, "r+b") as f:
    f.seek(at)
    old = f.read(size)
    n, first = size // bs, 16384 // bs if record > 128 else 8192 // bs
    blocks = [old[k * bs:(k + 1) * bs] for k in range(n)]
    j = first + r.randrange(2)
    if kind == "swap":
        blocks[j], blocks[j + 1] = blocks[j + 1], blocks[j]
    elif kind == "circle":
        blocks[j:j + 3] = blocks[j + 1:j + 3] + blocks[j:j + 1]
    elif kind == "shift":
        blocks[j:] = [bytes(bs)] + blocks[j:-1]
    elif kind == "records":
        m = (r.randrange(bs // record - 1) + 1) * record
        rest = b"".join(blocks[j:])
        rest = bytes(m) + rest[:-m]
        blocks[j:] = [rest[k:k + bs] for k in range(0, len(rest), bs)]
    elif kind == "over":
        blocks[j + 1] = blocks[j]
    f.seek(at)
    f.write(b"".join(blocks))
EOF
names() { # IMAGE: every file and what it holds
	rm -rf x && mkdir x && "$DEBUGFS" -R 'rdump / x' "$1" >/dev/null 2>&1
	(cd x/sub 2>/dev/null && grep -r . . | sort)
}
for shape in "1024 128" "1024 256" "2048 128" "4096 128" "4096 256"; do
	bs=${shape% *} record=${shape#* }
	rm -f img && mkfs -q -b "$bs" -I "$record" -N 1024 -d d img 16M
	names img >want
	at=$("$DEBUGFS" -R 'imap <1>' img 2>/dev/null | sed -n 's/.*block \([0-9]*\),.*/\1/p')
	for kind in swap circle shift records over; do
		cp img bad
		python3 move.py bad $((at * bs)) $((256 * record)) "$record" "$bs" $kind 1
		RC=0
		"$FSCK" -fy bad >.out 2>.err || RC=$?
		equal "$shape, $kind: repaired" "$RC" 1
		"$FSCK" -fn bad >.out 2>.err
		equal "  clean afterwards" $? 0
		names bad >got
		equal "  no name leads elsewhere" "$(comm -13 want got | wc -l)" 0
		case $kind in
		over) is "  other blocks keep theirs" test "$(wc -l <got)" -ge $((200 - bs / record)) ;;
		*) equal "  all names are kept" "$(wc -l <got)" 200 ;;
		esac
	done
done

if command -v mke2fs >/dev/null; then
	for sums in metadata_csum ^metadata_csum,uninit_bg; do
		mkdir -p n && for i in 1 2 3; do echo "new $i" >n/$i; done
		rm -f img
		for tree in d n; do
			MKE2FS_CONFIG='' mke2fs -q -F -t ext4 -b 1024 -I 256 -N 512 -O $sums \
				-E nodiscard,lazy_itable_init=1 -d $tree img 16M >.out 2>&1
		done
		printf '\x55' | dd of=img bs=1 seek=$((2048 + 30)) conv=notrunc status=none
		"$FSCK" -fy img >.out 2>.err
		equal "former filesystem, $sums: repaired" $? 1
		"$FSCK" -fn img >.out 2>.err
		equal "  clean afterwards" $? 0
		equal "  the files are kept, and no others" \
			"$("$EXPORT" img 2>.err | tar -t | grep -c '[0-9]$')" 3
	done
else
	skip "former filesystems" "no mke2fs" 6
fi
done_testing 106
