#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A filesystem that is larger than its partition: nobody reads or writes behind the partition's end, those who write refuse, and
# xw-fsck says what e2fsck says about a device that is too short.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
export PYTHONDONTWRITEBYTECODE=1

KIB=1024 MIB=1048576
mkdir src && head -c 3000000 /dev/urandom >src/data && tar -cf src.tar -C src data
mkfs -q -b 1024 -O ^resize_inode -d src large 16M
works "a filesystem of 16 MiB"
cp large undoable
"$BIN/xw-tune" -q -z undo -L changed undoable
head -c $((40 * MIB)) /dev/urandom >noise

# run TOOL ARGS...: on a fresh disk
run() {
	local name=$1
	shift
	cp base disk
	T_TOOL=$name run_tool "$BIN/$name" /dev/null "$@"
}
untouched() { is "  every byte of the disk is as it was" cmp disk base; }
# refused WHAT: one line that names both sizes, and an untouched disk.
refused() {
	is "$1 refuses" test "$RC" != 0
	is "  in a line that names both sizes" grep -q "the filesystem has 16384 blocks of 1024 bytes, the partition or device holds 8192" .err
	untouched
}

# The partition of 8 MiB begins at 4 MiB, and a neighbor where it ends.
for kind in dos logical gpt gpt4096; do
	number=1
	case $kind in
	logical) number=5 table=(dos 40 4096:8192:l 12296:8192:l) ;;
	*) table=("$kind" 40 4096:8192 12288:8192) ;;
	esac
	for image in large undoable; do
		cp noise disk
		dd if=$image of=disk bs=$MIB count=8 seek=4 conv=notrunc status=none
		"$KIT/disk.py" disk "${table[@]}"
		mv disk $image.disk
	done
	cp large.disk base
	at=(--partition $number disk)

	run xw-import "${at[@]}" src.tar
	refused "$kind: xw-import"
	run xw-import --dry-run "${at[@]}" src.tar
	refused "$kind: xw-import --dry-run"
	run xw-tune -L new "${at[@]}"
	refused "$kind: xw-tune -L"
	run xw-tune -O ^has_journal "${at[@]}"
	refused "$kind: xw-tune -O"
	run xw-age --profile pazdera --files 50 --ops 100 "${at[@]}"
	refused "$kind: xw-age"
	run xw-export -o out.tar "${at[@]}"
	refused "$kind: xw-export"
	run xw-debugfs -w -R "mkdir new" "${at[@]}"
	refused "$kind: xw-debugfs -w"
	cp undoable.disk base
	run xw-undo --partition $number undo disk
	refused "$kind: xw-undo"
	run xw-undo -f --partition $number undo disk
	is "  with -f it stays in the partition" python3 -c '
a, b = open("disk", "rb").read(), open("base", "rb").read()
assert len(a) == len(b) and a[:4 << 20] == b[:4 << 20] and a[12 << 20:] == b[12 << 20:]'
	cp large.disk base
	run xw-tune -L new -E offset=$((4 * MIB)) disk
	refused "$kind: xw-tune -E offset="
	run xw-tune -L new "disk?offset=$((4 * MIB))"
	refused "$kind: xw-tune IMAGE?offset="

	run xw-dump -h "${at[@]}"
	is "$kind: xw-dump reads" grep -q "^Block count: *16384" .out
	is "  it warns" grep -q "the filesystem has 16384 blocks" .err
	run xw-freefrag "${at[@]}"
	is "$kind: xw-freefrag warns" grep -q "the filesystem has 16384 blocks" .err
	run xw-debugfs -R "stat /data" "${at[@]}"
	is "$kind: xw-debugfs warns" grep -q "the filesystem has 16384 blocks" .err
	is "  it reads what is inside" grep -q "Size: 3000000" .out
	run xw-debugfs -R "block_dump 8192" "${at[@]}"
	is "  not what is behind" grep -q "past the end" .err
	untouched

	for mode in "-p 4" "-y 8" "-fy 8" "-n 4" "-fn 4"; do
		run xw-fsck "${mode% *}" "${at[@]}"
		equal "$kind: xw-fsck $mode" "$RC" "${mode#* }"
		is "  it says why" grep -q "16384 blocks; the device has 8192. Either the superblock or the partition table" .out
		untouched
	done

	for size in 9M 16M 40M 1T; do
		run xw-mkfs -F "${at[@]}" $size
		is "$kind: xw-mkfs -F $size is refused" grep -q "is larger than partition $number (8388608)" .err
		untouched
	done
	run xw-mkfs -Fq -b 1024 -d src.tar --grow-to 1T "${at[@]}"
	equal "$kind: xw-mkfs fills the partition" "$RC $("$BIN/xw-dump" -h "${at[@]}" | sed -n 's/^Block count: *//p')" "0 8192"
	head -c 9000000 noise >src2
	run xw-mkfs -Fq -d src2 "${at[@]}"
	is "  too many contents fail" test "$RC" != 0
	is "  inside of it" python3 -c '
a, b = open("disk", "rb").read(), open("base", "rb").read()
assert len(a) == len(b) and a[:4 << 20] == b[:4 << 20] and a[12 << 20:] == b[12 << 20:]'
	# an offset that no partition has: the gap ends with the next one
	run xw-mkfs -F -E offset=$((2 * MIB)) disk 3M
	if [ $kind = logical ]; then
		is "$kind: -F -E offset= in a gap" grep -q "larger than the space at byte $((2 * MIB)) ($((2 * MIB - 64 * KIB)))" .err
	else
		is "$kind: -F -E offset= in a gap" grep -q "larger than the space at byte $((2 * MIB)) ($((2 * MIB)))" .err
	fi
	untouched
done

# The table itself is no place: between logical partitions, before the first sector that partitions may have, and behind the last one,
# also if only the backup of a GPT is left.
no_place() { # WHAT OFFSET
	local what=$1 offset=$2
	cp disk kept
	T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null -F -E offset="$offset" disk
	is "no place: $what" grep -q "no space for a filesystem at byte $offset" .err
	is "  the disk is as it was" cmp -s disk kept
}
rm -f disk && "$KIT/disk.py" disk dos 40 11264:4096:l 18432:4096:l
no_place "between logical partitions" $((17 * MIB))
rm -f disk && "$KIT/disk.py" disk gpt 16 1024:4096
no_place "the first table of a GPT" 1024
no_place "its backup" $((16 * MIB - 16384))
dd if=/dev/zero of=disk bs=512 seek=1 count=1 conv=notrunc status=none
no_place "the backup alone" $((16 * MIB - 16384))
T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null -F -E offset=$((8 * MIB)) disk
is "  before it there is a place" test "$RC" = 0
equal "  and the partition is found after that" "$(python3 -c 'print(open("disk", "rb").read()[-512:][:8])')" "b'EFI PART'"

# Asked, as in e2fsck: yes ends the check, no goes on without a repair.
for answer in y n; do
	cp base disk
	want=8
	[ $answer = y ] || want=4
	if python3 - "$BIN/xw-fsck" $answer 1 >out 2>&1 <<-'PY'; then
		import os, pty, sys
		pid, fd = pty.fork()
		if not pid:
		    os.execv(sys.argv[1], [sys.argv[1], '--partition', sys.argv[3], 'disk'])
		text, sent = b'', False
		while True:
		    try:
		        got = os.read(fd, 4096)
		    except OSError:
		        break
		    if not got:
		        break
		    text += got
		    if b'Abort<y>?' in text and not sent:
		        os.write(fd, sys.argv[2].encode())
		        sent = True
		print(text.decode(errors='replace'))
		print('status', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
		sys.exit(not sent)
	PY
		equal "xw-fsck asks, and $answer ends with $want" "$(sed -n 's/^status //p' out)" $want
	else
		fail "xw-fsck asks"
		sed 's/^/# /' out
	fi
	is "  no repair is offered" test "$(grep -c '<y>?' out)" = 1
	is "  every byte outside of the partition" python3 -c '
a, b = open("disk", "rb").read(), open("base", "rb").read()
assert len(a) == len(b) and a[:4 << 20] == b[:4 << 20] and a[12 << 20:] == b[12 << 20:]'
done
# Where the rest of the filesystem says how large it is, and that fits, the field is wrong and is repaired.
for features in metadata_csum ^metadata_csum,^64bit; do
	rm -f disk
	"$KIT/disk.py" disk dos 40 4096:16384 20480:8192
	mkfs -q -b 1024 -O $features --partition 1 disk
	printf '\x00\x80' | dd of=disk bs=1 seek=$((4 * MIB + 1028)) conv=notrunc status=none
	cp disk base
	run xw-fsck -y --partition 1 disk
	equal "$features: a wrong number of blocks is repaired" "$RC" 1
	equal "  by what the partition holds" "$("$BIN/xw-dump" -h --partition 1 disk | sed -n 's/^Block count: *//p')" 16384
	is "  nothing behind it changed" cmp -i $((20 * MIB)) disk base
done

# A GPT whose file was cut, or of which only the protective MBR or the header is left: its partitions are unknown, so no place is free.
for kind in gpt gpt4096; do
	rm -f disk && "$KIT/disk.py" disk $kind 16 1024:8192
	T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null -q -L found --partition 1 disk
	truncate -s 12M disk && cp disk base
	for left in cut header mbr; do
		cp base disk
		[ $left != header ] || dd if=/dev/zero of=disk bs=512 count=1 conv=notrunc status=none
		[ $left != mbr ] || dd if=/dev/zero of=disk bs=512 seek=1 count=8 conv=notrunc status=none
		cp disk kept
		for force in -q -F -FF; do
			T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null $force -E offset=$((5 * MIB)) disk 2M
			is "$kind, $left: xw-mkfs $force -E offset=" grep -q "belongs to the gpt partition table, which is damaged or was cut" .err
		done
		T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null -q disk
		is "  xw-mkfs of the whole" grep -q "holds a damaged or cut gpt partition table" .err
		T_TOOL=xw-tune run_tool "$BIN/xw-tune" /dev/null -L x --partition 1 disk
		is "  --partition" grep -q "the GPT is damaged or was cut" .err
		for tool in "xw-tune -L x" "xw-fsck -fy" "xw-debugfs -w -R 'mkdir d'" "xw-mkfs -q -F"; do
			eval "set -- $tool"
			T_TOOL=$1 run_tool "$BIN/$1" /dev/null "${@:2}" -E offset=$MIB disk
			is "  $1 at an offset" grep -q "partition table.* damaged.* was cut" .err
		done
		is "  the disk is as it was" cmp -s disk kept
		T_TOOL=xw-dump run_tool "$BIN/xw-dump" /dev/null -h -E offset=$MIB disk
		is "  a filesystem is still read" grep -q "volume name: *found" .out
	done
done

# A first sector that cannot be read may hold a table: what is behind it can be read, and not be changed.
preload=$(ls "$XW_BUILD"/.libs/bad_preload.so "$XW_BUILD"/bad_preload.so 2>/dev/null | head -n 1)
if [ -z "$preload" ] || ldd "$BIN/xw-fsck" 2>/dev/null | grep -q libasan; then
	skip "a partition table that cannot be read" "a sanitizer build, or one without shared libraries" 9
else
	truncate -s 4M plain
	T_TOOL=xw-mkfs run_tool "$BIN/xw-mkfs" /dev/null -q -F -L found -E offset=$MIB plain 2M
	cp plain kept
	faulty() { LD_PRELOAD=$preload XW_BAD_BLOCKS=0 XW_BAD_SIZE=512 "$@"; }
	for tool in "xw-tune -L x" "xw-fsck -fy" "xw-debugfs -w -R 'mkdir d'" "xw-mkfs -q -F"; do
		eval "set -- $tool"
		T_TOOL=$1 run_tool faulty /dev/null "$BIN/$1" "${@:2}" -E offset=$MIB plain
		is "no table can be read: $1" grep -q "cannot be read\|cannot read the partition table" .err
		is "  the file is as it was" cmp -s plain kept
	done
	T_TOOL=xw-dump run_tool faulty /dev/null "$BIN/xw-dump" -h -E offset=$MIB plain
	is "  a filesystem is still read" grep -q "volume name: *found" .out
fi
done_testing 362
