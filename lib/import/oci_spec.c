/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "import/oci.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *prefix;
	enum xw_oci_form form;
} prefixes[] = {
	{"oci:", XW_OCI_FORM_OCI},
	{"oci-archive:", XW_OCI_FORM_OCI},
	{"docker-archive:", XW_OCI_FORM_DOCKER},
};

/*
 * Length of the path: up to the last colon before which it names an existing file, else the first.
 */
static size_t path_len(char *path)
{
	size_t end = strlen(path), first = strcspn(path, ":");

	while (end > first) {
		char was = path[end];
		bool exists;

		path[end] = '\0';
		exists = !access(path, F_OK);
		path[end] = was;
		if (exists)
			return end;
		do
			end--;
		while (end > first && path[end] != ':');
	}
	return first;
}

/* skopeo's transports that need a registry or the storage of a container engine. */
bool xw_oci_is_remote(const char *text)
{
	static const char *const remote[] = {"docker://", "docker-daemon:", "containers-storage:"};

	for (size_t i = 0; i < XW_ARRAY_SIZE(remote); i++)
		if (!strncmp(text, remote[i], strlen(remote[i])))
			return true;
	return false;
}

int xw_oci_spec_parse(const char *text, struct xw_oci_spec *out)
{
	const char *rest = NULL;
	size_t len;

	*out = (struct xw_oci_spec){0};
	for (size_t i = 0; i < XW_ARRAY_SIZE(prefixes) && !rest; i++) {
		len = strlen(prefixes[i].prefix);
		if (strncmp(text, prefixes[i].prefix, len) != 0)
			continue;
		rest = text + len;
		out->form = prefixes[i].form;
	}
	if (!rest)
		return 0;
	out->path = strdup(rest);
	if (!out->path)
		return XW_ERR_NOMEM;
	len = path_len(out->path);
	if (rest[len] && rest[len + 1])
		out->ref = rest + len + 1;
	out->path[len] = '\0';
	return 1;
}
