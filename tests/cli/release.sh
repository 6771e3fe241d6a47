# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Ends what tests leave behind below a directory: processes, mounts, loop devices. Sourced by lib.sh, for the directory of one
# script, and by runtests and .ci/run, for the TMPDIR of a whole run.

# release_mounts DIR: unmount everything below DIR, the innermost mounts first.
release_mounts() {
	local m
	awk -v d="$1/" 'index($5, d) == 1 { print length($5), $5 }' /proc/self/mountinfo 2>/dev/null | sort -rn | while read -r _ m; do
		m=$(printf '%b' "$m") # mountinfo escapes blanks
		umount "$m" 2>/dev/null || umount -l "$m"
	done
}

# loops_of DIR: the loop devices whose files are, or were, below DIR.
loops_of() {
	PATH=$PATH:/sbin:/usr/sbin losetup -nlO NAME,BACK-FILE 2>/dev/null | awk -v d="$1/" 'index($2, d) == 1 { print $1 }'
}

# release_loops DIR: detach these devices. A device that an unmount is about to detach is gone a moment later.
release_loops() {
	local dev
	for dev in $(loops_of "$1"); do
		PATH=$PATH:/sbin:/usr/sbin losetup -d "$dev" 2>/dev/null
	done
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -n "$(loops_of "$1")" ] || return 0
		sleep 0.2
	done
}

# processes_of DIR: the processes whose TMPDIR is DIR or below it, without the caller.
processes_of() {
	local p e
	for e in /proc/[0-9]*/environ; do
		p=${e#/proc/} p=${p%/environ}
		[ "$p" != $$ ] && [ "$p" != "$BASHPID" ] || continue
		if { tr '\0' '\n' <"$e" | grep -q "^TMPDIR=$1\(/\|\$\)"; } 2>/dev/null; then echo "$p"; fi
	done
}

# release_all DIR: end the processes, then unmount, detach, and remove DIR. Prints what was found.
release_all() {
	local p found
	for p in $(processes_of "$1"); do
		found=$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline") || continue
		kill -KILL "$p" 2>/dev/null && echo "process $p: $found"
	done
	awk -v d="$1/" 'index($5, d) == 1 { print "mount", $5 }' /proc/self/mountinfo 2>/dev/null
	release_mounts "$1"
	loops_of "$1" | sed 's/^/loop device /'
	release_loops "$1"
	chmod -R u+rwx "$1" 2>/dev/null
	rm -rf --one-file-system "$1"
}
