#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command that README.md and the manuals show, literally, in the order in which they show them, on inputs of the names that
# they use: it succeeds, and the images are clean. docker, skopeo and git are stood in for.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
[ -e "$XW_SRC/README.md" ] && [ -e "$XW_SRC/man/xw-mkfs.8" ] || skip_all "no README.md and manuals here"

# ---- inputs ----
mkdir -p tree/{etc,srv/www,var/log,boot} site
echo root:x:0:0 >tree/etc/passwd
for i in 1 2; do seq 9000 >"tree/var/log/$i.log"; done
echo page >site/index.html
tar cf rootfs.tar -C tree .
gzip -k rootfs.tar
tar czf patch.tar.gz -C site .
mkdir oci && python3 "$KIT/oci_make.py" oci && python3 - <<'P'
import json
with open('oci/oci-plain/index.json') as f:
    index = json.load(f)
for ref in 'web', '12':
    index['manifests'][0]['annotations'] = {'org.opencontainers.image.ref.name': ref}
    with open('index.' + ref, 'w') as f:
        json.dump(index, f)
P
layout() { cp -r "$T/oci/oci-plain" "$1" && cp "$T/index.$2" "$1/index.json"; }

mkdir bin
stub() { # NAME BODY
	printf '#!/bin/bash\n%s\n' "$2" >"bin/$1" && chmod +x "bin/$1"
}
stub docker "[ \"\$1\" = export ] && cat $T/rootfs.tar"
stub skopeo "[ \"\$1 \$3\" = 'copy oci:debian:12' ] && cp -r $T/oci/oci-plain debian && cp $T/index.12 debian/index.json"
stub git "[ \"\$1\" = log ] && echo 1700000000"
export PATH=$T/bin:$BIN:$PATH

# ---- recipes ----
disk() { # a disk image whose partition NUMBER begins at sector START and has COUNT sectors
	truncate -s $(((START + COUNT) * 512)) disk.img
	python3 - "$1" "$START" "$COUNT" <<'P'
import struct, sys
number, start, count = map(int, sys.argv[1:])
entry = struct.pack('<8xII', start, count)
entry = b'\0\0\0\0\x83' + entry[5:]
with open('disk.img', 'r+b') as f:
    f.seek(446 + 16 * (number - 1))
    f.write(entry)
    f.seek(510)
    f.write(b'\x55\xaa')
P
}
# inputs MANUAL: what its commands read.
inputs() {
	case $1 in
	README.md)
		cp "$T/rootfs.tar.gz" base.tar.gz && cp "$T/patch.tar.gz" app.tar.gz && cp "$T/patch.tar.gz" "$T/rootfs.tar" .
		cp -r "$T/tree" staging && layout layout web
		;;
	extwright.7) cp "$T/rootfs.tar" . ;;
	xw-age.8) "$MKFS" -q image 16M ;;
	xw-export.8)
		"$MKFS" -q -d "$T/tree" disk.img && cp disk.img old.img
		;;
	xw-fsck.8.in) "$MKFS" -q -d "$T/tree" disk.img 8M ;;
	xw-import.8)
		"$MKFS" -q -d "$T/tree" root.img 16M && cp root.img web.img && cp -r "$T/site" site
		for i in 1 2 3; do cp "$T/patch.tar.gz" layer$i.tar.gz; done
		START=526336 COUNT=32768
		disk 2 && "$MKFS" -q -F --partition 2 -d "$T/tree" disk.img
		;;
	xw-mkfs.8)
		cp "$T/rootfs.tar" . && cp -r "$T/tree" staging && cp -r "$T/tree/boot" boot
		START=2048 COUNT=32768
		disk 1
		;;
	xw-tune.8)
		"$MKFS" -q -d "$T/tree" copy.img 16M && "$MKFS" -q -d "$T/tree" big.img 16M && "$MKFS" -q -t ext3 -d "$T/tree" old.img 16M
		;;
	xw-undo.8) "$MKFS" -q -d "$T/tree" rootfs.img 16M ;;
	esac && if command -v zstd >/dev/null; then zstd -q "$T/rootfs.tar" -o rootfs.tar.zst; fi
}
# why_not COMMAND: the reason why it cannot run here.
why_not() {
	case $1 in
	*zst*) command -v zstd >/dev/null || echo "zstd is not installed" ;;
	*"| jq "*) command -v jq >/dev/null || echo "jq is not installed" ;;
	resize2fs*) command -v resize2fs >/dev/null || echo "resize2fs is not installed" ;;
	*oci:*) "$MKFS" -n -d "oci:$T/oci/oci-plain" none.img 2>&1 | grep -o "container images are not supported" ;;
	esac
}
for source in README.md man/{extwright.7,xw-age.8,xw-export.8,xw-fsck.8.in,xw-import.8,xw-mkfs.8,xw-tune.8,xw-undo.8}; do
	manual=${source#man/}
	mkdir "$T/of-$manual" && cd "$T/of-$manual" && inputs "$manual" || { fail "the inputs of $manual"; continue; }
	python3 "$KIT/recipes.py" "$XW_SRC/$source" >"$T/commands"
	while IFS= read -r command <&3; do
		why=$(why_not "$command")
		[ -z "$why" ] || { skip "$manual: $command" "$why" 1; continue; }
		# An example makes its image anew, although one before it has made one of this name.
		case $command in
		*--replace* | *--partition* | *" -n "*) ;;
		xw-mkfs* | *"| xw-mkfs"*) rm -f "$(grep -o '[^ =]*\.img' <<<"$command" | tail -n 1)" ;;
		esac
		is "$manual: $command" bash -c "set -o pipefail; $command"
	done 3<"$T/commands"
	bad=
	for image in *.img image; do
		[ -e "$image" ] && [ "$image" != journal.img ] || continue
		where=$image
		if [ "$image" = disk.img ] && [ -n "${START-}" ]; then where="disk.img?offset=$((START * 512))"; fi
		"$FSCK" -fn "$where" >"$T/.is" 2>&1 || bad="$bad $image: $(head -n 3 "$T/.is")"
	done
	START=
	equal "  and the images are clean" "$bad" ""
	cd "$T" && rm -rf "of-$manual"
done
done_testing 54
