#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stock e2fsck finds nothing to say about images of every feature set, block size and size, empty and filled. In an everyday run
# every feature set has every second one of its sizes, empty or filled in turn; with SIZE left out it is always filled. (Every two
# features together, filled, are in pairwise.sh.) XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "e2fsck is not installed"

make_tree tree
make_tar tree in.tar

# options | sizes ("-" = left out, only with -d)
row=0
while IFS='|' read -r options sizes; do
	row=$((row + 1)) n=$row
	for size in $sizes; do
		n=$((n + 1))
		[ -n "${XW_ALL-}" ] || [ "$size" = "$sizes" ] || [ $((n % 2)) = 0 ] || continue
		for fill in "" "-d in.tar"; do
			s=$size
			[ "$size" != - ] || s=
			[ -n "$s$fill" ] || continue
			[ -n "${XW_ALL-}" ] || [ -z "$s" ] || [ $((n / 2 % 2)) = $((${#fill} > 0)) ] || continue
			rm -f img
			# shellcheck disable=SC2086
			mkfs -q $options $fill img $s
			if [ "$RC" = 0 ]; then
				clean img "$options $fill ${s:-no SIZE}"
			else
				fail "$options $fill ${s:-no SIZE}: status $RC"
			fi
		done
	done
done < <(strided <<'TABLE'
|8M 12345k 64M 129M 1G -
-b 1024|8M 8193k 16385k 64M 300M -
-b 1024 -O ^has_journal,^resize_inode|8M
-b 2048|8M 64M 300M -
-b 4096|16M 127M 128M 129M 130M 5G -
-t ext2|16M 129M -
-t ext3|16M 129M -
-t ext2 -b 1024|16M 64M -
-t ext3 -b 1024|16M 64M -
-t ext3 -b 2048|32M -
-O ^has_journal|8M 64M -
-O ^64bit|64M 1G -
-O ^metadata_csum|64M -
-O ^metadata_csum,uninit_bg|64M 300M -
-O ^metadata_csum,uninit_bg -b 1024|64M -
-O ^metadata_csum,^64bit,^flex_bg|64M 300M -
-O ^metadata_csum,uninit_bg,^flex_bg|64M 300M -
-O ^flex_bg|64M 300M 1G -
-O ^flex_bg -b 1024|64M -
-F -b 8192|8M 64M 1G -
-F -b 16384|16M 64M 3G -
-F -b 32768|64M 3G -
-F -b 65536|64M 256M 9G -
-F -t ext2 -b 16384|64M 3G -
-F -t ext3 -b 16384|64M 3G -
-F -t ext2 -b 65536|64M 9G -
-F -t ext3 -b 65536|256M 9G -
-F -t ext3 -b 65536 -O dir_nlink,ea_inode,large_dir,quota,orphan_file|256M -
-F -b 16384 -O ^metadata_csum,uninit_bg,^flex_bg|64M 3G -
-F -b 65536 -O ^metadata_csum,^dir_index|64M 9G -
-F -b 65536 -O ^flex_bg,sparse_super2|9G -
-F -b 16384 -O meta_bg,^resize_inode|3G -
-F -b 65536 -O meta_bg,^resize_inode,^flex_bg|9G -
-F -b 65536 -O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit,orphan_file,ea_inode,large_dir,metadata_csum_seed|256M 9G -
-F -b 16384 -O quota,project,mmp,orphan_file,ea_inode,^extent,^64bit|256M -
-F -b 65536 -I 128|64M -
-F -b 65536 -I 32768 -N 1000|256M -
-F -b 16384 -I 8192 -J size=32|300M -
-F -b 16384 -g 1024 -i 1024|300M
-F -b 65536 --free 30%|-
-F -b 65536 -t ext2 --free 5G|-
-F -b 16384 -t ext3 --free-inodes 70000|-
-O ^resize_inode|64M 1G -
-O ^resize_inode,^sparse_super|64M 1G
-O sparse_super2,^resize_inode|64M 1G -
-O sparse_super2,^resize_inode -E num_backup_sb=0|64M 1G -
-O sparse_super2,^resize_inode -E num_backup_sb=1|64M 1G -
-O ^sparse_super,^resize_inode -b 1024|64M
-O sparse_super2 -b 1024|64M 300M -
-O sparse_super2 -E num_backup_sb=0|300M -
-O sparse_super2,^flex_bg -E num_backup_sb=1 -b 1024|64M -
-O sparse_super2,^flex_bg,^sparse_super,^resize_inode -E num_backup_sb=0 -b 1024|64M -
-t ext3 -O sparse_super2 -b 1024|64M -
-O meta_bg,^resize_inode|8M 300M 20G -
-O meta_bg,^resize_inode -b 1024|64M 300M 2G -
-O meta_bg,^resize_inode -b 2048 -G 4|300M -
-O meta_bg,^resize_inode -b 1024 -G 64|300M 2G -
-O meta_bg,^resize_inode,^flex_bg -b 1024|64M 300M -
-O meta_bg,^resize_inode,^64bit -b 1024|300M -
-O meta_bg,^resize_inode,^sparse_super -b 1024|300M -
-O meta_bg,^resize_inode,^metadata_csum -b 1024|300M -
-O meta_bg,^resize_inode,^metadata_csum,uninit_bg -b 1024|300M -
-O meta_bg,^resize_inode,sparse_super2 -b 1024|300M -
-O meta_bg,^resize_inode,sparse_super2 -b 1024 -E num_backup_sb=0|300M -
-O meta_bg,^resize_inode,sparse_super2,^flex_bg -b 1024 -E num_backup_sb=1|300M -
-O meta_bg,^resize_inode -b 1024 -E packed_meta_blocks=1|300M
-O meta_bg,^resize_inode,quota,project,orphan_file,mmp,fast_commit -b 1024|300M -
-t ext2 -O meta_bg,^resize_inode -b 1024|300M -
-t ext3 -O meta_bg,^resize_inode|300M -
-t ext3 -O meta_bg,^resize_inode,^sparse_super -b 1024|300M -
-O ^dir_index|64M -
-O ^filetype|64M -
-O ^extent,^64bit|64M -
-O ^extent,^64bit -b 1024|64M -
-O ^huge_file,^dir_nlink,^large_file|64M -
-O ^extra_isize|64M -
-O ^ext_attr|64M -
-O metadata_csum_seed|64M -
-O large_dir|64M -
-O ea_inode|64M -
-O metadata_csum_seed,large_dir,ea_inode,sparse_super2,^resize_inode|64M 300M -
-O quota|64M 300M -
-O quota,project -b 1024|64M -
-O quota,ea_inode -E quotatype=usrquota:prjquota -b 2048|64M -
-O quota,^extent,^64bit -I 128|64M -
-O project|64M -
-O orphan_file|64M 1G -
-O orphan_file -b 1024|64M 300M -
-O orphan_file -E orphan_file_size=1M|64M -
-O orphan_file,^extent,^64bit -b 1024|64M -
-O mmp -E mmp_update_interval=10|64M -
-O mmp,^metadata_csum -b 1024|64M -
-E encoding=utf8-12.1,encoding_flags=strict|64M -
-O casefold,encrypt,verity,stable_inodes|64M -
-O fast_commit|64M 300M -
-O fast_commit -J fast_commit_size=1024,size=8 -b 1024|64M -
-O fast_commit,^has_journal|64M -
-J location=5000|64M 300M
-J location=48M,size=16 -b 1024|64M
-t ext3 -J location=12000|64M
-t ext2 -O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit|64M
-t ext3 -O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit,orphan_file -b 1024|64M
-O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit,orphan_file,ea_inode,large_dir,metadata_csum_seed|64M 300M -
-O quota,project,mmp,orphan_file,sparse_super2,^resize_inode,^metadata_csum,uninit_bg -b 2048|64M -
-I 128|64M -
-I 512|64M -
-I 1024 -b 1024|64M -
-I 4096 -i 65536|64M
-i 1024|64M
-i 65536|300M
-N 2000|64M 1G
-T small|64M -
-T largefile|1G
-T largefile4|4G
-T news|64M
-G 1|300M
-G 2|1G
-G 64|1G
-g 8192|64M 300M
-g 1024 -b 1024|64M
-m 0|64M -
-m 50|64M
-J size=4|64M -
-J size=64|300M -
-E packed_meta_blocks=1|300M 1G
-E stride=16,stripe_width=64|300M -
-E resize=20G|64M -
-E lazy_itable_init=1|300M
-E lazy_itable_init=0|300M
-E root_owner=1000:1000,root_perms=700|64M -
-L name -M /mnt/x -e panic -o linux|64M
-E hash_seed=01234567-89ab-cdef-0123-456789abcdef -U 11111111-2222-3333-4444-555555555555|64M -
-E nodiscard -r 1|64M -
--free 5%|-
--free 50%|-
--free 100M|-
--free 5% -b 1024|-
--free 50M -O ^extent,^64bit|-
--free 50M -O ^extent,^64bit -b 1024|-
--free 50% -t ext2|-
--free 300M -t ext3|-
--free 50M -t ext3 -b 1024|-
--free 50M -t ext2 -b 1024 -O ^sparse_super,^resize_inode|-
--free 50M -t ext4 -O ^flex_bg -b 1024|-
--free 50M -t ext4 -O ^flex_bg,sparse_super2,^resize_inode -b 2048|-
--free-inodes 20000 -t ext2 -b 1024|-
-t ext2 -N 100000|-
-t ext2 -i 1024|-
-t ext2 -i 65536 -b 1024 -J size=4|-
-t ext2 -g 1024 -b 1024|-
-t ext2 -g 256 -b 1024 -I 1024|-
-t ext2 -r 0|-
-t ext3 -E resize=1T|-
--free 3G -O meta_bg,^resize_inode -b 1024|-
--free 600M -O meta_bg,^resize_inode,sparse_super2 -b 1024|-
--free 600M -O meta_bg,^resize_inode,^flex_bg -b 1024 -g 2048|-
--free 600M -t ext3 -O meta_bg,^resize_inode -b 1024|-
--free 600M -t ext2 -O meta_bg,^resize_inode,^sparse_super -b 1024 -N 60000|-
--free 600M -O sparse_super2 -b 1024 -E num_backup_sb=2|-
--free 600M -O sparse_super2,^flex_bg -b 1024 -E num_backup_sb=2|-
--free 600M -t ext3 -O sparse_super2 -b 1024 -E num_backup_sb=1|-
-t ext2 -O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit -b 1024|-
-t ext3 -O quota,project,mmp,casefold,encrypt,verity,stable_inodes,fast_commit,orphan_file|-
-t ext3 -O orphan_file,fast_commit -b 1024 --free 40M|-
-t ext3 -O orphan_file -J size=8 --free 2G|-
-O ^flex_bg,quota,project,mmp,orphan_file,ea_inode,large_dir,metadata_csum_seed,fast_commit|-
-O ^flex_bg,orphan_file,fast_commit -b 1024 --free 100M|-
TABLE
)

# No block is handed out, and no group has a gap worth filling.
rm -f img
mkfs -q -b 1024 -O ^has_journal,^resize_inode img 300k
clean img "300 KiB without a journal"

# A partition inside a disk image.
rm -f img
mkfs -q -E offset=1048576 -d in.tar img 64M
if [ "$RC" = 0 ]; then
	dd if=img of=part bs=1M skip=1 status=none conv=sparse
	clean part "-E offset=1048576"
else
	fail "-E offset=1048576: status $RC"
fi
# In an image that is there: what lies before and behind is somebody else's.
rm -f img
truncate -s 96M img
for at in 0 65 95; do printf MARK | dd of=img bs=1M seek=$at conv=notrunc status=none; done
mkfs -q -E offset=1048576 -d in.tar img 64M
equal "a partition in an image of 96 MiB: status" "$RC" 0
equal "  the image keeps its size" "$(stat -c %s img)" 100663296
for at in 0 65 95; do
	equal "  what lies at $at MiB stays" "$(dd if=img bs=1M skip=$at count=1 status=none | head -c 4)" MARK
done

# What the tree said is what debugfs reads back.
if command -v debugfs >/dev/null; then
	rm -f img
	mkfs -q -d in.tar img
	for f in small block block+1 sub/big sparse sub/deep/er/file; do
		is "content of $f" sh -c "debugfs -R 'cat /$f' img 2>/dev/null | cmp - 'tree/$f'"
	done
	is "a hard link is one inode" sh -c '
		i() { debugfs -R "stat /$1" img 2>/dev/null | sed -n "s/^Inode: \([0-9]*\).*/\1/p"; }
		test -n "$(i small)" && test "$(i small)" = "$(i sub/hard)"'
	is "holes stay holes" sh -c 'b=$(debugfs -R "stat /sparse" img 2>/dev/null |
		sed -n "s/.*Blockcount: *\([0-9]*\).*/\1/p"); test -n "$b" && test "$b" -le 32'
	is "a large directory has an index" sh -c 'mkdir -p h && "$0" -q -b 1024 -d in.tar img -F 64M &&
		debugfs -R "htree_dump /many" img 2>/dev/null | grep -q "Root node dump"' "$MKFS"
else
	skip "what the tree said" "debugfs is not installed" 9
fi
# Blocks that the kernel here cannot mount: debugfs copies the whole tree out.
if command -v debugfs >/dev/null; then
	for o in "-b 16384" "-t ext2 -b 65536" "-b 65536 -O ^metadata_csum"; do
		rm -rf img out
		mkdir out
		# shellcheck disable=SC2086
		mkfs -q -F $o -d in.tar img
		debugfs -R "rdump / out" img >/dev/null 2>&1
		rm -rf out/lost+found
		is "$o: debugfs finds the tree that went in" diff -r --no-dereference -x fifo tree out
		is "$o: what lib/read finds is that, too" sh -c '"$0" img | tar -df - -C tree' "$EXPORT"
	done
	rm -f img
	mkfs -b 65536 img 64M
	is "blocks over 4096 bytes: a warning" grep -q 'warning.*-b 65536' .err
else
	skip "large blocks" "debugfs is not installed" 11
fi
done_testing 220
