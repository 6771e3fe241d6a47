#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Container images against umoci, and skopeo before it: what xw-mkfs makes of an image is what they unpack. XW_SEEDS: how many
# made-up images (20: each of ten forms twice).
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
command -v umoci >/dev/null || skip_all "umoci is not installed"
can_loop || skip_all "needs root and loop devices"
mkfs -d oci:. i
! grep -q "container images are not supported" .err || skip_all "a build without jansson and nettle"
at_end "umount mnt"
compared() { python3 "$XW_SRC/tests/oracle/oci_umoci.py" "$MKFS" "$KIT" "$@"; }
is "images of umoci" compared real
sed 's/^/# /' .is
if command -v skopeo >/dev/null; then
	equal "  and of skopeo" "$(grep -c 'skopeo.* names$' .is)" 3
else
	skip "  and of skopeo" "skopeo is not installed" 1
fi
if buildah --root "$T/probe" --runroot "$T/probe.run" --storage-driver vfs from scratch >/dev/null 2>&1; then
	is "images of buildah" compared buildah
	sed 's/^/# /' .is
	equal "  three, and their names" "$(grep -c ' [1-9][0-9]* names$' .is)" 5
else
	skip "images of buildah" "buildah is not installed, or cannot work here" 2
fi
is "made-up images" compared random 1 "${XW_SEEDS:-20}"
equal "  all of them" "$(grep -c 'seed .* names$' .is)" "${XW_SEEDS:-20}"
done_testing 6
