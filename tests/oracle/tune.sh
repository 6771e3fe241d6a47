#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune beside stock tune2fs: the same options on copies of the same images say the same, leave superblocks that dumpe2fs
# describes alike, and an image that stock e2fsck has nothing to say about and that Linux mounts with all its files.
#
# Where tune2fs leaves work to e2fsck (it says "please run", or e2fsck finds something), only xw-tune's side is judged.
. "$(dirname "$0")/../cli/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune}
ITREE=$XW_BUILD/o_itree
for c in mke2fs tune2fs dumpe2fs e2fsck; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
loop=
can_loop && loop=yes
tune() {
	T_TOOL=xw-tune
	run_tool "$TUNE" /dev/null "$@"
}
quiet_fsck() { fsck_quiet .fsck "$@"; }

mkdir -p tree/big tree/sub/deep mnt
for i in $(seq 1 400); do seq 1 $((i % 7 * 60)) >"tree/big/file-with-a-longish-name-$i"; done
ln tree/big/file-with-a-longish-name-7 tree/sub/hard
ln -s "$(printf '%0100d' 1)" tree/long
ln -s sub tree/short
for i in $(seq 0 2 400); do printf 'piece %s' $i | dd of=tree/pieces bs=2048 seek=$i conv=notrunc status=none; done
setfattr -n user.large -v "$(printf '%0700d' 1)" tree/pieces tree/sub 2>/dev/null
setfattr -n user.small -v x tree/sub/deep 2>/dev/null
chmod -R go-w tree

# What does not depend on who made the change or when.
describe() {
	dumpe2fs -h "$1" 2>/dev/null | grep -vE '^(Last write time|Journal sequence|Lifetime writes|Checksum|Last checked|Next check after):|mmp_(update|node|device)' |
		sed 's/^\(Free blocks\|Overhead clusters\|MMP block number\|Project quota inode\|Orphan file inode\):.*/\1/'
}
# What the kernel finds: every name, what it is, what is in it.
contents() {
	(cd mnt && find . -path ./lost+found -prune -o -printf '%p %y %n %U:%G %m %l\n' | LC_ALL=C sort &&
		find . -path ./lost+found -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum)
}
# mounts IMAGE DESCRIPTION: read-write where any kernel can (with quota some cannot), with all that there was.
mounts() {
	local how=rw
	[ -n "$loop" ] || { skip "$2" "needs root and loop mounts" 1; return; }
	! dumpe2fs -h "$1" 2>/dev/null | grep -qE '^Filesystem features:.* (casefold|verity|encrypt)' || { skip "$2" "not every kernel has all features" 1; return; }
	! dumpe2fs -h "$1" 2>/dev/null | grep -q '^Filesystem features:.* quota' || how=ro
	if mount -o loop,$how "$1" mnt 2>.err; then
		contents >got
		[ $how = ro ] || use mnt
		umount mnt
		is "$2" cmp want got
		[ $how = ro ] || clean "$1" "    and uses it"
	else
		fail "$2"
	fi
}
# use DIRECTORY: names come and go, so that blocks of directories split and inodes are taken.
use() (
	cd "$1" && mkdir new && for i in $(seq 1 120); do
		echo "$i" >"big/another-name-$i"
		: >"new/$i"
	done && rm -r big/file-with-a-longish-name-*5 sub && sync -f .
) 2>/dev/null # the feature read-only

# make NAME OPTIONS [SIZE]: an image of the tree, clean and as e2fsck makes it.
make() {
	rm -f "$1"
	# shellcheck disable=SC2086
	mke2fs -qF -b 1024 -U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=01234567-89ab-cdef-0123-456789abcdef $2 -d tree "$1" "${3-24M}" \
		>/dev/null 2>&1 || return 1
	quiet_fsck -fyD "$1"
	quiet_fsck -fn "$1"
}
make ext4 "-t ext4" || skip_all "stock images cannot be made"
make full "-t ext4 -O ea_inode,large_dir,metadata_csum_seed,quota,project,fast_commit" || cp ext4 full
make fold "-t ext4 -O casefold" || cp ext4 fold
make plain "-t ext4 -O ^metadata_csum,uninit_bg"
make ext3 "-t ext3"
make ext2 "-t ext2 -O ^dir_index,^large_file,^resize_inode"
make bare "-t ext2 -O none"
make old "-t ext2 -r 0"
[ -z "$loop" ] || { mount -o loop,ro ext4 mnt && contents >want; umount mnt; }

# beside IMAGE OPTIONS: both tools, each on a copy.
beside() {
	local base=$1 theirs ours
	shift
	cp --sparse=always "$base" a
	cp --sparse=always "$base" b
	tune2fs "$@" a >their.out 2>&1 </dev/null
	theirs=$?
	tune "$@" b
	ours=$RC
	if grep -qi 'please run' their.out; then
		equal "$base, $*: done without a check" "$ours" 0
	else
		equal "$base, $*: status" "$ours" "$theirs"
	fi
	[ "$ours" = 0 ] || return
	if quiet_fsck -fn b; then pass "  e2fsck finds nothing"; else fail "  e2fsck: $(sed -n 2,5p .fsck)"; fi
	grep -qi 'please run' their.out || ! quiet_fsck -fn a || {
		describe a >a.h
		describe b >b.h
		is "  dumpe2fs says the same" diff a.h b.h
		grep -E '^(Setting|Clearing|Multiple|Creating) ' their.out >a.said
		grep -E '^(Setting|Clearing|Multiple|Creating) ' .out >b.said
		is "  so do the tools" diff a.said b.said
	}
	mounts b "  Linux finds everything"
}

while IFS='|' read -r base options; do
	# shellcheck disable=SC2086
	beside "$base" $options
done < <(strided <<'TABLE'
ext4|-L label -M /mnt -c 20 -C 3 -e remount-ro -g 1 -u 2 -i 2w -m 3.5 -T 20200102030405 -E stride=4,stripe_width=16,mount_opts=nodelalloc
ext3|-r 500 -o ^acl,debug,journal_data -E hash_alg=tea,^test_fs -c -1 -i 0
ext4|-U 22222222-89ab-cdef-0123-456789abcdef
ext4|-U clear
full|-U 22222222-89ab-cdef-0123-456789abcdef
plain|-U 22222222-89ab-cdef-0123-456789abcdef
ext3|-U 22222222-89ab-cdef-0123-456789abcdef
ext4|-O metadata_csum_seed
full|-O ^metadata_csum_seed
ext4|-O ^metadata_csum
full|-O ^metadata_csum
plain|-O metadata_csum
ext3|-O metadata_csum
ext2|-O metadata_csum
plain|-O ^uninit_bg
ext3|-O uninit_bg
ext4|-O ^has_journal
ext2|-O has_journal
ext2|-J size=2
full|-O ^fast_commit
ext4|-O orphan_file
ext4|-E orphan_file_size=40
ext4|-O quota
ext4|-O project
full|-O ^quota
full|-O ^project
full|-Q ^grpquota
ext2|-Q usrquota,prjquota
ext2|-O mmp
ext4|-O ^dir_index
ext2|-O dir_index
ext4|-O ^resize_inode
bare|-O sparse_super
bare|-O filetype
ext4|-O ^filetype
ext4|-O ^large_file,^huge_file,^dir_nlink,^extra_isize
ext2|-O extent,flex_bg,large_file,huge_file,dir_nlink,extra_isize,ea_inode,large_dir,encrypt,verity,stable_inodes,fast_commit
ext4|-O casefold
fold|-O ^casefold
fold|-O ^metadata_csum
fold|-U 22222222-89ab-cdef-0123-456789abcdef
ext4|-O read-only
old|-O dir_index,large_file
old|-L old -U 22222222-89ab-cdef-0123-456789abcdef
ext4|-O ^ea_inode
ext4|-O ^flex_bg
ext4|-O ^large_dir
ext4|-O resize_inode
TABLE
)

# -l: what tune2fs lists, byte for byte, but for the line with its version.
for base in ext4 full fold plain ext3 ext2 bare; do
	tune2fs -l $base | tail -n +2 >a.list
	tune -l $base
	is "$base: -l" diff a.list .out
done
cp ext4 b
tune -l -L listed b
is "-l behind a change" grep -q '^Filesystem volume name:   listed$' .out

# Both ways, several times over, all that can be turned on and off, one on top of the other.
make meta "-t ext4 -b 4096 -O meta_bg,^resize_inode"
make small "-t ext4 -I 128 -O ^64bit"
make clusters "-t ext4 -O bigalloc -b 4096 -C 16384" 40M
make large "-t ext4 -b 65536" 300M
for base in ext4 full plain bare meta small clusters large; do
	cp --sparse=always $base img
	bad=
	while read -r options; do
		[ "$base $options" != 'small -Q prjquota' ] || continue # inodes are too small
		# shellcheck disable=SC2086
		tune $options img
		[ "$RC" = 0 ] || bad="$bad $options: $(cat .err)"
		quiet_fsck -fn img || bad="$bad $options: $(sed -n 3,5p .fsck)"
	done <<-'TABLE'
		-O extent,filetype,sparse_super,large_file,dir_index
		-O metadata_csum -U random
		-O ^metadata_csum
		-O ^uninit_bg
		-O metadata_csum,metadata_csum_seed,^dir_index
		-O ^metadata_csum_seed,^has_journal,dir_index -U time
		-O has_journal,orphan_file,quota
		-Q prjquota
		-O ^metadata_csum,^uninit_bg,^filetype,^dir_index
		-O metadata_csum,filetype,^quota,ea_inode
		-O ^dir_index
		-O ^metadata_csum,dir_index
		-O metadata_csum
		-O ^orphan_file,uninit_bg,ea_inode
		-U 01234567-89ab-cdef-0123-456789abcdef
	TABLE
	equal "$base: on and off" "$bad" ""
	[ $base = large ] || mounts img "  Linux finds everything" # few kernels have pages of 64 KiB
done

# With itrees: stock refuses such images by design, so the library's own checker judges, and Linux; and stock without them.
# kernel_says LINE DEVICE: complaints about that device behind LINE of its log (other tests mount damaged images meanwhile).
kernel_says() {
	dmesg 2>/dev/null | awk -v last="$1" 'seen; $0 == last { seen = 1 }' | grep -E "EXT4-fs .*\<$2\>" |
		grep -ciE 'error|warning|corrupt'
}
itree_mounts() {
	local before dev
	[ -n "$loop" ] || { skip "$2" "needs root and loop mounts" 3; return; }
	before=$(dmesg 2>/dev/null | tail -n 1)
	if mount -o loop,ro "$1" mnt 2>.err; then
		dev=$(findmnt -n -o SOURCE mnt)
		contents >got
		(cd mnt && for i in $(seq 1 200); do echo "./big/no-such-$i"; done | xargs stat 2>&1 | grep -c 'No such file') >absent
		umount mnt
		is "$2" cmp want got
		equal "    and no more" "$(cat absent)" 200
	else
		fail "$2"
	fi
	equal "    with nothing in its log" "$(kernel_says "$before" "${dev##*/}")" 0
}
while read -r base on then off; do
	cp --sparse=always "$base" img
	tune -O "$on" img
	equal "$base, -O $on: trees" "$(cat .out)" "$(grep -h '^Built 1 itree' .out; grep -h ^Rebuilt .out)"
	for options in '' "$then"; do
		# shellcheck disable=SC2086
		[ -z "$options" ] || { tune ${options//:/ } img; works "  ${options//:/ }"; }
		is "  the checker finds nothing" "$ITREE" check img
		is "  read by inode" "$ITREE" walk img
		itree_mounts img "  Linux finds everything"
	done
	tune -O "$off" img
	equal "  -O $off" "$RC" 0
	clean img "  e2fsck finds nothing"
	mounts img "  Linux finds everything"
done <<'TABLE'
ext4 itree -U:random ^itree
full itree -U:clear:-L:x ^itree
plain itree -O:metadata_csum ^itree
ext4 itree -O:^metadata_csum,quota ^itree
ext3 itree,metadata_csum -O:^filetype ^dir_index
ext2 dir_index,itree,quota -O:metadata_csum,orphan_file,has_journal ^itree,^quota
TABLE
# mke2fs -d sets dir_index and leaves large directories plain.
for options in '-O dir_index' '-O itree' '-O dir_index,itree'; do
	rm -f img
	mke2fs -qF -t ext4 -b 1024 -d tree img 24M >/dev/null 2>&1
	# shellcheck disable=SC2086
	tune $options img
	equal "$options, of what mke2fs -d made" "$RC" 0
	is "  says so" grep -q '^Rebuilt 1 directory$' .out
	equal "  as htree has it" "$("$BIN/xw-debugfs" -R 'htree /big' img 2>/dev/null | grep -c '^Root node dump')" 1
	case $options in
	*itree*)
		is "  says that a tree was built" grep -q '^Built 1 itree$' .out
		is "  the checker finds nothing" "$ITREE" check img
		"$BIN/xw-debugfs" -R 'itree_check /big' img >.out 2>.err
		is "  the tree is the directory's" grep -q ' 0 findings' .out
		tune -O ^itree img
		;;
	esac
	clean img "  e2fsck finds nothing"
	mounts img "  Linux finds everything"
done

# A journal that is replayed: what is free is counted, since Linux does that when it unmounts.
if [ -n "$loop" ]; then
	cp --sparse=always ext4 img && mount -o loop img mnt
	for i in 1 2 3; do echo "$i" >"mnt/late-$i"; done
	sync -f mnt && cp --sparse=always img dirty
	umount mnt
	for options in '-U random' '-m 1'; do
		cp --sparse=always dirty img
		# shellcheck disable=SC2086
		tune $options img
		equal "$options behind a replay" "$RC" 0
		clean img "  e2fsck finds nothing"
	done
	# What is undone ends behind the replay, and that is whole.
	cp --sparse=always dirty img
	rm -f undo
	tune -z undo -L x img
	equal "-z behind a replay" "$RC" 0
	clean img "  e2fsck finds nothing"
	is "  e2undo" e2undo undo img
	clean img "  e2fsck finds nothing behind it either"
	equal "  the label is gone" "$(e2label img)" ""
	# The same with the debugger, which replays as it opens or when it is told.
	for how in '' --no-replay; do
		for verb in 'ssv volume_name x' 'mkdir /late'; do
			cp --sparse=always dirty img
			rm -f undo
			is "xw-debugfs $how, $verb" "$BIN/xw-debugfs" -q -w $how ${how:+-R jr} -z undo -R "$verb" img
			clean img "  e2fsck finds nothing"
			[ -z "$how" ] || continue
			is "  e2undo" e2undo undo img
			clean img "  e2fsck finds nothing behind it either"
		done
	done
else
	skip "behind a replay" "needs root and loop mounts"
fi
done_testing 414
