#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of tests/examples, which show handles of the library: each does what its first comment says.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
for name in check source_cb tune age; do
	[ -x "$XW_BUILD/example_$name" ] || { echo "Bail out! $XW_BUILD/example_$name is not there: build the tests first"; exit 1; }
done
example() { "$XW_BUILD/example_$1" "${@:2}" >.out 2>.err; }

mkdir -p src/d && echo hello >src/d/file && seq 20000 >src/numbers && ln -s d/file src/link && chmod 640 src/numbers
tar cf a.tar --sort=name --owner=7 --group=8 --mtime=@1600000000 -C src .
mkfs -q -d a.tar wanted 16M
gzip -k a.tar
for archive in a.tar a.tar.gz; do
	rm -f img
	is "source_cb: $archive" example source_cb img 16M <$archive
	equal "  counts its files" "$(cat .out)" "2 files"
	clean img "  the image is clean"
	equal "  and has what xw-mkfs puts in it" "$("$BIN/xw-export" --order=name img | tar tv --numeric-owner --full-time | sort)" \
		"$("$BIN/xw-export" --order=name wanted | tar tv --numeric-owner --full-time | sort)"
	equal "  with its contents" "$("$BIN/xw-export" img numbers | tar xO)" "$(cat src/numbers)"
done
rm img
head -c 5000 a.tar >cut.tar
example source_cb img 16M <cut.tar
equal "what ends early fails" $? 1
is "  by its name" grep -q '^the archive: ' .err
is "  and leaves no image" test ! -e img

# The checker: what it prints, its status, and that of what is no image, are those of xw-fsck.
cp wanted img
"$BIN/xw-debugfs" -w -R "sif <11> links_count 7" -R "sif /numbers links_count 2" img >.out 2>&1
cp img hurt
line='Inode 11 (/lost+found) has link count 7, should be 2'
example check img
equal "check: errors are left" $? 4
equal "  which it names" "$(cat .out)" "$line
Inode 15 (/numbers) has link count 2, should be 1
2 errors, 2 left"
is "  and the image is as it was" cmp -s img hurt
example check -y img
equal "check -y: repaired" $? 1
equal "  and said so" "$(head -n 1 .out) $(tail -n 1 .out)" "$line (repaired) 2 errors, 0 left"
clean img "  the image is clean"
equal "  and has its contents" "$("$EXPORT" img | cksum)" "$("$EXPORT" wanted | cksum)"
example check img
equal "  the next time nothing is found" "$? $(cat .out)" "0 0 errors, 0 left"
example check a.tar
equal "check: no filesystem" "$? $(cat .out)" "8 "
"$BIN/xw-fsck" -fn a.tar >.out 2>wanted.err
equal "  in the words of xw-fsck" "$(cat .err)" "$(sed 's/^xw-fsck: //;q' wanted.err)"
# ---- changes: the images and the reports of the tools ----
mkfs -q -d src img 16M
cp img wanted && cp img whole
is "tune: label, features and reserved blocks" example tune img -L root -O ^has_journal,itree -r 99 now 1700000000
equal "  tells what was and is" "$(sed 's/: .*has_journal.* -> .*itree.*,/: .../' .out)" "root: ... by inside"
run_tool "$BIN/xw-tune" /dev/null -L root -O ^has_journal,itree -r 99 wanted
is "  as xw-tune does" cmp img wanted
example tune whole -L root -E stride=many
equal "  what is refused fails" $? 1
equal "  by option and value" "$(cat .err)" "-E stride=many: Invalid RAID stride: many"
example tune missing -L root
equal "  as does a missing image" "$? $(cut -d: -f1 .err)" "1 missing"
is "age: until two fifths are used" example age img 40% 7
unset SOURCE_DATE_EPOCH
mkdir tool && mv wanted tool/img
(cd tool && "$BIN/xw-age" --profile pazdera --until util=40% --seed 7 --json img >.out)
is "  as xw-age does" cmp img tool/img
equal "  with its report" "$(sed 1d .out)" "$(cat tool/.out)"
example age whole 0% 7
equal "  what is refused fails" $? 1
is "  by option and value" grep -q 'until util 0%: ' .err
is "  and the image is what it was" "$BIN/xw-fsck" -fn whole
done_testing 35
