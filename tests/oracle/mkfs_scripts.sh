#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What scripts ask of mke2fs besides a filesystem: its version, where the backups of the superblock are, a plan of a device in use,
# old names of options, sector sizes that the environment says, and storage that is zeroed already. Stock mke2fs is asked beside it.
. "$(dirname "$0")/../cli/lib.sh"
for c in mke2fs dumpe2fs e2fsck; do command -v $c >/dev/null || skip_all "$c is not installed"; done
mkdir ours
for name in mke2fs mkfs.ext4; do ln -s "$MKFS" ours/$name; done
export MKE2FS_SKIP_PROGRESS=1 MKE2FS_SKIP_CHECK_MSG=1
field() { dumpe2fs -h img 2>/dev/null | sed -n "s/^$1:[[:space:]]*//p"; }

# ---- -V ----
equal "-V under a stock name: on stderr, the first line is stock's" "$(ours/mkfs.ext4 -V 2>&1 >/dev/null | head -n 1)" \
	"$(mkfs.ext4 -V 2>&1 >/dev/null | head -n 1 | sed 's/1\.47\..*/1.47.0 (5-Feb-2023)/')"
equal "  nothing on stdout" "$(ours/mke2fs -V 2>/dev/null; echo $?)" 0
for name in e2fsck dumpe2fs debugfs; do
	ln -s "$BIN/xw-${name/e2fsck/fsck}" ours/$name
	[ $name != dumpe2fs ] || ln -sf "$BIN/xw-dump" ours/$name
	equal "$name -V" "$(ours/$name -V 2>&1 >/dev/null | head -n 1)" "$name 1.47.0 (5-Feb-2023)"
done

# ---- backups of the superblock ----
backups() { sed -n '/^Superblock backups/,$p' | sed '/^$/d'; }
: >img # stock looks at an existing file alone
same=0 all=0
while read -r args; do
	all=$((all + 1))
	# shellcheck disable=SC2086
	mke2fs -n -F $args 2>/dev/null </dev/null | backups >stock.txt
	# shellcheck disable=SC2086
	"$MKFS" -n -F -t ext2 $args 2>/dev/null </dev/null | backups >own.txt
	if cmp -s stock.txt own.txt; then same=$((same + 1)); else diff stock.txt own.txt | head -n 4; fi
done <<'TABLE'
-b 4096 img 100M
-b 4096 img 1G
-b 4096 img 100G
-b 4096 -O 64bit,extent img 17T
-b 1024 img 5M
-b 1024 img 30G
-b 2048 img 3G
-b 1024 -g 256 -O ^resize_inode img 20M
-b 1024 -g 512 -O ^resize_inode,^sparse_super img 200M
-b 4096 -O sparse_super2 img 1G
-b 4096 -O sparse_super2 -E num_backup_sb=1 img 1G
-b 4096 -O meta_bg,^resize_inode img 1G
TABLE
equal "the backups are listed as by stock, lines and all" "$same of $all" "12 of 12"
mkfs -b 1024 img 20M
works "a run lists them, too"
equal "  the same" "$(backups <.out)" "$(mke2fs -n -F -b 1024 img 20M 2>/dev/null | backups)"
mkfs --json -F -b 1024 img 20M
if command -v python3 >/dev/null; then
	equal "--json has them as numbers" \
		"$(python3 -c 'import json; print(json.load(open(".out"))["superblock_backups"])')" "[8193]"
else
	skip "--json has them as numbers" "python3 is not installed" 1
fi
mkfs -q -F img 20M
equal "-q lists nothing" "$(wc -c <.out)" 0

# ---- -n ----
before=$(sha256sum <img)
mkfs -n -b 1024 img
equal "-n over a filesystem: what it is, and the plan" "$RC $(grep -c 'warning: img: holds an ext4' .err) $(backups <.out | wc -l)" "0 1 2"
equal "  and it is as it was" "$(sha256sum <img)" "$before"
if can_loop; then
	mkdir -p mnt
	dev=$(losetup --find --show img)
	mount -o ro "$dev" mnt
	before=$(sha256sum <img)
	mkfs -n -b 1024 "$dev"
	equal "-n of a mounted device: said, and the plan" "$RC $(grep -c 'is mounted' .err) $(backups <.out | wc -l)" "0 1 2"
	mkfs -n -b 1024 img
	equal "-n of a file behind a mount" "$RC $(grep -c 'in use by' .err) $(backups <.out | wc -l)" "0 1 2"
	mkfs -F "$dev"
	fails 1 "is mounted" "without -n it is refused"
	umount mnt
	losetup -d "$dev"
	equal "  all is as it was" "$(sha256sum <img)" "$before"
else
	skip "-n of a mounted device" "needs root and loop mounts" 4
fi

# ---- old names ----
rm -f img # the loop device may be there a moment longer
mkfs -q -F -R stride=8,stripe-width=16 img 20M
equal "-R is -E" "$RC $(field 'RAID stride') $(field 'RAID stripe width')" "0 8 16"
run_tool ours/mke2fs /dev/null -q -F -R nosuch img 20M
equal "  errors, too" "$RC $(grep -c nosuch .err)" "1 1"
mkfs -q -F -O quota -Q grpquota img 20M
equal "-Q is -E quotatype=" "$RC $(field 'User quota inode') $(field 'Group quota inode')" "0  4"

# ---- sector sizes by the environment ----
rm -f img
truncate -s 20M img
cp img zero
table() {
	local var args size said RC
	while read -r var args; do
		cp zero img
		RC=0
		# shellcheck disable=SC2086
		env "MKE2FS_DEVICE_$var" "$1" -q -F $args img </dev/null >out 2>&1 || RC=1
		size=$(field 'Block size')
		said=$(grep -Eic 'too small for device|less than the sector size' out)/$(grep -ic 'physical sector' out)
		echo "$var $args: $RC $size $said"
	done <<-'TABLE'
		SECTSIZE=2048 -b 1024
		SECTSIZE=2048 -b 2048
		SECTSIZE=2048 -T floppy
		SECTSIZE=4096 -T floppy
		SECTSIZE=4096 -b 2048
		SECTSIZE=0x1000 -T floppy
		SECTSIZE=0 -b 1024
		SECTSIZE=none -b 1024
		PHYS_SECTSIZE=4096 -b 1024
		PHYS_SECTSIZE=4096 -b 4096
		PHYS_SECTSIZE=4096 -T floppy
		PHYS_SECTSIZE=8192 -b 1024
		PHYS_SECTSIZE=0 -b 1024
	TABLE
}
table mke2fs >stock.txt
table "$MKFS" >own.txt
is "MKE2FS_DEVICE_SECTSIZE, MKE2FS_DEVICE_PHYS_SECTSIZE: as stock" diff stock.txt own.txt
equal "  all of the table" "$(wc -l <own.txt)" 13

# ---- storage that is zeroed ----
zeroed() { dumpe2fs img 2>/dev/null | grep -c '^Group .*ITABLE_ZEROED'; }
letters() { tr -cd x <img | wc -c; }
fill() { head -c 64M /dev/zero | tr '\0' x >img; }
fill
mkfs -q -F -b 1024 -E nodiscard img
least=$(letters)
fill
mkfs -q -F -b 1024 -E nodiscard,assume_storage_prezeroed=1 img
equal "-E assume_storage_prezeroed: tables count as zeroed" "$RC $(zeroed)" "0 8"
is "  without being written, nor the journal" test "$(letters)" -gt $((least + 7000000))
fill
mkfs -q -F -b 1024 -E nodiscard,assume_storage_prezeroed=0 img
equal "  =0 zeroes them" "$RC $(zeroed)" "0 8"
is "  really: no more is left than by default (identities and checksums hold some)" test "$(letters)" -lt $((least + 1000))
: >img
truncate -s 64M img
mkfs -q -F -b 1024 -E nodiscard,assume_storage_prezeroed img
works "  over zeros"
clean img "  e2fsck finds nothing"
mkfs -q -F -E assume_storage_prezeroed=2 img
fails 2 "must be 0 or 1" "  other values are refused"
done_testing 28
