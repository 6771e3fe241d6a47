#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import of 200 files into stock images with 1 KiB blocks, ended, torn and failed at its steps: what an xw tool finds then
# is what was there or what should be, stock e2fsck has nothing to say about it, and where it is what was there, the same
# import does it after all. The new state is compared with a tar where loop mounts are possible.
#
# XW_ALL_K=1: every step, and not a sample of them. XW_STRIDE=N: an N-th of the sample.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
for c in mke2fs e2fsck tar; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
export SOURCE_DATE_EPOCH=1700000000
verify=
! command -v python3 >/dev/null || ! can_loop || verify=$KIT/compare.py
quiet_fsck() { fsck_quiet fsck.out "$@"; }

# What is there, and 200 files for it: new ones, others in the place of old ones, attributes, links, whiteouts.
mkdir -p base/a/b base/gone
files base/a/old-%d 1 60 190
for i in 1 2 3; do echo $i >"base/gone/$i"; done
ln base/a/old-1 base/a/b/hard
ln -s a/b base/link
find base -exec touch -h -d @1600000000 {} + # mke2fs keeps seconds
mkdir -p new/a new/link new/dir/sub
for i in $(seq 1 200); do
	case $((i % 5)) in
	0) f=new/a/old-$((i / 5)) ;;
	1) f=new/link/n$i ;;
	*) f=new/dir/sub/n$i ;;
	esac
	seq $i $((i + i * i % 1500)) >"$f"
	touch -d "@$((1500000000 + i)).123456789" "$f"
done
ln new/dir/sub/n2 new/dir/hard
if is_root; then
	for i in 3 13 23 33; do setfattr -n user.test -v "value $i" new/dir/sub/n$i 2>/dev/null; done
fi
make_tar new new.tar --owner 0 --group 0 --xattrs --exclude ./link
: >new/.wh.gone
# Without the directory "link", so that these go through the symbolic link.
(cd new && tar --format=posix --owner 0 --group 0 -rf ../new.tar .wh.gone link/*)

if [ -n "$verify" ]; then
	mkdir merged
	cp -a base/. merged/
	rm -rf merged/gone
	tar --xattrs --acls --numeric-owner --exclude='.wh.*' -xpf new.tar -C merged
	touch -d "@$SOURCE_DATE_EPOCH" merged/a/b # no entry says when it changed
	tar --format=posix --xattrs --xattrs-include='*' --acls --numeric-owner --sparse -cf merged.tar -C merged .
fi

put_old() { rm -f img img.xw-redo img.xw-redo.tmp && cp old img; }
# faulty K MODE OPTION...: an import that meets a fault.
faulty() {
	local k=$1 mode=$2
	shift 2
	RC=0
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/img XW_FAULT_AT=$k XW_FAULT_MODE=$mode XW_FAULT_LOG=$T/steps \
		"$IMPORT" -q --jobs 1 "$@" img new.tar >.out 2>.err || RC=$?
}
contents() { "$EXPORT" "$1" 2>.err | cksum; }
# wrong WHAT: counts it, and says the first few.
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "$mode at $k: $1"
}
check_new() {
	local last
	[ -z "$verify" ] || [ "$verified" = "$new" ] || {
		python3 "$verify" merged.tar img >verify.log 2>&1
		last=$(tail -n 1 verify.log)
		case $last in *" 0 failed"*) ;; *) wrong "$last, $(head -n 1 verify.log)" ;; esac
		[ -n "${XW_ALL_K-}" ] || verified=$new # one is as good as the other: their contents are equal
	}
}
# every HOW MODE: a fault at the steps.
every() {
	local how=$1 mode=$2 k what bad=0 n_old=0 n_new=0 steps tried=0 stride
	put_old
	faulty 0 none --commit "$how"
	if [ $RC != 0 ]; then
		fail "$desc: $how"
		return
	fi
	steps=$(cat steps)
	new=$(contents img)
	k=$steps
	check_new
	stride=1
	[ -n "${XW_ALL_K-}" ] || stride=$(((steps / 3 + 1) * ${XW_STRIDE:-1}))
	for k in $({ echo 1 && seq $((1 + RANDOM % stride)) $stride "$steps" && echo "$steps"; } | sort -un); do
		tried=$((tried + 1))
		put_old
		faulty "$k" "$mode" --commit "$how"
		case $mode in cut | torn) [ $RC = 9 ] ;; *) [ $RC -lt 2 ] ;; esac || wrong "exit status $RC"
		case $(contents img) in
		"$old") what=old ;;
		"$new") what=new ;;
		*) what=other ;;
		esac
		[ $RC != 0 ] || [ $what = new ] || wrong "done, and not new"
		# Any tool that writes completes it.
		import -q img empty.tar
		[ $RC = 0 ] || wrong "opened again: $(cat .err)"
		[ ! -e img.xw-redo ] && [ ! -e img.xw-redo.tmp ] || wrong "a redo file is left"
		quiet_fsck -fn img || wrong "e2fsck: $(sed -n 2,4p fsck.out)"
		case $what in
		old)
			n_old=$((n_old + 1))
			[ "$(contents img)" = "$old" ] || wrong "old, and then something else"
			import -q img new.tar
			[ $RC = 0 ] || wrong "done again: $(cat .err)"
			[ "$(contents img)" = "$new" ] || wrong "done again: not what it should be"
			quiet_fsck -fn img || wrong "done again: e2fsck: $(sed -n 2,4p fsck.out)"
			;;
		new)
			n_new=$((n_new + 1))
			[ "$(contents img)" = "$new" ] || wrong "new, and then something else"
			check_new
			;;
		*) wrong "neither the old nor the new image: $(cat .err)" ;;
		esac
	done
	# Few steps need not show both.
	if [ $bad = 0 ] && { [ "${XW_STRIDE:-1}" -gt 1 ] || [ $n_old -gt 0 ] && [ $n_new -gt 0 ]; }; then
		pass "$desc: $how, $mode at $tried of $steps steps: $n_old old, $n_new new"
	else
		fail "$desc: $how, $mode at $tried of $steps steps: $n_old old, $n_new new, $bad wrong"
	fi
}

RANDOM=${XW_SEED:-4711}
tar -cf empty.tar -T /dev/null
while IFS='|' read -r desc options kinds modes; do
	rm -f old
	# shellcheck disable=SC2086
	mke2fs -qF $options -d base old 24M >/dev/null 2>&1 || { skip "$desc" "the image cannot be made here"; continue; }
	quiet_fsck -fy old # mke2fs gets quota wrong
	quiet_fsck -fn old || { skip "$desc" "the image cannot be made here"; continue; }
	old=$(contents old) verified=
	for kind in $kinds; do
		for mode in $modes; do every "$kind" "$mode"; done
	done
done <<'TABLE'
ext4|-t ext4 -b 1024|auto file inside|cut torn eio enospc dead
ext3|-t ext3 -b 1024|auto|cut torn
ext2|-t ext2 -b 1024|auto|cut torn eio
ext4 with quota and inline data|-t ext4 -b 1024 -O quota,project,inline_data,ea_inode|file inside|cut torn
TABLE

# A host with so many KiB left: with what is not there nothing can be completed later, so the image is whole at once. Most
# of what a commit writes over is holes here, and a redo file takes room of its own.
host_full() { # KiB
	cp --sparse=always old host/img
	head -c "$(($(df -k --output=avail host | tail -n 1) - $1))K" /dev/zero >host/fill
	RC=0
	"$IMPORT" -q --jobs 1 host/img dirs.tar >.out 2>.err || RC=$?
	case $(contents host/img) in
	"$old") n_old=$((n_old + 1)) && [ $RC = 1 ] || wrong "exit status $RC, and old" ;;
	"$new") n_new=$((n_new + 1)) && [ $RC = 0 ] || wrong "exit status $RC, and new" ;;
	*) wrong "neither the old nor the new image: $(cat .err)" ;;
	esac
	[ ! -e host/img.xw-redo ] || wrong "a redo file is left"
	quiet_fsck -fn host/img || wrong "e2fsck: $(sed -n 2,4p fsck.out)"
	# What a failure took it gives back: the next one finds as much, less what is reserved in the image.
	[ $RC = 0 ] || [ "$(df -k --output=avail host | tail -n 1)" -ge $(($1 / 2)) ] || wrong "$(df -k --output=avail host | tail -n 1) KiB are left"
	rm -f host/*
}
mkdir host
if is_root && mount -t tmpfs -o size=16m none host 2>/dev/null; then
	at_end "umount $T/host"
	mkdir $(printf 'dirs/%s ' $(seq 150)) -p
	make_tar dirs dirs.tar
	mode=host
	for options in "-t ext2 -O ^resize_inode -b 1024" "-t ext4 -b 1024 -J size=4 -E lazy_itable_init=0"; do
		rm -f old img
		# shellcheck disable=SC2086
		mke2fs -qF $options old 512M >/dev/null 2>&1
		old=$(contents old) n_old=0 n_new=0 bad=0
		cp --sparse=always old img
		import -q img dirs.tar
		new=$(contents img)
		for k in $(printf '%s\n' 16 ~64 160 ~240 320 ~400 480 ~560 640 ~800 1200 ~1600 4000 | strided 1); do host_full "$k"; done
		equal "a full host, $options: $n_old old, $n_new new" "$bad $((n_old > 0)) $((n_new > 0))" "0 1 1"
	done
else
	skip "a full host" "needs root and tmpfs"
fi
done_testing 26
