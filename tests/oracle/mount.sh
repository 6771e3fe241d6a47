#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel mounts images read-write, finds in them what went in, writes into every directory, and stock e2fsck
# is content afterwards. An everyday run takes rows that have every feature once; XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"

make_tree tree
: >tree/owned && chown 70000:80000 tree/owned
mknod tree/null c 1 3
mknod tree/blk b 259 300000
setfattr -n user.small -v value tree/small 2>/dev/null &&
	setfattr -n user.long -v "$(printf '%0600d' 1)" tree/block 2>/dev/null &&
	setfattr -n user.long -v "$(printf '%0600d' 1)" tree/sub/big 2>/dev/null
setfattr -n security.capability -v 0sAQAAAgAgAAAAAAAAAAAAAAAAAAA= tree/block+1 2>/dev/null
setfacl -m u:1234:rw,g:4321:r tree/sub/big 2>/dev/null && setfacl -d -m u:99:rwx tree/sub 2>/dev/null
make_tar tree in.tar --xattrs --xattrs-include='*' --acls
mkdir mnt

# What tar says about a tree, one line an entry; the tree's own root and lost+found apart.
listing() { # DIR
	(cd "$1" && find . -mindepth 1 -path ./lost+found -prune -o \
		-printf '%y %#m %U:%G %n %s %T@ %l %p\0' | tr '\n\0' '\001\n' | awk '
		/^d/ { $5 = "-"; $4 = "-" } { print }' | sort)
}
digests() { (cd "$1" && find . -path ./lost+found -prune -o -type f -print0 | sort -z | xargs -0 sha256sum); }
attributes() {
	(cd "$1" && find . -mindepth 1 -path ./lost+found -prune -o ! -type l -print0 | sort -z |
		xargs -0 getfattr -d -m - -e hex --absolute-names --no-dereference 2>/dev/null)
}
listing tree >want.list
digests tree >want.sums
attributes tree >want.attrs
as_it_went_in() { # what is mounted
	listing mnt >got.list
	is "  types, modes, owners, links, sizes, times, names" diff want.list got.list
	digests mnt >got.sums
	is "  data" diff want.sums got.sums
	if command -v getfattr >/dev/null; then
		attributes mnt >got.attrs
		is "  extended attributes and ACLs" diff want.attrs got.attrs
	else
		skip "  extended attributes and ACLs" "getfattr is not installed" 1
	fi
}

while IFS='|' read -r options size; do
	rm -f img
	name="$options -d in.tar ${size:-no SIZE}"
	# shellcheck disable=SC2086
	mkfs -q $options -d in.tar img $size
	if [ "$RC" != 0 ]; then
		fail "$name: status $RC"
		continue
	fi
	clean img "$name: clean"
	if ! mount -o loop img mnt 2>"$T/.err"; then
		fail "$name: mounts"
		continue
	fi
	pass "$name: mounts"
	as_it_went_in
	is "  write into every directory" sh -c 'find mnt -type d | while read -r d; do
		echo new >"$d/new-file" && mkdir "$d/new-dir" && mv "$d/new-file" "$d/new-dir/moved" || exit 1; done'
	is "  many names into the large one" sh -c 'for i in $(seq 1 100); do : >mnt/many/after-$i || exit 1; done'
	is "  remove what was there" sh -c 'rm -r mnt/sub/deep && rm mnt/small mnt/sparse'
	is "  unmount" umount mnt
	clean img "  clean after writing"
done < <(strided 4 <<'TABLE'
~--free 20%|
--free 20% -b 1024|
--free 20% -b 2048|
-t ext3|64M
~-t ext2|64M
~--free 20% -t ext3|
~--free 20% -t ext2|
--free 20M -t ext3 -b 1024|
--free 20M -t ext2 -b 2048|
--free 40M -t ext3 -J size=8|
--free 20% -O ^has_journal,ea_inode,large_dir,metadata_csum_seed|
~--free 20% -O sparse_super2,^resize_inode|
-I 512|64M
--free 20% -O orphan_file,mmp,fast_commit,encrypt,stable_inodes,verity|
~--free 20% -O orphan_file,fast_commit -b 1024|
-t ext3 -O orphan_file,mmp -J location=9000|64M
~-O ^flex_bg|300M
--free 20% -O ^flex_bg|
~--free 20% -O meta_bg,^resize_inode|
~--free 300M -O meta_bg,^resize_inode -b 1024|
--free 300M -O meta_bg,^resize_inode,^flex_bg,^64bit -b 1024|
--free 100M -t ext3 -O meta_bg,^resize_inode,sparse_super2 -b 1024|
~-t ext2 -O meta_bg,^resize_inode -b 1024|300M
~-O meta_bg,^resize_inode,sparse_super2 -b 1024|300M
~--free 30M -O ^flex_bg -b 1024|
--free 30M -O ^extent,^64bit|
-O ^metadata_csum,uninit_bg|64M
~-b 1024|64M
|1G
TABLE
)

# The least --free: one file in each directory, also where its long name makes the directory grow.
mkdir -p dense
# Directories of many sizes, so that some have no room left.
for i in $(seq 60 | strided 3 3); do
	mkdir "dense/$i" "dense/$i/empty"
	for j in $(seq 1 $((i * 7))); do : >"dense/$i/some-name-$j"; done
done
make_tar dense dense.tar
long=$(printf '%0255d' 0)
for options in "" "-b 1024" "-t ext2" "-t ext3 -b 1024" "-O ^dir_index -b 1024" "-O meta_bg,^resize_inode,^flex_bg -b 1024"; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options --free 1k -d dense.tar img
	if mount -o loop img mnt 2>"$T/.err"; then
		is "$options --free 1k: one file in each directory" sh -c '
			find mnt -type d | while read -r d; do echo new >"$d/$0" || exit 1; done' "$long"
		umount mnt
	else
		fail "$options --free 1k: mounts"
	fi
	clean img "  clean after writing"
done

# From the directory itself, as root.
rm -f img
mkfs -q --free 20% -d tree img
works "-d directory"
if mount -o loop,ro img mnt; then
	as_it_went_in
	umount mnt
else
	fail "-d directory: mounts"
fi
clean img "-d directory: clean"

# Growing what was made: the reserved descriptors and the resize inode are right.
if command -v resize2fs >/dev/null; then
	for size in "" 64M; do
		rm -f img
		mkfs -q -d in.tar img $size
		truncate -s 2G img
		is "resize2fs grows it to 2G (${size:-no SIZE})" resize2fs -f img
		clean img "  clean after resize2fs"
		rm -f got.sums
		mount -o loop img mnt && digests mnt >got.sums && umount mnt
		is "  data" diff want.sums got.sums
	done
else
	skip "resize2fs grows it" "resize2fs is not installed" 6
fi
done_testing 183
