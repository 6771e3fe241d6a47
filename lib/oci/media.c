/* SPDX-License-Identifier: MIT */
/* Media types of layers. */
#include "config.h"

#include "oci/decode.h"

#include <string.h>

#include "base/types.h"

static const struct {
	const char *name;
	enum xw_oci_media media;
} bases[] = {
	{"application/vnd.oci.image.layer.v1.tar", XW_OCI_LAYER},
	{"application/vnd.oci.image.layer.nondistributable.v1.tar", XW_OCI_FOREIGN},
	{"application/vnd.docker.image.rootfs.diff.tar", XW_OCI_LAYER},
	{"application/vnd.docker.image.rootfs.foreign.diff.tar", XW_OCI_FOREIGN},
	{"application/vnd.docker.container.image.rootfs.diff+x-gtar", XW_OCI_LAYER},
};

enum xw_oci_media xw_oci_media_type(const char *media_type)
{
	static const char *const ends[] = {"", "+gzip", ".gzip", "+zstd", ".zstd"};

	if (!*media_type)
		return XW_OCI_LAYER;
	for (size_t i = 0; i < XW_ARRAY_SIZE(bases); i++) {
		const size_t len = strlen(bases[i].name);

		if (strncmp(media_type, bases[i].name, len) != 0)
			continue;
		for (size_t e = 0; e < XW_ARRAY_SIZE(ends); e++)
			if (!strcmp(media_type + len, ends[e]))
				return bases[i].media;
		if (strstr(media_type + len, "+encrypted"))
			return XW_OCI_ENCRYPTED;
	}
	return XW_OCI_NO_LAYER;
}
