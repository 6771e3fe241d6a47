#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# External journals that the kernel left with transactions: xw-fsck beside stock e2fsck -j, found by UUID, interrupted, undone, and
# damaged.
. "$(dirname "$0")/../cli/lib.sh"
for tool in e2fsck mke2fs debugfs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
can_loop || skip_all "needs root and loop mounts"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
fsck() {
	T_TOOL=xw-fsck
	run_tool "$FSCK" /dev/null "$@"
}
# As `equal`, of the exit status.
status() { equal "$1" "$RC" "$2"; }

# detached FILE...: wait until no loop device has it: one that udev has open is detached later.
detached() {
	local file tries
	for file; do
		for tries in $(seq 100); do
			[ -n "$(losetup -j "$file")" ] || break
			sleep 0.1
		done
	done
}
# BLOCK-SIZE: pending.img and pending.jnl as a power failure would leave them.
make() {
	local jnl loop
	rm -rf img jnl mnt && mkdir mnt
	mke2fs -qF -O journal_dev -b "$1" jnl 8M >/dev/null 2>&1
	jnl=$(losetup -f --show jnl)
	mke2fs -qF -t ext4 -b "$1" -J device="$jnl" img 48M >/dev/null 2>&1
	loop=$(losetup -f --show img)
	mount "$loop" mnt || { losetup -d "$loop" "$jnl" && return 1; }
	mkdir mnt/d mnt/e
	for i in $(seq 200); do echo "$i" >"mnt/d/f$i"; done
	sync -f mnt
	rm mnt/d/f*1
	seq 9000 >mnt/big
	(cd mnt/e && seq 40 | xargs mkdir)
	sync -f mnt
	cp jnl pending.jnl
	cp img pending.img
	umount mnt
	losetup -d "$loop" "$jnl"
	detached jnl img
}
fresh() { cp pending.img img && cp pending.jnl jnl && rm -f undo; }
# Without the time of the last write, the write counter and the checksum of the superblock.
plain() { # IMAGE OUT
	local field
	cp "$1" "$2"
	for field in 48,4 376,8 1020,4; do
		dd if=/dev/zero of="$2" bs=1 seek=$((1024 + ${field%,*})) count=${field#*,} conv=notrunc status=none
	done
}

for bs in 1024 4096; do
	make $bs || {
		skip "$bs" "no mount with an external journal"
		continue
	}
	at=$((bs == 1024 ? 2048 : 4096))
	cp pending.img stock.img && cp pending.jnl stock.jnl
	e2fsck -p -j stock.jnl stock.img >/dev/null 2>&1
	plain stock.img stock.plain
	for how in -p -y "-y -z undo"; do
		fresh
		# shellcheck disable=SC2086
		fsck $how -j jnl img
		works "$bs: $how"
		is "  says that the journal is recovered" grep -q '^img: recovering journal$' .out
		is "  the journal is as stock leaves it" cmp -s jnl stock.jnl
		plain img own.plain
		is "  so is the filesystem" cmp -s own.plain stock.plain
		RC=0
		e2fsck -fn -j jnl img >.out 2>&1 || RC=$?
		status "  in which stock finds nothing" 0
	done
	if command -v e2undo >/dev/null; then
		e2undo undo img >/dev/null 2>&1
		is "  e2undo restores the filesystem" cmp -s img pending.img
	else
		skip "  e2undo restores the filesystem" "e2undo is not installed" 1
	fi
	fresh
	fsck -fy -j jnl img
	works "$bs: -fy"
	for how in -n -fn; do
		fresh
		fsck $how -j jnl img
		works "$bs: $how"
		is "  changes neither" sh -c 'cmp -s img pending.img && cmp -s jnl pending.jnl'
	done

	# Ended between the commit to the image and the write to the journal, and after both.
	fresh
	fsck -p -j jnl img
	debugfs -w -R 'feature needs_recovery' img >/dev/null 2>&1
	for left in pending.jnl jnl; do
		cp $left again.jnl && cp img again.img
		fsck -p -j again.jnl again.img
		works "$bs: continued with $left"
		is "  the journal is empty" test "$(dd if=again.jnl bs=1 skip=$((at + 28)) count=4 status=none | xxd -p)" = 00000000
		RC=0
		e2fsck -fn -j again.jnl again.img >.out 2>&1 || RC=$?
		status "  and stock finds nothing" 0
	done

	# Without -j.
	fresh
	fsck -p img
	fails 8 'no device has its UUID' "$bs: no device with this UUID"
	is "  the image is what it was" cmp -s img pending.img
	loop=$(losetup -f --show jnl)
	udevadm settle >/dev/null 2>&1
	fsck -p img
	works "$bs: found by its UUID"
	losetup -d "$loop"
	detached jnl
	is "  and emptied" cmp -s jnl stock.jnl

	# Others, and damaged ones.
	mke2fs -qF -O journal_dev -b $bs other 4M >/dev/null 2>&1
	mke2fs -qF -O journal_dev -b $bs -U "$(blkid -o value -s UUID pending.jnl)" nobody 8M >/dev/null 2>&1
	for jnl in other stock.img nofile nobody; do
		fresh
		fsck -y -j $jnl img
		status "$bs: -j $jnl" 8
		is "  the image is what it was" cmp -s img pending.img
	done
	fresh
	head -c 4 /dev/zero | dd of=jnl bs=1 seek=$at conv=notrunc status=none
	fsck -y -j jnl img
	status "$bs: a damaged journal superblock" 1
	clean img "  the filesystem has a journal of its own then"
	fresh
	fsck -n -j jnl img
	head -c 3000 /dev/urandom | dd of=jnl bs=1 seek=$((at + 6 * bs)) conv=notrunc status=none
	fsck -fy -j jnl img
	is "$bs: damaged contents: repaired" test $RC -le 1
	RC=0
	e2fsck -fn -j jnl img >.out 2>&1 || RC=$?
	status "  and stock finds nothing" 0
done
done_testing 86
