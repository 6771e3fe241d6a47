#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Container images as sources. An image is what its layers are as tar archives, given one by one, byte for byte; tests/oracle/oci.sh
# asks umoci what they should be.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
mkfs -d oci:. i
! grep -q "container images are not supported" .err || skip_all "a build without jansson and nettle"

python3 "$KIT/oci_make.py" . || { echo "Bail out! no images were made"; exit 1; }
ID=12345678-1234-1234-1234-123456789abc
export SOURCE_DATE_EPOCH=1700000000
make() { mkfs -q -U $ID -E hash_seed=$ID "$@"; }
layers() { # IMAGE NUMBER...: from the tars
	local image=$1 n d=()
	shift
	for n in "$@"; do d+=(-d "l$n.tar"); done
	"$MKFS" -q -U $ID -E hash_seed=$ID --whiteouts apply "${d[@]}" "$image" 2>/dev/null
}
while IFS=$'\t' read -r name wanted options; do
	rm -f i
	want="want ${wanted// /-}"
	# shellcheck disable=SC2086
	[ -e "$want" ] || layers "$want" $wanted
	# shellcheck disable=SC2086
	make $options -d "$name" i
	what="$name${options:+ with $options}"
	if [ "$RC" != 0 ] || [ -s .err ]; then fail "$what"; else is "$what" cmp i "$want"; fi
done <good.txt
command -v zstd >/dev/null || skip "images compressed by zstd" "zstd is not installed" 15
while IFS=$'\t' read -r name status message options; do
	rm -f i
	# shellcheck disable=SC2086
	make $options -d "$name" i
	what="$name${options:+ with $options} is refused"
	if gone i; then fails "$status" "$message" "$what"; else fail "$what: there is an image"; fi
done <bad.txt

# What a target held is not lost to a damaged image.
make i 4M && cp i was
make --replace -d digest-gzip i
fails 1 "its digest is" "--replace with a damaged image"
is "  keeps the old one" cmp i was

# Pipes: the list of images comes last.
mkdir tmp
tar -cf blobs-first.tar -C archived blobs oci-layout index.json # begins with the directory, not with a blob
for archive in save-old.tar save-new.tar save-crane.tar archive.tar archive.tar.gz dotted.tar blobs-first.tar; do
	rm -f i
	RC=0
	cat $archive | TMPDIR=$T/tmp "$MKFS" -q -U $ID -E hash_seed=$ID -d - i 2>.err || RC=$?
	T_ARGS="-d - ($archive)"
	works "$archive from a pipe"
	is "  is the same" cmp i "want 1-2-3"
done
cat save-new.tar | "$MKFS" -q -U $ID -E hash_seed=$ID -d docker-archive:-:example/app:1.0 j 2>.err
is "docker-archive:-:TAG" cmp j "want 1-2-3"
equal "no temporary file is left" "$(ls tmp)" ""
RC=0
cat save-new.tar | TMPDIR=$T/nowhere "$MKFS" -q -d - k 2>.err || RC=$?
fails 1 "cannot create a temporary file in $T/nowhere .--tmpdir DIR selects another directory" "a pipe without room for its layers"
rm -f j k
RC=0
head -c 200000 save-new.tar | TMPDIR=$T/tmp "$MKFS" -q -d - k 2>.err || RC=$?
fails 1 "standard input: .*the archive ends inside it" "a pipe that ends early"
cat l1.tar | TMPDIR=$T/nowhere "$MKFS" -q -d - k 2>.err
is "an ordinary archive needs none" test -s k

# The other meaning.
rm -f i
make --no-oci -d save-new.tar i
works "--no-oci"
is "  stores the files" grep -q /manifest.json/ <("$DEBUGFS" -R 'ls -p /' i)
rm -f i
mkdir -p "oci:dir" && echo x >"oci:dir/x"
make --no-oci -d oci:dir i
is "  and oci: is part of a name" grep -q /x/ <("$DEBUGFS" -R 'ls -p /' i)
mkdir web && echo '{"name": "app"}' >web/manifest.json && tar -cf web.tar -C web manifest.json
rm -f i
make -d web.tar i
works "another manifest.json"
is "  is a file" grep -q /manifest.json/ <("$DEBUGFS" -R 'ls -p /' i)
rm -f i
make -d no-layers i
works "an image without layers"

# What no digest describes does not come from elsewhere.
mkdir -p linked/one && cp l1.tar outside.tar && cp l1.tar linked/one/layer.tar && echo '{"os": "linux"}' >linked/c.json
echo '[{"Config": "c.json", "Layers": ["layer.tar"]}]' >linked/manifest.json
ln -s one/layer.tar linked/layer.tar
rm -f i
make -d docker-archive:linked i
is "a directory of docker save with a symlink in it" cmp i "want 1"
ln -sfn ../outside.tar linked/layer.tar
rm -f i
make -d docker-archive:linked i
fails 1 "layer.tar: symlink leads out of the image, and no digest verifies" "  and one that leads out"
is "  nothing is made" gone i
cp l1.tar linked/layer.tar.new && mv linked/layer.tar.new linked/layer.tar && mv linked/c.json . && ln -s ../c.json linked/c.json
make --oci-config config.json -d docker-archive:linked i
fails 1 "c.json: symlink leads out of the image" "  also of the configuration"
is "  nothing is made" gone i config.json
cp -r oci-plain shared && mv shared/blobs/sha256 store && ln -s ../../store shared/blobs/sha256
rm -f i
make -d shared i
is "but blobs may be in a common store" cmp i "want 1-2-3"

# Its configuration.
for source in oci-plain save-old.tar docker-archive:both.tar; do
	rm -f i config.json
	make --oci-config config.json -d $source i
	equal "--oci-config of $source" "$(python3 -c 'import json; c = json.load(open("config.json"))["config"]; print(c["Env"], c["User"])')" \
		"['PATH=/bin'] 1000"
done
rm -f i config.json
make --oci-config config.json -d oci-plain -d l1.tar -d one-layer i
equal "  the last image's" "$(python3 -c 'import json; print(len(json.load(open("config.json"))["rootfs"]["diff_ids"]))')" 1
rm -f i
make --oci-config config.json -d l1.tar i
fails 1 "oci-config: no source is a container image" "  without an image"
is "  nothing is made" gone i
cp save-old.tar kept.tar
make --oci-config kept.tar -d kept.tar i
fails 2 "oci-config kept.tar: is also the image or a source" "  where the source is"
is "  which stays" cmp save-old.tar kept.tar
make i 4M && cp i was && ln -s i also
make -F --oci-config also -d oci-plain i
fails 2 "oci-config also: is also the image or a source" "  or the image"
import --oci-config also i oci-plain
fails 2 "oci-config also: is also the image or a source" "  with xw-import as well"
is "  which stays" cmp i was
rm -f i
make --oci-config nowhere/config.json -d oci-plain i
fails 1 "oci-config nowhere/config.json: cannot open: No such file" "  where it cannot be written"
is "  nothing is made" gone i

# Another machine's image without a word.
rm -f i
make -d other-machine i
is "the only image is for another machine: a warning" grep -Eq "warning: other-machine: is an image for linux/.*--platform linux/.* suppresses this warning" .err
equal "  and it is made" "$RC" 0

# With other sources, and with options.
rm -f i
make -d oci:names:one -d l2.tar -d l3.tar i
is "an image and archives" cmp i "want 1-2-3"
rm -f i j
make --jobs 1 -d oci-gzip i
is "--jobs 1" cmp i "want 1-2-3"
rm -f i
make --whiteouts keep -d oci-gzip i
is "--whiteouts keep" grep -q /.wh.gone/ <("$DEBUGFS" -R 'ls -p /etc' i)
rm -f i
make --directory images/one --exclude etc -d oci-gzip i
equal "--directory and --exclude" "$("$DEBUGFS" -R 'ls -p /images/one' i | cut -d/ -f6 | sort | xargs)" \
	". .. bin dev file-to-dir home link-to-dir mixed never opaque to-file to-link usr var"
rm -f i
make -d aufs i
works "what aufs keeps"
equal "  is not part of the image" "$("$DEBUGFS" -R 'ls -p /' i | cut -d/ -f6 | grep -c wh)" 0
equal "  but its links are" "$("$DEBUGFS" -R 'cat /linked' i 2>&1)" linked
for name in empty-plain empty-gzip; do
	rm -f i
	make -d $name i
	is "$name: a layer without a byte" cmp i "want 1"
	is "  of which is said so" grep -q "layer 2 of 2 .*end-of-archive mark is missing" .err
done
rm -f i
make -d unmarked i
works "a layer that ends without the end-of-archive mark"
equal "  its digest is verified: no warning" "$(cat .err)" ""
for name in save-oldest save-oldest.tar; do
	rm -f i
	make -d $name i
	is "$name is stored as files, with a warning" grep -q "warning: $name: an archive of docker save before 1.10: its layers are stored as files, .*lowest first" .err
done
for name in docker://debian:12 docker-daemon:debian containers-storage:debian; do
	mkfs -d $name j
	fails 1 "$name: no such file; .*skopeo copy $name oci:PATH" "$name"
done
mkdir -p plain && mkfs -q --platform linux/arm64 -d plain j
is "--platform, and no container image: a warning" grep -q "warning: --platform: no source is a container image" .err
rm -f j
rm -f i
make -d attributes i
equal "extended attributes of a directory are those of its highest layer" \
	"$("$DEBUGFS" -R 'ea_list /dir' i 2>&1 | grep -o 'user\.[a-z]*' | xargs)" user.two
is "  which keeps what is in it" grep -q /file/ <("$DEBUGFS" -R 'ls -p /dir' i)

# xw-import
rm -f i j
make i 64M && make j 64M && import -q --whiteouts apply j l1.tar l2.tar l3.tar
import -q -C . i oci-gzip
works "xw-import of an image"
exported() { "$EXPORT" --order name -o - "$1" | sha256sum; }
equal "  is that of its layers" "$(exported i)" "$(exported j)"
mkdir -p sub && mv save-old.tar archived sub/
rm i && make i 64M
import -q -C sub i docker-archive:save-old.tar:example/app:1.0
equal "  -C before a prefix" "$(exported i)" "$(exported j)"
rm i && make i 64M && cp i was
import -q i digest-gzip
fails 1 "digest-gzip: layer 2 of 3 .*its digest is" "  a damaged one is refused"
is "  and changes nothing" cmp i was
import -q i l1.tar platforms --platform linux/amd64/v1/x
fails 2 'is not OS/ARCH' "  a wrong platform"
clean i "  e2fsck"
done_testing 205
