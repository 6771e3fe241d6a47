#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Features with hidden files of their own: what dumpe2fs and debugfs say of an image is what they say of one that
# stock mke2fs made with the same options; quota files hold the usage of what is in the image; external journals
# work with stock e2fsck and the kernel.
. "$(dirname "$0")/../cli/lib.sh"
for tool in e2fsck dumpe2fs debugfs mke2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
case $(mke2fs -V 2>&1) in
*1.47.*) ;;
*) skip_all "mke2fs is not 1.47" ;;
esac

# facts IMAGE: superblock, and the size, mode, flags and links of the special inodes. Places differ, and so do
# the blocks of lost+found: 16 KiB here, one indirect block less there.
facts() {
	dumpe2fs -h "$1" 2>/dev/null | grep -vE '^(Filesystem (UUID|created)|Last (write|checked)|Directory Hash|Free blocks|Checksum:|Lifetime|MMP block|Journal UUID| +mmp_)'
	for n in 3 4 8 12 13; do
		debugfs -R "stat <$n>" "$1" 2>/dev/null | grep -oE '^Inode.*|Size: [0-9]+|Links: .*' | head -n 3
		debugfs -R "stat <$n>" "$1" 2>/dev/null | grep -oE 'Mode: .*'
	done
}
while IFS='|' read -r options sizes; do
	for size in $sizes; do
		rm -f ours theirs
		# shellcheck disable=SC2086
		mkfs -q $options ours "$size"
		# shellcheck disable=SC2086
		mke2fs -qF $options theirs "$size" >/dev/null 2>&1
		facts ours >got
		facts theirs >want
		is "facts of $options $size" diff want got
	done
done < <(strided <<'TABLE'
-t ext4 -b 4096 -O quota|16M 200M
-t ext4 -b 1024 -O quota,project|64M
-t ext4 -b 4096 -O quota -E quotatype=prjquota|64M
-t ext4 -b 4096 -O orphan_file|16M 600M 9G
-t ext4 -b 1024 -O orphan_file|130M
-t ext4 -b 2048 -O orphan_file -E orphan_file_size=100|64M
-t ext4 -b 4096 -O mmp -E mmp_update_interval=9|64M
-t ext4 -b 4096 -O mmp|64M
-t ext4 -b 4096 -O casefold,encrypt,verity,stable_inodes|64M
-t ext4 -b 4096 -E encoding=utf8,encoding_flags=strict|64M
-t ext4 -b 4096 -O fast_commit|16M 200M 3G
-t ext4 -b 1024 -O fast_commit -J size=4|64M
-t ext4 -b 4096 -O fast_commit -J fast_commit_size=2000,size=8|64M
-t ext4 -b 1024 -O fast_commit,orphan_file,quota,project,mmp|64M
-t ext3 -b 1024 -O quota,mmp,orphan_file|64M
-t ext2 -b 4096 -O quota,project,fast_commit|64M
-t ext4 -b 4096 -J location=3000|64M
-t ext2 -b 1024 -O journal_dev -L name|8M
-t ext2 -b 4096 -O journal_dev,metadata_csum|64M
TABLE
)

# Usage of users and groups: as du counts it, with the blocks of directories and long symlinks.
make_tree tree
for i in $(seq 1 60); do head -c $((i * 1500)) /dev/zero | tr '\0' z >"tree/many/of-$i"; done
tar --format=posix --owner-map=/dev/null -C tree -cf in.tar . 2>/dev/null || make_tar tree in.tar
if is_root; then
	for i in $(seq 1 60); do chown $((i * 100003)):$((i % 7)) "tree/many/of-$i"; done
	make_tar tree in.tar
	# numbers over 31 bits
	chown 4294967294:2147483648 tree/block
	make_tar tree in.tar
fi
for options in "-b 4096" "-b 1024" "-b 1024 -O ^extent,^64bit" "-O ea_inode"; do
	for size in 128M ""; do
		rm -f img
		# shellcheck disable=SC2086
		mkfs -q $options -O quota,project -d in.tar img $size
		clean img "quota usage, $options ${size:-no SIZE}"
		is "  as many users as the tree has" test "$(debugfs -R 'list_quota user' img 2>/dev/null |
			grep -c '^ *[0-9-]')" = "$(tar --numeric-owner -tvf in.tar | awk '{ split($2, o, "/"); u[o[1]] } END {
			u[0]; n = 0; for (i in u) n++; print n }')"
		is "  one project, all inodes in it" test "$(debugfs -R 'list_quota project' img 2>/dev/null |
			awk '/^ *0 / { print $5 }')" = "$(($(tar -tf in.tar | sort -u | wc -l) - 1 + 1))"
	done
done

# SIZE left out: the journal has the blocks of fast commits on top.
rm -f img
mkfs -q -b 1024 -O fast_commit,orphan_file -d in.tar img
is "-O fast_commit, no SIZE: 1024 blocks and 16" sh -c 'dumpe2fs -h img 2>/dev/null |
	grep -q "^Total journal blocks: *1040" && dumpe2fs -h img 2>/dev/null | grep -q "^Fast commit length: *16"'
is "-O orphan_file, no SIZE: 32 blocks" sh -c 'debugfs -R "stat <12>" img 2>/dev/null | grep -q "Size: 32768"'

# External journals. e2fsck keeps a list of where each UUID was, and thinks of that place: so each journal has its own.
for bs in 1024 4096; do
	uuid=$(cat /proc/sys/kernel/random/uuid)
	rm -f journal img
	mkfs -q -b $bs -O journal_dev -U $uuid journal 16M
	works "-O journal_dev -b $bs"
	mkfs -q -t ext3 -J device=journal -d in.tar img 64M
	works "  a filesystem with its journal there"
	clean_with() {
		if fsck_quiet "$T/.fsck" -fn -j journal "$1"; then pass "$2"; else
			fail "$2"
			sed 's/^/# e2fsck: /' "$T/.fsck" | head
		fi
	}
	clean_with img "  clean"
	equal "  block size of the journal" "$(dumpe2fs -h img 2>/dev/null | sed -n 's/^Block size: *//p')" $bs
	equal "  the journal's user" "$(dumpe2fs journal 2>/dev/null | sed -n 's/^Journal users: *//p')" \
		"$(dumpe2fs -h img 2>/dev/null | sed -n 's/^Filesystem UUID: *//p')"
	mkfs -J device=journal two 64M
	fails 1 "journal.*another filesystem" "  a second filesystem is refused"
	is "  and not made" gone two
	mkfs -b $((5120 - bs)) -J device=journal two 64M
	fails 2 "journal.*blocks of $bs" "  another block size is refused"
	if can_loop; then
		mkdir -p mnt
		loop=$(losetup -f --show journal)
		rm -f img
		mkfs -q -F -J device="$loop" -O orphan_file,fast_commit --free 30% -d in.tar img
		if [ "$RC" = 0 ] && mount -o loop img mnt; then
			pass "  the kernel finds it by its device number"
			equal "  and no journal inode is beside it" "$(dumpe2fs -h img 2>/dev/null | grep -c 'Journal inode')" 0
			is "  writes" cp -r mnt/sub mnt/copy
			umount mnt
			# the kernel lets go of its loop device a little later
			for _ in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(losetup -j img)" ] && break; sleep 0.5; done
			sync img "$loop"
			# e2fsck looks the journal up by UUID in its own cache: once more if that was stale
			e2fsck_clean() { fsck_quiet .fsck -fn -j "$loop" img; }
			e2fsck_clean || sleep 2
			is "  clean after writing" e2fsck_clean
		else
			fail "  the kernel finds it by its device number"
		fi
		losetup -d "$loop"
	else
		skip "  the kernel" "needs root and loop mounts" 4
	fi
done
mkfs -J device=in.tar img2 64M
fails 2 "in.tar.*not an external journal" "-J device= of something else"
mkfs -J device=nowhere img2 64M
fails 1 "nowhere" "-J device= of nothing"
mkfs -J device=UUID=99999999-2222-3333-4444-999999999999 img2 64M
fails 2 "no such device" "-J device=UUID= of nothing"
mkfs -O journal_dev img2 2M
fails 2 "1024" "-O journal_dev too small"
mkfs -O journal_dev -d in.tar img2 64M
fails 2 "has no files" "-O journal_dev -d"
is "and none of them was made" gone img2

# A larger orphan file than Linux mounts is a warning.
for blocks in 512 513; do
	rm -f img2
	mkfs -q -t ext4 -b 1024 -O orphan_file -E orphan_file_size=$blocks img2 64M
	equal "an orphan file of $blocks blocks: warnings" "$RC $(grep -c 'no orphan file of more than 512 blocks' .err)" "0 $((blocks - 512))"
	if can_loop; then
		mkdir -p mnt2
		RC=0
		mount -o loop img2 mnt2 2>.err || RC=$?
		umount mnt2 2>/dev/null
		equal "  Linux mounts it" "$((RC == 0))" $((513 - blocks))
	else
		skip "  Linux mounts it" "needs root and loop devices" 1
	fi
done
done_testing 84
