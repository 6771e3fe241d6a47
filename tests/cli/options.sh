#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options: what is taken, what is refused and how.
. "$(dirname "$0")/lib.sh"

mkfs --help
works "--help"
is "--help names every long option" sh -c 'for o in directory strip-components exclude xattrs-exclude owner \
	group mode clamp-mtime free jobs json version; do grep -qe "--$o" .out || { echo "$o"; exit 1; }; done'
mkfs -h
works "-h is --help"
mkfs -V
works "-V"
is "-V prints a version" grep -Eq '^xw-mkfs .* [0-9]+\.[0-9]+\.[0-9]+$' .out
mkfs --version --no-such-option
works "--version stops reading"

# What is wrong with the command line: status 2, one line, nothing made.
while IFS='|' read -r want args; do
	eval "set -- $args"
	rm -f img
	mkfs "$@"
	fails 2 "$want" "refused: $args"
	is "  and nothing was made" gone img
done <<'TABLE'
name of the image|
-b.*needs a value|-b
unknown option -Y|-Y img 8M
--wat|--wat img 8M
--json takes no value|--json=1 img 8M
unexpected argument 'x'|img 8M x
IMAGE '-'|- 8M
-b.*3000|-b 3000 img 8M
-b.*zork|-b zork img 8M
-b.*512|-b 512 img 8M
-I.*100|-I 100 img 8M
-I.*8192|-b 4096 -I 8192 img 8M
-i|-i 1 img 8M
-g.*7|-g 7 img 8M
-G.*3|-G 3 img 8M
-m.*80|-m 80 img 8M
-m.*-1|-m -1 img 8M
-N.*x|-N x img 8M
-e.*explode|-e explode img 8M
-U.*12345|-U 12345 img 8M
-t.*xfs|-t xfs img 8M
-T.*nonesuch|-T nonesuch img 8M
-J.*colour|-J colour=red img 8M
-J.*size|-J size=zork img 8M
-O.*no_such_feature|-O no_such_feature img 8M
-O.*\^?no_such_feature|-O ^no_such_feature img 8M
-E.*no_such_key|-E no_such_key=1 img 8M
-E.*stride|-E stride=zork img 8M
-E.*root_owner|-E root_owner=a:b img 8M
-E.*hash_seed|-E hash_seed=xyz img 8M
invalid size .zork|img zork
invalid size .-5|-- img -5
--free.*many|--free many -d . img
--free.*100|--free 100% -d . img
--strip-components.*x|--strip-components x -d . img
--strip-components.*-1|--strip-components -1 -d . img
--jobs.*0|--jobs 0 -d . img
--jobs.*x|--jobs x -d . img
--owner.*nobody-here:x|--owner nobody-here:x -d . img
--owner.*root:|--owner root: -d . img
--owner.*5x|--owner 5x -d . img
--owner.*99999999999|--owner 99999999999 -d . img
--group.*root:root|--group root:root -d . img
--group.*|--group= -d . img
--mode.*999|--mode 999 -d . img
TABLE

# What is wrong with the options is said before anything about the target, also where SIZE is left out.
printf 'precious' >precious
mkfs -q kept.img 8M
sha256sum kept.img precious >before
while IFS='|' read -r want args; do
	for target in nowhere/img /dev/null kept.img precious; do
		eval "set -- $args"
		mkfs -F "$@" $target
		fails 2 "$want" "before $target: $args"
		mkfs -F -d no-such-source "$@" $target 64M
		fails 2 "$want" "  also with SIZE and a source that is not there"
	done
done <<'TABLE'
-O nonesuch.*no such feature|-O nonesuch
-O dirdata|-O dirdata
metadata_csum_seed needs metadata_csum|-O metadata_csum_seed,^metadata_csum
resize_inode and meta_bg|-O meta_bg
-G 8.*flex_bg|-G 8 -O ^flex_bg
-C 32768.*bigalloc|-C 32768
-I 4096.*block size|-b 1024 -I 4096
-t xfs|-t xfs
-T nonesuch|-T nonesuch
TABLE
mkfs -F -N 5 nowhere/img 64M
fails 1 "nowhere/img" "what is fine with the options leaves the target's error"
mkfs -F -E resize=5 nowhere/img 64M
fails 2 "-E resize" "with SIZE, geometry comes before the target"
mkfs -F -J size=100000 nowhere/img 64M
fails 2 "-J size" "  and the journal"
is "nothing was touched" sha256sum -c before

# Known features that this version does not make are refused by name, never ignored.
for feature in compression dirdata shared_blocks; do
	rm -f img
	mkfs -O "$feature" img 64M
	if [ "$RC" = 0 ]; then
		skip "-O $feature is refused" "this version makes it"
	else
		fails 2 "-O.*$feature" "-O $feature is refused by name"
		is "  and nothing was made" gone img
	fi
done
mkfs -O ^compression img 8M
works "taking away what is not made is fine: -O ^compression"

for bad in abc 1.5 ' 5' 1e9 0x10 99999999999999999999999; do
	rm -f img
	SOURCE_DATE_EPOCH=$bad mkfs img 8M
	fails 2 "SOURCE_DATE_EPOCH" "SOURCE_DATE_EPOCH='$bad'"
	is "  and nothing was made" gone img
done
SOURCE_DATE_EPOCH='' mkfs -q img 8M
works "an empty SOURCE_DATE_EPOCH is none"

# -n plans only.
rm -f img
mkfs -n img 64M
works "-n"
is "-n makes nothing" gone img
is "-n says how big it would become" grep -q '64 MiB' .out
printf 'precious' >img
mkfs -n -F img 64M
is "-n leaves what is there alone" test "$(cat img)" = precious

# What is printed.
rm -f img
mkfs -q img 8M
works "-q"
is "-q prints nothing" test ! -s .out
mkfs -F img 8M
works "a summary by default"
is "it names the image, its size and UUID" sh -c 'grep -q "^img .*UUID [0-9a-f-]\{36\}" .out && grep -q "8 MiB" .out'
mkfs -F --json img 8M
works "--json"
equal "--json: size" "$(json size_bytes .out)" 8388608
equal "--json: blocks" "$(json blocks .out)" 2048
equal "--json: block size" "$(json block_size_bytes .out)" 4096
if command -v python3 >/dev/null; then
	is "--json is JSON and nothing else" python3 -c 'import json,sys; json.load(open(".out"))'
else
	skip "--json is JSON and nothing else" "python3 is not installed"
fi
"$MKFS" -F --json img 8M >/dev/full 2>.err
equal "a result that cannot be printed is a failure" "$?" 1

# Options that change nothing but how it is said, and words after --.
mkfs -Fq -- img 8M
works "-- ends the options"
mkfs -q 8M-is-a-name.img 8192
works "SIZE without a suffix counts KiB, as in mke2fs(8)"
equal "  8192 KiB" "$(stat -c %s 8M-is-a-name.img)" 8388608
mkfs -q -b 4096 b.img 2048
equal "  and blocks with -b: 2048 of 4 KiB" "$(stat -c %s b.img)" 8388608
mkfs -q -b 1024 k.img 8192
equal "  8192 of 1 KiB" "$(stat -c %s k.img)" 8388608
mkfs -q s.img 16384s
equal "16384 sectors" "$(stat -c %s s.img)" 8388608
mkfs -q k2.img 8192k
equal "8192k" "$(stat -c %s k2.img)" 8388608
mkfs -q mib.img 8MiB
equal "8MiB" "$(stat -c %s mib.img)" 8388608
mkfs -q -m 1% m.img 8M
works "-m 1%"
truncate -s 12M off.img
mkfs -q -E offset=4M off.img
works "-E offset=4M"
mkfs -d - -d - img
fails 2 "-d -: standard input can be read only once" "standard input given twice"
mkfs -b 1024 tiny.img 50
fails 1 "50 blocks of 1024 bytes are too few for a filesystem: 59 needed" "50 KiB"
mkfs -O meta_bg img 8M
fails 2 "exclude each other: add -O \^resize_inode or -O \^meta_bg" "two features that exclude each other"
for bad in 8mB 8iB 8siB MiB; do
	mkfs bad.img $bad
	fails 2 "invalid size .$bad" "SIZE $bad"
done
done_testing 223
