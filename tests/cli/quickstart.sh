#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./quickstart: the figures that it prints are those of the files; a result without one of them is a problem. What it says about packages
# that are missing.
. "$(dirname "$0")/lib.sh"
[ -x "$XW_SRC/quickstart" ] || skip_all "no quickstart here"

mkdir build && ln -s "$BIN"/xw-* build/
make_tree tree
make_tar tree input.tar
quickstart() { XW_NO_INSTALL=1 XW_NO_BUILD=1 XW_BUILD_DIR=$T/build "$XW_SRC/quickstart" "$@" </dev/null >.out 2>&1; }
mib() { awk -v b="$1" 'BEGIN { printf "%.1f MiB", b / 1048576 }'; }

is "it succeeds" quickstart input.tar
image=build/quickstart/image.ext4
is "  with an image" test -s $image
equal "  the size of the input" "$(grep -c "input.tar: $(mib "$(stat -c %s input.tar)")\$" .out)" 1
equal "  what was read of it" "$(grep -cE "^ *$(mib "$(stat -c %s input.tar)") read in [0-9.]+ s: [0-9]+ MB/s\$" .out)" 1
equal "  the size of the image" "$(grep -c " image $(mib "$(stat -c %s $image)"): data" .out)" 1
equal "  the size of the output" "$(grep -c "xw-export: $(mib "$(stat -c %s build/quickstart/output.tar)") of tar" .out)" 1
equal "  its files" "$(sed -n 's/^ *\([0-9]*\) files, .* hard links$/\1/p' .out)" \
	"$("$BIN/xw-mkfs" --json -n -d input.tar none 2>/dev/null | sed 's/.*"files":\([0-9]*\).*/\1/')"
# dumpe2fs's words: free blocks, and those of the journal
value() { "$BIN/xw-dump" -h $image 2>/dev/null | sed -n "s/^$1: *//p"; }
equal "  free space" "$(grep -c "free $(mib $(($(value "Free blocks") * $(value "Block size"))))\$" .out)" 1
equal "  no figure is missing" "$(grep -c 'PROBLEM' .out)" 0
equal "  nor 0 where there is data" "$(grep -c ' data 0.0 MiB' .out)" 0

# A member of the JSON that was renamed is not a figure of 0.
rm build/xw-mkfs
printf '#!/bin/sh\n"%s/xw-mkfs" "$@" | sed s/block_size_bytes/blocksize/\n' "$BIN" >build/xw-mkfs
chmod +x build/xw-mkfs
quickstart input.tar
equal "a renamed member: a problem" "$? $(grep -c 'PROBLEM: the result of xw-mkfs --json has no block_size_bytes' .out)" "1 1"

# Packages: pkg-config knows none, and nobody may install. What is said to be installed gives a build with all features.
mkdir none && printf '#!/bin/sh\nexit 1\n' >none/pkg-config && chmod +x none/pkg-config
PATH=$T/none:$PATH quickstart input.tar
equal "packages that are missing" "$? $(grep -c 'sudo apt-get install .*libarchive-dev .*libjansson-dev nettle-dev' .out)" "1 1"
printf '#!/bin/sh\ncase $* in *jansson* | *nettle*) exit 1 ;; esac\n' >none/pkg-config
rm build/xw-mkfs && ln -s "$BIN/xw-mkfs" build/
PATH=$T/none:$PATH quickstart input.tar
equal "those for container images alone: the build goes on, and says what it lacks" \
	"$? $(grep -c 'missing, so the tools are built without container images .*: libjansson-dev nettle-dev (XW_NO_INSTALL is set)' .out)" "0 1"
done_testing 13
