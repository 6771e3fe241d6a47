#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fast commits as Linux writes them: an image taken while it is mounted, right after an fsync, and what Linux had in it then. Whoever
# reads it with our tools sees that; one that is written to is clean for e2fsck, and Linux finds the same in it.
#
# What fsync wrote is in the file behind the loop device. Flushing the device would end the transaction, and the fast commits with it.
# Linux is never asked to replay them: 6.18 can oops doing so.
. "$(dirname "$0")/../cli/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune} EXPORT=${XW_EXPORT:-$BIN/xw-export}
for c in mke2fs e2fsck; do
	command -v $c >/dev/null || skip_all "$c is not installed"
done

manifest() { # DIRECTORY: all that is in it
	(cd "$1" && find . -name lost+found -prune -o ! -type d -printf '%p %y %m %U %G %n %s %l\n' -o -printf '%p %y %m %U %G\n' | sort
	find . -type f -print0 | sort -z | xargs -0 sha256sum)
}
fill() { printf "%0$1d" "$2"; }

# In a mounted image: things to change, then changes of all kinds that fit a fast commit (a symbolic link would not).
before() {
	mkdir d gone && fill 9000 1 >keep && fill 5000 2 >victim && fill 7000 3 >over && fill 3000 4 >d/file && : >gone/x &&
		ln -s short link && ln -s "$(fill 200 7)" long && mkfifo pipe &&
		for i in $(seq 1 20); do fill 2000 "$i" >"d/n$i"; done && sync -f .
}
changes() {
	fill 100 5 >new && sync new &&
		rm victim && mkdir made && fill 30000 6 >made/inside && sync made/inside &&
		rm gone/x && rmdir gone && mv link d/link && rm pipe && mv d/file made/moved && sync made/moved &&
		mv new over && ln keep d/again && chmod 600 keep && chown 3:4 keep && truncate -s 2500 keep && sync keep &&
		for i in $(seq 1 3 20); do rm "d/n$i"; done && fill 500 8 >d/reused && sync d/reused &&
		for i in $(seq 0 2 12); do fill 4096 "$i" | dd of=holes bs=4096 seek="$i" conv=notrunc 2>/dev/null; done && sync holes &&
		: >empty && mkdir made/below && echo last >made/below/last && sync made/below/last && echo more >>d/n2 && sync d/n2
}
# The image of the options, as it is in use, in img; what Linux had in it in want.
taken() {
	local dev
	rm -f live img
	truncate -s 40M live && mke2fs -qF -t ext4 -O fast_commit $1 live && dev=$(losetup -f --show live) || return 1
	if mount -o commit=300 "$dev" mnt; then # no commit of its own in between
		(cd mnt && before && changes) && cp --sparse=always live img && manifest mnt >want
		umount mnt
	fi
	losetup -d "$dev"
	[ -s img ]
}
seen_by_export() { # IMAGE MANIFEST
	rm -rf out
	mkdir out
	"$EXPORT" "$1" 2>.err | tar -C out -xf - && manifest out >"$2" && [ ! -s .err ]
}

if can_loop && command -v losetup >/dev/null; then
	mkdir mnt
	at_end "umount $T/mnt"
	while read -r mk; do
		if ! taken "$mk" >.why 2>&1; then
			skip "$mk" "cannot be made or mounted here ($(tail -n 1 .why))" 6
			continue
		fi
		cp --sparse=always img plain
		"$XW_BUILD/journal_tool" recover plain >.why 2>&1
		if ! grep -q 'fast commits' .why; then
			skip "$mk" "this kernel wrote no fast commits" 6
			continue
		fi
		sum=$(cksum <img)
		is "$mk: a reader" seen_by_export img got
		is "$mk: sees them carried out" diff want got
		equal "$mk: and writes nothing" "$(cksum <img)" "$sum"
		is "$mk: a writer" "$TUNE" -L seen img
		is "$mk: leaves it clean" e2fsck -fn img
		rm -f got
		if mount -o loop,ro img mnt; then
			manifest mnt >got
			umount mnt
		fi
		is "$mk: Linux finds everything" diff want got
	done < <(strided <<'TABLE'
-b 1024 -J size=4
-b 4096
-b 1024 -O inline_data -I 256
-b 1024 -O ^extent,^64bit
-b 4096 -O bigalloc -C 16384
TABLE
	)
else
	skip "fast commits of the kernel" "needs root and loop mounts" 30
fi

if [ -r "$CORPUS/j_recover_fast_commit/image.gz" ]; then
	zcat "$CORPUS/j_recover_fast_commit/image.gz" >img
	is "corpus: a reader" seen_by_export img got
	is "corpus: a writer" "$TUNE" -L seen img
	is "corpus: leaves it clean" e2fsck -fn img
	is "corpus: and sees the same" seen_by_export img got2
	is "corpus: as before" diff got got2
else
	skip "corpus" "XW_ACCEPT is not set, or has no such image" 5
fi
done_testing 35
