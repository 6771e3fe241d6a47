#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# More of integrators.sh's command lines: those of image builders, installers, virtual machines, cloud and RAID guides.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../cli/lib.sh"
. "$HERE/command_lines.sh"

command_lines "$HERE/usual_lines.table"
is "at least 50 command lines" test "$lines" -ge 50
done_testing 240
