#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-export: options, outputs, listings, and what it says of images that are none or damaged.
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99
EXPORT=$XW_BUILD/xw-export
[ -x "$EXPORT" ] || skip_all "xw-export was not built"

# export_ ARGS...: status in $RC, output in .out and .err.
export_() {
	RC=0
	"$EXPORT" "$@" </dev/null >"$T/.out" 2>"$T/.err" || RC=$?
}
# says STATUS REGEX DESCRIPTION: the status, and one line on stderr that matches (hints apart).
says() {
	if [ "$RC" = "$1" ] && [ "$(grep -vc '^ ' "$T/.err")" = 1 ] && grep -Eq -- "^(lt-)?xw-export: .*($2)" "$T/.err"; then
		pass "$3"
	else
		fail "$3"
		diag "status $RC, wanted $1 and /$2/"
	fi
}

make_tree tree
make_tar tree tree.tar
mkfs -d tree.tar img
works "an image to export"

# The listing of a tar, without what two writers may say differently: the order, and ./ in front of names.
names() { tar -tf "$1" --quoting-style=escape | sed 's,^\./,,' | grep -v '^$' | sort; }
lines() { tar --numeric-owner --full-time -tvf "$1" | awk '!/ \.\/$/' | sed 's, \./, ,; s,link to \./,link to ,' | grep -v '^h' | tr -s ' ' | sort; }

export_ img
cp .out out.tar
equal "to standard output: status" "$RC" 0
equal "nothing on stderr" "$(cat .err)" ""
equal "the names are those of the source" "$(names out.tar | sha256sum)" "$(names tree.tar | sha256sum)"
lines tree.tar | grep -v 'sub/hard\|small$' >want
lines out.tar | grep -v 'sub/hard\|small$' >got
is "types, modes, owners, sizes and times too" diff want got
export_ img
is "the same bytes again" cmp out.tar .out

export_ -o file.tar img
equal "-o: status" "$RC" 0
is "-o: the same archive" cmp out.tar file.tar
is "-o: a summary" grep -q 'file.tar: 6[0-9][0-9] files' .out
export_ -q -o file.tar img
is "-q: silent, the existing file replaced" test ! -s .out -a ! -s .err
is "-q: and right" cmp out.tar file.tar
export_ --json -o file.tar img
equal "--json: files" "$(json files .out)" "$(($(find tree -type f -printf x | wc -c) - 1))"
equal "--json: bytes" "$(json bytes_out .out)" "$(stat -c %s out.tar)"

export_ -t img
sort .out >list
equal "-t: as many names as the archive" "$(wc -l <list)" "$(tar -tf out.tar | wc -l)"
is "-t: a newline in a name is escaped" grep -qF 'name with space/new\012line' list
export_ -tv img
is "-tv: a setuid file" grep -Eq '^-rwsr-xr-x .* 6 .* (small|sub/hard)$' .out
is "-tv: a symlink" grep -Eq '^lrwxrwxrwx .* short-link -> small$' .out
is "-tv: a hard link" grep -Eq ' link to (small|sub/hard)$' .out
is "-tv: a time before 1970" grep -Eq '1969-07-20 20:17:40 block$' .out

export_ -C sub/deep img
equal "-C: only what is below" "$(tar -tf .out | tr '\n' ' ')" "./ er/ er/file "
export_ -t --exclude many --exclude '*block*' img
equal "--exclude" "$(grep -c 'many\|block' .out)" 0
equal "--exclude: the rest is there" "$(wc -l <.out)" "$(grep -vc 'many\|block' list)"

{ head -c 3145728 /dev/zero; cat img; } >shifted
export_ -E offset=3M shifted
is "-E offset=" cmp out.tar .out

# Round trip: image, archive, image, archive.
mkfs -d out.tar img2
works "an image of the archive"
clean img2 "e2fsck is content with it"
export_ img2
is "which holds the same" diff <(lines out.tar) <(lines .out)

# What cannot be done.
export_
says 2 'image is missing' "no image named"
export_ img other
says 1 'not in the image: other' "a path that is not there"
export_ --nonsense img
says 2 'unknown option' "an unknown option"
export_ -E stride=3 img
says 2 'offset' "an unknown -E"
export_ -t -o x img
says 2 'exclude each other' "-t and -o"
export_ --json img
says 2 'needs -o' "--json without -o"
export_ -o img img
says 2 'overwrite the image' "the image as its own archive"
export_ nothing-there
says 1 'nothing-there' "no such image"
head -c 100000 /dev/urandom >noise
export_ noise
says 1 'noise: not an ext' "not a filesystem"
export_ -o new.tar noise
is "a new file that nothing came of is removed" gone new.tar
head -c 200000 img >short
export_ short
says 1 'short: ' "a truncated image"
export_ -C zero img
says 1 'zero: not a directory' "-C of a file"
export_ -C none img
says 1 'none: no such directory' "-C of nothing"
RC=0
"$EXPORT" img >/dev/full 2>.err || RC=$?
says 1 'No space left' "a full disk"
RC=0
"$EXPORT" -t img >/dev/full 2>.err || RC=$?
says 1 'No space left' "a full disk, listing"

# Damage: one file's inode. Its place is found by its size, which no other file has.
cp img bad
python=$(command -v python3 || true)
if [ -n "$python" ]; then
	"$python" - bad <<-'PY'
		import os, sys
		path = sys.argv[1]
		data = bytearray(open(path, "rb").read())
		size = (1288895).to_bytes(4, "little")  # seq 1 200000
		at = 0
		while True:
		    at = data.find(size, at)
		    if at < 0:
		        sys.exit("no such inode")
		    inode = at - 4
		    if inode % 256 == 0 and data[inode + 1] >> 4 == 8:
		        data[inode + 12] ^= 0xFF
		        break
		    at += 1
		open(path, "wb").write(data)
	PY
	export_ bad
	equal "damage: status" "$RC" 1
	is "damage: which file" grep -q 'warning: sub/big: .*checksum' .err
	is "damage: how much" grep -q 'bad: 1 item could not be read, ' .err
	equal "damage: all the rest is there" "$(names .out)" "$(names out.tar | grep -v '^sub/big$')"
	cp .out bad.tar
	export_ -o kept.tar bad
	is "damage: the archive is kept" cmp bad.tar kept.tar
	export_ --ignore-checksums bad
	is "--ignore-checksums" test "$RC" = 0 -a ! -s .err
else
	skip "damage" "python3 is not installed"
fi
done_testing
