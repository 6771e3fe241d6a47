#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-dump and xw-freefrag say byte for byte what dumpe2fs and e2freefrag say: of stock images of many kinds with files
# in them, of the suite's own, of e2image files, and of the healthy images of the acceptance corpus where it is here.
# An everyday run takes rows that have every feature once, and each sixth image of the corpus; XW_ALL=1: all of them.
# (e2freefrag 1.47.0 finds next to nothing under bigalloc; there its numbers are not compared.)
. "$(dirname "$0")/../cli/lib.sh"
for tool in dumpe2fs e2freefrag mke2fs debugfs perl; do
	command -v $tool >/dev/null || skip_all "needs $tool"
done
case $(dumpe2fs -V 2>&1) in
*" 1.47.0 "*) ;;
*) skip_all "dumpe2fs is not 1.47.0, which the tools were compared with" ;;
esac
have_e2fsck || skip_all "needs e2fsck"

# Ranges of free blocks with bigalloc: stock 1.47.0 ends them with the first block of the last cluster. Of that with its last one.
whole_clusters() {
	perl -pe '
		$last = $1 - 1 if /^Block count: +(\d+)/;
		$block = $1 if /^Block size: +(\d+)/;
		$more = $1 / $block - 1 if /^Cluster size: +(\d+)/;
		sub end_of {
			my $text = "$_[0]";
			my $hex = $text =~ /^0x/;
			my $end = ($hex ? oct($text) : $text) + $more;
			$end = $last if $end > $last;
			return $hex ? sprintf("0x%08x", $end) : $end;
		}
		s/(\w+)(?:-(\w+))?(?=,|$)/"$1-" . end_of($2 || $1)/ge if $more && /^  Free blocks: ./;
	'
}
# same IMAGE OPTION...: standard output of both is the same.
same_dump() {
	dumpe2fs "${@:2}" "$1" 2>/dev/null | whole_clusters >want
	"$BIN/xw-dump" "${@:2}" "$1" >got 2>.err && cmp -s want got
}
same_frag() {
	e2freefrag "${@:2}" "$1" >want 2>/dev/null
	"$BIN/xw-freefrag" "${@:2}" "$1" >got 2>.err && cmp -s want got
}
# compare IMAGE DESCRIPTION: -h and -b are parts of what the others print
compare() {
	local o bad=""
	for o in "" -x -g -gx; do
		# shellcheck disable=SC2086
		same_dump "$1" $o || { bad="xw-dump $o"; break; }
	done
	if ! dumpe2fs -h "$1" 2>/dev/null | grep -q '^Filesystem features:.* bigalloc'; then
		[ -n "$bad" ] || same_frag "$1" -c 64 || bad="xw-freefrag"
	fi
	if [ -z "$bad" ]; then pass "$2"; else
		fail "$2: $bad"
		diff want got | head -n 10 | sed 's/^/# /'
	fi
}

mkdir -p tree/a tree/b
files tree/a/file-%d 1 150 409
files tree/b/file-%d 1 150 53
seq 2 3 150 | sed 's|.*|rm /a/file-&|' >requests
seq 1 4 150 | sed 's|.*|rm /b/file-&|' >>requests

while read -r size options; do
	rm -f img
	truncate -s "$size" img
	# shellcheck disable=SC2086
	mke2fs -qF -d tree $(without_mmp "$options") img >.out 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	debugfs -w -f requests img >/dev/null 2>&1
	add_mmp img "$options"
	compare img "$options $size"
done < <(strided 4 <<-'END'
	40M -t ext2
	20M -t ext2 -r 0 -b 1024
	30M -t ext3 -b 2048 -L label -M /mnt/there
	~200M -t ext4
	90M -t ext4 -b 1024 -O ^resize_inode,quota,project,orphan_file -E quotatype=usrquota:grpquota:prjquota
	60M -t ext4 -b 1024 -O ^flex_bg,mmp
	~300M -t ext4 -b 1024 -O meta_bg,^resize_inode
	100M -t ext4 -b 1024 -O meta_bg,^resize_inode
	200M -t ext4 -b 1024 -O sparse_super2 -E num_backup_sb=2
	60M -t ext4 -b 1024 -O ^sparse_super,^resize_inode,^64bit
	60M -t ext4 -b 1024 -O ^metadata_csum,uninit_bg
	60M -t ext4 -O metadata_csum_seed,inline_data,large_dir,ea_inode -I 512
	80M -t ext4 -O casefold,encrypt,fast_commit,stable_inodes,verity -E stride=4,stripe_width=16
	300M -t ext4 -O bigalloc -C 16384 -b 1024
	~2G -t ext4 -O bigalloc,^has_journal -G 4
	100M -t ext4 -O ^has_journal -m 7 -e panic -N 3000 -g 8192
	60M -t ext4 -E lazy_itable_init=1,test_fs -U clear
END
)

rm -f img
mke2fs -qF -O journal_dev -b 4096 img 8M >/dev/null 2>&1
is "an external journal" same_dump img

printf '%s\n' 3000 3001 4000 30000 >bad
rm -f img
truncate -s 40M img
mke2fs -qF -t ext4 -b 1024 -l bad img >/dev/null 2>&1
compare img "bad blocks"
for o in -h -b "-x -h" "-b -h"; do
	# shellcheck disable=SC2086
	is "xw-dump $o" same_dump img $o
done
is "xw-freefrag" same_frag img
is "xw-freefrag -c 2048" same_frag img -c 2048

# what stock tools and Linux write into superblocks in the course of time
while read -r what requests; do
	cp img worn
	printf '%s\n' "$requests" | tr ';' '\n' >.requests
	debugfs -w -f .requests worn >/dev/null 2>&1
	compare worn "worn: $what"
done <<-'END'
	times ssv mtime 20010909014640;ssv lastcheck 19991231235959;ssv checkinterval 6480061;ssv mnt_count 77
	options ssv default_mount_opts 0xfff;ssv mount_opts data=journal,noatime;ssv kbytes_written 123456789
	owners ssv def_resuid 1;ssv def_resgid 65534;ssv last_orphan 77;ssv errors 2;ssv state 3
	errors ssv error_count 3;ssv first_error_time 20200101000000;ssv first_error_ino 12;ssv first_error_func there;ssv last_error_time 20210101000000;ssv last_error_block 4711
	names ssv volume_name sixteen-letters!;ssv last_mounted /a/place;ssv creator_os 3
END

if can_loop; then
	mkdir -p mnt
	mount -o loop img mnt && at_end "umount mnt" && cp -r tree mnt && rm -r mnt/tree/b && sync -f mnt
	is "mounted: the journal needs recovery" same_dump img
	umount mnt
	compare img "after Linux wrote to it"
else
	skip "mounted" "needs root and loop mounts" 2
fi

# ---- the suite's own images ----
while read -r size options; do
	rm -f img
	# shellcheck disable=SC2086
	mkfs -q $options -d tree img "$size"
	compare img "xw-mkfs $options $size"
done <<-'END'
	100M
	100M -b 1024 -O quota,orphan_file,mmp
	300M -t ext3
END
rm -f img
mkfs -q -d tree img
compare img "xw-mkfs, without a size"
mkfs -q -O itree -d tree it.img 60M
dumpe2fs -f it.img 2>/dev/null | sed '/^Filesystem features/s/FEATURE_R30/itree/' >want
"$BIN/xw-dump" it.img >got 2>.err
is "itree by its name" cmp want got

# ---- e2image files, copies of the superblock ----
if command -v e2image >/dev/null; then
	for b in 1024 4096; do
		rm -f img e2i
		truncate -s 90M img
		mke2fs -qF -t ext4 -b $b -d tree img
		e2image img e2i >/dev/null 2>&1
		dumpe2fs -i e2i >want 2>/dev/null
		"$BIN/xw-dump" -i e2i >got 2>.err
		equal "e2image file, blocks of $b: status" $? 0
		is "e2image file, blocks of $b" cmp want got
		e2freefrag img | sed 1d >want
		"$BIN/xw-freefrag" -i e2i 2>.err | sed 1d >got
		is "e2image file, blocks of $b: free space" cmp want got
	done
	run_tool "$BIN/xw-dump" /dev/null -i img
	T_TOOL=xw-dump
	fails 1 "not an e2image file" "-i of something else"
else
	skip "e2image files" "e2image is not installed" 7
fi
rm -f img
truncate -s 40M img
mke2fs -qF -t ext4 -b 1024 -d tree img
"$BIN/xw-dump" -g img >want
dd if=/dev/zero of=img bs=1024 seek=1 count=2 conv=notrunc status=none
run_tool "$BIN/xw-dump" /dev/null img
T_TOOL=xw-dump
fails 1 "not an ext2, ext3 or ext4 filesystem" "without a primary superblock"
"$BIN/xw-dump" -g -o superblock=8193 img >got 2>.err
is "-o superblock=" cmp want got
"$BIN/xw-dump" -g -o superblock=24577,blocksize=1024 img >got 2>.err
is "-o blocksize=" cmp want got
run_tool "$BIN/xw-dump" /dev/null -o superblock=8193 -o blocksize=4096 img
fails 1 "no superblock with blocks of 4096 bytes in block 8193" "-o blocksize= that is not so"
(head -c 12345 /dev/urandom && cat it.img) >shifted
cmp -s <("$BIN/xw-dump" -E offset=12345 shifted 2>.err) <("$BIN/xw-dump" it.img) && pass "-E offset=" || fail "-E offset="

# ---- -m ----
rm -f img
mke2fs -qF -t ext4 -O mmp img 20M >/dev/null 2>&1
equal "-m: clean" "$("$BIN/xw-dump" -m img 2>&1)" "xw-dump: it is safe to mount 'img', MMP is clean"
mmp=$("$BIN/xw-dump" -h img | sed -n 's/^MMP block number: *//p')
printf '\115\115\342' | dd of=img bs=1 seek=$((mmp * $("$BIN/xw-dump" -h img | sed -n 's/^Block size: *//p') + 5)) conv=notrunc status=none
run_tool "$BIN/xw-dump" /dev/null -m img
fails 1 "checksum" "-m: a damaged block"
run_tool "$BIN/xw-dump" /dev/null -m it.img
fails 2 "MMP feature not enabled" "-m: without the feature, as dumpe2fs"

# ---- damage, JSON, drawing ----
rm -f img
truncate -s 60M img
mke2fs -qF -t ext4 -b 1024 -d tree img
printf '\001\002\003' | dd of=img bs=1 seek=$((2048 + 64 + 12)) conv=notrunc status=none
"$BIN/xw-dump" img >got 2>.err
equal "a damaged descriptor: status" $? 1
is "a damaged descriptor: said" grep -q 'descriptor of group 1: checksum mismatch' .err
is "a damaged descriptor: what it should be" grep -q '^Group 1:.*(EXPECTED 0x' got
is "a damaged descriptor: all groups" grep -q '^Group 7:' got
if command -v python3 >/dev/null; then
	"$BIN/xw-dump" --json img >json 2>/dev/null
	is "--json, with the problem" python3 -c '
import json
d = json.load(open("json"))
assert d["superblock"]["block_size_bytes"] == 1024 and "has_journal" in d["superblock"]["filesystem_features"]
assert len(d["groups"]) == 8 and d["groups"][1]["checksum_ok"] is False and d["groups"][2]["checksum_ok"]
assert any("group 1" in p for p in d["problems"])
assert sum(b - a + 1 for g in d["groups"] for a, b in g["free_block_ranges"]) > 40000
'
	"$BIN/xw-freefrag" --json --svg map.svg it.img >json
	is "xw-freefrag --json, --svg" python3 -c '
import json, xml.dom.minidom
d = json.load(open("json"))
assert sum(h["blocks"] for h in d["histogram"]) == d["free_blocks"] == d["found_blocks"]
xml.dom.minidom.parse("map.svg")
'
	odd=$(printf 'caf\351 <\302\233>.img')
	cp it.img "$odd"
	"$BIN/xw-freefrag" --svg - "$odd" >out.svg
	is "--svg -: the drawing and nothing else, whatever the name" python3 -c '
import xml.dom.minidom
assert "caf? <??>.img" in xml.dom.minidom.parse("out.svg").getElementsByTagName("text")[0].firstChild.data
'
	is "--svg -: no file of that name" [ ! -e ./- ]
	rm "$odd"
else
	skip "JSON and drawings" "python3 is not installed" 4
fi
run_tool "$BIN/xw-freefrag" /dev/null --json --svg - it.img
is "--json --svg - is refused" [ "$RC" = 2 ]
is "and says why" grep -q 'exclude each other' .err
cp it.img before
run_tool "$BIN/xw-freefrag" /dev/null --svg it.img it.img
is "--svg over the image is refused" [ "$RC" = 2 ]
is "and the image is what it was" cmp -s before it.img
run_tool "$BIN/xw-freefrag" /dev/null -c 3 it.img
T_TOOL=xw-freefrag
fails 2 "power of 2" "-c 3"
run_tool "$BIN/xw-freefrag" /dev/null -c 1 it.img
fails 2 "as large as a block" "-c smaller than a block"

# ---- the corpus ----
n_corpus=0
if [ -n "$CORPUS" ]; then
	n=0
	# what neither finds anything wrong with must be the same; all must end by themselves and say something
	while read -r d; do
		zcat "$d/image.gz" >img 2>/dev/null || continue
		n=$((n + 1))
		timeout 900 "$BIN/xw-dump" img >got 2>.err
		rc=$?
		if [ $rc = 0 ] && dumpe2fs img >want 2>/dev/null; then
			is "corpus: $(basename "$d")" cmp want got
			n_corpus=$((n_corpus + 1))
		elif [ $rc -gt 1 ]; then
			fail "corpus: $(basename "$d"): xw-dump ends badly"
		fi
		timeout 900 "$BIN/xw-freefrag" --svg map.svg img >/dev/null 2>.err
		[ $? -le 1 ] || fail "corpus: $(basename "$d"): xw-freefrag ends badly"
	done < <(printf '%s\n' "$CORPUS"/*/ | strided 24 6)
	equal "corpus: $n_corpus images are the same; all were tried" "$n $((n_corpus > 0))" "$(printf '%s\n' "$CORPUS"/*/ | strided 24 6 | wc -l) 1"
else
	skip "corpus" "XW_ACCEPT is not set" 1
fi
done_testing $((64 + n_corpus))
