#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that change an image are stopped before each write, flush, rename and removal; somebody else writes to the image,
# truncates it or mounts it; the tool continues. It must not say that it succeeded, and must not overwrite their change. Where the
# host has leases, the others wait instead, and the tool succeeds.
#
# XW_ALL_K=1: every step, and not a sample of them.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
[ -r /proc/self/stat ] || skip_all "needs /proc"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

make_tree tree
mkfs -q -j -J size=4 -U $U -E hash_seed=$U --free 4M -d tree old
works "an image"
mkdir d mnt
head -c 700000 /dev/urandom >d/data
cp d/data theirs
make_tar d d.tar
at_end "umount '$T/mnt'"

put_old() { rm -f img img.* && cp --sparse=always old img; }
is_stopped() { # PID: stopped, or gone
	local line
	line=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	case ${line##*) } in [TZX]*) return 0 ;; esac
	return 1
}
is_gone() { case $(cat "/proc/$1/stat" 2>/dev/null) in "" | *") Z"*) return 0 ;; *) return 1 ;; esac }
is_leased() { grep -q "LEASE.*WRITE.*:$(stat -c %i img) " /proc/locks 2>/dev/null; }
# stop_at K WATCHED TOOL ARGUMENT...: it runs up to its step K on files whose names begin with WATCHED.
stop_at() {
	local k=$1 watched=$2 tool=$3
	shift 3
	rm -f steps
	rm -f trace
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/$watched XW_FAULT_AT=$k XW_FAULT_MODE=stop XW_FAULT_LOG=$T/steps XW_FAULT_TRACE=$T/trace \
		"$BIN/$tool" "$@" </dev/null >.out 2>.err &
	PID=$!
	[ "$k" = 0 ] || wait_for is_stopped $PID
}
go_on() {
	kill -CONT $PID 2>/dev/null
	RC=0
	wait $PID || RC=$?
	[ $RC != 1 ] || [ -z "$repairs" ] || RC=0 # errors were corrected
}
repairs=
foreign() { # KIND: what somebody else does
	case $1 in
	write) printf theirs | dd of=img bs=1 seek=$((1024 + 120)) conv=notrunc status=none ;; # the label
	truncate) truncate -s 2M img ;;
	mount) mount -o loop img mnt && cp theirs mnt/theirs && umount mnt ;;
	mounted) mount -o loop img mnt && cp theirs mnt/theirs ;;
	esac
}
# Half way the image has a feature that Linux does not know: it cannot be mounted.
is_pending() { [ $(($(od -An -tu1 -j $((1024 + 99)) -N 1 img) & 64)) != 0 ]; }
# Is their change still there?
is_theirs() { # KIND
	case $1 in
	write) [ "$(dd if=img bs=1 skip=$((1024 + 120)) count=6 status=none | tr -d '\0')" = theirs ] ;;
	truncate) [ "$(stat -c %s img)" = $((2 << 20)) ] ;;
	mounted) umount mnt && fsck_quiet .fsck -fn img ;;
	mount) ! have_e2fsck || fsck_quiet .fsck -fn img ;;
	esac
}
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "$kind at $k of $total: $1 ($(head -n 2 .err | tr '\n' ' '))"
}
# every DESCRIPTION KIND WATCHED FIRST LEFT_OUT TOOL ARGUMENT...: at all steps from FIRST on but the last LEFT_OUT ones.
every() {
	local desc=$1 kind=$2 watched=$3 first=$4 left_out=$5 k bad=0 refused=0 held=0 total stride=1 sample=${SAMPLE:-5}
	shift 5
	put_old
	stop_at 0 "$watched" "$@"
	go_on
	[ $RC = 0 ] || { fail "$desc: status $RC"; return; }
	total=$(($(cat steps) - left_out))
	# A look and the write of the superblock behind it are two calls: what happens between them nobody can see (extwright(7)).
	grep -v '^name' trace | awk '$1 == "write" && $(NF - 1) <= 1024 && $(NF - 1) + $NF >= 2048 { print NR }' >unseen
	[ -n "${XW_ALL_K-}" ] || stride=$((total / sample + 1))
	for k in $({ seq $first $stride $total && echo $total; } | sort -un); do
		! grep -qx "$k" unseen || continue
		put_old
		stop_at "$k" "$watched" "$@"
		is_gone $PID && { wrong "ended before"; wait $PID; continue; }
		if is_leased; then
			held=$((held + 1))
			printf x | dd of=img oflag=nonblock bs=1 conv=notrunc status=none 2>/dev/null && wrong "leased, and opened"
			go_on
			[ $RC = 0 ] || wrong "leased, and status $RC"
		else
			case $kind in
			mount*)
				if is_pending; then
					foreign $kind 2>/dev/null && wrong "mounted half way"
					go_on
					[ $RC = 0 ] || wrong "half way, and status $RC"
					continue
				fi
				;;
			esac
			foreign $kind
			go_on
			refused=$((refused + 1))
			[ $RC != 0 ] || wrong "status 0"
			# a write of ours that was on its way makes a file longer again; half way a check is asked for
			if [ "$watched" = img ]; then
				[ $kind != truncate ] && ! grep -q 'had begun to be written' .err || continue
			fi
			is_theirs $kind || wrong "their change is gone"
		fi
		mountpoint -q mnt 2>/dev/null && umount mnt
	done
	if [ $bad = 0 ] && [ $((held + refused)) -gt 0 ]; then
		pass "$desc, $kind: refused at $refused steps, kept out at $held"
	else
		fail "$desc, $kind: refused at $refused steps, kept out at $held, $bad wrong"
	fi
}

kinds="write truncate"
if can_loop; then kinds="$kinds mount mounted"; else skip "others mount the image" "needs root and loop mounts" 10; fi
put_old
stop_at 3 img xw-import -q img d.tar
leases=
! is_leased || leases=1
go_on
if [ -n "$leases" ]; then
	# to write: they all wait
	every "xw-import --commit file" write img 1 0 xw-import -q --commit file img d.tar
	every "xw-import --commit journal" write img 1 0 xw-import -q --commit journal img d.tar
	every "xw-tune -U" write img 1 0 xw-tune -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 img
	every "xw-debugfs -w" write img 1 0 xw-debugfs -w -R "write $T/d/data /data" img
	every "xw-fsck -E itree=build" write img 1 0 xw-fsck -y -E itree=build img
else
	skip "others are kept out" "no leases here" 5
fi

# Somebody has the image open, so there is no lease: from the time that it has been opened until the commit point every change is
# noticed. The removal of the redo file comes behind it.
put_old() { exec 8<&- && rm -f img img.* && cp --sparse=always old img && exec 8<img; }
for kind in $kinds; do
	every "open elsewhere, xw-import" $kind img.xw-redo 1 1 xw-import -q --commit file img d.tar
	every "open elsewhere, xw-fsck" $kind img.xw-redo 3 2 xw-fsck -y -E itree=build --redo-file img.xw-redo img
	every "open elsewhere, xw-tune" $kind img.xw-redo 1 1 xw-tune --commit file -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 img
	every "open elsewhere, a record inside" $kind img 1 1 xw-tune -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 img
done
# The same through the journal, and by the other tools. A checker has something to repair.
SAMPLE=3
mv old good
cp --sparse=always good damaged
"$BIN/xw-debugfs" -w -R "set_inode_field /small links_count 7" damaged >.out 2>.err || fail "damage"
for kind in $kinds; do
	[ $kind != mounted ] || continue
	cp --sparse=always good old
	every "open elsewhere, xw-import --commit journal" $kind img 1 1 xw-import -q --commit journal img d.tar
	every "open elsewhere, xw-debugfs -w" $kind img 1 1 xw-debugfs -w -R "write $T/d/data /data" img
	every "open elsewhere, xw-age" $kind img.xw-redo 1 1 xw-age -q --redo-file img.xw-redo --profile pazdera --ops 50 --size 0-8k img
	every "open elsewhere, xw-age, a record inside" $kind img 1 1 xw-age -q --profile pazdera --ops 50 --size 0-8k img
	[ $kind != mount ] || continue # e2fsck, which judges then, finds the damage
	cp --sparse=always damaged old
	repairs=1
	every "open elsewhere, xw-fsck -y" $kind img 1 1 xw-fsck -fy img
	repairs=
done
# xw-debugfs does without a journal.
mkfs -q -F -O ^has_journal -U $U -E hash_seed=$U -d tree old 8M
works "an image without a journal"
for kind in $kinds; do
	every "open elsewhere, xw-debugfs -w without a journal" $kind img.xw-redo 1 1 \
		xw-debugfs -w --redo-file img.xw-redo -R "write $T/d/data /data" img
	every "open elsewhere, the same, a record inside" $kind img 1 1 xw-debugfs -w -R "write $T/d/data /data" img
done
mv good old
SAMPLE=
exec 8<&-
put_old() { rm -f img img.* && cp --sparse=always old img; }

if [ -n "$leases" ] && can_loop; then
	put_old
	stop_at 1 img xw-import -q img d.tar
	mount -o loop img mnt 2>.mount &
	waiting=$!
	go_on
	RC_MOUNT=0
	wait $waiting || RC_MOUNT=$?
	equal "who mounts it meanwhile waits: the import" $RC 0
	equal "  and then the mount succeeds" $RC_MOUNT 0
	is "  and it sees what was imported" cmp d/data mnt/data
	umount mnt
	clean img "  and it is clean"
else
	skip "who mounts it meanwhile waits" "no leases or no loop devices" 4
fi

# A block device is opened with O_EXCL: no mount, and no other tool. What changes on the medium below it, where a cache of this host
# does not know it (another host, or the file that a loop device stands on), is noticed by reading past that cache.
if can_loop; then
	put_old
	loop=$(losetup -f --show img)
	stop_at 2 img.xw-redo xw-tune -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 --redo-file "$T/img.xw-redo" "$loop"
	mount "$loop" mnt 2>.mount
	equal "a block device that is being changed cannot be mounted" $? 32
	"$BIN/xw-tune" -L other --redo-file "$T/other.xw-redo" "$loop" >.out2 2>.err2
	equal "  nor be changed by another tool" $? 1
	go_on
	equal "  and the change succeeds" $RC 0
	stop_at 4 img.xw-redo xw-tune -U random --redo-file "$T/img.xw-redo" "$loop"
	foreign write
	go_on
	is "what was written below its cache is noticed" grep -q 'by another program meanwhile; nothing was committed' .err
	equal "  and kept" "$RC $(is_theirs write && echo kept)" "1 kept"
	losetup -d "$loop"
else
	skip "block devices" "no loop devices" 5
fi

# Of two at once one wins.
n_none=0 n_clean=0
for k in 1 2 3 4; do
	put_old
	"$IMPORT" -q img d.tar >.out 2>.err &
	a=$!
	"$IMPORT" -q img tree >.out2 2>.err2 &
	b=$!
	ra=0 rb=0
	wait $a || ra=$?
	wait $b || rb=$?
	[ $ra = 0 ] || [ $rb = 0 ] || n_none=$((n_none + 1))
	! have_e2fsck || fsck_quiet .fsck -fn img || n_clean=$((n_clean + 1))
done
equal "of two imports at once, one wins" $n_none 0
if have_e2fsck; then equal "  and the image is whole" $n_clean 0; else skip "  and the image is whole" "e2fsck is not installed" 1; fi
done_testing 56
