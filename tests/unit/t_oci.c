/* SPDX-License-Identifier: MIT */
/* Digests, platforms, media types, and which image of several is chosen. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "oci/choose.h"
#include "unit.h"

#define SHA_ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA512_ABC                                                                                 \
	"sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"                  \
	"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static struct xw_digest digest(const char *text)
{
	struct xw_digest d;

	ck_assert(xw_digest_parse(text, strlen(text), &d));
	return d;
}

START_TEST(digests)
{
	static const char *const good[] = {SHA_ABC, SHA512_ABC};
	static const char *const bad[] = {"",
					  "sha256:",
					  "sha256:00",
					  "md5:00",
					  SHA_ABC "0",
					  "SHA256:" SHA_ABC,
					  "sha256:BA7816bf8f01cfea414140de5dae2223b00361a396177a9c"
					  "b410ff61f20015ad",
					  "sha256:../816bf8f01cfea414140de5dae2223b00361a396177a9c"
					  "b410ff61f20015ad"};
	char path[XW_DIGEST_PATH];

	for (size_t i = 0; i < XW_ARRAY_SIZE(good); i++) {
		struct xw_digest want = digest(good[i]), is;
		struct xw_hasher *h = xw_hasher_new(&want);

		ck_assert_ptr_nonnull(h);
		xw_hasher_add(h, "a", 1);
		xw_hasher_add(h, "bc", 2);
		xw_hasher_end(h, &is);
		ck_assert_str_eq(is.text, good[i]);
		ck_assert(xw_digest_same(&is, &want));
		xw_hasher_free(h);
		xw_digest_path(&want, path);
		ck_assert(!strncmp(path, i ? "blobs/sha512/" : "blobs/sha256/", 13));
		ck_assert_str_eq(path + 13, good[i] + 7);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(bad); i++) {
		struct xw_digest d;

		ck_assert(!xw_digest_parse(bad[i], strlen(bad[i]), &d));
		ck_assert(!xw_digest_is_set(&d));
	}
}
END_TEST

START_TEST(platforms)
{
	static const struct {
		const char *have, *want;
		int better; /* 0 none, 1 some, 2 exactly */
	} cases[] = {
		{"linux/amd64", "linux/amd64", 2},    {"linux/amd64/v1", "linux/amd64", 2},
		{"linux/amd64/v3", "linux/amd64", 0}, {"linux/arm64/v8", "linux/arm64", 2},
		{"linux/arm64", "linux/arm64/v8", 2}, {"linux/arm", "linux/arm/v7", 2},
		{"linux/arm/v6", "linux/arm/v7", 1},  {"linux/arm/v7", "linux/arm/v6", 0},
		{"windows/amd64", "linux/amd64", 0},  {"linux/386", "linux/amd64", 0},
	};
	static const char *const bad[] = {"",        "linux", "linux/",       "/amd64",
					  "a/b/c/d", "a//b",  "linux/amd64/", "a/b/"};
	struct xw_arena arena = {0};
	struct xw_oci_platform p, q;
	char text[XW_OCI_PLATFORM_TEXT];

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		unsigned rank;

		ck_assert_int_eq(xw_oci_platform_parse(cases[i].have, &arena, NULL, &p), 0);
		ck_assert_int_eq(xw_oci_platform_parse(cases[i].want, &arena, NULL, &q), 0);
		rank = xw_oci_platform_rank(&p, &q);
		ck_assert_int_eq(rank == 256 ? 2 : rank > 1, cases[i].better);
		xw_oci_platform_text(&p, text);
		ck_assert_str_eq(text, cases[i].have);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(xw_oci_platform_parse(bad[i], &arena, NULL, &p), XW_ERR_USAGE);
	ck_assert_int_eq(xw_oci_platform_here(&arena, NULL, &p), 0);
	ck_assert_str_eq(p.os, "linux");
	ck_assert_uint_eq(xw_oci_platform_rank(&p, &p), 256);
	xw_arena_free(&arena);
}
END_TEST

START_TEST(media)
{
	static const struct {
		const char *type;
		enum xw_oci_media want;
	} cases[] = {
		{"", XW_OCI_LAYER},
		{"application/vnd.oci.image.layer.v1.tar", XW_OCI_LAYER},
		{"application/vnd.oci.image.layer.v1.tar+zstd", XW_OCI_LAYER},
		{"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", XW_OCI_FOREIGN},
		{"application/vnd.docker.image.rootfs.diff.tar.gzip", XW_OCI_LAYER},
		{"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", XW_OCI_FOREIGN},
		{"application/vnd.oci.image.layer.v1.tar+gzip+encrypted", XW_OCI_ENCRYPTED},
		{"application/vnd.oci.image.layer.v1.tar+brotli", XW_OCI_NO_LAYER},
		{"application/vnd.oci.empty.v1+json", XW_OCI_NO_LAYER},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++)
		ck_assert_int_eq(xw_oci_media_type(cases[i].type), cases[i].want);
}
END_TEST

static struct xw_oci_desc desc(unsigned n, const char *ref, const char *arch)
{
	struct xw_oci_desc d = {.media_type = "", .ref = ref, .name = "", .url = ""};

	d.digest = digest(SHA_ABC);
	d.digest.text[10] = (char)('0' + n);
	if (arch)
		d.platform = (struct xw_oci_platform){.os = "linux", .arch = arch};
	return d;
}

/* The index chosen, or the code. */
static int chosen(struct xw_oci_desc *v, size_t n, const char *ref, bool strict, bool top)
{
	const struct xw_oci_descs from = {v, n};
	const struct xw_oci_wish w = {.name = "test",
				      .ref = ref,
				      .platform = {.os = "linux", .arch = "amd64"},
				      .explicit_platform = strict};
	struct xw_diag diag = {0};
	size_t i;
	const int rc = xw_oci_choose(&from, &w, top, &diag, &i);

	ck_assert_int_eq(diag.code, rc);
	return rc ? rc : (int)i;
}

START_TEST(choices)
{
	struct xw_oci_desc a[] = {desc(0, "x", NULL), desc(1, "y", NULL)};
	struct xw_oci_desc b[] = {desc(0, "x", "arm64"), desc(1, "x", "amd64"), desc(2, "", "386")};
	struct xw_oci_desc c[] = {desc(0, "", "s390x"), desc(1, "", "s390x")};
	struct xw_oci_desc d[] = {desc(0, "x", "s390x")};
	struct xw_oci_desc e[] = {desc(3, "x", NULL), desc(3, "x", NULL)};

	ck_assert_int_eq(chosen(a, 2, NULL, false, true), XW_ERR_INPUT); /* several */
	ck_assert_int_eq(chosen(a, 2, "y", false, true), 1);
	ck_assert_int_eq(chosen(a, 2, "z", false, true), XW_ERR_INPUT);
	ck_assert_int_eq(chosen(a, 2, a[1].digest.text, false, true), 1);
	ck_assert_int_eq(chosen(a, 2, NULL, false, false), 0); /* the first version */
	ck_assert_int_eq(chosen(b, 3, NULL, true, true), 1);
	ck_assert_int_eq(chosen(b, 3, "x", true, true), 1);
	ck_assert_int_eq(chosen(b, 3, "", false, false), 1);
	ck_assert_int_eq(chosen(c, 2, NULL, false, true), XW_ERR_INPUT); /* none suits */
	ck_assert_int_eq(chosen(d, 1, NULL, false, true), 0); /* the only one */
	ck_assert_int_eq(chosen(d, 1, NULL, true, true), XW_ERR_INPUT);
	ck_assert_int_eq(chosen(e, 2, NULL, true, true), 0); /* the same one twice */
	e[1].ref = "y";
	ck_assert_int_eq(chosen(e, 2, NULL, true, true), 0); /* also by another name */
	d[0].attestation = true;
	ck_assert_int_eq(chosen(d, 1, NULL, false, true), XW_ERR_INPUT);
	ck_assert_int_eq(chosen(NULL, 0, NULL, false, true), XW_ERR_INPUT);
}
END_TEST

/* A signature is no image beside the one that it signs. */
START_TEST(referrers)
{
	static const struct {
		size_t len; /* of the tag */
		const char *more;
		bool about; /* it refers to the image */
	} cases[] = {
		{71, "", true},      {71, ".sig", true}, {71, ".", true},  {71, "x", false},
		{71, "-sig", false}, {70, "", false},    {70, ".", false}, {0, "", false},
		{6, "", false},      {7, "", false},     {0, ".", false},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		struct xw_oci_desc v[] = {desc(3, "", NULL), desc(1, "x", NULL), desc(2, "", NULL),
					  desc(0, "x", NULL)};
		const int first = cases[i].about ? 0 : XW_ERR_INPUT;
		char tag[96];

		snprintf(tag, sizeof(tag), "%.*s%s", (int)cases[i].len, v[1].digest.text,
			 cases[i].more);
		if (cases[i].len > 6)
			tag[6] = '-';
		v[2].ref = tag;
		ck_assert_int_eq(chosen(v + 1, 2, NULL, false, true), first);
		v[0].ref = tag;
		v[3].digest = v[1].digest;
		ck_assert_int_eq(chosen(v, 3, NULL, false, true), first < 0 ? first : 1);
		ck_assert_int_eq(chosen(v, 4, NULL, false, true), first < 0 ? first : 1);
		v[2].ref = v[1].digest.text;
		ck_assert_int_eq(chosen(v + 1, 2, NULL, false, true), XW_ERR_INPUT);
	}
}
END_TEST

START_TEST(tags)
{
	const char *one[] = {"docker.io/library/alpine:latest"}, *two[] = {"me/app:1", "me/app:2"};
	struct xw_docker_image v[] = {{.config = "c", .tags = one, .n_tags = 1},
				      {.config = "d", .tags = two, .n_tags = 2},
				      {.config = "e"}};
	static const struct {
		const char *ref;
		int want; /* -1: none */
	} cases[] = {
		{"alpine", 0},   {"alpine:latest", 0}, {"docker.io/library/alpine", 0},
		{"me/app:2", 1}, {"me/app", -1},       {"alpine:3", -1},
		{"@2", 2},       {"@3", -1},           {"app:1", -1},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		const struct xw_docker_images from = {v, 3};
		const struct xw_oci_wish w = {.name = "test", .ref = cases[i].ref};
		size_t at = 99;
		const int rc = xw_docker_choose(&from, &w, NULL, &at);

		ck_assert_int_eq(rc ? -1 : (int)at, cases[i].want);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("oci");
	TCase *tc = tcase_create("oci");

	tcase_add_test(tc, digests);
	tcase_add_test(tc, platforms);
	tcase_add_test(tc, media);
	tcase_add_test(tc, choices);
	tcase_add_test(tc, referrers);
	tcase_add_test(tc, tags);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
