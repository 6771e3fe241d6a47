#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bad blocks (-l, -c, -cc): inode 1 has them, bitmaps and tables are where stock mke2fs puts them around bad blocks,
# nothing lies on them and nothing is written to them, and e2fsck finds nothing.
. "$(dirname "$0")/../cli/lib.sh"
for tool in e2fsck dumpe2fs mke2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
case $(mke2fs -V 2>&1) in
*1.47.*) ;;
*) skip_all "mke2fs is not 1.47" ;;
esac

places() { dumpe2fs "$1" 2>/dev/null | grep -oE '^Group [0-9]+|(superblock|bitmap|table) at [0-9]+'; }
listed() { dumpe2fs -b "$1" 2>/dev/null; }
# beside SIZE OPTIONS...: with the list bb
beside() {
	local size=$1 what
	shift
	what="$(tr '\n' ' ' <bb | cut -c 1-40): $* $size"
	rm -f ours theirs
	truncate -s "$size" ours theirs
	mkfs -q -l bb "$@" ours
	equal "-l $what" "$RC" 0
	clean ours "  e2fsck"
	mke2fs -qF -l bb "$@" theirs >/dev/null 2>&1
	is "  the list is that of mke2fs" diff <(listed theirs) <(listed ours)
	e2fsck -fn theirs >/dev/null 2>&1 || return 0 # mke2fs left one in the room for descriptors
	is "  so are the places" diff <(places theirs) <(places ours)
}
for block in 10000 259 267 275 500 786 787 8193 8194 8195 20000 0 99999 5 100; do
	echo $block >bb
	beside 20M -t ext4 -b 1024
done
for block in 258 259 300 8450 8451 8452 16385 16386 16387; do
	echo $block >bb
	beside 20M -t ext2 -b 1024
done
echo 100 >bb
beside 1G -t ext4 -b 4096
echo 32768 >bb
beside 200M -t ext3 -b 4096 -E stride=16
seq 9000 9400 >bb
beside 20M -t ext4 -b 1024 # a double indirect list
seq 9000 2 9800 >bb
beside 20M -t ext2 -b 1024
seq 300000 7 303000 >bb
beside 2G -t ext4 -b 4096
seq 40 3 4000 >bb
beside 128M -t ext4 -b 4096 -O ^resize_inode -N 5000
seq 2000 500 30000 >bb
beside 64M -t ext4 -b 1024 -E packed_meta_blocks=1
beside 64M -t ext4 -b 1024 -O ^resize_inode,meta_bg

# What is wrong with a list.
while IFS='|' read -r want text; do
	printf '%b' "$text" >bb
	rm -f ours
	mkfs -l bb ours 64M
	fails 2 "$want" "refused: $text"
	is "  and nothing was made" gone ours
done <<'TABLE'
bb:1: |abc\n
bb:3: |17\n\n18 19\n
bb:1: |-1\n
bb:2: |5000\n99999999999999999999\n
TABLE
for block in 0 1; do
	echo $block >bb
	mkfs -l bb ours 64M
	fails 1 "block $block is bad" "a bad block $block"
	is "  and nothing was made" gone ours
done
mkfs -l nowhere ours 64M
fails 1 "nowhere" "a list that is not there"
mkdir -p d && echo x >d/x
echo 20000 >bb
mkfs -l bb -d d ours
fails 2 "SIZE" "-l where SIZE is left out and the image is new"
mkfs -l bb -O bigalloc ours 64M
fails 2 "bigalloc" "-l with bigalloc"
mkfs -l bb -O journal_dev ours 64M
fails 2 "journal_dev" "-l with -O journal_dev"
printf '# from badblocks\r\n 12000 \r\n\n12001' >bb
mkfs -l bb ours 64M
equal "comments, blanks and the last line without end" "$RC" 0
equal "  two blocks" "$(listed ours | tr '\n' ' ')" "12000 12001 "
rm -f ours

# A medium with bad blocks: nothing is written to them, whatever is in the image.
preload=$(ls "$XW_BUILD"/.libs/bad_preload.so "$XW_BUILD"/bad_preload.so 2>/dev/null | head -n 1)
asan=$(ldd "$MKFS" 2>/dev/null | grep -c libasan)
if [ -z "$preload" ] || [ "$asan" != 0 ]; then
	skip "a medium with bad blocks" "needs the preload library, and no sanitizer"
	done_testing 178
fi
make_tree tree
make_tar tree in.tar
on_bad_medium() { # BLOCKS SIZE MKFS-OPTIONS...
	export XW_BAD_BLOCKS=$1 XW_BAD_SIZE=$2
	shift 2
	RC=0
	T_ARGS="$*"
	LD_PRELOAD=$preload "$MKFS" "$@" </dev/null >.out 2>.err || RC=$?
	unset XW_BAD_BLOCKS XW_BAD_SIZE
}
lcg=${XW_SEED:-1}
random() { lcg=$(((lcg * 1103515245 + 12345) % 2147483648)) && echo $((lcg / 65536 % $1)); }
while read -r size bs options; do
	blocks=$((size * 1024 * 1024 / bs))
	for _ in $(seq 1 300); do echo $((300 + $(random $((blocks - 400))))); done | sort -nu >bb
	for fill in "" "-d in.tar"; do
		rm -f ours
		truncate -s "${size}M" ours
		# shellcheck disable=SC2086
		on_bad_medium "$(paste -sd, bb)" "$bs" -q -b "$bs" $options -l bb $fill ours
		equal "300 bad blocks: $options -b $bs $fill" "$RC" 0
		clean ours "  e2fsck"
		is "  the list" diff bb <(listed ours)
	done
done <<'TABLE'
40 1024 -t ext4
40 1024 -t ext2
60 4096 -t ext4 -O quota,orphan_file,^resize_inode
60 2048 -t ext3 -N 1000
TABLE

# -c finds them, and -cc; a list and a search add up.
head -c 64M /dev/zero | tr '\0' z >ours
bad="5000,5001,9999,16380"
for how in -c -cc; do
	on_bad_medium $bad 4096 -b 4096 -F $how -d in.tar ours
	equal "$how" "$RC" 0
	is "  says what it found" grep -q 'ours: 4 bad blocks found' .err
	equal "  and lists it" "$(listed ours | paste -sd,)" $bad
	clean ours "  e2fsck"
done
echo 7000 >bb
on_bad_medium $bad 4096 -b 4096 -F -c -l bb ours
equal "-c with -l" "$(listed ours | paste -sd,)" "5000,5001,7000,9999,16380"
sha256sum ours >before
on_bad_medium 0 4096 -b 4096 -F -c ours
is "a bad first block" grep -q 'block 0 is bad' .err
is "  is found before anything is written" sha256sum -c before
mkfs -q -b 4096 -F -c ours
equal "-c of a good medium" "$RC" 0
equal "  lists nothing" "$(listed ours)" ""
rm -f ours
mkfs -q -c -d in.tar ours
works "-c of a new image has nothing to check"
done_testing 178
