/* SPDX-License-Identifier: MIT */
#include "xw.h"

const char *xw_version(void)
{
	return "0.1.0";
}
