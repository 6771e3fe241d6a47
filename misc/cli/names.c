/* SPDX-License-Identifier: MIT */
/*
 * Resolves names to numbers, for ACLs in archives that contain only names. Whatever has a number
 * keeps it: an image must not depend on the users of the machine that it was made on.
 */
#include "config.h"

#include "cli/names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

enum { FIRST_BUFFER = 4096, LAST_BUFFER = 1 << 20 };

/* The reentrant functions need room for a whole record; a group may have many members. */
static int look_up(int group, const char *name, char *buf, size_t size, uint32_t *id)
{
	struct passwd pw, *found_pw = NULL;
	struct group gr, *found_gr = NULL;
	int rc;

	if (group) {
		rc = getgrnam_r(name, &gr, buf, size, &found_gr);
		if (!rc && found_gr)
			*id = gr.gr_gid;
	} else {
		rc = getpwnam_r(name, &pw, buf, size, &found_pw);
		if (!rc && found_pw)
			*id = pw.pw_uid;
	}
	if (rc == ERANGE)
		return ERANGE;
	return found_pw || found_gr ? 0 : -1;
}

int cli_name_to_id(void *arg, int group, const char *name, uint32_t *id)
{
	int rc = ERANGE;

	(void)arg;
	for (size_t size = FIRST_BUFFER; rc == ERANGE && size <= LAST_BUFFER; size *= 4) {
		char *buf = malloc(size);

		if (!buf)
			return -1;
		rc = look_up(group, name, buf, size, id);
		free(buf);
	}
	return rc ? -1 : 0;
}
