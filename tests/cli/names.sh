#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The stock names that --enable-stock-names links: what a tool does under each.
. "${XW_SRC:-.}/tests/cli/lib.sh" || exit 99
for name in mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4; do ln -s "$MKFS" $name; done
ln -s "$BIN/xw-tune" e2label
ln -s "$BIN/xw-tune" tune2fs

plan() { # NAME OPTIONS...: type of what it would make
	local name=$1 features
	shift
	rm -f img
	run_tool "./$name" /dev/null -q "$@" img 16M
	features=$("$BIN/xw-dump" -h img 2>/dev/null | sed -n 's/^Filesystem features: *//p')
	case $features in
	*extent*) echo "$RC ext4" ;;
	*has_journal*) echo "$RC ext3" ;;
	*) echo "$RC ext2" ;;
	esac
}
equal "mkfs.ext2" "$(plan mkfs.ext2)" "0 ext2"
equal "mkfs.ext3" "$(plan mkfs.ext3)" "0 ext3"
equal "mkfs.ext4" "$(plan mkfs.ext4)" "0 ext4"
equal "mke2fs: ext2, as mke2fs(8) without a configuration" "$(plan mke2fs)" "0 ext2"
equal "mke2fs -j" "$(plan mke2fs -j)" "0 ext3"
equal "-t wins over the name" "$(plan mkfs.ext2 -t ext4)" "0 ext4"
./mkfs.ext4 >.out 2>.err
equal "mkfs.ext4 without an image: wrong usage is 1" "$?" 1
./tune2fs -Z img >.out 2>.err
equal "  tune2fs with an unknown option, too" "$?" 1

./e2label img >.out 2>.err
equal "e2label of an image without a label" "$? $(cat .out .err)" "0 "
run_tool ./e2label /dev/null img "a label"
equal "e2label sets one and says nothing" "$RC$(cat .out .err)" 0
equal "  and prints it" "$(./e2label img)" "a label"
SOURCE_DATE_EPOCH=1580605322 ./e2label img "a label"
is "  the superblock was written when SOURCE_DATE_EPOCH says" grep -q '"last_write_time":1580605322,' <("$BIN/xw-dump" -h --json img)
(unset SOURCE_DATE_EPOCH && ./e2label img "a label")
is "    or now" test "$("$BIN/xw-dump" -h --json img | grep -o '"last_write_time":[0-9]*' | tr -dc 0-9)" -gt 1700000000
run_tool ./e2label /dev/null img ""
equal "  and removes it" "$RC$(./e2label img)" 0
run_tool ./e2label /dev/null img "longer than sixteen bytes"
T_TOOL=xw-tune
is "  one that is too long is cut with a warning or refused" test -s .err
for args in "" "img a b"; do
	# shellcheck disable=SC2086
	./e2label $args >.out 2>.err
	equal "e2label $args: usage" "$?" 1
done
./e2label .out >got 2>.err
equal "e2label of something else" "$?" 1
run_tool ./tune2fs /dev/null -q -L other img
equal "tune2fs is xw-tune" "$RC$(./e2label img)" 0other

# Nobody can answer: a stock name continues over an old filesystem, never over the source itself.
mkfs -q -U clear old.img 8M
before=$(sha256sum <old.img)
./mkfs.ext4 -q old.img </dev/null >.out 2>.err
equal "mkfs.ext4 without a terminal continues over a filesystem" "$?" 0
is "  and made a new one" test "$(sha256sum <old.img)" != "$before"
clean old.img "  which is clean"
mkfs -q old.img
fails 1 "old.img" "xw-mkfs itself refuses it"
mkdir src && echo x >src/x && tar -cf src.tar src
before=$(sha256sum <src.tar)
./mkfs.ext4 -q -d src.tar src.tar 8M </dev/null >.out 2>.err
is "the source is refused" test "$?" -ne 0
equal "  and is as it was" "$(sha256sum <src.tar)" "$before"
done_testing 25
