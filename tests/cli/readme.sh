#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README's example of the library, compiled by README's command and run.
. "$(dirname "$0")/lib.sh"
[ -e "$XW_SRC/README.md" ] || skip_all "no README.md here"
command -v cc >/dev/null && command -v pkg-config >/dev/null || skip_all "no compiler or pkg-config here"
# A sanitizer in the library must come first in the program, which README does not know.
! grep -q '^XW_SANITIZE_FLAGS = .*-fsanitize' "$XW_BUILD/Makefile" || skip_all "the library is built with a sanitizer"

line=$(sed -n 's|^ *#include <xw.h>  */\* *\(cc .*\) \*/$|\1|p' "$XW_SRC/README.md")
is "README has a command" test -n "$line"
equal "  with the source before the libraries" "${line%% \$(*}" "cc make.c"
{
	echo '#include <stdio.h>'
	sed -n '/^## Library/,/^## Licence/s/^    //p' "$XW_SRC/README.md" >example
	sed -n '1s|/\*.*||p' example
	echo 'int main(void) {'
	sed 1d example
	echo 'return 0; }'
} >make.c
is "  and an example" grep -q xw_mkfs_run make.c

mkdir pc in
sed "s|^libdir=.*|libdir=$BIN|; s|^includedir=.*|includedir=$XW_SRC/lib/api|" "$XW_BUILD/lib/api/extwright.pc" >pc/extwright.pc
export PKG_CONFIG_PATH=$T/pc
is "it compiles" sh -c "$line -Wall -Werror"
echo hello >in/file
tar cf rootfs.tar -C in .
is "it runs" ./a.out
equal "  in silence" "$(cat .is)" ""
equal "its image has the file" "$("$BIN/xw-export" rootfs.img file | tar xOf - file)" hello
clean rootfs.img "  and is clean"
done_testing
