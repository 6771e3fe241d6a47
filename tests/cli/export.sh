#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-export: options, outputs, listings, and what it says of images that are none or damaged.
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99

# export_ ARGS...: status in $RC, output in .out and .err.
export_() {
	RC=0
	"$EXPORT" "$@" </dev/null >"$T/.out" 2>"$T/.err" || RC=$?
}
# says STATUS REGEX DESCRIPTION: the status, and one line on stderr that matches (hints apart).
says() {
	if [ "$RC" = "$1" ] && [ "$(grep -vc '^ ' "$T/.err")" = 1 ] && grep -Eq -- "^xw-export: .*($2)" "$T/.err"; then
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

# Bytes that a terminal would obey, or that are no text.
mkdir odd
touch "$(printf 'odd/csi\23331m')" "$(printf 'odd/c1\302\23331m')" "$(printf 'odd/caf\351')" "$(printf 'odd/caf\303\251')" 'odd/back\slash'
ln -s "$(printf 'to\302\233\377')" odd/link
mkfs -q -d odd odd.img 4M
export_ -t odd.img
equal "-t: what is not shown as it is" "$(grep -v '/$' .out | sed 's,^\./,,' | LC_ALL=C sort)" "$(printf '%s\n' 'back\\slash' \
	'c1\302\23331m' 'caf\351' "$(printf 'caf\303\251')" 'csi\23331m' link | LC_ALL=C sort)"
export_ -tv odd.img
is "-tv: nor in targets" grep -q 'link -> to\\302\\233\\377$' .out

export_ -C sub/deep img
equal "-C: only what is below" "$(tar -tf .out | tr '\n' ' ')" "./ er/ er/file "
export_ -t --exclude many --exclude '*block*' img
equal "--exclude" "$(grep -c 'many\|block' .out)" 0
equal "--exclude: the rest is there" "$(wc -l <.out)" "$(grep -vc 'many\|block' list)"

# -T, --null, -f
printf '%s\n' sub/deep '' ./small 'name with space' 'f\151fo' >paths
export_ -T paths img
cp .out by-names.tar
export_ img sub/deep small 'name with space' fifo
is "-T: the same as operands" cmp .out by-names.tar
RC=0
"$EXPORT" -T - img fifo <paths >.out 2>.err || RC=$?
equal "-T - and an operand" "$RC $(tar -tf .out | sort -u | tr '\n' ' ')" "0 $(tar -tf by-names.tar | sort -u | tr '\n' ' ')"
printf 'sub/deep\nsmall\n' >one
printf 'name with space\nfifo\n' >two
export_ --files-from one --files-from=two img
is "--files-from, twice" cmp .out by-names.tar
(cd tree && find . -type f -name '*new*' -print0) >nul
export_ -t --null -T nul img
equal "--null" "$(cat .out)" 'name with space/new\012line'
export_ -t img
grep -v '/$' .out >listed
export_ -t -T listed img
is "-t: what it lists is what -T takes" cmp .out listed
printf 'small\nnot-there\n' >missing
export_ -t -T missing img
says 1 'not in the image: not-there' "-T: a name that is not there"
equal "  the rest is listed" "$(grep -c small .out)" 1
: >nothing
export_ -t -T nothing img
says 1 'nothing: contains no names' "-T: a file without names"
equal "  lists nothing" "$(cat .out)" ""
export_ -t -T no-such-list img
says 1 'no-such-list: cannot open: No such file' "-T: no such file"
export_ -t -T . img
says 1 '\.: cannot read: Is a directory' "-T: a directory"
export_ -f by-f.tar img small
equal "-f: status" "$RC" 0
export_ --file=- img small
is "-f is -o" cmp .out by-f.tar

{ head -c 3145728 /dev/zero; cat img; } >shifted
export_ -E offset=3M shifted
is "-E offset=" cmp out.tar .out

# Paths.
paths() { "$EXPORT" -t img "$@" 2>.err | tr '\n' ' '; }
equal "a path: it and all below, under its own name" "$(paths sub/deep)" "sub/deep/ sub/deep/er/ sub/deep/er/file "
equal "paths below others come once" "$(paths sub/deep/er sub/deep sub/deep/er/file)" "sub/deep/ sub/deep/er/ sub/deep/er/file "
equal "slashes and dots in a path" "$(paths ./sub//deep/er/)" "sub/deep/er/ sub/deep/er/file "
equal "a pattern" "$(paths 's[h-p]*' | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')" "short-link small sparse "
equal "a pattern over directories" "$(paths '*/*/er')" "sub/deep/er/ sub/deep/er/file "
equal "a path and -C" "$("$EXPORT" -t -C sub img deep/er | tr '\n' ' ')" "deep/er/ deep/er/file "
equal "all of it" "$("$EXPORT" -t img . | sort | sha256sum)" "$("$EXPORT" -t img | sort | sha256sum)"
export_ -t img nothing sub/deep/er 'no*thing'
says 1 'img: not in the image: nothing, no\*thing$' "paths that are not there: one line names them"
equal "and all others are taken" "$(tr '\n' ' ' <.out)" "sub/deep/er/ sub/deep/er/file "
export_ -t img short-link/x sub/../small
says 1 'not in the image' "nothing below a symbolic link, nor through .."
export_ -o part.tar img small sub/hard
equal "a hard link to what is there" "$(tar -tvf part.tar | grep -c ' link to ')" 1
export_ -o part.tar img sub/hard
equal "a hard link to what is not" "$(tar -xOf part.tar sub/hard)" hello
export_ -t --strip-components 2 img sub/deep
equal "--strip-components" "$(tr '\n' ' ' <.out)" "er/ er/file "
export_ -tv --owner 7:8 --mode 0600 img small
is "--owner, --mode" grep -q '^-rw------- 7/8 ' .out
export_ -tv --owner root:root img small
is "--owner with names" grep -q '^[^ ]* 0/0 ' .out
export_ -tv --owner +7 --group +9 img small
is "--owner with a plus sign" grep -q '^[^ ]* 7/9 ' .out
export_ -tv --owner :root img small
is "--owner with a group only" grep -q '^[^ ]* [0-9]*/0 ' .out

# Orders.
for o in tree disk inode name; do
	"$EXPORT" -t --order $o img >order.$o
	equal "--order=$o: all names" "$(sort order.$o | sha256sum)" "$(sort list | sha256sum)"
	equal "--order=$o: directories come first" "$(awk -F/ '{ p = ""; n = NF - ($NF == ""); for (i = 1; i < n; i++) { p = p $i "/"; if (!(p in seen)) print } } /\/$/ { seen[$0] }' order.$o)" ""
done
equal "--order=name: sorted" "$(grep ^many/. order.name)" "$(grep ^many/. order.name | LC_ALL=C sort)"
export_ -t --order size img
says 2 'order: "size" is not' "no such order"

# Compression: by name, by suffix, the same bytes for any number of threads.
for z in gzip:gz bzip2:bz2 xz:xz zstd:zst lz4:lz4; do
	c=${z%:*} e=${z#*:}
	"$EXPORT" --$c --jobs 1 img >one.$e 2>.err
	"$EXPORT" --jobs 4 -a -o four.tar.$e img >.out 2>>.err
	is "$c: -a takes it from the name, and threads do not matter" cmp one.$e four.tar.$e
	rm -f z.img
	mkfs -d one.$e z.img
	works "$c: an image of it"
done
"$EXPORT" -o z.tgz -az --level 1 img >/dev/null 2>.err
for name in a.zip dir.tar/a.7z a.tar.lzma a.ISO .x.squashfs; do
	mkdir -p dir.tar
	export_ -q -a -o $name img
	[ $RC = 2 ] && [ ! -e $name ] && grep -q "^xw-export: --auto-compress: $name: .* is not a format that is written" .err || echo "$name: status $RC"
done >names
equal "-a with the suffix of another format: refused by name" "$(cat names)" ""
for name in a.foo zip .zip dir.zip/a dir.zip/a.img; do
	mkdir -p dir.zip
	export_ -q -a -o $name img
	[ $RC = 0 ] && tar -tf $name >/dev/null || echo "$name: status $RC"
done >names
equal "  any other suffix: a tar archive, as with tar -a" "$(cat names)" ""
for name in a.tbz a.tz2 a.taz; do
	export_ -q -a -o $name img
	tar -taf $name >/dev/null || echo $name
done >names
equal "  further suffixes of tar" "$(cat names)" ""
"$EXPORT" -a -o best.tgz --level 9 img >/dev/null 2>>.err
is "--level" test "$(stat -c %s best.tgz)" -lt "$(stat -c %s z.tgz)"
is "gzip: the same archive inside" cmp out.tar <(gzip -dc best.tgz)
export_ --xz --level 77 img
says 2 'xz has no level 77' "a level that is none"
export_ --level 3 img
says 2 'level: nothing is to be compressed' "a level of nothing"
export_ -a img
says 2 '\-a needs -o' "-a of standard output"

# Formats.
for f in gnu newc odc; do
	"$EXPORT" --format $f img >x.$f 2>.err
	is "$f: what it does not keep is said" grep -q "warning: .*: $f does not keep fractions of a second" .err
	is "$f: how often" grep -q "warning: img: [0-9]* items have lost fractions of a second to $f" .err
	is "$f: a time that it cannot hold" sh -c "[ $f = gnu ] || grep -q 'warning: block: $f cannot hold its time' .err"
	rm -f f.img
	mkfs -d x.$f f.img
	works "$f: an image of it"
	equal "$f: names, modes, sizes and links" "$("$EXPORT" -tv f.img | awk '{ print $1, $3, $6, $7, $8, $9 }' | grep -v 'hard\|small' | sort | sha256sum)" \
		"$("$EXPORT" -tv img | awk '{ print $1, $3, $6, $7, $8, $9 }' | grep -v 'hard\|small' | sort | sha256sum)"
	equal "$f: hard links" "$("$EXPORT" -tv f.img | grep -c ' link to ')" 1
done
export_ --format ustar img small
says 0 "ustar does not keep fractions" "ustar"
is "ustar: no extended headers" sh -c "! grep -aq PaxHeader .out"
export_ --format ustar img "$(cd tree && ls -d 0000*)"
is "ustar: a name that is too long" test "$RC" = 1 -a "$(grep -c 'warning: 0*1: left out: ' .err)" = 1
export_ --format zip img
says 2 'format: "zip" is not pax' "a format that is none"

# Extracting, as whoever runs this.
export_ -x there/x img
says 1 'there/x: cannot unpack there: No such file' "-x: only the last directory is made"
export_ -x there img small zero
equal "-x: status" "$RC" 0
is "-x: says what it did" grep -q '^there: 2 files' .out
equal "-x: contents" "$(cat there/small)" hello
echo old >there/small && ln -sf small there/sub && mkdir there/empty && echo keep >there/empty/mine
export_ -q -x there img
equal "-x: over what is there" "$RC$(cat .err)" 0
is "-x: the tree" diff -r --no-dereference -x fifo -x mine tree there
equal "-x: what was in a directory stays" "$(cat there/empty/mine)" keep
equal "-x: types, modes, links and times" \
	"$(cd there && find . -mindepth 1 ! -name mine -printf '%P %y %m %n %s %T@ %l\n' | grep -v ' d ' | sort | sha256sum)" \
	"$(cd tree && find . -mindepth 1 -printf '%P %y %m %n %s %T@ %l\n' | grep -v ' d ' | sed "$(is_root || echo 's/^\(small\|sub.hard\) f 4755/\1 f 755/')" | sort | sha256sum)"
equal "-x: directories too" "$(cd there && find . -mindepth 1 -type d -printf '%P %m %T@\n' | sort | sha256sum)" \
	"$(cd tree && find . -mindepth 1 -type d -printf '%P %m %T@\n' | sed "$(is_root || echo 's/^empty 1777/empty 777/;s/ 777/ 755/')" | sort | sha256sum)"
is "-x: holes stay holes" test "$(du -k there/sparse | cut -f1)" -lt 200
export_ -q -k -x there img small zero
is "-k: files that are there are errors" test "$RC" = 1 -a "$(grep -c 'File exists' .err)" = 3
export_ -q --skip-old-files -x there img small
equal "--skip-old-files" "$RC$(cat .err)" 0
mkdir -p out trap && ln -s ../out trap/sub
export_ -q -x trap img sub/big
is "-x: no file is written through a link" test "$RC" = 1 -a -z "$(ls out)" -a "$(grep -c 'sub/big: cannot open the directory: Not a dir' .err)" = 2
export_ -q -x trap img sub
is "-x: a directory takes the place of a link" test "$RC" = 0 -a -d trap/sub -a ! -L trap/sub -a -z "$(ls out)"
export_ --json -x there img small
equal "-x --json" "$(json files .out)" 1
export_ -x there -z img
says 2 'gzip applies only to archives' "-x and -z"
export_ -k -o x.tar img
says 2 'keep-old-files needs -x' "-k without -x"

# Round trip: image, archive, image, archive.
mkfs -d out.tar img2
works "an image of the archive"
clean img2 "e2fsck is content with it"
export_ img2
is "which holds the same" diff <(lines out.tar) <(lines .out)
same=(-U 12345678-1234-4234-8234-123456789abc -E hash_seed=12345678-1234-4234-8234-123456789abc)
export SOURCE_DATE_EPOCH=1700000000
for o in tree disk inode name; do
	"$EXPORT" --order $o img2 >again.tar
	mkfs "${same[@]}" -d again.tar a.img
	"$EXPORT" --order $o a.img >again.tar
	mkfs "${same[@]}" -d again.tar b.img
	is "--order=$o: the image of an export of an image of an export is that image" cmp a.img b.img
done
unset SOURCE_DATE_EPOCH

# What cannot be done.
export_
says 2 'image is missing' "no image named"
export_ img other
says 1 'not in the image: other' "a path that is not there"
rm -rf new
export_ -x new img nothing
says 1 'not in the image' "-x of nothing that is there"
is "  makes no directory" [ ! -e new ]
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

	# A damaged itree: the directory's own blocks have the rest, in the same order.
	mkdir -p tall/dir
	(cd tall/dir && for i in $(seq 1 1200); do : >a-name-of-some-length-$i; done)
	mkfs -O itree -d tall tall.img
	works "an image with an itree"
	export_ -t --order inode tall.img
	cp .out tall.list
	for node in first middle last; do
		"$python" - tall.img cut.img $node <<-'PY'
			import sys
			data = bytearray(open(sys.argv[1], "rb").read())
			nodes = [at for at in range(0, len(data), 4096) if data[at:at + 4] == b"\x45\x32\x49\x54"]
			data[{"first": nodes[0], "middle": nodes[len(nodes) // 2], "last": nodes[-1]}[sys.argv[3]] + 100] ^= 1
			open(sys.argv[2], "wb").write(data)
		PY
		export_ -t --order inode cut.img
		is "damaged itree, $node node: it is said" grep -q 'warning: dir: .*itree block' .err
		is "damaged itree, $node node: every name once, in the same order" cmp tall.list .out
		equal "damaged itree, $node node: status" "$RC" 1
	done
else
	skip "damage" "python3 is not installed"
fi

# ---- entries of one name, and names that are encrypted ----
mkdir same same/aa3 same/sub
for i in 1 2 4; do echo "number $i" >"same/aa$i"; done
echo in >same/aa3/in
echo secret >same/sub/name
tar --sort=name -cf same.tar -C same .
mkfs -O ^metadata_csum,encrypt -d same.tar fresh.img
for to in 2 3 4; do
	LC_ALL=C sed "s/aa$to/aa1/g" fresh.img >same.img
	rm -rf into
	export_ -q -x into same.img
	equal "aa$to becomes aa1: status" "$RC" 1
	is "  said" grep -q 'warning: /: .* 1 entry left out, since another has the same name: "aa1"$' .err
	equal "  the first one is kept" "$(cat into/aa1)" "number 1"
	export_ -o same.out.tar same.img
	equal "  an archive has the name once" "$RC $(tar -tf same.out.tar | grep -c aa1)" "1 1"
	is "  and says so" grep -q 'same name: "aa1"' .err
	export_ --list --order name same.img
	equal "  a listing, too" "$RC $(grep -c aa1 .out)" "1 1"
done
LC_ALL=C sed "s/aa[24]/aa1/g" fresh.img >same.img
export_ -q -x into same.img
is "three entries of one name" grep -q 'warning: /: .* 2 entries left out, since .* name, the first: "aa1"$' .err
if command -v debugfs >/dev/null; then
	debugfs -w -R 'sif /sub flags 0x80800' fresh.img >.out 2>&1
	export_ -q -o same.out.tar fresh.img
	equal "an encrypted directory: status" "$RC" 1
	is "  named in the last line, without advice to check" grep -q '^xw-export: fresh.*sub: .*names and contents are encrypted$' .err
else
	skip "an encrypted directory" "debugfs is not installed" 2
fi

# ---- what fingers know from tar ----
export_ -tvf img
says 2 "-tvf is tar's" "tar's letters to list"
export_ -xvf img
says 2 "-x DIR IMAGE extracts" "tar's letters to extract"
is "  no directory 'vf'" [ ! -e vf ]
if command -v python3 >/dev/null; then
	export_ -t img
	names=$(wc -l <.out)
	export_ -t --json img
	is "a listing as JSON" python3 -c 'import json,sys
files = json.load(open(".out"))["files"]
assert len(files) == int(sys.argv[1]) and all(f["size_bytes"] >= 0 and f["path"] for f in files)' "$names"
else
	skip "a listing as JSON" "python3 is not installed"
fi
if python3 -c 'import os, pty; os.waitstatus_to_exitcode(0); os.close(pty.openpty()[0])' 2>/dev/null; then
	RC=0
	python3 "$XW_SRC/tests/cli/on_tty.py" '' "$BIN/xw-mkfs" -d - new.img 8M >.out 2>&1 </dev/null || RC=$?
	equal "no archive from a terminal" "$RC" 2
	is "  and no image" [ ! -e new.img ]
else
	skip "no archive from a terminal" "python3 cannot open a terminal"
fi
done_testing 189
