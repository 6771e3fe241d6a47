#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of tests/examples, which show handles of the library: each does what its first comment says.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
for name in source_cb; do
	[ -x "$XW_BUILD/example_$name" ] || { echo "Bail out! $XW_BUILD/example_$name is not there: build the tests first"; exit 1; }
done
example() { "$XW_BUILD/example_$1" "${@:2}" >.out 2>.err; }

mkdir -p src/d && echo hello >src/d/file && seq 20000 >src/numbers && ln -s d/file src/link && chmod 640 src/numbers
tar cf a.tar --sort=name --owner=7 --group=8 --mtime=@1600000000 -C src .
mkfs -q -d a.tar wanted 16M
gzip -k a.tar
for archive in a.tar a.tar.gz; do
	rm -f img
	is "source_cb: $archive" example source_cb img 16M <$archive
	equal "  counts its files" "$(cat .out)" "2 files"
	clean img "  the image is clean"
	equal "  and has what xw-mkfs puts in it" "$("$BIN/xw-export" --order=name img | tar tv --numeric-owner --full-time | sort)" \
		"$("$BIN/xw-export" --order=name wanted | tar tv --numeric-owner --full-time | sort)"
	equal "  with its contents" "$("$BIN/xw-export" img numbers | tar xO)" "$(cat src/numbers)"
done
rm img
head -c 5000 a.tar >cut.tar
example source_cb img 16M <cut.tar
equal "what ends early fails" $? 1
is "  by its name" grep -q '^the archive: ' .err
is "  and leaves no image" test ! -e img
done_testing 13
