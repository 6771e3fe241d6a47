#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sequences of commands as scripts around e2fsprogs write them: making, debugging, tuning, undoing, journals, resizing. Each runs
# twice, with stock tools and with ours under stock names; then stock e2fsck and dumpe2fs say what both images are. The kinds of
# sequences are those of e2fsprogs's own tests (m, d, t, u, j, r); the sequences are not. An everyday run takes every second one;
# XW_ALL=1: all of them.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
for tool in mke2fs tune2fs debugfs e2fsck dumpe2fs e2undo resize2fs; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

mkdir ours
for pair in mke2fs=xw-mkfs mkfs.ext4=xw-mkfs mkfs.ext3=xw-mkfs mkfs.ext2=xw-mkfs tune2fs=xw-tune debugfs=xw-debugfs e2fsck=xw-fsck \
	dumpe2fs=xw-dump e2label=xw-tune e2undo=xw-undo; do
	ln -s "$BIN/${pair#*=}" "ours/${pair%%=*}"
done
[ -x ours/mke2fs ] && [ -x ours/tune2fs ] && [ -x ours/debugfs ] && [ -x ours/e2fsck ] || skip_all "not all tools are built"
mkdir -p tree/dir
seq 20000 >tree/file
for n in $(seq 60); do echo "$n" >"tree/dir/name$n"; done
ln -s file tree/link
printf '%s\n' "write tree/file copy" "mkdir new" "ln copy new/second" >add.cmd
printf '%s\n' "rm file" "rm link" >remove.cmd
printf '%s\n' "ssv s_lastcheck 0" "ssv volume_name SET" "ssv max_mnt_count 33" >ssv.cmd
printf '%s\n' "sif file i_mode 0100600" "sif file uid 12" "sif file mtime 20200101" >sif.cmd
printf '%s\n' "ea_set file user.a value" "ea_set file user.b other" "ea_rm file user.a" >ea.cmd
printf '%s\n' "punch file 2 5" "fallocate file 100 120" "truncate file 110" >punch.cmd
printf '%s\n' "jo" "jw -b 333 tree/file" "jc" >jw.cmd
printf '%s\n' "jo -c" "jw -b 333,334 tree/file" "jw -r 333" "jc" "jr" >jr.cmd
printf '%s\n' "eo file" "root" "split" "goto 3" "fix_parents" "all" "ec" >eo.cmd
printf '%s\n' "seti <20>" "testi <20>" "freei <20>" "setb 900" "testb 900" "freeb 900" "ffb 3" "ffi" >bits.cmd
printf '%s\n' "symlink s target" "mknod n p" "mknod c c 5 1" "rmdir dir" "unlink link" >names.cmd
printf '%s\n' "feature ^dir_index" "dirty" >feature.cmd
printf '%s\n' "clri file" >clri.cmd
printf '%s\n' "set_bg 0 free_blocks_count 1" "set_bg 0 checksum calc" >bg.cmd
printf '%s\n' "mi file" >mi.cmd
cat >conf <<'C'
[defaults]
	base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
	blocksize = 4096
	inode_size = 256
	inode_ratio = 16384
	reserved_ratio = 3.0
[fs_types]
	ext4 = {
		features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
	}
	little = {
		blocksize = 1024
		inode_ratio = 4096
	}
	huge = {
		make_hugefiles = true
		hugefiles_dir = /store/sub
		hugefiles_name = data
		hugefiles_size = 2M
		num_hugefiles = 3
	}
	fill = {
		make_hugefiles = true
		hugefiles_size = 5M
		hugefiles_align = 4M
	}
C
# One configuration for both: by default ours has blocks of 4 KiB also on small images.
export MKE2FS_CONFIG=$PWD/conf MKE2FS_SKIP_PROGRESS=1 MKE2FS_SKIP_CHECK_MSG=1

# run DIR PATH COMMANDS: exit statuses on standard output
run() {
	(
		cd "$1" || exit
		PATH=$2:$PATH
		local IFS=';' c
		for c in $3; do
			# shellcheck disable=SC2086
			(IFS=' '; set -f; eval "timeout -s KILL 900 ${c# }") >>log 2>&1 </dev/null
			rc=$?
			case $c in *dumpe2fs*) [ $rc -gt 1 ] && [ $rc -lt 124 ] && rc=1 ;; esac # error numbers with stock
			echo "$rc"
		done
	) | tr '\n' ' '
}
# fields IMAGE: what dumpe2fs says, but for dates, identities, and what depends on the places of blocks
fields() {
	dumpe2fs -h "$1" 2>/dev/null | grep -vE \
		'^(Filesystem UUID|Filesystem created|Last (mount|write) time|Last checked|Next check|Lifetime|Free blocks|Directory Hash|Checksum|Journal (checksum|start|sequence|UUID)|Overhead|Last mounted|First orphan|MMP (block|update)|Inode blocks)'
}
mkdir new
cp -r tree ./*.cmd conf new/
agree=0 all=0
while IFS='|' read -r kind commands why; do
	case $kind in '' | '#'*) continue ;; esac
	kind=${kind%% *}
	commands=${commands# } commands=${commands% }
	all=$((all + 1))
	rm -rf a b
	cp -rl new a
	cp -rl new b
	truncate -s 32M a/I a/J b/I b/J
	sa=$(run a /usr/sbin "$commands")
	sb=$(run b "$PWD/ours" "$commands")
	e2fsck -fn a/I >a/fsck 2>&1
	fa=$?
	e2fsck -fn b/I >b/fsck 2>&1
	fb=$?
	fields a/I >a/fields
	fields b/I >b/fields
	if [ "$sa" = "$sb" ] && [ $fa = $fb ] && cmp -s a/fields b/fields; then
		agree=$((agree + 1))
		pass "$kind: $commands"
	elif [ "$why" ]; then
		pass "$kind: $commands: known to differ:$why"
	else
		fail "$kind: $commands"
		echo "#   statuses: stock $sa, ours $sb; e2fsck: stock $fa, ours $fb"
		diff a/fields b/fields | sed 's/^/#   /' | head -8
		tail -3 b/log | sed 's/^/#   /'
	fi
done < <(strided 24 2 <"$HERE/scripts.table")
echo "# $agree of $all sequences agree with stock"
done_testing 55
