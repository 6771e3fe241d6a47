#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cpio archives as GNU cpio writes them: links and checksums, from files and pipes, compressed or not.
. "$(dirname "$0")/lib.sh"
command -v cpio >/dev/null || skip_all "cpio is not installed"

mkdir -p s/d && echo contents >s/d/a && ln s/d/a s/d/b && ln s/d/a s/c && ln -s d/a s/sym && seq 3000 >s/big && mkfifo s/pipe
for format in bin odc newc crc; do
	(cd s && printf '%s\n' . d d/a d/b c sym big pipe | cpio -o -H $format --quiet) >$format.cpio
	rm -f img
	mkfs -q -d $format.cpio img
	equal "$format" "$RC $(cat .err)" "0 "
	rm -rf out && "$EXPORT" -x out img >/dev/null 2>&1
	is "  its contents" cmp s/big out/big
	equal "  its links" "$(cat out/d/a) $(stat -c %h out/d/a out/d/b out/c | tr '\n' ' ')$(readlink out/sym) $(stat -c %F out/pipe)" "contents 3 3 3 d/a fifo"
	rm -f img2
	mkfs_stdin <(gzip -c $format.cpio) -q -d - img2
	rm -rf out2 && "$EXPORT" -x out2 img2 >/dev/null 2>&1
	is "  compressed, from a pipe" diff -r --no-dereference -x pipe out out2
done

# The checksum of the file big is wrong, or its contents are.
LC_ALL=C sed 's/^2999$/2998/' crc.cpio >bad.cpio
is "one digit differs" [ "$(cmp -l crc.cpio bad.cpio | wc -l)" = 1 ]
gzip -k bad.cpio
for bad in bad.cpio bad.cpio.gz; do
	rm -f img
	mkfs -q -d $bad img
	fails 1 "$bad: member 'big' at byte [0-9]+: its contents do not match the checksum in its header" "wrong contents: $bad"
	is "  no image is left" [ ! -e img ]
	mkfs_stdin $bad -q -d - img
	fails 1 "member 'big' .*checksum" "  from a pipe"
	mkfs -q img 8M
	cp img keep
	import -q img $bad
	fails 1 "member 'big' .*checksum" "  xw-import"
	is "  the image is as before" cmp img keep
	rm -f img
done
mkfs -q --exclude big -d bad.cpio img
equal "what is excluded is not summed" "$RC $(cat .err)" "0 "

# In newc and crc the last name carries the contents: they belong to the names that remain.
mkdir -p hl/s && echo data >hl/a && ln hl/a hl/b && ln hl/a hl/s/c
for format in odc newc crc; do
	(cd hl && printf '%s\n' . a b s s/c | cpio -o -H $format --quiet) >hl.$format
	for option in "--exclude s" "--exclude s/c" "--transform s,^s/c,,"; do
		rm -rf img out
		mkfs -q -d hl.$format $option img
		"$EXPORT" -x out img >/dev/null 2>&1
		equal "$format, $option: the others keep the contents" \
			"$RC $(cat .err out/a out/b) $(stat -c %h out/a)" "0 data
data 2"
	done
	rm -rf img out new && mkdir -p new/s && echo old >new/s/c
	mkfs -q -d new img 8M
	import -q --skip-old-files img hl.$format
	"$EXPORT" -x out img >/dev/null 2>&1
	equal "$format, --skip-old-files: likewise" \
		"$RC $(cat .err out/a out/b out/s/c) $(stat -c %h out/a)" "0 data
data
old 2"
	rm -rf img out
	: >other && tar -cf first.tar other
	mkfs -q -d first.tar -d hl.$format --exclude a --exclude s --exclude b --transform 's,^other$,a,' img
	"$EXPORT" -x out img >/dev/null 2>&1
	equal "$format: a file of another source is not concerned" "$RC $(ls out) $(cat .err out/a)" "0 a "
	rm -f img
done
done_testing 43
