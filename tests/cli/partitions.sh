#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Images of whole disks: -E offset knows the partition table, --partition N selects one, and who forgets both is told.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# disk KIND: a disk of 32 MiB with partitions 1 (8 MiB at 1 MiB) and 2 (16 MiB at 12 MiB, to 28 MiB); with "dos" an
# extended partition besides, and in it 5 (3 MiB at 29 MiB).
MIB=1048576
disk() {
	rm -f disk
	python3 - "$1" <<-'PY'
		import struct, sys, zlib, uuid
		MIB, disk = 1 << 20, bytearray(32 << 20)
		def sector(mib): return mib * 2048
		def mbr(entries):
		    b = bytearray(512)
		    for i, (kind, start, size) in enumerate(entries):
		        b[446 + 16 * i:462 + 16 * i] = struct.pack('<B3sB3sII', 0, b'\0\2\0', kind, b'\xff' * 3, start, size)
		    b[510:] = b'\x55\xaa'
		    return b
		if sys.argv[1] == 'dos':
		    disk[:512] = mbr([(0x83, sector(1), sector(8)), (0x83, sector(12), sector(16)), (5, sector(28), sector(4))])
		    disk[28 * MIB:28 * MIB + 512] = mbr([(0x83, sector(1), sector(3))])
		else:
		    linux = uuid.UUID('0fc63daf-8483-4772-8e79-3d69d8477de4').bytes_le
		    last = len(disk) // 512 - 1
		    table = bytearray(128 * 128)
		    for i, (start, size) in enumerate([(1, 8), (12, 16)]):
		        table[128 * i:128 * i + 48] = linux + uuid.UUID(int=i + 1).bytes_le + struct.pack(
		            '<QQ', sector(start), sector(start + size) - 1)
		        name = ('first', 'second')[i].encode('utf-16-le')
		        table[128 * i + 56:128 * i + 56 + len(name)] = name
		    def header(own, other, at):
		        h = struct.pack('<8sIIIIQQQQ16sQIII', b'EFI PART', 0x10000, 92, 0, 0, own, other, 34, last - 33,
		                        uuid.UUID(int=9).bytes_le, at, 128, 128, zlib.crc32(table))
		        return h[:16] + struct.pack('<I', zlib.crc32(h)) + h[20:]
		    disk[:512] = mbr([(0xee, 1, last)])
		    disk[512:604] = header(1, last, 2)
		    disk[1024:1024 + len(table)] = table
		    disk[(last - 32) * 512:(last - 32) * 512 + len(table)] = table
		    disk[last * 512:last * 512 + 92] = header(last, 1, last - 32)
		open('disk', 'wb').write(disk)
	PY
}
size_in() { "$BIN/xw-dump" -h --partition "$1" disk 2>/dev/null | sed -n 's/^Block count: *//p'; }
backup() { tail -c 16896 disk | cksum; }
mkdir src && echo hello >src/file

for kind in dos gpt; do
	disk $kind
	before=$(backup)
	mkfs -q -E offset=$MIB -L one disk
	works "$kind: -E offset without SIZE at the first partition"
	equal "  it ends where that ends" "$(size_in 1)" 2048
	mkfs -q -E offset=$((12 * MIB)) -L two -d src disk
	works "$kind: the second, filled"
	equal "  it ends where that ends, not at the end of the disk" "$(size_in 2)" 4096
	equal "  the file has its size" "$(stat -c %s disk)" $((32 * MIB))
	[ $kind = dos ] || equal "  the backup of the table is unchanged" "$(backup)" "$before"
	equal "  the other filesystem is untouched" "$("$BIN/xw-dump" -h --partition 1 disk | sed -n 's/.*volume name: *//p')" one

	disk $kind
	mkfs -q -E offset=$MIB disk 10M
	fails 1 "SIZE of 10485760 bytes is larger than partition 1 \(8388608\)" "$kind: SIZE beyond the partition"
	is "  nothing was written" test -z "$("$BIN/xw-dump" -h -E offset=$MIB disk 2>/dev/null)"
	mkfs -q -E offset=$MIB disk 20M
	fails 1 "larger than partition 1 \(8388608\); it would overwrite partition 2 at 12582912" "  nor into the next partition"
	for size in 10M 20M 40M; do
		mkfs -Fq -E offset=$MIB disk $size
		fails 1 "is larger than partition 1 \(8388608\)" "  nor with -F $size"
		is "  nothing was written" test -z "$("$BIN/xw-dump" -h -E offset=$MIB disk 2>/dev/null)"
		equal "  the disk keeps its size" "$(stat -c %s disk)" $((32 * MIB))
	done
	for at in 4096 $((2 * MIB)) $((40 * MIB)); do
		disk $kind
		mkfs -q -E offset=$at disk 2M
		fails 1 "no partition begins at byte $at: the $kind partition table has 1 at 1048576, 2 at 12582912" \
			"$kind: offset $at, where none begins"
	done
	mkfs -q -n -E offset=4096 disk 2M
	fails 1 "no partition begins" "  nor a plan"
	mkfs -Fq -E offset=$((2 * MIB)) disk 2M
	equal "  with -F it is made" "$RC" 0
	is "  and a line says over what" grep -q "the filesystem overwrites partition 1 at $MIB" .err

	disk $kind
	mkfs -q --partition 2 -d src disk
	works "$kind: xw-mkfs --partition 2"
	equal "  is that partition" "$("$BIN/xw-export" -E offset=$((12 * MIB)) disk file | tar xOf - file)" hello
	mkfs -q --partition 2 disk
	fails 1 "holds an ext4 filesystem" "  and is not overwritten without -F"
	mkfs -q --partition 7 disk
	fails 1 "no partition 7: the $kind partition table has 1 at 1048576" "  a partition that does not exist"
	mkfs -q --partition 0 disk
	fails 1 "no partition 0" "  numbers begin with 1"
	mkfs -q --partition 1 -E offset=4096 disk
	fails 2 "exclude each other" "  with an offset besides"
	mkfs -q disk
	fails 1 "holds a $kind partition table" "$kind: a whole disk is refused"
	is "  --replace would not keep them" sh -c '! grep -q -e --replace .err && grep -q "pass -F to overwrite the whole disk" .err'
	is "  its partitions are named" grep -q -- "--partition N selects a partition (1 at 1048576, 2 at 12582912" .err

	# Every tool, without and with --partition.
	for tool in "xw-dump -h" "xw-freefrag" "xw-tune -l" "xw-tune -L new" "xw-export -t" "xw-age --measure" \
		"xw-debugfs -R stats" "xw-fsck -fn" "xw-import disk src"; do
		name=${tool%% *} rest=${tool#xw-* }
		case $tool in
		xw-import*) args=(disk src) ;;
		xw-freefrag) args=(disk) ;;
		*) read -ra args <<<"$rest" && args+=(disk) ;;
		esac
		[ "$tool" != "xw-debugfs -R stats" ] || args=(-R stats disk)
		T_TOOL=$name run_tool "$BIN/$name" /dev/null "${args[@]}"
		is "$kind: $tool of a whole disk fails and names its partitions" \
			grep -q "$kind partition table: --partition N selects a partition (1 at 1048576, 2 at 12582912" .err
		is "  with a failure" test "$RC" != 0
		T_TOOL=$name run_tool "$BIN/$name" /dev/null --partition 2 "${args[@]}"
		equal "  --partition 2" "$RC" 0
		T_TOOL=$name run_tool "$BIN/$name" /dev/null --partition 2 -E offset=$MIB "${args[@]}"
		is "  and an offset are one error" grep -Fxq "$name: --partition and an offset exclude each other" .err
		T_TOOL=$name run_tool "$BIN/$name" /dev/null --partition 3 "${args[@]}"
		is "  --partition 3 is not there" grep -q "no partition 3: the $kind partition table has 1 at" .err
	done
	for name in xw-dump xw-freefrag xw-tune xw-export xw-fsck xw-import; do
		case $name in
		xw-tune) args=(-l) ;;
		xw-export) args=(-t) ;;
		xw-fsck) args=(-fn) ;;
		*) args=() ;;
		esac
		set -- ${args[@]+"${args[@]}"} "disk?offset=$((12 * MIB))"
		[ $name != xw-import ] || set -- "$@" src
		T_TOOL=$name run_tool "$BIN/$name" /dev/null "$@"
		equal "$kind: $name IMAGE?offset=" "$RC" 0
		T_TOOL=$name run_tool "$BIN/$name" /dev/null -E offset=$MIB "$@"
		is "  and -E offset= are one error" grep -Fxq "$name: disk: -E offset= and ?offset= exclude each other" .err
		T_TOOL=$name run_tool "$BIN/$name" /dev/null --partition 1 "$@"
		is "  and --partition, too" grep -Fxq "$name: --partition and an offset exclude each other" .err
	done
done

disk dos
mkfs -q --partition 5 -L logical disk
works "a logical partition"
equal "  its size" "$(size_in 5)" 768
mkfs -q --partition 3 disk
fails 1 "no partition 3" "an extended partition is none"
mkfs -q -E offset=$((28 * MIB)) disk
fails 1 "no partition begins" "  nor does one begin there"

# Names: of the partition, of its entry, of the filesystem in it.
label_in() { "$BIN/xw-dump" -h --partition "$1" disk 2>.err | sed -n 's/.*volume name: *//p'; }
disk gpt
mkfs -q --partition PARTUUID=00000000-0000-0000-0000-000000000001 -L one -U 11111111-2222-3333-4444-555555555555 disk
mkfs -q --partition second -L two disk
works "--partition with the name of a partition"
for name in 1 PARTLABEL=first first LABEL=one one UUID=11111111-2222-3333-4444-555555555555 \
	11111111-2222-3333-4444-555555555555 00000000-0000-0000-0000-000000000001; do
	equal "  $name" "$(label_in $name)" one
done
for name in two LABEL=two second PARTUUID=00000000-0000-0000-0000-000000000002; do
	equal "  $name" "$(label_in $name)" two
done
for name in LABEL=first PARTLABEL=one LABEL= PARTLABEL= third; do
	T_TOOL=xw-dump run_tool "$BIN/xw-dump" /dev/null -h --partition "$name" disk
	is "  $name is nowhere" grep -q "no partition $name: the gpt partition table has 1 at" .err
done
"$BIN/xw-tune" --partition 2 -L one disk >/dev/null
T_TOOL=xw-dump run_tool "$BIN/xw-dump" /dev/null -h --partition one disk
is "  a label of two is refused" grep -q "2 partitions are called one; give the number" .err
"$BIN/xw-tune" --partition 2 -L first disk >/dev/null
equal "  a partition's own name comes before a label" "$(label_in first)" one
disk dos
mkfs -q --partition 5 -L logical disk
equal "  a label in a dos table" "$(label_in logical)" logical

"$BIN/xw-dump" --json -h --partition 4 disk >.out 2>.err
is "--json: a missing partition is an object" python3 -c 'import json;json.load(open(".out"))["error"]'
truncate -s 1M empty
T_TOOL=xw-dump
run_tool "$BIN/xw-dump" /dev/null --partition 1 empty
fails 1 "no partition table" "an image without a table"
T_TOOL=xw-dump
run_tool "$BIN/xw-dump" /dev/null --partition 1 missing
fails 1 "cannot open: No such file" "a missing image"
mkfs -q --replace --partition 1 disk
fails 2 "not with --partition" "--replace with --partition"

# A partition without a filesystem is named in the line that says so, an undo file knows its way in the whole disk.
disk gpt
mkfs -q --partition 2 -L two disk
for tool in "xw-dump -h" xw-freefrag "xw-tune -l" "xw-tune -L new" "xw-export -t" "xw-age --measure" "xw-debugfs -R stats" "xw-fsck -fn" \
	"xw-import"; do
	read -ra args <<<"$tool --partition first disk"
	[ "${args[0]}" != xw-import ] || args+=(src)
	[ "${args[0]}" != xw-debugfs ] || args=(xw-debugfs -R stats --partition first disk)
	T_TOOL=${args[0]} run_tool "$BIN/${args[0]}" /dev/null "${args[@]:1}"
	is "$tool of a partition without a filesystem names it" grep -q "^${args[0]}: disk: partition first: no.* ext2, ext3 or ext4" .err
done
"$BIN/xw-fsck" --json -fn --partition 1 disk >.out 2>.err
is "  in JSON, too" python3 -c 'import json;assert json.load(open(".out"))["error"].startswith("disk: partition 1: no")'
dd if=disk of=part bs=$MIB skip=12 count=16 status=none
cp disk before
for where in "part" "--partition 2 disk"; do
	rm -f undo
	# shellcheck disable=SC2086
	"$BIN/xw-tune" -q -z undo -O ^has_journal $where
	[ "$where" != part ] || dd if=part of=disk bs=$MIB seek=12 conv=notrunc status=none
	is "$where: changed" sh -c '! cmp -s disk before'
	T_TOOL=xw-undo run_tool "$BIN/xw-undo" /dev/null --partition 1 undo disk
	is "  xw-undo --partition of another partition is refused" test "$RC" != 0
	T_TOOL=xw-undo run_tool "$BIN/xw-undo" /dev/null --partition 2 undo disk
	works "  xw-undo --partition"
	is "  every byte of the disk" cmp disk before
done
dd if=before of=disk conv=notrunc status=none
rm -f undo
"$BIN/xw-tune" -q -z undo -L other part
"$BIN/xw-tune" -q -L other --partition 2 disk
dd if=part of=disk bs=$MIB seek=12 conv=notrunc status=none
T_TOOL=xw-undo run_tool "$BIN/xw-undo" /dev/null undo "disk?offset=$((12 * MIB))"
works "xw-undo IMAGE?offset="
equal "  the label is back" "$(label_in 2)" two
T_TOOL=xw-undo
run_tool "$BIN/xw-undo" /dev/null -o $MIB --partition 2 undo disk
fails 2 "--partition and an offset exclude each other" "  with -o besides"
run_tool "$BIN/xw-undo" /dev/null --partition 3 undo disk
fails 1 "no partition 3" "  a partition that does not exist"
T_TOOL=xw-mkfs
for size in 10X x 1Z; do
	mkfs -q --grow-to $size new 16M
	fails 2 "--grow-to $size: must be a number of bytes, or one with K M G T \(or k m g t\); 1M to 2\^60 bytes" "--grow-to $size says what is allowed"
done
mkfs -q --grow-to 1g new 16M
works "  a small letter is"

# A file that ends before the partition does is not extended: nothing is, through the window of a disk.
disk dos
truncate -s 20M disk
mkfs -q --partition 2 disk
works "a disk that was cut off"
equal "  it ends with the file" "$(size_in 2)" 2048
mkfs -Fq --partition 2 disk 16M
fails 1 "SIZE of 16777216 bytes is larger than partition 2 \(8388608\)" "  SIZE beyond the file"
truncate -s 12M disk
mkfs -Fq --partition 2 disk
fails 2 "no space for a filesystem at byte 12582912: the file ends at 12582912" "  a partition behind the file's end"
equal "  the file keeps its size" "$(stat -c %s disk)" $((12 * MIB))

# What boots on a disk looks like a table, but a filesystem that has a boot sector is none.
mkfs -q fs 8M
printf '\x55\xaa' | dd of=fs bs=1 seek=510 conv=notrunc status=none
T_TOOL=xw-dump run_tool "$BIN/xw-dump" /dev/null -h fs
is "a filesystem with a boot sector" test "$RC" = 0

# The partitions are named where they help: not beside another error about the same disk.
disk gpt
printf 'no undo file' >other
while read -r name args; do
	# shellcheck disable=SC2086 # the arguments are words
	T_TOOL=$name run_tool "$BIN/$name" /dev/null $args
	equal "$name $args: no hint about partitions" "$RC $(grep -c 'partition table' .err)" "$([ "$name" = xw-age ] && echo 2 || echo 1) 0"
done <<'TABLE'
xw-undo none disk
xw-undo other disk
xw-age --files 3 disk
xw-export -o none/x disk
TABLE

# Offsets are sizes, in one wording for all tools; one beyond the end is named, and a wrong one names the partitions.
disk gpt
mkfs -q --partition 1 disk
: >empty
for tool in "xw-fsck -fn" "xw-dump -h" "xw-tune -l" "xw-age --measure" "xw-debugfs -R stats" "xw-export -t"; do
	read -ra args <<<"$tool"
	name=${args[0]}
	for offset in 1M 1MiB 2048s $MIB; do
		T_TOOL=$name run_tool "$BIN/$name" /dev/null "${args[@]:1}" -E offset=$offset disk
		equal "$tool -E offset=$offset" "$RC" 0
	done
	T_TOOL=$name run_tool "$BIN/$name" /dev/null "${args[@]:1}" -E offset=1X disk
	is "  1X is none" grep -Fxq "$name: -E offset=1X: must be a number of bytes, or one with s K M G T" .err
	T_TOOL=$name run_tool "$BIN/$name" /dev/null "${args[@]:1}" -E offset=64M disk
	is "  beyond the end" grep -q "disk: offset 67108864 is beyond the end at 33554432" .err
	is "  no backup is proposed" sh -c '! grep -q "backup superblock" .err'
	T_TOOL=$name run_tool "$BIN/$name" /dev/null "${args[@]:1}" -E offset=2M disk
	is "  elsewhere the partitions are named" grep -q "selects a partition (1 at 1048576, 2 at 12582912" .err
done
T_TOOL=xw-dump run_tool "$BIN/xw-dump" /dev/null empty
is "an empty file has no backup superblock" sh -c 'grep -q "too small" .err && ! grep -q "backup superblock" .err'
# --replace is not proposed where it is impossible.
head -c 9000000 /dev/urandom >src/large
mkfs -qF --partition 1 -d src disk
is "too small a partition: no --replace" sh -c 'grep -q "too small" .err && ! grep -q -e --replace .err'
mkfs -qF --free 1M --partition 1 -d src disk
is "--free in a partition: likewise" sh -c 'grep -q -e "--free: only for a new image without SIZE" .err'
done_testing 309
