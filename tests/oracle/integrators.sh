#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that call the stock tools by name: Debian's systemd-repart and genimage make their images with ours, and command
# lines as Kubernetes, cloud-init, gparted, OpenStack, the Debian installer and others write them do what stock's do.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
. "$HERE/command_lines.sh"

command_lines "$HERE/integrators.table"
is "at least 30 command lines" test "$lines" -ge 30

# with WHOSE COMMAND...: the command finds the tools of stock, or ours under their names.
with() {
	local path=$stock
	[ "$1" != ours ] || path=$with_ours
	shift
	PATH=$path "$@" >.out 2>.err </dev/null
}
# judged WHAT IMAGE STOCKS-IMAGE: ours is clean, and the same filesystem with the same names and contents, but for times of directories,
# which the programs may have made at another second.
judged() {
	clean "$2" "$1: is clean"
	facts "$2" | sed -E 's/^(.* d .*) [0-9]+\.[0-9]+$/\1/' >ours.facts
	facts "$3" | sed -E 's/^(.* d .*) [0-9]+\.[0-9]+$/\1/' >stock.facts
	is "  what stock's tools make" diff stock.facts ours.facts
}

# ---- systemd-repart ----

if ! command -v systemd-repart >/dev/null; then
	skip "systemd-repart" "it is not installed"
elif ! is_root || ! losetup -f >/dev/null 2>&1; then
	skip "systemd-repart" "needs root and loop devices"
else
	mkdir repart.d
	printf '[Partition]\nType=root\nFormat=ext4\nLabel=root\nSizeMinBytes=32M\nSizeMaxBytes=32M\nCopyFiles=%s:/\n' "$T/DIR" >repart.d/10-root.conf
	printf '[Partition]\nType=var\nFormat=ext4\nLabel=var\nSizeMinBytes=16M\nSizeMaxBytes=16M\nMakeDirectories=/log /lib\n' >repart.d/20-var.conf
	for whose in stock ours; do
		with $whose systemd-repart --definitions="$T/repart.d" --empty=create --size=64M --dry-run=no --no-pager \
			--seed=00112233445566778899aabbccddeeff sd.$whose
		equal "systemd-repart, mkfs.ext4 $whose" $? 0
		dd if=sd.$whose of=root.$whose bs=1M skip=1 count=32 status=none
		dd if=sd.$whose of=var.$whose bs=1M skip=33 count=16 status=none
	done
	for part in root var; do judged "  its partition $part" $part.ours $part.stock; done
	equal "  its files" "$("$BIN/xw-export" --partition 1 sd.ours file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
fi

# ---- mkosi ----

# The function of mkosi 14 that makes the filesystem; all the rest of it installs a distribution.
cat >by_mkosi.py <<'PY'
import pathlib, shutil, sys, types
sys.path.append("/usr/lib/python3/dist-packages")
try:
    import mkosi
    generate, form = mkosi.generate_ext4, mkosi.OutputFormat.gpt_ext4
except (ImportError, AttributeError):
    sys.exit(77)
state = types.SimpleNamespace(for_cache=False, config=types.SimpleNamespace(
    output=pathlib.Path("mkosi.out").absolute(), output_format=form, root_size=48 << 20, minimize=sys.argv[2] == "minimize"))
with generate(state, pathlib.Path("DIR"), "root") as f:
    shutil.copyfile(f.name, sys.argv[1])
PY
for how in plain minimize; do
	for whose in stock ours; do
		with $whose python3 by_mkosi.py mkosi.$whose $how
		RC=$?
		[ $RC = 77 ] || [ $RC = 127 ] || equal "mkosi, mkfs.ext4 $whose, $how" $RC 0
	done
	if [ $RC = 77 ] || [ $RC = 127 ]; then
		skip "mkosi, $how" "mkosi 14 is not installed" 4
	else
		judged "  its filesystem" mkosi.ours mkosi.stock
	fi
done

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
	for whose in stock ours; do
		with $whose genimage --config genimage.cfg --rootpath DIR --tmppath tmp.$whose --inputpath in --outputpath out.$whose
		equal "genimage with use-mke2fs, $whose" $? 0
	done
	judged "  its filesystem" out.ours/root.ext4 out.stock/root.ext4
	equal "  its files" "$("$BIN/xw-export" --partition 1 out.ours/disk.img file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
	is "  at the time that it asked for" sh -c 'dumpe2fs -h out.ours/root.ext4 2>/dev/null | grep -q "created: *Mon Jan  1 00:00:00 2024"'
else
	skip "genimage" "it is not installed" 6
fi
done_testing 164
