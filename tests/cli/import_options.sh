#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options of xw-import about what stays (-k, --skip-old-files), what is only tried (-n), and where sources are (-C).
. "$(dirname "$0")/lib.sh"
[ -x "$IMPORT" ] || skip_all "xw-import is not built"
export SOURCE_DATE_EPOCH=1700000000
listing() { "$EXPORT" -t -v "$1"; }
content() { "$EXPORT" "$1" "$2" | tar -xOf - 2>/dev/null; }

mkdir -p base/d base/full
echo old >base/a
echo old >base/d/b
ln -s d base/link
echo old >base/full/in
chmod 750 base/d
mkfs -q -d base pristine 16M
works "an image to import into"
fresh() { cp pristine img; }
unchanged() { cmp img pristine && gone img.xw-redo; }

mkdir -p new/d new/link new/fresh
echo new >new/d/c
echo new >new/link/through
echo new >new/fresh/f
ln new/fresh/f new/d/hard
chmod 700 new/d
tar -C new -cf free.tar ./d ./fresh ./link/through
echo new >new/a
echo new >new/d/b
tar -C new -cf clash.tar ./a ./d ./fresh

# ---- -k, --skip-old-files ----

for keep in -k --keep-old-files --skip-old-files; do
	fresh
	import -q $keep img free.tar
	works "$keep, where nothing is in the way"
	clean img "  e2fsck"
	equal "  directories stay what they are" "$(listing img | sed -n 's,^\([^ ]*\) .* \(\./\)*d/$,\1,p')" drwxr-x---
	equal "  what is new is there" "$(content img d/c) $(content img fresh/f) $(content img d/through)" "new new new"
	is "  links, too" sh -c "'$EXPORT' -t -v img | grep -q 'link to'"
done
# clashes DESCRIPTION REGEX SOURCE...: with -k nothing is imported
clashes() {
	local what=$1 want=$2
	shift 2
	fresh
	import -q -k img "$@"
	fails 1 "$want" "-k: $what"
	is "  the image is what it was" unchanged
}
mkdir -p odd/a odd/d2
echo x >odd/a/below
echo x >odd/d
echo x >odd/.wh.a
echo x >odd/.wh.full
echo x >odd/.wh..wh..opq
echo x >odd/d2/x
ln odd/d2/x odd/link
tar -C odd -cf below.tar a/below
tar -C odd -cf dir.tar a
tar -C odd -cf over.tar d
tar -C odd -cf gone.tar .wh.a
tar -C odd -cf gone-dir.tar .wh.full
tar -C odd -cf opaque.tar .wh..wh..opq
tar -C odd -cf linked.tar d2/x link
clashes "a file" "clash.tar: ./a: exists in the image" clash.tar
clashes "the second source" "clash.tar: ./a: exists in the image" free.tar clash.tar
clashes "a directory over a file" "dir.tar: a: exists in the image" dir.tar
clashes "below a file" "below.tar: a/below: a exists in the image" below.tar
clashes "a file over a directory" "over.tar: d: exists in the image" over.tar
clashes "a whiteout" "gone.tar: .wh.a: a exists in the image" gone.tar
clashes "a whiteout of a directory" "gone-dir.tar: .wh.full: full exists in the image" gone-dir.tar
clashes "an opaque directory" "opaque.tar: .wh..wh..opq: .* exists in the image" opaque.tar
clashes "a hard link" "linked.tar: link: exists in the image" linked.tar
fresh
import -q --skip-old-files img clash.tar over.tar gone.tar gone-dir.tar
works "--skip-old-files skips"
clean img "  e2fsck"
equal "  what was there" "$(content img a) $(content img d/b) $(content img full/in)" "old old old"
equal "  what is new" "$(content img d/c) $(content img fresh/f)" "new new"
fresh
import -q --skip-old-files img clash.tar opaque.tar
works "  an opaque directory hides what sources brought"
clean img "  e2fsck"
equal "  what was there" "$(content img a) $(content img d/b) $(content img full/in)" "old old old"
equal "  what is new" "$(content img d/c) $(content img fresh/f)" " "
fresh
import -q --skip-old-files img below.tar
fails 1 "below.tar: a/below: a exists in the image" "  but not what is below a file, as tar has it"
is "  the image is what it was" unchanged
# what a source brings, a later one replaces as always
mkdir -p later/fresh
echo later >later/fresh/f
fresh
import -q -k img free.tar later
works "-k is about what the image has"
equal "  later sources win" "$(content img fresh/f)" later

# ---- -n ----

head -c 3000000 /dev/urandom >new/large
tar -C new -cf all.tar .
for options in "" "--json" "--commit file" "-v" "--jobs 1"; do
	fresh
	# shellcheck disable=SC2086
	import -n $options img all.tar
	works "-n $options"
	is "  the image is what it was" unchanged
done
fresh
import --json -n img all.tar
cp .out tried
import --json img all.tar
works "the same without -n"
for key in files directories symlinks hardlinks new_inodes removed_inodes freed_blocks rebuilt_directories data_blocks extents \
	free_blocks free_inodes bytes_in; do
	equal "  $key" "$(json $key tried)" "$(json $key .out)"
done
fresh
import -n img all.tar
is "-n says that it was one" grep -q 'dry run: nothing was written' .out
head -c 30000000 /dev/urandom >too-large
tar -cf too-large.tar too-large
mkfs -q -O ^has_journal -d base plain 16M
for args in too-large.tar "-k clash.tar" no-such-source "--commit journal clash.tar" "--commit journal -z undo clash.tar"; do
	fresh
	[ "${args#--commit journal clash}" = "$args" ] || cp plain img
	cp img before
	# shellcheck disable=SC2086
	import -q img $args
	mv .err real
	want=$RC
	cp before img
	# shellcheck disable=SC2086
	import -q -n img $args
	equal "-n: $args: the status of the real run" "$RC" "$want"
	is "  which is no success" [ "$want" != 0 ]
	is "  and its message" cmp .err real
	is "  the image is what it was" cmp before img
done
import -n no-such-image all.tar
fails 1 "no-such-image: cannot open: No such file" "-n: no image"
if ! is_root; then
	fresh
	chmod 444 img
	import -n img all.tar
	fails 1 "img: cannot open: Permission denied" "-n: an image that cannot be written"
	rm -f img
else
	skip "-n: an image that cannot be written" "root can" 1
fi

# ---- -C ----

fresh
mkdir -p where/deep
cp free.tar where/deep/
import -q -C where -C deep img free.tar
works "-C, twice"
equal "  the source was found" "$(content img d/c)" new
fresh
import -q -C new img .
works "-C, a directory"
equal "  the source was found" "$(content img a)" new
fresh
import -q -C where img "$T/free.tar"
works "-C and an absolute name"
fresh
import_stdin free.tar -q -C where img -
works "-C and standard input"
fresh
import -q -C where img free.tar
fails 1 "where/free.tar: cannot open: No such file" "-C: what is not there"
import -C "" img free.tar
fails 2 "-C: needs the name" "-C without a name"
done_testing 101
