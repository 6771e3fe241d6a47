#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A test script that fails or is interrupted leaves no process, mount, loop device or directory behind (lib.sh, release.sh).
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99

case $0 in
/*) cli=$(dirname "$0") ;;
*) cli=$(cd "$OLDPWD" && cd "$(dirname "$0")" && pwd) ;;
esac
loop=no
if is_root && command -v losetup >/dev/null && can_loop; then loop=yes; fi
# What a script may have open when its end comes. It says "ready", with its directory, and waits.
cat >script.sh <<SCRIPT
. "$cli/lib.sh" || exit 9
sleep 1000 &
if [ $loop = yes ]; then
	truncate -s 4M one two && mke2fs -qF one && mkdir mnt "with blank" && mount -o loop one mnt
	mount -t tmpfs none "with blank"
	losetup -f two && rm two
fi
echo \$! >"\$1.process"
echo "\$T" >"\$1.tmp"
echo x >"\$1.ready"
SCRIPT
# A process that nobody has waited for yet has ended, too: then it has no command line.
ended() { [ ! -s "/proc/$1/cmdline" ] || [ -z "$(tr -d '\0' <"/proc/$1/cmdline")" ]; }
# nothing_left NAME: below the directory of the script of that name.
nothing_left() {
	local dir
	dir=$(cat "$1.tmp") && [ ! -e "$dir" ] && ! grep -q " $dir" /proc/self/mountinfo && ended "$(cat "$1.process")" &&
		{ [ $loop = no ] || wait_for eval "! losetup -nlO BACK-FILE | grep -q '^$dir'"; }
}

(cat script.sh && echo 'exit 3') >fails.sh
bash fails.sh "$T/fails" >.out 2>.err </dev/null
equal "a script that fails" "$?" 3
is "  leaves nothing" nothing_left fails

if env --default-signal=TERM true 2>/dev/null; then
	for sig in TERM HUP INT; do
		(cat script.sh && echo 'while :; do sleep 0.1; done') >waits.sh
		rm -f waits.*[!h]
		env --default-signal=$sig bash waits.sh "$T/waits" >.out 2>.err </dev/null &
		pid=$!
		wait_for test -e waits.ready
		kill -s $sig $pid
		wait $pid
		is "a script that gets SIG$sig leaves nothing" nothing_left waits
	done
else
	skip "signals" "env --default-signal is missing (coreutils 8.31)"
fi

# The sweep over a whole run: a script that was killed cleans up nothing, its TMPDIR says what was its own.
mkdir run
(cat script.sh && echo 'kill -s KILL $$') >killed.sh
{ TMPDIR=$T/run bash killed.sh "$T/killed" </dev/null; } >.out 2>.err
release_all "$T/run" >found
is "of a killed script the sweep ends the rest" nothing_left killed
is "  and says which process it was" grep -q '^process [0-9]*: sleep 1000' found
if [ $loop = yes ]; then
	equal "  and which mounts and devices" "$(grep -c '^mount ' found) $(grep -c '^loop device ' found)" "2 1" # the device of the loop mount goes with the mount
else
	skip "  and which mounts and devices" "needs root and loop mounts"
fi
is "  and removes the directory" gone run
done_testing 9
