# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Command lines as programs write them that call the stock tools by name, run by stock's tools and by ours under stock's names. A test
# that sources this has $T/ours, a directory with links to our tools, $stock and $with_ours, values for PATH, and DIR to fill images
# from; then it calls command_lines TABLE, which makes the claims.
#
# A table has lines "WHO | COMMANDS", commands divided by ";", or "WHO | COMMANDS | WHY" where ours is known to differ. I is an image file of 64 MiB that does not exist when WHO ends in "+".
# Compared are the exit status of each command, and by stock's tools the image: the fields of its superblock but for random identities
# times of now and places of blocks, its names with types, modes, owners, times and contents; and e2fsck finds nothing. Where WHO ends in "?", the
# command only asks: its status and its output on an image of stock's making are the same.
for tool in mke2fs tune2fs e2fsck dumpe2fs debugfs resize2fs; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

mkdir ours
for pair in mke2fs=xw-mkfs mkfs.ext4=xw-mkfs mkfs.ext3=xw-mkfs mkfs.ext2=xw-mkfs tune2fs=xw-tune e2label=xw-tune \
	debugfs=xw-debugfs dumpe2fs=xw-dump e2fsck=xw-fsck fsck.ext4=xw-fsck; do
	ln -s "$BIN/${pair#*=}" "ours/${pair%%=*}"
done
stock=$PATH with_ours=$T/ours:$PATH
mkdir -p DIR/dir a b
seq 20000 >DIR/file
ln -s file DIR/link
printf 'x' >DIR/dir/secret && chmod 600 DIR/dir/secret
chmod 1777 DIR/dir
touch -d '2021-03-04 05:06:07' DIR/file DIR/dir/secret DIR/dir
ln -s ../DIR a/DIR && ln -s ../DIR b/DIR
debian_conf >conf
export MKE2FS_CONFIG=$T/conf
case $(mke2fs -V 2>&1) in
*1.47.*) version=1.47 ;;
*) version= ;;
esac
mke2fs -qF -t ext4 -L asked -U 01234567-89ab-cdef-0123-456789abcdef -d DIR asked 32M >/dev/null

# run PATH COMMANDS, in the directory a or b: exit statuses in status, the last output in output.
run() {
	local one words IFS
	: >status
	while IFS= read -r one; do
		eval "words=($one)"
		PATH=$1 "${words[@]}" </dev/null >output 2>errors
		echo "$?" >>status
	done < <(tr ';' '\n' <<<"$2" | sed 's/^ *//; s/ *$//')
}
# facts IMAGE: what stock's tools say of the image.
facts() {
	dumpe2fs -h "$1" 2>/dev/null | grep -Ev "^(Filesystem UUID|Directory Hash Seed|Checksum|Lifetime writes|Journal (checksum|sequence)|MMP block number| *mmp_(.*_name|update_time)):|: .* $(date +%Y)\$"
	dumpe2fs -h "$1" 2>/dev/null | grep 'UUID.* 01234567-89ab'
	debugfs -R 'stat /' "$1" 2>/dev/null | grep -E '^(Inode:|User)'
	debugfs -R 'stat /lost+found' "$1" 2>/dev/null | grep -E '^(Inode:|User|Links)'
	rm -rf tree
	mkdir tree
	debugfs -R 'rdump / tree' "$1" >/dev/null 2>&1
	find tree -mindepth 1 -path tree/lost+found -prune -o -mindepth 1 -type l -printf '%P %y %U:%G %l\n' -o -mindepth 1 -type d -printf '%P %y %m %U:%G %T@\n' \
		-o -mindepth 1 -printf '%P %y %m %U:%G %s %T@\n' | sort
	find tree -type f -exec cksum {} + | sort -k3
}
# said FILE: what a reading tool says, without its version and what names the program.
said() { sed -E '1{/^(dumpe2fs|tune2fs|e2fsck|debugfs|xw-[a-z]*) /d}; /^(dumpe2fs|tune2fs|e2fsck|debugfs|xw-dump|xw-tune|xw-fsck|xw-debugfs) .*1\.4|extwright/d' "$1"; }
ask() { # WHO LINE
	local side path
	for side in a b; do
		cp asked $side/I
		path=$stock
		[ $side = a ] || path=$with_ours
		(cd $side && run "$path" "$2" && said output >said)
	done
	! { cmp -s a/status b/status && cmp -s a/said b/said; } || agree=$((agree + 1))
	equal "$1 $2: exit status" "$(cat b/status)" "$(cat a/status)"
	is "  what it says" diff a/said b/said
}
command_lines() {
	local who line why start
	lines=0 agree=0
	while IFS='|' read -r who line why; do
		case $who in "#"* | "") continue ;; esac
		who=${who% } line=${line# } line=${line% } lines=$((lines + 1)) start="truncate -s 64M I"
		[ -n "$version" ] || { skip "$who: $line" "mke2fs is not 1.47"; continue; }
		case $who in
		*\?) ask "$who" "$line"; continue ;;
		*+) start=true ;;
		esac
		(cd a && rm -f I && $start && run "$stock" "$line" && facts I >facts)
		(cd b && rm -f I && $start && run "$with_ours" "$line" && facts I >facts)
		! { cmp -s a/status b/status && cmp -s a/facts b/facts; } || agree=$((agree + 1))
		if [ "$why" ]; then
			is "$who: $line: known to differ:$why" sh -c '! cmp -s a/status b/status || ! cmp -s a/facts b/facts'
		else
			equal "$who: $line: exit statuses" "$(tr '\n' ' ' <b/status)" "$(tr '\n' ' ' <a/status)"
			is "  the same filesystem" diff a/facts b/facts
		fi
		clean b/I "  which is clean"
	done <"$1"
	diag "$agree of $lines command lines agree with stock"
}
is "ours are found first" sh -c "PATH='$with_ours' mke2fs -V 2>&1 | grep -q extwright && PATH='$with_ours' fsck.ext4 -V 2>&1 | grep -q extwright"
