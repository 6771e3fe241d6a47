#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The sources against other readers of the same archives: our tar reader, libarchive's and GNU tar's listing; every
# format and compression that a tool here can write; archives cut and damaged at many places: a quarter of them in an everyday run,
# all with XW_ALL=1.
D=${XW_BUILD:-$PWD}/srcdump
[ -x "$D" ] || { echo "1..0 # SKIP srcdump is not built (make check builds it)"; exit 0; }
. "$(dirname "$0")/../cli/lib.sh"

have() { command -v "$1" >/dev/null; }
sample=4 scale=0.002
[ -z "${XW_ALL-}" ] || sample=1 scale=0.01
is_gnu_tar() { tar --version 2>/dev/null | head -n 1 | grep -q 'GNU tar'; }

# same WHAT FILE1 FILE2
same() {
	if cmp -s "$2" "$3" && [ -s "$2" ]; then pass "$1"; else
		fail "$1"
		diff "$2" "$3" | head -n 10 | cut -c 1-300 | sed 's/^/# /'
	fi
}

# ---- trees -----------------------------------------------------------------------------------------------------
# Integral seconds and plain names that every format holds; `rich` has the rest.
plain() {
	local d=$1 i
	mkdir -p "$d/a/b/c" "$d/empty"
	: >"$d/zero"
	printf 'hello\n' >"$d/small"
	seq 1 50000 >"$d/a/large"
	for i in 1 511 512 513 1024; do head -c $i /dev/urandom >"$d/a/b/size-$i"; done
	ln -s ../small "$d/a/link"
	chmod 4755 "$d/small"
	chmod 1777 "$d/empty"
	chmod 0 "$d/zero"
	find "$d" -exec touch -h -d '2021-03-04T05:06:07Z' {} +
}
rich() {
	local d=$1 i long
	plain "$d"
	long=$(printf '%0120d' 7)
	mkdir -p "$d/$long/$long"
	printf 'x' >"$d/$long/$long/$long"
	printf 'y' >"$d/$(printf '%0100d' 1)"
	printf 'z' >"$d/$(printf '\303\274ml\303\244ut \377 \\ "quoted"')"
	ln -s "$long/$long/$long/$long" "$d/long-link"
	ln "$d/$long/$long/$long" "$d/hard-to-long"
	ln "$d/small" "$d/hard"
	mkfifo "$d/fifo"
	touch -d '2001-02-03T04:05:06.000000001Z' "$d/small"
	touch -d '1969-12-31T23:00:00Z' "$d/a/b/size-1"
	touch -d '2222-02-03T04:05:06.987654321Z' "$d/a/large"
	truncate -s 9M "$d/sparse-1" "$d/sparse-end" "$d/sparse-void"
	# shellcheck disable=SC2046
	pieces "$d/sparse-1" 140000 data $(seq 0 60)
	pieces "$d/sparse-end" 9437181 end 1
	if is_root; then
		chown 70000:80000 "$d/a/b/size-511"
		chown 4294967294:3000000000 "$d/a/b/size-512"
		mknod "$d/char" c 4 70000
		mknod "$d/block" b 4095 1048575
	fi
	if have setfattr; then
		setfattr -n user.comment -v 'a value' "$d/small" 2>/dev/null
		setfattr -n user.empty "$d/small" 2>/dev/null
		setfattr -n user.binary -v 0x000a3d00ff "$d/a/large" 2>/dev/null
		is_root && setfattr -h -n trusted.onlink -v 'l' "$d/long-link" 2>/dev/null
	fi
	if have setfacl; then
		setfacl -m u:1234:rw,g:4321:r,m::rwx "$d/a/large" 2>/dev/null
		setfacl -d -m u:1234:rwx "$d/a/b" 2>/dev/null
	fi
}
plain plain
rich rich

# ---- tar: own reader, libarchive's reader, GNU tar's listing ---------------------------------------------------
# GNU tar lists sizes of links and directories as their headers have them: ours are 0.
gnu_list() {
	tar --numeric-owner --full-time --quoting-style=literal --show-transformed-names -tvf "$1" 2>/dev/null |
		sed -E 's/^([^ ]+) +([^ ]+) +/\1 \2 /; s/  +/ /' | sed -E 's/^(d[^ ]+ [^ ]+) [0-9]+ /\1 0 /'
}
# compare WHAT ARCHIVE [no-libarchive|no-gnu]
compare() {
	"$D" -a "$2" >own 2>err || { fail "$1: $(cat err)"; return; }
	if [ "${3-}" != no-libarchive ]; then
		"$D" -al "$2" >other 2>err || { fail "$1, libarchive: $(cat err)"; return; }
		same "$1: as libarchive reads it" own other
	fi
	if [ "${3-}" != no-gnu ] && is_gnu_tar; then
		"$D" -gn "$2" >own
		gnu_list "$2" >other
		same "$1: as GNU tar lists it" own other
	fi
}

if is_gnu_tar; then
	for f in v7 oldgnu gnu ustar posix; do
		tar --format=$f -C plain -cf a.tar . 2>/dev/null
		compare "GNU tar, $f" a.tar
	done
	# the largest IDs do not fit into ustar fields
	for f in oldgnu gnu posix; do
		tar --format=$f -C rich -cf a.tar . 2>/dev/null
		compare "GNU tar, $f, long names, hard links, devices" a.tar
		tar --format=$f --sparse -C rich -cf a.tar . 2>/dev/null
		compare "GNU tar, $f, sparse" a.tar
		"$D" -s a.tar | grep -q '9437184.*sparse-1.* 0+' && pass "$f: sparse-1 has a map" || fail "$f: sparse-1 has a map"
	done
	for v in 0.0 0.1 1.0; do
		tar --format=posix --sparse --sparse-version=$v -C rich -cf a.tar . 2>/dev/null
		compare "GNU tar, sparse $v" a.tar
		"$D" -as a.tar | sed 's/ [^ ]*$//' | grep sparse >map.$v
	done
	same "sparse 0.0 and 0.1 give one map" map.0.0 map.0.1
	same "sparse 0.1 and 1.0 give one map" map.0.1 map.1.0
	tar --format=posix --xattrs --xattrs-include='*' --acls --selinux -C rich -cf a.tar . 2>/dev/null
	compare "GNU tar, xattrs and ACLs" a.tar
	tar --format=posix --pax-option='comment=c,gname:=someone,globexthdr.name=g,mtime=1234567890.5' -C plain -cf a.tar . 2>/dev/null
	compare "GNU tar, global header" a.tar no-libarchive # which ignores them
	tar --format=gnu -V 'a label' -C plain -cf a.tar . 2>/dev/null
	"$D" -a a.tar >own && tar --format=gnu -C plain -cf b.tar . && "$D" -a b.tar >other
	same "GNU tar, volume label" own other
	tar --format=gnu -g snapshot -C rich -cf a.tar . 2>/dev/null
	compare "GNU tar, incremental" a.tar no-gnu
	tar --format=gnu -C plain -cf a.tar . && tar --format=gnu -C plain -rf a.tar small zero
	compare "GNU tar, appended to" a.tar
	tar --format=gnu -b 1 -C plain -cf a.tar . && truncate -s -1024 a.tar
	compare "no end-of-archive mark" a.tar
	rm -f v1 v2
	tar --format=gnu -M -L 200 -f v1 -f v2 -f v3 -C plain -c . 2>/dev/null </dev/null
	for v in v1 v2; do
		"$D" -q $v 2>err && fail "multi-volume $v is refused" ||
			is "multi-volume $v is refused: $(sed 's/.*: member//' err)" [ -s $v -a "$(wc -l <err)" = 1 ]
	done
else
	skip "GNU tar's archives" "tar is not GNU tar"
fi

if have bsdtar; then
	for f in v7tar ustar; do
		bsdtar --format $f -C plain -cf a.tar . 2>/dev/null
		compare "bsdtar, $f" a.tar
	done
	bsdtar --format gnutar -C plain -cf a.tar . 2>/dev/null
	compare "bsdtar, gnutar" a.tar
	bsdtar --format pax -C rich -cf a.tar . 2>/dev/null
	# bsdtar floors negative times the other way, and what it says of ACL and xattr twice GNU tar lists once
	compare "bsdtar, pax" a.tar
	for o in 'xattrheader=LIBARCHIVE' 'xattrheader=SCHILY' 'xattrheader=ALL' 'hdrcharset=BINARY'; do
		bsdtar --format pax --options "$o" -C rich -cf a.tar . 2>/dev/null
		compare "bsdtar, pax, $o" a.tar no-gnu
	done
else
	skip "bsdtar's tar archives" "bsdtar is not installed"
fi

# ---- pax times exactly as verify_image.py takes them -----------------------------------------------------------
if have python3; then
	python3 - >times <<'PY'
import io, sys, tarfile
want = open("times.want", "w")
out = tarfile.open("times.tar", "w", format=tarfile.PAX_FORMAT)
for i, v in enumerate(["0", "1.5", "-1", "-1.25", "-0.5", "-.000000001", "-1.9999999999", "1.9999999999", "12345678901.000000001",
                       "-2147483648.5", "+7.25", "-315521754.5", "99999999999"]):
    t = tarfile.TarInfo("f%02d" % i); t.pax_headers = {"mtime": v}; out.addfile(t, io.BytesIO(b""))
    neg = v.startswith("-"); a, _, f = v.lstrip("+-").partition(".")
    n = int(a or 0) * 10**9 + int((f + "000000000")[:9]); n = -n if neg else n
    want.write("%d.%09d f%02d\n" % (n // 10**9, n % 10**9, i))
out.close(); want.close()
PY
	"$D" -a times.tar | awk '{ print $6, $7 }' >own
	same "pax times are floored, digits after the ninth dropped first" own times.want
else
	skip "pax times" "python3 is not installed" 1
fi

# ---- other formats: against the tree itself --------------------------------------------------------------------
# tree DUMP: names without ./, no xattrs and ACLs, no times of links (some formats have none), sorted
normal() {
	sed -E 's, \./, ,; s,(^d .*[^/])/$,\1,; s/^(d .*) \.?$/\1 ./' "$1" | sed -E 's/ (user|trusted|security|system)\.[^ ]*//g; s/ (access|default)=[^ ]*//g' | grep -v '^d .* \.$' | sort
}
"$D" -a plain >dump
normal dump >tree
made() { # made WHAT ARCHIVE
	"$D" -a "$2" >dump 2>err || { fail "$1: $(cat err)"; return; }
	normal dump >own
	same "$1" own tree
	"$D" -at "$2" >dump2 2>/dev/null
	same "$1, with a thread" dump2 dump
	[ "${3-}" = no-pipe ] && return
	for c in 1 7919 65536; do
		[ $c = 1 ] && c=500
		dd if="$2" bs=$c status=none | "$D" -at - >dump2 2>err
		same "$1, from a pipe in pieces of $c" dump2 dump
	done
}
if have cpio; then
	for f in newc crc odc bin ustar; do
		(cd plain && find . | cpio --quiet -o -H $f >../a.cpio 2>/dev/null)
		made "cpio, $f" a.cpio
	done
	# newc has the data of a hard-linked file with its last name
	mkdir links && printf 'linked' >links/1 && ln links/1 links/2 && ln links/1 links/3
	(cd links && printf '%s\n' 1 2 3 | cpio --quiet -o -H newc >../a.cpio)
	"$D" a.cpio >own
	equal "cpio, newc: a file and two links to it, the data with the last" "$(awk '{ print $1, $5 }' own | tr '\n' ';')" "f 0;h 0;h 6;"
	equal "cpio, newc: and it is right" "$(awk 'END { print $NF }' own)" "$("$D" links | awk '$1 == "f" { print $NF }')"
else
	skip "cpio" "cpio is not installed"
fi
if have bsdtar; then
	for f in newc odc; do
		bsdtar --format $f -C plain -cf a.cpio .
		made "bsdtar, $f" a.cpio
	done
	bsdtar --format zip -C plain -cf a.zip .
	made "bsdtar, zip" a.zip no-pipe
	bsdtar --format 7zip -C plain -cf a.7z .
	touch -h -d '2021-03-04T05:06:07Z' plain/a/link
	made "bsdtar, 7zip" a.7z no-pipe
	"$D" -q - <a.7z && pass "7zip on standard input that is a file" || fail "7zip on standard input that is a file"
	bsdtar --format iso9660 --options 'iso-level=4,rockridge=strict' -C plain -cf a.iso . 2>/dev/null
	made "bsdtar, iso9660" a.iso
	if bsdtar --format xar -C plain -cf a.xar . 2>/dev/null; then # libarchive reads no set-id bits from it
		"$D" -a a.xar | awk '{ print $1, $5, $6, $7, $NF }' | sort >own
		awk '{ print $1, $5, $6, $7, $NF }' tree | sort >other
		same "bsdtar, xar" own other
	else
		skip "bsdtar, xar" "bsdtar does not write it" 1
	fi
	if bsdtar --format zip --options encryption=aes256 --passphrase p -C plain -cf a.zip small 2>/dev/null; then
		"$D" -q a.zip 2>err
		is "an encrypted zip is refused" grep -q encrypted err
	else
		skip "an encrypted zip is refused" "bsdtar does not write it" 1
	fi
else
	skip "bsdtar's other archives" "bsdtar is not installed"
fi
if have zip; then
	(cd plain && zip -qry ../b.zip . -x zero)
	# into a pipe zip writes no links
	(cd plain && zip -qr - . -x zero -x a/link) | cat >c.zip
	for f in b.zip c.zip; do
		"$D" -a $f 2>/dev/null | awk '$1 == "f" { print $7, $NF }' | sort >own
		"$D" -a plain | awk '$1 == "f" && $7 != "zero" { print $7, $NF }' | sort >other
		[ $f = c.zip ] && "$D" -a - <c.zip 2>/dev/null | awk '$1 == "f" { print $7, $NF }' | sort >own
		same "zip, $f: contents" own other
	done
	# from a pipe sizes come after the data
	cat c.zip | "$D" -a - 2>/dev/null | awk '$1 == "f" { print $7, $NF }' | sort >own
	same "zip from a pipe into a pipe: contents" own other
else
	skip "zip" "zip is not installed" 3
fi
if have ar; then
	ar qc a.a plain/small plain/a/b/size-513 2>/dev/null
	equal "ar" "$("$D" a.a | awk '{ print $5, $7 }' | tr '\n' ' ')" "6 small 513 size-513 "
else
	skip "ar" "ar is not installed" 1
fi

# ---- compression -----------------------------------------------------------------------------------------------
tar --format=posix --sparse -C rich -cf a.tar . 2>/dev/null
"$D" a.tar >want
for c in gzip bzip2 xz 'xz --format=lzma' zstd lz4 lzip compress; do
	if ! have "${c%% *}"; then
		skip "$c" "${c%% *} is not installed" 8
		continue
	fi
	$c -c <a.tar >a.packed
	"$D" a.packed >own || : >own
	same "$c" own want
	"$D" -t a.packed >own || : >own
	same "$c, in a thread" own want
	dd if=a.packed bs=1000 status=none | "$D" -t - >own || : >own
	same "$c, from a pipe" own want
	$c -c <a.packed | "$D" - >own || : >own
	same "$c, twice" own want
	n=$(stat -c %s a.packed)
	bad=0 tried=0
	for i in $(seq 1 $sample 20); do
		case $c in 'xz --format=lzma' | compress) break ;; esac # they have no checksum
		tried=$((tried + 1))
		cp a.packed b.packed
		printf '\x55' | dd of=b.packed bs=1 seek=$((n * i / 21)) conv=notrunc status=none
		"$D" -t b.packed >own 2>/dev/null && ! cmp -s own want && bad=$((bad + 1))
	done
	case $c in
	'xz --format=lzma' | compress) skip "$c: damage does not pass" "the format has no checksum" 1 ;;
	*) equal "$c: damage does not pass" "$tried $bad" "$((20 / sample)) 0" ;;
	esac
	for part in 2 3 5; do
		head -c $((n / part)) a.packed | "$D" -qt - 2>err && fail "$c, cut at 1/$part" || is "$c, cut at 1/$part" [ "$(wc -l <err)" = 1 ]
	done
done

if have lzop; then
	lzop -c <a.tar >a.packed
	"$D" a.packed >own 2>err
	equal "lzop is refused by name" "$? $(grep -c 'a file of lzop (decompress it first)' err)" "1 1"
else
	skip "lzop is refused by name" "lzop is not installed" 1
fi

# ---- standard input, fifo, empty input ------------------------------------------------------------------------------------
"$D" - <a.tar >own || : >own
same "standard input is a file" own want
(dd bs=1 count=0 status=none; "$D" - >own) <a.tar || : >own
same "standard input is a file, at its start" own want
{ head -c 512 >/dev/null; "$D" -q - 2>err; } <a.tar && fail "standard input is a file, inside a header" || pass "standard input is a file, inside a header"
"$D" - <rich >own 2>err
equal "standard input is a directory" "$? $(cat err)" "1 srcdump: standard input: a directory, not an archive (malformed input)"
{ mkfifo ff && { cat a.tar >ff & } && "$D" ff >own; } || : >own
same "a fifo" own want
: >empty
for f in empty /dev/null; do
	"$D" $f >out 2>err
	equal "$f" "$?: $(cat err)" "1: srcdump: $f: empty, not an archive (malformed input)"
done

# ---- the synthetic tar ---------------------------------------------------------------------------------------
SYNTH=$KIT/synth.py
if [ -r "$SYNTH" ] && have python3 && python3 "$SYNTH" synth.tar $scale 2>err; then
	"$D" synth.tar >own
	"$D" -l synth.tar >other
	# libarchive adds the fraction of a time before 1970 instead of taking it off
	grep -vE '^. [0-7]+ [0-9]+ [0-9]+ [0-9]+ -[0-9]+\.[0-9]*[1-9]' own >own.plain
	awk 'NR == FNR { if ($6 ~ /^-[0-9]+\.[0-9]*[1-9]/) skip[FNR] = 1; next } !(FNR in skip)' own other >other.plain
	same "synthetic tar: as libarchive reads it" own.plain other.plain
	for o in '' -t; do
		dd if=synth.tar bs=12345 status=none | "$D" $o - >other
		same "synthetic tar from a pipe $o" own other
	done
else
	skip "the synthetic tar" "$SYNTH or python3 is not there" 3
	cp a.tar synth.tar
fi

# ---- damage: never a crash, one clear line ------------------------------------------------------------------------
size=$(stat -c %s synth.tar)
RANDOM=4711
bad=0 refused=0 tried=0 cuts=$((200 / sample))
for i in $(seq $cuts); do
	tried=$((tried + 1))
	n=$(((RANDOM * 32768 + RANDOM) % size))
	head -c $n synth.tar | "$D" -q - 2>err
	rc=$?
	refused=$((refused + (rc == 1)))
	if [ $rc -gt 1 ] || [ "$(wc -l <err)" != $rc ]; then
		bad=$((bad + 1))
		diag "cut at $n: status $rc, $(head -c 300 err)"
	fi
done
equal "cut at $cuts places: no crash, at most one line" "$tried $bad" "$cuts 0"
# A cut in the padding behind the contents of an entry is not told: tar(1) takes such an archive, too.
[ $refused -ge $((cuts * 3 / 4)) ] && pass "cut at $cuts places: told $refused times" || fail "cut at $cuts places: told $refused times"
bad=0 tried=0 flips=$((100 / sample))
[ $size -lt 3000000 ] || size=3000000
head -c $size synth.tar >whole
truncate -s +1024 whole
for i in $(seq $flips); do
	tried=$((tried + 1))
	perl -e 'my ($seed, $size) = @ARGV; local $/; my $all = <STDIN>; srand($seed);
		substr($all, int(rand($size)), 1) = chr(int(rand(256))) for 1 .. 5; print $all' "$i" $size <whole >flipped
	"$D" -q flipped 2>err
	rc=$?
	if [ $rc -gt 1 ] || [ "$(wc -l <err)" != $rc ]; then
		bad=$((bad + 1))
		cp flipped "flipped.$i"
		diag "flipped.$i: status $rc, $(head -c 300 err)"
	fi
done
equal "$flips archives with changed bytes: no crash, at most one line" "$tried $bad" "$flips 0"

done_testing 188
