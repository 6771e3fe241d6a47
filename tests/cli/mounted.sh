#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An image that is mounted is known by whatever name, and nothing writes to it; nor to one that was mounted while a change was made.
. "$(dirname "$0")/lib.sh"
can_loop || skip_all "needs root and loop mounts"
command -v losetup >/dev/null || skip_all "needs losetup"

mkdir d mnt one two elsewhere
seq 1 2000 >d/file
mkfs -q -d d pristine 16M
works "an image"
fresh() { umount mnt 2>/dev/null; rm -f one/* elsewhere/*; cp --sparse=always pristine one/img; }
mounted() { fresh && mount -o loop one/img mnt; }
at_end "umount '$T/mnt'"

# refused NAME DESCRIPTION: of the file below mnt, by that name
refused() {
	sum=$(sha256sum <"$1")
	mkfs -F "$1" 16M
	fails 1 "$1: in use by /dev/loop" "$2: xw-mkfs"
	import "$1" d
	fails 1 "$1: in use by /dev/loop" "$2: xw-import"
	T_TOOL=xw-tune
	run_tool "$BIN/xw-tune" /dev/null -L foo "$1"
	fails 1 "$1: in use by /dev/loop" "$2: xw-tune"
	T_TOOL=xw-fsck
	run_tool "$BIN/xw-fsck" /dev/null -fy "$1"
	fails 8 "$1: in use by /dev/loop" "$2: xw-fsck"
	run_tool "$BIN/xw-fsck" /dev/null -fn "$1"
	is "$2: xw-fsck -n warns" grep -q "$1 is in use by /dev/loop" .err
	run_tool "$BIN/xw-debugfs" /dev/null -w -R 'mkdir x' "$1"
	is "$2: xw-debugfs -w" grep -q "$1: in use by /dev/loop" .err
	equal "  nothing was written" "$(sha256sum <"$1")" "$sum"
}
mounted
refused one/img "its name"
ln one/img elsewhere/hard
refused elsewhere/hard "a hard link"
mv one/img elsewhere/moved
refused elsewhere/moved "moved since"
mounted
if mount --bind one two 2>/dev/null; then
	at_end "umount '$T/two'"
	refused two/img "through a bind mount"
	umount two
else
	skip "through a bind mount" "none can be made"
fi
mv one/img one/aside
cp --sparse=always pristine one/img
import one/img d
works "another file that has taken its name is free"
umount mnt
import one/aside d
works "and it is free when it is no longer mounted"

# systemd-repart and udevadm lock hold the BSD lock of the device that they call mkfs for.
truncate -s 16M disk
if loop=$(losetup -f --show disk); then
	T_ARGS="flock $loop xw-mkfs $loop"
	RC=0
	flock "$loop" "$MKFS" -q -F "$loop" >.out 2>.err </dev/null || RC=$?
	works "a device whose BSD lock the caller holds"
	losetup -d "$loop"
else
	skip "a device whose BSD lock the caller holds" "no loop device"
fi

# A device that is mounted, or in use otherwise: every tool that writes refuses it, with the same words.
watched=16777216 # bytes; of swap space, which Linux writes at any time, only the header
busy() { # DESCRIPTION DEVICE WORDS [PARTITION-OPTION...]
	local desc=$1 dev=$2 words=$3 bad='' sum args
	shift 3
	sum=$(head -c $watched "$dev" | sha256sum)
	while read -r T_TOOL args; do
		[ -n "$T_TOOL" ] || continue
		# shellcheck disable=SC2086
		run_tool "$BIN/$T_TOOL" /dev/null $args
		[ "$RC" != 0 ] && grep -q "$T_TOOL: .*$words" .err || bad+=" $T_TOOL ($RC: $(head -n 1 .err));"
	done <<-END
		${1:-xw-mkfs -F -F $dev}
		xw-import $* $dev d
		xw-tune $* -L x $dev
		xw-debugfs $* -w -R ls $dev
		xw-age $* -q --profile pazdera --ops 10 $dev
		xw-fsck $* -fy $dev
	END
	equal "$desc" "$bad" ""
	equal "  and nothing was written" "$(head -c $watched "$dev" | sha256sum)" "$sum"
}
if loop=$(losetup -f --show disk) && "$MKFS" -q -F "$loop"; then
	mount "$loop" mnt
	busy "a device that is mounted" "$loop" "$loop is mounted"
	run_tool "$BIN/xw-fsck" /dev/null -fn "$loop"
	is "  xw-fsck -n warns" grep -q "$loop is mounted; what is found may be a change in progress" .err
	umount mnt
	python3 - "$loop" <<-'PY' &
		import os, sys, time
		held = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
		open("held", "w").close()
		while os.path.exists("held"):
		    time.sleep(0.02)
	PY
	wait_for test -e held
	busy "a device that a program has opened with O_EXCL" "$loop" "$loop is in use by another program"
	run_tool "$BIN/xw-fsck" /dev/null -fn "$loop"
	is "  xw-fsck -n warns" grep -q "$loop is in use by another program; what is found" .err
	rm held
	wait $!
	if command -v mkswap >/dev/null && mkswap "$loop" >/dev/null 2>&1 && swapon "$loop" 2>/dev/null; then
		watched=4096 busy "swap space" "$loop" "$loop is in use as swap space"
		swapoff "$loop"
	else
		skip "swap space" "swapon does not work here" 2
	fi
	if command -v addpart >/dev/null && addpart "$loop" 1 2048 16384 2>/dev/null && wait_for test -b "${loop}p1"; then
		"$MKFS" -q -F "${loop}p1" && mount "${loop}p1" mnt
		busy "a disk with a mounted partition" "$loop" "$loop is in use: a partition of it is mounted"
		umount mnt
		delpart "$loop" 1
	else
		skip "a disk with a mounted partition" "no partitions of loop devices" 2
	fi
	losetup -d "$loop"
else
	skip "a device in use" "no loop device" 10
fi

# A device that is mounted read-only, as the root filesystem is at boot: xw-fsck -f repairs it, as e2fsck does.
cp --sparse=always pristine disk
"$BIN/xw-debugfs" -w -R 'sif file links_count 3' disk >.out 2>.err
T_TOOL=xw-fsck
if loop=$(losetup -f --show disk) && mount -o ro "$loop" mnt; then
	for how in "-fn 4" "-y 8" "-fp 1" "-fp 0" "-fy 0"; do
		run_tool "$BIN/xw-fsck" /dev/null "${how% *}" "$loop"
		equal "mounted read-only, ${how% *}" "$RC" "${how#* }"
	done
	is "  says so" grep -q "$loop is mounted read-only" .err
	is "  the mount still reads its file" cmp d/file mnt/file
	mount -o remount,rw mnt
	run_tool "$BIN/xw-fsck" /dev/null -fp "$loop"
	fails 8 "$loop is mounted" "mounted writable, -fp"
	umount mnt
	losetup -d "$loop"
	clean disk "  e2fsck finds nothing"
else
	skip "a device that is mounted read-only" "no loop device" 9
fi

# ---- while a change is made ----

head -c 3000000 /dev/urandom >d/data
make_tar d d.tar
mkfifo pipe

T_TOOL=xw-import T_ARGS='one/img pipe'
# begun: an import waits for the rest of its archive
begun() {
	fresh
	"$IMPORT" one/img pipe >.out 2>.err &
	exec 9<>pipe
	half d.tar
}
# ended: it has come, or will not
ended() {
	"$@" >&9
	exec 9>&-
	RC=0
	wait $! || RC=$?
}
rest() { tail -c +500001 d.tar; }
write_it() { mount -o loop one/img mnt && cp d/data mnt/theirs; }
# The filesystem is as Linux left it.
as_left() {
	mount -o loop,ro one/img mnt
	is "  what was written there is there" cmp d/data mnt/theirs
	is "  and nothing of ours" test ! -e mnt/data
	umount mnt
	clean one/img "  and it is clean"
}
begun
write_it && umount mnt
ended rest
fails 1 "one/img: was mounted or changed by another program meanwhile; nothing was committed" "mounted and written to meanwhile"
as_left
begun
write_it
ended rest
fails 1 "one/img: in use by /dev/loop" "mounted meanwhile"
umount mnt
as_left
begun
write_it && umount mnt
ended true
fails 1 "pipe: .*" "the same, and the archive ends too early"
as_left
begun
ended rest
works "nobody else was there"

done_testing 64
