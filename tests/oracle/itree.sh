#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Images with itrees: the library's own checker and reader agree with the directories, the kernel mounts them
# read-only, finds every name and no others, and has nothing to complain about. An everyday run takes rows that have every
# feature once and changes 1,200 names; XW_ALL=1: all rows, 5,000 names, and htrees of three levels (a minute or more).
. "$(dirname "$0")/../cli/lib.sh"
TOOL=$XW_BUILD/o_itree
[ -x "$TOOL" ] || skip_all "o_itree is not built"

# big: two levels of itree; links: hard links next to each other; small: a single block.
mkdir -p tree/big/sub tree/links tree/small tree/long
seq -f 'tree/big/name-number-%g' 1 2000 | xargs touch
for i in $(seq 1 200); do
	echo x >"tree/links/file-$i"
	: >"tree/long/$(printf '%0240d' "$i")"
done
perl -e 'for my $n (1 .. 200) { link("tree/links/file-$n", "tree/$_-$n") || die for "links/again", "big/from-elsewhere" }'
touch tree/small/{a,b,c}
make_tar tree in.tar
names=$(find tree -mindepth 1 | wc -l)

# What the kernel says about every name, by lookup; then a thousand names that are not there.
lookups() {
	(cd mnt && find . -path ./lost+found -prune -o -mindepth 1 -print0 | xargs -0 stat -c '%i %F %h %n' | sort -k4) >got.stat
	(cd mnt && seq -f './big/no-such-%g' 1 1000 | xargs stat 2>&1 | grep -c 'No such file') >got.absent
}
# What the kernel logs of a device between the two, but that it was mounted; others use theirs at the same time. Of the
# orphan file it speaks whenever the device is read-only.
mark="xw-test $$"
# The device is ours before and until it is asked for: other tests' mounts come and go on others.
listen() { device=$(losetup -rf --show img) && echo "$mark" >/dev/kmsg; }
kernel_said() {
	dmesg | awk -v mark="$mark" -v dev="${1#/dev/}" '
		index($0, mark) { n = 0; next }
		$0 ~ dev "[^0-9]" && !/mounted filesystem|unmounting filesystem|detected capacity change|skipping orphan cleanup/ { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
	losetup -d "$1"
}
at_end umount "$T/mnt"

while IFS='|' read -r options size trees; do
	rm -f img plain
	name="$options ${size:-no SIZE}"
	# shellcheck disable=SC2086
	mkfs -q -O itree $options -d in.tar img $size
	works "-O itree $name"
	is "  the checker finds nothing" "$TOOL" check img
	equal "  directories with an itree" "$("$TOOL" check img | cut -d' ' -f1)" "$trees"
	is "  read by the itree: inodes ascend, their tables are read once, nothing is missing" "$TOOL" walk img
	can_loop || { skip "  the kernel reads it" "needs root and loop mounts" 7; continue; }
	mkdir -p mnt
	listen
	if ! mount -o ro "$device" mnt 2>"$T/.err"; then
		fail "  mounts read-only"
		losetup -d "$device"
		continue
	fi
	pass "  mounts read-only"
	lookups
	equal "  every name is found" "$(wc -l <got.stat)" "$names"
	equal "  others are not" "$(cat got.absent)" 1000
	is "  contents" diff -r -x lost+found tree mnt
	umount mnt
	equal "  nothing in the kernel's log" "$(kernel_said "$device")" ""
	is "  does not mount read-write" sh -c '! mount -o rw,loop img mnt 2>/dev/null || { findmnt -no OPTIONS mnt | grep -q ^ro; s=$?; umount mnt; exit $s; }'
	# the same without: the same files under the same numbers
	# shellcheck disable=SC2086
	mkfs -q $options -d in.tar plain $size
	mount -o ro,loop plain mnt && { cp got.stat with.stat && lookups && umount mnt; }
	is "  inode numbers do not depend on itrees" cmp got.stat with.stat
done < <(strided 3 <<'TABLE'
~||3
-b 1024||3
~-b 1024|64M|3
-O ^metadata_csum|64M|3
~-O ^metadata_csum -b 1024||3
-O ^extent,^64bit,^flex_bg|64M|3
-O quota,large_dir,orphan_file -b 2048|64M|3
-O metadata_csum_seed,ea_inode,^filetype|64M|3
TABLE
)

# Directories changed a name at a time, with and without itrees; trees dropped and built in a finished image.
O_DIR=$XW_BUILD/o_dir
changes=1200
[ -z "${XW_ALL-}" ] || changes=5000
seed=0
while read -r options; do
	name="changed: $options"
	# shellcheck disable=SC2086
	mkfs -q -F $options -d in.tar img 64M
	rm -f churned
	for dir in /big /big /small /big; do
		"$O_DIR" churn img $dir "$changes" $((++seed)) >>churned 2>&1 || echo failed >>churned
	done
	is "$name: 4 x $changes names come and go" sh -c '! grep -q "failed\|^#" churned || { cat churned; exit 1; }'
	case $options in
	*itree*)
		is "  the checker finds nothing" "$TOOL" check img
		is "  read by the itree" "$TOOL" walk img
		;;
	*) clean img "  e2fsck finds nothing" ;;
	esac
	if can_loop; then
		listen
		mount -o ro "$device" mnt && lookups && umount mnt
		equal "  the kernel finds every name" "$(wc -l <got.stat)" \
			"$(awk -v n="$names" '/ names,/ { n += $1 } END { print n }' churned)"
		equal "  and has nothing to say" "$(kernel_said "$device")" ""
	else
		skip "  the kernel finds every name" "needs root and loop mounts" 2
	fi
	case $options in
	*itree*) is "  all trees dropped" "$O_DIR" off img ;;
	*)
		is "  trees built" "$O_DIR" on img
		is "  the checker finds nothing" "$TOOL" check img
		equal "  in every directory that can have one" "$("$TOOL" check img | cut -d' ' -f1)" 4
		is "  read by the itree" "$TOOL" walk img
		is "  and dropped" "$O_DIR" off img
		;;
	esac
	clean img "  e2fsck finds nothing"
done < <(strided 3 <<'TABLE'
~-O itree
~-O itree -b 1024
-O itree,^metadata_csum,^filetype -b 1024
-O itree,quota
~-O itree,^extent,^64bit,^flex_bg -b 1024
-b 1024
-O large_dir,^metadata_csum
TABLE
)

# Imports: a directory whose names change gets a new tree, one that does not keeps its own; trees come and go
# with the size of directories and with the directories.
mkdir -p more/big more/small more/new more/shrinks
for i in $(seq 1 500); do
	echo $i >"more/big/added-$i"
	: >"more/small/grows-$i"
	: >"more/new/$i"
done
mkdir -p first/shrinks
seq -f 'first/shrinks/some-name-%g' 1 500 | xargs touch
seq -f 'more/shrinks/.wh.some-name-%g' 1 500 | xargs touch
: >more/.wh.long
: >more/shrinks/only
setfattr -n user.some -v thing more/big 2>/dev/null
cp -al tree both && cp -al more/. both/ && rm -r both/long both/.wh.long both/shrinks/.wh.*
while read -r options; do
	name="import: $options"
	# shellcheck disable=SC2086
	mkfs -q -F $options -d tree img 64M
	import -q img first
	works "$name: a directory more"
	equal "  it gets a tree" "$("$TOOL" check img | cut -d' ' -f1)" 4
	debugfs -R "cat /links" img >links.before 2>.err
	import -q img more
	works "  names come and go"
	is "  the checker finds nothing" "$TOOL" check img
	equal "  trees where directories are large enough" "$("$TOOL" check img | cut -d' ' -f1)" 4
	is "  read by the itree" "$TOOL" walk img
	debugfs -R "cat /links" img >links.after 2>.err
	is "  who did not change keeps his tree" cmp links.before links.after
	is "  xw-export gives all of it back" gives_back img both
	if can_loop; then
		listen
		mount -o ro "$device" mnt && lookups && umount mnt
		equal "  the kernel finds every name" "$(wc -l <got.stat)" "$(find both -mindepth 1 | wc -l)"
		equal "  and has nothing to say" "$(kernel_said "$device")" ""
	else
		skip "  the kernel finds every name" "needs root and loop mounts" 2
	fi
	is "  all trees dropped" "$O_DIR" off img
	clean img "  e2fsck finds nothing"
done < <(strided 3 <<'TABLE'
~-O itree
~-O itree -b 1024
~-O itree,^metadata_csum,^filetype -b 1024
-O itree,quota,ea_inode
-O itree,^extent,^64bit,^flex_bg -b 1024
-O itree,inline_data -I 512
TABLE
)

# Three levels of htree, grown one name at a time.
if [ -n "${XW_ALL-}" ]; then
	while read -r options; do
		rm -f img
		# shellcheck disable=SC2086
		mkfs -q -b 1024 $options -d in.tar img 1G
		"$O_DIR" churn img /big 1800000 7 >churned 2>&1
		is "large_dir, three levels, $options: 1,800,000 names come and go" grep -q ' names,' churned
		equal "  levels of the htree" "$(debugfs -R 'htree_dump /big' img 2>/dev/null | awk '/Indirect levels/ { print $NF; exit }')" 2
		case $options in
		*,itree*) is "  the checker finds nothing" "$TOOL" check img ;;
		*) clean img "  e2fsck finds nothing" ;;
		esac
		can_loop || { skip "  the kernel finds every name" "needs root and loop mounts" 2; continue; }
		listen
		mount -o ro "$device" mnt && lookups && umount mnt
		equal "  the kernel finds every name" "$(wc -l <got.stat)" "$(awk -v n="$names" '{ print n + $1; exit }' churned)"
		equal "  and has nothing to say" "$(kernel_said "$device")" ""
	done <<-'TABLE'
		-O large_dir
		-O large_dir,itree
	TABLE
fi

# A kernel changes a directory while the feature is away: its tree is stale, and nobody takes it for the directory.
if can_loop; then
	DBG=$(dirname "$MKFS")/xw-debugfs
	EXPORT=$(dirname "$MKFS")/xw-export
	mkfs -q -F -O itree,^has_journal -d in.tar img 64M
	"$DBG" -q -w -R 'feature ^itree' img >.out 2>.err
	is "feature ^itree, and itree again" "$DBG" -q -w -R 'feature itree' img
	is "  the checker finds nothing" "$TOOL" check img
	"$DBG" -q -w -R 'feature ^itree' img >.out 2>.err
	mount -o loop img mnt && touch mnt/big/added-{1,2,3} && rm mnt/big/name-number-{7,8} && (cd mnt && find . | sort) >there && umount mnt
	"$DBG" -q -w -R 'feature itree' img >.out 2>.err
	equal "stale trees: feature itree is refused" "$? $(grep -c 'itree flag is stale (rule 15' .err)" "1 1"
	"$DBG" -q -w -R 'ssv feature_ro_compat 0x4000046b' img >.out 2>.err
	for order in disk inode; do
		"$EXPORT" --order $order -o - img 2>.err | tar tf - | sed 's,^\./*,,; s,/$,,; s,^,./,; s,^\./$,.,' | sort >given
		equal "  xw-export --order $order: status" "${PIPESTATUS[0]}" 1
		equal "  it says why" "$(grep -c 'warning: big: .*its itree does not list what it holds' .err)" 1
		is "  and has what the directory has" sh -c 'grep -v lost+found there | diff - given'
	done
else
	skip "stale trees" "needs root and loop mounts" 9
fi

mkfs -n -O itree,^dir_index img2 64M
fails 2 'itree needs dir_index' "itree needs dir_index"

# The format's example, where it is: made by hand, with fullness in 8 bits (rule 13) and a hash seed of its own.
example=${XW_ACCEPT:-/nonexistent}/itree-example.img.xz
if [ -r "$example" ] && command -v xz >/dev/null; then
	xz -dc "$example" >example.img
	"$TOOL" narrow example.img >/dev/null
	is "the format's example: the checker" "$TOOL" check example.img 13
	is "the format's example: read by the itree" "$TOOL" walk example.img
else
	skip "the format's example" "XW_ACCEPT is not set, or xz is not installed" 2
fi
done_testing 137
