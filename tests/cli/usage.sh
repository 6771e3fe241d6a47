#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -T: which table of usage types counts, what is wrong with a file, and that nothing else is read.
. "$(dirname "$0")/lib.sh"

made() { # block size and inodes of img
	echo "$(json block_size_bytes .out) $(json inodes .out)"
}
plan() { mkfs -n --json "$@"; }

plan img 64M
equal "by itself: blocks of 4096" "$(made)" "4096 16384"
MKE2FS_CONFIG='' plan -T small img 64M
equal "-T small with the built-in table" "$(made)" "1024 16384"

printf '[defaults]\n\tblocksize = 2048\n\tinode_size = 256\n[fs_types]\n\text4 = {\n\t\tfeatures = extent,64bit\n\t}\n\tsmall = {\n\t\tinode_ratio = 65536\n\t}\n\tmine = {\n\t\tinode_ratio = 32768\n\t\tblocksize = 1024\n\t}\n' >my.conf
export MKE2FS_CONFIG=my.conf
plan img 64M
equal "MKE2FS_CONFIG counts also without -T" "$(made)" "2048 1024"
plan -T mine img 64M
equal "  and its types can be named" "$(made)" "1024 2048"
plan -T mine -b 4096 -N 100 img 64M
equal "  and options win" "$(made)" "4096 112"
mkfs -T news img 64M
fails 2 "-T news: no such usage type in my.conf" "  and a type that it does not define is refused"
is "    and nothing was made" gone img
export MKE2FS_CONFIG=nowhere.conf
plan -T small img 64M
equal "a file that is not there is the built-in table" "$(made)" "1024 16384"
export MKE2FS_CONFIG=.
mkfs img 64M
fails 1 "\.: cannot read" "a directory is not a configuration"
if ! is_root; then
	cp my.conf locked.conf && chmod 000 locked.conf
	MKE2FS_CONFIG=locked.conf mkfs img 64M
	fails 1 "locked.conf: cannot open" "a file that cannot be read"
else
	skip "a file that cannot be read" "root reads it" 1
fi

# One line, with file and line.
export MKE2FS_CONFIG=bad.conf
while IFS='|' read -r want text; do
	printf '%b' "$text" >bad.conf
	mkfs -T u img 64M
	fails 2 "$want" "refused: $text"
	is "  and nothing was made" gone img
done <<'TABLE'
bad.conf:1: |[fs_types
bad.conf:2: '='|[defaults]\nwhat\n
bad.conf:3: text|[fs_types]\n\nu = { blocksize = 4096 }\n
bad.conf:2: the stanza|[fs_types]\nu = {\nblocksize = 4096\n
bad.conf:5: blocksize: .*3000|[fs_types]\next4 = {\n}\nu = {\nblocksize = 3000\n}\n
bad.conf:3: features: .*nonesuch|[fs_types]\nu = {\nfeatures = nonesuch\n}\n
bad.conf:1: not text|[a]\0000\nb = c\n
TABLE
head -c 2000000 /dev/zero | tr '\0' ' ' >bad.conf
mkfs img 64M
fails 2 "bad.conf: larger" "a file that is none"
unset MKE2FS_CONFIG

# The system's file: only for who names a type.
cat >system.sh <<'S'
mount --bind my.conf /etc/mke2fs.conf || exit 99
exec "$@"
S
plan img 64M
made >without
if is_root && [ -f /etc/mke2fs.conf ] && unshare -m sh system.sh true 2>/dev/null; then
	unshare -m sh system.sh "$MKFS" -n --json -T mine img 64M >.out 2>.err
	equal "-T reads /etc/mke2fs.conf" "$(made)" "1024 2048"
	unshare -m sh system.sh "$MKFS" -n --json img 64M >.out 2>.err
	equal "  and nothing else does" "$(made)" "$(cat without)"
	MKE2FS_CONFIG='' unshare -m sh system.sh "$MKFS" -n --json -T small img 64M >.out 2>.err
	equal "  and an empty MKE2FS_CONFIG says no" "$(made)" "1024 16384"
else
	skip "/etc/mke2fs.conf" "needs root, a mount namespace and such a file" 3
fi

# With SIZE left out a named type chooses, and defaults do not.
mkdir d && printf x >d/x
for types in small largefile; do
	mkfs -q -T $types -d d img
	works "-T $types with SIZE left out"
	clean img "  and the image is clean"
	rm -f img
done
done_testing 32
