#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tables of what an image is to have: devices, owners and capabilities of Android, SELinux labels.
. "$(dirname "$0")/lib.sh"
[ -x "$IMPORT" ] || skip_all "xw-import is not built"
export SOURCE_DATE_EPOCH=1700000000

list() { "$EXPORT" --order name "$1" 2>/dev/null | tar --numeric-owner -tvf - | awk '{ print $6, $1, $2, $3 }' | grep -v '^./ ' | sed -E 's/ [0-9]+$//'; }

# ---- devices ----

mkdir -p root/etc root/dev
echo passwd >root/etc/passwd
chmod 755 root root/etc root/dev
cat >table <<'T'
# name	type	mode	uid	gid	major	minor	start	inc	count
/dev	d	750	0	0	-	-	-	-	-
/dev/tty	c	666	0	5	5	0	0	1	3	# the terminals
/dev/sda	b	640	0	6	8	16	2	4	2

/dev/null	c	666	root	root	1	3
/run/initctl	p	600	1	2	-	-	-	-	-
/etc/passwd	f	4711	7	8	-	-	-	-	-
/etc/shadow	f	600	0	42	-	-	-	-	-
/etc/none	F	600	0	42	-	-	-	-	-
T
want="dev/ drwxr-x--- 0/0
dev/null crw-rw-rw- 0/0 1,3
dev/sda2 brw-r----- 0/6 8,16
dev/sda3 brw-r----- 0/6 8,20
dev/tty0 crw-rw-rw- 0/5 5,0
dev/tty1 crw-rw-rw- 0/5 5,1
dev/tty2 crw-rw-rw- 0/5 5,2
etc/ drwxr-xr-x $(stat -c %u/%g root/etc)
etc/passwd -rws--x--x 7/8
etc/shadow -rw------- 0/42
run/ drwxr-xr-x 0/0
run/initctl prw------- 1/2"
mkfs -q --device-table table -d root img
works "--device-table"
equal "  devices, owners, modes" "$(list img)" "$want"
equal "  contents stay" "$("$EXPORT" img etc/passwd | tar -xOf -)" passwd
clean img "  e2fsck"
mkfs -q --device-table table -d root --exclude '*' --owner 9 --mode 0 --replace img2
works "  no option for sources applies"
equal "  so the devices are the same" "$(list img2 | grep ^dev)" "$(grep ^dev <<<"$want")"
mkfs -q --device-table table img3 2M
works "  without a source"
equal "  files are empty then" "$(list img3 | grep -c .)" 12
mkfs -q img4 2M
import -q --device-table table img4 root
works "  xw-import"
equal "  the same" "$(list img4)" "$want"
import -q --device-table table img4 root
works "  and again, where the source has the files"
sed s,4711,4755, table >other
import -q --device-table other img4 root/dev
fails 1 "other: line 8: /etc/passwd: exists in the image with another owner or mode" "  a file that only the image has stays"
clean img4 "  e2fsck"
if command -v genext2fs >/dev/null && command -v debugfs >/dev/null; then
	grep -v -e initctl -e none -e sda -e /dev/null table | sed 's/#.*//' >stock
	genext2fs -q -b 500 -d root -D stock stock.img >.out 2>&1
	mkfs -q --device-table stock -d root --replace img
	for d in /dev /etc; do
		for i in img stock.img; do
			debugfs -R "ls -l $d" $i 2>/dev/null | awk '$NF !~ /^\.\.?$/ && NF { print $2, $4, $5, $NF }' | sort >$i.list
		done
		cmp img.list stock.img.list || cat img.list stock.img.list
	done >.diff
	is "  genext2fs makes the same of it" test ! -s .diff
else
	skip "  genext2fs makes the same of it" "genext2fs or debugfs is not installed" 1
fi
mkfifo root/etc/pipe
ln -s passwd root/etc/link
number=0
while IFS='|' read -r line why; do
	number=$((number + 1))
	status=2 # the table is malformed; 1: it contradicts the source
	[ "${line#/etc}" = "$line" ] || status=1
	printf '# one\n%s\n' "$line" >bad
	mkfs -q --device-table bad -d root bad.img
	[ $RC = $status ] && grep -q "bad: line 2: .*$why" .err && gone bad.img || echo "$line: $RC $(cat .err)"
done >refused <<'BAD'
/dev/x|must be NAME
/etc f 600 0 0|/etc: is a directory in the image, not a regular file as in the table
/etc/passwd d 700 0 0|/etc/passwd: is a regular file in the image, not a directory as in the table
/etc/passwd p 600 0 0|/etc/passwd: is a regular file in the image, not a FIFO
/etc/passwd c 600 0 0 1 3|/etc/passwd: is a regular file in the image, not a character device
/etc/link f 600 0 0|/etc/link: is a symbolic link in the image, not a regular file
/etc/link F 600 0 0|/etc/link: is a symbolic link in the image, not a regular file
/etc/link d 700 0 0|/etc/link: is a symbolic link in the image, not a directory
/etc/pipe f 600 0 0|/etc/pipe: is a FIFO in the image, not a regular file
/etc/pipe b 600 0 0 7 0|/etc/pipe: is a FIFO in the image, not a block device
BAD
equal "  what is no table is refused, with the line" "$(cat refused)" ""
mkfs -q --replace img4 2M
import -q img4 root
cp img4 was
printf '/etc/new f 644 0 0\n/etc/link f 600 0 0\n' >bad
import -q --device-table bad img4 root/dev
fails 1 "bad: line 2: /etc/link: is a symbolic link in the image, not a regular file" "  nor of the image of xw-import"
is "  which stays what it is" cmp img4 was
printf '/dev/x c 600 0 0 4095 1048573 4294967292 1 3\n/etc/passwd f 600 5 6\n/etc/pipe p 640 5 6\n/etc d 711 5 6\n' >limits
mkfs -q --replace --device-table limits -d root img
works "  the largest numbers"
equal "  devices, and what keeps its kind" "$(list img)" "dev/ drwxr-xr-x $(stat -c %u/%g root/dev)
dev/x4294967292 crw------- 0/0 4095,1048573
dev/x4294967293 crw------- 0/0 4095,1048574
dev/x4294967294 crw------- 0/0 4095,1048575
etc/ drwx--x--x 5/6
etc/link lrwxrwxrwx $(stat -c %u/%g root/etc/link)
etc/passwd -rw------- 5/6
etc/pipe prw-r----- 5/6"
equal "  contents stay" "$("$EXPORT" img etc/passwd | tar -xOf -)" passwd
mkfs -q --device-table nothing -d root bad.img
fails 1 "nothing: cannot open" "  a table that is not there"

# ---- fs_config ----

mkdir -p lt/etc/sub lt/usr
echo x >lt/etc/passwd
echo y >lt/etc/other
ln -s x lt/usr/l
chmod 755 lt lt/etc lt/etc/sub lt/usr
printf '# comment\n 0 0 0711\nsystem/etc 1 2 0750 selabel=ignored\nsystem/etc/passwd 3 4 0640 capabilities=0x400000000c0\nsystem/usr/l 5 6 0700\nsystem/none 1 1 1\n' >conf
sed 's,^system/,,' conf >conf.root
tar --owner 9 --group 9 -C lt -cf lt.tar etc/passwd etc/other etc/sub usr/l
for source in lt lt.tar; do
	[ $source != lt.tar ] || sed -i 's,^ 0 0 0711,system 0 0 0711,' conf
	mkfs -q --replace --fs-config conf --mount-point /system -d $source img
	works "--fs-config, $source"
	equal "  owners and modes" "$(list img | grep -E '^(etc/|etc/passwd|usr/l) ')" "etc/ drwxr-x--- 1/2
etc/passwd -rw-r----- 3/4
usr/l lrwxrwxrwx 5/6"
	"$DEBUGFS" -R 'ea_list /etc/passwd' img >.out 2>&1
	is "  capabilities" grep -qE 'security.capability \(20\) = 01 00 00 02 c0 00 00 00 00 00 00 00 00 04 00 00 00 00 00 00' .out
done
mkfs -q --replace --fs-config conf.root -d lt img
equal "  without a mount point; the root, too" "$("$DEBUGFS" -R 'stat /' img 2>/dev/null | grep -oE 'Mode: *0[0-7]+')" "Mode:  0711"
mkfs -q --replace img 2M
import -q --fs-config conf.root img lt.tar
equal "  xw-import" "$RC $(list img | grep passwd)" "0 etc/passwd -rw-r----- 3/4"
printf 'etc 1 2\n' >bad
mkfs -q --fs-config bad -d lt bad.img
fails 2 "bad: line 1: must be PATH UID GID MODE" "  what is no table is refused"

printf 'etc 1 2 010755\n' >bad
mkfs -q --fs-config bad -d lt bad.img
fails 2 "bad: line 1: must be PATH UID GID MODE .*MODE in octal up to 7777" "  a mode with more than permissions, too"
printf 'etc 1 2 0755\nusr 1 2 0700\n/etc/ 1 2 0755\n' >twice
mkfs -q --replace --fs-config twice -d lt img
equal "  a path twice with the same values" "$RC $(list img | grep '^etc/ ')" "0 etc/ drwxr-xr-x 1/2"
{ cat twice; echo '/etc/ 1 3 0755'; } >bad
mkfs -q --fs-config bad -d lt bad.img
fails 2 "bad: line 4: line 3 has different values for /etc" "  with other values it is refused, with both lines"
echo 'etc 3 2 0755' >more
mkfs -q --fs-config twice --fs-config more -d lt bad.img
fails 2 "more: line 1: line 3 of an earlier table has different values for /etc" "  also from another table"

# An existing image is not overwritten before all tables were read.
mkfs -q --replace kept 2M
cp kept before
echo '/dev/x c 640' >bad
for args in '--device-table nothing' '--device-table bad' '--fs-config nothing' '--fs-config bad'; do
	mkfs -q -F $args -d lt.tar kept
	[ $RC != 0 ] && cmp -s kept before || echo "$args: $RC"
done >.said
equal "a table that cannot be used, and an existing image" "$(cat .said)" ""

# ---- file_contexts ----

cat >contexts <<'C'
/	-d	u:object_r:rootfs:s0
/etc(/.*)?	u:object_r:etc_t:s0
/etc/passwd	--	u:object_r:passwd_t:s0
/usr/.*	-l	u:object_r:link_t:s0
/lost\+found	-d	u:object_r:lost_t:s0
C
# labels IMAGE PATH...
labels() {
	local i=$1 p
	shift
	for p in "$@"; do "$DEBUGFS" -R "ea_list $p" "$i" 2>/dev/null | grep -oE 'object_r:[a-z_]+' || echo none; done | tr '\n' ' '
}
mkfs -q --replace --file-contexts contexts -d lt img
if [ $RC = 2 ] && grep -q 'built without libselinux' .err; then
	skip "--file-contexts" "built without libselinux" 9
else
	works "--file-contexts"
	what="/ /etc /etc/sub /etc/passwd /usr /usr/l /lost+found"
	want="object_r:rootfs object_r:etc_t object_r:etc_t object_r:passwd_t none object_r:link_t object_r:lost_t "
	equal "  labels by path and type" "$(labels img $what)" "$want"
	clean img "  e2fsck"
	mkfs -q --replace --file-contexts contexts -d lt.tar -O inline_data img
	equal "  of an archive, whose directory has no entry, beside contents in the inode" "$RC $(labels img $what)" "0 $want"
	clean img "  e2fsck"
	mkfs -q --replace img 2M
	import -q --file-contexts contexts img lt.tar
	equal "  xw-import: what is new, and what an entry names" "$RC $(labels img $what)" \
		"0 none object_r:etc_t object_r:etc_t object_r:passwd_t none object_r:link_t none "
	mkfs -q --file-contexts nothing -d lt bad.img
	fails 1 "nothing: cannot be read" "  a file that is not there"
	while IFS='|' read -r line why; do
		printf '# one\n%s\n' "$line" >bad
		mkfs -q --file-contexts bad -d lt bad.img
		[ $RC = 1 ] && grep -qF "bad: line 2: $why" .err && gone bad.img || echo "$line: $(cat .err)"
	done >refused <<'BAD'
/etc|column 1: must be REGEXP [-TYPE] CONTEXT
/etc.*	-z	u:object_r:etc_t:s0|column 8: the type '-z' is not --, -b, -c, -d, -l, -p or -s
/(	u:object_r:etc_t:s0|column 1: '/(' is not a valid regular expression
/usr/[	u:object_r:etc_t:s0|column 1: '/usr/[' is not a valid regular expression
BAD
	equal "  what libselinux refuses, with the line" "$(cat refused)" ""
	printf '/a\tu:object_r:a_t:s0\n# \303\251\n  /b\tu:object_r:\351t:s0\n' >bad
	mkfs -q --file-contexts bad -d lt bad.img
	fails 1 "--file-contexts: bad: line 3: column 17: the byte 0xE9 is not ASCII" "  and the column"
fi

# ---- two lines for one file, by its two names ----

mkdir -p hl/sub
echo x >hl/a
ln hl/a hl/sub/b
tar -cf hl.tar -C hl a sub/b
while IFS='|' read -r what option lines want warning; do
	printf '%b' "$lines" >lines
	for source in hl hl.tar; do
		mkfs -q --replace "$option" lines -d $source img
		got="$RC $("$DEBUGFS" -R 'stat /a' img | sed -n 's/.*Mode:  \([0-7]*\).*/\1/p') $(wc -l <.err)"
		equal "$what, $source" "$got" "0 $want"
		[ -z "$warning" ] || is "  both are named" grep -qE "^xw-mkfs: warning: [^:]*: [^:]*sub/b: $warning$" .err
	done
done <<'END'
fs_config: the first name|--fs-config|a 1 1 0600\nsub/b 1 1 0640\n|0600 1|--fs-config: line 2 is not applied: it is a hard link to /a, for which line 1 has other values
fs_config: the order of the lines does not matter|--fs-config|sub/b 1 1 0640\na 1 1 0600\n|0600 1|--fs-config: line 1 is not applied: it is a hard link to /a, for which line 2 has other values
fs_config: capabilities|--fs-config|a 1 1 0600\nsub/b 1 1 0600 capabilities=2\n|0600 1|--fs-config: line 2 is not applied: it is a hard link to /a, for which line 1 has other values
fs_config: the first name is not listed|--fs-config|sub/b 1 1 0640\n|0644 1|--fs-config: line 1 is not applied: it is a hard link to a, and the first name decides
fs_config: the same values|--fs-config|sub/b 1 1 0640\na 1 1 0640\n|0640 0|
device table: the last line|--device-table|/a f 0600 1 1\n/sub/b f 0640 1 1\n|0640 1|line 2: it is a hard link to /a, for which line 1 has other values; line 2 applies
device table: one name twice|--device-table|/a f 0600 1 1\n/a f 0640 1 1\n|0640 0|
device table: the same values|--device-table|/a f 0640 1 1\n/sub/b f 0640 1 1\n|0640 0|
END
done_testing 70
