#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the suite's tools leave when they are killed: xw-fsck -p and -y complete a pending change with its redo file. Where that
# file is lost, damaged or of another image, -p changes nothing and says that a person is needed, and -y checks everything and
# leaves a clean image, which every tool opens.
#
# XW_ALL_K=1: each step behind the commit point, and not a sample of them.
. "$(dirname "$0")/../cli/lib.sh"
fault=$XW_BUILD/.libs/fault_preload.so
[ -e "$fault" ] || skip_all "fault_preload.so is not built"
nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init && skip_all "a sanitizer wants to be loaded first"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

make_tree tree
mkdir d work
seq 1 3000 >d/data
make_tar d d.tar
mkfs -q -j -J size=4 -U $U -E hash_seed=$U --free 4M -d tree old
works "an image"
mkfs -q -U 6c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 -d d other 8M
works "another"
put_old() { rm -rf work && mkdir work && cp --sparse=always old work/img; }
cut_at() { # K TOOL ARGUMENT...
	local k=$1 tool=$2
	shift 2
	LD_PRELOAD=$fault XW_FAULT_PATH=$T/work XW_FAULT_AT=$k XW_FAULT_MODE=cut XW_FAULT_LOG=$T/steps \
		"$BIN/$tool" "$@" </dev/null >.out 2>.err
}
fsck() {
	T_TOOL=xw-fsck
	run_tool "$BIN/xw-fsck" /dev/null "$@" work/img
}
is_pending() { [ $(($(od -An -tu1 -j $((1024 + 99)) -N 1 work/img) & 64)) != 0 ]; }
contents() { "$EXPORT" work/img 2>/dev/null | cksum; }
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 4 ] || diag "step $k, redo file $redo, $how: $1 (status $RC; $(head -n 3 .err | tr '\n' ' '))"
}
# The number of a record in the image leads to its list.
list_at() { od -An -tu8 -j $((1024 + 1000)) -N 8 work/img | tr -d ' '; }
lose() { # KIND: what becomes of the redo file, or of the list of the record
	case $1 in
	whole) ;;
	lost-inside) dd if=/dev/zero of=work/img bs=1024 seek="$(list_at)" count=1 conv=notrunc status=none ;;
	lost) rm work/img.xw-redo ;;
	damaged) printf 'xxxx' | dd of=work/img.xw-redo bs=1 seek=4200 conv=notrunc status=none ;;
	foreign) cp foreign-redo work/img.xw-redo ;;
	esac
}
look() { # REDO HOW: of the half state in half/
	redo=$1 how=$2
	rm -rf work && cp -r --sparse=always half work
	lose "$redo"
	cp --sparse=always work/img given
	fsck "$how"
	if [ "$redo" = whole ]; then
		[ $RC -le 1 ] || wrong "not completed"
		[ -z "$want" ] || [ "$(contents)" = "$want" ] || wrong "not the new state"
		gone work/img.xw-redo || wrong "the redo file is left"
	elif [ "$how" = -p ]; then
		[ $RC = 4 ] && cmp -s work/img given || wrong "not left to a person"
		return
	else
		[ $RC = 1 ] || wrong "not repaired"
		gone work/img.xw-redo || wrong "a redo file is left"
		[ "$redo" != foreign ] || cmp -s work/img.xw-redo.other foreign-redo || wrong "another image's redo file is gone"
	fi
	fsck -fn
	[ $RC = 0 ] || wrong "not clean"
	[ -n "$own" ] || ! have_e2fsck || fsck_quiet .fsck -fn work/img || wrong "stock: $(head -n 3 .fsck)"
	"$BIN/xw-debugfs" -w -R "mkdir /opened" work/img >.out 2>.err || wrong "cannot be opened"
}
every() { # DESCRIPTION TOOL ARGUMENT...
	local desc=$1 k total n=0 want bad=0 stride=1 own=
	shift
	case $* in *itree*) own=yes ;; esac # stock e2fsck does not know them
	put_old
	cut_at 0 "$@" || { fail "$desc: $(cat .err)"; return; }
	want=$(contents)
	case $* in xw-age*) want= ;; esac # several commits
	total=$(cat steps)
	[ -n "${XW_ALL_K-}" ] || stride=$((total / 10 + 1))
	for k in $({ seq 1 "$stride" "$total" && echo $((total - 3)); } | sort -un); do
		put_old
		cut_at "$k" "$@"
		is_pending || continue
		rm -rf half && cp -r --sparse=always work half
		if [ -n "$inside" ]; then
			n=$((n + 1))
			at=$(list_at)
			look whole -p
			look whole -y
			[ "${#at}" -lt 12 ] || continue # all is in place, and the record may be gone
			look lost-inside -p
			look lost-inside -y
			continue
		fi
		[ -e work/img.xw-redo ] || continue
		n=$((n + 1))
		look whole -p
		look whole -y
		look lost -p
		look lost -y
		look damaged -y
		look foreign -y
	done
	if [ $bad = 0 ] && [ $n -gt 0 ]; then
		pass "$desc: completed, or repaired without its record, at $n steps of $total"
	else
		fail "$desc: $n steps of $total, $bad wrong"
	fi
}
for k in 30 20 15 12 11 10 9 8 7 6 5; do # the redo file of another filesystem
	rm -rf work && mkdir work && cp --sparse=always other work/img
	cut_at $k xw-tune --commit file -U 8c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 work/img
	[ ! -e work/img.xw-redo ] || ! is_pending || break
done
is "another filesystem's redo file" cp work/img.xw-redo foreign-redo

inside=
there=(--redo-file work/img.xw-redo)
every "xw-tune -U" xw-tune "${there[@]}" -U 7c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10 work/img
every "xw-tune -O itree" xw-tune "${there[@]}" -O itree work/img
every "xw-import" xw-import -q --commit file work/img d.tar
every "xw-debugfs -w" xw-debugfs -w "${there[@]}" -z work/undo -R "mkdir /dir" work/img
every "xw-age" xw-age "${there[@]}" --profile pazdera --ops 300 --seed 1 work/img
every "xw-fsck" xw-fsck -y "${there[@]}" -E itree=build work/img
# The same with a record in the image.
inside=yes
every "xw-tune -O itree, inside" xw-tune -O itree work/img
every "xw-import, inside" xw-import -q --commit inside work/img d.tar
every "xw-age, inside" xw-age --profile pazdera --ops 300 --seed 1 work/img
every "xw-fsck, inside" xw-fsck -y -E itree=build work/img
every "xw-debugfs -w -z, behind the end" xw-debugfs -w -z work/undo -R "mkdir /dir" work/img
done_testing 14
