#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every two features together, with every block size and type, SIZE given and left out: filled from a tar, judged by
# stock e2fsck, read back, and mounted where Linux knows all of it. What xw-mkfs refuses, mke2fs refuses too, or it is on the list.
#
# XW_TABLES: seeds of the table, each one that covers all pairs in another way (default: 1).
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v python3 >/dev/null || skip_all "needs python3"
command -v mke2fs >/dev/null || skip_all "needs mke2fs"
seeds=${XW_TABLES:-1}

mkdir -p tree/dir tree/big tree/deep/er/still
for n in $(seq 1 100); do echo "file $n" >"tree/big/a-name-that-fills-the-directory-with-fewer-of-them-than-otherwise-$n"; done
head -c 300000 /dev/urandom >tree/dir/data
ln tree/dir/data tree/deep/hard
ln -s "$(printf '%0100d' 1)" tree/deep/long-link
ln -s short tree/deep/short-link
truncate -s 2M tree/dir/sparse && echo end >>tree/dir/sparse
mkfifo tree/dir/fifo
tar --format=pax --numeric-owner -C tree -cf tree.tar .

for seed in $seeds; do python3 "$XW_SRC/tests/oracle/pairwise.py" "$seed"; done | strided 3 >table
n=0 made=0 stock=0 refused=0 mounted=0
while read -r size options; do
	n=$((n + 1))
	rm -f img
	[ "$size" = - ] && size=
	# shellcheck disable=SC2086
	mkfs -q -F -N 3000 $options -d tree.tar img $size 2>/dev/null
	if [ "$RC" != 0 ]; then
		refused=$((refused + 1))
		why=$(sed -n 1p .err)
		rm -f stock
		# shellcheck disable=SC2086
		if mke2fs -qFF -N 3000 ${options//,itree/} stock 300M >/dev/null 2>&1 && [ -n "$size" ]; then
			case $why in
			*"does not fit"* | *"too small"*) pass "$options: refused for its size" ;;
			*) fail "$options: refused, and mke2fs makes it" ;;
			esac
		else
			is "$options: refused with a reason" [ "$RC" = 2 -o "$RC" = 1 ]
		fi
		continue
	fi
	made=$((made + 1))
	case $options in
	*,itree*) ;; # stock tools do not know it
	*) stock=$((stock + 1)) && clean img "$options ${size:-fits}: e2fsck" ;;
	esac
	is "$options ${size:-fits}: read back" gives_back img tree
	can_loop || { skip "$options ${size:-fits}: Linux" "needs root and loop mounts" 1; continue; }
	mkdir -p mnt
	mount -o loop,ro img mnt 2>/dev/null || { skip "$options ${size:-fits}: Linux" "it does not mount it" 1; continue; }
	mounted=$((mounted + 1))
	is "$options ${size:-fits}: Linux reads it" diff -r --no-dereference -x lost+found -x fifo tree mnt
	umount mnt
done <table
diag "$n rows: $made made, $refused refused, $mounted mounted"
equal "all rows of the table" "$n" "$(wc -l <table)"
is "a quarter of them was made" [ "$made" -ge $((n / 4)) ]
is "some are mounted" [ "$mounted" -gt 0 ]
done_testing $((refused + 2 * made + stock + 3))
