#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file size limit (ulimit -f): no tool dies of SIGXFSZ, and one that is too low for the image is told before anything is changed.
. "$(dirname "$0")/lib.sh"

mkdir -p tree/many
for i in $(seq 1 300); do : >"tree/many/name-number-$i"; done
head -c 3000000 /dev/urandom >tree/big
make_tar tree some.tar
mkfs -q -d tree image 16M
works "an image to work on"
kib=16384
printf 'mkdir /made\n' >request

# under KIB TOOL ARGS...: the tool, with files of at most so many KiB. What it says is kept by a process without the limit.
under() {
	local kib=$1
	T_TOOL=xw-$2
	shift 2
	RC=0
	(ulimit -f "$kib" && exec "$BIN/$T_TOOL" "$@") </dev/null 2>&1 >.out | cat >.err
	RC=${PIPESTATUS[0]}
	T_ARGS="$* (ulimit -f $kib)"
}
left() { ls -A | grep -v '^\.\(out\|err\|is\|fsck\)$'; }

# A journal, which serves the commit, and none: a redo file.
for kind in "" "-O ^has_journal"; do
	# shellcheck disable=SC2086
	mkfs -qF $kind -d tree image 16M
	: >before >after
	left >before
	while read -r tool args; do
		for low in 1024 $((kib - 1)); do
			cp image img
			# shellcheck disable=SC2086
			under $low "$tool" $args
			fails 1 "img: .*file size limit.* is $((low * 1024)) bytes" "xw-$tool $args${kind:+ ($kind)}"
			is "  the image is as it was" cmp image img
			rm -f img
			left >after
			is "  and nothing lies beside it" diff before after
		done
		cp image img
		# shellcheck disable=SC2086
		under $kib "$tool" $args
		equal "  with just as much: status" "$RC" 0
		clean img "  e2fsck"
		rm -f img
	done <<'TABLE'
import img some.tar
debugfs -w -f request img
tune -U 01234567-89ab-cdef-0123-456789abcdef img
TABLE
done

# What lies behind the filesystem is not written, and readers write nothing.
cp image img
truncate -s 40M img
under $kib tune -L label img
equal "behind the filesystem the limit does not matter" "$RC" 0
under 64 dump -h img
equal "nor does it for reading" "$RC" 0

# New images.
under 1024 mkfs new 16M
fails 1 "new: .*file size limit.* is 1048576 bytes" "xw-mkfs with SIZE"
is "  no image is left" gone new
under 1024 mkfs -d some.tar new
fails 1 "new: .*1048576 bytes.*file size limit" "xw-mkfs without SIZE"
is "  no image is left" gone new
for args in "" --replace "-E nodiscard" "-E offset=4096" -cc; do
	cp image img
	# shellcheck disable=SC2086
	under 1024 mkfs -F $args img 12M
	fails 1 "img: .*file size limit.* is 1048576 bytes" "xw-mkfs${args:+ $args} over an image"
	is "  which is as it was" cmp image img
done

# Output.
under 1024 export -o out.tar image
fails 1 "out.tar: File too large" "xw-export"
is "  no archive is left" gone out.tar
under 1 dump image
fails 1 "File too large" "xw-dump into a file"
done_testing 68
