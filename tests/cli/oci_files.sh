#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of a run with container images besides the image: the temporary one that a pipe needs, and the configuration.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
mkfs -d oci:. i
! grep -q "this build reads no container images" .err || skip_all "a build without jansson and nettle"
python3 "$KIT/oci_make.py" . || { echo "Bail out! no images were made"; exit 1; }
gzip -k save-new.tar
SIZE=$(stat -c %s save-new.tar)

# ---- --tmpdir, --spool-limit ----

mkdir tmp
made() { is "$1" test -s i; equal "  nothing is left in the directory" "$(ls -A tmp)" ""; rm -f i; }
refused() { # REGEX DESCRIPTION
	fails 1 "container image that is piped or compressed as a whole is kept in a temporary file in $1" "$2"
	is "  nothing is made" gone i
	equal "  nothing is left in the directory" "$(ls -A "${3:-tmp}")" ""
}
piped() { # ARGS...: the archive through a pipe
	RC=0
	cat save-new.tar | "$MKFS" -q --tmpdir "$@" -d - i >.out 2>.err || RC=$?
	T_TOOL=xw-mkfs T_ARGS="--tmpdir $* -d - i"
}
TMPDIR=$T/nowhere piped tmp
works "--tmpdir, where TMPDIR does not exist"
made "  the image is made"
mkfs -q --tmpdir nowhere -d save-new.tar.gz i
fails 1 "cannot make a temporary file in nowhere .--tmpdir DIR: elsewhere" "--tmpdir that does not exist"
mkfs -q --tmpdir nowhere -d save-new.tar i
works "  an archive that is a file needs none"
rm -f i
piped tmp --spool-limit "$SIZE"
made "--spool-limit that is just enough"
piped tmp --spool-limit $((SIZE - 1))
refused "tmp.*: it is larger than --spool-limit, $((SIZE - 1)) bytes .--tmpdir DIR: elsewhere" "  and one byte less"
mkfs -q --tmpdir tmp --spool-limit 64K -d save-new.tar.gz i
refused "tmp.*larger than --spool-limit, 65536 bytes" "  of a compressed archive"
piped tmp --spool-limit 0
refused "tmp.*larger than --spool-limit, 0 bytes" "  0: no temporary file"
cat l1.tar | "$MKFS" -q --tmpdir tmp --spool-limit 0 -d - i 2>.err
made "  which an ordinary archive does not need"
for bad in x 1Q -1 ''; do
	mkfs --spool-limit "$bad" -d save-new.tar i
	[ $RC != 2 ] || grep -c 'spool-limit: ".*" is not a size' .err
done >.said
equal "--spool-limit with what is no size" "$(tr -d '\n' <.said)" 1111
(ulimit -f 200; piped tmp; echo $RC) >.status
equal "a limit of the shell for file sizes" "$(cat .status) $(grep -c 'temporary file in tmp.*the file size limit is reached after [0-9]* bytes' .err)" "1 1"
mkfs -q i 64M
T_TOOL=xw-import
run_tool "$IMPORT" <(cat save-new.tar) -q --tmpdir nowhere i -
fails 1 "cannot make a temporary file in nowhere" "xw-import --tmpdir"
rm -f i
if is_root && mkdir small && mount -t tmpfs -o size=512k none small 2>/dev/null; then
	at_end "umount '$T/small'"
	piped small
	refused "small .tmpfs, memory.: the filesystem is nearly full after [0-9]+ bytes .--tmpdir DIR: elsewhere, --spool-limit SIZE" \
		"a small filesystem is not filled" small
	piped small --spool-limit 1G
	refused "small .tmpfs, memory.: no space is left after [0-9]+ bytes" "  unless --spool-limit says so" small
	umount small
else
	skip "a small filesystem" "needs root for a small tmpfs" 6
fi
done_testing 27
