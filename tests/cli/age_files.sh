#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-age on files that are there already, and on what it has changed in the same step: types of entries, attributes whose values are in
# inodes of their own, and deletion times where the image has no time of creation.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
age() {
	T_TOOL=xw-age
	run_tool "$BIN/xw-age" /dev/null "$@"
}
checked() { "$BIN/xw-fsck" -fn img >.fsck 2>&1; }
# listed: types and names, with targets and devices, of img.
listed() {
	"$EXPORT" -o - img 2>/dev/null | tar --numeric-owner -tvf - |
		sed -E 's,^(.)[^ ]* [^ ]* +([0-9,]+) [0-9-]+ [0-9:]+ (\./)?,\1 \2 ,' | grep -v ' $' | sort -k 3
}

# Renamed, and renamed again over another one.
mkdir -p tree/age/sub
echo text >tree/age/file && ln tree/age/file tree/age/hard
ln -s file tree/age/fast && ln -s "$(printf '%0200d' 7)" tree/age/slow && mkfifo tree/age/fifo
if is_root; then
	mknod tree/age/null c 1 3 && mknod tree/age/loop b 7 0
fi
for i in tree/age/*; do
	[ -d "$i" ] || echo "rename ${i##*/} sub/${i##*/}"
done >renames
printf '%s\n' "create new 5000" "create over 3000" "rename sub/slow over" "rename new sub/slow" >>renames
long=$(printf '%0200d' 7)
sort -k 3 >want <<END
d 0 age/
l 0 age/over -> $long
d 0 age/sub/
l 0 age/sub/fast -> file
p 0 age/sub/fifo
- 5 age/sub/file
h 0 age/sub/hard link to age/sub/file
$(is_root && printf '%s\n' 'b 7,0 age/sub/loop' 'c 1,3 age/sub/null')
- 5000 age/sub/slow
END
sed -i '/^$/d' want
while read -r options; do
	# shellcheck disable=SC2086
	{ rm -f img && mkfs -q $options -d tree img 16M; }
	works "an image: $options"
	age -q --profile trace:renames img
	works "  everything renamed"
	is "  consistent" checked
	clean img "  for stock, too"
	listed >after
	is "  names and types" cmp after want
done <<'END'
-O quota
-O ^filetype,^inline_data
-b 1024 -O inline_data
END

# Values in inodes of their own, set, shared, replaced and removed with their files within one step.
long() { printf "$1%.0s" $(seq "$2"); }
for i in 1 2 3; do
	echo "create f$i 1000"
	for j in a b c; do echo "setxattr f$i user.$j $(long $j 900)"; done
	echo "setxattr f$i user.small x"
	echo "setxattr f$i user.b $(long "$i" 800)"
	echo "setxattr f$i user.c short"
done >values
printf '%s\n' "delete f2" "rename f1 f4" "create f2 10" "setxattr f2 user.a $(long a 900)" "append f4 50000" "setxattr f4 user.small y" >>values
for step in 1 5 8192; do
	rm -f img && mkfs -q -b 1024 -O ea_inode,quota img 16M
	age -q --step $step --profile trace:values img
	works "values in inodes, $step operations a step"
	is "  consistent" checked
	clean img "  for stock, too"
	for want in f4:a:"$(long a 900)" f4:b:"$(long 1 800)" f4:c:short f4:small:y f2:a:"$(long a 900)" f3:b:"$(long 3 800)" f3:a:"$(long a 900)"; do
		IFS=: read -r f name value <<<"$want"
		"$BIN/xw-debugfs" -R "ea_get -f value /age/$f user.$name" img >/dev/null 2>&1
		[ "$(cat value 2>/dev/null)" = "$value" ] || echo "$f $name"
		rm -f value
	done >wrong
	equal "  its values" "$(cat wrong)" ""
done

# No clock: neither the image nor the caller has a time, or it is early.
unset SOURCE_DATE_EPOCH
for now in none 0 1 -1; do
	rm -f img && mkfs -q img 16M
	SOURCE_DATE_EPOCH=0 "$BIN/xw-debugfs" -w -R "ssv mkfs_time 0" -R "ssv lastcheck 0" -R "ssv mtime 0" -R "ssv wtime 0" img >/dev/null
	if [ $now = none ]; then age -q --profile pazdera --ops 2000 img; else SOURCE_DATE_EPOCH=$now age -q --profile pazdera --ops 2000 img; fi
	works "an image without times, SOURCE_DATE_EPOCH $now"
	is "  consistent" checked
	clean img "  for stock, too"
done

done_testing 39
