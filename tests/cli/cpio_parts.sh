#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Concatenated cpio archives, as an initramfs is: all of them are read, with zeros between them, compressed or not, from files and pipes.
. "$(dirname "$0")/lib.sh"
command -v cpio >/dev/null || skip_all "cpio is not installed"
command -v gzip >/dev/null || skip_all "gzip is not installed"

# archive FORMAT FILE BYTES OUTPUT
archive() {
	mkdir -p parts && seq -f "$2 %.0f" 100000 | head -c "$3" >"parts/$2"
	(cd parts && echo "$2" | cpio -o -H "$1" --quiet) >"$4"
}
# gives WHAT FILES: the files of img are these, as they are in parts
gives() {
	rm -rf out && "$EXPORT" -x out img >/dev/null 2>&1
	equal "$1" "$RC $(cd out && find . -type f | sort | tr '\n' ' ')" "0 $(printf './%s\n' $2 | sort | tr '\n' ' ')"
	for f in $2; do cmp -s "parts/$f" "out/$f" || echo "$f"; done >differ
	equal "  their contents" "$(cat differ)" ""
	is "  no warning" [ ! -s .err ]
}
# both WHAT FILES: of the file `all`, read as a file and from a pipe
both() {
	rm -f img
	mkfs -q -d all img 16M
	gives "$1" "$2"
	rm -f img
	RC=0
	{ head -c 1000 all; sleep 0.02; tail -c +1001 all; } | "$MKFS" -q -d - img 16M >.out 2>.err || RC=$?
	gives "  from a pipe" "$2"
}

head -c 508 /dev/zero >zeros
head -c 300001 /dev/zero >many
archive newc four 5000 4.cpio
for format in bin odc crc newc; do
	archive $format one 3 1.cpio
	archive $format two 700000 2.cpio
	archive newc three 262000 3.cpio
	for i in 1 2 3; do gzip -kf $i.cpio; done
	cat 1.cpio zeros 2.cpio 3.cpio >all
	both "$format: one after the other" "one two three"
	cat 1.cpio 2.cpio.gz >all
	both "$format: the second one compressed" "one two"
	[ $format = newc ] || continue
	cat 1.cpio.gz zeros 2.cpio many 3.cpio.gz zeros >all
	both "$format: with zeros between them" "one two three"
	cat 1.cpio 2.cpio 3.cpio | gzip >all
	both "$format: compressed together" "one two three"
	{
		cat 1.cpio
		cat 2.cpio zeros 3.cpio | gzip
	} >all
	both "$format: two in one compressed part" "one two three"
done

# Each part has a compression of its own: where its data ends is found out for all of them, with nothing and with zeros behind it.
while read -r first second; do
	for tool in "${first%%:*}" "${second%%:*}"; do
		command -v "$tool" >/dev/null || { skip "$first $second" "$tool is not installed" 6; continue 2; }
	done
	{
		cat 1.cpio
		# shellcheck disable=SC2086
		${first//:/ } -c <2.cpio
		# shellcheck disable=SC2086
		${second//:/ } -c <3.cpio
		cat zeros
		gzip -c <4.cpio
	} >all
	both "$first $second" "one two three four"
done <<'TABLE'
gzip bzip2
bzip2 xz:--check=sha256
xz:--block-size=100000 zstd
xz:--check=none:--x86:--lzma2 gzip
zstd:--no-check lz4
zstd:-19 xz:-T2:-0:--block-size=65536
lz4:-BX:-B4 zstd:--rsyncable
lz4:--no-frame-crc:-BD gzip
lz4:--content-size xz:--check=crc32
zstd lz4:-l
TABLE
for how in gzip bzip2 xz zstd lz4; do
	command -v $how >/dev/null || { skip "$how twice" "$how is not installed" 6; continue; }
	{
		$how -c <1.cpio
		cat zeros 2.cpio
		$how -c <3.cpio
	} | gzip >all
	both "$how in gzip" "one two three"
	# Damage within the data is none of what follows it.
	$how -c <2.cpio >all
	pieces all $(($(stat -c %s all) / 2)) "$(printf 'garbage%.0s' $(seq 20))" 1
	cat 1.cpio >>all
	rm -f img
	mkfs -q -d all img 16M
	fails 1 "all: " "  damaged"
done

# Later archives replace what earlier ones brought, and links belong to their own.
mkdir a b && echo old >a/file && ln a/file a/link && echo new >b/file && ln b/file b/other
(cd a && printf '%s\n' file link | cpio -o -H newc --quiet) >all
(cd b && printf '%s\n' file other | cpio -o -H newc --quiet) >>all
rm -f img
mkfs -q -d all img 16M
rm -rf out && "$EXPORT" -x out img >/dev/null 2>&1
equal "a later archive replaces" "$RC $(cat out/file out/link out/other | tr '\n' ' ')" "0 new old new "
is "  its links are its own" [ out/file -ef out/other -a ! out/file -ef out/link ]

# xw-import reads the same, and says where something else follows.
rm -f img && mkfs -q img 16M
cat 1.cpio zeros 2.cpio.gz >all
import -q img all
gives "xw-import" "one two"
for what in "1.cpio:archive" "1.cpio.gz:compressed stream"; do
	{
		cat "${what%:*}"
		echo garbage
	} >all
	rm -f img
	mkfs -q -d all img 16M
	fails 0 "warning: .*: trailing data after the ${what#*:} is ignored" "garbage behind ${what%:*}"
	equal "  the archive is there" "$("$EXPORT" -t img | tail -n 1)" one
done
head -c 3000 2.cpio | cat 1.cpio - >all
rm -f img
mkfs -q -d all img 16M
fails 1 "all: .*(two|truncated|ends)" "a second archive that is cut off"
{
	cat 1.cpio
	echo 070701 and no header
} >all
rm -f img
mkfs -q -d all img 16M
fails 1 "all: " "one that is none"
done_testing 172
