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
sif() {
	cp limits bad
	"$DEBUGFS" -w -R "set_inode_field <$1> $2 $3" bad >.dbg 2>&1 || cat .dbg
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
mkfs -q -b 1024 -O quota,project -d d quota 8M
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

# Limits and grace times of quota files survive damage to everything but themselves.
poke() { # IMAGE OFFSET HEX...
	local img=$1 off=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$(printf '\\x%s' "$@")" | dd of="$img" bs=1 seek="$off" conv=notrunc status=none
}
at() { echo $(($("$DEBUGFS" -R "bmap <$2> $3" "$1" 2>/dev/null) * 1024 + $4)); }
quotas() {
	local t
	for t in user group project; do "$DEBUGFS" -R "list_quota $t" "$1" 2>.err; done
	dd if="$1" bs=1 skip="$(at "$1" 3 0 8)" count=8 status=none | od -An -tu4
}
last=$(($("$DEBUGFS" -R 'stat <3>' limits 2>/dev/null | sed -n 's/.*Size: *\([0-9]*\).*/\1/p' | head -n 1) / 1024 - 1))
for ino in 3 4 "$ino"; do
	poke limits "$(at limits "$ino" $last 24)" e8 03 # 1000 inodes
	poke limits "$(at limits "$ino" $last 56)" 50 c3 # 50000 KiB
	poke limits "$(at limits "$ino" 0 8)" 57 04 00 00 ae 08 00 00
done
quotas limits >wanted
equal "limits" "$(grep -cw 1000 wanted)" 3
"$FSCK" -fn limits >.out 2>.err
equal "  of a clean image" $? 0
quota_damage() { # WHAT ID
	repaired "$2 " limits "$1"
	quotas bad >after
	is "  with its limits" cmp -s wanted after
	clean bad "  clean for e2fsck"
}
for part in "magic 0 0" "version 0 4" "number of blocks 0 20" "root of the tree 1 0" "tree 3 0"; do
	# shellcheck disable=SC2086
	set -- $part
	cp limits bad
	poke bad "$(at limits 3 "${*: -2:1}" "${*: -1}")" 07 07
	quota_damage "$part" quota-file-damaged
done
cp limits bad
poke bad "$(at limits 3 1 0)" 00
quota_damage "an empty tree" quota-usage
for n in 3 "$ino"; do
	sif "$n" mode 0
	quota_damage "mode of inode $n" quota-inode-mode
	sif "$n" links_count 0
	quota_damage "links of inode $n" quota-file-damaged
	sif "$n" size 1024
	quota_damage "size of inode $n" "inode-size quota-file-damaged"
done

# Other tools that change usage rewrite the file: limits and grace times stay.
limits_of() { quotas "$1" | awk 'NF == 7 { print $1, $3, $4, $6, $7 } NF == 2'; } # without usage; the grace times
limits_of limits >wanted
equal "limits, to be kept" "$(wc -l <wanted)" 4
changed_by() { # WHAT COMMAND...
	local what=$1
	shift
	cp limits bad
	"$@" >.dbg 2>&1 || cat .dbg
	quotas limits >before
	quotas bad >after
	is "$what: usage has changed" sh -c '! cmp -s before after'
	limits_of bad >after
	is "  limits have not" cmp -s wanted after
	"$FSCK" -fn bad >.out 2>.err
	equal "  no finding" $? 0
}
tar -C d -cf more.tar --transform 's,^,more/,' file link
changed_by "xw-import" "${XW_IMPORT:-$BIN/xw-import}" bad more.tar
changed_by "xw-debugfs write" "$DEBUGFS" -w -R 'write d/file more' bad
changed_by "xw-debugfs rm" "$DEBUGFS" -w -R 'rm file' bad
changed_by "xw-age" "${XW_AGE:-$BIN/xw-age}" -q --profile pazdera --ops 50 --seed 1 --size 0-2k bad
done_testing 181
