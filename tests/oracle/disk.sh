#!/bin/sh
# SPDX-License-Identifier: MIT
# lib/disk against images that stock tools and the kernel made: see t_disk_oracle.c.
# Without mke2fs and debugfs: skipped. Kernel cases need root and loop mounts, else they are skipped one by one. An everyday run takes
# each sixth image of the corpus; XW_ALL=1: all of them.

PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C TZ=UTC
export PATH LC_ALL TZ
for tool in mke2fs debugfs dumpe2fs; do
	command -v $tool >/dev/null 2>&1 || { echo "1..0 # SKIP $tool is missing"; exit 0; }
done
oracle=${XW_BUILD:-.}/t_disk_oracle
corpus=${XW_ACCEPT:-/nonexistent}/corpus-open # acceptance programs, no part of this repository
dir=$(mktemp -d) || exit 1
trap 'umount "$dir/m" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/m"
img=$dir/img
count=0 skipped=0

result() { # status name
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		[ -s "$dir/out" ] && sed 's/^/# /' "$dir/out" | head -20
	fi
}

skip() { # name reason
	count=$((count + 1)) skipped=$((skipped + 1))
	echo "ok $count - $1 # SKIP $2"
}

squeeze() {
	sed 's/ -- .*//; s/[ 	][ 	]*/ /g; s/^ //; s/ $//'
}

# every line of $1 is a line of $2
subset() {
	[ -s "$1" ] || { echo "no lines to compare" >"$dir/out"; return 1; }
	grep -Fxvf "$2" "$1" >"$dir/out"
	[ $? = 1 ]
}

# stock_ok NAME: everything decodes, verifies and encodes to the same bytes; the superblock reads as in dumpe2fs
stock_ok() {
	"$oracle" "$img" >"$dir/out" 2>&1
	result $? "$1: re-encoded equal ($(tail -n 1 "$dir/out"))"
	dumpe2fs -h "$img" 2>/dev/null | squeeze >"$dir/theirs"
	"$oracle" "$img" super | squeeze >"$dir/ours"
	subset "$dir/ours" "$dir/theirs"
	result $? "$1: superblock as dumpe2fs says"
}

# inodes_ok NAME INO...: inodes read as in debugfs
inodes_ok() {
	name=$1
	shift
	# Each line with the inode before it.
	for ino; do "$oracle" "$img" stat "$ino" | sed "s/^/$ino /"; done | squeeze >"$dir/ours"
	printf 'stat <%s>\n' "$@" >"$dir/cmds"
	debugfs -f "$dir/cmds" "$img" 2>/dev/null | sed 's/.*Mode:/Mode:/' |
		awk '/^debugfs: stat </ { ino = $3; gsub(/[<>]/, "", ino); next }
			{ sub(/ \(hex .*/, "") } # which ours does not add
			match($0, /Project: *-/) { # a number without a sign
				n = substr($0, RSTART + RLENGTH) + 0
				sub(/Project: *-[0-9]*/, sprintf("Project: %.0f", 4294967296 - n))
			}
			{ print ino, $0 }' | squeeze >"$dir/theirs"
	[ "$(cut -d' ' -f1 "$dir/ours" | uniq | tr '\n' ' ')" = "$* " ] && subset "$dir/ours" "$dir/theirs"
	result $? "$name: inodes $* as debugfs says"
}

seen() { # NAME field: the last oracle run met at least one
	"$oracle" "$img" | grep -q " $2=[1-9]"
	result $? "$1: some $2 met"
}

make_image() { # size mke2fs-arguments...
	size=$1
	shift
	rm -f "$img"
	truncate -s "$size" "$img"
	mke2fs -q -F "$@" "$img" >"$dir/out" 2>&1
}

fill_debugfs() {
	head -c 300000 /dev/zero | tr '\0' x >"$dir/file"
	head -c 700 /dev/zero | tr '\0' v >"$dir/value"
	{
		echo "write $dir/file f"
		echo "mkdir d"
		echo "symlink s target"
		echo "symlink l $(head -c 100 /dev/zero | tr '\0' t)"
		echo "mknod p p"
		echo "mknod c c 5 1"
		echo "mknod b b 259 70000"
		echo "sif f uid 123456"
		echo "sif f gid 7654321"
		echo "sif f mtime 19650102030405"
		echo "sif f atime 22000102030405"
		echo "ea_set f user.small abc"
		echo "ea_set f user.e$(printf '\303\251') value"
		echo "ea_set -f $dir/value f user.large"
		echo "ea_set d trusted.on_dir xyz"
		i=0
		while [ $i -lt 150 ]; do
			echo "symlink link_with_a_long_name_to_fill_blocks_$i x"
			i=$((i + 1))
		done
	} >"$dir/cmds"
	debugfs -w -f "$dir/cmds" "$img" >"$dir/out" 2>&1
}

while read -r name size args; do
	[ -n "$name" ] || continue
	# shellcheck disable=SC2086
	if ! make_image "$size" $args; then
		skip "$name" "mke2fs here refuses: $args"
		continue
	fi
	stock_ok "$name, empty"
	fill_debugfs
	stock_ok "$name, filled by debugfs"
	inodes_ok "$name" 2 11 12 13 14 15 16 17 18
done <<EOF
ext2-1k 16M -t ext2 -b 1024
ext2-rev0 16M -t ext2 -r 0
ext2-4k 32M -t ext2 -b 4096 -I 256
ext3-1k 32M -t ext3 -b 1024 -I 128
ext3-4k 64M -t ext3 -b 4096
ext4-1k 64M -t ext4 -b 1024
ext4-2k 64M -t ext4 -b 2048
ext4-4k 64M -t ext4 -b 4096
ext4-64k 256M -t ext4 -b 65536
ext4-no64bit 64M -t ext4 -b 1024 -O ^64bit
ext4-uninit_bg 64M -t ext4 -b 1024 -O ^metadata_csum,uninit_bg
ext4-uninit_bg-32 64M -t ext4 -b 1024 -O ^metadata_csum,uninit_bg,^64bit
ext4-nocsum 64M -t ext4 -b 1024 -O ^metadata_csum
ext4-csum_seed 64M -t ext4 -b 1024 -O metadata_csum_seed
ext4-meta_bg 64M -t ext4 -b 1024 -O meta_bg,^resize_inode
ext4-sparse2 64M -t ext4 -b 1024 -O sparse_super2
ext4-bigalloc 64M -t ext4 -b 4096 -O bigalloc -C 16384
ext4-inode128 64M -t ext4 -b 4096 -I 128
ext4-inode1024 64M -t ext4 -b 4096 -I 1024
ext4-ea_inode 64M -t ext4 -b 4096 -O ea_inode,large_dir
ext4-inline 64M -t ext4 -b 4096 -O inline_data
ext4-quota 64M -t ext4 -b 4096 -O quota,project
ext4-raid 64M -t ext4 -b 4096 -E stride=16,stripe_width=64 -L label-of-16-bytes
ext4-1k-desc128 64M -t ext4 -b 1024 -E desc_size=128
EOF

# Fields that only huge or odd filesystems use, set by debugfs, read by us and by debugfs.
if make_image 64M -t ext4 -b 4096 -O large_dir,project; then
	fill_debugfs
	debugfs -w "$img" >"$dir/out" 2>&1 <<-EOF
		sif f blocks 0x123456789ab
		sif f file_acl 0xabcd12345678
		sif f size 0x123456789abc
		sif f projid 3000000000
		sif f version 0x11223344
		sif f generation 4000000000
		sif f links_count 65000
		sif d size 0x12345678000
		sif p dtime 0x12345678
	EOF
	inodes_ok "high halves" 12 13 16
	[ "$("$oracle" "$img" stat 12 | grep -c -e 'Blockcount: 1250999896491' -e 'ACL: 188897262065272' -e 'Project: 3000000000')" = 3 ]
	result $? "high halves: values as set"
fi

fill_kernel() {
	m=$dir/m
	mkdir "$m/big" "$m/sub" || return 1
	(cd "$m/big" && seq -f 'a_name_of_some_length_%05g' 1 5000 | xargs touch) || return 1
	mknod "$m/c1" c 1 3
	mknod "$m/c2" c 4095 1048575
	mknod "$m/b1" b 255 255
	mknod "$m/b2" b 8 256
	mkfifo "$m/fifo"
	ln -s "$(head -c 80 /dev/zero | tr '\0' l)" "$m/link"
	# every second block a hole: more extents than an inode holds
	perl -e 'open F,">",$ARGV[0]; for(0..799){seek F,$_*8192,0; print F "x"}' "$m/holes" 2>/dev/null
	truncate -s 20G "$m/sparse" 2>/dev/null # more than ext2 with 1k blocks takes
	for t in 1901-12-13T20:45:53 1965-06-07T08:09:10.123456789 1969-12-31T23:59:59.5 2038-01-19T03:14:08.000000001 \
		2300-01-01T00:00:00.999999999 2446-05-10T22:38:54; do
		touch -d "$t" "$m/t$t"
	done
	chown 4000000000:3999999999 "$m/fifo"
	if command -v setfattr >/dev/null; then
		setfattr -n user.inode -v small "$m/sub"
		setfattr -n user.block -v "$(head -c 900 /dev/zero | tr '\0' b)" "$m/sub"
		setfattr -n "user.$(printf '\303\251\377')" -v "$(head -c 800 /dev/zero | tr '\0' c)" "$m/holes"
		setfattr -n user.huge -v "$(head -c 20000 /dev/zero | tr '\0' h)" "$m/sparse" 2>/dev/null
	fi
	return 0
}

kernel_case() { # name size arguments...
	name=$1
	shift
	if [ "$(id -u)" != 0 ]; then
		skip "$name" "not root"
		return
	fi
	make_image "$@" || { skip "$name" "mke2fs here refuses: $*"; return; }
	mount -o loop "$img" "$dir/m" 2>"$dir/out" || { skip "$name" "no loop mount"; return; }
	fill_kernel
	sync -f "$dir/m"
	find "$dir/m" -maxdepth 1 ! -name 'lost+found' -exec stat -c '%i %f %u %g %h %s %b %t:%T %x %y %z' {} + |
		sed 's/ +0000//g' | sort >"$dir/kernel"
	umount "$dir/m"
	stock_ok "$name"
	seen "$name" dx_blocks
	seen "$name" devices
	case $name in *ext4*) seen "$name" extent_blocks ;; esac
	if command -v setfattr >/dev/null; then
		seen "$name" xattr_blocks
		case $name in *ea_inode*) seen "$name" ea_inodes ;; esac
	else
		skip "$name: attributes" "setfattr is missing"
	fi
	cut -d' ' -f1 "$dir/kernel" | xargs "$oracle" "$img" kernel | sort >"$dir/ours"
	diff "$dir/kernel" "$dir/ours" >"$dir/out"
	result $? "$name: $(wc -l <"$dir/kernel") inodes as the kernel says"
}

kernel_case kernel-ext4-ea_inode 128M -t ext4 -b 4096 -O ea_inode
kernel_case kernel-ext4-1k 128M -t ext4 -b 1024
kernel_case kernel-ext4-1k-uninit_bg 128M -t ext4 -b 1024 -O ^metadata_csum,uninit_bg
kernel_case kernel-ext4-inline 128M -t ext4 -b 4096 -O inline_data
kernel_case kernel-ext4-csum_seed 128M -t ext4 -b 2048 -O metadata_csum_seed,large_dir
kernel_case kernel-ext3 128M -t ext3 -b 1024
kernel_case kernel-ext2 128M -t ext2 -b 4096 -I 128

# Images of the fsck corpus that stock e2fsck finds nothing wrong with. Two it repairs without a word: a primary superblock
# with inode size 0 (it takes a backup) and missing descriptor checksums.
n_corpus=0
if [ -d "$corpus" ] && command -v e2fsck >/dev/null; then
	n=0
	for f in "$corpus"/*/image.gz; do
		n=$((n + 1))
		[ -n "${XW_ALL-}" ] || [ $((n % 6)) = 1 ] || continue
		name=$(basename "$(dirname "$f")")
		case $name in f_zero_inode_size | f_uninit_enable) continue ;; esac
		gzip -dc "$f" >"$img" || { : >"$dir/out"; result 1 "corpus $name: unpacked"; continue; }
		XW_STOCK_LIMIT=5 XW_UNANSWERED="" e2fsck -fn "$img" >/dev/null 2>&1 || continue
		[ "$(dd if="$img" bs=1 skip=1080 count=2 2>/dev/null | od -An -tx1 | tr -d ' ')" = 53ef ] || continue
		"$oracle" "$img" >"$dir/out" 2>&1
		result $? "corpus $name: re-encoded equal ($(tail -n 1 "$dir/out"))"
		n_corpus=$((n_corpus + 1))
	done
	[ $n_corpus -gt 0 ]
	result $? "corpus: $n_corpus images"
else
	skip "corpus" "XW_ACCEPT is not set, or e2fsck is missing"
fi
# Each skip may stand for several claims; without skips their number is known.
wanted=$((171 + n_corpus))
if [ $count -gt $wanted ] || { [ $count -lt $wanted ] && [ $skipped = 0 ]; }; then
	echo "got $count, wanted $wanted" >"$dir/out"
	result 1 "the number of claims"
fi
echo "1..$count"
