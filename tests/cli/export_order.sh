#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The order of an archive: every extractor restores the times of directories, though files of one directory lie apart.
. "$(dirname "$0")/lib.sh"
[ -x "$IMPORT" ] || skip_all "xw-import is not built"

# An image whose directories were filled by turns, so that their data is interleaved.
mkdir -p t/one/in t/two t/three/deep/er t/empty
mkfs -q -O ^has_journal,^metadata_csum -d t img 16M
for i in 1 2 3 4; do
	for d in one one/in two three three/deep/er .; do
		rm -rf n
		mkdir -p n/$d
		head -c 5000 /dev/urandom >n/$d/file$i
		import -q --skip-old-files img n
		cp n/$d/file$i t/$d/
	done
done
"$DEBUGFS" -w -R 'mkdir /three/late' img >/dev/null 2>&1
mkdir t/three/late
day=1
for d in one one/in two three three/deep three/deep/er three/late empty .; do
	touch -d "2001-02-$day 03:04:05Z" t/$d
	"$DEBUGFS" -w -R "sif /$d mtime 200102$(printf %02d $day)030405" img >/dev/null 2>&1
	day=$((day + 1))
done
# Of the directory that is extracted to, bsdtar keeps the time.
times() { (cd "$1" && find . -mindepth 1 -type d ! -path ./lost+found -printf '%TY-%Tm-%Td %TH:%TM %p\n' | sort -k3); }
together() { # LIST: is every directory complete before what is beside it begins?
	awk -F/ '{ p = ""; n = NF - ($NF == "")
		for (i = 1; i < n; i++) { p = p $i "/"; if (left[p]) { print; exit } ; now[p] = NR }
		if ($NF == "") now[$0] = NR
		for (d in now) if (now[d] < NR) { left[d] = 1; delete now[d] } }' "$1"
}
"$EXPORT" -t --order disk img >disk.list
is "on the disk files of one directory are not together" test -n "$(together disk.list)"
"$EXPORT" -t img >tree.list
equal "in an archive they are" "$(together tree.list)" ""
"$EXPORT" img >tree.tar
"$EXPORT" -t --order tree img >again.list
is "  by that name, too" cmp tree.list again.list
equal "  the same names" "$(sort tree.list)" "$(sort disk.list)"
times t >want
for extractor in 'tar -xpf -' 'bsdtar -xpf -' 'busybox tar -xpf -'; do
	what=${extractor%% -*}
	if ! command -v ${extractor%% *} >/dev/null; then
		skip "$what: times of directories" "not installed" 2
		continue
	fi
	rm -rf x
	mkdir x
	(cd x && "$EXPORT" ../img 2>/dev/null | $extractor)
	times x >have
	is "$extractor: times of directories" diff have want
	is "  and contents" diff -r -x lost+found t x
done
rm -rf x
"$EXPORT" -q -x x img
times x >have
is "-x, which goes by the disk: times of directories" diff have want
"$EXPORT" -q --order tree -x y img
is "  the same by the tree" diff -r -x lost+found t y

# An ACL in the form of version 2, as tar2ext4 stores what an archive has: the attribute user.abcd becomes one.
if command -v python3 >/dev/null; then
	python3 - <<'PY'
import struct, tarfile, io
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in
	((1, 6, 0xFFFFFFFF), (2, 5, 1234), (4, 4, 0xFFFFFFFF), (16, 5, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)))
with tarfile.open("acl.tar", "w", format=tarfile.PAX_FORMAT) as t:
	i = tarfile.TarInfo("f"); i.size = 2; i.mode = 0o650
	i.pax_headers = {"SCHILY.xattr.user.abcd": acl.decode("utf-8", "surrogateescape")}
	t.addfile(i, io.BytesIO(b"x\n"))
PY
	mkfs -q -O ^metadata_csum,^has_journal -d acl.tar acl.img 1M
	perl -0777 -pi -e 's/\x04\x01(..........(?:....)?)abcd/\0\x02$1\0\0\0\0/s' acl.img
	"$EXPORT" acl.img >acl.out 2>.err
	equal "an ACL of version 2 is no damage" "$? $(cat .err)" "0 "
	is "  it is written as what it is" grep -aq 'SCHILY.acl.access=user::rw-,user:.*1234.*:r-x' acl.out
	mkfs -q --replace -d acl.out acl2.img
	is "  and an image of the archive has it as Linux wants it" perl -0777 -ne 'exit !/\x01\0\0\0\x01\0\x06\0\x02\0\x05\0\xd2\x04/' acl2.img
else
	skip "an ACL of version 2" "python3 is not installed" 3
fi
done_testing 15
