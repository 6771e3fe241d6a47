#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An undo file restores one state of an image only: not one that a repair in the same second has left; and not with a header
# that another program has changed.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
undo() {
	T_TOOL=xw-undo
	run_tool "$BIN/xw-undo" /dev/null "$@"
}
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$DEBUGFS" /dev/null "$@"
}
export SOURCE_DATE_EPOCH=1700000000

# A bit of the block bitmap is set: the repair changes the bitmap alone, and no time passes.
mkfs -q -O ^metadata_csum,^has_journal -b 4096 img 8M
for how in inside file; do
	redo=()
	[ $how = inside ] || redo=(--redo-file "$T/redo")
	cp img changed
	dbg -w --commit $how "${redo[@]}" -z undo-$how -R "mkdir dir" changed
	works "$how: a change with an undo file"
	cp changed repaired
	python3 - repaired <<-'PY'
		import struct, sys
		f = open(sys.argv[1], 'r+b')
		f.seek(4096)
		at = struct.unpack('<I', f.read(4))[0] * 4096 + 1000 // 8
		f.seek(at)
		b = f.read(1)[0]
		f.seek(at)
		f.write(bytes([b | 1 << 1000 % 8]))
	PY
	fsck -fy --commit $how "${redo[@]}" repaired
	equal "$how: the repair of a bitmap" "$RC" 1
	cp repaired kept
	undo undo-$how repaired
	fails 1 "has been changed since" "$how: the undo file is older than the repair"
	is "$how:   the image is unchanged" cmp kept repaired
	fsck -fy repaired
	equal "$how: a check that changes nothing" "$RC" 0
	is "$how:   leaves the image" cmp kept repaired
	undo undo-$how changed
	works "$how: on the image of the change it works"
done

# set_field FILE FORMAT OFFSET VALUE: change a field of the header, and its checksum.
set_field() {
	python3 - "$@" <<-'PY'
		import struct, sys
		def crc(data):
		    c = 0xffffffff
		    for x in data:
		        c ^= x
		        for _ in range(8):
		            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
		    return c
		path, form, at, value = sys.argv[1:]
		b = bytearray(open(path, 'rb').read())
		struct.pack_into(form, b, int(at, 0), int(value))
		struct.pack_into('<I', b, 0x1fc, crc(b[:0x1fc]))
		open(path, 'wb').write(b)
	PY
}
# The unit of positions becomes 1024, as of a tool that opens an image and then refuses it.
for bs in 1024 4096; do
	mkfs -q -F -b $bs img 8M
	rm -f undo
	mkfs -q -F -b $bs -z undo img 8M
	works "$bs: a filesystem over another, with an undo file"
	set_field undo '<I' 0x24 1024
	cp img kept
	undo undo img
	fails 1 "another program has changed its header" "$bs: its header was changed"
	undo -f undo img
	fails 1 "another program has changed its header" "$bs:   with -f"
	is "$bs:   the image is unchanged" cmp kept img
	dbg -w -z undo -R "mkdir dir" img
	is "$bs: a change does not continue it" test "$RC" != 0
	is "$bs:   and says why" grep -q "another program has changed" .err
	is "$bs:   the image is unchanged" cmp kept img
done

# -f is no advice where the target is something else, but it is after a run of xw-mkfs that was killed.
mkfs -q -F img 8M
mkfs -q -F -z undo-mkfs img 8M
works "an undo file"
mkdir src && head -c 200000 /dev/urandom >src/data && tar -cf src.tar src
undo undo-mkfs src.tar
is "of a tar archive: no -f" sh -c '! grep -q -e "-f restores" .err && grep -q "it is a tar archive" .err'
"$KIT/disk.py" disk gpt 16 1024:8192
undo undo-mkfs disk
is "of a disk: no -f" sh -c '! grep -q -e "-f restores" .err && grep -q "partition N selects a partition (1 at 1048576" .err'
truncate -s 8M zeros
undo undo-mkfs zeros
is "of nothing: no -f" sh -c '! grep -q -e "-f restores" .err && grep -q "no ext2, ext3 or ext4 filesystem is at byte 0" .err'
mkfs -q other 8M
undo undo-mkfs other
is "of another filesystem: another image" grep -q "name the image, or its --partition" .err

# -F overwrites no undo file.
for force in -q -F; do
	mkfs $force -z undo-mkfs img 8M
	fails 1 "undo file undo-mkfs: exists already" "$force: an existing undo file"
	is "  no hint that -F helps" sh -c '! grep -q -e "pass -F" .err'
	cp img kept
	mkfs $force -z img img 8M
	fails 2 "img: is both undo file and image" "$force: the image as undo file"
	is "  the image is unchanged" cmp img kept
done
# As in mke2fs, -q hides no question.
cp img kept
timeout -s KILL 60 python3 "$XW_SRC/tests/cli/on_tty.py" 'n\r' "$MKFS" -q img 8M >seen 2>&1
is "-q asks" grep -q "Proceed anyway?" seen
is "  and no keeps the image" cmp img kept

# A change that extends a file: it has its size before again. What was undone is not undone twice.
{ cat src/data && head -c 3000000 /dev/zero; } >data
while IFS='|' read -r what before command size; do
	rm -f img u again
	[ -z "$before" ] || cp "$before" img
	eval "$command" >.out 2>&1 || fail "$what: the change"
	cp img changed
	undo -n u img
	equal "$what: -n says that the file would be cut" "$RC $(grep -c "would be cut to $size, its size before" .out)" "0 1"
	undo -z again u img
	equal "  and it is" "$RC $(grep -c "cut to $size, its size before" .out)" "0 1"
	[ -n "$before" ] || : >"${before:=empty}"
	is "  to what was there" cmp img "$before"
	undo -z no u img
	fails 1 "img: is in the state before the change already" "  a second time: refused"
	equal "  with no advice, and no other undo file" "$(wc -l <.err) $(ls no 2>&1 | grep -c "No such")" "1 1"
	undo --json again img
	is "  the undo file of the restore works" cmp img changed
done <<'END'
a new file||"$MKFS" -q -z u img 8M|0 B
a short file|src.tar|head -c 1500 src.tar >img; cp img src.tar; "$MKFS" -q -F -z u img 8M|1.46 KiB
a file without a filesystem|data|"$MKFS" -q -F -z u img 8M|3.05 MiB
a new file, twice||"$MKFS" -q -z u img 8M && "$BIN/xw-tune" -z u -L name img|0 B
a short file, twice|src.tar|"$MKFS" -q -F -z u img 8M && "$DEBUGFS" -w -z u -R "mkdir dir" img|1.46 KiB
a filesystem, twice|other|"$MKFS" -q -F -z u img 12M && "$BIN/xw-tune" -z u -L name img|8 MiB
END
rm -f img u
mkfs -q -z u img 8M
undo --json u img
is "--json: the size" grep -q '"cut_to_bytes":0' .out
# The file has grown since: nothing is cut, and a file of an earlier version does not know the size.
rm -f img u
mkfs -q -z u img 8M
truncate -s 9M img
undo u img
equal "a file that has grown since is not cut" "$RC $(stat -c %s img) $(grep -c "nothing to restore: u has no old contents" .err)" "0 $((9 << 20)) 1"
rm -f img u
mkfs -q -z u img 8M
cp other another
undo -f u another
equal "-f does not cut another filesystem of this size" "$RC $(stat -c %s another)" "0 $((8 << 20))"
# What lies behind the filesystem is not cut, whatever the sizes in the undo file say.
rm -f img u
mkfs -q img 1M
mkfs -q -F -E offset=1M -z u img 8M
truncate -s 12M img
set_field u '<Q' 0x1f4 $((11 << 20))
undo u img
equal "a filesystem with other contents behind it is not cut" "$RC $(stat -c %s img)" "0 $((12 << 20))"
undo -z other undo-mkfs missing
equal "an image that is missing: no other undo file" "$RC $(stat -c %s other)" "1 $((8 << 20))"

# A run that is killed while it waits for the rest of its archive: what it has overwritten is in the undo file.
head -c 3000000 /dev/urandom >big && tar -cf big.tar big
rm -f img u && mkfs -q -L before -d big.tar img 8M
works "an image"
cp img kept
mkfifo feed
"$MKFS" -q -F -z u -d - img 6M <feed >/dev/null 2>&1 &
killed=$!
exec 9>feed
head -c 1500000 big.tar >&9
for _ in $(seq 300); do cmp -s img kept || break; sleep .1; done
kill -KILL $killed && wait $killed 2>/dev/null
exec 9>&-
is "a killed run has changed the image" test "$(cmp -s img kept; echo $?)" = 1
cp img broken
undo u img
fails 1 "its change was not finished" "  its undo file is used with -f only"
undo -f u img
is "  which restores every byte" cmp img kept
if command -v e2undo >/dev/null; then
	e2undo -f u broken >/dev/null 2>&1
	is "  as e2undo does, which sets the time of the last write" cmp -i 2048 broken kept
else
	skip "  as e2undo does" "e2undo is not installed" 1
fi

# A failed run that had nothing to save leaves no undo file, which would stop the next run.
rm -rf img u many
mkdir many
head -c 9000000 /dev/zero | tr '\0' x >many/large
mkfs -q -z u -d many img 1M
fails 1 "image too small" "a new file that is too small"
is "  no image, no undo file" gone u
mkfs -q -z u -d many img 24M
works "  the next run needs no other name"

# The first bytes of a disk do not show that an undo file is of it.
"$KIT/disk.py" disk dos 16 1024:8192
cp disk kept
mkfs -q -FF -z over disk
works "a filesystem over a disk"
undo -z redo over disk
is "  its undo file restores the disk" cmp disk kept
undo redo disk
fails 1 "has a dos partition table, and the undo file is not of a filesystem" "  that of the restore is not applied"
is "  the disk is as it was" cmp disk kept

# As e2undo: -h shows the header, and with -f a wrong checksum is a warning.
rm -f img u
mkfs -q img 8M
cp img kept
mkfs -q -F -L new -z u img 8M
works "a filesystem over another, with an undo file"
cp img changed
undo -h u
works "  its header is shown"
if command -v e2undo >/dev/null; then
	e2undo -h u img >want 2>/dev/null
	is "  as by e2undo" cmp want .out
else
	skip "  as by e2undo" "e2undo is not installed" 1
fi
undo -h img
fails 1 "not an undo file" "  of an image"
undo -h
is "-h without operands is help" grep -q '^Usage' .out
flip() { # FILE OFFSET
	cp u "$1"
	python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); b = f.read(1)[0]; f.seek(-1, 1); f.write(bytes([b ^ 1]))' "$1" "$2"
}
block() { sed -n "s/^$1:[[:space:]]*//p" want; }
undo -h u && cp .out want
unit=$(block "block size")
flip header $((0x1FC))
flip super $(($(block "super block") * unit + 1100 - 1024))
flip keys $(($(block "key block") * unit + 4))
flip contents $((($(block "key block") + 1) * unit + 5))
for part in header super keys contents; do
	cp changed img
	undo $part img
	fails 1 "checksum" "$part: a wrong checksum"
	is "  nothing is written" cmp -s img changed
	undo -f $part img
	if [ $part = contents ]; then
		fails 1 "checksum of 1 piece is wrong; the other contents were written back" "  -f writes the others"
		is "  all others" sh -c 'test "$(cmp -l img kept | wc -l)" -gt 0'
	else
		is "  is a warning with -f" grep -q "warning: $part: the checksum of" .err
		is "  the old state is back" cmp img kept
	fi
done

# A tool that finds nothing to change leaves the file that it was asked for, as stock tools do.
rm -f img
mkfs -q -t ext4 img 8M
cp img kept
mkdir undo.d
export E2FSPROGS_UNDO_DIR=$T/undo.d
for how in "xw-fsck -fy -z u" "xw-fsck -p -z u" "xw-debugfs -w -z u -R stats" "xw-fsck -fy -z ''"; do
	rm -f u undo.d/*
	eval "\"$BIN\"/$how img" >.out 2>.err
	is "$how: an undo file" test -s "$(ls u undo.d/* 2>/dev/null)"
	undo "$(ls u undo.d/* 2>/dev/null)" img
	works "  which can be applied"
	is "  and the image is what it was" cmp -s img kept
done
rm -f u undo.d/*
for how in "xw-fsck -fn -z u" "xw-debugfs -z u -R stats"; do
	eval "\"$BIN\"/$how img" >.out 2>.err
	is "$how: none" gone u
done
"$BIN/xw-tune" -q -z u -L changed img >.out 2>.err
cp u u.was
"$BIN/xw-fsck" -fy -z u img >.out 2>.err
is "one that exists stays as it is" cmp u u.was
done_testing 132
