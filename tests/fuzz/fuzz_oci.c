/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the documents of container images. The first byte says which; the rest is the text.
 * What the decoders return must keep the promises of oci/decode.h, a failure must come with a line,
 * and choosing must return an element or say why not.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oci/choose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "fuzz_oci: %s (line %d)\n", #x, __LINE__);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void check_digest(const struct xw_digest *d)
{
	struct xw_digest again;
	char path[XW_DIGEST_PATH];

	MUST(xw_digest_is_set(d) && xw_digest_parse(d->text, strlen(d->text), &again));
	MUST(xw_digest_same(d, &again));
	xw_digest_path(d, path);
	MUST(!strncmp(path, "blobs/sha", 9) && !strchr(path, ':') && !strstr(path, ".."));
	MUST(strlen(path) == strlen("blobs/") + strlen(d->text));
}

static void check_platform(const struct xw_oci_platform *p)
{
	char text[XW_OCI_PLATFORM_TEXT];

	xw_oci_platform_text(p, text);
	MUST(strlen(text) < sizeof(text));
	if (p->os && p->arch)
		MUST(xw_oci_platform_rank(p, p) == 256);
}

static void check_desc(const struct xw_oci_desc *d)
{
	check_digest(&d->digest);
	check_platform(&d->platform);
	MUST(d->size <= INT64_MAX);
	MUST(strlen(d->ref) < XW_OCI_JSON_MAX && strlen(d->name) < XW_OCI_JSON_MAX);
	MUST(strlen(d->url) < XW_OCI_JSON_MAX);
	(void)xw_oci_media_type(d->media_type);
}

static void check_descs(const struct xw_oci_descs *d)
{
	for (size_t i = 0; i < d->n; i++)
		check_desc(&d->v[i]);
}

static void choose(const struct xw_oci_descs *from, const char *ref, bool top, bool strict)
{
	const struct xw_oci_wish w = {.name = "fuzz",
				      .ref = ref,
				      .platform = {.os = "linux", .arch = "amd64"},
				      .explicit_platform = strict};
	struct xw_diag diag = {0};
	size_t i = SIZE_MAX;
	const int rc = xw_oci_choose(from, &w, top, &diag, &i);

	MUST(rc ? diag.code == rc && diag.text[0] : i < from->n && !from->v[i].attestation);
}

static void choose_all(const struct xw_oci_descs *from)
{
	for (unsigned how = 0; how < 4; how++)
		choose(from, NULL, how & 1, how & 2);
	for (size_t i = 0; i < from->n && i < 4; i++) {
		choose(from, from->v[i].ref, true, false);
		choose(from, from->v[i].digest.text, true, true);
	}
}

static int doc(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag)
{
	struct xw_oci_doc d;
	const int rc = xw_oci_decode_doc(t, arena, diag, &d);

	if (rc)
		return rc;
	if (d.is_index) {
		check_descs(&d.manifests);
		choose_all(&d.manifests);
	} else {
		check_desc(&d.config);
		check_descs(&d.layers);
	}
	return 0;
}

static int config(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag)
{
	struct xw_oci_config c;
	const int rc = xw_oci_decode_config(t, arena, diag, &c);

	if (rc)
		return rc;
	check_platform(&c.platform);
	for (size_t i = 0; i < c.n; i++)
		check_digest(&c.diff_ids[i]);
	return 0;
}

static int docker(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag)
{
	struct xw_oci_wish w = {.name = "fuzz"};
	struct xw_docker_images all;
	struct xw_diag why = {0};
	size_t i = SIZE_MAX;
	int rc = xw_oci_decode_docker(t, arena, diag, &all);

	if (rc)
		return rc;
	for (size_t n = 0; n < all.n; n++) {
		MUST(*all.v[n].config);
		for (size_t l = 0; l < all.v[n].n_layers; l++)
			MUST(strlen(all.v[n].layers[l]) < XW_OCI_JSON_MAX);
	}
	rc = xw_docker_choose(&all, &w, &why, &i);
	MUST(rc ? why.code == rc && why.text[0] : i < all.n);
	for (size_t n = 0; n < all.n && n < 4; n++) {
		if (!all.v[n].n_tags)
			continue;
		w.ref = all.v[n].tags[0];
		why = (struct xw_diag){0};
		rc = xw_docker_choose(&all, &w, &why, &i);
		MUST(rc ? why.code == rc : i < all.n);
	}
	return 0;
}

static int layout(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag)
{
	(void)arena;
	return xw_oci_decode_layout(t, diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const kinds[])(const struct xw_oci_text *, struct xw_arena *,
				    struct xw_diag *) = {doc, config, docker, layout};
	struct xw_oci_text t = {.name = "fuzz"};
	struct xw_oci_platform p;
	struct xw_arena arena = {0};
	struct xw_diag diag = {0};
	char *copy;
	int rc;

	if (!size)
		return 0;
	copy = malloc(size);
	MUST(copy);
	memcpy(copy, data + 1, size - 1);
	copy[size - 1] = '\0';
	t.p = copy;
	t.len = size - 1;
	rc = kinds[data[0] % 4](&t, &arena, &diag);
	MUST(rc ? diag.code == rc && diag.text[0] : !diag.code);
	diag = (struct xw_diag){0};
	rc = xw_oci_platform_parse(copy, &arena, &diag, &p);
	MUST(rc ? diag.code == rc : p.os && p.arch && *p.os && *p.arch);
	xw_arena_free(&arena);
	free(copy);
	return 0;
}
