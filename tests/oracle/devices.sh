#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Block devices with sectors of 512 and of 4096 bytes: every tool that writes, on every kind of filesystem, with stock's exit status
# where stock does the same; and what others read afterwards, through caches filled before and past them, is the new state.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop mounts"
have_e2fsck || skip_all "e2fsck is not installed"
EXTWRIGHT_STATE_DIR=/dev/null/none
export EXTWRIGHT_STATE_DIR

mkdir -p tree/dir/sub add/dir/more
for i in 1 2 3 4 5 6 7 8; do seq "$i" $((i * 400)) >"tree/dir/file$i"; done
ln -s dir/sub tree/link
cp -r tree want
seq 1 5000 >add/dir/more/new
ln -s new add/dir/more/link
cp -r add/. want/
printf 'mkdir made\ncd made\nwrite add/dir/more/new copy\nrm /dir/file3\nsif /dir/sub mode 040700\n' >commands

# A program that has the device open all the while, and whose reads have filled the cache of the kernel. A line on its input: what it
# reads now, compared with what it read before, with the medium past the cache, and with the file below the device.
cat >opener.py <<'END'
import mmap, os, sys
device, file = sys.argv[1:]
fd = os.open(device, os.O_RDONLY)
past = os.open(device, os.O_RDONLY | os.O_DIRECT)
size = os.lseek(fd, 0, os.SEEK_END)
buf = mmap.mmap(-1, size)
before = b""
for line in sys.stdin:
    now = os.pread(fd, size, 0)
    os.preadv(past, [buf], 0)
    with open(file, "rb") as below:
        print("old" if now == before else "new", now == buf[:], now == below.read(), flush=True)
    before = now
END
look() { echo >&"${opener[1]}" && read -r seen <&"${opener[0]}"; }
# one STATUS TOOL ARGUMENT...: a change of $loop, which has what `base` holds. What is wrong with the result goes to $bad.
one() {
	local want=$1 tool=$2 odd=''
	shift 2
	cat base >"$loop"
	look
	run_tool "$BIN/$tool" /dev/null "$@"
	look
	[ "$RC" = "$want" ] || odd+=" status $RC: $(head -n 1 .err)"
	[ "$want" = 2 ] || [ "$seen" = "new True True" ] || odd+=" others see: $seen"
	"$BIN/xw-fsck" -fn "$loop" >.fsck 2>&1 || odd+=" not clean"
	case $options in *itree*) ;; *) fsck_quiet .fsck -fn "$loop" || odd+=" stock complains" ;; esac
	[ -z "$odd" ] || bad+=" $tool $*:$odd;"
}
# Kinds of filesystems by sector size; those with ~ belong to the long form.
declare -A kinds=(
	[512]="-t ext2 -b 1024
-t ext4 -b 1024
-t ext4 -O itree
~-t ext3
~-t ext4 -O ^has_journal,inline_data
~-t ext4 -b 4096 -O bigalloc,quota,^resize_inode"
	[4096]="-t ext2 -b 1024
-t ext3
-t ext4 -O ^has_journal,inline_data
-t ext4 -b 4096 -O bigalloc,quota,^resize_inode
~-t ext4 -b 1024
~-t ext4 -O itree"
)
for sector in 512 4096; do
	rm -f disk
	truncate -s 8M disk
	loop=$(losetup -b $sector -f --show disk 2>/dev/null) || { skip "sectors of $sector bytes" "no such loop device" $((sector == 512 ? 3 : 4)); continue; }
	coproc opener { exec python3 opener.py "$loop" disk; }
	while IFS= read -r options; do
		# shellcheck disable=SC2086
		"$MKFS" -q -F $options -N 512 -d tree base 8M >.out 2>.err || { fail "xw-mkfs $options: $(cat .err)"; continue; }
		bad=
		one 0 xw-import "$loop" add
		gives_back "$loop" want >.diff 2>&1 || bad+=" xw-import: not the tree;"
		one 0 xw-debugfs -w -f commands "$loop"
		"$BIN/xw-debugfs" -R 'cat /made/copy' "$loop" 2>/dev/null | cmp -s - add/dir/more/new || bad+=" xw-debugfs: not the file;"
		one 0 xw-tune -U random -L "a label" -c 7 -e panic "$loop"
		case $options in *bigalloc*) how="--profile alternate:64k,64k --fast --until no-run=256k" ;; *) how="--profile pazdera --ops 10 --size 0-8k" ;; esac
		# shellcheck disable=SC2086
		one 0 xw-age -q $how "$loop"
		# a block size below that of a sector is refused, as by mke2fs
		case $sector$options in 4096*1024*) want=2 ;; *) want=0 ;; esac
		# shellcheck disable=SC2086
		one $want xw-mkfs -q -F $options -N 512 -d add "$loop"
		"$BIN/xw-debugfs" -w -R 'sif /dir/file2 links_count 7' -R 'setb 1900 3' base >.out 2>&1
		one 1 xw-fsck -fy "$loop"
		equal "sectors of $sector bytes, $options" "$bad" ""
	done < <(strided <<<"${kinds[$sector]}")
	eval "exec ${opener[1]}>&-"
	wait "$opener_PID" 2>/dev/null
	losetup -d "$loop"
done
done_testing 7
