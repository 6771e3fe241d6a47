#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The acceptance programs, where they are: nothing of what the synthetic tar says is lost, in any way of giving it.
# XW_ACCEPT=DIR says where; XW_SCALE (default 0.01) how large.
. "$(dirname "$0")/../cli/lib.sh"
accept=${XW_ACCEPT-}
for d in "$XW_SRC/../shared/accept" /work/shared/accept; do
	[ -n "$accept" ] || [ ! -e "$d/verify_image.py" ] || accept=$d
done
[ -e "${accept:-/nonexistent}/verify_image.py" ] || skip_all "the acceptance programs are not here (XW_ACCEPT)"
command -v python3 >/dev/null || skip_all "python3 is not installed"
can_loop || skip_all "needs root and loop mounts"

python3 "$accept/gen_synth.py" synth.tar "${XW_SCALE:-0.01}" >/dev/null || skip_all "gen_synth.py failed"

verify() { # TAR IMAGE DESCRIPTION
	local last
	if ! mount -o loop,ro "$2" "$T/.probe" 2>"$T/.err"; then
		fail "$3: the kernel mounts it"
		return
	fi
	umount "$T/.probe"
	python3 "$accept/verify_image.py" "$1" "$2" >verify.log 2>&1
	last=$(tail -n 1 verify.log)
	case $last in
	*" 0 failed"*) pass "$3: $last" ;;
	*)
		fail "$3: $last"
		head -n 15 verify.log | sed 's/^/# /'
		;;
	esac
	clean "$2" "  e2fsck"
}

for size in "" 1G; do
	for more in "" "-b 1024" "-O ea_inode" "--free 5%"; do
		case "$size$more" in 1G--free*) continue ;; esac
		rm -f img
		# shellcheck disable=SC2086
		mkfs -q $more -d synth.tar img $size
		equal "-d synth.tar $more ${size:-no SIZE}: status" "$RC" 0
		verify synth.tar img "  verify"
	done
done
rm -f img
cat synth.tar | "$MKFS" -q -d - img 2>.err
verify synth.tar img "-d - from a pipe"
if command -v zstd >/dev/null; then
	rm -f img
	zstd -qc synth.tar | "$MKFS" -q -d - img 2>.err
	verify synth.tar img "-d - through zstd"
fi

# A directory: the expectation is a tar of it.
mkdir dir
tar --xattrs --xattrs-include='*' --acls --delay-directory-restore --numeric-owner -xpf synth.tar -C dir 2>/dev/null
tar --format=posix --xattrs --xattrs-include='*' --acls --numeric-owner --sparse -cf dir.tar -C dir . 2>/dev/null
rm -f img
mkfs -q -d dir img
equal "-d directory: status" "$RC" 0
verify dir.tar img "-d directory"

# img_stat.py: how well it lies.
rm -f img
mkfs -q -d synth.tar img
python3 "$accept/img_stat.py" img >stat.json 2>/dev/null
diag "$(cat stat.json)"
done_testing
