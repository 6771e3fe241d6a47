#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune on damaged images: XW_SEEDS=N (default 3) runs seeds 1 to N of damage.py over each kind of
# image below, every second one with its checksums made right again, and tries each change in turn. To be run on a build
# with --enable-sanitize. Each run ends within 20 seconds: done, or refused in one line and the image as it was.
. "$(dirname "$0")/../cli/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune}
: "${XW_SEEDS:=$((${XW_STRIDE:-1} > 1 ? 1 : 3))}"
for tool in python3 mke2fs; do command -v $tool >/dev/null || skip_all "needs $tool"; done
export ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:exitcode=98

mkdir -p tree/big tree/sub
for n in $(seq 1 300); do head -c $((n * 7)) /dev/zero | tr '\0' x >"tree/big/file-with-a-name-$n"; done
for n in $(seq 0 2 300); do printf x | dd of=tree/pieces bs=1024 seek=$n conv=notrunc status=none; done
ln -s "$(printf '%0100d' 1)" tree/long
setfattr -n user.some -v "$(printf '%0700d' 1)" tree/sub tree/pieces 2>/dev/null
changes=("-U random" "-O itree" "-O ^itree" "-O ^metadata_csum" "-O metadata_csum" "-O dir_index" "-O ^dir_index"
	"-O ^filetype" "-O quota,orphan_file,mmp" "-O ^quota,^orphan_file,^mmp" "-O ^has_journal" "-j" "-O ^resize_inode"
	"-O ^uninit_bg,^metadata_csum" "-O ^large_file,^huge_file,^dir_nlink" "-L label" "-l")

try_change() { # CHANGE
	local rc
	cp hurt work
	# shellcheck disable=SC2086
	timeout -s KILL 900 "$TUNE" -q $1 work >said 2>&1
	rc=$?
	[ $rc -le 1 ] && [ ! -e work.xw-redo ] || { echo "$1: status $rc" && cat how said; return 1; }
	[ $rc = 0 ] || [ "$(grep -vc '^xw-tune: warning: ' said)" = 1 ] || { echo "$1:" && cat how said; return 1; }
	# a journal that asks for it is replayed in any case
	[ $rc = 0 ] || cmp -s hurt work || grep -q -e needs_recovery -e journal how || { echo "$1: refused, and changed" && cat how said; return 1; }
}
try_seed() { # IMAGE SEED
	local fix=() change
	[ $(($2 % 2)) = 1 ] || fix=(--fix-csums)
	python3 "$KIT/damage.py" "$1" hurt "$2" "${fix[@]}" >how 2>&1 || { [ $? = 3 ] && return 3; cat how; return 1; }
	try_change "${changes[$2 % ${#changes[@]}]}" && try_change "${changes[$2 / 3 % ${#changes[@]}]}"
}

while read -r maker options; do
	rm -f base
	# shellcheck disable=SC2086
	if [ "$maker" = stock ]; then
		mke2fs -qF -N 1000 $options -d tree base 8M >/dev/null 2>&1 && e2fsck -fyD base >/dev/null 2>&1
		e2fsck -fn base >/dev/null 2>&1
	else
		"$MKFS" -q -N 1000 $options -d tree base 8M
	fi || { fail "$maker $options: made"; continue; }
	try_seeds "$maker $options"
done <<-'END'
	stock -t ext2 -b 1024
	stock -t ext4 -b 1024
	stock -t ext4 -b 1024 -O ^metadata_csum,uninit_bg
	stock -t ext4 -b 1024 -O inline_data,ea_inode -I 512
	stock -t ext4 -b 1024 -O quota,orphan_file,project
	ours -O itree -b 1024
	ours -O itree,mmp,^metadata_csum -b 1024
END
done_testing 7
