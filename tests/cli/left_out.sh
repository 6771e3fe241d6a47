#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files whose first name an option leaves out: the first hard link to them that is selected gets contents and attributes, and later
# ones refer to it, as for a directory. The image does not depend on how an archive is read.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
export SOURCE_DATE_EPOCH=1700000000
ID=12345678-1234-1234-1234-123456789abc
make() { rm -f i.img && mkfs -q -U $ID -E hash_seed=$ID "$@" i.img; }
make_from() { rm -f i.img && mkfs_stdin "$1" -q -U $ID -E hash_seed=$ID "${@:2}" i.img; }
content() { "$DEBUGFS" -R "cat $1" i.img 2>/dev/null; }
links() { "$DEBUGFS" -R "stat $1" i.img 2>/dev/null | sed -n 's/.*Links: \([0-9]*\).*/\1/p'; }
paths() { "$EXPORT" i.img 2>/dev/null | tar -tf - | sed -E 's,^\./,,; /^$|lost\+found/d' | sort | xargs; }

# ---- kinds of files, formats, ways of reading ----

mkdir -p t/p t/q
head -c 300000 /dev/urandom >t/p/a
ln t/p/a t/q/b && ln t/p/a t/q/c
chmod 640 t/p/a
truncate -s 3M t/p/sparse
printf data | dd of=t/p/sparse bs=1 seek=1000000 conv=notrunc 2>/dev/null
ln t/p/sparse t/q/sparse && ln t/p/sparse t/q/sparse2
: >t/p/empty && ln t/p/empty t/q/empty
ln -s target t/p/symlink && ln t/p/symlink t/q/symlink
mkfifo t/p/fifo && ln t/p/fifo t/q/fifo
echo one >t/p/single
make --exclude p -d t
works "a directory"
rm -rf want && "$EXPORT" -x want i.img >/dev/null 2>&1
for format in gnu pax ustar newc odc; do
	case $format in
	ustar) tar --format=ustar --sort=name -cf t.$format -C t p q ;;
	gnu | pax) tar --format=$format -S --sort=name -cf t.$format -C t p q ;;
	*) (cd t && printf '%s\n' p p/* q q/* | cpio -oH $format 2>/dev/null) >t.$format ;;
	esac
	gzip -nc t.$format >t.$format.gz
	make --exclude p -d t.$format
	works "$format"
	cp i.img first.img
	for j in 1 3; do
		make --jobs $j --exclude p -d t.$format.gz && cmp i.img first.img
		make_from t.$format --jobs $j --exclude p -d - && cmp i.img first.img
		cat t.$format | "$MKFS" -q -U $ID -E hash_seed=$ID --jobs $j --exclude p -d - pipe.img && cmp pipe.img first.img
		rm -f pipe.img
	done >differ 2>&1
	equal "  compressed, standard input, pipe, threads: the same image" "$(cat differ)" ""
	rm -rf x && "$EXPORT" -x x first.img >/dev/null 2>&1
	for f in b c sparse sparse2 empty; do cmp x/q/$f t/q/$f; done >differ 2>&1
	equal "  contents" "$(cat differ)" ""
	stat -c '%n %F %a %s %h %Y %N' x/q/* | sed 's, x/, ,' >have
	(cd want && stat -c 'x/%n %F %a %s %h %Y %N' q/*) | sed 's, x/, ,; s,'"'"'q/,'"'"'x/q/,' >wanted
	is "  attributes and link counts as from the directory" cmp have wanted
	clean first.img "  consistent"
done
make --exclude p -d t.gnu
blocks=$(stat -c %s i.img)
make --exclude p -d t
equal "the image has no room for what is left out" "$blocks" "$(stat -c %s i.img)"
mkfs -q -U $ID -E hash_seed=$ID i2.img 16M
import -q --exclude p i2.img t.gnu.gz
works "xw-import, compressed"
equal "  contents" "$("$DEBUGFS" -R 'cat q/b' i2.img 2>/dev/null | sha256sum)" "$(sha256sum <t/p/a)"

# ---- members in any order ----

cat >members.py <<'EOF'
"""members.py OUT MEMBER...: a tar archive. NAME=TEXT[@TIME]: a file; NAME:TARGET[=TEXT]: a hard link, with contents; NAME/: a directory."""
import io, sys, tarfile
out = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT if "pax" in sys.argv[1] else tarfile.USTAR_FORMAT)
for m in sys.argv[2:]:
    name, _, text = m.partition("=")
    name, _, target = name.partition(":")
    text, _, time = text.partition("@")
    t = tarfile.TarInfo(name)
    t.mtime = int(time or 1000)
    t.mode = 0o755 if name.endswith("/") else 0o644
    t.type = tarfile.LNKTYPE if target else tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
    t.linkname = target
    t.size = len(text)
    out.fileobj.write(t.tobuf(out.format))
    out.fileobj.write(text.encode() + bytes(-len(text) % 512))
    out.offset = out.fileobj.tell()
out.close()
EOF
# Each line: options | members | names in the image | a name, its link count, its contents. It holds for a file and for compressed data.
n=0
while IFS='|' read -r options members names name count text; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	python3 members.py pax.tar $members
	gzip -nc pax.tar >pax.tgz
	for archive in pax.tar pax.tgz; do
		# shellcheck disable=SC2086
		make $options -d $archive
		have="$RC $(paths)|$(links "$name")|$(content "$name")"
		[ "$have" = "0 $names|$count|$text" ] || echo "$archive $options: $members: $have $(cat .err)"
	done
done >differ <<'EOF'
--exclude a|a=A b:a c:b d:a|b c d|d|3|A
--exclude a --exclude b|a=A b:a c:b|c|c|1|A
--exclude a --exclude b|a=A b:a c:b d:a|c d|d|2|A
--exclude b|a=A b:a c:b|a c|c|2|A
--exclude a|a=old a=new b:a|b|b|1|new
--exclude a|./a=A b:/a|b|b|1|A
--exclude a --exclude b|a=A b:a b=B c:b|c|c|1|B
--exclude a|a=A b:a b=B c:a|b c|c|1|A
--exclude a|a=A b:a=new c:a|b c|c|2|new
--exclude a|a=A b:a c:a=new|b c|b|2|new
--exclude c|a=A b:a c:a=new|a b|b|2|new
--exclude a --exclude b|a=A b:a=new c:a|c|c|1|new
--strip-components 1|a=A q/ q/b:a q/c:a|b c|c|2|A
--transform s,^a$,,|a=A b:a c:a|b c|c|2|A
--transform s,^a$,, --transform s,^b$,x/b,|a=A b:a|x/ x/b|x/b|1|A
--newer-mtime @2000|a=A@1000 b:a=@3000 c:a=@3000|b c|c|2|A
--newer-mtime @2000|a=old@1000 a=new@3000 b:a=@3000|a b|b|2|new
--newer-mtime @2000|a=old@3000 a=new@1000 b:a=@3000|a b|b|1|new
--exclude a --directory d|a=A b:a c:b|d/ d/b d/c|d/c|2|A
--exclude q|q/ q/a=A q/b:q/a c:q/b|c|c|1|A
EOF
equal "$n archives with members left out" "$n $(cat differ)" "20 "

# An existing file does not hide the one that is left out.
python3 members.py pax.tar a=old
mkfs -q -d pax.tar base.img 4M
python3 members.py pax.tar a=new b:a c:a
for archive in pax.tar pax.tgz; do
	cp base.img i.img
	gzip -nc pax.tar >pax.tgz
	import -q --exclude a i.img $archive
	equal "import of $archive over a file of that name" "$RC $(content a) $(content c) $(links b)" "0 old new 2"
done
cp base.img i.img
python3 members.py pax.tar x=new a:x c:x
import -q --exclude x --skip-old-files i.img pax.tar
equal "--skip-old-files" "$RC $(content a) $(content c) $(links c)" "0 old new 1"

# ---- limits ----

python3 members.py pax.tar a=contents b:a
python3 members.py lone.tar a=contents b=B
gzip -kf pax.tar lone.tar
make --spool-limit 4 --exclude a -d pax.tar
works "an archive in a file needs no temporary file"
make --spool-limit 4 --exclude a -d pax.tar.gz
fails 1 "pax.tar.gz: b: hard link to a, which is left out; the contents are lost: .* larger than --spool-limit, 4 bytes" "--spool-limit"
is "  no image is left" gone i.img
make --spool-limit 4 --exclude a -d lone.tar.gz
works "  which matters only for a hard link"
make --spool-limit 8 --exclude a -d pax.tar.gz
works "  exactly that size"
make --tmpdir nowhere --exclude a -d pax.tar.gz
fails 1 "the contents are lost: .*cannot create a temporary file in nowhere .*--tmpdir" "--tmpdir"
make --tmpdir nowhere --exclude a -d lone.tar.gz
works "  which matters only for a hard link"
make --tmpdir nowhere --exclude a --exclude b -d pax.tar.gz
works "  that is selected"
python3 members.py pax.tar b:a a=contents
make --exclude a -d pax.tar
fails 1 "hard link to a, which does not precede it" "a target that follows its link"

# cpio stores the contents with the last name.
mkdir c && echo contents >c/a && ln c/a c/b && ln c/a c/z
(cd c && printf '%s\n' a b z | cpio -oH newc 2>/dev/null) >c.cpio
for without in a z; do
	make --exclude $without -d c.cpio
	equal "cpio without $without" "$RC $(content b) $(links b)" "0 contents 2"
done
make --exclude a --exclude z -d c.cpio
equal "cpio without both" "$RC $(content b) $(links b)" "0 contents 1"

# A format that libarchive reads.
if command -v bsdtar >/dev/null; then
	bsdtar --format=iso9660 -cf c.iso -C c a b z
	make --exclude a -d c.iso
	equal "iso9660" "$RC $(content b) $(content z) $(links b)" "0 contents contents 2"
else
	skip "iso9660" "needs bsdtar" 1
fi

# ---- layers ----

python3 members.py pax1.tar a=low b:a
python3 members.py pax2.tar a=high .wh.b= c:a
for suffix in "" .gz; do
	[ -z "$suffix" ] || gzip -kf pax1.tar pax2.tar
	make --whiteouts apply --exclude a -d pax1.tar$suffix -d pax2.tar$suffix
	equal "layers$suffix" "$RC $(paths) $(content c)" "0 c high"
done
mkfs -d oci:. none.img
if grep -q "container images are not supported" .err; then
	skip "docker save" "a build without jansson and nettle" 3
else
	echo '[{"Config":"config.json","RepoTags":["x:1"],"Layers":["pax1.tar","pax2.tar.gz"]}]' >manifest.json
	echo '{"rootfs":{"type":"layers","diff_ids":["sha256:'"$(sha256sum <pax1.tar | cut -c-64)"'","sha256:'"$(sha256sum <pax2.tar | cut -c-64)"'"]},"os":"linux","architecture":"amd64","config":{}}' >config.json
	tar -cf save.tar manifest.json config.json pax1.tar pax2.tar.gz
	make --platform linux/amd64 --exclude a -d save.tar
	equal "docker save" "$RC $(paths) $(content c) $(cat .err)" "0 c high "
	cp i.img first.img
	rm -f i.img
	cat save.tar | "$MKFS" -q -U $ID -E hash_seed=$ID --platform linux/amd64 --exclude a -d - i.img
	is "  from a pipe" cmp i.img first.img
	make --exclude a --exclude c -d save.tar --platform linux/amd64
	equal "  without the link" "$RC $(paths)" "0 "
fi
done_testing 51
