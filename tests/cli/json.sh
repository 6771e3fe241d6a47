#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --json of every tool: standard output is JSON whatever happens, a failure is an object that says why, numbers are numbers.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

cat >check.py <<'PY'
import json, sys
lines = [l for l in open('.out', encoding='utf-8').read().splitlines() if l]
try:
    objects = [json.loads('\n'.join(lines))]
except ValueError:
    objects = [json.loads(l) for l in lines]
exec(sys.argv[1])
PY
holds() { is "$1" python3 check.py "assert $2, objects"; }
printf x >bad
printf x >names
mkfs -q img 8M
mkdir src && echo hello >src/file
mkfs -q -d src damaged 8M
"$BIN/xw-debugfs" -w -R 'sif /file block[0] 0' damaged >/dev/null

while read -r line; do
	case $line in "") continue ;; esac
	read -ra words <<<"$line"
	run_tool "$BIN/${words[0]}" /dev/null "${words[@]:1}" --json
	is "$line --json: fails" test "$RC" -gt 0
	holds "  with an object that says why" 'objects[-1]["error"] and len(objects) == 1'
	case $line in
	"xw-fsck -n bad" | "xw-fsck -n missing") ;; # the object has everything
	*) holds "  the same that standard error says" 'objects[-1]["error"] in open(".err").read()' ;;
	esac
done <<'TABLE'
xw-mkfs -q new 8M -d missing
xw-mkfs new 8M -b 3
xw-mkfs new 8M --nosuch
xw-mkfs new 8M 9M
xw-mkfs -b
xw-mkfs
xw-mkfs - 8M
xw-mkfs img 8M
xw-mkfs --partition 1 img
xw-import bad src
xw-import img
xw-import img missing
xw-import -C
xw-export -t bad
xw-export -t missing
xw-export -x out bad
xw-export -o out.tar bad
xw-export -o missing/out.tar img
xw-export -o out.tar damaged
xw-export -x out damaged
xw-export -o out.tar img nothing
xw-export -o /dev/full img
xw-export -t -T missing img
xw-export -t -T bad img extra --nosuch
xw-export img
xw-export -t -x out img
xw-export -xvf img
xw-dump bad
xw-dump -m img
xw-dump
xw-dump -o superblock=x img
xw-freefrag bad
xw-freefrag -c 3 img
xw-freefrag --svg - img
xw-tune -L x bad
xw-tune img
xw-tune -e nothing img
xw-tune -m x img
xw-tune -O nosuch img
xw-tune -l img bad
xw-tune -U zz img
xw-age --measure bad
xw-age img
xw-age --profile nosuch img
xw-debugfs -R ls bad
xw-debugfs -R ls missing
xw-debugfs -R nosuch img
xw-debugfs -b 3 img
xw-debugfs -w -c img
xw-fsck -n bad
xw-fsck -n missing
xw-fsck img
xw-fsck -n -y img
xw-fsck -E nosuch -n img
xw-mkfs -q -z x/y new 8M
xw-mkfs -q --owner @ new 8M
xw-import img src --jobs x
xw-age --profile x nofile
xw-age --profile alternate:x,y img
xw-age --until layout=2 img
xw-age --util 3 --profile geriatrix img
xw-age --allocator x --profile pazdera img
xw-age -E x img
xw-age --measure img?offset=x
xw-tune -E stride=x img
xw-tune -E hash_alg=x img
xw-tune -J size=x img
xw-tune -i 99999999999 img
xw-tune -T x img
xw-debugfs -b x img
xw-debugfs -s x img
xw-debugfs -E offset=x img
xw-debugfs -f missing img
xw-fsck -n -C 99 img
xw-fsck -n -b x img
xw-fsck -n --jobs x img
xw-fsck -n -E offset=x img
xw-fsck -n -E itree=x img
xw-fsck -n -I x img
TABLE

run_tool "$BIN/xw-debugfs" /dev/null --json -R nosuch -R "stat /" img
holds "a request that fails is an object among the others" '[o["ok"] for o in objects] == [False, True]'
run_tool "$BIN/xw-mkfs" /dev/null --json --help
is "--help is text" grep -q '^Usage' .out

# Numbers and units.
run_tool "$BIN/xw-dump" /dev/null --json -h img
holds "xw-dump: numbers are numbers" \
	'type(objects[0]["journal"]["journal_sequence"]) is int and type(objects[0]["superblock"]["block_count"]) is int'
holds "  units are in names" \
	'objects[0]["journal"]["total_journal_size_kib"] == 4096 and "lifetime_writes_kib" in objects[0]["superblock"]'
run_tool "$BIN/xw-age" /dev/null --json --measure img
holds "xw-age: no ratio without data" \
	'objects[0]["measured"]["files"] == 0 and not [k for k in objects[0]["measured"] if "score" in k or "per_file" in k]'
mkfs -Fq -d src img 8M
run_tool "$BIN/xw-age" /dev/null --json --measure img
holds "  but with data" 'objects[0]["measured"]["layout_score"] == 1 and objects[0]["measured"]["extents_per_file"] == 1'

# Statistics of the allocator, of all tools that have one, under the same names; those of attributes apart.
python3 - <<'PY'
import io, tarfile
with tarfile.open("attrs.tar", "w", format=tarfile.PAX_FORMAT) as tar:
    for i in range(12):
        info = tarfile.TarInfo("f%d" % i)
        info.size = 5000
        info.pax_headers = {"SCHILY.xattr.user.value": str(i % 3) * 300}
        tar.addfile(info, io.BytesIO(bytes(5000)))
PY
names='"reqs success groups_scanned cr_p2_aligned_stats cr_goal_fast_stats cr_best_avail_stats cr_goal_slow_stats cr_any_free_stats extents_scanned goal_hits stream_goal_hits len_goal_hits 2^n_hits breaks lost buddies_generated bitmaps_prefetched index_steps".split()'
all="set($names) <= set(objects[0]['mballoc'])"
shared='objects[0]["xattr_sets"]["lookups"] == 12 and objects[0]["xattr_sets"]["different"] == 3 and objects[0]["xattr_cache"]["lookups"] == 12 and objects[0]["xattr_cache"]["found"] == 9 and objects[0]["xattr_cache"]["inserts"] == 3'
run_tool "$BIN/xw-mkfs" /dev/null --json -F -d attrs.tar img 8M
holds "xw-mkfs: mballoc" "$all and objects[0]['mballoc']['reqs'] >= 12"
holds "  sets of attributes and the cache of blocks apart" "$shared"
mkfs -Fq img 8M
run_tool "$BIN/xw-import" /dev/null --json img attrs.tar
holds "xw-import: mballoc" "$all and objects[0]['mballoc']['reqs'] >= 12"
holds "  sets of attributes and the cache of blocks apart" "$shared"
run_tool "$BIN/xw-age" /dev/null --json --profile alternate:64K,64K img
holds "xw-age: mballoc" "$all and objects[0]['mballoc']['reqs'] > 0"
run_tool "$BIN/xw-tune" /dev/null --json -O ^has_journal img
holds "xw-tune: mballoc" "$all"
run_tool "$BIN/xw-tune" /dev/null --json -j img
holds "  with what a journal takes" "$all and objects[0]['mballoc']['reqs'] > 0"
run_tool "$BIN/xw-debugfs" /dev/null --json -R "mb_find 5" -R mb_stats img
holds "xw-debugfs: mballoc" "set($names) <= set(objects[1]['result']['mballoc']) and objects[1]['result']['mballoc']['reqs'] == 1"
run_tool "$BIN/xw-debugfs" /dev/null --json -R "mb_find 5" -R "mb_groups 0" -R mb_stats img
holds "  units in names: a request and what it finds" "[objects[0]['result'][w]['length_blocks'] for w in ('request', 'result')] == [5, 5] and 'offset_blocks' in objects[0]['result']['result']"
holds "    groups" "{'free_clusters', 'longest_clusters', 'average_clusters'} < set(objects[1]['result']['groups'][0])"
holds "    memory" "objects[2]['result']['mballoc']['memory_bytes'] > 0"
run_tool "$BIN/xw-import" /dev/null -vv img attrs.tar
is "xw-import -vv: sets and cache in lines of their own" [ "$(cat .out .err | grep -c '^xattr sets: 12 lookups, 3 different\|^xattr cache: ')" = 2 ]
done_testing 253
