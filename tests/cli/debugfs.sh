#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs from outside: where requests come from, how their words are read, what is said and which status is returned.
# What the verbs print is compared with debugfs in tests/oracle/debugfs.sh.
. "$(dirname "$0")/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
dbg() { dbg_stdin /dev/null "$@"; }
dbg_stdin() {
	T_TOOL=xw-debugfs
	run_tool "$DBG" "$@"
}
# prints DESCRIPTION TEXT: the last run exited 0, said nothing on stderr, and this on stdout.
prints() {
	works "$1"
	equal "$1: the text" "$(cat "$T/.out")" "$2"
}

mkdir -p "tree/a b" tree/sub/deep
echo hello >tree/file
echo other >'tree/a b/in"side'
ln -s ../file tree/sub/link
SOURCE_DATE_EPOCH=1700000000 mkfs -q -d tree img 8M
works "an image"
ino=$("$DBG" -R "imap /file" img | sed -n 's/^Inode \([0-9]*\).*/\1/p')

# ---- bytes that a terminal would obey ----
mkdir -p esc/dir
echo x >"$(printf 'esc/dir/red\033[31m\233')"
ln -s "$(printf 'to\033[31m\351')" esc/link
odd=$(printf 'd\033[31m')
mkdir "esc/$odd"
echo y >"esc/$odd/inside"
mkfs -q -d esc esc.img 4M
dbg -R "filefrag -r /" esc.img
is "filefrag -r escapes names" grep -qF '/dir/red\x1b[31m\x9b: 1 contiguous extents' .out
dbg -R "filefrag -v /dir" esc.img
is "filefrag -v too" grep -qF '/dir/red\x1b[31m\x9b has 1 block(s)' .out
dbg -R "stat /link" esc.img
is "stat escapes targets" grep -qF 'Fast link dest: "to\x1b[31m\xe9"' .out
dbg -R "cd $odd" -R pwd -R "cd /" esc.img
is "pwd escapes paths" grep -qF 'PATH: /d\x1b[31m' .out
dbg -R "ncheck $("$DBG" -R "imap \"$odd/inside\"" esc.img | sed -n 's/^Inode \([0-9]*\).*/\1/p')" esc.img
is "ncheck escapes directories" grep -qF '/d\x1b[31m/inside' .out
dbg -R "$odd" esc.img
is "complaints are clean" test "$(tr -dc '\033' <.err | wc -c)" = 0

# ---- words ----
dbg -R "cat /file" img
prints "a path" hello
dbg -R "cat <$ino>" img
prints "an inode" hello
dbg -R "  cat   file  " img
prints "blanks" hello
dbg -R 'cat "a b/in""side"' img
prints "quotes, and quotes in them" other
dbg -R 'cat "a"" "b"/in""""side"' img
fails 1 'no such file' "two quotes are one inside quotes only"
dbg -R 'cat a" "b/in"""side' img
fails 1 'unclosed quote' "an open quote"
dbg -R "cat '/file'" img
fails 1 'no such file' "apostrophes are no quotes"
for bad in "<0>" "<99999999>" "<x>" "<>" "<2" /nothing /file/x; do
	dbg -R "stat $bad" img
	fails 1 'no inode|no such file|not a directory' "no file: $bad"
done
for bad in /file/ /file/x sub/link/ /file/..; do
	dbg -R "stat $bad" img
	fails 1 'not a directory' "no directory: $bad"
done
dbg -R "stat /sub/" img
works "a directory may have a slash at its end"
for bad in 99999999 -1 1x x 0x 18446744073709551616; do
	dbg -R "testb $bad" img
	fails 1 'block' "no block: $bad"
done
dbg -R "testb 0x7c0" -R "testb 03700" -R "testb 1984" img
prints "numbers" "Block 1984 not in use
Block 1984 not in use
Block 1984 not in use"

# ---- where requests come from ----
dbg -R "cd sub" -R pwd -R "cat deep/../../file" img
prints "requests one after another" "[pwd]   INODE: $(printf %6d "$("$DBG" -R 'imap sub' img | sed -n 's/Inode \([0-9]*\).*/\1/p')")  PATH: /sub
[root]  INODE:      2  PATH: /
hello"
printf '# a comment\ncat /file\n\nquit\ncat /nothing\n' >requests
dbg -f requests img
prints "a file" "# a comment
debugfs: cat /file
hello
debugfs: 
debugfs: quit"
dbg_stdin requests img
prints "standard input" hello
dbg_stdin requests -f - img
works "-f -"
printf 'cat /nothing\nstat\nquit\n' >requests
dbg -f requests img
equal "a request of a file fails it" "$RC" 1
ln -s "$DBG" debugfs
run_tool ./debugfs /dev/null -f requests img
equal "  but may under the name of the stock debugger" "$RC" 0
dbg_stdin requests img
equal "one of standard input may not" "$RC" 1
printf 'nonsense\ncat /file\n' >requests
run_tool ./debugfs /dev/null -f requests img
equal "an unknown verb fails a file of requests" "$RC" 1
printf 'open img\ncat /file\nclose\ncat /file\n' >requests
dbg_stdin requests
equal "open and close: output" "$(cat .out)" hello
fails 1 'cat: no image is open' "open and close"
dbg -f nosuch img
fails 1 'nosuch: No such file' "no file of requests"

# ---- what is said ----
dbg -R nosuch -R "cat /file" img
equal "a request that fails is not the last" "$(cat .out)" hello
fails 1 "unknown verb 'nosuch'" "no such verb"
dbg -R "stat" img
fails 1 'usage: show_inode_info FILE' "usage of a verb"
run_tool ./debugfs /dev/null -R "stat" img
equal "  under the stock name, with the name as typed" "$(cat .err)" "stat: Usage: stat FILE"
dbg -R "ls -x" img
fails 1 'usage: list_directory' "unknown option of a verb"
dbg -R "help stat" img
works "help of a verb"
is "it has the usage" grep -q 'show_inode_info FILE' .out
dbg -R help
works "help"
is "it lists verbs" grep -q '^show_inode_info, stat' .out
dbg -R "mkdir x" img
fails 1 'reading only' "writing without -w"
dbg -R "stat /" nosuch
fails 1 'nosuch' "no image"
dbg -R "stat /" /dev/null
fails 1 '/dev/null' "a device that is none"
head -c 100000 /dev/zero >zeros
dbg -R "stat /" zeros
fails 1 'not an ext2' "no filesystem"
dbg -R "stat /"
fails 1 'no image is open' "no image was named"

if [ -e /dev/full ]; then
	mkfs -q -b 1024 -N 2048 groups.img 128M # results of more than a buffer of stdio
	for run in "debugfs -R stats" "debugfs -R ls" "debugfs -R mb_groups" dump "dump -h" "dump --json"; do
		RC=0
		T_TOOL=xw-${run%% *} T_ARGS=$run
		# shellcheck disable=SC2086
		"$BIN"/xw-$run groups.img >/dev/full 2>.err || RC=$?
		fails 1 'cannot write to standard output: No space left on device' "a full disk behind the results: $run"
	done
fi

# ---- the command line ----
dbg --version
works "--version"
dbg --help
works "--help"
is "--help names the manual" grep -q 'xw-debugfs(8)' .out
while read -r regex args; do
	# shellcheck disable=SC2086
	dbg $args img
	fails 2 "$regex" "refused: $args"
done <<-'END'
	exclude -R a -f b
	not.supported -w -c
	not.supported -w -i
	needs.-b -s 5
	block.size -b 1000
	number -s x -b 1024
	offset -E size=5
	needs.-i -d data
	unknown -Q
END
dbg img other
fails 2 "unexpected argument 'other'" "two images"

# ---- JSON ----
dbg --json -R "stat /file" -R "ls -l /" -R "ncheck $ino" -R "icheck 1" -R "imap /file" -R "testb 1 2" -R "testi /file" \
	-R "ea_list /file" -R "ex /file" -R "blocks /file" -R "xattr_share" -R "stats" -R "freefrag" -R pwd img
works "--json"
equal "a line a request" "$(wc -l <.out)" 14
equal "each with ok" "$(grep -c '^{"request":"[^"]*","ok":true, *"\(result\|text\)":' .out)" 14
if command -v python3 >/dev/null; then
	is "it is JSON" python3 -c 'import json,sys; [json.loads(l) for l in open(sys.argv[1])]' .out
	mkdir -p odd/many
	(cd odd/many && touch $(seq 500))
	echo odd >"odd/$(printf 'caf\351')"
	mkfs -q -b 1024 -O itree,quota,mmp -d odd odd.img 8M
	dbg -w -R "rm /many/7" odd.img
	cat >structured <<'END'
mb_structs_summary
mb_groups
mb_stats
mb_find 10
htree /many
itree /many
dx_hash caf
lsdel
ffb 2
ffi
lq user
gq user 5
dump_mmp
filefrag -v /many
filefrag /
pwd
dirsearch /many 9
dirsearch /many x
params
supported_features
features
block_dump 1
id /many
bmap /many 0
END
	dbg --json -f structured odd.img
	works "verbs with a structure of their own"
	equal "  all of them" "$(python3 -c 'import json,sys; print(*[j["request"] for j in map(json.loads, open(".out")) if not j["ok"] or "result" not in j])')" ""
	dbg --json -R "mb_groups" -R "htree /many" -R "itree /many" -R "ffb 2" -R "ls /" odd.img
	equal "  what is in them" "$(python3 - 2>&1 <<'END'
import json
groups, htree, itree, ffb, ls = [json.loads(l)["result"] for l in open(".out")]
def names(node):
    for e in node["entries"]:
        if "name" in e:
            if e.get("inode", 1): yield e["name"]  # the first entry of a block stays, unused, when it is removed
        elif "leaf" in e: yield from names(e["leaf"])
        else: yield from names(e["node"])
want = sorted(str(i) for i in range(1, 501) if i != 7)
name = [e for e in ls if "name_hex" in e]
print(sum(g["free_clusters"] for g in groups["groups"]) > 0, sorted(names(htree)) == want, sorted(names(itree)) == want,
      len(ffb), len(name), name[0]["name"].encode(), bytes.fromhex(name[0]["name_hex"]))
END
)" "True True True 2 1 b'caf\xef\xbf\xbd' b'caf\xe9'"
else
	skip "it is JSON" "python3 is not installed"
fi
dbg --json -R "mb_stats --kernel" img
fails 1 'layout of text' "mb_stats --kernel under --json"
dbg --json -R "stat /nothing" img
equal "a failure in JSON" "$(cat .out)" '{"request":"stat /nothing","ok":false,"error":"/nothing: no such file or directory"}'
fails 1 'no such file' "a failure under --json"
dbg --json -R "stat /nothing" -R "ncheck 99999999 0" img
equal "  of several complaints about a request the first one is in it" "$(tail -n 1 .out | sed 's/,.*,"error"/,"error"/; s/, "result".*//')" \
	'{"request":"ncheck 99999999 0","error":"there is no inode 99999999"'
equal "  and all are said" "$(grep -c 'ncheck: there is no inode' .err)" 2
dbg --json -R "cat /file" img
fails 1 'not support' "bytes are not JSON"
dbg --json -R nosuch -R "cat /file" -R "stat" -R 'ls "x' img
equal "an object for each, whatever becomes of it" "$(grep -c '^{"request":".*","ok":false,"error":".*}$' .out)" 4

# ---- spellings of e2fsprogs ----
{ head -c 1048576 /dev/zero; cat img; } >disk
dbg -D -R "cat /file" "disk?offset=1048576"
prints "IMAGE?offset=BYTES, and -D" hello
for other in "xw-dump -h" "xw-tune -l" "xw-freefrag"; do
	# shellcheck disable=SC2086
	"$BIN"/$other "disk?offset=1048576" >.out 2>.err
	is "  $other" grep -q 'clean\|free' .out
done
equal "  xw-export" "$("$BIN/xw-export" "disk?offset=1048576" file | tar xOf - file)" hello
ln disk "disk?offset=7"
dbg -E offset=1048576 -R "cat /file" "disk?offset=7"
prints "  a file that is called so" hello
dbg -R "open disk?offset=1048576" -R "cat /file"
prints "  of the verb open" hello
dbg -R "cat /file" "disk?offset=x"
fails 2 'must be a number of bytes' "  not a number"
mkfs -q -b 1024 -d tree copies.img 20M
dbg -w -R "ssv volume_name new" -R "close -a" copies.img
works "close -a"
"$DBG" -s 8193 -b 1024 -R "stats -h" copies.img >.out 2>.err
is "  writes the copies" grep -q 'volume name: *new' .out
clean copies.img "  as e2fsck wants them"
dbg -R "close -a" img
fails 1 'for reading only' "close -a without -w"
# a superblock that is lost: the line names a copy
cp copies.img lost.img
dd if=/dev/zero of=lost.img bs=1024 count=3 conv=notrunc status=none
cp copies.img wrong.img
printf xxxx | dd of=wrong.img bs=1 seek=1300 conv=notrunc status=none
for image in lost wrong; do
	for other in "debugfs -R stats" "debugfs -w -R stats" "export -t" "tune -L x" "dump"; do
		# shellcheck disable=SC2086
		"$BIN"/xw-$other $image.img >.out 2>.err </dev/null
		is "where a copy is: xw-$other, $image" grep -q '; a copy is in block 8193 of 1024 bytes: xw-fsck -b 8193 -B 1024$' .err
	done
	import $image.img tree
	fails 1 'xw-fsck -b 8193 -B 1024' "where a copy is: xw-import, $image"
done
"$BIN/xw-export" -t wrong.img >.out 2>.err
is "and what goes on without" grep -q -e "--ignore-checksums" .err
for verb in "fallocate / 2" "punch /sub 0" "fallocate <8> 0 9999"; do
	cp img y.img
	dbg -w -R "$verb" y.img
	fails 1 'is a directory; use expand_dir|not a file with contents' "$verb"
done

dbg -R "mb_groups 1 0" img
fails 1 'no group 1|ends before' "groups the wrong way round"

# ---- contents on this machine ----
dbg -R "dump /file out" -R "dump /file out/x" img
equal "dump" "$(cat out)" hello
fails 1 'out/x' "dump into nowhere"
# results never go into what is worked on, by whatever name
cp img own.img
mkfs -q -O journal_dev -b 4096 own.jnl 4M
dbg -w -R "ea_set /file user.a b" own.img
dbg -w -R "ea_set /file security.capability short" own.img
is "ea_set warns of an attribute that Linux does not return" grep -q "warning: /file: attribute security.capability: its value is not a capability set" .err
dbg -R "ea_get /file security.capability" own.img
is "  and stores it" grep -q short .out
cp own.img own.saved
cp own.jnl own.jnl.saved
ln own.img own.hard
ln -s own.img own.soft
for target in own.img own.hard own.soft; do
	for verb in "dump /file $target" "dump -p /file $target" "ea_get -f $target /file user.a" "logdump $target" "logdump -a $target"; do
		dbg -R "$verb" own.img
		fails 1 "$target: would overwrite the image" "refused: $verb"
	done
done
dbg -R "logdump -f own.jnl own.jnl" own.img
fails 1 'would overwrite the journal' "refused: logdump into the journal"
dbg -R "dump /file own.img.xw-redo" own.img
fails 1 'would overwrite the redo file' "refused: dump into the redo file to be"
is "  it is not made" gone own.img.xw-redo
dbg --redo-file my.redo -R "dump /file my.redo" own.img
fails 1 'would overwrite the redo file' "refused: dump into --redo-file"
is "nothing happened to them" cmp own.img own.saved
is "nor to the journal" cmp own.jnl own.jnl.saved
dbg -w -z own.undo -R "mkdir /x" -R "dump /file own.undo" -R "dump /file own.hard" -R "rmdir /x" own.img
is "refused: dump into the undo file" grep -q 'own.undo: would overwrite the undo file' .err
is "refused: dump into the image that is changed" grep -q 'own.hard: would overwrite the image' .err
clean own.img "  whose changes are made all the same"
ln -s made-by-dump own.link
dbg -R "dump /file own.link" img
equal "dump through a link to nothing" "$(cat made-by-dump)" hello
mkdir there
dbg -R "rdump / there" img
works "rdump"
rm -rf there/lost+found
is "rdump: all of it" diff -r tree there
dbg -R "rdump / there" img
equal "rdump overwrites nothing" "$RC" 1
dbg -R "lcd there" -R "rdump sub/deep ." img
works "lcd"
is "rdump of one directory" test -d there/deep
dbg -R "stat /" -E offset=1048576 img
fails 1 'not an ext2|too small' "an offset"
{ head -c 4096 /dev/zero; cat img; } >shifted
dbg -E offset=4096 -R "cat /file" shifted
prints "an offset that is right" hello

# ---- the directory of this machine ----
mkdir -p elsewhere
cp img here.img
dbg -R "lcd elsewhere" -R "logdump" here.img
works "an image is found again behind lcd"
dbg -w --redo-file my.redo -R "lcd elsewhere" -R "mkdir /made" here.img
works "-w behind lcd"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	strace -f -e trace=openat,rename -o calls "$DBG" -w --redo-file my.redo -R "lcd elsewhere" -R "feature ^dir_index" here.img
	is "the redo file is where it was named" grep -q "\"$T/my.redo" calls
else
	skip "the redo file is where it was named" "no strace"
fi

# ---- features ----
dbg -R "supported_features journal_checksum_v3" -R "supported_features extents"
prints "features: one" "Supported feature: journal_checksum_v3
Supported feature: extents"
dbg -R "supported_features dirdata"
fails 1 'unknown feature' "features: one of another system"
dbg -R supported_features
works "features"
equal "features: only those that can be asked for" "$(for f in $(sed 's/.*://' .out); do "$DBG" -R "supported_features $f" 2>&1; done |
	grep -vc '^Supported feature: ')" 0

# ---- what is written, and what is not ----
cp img y.img
printf 'open -w y.img\nmkdir /made\nclose -n\n' >requests
dbg -f requests
works "close -n"
is "close -n: nothing was changed" cmp img y.img
dbg -R "sif -l" -R "ssv -l" -R "set_bg -l" -R "smmp -l" img
works "lists of fields, of an image that is open for reading"
dbg -R "sif" img
fails 1 'usage: set_inode_field' "usage, of an image that is open for reading"
cp img y.img
seq 2000 >text
dbg -w -R "ssv feature_incompat 0x200002c2" y.img
cp y.img unknown
for verb in "mkdir /q" "rm /file" "write text /text" "punch /file 0"; do
	dbg -q -w -R "$verb" y.img
	fails 1 'unsupported feature FEATURE_I29; ' "a feature that nobody knows: $verb"
done
is "a feature that nobody knows: nothing was changed" cmp unknown y.img
printf 'open -f -w y.img\nmkdir /q\nclose\n' >requests
dbg -q -f requests
equal "open -f -w: for those who do" "$RC" 0
dbg -q -w -R "ssv feature_incompat 0x2c2" y.img
dbg -R "ls /q" y.img
works "it can be taken away"
mkfs -q -O inline_data -d tree inline.img 8M
cp inline.img y.img
for verb in "sif /file bmap[0] 1500" "bmap /file 0 1500"; do
	dbg -w -R "$verb" y.img
	fails 1 'contents are inline' "$verb, of an inline file"
done
is "it is what it was" cmp inline.img y.img

# blocks that no file can have
mkfs -q -b 1024 -t ext2 -d tree mapped.img 8M
mkfs -q -b 1024 -d tree extents.img 8M
while read -r image last block; do
	for verb in "bmap /file $block" "bmap -a /file $block" "bmap /file $block 1500" "sif /file bmap[$block] 1500"; do
		cp $image.img y.img
		dbg -w -R "$verb" y.img
		[ $RC = 1 ] && grep -qE "logical block $block: (file too big: the last block that its map can have is $last|too large)|bmap\\[$block" .err || echo "$image: $verb: status $RC: $(cat .err)"
		cmp $image.img y.img
	done
	cp $image.img y.img
	dbg -w -R "bmap /file $last" y.img
	[ $RC = 0 ] || echo "$image: bmap /file $last: status $RC"
done >too_far 2>&1 <<'END'
mapped 16843019 16843020
mapped 16843019 4294967295
mapped 16843019 4294967296
extents 4294967294 4294967295
extents 4294967294 1099511627776
END
equal "bmap past the end of what a file can hold: refused, and nothing is changed" "$(cat too_far)" ""

# host files without an end, and with holes
mkfs -q -b 1024 empty.img 8M
cp empty.img y.img
dbg -w -R "write /dev/zero /zeros" y.img
fails 1 'no space|No space|is full' "write of an endless device"
is "it changed nothing" cmp empty.img y.img
dbg -w -R "write /dev/null /nothing" y.img
works "write of an empty device"
has_urandom() { readlink "/proc/$1/fd/"* | grep -q urandom; }
for sig in TERM HUP; do
	# What is ignored stays ignored, and under nohup that is SIGHUP: reset it.
	env --default-signal=$sig true 2>/dev/null || { skip "SIG$sig" "env --default-signal is missing"; continue; }
	mkfs -q -F large.img 4G
	RC=0
	env --default-signal=$sig "$DBG" -w -R "write /dev/urandom /random" large.img >.out 2>.err &
	pid=$!
	wait_for has_urandom $pid # the signal means what is being read
	kill -s $sig $pid
	timeout 300 tail --pid=$pid -f /dev/null || kill -s KILL $pid
	wait $pid || RC=$?
	equal "write of an endless device ends with SIG$sig" "$RC" 1
	is "  and says so" grep -q 'write: .*: interrupted' .err
done
rm -f large.img
truncate -s 3T huge
printf x | dd of=huge bs=1 seek=5000001 conv=notrunc status=none
if [ "$(stat -c %s huge)" = 3298534883328 ]; then
	mkfs -q -O bigalloc -d tree clusters.img 64M
	mkfs -q -O inline_data -d tree inlined.img 64M
	for image in clusters inlined; do
		RC=0
		timeout -s KILL 900 "$DBG" -w -R "write huge /huge" $image.img >.out 2>.err || RC=$?
		works "write of a file of holes: $image"
		"$DBG" -R "cat /huge" $image.img 2>.err | head -c 5000010 >.out
		equal "  its bytes" "$(tr -d '\0' <.out) $(wc -c <.out)" "x 5000010"
		"$DBG" -R "stat /huge" $image.img >.out
		is "  its size" grep -q 'Size: *3298534883328$' .out
		clean $image.img "  as e2fsck wants it"
	done
	mkfs -q -t ext2 -b 1024 blocks.img 8M
	dbg -w -R "write huge /more" blocks.img
	fails 1 'larger than its map can reach' "write of more than a map can reach"
fi
rm -f huge

# scripts of another system
cp img y.img
printf '# one\r\nmkdir /crlf\r\n\r\nstat /crlf\r\n' >requests
dbg -w -f requests y.img
works "lines that end in CR LF"
dbg_stdin requests -w y.img
fails 1 "'crlf': already exists" "  of standard input: no other name"
dbg -R "ls -p /" y.img
is "  the name is without" grep -q '/crlf/' .out

# at a prompt: an interrupt drops the line, and a session that is terminated, or whose terminal goes, its changes
if command -v python3 >/dev/null; then
	cat >prompt.py <<'END'
import os, pty, select, shutil, signal, sys, time

def session(tool, steps, close):
    shutil.copy("img", "y.img")
    pid, fd = pty.fork()
    if pid == 0:
        # libedit never frees the names of functions that are added to it
        os.environ.update(TERM="dumb", DEBUGFS_PAGER="",
            ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        os.execv(tool, [tool, "-w", "y.img"])
    seen = b""
    def until(text):
        nonlocal seen
        end = time.time() + 300
        while text not in seen and time.time() < end:
            if select.select([fd], [], [], 0.2)[0]:
                try: seen += os.read(fd, 65536)
                except OSError: return
        seen = seen.partition(text)[2]
    until(b"debugfs: ")
    for step in steps:
        if isinstance(step, int):
            time.sleep(0.3) # the prompt is there, and soon waits
            os.kill(pid, step)
        else:
            os.write(fd, step)
            until(b"debugfs: ")
    if close: os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    same = open("img", "rb").read() == open("y.img", "rb").read()
    print(status, "as it was" if same else "changed")

session(sys.argv[1], [b"mkdir /made\n", b"rm /fi\x03", b"quit\n"], False)
session(sys.argv[1], [b"mkdir /made\n", signal.SIGTERM], False)
session(sys.argv[1], [b"mkdir /made\n", signal.SIGHUP], False)
session(sys.argv[1], [b"mkdir /made\n"], True)
END
	equal "at a prompt: interrupt, SIGTERM, SIGHUP, terminal closed" \
		"$(timeout 1200 python3 prompt.py "$DBG" | tr '\n' ,)" "0 changed,1 as it was,1 as it was,1 as it was,"

	# the pager notes that it ran; one that reads nothing stands for one whose terminal has gone
	cat >pager.py <<'END'
import os, pty, select, signal, sys, time

def session(tool, pager, line, close=False, sig=None):
    if os.path.exists("paged"): os.unlink("paged")
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", DEBUGFS_PAGER=pager,
            ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        os.execv(tool, [tool, "img"])
    seen = b""
    def until(test):
        nonlocal seen
        end = time.time() + 300
        while not test() and time.time() < end:
            if select.select([fd], [], [], 0.1)[0]:
                try: seen += os.read(fd, 65536)
                except OSError: return
    until(lambda: b"debugfs: " in seen)
    seen = b""
    os.write(fd, line + b"\n")
    if close or sig:
        until(lambda: os.path.exists("paged"))
        if sig: os.kill(pid, sig)
        if close: os.close(fd)
    else:
        until(lambda: b"\ndebugfs: " in seen)
        os.write(fd, b"quit\n")
    for i in range(6000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        print("stuck")
        return
    print("paged" if os.path.exists("paged") else "plain", b"Inode count" in seen, b"no such" in seen)

note = "touch paged; "
session(sys.argv[1], note + "cat", b"stats")
session(sys.argv[1], note + "head -n 1 >/dev/null", b"stats")
session(sys.argv[1], note + "cat", b"stat /nothing")
session(sys.argv[1], note + "cat", b"ls -l /")
session(sys.argv[1], note + "exec sleep 500", b"stats", sig=signal.SIGTERM)
session(sys.argv[1], note + "exec sleep 500", b"stats", close=True)
END
	equal "pager: of long results alone, and not without a terminal" \
		"$(timeout 1200 python3 pager.py "$DBG" | tr '\n' ,)" \
		"paged True False,paged False False,plain False True,plain False False,paged False False,paged False False,"
else
	skip "at a prompt" "python3 is not installed"
	skip "pager" "python3 is not installed"
fi

# ---- damage ----
cp img bad
"$DBG" -R "imap /file" bad >place
off=$(sed -n 's/.*located at block \([0-9]*\), offset \(0x[0-9a-f]*\)$/\1 \2/p' place)
printf xxxx | dd of=bad bs=1 seek=$((${off% *} * 4096 + ${off#* } + 8)) conv=notrunc status=none
for verb in "stat /file" "cat /file" "ls -l /" "id /file" "ea_list /file"; do
	dbg -R "$verb" bad
	fails 1 "inode $(sed -n 's/^Inode \([0-9]*\) .*/\1/p' place): checksum mismatch: 0x" "a wrong checksum of an inode: $verb"
	dbg -n -R "$verb" bad
	works "-n: $verb"
done
cp img bad
dbg -w -R "ssv clusters_per_group 65536" bad
dbg -R "testb 1000" -R ffb -R "logdump -b 1000" bad
works "more clusters than blocks in a group"
cp img bad
dbg -w -R "sif /file size 0x3fffffffffffffff" bad
rm -f out
RC=0
timeout -s KILL 900 "$DBG" -R "dump /file out" bad >.out 2>.err || RC=$?
is "dump of a size beyond every map: it is said" grep -q 'more than its map can reach' .err
equal "dump of a size beyond every map: it ends" "$RC" 1
equal "dump of a size beyond every map: the text" "$(head -c 6 out)" hello
rm -rf out there/*
timeout -s KILL 900 "$DBG" -R "rdump / there" bad >.out 2>.err
equal "rdump goes on behind it" "$(cat "there/a b/in\"side")" other
rm -rf there

# a journal of 1 KiB blocks beside an image of larger ones: what is looked for has no place in it
mkfs -q -O journal_dev -b 1024 journal.img 4M
mkfs -q -b 4096 -d tree large.img 8M
dbg -R "logdump -f journal.img" large.img
works "logdump -f"
dbg -R "logdump -i <16> -f journal.img" large.img
fails 1 'the journal has blocks of 1024 bytes' "logdump -f -i with blocks of another size"
dbg -R "logdump -b 100 -f journal.img" large.img
fails 1 'the journal has blocks of 1024 bytes' "logdump -f -b with blocks of another size"

# inodes that were deleted in the first hours of 1970
cp img gone
dbg -w -R "write text /gone" gone
ino=$("$DBG" -R "imap /gone" gone | sed -n 's/^Inode \([0-9]*\).*/\1/p')
blk=$("$DBG" -R "bmap /gone 0" gone)
dbg -w -R "unlink /gone" -R "sif <$ino> links_count 0" -R "sif <$ino> dtime @1000" -R "freei <$ino>" -R "freeb $blk" gone
dbg -R lsdel gone
is "lsdel: a small number as time" grep -q "^ *$ino .* Thu Jan *1 00:16:40 1970$" .out

# What reads the inode of each entry goes by inode, through the itree; a damaged node costs no entry.
mkdir -p order/dir
for i in $(seq 400); do : >"order/dir/name-$((i * 7919 % 400))"; done
mkfs -q -b 1024 -O itree -d order order.img 4M
dbg -R "ls -l /dir" order.img
works "ls -l of a directory with an itree"
is "  lists it by inode" sh -c "tail -n +3 .out | awk 'NF { print \$1 }' | sort -nc"
equal "  and whole" "$(grep -c 'name-' .out)" 400
leaf=$(grep -abo E2IT order.img | sed -n '3s/:.*//p') # the root comes first
printf 'X' | dd of=order.img bs=1 seek=$((leaf + 100)) conv=notrunc status=none
dbg -R "ls -l /dir" order.img
is "  a damaged node is named" grep -q 'directory inode .*itree block' .err
equal "  and each name is listed once" "$(grep -o 'name-[0-9]*' .out | sort -u | wc -l) $(grep -c 'name-' .out)" "400 400"
# Without extents no block behind the end of a file can be allocated: it would be an error of the filesystem.
head -c 2500 img >short
mkfs -q -t ext3 -b 1024 blocks.img 8M
dbg -w -R "write short f" blocks.img
for range in "0 3" "5 9" 3; do
	cp blocks.img y.img
	dbg -w -R "fallocate f $range" y.img
	fails 1 "f: has 3 blocks, and without extents none can be allocated behind its end" "fallocate f $range, without extents"
	is "  the image is unchanged" cmp blocks.img y.img
done
for range in "0 2" 1; do
	dbg -w -R "punch f 1" -R "fallocate f $range" blocks.img
	works "fallocate f $range, without extents"
	is "  and consistent" "$BIN/xw-fsck" -fn blocks.img
done
# Trees deeper than descriptors or stack allow; a directory inside itself; one whose mode forbids additions.
mkdir -p far
(
	cd far || exit
	for ((i = 0; i < 300; i++)); do mkdir d && cd d || exit; done
	echo deep >f
)
mkdir -p far/closed/in
echo closed >far/closed/in/f
touch -d @1000000000 far/closed/in far/closed
chmod 500 far/closed/in far/closed
mkfs -q -d far far.img
mkdir far.out
RC=0
(ulimit -s 128 && ulimit -n 40 && exec "$DBG" -R "rdump / far.out" far.img) >.out 2>.err || RC=$?
works "rdump of 300 levels"
rm -rf far.out/lost+found
is "  all of it" diff -r far far.out
equal "  modes and times of directories" "$(stat -c '%a %Y' far.out/closed far.out/closed/in)" "$(stat -c '%a %Y' far/closed far/closed/in)"
dbg -R "filefrag -r /d" far.img
works "filefrag of 300 levels"
equal "  the deepest file" "$(tail -n 2 .out | head -n 1 | grep -c '/d/f: 1 contiguous extents$')" 1
dbg -w -R "link /closed /closed/in/loop" far.img
mkdir far.loop
dbg -R "rdump /closed far.loop" far.img
equal "rdump of a directory inside itself: it is said" "$RC $(grep -c 'far.loop/closed/in/loop: .*inside itself' .err)" "1 1"
equal "  the rest is made" "$(cat far.loop/closed/in/f)" closed
dbg -R "filefrag -r /closed" far.img
equal "filefrag of a directory inside itself: it is said" "$RC $(grep -c '/closed/in/loop: .*another name' .err)" "1 1"
chmod -R u+w far far.out far.loop

done_testing 254
