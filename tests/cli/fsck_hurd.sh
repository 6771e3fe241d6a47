#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A filesystem made for the Hurd: xw-fsck rebuilds directories and maps there as well, and keeps what only the Hurd has.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
FSCK=${XW_FSCK:-$BIN/xw-fsck} DBG=$BIN/xw-debugfs
fsck() {
	T_TOOL=xw-fsck
	run_tool "$FSCK" /dev/null "$@"
}
names() { "$DBG" -R "ls -p $2" "$1" 2>/dev/null | cut -d/ -f6 | sort | tr '\n' ' '; }

mkdir -p d/sub d/other
for i in 1 2 3 4 5 6 7 8 9; do echo "contents $i" >"d/sub/name $i"; done
mkfs -q -o hurd -b 1024 -O ^filetype,dir_index,extent -d d img 4M
works "an image"
ino=$("$DBG" -R 'stat /sub' img 2>/dev/null | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
of() { # IMAGE: author, high half of the mode, and translator of the directory
	python3 - "$1" "$ino" "${2-}" <<-'EOF'
		import struct, sys
		image = open(sys.argv[1], "r+b")
		image.seek(2 * 1024 + 8)
		at = struct.unpack("<I", image.read(4))[0] * 1024 + (int(sys.argv[2]) - 1) * 128
		for off, value in ((36, b"\x11\x22\x00\x00"), (118, b"\x01\x00"), (124, b"\x33\x44\x55\x66")):
		    image.seek(at + off)
		    if sys.argv[3]:
		        image.write(value)
		    else:
		        print(image.read(len(value)).hex(), end=" ")
	EOF
}
of img set
equal "what only the Hurd has" "$(of img)" "11220000 0100 33445566 "
all=$(names img /sub)
for how in "-fyD" "-fy -E bmap2extent"; do
	cp img work
	fsck $how work
	equal "$how" "$RC" 0
	equal "  names" "$(names work /sub)" "$all"
	equal "  and what only the Hurd has" "$(of work)" "11220000 0100 33445566 "
	clean work "  e2fsck finds nothing"
done
cp img work
"$DBG" -w -R 'unlink "/sub/name 5"' work >.out 2>.err
fsck -fy work
equal "a file without a name" "$RC" 1
is "  goes to lost+found" sh -c "'$DBG' -R 'ls /lost+found' work 2>/dev/null | grep -q '#'"
equal "  and what only the Hurd has" "$(of work)" "11220000 0100 33445566 "
clean work "  e2fsck finds nothing"
done_testing 14
