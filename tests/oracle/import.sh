#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-import into images that stock mke2fs made and Linux used: what was there stays, what comes is there,
# stock e2fsck finds no fault, whatever the features; orphans that Linux left are put away; files in a
# fragmented image are in no more pieces than Linux makes of them. An everyday run takes rows that have every feature once;
# XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v mke2fs >/dev/null || skip_all "needs mke2fs"

# Two trees: the second replaces files, adds to directories, turns a file into a directory and the reverse.
mkdir -p one/dir/sub one/big one/turns-dir.d one/deep/er two/dir/sub two/big two/more
files one/big/file-%d 1 400 37
files two/big/file-%d 201 600 11
seq 1 100000 >one/dir/a
seq 1 50000 >two/dir/a
ln one/dir/a one/dir/sub/linked
echo was a file >one/turns
mkdir two/turns && echo below >two/turns/x
echo now a file >two/turns-file
mkdir one/turns-file && echo y >one/turns-file/y
ln -s dir one/way
head -c 3000000 /dev/urandom >two/more/large
truncate -s 5M two/more/sparse && echo end >>two/more/sparse
ln -s "$(printf '%0100d' 1)" two/more/long-link
mkfifo two/more/fifo
for n in 1 2 3; do
	echo $n >"two/more/tagged-$n"
	setfattr -n user.long -v "$(printf '%0600d' 5)" "two/more/tagged-$n" 2>/dev/null
done
cp -a one both && rm -r both/turns both/turns-file && cp -a two/. both/

content() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
content both >sums

while read -r options; do
	rm -f img
	# shellcheck disable=SC2086
	mke2fs -qF -N 4000 $options img 64M >/dev/null 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	is "$options: the first tree" "$IMPORT" -q img one
	clean img "$options: e2fsck"
	is "$options: the second over it" "$IMPORT" -q img two
	clean img "$options: e2fsck"
	is "$options: both are there" gives_back img both
	is "$options: and again" "$IMPORT" -q --commit file img two
	clean img "$options: e2fsck"
	is "$options: both are there" gives_back img both
done < <(strided 3 <<-'END'
	~-t ext4
	~-t ext4 -b 1024
	-t ext4 -b 2048 -O ^metadata_csum,uninit_bg
	~-t ext4 -O ^flex_bg,^64bit,^has_journal
	~-t ext4 -O meta_bg,^resize_inode -b 1024
	-t ext4 -O meta_bg,^resize_inode,^flex_bg,^64bit,^has_journal -b 1024
	~-t ext4 -O sparse_super2,orphan_file,metadata_csum_seed
	~-t ext4 -O quota,project
	-t ext4 -O quota,project,sparse_super2,orphan_file,metadata_csum_seed
	-t ext4 -O ea_inode,large_dir,inline_data -I 512
	~-t ext4 -O ^dir_index,^filetype
	~-t ext3
	-t ext3 -b 1024 -O ^dir_index,^filetype
	~-t ext2
	-t ext2 -b 1024 -O none,ext_attr
END
)

rm -f img
mke2fs -qF -t ext4 img 64M >/dev/null 2>&1
debugfs -w -R "ssv state 2" img >/dev/null 2>&1
is "an image with errors is refused" eval '! "$IMPORT" -q img one 2>said'
is "  by name, with what to do" grep -q "img: .*errors.*fsck" said

# What is replaced was deleted at a time that is none: 0 says that it was not.
for epoch in 0 4294967296; do
	rm -f img
	mke2fs -qF -t ext4 img 16M >/dev/null 2>&1
	is "SOURCE_DATE_EPOCH=$epoch: an import" env SOURCE_DATE_EPOCH=$epoch "$IMPORT" -q img one
	is "  and again, over it" env SOURCE_DATE_EPOCH=$epoch "$IMPORT" -q img one
	clean img "  e2fsck"
done

can_loop || { skip "images that Linux used" "needs root and loop mounts"; done_testing 157; }
mkdir mnt
at_end "umount mnt"

# Attributes of directories that are there: as GNU tar leaves them.
if command -v setfacl >/dev/null && command -v setfattr >/dev/null; then
	mkdir -p attrs/a attrs/b attrs/c attrs/d attrs/deep/e
	attributes() { # DIR, SUFFIX of values
		setfattr -n user.same -v same "$1/a" && setfattr -n user.one -v "1$2" "$1/a" &&
			setfattr -n "user.only$2" -v x "$1/b" && setfattr -n user.long -v "$(printf '%0700d' "$2")" "$1/b" &&
			setfacl -m "u:10$2:rwx" "$1/a" "$1/c" && setfacl -d -m "g:10$2:r-x" "$1/c"
	}
	seen() { (cd "$1" && getfattr -R -d -m - . && find . -type d -exec stat -c '%n %a %u %g' {} + | sort) 2>&1; }
	mkdir first && cp -a attrs/. first/ && mkdir second && cp -a attrs/. second/
	if attributes first 1 && attributes second 2 2>/dev/null; then
		chmod 700 second/d
		setfattr -n user.new -v new second/d second/deep/e
		tar --format=posix --xattrs --xattrs-include='*' --acls -cf first.tar -C first .
		tar --format=posix --xattrs --xattrs-include='*' --acls -cf second.tar -C second .
		tar --format=posix -cf bare.tar -C attrs . # no attributes at all: ACLs go
		while read -r options; do
			rm -f img peer
			# shellcheck disable=SC2086
			mke2fs -qF $options img 16M >/dev/null 2>&1 && mount -o loop img mnt 2>.err ||
				{ skip "$options: attributes" "mke2fs or the kernel does not know it"; continue; }
			tar --xattrs --xattrs-include='*' --acls -xpf first.tar -C mnt
			umount mnt
			for over in second bare; do
				cp img peer
				cp img ours
				mount -o loop peer mnt
				tar --xattrs --xattrs-include='*' --acls -xpf $over.tar -C mnt
				seen mnt >want
				umount mnt
				is "$options: attributes of directories, $over" "$IMPORT" -q ours $over.tar
				clean ours "  e2fsck"
				mount -o loop,ro ours mnt
				seen mnt >got
				umount mnt
				is "  as GNU tar leaves them" diff want got
			done
		done < <(strided 3 <<-'END'
			~-t ext4
			~-t ext4 -O inline_data
			-t ext4 -O inline_data,ea_inode
			~-t ext4 -O ea_inode
			-t ext3 -I 128
		END
		)
	else
		skip "attributes of directories" "not possible in $T"
	fi
else
	skip "attributes of directories" "setfacl or setfattr is missing"
fi

# What a power cut leaves: two open files without names, one of them with attributes.
for options in "-t ext4" "-t ext4 -b 1024 -O orphan_file" "-t ext3"; do
	rm -f img crash
	# shellcheck disable=SC2086
	mke2fs -qF $options img 64M >/dev/null 2>&1 && mount -o loop img mnt 2>.err ||
		{ skip "$options: orphans" "mke2fs or the kernel does not know it"; continue; }
	exec 8>mnt/first 9>mnt/second
	# shellcheck disable=SC2046
	pieces mnt/first 12288 "$(seq 900)" $(seq 1 20)
	# shellcheck disable=SC2046
	pieces mnt/second 8192 "$(seq 1700)" $(seq 1 20)
	setfattr -n user.x -v "$(printf '%0500d' 3)" mnt/first
	sync -f mnt
	rm mnt/first mnt/second
	sync -f mnt
	cp img crash
	exec 8>&- 9>&-
	umount mnt
	is "$options: orphans" eval '"$IMPORT" --json crash one | grep -q "\"orphans\": *2"'
	clean crash "$options: e2fsck after that"
done

# Two thirds full, in pieces. The same tree by Linux into a copy is the peer.
age() { # seconds of work for Linux: files of mixed sizes, every third removed
	local i kib text=()
	for kib in 4 8 20 64 300; do text+=("$(printf '%*s' $((kib * 1024)) "$kib")"); done
	for i in $(seq 1 2400); do
		printf '%s' "${text[i % 5]}" >"mnt/f$i" || break
	done 2>/dev/null
	seq -f 'mnt/f%g' 1 3 2400 | xargs rm -f
}
extents() { # extents a 1000 files of `both` on mnt
	(cd both && find . -type f -size +0) | (cd mnt && xargs filefrag) |
		awk '{ n += $(NF - 2); f++ } END { printf "%d", 1000 * n / f }'
}
for type in $(printf '%s\n' ext4 ~ext2 ext3 | strided 2); do
	rm -f img peer
	mke2fs -qF -t $type -N 6000 img 200M >/dev/null 2>&1
	mount -o loop img mnt || { fail "$type: mount"; continue; }
	age
	content mnt >before
	umount mnt
	cp --sparse=always img peer
	is "$type, used: import" "$IMPORT" -q img both
	clean img "  e2fsck"
	mount -o loop,ro img mnt
	is "  what was there is as it was" eval '(cd mnt && sha256sum -c --quiet) <before'
	is "  what came is there" eval '(cd mnt && sha256sum -c --quiet) <sums'
	ours=$(extents)
	umount mnt
	mount -o loop peer mnt
	cp -a both/. mnt/ && sync -f mnt
	theirs=$(extents)
	umount mnt
	diag "extents a 1000 files: $ours, Linux $theirs"
	is "  in no more pieces than Linux makes" [ "$ours" -le "$theirs" ]
done
done_testing 84
