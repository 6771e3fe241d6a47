#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of a run with container images besides the image: the temporary one that a pipe needs, and the configuration.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
mkfs -d oci:. i
! grep -q "container images are not supported" .err || skip_all "a build without jansson and nettle"
python3 "$KIT/oci_make.py" . || { echo "Bail out! no images were made"; exit 1; }
gzip -k save-new.tar
SIZE=$(stat -c %s save-new.tar)

# ---- --tmpdir, --spool-limit ----

mkdir tmp
made() { is "$1" test -s i; equal "  nothing is left in the directory" "$(ls -A tmp)" ""; rm -f i; }
refused() { # REGEX DESCRIPTION
	fails 1 "piped or compressed container image is spooled to a temporary file in $1" "$2"
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
fails 1 "cannot create a temporary file in nowhere .--tmpdir DIR selects another directory" "--tmpdir that does not exist"
mkfs -q --tmpdir nowhere -d save-new.tar i
works "  an archive that is a file needs none"
rm -f i
piped tmp --spool-limit "$SIZE"
made "--spool-limit that is just enough"
piped tmp --spool-limit $((SIZE - 1))
refused "tmp.*: it is larger than --spool-limit, $((SIZE - 1)) bytes .--tmpdir DIR selects another directory" "  and one byte less"
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
fails 1 "cannot create a temporary file in nowhere" "xw-import --tmpdir"
rm -f i
if is_root && mkdir small && mount -t tmpfs -o size=512k none small 2>/dev/null; then
	at_end "umount '$T/small'"
	piped small
	refused "small .tmpfs, memory.: the filesystem is nearly full after [0-9]+ bytes .--tmpdir DIR selects another directory, --spool-limit SIZE" \
		"a small filesystem is not filled" small
	piped small --spool-limit 1G
	refused "small .tmpfs, memory.: no space is left after [0-9]+ bytes" "  unless --spool-limit says so" small
	umount small
else
	skip "a small filesystem" "needs root for a small tmpfs" 6
fi

# ---- --oci-config ----

same_config() { is "$1" cmp "$2" wanted; }
mkfs -q --oci-config wanted -d oci-gzip i
is "--oci-config: the configuration of the image" grep -q '"User": "1000"' wanted
rm -f i
mkfs -q --oci-config c.json -d oci-gzip i
works "--oci-config"
same_config "  a new file" c.json
equal "  with the permissions that any new file gets" "$(stat -c %a c.json)" "$(touch other && stat -c %a other)"
rm -f i
echo precious >c.json && chmod 600 c.json && ln c.json c.hard && ln -sf c.json c.link
mkfs -q --oci-config c.json -d oci-gzip i 1M
fails 1 "too small" "a run that fails after all sources were read"
equal "  the file stays what it was" "$(cat c.json)" precious
mkfs -q --oci-config c.json -d digest-gzip i
fails 1 "its digest is" "  also with a damaged layer"
equal "  the file stays what it was" "$(cat c.json)" precious
mkfs -q i 300K
import -q --oci-config c.json i oci-gzip
equal "  xw-import without room, too" "$RC $(cat c.json)" "1 precious"
rm -f i
mkfs -n --oci-config c.json -d oci-gzip i 64M
equal "  and -n" "$RC $(cat c.json)" "0 precious"
mkfs -q --oci-config c.link -d oci-gzip i
works "the target of a symlink is replaced"
same_config "  by a whole file" c.json
equal "  with its permissions; the symlink stays, another name keeps the old one" \
	"$(stat -c %a c.json) $(readlink c.link) $(cat c.hard)" "600 c.json precious"
equal "  nothing else is left there" "$(ls -A | grep -c '^\.c\.json')" 0
rm -f i
mkfs -q --oci-config tmp -d oci-gzip i
fails 1 "oci-config tmp: Is a directory" "a directory"
is "  nothing is made" gone i
mkfs -q --oci-config new.img -d oci-gzip ./new.img
fails 2 "oci-config new.img: is also the image or a source" "a file that does not exist yet, and is the image"
is "  nothing is made" gone new.img
mkfs -q -F i 64M
cp i before
printf '%s\n' 'tmp|tmp: Is a directory|oci-gzip' 'none/c|none/c: cannot open: No such file|oci-gzip' \
	'c.json/c|c.json/c: cannot open: Not a directory|oci-gzip' 'c|no source is a container image|l1.tar' >lines
while IFS='|' read -r file message source; do
	mkfs -q -F --oci-config "$file" -d "$source" i
	fails 1 "oci-config:* *$message" "an existing image, and $message"
	is "  it is not overwritten" cmp i before
done <lines
rm -f i
mkfifo fifo
"$MKFS" -q --oci-config fifo -d oci-gzip i >.out 2>.err &
pid=$!
for ((n = 0; n < 200; n++)); do
	[ ! -s i ] || break
	sleep 0.05
done
is "a FIFO: the image is made before it is opened" test -s i
same_config "  and it gets the configuration" fifo
wait $pid
equal "  status" "$?" 0
for file in - /dev/stdout; do
	rm -f i
	mkfs --oci-config $file -d oci-gzip i
	works "--oci-config $file"
	same_config "  nothing else on standard output" .out
	"$MKFS" --oci-config $file -d oci-gzip --replace i 2>.err | cat >piped
	same_config "  in a pipe" piped
	mkfs --json --oci-config $file -d oci-gzip i
	fails 2 "oci-config $file and --json both write to standard output" "  not with --json"
done
rm -f i
mkfs -q i 64M
import --oci-config - i oci-gzip
works "  xw-import"
same_config "  likewise" .out
rm -f i
if [ -w /dev/full ]; then
	mkfs -q --oci-config /dev/full -d oci-gzip i
	fails 1 "oci-config /dev/full .the image is complete.: No space left" "a device without room: the message says what is done"
	is "  which is the image" test -s i
else
	skip "/dev/full" "is not there" 2
fi
rm -f i
if is_root && touch c.bind && mount --bind c.bind c.json 2>/dev/null; then
	at_end "umount '$T/c.json'"
	mkfs -q --oci-config c.json -d oci-gzip i
	works "a file that is a mount point"
	same_config "  is written in place" c.bind
	umount c.json
else
	skip "a file that is a mount point" "needs root for a bind mount" 2
fi
done_testing 70
