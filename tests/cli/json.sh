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

while read -r line; do
	case $line in "") continue ;; esac
	read -ra words <<<"$line"
	run_tool "$BIN/${words[0]}" /dev/null "${words[@]:1}" --json
	is "$line --json: fails" test "$RC" -gt 0
	holds "  with an object that says why" 'objects[-1]["error"] and len(objects) == 1'
	case $line in
	"xw-fsck -n bad" | "xw-fsck -n missing") ;; # the object has everything
	*) is "  and a line on standard error" test -s .err ;;
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
done_testing 154
