/* SPDX-License-Identifier: MIT */
/* xw-mkfs --help. */
#include "config.h"

#include "mkfs/mkfs.h"

void mkfs_print_help(FILE *out)
{
	fputs("Usage: xw-mkfs [options] [-d SOURCE] IMAGE [SIZE]\n"
	      "Make an ext4 filesystem in IMAGE and, with -d, fill it in the same pass.\n"
	      "\n"
	      "SIZE counts KiB, with -b blocks, with a suffix (s K M G T) bytes. Left out with -d "
	      "and a\n"
	      "new IMAGE: as small as the content allows.\n"
	      "\n"
	      "Filling:\n"
	      "  -d SOURCE                 a directory, an archive of any format or compression, "
	      "or - for\n"
	      "                            a stream on standard input\n" CLI_FILL_HELP
	      "      --free SIZE|N%        with SIZE left out: this much free space in the image\n"
	      "      --free-inodes N       with SIZE left out: this many free inodes at least\n"
	      "\n"
	      "The filesystem, as in mke2fs(8):\n"
	      "  -t TYPE    ext2, ext3, ext4 (default)      -O LIST    features, ^ takes one away\n"
	      "  -T TYPES   usage types                     -E LIST    extended options\n"
	      "  -b SIZE    block size (default 4096)       -I SIZE    inode size\n"
	      "  -i BYTES   bytes per inode                 -N COUNT   number of inodes\n"
	      "  -g BLOCKS  blocks per group                -G GROUPS  groups per flex group\n"
	      "  -m PERCENT reserved blocks                 -C SIZE    cluster size\n"
	      "  -j, -J LIST  a journal and its options     -r N       revision\n"
	      "  -c         search for bad blocks           -l FILE    list of bad blocks\n"
	      "  -L LABEL   volume label                    -U UUID    UUID, clear, random, time\n"
	      "  -M PATH    last mounted on                 -e WHAT    continue, remount-ro, "
	      "panic\n"
	      "  -o OS      creator\n"
	      "\n"
	      "Running:\n"
	      "  -n         plan only, write nothing        -F         overwrite what is there\n"
	      "  -K         do not discard what was there   -D         direct I/O\n"
	      "  -S         write superblocks and descriptors only, over a damaged filesystem\n"
	      "  -q         print nothing but problems      -v         print more; twice: "
	      "statistics\n"
	      "      --replace             a new file in place of an old image, once it is whole\n"
	      "      --jobs N              threads (default: processors); does not change the "
	      "image\n"
	      "      --json                print the result as JSON\n"
	      "  -V, --version             print the version\n"
	      "  -h, --help                print this\n"
	      "\n"
	      "With SOURCE_DATE_EPOCH, -U and -E hash_seed= the same input gives the same bytes.\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage. See xw-mkfs(8).\n",
	      out);
}
