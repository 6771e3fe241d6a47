#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The planned geometry against what stock mke2fs makes of the same options: superblock fields, every bitmap and inode
# table, every backup. A table of chosen cases, then random ones: GEOMETRY_ROUNDS of them (40) from GEOMETRY_SEED (1).
# GEOMETRY_BIG=1 adds 60 TiB.
# Cases that either side refuses are counted, and must be refused by both.
. "$(dirname "$0")/../cli/lib.sh"
rounds=${GEOMETRY_ROUNDS:-40}
seed=${GEOMETRY_SEED:-1}
check=$XW_BUILD/geocheck

command -v mke2fs >/dev/null || skip_all "mke2fs is missing"
case $(mke2fs -V 2>&1) in
*"mke2fs 1.47.0 "*) ;;
*) skip_all "the geometry is that of mke2fs 1.47.0" ;;
esac
[ -x "$check" ] || skip_all "geocheck is not built"

# a host filesystem that takes 60 TiB files, if there is one
dir=
for d in /dev/shm "${TMPDIR:-/tmp}"; do
	[ -d "$d" ] && dir=$(mktemp -d "$d/xw-geometry.XXXXXX" 2>/dev/null) && break
done
[ -n "$dir" ] || skip_all "no place for images"
at_end "rm -rf '$dir'"
image=$dir/image
# the distribution's mke2fs.conf may differ from the one that is the reference
debian_conf | sed '/blocksize = 1024/d' >conf # one block size for all
export MKE2FS_CONFIG=$T/conf

# compare BYTES OPTIONS...: the image has BYTES bytes; the last option may be a size
compare() {
	bytes=$1
	shift
	rm -f "$image"
	if ! truncate -s "$bytes" "$image" 2>/dev/null; then
		skip "$* ($bytes)" "the host filesystem has no such large files"
		return
	fi
	size=
	case $# in
	0) ;;
	*)	eval "last=\${$#}"
		case $last in
		SIZE=*)	size=${last#SIZE=} ;;
		esac ;;
	esac
	options=
	for o; do
		case $o in
		SIZE=*) ;;
		*) options="$options $o" ;;
		esac
	done
	# shellcheck disable=SC2086
	mke2fs -q -F -E nodiscard,lazy_itable_init=1 $options "$image" $size >theirs 2>&1
	theirs=$?
	# an -E of the case wins over the one above in mke2fs, and that is only about speed
	# shellcheck disable=SC2086
	"$check" "$image" $options $size >ours 2>&1
	ours=$?
	if [ $theirs -ne 0 ] && { [ $ours -eq 2 ] || [ $ours -eq 3 ]; }; then
		pass "refused by both: $*"
	elif [ $theirs -eq 0 ] && [ $ours -eq 0 ]; then
		pass "same: $*"
	elif [ $theirs -eq 0 ] && [ $ours -eq 3 ] && [[ $options == *-J* ]] &&
		grep -q 'too small for a journal' theirs && grep -q 'too small for a journal' ours; then
		pass "only a warning of mke2fs, an explicit journal is refused here: $*"
	elif [ $theirs -ne 0 ] && grep -q 'while trying to create journal' theirs; then
		pass "journal does not fit: $*"
	elif [ $theirs -ne 0 ] && grep -q 'Could not allocate inode' theirs && grep -q 'inodes_count: plan 16,' ours; then
		pass "mke2fs makes too few inodes for lost+found: $*"
	else
		fail "$* ($bytes)"
		sed 's/^/# ours: /' ours
		sed 's/^/# mke2fs: /' theirs
	fi
}

# Random cases, one a line: BYTES OPTIONS... SIZE=BLOCKS
random_cases() {
	awk -v seed="$seed" -v rounds="$rounds" '
	function rnd(n) { state = (state * 1103515245 + 12345) % 2147483648; return int(state / 65536) % n }
	function chance(p) { return rnd(100) < p }
	function mag(bits,   n) { n = 2 ^ rnd(bits); return n + rnd(n) }
	BEGIN {
		state = seed
		for (i = 0; i < 20; i++) rnd(2)
		nf4 = split("^resize_inode ^flex_bg ^64bit ^has_journal sparse_super2 ^metadata_csum,uninit_bg " \
			"^sparse_super,^resize_inode ^metadata_csum metadata_csum_seed large_dir ea_inode " \
			"meta_bg,^resize_inode", f4, " ")
		nf2 = split("flex_bg uninit_bg metadata_csum extent extent,64bit sparse_super2 ^resize_inode " \
			"^sparse_super,^resize_inode meta_bg,^resize_inode", f2, " ")
		for (r = 0; r < rounds; r++) {
			type = "ext" (chance(60) ? 4 : 2 + rnd(2))
			bs = 1024 * 2 ^ (chance(30) ? 3 + rnd(4) : rnd(3))
			list = ""
			n = type == "ext4" ? nf4 : nf2
			for (i = 1; i <= n; i++)
				if (chance(13)) list = list (list == "" ? "" : ",") (type == "ext4" ? f4[i] : f2[i])
			flex = type == "ext4" ? list !~ /\^flex_bg/ : list ~ /flex_bg/
			o = "-t " type " -b " bs
			if (list != "") o = o " -O " list
			if (flex && chance(40)) o = o " -G " 2 ^ rnd(13)
			if (chance(30)) o = o " -g " 8 * (32 + rnd((bs > 8191 ? 8191 : bs) - 31))
			if (chance(30)) o = o " -i " 1024 + mag(15)
			else if (chance(25)) o = o " -N " 16 + mag(15)
			if (chance(25)) o = o " -I " 128 * 2 ^ rnd(bs > 4096 && chance(30) ? 9 : 4)
			if (chance(15)) o = o " -m " rnd(51) "." rnd(10)
			blocks = 64 * mag(13) + rnd(64)
			if (chance(10)) blocks = bs * 8 * (1 + rnd(8)) + rnd(300)
			e = ""
			if (chance(15)) e = e ",stride=" 1 + rnd(30000)
			if (chance(10)) e = e ",stripe_width=" 1 + rnd(30000)
			if (flex && chance(12)) e = e ",packed_meta_blocks=1"
			if (list ~ /sparse_super2/ && chance(60)) e = e ",num_backup_sb=" rnd(3)
			if (chance(15)) e = e ",resize=" blocks + mag(15) * 1000
			if (e != "") o = o " -E " substr(e, 2)
			if (chance(10)) o = o " -J size=" mag(8)
			printf "%.0f %s SIZE=%d\n", blocks * bs, o, blocks
		}
	}' </dev/null
}

cat >cases <<'CASES'
4194304 -t ext4
16777216 -t ext4 SIZE=16384
536870912 -t ext4
536866816 -t ext4
8388608 -t ext4 -b 4096 SIZE=2047
8388608 -t ext4 -b 4096 SIZE=2048
134217728 -t ext4 -b 4096 SIZE=32767
134217728 -t ext4 -b 4096 SIZE=32768
1073741824 -t ext4 -b 4096 SIZE=262143
1073741824 -t ext2
1073741824 -t ext3
1073741824 -t ext4
1073741824 -t ext4 -b 1024
1073741824 -t ext4 -b 2048
1073741824 -t ext4 -J size=510
1073741824 -t ext4 -J size=511
1073741824 -t ext2 -J size=503
1073741824 -t ext2 -J size=504
1073741824 -t ext2 -j
1073741824 -t ext4 -m 0.3
1073741824 -t ext2 -r 0
1073741824 -t ext2 -o freebsd
1073741824 -t ext2 -o hurd
1073741824 -t ext4 -e panic
1073741824 -t ext4 -i 1024
1073741824 -t ext4 -N 100
1073741824 -t ext4 -O ^large_file
1073741824 -t ext4 -E resize=100G
1073741824 -t ext4 -E resize=100
1073741824 -t ext4 -E resize=100000000000
1073741824 -t ext4 -O ^resize_inode -E resize=4294967295
1073741824 -t ext4 -O ^sparse_super
1073741824 -t ext4 -O ^extent
1073741824 -t ext4 -g 256
1073741824 -t ext4 -G 1 -E stride=16
1073741824 -t ext4 -G 2147483648
107374182400 -t ext4 -O sparse_super2 -E packed_meta_blocks=1
1099511627776 -t ext4
274877906944 -t ext4 -G 4096 -O sparse_super2
4398046507008 -t ext4
4398046511104 -t ext4
17592186040320 -t ext4 -O ^64bit
17592186044416 -t ext4
17592186044416 -t ext4 -O ^64bit
10737418240 -t ext4 -b 8192
10737418240 -t ext4 -b 16384
10737418240 -t ext3 -b 32768
107374182400 -t ext4 -b 65536
107374182400 -t ext2 -b 65536
107374182400 -t ext4 -b 65536 -I 32768
107374182400 -t ext4 -b 65536 -I 128
107374182400 -t ext4 -b 16384 -i 1024
107374182400 -t ext4 -b 16384 -i 16384
1099511627776 -t ext4 -b 65536 -O meta_bg,^resize_inode
1073741824 -t ext4 -O meta_bg
1073741824 -t ext4 -O meta_bg,^resize_inode
1073741824 -t ext2 -O meta_bg,^resize_inode
10737418240 -t ext2 -O meta_bg,^resize_inode -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode -b 1024 -G 4
10737418240 -t ext4 -O meta_bg,^resize_inode -b 1024 -G 64
10737418240 -t ext4 -O meta_bg,^resize_inode,^flex_bg -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode,^64bit -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode,^sparse_super -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode,sparse_super2 -b 1024
10737418240 -t ext4 -O meta_bg,^resize_inode,sparse_super2 -b 1024 -E num_backup_sb=1
10737418240 -t ext4 -O meta_bg,^resize_inode -b 1024 -E packed_meta_blocks=1
10737418240 -t ext4 -O meta_bg,^resize_inode -b 1024 -J size=64 -i 65536
10737418240 -t ext4 -O meta_bg,^resize_inode -E resize=10T
1099511627776 -t ext4 -O meta_bg,^resize_inode
1099511627776 -t ext4 -b 1024 -O ^resize_inode
2199023255552 -t ext4 -b 1024
10737418240 -t ext4 -g 256 -b 1024
10737418240 -t ext4 -g 256 -b 1024 -O ^resize_inode
436088832 -t ext4 -b 2048 -G 2048 -g 528 -i 1055 -O meta_bg,^resize_inode SIZE=212934
436088832 -t ext4 -b 2048 -G 256 -g 528 -i 1055 -O ^resize_inode SIZE=212934
CASES
# a gibibyte of memory for that one
[ -z "${GEOMETRY_BIG-}" ] || echo "65970697666560 -t ext4" >>cases
random_cases >>cases
while read -r bytes rest; do
	# shellcheck disable=SC2086
	compare "$bytes" $rest
done < <(strided <cases)
done_testing 116
