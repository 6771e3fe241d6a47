#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Limits of quota files, those of owners without a file, too: each alone, and after damage to the file or its inode.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
command -v python3 >/dev/null || skip_all "python3 is not installed"

# An entry of 72 bytes: id, limits and numbers of inodes and blocks, grace times.
cat >quota.py <<'PYTHON'
import io, struct, sys, tarfile
IDS = [1000, 1001, 1002, 1003, 1004, 70000]
def entry(data, id):
    """Where the entry of an owner is: a row of the table of data blocks."""
    at = data.find(struct.pack("<II", id, 0))
    while at % 1024 < 16 or (at % 1024 - 16) % 72:
        at = data.find(struct.pack("<II", id, 0), at + 1)
    return at
if sys.argv[1] == "tar":
    with tarfile.open(sys.argv[2], "w") as tar:
        for id in IDS:
            info = tarfile.TarInfo("of-%d" % id)
            info.size, info.uid, info.mtime = id % 7000, id, 1600000000
            tar.addfile(info, io.BytesIO(b"x" * info.size))
else:  # one limit for each owner, all for the last
    image, at, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open(image, "r+b") as f:
        f.seek(at)
        data = bytearray(f.read(size))
        for n, id in enumerate(IDS):
            for field, off in enumerate((8, 16, 32, 40)):
                if field == n or n == 5:
                    struct.pack_into("<Q", data, entry(data, id) + off, 100 + n * 10 + field)
            if n == 5:
                struct.pack_into("<QQ", data, entry(data, id) + 56, 1800000000, 1900000000)
        f.seek(at)
        f.write(data)
PYTHON

at() { echo $(($("$DEBUGFS" -R "bmap <3> $1" limits 2>/dev/null) * 1024)); }
listed() { "$DEBUGFS" -R 'list_quota user' "$1" 2>&1; }
graces() { # IMAGE: grace times of the owner with all limits, as they are in the file
	"$DEBUGFS" -R 'dump <3> file' "$1" >/dev/null 2>&1
	od -An -v -tu4 -w4 file | tr -d ' ' | grep -cx '1800000000\|1900000000'
}
# repaired ID WHAT: `bad` has that finding and no other, and one repair leaves nothing to be found
repaired() {
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	equal "$2: found" "$(sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' .json | tr '\n' ' ')" "$1 "
	"$FSCK" -fy bad >.out 2>.err
	equal "  repaired" $? 1
	"$FSCK" -fn bad >.again 2>.err
	equal "  clean then" $? 0
}

python3 quota.py tar s.tar
mkfs -q -t ext4 -b 1024 -O quota -d s.tar limits 8M
works "an image with quota"
size=$("$DEBUGFS" -R 'stat <3>' limits 2>/dev/null | sed -n '1,3s/.*Size: *\([0-9]*\).*/\1/p')
is "  its user quota file is in one piece" test $(($(at 0) + size - 1024)) = "$(at $((size / 1024 - 1)))"
python3 quota.py limits limits "$(at 0)" "$size"
listed limits >wanted
equal "  it has limits" "$(awk '{ print $1, $3, $4, $6, $7 }' wanted | tail -n 6)" "1000 0 0 0 100
1001 0 0 111 0
1002 0 124928 0 0
1003 136192 0 0 0
1004 0 0 0 0
70000 156672 155648 151 150"
equal "  and grace times" "$(graces limits)" 2
"$FSCK" -fn limits >.out 2>.err
equal "  a clean one" $? 0

# All files become those of another owner: who has a limit keeps it.
cp limits bad
for id in 1000 1001 1002 1003 1004 70000; do echo "sif of-$id uid 5"; done >cmds
"$DEBUGFS" -w -f cmds bad >.dbg 2>&1 || cat .dbg
repaired quota-usage "no file of an owner"
is "  of seven owners" grep -q 'user.* 7 ' .out
listed bad >is
awk 'NR < 3 { print } NR > 2 && $1 != 1004 { print $1, 0, $3, $4, 0, $6, $7 }' OFS=' ' wanted | sed 1,2d >without
equal "  limits without usage" "$(awk 'NR > 3 { $1 = $1; print }' is)" "$(cat without)"
equal "  who has neither is gone, and all usage is of the new owner" "$(awk '$1 == 1004 || $1 == 5 { print $1, $5 }' is)" "5 6"
equal "  with grace times" "$(graces bad)" 2

# Limits of owners with and without files are found where the tree does not lead to them.
cp bad limits
listed limits >wanted
for what in "0 quota-file-damaged the header" "1 quota-usage the root of the tree" "5 quota-usage the leaf of the owners of files"; do
	read -r block id what <<<"$what"
	cp limits bad
	dd if=/dev/zero of=bad bs=1024 seek=$(($(at "$block") / 1024)) count=1 conv=notrunc status=none
	repaired "$id" "$what of zeros"
	listed bad >is
	is "  with all limits" cmp -s wanted is
	equal "  and grace times" "$(graces bad)" 2
done

# The inode: without a link it is mended, of zeros it is made anew. Its contents are lost then.
cp limits bad
"$DEBUGFS" -w -R 'sif <3> links_count 0' bad >.dbg 2>&1 || cat .dbg
repaired quota-file-damaged "no link"
listed bad >is
is "  with all limits" cmp -s wanted is
equal "  it has one" "$("$DEBUGFS" -R 'stat <3>' bad 2>/dev/null | sed -n 's/^Links: *\([0-9]*\).*/\1/p')" 1

cp limits bad
"$DEBUGFS" -w -R 'clri <3>' bad >.dbg 2>&1 || cat .dbg
"$FSCK" -fy bad >.out 2>.err
equal "an inode of zeros: repaired" $? 1
"$FSCK" -fn bad >.out 2>.err
equal "  clean then" $? 0
"$DEBUGFS" -R 'stat <3>' bad >.stat 2>/dev/null
is "  a regular file of root" grep -q 'Type: regular .*Mode: *0600 ' .stat
is "  with one link" grep -q '^Links: 1 ' .stat
equal "  usage is right" "$(listed bad | awk 'NR > 1 { print $1, $5 }')" "0 2
5 6"
clean bad "  clean for stock e2fsck, too"
done_testing 38
