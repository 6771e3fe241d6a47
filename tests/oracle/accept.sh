#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing of the synthetic tar is lost, in any way of giving it. XW_SCALE says how large it is (default: 0.0015;
# with XW_ALL=1 0.01, and every option with and without SIZE). With XW_ACCEPT the acceptance programs make it and compare, else those
# of tests/kit.
. "$(dirname "$0")/../cli/lib.sh"
synth=$KIT/synth.py compare=$KIT/compare.py
if [ -e "${XW_ACCEPT:-/nonexistent}/verify_image.py" ]; then
	synth=$XW_ACCEPT/gen_synth.py compare=$XW_ACCEPT/verify_image.py
fi
command -v python3 >/dev/null || skip_all "python3 is not installed"
can_loop || skip_all "needs root and loop mounts"

[ -z "${XW_ALL-}" ] || : "${XW_SCALE:=0.01}"
: "${XW_SCALE:=0.0015}"
python3 "$synth" synth.tar "$XW_SCALE" >/dev/null 2>.err || fail "$synth"
entries=$(tar -tf synth.tar --quoting-style=escape | wc -l)
is "the archive has $entries entries" [ "$entries" -ge 500 ]

# The comparison makes several checks for each of the entries.
verify() { # TAR IMAGE DESCRIPTION
	local last passed
	if ! mount -o loop,ro "$2" "$T/.probe" 2>"$T/.err"; then
		fail "$3: the kernel mounts it"
		return
	fi
	umount "$T/.probe"
	python3 "$compare" "$1" "$2" >verify.log 2>&1
	last=$(tail -n 1 verify.log)
	passed=$(sed -n '$s/^\([0-9]*\) passed, 0 failed.*/\1/p' verify.log)
	if [ "${passed:-0}" -ge $((3 * entries)) ]; then pass "$3: $last"; else
		fail "$3: $last, of $entries entries"
		head -n 15 verify.log | sed 's/^/# /'
	fi
	clean "$2" "  e2fsck"
}

for size in "" 1G; do
	for more in "" "-b 1024" "-O ea_inode" "--free 5%"; do
		case "$size$more" in 1G--free*) continue ;; esac
		case "${XW_ALL-}$size$more" in 1G | 1G-b* | -O*) continue ;; esac
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
else
	skip "-d - through zstd" "zstd is not installed" 2
fi

# A directory: the expectation is a tar of it.
mkdir dir
tar --xattrs --xattrs-include='*' --acls --delay-directory-restore --numeric-owner -xpf synth.tar -C dir 2>/dev/null
tar --format=posix --xattrs --xattrs-include='*' --acls --numeric-owner --sparse -cf dir.tar -C dir . 2>/dev/null
rm -f img
mkfs -q -d dir img
equal "-d directory: status" "$RC" 0
verify dir.tar img "-d directory"
done_testing 20
