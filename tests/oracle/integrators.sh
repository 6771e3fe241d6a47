#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that call the stock tools by name: Debian's systemd-repart and genimage make their images with ours, and command
# lines as Kubernetes, cloud-init, gparted, OpenStack, the Debian installer and others write them do what stock's do.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
for tool in mke2fs tune2fs e2fsck dumpe2fs resize2fs; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

mkdir ours
for pair in mke2fs=xw-mkfs mkfs.ext4=xw-mkfs mkfs.ext3=xw-mkfs mkfs.ext2=xw-mkfs tune2fs=xw-tune e2label=xw-tune \
	debugfs=xw-debugfs dumpe2fs=xw-dump e2fsck=xw-fsck fsck.ext4=xw-fsck; do
	ln -s "$BIN/${pair#*=}" "ours/${pair%%=*}"
done
stock=$PATH with_ours=$T/ours:$PATH
mkdir -p DIR/dir
seq 20000 >DIR/file
ln -s file DIR/link
debian_conf >conf
export MKE2FS_CONFIG=$T/conf

# ---- command lines ----

case $(mke2fs -V 2>&1) in
*1.47.*) version=1.47 ;;
*) version= ;;
esac
facts() {
	dumpe2fs -h "$1" 2>/dev/null | grep -E '^(Filesystem (features|volume)|Last mounted|Block (size|count)|Inode (size|count)|Reserved block count|Flex block|Default (directory|mount)|Errors|Filesystem (OS|rev)|Check interval|Mount count|Last checked: .*2020|Maximum mount|Cluster size|RAID|Blocks per|Inodes per|Journal backup|Reserved GDT|Total journal)'
	dumpe2fs -h "$1" 2>/dev/null | grep 'UUID.* 01234567-89ab'
}
# run WHO-RUNS COMMANDS: leaves the image I in the current directory, exit statuses in status, the last output in output.
run() {
	local one words IFS
	: >status
	truncate -s 64M I
	while IFS= read -r one; do
		eval "words=($one)"
		PATH=$1 "${words[@]}" </dev/null >output 2>errors
		echo "$?" >>status
	done < <(tr ';' '\n' <<<"$2" | sed 's/^ *//; s/ *$//')
}
# What a reading tool says of one image: without its version, and what names the program.
said() { sed -E '1{/^(dumpe2fs|tune2fs|e2fsck|xw-[a-z]*) /d}; /^(dumpe2fs|tune2fs|e2fsck|xw-dump|xw-tune|xw-fsck) .*1\.4|extwright/d' "$1"; }

mkdir a b
ln -s ../DIR a/DIR && ln -s ../DIR b/DIR
mke2fs -qF -t ext4 -L asked -U 01234567-89ab-cdef-0123-456789abcdef -d DIR asked 32M
is "ours are found first" sh -c "PATH='$with_ours' mke2fs -V 2>&1 | grep -q extwright && PATH='$with_ours' fsck.ext4 -V 2>&1 | grep -q extwright"
n=0
while IFS='|' read -r who line; do
	case $who in "#"* | "") continue ;; esac
	who=${who% } line=${line# } n=$((n + 1))
	[ -n "$version" ] || { skip "$who: $line" "mke2fs is not 1.47"; continue; }
	case $who in
	*\?)
		for side in a b; do
			cp asked $side/I
			path=$stock
			[ $side = a ] || path=$with_ours
			(cd $side && PATH=$path $line </dev/null >output 2>errors; echo $? >status; said output >said)
		done
		equal "$who $line: exit status" "$(cat b/status)" "$(cat a/status)"
		is "  what it says" diff a/said b/said
		continue
		;;
	esac
	(cd a && rm -f I && run "$stock" "$line" && facts I >facts)
	(cd b && rm -f I && run "$with_ours" "$line" && facts I >facts)
	equal "$who: $line: exit statuses" "$(tr '\n' ' ' <b/status)" "$(tr '\n' ' ' <a/status)"
	is "  the same filesystem" diff a/facts b/facts
	clean b/I "  which is clean"
done <"$HERE/integrators.table"
is "at least 30 command lines" test "$n" -ge 30

# ---- systemd-repart ----

if ! command -v systemd-repart >/dev/null; then
	skip "systemd-repart" "it is not installed"
elif ! is_root || ! losetup -f >/dev/null 2>&1; then
	skip "systemd-repart" "needs root and loop devices"
else
	mkdir repart.d
	printf '[Partition]\nType=root\nFormat=ext4\nLabel=root\nSizeMinBytes=32M\nCopyFiles=%s:/\n' "$T/DIR" >repart.d/10-root.conf
	PATH=$with_ours systemd-repart --definitions="$T/repart.d" --empty=create --size=64M --dry-run=no --no-pager \
		--seed=00112233445566778899aabbccddeeff sd.img >.out 2>.err </dev/null
	RC=$?
	equal "systemd-repart makes a disk with mkfs.ext4 of ours" $RC 0
	equal "  whose partition has the files" "$("$BIN/xw-export" --partition 1 sd.img file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
	dd if=sd.img of=part bs=1M skip=1 status=none
	clean part "  and is clean"
	is "  ours made it" sh -c 'dumpe2fs -h part 2>/dev/null | grep -q "volume name: *root"'
fi

# ---- genimage ----

if command -v genimage >/dev/null; then
	cat >genimage.cfg <<-'C'
		image root.ext4 {
			ext4 {
				label = "root"
				use-mke2fs = true
				features = "^64bit"
				extraargs = "-m 1"
				fs-timestamp = "20240101000000"
			}
			size = 16M
		}
		image disk.img {
			hdimage { partition-table-type = "gpt" }
			partition root { image = "root.ext4" }
		}
	C
	PATH=$with_ours genimage --config genimage.cfg --rootpath DIR --tmppath tmp --inputpath in --outputpath out >.out 2>.err </dev/null
	RC=$?
	equal "genimage with use-mke2fs makes a disk with ours" $RC 0
	clean out/root.ext4 "  its filesystem is clean"
	equal "  and has the files" "$("$BIN/xw-export" --partition 1 out/disk.img file | tar xOf - file | cksum)" "$(cksum <DIR/file)"
	is "  at the time that it asked for" sh -c 'dumpe2fs -h out/root.ext4 2>/dev/null | grep -q "created: *Mon Jan  1 00:00:00 2024"'
else
	skip "genimage" "it is not installed"
fi
done_testing 152
