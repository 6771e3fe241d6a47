/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "oci/platform.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/types.h"

static const char *part(struct xw_arena *arena, const char *p, size_t len)
{
	char *copy = xw_arena_alloc(arena, len + 1, 1);

	if (copy)
		memcpy(copy, p, len);
	return copy;
}

int xw_oci_platform_parse(const char *text, struct xw_arena *arena, struct xw_diag *diag,
			  struct xw_oci_platform *p)
{
	const char **const parts[] = {&p->os, &p->arch, &p->variant};
	const char *at = text;
	size_t n = 0;

	*p = (struct xw_oci_platform){0};
	for (;; at++) {
		const size_t len = strcspn(at, "/");

		if (!len || n == XW_ARRAY_SIZE(parts))
			break;
		*parts[n] = part(arena, at, len);
		if (!*parts[n++])
			return xw_fail_nomem(diag, "platform");
		at += len;
		if (!*at && n >= 2)
			return 0;
		if (!*at)
			break;
	}
	return xw_fail(diag, XW_ERR_USAGE, "--platform: \"%s\" is not OS/ARCH or OS/ARCH/VARIANT",
		       text);
}

int xw_oci_platform_here(struct xw_arena *arena, struct xw_diag *diag, struct xw_oci_platform *p)
{
	static const struct {
		const char *machine, *arch, *variant;
	} known[] = {
		{"x86_64", "amd64", NULL},  {"aarch64", "arm64", NULL},
		{"armv8l", "arm", "v7"},    {"armv7l", "arm", "v7"},
		{"armv6l", "arm", "v6"},    {"armv5tel", "arm", "v5"},
		{"i386", "386", NULL},      {"i486", "386", NULL},
		{"i586", "386", NULL},      {"i686", "386", NULL},
		{"mips64", "mips64", NULL}, {"loongarch64", "loong64", NULL},
	};
	struct utsname u;

	*p = (struct xw_oci_platform){.os = "linux", .arch = "unknown"};
	if (uname(&u))
		return 0;
	for (size_t i = 0; i < XW_ARRAY_SIZE(known); i++) {
		if (strcmp(u.machine, known[i].machine) != 0)
			continue;
		p->arch = known[i].arch;
		p->variant = known[i].variant;
		return 0;
	}
	/* other names are the same in Go and uname(2) */
	p->arch = part(arena, u.machine, strlen(u.machine));
	return p->arch ? 0 : xw_fail_nomem(diag, "platform");
}

static const char *variant_of(const struct xw_oci_platform *p)
{
	if (p->variant && *p->variant)
		return p->variant;
	return !strcmp(p->arch, "arm64")   ? "v8"
	       : !strcmp(p->arch, "arm")   ? "v7"
	       : !strcmp(p->arch, "amd64") ? "v1"
					   : "";
}

unsigned xw_oci_platform_rank(const struct xw_oci_platform *have,
			      const struct xw_oci_platform *want)
{
	const char *h, *w;

	if (!have->os || !have->arch || strcmp(have->os, want->os) != 0 ||
	    strcmp(have->arch, want->arch) != 0)
		return 0;
	h = variant_of(have);
	w = variant_of(want);
	if (!strcmp(h, w))
		return 256;
	if (!strcmp(want->arch, "arm") && h[0] == 'v' && w[0] == 'v' && h[1] && !h[2] && w[1] &&
	    !w[2] && h[1] < w[1])
		return (unsigned char)h[1];
	return 0;
}

void xw_oci_platform_text(const struct xw_oci_platform *p, char text[XW_OCI_PLATFORM_TEXT])
{
	snprintf(text, XW_OCI_PLATFORM_TEXT, "%.30s/%.30s%s%.30s", p->os ? p->os : "unknown",
		 p->arch ? p->arch : "unknown", p->variant && *p->variant ? "/" : "",
		 p->variant ? p->variant : "");
}
