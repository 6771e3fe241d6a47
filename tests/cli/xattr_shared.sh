#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sharing of attribute blocks does not end with the process: an import and ea_set use the blocks that the image has.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# tar_of NAME FIRST COUNT VALUE SIZE: COUNT files from number FIRST on, with ten values from VALUE on
tar_of() {
	python3 - "$@" <<'END'
import sys, tarfile
name, first, count, value, size = sys.argv[1], *map(int, sys.argv[2:])
# Members of one value differ in the name and in the checksum of the last header.
models = []
for i in range(10):
    info = tarfile.TarInfo("")
    info.pax_headers = {"SCHILY.xattr.user.value": "%04d" % (value + i) * (size // 4)}
    model = info.tobuf(tarfile.PAX_FORMAT)
    before, head = model[:-512], model[-512:-364] + b" " * 8 + model[-356:]
    models.append((before, head, sum(head)))
with open(name, "wb") as tar:
    for i in range(count):
        before, head, total = models[i % 10]
        of = b"f%d" % (first + i)
        tar.write(b"%s%s%s%06o\0 %s" % (before, of.ljust(100, b"\0"), head[100:148], total + sum(of), head[156:]))
    tar.write(bytes(1024))
END
}
# blocks REFERENCES DESCRIPTION BLOCKS
blocks() {
	run_tool "$BIN/xw-debugfs" /dev/null -R xattr_share img
	equal "$2: blocks" "$(sed -n 's/^blocks: //p' .out)" "$3"
	equal "  references" "$(sed -n 's/^references: //p' .out)" "$1"
	equal "  and none miscounted" "$(sed -n 's/^wrong_refcounts: //p' .out)" 0
	clean img "  e2fsck"
}

tar_of a.tar 0 2000 0 240
tar_of b.tar 2000 2000 0 240
tar_of c.tar 4000 2000 5 240
tar_of d.tar 0 4000 100 240
for options in "" "-O ^metadata_csum" "-b 1024"; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -N 30000 -d a.tar img 64M
	works "an image ${options:-as usual}"
	blocks 2000 "made" 10
	import img b.tar
	works "the same values"
	blocks 4000 "no new block" 10
	import img c.tar
	works "half of them the same"
	blocks 6000 "five new" 15
done

import img d.tar
works "all files of the first two with other values"
blocks 6000 "no block stays that nobody needs" 20

# A block has at most 1024 references; a damaged one gets no further ones.
tar_of e.tar 10000 9000 0 240
import img e.tar
works "9,000 more"
blocks 15000 "200 and 900 are more than 1024" 30
run_tool "$BIN/xw-debugfs" /dev/null -R "stat /f4000" img
blk=$(sed -n 's/.*File ACL: \([0-9]*\).*/\1/p' .out)
is "a block to damage" [ "$blk" -gt 0 ]
printf x | dd of=img bs=1 seek=$((blk * 1024 + 1000)) conv=notrunc status=none
tar_of f.tar 30000 10 5 240
cp img before
import img f.tar
works "beside a damaged block"
equal "  which stays as it is" "$(dd if=img bs=1024 skip="$blk" count=1 status=none | cksum)" \
	"$(dd if=before bs=1024 skip="$blk" count=1 status=none | cksum)"

# A block that is free in its bitmap, although an inode names it, may be given to anybody.
rm -f img
tar_of g.tar 0 1 0 240
tar_of h.tar 20 1 0 240
mkfs -q -O ^metadata_csum,^uninit_bg -N 2000 -d g.tar img 16M
works "without checksums, in one group"
acl_of() {
	run_tool "$BIN/xw-debugfs" /dev/null -R "stat $1" img
	sed -n 's/.*File ACL: \([0-9]*\).*/\1/p' .out
}
blk=$(acl_of /f0)
run_tool "$BIN/xw-dump" /dev/null -h img
free=$(sed -n 's/^Free blocks: *//p' .out)
run_tool "$BIN/xw-debugfs" /dev/null -w -R "freeb $blk" -R "set_bg 0 free_blocks_count $((free + 1))" \
	-R "ssv free_blocks_count $((free + 1))" img
works "its block is free, and counted so"
import img h.tar
works "the same value"
is "  has a block of its own" [ "$(acl_of /f20)" -gt 0 -a "$(acl_of /f20)" != "$blk" ]

# 20,000 files with ten values: 20 blocks, also when ten of them are there. An empty size: no attributes.
tar_of all.tar 0 20000 0 240
tar_of ten.tar 20000 10 0 240
tar_of bare.tar 50000 1200 0 0
rm -f img
mkfs -q -N 30000 -d all.tar img 64M
works "20,000 files"
blocks 20000 "as few as can be" 20
rm -f img
mkfs -q -N 30000 -d ten.tar img 64M
works "ten files"
blocks 10 "with the values" 10
import img all.tar
works "20,000 more"
blocks 20010 "ten blocks are there" 20

# ea_set, in one session and in sessions of their own.
rm -f img
mkfs -q -N 30000 -d ten.tar img 64M
import img bare.tar
blocks 10 "1,200 files without attributes" 10
seq 50000 51199 | awk '{ v = ""; for (i = 0; i < 60; i++) v = v sprintf("%04d", $1 % 10); print "ea_set /f" $1 " user.value " v }' >sets
run_tool "$BIN/xw-debugfs" /dev/null -w -f sets img
works "ea_set of the values"
blocks 1210 "no new block" 10
run_tool "$BIN/xw-debugfs" /dev/null -w -f sets img
works "the same again"
blocks 1210 "nothing changes" 10
sed 's/user.value/user.other/' sets | head -n 30 >others
run_tool "$BIN/xw-debugfs" /dev/null -w -f others img
works "another attribute for 30 files"
blocks 1210 "ten new blocks, which they share" 20
sed 's/ea_set \([^ ]*\).*/ea_rm \1 user.other/' others >removals
run_tool "$BIN/xw-debugfs" /dev/null -w -f removals img
works "which is removed again"
blocks 1210 "each file refers to the first blocks" 10
for i in 3 4; do
	sed -n "$i p" sets >one
	run_tool "$BIN/xw-debugfs" /dev/null -w -R "ea_rm /f5000$((i - 1)) user.value" -R "$(cat one)" img
	works "ea_rm and ea_set in one session"
done
blocks 1210 "the references are the same" 10
run_tool "$BIN/xw-debugfs" /dev/null -w -R "rm /f50000" -R "ea_rm /f50001 user.value" img
works "rm and ea_rm"
blocks 1208 "a reference less for each" 10

# A block has at most 1024 references: 1,100 files of one value need two.
seq 50002 51101 | sed 's/.*/ea_set \/f& user.value one/' >sets
sed "s/one\$/$(printf 'one%.0s' $(seq 80))/" sets >many
run_tool "$BIN/xw-debugfs" /dev/null -w -f many img
works "1,100 files with one value"
blocks 1208 "two blocks for them" 12

# A block that was freed is not found again.
v=$(printf 'gone%.0s' $(seq 60))
head -c 400000 /dev/urandom >contents
run_tool "$BIN/xw-debugfs" /dev/null -w -R "ea_set /f51150 user.value $v" -R "ea_set /f51151 user.value $v" -R "ea_rm /f51150 user.value" \
	-R "ea_rm /f51151 user.value" -R "write $T/contents file" -R "ea_set /f51152 user.value $v" img
works "set, removed, and set on another file"
blocks 1206 "a new block" 13
run_tool "$BIN/xw-debugfs" /dev/null -R "dump /file back" img
is "  and the file in between is whole" cmp contents back
# More blocks than are looked at for one file: the search goes on with what it may save. Nothing that it has found is lost.
different() { # NAME PREFIX COUNT: files of different values
	python3 - "$@" <<'END'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT) as tar:
    for i in range(int(sys.argv[3])):
        info = tarfile.TarInfo("%s%05d" % (sys.argv[2], i))
        info.pax_headers = {"SCHILY.xattr.user.value": "%05d" % i * 40}
        tar.addfile(info, io.BytesIO(b""))
END
}
rm -f img
different first.tar a 18000
different second.tar b 18000
mkfs -q -b 1024 -N 40000 -d first.tar img 64M
works "18,000 values"
import img second.tar
works "the same, for other files"
blocks 36000 "no new block" 18000
seq 17000 17999 | awk '{ v = ""; for (i = 0; i < 40; i++) v = v sprintf("%05d", $1 - 1); print "ea_set /b" $1 " user.value " v }' >sets
run_tool "$BIN/xw-debugfs" /dev/null -w -f sets img
works "1,000 files get the value of another one"
run_tool "$BIN/xw-debugfs" /dev/null -R xattr_share img
made=$(($(sed -n 's/^blocks: //p' .out) - 18000))
is "  new blocks ($made): one for each 64 that were not looked at, at most" [ "$made" -le $(((18000 - 16384) / 64 + 1)) ]
clean img "  e2fsck"
done_testing 132
