#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs from outside: where requests come from, how their words are read, what is said and which status is returned.
# What the verbs print is compared with debugfs in tests/oracle/debugfs.sh.
. "$(dirname "$0")/lib.sh"
DBG=$XW_BUILD/xw-debugfs
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
fails 1 'a quote is not closed' "an open quote"
dbg -R "cat '/file'" img
fails 1 'no such file' "apostrophes are no quotes"
for bad in "<0>" "<99999999>" "<x>" "<>" "<2" /nothing /file/x; do
	dbg -R "stat $bad" img
	fails 1 'no inode|no such file|not a directory' "no file: $bad"
done
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
printf 'open img\ncat /file\nclose\ncat /file\n' >requests
dbg_stdin requests
equal "open and close: output" "$(cat .out)" hello
fails 1 'cat: no image is open' "open and close"
dbg -f nosuch img
fails 1 'nosuch: No such file' "no file of requests"

# ---- what is said ----
dbg -R nosuch -R "cat /file" img
equal "a request that fails is not the last" "$(cat .out)" hello
fails 1 "there is no verb 'nosuch'" "no such verb"
dbg -R "stat" img
fails 1 'usage: show_inode_info FILE' "usage of a verb"
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
	cannot -w -c
	cannot -w -i
	needs.-b -s 5
	block.size -b 1000
	number -s x -b 1024
	offset -E size=5
	not.supported -z undo
	not.supported -d data
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
else
	skip "it is JSON" "python3 is not installed"
fi
dbg --json -R "stat /nothing" img
equal "a failure in JSON" "$(cat .out)" '{"request":"stat /nothing","ok":false}'
fails 1 'no such file' "a failure under --json"
dbg --json -R "cat /file" img
fails 1 'JSON' "bytes are not JSON"

# ---- contents on this machine ----
dbg -R "dump /file out" -R "dump /file out/x" img
equal "dump" "$(cat out)" hello
fails 1 'out/x' "dump into nowhere"
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
done_testing
