#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs -w beside stock debugfs: the same requests on copies of an image. Trees and fields are equal, e2fsck
# finds nothing where it finds nothing in stock's, the kernel reads the result. XW_ALL=1: more kinds of images.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in debugfs mke2fs e2fsck dumpe2fs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
export SOURCE_DATE_EPOCH=1700000000 DEBUGFS_PAGER=cat

printf 'hello\n' >small
chmod 4751 small
printf 'abc' >tiny
seq 30000 >big
head -c 300 /dev/zero | tr '\0' m >mid
head -c 3000 /dev/zero | tr '\0' b >value
truncate -s 3M sparse && printf x | dd of=sparse bs=1 seek=2000000 conv=notrunc 2>/dev/null
seq 1000 2000 | head -c 8192 >blocks
long=$(printf 'x%.0s' $(seq 100))

make() { # OPTIONS
	rm -f ours
	# shellcheck disable=SC2086
	mke2fs -qF $1 ours 16M 2>.err || return 1
	cp ours stock
}
# requests on standard input: to both
both() {
	{ echo "set_current_time @1700000000"; cat; } >requests
	debugfs -w -f requests stock >stock.out 2>&1
	T_TOOL=xw-debugfs
	run_tool "$DBG" /dev/null -q -w -f requests ours
}
ours() { "$DBG" -q -w -f - ours >"$T/.out" 2>"$T/.err"; }
fsck_says() { e2fsck -fn "$1" 2>&1 | sed -n '/^Pass 1/,$p' | grep -v -e '^$' -e "$1:" -e '^Fix?'; }
# what there is, as stock debugfs tells it: type, permissions, links, owner, size, name of everything under a directory
tree() {
	local img=$1 dirs=(/) at line
	while [ ${#dirs[@]} -gt 0 ]; do
		at=${dirs[0]}
		dirs=("${dirs[@]:1}")
		while read -r line; do
			[ -n "$line" ] || continue
			echo "$at $line"
			case $line in d*) dirs+=("$at${line##* }/") ;; esac
		done < <(debugfs -R "ls -p $at" "$img" 2>/dev/null | awk -F/ '
			$3 ~ /^04/ && $6 != "." && $6 != ".." { print "d", $3, $4, $5, $6 }
			$3 !~ /^04/ && $2 != 0 && NF > 5 { print "-", $3, $4, $5, $7, $6 }' | sort)
	done
}
contents() { rm -rf out && mkdir out && debugfs -R "rdump / out" "$1" 2>/dev/null; (cd out && find . -type f | sort | xargs sha256sum); }

# ---- files ----

kinds='-t ext2 -b 1024
-t ext4 -b 1024
-t ext4 -b 4096
-t ext3 -b 4096 -I 128
-t ext4 -b 4096 -O bigalloc -C 16384
-t ext4 -b 4096 -O quota,project,inline_data,ea_inode'
[ -z "${XW_ALL-}" ] || kinds="$kinds
-t ext2 -b 4096
-t ext3 -b 1024
-t ext4 -b 1024 -O ^metadata_csum,uninit_bg
-t ext4 -b 1024 -O ^64bit,^has_journal,meta_bg,^resize_inode
-t ext4 -b 4096 -I 512 -O inline_data -g 1024
-t ext4 -b 1024 -O orphan_file,metadata_csum_seed,^flex_bg"

while read -r kind; do
	make "$kind" || { skip "$kind" "mke2fs cannot make it"; continue; }
	both <<-END
		write small a
		write big /b
		write tiny t
		write sparse s
		mkdir d
		mkdir d/e
		write small d/e/f
		mknod p p
		mknod c c 5 1
		mknod bl b 8 300
		symlink sl target
		symlink lng $long
		ln a d/again
		sif a links_count 2
		write big gone
		rm gone
		rm b
		mkdir d/r
		rmdir d/r
		write small x
		unlink x
		write big q
		punch q 3 5
		truncate q 20
		fallocate q 0 3
		ea_set a user.foo bar
		ea_set -f mid a user.mid
		ea_set a user.gone now
		ea_rm a user.gone user.none
		ea_set d/e user.dir yes
		expand_dir lost+found
		kill_file x
	END
	equal "$kind: each request is done but the one on a name that is gone" "$RC $(wc -l <.err)" "1 1"
	# stock 1.47.0 cuts sparse files short where it could keep data in inodes
	case $kind in *inline_data*) but=' s$|/s$' ;; *) but='^$' ;; esac
	equal "  the same tree" "$(tree ours | grep -Ev "$but")" "$(tree stock | grep -Ev "$but")"
	equal "  the same contents" "$(contents ours | grep -Ev "$but")" "$(contents stock | grep -Ev "$but")"
	for a in a d/e; do
		equal "  the same attributes of $a" "$(debugfs -R "ea_list $a" ours 2>/dev/null | grep -v system.data | sort)" \
			"$(debugfs -R "ea_list $a" stock 2>/dev/null | grep -v system.data | sort)"
	done
	case $kind in
	*inline_data*) ;;
	*bigalloc*) is "  whole clusters, and holes" [ "$(debugfs -R 'blocks s' ours 2>/dev/null | wc -w)" = 4 ] ;;
	*) equal "  the same holes" "$(debugfs -R 'blocks s' ours 2>/dev/null | wc -w)" "$(debugfs -R 'blocks s' stock 2>/dev/null | wc -w)" ;;
	esac
	# x has no name, and is in use: everything else is as it should be
	fsck_says ours >ours.fsck
	equal "  what e2fsck says is about x alone" "$(grep -c -e '^Pass' -e nattached -e 'Connect to' -e 'WARNING' ours.fsck)" \
		"$(wc -l <ours.fsck)"
	mkdir -p mnt
	can_loop && mount -o loop stock mnt 2>/dev/null && umount mnt || { skip "  the kernel" "cannot mount this kind" 3; continue; }
	if mount -o loop ours mnt 2>.err; then
		equal "  the kernel sees the names" "$(cd mnt && find . -path ./lost+found -prune -o -print | sort | tr '\n' ' ')" \
			". ./a ./bl ./c ./d ./d/again ./d/e ./d/e/f ./lng ./p ./q ./s ./sl ./t "
		is "  and contents" cmp mnt/d/e/f small
		is "  and writes" sh -c 'cp big mnt/d/more && rm mnt/q && mkdir mnt/d/new'
		umount mnt
	else
		fail "  mounts"
	fi
done <<<"$kinds"

# ---- fields, bits and bytes: the images are equal ----

# bytes that differ, but for the superblock's time of writing, its count of kilobytes and its checksum
differ() {
	cmp -l stock ours | awk '{ o = $1 - 1 - 1024 }
		o >= 48 && o < 52 { next } o == 628 { next } o >= 376 && o < 384 { next } o >= 1020 && o < 1024 { next } { print }'
}
same_bytes() { # DESCRIPTION
	equal "$1" "$(differ | head -n 5)" ""
}
for bits in 64bit ^64bit; do
	make "-t ext4 -b 1024 -O $bits,^has_journal -E lazy_itable_init=0 -U 11111111-2222-3333-4444-555555555555"
	debugfs -w -R "write small a" ours >/dev/null 2>&1
	cp ours stock
	both <<-END
		sif a mtime 20240102030405
		sif a atime @1700000000
		sif a crtime 0x5
		sif a dtime 20240102
		sif a mode 0100600
		sif a size 0x123456789
		sif a uid 70000
		sif a gid_lo 5
		sif a block[2] 77
		sif a block[IND] 99
		sif a links_count 5
		sif a version 0x1234567890
		sif a file_acl 0x500000003
		sif a generation 0xdeadbeef
		sif a faddr 3
		sif a projid 1000
		sif a blocks 12345678901
		sif a flags 0x10
		sif a links_count 70000
		sif a mtime -5
		sif a crtime 10000000000
		sif a atime 2050010101
		sif a mtime_lo 4
		sif a ctime_hi 1
		sif a bogus 3
		sif a size -1
		copy_inode a <77>
		clri a
	END
	equal "sif, $bits: the two bad ones are refused" "$RC $(wc -l <.err)" "1 2"
	same_bytes "  the images are equal"
	both <<-END
		ssv mtime 20240102
		ssv hash_seed zz
		ssv volume_name abc
		ssv def_hash_version tea
		ssv def_hash_version foo
		ssv jnl_blocks[3] 7
		ssv jnl_blocks 5
		ssv jnl_blocks[99] 5
		ssv encrypt_algos[1] 3
		ssv backup_bgs[0] 1
		ssv max_mnt_count -3
		ssv free_blocks_count 5000
		ssv encoding 1
		ssv mnt_count 99999
		ssv lastcheck 20200101
		ssv mkfs_time @5
		ssv first_error_func abc
		ssv nope 3
		ssv last_error_block 77
		ssv snapshot_r_blocks_count 0x1234567890
		dirty
		feature ^resize_inode uninit_bg
		zap_block -f / 0
		zap_block -o 4 -l 8 -p 0xab 3001
		zap_block -b 9 3002
		zap_block -o 1020 -l 8 3002
	END
	equal "ssv, feature, zap_block, $bits: the seven bad ones are refused" "$RC $(wc -l <.err)" "1 7"
	same_bytes "  the images are equal"
	both <<-END
		set_bg 0 free_blocks_count 99
		set_bg 0 checksum 5
		set_bg 1 checksum calc
		set_bg 9 flags 1
		set_bg 0 inode_table 777
		set_bg 1 itable_unused 7
		set_bg 1 free_inodes_count 3
		set_bg x flags 1
	END
	equal "set_bg, $bits: the two bad ones are refused" "$RC $(wc -l <.err)" "1 2"
	same_bytes "  the images are equal"
done
make "-t ext4 -b 1024 -O ^has_journal -E lazy_itable_init=0 -U 11111111-2222-3333-4444-555555555555"
per_group=$(dumpe2fs -h ours 2>/dev/null | awk '/^Inodes per group/ { print $4 }')
debugfs -w -f - stock >stock.out 2>&1 <<-END
	write small a
	write small b
	write small c
	set_bg 0 itable_unused $((per_group - 4))
	set_bg 0 checksum calc
END
cp stock ours
both <<-END
	ea_set a user.x y
END
same_bytes "a descriptor that calls inodes in use unused: the others of a block stay"
make "-t ext4 -b 1024 -O ^has_journal -E lazy_itable_init=0 -U 11111111-2222-3333-4444-555555555555"
both <<-END
	setb 3000 3
	freeb 100
	seti <20>
	freei <11>
	setb 9000
	setb 3001
	freeb 4000 2
	seti <20> 2
	freei <11>
END
equal "bits: what is so already is said and no failure" "$RC" 0
same_bytes "  the images are equal"
equal "  e2fsck finds the same" "$(fsck_says ours)" "$(fsck_says stock)"
# a count that was wrong stays wrong by as much
both <<<"write big k"
equal "  and after a file more" "$(fsck_says ours | grep -c wrong)" "$(fsck_says stock | grep -c wrong)"

# ---- deleted and found again ----

for kind in "-t ext2 -b 1024" "-t ext4 -b 4096"; do
	make "$kind"
	ours <<-END
		write big a
		ea_set -f mid a user.mid
		write small b
		rm a
	END
	equal "undel, $kind: what is deleted" "$("$DBG" -q -R lsdel ours 2>/dev/null | grep -c '^ *12 ')" 1
	equal "  is found again" "$(echo 'undel <12> back' | ours; echo $?)" 0
	is "  with its contents" sh -c "debugfs -R 'cat back' ours 2>/dev/null | cmp - big"
	clean ours "  and e2fsck finds nothing"
	printf 'rm back\nseti <12>\nundel <12> late\nfreei <12>\n' | ours
	equal "  not once its number is in use" "$(grep -c 'in use again' .err)" 1
	clean ours "  and that has changed nothing"
done

# ---- the journal ----

for csum in "" "-c" "-c -v 2"; do
	make "-t ext4 -b 1024"
	ours <<-END
		jo $csum
		jw -b 3000,3001 blocks
		jw -b 3002 -r 3001 blocks
		jw -c -b 3003 blocks
		jc
	END
	equal "journal $csum: written" $? 0
	cp ours replayed
	equal "  files are not changed before it is replayed" "$(echo 'write small no' | "$DBG" -q -w --no-replay -f - ours 2>&1 | grep -c journal_run)" 1
	e2fsck -fy ours >.fsck 2>&1
	is "  e2fsck replays it" grep -q 'recovering journal' .fsck
	echo jr | "$DBG" -q -w --no-replay -f - replayed >.out 2>.err
	for img in ours replayed; do
		got=
		for b in 3000 3001 3002 3003; do
			dd if=$img bs=1024 skip=$b count=1 2>/dev/null | cmp -s - <(head -c 1024 blocks) && got="$got $b"
		done
		equal "  $img: what was committed, and not revoked, is in its place" "$got" " 3000 3002"
	done
done

# the superblock that is replayed is none: nothing is
make "-t ext4 -b 1024"
printf 'jo\njw -b 1,3000 blocks\njc\njr\nssv volume_name x\n' | "$DBG" -q -w -f - ours >.out 2>.err
equal "a replay that fails: said" "$? $(grep -c "copy of the superblock is not valid" .err)" "1 1"
equal "  and has changed nothing" "$(dd if=ours bs=1024 skip=3000 count=1 2>/dev/null | tr -d '\0' | wc -c)" 0
equal "  the others are committed" "$(dumpe2fs -h ours 2>/dev/null | grep -c -e 'volume name: *x' -e needs_recovery)" 2

# ---- directories that grow into an index ----

# Deleted first entries leave their room to "..": what is too long for it makes the directory grow, and e2fsck counts
# the links, and names that are there twice.
slack() { # OPTIONS DIR NAME...: the first names of DIR, created and deleted
	local dir=$2 name
	make "$1" || return 1
	shift 2
	{
		echo "mkdir $dir"
		for name in "$@" stays; do echo "symlink $dir/$name x"; done
		for name in "$@"; do echo "rm $dir/$name"; done
	} >requests
	debugfs -w -f requests ours >stock.out 2>&1
	debugfs -R "htree_dump $dir" ours 2>&1 | grep -q 'Not a hash-indexed'
}
# whether DIR is indexed, and how many names it has
grown() {
	echo "$(debugfs -R "htree_dump $1" ours 2>&1 | grep -c '^Root node dump') $(debugfs -R "ls -p $1" ours 2>/dev/null | grep -c /)"
}
while read -r kind; do
	for gone in a 'a b' 'a bcdefgh'; do
		# shellcheck disable=SC2086
		slack "$kind" d $gone || { skip "$kind" "the directory cannot be made"; continue; }
		for i in $(seq 60); do echo "symlink d/the-name-of-symlink-$i t"; done >requests
		"$DBG" -q -w -f requests ours >.out 2>.err
		equal "$kind: $gone gone, and 60 more" "$? $(grown d)" "0 1 63"
		clean ours "  e2fsck finds nothing"
	done
done <<-'END'
	-t ext4 -b 1024
	-t ext4 -b 1024 -O ^metadata_csum
END
slack "-t ext4 -b 1024" age a
for i in $(seq 60); do echo "create the-name-of-file-$i 0"; done >ops.trace
T_TOOL=xw-age
run_tool "$BIN/xw-age" /dev/null -q --profile trace:ops.trace ours
equal "xw-age in such a directory" "$RC $(grown age)" "0 1 63"
clean ours "  e2fsck finds nothing"

# ---- one commit ----

make "-t ext4 -b 1024"
sum=$(sha256sum <ours)
mkfifo pipe
"$DBG" -q -w -f - ours <pipe >.out 2>.err &
pid=$!
exec 8>pipe
printf 'write big a\nmkdir d\nssv volume_name x\nls d\n' >&8
wait_for grep -q '^ *[0-9].*\.\.' .out
is "a session that is under way" grep -q 'Allocated inode' .out
kill -KILL $pid
wait $pid 2>/dev/null
exec 8>&-
clean ours "  killed: the filesystem is what it was"
equal "  and has none of it" "$(debugfs -R 'ls -p' ours 2>/dev/null | grep -c '/a/')" 0
equal "  the old state is all there" "$(dumpe2fs -h ours 2>/dev/null | grep -c 'volume name: *<none>')" 1
: "$sum"

make "-t ext4 -b 1024"
head -c 20M /dev/zero | tr '\0' z >huge
printf 'mkdir d\nwrite huge d/h\nmkdir d\nwrite small d/s\n' | ours
equal "a file that does not fit, a name that is there: said, and the exit status tells" "$? $(wc -l <.err)" "1 2"
equal "  the others are committed, those are not" "$(tree ours | grep -v lost | sed 's/.* //' | tr '\n' ' ')" "d s "
clean ours "  and e2fsck finds nothing"

# ---- any superblock ----

make "-t ext4 -b 1024 -O ^has_journal"
echo 'ssv magic 0' | ours
equal "a superblock that nobody opens is committed" "$? $(dd if=ours bs=1 skip=1080 count=2 2>/dev/null | xxd -p)" "0 0000"
make "-t ext4 -b 1024 -O ^has_journal"
echo 'ssv checksum 5' | ours
equal "one with a wrong checksum, too" "$? $(dd if=ours bs=1 skip=2044 count=4 2>/dev/null | xxd -p)" "0 05000000"
done_testing 129
