#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names of functions: a program can link any of them statically, all together.
. "$(dirname "$0")/lib.sh"

lib=$XW_BUILD/.libs/libxwinternal.a
[ -e "$lib" ] || skip_all "the rooms are not built"
command -v nm >/dev/null || skip_all "nm is missing"

nm "$lib" 2>/dev/null | awk '$2 ~ /^[TDBR]$/ && $3 !~ /^__/ { print $3 }' | sort >names
is "the rooms have names" test "$(wc -l <names)" -gt 500
equal "no two of them define the same one" "$(uniq -d names)" ""
done_testing 2
