#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Redo files of block devices: without --redo-file they are in one directory, where the next tool finds the one that belongs to
# its device, and touches no other.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD/.libs/libextwright.so" 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
can_loop || skip_all "needs root and loop devices"
have_e2fsck || skip_all "needs e2fsck"
export SOURCE_DATE_EPOCH=1700000000 EXTWRIGHT_STATE_DIR=$T/state/of/redo
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 V=6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f11

mkdir -p d/sub more
for i in $(seq 1 100); do echo "$i" >"d/sub/name-of-file-$i"; done
seq 1 2000 >more/file
mkfs -q -b 1024 -O ^has_journal -U $U -E hash_seed=$U -d d old 4M
works "an image"
make_tar more more.tar
cp old img && loop=$(losetup -f --show img)
cp old copy && clone=$(losetup -f --show copy)
cp old third && other=$(losetup -f --show third)
run() { # TOOL ARGUMENT...: on the device where an argument is DEV
	T_TOOL=$1
	run_tool "$BIN/$1" /dev/null "${@:2}"
}
put_old() { cat old >"$loop" && rm -rf state; }
redo_files() { ls -A "$EXTWRIGHT_STATE_DIR" 2>/dev/null | wc -l; }
sum() { sha256sum <"$1" | cut -c 1-64; }
# What each tool makes of the device, cut at every third write of its own, then completed by another tool.
each_step() { # FINISH -- TOOL ARGUMENT...
	local finish=$1 new steps k old_sum n_old=0 n_half=0 n_new=0 bad=0 now
	shift 2
	put_old
	old_sum=$(sum "$loop")
	LD_PRELOAD=$fault XW_FAULT_PATH=$loop XW_FAULT_LOG=$T/steps "$BIN/$1" "${@:2}" </dev/null >.out 2>.err
	new=$(sum "$loop") steps=$(cat steps)
	[ "$new" != "$old_sum" ] && [ "$(redo_files)" = 0 ] || bad=1
	for k in $(seq 1 "$steps" | strided 5); do
		for mode in cut torn; do
			put_old
			LD_PRELOAD=$fault XW_FAULT_PATH=$loop XW_FAULT_AT=$k XW_FAULT_MODE=$mode "$BIN/$1" "${@:2}" </dev/null >.out 2>.err
			now=$(sum "$loop")
			if [ "$now" = "$old_sum" ]; then
				n_old=$((n_old + 1))
			elif [ "$now" = "$new" ]; then
				n_new=$((n_new + 1))
			elif [ "$(redo_files)" = 1 ]; then
				n_half=$((n_half + 1))
			fi
			$finish >.out 2>.err </dev/null
			# A file of a change that was not begun stays only where the kernel does not number disks: it could be that of a copy.
			[ "$(redo_files)" = 0 ] || { [ ! -e "/sys/block/${loop##*/}/diskseq" ] && grep -q "did not reach its commit point" .err; } || { diag "$mode at $k: a redo file is left"; bad=$((bad + 1)); }
			now=$("$BIN/xw-export" "$loop" 2>/dev/null | sha256sum)
			case $now in
			"$was_old" | "$was_new") ;;
			*) diag "$mode at $k: neither old nor new: $(head -n 2 .err)"; bad=$((bad + 1)) ;;
			esac
			quiet=$(e2fsck -fn "$loop" 2>&1) || { diag "$mode at $k: e2fsck: $quiet"; bad=$((bad + 1)); }
		done
	done
	equal "$1: $steps steps, $n_old old, $n_half half done, $n_new new" "$bad $((n_half > 0))" "0 1"
}
was_old=$("$BIN/xw-export" "$loop" | sha256sum)
was_new=$was_old
# --redo-file: otherwise the record is in free blocks of the device
in_dir=(--redo-file "$EXTWRIGHT_STATE_DIR/")
each_step "$BIN/xw-fsck -p $loop" -- xw-tune "${in_dir[@]}" -O ^dir_index -L changed "$loop"
each_step "$BIN/xw-tune -f -U $V $loop" -- xw-tune "${in_dir[@]}" -U $V -O ^metadata_csum "$loop"
put_old
run xw-import "$loop" more.tar
was_new=$("$BIN/xw-export" "$loop" | sha256sum)
each_step "$BIN/xw-fsck -fy $loop" -- xw-import "${in_dir[@]}" "$loop" more.tar

# Damage, and its repair.
put_old
"$BIN/xw-debugfs" -w -R 'setb 3000' "$loop" >/dev/null 2>&1
cp img old
was_new=$was_old
each_step "$BIN/xw-fsck -fy $loop" -- xw-fsck "${in_dir[@]}" -fy "$loop"

# A change that is half done.
half() { # DEVICE
	LD_PRELOAD=$fault XW_FAULT_PATH=$1 XW_FAULT_AT=2 XW_FAULT_MODE=cut "$BIN/xw-tune" "${in_dir[@]}" -O ^dir_index -L half "$1" </dev/null >.out 2>.err
}
rm -rf state
cat old >"$loop" && cat old >"$clone" && cat old >"$other"
half "$loop"
equal "half a change of a device: one file" "$(redo_files)" 1
is "  called after the UUID" sh -c "ls '$EXTWRIGHT_STATE_DIR' | grep -qE '^$U-[0-9a-f]{16}[.]xw-redo\$'"
equal "  and nobody else reads it" "$(stat -c %a "$EXTWRIGHT_STATE_DIR")" 700
half "$clone"
equal "a copy of the filesystem: a file of its own" "$(redo_files)" 2
run xw-fsck -fn "$other"
is "a third copy: nothing to complete" grep -q 'Pass 5' .out
run xw-tune -L third "$other"
equal "  and a change to it goes through" "$RC $(redo_files)" "0 2"
run xw-dump -h "$loop"
is "readers complete it in memory" grep -q 'half' .out
equal "  and leave the file" "$(redo_files)" 2
run xw-fsck -p "$loop"
equal "the first is completed" "$(redo_files) $("$BIN/xw-tune" -l "$loop" | sed -n 's/^Filesystem volume name: *//p')" "1 half"
run xw-debugfs -w -R 'ls /' "$clone"
equal "the second is completed" "$(redo_files) $("$BIN/xw-tune" -l "$clone" | sed -n 's/^Filesystem volume name: *//p')" "0 half"

# A loop device is its file, whatever was attached to it before.
name_of() { "$BIN/xw-tune" -l "$1" | sed -n 's/^Filesystem volume name: *//p'; }
cat old >"$loop"
half "$loop"
losetup -d "$loop" && cp img again && loop=$(losetup -f --show again)
run xw-fsck -p "$loop"
equal "a copy of a half changed one, on the same device: completed, and the file stays" \
	"$(name_of "$loop") $(redo_files) $(grep -c 'is complete in .*; delete it unless' .err)" "half 1 1"
losetup -d "$loop" && loop=$(losetup -f --show img)
run xw-fsck -p "$loop"
equal "  the first one, attached anew: completed, and the file is gone" "$(name_of "$loop") $(redo_files) $(cat .err)" \
	"half 0 $loop: completed an interrupted change"

# What is refused.
cat old >"$loop"
half "$loop"
mkdir elsewhere && mv "$EXTWRIGHT_STATE_DIR"/* elsewhere/
run xw-tune -L x "$loop"
fails 1 "$loop: a change was interrupted, and no redo file in $EXTWRIGHT_STATE_DIR completes it; --redo-file FILE names one" \
	"a redo file that was moved away"
run xw-tune --redo-file elsewhere/* -L x "$loop"
equal "  is named by --redo-file" "$RC $(cat .err)" "0 $loop: completed an interrupted change"
cat old >"$loop"
half "$loop"
rm -rf "$EXTWRIGHT_STATE_DIR"
run xw-fsck -p "$loop"
equal "a redo file that is lost: -p leaves that to a person" "$RC" 4
run xw-fsck -y "$loop"
equal "  and -y goes on without it" "$RC" 1
clean "$loop" "  and all is right"
rm -rf state && echo 'no directory' >state
run xw-tune "${in_dir[@]}" -U $V "$loop"
fails 1 "$EXTWRIGHT_STATE_DIR: cannot create the directory for redo files" "where there can be no directory"
rm -f state
if mkdir full && mount -t tmpfs -o size=16k none full 2>/dev/null; then
	at_end "umount $T/full"
	run xw-tune --redo-file "$T/full/redo/" -O ^metadata_csum "$loop"
	fails 1 "$T/full/redo/$U-.*xw-redo.tmp: .*No space left" "no room for the redo file"
	clean "$loop" "  and the device is as it was"
else
	skip "no room for the redo file" "needs tmpfs"
fi
# --redo-file DIR serves images that are files as well.
cp old file
run xw-tune --redo-file dir/ -U $V file
works "--redo-file DIR/"
equal "  is made, and empty again" "$(ls -d dir) $(ls dir)" "dir "
equal "  and nothing lies beside the image" "$(ls -d file*)" file
run xw-fsck -fy --redo-file dir file
equal "--redo-file of a directory" "$RC $(ls -d file*)" "1 file"
done_testing 29
