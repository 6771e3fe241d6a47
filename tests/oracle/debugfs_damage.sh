#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The reading verbs of xw-debugfs on damaged images: no crash, no endless loop, no unbounded memory, on images that damage.py
# damages and, with XW_ACCEPT, on the acceptance corpus. Best in a build with --enable-sanitize.
# XW_SEEDS=N (default 6): seeds 1 to N of damage.py; "FIRST LAST": these. XW_ALL=1: every image of the corpus, not one in 32.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in python3 mke2fs debugfs; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
export DEBUGFS_PAGER=

cat >requests <<'END'
stats
freefrag
ls -ldc /
ls -p /many
cd /sub
pwd
icheck 1 500 1000 2000
ncheck 11 12 13 14 15
lsdel
xattr_share
logdump -ac
logdump -O
logdump -b 600 -c
logdump -i <12>
logdump -S
list_quota user
list_quota group
list_quota project
dump_mmp
testb 1 2000
ffb 10
ffi
filefrag -rv /
htree /many
htree /big
itree /many
itree_check /many
rdump / there
dump_unused
mb_structs_summary
mb_groups
END
for n in $(seq 1 30); do
	printf '%s <%d>\n' stat "$n" blocks "$n" ex "$n" imap "$n" inode_dump "$n" "inode_dump -x" "$n" ea_list "$n" \
		"filefrag -v" "$n" testi "$n" "ls -ld" "$n" htree "$n" itree "$n" itree_check "$n"
	printf 'bmap <%d> 20\nbd -f <%d> 0\nbd -x -f <%d> 0\nea_get <%d> user.short\n' "$n" "$n" "$n" "$n"
done >>requests
for blk in 1 2 3 100 200 500 600 700; do printf 'bd %d\nbd -x %d\n' $blk $blk; done >>requests
for n in $(seq 2 30); do echo "cat <$n>"; done >cats

# What JSON says, where the image can be opened: an object for each request, in their order, with a result or a reason; nothing but UTF-8.
cat >judge.py <<'END'
"""judge.py REQUESTS ANSWERS ERRORS"""
import json, sys
asked = [line.strip() for line in open(sys.argv[1])]
text = open(sys.argv[2], 'rb').read()
if len(text) >= 50000000:
    sys.exit(0)
said = [json.loads(line) for line in text.decode('utf-8').splitlines()]
if len(said) == 1 and 'request' not in said[0]:
    sys.exit(0 if said[0].get('error') and len(open(sys.argv[3]).read().splitlines()) == 1 else 'not opened: no reason, or more than a line')
if [o['request'] for o in said] != asked:
    sys.exit(f'{len(asked)} requests, {len(said)} answers')
for o in said:
    reason = o.get('error', 'a finding' if 'result' in o else '')
    if o['ok'] not in (True, False) or not o['ok'] and (not reason or '\n' in reason):
        sys.exit(f'{o["request"]}: no reason')
if sum(o['ok'] for o in said) < len(said) // 20:
    sys.exit('hardly anything can be read')
END

# survives IMAGE: 0 when every way to look at it ends as it should. 3 GiB is what the address sanitizer's own bookkeeping
# does not count in: only resident memory of the process is limited, by measuring it.
survives() {
	local rc
	rm -rf there && mkdir there
	cp "$1" before
	for how in "-f requests" "--no-replay -f cats" "-n --json -f requests"; do
		# shellcheck disable=SC2086
		# of a file that says it has terabytes they are printed: the reader has seen enough at some point
		(ulimit -t 60 && exec timeout -s KILL 600 "$DBG" $how "$1" 2>said) | head -c 50000000 >answers
		rc=${PIPESTATUS[0]}
		if { [ $rc -gt 2 ] && [ $rc != 141 ]; } || grep -q -e 'Sanitizer' -e 'runtime error' -e 'out of memory' -e 'internal error' said; then
			printf '# %s: status %s: %s\n' "$how" $rc "$(grep -m1 -e Sanitizer -e 'runtime error' -e 'memory' -e internal said)"
			return 1
		fi
	done
	python3 judge.py requests answers said 2>judged || { sed 's/^/# JSON: /' judged && return 1; }
	cmp "$1" before || { echo "# reading has changed it" && return 1; }
}

i=0 n_corpus=0
for d in ${CORPUS:+"$CORPUS"/*/}; do
	i=$((i + 1))
	[ -n "${XW_ALL-}" ] || [ $((i % 32)) = 0 ] || continue
	zcat "$d/image.gz" >img 2>/dev/null || { fail "corpus: $d/image.gz"; continue; }
	n_corpus=$((n_corpus + 1))
	if survives img >why; then pass "corpus: $(basename "$d")"; else fail "corpus: $(basename "$d")"; cat why; fi
done
if [ -n "$CORPUS" ]; then
	is "corpus: $n_corpus of $i images" [ $n_corpus -gt 0 ]
else
	skip "corpus" "XW_ACCEPT is not set" 1
fi

# ---- images to damage ----
mkdir -p tree/many tree/sub/deep tree/big
for n in $(seq 200); do : >"tree/many/entry-number-$n-of-many"; done
echo hello >tree/small
ln -s small tree/link
seq 60000 >tree/big/seq
truncate -s 9M tree/sparse && pieces tree/sparse 5000000 x 1
# shellcheck disable=SC2046
pieces tree/broken 3072 x $(seq 0 40)
printf '%s\n' 'ea_set small user.short bar' 'ea_set small user.long 0123456789012345678901234567890123456789' \
	'ea_set -f value small user.large' 'mknod null c 1 3' >setup
printf %0900d 3 >value
n=0
while read -r options; do
	rm -f base.$n
	# shellcheck disable=SC2086
	mke2fs -qF -N 512 -d tree $(without_mmp "$options") base.$n 12M >/dev/null 2>&1 || continue
	debugfs -w -f setup base.$n >/dev/null 2>&1
	e2fsck -fyD base.$n >/dev/null 2>&1
	add_mmp base.$n "$options"
	n=$((n + 1))
done <<-'END'
	-t ext4 -b 1024
	-t ext4 -b 1024 -O quota,project,orphan_file,mmp -E quotatype=usrquota:grpquota:prjquota
	-t ext4 -O inline_data,ea_inode,metadata_csum_seed -I 512
	-t ext2 -b 1024
	-t ext3 -b 2048
END
mkfs -q -b 1024 -O itree -d tree base.$n 12M && n=$((n + 1))
[ $n -gt 0 ] || skip_all "no image could be made"

read -r first last <<<"${XW_SEEDS:-6}"
[ -n "$last" ] || last=$first first=1
bad=0 tried=0 undamaged=0
for seed in $(seq "$first" "$last"); do
	fix=""
	[ $((seed % 3)) = 0 ] || fix=--fix-csums
	# shellcheck disable=SC2086
	python3 "$KIT/damage.py" base.$((seed % n)) img "$seed" $fix >log 2>&1 || { [ $? = 3 ] && undamaged=$((undamaged + 1)) || cat log; continue; }
	tried=$((tried + 1))
	survives img >why && continue
	bad=$((bad + 1))
	diag "seed $seed"
	cat why
	[ $bad -lt 10 ] || break
done
equal "images damaged by damage.py, seeds $first to $last: tried, bad" "$((tried + undamaged)) $bad" "$((last - first + 1)) 0"
is "  which are some" [ $tried -gt 0 ]
done_testing $((3 + n_corpus))
