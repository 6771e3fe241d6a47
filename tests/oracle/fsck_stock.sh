#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Command lines of xw-fsck beside those of stock e2fsck 1.47, on copies of the same image: the same exit status, and the same of
# the lines that scripts look for. A row that differs on purpose says both statuses and why; xw-fsck(8) lists these, too. In an everyday run
# every state meets every second way to decide, and every way half of the states; XW_ALL=1: each meets each.
. "$(dirname "$0")/../cli/lib.sh"
for tool in e2fsck mke2fs debugfs tune2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
e2fsck -V 2>&1 | grep -q '^e2fsck 1\.47\.0' || skip_all "compared with e2fsck 1.47.0"

mkdir -p im d/sub/many own stock
for i in $(seq 1 60); do echo "$i" >"d/f$i"; done
seq 1 5000 >d/sub/big
(cd d/sub/many && seq -f 'a-name-that-is-rather-long-%g' 1 200 | xargs touch)
{
	for type in ext2 ext4; do
		mke2fs -qF -t $type -b 1024 -d d im/$type 16M
		e2fsck -fyD im/$type
	done
	change() { # FROM TO REQUEST...: with stock debugfs
		cp --sparse=always "im/$1" "im/$2"
		printf '%s\n' "${@:3}" | debugfs -w -f - "im/$2"
	}
	change ext4 label 'ssv volume_name tabletest'
	change ext4 dirty 'ssv state 0'
	change ext4 errors 'ssv state 3'
	change ext4 counts 'ssv free_blocks_count 77' 'ssv state 0'
	change ext4 bitmap 'setb 9000 5'
	change ext4 links 'sif /f7 links_count 9'
	change ext4 lost 'unlink /sub/big'
	change ext2 twice "sif /f9 block[0] $(debugfs -R 'bmap /sub/big 3' im/ext2)"
	change ext4 due 'ssv max_mnt_count 1' 'ssv mnt_count 5'
	change ext4 old 'ssv checkinterval 864000' 'ssv lastcheck 20200101'
	change ext4 orphan 'ssv last_orphan 20' 'sif <20> links_count 0'
	change ext4 journal 'jo' 'jw -b 9000 /dev/null' 'jc'
	change ext4 nosuper 'quit'
	change ext4 checksum 'quit'
	change ext4 readonly 'unlink /sub/big' 'feature read-only'
	change ext4 short 'quit'
	change ext4 shorter 'quit'
} >/dev/null 2>&1
head -c 1024 /dev/zero | dd of=im/nosuper bs=1024 seek=1 conv=notrunc status=none
printf x | dd of=im/checksum bs=1 seek=1144 conv=notrunc status=none
truncate -s 9M im/short
truncate -s 1500 im/shorter
truncate -s 8M im/zeros
truncate -s 100 im/tiny
: >im/empty
mkdir im/directory
echo 9000 >own/list && echo 9001 >own/list2 && cp own/list own/list2 stock

# What is compared of the output: names of tools and numbers of damaged images aside.
lines() { # EXACT NAME...: from NAME.out and NAME.err into NAME.lines
	perl -e 'my $exact = shift;
		for my $name (@ARGV) {
			open(my $lines, ">", "$name.lines") or die;
			for my $from ("$name.out", "$name.err") {
				open(my $said, "<", $from) or die;
				while (<$said>) {
					s/xw-fsck/e2fsck/g;
					s/^(x: )?\*{10} WARNING.*/left/;
					for (split(/[\r\n]/)) {
						next unless /: clean, |WAS MODIFIED|INCONSISTENCY; RUN|i\.e\., |^left|^Pass [1-5]: Check|check forced/ ||
							/recovering journal$|files \([0-9.]+% non-|REBOOT|need terminal/;
						s/[0-9.]+/N/g unless $exact || /^Pass|INCONS/;
						print $lines "$_\n";
					}
				}
			}
		}' "$@"
}
try() { # IMAGE ARGUMENTS [STOCK'S-STATUS OWN-STATUS REASON]
	local image=$1 args=$2 want=${3-} want_own=${4-} why=${5-} exact=0 rc_stock=0 rc_own=0 dir
	rm -rf own/x stock/x
	cp -r "im/$image" own/x 2>/dev/null && cp -r "im/$image" stock/x
	case $image$args in *-D* | *bmap2*) ;; ext*-*n* | label*) exact=1 ;; esac
	# shellcheck disable=SC2086
	(cd stock && e2fsck $args x </dev/null >../stock.out 2>../stock.err) || rc_stock=$?
	# shellcheck disable=SC2086
	(cd own && "$BIN/xw-fsck" $args x </dev/null >../own.out 2>../own.err) || rc_own=$?
	lines $exact stock own
	if [ -n "$why" ]; then
		equal "$image $args: $why" "$rc_stock $rc_own" "$want $want_own"
	elif [ "$rc_stock" = "$rc_own" ] && cmp -s stock.lines own.lines; then
		pass "$image $args: $rc_own"
	else
		fail "$image $args: as stock e2fsck"
		diag "status $rc_own, stock $rc_stock"
		diff stock.lines own.lines | sed 's/^/# /'
	fi
}

# Every state with every way to decide.
n=0
for image in ext4 ext2 label dirty errors counts bitmap links lost due old orphan journal zeros tiny empty shorter directory nofile; do
	for args in '' -n -p -a -y -fn -fp -fy; do
		n=$((n + 1))
		[ -n "${XW_ALL-}" ] || [ $((n % 2)) = 0 ] || continue
		try $image "$args"
	done
	n=$((n + 1)) # the other half for the next one
done
try twice -n
try twice -p
try twice -fn
try twice -fp 4 4 "stock prints more of it"
for args in -n -fn; do
	try nosuper $args
	try checksum $args 4 4 "the primary superblock stays in use"
	try short $args 0 4 "an image that is too short is no clean one"
done
for args in -p -fp; do
	try nosuper $args 8 4 "a backup is found, and a person can decide to use it"
	try checksum $args 8 4 "likewise"
	try short $args
done
try nosuper -y
try twice -fy 1 1 "passes 1B to 1D are no passes here"
try checksum -fy
try short -y 8 8 "more is said of it"
try short -fy 8 8 "likewise"
for args in -fn -fp -fy; do try readonly $args; done
try readonly "-fy -D" 1 1 "-D is skipped"

# Options, one at a time and together. A dash as the image's statuses: as stock.
while IFS='|' read -r image args statuses why; do
	[ "$statuses" != - ] || statuses=
	# shellcheck disable=SC2086
	try "$image" "$args" ${statuses:-'' ''} "$why"
done <<'TABLE'
ext4|-fnv|-|
ext4|-fn -F|8 0|caches of files can be dropped, too
ext4|-n -F|8 0|likewise
ext4|-fn -r|-|
ext4|-fn -d|-|
ext4|-fn -t|-|
ext4|-fn -t -t|-|
ext4|-fn -tt|-|
ext4|-fn -C -1|-|
ext4|-fn -C 77|-|
ext4|-fp -C 0|0 0|the bar has other steps
ext4|-n -n|-|
ext4|-a -p|-|
ext4|-p -p -f|-|
ext4|-n -p|-|
ext4|-n -y|-|
ext4|-p -y|-|
ext4|-n -a|-|
ext4|-n -D|-|
ext4|-y -D|-|
ext4|-fy -D|0 0|Pass 3A is no pass here
ext4|-fp -D|-|
ext4|-n -c|-|
ext4|-y -c|-|
ext4|-p -c|-|
ext4|-y -c -c|-|
ext4|-y -cc|-|
ext4|-y -c -k|-|
ext4|-y -k|-|
ext4|-n -l list|-|
ext4|-n -L list|-|
ext4|-y -c -l list|-|
ext4|-y -l nolist|-|
ext4|-y -l list|-|
ext4|-y -L list|-|
ext4|-fy -l list -L list2|-|
ext4|-y -L /dev/null|-|
ext4|-b 8193 -n|4 0|a primary superblock that its copy does not contradict is kept
ext4|-b 8193 -B 1024 -fn|4 0|likewise
ext4|-b 8193 -fy|1 0|likewise
ext4|-b 5000 -n|-|
ext4|-b 5000 -y|-|
ext4|-B 1024 -n|-|
ext4|-B 4096 -n|-|
ext4|-B 3000 -n|-|
ext4|-b x -n|1 16|1 would say that errors were repaired
ext4|-B x -n|-|
ext4|-B 0 -fn|-|
ext4|-B 131072 -fn|-|
ext4|-I 7 -fn|-|
ext4|-I x -fn|1 16|1 would say that errors were repaired
ext4|-P 7 -fn|-|
ext4|-P x -fn|1 16|likewise
ext4|-N name -fn|-|
ext4|-C x -n|1 16|1 would say that errors were repaired
ext4|-E nonesuch -n|1 16|likewise
ext4|-E journal_only -p|-|
ext4|-E journal_only -y|-|
journal|-E journal_only -y|-|
ext4|-E fragcheck -fn|-|
ext4|-E nodiscard -fy|-|
ext4|-E discard -fy|-|
ext4|-E ea_ver=2 -fn|-|
ext4|-E ea_ver=1 -fn|-|
ext4|-E ea_ver=3 -fn|1 16|1 would say that errors were repaired
ext4|-E fixes_only -fy|-|
ext4|-E fixes_only -D -fy|-|
ext4|-E bmap2extent -fy|0 0|nothing is written where there is nothing to convert
ext2|-E bmap2extent -fy|0 0|Pass 1E is no pass here
ext4|-E bmap2extent,fixes_only -fy|-|
ext4|-E readahead_kb=64 -fn|-|
ext4|-E readahead_kb=x -fn|1 16|1 would say that errors were repaired
ext4|-E optimize_extents -fy|-|
ext4|-E no_optimize_extents -fy|-|
ext4|-E inode_count_fullmap -fn|-|
ext4|-E no_inode_count_fullmap -fn|-|
ext4|-E unshare_blocks -fy|-|
ext4|-E check_encoding -fn|-|
ext4|-x -n|-|
ext4|-s -n|-|
ext4|-Q|-|
ext4|-V|-|
ext4|-n x|-|
links|-E fixes_only -fy|-|
links|-fn -v|-|
bitmap|-fn -E fragcheck|-|
dirty|-E journal_only -p|-|
label|-fn -v|-|
label|-fy -z undo|-|
links|-fy -z undo2|-|
TABLE

# -C FD: lines of pass, done, all, name; to the same descriptor in both.
for tool in e2fsck "$BIN/xw-fsck"; do
	cp im/label x
	$tool -fn -C 7 x 7>progress >/dev/null 2>&1
	equal "-C FD of ${tool##*/}" "$(grep -Evc '^[1-5] [0-9]+ [0-9]+ tabletest$' progress) $(cut -d ' ' -f 1 progress | uniq | tr -d '\n')" "0 12345"
done

# Devices by name, and mounted ones.
if can_loop; then
	cp im/label device && mkdir mnt
	loop=$(losetup -f --show device)
	for tool in e2fsck "$BIN/xw-fsck"; do
		for name in LABEL=tabletest "UUID=$(blkid -o value -s UUID device)"; do
			RC=0
			$tool -n "$name" >.out 2>.err || RC=$?
			equal "${tool##*/} $name" "$RC $(grep -c '^tabletest: clean, ' .out)" "0 1"
		done
	done
	mount "$loop" mnt && at_end "umount $T/mnt"
	for args in -n -p -y -fy ''; do
		for tool in e2fsck "$BIN/xw-fsck"; do
			RC=0
			# shellcheck disable=SC2086
			$tool $args "$loop" >.out 2>.err </dev/null || RC=$?
			equal "${tool##*/} $args of a mounted device" $RC "$([ "$args" = -n ] && echo 0 || echo 8)"
		done
	done
	is "  which is said" grep -Eq 'mounted|terminal' .err
else
	skip "devices" "needs root and loop mounts"
fi
done_testing 208
