/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/foreign.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/term.h"
#include "disk/foreign.h"

static const struct xw_foreign *find(const char *image)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	auto_free char *head = malloc(XW_FOREIGN_LOOK);
	const ssize_t n = fd < 0 || !head ? -1 : pread(fd, head, XW_FOREIGN_LOOK, 0);

	return n > 0 ? xw_foreign_find(head, (size_t)n) : NULL;
}

const char *cli_foreign_what(const char *image)
{
	const struct xw_foreign *kind = find(image);

	return kind ? kind->what : NULL;
}

void cli_foreign_hint(const char *image)
{
	const struct xw_foreign *kind = find(image);

	if (!kind)
		return;
	if (kind->role == XW_FOREIGN_OTHER)
		cli_hint("it is %s%s%s", kind->what, kind->advice ? ": " : "",
			 kind->advice ? kind->advice : "");
	else
		cli_hint("it is %s: xw-mkfs -d makes an image of an archive, xw-import adds one to "
			 "the IMAGE before it%s",
			 kind->what,
			 kind->role == XW_FOREIGN_COMPRESSED ? "; a compressed image must be "
							       "decompressed first"
							     : "");
}
