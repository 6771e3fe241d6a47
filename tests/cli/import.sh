#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import from outside: usage, what goes wrong (one line, and the image is what it was), what comes of layers, signals.
. "$(dirname "$0")/lib.sh"
[ -x "$IMPORT" ] || skip_all "xw-import is not built"
export SOURCE_DATE_EPOCH=1700000000
FIXED="-U 5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 -E hash_seed=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10"

make_tree tree
make_tar tree good.tar
mkdir -p base/etc base/lib/old base/usr
printf 'one\n' >base/etc/conf
printf 'kept\n' >base/etc/other
seq 1 20000 >base/lib/old/data
ln -s ../lib base/usr/lib
make_tar base base.tar
# shellcheck disable=SC2086
mkfs -q $FIXED -d base.tar pristine 64M
works "an image to import into"
fresh() { rm -f img img.xw-redo; cp --sparse=always pristine img; }
unchanged() { cmp img pristine && gone img.xw-redo; }
# listing IMAGE: names, modes, owners, sizes, times, link targets
listing() { "$EXPORT" -t -v "$1"; }
# same_files IMAGE IMAGE DESCRIPTION
same_files() {
	listing "$1" | sort >same.want
	listing "$2" | sort >same.got
	is "$3" diff same.want same.got
}

# ---- usage ----

usage() { # DESCRIPTION REGEX ARGUMENT...
	local what=$1 want=$2
	shift 2
	fresh
	import "$@"
	fails 2 "$want" "$what"
	is "  the image is unchanged" unchanged
}
usage "no image" "name of the image is missing"
usage "no source" "nothing to import" img
usage "an unknown option" "unknown option -Z" -Z img good.tar
usage "an unknown long option" "--no-such" --no-such img good.tar
usage "an option of xw-mkfs" "unknown option -L" -L x img good.tar
usage "an extended option of xw-mkfs" "-E stride=4: .*offset" -E stride=4 img good.tar
usage "tar's option that begins like one of ours" "unknown option --exclude-fro" --exclude-fro x img good.tar
usage "  with a value behind =" "unknown option --xattrs-ex" --xattrs-ex=user.a img good.tar
usage "what is no expression" "--transform: \"x\": must be s/" --transform x img good.tar
usage "how to commit" "commit: \"soon\"" --commit soon img good.tar
usage "--whiteouts" "\"maybe\"" --whiteouts maybe img good.tar
usage "--jobs" "--jobs: \"x\"" --jobs x img good.tar
usage "--redo-file without a name" "redo-file" --redo-file= img good.tar
usage "the image on standard output" "IMAGE '-'" - good.tar
SOURCE_DATE_EPOCH=soon usage "SOURCE_DATE_EPOCH" "SOURCE_DATE_EPOCH='soon'" img good.tar
import --help
works "--help"
is "  names every option" grep -q -- --redo-file .out
import -V
is "-V" grep -Eq '^xw-import \(extwright\) [0-9]' .out

# ---- what goes wrong ----

refused() { # DESCRIPTION REGEX ARGUMENT...
	local what=$1 want=$2
	shift 2
	fresh
	import "$@"
	fails 1 "$want" "$what"
	is "  the image is unchanged" unchanged
}
refused "a missing image" "no-such-image.*No such file" no-such-image good.tar
refused "a missing source" "/no/such/source.*No such file" img /no/such/source
refused "  behind a good one" "/no/such/source.*No such file" img good.tar /no/such/source
size=$(stat -c %s good.tar)
for cut in 100 700 5000 $((size / 2)) $((size / 2 + 300)); do
	head -c "$cut" good.tar >cut.tar
	refused "a tar cut at $cut" "cut.tar" img cut.tar
	fresh
	RC=0
	cat cut.tar | "$IMPORT" img - >.out 2>.err || RC=$?
	T_ARGS="img -" T_TOOL=xw-import
	fails 1 "" "  the same through a pipe"
	is "    the image is unchanged" unchanged
done
refused "a redo file that is the image" "redo-file ./img: is the image itself" --redo-file ./img img good.tar
seq 1 100000 >text
printf 'x' >star-member
tar -H ustar -cf star.tar star-member
printf 'S' | dd of=star.tar bs=1 seek=156 conv=notrunc status=none
python3 - star.tar <<-'END' 2>/dev/null && refused "a kind of archive that nobody reads" "star's sparse format" img star.tar
	import sys
	b = bytearray(open(sys.argv[1], "rb").read())
	b[148:156] = b" " * 8
	b[148:156] = b"%06o\0 " % sum(b[:512])
	open(sys.argv[1], "wb").write(b)
END
refused "text is not an archive" "text" img text
# Images are no archives, not even those that begin with zeros.
refused "an image as a source" "pristine: is an ext4 image, not an archive" img pristine
refused "  after an archive" "pristine: is an ext4 image, not an archive" img good.tar pristine
cp text not-an-image
import not-an-image good.tar
fails 1 "not-an-image: not an ext2, ext3 or ext4 filesystem" "text is not an image"
is "  and stays what it is" cmp text not-an-image
head -c 90000000 /dev/urandom >large
tar -cf large.tar large
refused "a file that does not fit" "[0-9]+ more free blocks needed \([0-9]+ MiB;" img large.tar
rm -f large large.tar
mkdir names && (cd names && seq 1 30000 | xargs touch)
make_tar names names.tar
rm -rf names
refused "more files than inodes" "inodes.*missing\); nothing was changed" img names.tar
mkfs -q -F -O ^has_journal small 4M
cp small img2
import --commit journal img2 good.tar
fails 1 "journal" "--commit journal without a journal"
clean img2 "  e2fsck"
same_files small img2 "  the image has what it had"
rm -f small img2 names.tar

# ---- what comes of it ----

fresh
import img good.tar
works "an archive"
is "  a summary" grep -q "files .*symlink" .out
clean img "  e2fsck"
is "  no redo file is left" gone img.xw-redo
cp img first
# shellcheck disable=SC2086
mkfs -q $FIXED -d base.tar -d good.tar both 64M
same_files both img "  the same files as xw-mkfs makes of both layers"
fresh
import -q img good.tar
equal "-q says nothing" "$(cat .out .err)" ""
fresh
import --json img good.tar
is "--json" grep -q '^{.*"files":.*}$' .out
equal "  files" "$(json files .out)" "$(find tree -type f -printf '%i\n' | sort -u | wc -l)"
for more in "--jobs 1" "--jobs 4" "--commit file"; do
	fresh
	# shellcheck disable=SC2086
	import -q $more img good.tar
	works "$more"
	case $more in
	--jobs*) is "  the same bytes" cmp img first ;;
	*) same_files both img "  the same files" ;;
	esac
	clean img "  e2fsck"
done
fresh
RC=0
{ head -c 777 good.tar; sleep 0.2; tail -c +778 good.tar; } | "$IMPORT" -q img - || RC=$?
equal "from a pipe" "$RC" 0
is "  the same bytes" cmp img first
for z in gzip zstd; do
	command -v $z >/dev/null || { skip "through $z" "it is not installed" 1; continue; }
	fresh
	$z -qc good.tar >good.z
	import -q img good.z
	is "through $z: the same bytes" cmp img first
done
fresh
import -q --directory new/place --owner 5:6 --exclude 'sub' img tree
works "a directory, into another, as somebody else's"
listing img >got
is "  it is there" grep -Eq ' 5[ /:]+6 .*new/place/small$' got
is "  what was excluded is not" sh -c '! grep -q new/place/sub got'
clean img "  e2fsck"
fresh
import -q --directory etc/conf img good.tar
fails 1 "directory etc/conf: not a directory in the image" "--directory names a file"
is "  the image is unchanged" unchanged
mkdir -p out/f && : >out/f/sub && tar -C out -cPf up.tar f/sub --transform 's,^f/sub,../../out,' && rm -r out
import -q --directory etc img up.tar
equal "a name that leads upwards: status" "$RC" 0
is "  with a warning" grep -q '"\.\." stops at --directory' .err
is "  stays below --directory" sh -c '"$1" -t img | grep -qx etc/out' - "$EXPORT"
fresh
import -q --acls --xattrs --numeric-owner --selinux img good.tar
works "what tar has to be told"
is "  the same bytes" cmp img first
mkdir -p way/etc/conf && echo in >way/etc/conf/in && tar -C way -cf way.tar etc/conf/in && rm -r way
import -q img way.tar
equal "a file in the way of a directory: status" "$RC" 0
is "  goes with a warning" grep -q "etc/conf/in: replaces the file conf with a directory" .err
import -v -v img good.tar
is "-v -v: statistics" grep -q "xattr cache: .* lookups" .err
sed -n '/^mballoc:/,/^xattr/s/^  \([^:]*\):.*/\1/p' .err >got
"$BIN/xw-debugfs" -R mb_stats img | sed -n 's/^  \([^ :]*\):.*/\1/p' | grep -vx groups >want
is "  all of those that mb_stats of xw-debugfs has" diff want got
fresh
import -v img good.tar
is "  not with one -v" sh -c '! grep -q "xattr cache" .err'
is "what was rebuilt only, has not removed anything" sh -c '! grep -q "^ *removed" .out'
truncate -s 1M disk
cat pristine >>disk
import -q -E offset=1048576 disk good.tar
works "-E offset="
tail -c +1048577 disk >img
is "  the same bytes" cmp img first
rm -f disk

# ---- layers, and what is there is the lowest ----

mkdir -p l1/etc l1/lib l1/usr/lib l2/etc
printf 'two\n' >l1/etc/conf
: >l1/lib/.wh.old
printf 'through the link\n' >l1/usr/lib/there
tar -C l1 -cf l1.tar etc lib/.wh.old usr/lib/there
printf 'three\n' >l2/etc/new
: >l2/etc/.wh..wh..opq
tar -C l2 -cf l2.tar etc
contents() { "$EXPORT" "$1" | tar -xO -f - "./$2" 2>/dev/null || "$EXPORT" "$1" | tar -xO -f - "$2"; }
fresh
import -v img l1.tar
works "a layer"
listing img >got
equal "  a file is replaced" "$(contents img etc/conf)" two
is "  another stays" grep -q 'etc/other$' got
is "  a whiteout takes away what the image had" sh -c '! grep -q lib/old got'
is "  a path through a symbolic link" grep -q ' lib/there$' got
is "  what is removed is said" grep -q '^ *removed' .out
clean img "  e2fsck"
import -q img l2.tar
works "an opaque layer"
listing img >got
is "  hides what the image had" sh -c '! grep -q etc/conf got'
is "  and has its own" grep -q 'etc/new$' got
clean img "  e2fsck"
cp --sparse=always img steps
fresh
import -q img l1.tar l2.tar
same_files steps img "both at once"
clean img "  e2fsck"
fresh
import -q --whiteouts keep img l1.tar
listing img >got
is "--whiteouts keep" grep -q 'lib/.wh.old$' got

mkdir -p turn/etc
printf 'a file\n' >turn/lib
mkdir turn/etc/conf
printf 'x' >turn/etc/conf/in-it
tar -C turn -cf turn.tar etc/conf lib
fresh
import -q img turn.tar
equal "a file becomes a directory, and a directory a file: status" "$RC" 0
is "  the second with a warning" grep -q "lib: replaces a non-empty directory" .err
listing img >got
is "  the file" grep -q '^-.* lib$' got
is "  the directory" grep -q 'etc/conf/in-it$' got
clean img "  e2fsck"

# ---- signals ----

mkfifo pipe
if env --default-signal=INT true 2>/dev/null; then
	for sig in INT TERM KILL; do
		fresh
		exec 9<>pipe # both ends open: the reader sees neither an end nor more data
		env --default-signal=INT "$IMPORT" img - <pipe >.out 2>.err &
		pid=$!
		half good.tar
		kill -$sig $pid
		wait $pid 2>/dev/null
		RC=$?
		exec 9>&-
		T_ARGS="img - (SIG$sig)" T_TOOL=xw-import
		[ $sig = KILL ] || fails 1 "interrupted" "SIG$sig while reading a pipe"
		[ $sig = KILL ] || is "  the image is unchanged" unchanged
		[ $sig != KILL ] || clean img "SIGKILL while reading a pipe: e2fsck"
		[ $sig != KILL ] || same_files pristine img "  the same files"
		import -q img good.tar
		works "  and then the import"
	done
fi

rm -f img
mkfs -q img 8M
"$BIN/xw-tune" -O read-only img >/dev/null
import -q img good.tar
fails 1 "has the feature read-only" "the feature read-only"

# A file that was being cut short: what is behind its size in its last block goes, but not where contents are encrypted, whose
# last unit may reach behind it.
mkdir short && head -c 1500 /dev/zero >short/f
for flags in 0x80000 0x80800; do
	rm -f img
	mkfs -q -O encrypt -b 1024 -d short img 8M
	blk=$("$BIN/xw-debugfs" -R 'bmap /f 1' img)
	ino=$("$BIN/xw-debugfs" -R 'stat /f' img | sed -n 's/^Inode: *\([0-9]*\).*/\1/p')
	"$BIN/xw-debugfs" -w -R "zap_block -p 0xaa $blk" -R "sif /f flags $flags" -R "ssv last_orphan $ino" img >/dev/null
	import -q img good.tar
	works "flags $flags: an import into an image with an orphan"
	equal "  bytes of 0xaa in its last block" "$(dd if=img bs=1024 skip="$blk" count=1 status=none | tr -dc '\252' | wc -c)" \
		$([ $flags = 0x80000 ] && echo 476 || echo 1024)
done

# ---- an archive that was cut off ----

mkdir -p whole/d && seq 4000 | head -c 20000 >whole/a && echo last >whole/d/z
tar -cf whole.tar --sort=name whole
mkfs -q --replace img 8M
cp img keep
at=$(grep -abo whole/d/z whole.tar | head -1 | cut -d: -f1)
for cut in 3000 3072 $((1024 + 20100)) $((at + 100)) $((at + 512 + 100)) $((at + 1024 + 100)); do
	head -c "$cut" whole.tar >cut.tar
	gzip -c cut.tar >cut.tar.gz
	for form in cut.tar cut.tar.gz -; do
		import_stdin cut.tar -q img $form
		fails 1 "the archive ends inside" "$form of $cut bytes"
		is "  the image is as before" cmp img keep
	done
done
head -c "$at" whole.tar >cut.tar
import -q img cut.tar
equal "cut between two members: a warning, as no reader can know" "$RC $(grep -c 'end-of-archive mark is missing; if .* entries are missing' .err)" "0 1"
done_testing 189
