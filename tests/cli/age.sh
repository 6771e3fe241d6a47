#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-age: every profile leaves images that e2fsck finds clean; the same options give the same bytes, with any number of threads,
# and also when the run was killed and resumed; stops are reached; wrong usage is told.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10

age() {
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null "$@"
}
fresh() { rm -f img && cp --sparse=always "${1:-base}" img; }
# value KEY [SECTION]: a number of the YAML report in .out, in the last section or the one that is named.
value() {
	awk -v key="$1:" -v sec="${2:-after}:" '/^[a-z]/ { in_sec = $1 == sec } in_sec && $1 == key { print $2; exit }' "$T/.out"
}
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }

mkfs -q -U $U -E hash_seed=$U base 64M
works "an image to age"
mkfs -q -U $U -E hash_seed=$U -O itree tree 64M

cat >ops.trace <<'END'
# two directories, one file that stays
create a/one 100000
append a/one 50000
create a/b/two 5000
rename a/b/two a/two
setxattr a/two user.color dark\ blue
truncate a/one 4096
overwrite a/two 20000
mkdir a/empty
rmdir a/empty
rmdir a
delete missing
delete a/one
END
deep=d$(printf '/d%.0s' $(seq 254))
name=$(printf 'n%.0s' $(seq 255))
printf '%s\n' "create $deep/file 5000" "create $name/$name 5000" "create .../..a 5000" "mkdir $deep/dir" "rmdir $deep/dir" >deep.trace
printf '3\n1 5\n20 3\n400 2\n\nages\n' >ages
printf '3\n4096 6\n65536 3\n524288 1\n' >sizes
printf '2\n1 4 3\n2 6 9\n' >depths

mkdir -p t1/d t2/d/e
head -c 9000 /dev/zero >t1/same && cp t1/same t2/same
echo one >t1/d/changes && echo two >t2/d/changes
head -c 70000 /dev/zero >t1/gone && head -c 50000 /dev/zero >t2/d/e/new
{
	printf '100644 blob 1111 9000\tsame\n'
	printf '120000 blob 3333 7\tlink\n'
	printf '160000 commit 4444 -\tsub\n'
	printf '100755 blob 2222 400000\td/e/program\n'
} >listing
printf '# history\nt1\nt2\nlisting\nt1\n' >history
longer=$(printf 'long-name%.0s' $(seq 20))
cp -r t2 t3 && mkdir -p "t3/$longer" && echo x >"t3/$longer/$longer"
for format in ustar gnu posix; do
	tar --format=$format --sort=name -C t1 -cf t1-$format.tar .
	tar --format=$format --sort=name -C t3 -cf t3-$format.tar .
	printf '%s\n' t1-$format.tar t3-$format.tar t1 >tars-$format
done
printf '%s\n' t1-posix.tar t3-posix.tar t1-gnu.tar >tars
printf '%s\n' t1 t3 t1 >dirs

while read -r args; do
	# shellcheck disable=SC2086
	{ fresh && age $args img; }
	works "$args"
	clean img "  it is clean"
	mv img first
	fresh
	# shellcheck disable=SC2086
	age --jobs 1 $args img
	is "  and the same again" cmp first img
done <<'END'
--profile pazdera --ops 3000 --seed 1
--profile pazdera --files 800 --size 1k-256k --seed 2 --dir deep/below
--profile geriatrix --util 70% --until overwrites=1
--profile geriatrix:douceur --util 60% --ops 3000
--profile geriatrix:dayal --util 80% --ops 1000 --seed 9
--profile geriatrix --util 50% --ops 2000 --age-dist ages --size-dist sizes --depth-dist depths
--profile alternate:64k,32k
--profile trace:ops.trace
--profile git:history
--profile git:tars
--profile alternate:200k,100k --fast
--profile alternate:8388607T,4T
--profile trace:deep.trace
END
fresh
age --profile pazdera --ops 3000 --seed 1 img
mv img first
fresh
age --profile pazdera --ops 3000 --seed 2 img
is "another seed, another image" [ "$(cmp -s first img; echo $?)" = 1 ]
fresh
age --profile trace:ops.trace img
equal "trace: operations that were skipped" "$(value skipped run)" 2
"$BIN/xw-debugfs" -R "stat /age/a/two" img 2>/dev/null | grep -q 'Size: 20000' && pass "  the file has its size" || fail "  the file has its size"

fresh
age --profile git:history img
equal "git: files created" "$(value created run)" 10
equal "  and deleted" "$(value removed run)" 7

# Archives are what their files are, in each format.
fresh
age --profile git:dirs img
want="$(value created run) $(value removed run) $(value bytes_written run)"
fresh
age --profile git:tars img
equal "git: archives as directories" "$(value created run) $(value removed run) $(value bytes_written run)" "$want"
for format in ustar gnu posix; do
	fresh
	age --profile git:tars-$format img
	works "git: archives of $format"
done
head -c 3000 t1-gnu.tar >cut.tar && echo cut.tar >cut
fresh
age --profile git:cut img
fails 1 "cut.tar: the archive ends within a member" "an archive that is cut off"
tar -P -cf evil.tar "$T/t1/same" && echo evil.tar >evil.list
age --profile git:evil.list img
fails 1 "not a relative path" "nor one with absolute paths"
is "  the image is as it was" cmp base img

# In bulk, with all kinds of images.
while read -r options; do
	have_e2fsck || { skip "--fast: $options" "e2fsck is not installed" 4; continue; }
	rm -f made && truncate -s 80M made
	# shellcheck disable=SC2086
	mke2fs -q -F -t ext4 $options made >/dev/null 2>&1 || { skip "--fast: $options" "this mke2fs does not make it" 4; continue; }
	cp made img
	age --profile alternate:64k,64k --fast --until no-run=65k img
	works "--fast: $options"
	clean img "  it is clean"
	T_TOOL=xw-fsck
	run_tool "$BIN/xw-fsck" /dev/null -fn img
	equal "  for xw-fsck, too" "$RC" 0
	mv img first && cp made img
	age --jobs 1 --profile alternate:64k,64k --fast --until no-run=65k img
	is "  and the same again" cmp first img
done <<'END'
-O bigalloc -b 1024
-O bigalloc -C 65536
-O bigalloc,quota -b 1024 -C 16384
-O quota,project
-b 1024
-b 1024 -O quota
END

fresh
age --profile alternate:200k,100k --fast img
is "--fast: no run is longer than it should be" at_least 25 "$(value longest_free_run_blocks)"
is "  and the image is as full" at_least "$(value utilization)" 0.66

fresh tree
age --profile pazdera --ops 30000 --files 12000 --dirs 4 --size 0 img
works "with an itree"
is "  whose nodes split" at_least "$(value split itree_nodes)" 3
is "  and merge" at_least "$(value merged itree_nodes)" 3
equal "  each directory has one" "$(value directories_with_itree)" 4
"$BIN/xw-debugfs" -R "itree_check /age/dir-0001" img >.out 2>.err
is "  and it is as it should be" [ ! -s .err ]

# Stops.
fresh
age --profile pazdera --size 4k-64k --until util=80% img
works "--until util=80%"
is "  it is that full" at_least "$(value utilization)" 0.8
equal "  and says so" "$(value ended_by run)" '"util"'
fresh
age --profile alternate:256k,256k --until no-run=300k --step 500 img
fails 3 "the profile ended before the limit of --until" "--until no-run: what no file fits into is left"
fresh
age --profile alternate:64k,64k --until no-run=3M --step 100 img
equal "--until no-run" "$(value ended_by run)" '"no-run"'
is "  what is free is shorter" at_least 767 "$(value longest_free_run_blocks)"
fresh
age --profile geriatrix --util 90% --until layout=0.995 --step 500 img
equal "--until layout" "$(value ended_by run)" '"layout"'
is "  it is that low" at_least 0.995 "$(value layout_score)"
fresh
age --profile pazdera --size 1k-64k --until ops=700 img
equal "--until ops=700" "$(value operations run)" 700
fresh
age --profile pazdera --size 64k-1M --files 40 --until overwrites=2 img
is "--until overwrites=2" at_least "$(value bytes_written run)" $((2 * 67108864))
equal "  and says so" "$(value ended_by run)" '"overwrites"'
clean img "  it is clean"

# Limits out of reach end with a message.
while read -r args; do
	fresh
	# shellcheck disable=SC2086
	age -q $args img
	fails 3 "the limit of --until cannot be reached" "$args"
	clean img "  it is clean"
done <<'END'
--profile pazdera --files 100 --size 1k --until util=80%
--profile pazdera --files 100 --size 0 --until overwrites=1
--profile geriatrix --util 60% --until util=95%
--profile pazdera --files 300 --size 64k --until layout=0.01
END
fresh
age --profile pazdera --files 300 --size 64k --until layout=0.01 img
fails 3 "layout is 1.0000 instead of 0.0100" "layout out of reach: the message says what was reached"
equal "  and the report why it ended" "$(value ended_by run)" '"stalled"'
is "  and what was reached" at_least "$(value layout achieved)" 0.9
age -q --profile pazdera --files 300 --size 64k --until ops=1 --resume img
works "another limit with --resume"
clean img "  it is clean"
fresh
age --profile alternate:256k,4M --until no-run=2M img
fails 3 "the profile ended before the limit of --until: free runs of up to" "alternate ends before no-run=2M"
equal "  and says so" "$(value ended_by run)" '"profile"'
clean img "  it is clean"
fresh
age --profile geriatrix:douceur --util 60% img
works "geriatrix goes on until"
is "  ages are as distributed" at_least 0.1 "$(awk '/^ages_distance:/ { print $2 }' .out)"

# Who chooses the blocks.
fresh
age --profile geriatrix --util 90% --until overwrites=3 img
equal "--allocator: linux by default" "$(value allocator run)" '"linux"'
linux=$(value extents_per_file)
mv img first && fresh
age --profile geriatrix --util 90% --until overwrites=3 --allocator linux img
is "  the same" cmp first img
fresh
age --profile geriatrix --util 90% --until overwrites=3 --allocator own img
works "--allocator own"
equal "  it says so" "$(value allocator run)" '"own"'
is "  and fragments less" at_least "$linux" "$(awk -v e="$(value extents_per_file)" 'BEGIN { print e * 1.05 }')"
clean img "  it is clean"
age --allocator other --profile pazdera --ops 1 img
fails 2 "linux or own" "no other allocator"
age --fast --profile alternate:64k,64k --until no-run=32k img
fails 2 "no-run cannot be reached" "--fast: nor what the pattern does not have"

# Interrupted behind a step: that step remains, and the message does not say otherwise.
fresh
"$BIN/xw-age" --profile pazdera --size 4k --files 1000 --until overwrites=100000 --step 50 img >.out 2>.err &
pid=$!
for _ in $(seq 100); do
	sleep 0.1
	! cmp -s base img || continue
	break
done
sleep 0.5
kill -TERM $pid 2>/dev/null # a shell starts background jobs with SIGINT ignored
RC=0
wait $pid || RC=$?
fails 1 "interrupted; --resume continues" "interrupted"
is "  not unchanged" [ "$(grep -c unchanged .err)" = 0 ]
clean img "  it is clean"

# Killed, at steps that the program itself counts, and resumed.
fault=$XW_BUILD/.libs/fault_preload.so
if [ ! -e "$fault" ]; then
	skip "killed and resumed" "fault_preload.so is not built" 4
elif nm -D "$XW_BUILD"/.libs/libextwright-private.so 2>/dev/null | grep -q __asan_init; then
	skip "killed and resumed" "a sanitizer wants to be loaded first" 4
else
	killed() { # K
		fresh "$from"
		# shellcheck disable=SC2086
		LD_PRELOAD=$fault XW_FAULT_PATH=$T/img XW_FAULT_AT=$1 XW_FAULT_MODE=cut XW_FAULT_LOG=$T/steps \
			"$BIN/xw-age" -q $args "$T/img" >.out 2>.err
	}
	# A killed run leaves a redo record in free blocks, or part of one.
	is_whole() { [ "$("$XW_BUILD/commit_tool" state img whole whole)" = old ]; }
	mkfs -q -U $U -E hash_seed=$U -b 1024 small 40M
	for args in "--profile alternate:32k,16k --fast --step 1" "--profile pazdera --ops 2000 --seed 4 --step 400"; do
		[ "${args#*fast}" = "$args" ] && from=base || from=small
		killed 0
		cp img whole
		last=$(cat steps) bad=0 n=0
		for k in $(seq 2 $((last / 12 + 1)) "$last"); do
			killed "$k"
			# shellcheck disable=SC2086
			age -q --resume $args img
			if grep -q 'no interrupted' .err && ! is_whole; then
				# shellcheck disable=SC2086
				age -q $args img
			fi
			is_whole || { bad=$((bad + 1)) && diag "killed at $k of $last: $(cat .err)"; }
			n=$((n + 1))
		done
		equal "killed at $n places and resumed, the same image: $args" "$bad" 0
	done
	killed $((last / 2))
	age -q --profile pazdera --ops 2000 --seed 4 --step 400 img
	fails 1 "--resume continues it" "not without --resume"
	age -q --profile pazdera --ops 2000 --seed 5 --step 400 --resume img
	fails 2 "options differ" "nor with other options"
fi

# Reports.
fresh
age --json --svg map.svg --profile pazdera --ops 500 img
if command -v python3 >/dev/null; then
	is "--json and --svg" python3 -c '
import json, sys, xml.dom.minidom
r = json.load(open(".out"))
assert r["run"]["operations"] == 500 and r["after"]["files"] > 0 and r["before"]["files"] == 0, r
xml.dom.minidom.parse("map.svg")'
else
	skip "--json and --svg" "python3 is not installed"
fi
sum=$(cksum <img)
age --measure img
works "--measure"
equal "  changes nothing" "$(cksum <img)" "$sum"

# Wrong usage.
while IFS='|' read -r why args; do
	# shellcheck disable=SC2086
	age $args
	fails 2 "$why" "$args"
done <<'END'
--profile is missing|img
must be pazdera|--profile other img
no such model|--profile geriatrix:other img
must be a share|--profile pazdera --until util=80 img
must be util=|--profile pazdera --until full=1 img
needs --files|--profile pazdera img
not a path below|--profile pazdera --ops 1 --dir /a img
not a path below|--profile pazdera --ops 1 --dir a/../b img
not a path below|--profile pazdera --ops 1 --dir . img
two sizes above 0|--fast --profile alternate:0,0 img
two sizes above 0|--profile alternate:0,0 missing
two sizes above 0|--fast --profile alternate:4k,0 img
two sizes above 0|--profile alternate:0,4k img
together below 16 EiB|--fast --profile alternate:8388608T,8388608T img
END
# Paths that lead twice to one directory, or to no name that a directory can have: nothing is changed.
fresh
while read -r path; do
	echo "create $path 5000" >bad.trace
	age --profile trace:bad.trace img
	fails 1 "line 1: paths are relative" "no path of a trace: $(printf %.40s "$path")"
	printf '100644 blob 1111 9000\t%s\n' "$path" >bad.listing
	echo bad.listing >bad.history
	age --profile git:bad.history img
	fails 1 "line 1: must be a line of git" "  nor of a listing"
done <<END
../a
a/../a/b
a/..
a/./b
./a
/a
a/
a//b
n$name/a
a/n$name
$deep/d/file
END
printf '%s\n' "create a/b 5000" "rename a/b a/../c" >bad.trace
age --profile trace:bad.trace img
fails 1 "line 2: paths are relative" "  nor the second one of a rename"
is "  the image is as it was" cmp base img
echo "create a" >bad.trace
age --profile trace:bad.trace img
fails 1 "line 1: wrong number of words" "a trace with an error names its line"
age --profile pazdera --ops 1 missing
fails 1 "missing" "no image"
age --profile pazdera --ops 1 --resume img
fails 1 "no interrupted aging run to resume" "nothing to resume"
# On a nearly full image, files that are large already keep what they have; who asks for more than there is gets what there is.
printf '%s\n' "create a 40000000" "create b 10000000" "create c 1000000" "append a 4096" "truncate c 900000" "append b 90000000" >full.trace
"$BIN/xw-mkfs" -q -O ^has_journal full.base 60M
for allocator in linux own; do
	for step in 1 512; do
		fresh full.base
		age --allocator $allocator --step $step --profile trace:full.trace img
		equal "a nearly full image, --allocator $allocator, $step operations a step: shortened" "$(value shortened run)" 1
		"$BIN/xw-debugfs" -R "ls -p /age" img 2>/dev/null | sed -n 's|^/[0-9]*/[^/]*/[^/]*/[^/]*/\([abc]\)/\([0-9]*\)/$|\1 \2|p' | sort >sizes
		is "  what was not to be changed was not" sh -c 'grep -qx "a 40004096" sizes && grep -qx "c 900000" sizes'
		is "  what could not grow as far grew" sh -c 'b=$(sed -n "s/^b //p" sizes); [ "$b" -gt 10000000 ] && [ "$b" -lt 99000000 ]'
	done
done

# It has no room for most of them: without --until, there is no limit to speak of.
"$BIN/xw-mkfs" -q -O ^metadata_csum -b 1024 tiny 1000 2>/dev/null
age --allocator own --profile geriatrix:douceur --ops 4000 tiny
fails 1 "tiny: the image is full before the profile ended" "a tiny image"

# Maps without extents need blocks of their own, of which none are left on a full image.
while IFS='|' read -r type block size args; do
	rm -f full.base
	"$BIN/xw-mkfs" -q -t "$type" -b "$block" full.base "$size" 2>/dev/null
	fresh full.base
	# shellcheck disable=SC2086
	age $args img
	equal "$type, blocks of $block, $size, $args: status" "$RC" 0
	clean img "  it is clean"
done <<'END'
ext2|1024|1M|--profile pazdera --ops 4000 --size 0-256k
ext2|4096|4M|--profile pazdera --ops 4000 --size 0-256k
ext3|1024|5M|--profile geriatrix --util 99% --until overwrites=2
ext2|4096|8M|--profile geriatrix:dayal --util 100% --until overwrites=2
ext3|1024|60M|--profile geriatrix:dayal --util 90% --ops 600 --seed 2
END

# A journal that cannot be recovered: what can be read is measured, but nothing is changed.
"$BIN/xw-mkfs" -q -t ext4 -O ^metadata_csum lost 8M
age --measure lost
used=$(value used_blocks measured)
python3 - lost "$("$BIN/xw-debugfs" -R "bmap <8> 0" lost 2>/dev/null)" <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(1024 + 0x60)
    incompat = f.read(4)
    f.seek(1024 + 0x60)
    f.write(bytes([incompat[0] | 4]) + incompat[1:])  # the journal needs recovery
    f.seek(1024 + 0x18)
    size = 1024 << f.read(1)[0]
    f.seek(int(sys.argv[2]) * size + 0x2c)
    f.write(b"\x71\x1b")  # by features that nobody knows
END
fresh lost
age --measure img
equal "a journal that cannot be recovered: --measure" "$RC" 0
is "  says so" grep -q "reading the image without" .err
equal "  and measures" "$(value used_blocks measured)" "$used"
age --profile pazdera --ops 10 img
equal "  nothing is aged" "$RC" 1
is "  nor changed" cmp lost img
done_testing 200
