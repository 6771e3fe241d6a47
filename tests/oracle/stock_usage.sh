#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong usage under each stock name, beside the stock program: exit status, the first word on stderr, and whether a synopsis follows that
# names the program as it was called.
. "$(dirname "$0")/../cli/lib.sh"
# NAME, and the tool of the suite
names="mke2fs xw-mkfs
mkfs.ext2 xw-mkfs
mkfs.ext3 xw-mkfs
mkfs.ext4 xw-mkfs
e2fsck xw-fsck
fsck.ext2 xw-fsck
fsck.ext3 xw-fsck
fsck.ext4 xw-fsck
debugfs xw-debugfs
dumpe2fs xw-dump
tune2fs xw-tune
e2label xw-tune
e2freefrag xw-freefrag
e2undo xw-undo"
mkdir ours
while read -r name tool; do
	[ -x "$BIN/$tool" ] || skip_all "$tool is not built"
	command -v "$name" >/dev/null || skip_all "$name is not installed"
	ln -s "$BIN/$tool" "ours/$name"
done <<<"$names"

# said STATUS PROGRAM: status, first word and, in case, the words "usage: NAME" of .err; without the line of the version that some stock
# programs print first, and without the directory that they were called in.
said() {
	local first synopsis
	sed -i -e '/^[a-z0-9]* 1\.4[0-9.]* ([0-9]*-[A-Z][a-z]*-[0-9]*)$/d' -e "s,$2,${2##*/},g" .err
	read -r first _ <.err
	synopsis=$(grep -io -m 1 "usage: ${2##*/}\\b" .err)
	echo "$1 $first ${synopsis,}"
}
cases=0
while read -r name tool; do
	stock=$(command -v "$name") got='' wanted=''
	for args in '' -Y --nonsense -o 'missing a b c d'; do
		# what is given besides a name is no usage error of these
		case $name/$args in
		mk*/missing* | debugfs/ | debugfs/missing* | e2label/-* | e2freefrag/missing*) continue ;;
		esac
		rc=0
		# shellcheck disable=SC2086
		"$stock" $args </dev/null >.out 2>.err || rc=$?
		wanted+="'$args': $(said $rc "$stock")"$'\n'
		rc=0
		# shellcheck disable=SC2086
		"ours/$name" $args </dev/null >.out 2>.err || rc=$?
		got+="'$args': $(said $rc "ours/$name")"$'\n'
		cases=$((cases + 1))
	done
	equal "$name: wrong usage as of stock" "$got" "$wanted"
	"ours/$name" --help >.out 2>.err
	[ "$name" = e2label ] || equal "  its help is of that name" "$(head -n 1 .out | cut -d ' ' -f 1-2)" "Usage: $name"
done <<<"$names"
equal "calls that were compared" $cases 60
ours/dumpe2fs --json img more >.out 2>.err
equal "the reason that the synopsis alone does not say is in JSON" "$(cat .out)" "{\"error\":\"unexpected argument 'more' after IMAGE\"}"
ln -s "$BIN/xw-dump" dumper
./dumper img more >.out 2>.err
equal "a name that is no stock one: what is wrong comes first" "$(head -n 1 .err)" "dumper: unexpected argument 'more' after IMAGE"
mkfs -q -t ext4 -O mmp img 16M
equal "dumpe2fs -m: the line has the name, too" "$(ours/dumpe2fs -m img 2>&1)" "dumpe2fs: it is safe to mount 'img', MMP is clean"
done_testing 31
