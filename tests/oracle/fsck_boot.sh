#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-fsck in the place of e2fsck at boot: what systemd-fsck, initramfs-tools, dracut and Debian's boot scripts call, with the exit
# status, the progress and the words that they rely on; and the root filesystem while it is mounted read-only.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"
have_e2fsck || skip_all "e2fsck is not installed"
type -P fsck >/dev/null || skip_all "fsck(8) is not installed"
SYSTEMD=/lib/systemd/systemd-fsck
tool=$XW_BUILD/commit_tool
[ -x "$tool" ] || skip_all "commit_tool is not built"
EXTWRIGHT_STATE_DIR=/dev/null/none
export EXTWRIGHT_STATE_DIR

mkdir -p tree/dir mnt ours
for i in 1 2 3 4 5 6; do seq 1 $((i * 300)) >"tree/dir/$i"; done
for name in e2fsck fsck.ext2 fsck.ext3 fsck.ext4; do ln -s "$BIN/xw-fsck" "ours/$name"; done
truncate -s 8M disk
loop=$(losetup -f --show disk) || skip_all "no loop device"
at_end "losetup -d $loop"
dbg() { "$BIN/xw-debugfs" -w "$@" >.dbg 2>&1; }

# Images in the states that a boot meets.
for type in ext2 ext3 ext4; do
	"$MKFS" -q -F -t $type -L vol -N 512 -d tree $type.clean 8M || fail "xw-mkfs -t $type"
	for state in dirty aged preen damaged nosuper; do cp $type.clean $type.$state; done
	dbg -R "ssv state 0" $type.dirty
	dbg -R "ssv max_mnt_count 5" -R "ssv mnt_count 20" $type.aged
	dbg -R "ssv state 2" -R "sif /dir/3 links_count 5" -R "setb 1900 4" $type.preen
	dbg -R "ssv state 2" -R "clri /dir" $type.damaged
	dd if=/dev/zero of=$type.nosuper bs=1024 seek=1 count=1 conv=notrunc status=none
	[ $type != ext2 ] || continue
	cat $type.clean >"$loop"
	mount "$loop" mnt
	seq 1 10000 >mnt/new
	rm mnt/dir/5
	sync -f mnt
	cat "$loop" >$type.journal
	umount mnt
done

# What systemd-fsck does without its daemon and the bus: /run is empty but for the socket that the progress goes to.
cat >systemd.sh <<END
mount -t tmpfs none /run && mkdir /run/systemd
python3 - "$T/lines" <<-'PY' &
	import socket, sys
	server = socket.socket(socket.AF_UNIX)
	server.bind("/run/systemd/fsck.progress")
	server.listen(1)
	server.settimeout(20)
	with open(sys.argv[1], "wb") as out:
	    peer, _ = server.accept()
	    for got in iter(lambda: peer.recv(4096), b""):
	        out.write(got)
PY
until [ -e /run/systemd/fsck.progress ]; do sleep 0.01; done
sleep 0.05
$SYSTEMD $loop
status=\$?
[ ! -e /run/systemd/quotacheck ] || echo "corrected" # it saw the status of a repair
wait
exit \$status
END
call() { # CALLER TYPE
	local log=$T/log
	rm -f log lines
	case $1 in
	systemd) unshare -m bash systemd.sh ;;
	initramfs) logsave -a -s "$log" fsck -C -a -V -t "$2" "$loop" ;; # the call of scripts/functions, _checkfs_once
	initramfs-fix) logsave -a -s "$log" fsck -C -f -y -T -t "$2" "$loop" ;;
	dracut) e2fsck -a "$loop" ;; # fs-lib.sh, fsck_drv_com
	dracut-batch) command fsck -M -T "$loop" -- -a ;; # fs-lib.sh, fsck_batch
	checkroot) command fsck -C0 -a -T -t "$2" "$loop" ;; # initscripts
	checkfs) FSTAB_FILE=$T/fstab command fsck -C -T -M -A -a -f -t "$2" ;;
	esac
}
# The words and counts that scripts and people look for.
words() {
	grep -aoE 'clean, [0-9]+/[0-9]+ files, [0-9]+/[0-9]+ blocks|recovering journal|UNEXPECTED INCONSISTENCY|RUN fsck MANUALLY|check forced|contains a file system with errors|was not cleanly unmounted|mounted 20 times|[0-9]+/[0-9]+ files \(|FILE SYSTEM WAS MODIFIED|corrected|Pass [1-5]: ' "$1" |
		LC_ALL=C sort -u
}
# The lines of -C FD: passes in order, done at most all, the name; each pass from 0 to its end.
progress() {
	[ ! -e lines ] || awk 'NF != 4 || $2 > $3 || $1 < pass { print "wrong: " $0 }
		$1 != pass { if ($2 != 0) print "starts: " $0; if (pass && done != all) print "ends: " pass " " done; printf "pass %s of %s\n", $1, $4 }
		{ pass = $1; done = $2; all = $3 }' lines
}
bars() { grep -ac $'\001.*%.*\002' "$1"; } # marked for logsave
both() { # CALLER IMAGE: as stock and as ours; how they differ
	local type=${2%%.*} who
	echo "$loop /none $type defaults 0 2" >fstab
	for who in stock ours; do
		cat "$2" >"$loop"
		RC=0
		(
			[ $who = stock ] || PATH=$T/ours:$PATH
			call "$1" "$type"
		) >.said 2>&1 </dev/null || RC=$?
		{
			echo "status $RC"
			words .said
			progress
			echo "bars $(($(bars .said) > 0))"
			[ ! -e log ] || echo "in the log: bars $(bars log), words $(words log | cksum)"
			RC=0
			e2fsck -fn "$loop" >.fsck 2>&1 || RC=$?
			echo "clean then: $RC"
		} >.$who
		cp .said .said.$who
	done
	cmp -s .stock .ours || diff .stock .ours >.diff
}
while read -r caller images; do
	case $caller in
	systemd) [ -x $SYSTEMD ] || { skip "$caller" "systemd-fsck is not installed" 1; continue; } ;;
	initramfs*) command -v logsave >/dev/null || { skip "$caller" "logsave is not installed" 1; continue; } ;;
	esac
	bad=
	for image in $images; do
		both "$caller" "$image" || { bad+=" $image" && diag "$image" && sed 's/^/# /' .diff; }
	done
	equal "as $caller calls it:$images" "$bad" ""
done <<'TABLE'
systemd ext4.clean ext4.preen ext4.damaged ext4.nosuper ext3.journal
initramfs ext4.clean ext4.dirty ext4.preen ext4.damaged ext2.aged
initramfs-fix ext4.damaged ext2.preen ext3.journal
dracut ext4.journal ext4.damaged ext4.nosuper ext2.dirty
dracut-batch ext4.preen ext3.journal
checkroot ext3.aged ext2.damaged
checkfs ext4.clean ext4.journal ext3.preen
TABLE

# The root filesystem, while it is mounted read-only: with its own fsck(8), systemd-fsck and xw-fsck in it. The statuses are those of
# stock e2fsck; systemd-fsck exits with 1 where it would ask for a reboot or an emergency shell.
mkdir -p root/proc root/sys root/dev root/run root/tree/dir root/sbin root/usr/sbin
cp tree/dir/1 root/tree/dir/
copy() { # PROGRAM FILE: with its libraries
	cp -L "$1" "$2"
	LD_LIBRARY_PATH=$XW_BUILD/.libs ldd "$1" | grep -o '/[^ :]*\.so[^ ]*\|/lib[^ ]*ld-linux[^ ]*' | sort -u | while read -r lib; do
		mkdir -p "root$(dirname "$lib")"
		cp -L "$lib" "root$lib"
	done
}
copy "$BIN/xw-fsck" root/sbin/xw-fsck
copy "$(type -P fsck)" root/sbin/fsck
for name in fsck.ext2 fsck.ext4; do ln -s xw-fsck root/sbin/$name; done
if [ -x $SYSTEMD ]; then
	mkdir -p root/lib/systemd
	copy $SYSTEMD root/lib/systemd/systemd-fsck
	ln -s ../../sbin/fsck root/usr/sbin/fsck
fi
mkdir root/etc
truncate -s 64M rootdisk
root_loop=$(losetup -f --show rootdisk)
at_end "losetup -d $root_loop"
at_end "umount $T/mnt/run $T/mnt/sys $T/mnt/proc $T/mnt"
cp -a "$root_loop" /dev/null root/dev/
boot() { # TYPE STATE CALL...: its status in RC
	echo "$root_loop / $1 defaults 0 1" >root/etc/fstab
	"$MKFS" -q -F -t "$1" -d root "$root_loop" >.out 2>.err || diag "$(cat .err)"
	case $2 in
	preen) dbg -R "ssv state 0" -R "sif /sbin/xw-fsck links_count 5" -R "setb 15000 5" "$root_loop" ;;
	damaged) dbg -R "ssv state 0" -R "clri /tree" "$root_loop" ;;
	pending) # killed after the commit point: Linux mounts that no more
		cp --sparse=always "$root_loop" old && cp --sparse=always old new && cp --sparse=always old half
		dbg -R "rm /tree/dir/1" new
		"$tool" change half new how=inside >.out 2>.err
		cp --sparse=always old half
		"$tool" change half new how=inside "fail=$(($(awk 'END { print $2 }' .out) - 8))" mode=cut >.out 2>.err
		e2fsck -fn half 2>&1 | grep -q 'unsupported feature' || diag "nothing is pending"
		;;
	esac
	shift 2
	mount -o ro "$root_loop" mnt && mount -t proc proc mnt/proc && mount --bind /sys mnt/sys && mount -t tmpfs run mnt/run ||
		{ RC=mount; return; }
	[ ! -e half ] || cat half >"$root_loop"
	rm -f old new half
	RC=0
	PATH=/sbin:/usr/sbin LD_LIBRARY_PATH=$XW_BUILD/.libs "$(command -v chroot)" mnt "${@//DEV/$root_loop}" >.out 2>.err </dev/null || RC=$?
	umount mnt/run mnt/sys mnt/proc mnt
}
while IFS='|' read -r type state call want left; do
	case $call in
	*systemd*) [ -x $SYSTEMD ] || { skip "the root, $call" "systemd-fsck is not installed" 2; continue; } ;;
	esac
	# shellcheck disable=SC2086
	boot "$type" "$state" $call
	equal "the root, $type, $state: $call" "$RC" "$want"
	RC=0
	e2fsck -fn "$root_loop" >.fsck 2>&1 || RC=$?
	equal "  what is left, and no word of the mount" "$RC $(grep -c mounted .err)" "$left 0"
	[ "$state" != pending ] || equal "  says so" "$(cat .out .err | grep -c 'completed an interrupted\|REBOOT SYSTEM')" 2
done <<'TABLE'
ext2|clean|fsck -A -a -T|0|0
ext2|preen|fsck -A -a -T|3|0
ext4|preen|fsck -C -a -V -t ext4 DEV|3|0
ext4|preen|/lib/systemd/systemd-fsck|1|0
ext4|damaged|fsck -a -T DEV|4|4
ext2|damaged|fsck -A -f -y|3|0
ext2|damaged|/lib/systemd/systemd-fsck|1|4
ext2|pending|fsck -A -a -T|3|0
ext4|pending|fsck -a -T DEV|3|0
ext4|pending|fsck -f -y -T DEV|3|0
TABLE
done_testing 30
