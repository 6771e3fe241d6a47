#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs called as debugfs, in scripts: exit statuses beside stock debugfs, transactions written to an external journal, and the
# orphans of an image.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in debugfs mke2fs e2fsck; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
mkdir ours
ln -s "$DBG" ours/debugfs
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$DBG" /dev/null "$@"
}

# ---- exit statuses ----
mkdir -p tree/dir
seq 3000 >tree/file
printf 'rm nosuch\nstat file\n' >failing
printf 'nosuchverb\nstat file\n' >unknown
mke2fs -qF -t ext4 -d tree img 16M >/dev/null 2>&1
# statuses DEBUGFS: of each way to give the requests
statuses() {
	local how request rc
	while IFS='|' read -r how request; do
		cp img copy
		rc=0
		case $how in
		-) echo "$request" | "$1" copy >/dev/null 2>&1 || rc=$? ;;
		-f*) "$1" $how copy </dev/null >/dev/null 2>&1 || rc=$? ;;
		none) "$1" -R "$request" </dev/null >/dev/null 2>&1 || rc=$? ;;
		*) "$1" $how -R "$request" copy </dev/null >/dev/null 2>&1 || rc=$? ;;
		esac
		echo "$how '$request' $rc"
	done <<-'TABLE'
		|stat file
		|stat nosuch
		|stat <99999>
		|ls nosuch
		|cat nosuch
		|rm file
		-w|rm nosuch
		-w|mkdir dir
		-w|rmdir dir
		-w|write nosuch x
		-w|sif file nosuch 1
		-w|sif file mode zz
		-w|set_bg 99 free_blocks_count 1
		-w|jc
		-w|rm file
		|htree_dump file
		|logdump -x
		|ncheck 99999
		|supported_features nosuch
		|nosuchverb
		-w|nosuchverb
		none|stat file
		-f failing|
		-f unknown|
		-f nofile|
		-|stat nosuch
		-|nosuchverb
	TABLE
}
statuses debugfs >stock.txt
statuses ours/debugfs >own.txt
is "called as debugfs: statuses as of stock" diff stock.txt own.txt
equal "  all of the table" "$(wc -l <own.txt) $(grep -c ' 1$' own.txt)" "27 4"
dbg -R "stat nosuch" img
fails 1 "no such file" "called as xw-debugfs a failing request is a failure"

# ---- external journals ----
mkfs -q -O journal_dev -b 1024 journal 8M
mkfs -q -t ext4 -b 1024 -J device=journal -d tree ext 16M
head -c 2048 /dev/urandom >data
printf '%s\n' 'jo -f journal' 'jw -b 9000,9001 data' 'jc' 'jo -f journal' 'jw -b 9002 data' 'jw -r 9002' 'jc' >jw
dbg -w -f jw ext
works "journal_open -f"
dbg -R "logdump -a -f journal" ext
equal "  two blocks and a third are logged, which is revoked" \
	"$(grep -c 'logged at journal block' .out) $(grep -c 'Revoke FS block 9002' .out)" "3 1"
dbg -w -R "write data new" ext
equal "  files are not changed before they are in place" "$RC $(grep -c 'may hold changes' .err)" "1 1"
dbg -w -R "ssv mnt_count 7" ext
equal "  fields can be set" "$RC $("$DBG" -R 'stats -h' ext 2>/dev/null | sed -n 's/^Mount count: *//p')" "0 7"
cp ext ext2
cp journal journal2
placed() { dd if="$1" bs=1024 skip=9000 count=3 status=none | { cmp -s -n 2048 - data && echo yes; }; }
third() { dd if="$1" bs=1024 skip=9002 count=1 status=none | tr -d '\0' | wc -c; }
e2fsck -fy -j journal ext >.fsck 2>&1
equal "stock e2fsck replays it" "$? $(placed ext) $(third ext)" "0 yes 0"
is "  and finds nothing more" fsck_quiet .fsck -fn -j journal ext
fsck -fy -j journal2 ext2
equal "xw-fsck, too" "$RC $(placed ext2) $(third ext2)" "0 yes 0"
is "  and it is clean" fsck_quiet .fsck -fn -j journal2 ext2
dbg -w -R "jo" ext
fails 1 "the journal is external, and no device has its UUID" "journal_open without -f says what to do"
dbg -w -R "jo -f img" ext
fails 1 "not an external journal" "  something else is refused"
mkfs -q -O journal_dev -b 1024 other 8M
dbg -w -R "jo -f other" ext
fails 1 "journal of another filesystem" "  the journal of another filesystem, too"
if can_loop; then
	dev=$(losetup --find --show journal)
	mke2fs -qF -O journal_dev -b 1024 "$dev"
	mke2fs -qF -t ext4 -b 1024 -J device="$dev" -d tree ext 16M
	sed "s,journal,$dev," jw >jw.dev
	dbg -w -f jw.dev ext
	works "journal_open -f DEVICE"
	e2fsck -fy -j "$dev" ext >.fsck 2>&1
	equal "  which stock e2fsck replays" "$? $(placed ext) $(third ext)" "0 yes 0"
	dbg -w -R "jo" ext
	works "journal_open finds the device by its UUID"
	losetup -d "$dev"
else
	skip "journal_open -f DEVICE" "needs root and loop devices" 3
fi

# ---- orphans ----
mke2fs -qF -t ext4 -d tree img 16M
dbg -R orphan_inodes img
equal "orphan_inodes: none" "$RC $(cat .out .err)" "0 "
number() { "$DBG" -R "stat /$1" img 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\).*/\1/p'; }
a=$(number file) b=$(number dir)
dbg -w -R "sif <$a> dtime $b" -R "sif <$b> dtime 0" -R "ssv last_orphan $a" img
dbg -R orphan_inodes img
equal "  a list of two" "$RC $(tr '\t\n' ' |' <.out)" "0 $a list|$b list|"
dbg -w -R "sif <$b> dtime $a" img
dbg -R orphan_inodes img
equal "  a circle ends" "$RC $(grep -c circular .err)" "1 1"
dbg -w -R "ssv last_orphan 99999" img
dbg -R orphan_inodes img
fails 1 "invalid inode 99999" "  a number without an inode"
if can_loop; then
	mke2fs -qF -t ext4 -O orphan_file -d tree img 16M
	mkdir -p mnt
	mount -o loop img mnt
	exec 3<mnt/file
	a=$(stat -c %i mnt/file)
	rm mnt/file
	sync -f mnt
	cp img torn
	exec 3<&-
	umount mnt
	dbg -R orphan_inodes torn
	equal "  of the orphan file" "$RC $(tr '\t\n' ' |' <.out)" "0 $a file|"
	dbg --json -R orphan_inodes torn
	equal "  --json" "$RC $(grep -c "\"result\": *\[{\"inode\": *$a, *\"in\": *\"file\"}\]" .out)" "0 1"
	dbg -R orphan_inodes img
	equal "  unmounted there is none" "$RC $(cat .out)" "0 "
else
	skip "  of the orphan file" "needs root and loop mounts" 3
fi

# ---- init_filesys ----
fields() { dumpe2fs -h "$1" 2>/dev/null | grep -v '^$\|^Filesystem created\|^Last write\|^Last checked'; }
for blocks in 64 1000 8193 20000; do
	for tool in "$DBG" debugfs; do
		head -c 1M /dev/urandom >img
		truncate -s 24M img
		"$tool" -R "init_filesys img $blocks" >.out 2>.err </dev/null
		fields img >"fields.$(basename "$tool")"
		[ "$tool" = debugfs ] || cp img made
	done
	is "init_filesys, $blocks blocks: the superblock is that of stock" diff fields.debugfs fields.xw-debugfs
	e2fsck -fy made >.fsck 2>&1
	clean made "  e2fsck makes a root, and nothing more is wrong"
done
printf '%s\n' "init_filesys img 1000" "ffb" "ssv volume_name there" "init_filesys img 64" >init
dbg -f init
equal "init_filesys: the image is open for changes then" "$RC $(grep -c 'Free blocks found: 37' .out) $(grep -c 'is still open' .err)" "1 1 1"
equal "  which are kept" "$(fields img | sed -n 's/^Filesystem volume name: *//p')" there
dbg -R "init_filesys nosuch 1000"
fails 1 "nosuch: cannot open" "  no file is made"
is "  nowhere" gone nosuch
sum=$(sha256sum <img)
for args in "img x" "img 3" "img 0"; do
	dbg -R "init_filesys $args"
	equal "init_filesys $args: refused" "$RC $(sha256sum <img)" "1 $sum"
done
done_testing 39
