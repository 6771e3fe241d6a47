#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Numbers of hidden inodes in the superblock (quota files): without their feature they mean nothing, with it
# they are believed only where the inode is what they say. No file of a user is lost by one, and every name,
# mode and byte is what it was.
. "$(dirname "$0")/lib.sh"
FSCK=${XW_FSCK:-$BIN/xw-fsck}
DEBUGFS=${XW_DEBUGFS:-$BIN/xw-debugfs}
EXPORT=${XW_EXPORT:-$BIN/xw-export}

number() { "$DEBUGFS" -R "stat $2" "$1" 2>/dev/null | sed -n '1s/^Inode: *\([0-9]*\).*/\1/p'; }
super() { "$DEBUGFS" -R 'stats' "$1" 2>/dev/null; }
# repaired ID IMAGE WHAT: `bad` has that finding and no other; after one repair none, and all of IMAGE's files.
repaired() {
	RC=0
	"$FSCK" -fn --json bad >.json 2>.err || RC=$?
	equal "$3: found" "$(sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' .json | sort -u | tr '\n' ' ')" "$1"
	RC=0
	"$FSCK" -fy bad >.out 2>.err || RC=$?
	equal "  repaired" $RC 1
	RC=0
	"$FSCK" -fn bad >.out 2>.err || RC=$?
	equal "  clean then" $RC 0
	"$EXPORT" "$2" >was.tar 2>.err
	"$EXPORT" bad >is.tar 2>.err
	is "  with all names and contents" cmp -s was.tar is.tar
}
ssv() {
	cp "$1" bad
	"$DEBUGFS" -w -R "set_super_value $2 $3" bad >.dbg 2>&1 || cat .dbg
}
mkdir -p d/sub
seq 1 300 >d/file
: >d/empty
chmod 640 d/file
ln -s target d/link
mkfs -q -t ext2 -d d ext2 8M
works "an ext2 image"
mkfs -q -d d ext4 8M
works "an ext4 image"
mkfs -q -O quota,project -d d quota 8M
works "one with quota"

# Without the feature.
for img in ext2 ext4; do
	for field in usr grp prj; do
		for name in file empty link sub; do
			[ $img$field != ext2usr ] && [ $field != prj ] && continue
			ssv $img ${field}_quota_inum "$(number $img $name)"
			repaired "superblock-quota-inode " $img "$img, $field number of /$name"
		done
	done
	clean bad "  clean for e2fsck"
done

# A quota file that a feature has left behind is deleted.
cp quota bad
"$DEBUGFS" -w -R 'feature ^quota ^project' bad >.dbg 2>&1
repaired "quota-inode-unused superblock-quota-inode " quota "quota switched off"
clean bad "  clean for e2fsck"
is "  its inode is free" sh -c "! '$DEBUGFS' -R 'testi <$(number quota '<12>')>' bad | grep -q 'marked in use'"

# With it: the number of a user's file is replaced by that of the quota file, with its limits.
cp quota limits
ino=$(super quota | sed -n 's/^Project quota inode: *//p')
"$DEBUGFS" -R "dump <$ino> before" limits >.dbg 2>&1
for name in file empty link sub; do
	ssv limits prj_quota_inum "$(number quota $name)"
	repaired "quota-inode-lost " quota "project number of /$name"
	"$DEBUGFS" -R "dump <$ino> after" bad >.dbg 2>&1
	is "  the quota file is what it was" cmp -s before after
	equal "  and has its number" "$(super bad | sed -n 's/^Project quota inode: *//p')" "$ino"
done
clean bad "  clean for e2fsck"
ssv limits prj_quota_inum 0
repaired "quota-inode-lost " quota "project number 0"
ssv limits usr_quota_inum "$(number quota file)"
repaired "superblock-quota-inode " quota "user number of /file, with the feature"
equal "  the usual number again" "$(super bad | sed -n 's/^User quota inode: *//p')" 3
clean bad "  clean for e2fsck"
done_testing 94
