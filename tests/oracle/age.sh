#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-age on images that mke2fs made, of all kinds that can be aged: e2fsck finds nothing. Each image is aged twice, so that the
# second run meets what the first one left.
. "$(dirname "$0")/../cli/lib.sh"
command -v mke2fs >/dev/null || skip_all "mke2fs is not installed"
have_e2fsck || skip_all "e2fsck is not installed"

age() {
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null "$@"
}
while IFS='|' read -r size options; do
	rm -f img made
	truncate -s "$size" made
	# Fixed identifiers: the hash seed decides on the splits of directories, and those on the last free blocks of the smallest image.
	# shellcheck disable=SC2086
	if ! mke2fs -q -F -U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=76543210-ba98-fedc-3210-fedcba987654 $options made >.out 2>.err; then
		skip "mke2fs $options" "this mke2fs does not make it"
		continue
	fi
	bad=
	for args in "--profile pazdera --ops 2000 --size 0-64k" "--profile geriatrix:douceur --util 60% --ops 1500" \
		"--profile geriatrix:dayal --util 90% --ops 600 --seed 2" \
		"--profile alternate:64k,32k --fast"; do
		cp --sparse=always made img
		# shellcheck disable=SC2086
		age -q $args img
		[ "$RC" = 0 ] || bad="$args: $(cat .err)"
		age -q --profile pazdera --ops 500 --size 0-16k --dir second/time --seed 3 img
		[ "$RC" = 0 ] || bad="$args, again: $(cat .err)"
		fsck_quiet "$T/.fsck" -fn img || bad="$args: e2fsck: $(grep -v '^Pass' .fsck | head -n 3)"
		[ -z "$bad" ] || break
	done
	: >.err
	if [ -z "$bad" ]; then pass "mke2fs $options"; else
		fail "mke2fs $options"
		diag "$bad"
	fi
done <<'END'
64M|-t ext4
64M|-t ext4 -b 4096
64M|-t ext3
64M|-t ext2 -b 4096
64M|-t ext4 -O quota,project
64M|-t ext4 -O inline_data -I 512
64M|-t ext4 -O ^metadata_csum,uninit_bg
64M|-t ext4 -O meta_bg,^resize_inode
64M|-t ext4 -O ^flex_bg,^has_journal
64M|-t ext4 -I 128 -g 1024 -b 1024
64M|-t ext4 -O orphan_file
8M|-t ext4 -b 1024
END
# Space runs out many times, and inodes do.
truncate -s 6M img
mke2fs -q -F -t ext4 -b 1024 -N 512 img
age --profile pazdera --ops 6000 --files 2000 --size 0-32k img
equal "a full image: status" "$RC" 0
is "  operations were skipped" [ "$(sed -n 's/^  skipped: //p' .out)" -gt 0 ]
clean img "  it is clean"
truncate -s 64M img
mke2fs -q -F -t ext4 -O bigalloc img 2>/dev/null
age --profile pazdera --ops 10 img
fails 1 "bigalloc images can be aged with --fast only" "bigalloc is refused without --fast"
done_testing 16
