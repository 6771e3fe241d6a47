/* SPDX-License-Identifier: MIT */
/*
 * On-disk integers as byte arrays: no alignment, no host order, and an assignment that forgets
 * to convert does not compile. ext4 is little-endian, jbd2 is big-endian.
 */
#ifndef XW_BASE_ENDIAN_H
#define XW_BASE_ENDIAN_H

#include <stdint.h>

/*
 * Required on these types and on every struct made of them (`struct XW_ON_DISK disk_dirent {`).
 * Such structs are laid over buffers that the rest of the program accesses as other types: a block
 * read as a directory that was written as an index, a table of uint64_t. That their members are
 * bytes does not help: an access through a struct type may alias what that struct can contain, not
 * what one of its bytes can, and gcc 12 at -O2 reorders such accesses. Nor does the attribute on a
 * member help the enclosing struct: gcc looks at the type of the pointer that is dereferenced, so
 * `d->ino` needs the attribute on the struct of d. header-check reports structs without it.
 */
#define XW_ON_DISK __attribute__((may_alias))

struct XW_ON_DISK le16 {
	uint8_t b[2];
};
struct XW_ON_DISK le32 {
	uint8_t b[4];
};
struct XW_ON_DISK le64 {
	uint8_t b[8];
};
struct XW_ON_DISK be16 {
	uint8_t b[2];
};
struct XW_ON_DISK be32 {
	uint8_t b[4];
};
struct XW_ON_DISK be64 {
	uint8_t b[8];
};
typedef struct le16 le16;
typedef struct le32 le32;
typedef struct le64 le64;
typedef struct be16 be16;
typedef struct be32 be32;
typedef struct be64 be64;

static inline uint16_t get16(le16 v)
{
	return (uint16_t)(v.b[0] | v.b[1] << 8);
}

static inline uint32_t get32(le32 v)
{
	return v.b[0] | (uint32_t)v.b[1] << 8 | (uint32_t)v.b[2] << 16 | (uint32_t)v.b[3] << 24;
}

static inline uint64_t get64(le64 v)
{
	return get32((le32){{v.b[0], v.b[1], v.b[2], v.b[3]}}) |
	       (uint64_t)get32((le32){{v.b[4], v.b[5], v.b[6], v.b[7]}}) << 32;
}

static inline le16 put16(uint16_t v)
{
	return (le16){{(uint8_t)v, (uint8_t)(v >> 8)}};
}

static inline le32 put32(uint32_t v)
{
	return (le32){{(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)}};
}

/* Written out rather than looped: gcc compiles it to a single store. */
static inline le64 put64(uint64_t v)
{
	return (le64){{(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24),
		       (uint8_t)(v >> 32), (uint8_t)(v >> 40), (uint8_t)(v >> 48),
		       (uint8_t)(v >> 56)}};
}

static inline uint16_t getbe16(be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

static inline uint32_t getbe32(be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 | (uint32_t)v.b[2] << 8 | v.b[3];
}

static inline uint64_t getbe64(be64 v)
{
	return (uint64_t)getbe32((be32){{v.b[0], v.b[1], v.b[2], v.b[3]}}) << 32 |
	       getbe32((be32){{v.b[4], v.b[5], v.b[6], v.b[7]}});
}

static inline be16 putbe16(uint16_t v)
{
	return (be16){{(uint8_t)(v >> 8), (uint8_t)v}};
}

static inline be32 putbe32(uint32_t v)
{
	return (be32){{(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v}};
}

static inline be64 putbe64(uint64_t v)
{
	return (be64){{(uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40),
		       (uint8_t)(v >> 32), (uint8_t)(v >> 24), (uint8_t)(v >> 16),
		       (uint8_t)(v >> 8), (uint8_t)v}};
}

/* The same, from unaligned bytes inside a larger buffer. */
static inline uint16_t peek16(const void *p)
{
	return get16(*(const le16 *)p);
}

static inline uint32_t peek32(const void *p)
{
	return get32(*(const le32 *)p);
}

static inline uint64_t peek64(const void *p)
{
	return get64(*(const le64 *)p);
}

static inline void poke16(void *p, uint16_t v)
{
	*(le16 *)p = put16(v);
}

static inline void poke32(void *p, uint32_t v)
{
	*(le32 *)p = put32(v);
}

static inline void poke64(void *p, uint64_t v)
{
	*(le64 *)p = put64(v);
}

#endif
