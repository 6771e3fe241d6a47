#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inode records whose fields contradict each other: what they hold stays as it was.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}

edit() { # IMAGE REQUEST...
	local img=$1
	shift
	for request; do
		"$DEBUGFS" -w -R "$request" "$img" >.dbg 2>&1 || cat .dbg
	done
}
# Names, types, modes, owners, times, targets, attributes and contents of an image.
content() { # IMAGE
	"$EXPORT" "$1" 2>.err | sha256sum
	[ "${PIPESTATUS[0]}" = 0 ] || echo "cannot export $1"
}
# One repair, and nothing is found afterwards.
repaired() { # DESCRIPTION IMAGE
	RC=0
	"$FSCK" -fy "$2" >.out 2>.err || RC=$?
	equal "$1: repaired" "$RC" 1
	RC=0
	"$FSCK" -fn "$2" >.out 2>.err || RC=$?
	equal "  clean afterwards" "$RC" 0
}
# One finding of that id, and the repair restores what `base` holds.
restored() { # ID DESCRIPTION
	"$FSCK" -fn --json bad >.json 2>.err || true
	is "$2: $1" grep -q "\"$1\"" .json
	repaired "$2" bad
	equal "  same contents" "$(content bad)" "$(content "$base")"
}

mkdir -p d/dir/sub
for i in 1 2 3; do echo "$i" >"d/dir/f$i"; done

# ---- deletion times ----

# A clock that has not been set: a number below the inode count would be a link of the orphan list.
mkfs -q -d d img 8M
count=$("$BIN/xw-dump" -h img 2>/dev/null | sed -n 's/^Inode count: *//p')
cp img gone
edit gone 'rm dir/f2'
ino=$("$DEBUGFS" -R 'stat dir/f2' img 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\).*/\1/p')
for clock in 0 5 4294967295 4294967296 15032385535; do
	case $clock in
	0 | 5) want=$(printf '0x%08x' "$count") ;;
	*) want=0xffffffff ;;
	esac
	for dtime in 0 7; do
		cp gone bad
		edit bad "sif <$ino> dtime @$dtime" "sif <$ino> mode 0100644"
		SOURCE_DATE_EPOCH=$clock "$FSCK" -fy bad >.out 2>.err || RC=$?
		SOURCE_DATE_EPOCH=$clock "$FSCK" -fn bad >.out 2>.err
		equal "deletion time $dtime at $clock" "$? $("$DEBUGFS" -R "stat <$ino>" bad 2>/dev/null |
			sed -n 's/.*dtime: \(0x[0-9a-f]*\).*/\1/p')" "0 $want"
	done
done
cp img bad
SOURCE_DATE_EPOCH=0 "$DEBUGFS" -w -R 'rm dir/f1' bad >.dbg 2>&1
is "removed at 0: clean" "$FSCK" -fn bad

# The checksum of a free record, deleted or never used since it was cleared.
base=gone
for mode in 0100644 0; do
	cp gone bad
	edit bad "sif <$ino> mode $mode"
	[ "$mode" != 0 ] || edit bad "sif <$ino> dtime @0"
	read -r blk off < <("$DEBUGFS" -R "imap <$ino>" bad 2>/dev/null |
		sed -n 's/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\).*/\1 \2/p')
	printf '\x07' | dd of=bad bs=1 seek=$((blk * 4096 + off + 100)) conv=notrunc status=none
	restored inode-csum "generation of a free record of mode $mode"
done

# Permissions stay with a directory whose type is damaged.
for mode in 0755 0 02750 01777; do
	cp img was
	edit was "sif dir mode 04$(printf '%04o' "$((mode))")" "sif dir/sub mode 04$(printf '%04o' "$((mode))")"
	base=was
	cp was bad
	edit bad "sif dir mode 010$(printf '%04o' "$((mode))")" "sif dir/sub mode 010$(printf '%04o' "$((mode))")"
	restored inode-mode-directory "directories with the mode of files, permissions $mode"
done
cp img bad
base=img
edit bad 'sif dir mode 0100755'
RC=0
"$FSCK" -fp bad >.out 2>.err || RC=$?
equal "  which needs an administrator" "$RC" 4

# ---- inline contents ----

mkdir -p s/d/sub
echo content >s/f
printf '%0100d' 5 >s/g
for i in 1 2 3 4; do echo "$i" >"s/d/a long name $i"; done
mkfs -q -O inline_data -d s inl 8M
base=inl
for at in f g d; do
	for field in 'blocks 8' 'blocks 0xffff' 'blocks_hi 1' 'file_acl 7' 'file_acl 0xfffffff' \
		'extra_isize 0'; do
		cp inl bad
		edit bad "sif $at $field"
		repaired "inline $at, $field" bad
		equal "  same contents" "$(content bad)" "$(content inl)"
	done
done
cp inl bad
edit bad 'sif d flags 0x10001000'
restored inode-index-flag 'INDEX flag on an inline directory'
cp inl bad
edit bad 'sif d mode 0755'
restored inode-mode-directory 'inline directory without a type'
cp inl bad
edit bad 'sif d mode 0100755'
restored inode-mode-directory 'inline directory with the mode of a file'
# The hash of system.data: offset of its entry in the record, which begins at 128 + 32.
"$DEBUGFS" -R 'imap d' inl >.map 2>&1
read -r blk off < <(sed -n 's/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\).*/\1 \2/p' .map)
cp inl bad
printf '\x01\x02\x03\x04' | dd of=bad bs=1 seek=$((blk * 4096 + off + 164 + 12)) conv=notrunc status=none
restored inline-hash 'hash of inline entries'

# A lost flag, with the other flags and without them: all types and lengths keep their contents.
for name in $("$DEBUGFS" -R 'ls -p' inl 2>/dev/null | cut -d/ -f6 | grep -v '^\.\|^lost+found$'); do
	"$DEBUGFS" -R "stat $name" inl 2>/dev/null | grep -q 'Flags: 0x1' || continue
	for flags in 0 0x80; do
		cp inl bad
		edit bad "sif $name flags $flags"
		restored inode-inline-flag "inline contents of $name without the flag, $flags"
	done
done
# An inline symlink is made by stock tools.
if command -v mke2fs >/dev/null; then
	mkdir k
	ln -s "$(printf 'L%.0s' {1..100})" k/link
	MKE2FS_CONFIG='' mke2fs -q -F -t ext4 -I 256 -O inline_data -d k stock 8M >.out 2>&1
	base=stock
	for field in 'size 7' 'size 99' 'size 101' 'blocks 8' 'extra_isize 0' 'file_acl 7'; do
		cp stock bad
		edit bad "sif link $field"
		repaired "inline symlink, $field" bad
		equal "  same contents" "$(content bad)" "$(content stock)"
	done
else
	skip "inline symlinks" "no mke2fs" 18
fi

# ---- symbolic links ----

mkdir l
echo x >l/f
ln -s f l/short
ln -s "$(printf '%059d' 7)" l/full
ln -s "$(printf 'L%.0s' {1..150})" l/slow
for type in ext2 ext3 ext4; do
	mkfs -q -t $type -b 1024 -d l $type 8M
	base=$type
	for field in 'file_acl 0xffffffff' 'file_acl 32' 'blocks 0' 'blocks 77'; do
		cp $type bad
		edit bad "sif slow $field"
		repaired "$type: slow symlink, $field" bad
		equal "  same contents" "$(content bad)" "$(content $type)"
	done
done
for at in short full; do
	cp ext4 bad
	edit bad "sif $at flags 0x80000"
	equal "$at symlink with the extents flag: exported" "$(content bad)" "$(content ext4)"
	restored inode-flags "$at symlink with the extents flag"
done

# ---- flags and times ----

mkfifo l/fifo
for feature in '' -Oea_inode; do
	# shellcheck disable=SC2086
	rm -f img && mkfs -q $feature -d l img 8M
	base=img
	for at in f slow fifo /; do
		cp img bad
		flags=$("$DEBUGFS" -R "stat $at" img 2>/dev/null | sed -n 's/.*Flags: \(0x[0-9a-f]*\).*/\1/p')
		edit bad "sif $at flags $(printf '0x%x' $((flags | 0x200000)))"
		[ $at = f ] && id=ea-inode-flag-stray || id=inode-flags
		restored $id "EA_INODE flag on $at $feature"
	done
done
touch -d @-1000 l/f
rm -f img && mkfs -q -d l img 8M
base=img
cp img bad
edit bad 'sif f mtime_extra 3'
"$FSCK" -fn --json bad >.json 2>.err
is "a time before 1970 with the last epoch" grep -q '"inode-time-range"' .json
"$FSCK" -fy bad >.out 2>.err
equal "  is one before 1970 again" "$(content bad)" "$(content img)"

# ---- garbage ----

# A record with several wrong fields is repaired as long as its map is good.
rm -f img && mkfs -q -d l img 8M
base=img
cp img bad
edit bad 'sif f dtime @77' 'sif f faddr 9' 'sif f flags 0x80081100' 'sif f file_acl 0xfffffff' \
	'sif f blocks 0x7fffffff' 'sif f extra_isize 7777'
repaired "six wrong fields" bad
equal "  same contents" "$(content bad)" "$(content img)"
# Random bytes, from one inode of the table on, yield no objects; the last record of them is cut off.
if command -v python3 >/dev/null; then
	for type in ext2 ext4 nocsum; do
		[ $type != nocsum ] || mkfs -q -O ^metadata_csum -d l nocsum 8M
		read -r blk off < <("$DEBUGFS" -R 'imap <40>' $type 2>/dev/null |
			sed -n 's/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\).*/\1 \2/p')
		bs=$("$BIN/xw-dump" -h $type | sed -n 's/^Block size: *//p')
		for seed in 1 2 3 7; do
			cp $type bad
			python3 -c 'import random, sys
with open("bad", "r+b") as f:
	f.seek(int(sys.argv[1]))
	f.write(random.Random(int(sys.argv[2])).randbytes(30000 + 32))' $((blk * bs + off)) $seed
			# every record is read: the descriptor calls none unused
			edit bad 'set_bg 0 itable_unused 0' 'set_bg 0 flags 4' 'set_bg 0 checksum calc'
			repaired "$type: random bytes $seed in the inode table" bad
			equal "  no objects of them" "$(content bad)" "$(content $type)"
		done
	done
else
	skip "random bytes in the inode table" "python3 is not installed" 36
fi

# ---- reserved inodes ----

for request in 'sif <9> dtime @7' 'sif <5> size 0x4000000000000' 'sif <8> size 4194305' \
	'sif <7> size 0x4000000000000'; do
	rm -f img && mkfs -q -d l img 8M
	base=img
	cp img bad
	edit bad "$request"
	repaired "$request" bad
	equal "  same contents" "$(content bad)" "$(content img)"
done
# ---- link counts ----

if command -v python3 >/dev/null; then
	python3 -c 'import sys
def entry(name):
	h = bytearray(b"%s" % name.encode()).ljust(100, b"\0") + b"0000755\0" + 2 * b"0000000\0"
	h += 2 * b"00000000000\0" + b" " * 8 + b"5" + bytes(100) + b"ustar\x0000" + bytes(247)
	h[148:156] = b"%06o\0 " % sum(h)
	return h
sys.stdout.buffer.write(b"".join(entry("top/%d" % i) for i in range(65010)) + bytes(1024))' >many.tar
	rm -f img && mkfs -q -b 1024 -I 128 -N 70000 -d many.tar img 140M
	base=img
	cp --sparse=always img bad
	edit bad 'feature -dir_nlink'
	restored superblock-features "65,010 subdirectories without dir_nlink"
	is "  the feature is set again" \
		sh -c "'$BIN/xw-dump' -h bad | grep -q 'features:.* dir_nlink'"
	cp --sparse=always img bad
	edit bad 'sif top links_count 65012'
	repaired "65,012 links" bad
	equal "  same contents" "$(content bad)" "$(content img)"
	# Its link count is 1: that of no other directory.
	cp --sparse=always img bad
	yes 'no entry' | dd of=bad bs=1024 count=1 conv=notrunc status=none \
		seek="$("$DEBUGFS" -R 'bmap top 0' img 2>/dev/null)"
	is "65,010 directories whose first block is damaged are repaired" \
		sh -c "'$FSCK' -fy bad >.out; [ \$? = 1 ] && '$FSCK' -fn bad >/dev/null"
	for i in img bad; do
		"$DEBUGFS" -R 'ls -p top' "$i" 2>/dev/null | cut -d/ -f6 | sort -u >".names.$i"
	done
	is "  they have their names" cmp -s .names.img .names.bad
	rm -f many.tar img bad
else
	skip "a directory of 65,010 directories" "python3 is not installed" 10
fi

# ---- reserved inodes without a type ----

rm -f img && mkfs -q -d l img 8M
# Without a type and i_blocks they own nothing.
cp img bad
edit bad 'sif <5> block[11] 1'
is "pointer of a reserved inode without a type" "$FSCK" -fn bad
done_testing 290
