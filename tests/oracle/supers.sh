#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -S: superblocks and descriptors of filesystems that lost them, of ours and of stock mke2fs's making. What dumpe2fs
# says of them is what it says after mke2fs -S, e2fsck then repairs them, and no file is lost. -D: the same bytes.
. "$(dirname "$0")/../cli/lib.sh"
for tool in e2fsck dumpe2fs debugfs mke2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
case $(mke2fs -V 2>&1) in
*1.47.*) ;;
*) skip_all "mke2fs is not 1.47" ;;
esac
U=11111111-2222-3333-4444-555555555555
mkdir src
for i in $(seq 1 20); do head -c $((i * 7000)) /dev/urandom >"src/f$i"; done

# facts IMAGE: sizes, features, places; not what mke2fs leaves out, nor descriptors' checksums, which are wrong there.
facts() {
	dumpe2fs "$1" 2>/dev/null | grep -E '^(Filesystem (UUID|features|state)|Inode (count|size)|Block (count|size)|Reserved|First|Free (inodes|blocks): *[0-9]+$|Blocks per|Inodes per|Flex|Journal inode|Group [0-9]+:)|superblock at|bitmap at|table at|free blocks,' |
		sed -e 's/ csum 0x.*//' -e 's/, csum.*//'
}
files_are_there() {
	local i
	for i in $(seq 1 20); do
		debugfs -R "cat f$i" "$1" 2>/dev/null | cmp -s - "src/f$i" || return 1
	done
}
# rescue DESCRIPTION OPTIONS...: broken.img gets its superblocks back
rescue() {
	local what=$1
	shift
	cp --sparse=always broken.img ours.img
	mkfs -q -F -S "$@" ours.img
	equal "-S $what" "$RC" 0
	e2fsck -fy ours.img >.fsck 2>&1
	equal "  e2fsck repairs it" "$?" 1
	clean ours.img "  and it is clean"
	is "  and every file is there" files_are_there ours.img
}
while IFS='|' read -r size options; do
	for maker in theirs ours; do
		rm -f made.img
		# shellcheck disable=SC2086
		if [ $maker = ours ]; then
			mkfs -q $options -U $U -E hash_seed=$U -d src made.img "$size"
		else
			truncate -s "$size" made.img
			mke2fs -qF $options -U $U -E hash_seed=$U -d src made.img >/dev/null 2>&1
		fi
		[ -s made.img ] || { fail "made by $maker: $options"; continue; }
		cp --sparse=always made.img broken.img
		dd if=/dev/urandom of=broken.img bs=1k seek=1 count=3 conv=notrunc status=none
		# shellcheck disable=SC2086
		rescue "over an image of $maker, UUID from a backup: $options" $options
		dumpe2fs -h ours.img 2>/dev/null | grep -q $U || fail "  the UUID is another"
		[ $maker = ours ] && continue
		cp --sparse=always broken.img theirs.img
		# shellcheck disable=SC2086
		if mke2fs -qF -S $options -U $U -E nodiscard,hash_seed=$U theirs.img >/dev/null 2>&1; then
			# shellcheck disable=SC2086
			mkfs -q -F -S $options -U $U broken.img
			facts theirs.img >want
			facts broken.img >got
			is "  facts are those of mke2fs -S" diff <(sed 's/ *\[.*//' want) <(sed 's/ *\[.*//' got)
		fi
	done
done < <(strided 3 <<'TABLE'
150M|-t ext4 -b 4096
50M|-t ext2 -b 1024
60M|-t ext3 -b 2048
50M|-t ext4 -b 1024 -O ^metadata_csum,uninit_bg
50M|-t ext4 -b 1024 -O ^flex_bg,^resize_inode
150M|-t ext4 -b 4096 -O quota,orphan_file
200M|-t ext4 -b 1024 -O ^resize_inode,meta_bg
TABLE
)

# No copy at all: then the user has to know.
rm -f made.img
mkfs -q -t ext4 -b 4096 -U $U -E hash_seed=$U -d src made.img 100M
cp made.img broken.img
dd if=/dev/zero of=broken.img bs=4096 count=2 conv=notrunc status=none
before=$(cksum <broken.img)
mkfs -q -S broken.img
fails 2 "no superblock copy found.*give -U" "-S without any copy wants -U"
equal "  and writes nothing" "$(cksum <broken.img)" "$before"
mkfs -q -S -O ^metadata_csum broken.img
is "  without checksums it warns that it was not found" grep -q 'warning: .*-U and -E hash_seed were unknown' .err
cp made.img broken.img
dd if=/dev/zero of=broken.img bs=4096 count=2 conv=notrunc status=none
mkfs -q -F -S broken.img
is "  and so with -F" grep -q 'warning: .*-U and -E hash_seed were unknown' .err

# A copy is left, but not where the options have it: what it says is told, and nothing is written.
while IFS='|' read -r size options wrong say; do
	rm -f made.img
	# shellcheck disable=SC2086
	mkfs -q $options -U $U -E hash_seed=$U -d src made.img "$size"
	cp --sparse=always made.img broken.img
	dd if=/dev/urandom of=broken.img bs=1k count=4 conv=notrunc status=none
	before=$(cksum <broken.img)
	# shellcheck disable=SC2086
	mkfs -q -S $wrong broken.img
	fails 2 "the superblock copy at byte [0-9]* requires $say" "-S $wrong where there was $options"
	equal "  writes nothing" "$(cksum <broken.img)" "$before"
done <<'WRONG'
60M|-b 1024||-b 1024 -g 8192 -I 256 -N 15360 and a SIZE of 61440 blocks
160M|-b 4096|-b 1024|-b 4096 -g 32768
160M|-b 4096 -N 5000|-b 4096|-b 4096 -g 32768 -I 256 -N 50
40M|-b 1024 -I 128|-b 1024|-b 1024 -g 8192 -I 128
40M|-b 2048 -t ext2||-b 2048 -g 16384
WRONG
rm -f made.img
mkfs -q -t ext4 -b 4096 -U $U -E hash_seed=$U -d src made.img 100M
cp made.img broken.img
dd if=/dev/zero of=broken.img bs=4096 count=2 conv=notrunc status=none
rescue "with -U, and no copy left" -t ext4 -b 4096 -U $U -E hash_seed=$U

# Nothing but superblocks and descriptors is written.
cp made.img broken.img
dd if=/dev/urandom of=broken.img bs=1k seek=1 count=3 conv=notrunc status=none
cp broken.img ours.img
mkfs -q -F -S ours.img
is "-S writes the first two blocks and nothing else" cmp <(tail -c +8193 broken.img) <(tail -c +8193 ours.img)
before=$(cksum <ours.img)
mkfs -n -F -S ours.img
equal "-S -n" "$RC" 0
equal "  writes nothing" "$(cksum <ours.img)" "$before"

mkfs -S -d src ours.img
fails 2 "-d src: not supported with -S" "-S -d"
mkfs -S -O journal_dev ours.img
fails 2 "journal_dev: not supported with -S" "-S -O journal_dev"
mkfs -S nowhere.img 64M
fails 1 "nowhere.img" "-S without an image"
is "  makes none" gone nowhere.img
mkfs -S ours.img
fails 1 "holds an ext4" "-S over what still looks like a filesystem wants -F"
equal "  and it is as it was" "$(cksum <ours.img)" "$before"

# -D: the same bytes, and what was written does not stay in the page cache.
export SOURCE_DATE_EPOCH=1700000000
make_tree tree
make_tar tree in.tar
for options in "-b 4096" "-b 1024 -O ^flex_bg"; do
	for size in "" 50M; do
		# shellcheck disable=SC2086
		mkfs -q $options -U $U -E hash_seed=$U -d in.tar plain.img $size
		# shellcheck disable=SC2086
		mkfs -q -D $options -U $U -E hash_seed=$U -d in.tar direct.img $size
		if [ "$RC" = 0 ] && grep -q 'no direct I/O' .err; then
			skip "-D $options $size" "the host has no direct I/O"
		else
			works "-D $options $size"
		fi
		is "  the same bytes" cmp plain.img direct.img
		rm -f plain.img direct.img
	done
done
head -c 20M /dev/zero | tr '\0' y >disk.img
cp disk.img plain.img
mkfs -q -D -U $U -E hash_seed=$U,offset=1000448 -d in.tar disk.img 15M
equal "-D at an odd offset" "$RC" 0
mkfs -q -U $U -E hash_seed=$U,offset=1000448 -d in.tar plain.img 15M
is "  the same bytes" cmp plain.img disk.img
if command -v fincore >/dev/null && head -c 8M in.tar >probe && ! grep -q 'no direct' .err &&
	case $(stat -f -c %T .) in tmpfs) false ;; esac; then
	mkfs -q -D -d in.tar cached.img 64M
	is "-D leaves little in the page cache" test "$(fincore -bno RES cached.img | tr -d ' ')" -lt 1000000
else
	skip "-D and the page cache" "fincore is not installed, or there is nothing but a page cache here"
fi
done_testing 100
