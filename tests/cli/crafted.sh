#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names, values and ids that were chosen to have the same hash give the same result as any others.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# ---- values of one checksum ----

# CRC-32C is linear: the same five bytes, the polynomial itself, change any text without changing its checksum.
mkdir tree
echo contents >tree/file
mkfs -q -O ea_inode -d tree image 8M
works "an image with values in inodes"
body() { head -c 9000 /dev/zero | tr '\0' a; }
{ printf '\0\0\0\0\0' && body; } >one
{ printf '\xf1\x76\xec\x05\x01' && body; } >two
for value in one two one; do
	run_tool "$BIN/xw-debugfs" /dev/null -w -R "ea_set -f $value /file user.value" image
	works "ea_set: value $value"
	run_tool "$BIN/xw-debugfs" /dev/null -R "ea_get -f got /file user.value" image
	is "  which has the checksum of the other one, is the value" cmp got "$value"
	clean image "  e2fsck"
done
done_testing 10
