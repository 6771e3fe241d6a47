/* SPDX-License-Identifier: MIT */
/* Did everything get space? The message says how much is missing. */
#include "config.h"

#include "fill/builder.h"

int xw_build_check_room(struct xw_builder *b)
{
	const bool stream = b->geo.kind == XW_GEO_STREAM;
	char missing[XW_PLACE_ROOM_MAX];

	if (!b->place.missing)
		return 0;
	xw_place_missing(&b->place, missing, sizeof(missing));
	return xw_fail(b->place.enc.diag, XW_ERR_NOSPC,
		       "%s: image too small: %llu blocks needed, %llu available%s (%s short)%s",
		       b->dev->name, (unsigned long long)(b->geo.blocks + b->place.missing),
		       (unsigned long long)b->geo.blocks, stream ? " without SIZE" : "", missing,
		       stream ? "; give SIZE or -E resize=" : "");
}
