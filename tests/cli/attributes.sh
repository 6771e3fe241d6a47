#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Attributes of an archive that Linux would never return, and ACLs of another kind: a warning names the file, nothing is stored.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# pack FILE KEY VALUE: a pax archive with a file `prog`, which has this attribute; \x escapes are decoded.
python3 - <<'P'
import io, tarfile
cap = '\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
def pack(out, key, value):
    with tarfile.open(out, 'w', format=tarfile.PAX_FORMAT) as t:
        i = tarfile.TarInfo('prog')
        i.size, i.pax_headers = 3, {'SCHILY.xattr.' + key: value}
        t.addfile(i, io.BytesIO(b'abc'))
pack('good.tar', 'security.capability', cap)
pack('longest.tar', 'user.' + 'n' * 250, 'v')
for n in 0, 3, 4, 19, 21:
    pack('cap%d.tar' % n, 'security.capability', (cap + '\0')[:n])
pack('revision.tar', 'security.capability', cap.replace('\2', '\7'))
pack('longname.tar', 'trusted.' + 'n' * 248, 'v')
with tarfile.open('acl.tar', 'w', format=tarfile.USTAR_FORMAT) as t:
    for n in 'one', 'two':
        i = tarfile.TarInfo(n)
        i.type, data = b'A', b'1000004\0user::rw-,user:root:rwx:0,group::r--,mask:rwx,other:r--\0'
        i.size = len(data)
        t.addfile(i, io.BytesIO(data)) if False else t.fileobj.write(i.tobuf(t.format) + data.ljust(512, b'\0'))
        t.offset += 1024
        i = tarfile.TarInfo(n)
        i.size = 3
        t.addfile(i, io.BytesIO(b'abc'))
P
attributes() { "$DEBUGFS" -R 'ea_list /prog' img 2>/dev/null | grep -cE 'capability|user\.n|trusted\.n'; }
for a in good longest; do
	rm -f img
	mkfs -q -d $a.tar img
	equal "$a: stored without a warning" "$RC $(cat .err) $(attributes)" "0  1"
done
for a in cap0 cap3 cap4 cap19 cap21 revision longname; do
	rm -f img
	[ $a = longname ] && why='trusted\.n+ dropped: its name is longer than 255 bytes' ||
		why='security\.capability dropped: its value is not a capability set'
	mkfs -q -d $a.tar img
	fails 0 "warning: $a.tar: prog: attribute $why" "$a"
	equal "  nothing is stored" "$(attributes)" 0
	rm -f img && mkfs -q img 8M
	import -q img $a.tar
	fails 0 "warning: $a.tar: prog: attribute $why" "  xw-import"
	equal "  nothing is stored" "$(attributes)" 0
	rm -f img
	mkfs -q --xattrs-exclude '*' -d $a.tar img
	equal "  no warning if it is not wanted" "$RC $(cat .err)" "0 "
done
rm -f img
mkfs -q -d acl.tar img
fails 0 "warning: acl.tar: byte 0: the ACL of 'one' is lost" "an ACL of Solaris"
equal "  one warning, and the files are there" "$(wc -l <.err) $("$EXPORT" -t img | grep -cE 'one|two')" "1 2"
done_testing 39
