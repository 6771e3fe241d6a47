#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Images that are wrong in one field, with checksums that are right: what a change cannot rely on it refuses, with a message that
# says why, and writes nothing.
. "$(dirname "$0")/lib.sh"
command -v tar >/dev/null || skip_all "tar is not installed"
export SOURCE_DATE_EPOCH=1700000000
DBG=$BIN/xw-debugfs TUNE=$BIN/xw-tune

mkdir -p tree/d tree/many new/d gone links
for i in $(seq 1 80); do : >"tree/many/a-name-of-some-length-$i"; done
echo f >tree/d/f
echo g >tree/d/g
echo n >new/d/n
: >gone/.wh.d
echo one >links/one
ln links/one links/two
make_tar tree tree.tar --owner 0 --group 0
make_tar new new.tar --owner 0 --group 0
make_tar gone gone.tar --owner 0 --group 0
head -c 5000 /dev/zero | tr '\0' v >big
head -c 400 /dev/zero | tr '\0' w >middle

# ---- images ----
made() { # NAME OPTION...
	"$MKFS" -q -F -b 1024 -d tree.tar "${@:2}" "$1" 12M >.out 2>.err
	equal "an image: ${*:2}" $? 0
}
made plain -O ^resize_inode
made orphan -O orphan_file,^resize_inode
made ea -O ea_inode,quota
"$DBG" -w -R "ea_set -f $T/big /d/f user.big" -R "ea_set -f $T/middle /d/g user.middle" ea >.out 2>.err
equal "  with attributes" $? 0
made bare -t ext2
made fold -O casefold,^has_journal,itree
made clusters -O bigalloc,^resize_inode
made all_supers -O ^sparse_super,^resize_inode -g 1024
rm -f jdev onjdev
"$MKFS" -q -F -b 1024 -O journal_dev jdev 2M >.out 2>.err
equal "an external journal" $? 0
made onjdev -J device="$T/jdev"
"$MKFS" -q -F -b 1024 -O ^has_journal tiny 1M >.out 2>.err
equal "a tiny image" $? 0

inum() { "$DBG" -R "imap $1" "$2" 2>/dev/null | sed -n 's/^Inode \([0-9]*\).*/\1/p'; }
value=$(for ((i = 11; i < 120; i++)); do echo "stat <$i>"; done | "$DBG" -f - ea 2>/dev/null |
	awk '/^Inode:/ && $0 ~ /Flags: 0x2[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]$/ { print $2; exit }')
orphans=$("$BIN/xw-dump" -h orphan 2>/dev/null | sed -n 's/^Orphan file inode: *//p')
block=$("$DBG" -R "bmap <${orphans:-0}> 0" orphan 2>/dev/null)
dir=$(inum /d plain)
calc="set_bg 0 checksum calc"

# What a row may name in its command.
run() { # WORD...
	case $1 in
	import) "$IMPORT" -q img "$T/$2.tar" ;;
	rm) "$DBG" -w -R "rm $2" img ;;
	tune) "$TUNE" "${@:2}" img ;;
	esac >.out 2>.err </dev/null
}
# IMAGE | requests that break it, with ; between them | what is run | what it says
n=0
while IFS='|' read -r image requests what regex; do
	[ -n "$image" ] || continue
	cp --sparse=always "$image" img
	if [ -n "$requests" ]; then
		tr ';' '\n' <<<"$requests" | sed "s/VALUE/<$value>/g; s/ORPHANS/<$orphans>/g; s/BLOCK/$block/g; s/DIR/<$dir>/g; s/CALC/$calc/" >requests
		"$DBG" -w -f requests img >.out 2>.err || { fail "$image: $requests: cannot be broken so"; continue; }
	fi
	cp --sparse=always img before
	RC=0
	# shellcheck disable=SC2086
	run $what || RC=$?
	n=$((n + 1))
	if [ $RC != 0 ] && grep -Eq -- "$regex" .err; then pass "$image: $requests: $what"; else
		fail "$image: $requests: $what"
		diag "status $RC, wanted: $regex"
	fi
	# A change that is refused late has written to free space.
	case $regex in *"quota file"*) continue ;; esac
	is "  nothing is written" cmp img before
done <<'TABLE'
plain|ssv state 3|import new|has errors; run xw-fsck -f first
plain|ssv state 0|import new|was not unmounted cleanly
plain|ssv creator_os 1|import new|created for the Hurd
plain|feature read-only|import new|the feature read-only
plain|set_bg 0 used_dirs_count 9999;CALC|import new|more directories than inodes
plain|set_bg 0 inode_table 0|import new|.
plain|set_bg 0 block_bitmap_csum 1;CALC|import new|bitmap
plain|sif /d flags 0x80800|import new|is encrypted: names cannot be added
plain|sif /d/f file_acl 999999|import gone|its xattr block is outside the filesystem
plain|sif /d/f file_acl 9|import gone|its xattr block is damaged
plain|ln <8> /d/journal|import gone|.
ea|sif VALUE flags 0x80000|rm /d/f|is not an EA inode
ea|sif VALUE version_lo 0;sif VALUE ctime 0|rm /d/f|fewer references than entries
ea|sif <3> size 5|import new|is not a valid quota file
fold|sif /d flags 0x40080000|import new|ignores case: names cannot be added
plain||tune -j|already has a journal
plain|sif /many flags 0x80000|tune -O bogus|Invalid filesystem option set
bare||tune -J size=4000|[Jj]ournal
tiny|ssv r_blocks_count 0|tune -J size=4000|[Jj]ournal
bare||tune -O ^dir_index,itree|needs dir_index
jdev||tune -i 0|Cannot modify a journal device
onjdev||tune -O ^has_journal|the journal is external and would still contain
onjdev||tune -U random|the journal is external and contains the UUID of this filesystem
clusters||tune -O itree|itree and bigalloc exclude each other
clusters||tune -O ^extent|not supported
fold||tune -E encoding=utf8|Cannot alter existing encoding
fold|sif /d flags 0x40080000|tune -O ^casefold|is a casefolded directory: casefold cannot be cleared
orphan|freei ORPHANS|tune -O ^orphan_file|inode bitmap: free count differs
orphan|zap_block BLOCK|tune -O ^orphan_file|orphan file
plain|sif <3> links_count 1;sif <3> mode 0100600|tune -O quota|reserved inode 3 is in use
plain|set_bg 0 itable_unused 9999;CALC|tune -U random|unused inodes of
plain|set_bg 0 inode_table 999999;CALC|tune -O ^metadata_csum|inode table
plain|set_bg 0 block_bitmap 999999;CALC|tune -O ^metadata_csum|points outside the filesystem
plain|set_bg 0 block_bitmap_csum 1;CALC|tune -O ^metadata_csum|bitmap checksum mismatch
plain|set_bg 0 inode_bitmap_csum 1;CALC|tune -O ^metadata_csum|bitmap.* checksum
TABLE

# ---- changes that are made ----
sound() { "$BIN/xw-fsck" -fn "$1" >.fsck 2>&1; }
# done_by DESCRIPTION IMAGE TUNE_OPTION...
done_by() {
	local desc=$1
	cp --sparse=always "$2" img
	"$TUNE" "${@:3}" img >.out 2>.err
	equal "$desc" $? 0
	is "  and is sound" sound img
}
free_blocks() { "$BIN/xw-dump" -h "$1" 2>/dev/null | sed -n 's/^Free blocks: *//p'; }
attributes() { for f in f g; do "$DBG" -R "ea_list /d/$f" "$1" 2>/dev/null; done; }
done_by "other seeds for the checksums of attributes' values" ea -U random
equal "  attributes are the same" "$(attributes img)" "$(attributes ea)"
done_by "one superblock copy less a group" all_supers -O sparse_super
is "  which gives blocks back" test "$(free_blocks img)" -gt "$(free_blocks all_supers)"
done_by "an MMP block" plain -O mmp
equal "  is one block less" "$(free_blocks img)" $(($(free_blocks plain) - 1))
cp img mmp
done_by "no MMP block" mmp -O ^mmp
equal "  is one block more" "$(free_blocks img)" "$(free_blocks plain)"
cp mmp img
"$DBG" -w -R "smmp seq 0xe24d4d50" img >.out 2>.err
"$TUNE" -L x img >.out 2>.err
is "an MMP block in use is respected" test $? -ne 0
done_by "the MMP block is cleared" mmp -f -E clear_mmp
done_testing 95
