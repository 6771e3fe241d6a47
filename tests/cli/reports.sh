#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-mkfs says of an image that it has made, word for word, and the command lines that xw-mkfs, xw-dump and xw-freefrag refuse.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
dump() {
	T_TOOL=xw-dump
	run_tool "$BIN/xw-dump" /dev/null "$@"
}
freefrag() {
	T_TOOL=xw-freefrag
	run_tool "$BIN/xw-freefrag" /dev/null "$@"
}
# says DESCRIPTION: the last run printed what is on standard input; figures of time, of free space and of writes are left out.
says() {
	sed -E 's/^  time .*/  time/; s/[0-9.,]+ (KiB|MiB) in [0-9]+ writes.*/written/; s/^(  free  *)[0-9.,]+ .*/\1/' .out >.said
	if diff - .said >.differs; then pass "$1"; else
		fail "$1"
		sed 's/^/# /' .differs
	fi
}
# refused STATUS REGEX COMMAND...: one line, nothing on standard output; with --json the reason as an object.
refused() {
	"${@:3}"
	fails "$1" "$2" "${*:3}"
	case "${*:3}" in
	*--json*)
		is "  and prints the reason only" test "$(grep -c '' .out) $(grep -cE '^\{"error":".*"\}$' .out)" = "1 1"
		return
		;;
	esac
	is "  and prints nothing" test ! -s .out
}

mkdir -p tree/d
for i in 1 2 3; do echo $i >tree/f$i; done
ln -s f1 tree/link
printf '5000\n5001\n' >bad
mkfs -F -v -b 1024 -O inline_data -l bad -U 01234567-89ab-cdef-0123-456789abcdef -d tree img 8M
says "an image, with -v" <<'TEXT'
img  UUID 01234567-89ab-cdef-0123-456789abcdef
  size        8 MiB, 8,192 blocks of 1 KiB, 1 group
  inodes      2,048, 2,032 free
  free        
  files       3 files, 1 directory, 1 symlink
  data        0 B in 0 extents for 0 files
  inline      4 files and directories in inodes
  metadata    594 KiB; journal 1 MiB
  grows       up to 8.00 GiB, with 2,048 inodes per 8 MiB
  directories 13 blocks, 0 with an index
  written     written
  bad         2 blocks
  time
TEXT
mkfs -F -n -b 1024 -d tree img 8M
says "a plan" <<'TEXT'
img  planned
  size        8 MiB, 8,192 blocks of 1 KiB, 1 group
  inodes      2,048, 2,032 free
  free        
  files       3 files, 1 directory, 1 symlink
  data        3 KiB in 3 extents for 3 files
  metadata    595 KiB, 19833 % of the data; journal 1 MiB
TEXT
mkfs -F -b 1024 -O journal_dev -U 01234567-89ab-cdef-0123-456789abcdef journal 2M
says "an external journal" <<'TEXT'
journal  UUID 01234567-89ab-cdef-0123-456789abcdef
  journal     2 MiB, 2,048 blocks of 1 KiB
TEXT

refused 2 '"nosuch:xx" is not OWNER\[:GROUP\], in numbers or names' mkfs --owner nosuch:xx other 4M
refused 2 '"nosuch:" is not a group, in numbers or names' mkfs --group nosuch: other 4M
refused 2 '"1:2:3" is not OWNER\[:GROUP\], in numbers or names' mkfs --owner 1:2:3 other 4M
is "no image is made" gone other
refused 1 "an external journal has no blocks of files" dump -g journal
refused 1 "an external journal has no blocks of files" dump -b journal
refused 2 "an external journal has no blocks of files" dump -m journal
refused 2 "MMP feature not enabled" dump -m img
refused 2 "--json is not supported with -g" dump --json -g img
refused 2 "--json is not supported with -m" dump --json -m img
refused 2 "unexpected argument 'more' after IMAGE" dump img more
refused 2 "-o foo: it takes superblock=BLOCK and blocksize=BYTES" dump -o foo img
dump --help
works "xw-dump --help"
is "  begins with the usage" grep -q '^Usage: xw-dump \[-bfghimx\] .* IMAGE$' .out
freefrag --help
works "xw-freefrag --help"
is "  begins with the usage" grep -q '^Usage: xw-freefrag \[-c KIB\] .* IMAGE$' .out
cp img before
refused 2 "-c 3: the chunk size must be a power of 2" freefrag -c 3 img
refused 2 "-c x: not a number of KiB" freefrag -c x img
refused 2 "-c 2199023255552: not a number of KiB" freefrag -c 2199023255552 img
refused 2 "-E foo: it takes offset=BYTES" freefrag -E foo img
refused 2 "--json and --svg - exclude each other" freefrag --svg - --json img
freefrag --svg img img
is "a drawing over the image is refused" grep -q "img: the drawing would overwrite the image" .err
is "  which stays as it is" cmp img before
freefrag --svg "$T/nowhere/x" img
is "a drawing that cannot be made" grep -q "nowhere/x: No such file or directory" .err
equal "  exit status" $RC 1

# An image in use, as its MMP block says.
"$BIN/xw-tune" -O mmp img >.out 2>.err
equal "an MMP block" $? 0
dump -m img
equal "xw-dump -m: clean" "$RC $(cat .out)" "0 xw-dump: it is safe to mount 'img', MMP is clean"
dump -m -i img
is "xw-dump -m -i: the MMP block of a filesystem" grep -q '^ *mmp_block_number: [1-9]' .out
equal "  status 0" "$RC" 0
refused 1 "not an e2image file" dump -i img
"$BIN/xw-debugfs" -w -R "smmp nodename somewhere" -R "smmp bdevname loop7" -R "smmp seq 0xe24d4d50" img >.out 2>.err
dump -m img
is "xw-dump -m: being checked" grep -q "e2fsck is being run: updated by 'somewhere' as 'loop7' at" .err
is "  is no success" test $RC -ne 0
done_testing 52
