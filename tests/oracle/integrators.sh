#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that call the stock tools by name: Debian's systemd-repart and genimage make their images with ours, and command
# lines as Kubernetes, cloud-init, gparted, OpenStack, the Debian installer and others write them do what stock's do.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
. "$HERE/command_lines.sh"

command_lines "$HERE/integrators.table"
is "at least 30 command lines" test "$lines" -ge 30

# ---- systemd-repart ----

if ! command -v systemd-repart >/dev/null; then
	skip "systemd-repart" "it is not installed"
elif ! is_root || ! losetup -f >/dev/null 2>&1; then
	skip "systemd-repart" "needs root and loop devices"
else
	mkdir repart.d
	printf '[Partition]\nType=root\nFormat=ext4\nLabel=root\nSizeMinBytes=32M\nCopyFiles=%s:/\n' "$T/DIR" >repart.d/10-root.conf
	PATH=$with_ours systemd-repart --definitions="$T/repart.d" --empty=create --size=64M --dry-run=no --no-pager \
		--seed=00112233445566778899aabbccddeeff sd.img >.out 2>.err </dev/null
	RC=$?
	equal "systemd-repart makes a disk with mkfs.ext4 of ours" $RC 0
	equal "  whose partition has the files" "$("$BIN/xw-export" --partition 1 sd.img file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
	dd if=sd.img of=part bs=1M skip=1 status=none
	clean part "  and is clean"
	is "  ours made it" sh -c 'dumpe2fs -h part 2>/dev/null | grep -q "volume name: *root"'
fi

# ---- genimage ----

if command -v genimage >/dev/null; then
	cat >genimage.cfg <<-'C'
		image root.ext4 {
			ext4 {
				label = "root"
				use-mke2fs = true
				features = "^64bit"
				extraargs = "-m 1"
				fs-timestamp = "20240101000000"
			}
			size = 16M
		}
		image disk.img {
			hdimage { partition-table-type = "gpt" }
			partition root { image = "root.ext4" }
		}
	C
	PATH=$with_ours genimage --config genimage.cfg --rootpath DIR --tmppath tmp --inputpath in --outputpath out >.out 2>.err </dev/null
	RC=$?
	equal "genimage with use-mke2fs makes a disk with ours" $RC 0
	clean out/root.ext4 "  its filesystem is clean"
	equal "  and has the files" "$("$BIN/xw-export" --partition 1 out/disk.img file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
	is "  at the time that it asked for" sh -c 'dumpe2fs -h out/root.ext4 2>/dev/null | grep -q "created: *Mon Jan  1 00:00:00 2024"'
else
	skip "genimage" "it is not installed"
fi
done_testing 151
