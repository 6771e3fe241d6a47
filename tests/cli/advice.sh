#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What users of tar, docker and mke2fs try first: it works, or the message says what to do instead.
. "$(dirname "$0")/lib.sh"

export_() { T_TOOL=xw-export run_tool "$EXPORT" /dev/null "$@"; T_TOOL=xw-export; }
hints() { is "$2" grep -Eq "^ +.*($1)" .err; }
# warns REGEX DESCRIPTION: the last run worked, and its one line on stderr is this warning.
warns() {
	if [ "$RC" = 0 ] && [ "$(wc -l <.err)" = 1 ] && grep -Eq "^$T_TOOL: warning: .*($1)" .err; then pass "$2"; else fail "$2"; fi
}

mkdir -p tree/sub && echo hello >tree/sub/file && ln tree/sub/file tree/again && ln -s file tree/sub/link
mkfs -q -d tree img
works "an image"

# tar's bundled letters.
for word in -xvf -tvf -xf -tf -xzf -xv -xvp; do
	export_ $word img
	fails 2 "$word is tar's: here -tv IMAGE lists, and -x DIR IMAGE extracts" "xw-export $word"
done
export_ xvf img
fails 2 "xvf is tar's" "xw-export xvf, without a dash"
cp img xv
export_ -t xv
works "  but an image of that name is one"
is "nothing was extracted" test ! -e v -a ! -e vf -a ! -e f
export_ -tv img
works "-tv lists"
is "  with sizes" grep -Eq -- '^-rw.* 6 .*sub/file link to again$' .out

# -x -v prints names as tar does.
export_ -x out -v img
works "-x -v"
equal "  prints each name" "$(grep -v ': ' .out | sort | tr '\n' ' ')" "./ again sub/ sub/file sub/link "
is "  and the summary" grep -q '^out: 1 file, 1 directory,' .out
export_ -x out2 img
equal "  without -v only the summary" "$(grep -vc ': ' .out)" 0
export_ -x out -v -k img
equal "  names are those of files that were written" "$(grep -c '^again$' .out)" 0
export_ -x out3 -v -q img
equal "  -q leaves only the names" "$(sort .out | tr '\n' ' ')" "./ again sub/ sub/file sub/link "
if command -v python3 >/dev/null; then
	export_ -x out4 -v --json img
	is "  --json: one object and no names" python3 -c 'import json; json.load(open(".out"))["files"]'
	export_ -t --json img
	is "-t --json lists" python3 -c 'import json; assert "sub/file" in [f["path"] for f in json.load(open(".out"))["files"]]'
	RC=0
	python3 "$XW_SRC/tests/cli/on_tty.py" '' "$MKFS" -d - new.img 8M >.out 2>&1 </dev/null || RC=$?
	is "-d - on a terminal" grep -q 'standard input is a terminal: an archive is read from a pipe or a file' .out
	equal "  is wrong usage" "$RC" 2
else
	skip "JSON and terminals" "python3 is not installed" 4
fi

# Container images, which tests/cli/oci.sh unpacks: what is none, or is stored as files.
mkdir -p save/0123 oci/blobs/sha256
tar cf save/0123/layer.tar tree
cp save/0123/layer.tar oci/blobs/sha256/4567
echo '[{"Config":"c.json","Layers":["0123/layer.tar"]}]' >save/manifest.json
echo '{}' >save/c.json
echo '{"imageLayoutVersion": "1.0.0"}' >oci/oci-layout
echo '{}' >oci/index.json
tar cf save.tar -C save manifest.json c.json 0123/layer.tar
tar cf oci.tar -C oci .
rm -f i
mkfs -q -d save i
warns "save: an archive of docker save: its layers are stored as files, .*docker-archive: .*docker export.* layers as sources" \
	"an unpacked archive of docker save"
rm -f i
mkfs -d oci:. i
if ! grep -q "container images are not supported" .err; then
	mkfs -q -d save.tar i
	works "save.tar as a source is unpacked"
	is "  and has the files of the container" grep -q /tree/ <("$BIN/xw-debugfs" -R 'ls -p /' i)
	for source in oci.tar oci; do
		rm -f i
		mkfs -q -d $source i
		fails 1 "$source: index.json: is neither an index nor a manifest of a container image" "$source, which is damaged"
		is "  makes nothing" gone i
	done
else
	skip "images of containers" "this build reads none" 6
fi
for source in save save.tar oci oci.tar; do
	rm -f i
	mkfs -q --no-oci -d $source i
	works "$source with --no-oci is silent"
done
rm -f i
mkfs -q -d save/0123/layer.tar i
works "its layer as a source is silent"
rm -f i
mkfs -q --directory var/lib/images -d save i
works "with --directory files are wanted"
mkfs -Fq i 8M
import -q i save 2>.err
warns "save: an archive of docker save" "xw-import"
mkdir none && cp save/manifest.json save/c.json none/
rm -f i
mkfs -q -d none i
works "a manifest without layers is silent"

printf '#mtree\n./file type=file mode=644 size=6\n' >spec
mkfs -q -d spec i8 8M
fails 1 "spec: is an mtree specification, whose files are elsewhere, not an archive; convert it with 'bsdtar -cf - @FILE'" "mtree is not read"
if command -v bsdtar >/dev/null; then
	printf 'hello\n' >file
	bsdtar -cf - @spec 2>/dev/null | "$MKFS" -q -d - i9
	equal "  and that is so" "$("$EXPORT" i9 file | tar -xOf -)" hello
else
	skip "  and that is so" "bsdtar is not installed" 1
fi

# --replace is proposed where it works.
mkfs -q img 8M
hints "pass --replace for a new file in its place, or -F" "an existing image: --replace is proposed"
cp -r tree src && tar -cf some.tar src
mkfs -q some.tar
hints "pass --replace -F for a new file in its place, or -F" "  for anything else with -F"
cp some.tar replaced && mkfs -q --replace -F replaced 8M
works "  and that works"
for args in "-E offset=4096" "-S" "-z undo"; do
	# shellcheck disable=SC2086
	mkfs -q $args img 8M
	is "  not with $args" test "$(grep -c -- --replace .err)" = 0
done
mkfs -q -F img 8M # -E offset wrote into it
if is_root && loop=$(losetup -f --show img 2>/dev/null); then
	mkfs -q "$loop"
	is "  nor for a device" test "$(grep -c -- --replace .err)" = 0
	mkfs -q -F img 8M
	fails 1 "in use by /dev/loop" "a file that a loop device uses"
	hints "-F given twice overwrites a file in use" "  how to overwrite it"
	if mkdir mnt && mount "$loop" mnt 2>/dev/null; then
		at_end umount mnt
		for force in "" -F "-F -F"; do
			# shellcheck disable=SC2086
			mkfs -q $force "$loop"
			is "mounted, ${force:-no -F}: refused" test "$RC" = 1
			hints "no -F overwrites a device in use" "  what to do"
		done
	else
		skip "a mounted device" "cannot mount here" 6
	fi
else
	skip "devices" "no loop device here" 9
fi
done_testing 55
