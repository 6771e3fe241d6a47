#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The flags of chattr(1) of files and directories of the host are those of the image, as since mke2fs 1.47.3; Linux and e2fsck judge.
. "$(dirname "$0")/../cli/lib.sh"
can_loop || skip_all "needs root and loop devices"
for tool in mke2fs chattr lsattr e2fsck debugfs; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
mkdir host mnt
mke2fs -qF -t ext4 host.img 16M >.out 2>&1
mount -o loop host.img host || skip_all "cannot mount"
at_end "chattr -R -ia host"
mkdir -p host/src/dir/sub host/src/plain
for f in append immutable nodump noatime sync journal all none dir/inner; do echo "$f" >"host/src/$f"; done
ln -s none host/src/link
ln host/src/nodump host/src/hard
setfattr -n user.one -v two host/src/immutable
chattr +d host/src/nodump
chattr +A host/src/noatime
chattr +S host/src/sync
chattr +j host/src/journal 2>.err || diag "chattr +j is not allowed"
chattr +dAS host/src/all
chattr +D host/src/dir
chattr +dA host/src/dir/sub
chattr +a host/src/append
chattr +i host/src/immutable host/src/all

# flags TREE: of everything in it but for what says how it is stored
flags() { (cd "$1" && lsattr -aR . 2>/dev/null | grep -E '^[-a-zA-Z]{16,} ' | grep -v '/\.\.*$\|lost+found' |
	awk '{ gsub("[eIN]", "-", $1); print $1, $2 }' | sort -k 2); }
flags host/src >wanted
# in_image DESCRIPTION: Linux shows in img what the host has; e2fsck has no complaint.
in_image() {
	clean img "$1: clean"
	mount -o loop,ro img mnt
	flags mnt/${2-} >got
	is "  the flags are those of the host" diff wanted got
	equal "  contents and attributes, too" "$(cat mnt/${2-}/all mnt/${2-}/dir/inner mnt/${2-}/hard | cksum) $(getfattr --only-values -n user.one mnt/${2-}/immutable)" \
		"$(printf '%s\n' all dir/inner nodump | cksum) two"
	umount mnt
}
mkfs -q -t ext4 -d host/src img 16M
works "xw-mkfs -d"
in_image "xw-mkfs -d"
equal "  of all kinds" "$(cut -d ' ' -f 1 <wanted | grep -o '[aidASD]' | sort -u | tr -d '\n')" ADSadi
mkfs -q -t ext2 -d host/src img2 16M
clean img2 "an ext2 without a journal"

mkfs -q -t ext4 img 16M
import -q img host/src
works "xw-import"
in_image "xw-import"
chattr -i host/src/all
chattr -S host/src/all
echo changed >host/src/all
import -q img host/src
works "  again, over the files that are there"
equal "  contents are the new ones" "$("$DEBUGFS" -R "cat all" img 2>/dev/null)" changed
clean img "  and it is clean"

tar -C host/src -cf src.tar .
mkfs -q -t ext4 -d src.tar tarred 16M
mount -o loop,ro tarred mnt
equal "an archive has no flags" "$(flags mnt | cut -d ' ' -f 1 | grep -c '[aidASDj]')" 0
umount mnt
done_testing 14
