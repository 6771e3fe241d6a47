#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a new file takes from the directory it is made in: xw-import gives it what it has when tar -xp --acls --xattrs,
# run by root, makes it in the mounted image; that is flags, and the group where no entry names a directory, but no
# ACL. Project IDs, which this test's kernel may not know, are looked at one by one; quota must agree.
. "$(dirname "$0")/../cli/lib.sh"
have_e2fsck || skip_all "needs e2fsck"
command -v mke2fs >/dev/null && command -v debugfs >/dev/null || skip_all "needs mke2fs and debugfs"
umask 022

# Into each directory: every kind of file, directories with an entry and without, something to replace.
mkdir -p src/sub/below src/implied/deep src/old
echo file | tee src/reg src/replaced src/sub/below/reg src/implied/deep/reg src/old/reg >/dev/null
ln -s reg src/link && mkfifo src/fifo && ln src/reg src/hard && chmod 640 src/replaced && chmod 750 src/old
members="reg replaced link fifo hard sub sub/below sub/below/reg implied/deep/reg old old/reg"
pack() { # DIRECTORY...: such members in each, as one tar
	local d m
	rm -rf pack && mkdir pack
	for d in "$@"; do cp -a src "pack/$d"; done
	for d in "$@"; do for m in $members; do echo "$d/$m"; done; done |
		tar -C pack --no-recursion --owner 0 --group 0 --xattrs --acls -cf new.tar -T -
}
flags() { # IMAGE: of every name below its root
	local path
	(cd pack && find . -mindepth 1 | sort) | sed 's,.*,stat "&",' >requests
	debugfs -f requests "$1" 2>/dev/null | grep -oE '^debugfs: stat .*|Flags: 0x[0-9a-f]*|Project: *[0-9]*'
}

# ---- beside Linux ----

# But append-only and immutable, where nobody replaces anything.
bits="1 2 4 8 0x40 0x80 0x400 0x4000 0x8000 0x10000 0x20000 0x2000000 0x20000000 0x2003c4cf"
beside_linux() {
	local dirs=(setgid acl both) b
	mkdir -p mnt a b && mke2fs -qF -t ext4 base 64M >/dev/null 2>&1 && mount -o loop base mnt || return
	for b in $bits; do dirs+=("f$b"); done
	for b in "${dirs[@]}"; do mkdir -p "mnt/$b/old" && echo old >"mnt/$b/replaced"; done
	chgrp 50 mnt/setgid mnt/both && chmod 2775 mnt/setgid mnt/both
	setfacl -d -m u:1000:rwx,g::rx,o::- mnt/acl mnt/both
	umount mnt
	for b in $bits; do printf 'sif f%s flags %#x\n' "$b" $((b | 0x80000)); done | debugfs -w -f - base >/dev/null 2>&1
	clean base "an image with directories of all flags"
	pack "${dirs[@]}"
	cp base tarred && mount -o loop tarred mnt && tar -C mnt --acls --xattrs --numeric-owner -xpf new.tar && umount mnt
	cp base imported && import -q imported new.tar
	works "the import"
	clean imported "e2fsck"
	flags tarred >want && flags imported >got
	is "flags: those that Linux gives, of $(grep -c Flags want) files" diff want got
	mount -o loop,ro tarred a && mount -o loop,ro imported b
	for b in a b; do
		(cd $b && find . -printf '%p %y %m %U %G\n' | sort && getfacl -nR . 2>/dev/null) >names.$b
	done
	umount a b
	is "modes, owners and ACLs" diff names.a names.b
}
at_end "umount mnt a b"
if can_loop && command -v setfacl >/dev/null && command -v chattr >/dev/null; then
	beside_linux
else
	skip "beside Linux" "needs root, loop mounts and setfacl"
fi

# ---- projects ----

while read -r options; do
	rm -f img
	# shellcheck disable=SC2086
	mke2fs -qF -t ext4 $options img 64M >/dev/null 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	mkdir -p tree/p/old tree/q/old && echo old | tee tree/p/replaced tree/q/replaced >/dev/null
	import -q img tree
	flags=$(debugfs -R "stat p" img 2>/dev/null | grep -o 'Flags: 0x[0-9a-f]*')
	debugfs -w -f - img >/dev/null 2>&1 <<-END
		sif p flags $(printf %#x $((${flags#*: } | 0x20000000)))
		sif p projid 77
		sif q projid 78
	END
	e2fsck -fy img >/dev/null 2>&1 # counts what that changed
	pack p q && import -q img new.tar
	works "$options: the import"
	clean img "$options: e2fsck, which counts the usage of projects"
	is "$options: a directory passes on that it does" grep -q 'Flags: 0x[23]' <(debugfs -R "stat p/implied/deep" img 2>/dev/null)
	flags img | awk '/stat/ { name = $3 } /Project/ { print name, $NF }' | tr -d '"' >got
	awk '{ want = $1 == "./q" ? 78 : $1 ~ "^./p" && $1 !~ "/old" ? 77 : 0 } $2 != want' got >wrong
	is "$options: files have the project of a directory that passes it on, $(wc -l <got) looked at" \
		[ -s got -a ! -s wrong ]
done <<-'END'
	-O project
	-O project,quota -E quotatype=usrquota:grpquota:prjquota
	-O project,quota,inline_data -b 1024 -E quotatype=prjquota
END
done_testing 17
