/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "oci/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "base/types.h"

/* A list of names in a message, truncated to fit. */
struct list {
	char text[320];
	size_t n;
};

static void list_add(struct list *l, const char *name)
{
	const size_t len = strlen(l->text);
	char one[84];

	snprintf(one, sizeof(one), "%.80s", name);
	if (l->n && strstr(l->text, one))
		return; /* in the list already, or part of a longer name: the list is only a hint */
	if (len + strlen(one) + 8 > sizeof(l->text)) {
		if (len + 6 < sizeof(l->text) && !strstr(l->text, ", ..."))
			strcat(l->text, ", ...");
		return;
	}
	snprintf(l->text + len, sizeof(l->text) - len, "%s%s", l->n++ ? ", " : "", one);
}

static const char *printed_name(const struct xw_oci_desc *d)
{
	return *d->ref ? d->ref : *d->name ? d->name : d->digest.text;
}

static bool is_named(const struct xw_oci_desc *d, const char *ref)
{
	if (!strcmp(ref, d->ref) || !strcmp(ref, d->name))
		return *ref != '\0';
	return !strcmp(ref + (*ref == '@'), d->digest.text);
}

/* An index, and the request for one of its images. */
struct choice {
	const struct xw_oci_descs *from;
	const struct xw_oci_wish *w;
	bool top;
	const char **digests; /* of all manifests, sorted */
	size_t n_digests;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_digests(struct choice *c)
{
	c->digests = malloc((c->from->n + 1) * sizeof(*c->digests));
	if (!c->digests)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < c->from->n; i++)
		if (xw_digest_is_set(&c->from->v[i].digest))
			c->digests[c->n_digests++] = c->from->v[i].digest.text;
	if (c->n_digests)
		qsort(c->digests, c->n_digests, sizeof(*c->digests), by_text);
	return 0;
}

/* Order of a digest and the tag that refers to it: it has a '-' for the ':'. As of strcmp(). */
static int compare(const char *digest, const char *tag)
{
	size_t i = 0;

	while (digest[i] && tag[i] == (digest[i] == ':' ? '-' : digest[i]))
		i++;
	if (!digest[i] && (!tag[i] || tag[i] == '.'))
		return 0;
	/* equal if both have a ':' here: every tag that has it belongs on the same side */
	return (unsigned char)digest[i] <= (unsigned char)(tag[i] == '-' ? ':' : tag[i]) ? -1 : 1;
}

/*
 * Does its tag refer to another manifest of the index: "sha256-HEX" (referrers of that digest), or
 * "sha256-HEX.sig" and similar (cosign)?
 */
static bool is_about_other(const struct choice *c, const struct xw_oci_desc *d)
{
	const size_t at = XW_LOWER_BOUND(i, c->n_digests, compare(c->digests[i], d->ref) >= 0);

	return at < c->n_digests && !compare(c->digests[at], d->ref);
}

/* Is it an image that matches the request? */
static bool is_candidate(const struct choice *c, const struct xw_oci_desc *d)
{
	if (d->attestation)
		return false;
	if (!c->top)
		return true;
	return c->w->ref ? is_named(d, c->w->ref) : !is_about_other(c, d);
}

static bool same_image(const struct xw_oci_desc *a, const struct xw_oci_desc *b)
{
	return !strcmp(a->ref, b->ref) && !strcmp(a->name, b->name);
}

static unsigned rank(const struct xw_oci_desc *d, const struct xw_oci_wish *w)
{
	return d->platform.os ? xw_oci_platform_rank(&d->platform, &w->platform) : 1;
}

static int none_named(const struct xw_oci_descs *from, const struct xw_oci_wish *w,
		      struct xw_diag *diag)
{
	struct list l = {0};

	for (size_t i = 0; i < from->n; i++)
		if (!from->v[i].attestation)
			list_add(&l, printed_name(&from->v[i]));
	if (!l.n)
		return xw_fail(diag, XW_ERR_INPUT, "%s: holds no image", w->name);
	return xw_fail(diag, XW_ERR_INPUT, "%s: has no image '%.200s'; there is %s", w->name,
		       w->ref ? w->ref : "", l.text);
}

static int none_suits(const struct xw_oci_descs *from, const struct xw_oci_wish *w,
		      struct xw_diag *diag)
{
	char want[XW_OCI_PLATFORM_TEXT], have[XW_OCI_PLATFORM_TEXT];
	struct list l = {0};

	for (size_t i = 0; i < from->n; i++) {
		if (from->v[i].attestation)
			continue;
		xw_oci_platform_text(&from->v[i].platform, have);
		list_add(&l, have);
	}
	xw_oci_platform_text(&w->platform, want);
	return xw_fail(diag, XW_ERR_INPUT,
		       "%s: has no image for %s; --platform chooses another one: %s", w->name, want,
		       l.text);
}

static int several(const struct choice *c, struct xw_diag *diag)
{
	const struct xw_oci_descs *from = c->from;
	const struct xw_oci_wish *w = c->w;
	struct list l = {0};

	for (size_t i = 0; i < from->n; i++)
		if (is_candidate(c, &from->v[i]) && rank(&from->v[i], w))
			list_add(&l, printed_name(&from->v[i]));
	return xw_fail(diag, XW_ERR_INPUT,
		       "%s: holds several images; oci:PATH:REF chooses one of them: %s", w->name,
		       l.text);
}

static int choose(const struct choice *c, struct xw_diag *diag, size_t *index)
{
	const struct xw_oci_descs *from = c->from;
	const struct xw_oci_wish *w = c->w;
	const bool top = c->top;
	const struct xw_oci_desc *best = NULL, *only = NULL, *other = NULL;
	unsigned best_rank = 0;
	bool ambiguous = false, alone = true;

	for (size_t i = 0; i < from->n; i++) {
		const struct xw_oci_desc *d = &from->v[i];
		unsigned r;

		if (!is_candidate(c, d))
			continue;
		alone = alone && (!only || xw_digest_same(&only->digest, &d->digest));
		only = d;
		r = rank(d, w);
		if (!r)
			continue;
		/* not a second name or another platform of the same image */
		if (top && !w->ref && best && !same_image(d, best) &&
		    !xw_digest_same(&best->digest, &d->digest))
			other = d;
		if (r == best_rank && !xw_digest_same(&best->digest, &d->digest))
			ambiguous = true;
		if (r > best_rank) {
			best = d;
			best_rank = r;
			ambiguous = false;
		}
	}
	if (!only)
		return none_named(from, w, diag);
	if (top && (other || ambiguous))
		return several(c, diag);
	if (!best && (w->explicit_platform || !alone))
		return none_suits(from, w, diag);
	*index = (size_t)((best ? best : only) - from->v);
	return 0;
}

int xw_oci_choose(const struct xw_oci_descs *from, const struct xw_oci_wish *w, bool top,
		  struct xw_diag *diag, size_t *index)
{
	struct choice c = {.from = from, .w = w, .top = top};
	int rc = top && !w->ref ? list_digests(&c) : 0;

	if (!rc)
		rc = choose(&c, diag, index);
	else
		rc = xw_fail_nomem(diag, "manifests");
	free(c.digests);
	return rc;
}

/* Remove the prefixes that Docker adds to short names. */
static const char *short_name(const char *name)
{
	static const char *const defaults[] = {"docker.io/library/", "docker.io/", "localhost/"};

	for (size_t i = 0; i < XW_ARRAY_SIZE(defaults); i++)
		if (!strncmp(name, defaults[i], strlen(defaults[i])))
			return name + strlen(defaults[i]);
	return name;
}

static bool is_tagged(const char *tag, const char *ref)
{
	const char *t = short_name(tag), *r = short_name(ref), *slash = strrchr(r, '/');
	const size_t len = strlen(r);

	if (!strcmp(t, r))
		return true;
	return !strchr(slash ? slash : r, ':') && !strncmp(t, r, len) &&
	       !strcmp(t + len, ":latest");
}

static bool has_tag(const struct xw_docker_image *d, size_t number, const char *ref)
{
	uint32_t n;

	if (*ref == '@' && !xw_parse_u32(ref + 1, &n))
		return n == number;
	for (size_t i = 0; i < d->n_tags; i++)
		if (is_tagged(d->tags[i], ref))
			return true;
	return false;
}

int xw_docker_choose(const struct xw_docker_images *from, const struct xw_oci_wish *w,
		     struct xw_diag *diag, size_t *index)
{
	struct list l = {0};
	size_t found = 0;

	for (size_t i = 0; i < from->n; i++) {
		char number[24];

		if (!w->ref || has_tag(&from->v[i], i, w->ref)) {
			*index = i;
			found++;
		}
		snprintf(number, sizeof(number), "@%zu", i);
		list_add(&l, from->v[i].n_tags ? from->v[i].tags[0] : number);
	}
	if (found == 1)
		return 0;
	if (!from->n)
		return xw_fail(diag, XW_ERR_INPUT, "%s: holds no image", w->name);
	if (!found)
		return xw_fail(diag, XW_ERR_INPUT, "%s: has no image '%.200s'; there is %s",
			       w->name, w->ref, l.text);
	return xw_fail(diag, XW_ERR_INPUT,
		       "%s: holds several images; docker-archive:FILE:TAG chooses one of them: %s",
		       w->name, l.text);
}
