#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disk images, volumes and filesystems of other kinds, given as an image or as a source: each tool names them, and what converts them.
. "$(dirname "$0")/lib.sh"

echo x >f && tar -cf t.tar f
# magic AT BYTES: a file of 1 MiB with these bytes (escapes of printf) at this offset.
magic() {
	rm -f k && truncate -s 1M k
	# shellcheck disable=SC2059
	printf "$2" | dd of=k bs=1 seek="$1" conv=notrunc status=none
}
while IFS='|' read -r at bytes what advice; do
	magic "$at" "$bytes"
	cp k keep
	: >differ
	for tool in "xw-dump -h k" "xw-export -t k" "xw-tune -q -L x k" "xw-import -q k t.tar" "xw-freefrag k" "xw-fsck -n k" \
		"xw-debugfs -R ls k" "xw-age -q --profile pazdera --files 3 --ops 9 k"; do
		# shellcheck disable=SC2086
		timeout -s KILL 60 "$BIN"/$tool >.out 2>.err </dev/null
		grep -qF "it is $what${advice:+: $advice}" .err || { echo "$tool" && cat .err; } >>differ
	done
	mkfs -q -d k img
	grep -qF "k: is $what, not an archive${advice:+; $advice}" .err || { echo "-d" && cat .err; } >>differ
	equal "$what" "$(cat differ)" ""
	is "  it is unchanged" cmp k keep
done <<'TABLE'
0|QFI\373\0\0\0\3|a qcow2 image|'qemu-img convert -O raw FILE RAW' converts it
0|KDMV\1\0\0\0|a VMDK image|'qemu-img convert -O raw FILE RAW' converts it
64|\177\20\332\276|a VDI image (VirtualBox)|'qemu-img convert -O raw FILE RAW' converts it
0|vhdxfile|a VHDX image|'qemu-img convert -O raw FILE RAW' converts it
0|\72\377\46\355\1\0|an Android sparse image|'simg2img FILE RAW' converts it
0|LUKS\272\276\0\2|an encrypted (LUKS) image|'cryptsetup open FILE NAME' opens it as /dev/mapper/NAME
512|LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\40\0\0\0LVM2 001|a physical volume of LVM|'vgchange -ay' provides its logical volumes
4096|\374N+\251\1\0\0\0|a member of an md array|'mdadm --assemble' provides the array
0|hsqs|a squashfs image|'unsquashfs FILE' unpacks it
0|XFSB|an XFS image|
65600|_BHRfS_M|a Btrfs image|
1024|\342\341\365\340|an EROFS image|
TABLE

# xw-mkfs does not overwrite one without -F, even if libblkid does not know it.
for what in '0 QFI\373\0\0\0\3' '64 \177\20\332\276' '0 vhdxfile'; do
	# shellcheck disable=SC2086
	magic $what
	mkfs -q k
	fails 1 "k: holds a (qcow2|VDI|VHDX) image|k: holds a .* (image|data|filesystem)" "xw-mkfs: $what"
done

# Features that another tool removes are named.
rm -f img && mkfs -q img 8M
"$DEBUGFS" -w -R 'feature shared_blocks' img >/dev/null 2>&1
cp img keep
for tool in "xw-import -q img t.tar" "xw-tune -q -L x img" "xw-debugfs -w -R mkdir\ x img" "xw-age -q --profile pazdera --files 3 --ops 9 img"; do
	eval "timeout -s KILL 60 $BIN/$tool" >.out 2>.err </dev/null
	is "${tool%% *}: shared_blocks" grep -q 'img: unsupported feature shared_blocks; xw-fsck -f -E unshare_blocks removes shared_blocks' .err
	is "  it is unchanged" cmp img keep
done

# A text with a block of base64 is no archive if zeros are all that is found in it, which alone look like the end of a tar.
# letter FILE: as a mail with this attachment
letter() {
	printf 'Hello,\nhere it is.\n\nbegin-base64 644 attachment\n'
	base64 -w 60 "$1"
	printf '====\n\nRegards\n'
}
head -c 2048 /dev/zero >zeros
{ head -c 1024 /dev/zero && seq 300; } >behind
gzip -k zeros
head -c 100 /dev/zero >few
for inner in zeros behind zeros.gz few; do
	letter $inner >letter
	rm -f img
	mkfs -q -d letter img
	fails 1 "letter: is a text, not an archive" "a letter with $inner"
	mkfs_stdin letter -q -d - img
	fails 1 "standard input: is a text, not an archive" "  from a pipe"
	mkfs -q img 8M
	import -q img letter
	fails 1 "letter: is a text, not an archive" "  xw-import"
done
letter t.tar >letter
rm -f img
mkfs -q -d letter img
equal "a letter with a tar" "$RC $("$EXPORT" -t img | tail -n 1)" "0 f"
done_testing 48
