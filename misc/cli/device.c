/* SPDX-License-Identifier: MIT */
/* Find a block device by the UUID of its filesystem or journal, with libblkid. */
#include "config.h"

#include "cli/device.h"

#include <blkid/blkid.h>
#include <stddef.h>

/* libblkid trusts what another process has cached for a device: search again without the cache. */
char *cli_find_device(const char *uuid)
{
	blkid_cache cache;
	char *found = blkid_evaluate_tag("UUID", uuid, NULL);

	if (found || blkid_get_cache(&cache, "/dev/null"))
		return found;
	found = blkid_get_devname(cache, "UUID", uuid);
	blkid_put_cache(cache);
	return found;
}
