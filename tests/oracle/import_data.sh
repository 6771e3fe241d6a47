#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import of real archives into stock images of every type, empty, and 70 % full and in pieces: verify_image.py finds
# nothing missing, stock e2fsck nothing wrong, what was there before is what it was, and files lie in no more pieces than
# those that Linux writes from the same archive into a copy. The times beside xw-mkfs -d of the same archive are printed.
#
# XW_DATA=DIR: where kernel.tar, rootfs.tar and synth-0.1.tar are. This takes minutes, and up to 16 GB in XW_SCRATCH (default:
# /dev/shm). XW_NAMES: only these of them, as a regular expression. Without XW_DATA a small archive of synth.py is imported into an
# ext4, nothing is timed, and compare.py judges, as where verify_image.py (XW_ACCEPT) is not there: that takes blocks of extent
# trees between holes for data.
[ -z "${XW_DATA-}" ] || export TMPDIR=${XW_SCRATCH:-/dev/shm}
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"
for tool in python3 mke2fs filefrag getfattr; do command -v $tool >/dev/null || skip_all "needs $tool"; done
accept=${XW_ACCEPT-}
judge=("$KIT/compare.py")
[ -z "${XW_DATA-}" ] || [ ! -e "${accept:-/nonexistent}/verify_image.py" ] || judge=("$accept/verify_image.py" --max 100000)
types="ext4 ext3 ext2"
sample=
if [ -z "${XW_DATA-}" ]; then
	sample=1 types=ext4 XW_DATA=$T XW_NAMES=sample
	python3 "$KIT/synth.py" sample.tar 0.002 || skip_all "synth.py failed"
fi
age=$XW_SRC/tests/oracle/age_image.sh
case $age in /*) ;; *) age=$XW_SRC/tests/oracle/age_image.sh ;; esac
mkdir mnt
at_end "umount $T/mnt"

judge() { # TAR IMAGE LOG: its last line
	python3 "${judge[@]}" "$1" "$2" >"$3" 2>&1
	tail -n 1 "$3"
}
# Holes of a block-mapped file need indirect blocks around them, which the judge counts as data: what it finds in the
# image that Linux filled, it may find in ours.
verify() { # TAR IMAGE PEER DESCRIPTION
	local last
	last=$(judge "$1" "$2" verify.log)
	case $last in
	*" 0 failed"*)
		pass "$4: $last"
		return
		;;
	esac
	judge "$1" "$3" peer.log >/dev/null
	differences() { grep -v ' passed, ' "$1" | sort; } # all but the last line
	if [ -n "$(differences verify.log)" ] && diff <(differences verify.log) <(differences peer.log) >verify.diff; then
		pass "$4: $last, the same as of the image that Linux filled"
	else
		fail "$4: $last"
		head -n 5 verify.diff | sed 's/^/# /'
	fi
}
fill() { # TAR IMAGE: as Linux and GNU tar do; it stays mounted
	mount -o loop "$2" mnt
	tar --xattrs --xattrs-include='*' --acls --numeric-owner --delay-directory-restore -xpf "$1" -C mnt 2>tar.err
	sync -f mnt
}
seconds() { # COMMAND...: of the middle one of three runs, the page cache warm
	local i t
	for i in 1 2 3; do
		eval "$before"
		t=$(date +%s.%N)
		"$@" >/dev/null 2>&1
		sync "$img"
		echo "$(date +%s.%N) $t" | awk '{ printf "%.3f\n", $1 - $2 }'
	done | sort -n | sed -n 2p
}
time_it() {
	local ours base
	before="rm -f img; mke2fs -qF -t $type -N $inodes img $empty >/dev/null 2>&1; sync img"
	ours=$(seconds "$IMPORT" -q img "$tar")
	before="rm -f img; sync ."
	base=$(seconds "$MKFS" -q -t $type -N "$inodes" -d "$tar" img "$empty")
	diag "time: $ours s, xw-mkfs -d $base s: $(awk "BEGIN { printf \"%.2f\", $ours / $base }")"
}
# pieces: mean extents of the archive's files, on mnt
pieces() {
	(cd mnt && tr '\n' '\0' <../names | xargs -0 filefrag 2>/dev/null) |
		sed -n 's/.*: \([0-9]*\) extents\{0,1\} found$/\1/p' | awk '$1 > 0 { n += $1; f++ } END { printf "%.4f %d", n / f, f }'
}

while read -r name empty aged inodes; do
	tar=$XW_DATA/$name.tar
	[ -e "$tar" ] || { skip "$name" "$tar is not there"; continue; }
	python3 - "$tar" >names <<'PY'
import sys, tarfile
with tarfile.open(sys.argv[1]) as t:
    for m in t:
        if m.isreg() and m.size and "\n" not in m.name:
            sys.stdout.buffer.write(m.name.encode("utf-8", "surrogateescape") + b"\n")
PY
	for type in $types; do
		img=img
		rm -f img
		mke2fs -qF -t $type -N "$inodes" img "$empty" >/dev/null
		import -q img "$tar"
		works "$name into an empty $type"
		if [ $type != ext4 ]; then
			rm -f peer
			mke2fs -qF -t $type -N "$inodes" peer "$empty" >/dev/null
			fill "$tar" peer
			umount mnt
		fi
		verify "$tar" img peer "  verify"
		clean img "  e2fsck"
		[ -n "$sample" ] || time_it
		rm -f img peer
		"$age" img "$aged" 70 -t $type -N $((inodes * 3)) >/dev/null || { fail "$name, $type: an aged image"; continue; }
		mount -o loop,ro img mnt
		diag "aged: $(df -h --output=size,used,pcent mnt | tail -n 1), $(find mnt -type f | wc -l) files"
		(cd mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum) >sums
		umount mnt
		cp --sparse=always img peer
		import -q img "$tar"
		works "$name into a used $type"
		clean img "  e2fsck"
		mount -o loop,ro img mnt
		is "  what was there is as it was" bash -c '(cd mnt && sha256sum -c --quiet) <sums'
		ours=$(pieces)
		root=$(stat -c %.9Y mnt)
		umount mnt
		fill "$tar" peer
		theirs=$(pieces)
		# An archive without an entry for the root leaves it the time of the run.
		tar -tf "$tar" | grep -qxE '\./?' || touch -d "@$root" mnt
		# What Linux made of the same archive over the same files is what is to be expected.
		tar --format=posix --sparse --xattrs --xattrs-include='*' --acls --numeric-owner -C mnt -cf merged.tar .
		umount mnt
		# compare.py does not know the sparse files of such an archive
		[ -n "$sample" ] || verify merged.tar img peer "  verify against the two merged"
		rm merged.tar
		diag "extents a file: ${ours% *} (${ours#* } files), Linux ${theirs% *} (${theirs#* } files)"
		is "  in no more pieces than Linux makes" awk "BEGIN { exit !(${ours% *} <= ${theirs% *}) }"
	done
	rm -f img peer
done < <(grep -E "^(${XW_NAMES:-.*}) " <<'TABLE'
rootfs 1G 1100M 16000
synth-0.1 1500M 1300M 100000
kernel 3G 6G 120000
sample 64M 160M 6000
TABLE
)
done_testing 7
