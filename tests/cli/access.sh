#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Access is never wider than asked: explicit modes and ACLs, ids in attributes, the root of an image that a directory is imported into. And
# times before 1970.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000

cat >make.py <<'P'
# make.py ARCHIVE [NAME KIND MODE UID GID KEY=VALUE...]...: members with pax records; "caps=ROOTID" is a capability of version 3
import struct, sys, tarfile
out = tarfile.open(sys.argv[1], 'w', format=tarfile.PAX_FORMAT)
for line in sys.stdin:
    name, kind, mode, uid, gid, *pax = line.split()
    t = tarfile.TarInfo(name)
    t.type = {'f': tarfile.REGTYPE, 'd': tarfile.DIRTYPE}[kind]
    t.mode, t.uid, t.gid, t.mtime = int(mode, 8), int(uid), int(gid), 1000000000
    for p in pax:
        k, v = p.split('=', 1)
        if k == 'caps':
            k, v = 'SCHILY.xattr.security.capability', struct.pack('<6I', 0x03000001, 1, 0, 0, 0, int(v)).decode('latin-1')
            assert all(ord(c) < 128 for c in v), 'a rootid of bytes below 128'
        t.pax_headers[{'acl': 'SCHILY.acl.access', 'dacl': 'SCHILY.acl.default'}.get(k, k)] = v
    out.addfile(t)
out.close()
P
cat >show.py <<'P'
# show.py ARCHIVE NAME...: mode, owner and ACLs of members, a line each
import struct, sys, tarfile
t = {m.name.rstrip('/').removeprefix('./') or '.': m for m in tarfile.open(sys.argv[1])}
for n in sys.argv[2:]:
    m = t[n]
    p = m.pax_headers
    caps = p.get('SCHILY.xattr.security.capability')
    more = [p.get('SCHILY.acl.access'), p.get('SCHILY.acl.default') and 'default ' + p['SCHILY.acl.default'],
            caps and 'root %d' % struct.unpack_from('<I', caps.encode('utf-8', 'surrogateescape'), 20)]
    print(n, '%04o' % m.mode, '%d:%d' % (m.uid, m.gid), *[x for x in more if x])
P
show() { # show IMAGE NAME... [-- EXPORT-OPTION...]
	local names=() i=$1
	shift
	while [ $# != 0 ] && [ "$1" != -- ]; do names+=("$1") && shift; done
	shift
	"$EXPORT" -q -o show.tar "$@" "$i" 2>.shown && python3 show.py show.tar "${names[@]}" | tr '\n' ';'
}

# ---- modes and ACLs ----

python3 make.py acl.tar <<'L'
decides f 777 1 2 acl=user::rw-,user:5:rwx,group::rwx,mask::r--,other::---
minimal f 777 1 2 acl=user::rw-,group::r--,other::---
setid f 4777 1 2 acl=user::rwx,group:9:rwx,group::r-x,mask::rwx,other::r-x
plain f 666 1 2
d d 775 1 2 acl=user::rwx,user:5:rwx,group::r-x,mask::rwx,other::rwx dacl=user::rwx,user:6:rwx,group::rwx,mask::rwx,other::rwx
L
all="decides minimal setid plain d"
dacl="default user::rwx,user:6:rwx,group::rwx,mask::rwx,other::rwx"
mkfs -q -F -d acl.tar base.img
equal "without an explicit mode, the ACL of an entry decides its mode; a minimal one is not stored" "$(show base.img $all)" "decides 0640 1:2 user::rw-,user:5:rwx,group::rwx,mask::r--,other::---;minimal 0640 1:2;setid 4775 1:2 user::rwx,group::r-x,group:9:rwx,mask::rwx,other::r-x;plain 0666 1:2;d 0777 1:2 user::rwx,user:5:rwx,group::r-x,mask::rwx,other::rwx $dacl;"

gow="decides 0640 1:2 user::rw-,user:5:rwx,group::rwx,mask::r--,other::---;minimal 0640 1:2;setid 4755 1:2 user::rwx,group::r-x,group:9:rwx,mask::r-x,other::r-x;plain 0644 1:2;d 0755 1:2 user::rwx,user:5:rwx,group::r-x,mask::r-x,other::r-x $dacl;"
mkfs -q -F --mode go-w -d acl.tar o.img
equal "--mode go-w: the mask, and others, lose it, too" "$(show o.img $all)" "$gow"
mkfs -q -F --free 4M o.img 16M
import -q --mode go-w o.img acl.tar
equal "  of xw-import, too" "$(show o.img $all)" "$gow"
equal "  of xw-export, too" "$(show base.img $all -- --mode go-w)" "$gow"
octal="decides 0640 1:2 user::rw-,user:5:rwx,group::rwx,mask::r--,other::---;setid 0640 1:2 user::rw-,group::r-x,group:9:rwx,mask::r--,other::---;d 0750 1:2 user::rwx,user:5:rwx,group::r-x,mask::r-x,other::--- $dacl;"
printf '%s 1 2 %s\n' decides 0640 setid 0640 d 0750 >fc
mkfs -q -F --fs-config fc -d acl.tar o.img
equal "--fs-config changes ACLs with the mode" "$(show o.img decides setid d)" "$octal"
printf '/%s %s %s 1 2\n' decides f 640 setid f 640 d d 750 >dt
mkfs -q -F --device-table dt -d acl.tar o.img
equal "--device-table does" "$(show o.img decides setid d)" "$octal"
cp base.img o.img
echo '/d d 0700 3 4' >dt
tar -cf none.tar -T /dev/null
import -q --device-table dt o.img none.tar
equal "  and does so for a directory that the image has" "$(show o.img d)" "d 0700 3:4 user::rwx,user:5:rwx,group::r-x,mask::---,other::--- $dacl;"
echo './ d 777 1 2 acl=user::rwx,user:5:rwx,group::rwx,mask::rwx,other::rwx' | python3 make.py root.tar
mkfs -q -F -E root_perms=0711 -d root.tar o.img
equal "-E root_perms does" "$(show o.img .)" ". 0711 1:2 user::rwx,user:5:rwx,group::rwx,mask::--x,other::--x;"
for u in 000 077; do (umask $u && "$MKFS" -q -F -U 11111111-2222-3333-4444-555555555555 -E hash_seed=11111111-2222-3333-4444-555555555555 --mode=+w,-x+X -d acl.tar u$u.img); done
cmp -s u000.img u077.img && pass "the umask does not influence --mode" || fail "the umask does not influence --mode"

# ---- ids ----

python3 make.py ids.tar <<'L'
f f 640 1000 100 acl=user::rw-,user:1001:rw-,user:1002:r--,group::r--,group:101:rwx,mask::rwx,other::---
own f 640 1000 100 acl=user::r--,user:1003:rwx,group::r--,group:103:rwx,mask::rwx,other::---
d d 750 1000 100 dacl=user::rwx,user:1001:rwx,user:1002:r-x,group::r-x,mask::rwx,other::---
caps f 755 1000 100 caps=1041
L
printf '+%s +%s\n' 1000 2000 1001 3000 1002 3000 1003 2000 1041 3000 >users
printf '+%s +%s\n' 100 200 101 301 103 200 >groups
mapped="f 0670 2000:200 user::rw-,user:3000:r--,group::r--,group:301:rwx,mask::rwx,other::---;own 0470 2000:200 user::r--,user:2000:r--,group::r--,group:200:r--,mask::rwx,other::---;d 0750 2000:200 default user::rwx,user:3000:r-x,group::r-x,mask::rwx,other::---;caps 0755 2000:200 root 3000;"
mkfs -F --owner-map users --group-map groups -d ids.tar o.img
equal "--owner-map and --group-map: ids in ACLs and capabilities; entries that become one have what all had" "$(show o.img f own d caps)" "$mapped"
is "  with a warning that names the file" grep -q 'ids\.tar: f: several ids of its ACL become one' "$T/.err"
equal "  once" "$(grep -c 'become one' .err)" 1
mkfs -q -F -d ids.tar ids.img
equal "  of xw-export --owner, too" "$(show ids.img own d caps -- --owner 2000:200)" "own 0470 2000:200 user::r--,user:2000:r--,group::r--,group:200:r--,mask::rwx,other::---;d 0750 2000:200 default user::rwx,user:2000:r-x,group::r-x,mask::rwx,other::---;caps 0755 2000:200 root 2000;"
mkfs -F --all-root -d ids.tar o.img
equal "--all-root does so, and gives nobody more than the file's owner and group have" "$(show o.img f d caps)" "f 0670 0:0 user::rw-,user:0:r--,group::r--,group:0:r--,mask::rwx,other::---;d 0750 0:0 default user::rwx,user:0:r-x,group::r-x,mask::rwx,other::---;caps 0755 0:0 root 0;"
is "  with a warning about capabilities" grep -q 'caps: its capabilities were those of namespaces of user 1041' "$T/.err"
mkfs -q -F --xattrs-exclude 'system.*' -d ids.tar o.img
equal "an ACL that is left out does not decide the mode" "$(show o.img own)" "own 0640 1000:100;"

# ---- a directory as source ----

mkdir -m 700 s s/sub
echo x >s/file
chmod 640 s/file
touch -d 2001-01-01 s
mkfs -q -F r.img 8M
root_of() { "$DEBUGFS" -R "stat ${2:-/}" "$1" 2>/dev/null | grep -E '^ ?mtime|Mode:|^User' | sed 's/Project.*//; s/.*Mode/Mode/; s/ *Flags.*//' | tr '\n' ' '; }
before=$(root_of r.img)
cp r.img o.img
import -q o.img s
equal "xw-import IMAGE DIR leaves the root's mode, owner and time" "$(root_of o.img)" "$before"
equal "  entries in it have theirs" "$(show o.img file sub | sed 's/ [0-9:]*;/;/g')" "file 0640;sub 0700;"
cp r.img o.img
import -q -E root_from_source o.img s
equal "-E root_from_source: the root has that of DIR" "$(show o.img . | cut -d' ' -f2)" 0700
tar -cf dot.tar -C s .
cp r.img o.img
import -q o.img dot.tar
equal "the entry ./ of an archive counts" "$(show o.img . | cut -d' ' -f2)" 0700
cp r.img o.img
import -q --no-overwrite-dir o.img dot.tar
equal "  not with --no-overwrite-dir, which keeps existing directories and nothing else" "$(show o.img . sub file | sed 's/ [0-9:]*;/;/g')" ". 0755;sub 0700;file 0640;"
mkfs -q -F --no-overwrite-dir -d dot.tar o.img
equal "  nor in xw-mkfs" "$(show o.img . | cut -d' ' -f2)" 0755
echo 'a/f f 600 1 2' | python3 make.py late.tar
printf '%s\n' 'a d 700 1 2' 'b d 700 1 2' | python3 make.py dirs.tar
mkfs -q -F --no-overwrite-dir -d late.tar -d dirs.tar o.img
equal "  a directory that an earlier entry implied is kept, a new one is not" "$(show o.img a b)" "a 0755 0:0;b 0700 1:2;"
printf '%s\n' 'tmp d 1777 0 0' | python3 make.py tmp.tar
mkfs -q -F -d tmp.tar o.img 8M
import -q --directory tmp o.img s
equal "an existing directory that --directory names keeps its mode" "$(show o.img tmp | cut -d' ' -f2)" 1777
import -q --directory new o.img s
equal "  a new one has that of DIR" "$(show o.img new | cut -d' ' -f2)" 0700
import -q -E root_from_sourcex o.img s
equal "-E with another key is refused" "$RC" 2

# ---- times before 1970 ----

times() { "$EXPORT" -q --format pax -o t.tar o.img && python3 -c 'import tarfile; m = tarfile.open("t.tar").getmember(sorted(n for n in tarfile.open("t.tar").getnames() if n.endswith("file"))[0]); print(m.pax_headers.get("mtime", m.mtime))'; }
for t in -1.5 -0.5 -0.000000001 1.25; do
	mkfs -q -F --mtime=@$t -d s o.img
	equal "--mtime=@$t" "$(times | sed 's/0*$//')" "$t"
	touch -d "@$t" ref
	mkfs -q -F --mtime=./ref -d s o.img
	equal "  as the time of a file" "$(times | sed 's/0*$//')" "$t"
done
touch -d @-1.4 s/file
mkfs -q -F --newer-mtime=@-1.5 -d s o.img
equal "--newer-mtime=@-1.5 takes a file of -1.4" "$("$EXPORT" -t o.img | grep -c 'file$')" 1
mkfs -q -F --newer-mtime=@-1.25 -d s o.img
equal "  --newer-mtime=@-1.25 does not" "$("$EXPORT" -t o.img | grep -c 'file$')" 0
mkfs -F --mtime=@1. -d s o.img
equal "--mtime=@1. is refused, as touch(1) does" "$RC" 2
is "  by name" grep -q '@1\.' "$T/.err"

# Inodes of 128 bytes hold no time after 2038, others none after 2446.
for t in 128:@2147483648 128:@-2147483649 256:@15032385536 256:@-2147483649; do
	mkfs -q -F -I ${t%%:*} s.img 8M
	cp s.img o.img
	mkfs -F --mtime=${t#*:} -I ${t%%:*} -d s o.img
	equal "--mtime ${t#*:} with inodes of ${t%%:*} bytes is refused" "$RC $(grep -c . "$T/.err") $(grep -c 'mtime: .* do not fit the inode' "$T/.err")" "2 1 1"
	is "  the image is as before" cmp o.img s.img
	import --mtime=${t#*:} o.img s
	equal "  in xw-import, too" "$RC $(grep -c . "$T/.err")" "2 1"
	is "  the image is as before" cmp o.img s.img
done
mkfs -q -F --mtime=@15032385535 -d s o.img
equal "the last time that fits" "$RC $(times | sed 's/0*$//;s/\.$//')" "0 15032385535"
mkfs -q -F --mtime=@15032385536 --clamp-mtime -d s o.img
equal "as a limit it may be later" "$RC $(cat "$T/.err")" "0 "

# ---- warnings of xw-export ----

mkfs -q -F -d ids.tar ids.img
RC=0
"$EXPORT" --owner 0:0 -o e.tar ids.img >/dev/null 2>.err || RC=$?
equal "xw-export --owner: entries of an ACL become one, capabilities those of root: a warning each" "$RC $(grep -c 'several ids of its ACL become one' .err) $(grep -c 'caps: its capabilities were those of namespaces of user 1041' .err)" "0 1 1"
RC=0
"$EXPORT" --owner 3000:300 -o e.tar s.img >/dev/null 2>.err || RC=$?
equal "  none without ACLs" "$RC $(grep -c warning .err)" "0 0"

# ---- names in ACLs ----

echo 'f f 600 1 2 SCHILY.acl.access=user::rw-,user:nobody-here:r--,group::---,mask::r--,other::---' | python3 make.py names.tar
mkfs -q -F -d names.tar o.img
fails 1 'ACL entry "user:nobody-here:r--": no such user on this machine; .*bsdtar.*--xattrs-exclude=' "an ACL with an unknown name"
mkfs -q -F --xattrs-exclude='system.posix_acl_*' -d names.tar o.img
equal "  is left out on request" "$RC" 0
done_testing 60
