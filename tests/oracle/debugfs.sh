#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-debugfs reads, it says byte for byte as debugfs does: verb by verb, of stock images of many kinds, of images that
# Linux wrote to, and of the healthy images of the acceptance corpus where it is here. An everyday run takes images that have every
# feature once, and each sixth one of the corpus; XW_ALL=1: all of them, and more files of each image.
#
# Not compared, because debugfs 1.47.0 is wrong there or says less:
#   - blocks of symbolic links and devices that have none (it takes their text or number for a map)
#   - inline files in cat (it shows the room behind the file's end too)
#   - removed entries in what is left of an index (it takes numbers and names for one that cannot be)
#   - times before 1970 in ls -l; ACL entries that have no id in ea_get; the offset of -i in logdump where inodes are
#     larger than 128 bytes; last lines of hexdumps that begin like the line before
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in debugfs mke2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
case $(debugfs -V 2>&1) in
*" 1.47.0 "*) ;;
*) skip_all "debugfs is not 1.47.0, which the tool was compared with" ;;
esac
have_e2fsck || skip_all "needs e2fsck"
export DEBUGFS_PAGER=cat

# compare IMAGE DESCRIPTION: the requests on standard input, by both; what differs is told by request.
compare() {
	cat >requests
	debugfs -f requests "$1" >want 2>want.err
	# stock filefrag does not escape names
	sed -i '/ contiguous extents\| block(s), i_size is /s/\t/\\x09/g' want
	timeout -s KILL 900 "$DBG" --no-replay -f requests "$1" >got 2>.err
	if cmp -s want got; then pass "$2"; else
		fail "$2"
		diff want got | head -n 12 | sed 's/^/# /'
		head -n 3 want.err | sed 's/^/# debugfs: /'
		diff --unchanged-line-format='%L' --old-line-format='!%L' --new-line-format='' want got |
			awk '/^debugfs: /{q=$0} /^!/{if(q!=l)print "# in: " q; l=q}' | head -n 5
	fi
}
# What can be asked of a file: NAME INLINE?
ask_file() {
	printf '%s\n' "stat $1" "blocks $1" "ex $1" "ex -n $1" "ex -l $1" "imap $1" "inode_dump $1" "inode_dump -x $1" \
		"ea_list $1" "filefrag -v $1" "filefrag -dv $1" "bmap $1 0" "bmap $1 13" "bmap $1 300" "testi $1"
}
ask_node() { printf '%s\n' "stat $1" "imap $1" "inode_dump $1" "ea_list $1" "filefrag $1"; }
ask_dir() {
	local o
	for o in "" -l -d -c -p -r -dl -dp -lc; do echo "ls $o $1"; done
	printf '%s\n' "dirsearch $1 small" "dirsearch $1 entry-number-7-of-many" "dirsearch $1 nothing"
}
ask_fs() {
	local no_seed=00000000-0000-0000-0000-000000000000 # 1.47.0 does not take the image's
	printf '%s\n' pwd "cd /many" pwd "cd .." "chroot /sub" pwd "ls /" "chroot <2>" "ls ." stats "stats -h" \
		"icheck 0 1 2 5 100 260 300 500 700 1000 1500 2000 3000 4000 5000" "ncheck 2 11 12 13 14 20 30 40 13" \
		"testb 1 40" "testb 1000 40" "testb 4090 20" "testi <11>" "testi <1500>" ffb "ffb 7" "ffb 3 900" ffi "ffi 12" \
		lsdel freefrag "freefrag -c 64" "logdump -S" "htree many" "htree big" "dx_hash -h legacy -s $no_seed small" "dx_hash -h tea -s $no_seed small" \
		"dx_hash -h half_md4 -s 99551c17-6f85-4d2f-b9fc-b15b8a30a3b0 a-name-that-is-longer-than-thirty-two-bytes" \
		"lq user" "gq group 0" "gq project 9" dump_mmp "bd 1" "ea_get small user.short" \
		"ea_get -x small user.short" "ea_get -V small user.long" "ea_get -C small user.odd" "ea_get -CV small user.odd" \
		"ea_get -r small user.odd" "ea_get small user.none" "id -e small" "id -b /" "supported_features casefold" \
		"filefrag -r sub" "nonsense" "ls \"a name\"" "cat /big/seq" "params"
}

mkdir -p tree/many tree/sub/deep/er "tree/a name" tree/empty tree/big
printf 'hello\n' >tree/small
ln tree/small tree/sub/hard
ln -s small tree/link
ln -s "$(printf '%0200d' 7)" tree/long-link
mkfifo tree/fifo
seq 100000 >tree/big/seq
truncate -s 20M tree/sparse
pieces tree/sparse 5000000 x 1 3
printf tab >tree/sub/"$(printf 'tab\there')"
chmod 4750 tree/small
chmod 1777 tree/empty
for n in $(seq 300); do : >"tree/many/entry-number-$n-of-many"; done
printf %0900d 3 >value
head -c 40 /dev/zero | tr '\0' '\377' >odd

requests_to_make() {
	cat <<'END'
ea_set small user.short "bar"
ea_set -f value small user.long
ea_set -f odd small user.odd
ea_set sub security.thing "some text \ here"
mknod null c 1 3
mknod disk b 8 300
rm /many/entry-number-20-of-many
rm /many/entry-number-200-of-many
unlink /sub/hard
write value /kept
kill_file /kept
END
}

while read -r size options; do
	rm -f img
	truncate -s "$size" img
	# shellcheck disable=SC2086
	mke2fs -qF -N 2000 -d tree $(without_mmp "$options") img >.out 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	requests_to_make >requests
	debugfs -w -f requests img >/dev/null 2>&1
	e2fsck -fyD img >/dev/null 2>&1
	requests_to_make | sed -n '/^rm/,$p' | sed 's/20/30/' >requests
	debugfs -w -f requests img >/dev/null 2>&1
	add_mmp img "$options"
	compare img "$options" < <(
		ask_fs
		for f in / /many "/a\" \"name" /sub /lost+found /big /empty; do ask_dir "$f"; done
		for f in /small /big/seq /sparse /many /sub "<7>" "<8>" "<1>" "<11>" "<12>" "<1900>"; do
			case $options:$f in *inline_data*:/small | *inline_data*:/sub) ask_node "$f" ;; *) ask_file "$f" ;; esac
		done
		for f in /link /long-link /fifo /null /disk; do ask_node "$f"; done
		[ -z "${XW_ALL-}" ] || for n in $(seq 2 400); do ask_node "<$n>"; done
	)
done < <(strided 3 <<-'END'
	~30M -t ext2
	30M -t ext2 -r 0 -b 1024 -I 128
	40M -t ext3 -b 2048
	~60M -t ext4
	40M -t ext4 -b 1024 -O ^metadata_csum,uninit_bg
	60M -t ext4 -b 1024 -O quota,project,orphan_file -E quotatype=usrquota:grpquota:prjquota
	60M -t ext4 -O metadata_csum_seed,inline_data,large_dir,ea_inode -I 512
	~60M -t ext4 -b 1024 -O encrypt,mmp,^flex_bg
	~40M -t ext4 -I 128 -O meta_bg,^resize_inode
	60M -t ext4 -I 128 -O encrypt,mmp,^flex_bg,meta_bg,^resize_inode
	~60M -t ext4 -O ^extent,^64bit,^metadata_csum,^flex_bg
	40M -t ext4 -b 1024 -o hurd -O ^metadata_csum,^huge_file,^64bit,^extra_isize,^has_journal
END
)

# ---- a directory whose index is deep; encrypted names, which are not shown ----
rm -rf wide
mkdir -p wide/big
(cd wide/big && for n in $(seq 4000); do : >"a-rather-long-name-for-an-entry-of-a-directory-$n"; done)
rm -f img
# With some hashes a node of the index looks like a removed entry to stock debugfs: always the same ones.
mke2fs -qF -t ext4 -b 1024 -N 5000 -U 01234567-89ab-cdef-0123-456789abcdef \
	-E hash_seed=01234567-89ab-cdef-0123-456789abcdef -d wide img 40M >/dev/null 2>&1
e2fsck -fyD img >/dev/null 2>&1
compare img "an index of two levels" <<-'END'
	htree big
	ls big
	ls -d big
	ls -c big
	stat big
	filefrag -dv big
END
debugfs -w -R 'sif big flags 0x80800' img >/dev/null 2>&1
compare img "encrypted names" <<-'END'
	ls big
	ls -l big
	ls -p big
	ls -r big
END

# ---- what Linux wrote: extents of all kinds, a full journal ----
if can_loop; then
	rm -f img
	mke2fs -qF -t ext4 -b 1024 -N 2000 -d tree img 60M >/dev/null 2>&1
	mkdir -p mnt
	mount -o loop img mnt && at_end "umount mnt"
	# shellcheck disable=SC2046
	pieces mnt/broken 1024 x $(seq 0 2 500)
	sync -f mnt
	for n in 1 3 5 7 9; do printf x | dd of=mnt/few bs=1k seek=$n conv=notrunc status=none; sync -f mnt; done
	fallocate -l 300k mnt/unwritten
	printf x | dd of=mnt/unwritten bs=1k seek=20 conv=notrunc status=none
	printf x | dd of=mnt/far bs=1k seek=12345678 conv=notrunc status=none
	rm mnt/many/entry-number-1?-of-many
	mkdir mnt/new && for n in $(seq 200); do : >"mnt/new/name-$n"; done
	setfattr -n user.x -v y mnt/new 2>/dev/null
	touch -d '2100-03-04 05:06:07.123456789' mnt/few
	sync -f mnt
	# Linux may write while it is copied: one moment of it
	for n in 1 2 3 4 5; do cp img live && cmp -s img live && break; done
	umount mnt
	compare img "what Linux wrote" < <(
		ask_fs
		for f in / /many; do ask_dir "$f"; done
		printf '%s\n' "ls /new" "ls -l /new" "ls -c /new"
		for f in /broken /few /unwritten /far /new "<8>"; do ask_file "$f"; done
		printf '%s\n' "htree new" "cat few" "cat unwritten"
	)
	block=$(debugfs -R "blocks /" img 2>/dev/null | tr -d ' ')
	compare live "a journal that needs recovery" < <(printf '%s\n' "logdump" "logdump -a" "logdump -ac" "logdump -S" \
		"logdump -b $block" "logdump -b $block -c" "logdump -b $block -a" "logdump -O -n 50" "logdump -n 50")
	"$DBG" -R "stat /new" live >got 2>.err
	"$DBG" -R "stat /new" img >want 2>.err
	is "it is replayed in memory" cmp want got
else
	skip "what Linux wrote" "needs root and loop mounts" 3
fi

# ---- contents on this machine ----
rm -f img
mke2fs -qF -t ext4 -b 1024 -d tree img 60M >/dev/null 2>&1
mkdir -p theirs ours
debugfs -R "rdump / theirs" img >/dev/null 2>.err
"$DBG" -R "rdump / ours" img >/dev/null 2>.err
describe() { (cd "$1" && find . -printf '%p %y %m %s %T@ %l\n' | grep -v -e ' l 777' -e lost+found | sed 's/\.[0-9]* $/ /' | sort); }
equal "rdump: types, permissions, sizes, times" "$(describe ours)" "$(describe theirs)"
is "rdump: contents" diff -r --no-dereference --exclude=fifo theirs ours
"$DBG" -R "dump -p /big/seq out" img && cmp -s out tree/big/seq
equal "dump" $? 0
"$DBG" -R "dump /sparse out" img
equal "dump leaves holes" "$(($(stat -c %b out) * 512 < 1000000))" 1

# ---- e2image files, copies of the superblock ----
if command -v e2image >/dev/null; then
	e2image img e2i >/dev/null 2>&1
	"$DBG" -i -R "stat <12>" e2i >got 2>.err
	debugfs -i -R "stat <12>" e2i >want 2>.err
	is "an inode from an e2image file" cmp want got
	for request in "cat /big/seq" "ls -l /big" "ex /big/seq"; do
		"$DBG" -i -d img -R "$request" e2i >got 2>.err
		debugfs -i -d img -R "$request" e2i >want 2>/dev/null
		is "-d: $request, of blocks that the e2image file has not" cmp want got
	done
	echo "open -i -d img e2i" >ask
	echo "cat /big/seq" >>ask
	"$DBG" -f ask 2>.err | grep -v '^debugfs' | cmp -s - tree/big/seq
	equal "open -i -d: its contents" $? 0
	"$DBG" -i -d none -R "ls" e2i >got 2>.err
	is "-d: a source that is missing is named" grep -q none .err
else
	skip "e2image files" "e2image is not installed" 6
fi
"$DBG" -R "ls -l" img >want 2>.err
dd if=/dev/zero of=img bs=1k count=2 conv=notrunc status=none
"$DBG" -b 1024 -s 8193 -R "ls -l" img >got 2>.err
is "through a copy of the superblock" cmp want got

# ---- the acceptance corpus ----
n_corpus=0
if [ -n "$CORPUS" ]; then
	while read -r d; do
		# inodes of 0 bytes, which Linux refuses, and a value that its attribute says is shorter: these debugfs takes;
		# one that e2fsck never ends with
		case $d in */f_zero_inode_size/ | */f_ea_zero_size/ | */f_illitable_flexbg/) continue ;; esac
		zcat "$d/image.gz" >img 2>/dev/null || { fail "corpus: $d/image.gz"; continue; }
		XW_STOCK_LIMIT=10 XW_UNANSWERED="" e2fsck -fn img >.out 2>&1 || continue
		n_corpus=$((n_corpus + 1))
		compare img "corpus: $(basename "$d")" < <(
			printf '%s\n' "stats" "ls -l /" "ls -d /" "ls -c /" "lsdel" "ncheck 2 11 12 13"
			for n in 2 7 8 11 12 13 14; do ask_node "<$n>"; done
		)
	done < <(printf '%s\n' "$CORPUS"/*/ | strided 24 6)
	is "corpus: $n_corpus images" [ $n_corpus -gt 0 ]
else
	skip "corpus" "XW_ACCEPT is not set" 1
fi
done_testing $((24 + n_corpus))
