#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune -I: larger inodes in images that stock mke2fs made, empty ones and such that are full to the brim, where the new tables
# have files, directories, maps, attribute blocks and the journal in their way. Stock e2fsck and Linux judge. An everyday run takes
# rows that have every feature once, on smaller images; XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune}
for c in mke2fs dumpe2fs debugfs e2fsck; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
loop=
can_loop && loop=yes
tune() {
	T_TOOL=xw-tune
	run_tool "$TUNE" /dev/null "$@"
}

mkdir -p tree/dir/deep mnt
files tree/dir/file-with-a-longish-name-%d 1 300 7
for i in $(seq 7 7 300); do : >"tree/dir/file-with-a-longish-name-$i"; done
# shellcheck disable=SC2046
pieces tree/pieces 2048 'a piece' $(seq 0 2 400)
ln -s "$(printf '%0100d' 1)" tree/long
for i in 1 2 3 4; do
	echo $i >tree/dir/deep/$i
	setfattr -n user.large -v "$(printf '%0700d' 1)" tree/dir/deep/$i 2>/dev/null
done
chmod -R go-w tree
field() { dumpe2fs -h "$1" 2>/dev/null | sed -n "s/^$2:[[:space:]]*//p"; }
contents() {
	(cd mnt && find . -path ./lost+found -prune -o -printf '%p %y %n %U:%G %m %l %s %T@\n' | LC_ALL=C sort &&
		find . -path ./lost+found -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum &&
		getfattr -Rd . 2>/dev/null)
}
# see IMAGE FILE: what Linux finds in it.
see() {
	[ -n "$loop" ] || return 0
	mount -o loop,ro "$1" mnt && contents >"$2"
	umount mnt
}
# fill BYTES: files of that size until img is full, every fourth of which goes again: no large piece of it is free.
fill() {
	mount -o loop img mnt || return 1
	# Linux refuses writes early while delayed allocations are pending: full is what refuses the first file after three syncs in turn.
	perl -e 'my ($bytes, $i, $refused, $start) = ($ARGV[0], 0, 0);
		open(my $random, "<", "/dev/urandom") or die;
		read($random, my $text, $bytes) or die;
		sub put {
			open(my $f, ">", "mnt/fill$i") or return 0;
			for (my $at = 0; $at + 8 <= $bytes; $at += 1024) { substr($text, $at, 8) = sprintf("%08d", $i) }
			return (syswrite($f, $text) // 0) == $bytes && close($f);
		}
		while ($refused < 3) {
			$start = $i;
			$i++ while put();
			system("sync", "-f", "mnt");
			$refused = $i > $start ? 0 : $refused + 1;
		}
		unlink("mnt/fill$i") while ($i -= 4) > 0;
		exit($start < 10)' "$1" || { umount mnt && return 1; }
	umount mnt
}
# make OPTIONS SIZE [loose]: img, filled unless it is to be loose.
make() {
	local size=$2
	[ "$size${XW_ALL-}" != 40M ] || size=20M
	rm -f img
	# shellcheck disable=SC2086
	mke2fs -qF -U 01234567-89ab-cdef-0123-456789abcdef $1 -d tree img "$size" >/dev/null 2>&1 || return 1
	[ -z "$loop" ] || [ "${3-}" = loose ] || fill 30000 || return 1
	quiet_fsck -fy img
	quiet_fsck -fn img
}
quiet_fsck() { fsck_quiet .fsck "$@"; }
groups() { dumpe2fs "$1" 2>/dev/null | grep -c '^Group [0-9]'; }

while IFS='|' read -r options size to how; do
	make "$options" "$size" "$how" || { skip "$options" "cannot be made here"; continue; }
	see img want
	overhead=$(field img 'Overhead clusters')
	tables=$(field img 'Inode blocks per group')
	tune -I "$to" img
	equal "$options: -I $to${how:+, $how}" "$RC $(cat .out)" "0 Setting inode size $to"
	is "  e2fsck finds nothing" quiet_fsck -fn img
	equal "  dumpe2fs reads it" "$(field img 'Inode size')" "$to"
	equal "  the overhead follows" "$(field img 'Overhead clusters')" \
		"${overhead:+$((overhead + ($(field img 'Inode blocks per group') - tables) * $(groups img)))}"
	[ -n "$loop" ] || { skip "  Linux finds everything" "needs root and loop mounts" 2; continue; }
	see img got
	is "  Linux finds everything" cmp want got
	mount -o loop img mnt 2>.err && {
		rm -rf mnt/dir/file-with-a-longish-name-1* && mkdir mnt/new && echo x >mnt/new/file && setfattr -n user.a -v b mnt/new/file
		umount mnt
	}
	clean img "  and uses it"
done < <(strided <<'TABLE'
~-t ext3 -I 128 -b 1024|40M|256|
-t ext3 -I 128 -b 1024|40M|512|
~-t ext4 -I 128 -b 1024|40M|256|
-t ext4 -I 128 -b 1024 -O ^flex_bg|40M|256|
~-t ext4 -I 256 -b 1024 -O ^flex_bg,ea_inode|40M|512|
~-t ext4 -I 256 -b 1024 -O orphan_file,mmp,metadata_csum_seed|40M|512|
-t ext4 -I 256 -b 1024 -O orphan_file,mmp,metadata_csum_seed,ea_inode|40M|512|
-t ext4 -I 256 -b 4096|40M|512|
-t ext4 -I 128 -b 1024 -O ^metadata_csum,uninit_bg|40M|256|
-t ext2 -I 128 -b 1024 -r 0|40M|256|
-t ext4 -I 256 -b 1024 -O inline_data|40M|512|loose
-t ext4 -I 256 -b 1024 -O quota,project|40M|512|loose
-t ext4 -I 128 -b 4096 -O meta_bg,^resize_inode|200M|256|loose
TABLE
)

# The journal lies right behind the tables of an image of ours: it moves, and so does the superblock's copy of its map.
if [ -n "$loop" ]; then
	rm -f img
	"$MKFS" -q -b 1024 -I 128 -O ^flex_bg -d tree img 8M
	fill 6000 || fail "filled"
	run=$(dumpe2fs img 2>/dev/null | sed -n 's/^  Free blocks: //p' | tr ',' '\n' | awk -F- '{ n = NF > 1 ? $2 - $1 + 1 : 1; if (n > max) max = n } END { print max + 0 }')
	before=$(debugfs -R 'blocks <8>' img 2>/dev/null)
	see img want
	tune -I 256 img
	works "full, with the journal behind the tables: -I 256"
	differ() { [ "$1" != "$2" ]; }
	if [ "$run" -lt 140 ]; then
		is "  the journal moved" differ "$before" "$(debugfs -R 'blocks <8>' img 2>/dev/null)"
	else # a loaded machine makes Linux refuse writes early
		skip "  the journal moved" "Linux left a run of $run free blocks"
	fi
	is "  e2fsck finds nothing" quiet_fsck -fn img
	see img got
	is "  Linux finds everything" cmp want got
	mount -o loop img mnt && : >mnt/journaled
	umount mnt
	clean img "  and uses its journal"
fi

# Nearly full: the larger tables need as many blocks as they grow by, and hardly more. If those are missing, that is said.
rm -f img
mke2fs -qF -t ext4 -b 1024 -I 128 -O ^flex_bg,^resize_inode img 32M >/dev/null 2>&1
free=$(field img 'Free blocks')
more=$(($(field img 'Inode count') / 8))
head -c $(((free - more - 30) * 1024)) /dev/urandom >file
debugfs -w -R 'write file file' img >/dev/null 2>&1
cp img tight
tune -I 256 img
works "nearly full: -I 256"
is "  e2fsck finds nothing" quiet_fsck -fn img
debugfs -R 'dump file got' img 2>/dev/null
is "  the file is the same" cmp file got
head -c 40000 /dev/urandom >other
debugfs -w -R 'write other other' tight >/dev/null 2>&1
cp tight img
tune -I 256 img
fails 1 'no space for inodes of 256 bytes: [0-9]+ blocks missing' "fuller: the missing blocks are told"
is "  nothing was changed" cmp img tight

# Together with others, and what goes with the size.
make "-t ext4 -I 128 -b 1024" 40M loose
tune -I 256 -O project,quota,itree -U random -L larger img
works "-I with -O, -U and -L"
tune -O ^itree img
works "  and trees away again"
is "  e2fsck finds nothing" quiet_fsck -fn img
equal "  all of it" "$(field img 'Inode size') $(field img 'Filesystem volume name')" "256 larger"

# What is refused leaves the image alone.
make "-t ext4 -I 256 -b 1024" 40M loose
cp img same
while IFS='|' read -r size why; do
	tune -I "$size" img
	equal "-I $size is refused" "$RC $(grep -cF -- "$why" .err)" "1 1"
	is "  the image is what it was" cmp img same
done <<'TABLE'
256|The inode size is already 256
128|Shrinking inode size is not supported
2048|Invalid inode size 2048 (max 1024)
300|Inode size must be a power of two - 300
64|Inode size must be a power of two - 64
TABLE
debugfs -w -R 'sif <13> mtime_extra 0x55' img >/dev/null 2>&1
printf '\x5a' | dd of=img bs=1 seek=$(($(debugfs -R 'imap <13>' img 2>/dev/null | sed -n 's/.*block \([0-9]*\), offset \(0x[0-9a-f]*\).*/\1*1024+\2+20/p'))) conv=notrunc status=none
cp img same
tune -I 512 img
equal "an inode with a wrong checksum: refused" "$RC $(grep -c 'inode 13.*run xw-fsck' .err)" "1 1"
is "  the image is what it was" cmp img same
mke2fs -qF -t ext4 -O bigalloc img 40M >/dev/null 2>&1
tune -I 512 img
equal "bigalloc: refused" "$RC $(grep -c 'with bigalloc' .err)" "1 1"
mke2fs -qF -t ext4 -b 1024 -I 128 -N 40000 img 8M >/dev/null 2>&1
head -c 1500000 /dev/urandom >large
debugfs -w -R 'write large large' img >/dev/null 2>&1
cp img same
tune -I 512 img
equal "no space: refused" "$RC $(grep -cE 'no place for an inode table|no space' .err)" "1 1"
is "  the image is what it was" cmp img same
done_testing 83
