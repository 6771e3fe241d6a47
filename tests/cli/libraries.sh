#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which symbols libextwright exports, and which tools load libarchive.
. "$(dirname "$0")/lib.sh"

libs=$XW_BUILD/.libs
[ -e "$libs/libextwright.so" ] && [ "$BIN" = "$libs" ] || skip_all "no shared libraries in this build"
command -v nm >/dev/null && command -v readelf >/dev/null || skip_all "nm or readelf is missing"

declared=$(sed '/^typedef/d; s,/\*.*\*/,,' "$XW_SRC/lib/api/xw.h" | grep -oE '\bxw_[a-z_]+\(' | tr -d '(' | sort -u)
equal "libextwright exports what xw.h declares, and nothing else" \
	"$(nm -D --defined-only "$libs/libextwright.so" | sed -n 's/.* [TDBR] \([^@]*\).*/\1/p' | grep -v '^EXTWRIGHT_' | sort)" "$declared"
equal "libextwright-private exports only names of the suite" \
	"$(nm -D --defined-only "$libs/libextwright-private.so" | awk '$3 !~ /^xw_/ && $2 ~ /[TDBR]/ { print $3 }')" ""

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
needs() { needed "$1" | grep -q "^$2"; }
lacks() { ! needs "$@"; }
for tool in tune age dump freefrag debugfs fsck; do
	is "xw-$tool stands on the private library" needs "$BIN/xw-$tool" libextwright-private-
	is "  and does not load libarchive" lacks "$BIN/xw-$tool" libarchive
	is "  nor the library that does" lacks "$BIN/xw-$tool" 'libextwright\.'
done
is "the private library does not load libarchive" lacks "$libs/libextwright-private.so" libarchive
for tool in mkfs import export; do
	is "xw-$tool stands on the public library" needs "$BIN/xw-$tool" 'libextwright\.'
done
done_testing 24
