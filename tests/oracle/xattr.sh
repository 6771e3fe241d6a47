#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Attributes that Linux wrote are what lib/xattr decodes; attributes that lib/xattr placed and encoded are
# what Linux reads, stock e2fsck finds them in order, and Linux goes on changing them.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"
have_e2fsck || skip_all "needs e2fsck"
tool=$XW_BUILD/xattr_image
[ -x "$tool" ] || skip_all "xattr_image is not built"

mounted() { # COMMAND...: run it while img is on mnt
	mount -o loop img mnt || return 1
	"$@"
	local rc=$?
	umount mnt || return 1
	return $rc
}
listed() { "$tool" "$1" "$2" | sort; }
same_lists() { # DESCRIPTION
	mounted listed kernel mnt >by-kernel
	listed image img >by-us
	if [ -s by-kernel ] && cmp -s by-kernel by-us; then pass "$1"; else
		fail "$1"
		diff by-kernel by-us | cut -c 1-150 | head -n 10 | sed 's/^/# /'
	fi
}

mkdir mnt
at_end "umount mnt"
while read -r options; do
	rm -f img
	truncate -s 48M img
	# shellcheck disable=SC2086
	mke2fs -qF -t ext4 -U 01234567-89ab-cdef-0123-456789abcdef $options img >/dev/null 2>&1 ||
		{ fail "mke2fs $options"; continue; }
	is "$options: Linux takes attributes" mounted "$tool" fill mnt 7
	same_lists "$options: what Linux wrote is decoded"
	is "$options: encoded anew" "$tool" rewrite img
	diag "$(cat .is)"
	is "$options: for many inodes" [ "$(sed -n 's/ inodes.*//p' .is)" -ge 100 ]
	clean img "$options: e2fsck finds no fault in it"
	cp by-kernel before
	same_lists "$options: Linux reads it"
	is "$options: and it is what it was" cmp before by-kernel
	is "$options: Linux changes it" mounted "$tool" change mnt 3
	clean img "$options: e2fsck after that"
	same_lists "$options: what Linux made of it is decoded"
done <<-'END'
	-b 4096
	-b 1024 -O ea_inode
	-b 4096 -O ea_inode,^resize_inode
	-b 4096 -I 128
	-b 4096 -I 512
	-b 1024 -I 1024 -O ^metadata_csum
END
done_testing 60
