#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long names of common letters, in all tools; and what a wrong source or image is told.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000

mkdir t
echo x >t/f
same=(--mtime @1 -E hash_seed=12345678-1234-4234-8234-123456789abc)
uuid=12345678-1234-4234-8234-123456789abd
mkfs -q "${same[@]}" -L name -U $uuid -d t a.img 2M
mkfs --quiet "${same[@]}" --label name --uuid=$uuid -d t b.img 2M
works "xw-mkfs --quiet --label --uuid"
is "  as -q -L -U" cmp a.img b.img
mkfs --force -q "${same[@]}" -L name -U $uuid -d t b.img 2M
works "  --force"
mkfs --force --force -v -d t c.img 2M
cp .out loud
mkfs -q --replace --verbose -d t c.img 2M
equal "  --verbose counts, in any order" "$RC" 0
mkfs --label
fails 2 "option --label needs a value" "  a value that is missing"
for tool in age debugfs dump export freefrag fsck import mkfs tune; do
	"$BIN/xw-$tool" --quiet --verbose --version >.out 2>&1 || echo $tool
done >without
equal "--quiet and --verbose everywhere" "$(cat without)" ""
for tool in dump fsck mkfs tune; do "$BIN/xw-$tool" --force --version >.out 2>&1 || echo $tool; done >without
equal "--force where there is -f for it" "$(cat without)" ""
"$BIN/xw-tune" --quiet --label other --uuid 12345678-1234-4234-8234-123456789abe a.img >.out 2>&1
equal "xw-tune --label --uuid" "$? $("$BIN/xw-dump" -h a.img | grep -cE 'other|9abe')" "0 2"

echo text >single
mkfs -q -d single bad.img
fails 1 "single: neither a directory nor an archive in a known format$" "a single file as a source"
mkfs -q -d a.img bad.img
fails 1 "a.img: is an ext4 image, not an archive; convert it with xw-export" "an image as a source"
tar -cf t.tar t
gzip -k t.tar
for archive in t.tar t.tar.gz; do
	import -q $archive a.img
	is "$archive where the image belongs" grep -q '^ .*it is .*xw-mkfs -d .*xw-import' .err
done
done_testing 12
