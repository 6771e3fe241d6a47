#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Changes to stock images that are cut, torn or failed at every step, through the redo file, a redo record in the image, and the journal.
# What the next opening finds is the old image or the new one; stock e2fsck finds nothing to say about it; and what a
# journal commit leaves behind its commit point, Linux and stock e2fsck finish as well. (Where the superblock itself is
# torn in two, Linux does not, and stock e2fsck makes it clean from a backup, with what that knows.)
#
# Each 15th step; XW_ALL_K=1: every one. XW_STRIDE=N: an N-th of them.
. "$(dirname "$0")/../cli/lib.sh"
tool=$XW_BUILD/commit_tool
[ -x "$tool" ] || skip_all "commit_tool is not built"
for c in mke2fs e2fsck debugfs; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
stride=$((15 * ${XW_STRIDE:-1}))
[ -z "${XW_ALL_K-}" ] || stride=${XW_STRIDE:-1}
quiet_fsck() { fsck_quiet fsck.out "$@"; }

# The old image has files; in the new one some are gone, some are there, some are longer.
mkdir d
for i in $(seq 1 40); do seq 1 $((i * 50)) >"d/f$i"; done
make_pair() {
	judged= # sums of images that e2fsck found nothing in
	rm -f old new
	# shellcheck disable=SC2086
	mke2fs -qF -E hash_seed=12345678-1234-1234-1234-123456789012 $1 -d d old 12M >/dev/null 2>&1 || return 1
	cp --sparse=always old new
	{
		for i in $(seq 1 3 40); do echo "rm f$i"; done
		echo "mkdir sub"
		for i in $(seq 1 30); do echo "write d/f$((i % 40 + 1)) sub/new$i"; done
		echo "symlink link sub/new1"
	} | debugfs -w -f - new >/dev/null 2>&1
	quiet_fsck -fyD new
	quiet_fsck -fn new && quiet_fsck -fn old
}
# whole IMAGE: its superblock is not torn.
whole() { dumpe2fs -h "$1" >/dev/null 2>&1; }
put_old() { rm -f img img.xw-redo img.xw-redo.tmp; cp old img; }

# wrong WHAT: counts it, and says the first few.
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "$how, $mode at $k: $1"
}
# every HOW MODE: a fault at each step. Counts what was found after recovery.
every() {
	local how=$1 mode=$2 k rc saw before sum what bad=0 n_old=0 n_new=0 steps
	put_old
	"$tool" change img new "how=$how" >out 2>&1 || { fail "$desc: $how"; diag "$(cat out)"; return; }
	[ "$("$tool" state img old new)" = new ] || { fail "$desc: $how makes the new state"; return; }
	steps=$(awk 'END { print $2 }' out)
	for k in $({ seq 1 "$stride" "$steps" && echo "$steps"; } | sort -un); do
		put_old
		rc=0
		"$tool" change img new "how=$how" "fail=$k" "mode=$mode" >out 2>&1 || rc=$?
		case $mode in cut | torn) [ $rc = 9 ] ;; *) [ $rc -lt 2 ] ;; esac || wrong "exit status $rc"
		before=$(cksum <img)
		saw=$("$tool" state img old new ro)
		[ "$(cksum <img)" = "$before" ] || wrong "a reader wrote"
		[ $rc != 0 ] || [ "$saw" = new ] || wrong "done, and not new"
		if [ "$how" = journal ] && [ "$saw" = new ]; then
			# Others finish it, too.
			cp img other
			quiet_fsck -fy other || [ $? -lt 8 ] || quiet_fsck -fy -b 1024 -B 4096 other
			quiet_fsck -fn other || wrong "not clean after e2fsck -fy"
			what=$("$tool" state other old new)
			[ "$what" = new ] || ! whole img || wrong "e2fsck -fy leaves: $what"
			if [ -n "$loop" ] && [ $((n_new % 3)) = 0 ] && whole img; then
				cp img other
				mount -o loop,noinit_itable other mnt && umount mnt
				what=$("$tool" state other old new)
				[ "$what" = new ] || wrong "a mount leaves: $what"
			fi
		fi
		"$tool" open img >out 2>&1 || wrong "$(cat out)"
		what=$("$tool" state img old new)
		[ "$what" = "$saw" ] || wrong "read-only: $saw, then: $what"
		[ ! -e img.xw-redo ] && [ ! -e img.xw-redo.tmp ] || wrong "a redo file is left"
		sum=$(cksum <img)
		case $judged in # most steps end in one of few images
		*"$sum"*) ;;
		*) quiet_fsck -fn img && judged+="$sum;" || wrong "e2fsck: $(head -n 3 fsck.out)" ;;
		esac
		case $what in
		old) n_old=$((n_old + 1)) ;;
		new) n_new=$((n_new + 1)) ;;
		*) wrong "$what" ;;
		esac
	done
	# Few steps need not show both.
	if [ $bad = 0 ] && { [ "${XW_STRIDE:-1}" -gt 1 ] || [ $n_old -gt 0 ] && [ $n_new -gt 0 ]; }; then
		pass "$desc: $how, $mode at 1 in $stride of $steps steps: $n_old old, $n_new new"
	else
		fail "$desc: $how, $mode at 1 in $stride of $steps steps: $n_old old, $n_new new, $bad wrong"
	fi
}

loop=
if can_loop; then loop=yes; fi
mkdir mnt
at_end "umount $T/mnt"
while IFS='|' read -r desc options kinds modes; do
	if ! make_pair "$options"; then
		skip "$desc" "the images cannot be made here"
		continue
	fi
	for kind in $kinds; do
		for mode in $modes; do every "$kind" "$mode"; done
	done
done <<'TABLE'
ext4, 1 KiB blocks|-t ext4 -b 1024|file inside journal|cut torn eio enospc dead
ext4, 4 KiB blocks|-t ext4 -b 4096 -g 1024 -J size=4|file inside journal|cut torn
ext4 without checksums|-t ext4 -b 1024 -O ^metadata_csum,^64bit|file inside journal|cut torn
ext3|-t ext3 -b 1024|journal|cut torn
ext2|-t ext2 -b 1024|file inside|cut torn eio
TABLE

# A half state of the redo kind is nobody else's, and read-only tools see it whole.
desc=redo
make_pair "-t ext4 -b 1024" || skip_all "the images cannot be made here"
half() { # HOW STEPS: img as it is so many steps before the end
	put_old
	"$tool" change img new "how=$1" >out 2>&1
	k=$(($(awk 'END { print $2 }' out) - $2))
	put_old
	"$tool" change img new "how=$1" "fail=$k" mode=cut >out 2>&1
}
half file 4
is "a half state: the redo file is there" test -s img.xw-redo
quiet_fsck -fy img && fsck=0 || fsck=$?
is "a half state: stock e2fsck refuses it" test "$((fsck & 8))" = 8
if [ -n "$loop" ]; then
	is "a half state: Linux refuses it" bash -c '! mount -o loop img mnt'
else
	skip "a half state: Linux refuses it" "needs root and loop mounts"
fi
if [ -x "$EXPORT" ]; then
	"$EXPORT" new >new.tar
	before=$(cat img img.xw-redo | cksum)
	is "a half state: xw-export sees the new one" bash -c "'$EXPORT' img | cmp - new.tar"
	equal "  and writes nothing" "$(cat img img.xw-redo | cksum)" "$before"
	mv img.xw-redo away
	is "  also with --redo-file" bash -c "'$EXPORT' --redo-file away img | cmp - new.tar"
	is "  and fails without" bash -c "! '$EXPORT' img >out 2>err"
	is "  saying what to do" grep -q 'xw-export: img: .*img.xw-redo.*clear_pending' err
	mv away img.xw-redo
else
	skip "a half state: xw-export" "it is not built"
fi
mv img.xw-redo away
is "without its file: refused" bash -c "! '$tool' open img >out"
is "without its file: says what to do" grep -q 'img.xw-redo.*clear_pending' out
mv away img.xw-redo
is "with its file: completed" "$tool" open img
equal "with its file: new" "$("$tool" state img old new)" new
half file 4
cp img.xw-redo kept
if [ -x "$MKFS" ]; then
	"$MKFS" -q -F img 4M >out 2>&1
	is "xw-mkfs -F removes the redo file of what was there" test ! -e img.xw-redo
	is "  and what it made opens" "$tool" open img
	cp kept img.xw-redo
	is "the redo file of another filesystem changes nothing" "$tool" open img
	clean img "  the image is clean"
	is "  and the file is still there" cmp kept img.xw-redo
else
	skip "xw-mkfs -F" "it is not built"
fi
# The same with a record in the image: nothing else is needed, so a copy of the image is complete.
for before_end in 20 10; do
	half inside $before_end
	is "inside, $before_end steps before the end: nothing is beside the image" test ! -e img.xw-redo
	quiet_fsck -fy img && fsck=0 || fsck=$?
	is "  stock e2fsck refuses it" test "$((fsck & 8))" = 8
	if [ -n "$loop" ]; then
		is "  Linux refuses it" bash -c '! mount -o loop img mnt'
	else
		skip "  Linux refuses it" "needs root and loop mounts"
	fi
	mkdir -p elsewhere
	cp img elsewhere/moved
	if [ -x "$EXPORT" ]; then
		before=$(cksum <img)
		is "  xw-export sees the new state" bash -c "'$EXPORT' img | cmp - new.tar"
		equal "  and writes nothing" "$(cksum <img)" "$before"
	else
		skip "  xw-export sees the new state" "it is not built" 2
	fi
	is "  a copy elsewhere: completed" "$tool" open elsewhere/moved
	equal "  and new" "$("$tool" state elsewhere/moved old new)" new
done
half journal 4
if [ -x "$EXPORT" ]; then
	rm -f img.xw-redo
	before=$(cksum <img)
	is "a full journal: xw-export sees the new state" bash -c "'$EXPORT' img | cmp - new.tar"
	equal "  and writes nothing" "$(cksum <img)" "$before"
else
	skip "a full journal: xw-export" "it is not built"
fi
done_testing 68
