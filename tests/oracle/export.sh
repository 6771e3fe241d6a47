#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-export against others: images filled by stock mke2fs and by the kernel, archives read by GNU tar, bsdtar and python.
# An everyday run takes kinds of images that have every feature once, and each seventh image of the corpus; XW_ALL=1: all of them.
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99
command -v mke2fs >/dev/null || skip_all "mke2fs is not installed"

make_tree tree
rm tree/many/*[2-9] # each is made anew some 17 times below
add_privileged() { # DIR: what needs root
	mknod "$1/null" c 1 3
	mknod "$1/big-device" b 4000 1000000
	chown 70000:4000000000 "$1/sub/big"
	setfattr -n user.one -v 1 "$1/small" 2>/dev/null
	setfattr -n 'user.with=sign' -v 2 "$1/small" 2>/dev/null
	setfattr -n user.large -v "$(printf '%01500d' 7)" "$1/block" 2>/dev/null
	setfattr -n trusted.t -v 3 "$1/sub" 2>/dev/null
	setfacl -m u:1000:rw,g:2000:r,d:u:1000:rwx "$1/empty" 2>/dev/null
	setfacl -m u:4000000000:rw "$1/zero" 2>/dev/null
}

# Whatever reads tar, finds all names.
mke2fs -qF -t ext4 -d tree stock.img 64M >/dev/null 2>&1
"$EXPORT" stock.img >stock.tar 2>.err || fail "an image by mke2fs -d"
wanted=$(find tree -printf x | wc -c)
equal "GNU tar finds all names" "$(tar -tf stock.tar 2>.err | wc -l)" "$wanted"
equal "GNU tar has nothing to say" "$(cat .err)" ""
if command -v bsdtar >/dev/null; then
	equal "bsdtar finds all names" "$(LC_ALL=C.UTF-8 bsdtar -tf stock.tar 2>.err | wc -l)" "$wanted"
	mkdir by-bsdtar
	is "bsdtar extracts" bsdtar -xf stock.tar -C by-bsdtar
	is "bsdtar gets the same contents" diff -r --no-dereference -x fifo tree by-bsdtar
else
	skip "bsdtar" "it is not installed" 3
fi
if command -v python3 >/dev/null; then
	equal "python's tarfile finds all names" \
		"$(python3 -c 'import tarfile, sys; print(len(tarfile.open(sys.argv[1]).getnames()))' stock.tar)" "$wanted"
else
	skip "python's tarfile" "python3 is not installed" 1
fi
mkdir by-tar
is "GNU tar extracts" tar -xpf stock.tar -C by-tar
is "GNU tar gets the same contents" diff -r --no-dereference -x fifo tree by-tar
is "holes stay holes" test "$(du -k by-tar/sparse | cut -f1)" -lt 200
# mke2fs 1.47.0 itself cuts the hole at the end of `sparse` under inline_data.
for f in "" '-t ext2 -b 1024' '-t ext2 -b 16384' '-t ext4 -b 65536' '-t ext3 -I 256' '-t ext4 -O inline_data -I 512' '-t ext4 -O ^metadata_csum,64bit' \
	'-t ext4 -O bigalloc -C 16384' '-t ext4 -O casefold' '-t ext4 -O verity' '-t ext4 -O quota,project' '-t ext4 -O meta_bg,^resize_inode'; do
	# shellcheck disable=SC2086
	mke2fs -qF $f -d tree other.img 64M >/dev/null 2>&1
	"$EXPORT" other.img 2>.err | tar -df - -C tree >.is 2>&1
	equal "mke2fs $f: GNU tar --compare, but for times" "$(grep -v 'Mod time\|Uid\|Gid\|^sparse: Size' .is)" ""
done

# What cannot be read without a key: named, and all else comes out.
if command -v debugfs >/dev/null; then
	mke2fs -qF -t ext4 -O encrypt -d tree secret.img 64M >/dev/null 2>&1
	debugfs -w -R 'sif /sub flags 0x80800' secret.img >/dev/null 2>&1
	debugfs -w -R 'sif /zero flags 0x80800' secret.img >/dev/null 2>&1
	RC=0
	"$EXPORT" secret.img >secret.tar 2>.err || RC=$?
	equal "encrypted: status" "$RC" 1
	is "encrypted: the directory is named" grep -q 'warning: sub: .*names and contents are encrypted' .err
	is "encrypted: the file is named" grep -q 'warning: zero: .*contents are encrypted' .err
	equal "encrypted: all else comes out" "$(tar -tf secret.tar --quoting-style=escape | sort)" \
		"$(tar -tf stock.tar --quoting-style=escape | grep -v '^\(zero\|sub/..*\)$' | sort)"
else
	skip "encrypted" "debugfs is not installed" 4
fi

# The kernel's images, and the kernel's view of what was exported.
if can_loop && command -v setfattr >/dev/null && command -v setfacl >/dev/null; then
	mkdir mnt back
	for f in '-t ext4' '-t ext4 -b 1024' '-t ext2 -I 256' '-t ext4 -O ea_inode' '-t ext4 -O inline_data -I 512'; do
		# shellcheck disable=SC2086
		mke2fs -qF $f kernel.img 96M >/dev/null 2>&1
		mount -o loop kernel.img mnt && at_end umount mnt
		cp -a tree/. mnt/ 2>/dev/null
		add_privileged mnt
		umount mnt && mount -o loop,ro kernel.img mnt
		"$EXPORT" kernel.img >kernel.tar 2>.err || fail "kernel, $f: export"
		equal "kernel, $f: GNU tar --compare" "$(tar --xattrs --acls -df kernel.tar -C mnt 2>&1 | grep -v 'Ignoring unknown')" ""
		rm -rf back && mkdir back
		tar --xattrs --xattrs-include='*' --acls --numeric-owner --delay-directory-restore -xpf kernel.tar -C back 2>.is
		attrs() { (cd "$1" && find . -path ./lost+found -prune -o -print | LC_ALL=C sort | xargs -d '\n' getfattr -h -d -m - 2>/dev/null | grep -v with.*sign
			find . -path ./lost+found -prune -o ! -type l -print | LC_ALL=C sort | xargs -d '\n' getfacl -n 2>/dev/null); }
		equal "kernel, $f: attributes and ACLs survive GNU tar" "$(attrs back | sha256sum)" "$(attrs mnt | sha256sum)"
		umount mnt
		rm -f again.img
		mkfs -d kernel.tar again.img
		"$EXPORT" again.img >again.tar 2>.err
		equal "kernel, $f: and survive xw-mkfs, the one with '=' too" \
			"$(tar --xattrs --acls -tvvf again.tar 2>/dev/null | grep -c 'x: .*user\|a: ')" \
			"$(tar --xattrs --acls -tvvf kernel.tar 2>/dev/null | grep -c 'x: .*user\|a: ')"
		is "kernel, $f: the name with '=' is there" grep -aq 'LIBARCHIVE.xattr.user.with%3Dsign=Mg' again.tar
	done
else
	skip "images by the kernel" "no root, loop devices, attr or acl here" 20
fi

# Extracting beside GNU tar, as root and as somebody; cpio by cpio.
state() { # DIR: all that can be said of what is in it
	(cd "$1" && find . -printf '%P %y %m %U %G %s %T@ %n %l\n' | sort
		find . -type b -o -type c | sort | xargs -r stat -c '%n %t %T'
		find . -print0 | LC_ALL=C sort -z | xargs -0 getfattr -h -d -m - -e hex 2>/dev/null |
			grep -v 'with.*sign') # GNU tar does not know LIBARCHIVE.xattr
}
mkdir full && cp -a tree/. full/
! is_root || add_privileged full
mkfs -d full full.img
"$EXPORT" full.img >full.tar
reach_tools
umask 027
who="as the user of this run:"
for run in "" "$AS_USER"; do
	[ -z "$run" ] || is_root || { skip "$who like GNU tar" "needs root" 2; continue; }
	[ -z "$run" ] || user_reaches || { skip "$who like GNU tar" "an ordinary user does not reach $T" 2; continue; }
	rm -rf x && mkdir -m 777 x x/ours x/tars && chmod 777 x/ours x/tars
	for p in "" -p; do
		rm -rf x/ours/d x/tars/d
		# GNU tar forgets the umask when it is to restore ACLs
		acls=--acls
		[ -n "$p" ] || acls=--no-acls
		$run "$REACHABLE/xw-export" -q $p $acls -x x/ours/d full.img >.out 2>.err
		$run mkdir x/tars/d
		$run tar $p $acls --xattrs-exclude='system.*' --warning=no-timestamp --xattrs --xattrs-include='*' --numeric-owner --delay-directory-restore -xf full.tar -C x/tars/d 2>/dev/null
		equal "$who $p like GNU tar" "$(state x/ours/d | sha256sum)" "$(state x/tars/d | sha256sum)"
	done
	who="as an ordinary user:"
done
umask 022
if command -v setfacl >/dev/null && mkdir heir && setfacl -m d:u:1234:rwx,u:77:r heir 2>/dev/null; then
	"$EXPORT" -q -p -x heir stock.img 2>.err
	equal "-p: no ACLs but the image's, whatever the directory hands down" "$(getfacl -R heir/* 2>/dev/null | grep -c ':1234:\|:77:')" 0
else
	skip "inherited ACLs" "no ACLs here" 1
fi
if command -v cpio >/dev/null; then
	for f in newc odc; do
		"$EXPORT" --format $f stock.img >stock.$f 2>.err
		rm -rf c && mkdir c && (cd c && cpio -idm --quiet <../stock.$f 2>../.is)
		equal "$f: cpio has nothing to say" "$(cat .is)" ""
		is "$f: cpio gets the same contents" diff -r --no-dereference -x fifo tree c
		equal "$f: cpio makes the hard link" "$(stat -c %h c/small)" 2
	done
else
	skip "cpio archives" "cpio is not installed" 6
fi

# Damaged images: it ends, with a status of its own, whatever it finds.
if [ -n "$CORPUS" ]; then
	bad= tried=0
	while read -r d; do
		zcat "$d/image.gz" >case.img 2>/dev/null || continue
		tried=$((tried + 1))
		timeout -s KILL 900 "$EXPORT" -q case.img >case.tar 2>.err
		[ $? -le 1 ] || bad="$bad $(basename "$d")"
		[ ! -s case.tar ] || tar -tf case.tar >/dev/null 2>&1 || bad="$bad $(basename "$d"):tar"
		rm -rf case
		timeout -s KILL 900 "$EXPORT" -q -x case case.img >/dev/null 2>.err
		[ $? -le 1 ] || bad="$bad $(basename "$d"):x"
	done < <(printf '%s\n' "$CORPUS"/*/ | strided 24 7)
	equal "the corpus of damaged images" "$tried$bad" "$(printf '%s\n' "$CORPUS"/*/ | strided 24 7 | wc -l)"
else
	skip "the corpus of damaged images" "XW_ACCEPT is not set" 1
fi
if can_loop && command -v python3 >/dev/null; then
	make_tar tree tree.tar
	mkfs -d tree.tar ours.img
	"$EXPORT" ours.img >ours.tar
	python3 "$KIT/compare.py" ours.tar ours.img >verified 2>&1
	is "the export is what the kernel sees" grep -q ' 0 failed$' verified
else
	skip "the export is what the kernel sees" "no loop mounts, or no python3" 1
fi
done_testing 58
