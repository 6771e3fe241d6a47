#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import into damaged images: XW_SEEDS=N (default 1) runs seeds 1 to N of damage.py over each
# kind of image below, every second one, and of one seed every second kind, with its checksums made right again. To be run on a build with
# --enable-sanitize; fuzz_update is the part of it that always runs. Each run ends within 20 seconds: imported, or
# refused in one line with every block that was in use as it was.
. "$(dirname "$0")/../cli/lib.sh"
: "${XW_SEEDS:=1}"
for tool in python3 dumpe2fs mke2fs; do command -v $tool >/dev/null || skip_all "needs $tool"; done
export ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:exitcode=98

mkdir -p one/dir one/big one/deep one/gone/x one/tagged two/dir/f11 two/big/new two/way two/tagged
files one/big/file-with-a-name-%d 1 300 37
files two/big/file-with-a-name-%d 250 350 11
for n in $(seq 1 40); do
	: >one/gone/x/$n
	echo $n >one/dir/f$n
	ln one/dir/f$n one/deep/h$n
done
for n in $(seq 1 10); do
	echo a >one/tagged/$n
	echo b >two/tagged/$((n * 2))
	setfattr -n user.some -v "$(printf '%0300d' $((n % 3)))" one/tagged/$n two/tagged/$((n * 2)) 2>/dev/null
	setfattr -n user.more -v "$(printf '%0500d' $n)" one/tagged/$n 2>/dev/null
done
# shellcheck disable=SC2046
pieces one/dir/sparse 1024 data $(seq 0 7 400)
ln -s big one/way
ln -s "$(printf '%0100d' 1)" one/long
echo q >two/way/through
: >two/.wh.gone
for n in sparse f1 f2 f3; do : >two/dir/.wh.$n; done
echo z >two/dir/f9
echo k >two/dir/f11/k
for n in $(seq 1 200); do : >two/big/new/n$n; done
ln two/big/new/n1 two/dir/linked
make_tar two two.tar --xattrs

cat >in-use.py <<'END'
"""in-use.py BASE BEFORE AFTER: do blocks differ that BASE has in use?"""
import re, subprocess, sys
said = subprocess.run(['dumpe2fs', sys.argv[1]], capture_output=True, text=True).stdout
bs = int(re.search(r'^Block size:\s+(\d+)', said, re.M).group(1))
ratio = int((re.search(r'^Cluster size:\s+(\d+)', said, re.M) or [0, bs])[1]) // bs
free = set()
for line in re.findall(r'^  Free blocks: (.+)$', said, re.M):
    for part in line.split(','):
        ends = [int(x) for x in part.split('-')]
        free.update(range(ends[0], ends[-1] + ratio))
before, after = (open(name, 'rb').read() for name in sys.argv[2:])
changed = [b for b in range(len(before) // bs) if b not in free and before[b * bs:(b + 1) * bs] != after[b * bs:(b + 1) * bs]]
sys.exit(f'changed: {changed[:10]}' if changed or len(before) != len(after) else 0)
END

try_seed() { # IMAGE SEED
	local fix=() rc
	[ $((($2 + kind) % 2)) = 1 ] || fix=(--fix-csums)
	python3 "$KIT/damage.py" "$1" hurt "$2" "${fix[@]}" >how 2>&1 || { [ $? = 3 ] && return 3; cat how; return 1; }
	cp hurt before
	timeout -s KILL 900 "$IMPORT" -q hurt two.tar >said 2>&1
	rc=$?
	[ $rc -le 2 ] && [ ! -e hurt.xw-redo ] || { cat how said; return 1; }
	if [ $rc = 0 ]; then
		timeout -s KILL 900 "$IMPORT" -q hurt two.tar >said 2>&1
		rc=$?
		[ $rc -le 2 ] || { cat how said; return 1; }
		return 0
	fi
	[ "$(wc -l <said)" = 1 ] || { cat how said; return 1; }
	# a journal that asks for it is replayed in any case
	grep -q needs_recovery how || python3 in-use.py "$1" before hurt || { cat how said; return 1; }
}

kind=0
while read -r maker options; do
	kind=$((kind + 1))
	rm -f base
	# shellcheck disable=SC2086
	if [ "$maker" = stock ]; then
		mke2fs -qF -N 2000 $options base 8M >/dev/null 2>&1 && "$IMPORT" -q base one
	else
		"$MKFS" -q -N 2000 $options -d one base 8M
	fi || { fail "$maker $options: made"; continue; }
	try_seeds "$maker $options"
done <<-'END'
	stock -t ext2 -b 1024
	stock -t ext3 -b 1024
	stock -t ext4 -b 1024
	stock -t ext4 -b 4096
	stock -t ext4 -b 1024 -O ^metadata_csum
	stock -t ext4 -b 1024 -O inline_data,ea_inode -I 512
	stock -t ext4 -b 1024 -O quota,orphan_file,project
	stock -t ext4 -b 1024 -O bigalloc -C 4096
	ours -O bigalloc,^metadata_csum -b 1024 -C 2048
	ours -O itree -b 1024
	ours -O itree,^metadata_csum -b 1024
END
done_testing 11
