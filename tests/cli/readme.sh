#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README's program of the library: compiled literally, by README's own command, against an installed copy, and run.
. "$(dirname "$0")/lib.sh"
[ -e "$XW_SRC/README.md" ] || skip_all "no README.md here"
[ -e "$XW_BUILD/Makefile" ] || skip_all "no build tree to install from"
command -v cc >/dev/null && command -v pkg-config >/dev/null || skip_all "no compiler or pkg-config here"
# A sanitizer in the library must come first in the program, which README does not know.
! grep -q '^XW_SANITIZE_FLAGS = .*-fsanitize' "$XW_BUILD/Makefile" || skip_all "the library is built with a sanitizer"
[ -e "$XW_BUILD/.libs/libextwright.so" ] || skip_all "built without the shared library"

sed -n '/^## Library/,/^## License/s/^    //p' "$XW_SRC/README.md" >make.c
line=$(sed -n 's|^#include <xw.h>  */\* *\(cc .*\) \*/$|\1|p' make.c)
is "README has a command" test -n "$line"
equal "  with the source before the libraries" "${line%% \$(*}" "cc make.c"
is "  and a program" grep -q '^int main' make.c

# The copy is staged with DESTDIR, as packagers do, so that the test cannot use an installed extwright by mistake. LD_LIBRARY_PATH is
# unset because the linker searches it, too, and would find the libraries of the build tree.
# libtool links the library in its place again to install it. In a tree of links to the build tree, so that no test beside this one finds
# the library missing or half written.
# Where it was configured by a relative name, as by README's "../configure", that name has to lead to the sources from there as well.
srcdir=$(sed -n 's/^srcdir = //p' "$XW_BUILD/Makefile")
tree=tree
if [[ $srcdir =~ ^\.\.(/\.\.)*$ ]]; then
	mkdir view && ln -s "$XW_SRC"/* view
	tree=view/${srcdir//../below}
fi
mkdir -p in installed "$tree"
find "$XW_BUILD" -mindepth 1 -maxdepth 1 ! -name 'extwright-*' ! -name '*.log' ! -name '*.trs' -exec cp -rs -t "$tree" {} + 2>/dev/null
for la in "$tree"/*.la; do sed -i "/^relink_command=/s|(cd $XW_BUILD;|(cd $T/$tree;|" "$la"; done
built=${LD_LIBRARY_PATH-}
unset LD_LIBRARY_PATH
is "it is installed" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$tree" install DESTDIR="$T/installed"
lib=$(dirname "$(find "$T/installed" -name libextwright.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/installed
is "it compiles" sh -c "$line"
is "  without a warning" sh -c "$line -Wall -Wextra -Werror"
echo hello >in/file
tar cf rootfs.tar -C in .
is "it runs" env LD_LIBRARY_PATH="$lib" ./a.out
equal "  in silence" "$(cat .is)" ""
export LD_LIBRARY_PATH=$built
equal "its image has the file" "$("$BIN/xw-export" rootfs.img file | tar xOf - file)" hello
clean rootfs.img "  and is clean"
done_testing 10
