#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What xw-fsck tells a person: paths, ranges, differences of bitmaps by group, and at the end what was lost, and where it went.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
debugfs() { "$DEBUGFS" -w "$@" >.dbg 2>&1 || cat .dbg; }
# has PATTERN: is there a line in the output that matches?
has() { grep -qE -- "$1" .out; }
# at IMAGE NUMBER: the byte at which an inode's record begins.
at() {
	local place
	place=$("$DEBUGFS" -R "imap <$2>" "$1" 2>/dev/null | sed -n 's/.*at block \([0-9]*\), offset 0x\([0-9a-f]*\).*/\1 \2/p')
	echo $((${place% *} * $3 + 0x${place#* }))
}
# the list of the last run that begins with a heading: how many lines it has
listed() { awk -v heading="$1" '/^[^ ]/ {on = index($0, heading) == 1} on && /^  / {n++} END {print n + 0}' .out; }

mkdir -p tree/etc/deep tree/var
for i in 1 2 3; do echo "contents of $i" >tree/etc/$i; done
echo deep >tree/etc/deep/file
echo log >tree/var/log
printf 'odd' >"tree/var/$(printf 'a\033b\nc')"
long=$(printf 'n%.0s' $(seq 200))
mkdir -p "tree/$long/$long" && echo long >"tree/$long/$long/file"
mkfs -q -b 4096 -t ext4 -N 512 -d tree img 16M
works "an image"
number() { "$DEBUGFS" -R "stat $1" "${2:-img}" 2>/dev/null | sed -n 's/^Inode: \([0-9]*\) .*/\1/p'; }
etc=$(number /etc) one=$(number /etc/1) deep=$(number /etc/deep) file=$(number /etc/deep/file) log=$(number /var/log)

# ---- paths ----
cp img bad
debugfs -R "sif /etc/1 links_count 5" -R "sif /etc/deep/file faddr 7" bad
fsck -fn bad
equal "link count and address" $RC 4
is "  pass 1 names the path" has "^i_faddr of inode $file \\(/etc/deep/file\\) is 7, should be zero\\.  Clear\\? no"
is "  so does pass 4" has "^Inode $one \\(/etc/1\\) has link count 5, should be 1\\.  Fix\\? no"
is "  nothing would be lost" has '^No file, name or attribute would be lost\.$'
fsck -fn --json bad
is "  JSON has it" has "\"inode\":$one,\"path\":\"/etc/1\""
is "  and an empty list of changes" has '"exit_status":4,"changes":\[\]'
fsck -fy bad
equal "repaired" $RC 1
is "  nothing was lost" has '^No file, name or attribute was lost\.$'
equal "  said before the line that scripts know" "$(grep -nE 'was lost|WAS MODIFIED' .out | sed 's/:.*\(lost\|MODIFIED\).*/ \1/' | cut -d ' ' -f 2 | xargs)" "lost MODIFIED"
fsck -fy bad
is "clean: nothing is said of losses" sh -c '! grep -q "lost" .out'
equal "  status" $RC 0

cp img bad
debugfs -R "clri /etc/2" -R "clri /etc/deep/file" bad
fsck -fn bad
is "entries name their directory" has "^Entry '2' in /etc \\($etc\\) has deleted or unused inode"
is "  of any depth" has "^Entry 'file' in /etc/deep \\($deep\\) has deleted or unused inode $file\\."
equal "  and would be removed" "$(listed 'Names that would be removed (2):')" 2
fsck -fn --json bad
is "  JSON has the directory's path" has "\"directory\":$deep,\"directory_path\":\"/etc/deep\""
is "  and the changes" has "\\{\"kind\":\"unnamed\",\"inode\":$file,\"path\":\"/etc/deep/file\"\\}"
fsck -fy bad
is "  removed: the names" has "^  /etc/deep/file \\($file\\)\$"

cp img bad
for ino in $(seq 12 40); do debugfs -R "sif <$ino> links_count 9" bad; done
fsck -fn bad
is "control bytes of a path are escaped" has ' \(/var/a\\033b\\012c\) has link count'
is "  a long path is cut in the middle" has ' \(/n{59}\.\.\.n{135}/file\) has link count'

# ---- a directory that is lost, and circles ----
cp img bad
debugfs -R "unlink /etc" bad
fsck -fn bad
is "an unconnected directory tells where it was" has "^Unconnected directory inode $etc \\(was in /, inode 2\\)\\."
is "  and that it would be connected" test "$(listed 'Would be connected to /lost+found (1):')" = 1
debugfs -R "sif <$file> links_count 2" bad
fsck -fn bad
is "  a path below begins with its number" has "^Inode $file \\(<$etc>/deep/file\\) has link count 2"
fsck -fy bad
is "  connected: from where" has "^  #$etc \\(from /\\)\$"
is "  clean then" "$FSCK" -fn bad
cp img bad
debugfs -R "unlink /var" -R "ln <$(number /var)> /etc/var" -R "unlink /etc" -R "ln <$etc> <$(number /var)>/etc" -R "sif <$log> links_count 3" bad
fsck -fn bad
equal "directories in a circle" $RC 4
is "  a path in it is not known" has "^Inode $log has link count 3, should be 1"
fsck -fy bad
equal "  it is repaired" $RC 1
fsck -fn bad
equal "  clean then" $RC 0

# ---- a file without a name ----
cp img bad
"$BIN/xw-tune" -O ^metadata_csum bad >/dev/null 2>&1
cp bad plain
debugfs -R "unlink /etc/3" bad
fsck -fn bad
is "an unattached file" has "^Unattached inode $(number /etc/3)"
fsck -fy bad
is "  is connected" has "^  #$(number /etc/3)"
fsck -fy bad
equal "  once" $RC 0
cp plain bad
block=$("$DEBUGFS" -R 'bmap /etc 0' bad 2>/dev/null)
printf '\030\0' | dd of=bad bs=1 seek=$((block * 4096 + 40)) conv=notrunc status=none # the entry of "2" contains that of "3"
fsck -fn bad
is "a removed entry tells the directory" has "^Unattached inode $(number /etc/3) \(from /etc\)\.  Connect"
fsck -fn --json bad
is "  JSON has it" has "\"id\":\"inode-unattached\",.*\"from\":\"/etc\""
is "  and so has the change" has "\{\"kind\":\"connected\",\"inode\":$(number /etc/3),\"from\":\"/etc\"\}"
cp img bad
debugfs -R "rmdir /lost+found" -R "write tree/etc/1 lost+found" bad
fsck -fy bad
is "a file /lost+found: its name is removed" has "^  /lost\+found \([0-9]*\)\$"
is "  and tells where the file was" has "^  #[0-9]* \(from /lost\+found\)\$"
is "  clean then" "$FSCK" -fn bad

# ---- one cause, one line ----
many=$(mktemp -d many.XXX)
for i in $(seq 100 199); do echo "$i" >"$many/$i"; done
mkfs -q -b 4096 -t ext4 -N 512 -d "$many" img2 16M
works "an image of many files"
first=33 # the third block of the table: 16 records in 4096 bytes
cp img2 bad
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(5).randbytes(4096))' >junk 2>/dev/null || head -c 4096 /dev/urandom >junk
dd if=junk of=bad bs=4096 seek=$(($(at img2 $first 4096) / 4096)) conv=notrunc status=none
cp bad asked
fsck -fn bad
equal "a block of the inode table of junk" $RC 4
is "  is told in one line" has "^Inode $first \\(/[0-9]*\\) seems to contain garbage; likewise inodes 34-48 \\(16 in all\\)\\.  Clear\\? no"
equal "  and nothing of its contents" "$(grep -cE '^(Inode [0-9]|i_|Special)' .out)" 1
equal "  each inode would be cleared" "$(listed 'Inodes that would be cleared (16):')" 16
fsck -fnv bad
equal "  -v: each in a line" "$(grep -c 'seems to contain garbage' .out)" 16
fsck -fn --json bad
is "  JSON has the range" has "\"id\":\"inode-garbage\",.*\"inode\":$first,\"inode_last\":48,\"count\":16,"
is "  of which each inode counts" test "$(json found .out)" -ge 32
fsck -fy bad
equal "  repaired" $RC 1
is "  clean then" "$FSCK" -fn bad
if python3 -c 'import os, pty; os.close(pty.openpty()[0])' 2>/dev/null; then
	python3 "$XW_SRC/tests/cli/on_tty.py" "x,y,$(printf 'a,%.0s' $(seq 40))a" "$FSCK" -f asked >.out 2>.err </dev/null
	equal "  one question for all" $? 1
	is "    after a wrong key again" test "$(grep -o 'Clear<y>? ' .out | wc -l)" -ge 2
	equal "    of the range" "$(grep -cE '^Inode .* seems to contain garbage; likewise inodes 34-48 \(16 in all\)\.' .out)" 1
	is "    which says the keys" has '^y is yes, n is no, a is yes to all'
	is "    clean then" "$FSCK" -fn asked
else
	skip "one question for all" "no terminal" 5
fi

# ---- the first 20 of a kind ----
cp img2 bad
for i in $(seq 110 139); do echo "clri /$i"; done >clear
"$DEBUGFS" -w -f clear bad >.dbg 2>&1
cp bad all
fsck -fn bad
equal "30 names" "$(listed 'Names that would be removed (30):')" 21
is "  the others are counted" has '^  and 10 more \(-v lists all\)$'
fsck -fn -v bad
equal "  -v: all" "$(listed 'Names that would be removed (30):')" 30
fsck -fn --json bad
equal "  --json: all" "$(grep -o '"kind":"unnamed"' .out | wc -l)" 30
fsck -fp all
equal "-p: a line of numbers" "$RC $(grep -cE '^all: 30 names removed\.$' .out) $(grep -c '^  ' .out)" "1 1 0"

# ---- shared blocks, bitmaps ----
cp plain bad
block=$("$DEBUGFS" -R "bmap /etc/1 0" bad 2>/dev/null)
debugfs -R "sif /etc/2 block[5] $block" bad
fsck -fy bad
is "shared blocks: both names" has "^  /etc/[12] \\([0-9]*\\), also in /etc/[12] \\([0-9]*\\)\$"
mkfs -q -b 1024 -t ext4 -O ^metadata_csum img3 24M
debugfs -R "setb 5000 3" -R "setb 5005" -R "setb 9000" -R "setb 20000 2" img3
fsck -fn img3
is "bitmaps: by group" has '^Block bitmap differences: -\(5000--5002\) -5005, in group 0\.  Fix\? no'
is "  each its own" has '^Block bitmap differences: -9000, in group 1\.  Fix\? no'
is "  and a finding" has '^Block bitmap differences: -\(20000--20001\), in group 2\.  Fix\? no'
fsck -fn --json img3
equal "  JSON: with the group" "$(grep -o '"id":"block-bitmap-differences".*"group":[0-9]*' .out | sed 's/.*://' | xargs)" "0 1 2"
fsck -fy img3
equal "  repaired" $RC 1

# ---- settings, and what was not written ----
cp img bad
debugfs -R "sif /etc/1 links_count 3" bad
cp bad kept
"$FSCK" -fn --json bad >.out 2>&1
is "no change of a setting" sh -c '! grep -q "\"setting\"" .out'
cp plain bad
debugfs -R "feature ^extent" bad
fsck -fy bad
is "a setting is listed with its finding" has '^Settings changed \([0-9]*\):$'
equal "  with an entry each" "$(listed 'Settings changed (')" "$(sed -n 's/^Settings changed (\(.*\)):$/\1/p' .out)"
done_testing 67
