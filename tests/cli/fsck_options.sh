#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command line of xw-fsck: what is refused, exit statuses, names of images, what is printed.
. "$(dirname "$0")/lib.sh"
status() { # WANTED DESCRIPTION: of the last run, whatever was said
	if [ "$RC" = "$1" ]; then pass "$2"; else
		fail "$2"
		diag "xw-fsck $T_ARGS: status $RC, wanted $1"
	fi
}
untouched() { equal "  and nothing was written" "$(sha256sum <img)" "$SUM"; }
mkdir d
seq 1 1000 >d/file
mkfs -q -d d img 8M
works "an image"
SUM=$(sha256sum <img)

# Command lines that are refused; t_fsck_opts has all options of the check.
while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	fsck $args
	fails "${want%%:*}" "${want#*:}" "refused: ${args:-no arguments}"
	untouched
done <<'TABLE'
16:image is missing|
16:unexpected argument|-n img other
8:only one of the options -p|-p -n img
16:unknown option -Q|-Q img
16:unknown option --nonesuch|--nonesuch img
16:-E discard takes no value|-y -E discard=1 img
16:-b: invalid number|-n -b x img
16:-C: invalid number|-n -C x img
16:unknown extended option 'nonesuch'|-n -E nonesuch img
16:--json requires -p, -n or -y|--json img
8:need terminal for interactive repairs|img
8:need terminal for interactive repairs|-f img
8:nowhere: .*No such file|-n nowhere
8:unable to resolve 'LABEL=extwright-no-such-label'|-n LABEL=extwright-no-such-label
8:is the image itself|-y -z img img
TABLE

fsck -V
works "-V"
is "  says which" grep -q '^xw-fsck (extwright) ' .out
fsck --help
works "--help"
for word in -p -n -y -f -b -B -C -D -E -F -j -z --commit --redo-file --jobs --json; do
	grep -q -- "[ ,]$word\b" .out || missing="${missing:-} $word"
done
equal "  names every option" "${missing:-}" ""

# Clean.
fsck -n img
works "-n of an image that is clean"
is "  says so in e2fsck's words" grep -Eqx 'img: clean, [0-9]+/[0-9]+ files, [0-9]+/[0-9]+ blocks' .out
fsck -p img
works "-p of it"
untouched
fsck -fn img
works "-f checks it all the same"
for pass in '1: Checking inodes, blocks, and sizes' '2: Checking directory structure' \
	'3: Checking directory connectivity' '4: Checking reference counts' '5: Checking group summary information'; do
	is "  Pass $pass" grep -qxF "Pass $pass" .out
done
is "  and its last line is e2fsck's" \
	grep -Eqx 'img: [0-9]+/[0-9]+ files \([0-9.]+% non-contiguous\), [0-9]+/[0-9]+ blocks' .out
untouched
fsck -fnv img
works "-v"
is "  prints statistics" grep -Eq '^ +[0-9]+ inodes used' .out
if command -v e2fsck >/dev/null && command -v mke2fs >/dev/null; then
	mkdir v
	seq 1 9000 >v/a
	ln v/a v/b
	ln v/a v/c
	ln -s a v/short
	ln -s "$(printf '%0100d' 0)" v/long
	mkfifo v/fifo
	mke2fs -q -t ext2 -b 1024 -d v stock 8M
	mkfs -q -b 1024 -d v -O ea_inode,inline_data,orphan_file,quota own 8M
	mkfs -q -t ext3 -b 1024 -d v own3 8M
	# Files and directories in pieces; one of the files is larger than a group, and e2fsck does not count it.
	mkdir -p w
	head -c 1500000 /dev/urandom >w/large
	head -c 600000 /dev/urandom >w/small
	for kind in "-g 1024 -t ext2" "-g 1024 -t ext4" "-O bigalloc,^resize_inode -C 2048"; do
		# shellcheck disable=SC2086
		mkfs -q $kind -b 1024 -N 2000 "pieces-${kind##* }" 12M &&
			"$BIN/xw-age" -q --fast --profile alternate:8K,8K "pieces-${kind##* }" &&
			"$BIN/xw-import" -q "pieces-${kind##* }" w
	done
	for image in stock own own3 pieces-ext2 pieces-ext4 pieces-2048; do
		e2fsck -fnv $image >wanted 2>/dev/null
		fsck -fnv $image
		is "  -v of $image prints what stock e2fsck prints" cmp -s wanted .out
	done
else
	skip "  -v prints what stock e2fsck prints" "e2fsprogs are not installed"
fi
fsck -fn -t -t img
is "-tt prints times" grep -q '^Pass 5: .*time:' .out
fsck -fnq img
works "-q"
equal "  prints nothing" "$(cat .out)" ""
fsck -fn -r -d -F -E nodiscard,no_optimize_extents,no_inode_count_fullmap,readahead_kb=64,ea_ver=2 --jobs 1 img
works "options that change nothing here"
untouched
fsck -fn -C 5 img 5>progress
works "-C FD"
is "  writes lines of progress" grep -Eqx '5 [0-9]+ [0-9]+ img' progress
is "  and nothing else" sh -c '! grep -Evx "[1-5] [0-9]+ [0-9]+ img" progress'
fsck -fn -C -5 img 5>progress
works "-C with a negative descriptor"
equal "  waits for SIGUSR1" "$(cat progress)" ""

# A copy of the superblock that has nothing to say against the primary.
mkfs -q -b 1024 -d d groups 24M
fsck -n -b 8193 groups
works "-b on a healthy image"
is "  is clean" grep -q '^groups: clean, ' .out
fsck -fy -b 8193 groups
works "  and with -f"
is "  has no finding" sh -c '! grep -q invalid .out'

# An optimization that was asked for is no error.
mkdir -p t/t
(cd t/t && seq -f 'a-name-that-is-long-enough-%04g' 1 300 | xargs touch)
mkfs -q -b 1024 -O itree -d t trees 8M
fsck -fy -E itree=drop trees
works "-E itree=drop"
is "  says nothing but that the filesystem was modified" sh -c '! grep -q "? yes" .out'
is "  which it was" grep -q 'trees: \*\*\*\*\* FILE SYSTEM WAS MODIFIED' .out
fsck -fn trees
works "  and all is right"
clean trees "  for stock e2fsck, too"
fsck -fy -E itree=build trees
works "-E itree=build"

# -D: the index and the itree are built again after names were removed; a second run has nothing to do.
mkfs -q -b 1024 -O itree -d t trees 8M
seq -f 'rm /t/a-name-that-is-long-enough-%04g' 1 3 300 >cmds
"$BIN/xw-debugfs" -w -f cmds trees >/dev/null 2>&1
cp trees before
SOURCE_DATE_EPOCH=1900000000 fsck -fyD trees
works "-D with an itree is no error"
fewer() { test "$("$BIN/xw-debugfs" -R "stat $1" trees | sed -n 's/.*Blockcount: //p')" -lt "$("$BIN/xw-debugfs" -R "stat $1" before | sed -n 's/.*Blockcount: //p')"; }
is "  the directory has become smaller" fewer /t
is "  and still has an itree" sh -c '"$1/xw-debugfs" -R "stat /t" trees | grep -q "Flags: 0x8081000"' - "$BIN"
cp trees before
SOURCE_DATE_EPOCH=1900000000 fsck -fyD trees
works "  a second run is no error"
is "  and changes nothing" cmp -s before trees
fsck -fn trees
works "  all is right then"

# Damage of bitmaps and quota is told of although an earlier repair allocates.
mkdir l
seq 1 1000 >l/lost
seq 1 2000 >l/kept
mkfs -q -b 1024 -O quota -d l hidden 8M
"$BIN/xw-debugfs" -w -R 'unlink lost' hidden >/dev/null 2>&1
"$BIN/xw-debugfs" -w -R 'setb 7000' hidden >/dev/null 2>&1
block=$("$BIN/xw-debugfs" -R 'blocks <3>' hidden 2>/dev/null | awk '{print $1}')
printf XXXX | dd of=hidden bs=1 seek=$((block * 1024)) conv=notrunc status=none
told() { grep -E '\? (yes|no)$' .out | sed 's/? .*//' | sort >"$1"; }
fsck -fn hidden
told by-n
equal "an inode without a name, a bit and a quota file" "$(wc -l <by-n)" 3
cp hidden twin
fsck -fy hidden
status 1 "  are repaired"
told by-y
is "  and told of as by -n" cmp -s by-n by-y
fsck -fn hidden
works "  and nothing is left"
fsck -fy --json twin
equal "  found, repaired, later" "$(json found .out | tail -n 1) $(json repaired .out | tail -n 1) $(json later .out | tail -n 1)" \
	"3 3 0"

# Free blocks are discarded, after a check that leaves nothing; used ones never.
mkfs -q -b 1024 -d l thin 8M
works "an image"
free_block() { dd if=thin bs=1024 skip=7000 count=1 status=none | tr -d '\0' | wc -c; }
junk() { head -c 1024 /dev/zero | tr '\0' J | dd of=thin bs=1024 seek=7000 conv=notrunc status=none; }
junk
fsck -y -E discard thin
works "-E discard of an image that is not checked"
equal "  discards nothing" "$(free_block)" 1024
fsck -fn -E discard thin
works "-E discard with -n"
equal "  discards nothing" "$(free_block)" 1024
fsck -fy -E discard,nodiscard thin
equal "  nor does nodiscard after it" "$RC $(free_block)" "0 1024"
fsck -fy -E discard -z undo thin
equal "  nor an image with an undo file" "$RC $(free_block)" "0 1024"
"$BIN/xw-debugfs" -w -R 'sif kept links_count 2' thin >/dev/null 2>&1
fsck -fy -E discard thin
status 1 "-E discard with a repair"
equal "  discards it" "$(free_block)" 0
"$BIN/xw-debugfs" -R 'cat kept' thin >kept 2>/dev/null
is "  a file is what it was" cmp -s l/kept kept
fsck -fn thin
works "  and all is right"
clean thin "  for stock e2fsck, too"
mkfs -q -O bigalloc -C 16384 -d l thin3 8M
fsck -fy -E discard thin3
works "-E discard with clusters"
"$BIN/xw-debugfs" -R 'cat kept' thin3 >kept 2>/dev/null
is "  a file is what it was" cmp -s l/kept kept
fsck -fn thin3
works "  and all is right"

# JSON.
fsck -fn --json img
works "--json"
equal "  is one object" "$(wc -l <.out)" 1
equal "  with the result" "$(json clean .out) $(json found .out) $(json exit_status .out)" "true 0 0"
fsck -fn --json nowhere
status 8 "--json of no image"
is "  is an object too" grep -Eq '^\{.*"error":.*nowhere.*"exit_status": ?8\}$' .out
mkfs -q -d d lost 8M
"$BIN/xw-debugfs" -w -R "rmdir /lost+found" -R "unlink /$(ls d | head -n 1)" lost >/dev/null 2>&1
fsck -fy --json lost
status 1 "--json of a repair that takes a block"
is "  has the statistics of the allocator" \
	grep -Eq '"mballoc": ?\{"reqs": ?[1-9][0-9]*,.*"cr_any_free_stats": ?\{.*"index_steps": ?[0-9]+\}' .out

# Where the image is.
{ head -c 1M /dev/zero && cat img; } >inside
fsck -fn -E offset=1048576 inside
works "-E offset="
fsck -fn 'inside?offset=1048576'
works "IMAGE?offset="
fsck -fn inside
status 8 "without it there is no filesystem"

# Another name is the same tool.
ln -s "$FSCK" fsck.ext4
RC=0
./fsck.ext4 -fn img >.out 2>.err || RC=$?
status 0 "called fsck.ext4"

# A superblock that does not match its checksum.
cp img bad
printf 'x' | dd of=bad bs=1 seek=$((1024 + 136)) conv=notrunc status=none
cp bad sample
cp bad was
SUM=$(sha256sum <img)
fsck -fn bad
status 4 "-n of a damaged image"
is "  says what it would do" grep -q '? no$' .out
is "  and that there are errors" grep -q 'bad: \*\*\*\*\*\*\*\*\*\* WARNING: Filesystem still has errors' .out
is "  and wrote nothing" cmp -s bad sample
fsck -fn --json bad
status 4 "--json of it"
equal "  a line a finding" "$(json id .out) $(json done .out)" "superblock-checksum declined"
equal "  and the result" "$(tail -n 1 .out | sed 's/.*"clean": *\([a-z]*\).*"exit_status": *\([0-9]*\).*/\1 \2/')" "false 4"
fsck -fp bad
status 4 "-p of what needs a person"
is "  says so" grep -q 'bad: UNEXPECTED INCONSISTENCY; RUN fsck MANUALLY' .err
is "  and wrote nothing" cmp -s bad sample
fsck -fy bad
status 1 "-y repairs it"
is "  and says so" grep -q 'bad: \*\*\*\*\* FILE SYSTEM WAS MODIFIED \*\*\*\*\*' .out
fsck -fn bad
works "  and it is clean"
clean bad "  for stock e2fsck, too"
mkdir redo.tmp
fsck -fyv --redo-file redo sample
status 12 "a repair that cannot be written"
is "  is said to be none" grep -q 'sample: \*\*\*\*\*\*\*\*\*\* WARNING: Filesystem still has errors' .out
is "  and nothing is counted" sh -c '! grep -q "inodes used" .out'
fsck -fy --json --redo-file redo sample
equal "  nor in JSON" "$(json modified .out | tail -n 1) $(json repaired .out | tail -n 1) $(json left .out | tail -n 1)" "false 0 1"
is "  and the image is what it was" cmp -s sample was
# That is said before anybody is asked, where it can be known.
echo 'something else' >other
for place in nowhere/file other d; do
	for option in -z --redo-file; do
		[ "$option $place" != '--redo-file d' ] || continue # a directory for it
		fsck -fy $option $place sample
		status 8 "$option $place: refused"
		is "  before anything is checked" sh -c '! test -s .out'
		is "  and the image is what it was" cmp -s sample was
	done
done
is "  and so is the file in the way" grep -qx 'something else' other
if is_root; then
	skip "a file that cannot be written" "root can" 1
else
	cp sample locked && chmod 444 locked
	fsck -fy locked
	fails 8 "locked: .*Permission denied" "a file that cannot be written"
fi
# A lock of another process keeps nobody from reading.
exec 9<sample
if flock -n 9; then
	fsck -fn sample
	status 4 "-n of a file that another process has locked"
	is "  with a warning" grep -q 'sample is in use by another process' .err
	fsck -fy sample
	fails 8 "in use by another process" "-y of it: refused"
else
	skip "a file that another process has locked" "flock fails" 3
fi
exec 9<&-
# What -p accepted before a finding ended it was not repaired.
mkfs -q -O ^metadata_csum,^metadata_csum_seed,^uninit_bg ends 8M
printf '\011' | dd of=ends bs=1 seek=$((1024 + 0xfc)) conv=notrunc status=none
printf '0000' | dd of=ends bs=1 seek=$((1024 + 0x240)) conv=notrunc status=none
cp ends was
fsck -fp ends
status 4 "-p that ends with a question"
is "  says that nothing was repaired" grep -q 'ends: nothing was repaired' .out
fsck -fp --json ends
equal "  and so in JSON" "$(grep -c '"done": *"accepted"' .out) $(grep -c '"done": *"repaired"' .out) $(json repaired .out)" "1 0 0"
is "  and nothing was" cmp -s ends was
fsck -n --json nothing
status 8 "--json without an image"
equal "  the reason on standard error, too" "$(cat .err)" "xw-fsck: $(json error .out)"
rm -f undo # of -E discard above, if a second had passed since the image was made
fsck -fy -z undo sample
status 1 "-z"
if command -v e2undo >/dev/null; then
	is "  makes an undo file" e2undo undo sample
	fsck -fn sample
	status 4 "  and the damage is back"
else
	skip "  makes an undo file" "e2undo is not installed" 2
fi
for dir in none nowhere; do
	cp sample other && E2FSPROGS_UNDO_DIR=$dir fsck -fy -z '' other
	echo $RC
	E2FSPROGS_UNDO_DIR=$dir fsck -fn -z '' other
	echo $RC
done >statuses
equal "-z '': no undo file with E2FSPROGS_UNDO_DIR=none and with -n; a missing directory is an error" "$(tr '\n' ' ' <statuses)" "1 0 8 4 "
done_testing 161
