#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options that select from a source and change what is taken: as GNU tar, which extracts the same archive with the same options.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000

# names IMAGE: paths, types and targets, lost+found apart.
names() { "$EXPORT" "$1" 2>/dev/null | tar -tvf - | sed -E 's,^(.)[^ ]* +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +(\./)?,\1 ,; s,/$,,; /^d \.?$/d; s,( link to )\./,\1,' | sort; }
# meta IMAGE: paths with owners and times
meta() { "$EXPORT" --order name "$1" 2>/dev/null | tar --numeric-owner --full-time -tvf - | awk '$6 != "./" {print $6, $2, $4, $5}' | sed 's,^\./,,'; }

mkdir -p t/usr/lib/Deep t/etc t/opt
echo a >t/usr/lib/one.so.1
echo b >t/usr/lib/Deep/two.txt
echo c >t/etc/passwd
echo d >t/opt/keep.o
echo e >t/opt/keep.c
ln -s ../lib/one.so.1 t/usr/lib/link
ln t/etc/passwd t/opt/hard
touch -d '2020-01-01T00:00:00.5Z' t/etc/passwd t/usr/lib/one.so.1 t/opt/keep.c
touch -d '2023-06-01T00:00:00Z' t/usr/lib/Deep/two.txt t/opt/keep.o
chmod -R u=rwX,go=rX t
tar --sort=name -C t -cf plain.tar usr etc opt
tar --sort=name -C t -cf dots.tar .

mkdir flat
touch flat/foo flat/moonlog flat/eleven flat/oxo

# ---- --transform ----

made=0 same=0
while read -r archive expr; do
	made=$((made + 1))
	rm -rf x i.img
	mkdir x
	timeout 60 tar -xf $archive -C x --transform "$expr" 2>/dev/null
	mkfs -q --transform "$expr" -d $archive i.img
	(cd x && find . -mindepth 1 -printf '%y %P %l\n' | sed 's/ $//' | sort) >want
	"$DEBUGFS" -R 'rdump / got' i.img >/dev/null 2>&1 || { mkdir -p got; "$EXPORT" -x got i.img >/dev/null 2>&1; }
	(cd got && find . -mindepth 1 ! -path './lost+found*' -printf '%y %P %l\n' | sed 's/ $//' | sort) >have
	if [ $RC = 0 ] && cmp -s want have && diff -r --no-dereference x got >.out 2>&1; then same=$((same + 1)); else
		diag "$archive $expr"
		diff want have | head -n 6 | sed 's/^/# /'
	fi
	rm -rf got
done <<'EXPR'
plain.tar s,^usr/,system/,
plain.tar s/o/0/
plain.tar s/o/0/g
plain.tar s,\([a-z]*\)\.\([a-z]*\),\2.\1,
plain.tar s,([a-z]+)\.([a-z]+),<\2-\1>,x
plain.tar s/DEEP/x/i
plain.tar s/.*/\U&/
plain.tar s/[a-z]*\.txt/\u&/
plain.tar s/one/\LTWO\E-Three/
plain.tar s,one,uno,S
plain.tar s,lib,LIB,RH
plain.tar s,etc,cfg,s
plain.tar flags=rh;s,etc,cfg,;s,lib,x,S
plain.tar s,a,A,;s,A,b,g
plain.tar flags=r;s,lib,l,g
plain.tar s,keep\.o,deep/new/\n/x,
plain.tar s#passwd#pass&word\&#
dots.tar s,^\./,,
dots.tar s,^\./,pre/,
dots.tar s,^\.,pre,
dots.tar s,^./usr,./u,
EXPR
equal "--transform: GNU tar makes the same of $made archives" "$same" $made
rm -f i.img
mkfs -q --transform 's,^usr/lib,l,' -d t i.img
works "  of a directory"
equal "  names are those in the image" "$(names i.img | grep -c '^[^l] l/')" 3
# With a number GNU tar 1.34 repeats what is before it; sed(1) does not.
for expr in s/o/0/2 s/e/E/2g 's/x*/-/g' 's/o$/&&/3g'; do
	mkfs -q --replace --transform "flags=r;$expr" -d flat i.img
	"$EXPORT" i.img | tar -tf - | grep -vE '^\./$|lost' | sed 's,^\./,,; /^-\.-/d' | sort >have
	ls flat | sed "$expr" | sort >want
	cmp -s have want || echo "$expr"
done >other
equal "  numbers, and matches of nothing" "$(cat other)" ""
mkfs -q --transform 's,^usr/,,' --strip-components 1 -d plain.tar --replace i.img
equal "  --strip-components takes its part afterwards" "$(names i.img | grep -c 'one.so.1$')" 2
mkdir two && mkdir two/a two/b && echo one >two/a/f && echo two >two/b/f && echo x >two/a/x && ln two/a/x two/b/x && mkdir two/a/d two/b/d
ln two/a/x two/b/g && echo y >two/a/g
tar --sort=name -C two -cf two.tar a b
for source in two.tar two; do
	mkfs -q --replace --transform 's,^./,,' -d $source i.img
	is "--transform, members with the same name: a warning with both, $source" \
		grep -Eq "^xw-mkfs: warning: $source: b/f: replaces a/f, which is renamed to the same name, f$" .err
	equal "  one for each that is lost, none for links to the same file, and directories" "$RC $(grep -c replaces .err)" "0 2"
	"$EXPORT" i.img f 2>/dev/null | tar -xOf - >have
	equal "  the last one stays, as with tar" "$(cat have)" two
done
mkfs -q --json --replace --strip-components 1 -d two.tar i.img
equal "  --strip-components, too" "$(json warnings .out)" 2
tar --sort=name -C two -cf again.tar a/f ./a/f a/f
mkfs -q --replace --transform 's,^a/,,' -d again.tar i.img
works "  a member that comes again is an update"
mkfs -q --replace --transform 's,^./,,' -d again.tar -d again.tar i.img
works "  another source is another layer"
mkfs -q --transform s,a,b -d plain.tar bad.img
fails 2 'transform: "s,a,b": must be s/REGEXP/REPLACEMENT/' "  what is no expression is refused"
is "  and nothing is made" gone bad.img

# ---- -X, --exclude-from ----

printf '*.o  \n\nopt/hard\n./etc\n' >list
for source in plain.tar t; do
	mkfs -q -X list -d $source --replace i.img
	works "-X, $source"
	equal "  what its lines match stays out" "$(names i.img | grep -cE 'keep\.o|hard|etc')" 0
	equal "  the rest is there" "$(names i.img | wc -l)" 8
done
mkfs_stdin list -q --exclude-from - -d plain.tar --replace i.img
equal "  - is standard input" "$RC $(names i.img | wc -l)" "0 8"
mkfs -q --replace j.img 8M
import -q -X list j.img t
works "  xw-import"
"$EXPORT" -X list j.img 2>/dev/null | tar -tf - >names.out
equal "  xw-export" "$(grep -c 'keep.c' names.out) $(grep -cE 'keep\.o|passwd' names.out)" "1 0"
mkfs -q -X nothing -d t bad.img
fails 1 "-X|--exclude-from: nothing: cannot open" "  a list that is not there"

# ---- --newer, --mtime ----

for source in plain.tar; do
	mkfs -q --newer 2022-01-01 -d $source --replace i.img
	works "--newer DATE, $source"
	equal "  files that are newer, and all directories" "$(names i.img | tr '\n' ,)" \
		"$(rm -rf x; mkdir x; tar -xf $source -C x --newer 2022-01-01 2>/dev/null; cd x; find . -mindepth 1 -printf '%y %P%l\n' | sed 's,^f,-,; s,^l \(.*link\)\(.*\)$,l \1 -> \2,' | sort | tr '\n' ,)"
done
mkfs -q --newer-mtime 2022-01-01 -d t --replace i.img
equal "--newer-mtime, a directory" "$(names i.img | grep -c ^-)" 2
mkfs -q --newer 2022-01-01 -d t --replace i.img
equal "--newer counts changes of the inode there" "$(names i.img | grep -cE '^[-h]')" 6
touch -d '2021-05-05T05:05:05Z' stamp
mkfs -q --newer-mtime ./stamp -d t --replace i.img
equal "  the time of a file" "$RC $(names i.img | grep -c ^-)" "0 2"
for date in @1234567890 '2009-02-13 23:31:30Z' 2009-02-13T23:31:30+00:00 '2009-02-14 00:31:30 +0100' '2009-02-13 23:31:30'; do
	mkfs -q --mtime "$date" -d t --replace i.img
	meta i.img | grep -v lost+found | awk '{print $3, $4}' | sort -u
done >times
equal "--mtime: all forms of a date mean the same" "$(sort -u times)" "2009-02-13 23:31:30"
mkfs -q --mtime '2022-01-01 00:00:00 UTC' --clamp-mtime -d t --replace i.img
equal "  with --clamp-mtime: only what is newer" "$(meta i.img | grep -E 'passwd|two' | cut -d' ' -f1,3)" "etc/passwd 2020-01-01
usr/lib/Deep/two.txt 2022-01-01"
for bad in tomorrow 2009-02-30 2009-2 '2009-02-13 25' @x ./nothing '2009-02-13 10:10 XYZ'; do
	mkfs -q --mtime "$bad" -d t bad.img
	[ $RC != 2 ] || echo "$bad"
done >refused
equal "  what is no date is refused" "$(wc -l <refused)" 7
mkfs -q --newer ./nothing -d t bad.img
fails 2 "newer: ./nothing: No such file or directory" "  and a file that is not there is named"

# ---- owners ----

if is_root; then
	chown 1000:100 t/etc/passwd
	chown 7:7 t/opt/keep.c
	tar --sort=name -C t -cf owners.tar .
	printf '# who\n+1000 +2000\n+7\tdaemon:9\n\n' >users
	printf 'root +50\n+100 root\n' >groups
	for source in t owners.tar; do
		mkfs -q --owner-map users --group-map groups -d $source --replace i.img
		works "--owner-map, --group-map, $source"
		equal "  numbers and names" "$(meta i.img | grep -E 'passwd|keep|two' | cut -d' ' -f1,2)" "etc/passwd 2000/0
opt/keep.c 9/7
opt/keep.o 0/50
usr/lib/Deep/two.txt 0/50"
		mkfs -q --owner-map users --owner 5 -d $source --replace i.img
		equal "  --owner is for the others" "$(meta i.img | grep -E 'passwd|two' | cut -d' ' -f1,2)" "etc/passwd 2000/100
usr/lib/Deep/two.txt 5/0"
		mkfs -q --all-root -d $source --replace i.img
		equal "--all-root" "$(meta i.img | cut -d' ' -f2 | sort -u)" 0/0
	done
else
	skip "--owner-map and --all-root" "only root can make files of others" 8
fi
printf 'a b c\n' >bad1
printf '+5 nobody-knows-me\n' >bad2
printf '5 +6\n' >bad3
for bad in bad1 bad2 bad3; do
	mkfs -q --owner-map $bad -d t bad.img
	[ $RC != 2 ] || grep -c "$bad: line 1: " .err
done >refused
equal "  what is no table is refused, with the line" "$(cat refused | tr '\n' ' ')" "1 1 1 "
mkfs -q --owner-map bad3 -d t bad.img
fails 2 "bad3: line 1: unknown name '5' .numbers are written .NUMBER." "  and a name that nobody has is named"

# ---- --ignore-unreadable ----

mkdir -p locked/open locked/shut
echo x >locked/open/yes
echo x >locked/open/no
ln locked/open/no locked/also-no
echo x >locked/shut/inside
chmod 0 locked/open/no locked/shut
if is_root && reach_tools && user_reaches; then
	chmod 755 "$T"
	mkdir -m 777 out
	$AS_USER "$REACHABLE/xw-mkfs" -q -d locked out/strict.img >.out 2>.err
	equal "a directory with what may not be read" "$? $(ls out)" "1 "
	$AS_USER "$REACHABLE/xw-mkfs" -q --ignore-unreadable -d locked out/img >.out 2>.err
	equal "  --ignore-unreadable: a warning for each" "$? $(grep -c 'permission denied; skipped' .err)" "0 3"
	equal "  the rest is there" "$(names out/img | tr '\n' ,)" "- open/yes,d open,"
else
	skip "--ignore-unreadable" "needs root, who becomes somebody else" 3
fi
chmod 755 locked/shut

# ---- small filesystems ----

for kib in 60 64 70 80 100; do
	rm -f i.img
	mkfs -q -b 1024 i.img $kib
	[ $RC != 0 ] || ! have_e2fsck || fsck_quiet .fsck -fn i.img || echo "$kib: e2fsck complains"
	[ $RC = 0 ] || echo "$kib: status $RC"
done >small
equal "-b 1024 of 60 to 100 KiB" "$(cat small)" ""

# ---- sparse members ----

perl -e 'sub head { my ($name, $type, $size) = @_;
		my $h = pack("a100 a8 a8 a8 a12 a12 A8 a1 a100 a6 a2 a32 a32 a8 a8 a155 x12", $name, "0000644", "0000000", "0000000",
			sprintf("%011o", $size), "00000000000", "", $type, "", "ustar", "00", "", "", "", "", "");
		substr($h, 148, 8) = sprintf("%06o\0 ", unpack("%32C*", $h)); print $h }
	sub body { print $_[0], "\0" x (-length($_[0]) % 512) }
	my $pax = "";
	for (["GNU.sparse.major", 1], ["GNU.sparse.minor", 0], ["GNU.sparse.name", "holes"], ["GNU.sparse.realsize", 8192]) {
		my $r = " $_->[0]=$_->[1]\n"; my $n = length($r) + 2; $pax .= "$n$r" }
	head("x", "x", length $pax); body($pax);
	my $map = "2\n0\n1000\n8192\n0\n"; my $data = $map . "\0" x (512 - length $map) . "d" x 1000 . "junk" x 400;
	head("f", "0", length $data); body($data);
	head("behind", "0", 2); body("b\n"); print "\0" x 1024' >sparse.tar
rm -rf x
mkdir x
tar -xf sparse.tar -C x
mkfs -q --replace -d sparse.tar i.img
works "bytes behind the last piece of a sparse file"
"$EXPORT" i.img | tar -xf - -C t 2>/dev/null
is "  GNU tar reads it the same" cmp x/holes t/holes
is "  and what follows" cmp x/behind t/behind

# ---- zeros behind compressed data ----

for how in gzip:gz zstd:zst xz:xz bzip2:bz2; do
	${how%:*} -c plain.tar >z.${how#*:} 2>/dev/null || continue
	head -c 4096 /dev/zero >>z.${how#*:}
	mkfs -q --replace -d z.${how#*:} i.img
	[ $RC = 0 ] && [ ! -s .err ] && [ "$(names i.img | wc -l)" = 12 ] || echo "$how: $RC $(cat .err)"
done >padded
equal "zeros behind compressed data are padding" "$(cat padded)" ""
done_testing 53
