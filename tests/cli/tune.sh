#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-tune from outside: what it says and refuses, its exit status, that what it refuses changes nothing, and what it writes
# into the superblock. What others make of the images is for tests/oracle/tune.sh.
. "$(dirname "$0")/lib.sh"
TUNE=${XW_TUNE:-$BIN/xw-tune}
tune() {
	T_TOOL=xw-tune
	run_tool "$TUNE" /dev/null "$@"
}
# sb OFFSET COUNT IMAGE: bytes of the superblock, in hex.
sb() { od -An -v -tx1 -j $((1024 + $1)) -N "$2" "$3" | tr -d ' \n'; }

mkdir -p tree/many
for i in $(seq 1 300); do : >"tree/many/name-number-$i"; done
export SOURCE_DATE_EPOCH=1700000000
mkfs -q -b 1024 -U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=01234567-89ab-cdef-0123-456789abcdef -d tree base 16M
works "an image to work on"
fresh() { cp --sparse=always base img; }

# Wrong command lines: status 1 as tune2fs, one line, nothing changed.
while IFS='|' read -r args regex; do
	fresh
	# shellcheck disable=SC2086
	tune $args img
	fails 1 "$regex" "xw-tune $args"
	is "  changes nothing" cmp base img
done <<'TABLE'
|nothing to change
-m 51|bad reserved block ratio - 51
-m -1|bad reserved block ratio - -1
-m x|bad reserved block ratio - x
-r x|bad reserved blocks count - x
-r 99999999|reserved blocks count is too big \(99999999\)
-e bogus|bad error behavior - bogus
-c 99999|bad mounts count - 99999
-C 70000|bad mounts count - 70000
-i 3x|bad interval - 3x
-i 99999w|interval between checks is too big
-T xx|Couldn't parse date/time specifier: xx
-T 20201302|Couldn't parse date/time specifier
-T 20200002|Couldn't parse date/time specifier
-T 20200100|Couldn't parse date/time specifier
-T 20200132|Couldn't parse date/time specifier
-T 2020010124|Couldn't parse date/time specifier
-T 202001010060|Couldn't parse date/time specifier
-T 20200101000061|Couldn't parse date/time specifier
-T 2020010|Couldn't parse date/time specifier
-T 202001|Couldn't parse date/time specifier
-T 202001010|Couldn't parse date/time specifier
-T 2020010100000000|Couldn't parse date/time specifier
-T 2020010x|Couldn't parse date/time specifier
-T 19691231|Couldn't parse date/time specifier
-u no-such-user|bad uid/user name - no-such-user
-g no-such-group|bad gid/group name - no-such-group
-U bogus|Invalid UUID format
-o bogus|Invalid mount option set: bogus
-O bogus|Invalid filesystem option set: bogus
-O bigalloc|Setting filesystem feature 'bigalloc' not supported
-O ^extent|Clearing filesystem feature 'extent' not supported
-O ^64bit|64-bit mode is changed by resize2fs -s
-O metadata_csum,^extra_isize,inline_data|Setting filesystem feature 'inline_data' not supported
-Q bogus|Bad quota options specified: -Q bogus
-E bogus|Bad options specified: -E bogus
-E bogus=1|Bad options specified: -E bogus
-E stride|Bad options specified: -E stride
-E stride=x|Invalid RAID stride: x
-E hash_alg=sha|Invalid hash algorithm: sha
-E encoding=latin1|Invalid encoding: latin1
-E encoding_flags=strict|An encoding must be explicitly specified
-E clear_mmp|It must be used with -f
-E clear_pending|must be used with -f
-f -L x -E clear_pending|with no other change
-J bogus=1|Bad journal options
-J size=0|Invalid journal size: 0
-j|The filesystem already has a journal
-I 200|Inode size must be a power of two - 200
-X|unknown option -X
--commit maybe|--commit
TABLE
tune -L x
fails 1 "the name of the image is missing" "no image"
tune -L x img img
fails 1 "one image at a time" "two images"
cp --sparse=always img self
tune -z self -L x self
fails 1 "-z self: is the image itself" "an undo file that is the image"
is "  the image is as it was" cmp img self
tune -z undo -L other self
equal "-z: the command that undoes it is printed" "$(sed -n 's/^    //p' .out)" "xw-undo undo self"
is "  and does so" "$BIN/xw-undo" -q undo self
is "  byte for byte" cmp img self
rm -f self undo
tune -L x nowhere
fails 1 "nowhere" "an image that is not there"
head -c 65536 /dev/zero >zeros
tune -L x zeros
fails 1 "not an ext2, ext3 or ext4" "no filesystem"
: >short
tune -L x short
fails 1 "not an ext2, ext3 or ext4" "an empty file"

# What is said, as tune2fs says it, and what is written.
while IFS='|' read -r args line offset bytes; do
	fresh
	# shellcheck disable=SC2086
	tune $args img
	works "xw-tune $args"
	equal "  says" "$(head -n 1 .out)" "$line"
	equal "  writes" "$(sb "$offset" $((${#bytes} / 2)) img)" "$bytes"
	is "  leaves no redo file" gone img.xw-redo
done <<'TABLE'
-L label||0x78|6c6162656c00000000000000000000
-M /mnt/there||0x88|2f6d6e742f746865726500
-m 3.5|Setting reserved blocks percentage to 3.5% (573 blocks)|0x8|3d020000
-r 1000|Setting reserved blocks count to 1000|0x8|e8030000
-e panic|Setting error behavior to 3|0x3c|0300
-c 10|Setting maximal mount count to 10|0x36|0a00
-c 0|Setting maximal mount count to -1|0x36|ffff
-C 7|Setting current mount count to 7|0x34|0700
-i 5|Setting interval between checks to 432000 seconds|0x44|80970600
-i 2w|Setting interval between checks to 1209600 seconds|0x44|00751200
-i 1m|Setting interval between checks to 2592000 seconds|0x44|008d2700
-i 6s|Setting interval between checks to 6 seconds|0x44|06000000
-T 20200102|Setting time filesystem last checked to Thu Jan  2 00:00:00 2020|0x40|80320d5e
-T 202001010059|Setting time filesystem last checked to Wed Jan  1 00:59:00 2020|0x40|d4ee0b5e
-T 2020013123|Setting time filesystem last checked to Fri Jan 31 23:00:00 2020|0x40|70b1345e
-T 20201231235959|Setting time filesystem last checked to Thu Dec 31 23:59:59 2020|0x40|ff65ee5f
-T 20201231235960|Setting time filesystem last checked to Fri Jan  1 00:00:00 2021|0x40|0066ee5f
-T 19700101|Setting time filesystem last checked to Thu Jan  1 00:00:00 1970|0x40|00000000
-T 21060208|Setting time filesystem last checked to Mon Feb  8 00:00:00 2106|0x40|80f60000
-T 21060208|Setting time filesystem last checked to Mon Feb  8 00:00:00 2106|0x277|01
-T now|Setting time filesystem last checked to Tue Nov 14 22:13:20 2023|0x40|00f15365
-u 1000|Setting reserved blocks uid to 1000|0x50|e803
-g 2000|Setting reserved blocks gid to 2000|0x52|d007
-U 00000000-0000-0000-0000-00000000002a||0x68|0000000000000000000000000000002a
-U clear||0x68|00000000000000000000000000000000
-o debug,^acl||0x100|05000000
-o journal_data_writeback,^journal_data||0x100|0c000000
-E stride=16|Setting stride size to 16|0x164|1000
-E stripe_width=32|Setting stripe width to 32|0x170|20000000
-E hash_alg=tea|Setting default hash algorithm to tea (2)|0xfc|02
-E mount_opts=data=journal|Setting extended default mount options to 'data=journal'|0x200|646174613d6a6f75726e616c00
-E force_fsck|Setting filesystem error flag to force fsck.|0x3a|0300
-E test_fs|Setting test filesystem flag|0x160|05
-E encoding=utf8,encoding_flags=strict|Setting encoding to 'utf8'|0x27c|01000100
TABLE

for seconds in "1 second" "2 seconds"; do
	fresh
	tune -O mmp -E mmp_update_interval="${seconds% *}" img
	equal "an interval of $seconds" "$RC $(sed -n 1p .out)" "0 Setting multiple mount protection update interval to $seconds"
	equal "  is written" "$(sb 0x166 2 img)" "0${seconds%% *}00"
done

fresh
tune -L abcdefghijklmnopqrstuvwxyz img
equal "a label of 26 bytes: status" "$RC" 0
is "  is cut, and that is said" grep -q 'label too long, truncating' .err
equal "  to 16" "$(sb 0x78 17 img)" 6162636465666768696a6b6c6d6e6f7000

# One change of everything, and the same again.
fresh
tune --json -L all -U clear -m 1 -O itree,^quota,orphan_file,mmp -Q usrquota img
works "many changes at once, --json"
equal "  one itree" "$(json itrees_built .out)" 1
equal "  one commit" "$(json commit .out)" inside
cp img before
tune -q -L all -U clear -m 1 -O itree,orphan_file,mmp -Q usrquota img
works "  again"
is "  is the same" cmp before img
tune -q -L other img
works "  a label on an itree image"

# With large blocks the inode that keeps room for descriptors is a large file, too.
mkfs -q -F -b 4096 img 64M
tune -q -O ^large_file,^resize_inode img
works "^large_file, and the resize inode goes with it"
clean img "  are clean"

# That there is nothing to build is said.
mkdir -p few && : >few/one
mkfs -q -F -d few img 16M
tune -O itree img
works "an itree for nothing"
equal "  says so" "$(cat .out)" "Built 0 itrees"

# Directories that were changed while the feature was away: what the trees had comes back, once.
DBG=$BIN/xw-debugfs
mkfs -q -F -b 1024 -O itree -d tree img 20M
head -c 9000000 /dev/urandom >img.data
for how in changed checked rebuilt damaged; do
	"$DBG" -q -w -R "feature ^itree" img >.out 2>.err
	"$DBG" -q -w -R "mkdir /many/new-$how" -R "ln /many/new-$how /many/new-$how-2" -R "unlink /many/new-$how-2" img >.out 2>.err
	case $how in # a check frees the nodes, and others take the blocks; or loses the pointer to them
	checked) e2fsck -fy img >.out 2>&1 && "$DBG" -q -w -R "write img.data /data" img >.out 2>.err ;;
	rebuilt) e2fsck -fyD img >.out 2>&1 ;;
	esac
	if [ $how = damaged ]; then
		node=$("$DBG" -R "itree /many" img 2>/dev/null | sed -n '/^Leaf/{s/.*block \([0-9]*\),.*/\1/p;q}')
		dd if=/dev/zero of=img bs=1024 count=1 seek="$node" conv=notrunc status=none
		cp img before
		tune -q -O itree img
		fails 1 'run xw-fsck -f' "stale trees, damaged"
		is "  nothing is changed" cmp before img
		continue
	fi
	tune -O itree img
	works "stale trees, $how"
	"$DBG" -R "itree_check /many" img >.out 2>.err
	is "  the tree is the directory's" grep -q ' 0 findings' .out
	cp img y.img
	tune -q -O ^itree y.img
	works "  and goes"
	clean y.img "  and nothing is left behind"
done

# 32,768 groups, 21 copies of 2 MiB of descriptors: those that stay what they are are not held in memory.
if ldd "$MKFS" | grep -q libasan || [ ! -x /usr/bin/time ]; then
	skip "memory for a feature of a large image" "needs time(1), and no sanitizer"
elif mkfs -q -F -N 32768 -O ^has_journal img 4T && [ "$RC" = 0 ]; then
	/usr/bin/time -o used -f %M "$TUNE" -q -O itree img >.out 2>.err
	is "memory for a feature of a large image: $(cat used) KiB" test "$(cat used)" -lt 40000
	rm -f img
else
	skip "memory for a feature of a large image" "no files of 4 TiB here"
fi

# An image that is marked as having errors: its superblock can be changed, and nothing that goes deeper.
fresh
tune -q -E force_fsck img
tune -q -L x img
works "a label on an image with errors"
cp img before
for o in '-U random' '-O itree' '-O ^has_journal'; do
	# shellcheck disable=SC2086
	tune $o img
	fails 1 'requires a freshly checked filesystem' "  but not $o"
	is "    which changes nothing" cmp before img
done

# A feature that nobody knows: what else hangs on a label or an UUID, nobody can say.
fresh
"$BIN/xw-debugfs" -q -w -R 'ssv feature_ro_compat 0x2000046b' img >/dev/null
cp img before
for o in '-L x' '-U random' '-m 1' '-O ^dir_index'; do
	# shellcheck disable=SC2086
	tune $o img
	fails 1 'unsupported feature FEATURE_R29; ' "a feature that is not known: not $o"
	is "    which changes nothing" cmp before img
done

# The change is one commit, by journal where that serves.
fresh
tune -q --commit journal -L x img
works "--commit journal: a label"
tune --commit journal -O itree img
fails 1 'cannot commit through the journal: features change' "--commit journal: a feature"
tune -q --redo-file over-there -O itree img
works "--redo-file"
is "  is gone afterwards" gone over-there

head -c 4096 /dev/urandom >prefixed
cat base >>prefixed
tune -q -E offset=4096 -L there prefixed
works "-E offset="
equal "  is heeded" "$(od -An -c -j $((4096 + 1024 + 0x78)) -N 5 prefixed | tr -d ' \n')" there

# -l
fresh
tune -l img
works "-l"
is "  changes nothing" cmp base img
is "  lists" grep -q '^Filesystem UUID:          01234567-89ab-cdef-0123-456789abcdef$' .out
tune -l --json -L listed img
works "-l --json, with a change"
equal "  lists what is there now" "$(tail -n 1 .out | json filesystem_volume_name /dev/stdin)" listed
tune -l zeros
fails 1 "not an ext2, ext3 or ext4" "-l: no filesystem"
tune -l short
fails 1 "not an ext2, ext3 or ext4" "-l: an empty file"

# A change that was interrupted, its redo file lost: the bit in the superblock, as a commit sets it.
mkfs -q -b 1024 -O ^metadata_csum -d tree half 16M
printf '\x40' | dd of=half bs=1 seek=$((1024 + 0x63)) conv=notrunc status=none
tune -L x half
fails 1 "is missing; if that is lost: xw-tune -f -E clear_pending" "a change whose redo file is lost"
for tool in xw-dump xw-freefrag; do
	run_tool "$BIN/$tool" /dev/null half
	equal "  $tool says what to do" "$RC $(grep -c 'if it is lost: xw-tune -f -E clear_pending, then xw-fsck -f' .err)" "1 1"
done
cp half given
tune -f -E clear_pending --json given
equal "-E clear_pending, as JSON" "$(cat .out)" '{"pending":"given up"}'
tune -f -E clear_pending half
works "-E clear_pending"
equal "  says so" "$(cat .out)" "half: the interrupted change is given up; run xw-fsck -f"
equal "  marks the image as having errors" "$(sb 0x3a 2 half)" 0300
equal "  and the change is no longer pending" "$(($(printf '%d' "0x$(sb 0x63 1 half)") & 0x40))" 0
tune -f -E clear_pending half
works "-E clear_pending, once more: nothing to do"
equal "  says so" "$(cat .out)" "half: no change is pending"

# The resize inode's size counts as that of a file where it is 2 GiB or more.
mkfs -q -F -b 4096 img 64M
tune -O ^large_file img
fails 1 "inode 7 is a file of 2 GiB or more" "-O ^large_file with a resize inode"

tune --version
is "--version" grep -q '^xw-tune (extwright) ' .out
tune --help
is "--help" grep -q '^Usage: xw-tune' .out

# Reasons: what is ignored or impossible is said.
mkfs -q reasons 16M
T_TOOL=xw-tune run_tool "$BIN/xw-tune" /dev/null -O ^has_journal --commit journal reasons
is "--commit journal of a journal's removal" grep -q "cannot commit through the journal: features change" .err
T_TOOL=xw-tune run_tool "$BIN/xw-tune" /dev/null -J fast_commit_size=100 reasons
is "-J fast_commit_size= with a journal" grep -q "already has a journal; -J fast_commit_size= is for a new one" .err
truncate -s 12M reasons
T_TOOL=xw-tune run_tool "$BIN/xw-tune" /dev/null -l reasons
is "-l of an image that was cut warns" grep -q "warning: .*the image holds 3072; if the file was cut, get the whole file" .err
done_testing 325
