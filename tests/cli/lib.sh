# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the shell tests share: TAP output, running the tool, and trees to fill images from.
#
# A test script sources this, makes claims, and ends with `done_testing N`. Claims never stop a script; every
# script works in its own $T, which goes away at the end.
#
# N is the number of claims of a complete run: with root, loop mounts, all stock tools, and $XW_ACCEPT. A run that makes another
# number of claims fails, so a loop over an empty list or an early return is noticed:
#   - `skip WHAT REASON M` stands for M claims. `skip WHAT REASON` stands for at least one; a run with such a skip
#     may have fewer than N claims, but not more.
#   - With XW_STRIDE above 1 a run may have fewer than N claims; with XW_ALL or XW_ALL_K, more.
#   - No claims and no skips are always a failure.
# Whatever depends on the machine therefore needs a skip in its other branch. A loop that makes no claim for each item
# counts the items and claims their number.
set -u
export LC_ALL=C.UTF-8 TZ=UTC
unset SOURCE_DATE_EPOCH NO_COLOR MKE2FS_CONFIG
PATH=$PATH:/usr/sbin:/sbin
: "${XW_BUILD:=$PWD}" "${XW_SRC:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
# Stock tools by the wrapper that ends those which hang (tests/kit/stock.c), also where tests/run did not start the script.
case :$PATH: in *":$XW_BUILD/stock:"*) ;; *) PATH=$XW_BUILD/stock:$PATH ;; esac
# The programs themselves, not the scripts that libtool puts before them: those take longer than most of what is run.
BIN=$XW_BUILD
if [ -x "$XW_BUILD/.libs/xw-mkfs" ]; then
	BIN=$XW_BUILD/.libs
	export LD_LIBRARY_PATH=$BIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
# XW_MKFS: another xw-mkfs, an installed one say, with the other tools beside it.
MKFS=${XW_MKFS:-$BIN/xw-mkfs}
case $MKFS in
*/*) ;;
*) MKFS=$(command -v "$MKFS") ;;
esac
[ -x "$MKFS" ] || { echo "Bail out! $MKFS is not there: build first"; exit 1; }
BIN=$(dirname "$MKFS")

is_root() { [ "$EUID" = 0 ]; }
# Programs of the tests' own, in Python: synth.py makes an archive, compare.py holds an image against one, damage.py damages one.
KIT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../kit" && pwd) || exit 99
# XW_ACCEPT=DIR: the acceptance programs, which are no part of this repository. CORPUS: its damaged images, or empty.
CORPUS=
[ ! -d "${XW_ACCEPT:-/nonexistent}/corpus-open" ] || CORPUS=$(cd "$XW_ACCEPT" && pwd)/corpus-open
T=$(mktemp -d "${TMPDIR:-/tmp}/xw-test.XXXXXX") || exit 99
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/release.sh"
# Commands to run at the end, last first. Loop devices need none: t_cleanup detaches those whose files are below $T. A device detached by
# number could be another test's by then.
T_UNDO=()
at_end() { T_UNDO=("$*" ${T_UNDO[@]+"${T_UNDO[@]}"}); }
t_cleanup() {
	local c
	trap '' INT TERM HUP
	for c in ${T_UNDO[@]+"${T_UNDO[@]}"}; do eval "$c" >/dev/null 2>&1; done
	for c in $(jobs -p); do kill "$c" 2>/dev/null; done
	cd /
	release_mounts "$T"
	! is_root || release_loops "$T"
	chmod -R u+rwx "$T" 2>/dev/null
	rm -rf --one-file-system "$T"
}
trap t_cleanup EXIT
trap 'exit 1' INT TERM HUP
cd "$T" || exit 99

T_COUNT=0 T_MORE=0 T_AT_MOST=
pass() { T_COUNT=$((T_COUNT + 1)); echo "ok $T_COUNT - $*"; }
# t_where: the line of the script that made the claim.
t_where() {
	local i
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[ "${BASH_SOURCE[i]}" = "${BASH_SOURCE[0]}" ] || { echo "# at ${BASH_SOURCE[i]#"$XW_SRC/"}:${BASH_LINENO[i - 1]}"; return; }
	done
}
fail() {
	T_COUNT=$((T_COUNT + 1))
	echo "not ok $T_COUNT - $*"
	t_where
	[ ! -s "$T/.err" ] || sed 's/^/# stderr: /' "$T/.err" | head -n 20
	[ ! -s "$T/.out" ] || sed 's/^/# stdout: /' "$T/.out" | head -n 20
}
# skip WHAT REASON [CLAIMS]: instead of so many claims.
skip() {
	T_COUNT=$((T_COUNT + 1))
	echo "ok $T_COUNT - $1 # SKIP $2"
	if [ $# -gt 2 ]; then T_MORE=$((T_MORE + $3 - 1)); else T_AT_MOST=yes; fi
}
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
# done_testing CLAIMS: see above. The end of the script.
done_testing() {
	local made=$((T_COUNT + T_MORE)) wanted=$1 at_most=$T_AT_MOST at_least=
	[ "${XW_STRIDE:-1}" -le 1 ] || at_most=yes
	[ -z "${XW_ALL-}${XW_ALL_K-}" ] || at_least=yes
	if [ $T_COUNT = 0 ] || { [ $made -lt "$wanted" ] && [ -z "$at_most" ]; } || { [ $made -gt "$wanted" ] && [ -z "$at_least" ]; }; then
		: >"$T/.err" >"$T/.out"
		fail "the number of claims"
		diag "got $made, wanted $wanted"
	fi
	echo "1..$T_COUNT"
	exit 0
}
diag() { printf '# %s\n' "$*"; }
# is DESCRIPTION COMMAND...: a claim that the command succeeds.
is() {
	local what=$1
	shift
	if "$@" >"$T/.is" 2>&1; then pass "$what"; else
		fail "$what"
		sed 's/^/# /' "$T/.is" | head -n 20
	fi
}
# equal DESCRIPTION GOT WANTED
equal() {
	if [ "$2" = "$3" ]; then pass "$1"; else
		fail "$1"
		diag "got '$2', wanted '$3'"
	fi
}

# mkfs ARGS...: run the tool with no terminal and no input; status in $RC, output in .out and .err.
mkfs() { mkfs_stdin /dev/null "$@"; }
mkfs_stdin() {
	T_TOOL=xw-mkfs
	run_tool "$MKFS" "$@"
}
run_tool() { # PROGRAM STDIN ARGS...
	local tool=$1 in=$2
	shift 2
	RC=0
	"$tool" "$@" <"$in" >"$T/.out" 2>"$T/.err" || RC=$?
	T_ARGS="$*"
}
# The same for xw-import.
IMPORT=${XW_IMPORT:-$BIN/xw-import} EXPORT=${XW_EXPORT:-$BIN/xw-export}
import() { import_stdin /dev/null "$@"; }
import_stdin() {
	T_TOOL=xw-import
	run_tool "$IMPORT" "$@"
}
# The same for xw-fsck; fsck(8) itself is `command fsck`.
FSCK=${XW_FSCK:-$BIN/xw-fsck} DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
fsck() {
	T_TOOL=xw-fsck
	run_tool "$FSCK" /dev/null "$@"
}
T_TOOL=xw-mkfs
# fails STATUS REGEX DESCRIPTION: about the last mkfs or import: exit status, and *one* line on stderr, which matches.
# Indented lines under it are hints.
fails() {
	local lines=0 line matches=no
	while IFS= read -r line || [ -n "$line" ]; do
		[ "${line:0:1}" = ' ' ] || lines=$((lines + 1))
		[[ ! $line =~ ^$T_TOOL:\ .*($2) ]] || matches=yes
	done <"$T/.err"
	if [ "$RC" = "$1" ] && [ "$lines" = 1 ] && [ $matches = yes ]; then
		pass "$3"
	else
		fail "$3"
		diag "$T_TOOL $T_ARGS: status $RC (wanted $1), $lines lines on stderr (wanted 1: /$2/)"
	fi
}
# works DESCRIPTION: the last mkfs or import exited 0 and said nothing on stderr.
works() {
	if [ "$RC" = 0 ] && [ ! -s "$T/.err" ]; then pass "$1"; else
		fail "$1"
		diag "$T_TOOL $T_ARGS: status $RC"
	fi
}
gone() { [ ! -e "$1" ] && [ ! -L "$1" ]; }

# json KEY FILE: a number or string of a flat JSON object; "-" is standard input.
json() {
	local line file=$2
	[ "$file" != - ] || file=/dev/stdin
	while IFS= read -r line || [ -n "$line" ]; do
		[[ ! $line =~ .*\"$1\":\ *\"?([^\",}]*) ]] || { printf '%s\n' "${BASH_REMATCH[1]}"; return; }
	done <"$file"
}

# fsck_quiet OUTPUT ARGS...: stock e2fsck finds nothing. With -n it can exit with 0 after a question that it has answered with "no"
# (of the resize inode, for one), where -p would stop the boot. That an extent tree could be smaller, which it offers to change, is
# no fault: Linux leaves such trees behind.
have_e2fsck() { command -v e2fsck >/dev/null; }
fsck_quiet() {
	local out=$1
	shift
	e2fsck "$@" >"$out" 2>&1 && ! grep -E '\? no$' "$out" | grep -vq 'Optimize? no$'
}
# clean IMAGE DESCRIPTION
clean() {
	if ! have_e2fsck; then
		skip "$2" "e2fsck is not installed" 1
	elif fsck_quiet "$T/.fsck" -fn "$1"; then
		pass "$2"
	else
		fail "$2"
		sed 's/^/# e2fsck: /' "$T/.fsck" | head -n 20
	fi
}

# Before they write to an image with MMP, stock tools wait 11 seconds: such images are made without (without_mmp OPTIONS), and get
# it when nobody is going to write any more (add_mmp IMAGE OPTIONS). OPTIONS name it as ",mmp".
without_mmp() { echo "${1//,mmp/}"; }
add_mmp() { case $2 in *,mmp*) tune2fs -O mmp "$1" >/dev/null 2>&1 ;; esac; }

# wait_for COMMAND...: until it succeeds, at most five minutes: how long things take is no claim of ours.
wait_for() {
	local end=$((SECONDS + 300))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}
# half ARCHIVE: so much of it into the pipe at descriptor 9 that it only goes there when the tool is reading.
half() { timeout 300 head -c 500000 "$1" >&9; }
# Whether a process has opened a file that has no name yet: the image that it makes.
has_unnamed() { ls -l "/proc/$1/fd" | grep -q deleted; }

# For tests that give up privileges: AS_USER runs a command as a user who owns nothing. The build may be where that user cannot
# go (below /root), so reach_tools puts the tools and their library into $REACHABLE, below $T.
AS_USER="setpriv --reuid 12345 --regid 12345 --clear-groups"
REACHABLE=$T/.tools
reach_tools() {
	mkdir -p "$REACHABLE" && cp "$BIN"/xw-* "$REACHABLE/" && chmod 755 "$T" "$REACHABLE"
	[ ! -d "$XW_BUILD/.libs" ] || cp -P "$XW_BUILD"/.libs/libextwright*.so* "$REACHABLE/"
	export LD_LIBRARY_PATH=$REACHABLE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
user_reaches() { $AS_USER test -x "$REACHABLE/xw-mkfs"; }
# Loop mounts need root and a kernel that lets us; probed once a script.
T_LOOP=
can_loop() {
	local d=$T/.probe
	[ -z "$T_LOOP" ] || return "$T_LOOP"
	T_LOOP=1
	is_root && command -v mke2fs >/dev/null || return 1
	mkdir -p "$d"
	mke2fs -qF -t ext4 "$T/.probe.img" 4M >/dev/null 2>&1 &&
		mount -o loop "$T/.probe.img" "$d" 2>/dev/null && umount "$d" && T_LOOP=0
	rm -f "$T/.probe.img"
	return $T_LOOP
}

# strided [AT-MOST [EVERYDAY]]: of the lines on standard input the first, the last, and of those between each N-th, with XW_STRIDE=N
# as in tests/unit/unit.h (but no more than AT-MOST, for tables whose rows have less in common). Without it: each EVERYDAY-th (default:
# all), and in the long form (XW_ALL=1) all. Lines that begin with "~" belong to the long form: an everyday run leaves them out,
# because the lines without "~" have every kind once.
strided() {
	local n=${XW_STRIDE:-1}
	[ -n "${XW_ALL-}" ] || [ "$n" -ge "${2:-1}" ] || n=$2
	[ "$n" -le "${1:-$n}" ] || n=$1
	awk -v n="$n" -v all="${XW_ALL-}" 'sub(/^~/, "") && all == "" { next } { m++ } m % n == 1 || n == 1 { print; last = ""; next }
		{ last = $0 } END { if (last != "") print last }'
}

# files FORMAT FIRST LAST BYTES [STEP]: files with the names that FORMAT gives the numbers FIRST to LAST; number n has n * BYTES bytes,
# and no two blocks of them are equal.
files() {
	awk -v format="$1" -v first="$2" -v last="$3" -v bytes="$4" -v step="${5:-1}" 'BEGIN {
		for (n = first; n <= last; n += step) {
			name = sprintf(format, n)
			left = n * bytes
			printf "" >name
			for (k = 0; left > 0; left -= 250) printf "%s", substr(sprintf("%-249s\n", n " of " format " " k++), 1, left) >name
			close(name)
		}
	}'
}
# pieces FILE STEP TEXT N...: TEXT at N * STEP of the file, for each N; what lies between stays as it is, or a hole.
pieces() {
	perl -e 'my ($name, $step, $text, @at) = @ARGV; open(my $f, -e $name ? "+<" : ">", $name) or die "$name: $!";
		for (@at) { seek($f, $_ * $step, 0); print $f $text } close($f) or die "$name: $!"' "$@"
}

# gives_back IMAGE DIR: the names in xw-export's archive are those in DIR, lost+found apart, and GNU tar finds each as it is there: type,
# mode, owner, contents, target; the time of modification is not compared. Nothing is extracted, which would take far longer.
gives_back() {
	"$EXPORT" -o - "$1" 2>"$T/.err" >"$T/.given.tar" || return 1
	diff <(tar -tf "$T/.given.tar" | sed 's,^\./,,; s,/$,,; /^$/d; /^lost+found$/d' | sort) <(cd "$2" && find . -mindepth 1 -path ./lost+found -prune -o -printf '%P\n' | sort) &&
		! { tar -df "$T/.given.tar" -C "$2" 2>&1 | grep -v -e 'Mod time differs$' -e lost+found; }
}

# debian_conf: Debian's mke2fs.conf, whose usage types xw-mkfs has built in.
debian_conf() {
	cat <<'CONF'
[defaults]
	base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
	default_mntopts = acl,user_xattr
	enable_periodic_fsck = 0
	blocksize = 4096
	inode_size = 256
	inode_ratio = 16384

[fs_types]
	ext3 = {
		features = has_journal
	}
	ext4 = {
		features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
	}
	small = {
		blocksize = 1024
		inode_ratio = 4096
	}
	floppy = {
		blocksize = 1024
		inode_ratio = 8192
	}
	big = {
		inode_ratio = 32768
	}
	huge = {
		inode_ratio = 65536
	}
	news = {
		inode_ratio = 4096
	}
	largefile = {
		inode_ratio = 1048576
		blocksize = -1
	}
	largefile4 = {
		inode_ratio = 4194304
		blocksize = -1
	}
	hurd = {
	     blocksize = 4096
	     inode_size = 128
	     warn_y2038_dates = 0
	}
CONF
}

# listing DIR: names, types, modes and targets of symlinks below it, lost+found apart.
listing() { (cd "$1" && find . ! -path './lost+found*' -printf '%P %y %m %l\n' | sort); }
# kept DESCRIPTION IMAGE TREE: the image has the names, contents, symlinks and modes of TREE.
kept() {
	rm -rf got
	mkdir got
	"$DEBUGFS" -R 'rdump / got' "$2" >"$T/.dbg" 2>&1
	chmod 755 got
	listing "$3" >"$T/.want"
	listing got >"$T/.got"
	if cmp -s "$T/.want" "$T/.got" && diff -r --no-dereference -x lost+found "$3" got >"$T/.diff" 2>&1; then pass "$1"; else
		fail "$1"
		{ diff "$T/.want" "$T/.got" || cat "$T/.diff"; } | head -n 3 | sed 's/^/# /'
	fi
}

# try_seeds DESCRIPTION: the script's try_seed on the image "base", with each of XW_SEEDS seeds. Each must hold or damage
# nothing (try_seed returns 3), and at least one must hold.
try_seeds() {
	local seed rc held=0 undamaged=0
	for seed in $(seq 1 "$XW_SEEDS"); do
		rc=0
		try_seed base "$seed" >why 2>&1 || rc=$?
		case $rc in
		0) held=$((held + 1)) ;;
		3) undamaged=$((undamaged + 1)) ;;
		*)
			diag "$1: seed $seed"
			sed 's/^/# /' why | head -n 40
			;;
		esac
	done
	equal "$1: $held seeds held, $undamaged damaged nothing" "$((held + undamaged)) $((held > 0))" "$XW_SEEDS 1"
}

# make_tree DIR: a small tree with one of everything that needs no privilege.
make_tree() {
	local d=$1 i
	mkdir -p "$d/sub/deep/er" "$d/empty" "$d/many" "$d/name with space"
	: >"$d/zero"
	printf 'hello\n' >"$d/small"
	head -c 4096 /dev/zero | tr '\0' 'x' >"$d/block"
	head -c 4097 /dev/zero | tr '\0' 'y' >"$d/block+1"
	seq 1 200000 >"$d/sub/big"
	truncate -s 20M "$d/sparse"
	pieces "$d/sparse" 1 end 15000000
	pieces "$d/sparse" 1 middle 5000000
	ln "$d/small" "$d/sub/hard"
	ln -s small "$d/short-link"
	ln -s "$(printf '%0200d' 7)" "$d/long-link"
	mkfifo "$d/fifo"
	printf 'n' >"$d/name with space/"$'new\nline'
	printf 'u' >"$d/$(printf '\303\274ml\303\244ut')"
	printf 'b' >"$d/$(printf '%0255d' 1)"
	chmod 4755 "$d/small"
	chmod 1777 "$d/empty"
	for i in $(seq 1 600); do : >"$d/many/entry-number-$i"; done
	printf 'd' >"$d/sub/deep/er/file"
	touch -d '1969-07-20T20:17:40.123456789Z' "$d/block"
	touch -d '2040-01-02T03:04:05.987654321Z' "$d/sub/big"
}
# make_tar DIR FILE [TAR-OPTION...]: a pax archive of it, the same bytes every time.
make_tar() {
	local d=$1 f=$2
	shift 2
	tar --format=posix --sort=name --numeric-owner --sparse \
		--pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f "$@" -C "$d" -cf "$f" .
}
