/* SPDX-License-Identifier: MIT */
/* The options of tools that fill images, and the values among them that depend on this machine. */
#include "config.h"

#include "cli/date.h"
#include "cli/names.h"
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/parse.h"

const struct cli_option cli_fill_options[] = {
	{NULL, "--directory", "DIR", "put the content below DIR in the image"},
	{NULL, "--strip-components", "N", "drop N leading components of every name"},
	{NULL, "--exclude", "PATTERN", "leave out names that match (more than once)"},
	{"-X", "--exclude-from", "FILE", "the same for each line of FILE"},
	{NULL, "--newer", "DATE|FILE", "leave out files not changed since then", cli_pass_date},
	{NULL, "--newer-mtime", "DATE|FILE", "the same by modification time alone", cli_pass_date},
	{NULL, "--transform", "EXPR", "change names by s/REGEXP/REPLACEMENT/, as tar does"},
	{NULL, "--xattrs-exclude", "PATTERN", "leave out extended attributes whose name matches"},
	{NULL, "--one-file-system", NULL, "in a directory: do not descend into mounts"},
	{NULL, "--ignore-unreadable", NULL, "in a directory: leave out files that cannot be read"},
	{NULL, "--no-overwrite-dir", NULL,
	 "keep owner, mode and attributes of existing directories"},
	{NULL, "--platform", "OS/ARCH[/VARIANT]",
	 "of a container image (default: that of this machine)"},
	{NULL, "--oci-config", "FILE", "write the configuration of a container image to FILE"},
	{NULL, "--no-oci", NULL, "store the files of a container image, not its content"},
	{NULL, "--tmpdir", "DIR",
	 "directory of temporary files: for a container image from a pipe or in a compressed "
	 "archive, and for --exclude of a name with hard links (default: TMPDIR)"},
	{NULL, "--spool-limit", "SIZE", "largest size of that file"},
	{NULL, "--whiteouts", "apply|keep|overlay",
	 "whiteouts of OCI layers: apply, keep, or convert for overlayfs"},
	{NULL, "--owner", "USER[:GROUP]", "owner of all entries", cli_pass_owner},
	{NULL, "--group", "GROUP", "group of all entries", cli_pass_group},
	{NULL, "--mode", "MODE", "mode of all entries"},
	{NULL, "--all-root", NULL, "everything belongs to root"},
	{NULL, "--owner-map", "FILE", "change owners by a table of OLD NEW"},
	{NULL, "--group-map", "FILE", "change groups by a table of OLD NEW"},
	{NULL, "--device-table", "FILE", "devices, owners and modes from a table of genext2fs"},
	{NULL, "--fs-config", "FILE", "owners, modes and capabilities from a table of Android"},
	{NULL, "--file-contexts", "FILE", "SELinux labels from a file_contexts file"},
	{NULL, "--mount-point", "DIR", "prefix of the names in these two"},
	{NULL, "--mtime", "DATE|FILE", "modification time of all entries", cli_pass_date},
	{NULL, "--clamp-mtime", NULL, "no time later than that, or SOURCE_DATE_EPOCH"},
	{NULL, "--acls", NULL, "always on, as are the next three: options of tar", cli_always},
	{NULL, "--numeric-owner", NULL, "always on", cli_always},
	{NULL, "--selinux", NULL, "always on", cli_always},
	{NULL, "--xattrs", NULL, "always on", cli_always},
	CLI_END,
};

/* A word that starts with a digit, or with a plus sign as in tar(1), is a number. */
static bool as_number(const char *word, int group, char text[16])
{
	const bool plus = word[0] == '+' && word[1] >= '0' && word[1] <= '9';
	const bool is_number = word[plus] >= '0' && word[plus] <= '9';
	uint32_t id;

	if (is_number ? xw_parse_u32(word + plus, &id) : cli_name_to_id(NULL, group, word, &id))
		return false;
	snprintf(text, 16, "%" PRIu32, id);
	return true;
}

/* Names are those of this machine; the library uses only numbers. */
int cli_pass_owner(struct cli_line *l, const struct cli_option *o, const char *value)
{
	auto_free char *words = strdup(value);
	char *const colon = words ? strchr(words, ':') : NULL;
	char owner[16] = "", group[16] = "", *text;

	if (colon)
		*colon = '\0';
	if (!words || (!(colon && !*words) && !as_number(words, 0, owner)) ||
	    (colon && !as_number(colon + 1, 1, group)))
		return cli_line_refuse(l,
				       "%s: \"%s\" is not OWNER[:GROUP], in numbers or names "
				       "that this machine knows",
				       o->name, value);
	if (asprintf(&text, "%s%s%s", owner, colon ? ":" : "", group) < 0)
		text = NULL;
	return cli_line_push_made(l, o->name, text);
}

int cli_pass_group(struct cli_line *l, const struct cli_option *o, const char *value)
{
	char group[16];

	if (!as_number(value, 1, group))
		return cli_line_refuse(
			l, "%s: \"%s\" is not a group, in numbers or names that this machine knows",
			o->name, value);
	return cli_line_push_made(l, o->name, strdup(group));
}

/* The library takes seconds. */
int cli_pass_date(struct cli_line *l, const struct cli_option *o, const char *value)
{
	char text[64];

	errno = 0;
	if (cli_date(value, text, sizeof(text)))
		return cli_line_push_made(l, o->name, strdup(text));
	if (errno && (*value == '/' || *value == '.'))
		return cli_line_refuse(l, "%s: %s: %s", o->name, value, strerror(errno));
	return cli_line_refuse(l,
			       "%s: \"%s\" is not a date (@SECONDS, or YYYY-MM-DD with or "
			       "without HH:MM:SS and a zone), nor a file by a name with \"/\" "
			       "or \".\" in front",
			       o->name, value);
}
