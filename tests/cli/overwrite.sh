#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What already exists is not overwritten without -F, and -F overwrites all of it.
. "$(dirname "$0")/lib.sh"

refuses() { # WHAT FILE
	sha256sum <"$2" >before
	mkfs "$2" 8M
	fails 1 "$2" "refused: $1"
	is "  and it is as it was" test "$(sha256sum <"$2")" = "$(cat before)"
	is "  and -F is named" grep -q -e -F .err
	mkfs -Fq "$2" 8M
	works "  -F overwrites it"
	clean "$2" "  and leaves a clean filesystem"
}

mkfs -q ext4.img 8M
refuses "an ext4 filesystem" ext4.img

truncate -s 8M swap.img
if mkswap swap.img >/dev/null 2>&1; then refuses "swap space" swap.img; else
	skip "refused: swap space" "mkswap is not installed" 5
fi

# An MBR with one Linux partition.
truncate -s 8M mbr.img
printf '\x00\x01\x01\x00\x83\x01\x01\x00\x01\x00\x00\x00\xff\x3f\x00\x00' |
	dd of=mbr.img bs=1 seek=446 conv=notrunc status=none
printf '\x55\xaa' | dd of=mbr.img bs=1 seek=510 conv=notrunc status=none
refuses "a partition table" mbr.img

if command -v mksquashfs >/dev/null; then
	mkdir sq && mksquashfs sq sq.img -quiet -no-progress >/dev/null 2>&1
	refuses "another filesystem" sq.img
else
	skip "refused: another filesystem" "mksquashfs is not installed" 5
fi

# IMAGE and source swapped, or the same: the archive survives.
mkdir d && printf x >d/x && tar -cf src.tar d && gzip -k src.tar
cp src.tar as.img && refuses "a tar archive" as.img
cp src.tar.gz as.img && refuses "compressed data" as.img
# One table for all tools: what mkfs does not overwrite is what others name where it is given as an image.
kinds=0
while IFS='|' read -r magic kind; do
	kinds=$((kinds + 1))
	{ printf '%b' "$magic" && head -c 600 /dev/zero; } >as.img
	mkfs as.img 8M
	[ $RC = 1 ] && grep -q "as.img: holds $kind" .err || { echo "xw-mkfs, $kind:" && cat .err; }
	for tool in xw-export xw-dump xw-freefrag; do
		[ -x "$BIN/$tool" ] || continue
		"$BIN/$tool" as.img </dev/null >.out 2>.err
		grep -q "it is $kind: xw-mkfs -d makes an image" .err || { echo "$tool, $kind:" && cat .err; }
	done
	printf '%b' "$magic" | head -c 2 >as.img # shorter than a magic number
	"$BIN/xw-export" as.img </dev/null >.out 2>.err
	[ "$kind" = "gzip data" ] || ! grep -q "it is" .err || cat .err
done >.said <<'KINDS'
\x1f\x8b|gzip data
\xfd7zXZ\x00|xz data
\x28\xb5\x2f\xfd|zstd data
BZh|bzip2 data
\x04\x22\x4d\x18|lz4 data
PK\x03\x04|a zip archive
7z\xbc\xaf\x27\x1c|a 7z archive
070701|a cpio archive
070707|a cpio archive
KINDS
equal "$kinds kinds of archives are named alike" "$(cat .said)" ""
sha256sum src.tar >before
for how in "-d src.tar" "-d ./src.tar" "-d -"; do
	RC=0
	T_ARGS="-F $how src.tar"
	"$MKFS" -F $how src.tar <src.tar >.out 2>.err || RC=$?
	fails 2 "src.tar.*both source and image" "the source is not the image: $how"
	is "  and it is as it was" sha256sum -c before
done
mkfs -q old.img 8M
sha256sum old.img >before
mkfs -F -d /nonexistent-source old.img
fails 1 "nonexistent-source" "a missing source and -F"
is "  the old image is as it was" sha256sum -c before

# Nothing goes before the first entry is there: a source of no known format costs no image.
printf 'no archive' >text
head -c 100 src.tar >short.tar
head -c 20 src.tar.gz >short.tar.gz
gzip -c text >text.gz
: >nothing
mkdir locked && chmod 000 locked
for how in text short.tar short.tar.gz text.gz nothing -; do
	mkfs_stdin text -F -d "$how" old.img
	fails 1 "" "-F with a source that is none: $how"
	is "  the old image is as it was" sha256sum -c before
	mkfs_stdin text -F -d "$how" old.img 16M
	is "  also with SIZE" sha256sum -c before
done
if ! is_root; then
	mkfs -F -d locked old.img
	fails 1 "locked" "-F with a directory that cannot be read"
	is "  the old image is as it was" sha256sum -c before
else
	skip "-F with a directory that cannot be read" "root reads it" 2
fi
chmod 755 locked
mkfs -F -d src.tar -d text old.img
fails 1 "text" "a second source is not looked at so early"
is "  and the file stays" test -f old.img

# -E nodiscard and -K: the file keeps its blocks, and nothing of what they held is seen.
if fallocate -l 64M full.img 2>/dev/null; then
	head -c 64M /dev/zero | tr '\0' 'z' >full.img
	for how in "-E nodiscard" -K; do
		mkfs -Fq $how -d d full.img
		works "$how"
		is "  keeps the blocks of the file" test "$(stat -c %b full.img)" -ge $((64 * 2048))
		clean full.img "  and the filesystem is clean"
		head -c 64M /dev/zero | tr '\0' 'z' >full.img
	done
	mkfs -Fq -E nodiscard -d d full.img 32M
	works "-E nodiscard with a SIZE below that of the file"
	equal "  and the file stays as long as it was" "$(stat -c %s full.img)" $((64 * 1048576))
	is "  in blocks of its own" test "$(stat -c %b full.img)" -ge $((32 * 2048))
	mkfs -Fq -E nodiscard -d d full.img 48M
	works "-E nodiscard with a SIZE above it"
	clean full.img "  and clean"
	head -c 64M /dev/zero | tr '\0' 'z' >full.img
	mkfs -Fq -E nodiscard,discard -d d full.img
	works "-E discard"
	is "  gives them back" test "$(stat -c %b full.img)" -lt $((32 * 2048))
	rm full.img
else
	skip "-E nodiscard" "no fallocate here" 13
fi

# -E offset: what lies around the filesystem stays.
head -c 20M /dev/zero | tr '\0' 'y' >disk.img
mkfs -q -E offset=1048576 disk.img 8M
works "an image in the middle of a file"
equal "  which keeps its size" "$(stat -c %s disk.img)" 20971520
is "  and what is before" test "$(head -c 1048576 disk.img | tr -d y | wc -c)" = 0
is "  and behind" test "$(tail -c +9437185 disk.img | tr -d y | wc -c)" = 0
mkfs -Fq -E offset=1048576 disk.img
works "without SIZE it reaches to the end"
equal "  of the file" "$(stat -c %s disk.img)" 20971520
if command -v dumpe2fs >/dev/null; then
	tail -c +1048577 disk.img >fs.img
	equal "  in blocks" "$(dumpe2fs -h fs.img 2>/dev/null | sed -n 's/^Block count: *//p')" 4864
else
	skip "  in blocks" "dumpe2fs is not installed" 1
fi

# Closed standard streams: the image must not get their numbers.
"$MKFS" -q -d src.tar closed.img 0<&- 2>&-
clean closed.img "an image made with standard error closed"
rm closed.img
RC=0
T_ARGS="-d - closed.img <&-"
"$MKFS" -d - closed.img <&- >.out 2>.err || RC=$?
fails 1 "standard input" "standard input is closed"
is "  no image is left" gone closed.img

# No signature, no refusal: an empty file made by truncate is the usual way to say how big.
truncate -s 8M plain.img
mkfs -q plain.img
works "an existing file without SIZE keeps its size"
equal "  8 MiB" "$(stat -c %s plain.img)" 8388608
clean plain.img "  and it is clean"

# -F with a fill that fails: the file was there before, so it stays.
mkfs -Fq -d /nonexistent-source plain.img
is "an existing file is never removed" test -e plain.img

# A longer file keeps its end: the tail of a disk image is not the filesystem's.
{ head -c 8M /dev/zero; echo "the tail"; } >tail.img
mkfs -Fq -E offset=0 tail.img 4M
works "SIZE below that of an existing file"
equal "  the file keeps its size" "$(stat -c %s tail.img)" $((8 * 1024 * 1024 + 9))
equal "  and its end" "$(tail -c 9 tail.img)" "the tail"
clean tail.img "  and the filesystem is clean"

# The root directory is not a copy of the source directory, unless asked for.
mkdir -m 700 private
root_of() { "$BIN/xw-debugfs" -R 'stat /' "$1" 2>/dev/null | grep -oE 'Mode: *0[0-7]*' | grep -oE '0[0-7]+'; }
mkfs -q -d private plainroot.img
equal "-d DIRECTORY: the root has mode 0755" "$(root_of plainroot.img)" 0755
mkfs -q -E root_from_source -d private sameroot.img
equal "-E root_from_source: that of the directory" "$(root_of sameroot.img)" 0700
mkfs -q -E root_perms=1777 -d private permroot.img
equal "-E root_perms" "$(root_of permroot.img)" 01777
owner_of() { "$BIN/xw-debugfs" -R 'stat /' "$1" 2>/dev/null | grep -oE '(User|Group): *[0-9]+' | grep -oE '[0-9]+' | tr '\n' ' '; }
equal "  the owner is root" "$(owner_of plainroot.img)" "0 0 "
mkfs -q -E root_owner=12:34,root_perms=711 -d private ownroot.img
equal "-E root_owner, root_perms" "$(owner_of ownroot.img)$(root_of ownroot.img)" "12 34 0711"
mkfs -q -E root_owner=12:34,root_from_source -d private ownroot2.img
equal "  root_owner with root_from_source: the rest is that of the directory" \
	"$(owner_of ownroot2.img)$(root_of ownroot2.img)" "12 34 0700"
mkfs -q -E root_owner -d private callroot.img
equal "  without a value: the caller" "$(owner_of callroot.img)" "$(id -u) $(id -g) "
tar -C private --owner=:56 --group=:78 -cf owned.tar ./
mkfs -q -d owned.tar ownedroot.img
equal "the owner in an archive's own ./ counts" "$(owner_of ownedroot.img)$(root_of ownedroot.img)" "56 78 0700"
mkfs -q -E root_owner=12:34 -d owned.tar ownedroot2.img
equal "  root_owner overrides it" "$(owner_of ownedroot2.img)$(root_of ownedroot2.img)" "12 34 0700"
mkfs -q -E root_perms=1777 -d owned.tar ownedroot3.img
equal "  root_perms does, too" "$(owner_of ownedroot3.img)$(root_of ownedroot3.img)" "56 78 01777"
if is_root && command -v mke2fs >/dev/null && mke2fs -V 2>&1 | grep -q 'mke2fs 1\.47\.0'; then
	for args in "" "-E root_owner=12:34" "-E root_perms=711" "-E root_owner=12:34,root_perms=711"; do
		rm -f stock.img ours.img
		# shellcheck disable=SC2086
		mke2fs -q -t ext4 $args -d private stock.img 8M >/dev/null 2>&1 && mkfs -q $args -d private ours.img 8M
		equal "the same root as with mke2fs ${args:-without options}" "$(owner_of ours.img)$(root_of ours.img)" \
			"$(owner_of stock.img)$(root_of stock.img)"
	done
else
	skip "the same root as with mke2fs" "no mke2fs 1.47.0, or not root"
fi
tar -C private -cf private.tar ./
mkfs -q -d private.tar tarroot.img
equal "an archive's own ./ counts" "$(root_of tarroot.img)" 0700

# Old superblocks, primary and backups, do not survive.
if command -v dumpe2fs >/dev/null; then
	mkfs -q -b 1024 -L oldlabel -O ^64bit two.img 64M
	mkfs -Fq -b 4096 -L newlabel two.img 64M
	works "another block size over an old filesystem"
	is "the new label" sh -c 'dumpe2fs -h two.img 2>/dev/null | grep -q newlabel'
	for sb in 8193 24577 40961; do
		is "no old backup superblock at $sb" sh -c "! dumpe2fs -h -o superblock=$sb -o blocksize=1024 two.img 2>/dev/null | grep -q oldlabel"
	done
else
	skip "another block size over an old filesystem" "dumpe2fs is not installed" 5
fi

mkdir dir
mkfs -F dir 8M
fails 1 "dir" "a directory is not an image"
mkfs nowhere/img 8M
fails 1 "nowhere/img" "a missing directory above"

if can_loop; then
	mkfs -q m.img 16M
	mkdir mnt && mount -o loop m.img mnt
	at_end "umount '$T/mnt'"
	mkfs m.img 16M
	fails 1 "m.img" "a mounted image is refused"
	mkfs -F m.img 16M
	fails 1 "m.img" "a mounted image is refused with -F"
	is "  and stays" sh -c 'touch mnt/x && ls mnt | grep -q lost+found'
	umount mnt
	loop=$(losetup -f --show m.img)
	mkfs -q "$loop"
	fails 1 "$loop" "a block device with a filesystem is refused"
	mkfs -Fq "$loop"
	works "  and overwritten with -F, all of it"
	clean "$loop" "  and clean"
	head -c 16M /dev/zero | tr '\0' 'z' >m.img
	mkfs -Fq -E nodiscard "$loop"
	works "-E nodiscard on a device"
	is "  discards nothing" test "$(stat -c %b m.img)" -ge $((16 * 2048))
	clean "$loop" "  and the filesystem is clean"
	mkfs -Fqv "$loop"
	if [ "$RC" = 0 ] && grep -q 'discards nothing' .err; then
		skip "a device is discarded" "the host of this loop device does not" 3
	else
		works "by default a device is discarded"
		is "  which gives blocks back" test "$(stat -c %b m.img)" -lt $((16 * 1024))
		clean "$loop" "  and the filesystem is clean"
	fi
	mkfs -Fqv -E offset=1048576 "$loop" 4M
	is "and only the range of the filesystem" test "$RC" = 0
	mkfs -Fq "$loop"
	mount "$loop" mnt
	mkfs "$loop"
	fails 1 "$loop" "a mounted device is refused"
	mkfs -F "$loop"
	fails 1 "$loop" "a mounted device is refused with -F"
	umount mnt
	losetup -d "$loop"
	truncate -s 16M sectors.img
	loop=$(losetup -b 4096 -f --show sectors.img)
	mkfs -q -b 1024 "$loop"
	fails 2 "-b 1024: less than the sector size of $loop, 4096 bytes" "blocks smaller than sectors are refused"
	mkfs -q -b 1024 -O journal_dev "$loop" 8M
	fails 2 "-b 1024: less than the sector size" "  also with SIZE, and of a journal"
	mkfs -q -T floppy "$loop"
	works "a usage type with smaller blocks"
	is "  gets larger ones" mount "$loop" mnt
	umount mnt
	losetup -d "$loop"
	loop=$(losetup -r -f --show sectors.img)
	mkfs -q -F "$loop"
	fails 1 "$loop: the device is read-only" "a device that cannot be written"
	mkfs -q --replace -d d "$loop"
	fails 2 "replace: $loop is a device" "--replace of a device"
	losetup -d "$loop"
else
	skip "mounted and busy targets" "needs root and loop mounts"
fi
# Under a stock name, and after a question, there are two attempts: each warning is given once.
ln -s "$MKFS" mkfs.ext4
mkfs -q twice.img 8M
"$PWD/mkfs.ext4" -q -L averyveryverylonglabel twice.img </dev/null >.out 2>.err
RC=$?
equal "mkfs.ext4 over a filesystem" "$RC" 0
equal "  one warning, and what was there" "$(cut -d: -f2- .err)" " warning: -L averyveryverylonglabel: over 16 bytes, truncated to 'averyveryverylon'
 twice.img: holds an ext4 filesystem"
echo text >short
mkfs -q short
fails 2 "short: too small for a filesystem" "a file that is too short"
done_testing 138
