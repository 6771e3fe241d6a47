#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage types beside stock mke2fs: what dumpe2fs says of both images is the same, for the built-in table (given to
# mke2fs as the file it was taken from), and for files of our own with every relation that mke2fs knows.
. "$(dirname "$0")/../cli/lib.sh"
for tool in dumpe2fs mke2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
case $(mke2fs -V 2>&1) in
*1.47.*) ;;
*) skip_all "mke2fs is not 1.47" ;;
esac
# images of terabytes want a host filesystem that takes them
if T2=$(mktemp -d /dev/shm/xw-test.XXXXXX 2>/dev/null); then
	at_end "rm -rf '$T2'"
else
	T2=$T
fi

facts() {
	dumpe2fs -h "$1" 2>/dev/null | grep -E '^(Filesystem features|Block (size|count)|Inode (size|count)|Reserved block count|Flex block|Default (directory|mount)|Errors|Filesystem OS|Check interval|Fragment size|Cluster size|RAID|Backup block groups|Character enc|Blocks per|Inodes per|Journal backup|Reserved GDT|Total journal)'
	dumpe2fs -h "$1" 2>/dev/null | grep -c '^Maximum mount count: *-1'
}
# same DESCRIPTION SIZE OPTIONS...: both tools, one environment; WITH changes that of ours.
same() {
	local what=$1 size=$2
	shift 2
	rm -f "$T2"/ours "$T2"/theirs
	truncate -s "$size" "$T2/ours" 2>/dev/null || { skip "$what" "the host has no such large files"; return; }
	truncate -s "$size" "$T2/theirs"
	${WITH:-env} "$MKFS" -q "$@" "$T2/ours" >.ours 2>&1
	mke2fs -qF -E lazy_itable_init=1 "$@" "$T2/theirs" >.theirs 2>&1
	facts "$T2/ours" >got
	facts "$T2/theirs" >want
	if [ ! -s want ] && [ "$(wc -l <got)" -le 1 ]; then
		pass "$what: refused by both"
	else
		is "$what" diff want got
	fi
}

debian_conf >debian.conf
# The built-in table: ours reads no file at all.
export MKE2FS_CONFIG=$T/debian.conf
WITH="env MKE2FS_CONFIG="
for types in default floppy small big huge news largefile largefile4 hurd default,small small,news largefile,floppy; do
	for size in 2M 64M 700M; do
		same "-T $types, $size" $size -t ext4 -T $types
	done
	case $types in
	*small* | *floppy* | news) ;; # mke2fs takes its time over so many groups
	*) same "-T $types, 5T" 5T -t ext4 -T $types ;;
	esac
done
same "ext3 -T small" 64M -t ext3 -T small
same "ext2 -T news -b 2048" 64M -t ext2 -T news -b 2048
same "ext2 -o hurd -T small" 64M -t ext2 -o hurd -T small
same "-t ext3 -T ext4" 64M -t ext3 -T ext4
# By size, with the block size that ours takes anyhow.
for size in 2M 64M 700M 5T 17T; do
	same "no -T, $size" $size -t ext4 -b 4096
done
# The file itself: small filesystems get its block size.
unset WITH
for size in 2M 64M 700M 5T; do
	same "MKE2FS_CONFIG, no -T, $size" $size -t ext4
done

# Files of our own: a relation in [defaults], or in the type u, and options.
export MKE2FS_CONFIG=$T/own.conf
own() {
	printf '[defaults]\n\tbase_features = sparse_super,filetype,resize_inode,dir_index\n\tinode_ratio = 16384\n\tblocksize = 4096\n\t%s\n[fs_types]\n\text4 = {\n\t\tfeatures = has_journal,extent,flex_bg\n\t}\n\tu = {\n\t\tdefault_mntopts = acl\n\t\t%s\n\t}\n' "$1" "$2" >own.conf
}
while IFS='|' read -r defaults type options; do
	own "$defaults" "$type"
	# shellcheck disable=SC2086
	same "[defaults] $defaults [u] $type: $options" 200M -t ext4 $options
done < <(strided <<'TABLE'
||-T u
|inode_size = 256|-T u
inode_size = 512|inode_size = 256|-T u
inode_size = 512||-T u -I 128
|blocksize = 1024|-T u
|blocksize = 2048|-T u -b 1024
|blocksize = -1|-T u
|blocksize = 1024|-T u -b -2048
|inode_ratio = 30000|-T u
|inode_ratio = 2048|-T u
|reserved_ratio = 7.5|-T u
reserved_ratio = 1||-T u
reserved_ratio = 1||-T u -m 3
|errors = panic|-T u
errors = remount-ro||-T u -e continue
|hash_alg = tea|-T u
|hash_alg = legacy|-T u
|flex_bg_size = 4|-T u
|flex_bg_size = 4|-T u -G 2
|features = dir_nlink,^flex_bg|-T u
|base_features = filetype|-T u
|default_features = ext_attr,huge_file|-T u
|default_features = ext_attr,huge_file|-T u -O uninit_bg
|default_mntopts = nodelalloc,debug,journal_data_writeback|-T u
enable_periodic_fsck = yes||-T u
creator_os = freebsd||-T u
|options = "stride=16,stripe_width=32"|-T u
|options = stride=16|-T u -E stride=4
|cluster_size = 32768|-T u -O bigalloc
|cluster_size = 32768|-T u
|num_backup_sb = 1|-T u -O sparse_super2
|packed_meta_blocks = 1|-T u
|encoding = utf8|-T u -O casefold
|nonesuch = 1|-T u
fs_type = ext2||-T u
fs_type = ext2||-T default
TABLE
)
own "" "inode_ratio = 30000"
printf '[devices]\n\t%s = {\n\t\tfs_type = ext2\n\t\tusage_types = u\n\t}\n' "$T2/ours" >>own.conf
printf '[devices]\n\t%s = {\n\t\tfs_type = ext2\n\t\tusage_types = u\n\t}\n' "$T2/theirs" >>own.conf
rm -f "$T2"/ours "$T2"/theirs
truncate -s 64M "$T2/ours" "$T2/theirs"
mkfs -q "$T2/ours"
works "[devices]"
mke2fs -qF "$T2/theirs" >/dev/null 2>&1
facts "$T2/ours" >got
facts "$T2/theirs" >want
is "  is what mke2fs makes of it" diff want got
printf '[defaults]\nauto_64-bit_support = 1\nbase_features = sparse_super,resize_inode\ninode_ratio = 1048576\n[fs_types]\next4 = {\nfeatures = extent,flex_bg\n}\n' >own.conf
same "auto_64-bit_support" 17T -t ext4 -b 4096
done_testing 94
