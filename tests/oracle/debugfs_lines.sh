#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Command lines of debugfs(8) and of its tutorials, run by stock debugfs and by ours under that name on equal images: standard output
# and standard error are the same, byte for byte.
. "$(dirname "$0")/../cli/lib.sh"
DBG=$BIN/xw-debugfs
[ -x "$DBG" ] || skip_all "xw-debugfs is not built"
for tool in debugfs mke2fs e2fsck setfattr; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
mkdir ours
ln -s "$DBG" ours/debugfs
export E2FSPROGS_FAKE_TIME=1600000000 SOURCE_DATE_EPOCH=1600000000 DEBUGFS_PAGER=cat
mkdir -p tree/big tree/dir/sub
for i in $(seq 300); do echo "$i" >"tree/big/name-of-a-file-$i"; done
seq 30000 >tree/file
seq 5 >tree/small
ln -s small tree/link
ln -s "$(printf 'x%.0s' $(seq 100))" tree/longlink
ln tree/small tree/dir/hard
truncate -s 100k tree/sparse
echo end >>tree/sparse
find tree -exec touch -h -d '2020-01-02 03:04:05 UTC' {} +
mke2fs -qF -t ext4 -b 1024 -U 11111111-2222-3333-4444-555555555555 -E hash_seed=11111111-2222-3333-4444-666666666666 -d tree ext4 16M >.out 2>&1
printf '%s\n' 'ea_set small user.one two' 'ea_set -f tree/small file user.list' 'ea_set small user.bin "a b"' >ea
debugfs -w -f ea ext4 >.out 2>&1
e2fsck -fyD ext4 >.out 2>&1
mke2fs -qF -t ext2 -b 1024 -U 11111111-2222-3333-4444-555555555555 -E hash_seed=11111111-2222-3333-4444-666666666666 -d tree ext2 16M >.out 2>&1
printf '%s\n' 'rm big/name-of-a-file-3' 'kill_file file' >deleting
debugfs -w -f deleting ext2 >.out 2>&1
mke2fs -qF -t ext4 -O mmp,^has_journal -b 1024 mmp 8M >.out 2>&1

# same WHAT IMAGE [-w] <LINES: one run of each program over all the lines; then each line that differs is shown.
same() {
	local what=$1 img=$2 side
	shift 2
	cat >lines
	for side in stock ours; do
		mkdir $side.dir
		cp "$img" $side.dir/img
		ln -s ../tree $side.dir/tree
		mkdir $side.dir/into
	done
	(cd stock.dir && debugfs "$@" -f ../lines img >../stock.out 2>../stock.err </dev/null)
	(cd ours.dir && ../ours/debugfs "$@" -f ../lines img >../ours.out 2>../ours.err </dev/null)
	sed -i '1{/^debugfs 1\.4/d;}' stock.err
	is "$what: standard output" diff stock.out ours.out
	is "  standard error" diff stock.err ours.err
	is "  files on the host" diff -r --no-dereference stock.dir/into ours.dir/into
	lines=$((lines + $(wc -l <lines)))
	for side in stock ours; do mv $side.dir/img $side.img; done
	rm -r stock.dir ours.dir
}
lines=0
same "reading" ext4 <<'LINES'
stat file
stat <2>
stat /
stat link
stat longlink
stat nosuch
stat <abc>
show_inode_info file
imap file
imap <12>
icheck 1000 2000 5
ncheck 12 13
ncheck -c 12
ncheck -c 12 13 14
dump file into/file
dump -p small into/small
dump nosuch into/x
rdump dir into
rdump file small into/dir
rdump nosuch into
cat small
cat <12>
cat nosuch
cat 'small
cat "small"
logdump
logdump -a
logdump -c
logdump -S
logdump -aS
logdump -a -c
logdump -b 1
lsdel
filefrag file
filefrag -d dir
filefrag -v file
filefrag -dvr /
filefrag nosuch
htree_dump big
htree big
bmap file 0
bmap file 5
bmap sparse 3
bmap nosuch 0
ea_list small
ea_list file
ea_list nosuch
ea_get small user.one
ea_get -V small user.one
ea_get -x small user.bin
ea_get -C small user.bin
ea_get -f into/value small user.one
ea_get -V file user.list
blocks file
blocks sparse
blocks small
blocks nosuch
block_dump 1
block_dump -x 40
block_dump -f file 0
block_dump -x -f file 1
dirsearch big name-of-a-file-3
dirsearch big nothere
idump file
inode_dump -b file
inode_dump -e small
idump -x small
ls
ls -l
ls -d
ls -p
ls -r
ls -c
ls -lpdr
ls -l big
ls -l <2>
ls nosuch
find_free_block
find_free_block 4
ffb 2 1000
find_free_inode
ffi 2
ffi 2 0100644
supported_features has_journal
features
lookup -
dx_hash -h tea -s 11111111-2222-3333-4444-666666666666 file
dx_hash -h legacy -s 00000000-0000-0000-0000-000000000000 file
freefrag
e2freefrag
e2freefrag -c 8
cd dir
pwd
ls
cd nosuch
cd ../file
cd /
chroot dir
ls
chroot ..
ex file
extents file
dump_extents -n file
ex -l file
ex small
ex sparse
ex nosuch
testi small
testi <400>
testb 2000
testb 2000 3
testb 9000 2
show_super_stats
stats -h
params
show_debugfs_params
lcd .
nosuchcmd
nosuchcmd x
set_current_time 20200101
LINES
same "what needs -w" ext4 <<'LINES'
write tree/small new
rm small
mkdir newdir
rmdir dir
unlink small
ln small other
symlink sl target
kill_file small
clri small
undel <13> x
fallocate sparse 0 20
punch file 0 4
ea_set small user.three four
ea_rm small user.one
ssv mnt_count 5
sif file mode 0100600
set_bg 0 free_blocks_count 5
copy_inode <12> <30>
zap_block -f file -o 10 -l 20 -p 0xaa 1
expand_dir dir
freei small
seti <40>
setb 9000
freeb 2000
features -has_journal
jo -c
jr
dirty
eo file
LINES
same "an ext2, with deleted files" ext2 <<'LINES'
lsdel
list_deleted_inodes
lsdel 5
stat sparse
bmap sparse 99
blocks sparse
filefrag -v sparse
icheck 1500 3000
stat <15>
ls -d big
LINES
same "multiple mount protection" mmp <<'LINES'
dump_mmp
features
LINES
same "writing" ext4 -w <<'LINES'
write tree/small new
symlink sl target
mkdir made
cd made
write tree/small inner
ls -p
cd /
ln small other
sif small mode 0100600
sif small mtime 20200102030405
ssv mnt_count 7
ssv volume_name hello
set_bg 1 checksum calc
ea_set small user.three four
ea_get small user.three
ea_rm small user.three
rm nosuch
rm other
unlink sl
bmap file 3
zap_block -f file -o 10 -l 20 -p 0xaa 1
block_dump -f file 1
freeb 9500
testb 9500
freei small
seti small
testi small
cat new
punch file 10 12
LINES
debugfs -R 'ls -lp /' stock.img >stock.ls 2>.err
debugfs -R 'ls -lp /' ours.img >ours.ls 2>.err
is "  the same names, modes and times" diff stock.ls ours.ls
equal "lines that were compared" $lines 190
for list in "ssv -l" "sif -l" "set_bg -l" "set_mmp_value -l"; do
	debugfs -R "$list" ext4 2>.err >stock.out
	ours/debugfs -R "$list" ext4 2>.err >ours.out
	equal "$list: the heading, and every field of stock in its place" "$(sed 's/\[_hi|_lo\]//' ours.out | cut -f 1,2 | tr -d ' ' |
		grep -Fxf - <(sed 's/\[_hi|_lo\]//' stock.out | cut -f 1,2 | tr -d ' ') | cksum)" "$(sed 's/\[_hi|_lo\]//' stock.out | cut -f 1,2 | tr -d ' ' | cksum)"
done
equal "dx_hash -v: what the hash is made with" "$(ours/debugfs -R "dx_hash -v file" ext4 | head -n 2)" \
	"Hash algorithm: half_md4
Hash seed: 11111111-2222-3333-4444-666666666666"
done_testing 22
