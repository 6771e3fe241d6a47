/* SPDX-License-Identifier: MIT */
/*
 * Pieces of images made by mke2fs 1.47.0 and filled by Linux 6.18 (UUID
 * 12345678-9abc-def0-1122-334455667788), as runs of non-zero bytes. The comments say what dumpe2fs
 * and debugfs print for them.
 */
#ifndef XW_TESTS_DISK_FIX_H
#define XW_TESTS_DISK_FIX_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct fix_run {
	unsigned off;
	const char *hex;
};

#define FIX_SEED 0x5f27f344u /* crc32c(~0, UUID) */

/* Zero buf and lay the runs into it. */
static inline void fix_fill(void *buf, size_t size, const struct fix_run *runs, size_t n)
{
	uint8_t *p = buf;

	memset(p, 0, size);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; runs[i].hex[2 * k]; k++) {
			unsigned v;

			sscanf(runs[i].hex + 2 * k, "%2x", &v);
			p[runs[i].off + k] = (uint8_t)v;
		}
}

/* A small generator (xorshift64*): the same numbers everywhere. */
static inline uint64_t fix_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Du;
}

static inline void fix_random_bytes(uint64_t *state, void *buf, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buf)[i] = (uint8_t)(fix_random(state) >> 56);
}

#define FIX(name, buf)                                                                             \
	fix_fill(buf, sizeof(buf), fix_##name, sizeof(fix_##name) / sizeof(fix_##name[0]))

/* ext4, 1k, metadata_csum, mounted once: dumpe2fs says checksum 0x98d80a67 */
__attribute__((unused)) static const struct fix_run fix_super_csum[] = {
	{0x000, "800000000040000033030000b63a00003c00000001"},
	{0x021, "2000000020000040000000e2e3006be3e3006b0100ffff53ef010001000000e2e3006b"},
	{0x04c, "01"},
	{0x054, "0b000000000100003c000000c20600006b040000123456789abcdef01122334455667788"},
	{0x078, "66697874757265"},
	{0x088, "2f6465762f73686d2f66782f6d"},
	{0x0ce, "7f"},
	{0x0e0, "08"},
	{0x0ec, "0f1e2d3c4b5a69788796a5b4c3d2e1f0010140000c"},
	{0x108, "e2e3006b0af3010004"},
	{0x11d, "0400008220"},
	{0x14e, "10"},
	{0x15c, "200020000100000004"},
	{0x170, "0800000004010000eb"},
	{0x248, "2705"},
	{0x3fc, "670ad898"},
};

/* ext4 without 64bit and metadata_csum, with uninit_bg */
__attribute__((unused)) static const struct fix_run fix_super_uninit[] = {
	{0x000, "8000000000400000330300004b3b00007500000001"},
	{0x021, "2000000020000040"},
	{0x030, "e3e3006b0000ffff53ef010001000000e3e3006b"},
	{0x04c, "01"},
	{0x054, "0b000000000100003c000000420200007b000000123456789abcdef01122334455667788"},
	{0x0ce, "3f"},
	{0x0e0, "08"},
	{0x0ec, "1cf5a8fe342d4722b2f75e23e006cccd010100000c"},
	{0x108, "e3e3006b0af3010004"},
	{0x11d, "0400004220"},
	{0x14e, "10"},
	{0x15c, "2000200001"},
	{0x174, "0400000054"},
	{0x248, "a704"},
};

/* group 1 under metadata_csum, 64 bytes: checksum 0x8d68 */
__attribute__((unused)) static const struct fix_run fix_desc_csum[] = {
	{0x000, "830000008500000096000000701b3c000200040000000000a9d8c4a93c00688d"},
	{0x038, "d2c97cc3"},
};

/* group 1 under uninit_bg, 32 bytes: checksum 0x7f06 */
__attribute__((unused)) static const struct fix_run fix_desc_crc16_32[] = {
	{0x000, "430000004500000056000000be1b4000000005"},
	{0x01c, "4000067f"},
};

/* group 1 under uninit_bg and 64bit, 64 bytes: checksum 0x2715 */
__attribute__((unused)) static const struct fix_run fix_desc_crc16_64[] = {
	{0x000, "8300000085000000960000007e1b4000000005"},
	{0x01c, "40001527"},
};

/* block bitmap of group 0: checksum 0x6d36d17c */
__attribute__((unused)) static const struct fix_run fix_block_bitmap[] = {
	{0x000, "ffffffffffffffffffffffffffffffffffffffffffffff03"},
};

/* inode bitmap of group 1 (64 inodes): checksum 0xc37ca9c4 */
__attribute__((unused)) static const struct fix_run fix_inode_bitmap[] = {
	{0x000, "0f"},
};

/* inode 12, a regular file with in-inode xattrs: checksum 0x45d998a7 */
__attribute__((unused)) static const struct fix_run fix_inode_a[] = {
	{0x000, "e989a086060000002efd69b6e3e3006b00f2052a00000000400d01000400000000000800"},
	{0x024, "080000000af3010004"},
	{0x038, "01000000013c"},
	{0x064, "32c83cecb4"},
	{0x078, "01000300a79800002000d945e817ec01fd276bee54346f1de3e3006bb4b32901"},
	{0x0a2, "02ea02015000000000000b"},
	{0x0b4, "696e000001042c000000000021"},
	{0x0c8, "74"},
	{0x0d0, "545454545454545454545454545454545454545454545454545454545454545454000000"},
	{0x0f4, "696e6f64652076616c7565"},
};

/* inode 13, extent tree of depth 1 */
__attribute__((unused)) static const struct fix_run fix_inode_holes[] = {
	{0x000, "a481000001600000e3e3006be3e3006be3e3006b"},
	{0x01a, "01001000000000000800020000000af30100040001"},
	{0x038, "8224"},
	{0x040, "0400000001000000a52400000800000001000000a92400000c00000001800000ad240000"},
	{0x064, "100c97ba"},
	{0x07c, "3445000020002d7da816f601a816f601e817ec01e3e3006be817ec01"},
};

/* inode 62, character device 259:70000 */
__attribute__((unused)) static const struct fix_run fix_inode_dev[] = {
	{0x000, "8021"},
	{0x008, "e3e3006be3e3006be3e3006b"},
	{0x01a, "01"},
	{0x024, "01"},
	{0x02c, "70031111"},
	{0x064, "78b0b040"},
	{0x07c, "6ad600002000d8eca816f601a816f601a816f601e3e3006ba816f601"},
};

/* inode 63, block device 8:17 */
__attribute__((unused)) static const struct fix_run fix_inode_olddev[] = {
	{0x000, "a061"},     {0x008, "e3e3006be3e3006be3e3006b"},
	{0x01a, "01"},       {0x024, "010000001108"},
	{0x064, "ae80bac1"}, {0x07c, "8ea3000020002996a816f601a816f601a816f601e3e3006ba816f601"},
};

/* inode 67, EA inode: hash 0x827b3a5a, one reference */
__attribute__((unused)) static const struct fix_run fix_inode_ea[] = {
	{0x000, "80810000001400005a3a7b8200000000e3e3006b"},
	{0x01a, "01000a00000000002800010000000af3010004"},
	{0x038, "050000000126"},
	{0x064, "1e57ef7f"},
	{0x07c, "1fb9000020000c8800000000a816f60101000000e3e3006ba816f601"},
};

/* extent block of inode 13, generation 3130461200 */
__attribute__((unused)) static const struct fix_run fix_extent_block[] = {
	{0x000, "0af3070054"},
	{0x010, "01000000a12400000400000001000000a52400000800000001000000a92400000c000000"},
	{0x034, "01000000ad2400001000000001000000b12400001400000001000000b524000018000000"},
	{0x058, "01000000b924"},
	{0x3fc, "859d3f30"},
};

/* directory 65, generation 2046287006 */
__attribute__((unused)) static const struct fix_run fix_dir_block[] = {
	{0x000, "410000000c0001022e000000020000000c0002022e2e00000e0000000c0003016f6e6500"},
	{0x024, "0f00000010000501746872656500000010000000c0031101615f6c6f6e6765725f6e616d"},
	{0x048, "652e747874"},
	{0x3f8, "0c0000deabf112da"},
};

/* dx_root of directory 66, generation 855601751: checksum 0x09b12fe0 */
__attribute__((unused)) static const struct fix_run fix_dx_root[] = {
	{0x000, "420000000c0001022e00000002000000f40302022e2e"},
	{0x01c, "010800007b00040001000000da50aa5204000000ee1b749302000000aa0290cd03"},
	{0x3f8, "0c0000dee02fb109"},
};

/* full dx_node of directory 12, generation 157809216 (csum seed of the same UUID): checksum
 * 0x0a87111e */
__attribute__((unused)) static const struct fix_run fix_dx_node[] = {
	{0x005, "0400007e007e00010000007ec755036e000000b4ed650446000000222f88072400000070"},
	{0x029, "3b410a5a0000008652a70b0800000014a7800c57000000e672060e22000000664c191033"},
	{0x04d, "0000000a6ff9130e000000de4e93144000000082b4ec156600000090b5cc181a0000005a"},
	{0x071, "dd4e193a0000004e9e2b1b420000000efabe1c200000002a0d931e0b00000042620d2071"},
	{0x095, "0000007689ca221700000066ac9e240300000074d924264d0000005afa0b297d0000001c"},
	{0x0b9, "421f2b110000004023202c5e00000038f2e02d43000000c4a4ed2e120000006cca1e2f26"},
	{0x0dd, "000000163180321e0000007add79357e0000008037433615000000ce12f9373c00000058"},
	{0x101, "6d893930000000f4cbb73b5c00000080b99d3d07000000d4dd3240610000007af59d4078"},
	{0x125, "000000bc4dfe41210000005cda92446c000000345277483b000000605d2149670000003e"},
	{0x149, "1d414a6200000082186b4b340000000050dc4b16000000daee6a4d560000008a41404f23"},
	{0x16d, "00000040bc185237000000988242530c000000a6f478555f0000008e25255605000000e8"},
	{0x191, "5ba0573d0000005635155950000000bc1d935c60000000ae9f1e5d19000000342d546229"},
	{0x1b5, "0000009010f2655d00000090c75669310000008cd1d46b75000000ee3e6e6e5200000020"},
	{0x1d9, "15aa7073000000b450ab730a000000a6e37e744a000000fcedaa75360000003055ba770f"},
	{0x1fd, "000000a4ab4c786d000000c80911792a000000429fb77a63000000822ada7e02000000da"},
	{0x221, "fbe88059000000ea1f8582740000000a44d18425000000a60ab68635000000eeff888c1c"},
	{0x245, "0000006a7c048f76000000de3413912d000000f4ab379264000000a2e55e95540000003a"},
	{0x269, "f7429749000000ca51d5970d00000074f45d9a41000000829fbe9c4b00000032ec29a028"},
	{0x28d, "0000006e4a70a27b0000000cb4f6a2680000001053b9a71d00000094419da9390000009e"},
	{0x2b1, "7759aa2c000000ca31dcab7f000000265dccac4f000000a2fcf4b20900000026edcab47a"},
	{0x2d5, "0000001ebb91b6130000004a9c71b86a0000007e5304b93f000000f4ff68b918000000fa"},
	{0x2f9, "0b3fbc45000000a499d1bd48000000266c0fc0510000001e7088c17700000018c4dcc506"},
	{0x31d, "000000acc0bdca4c0000008ebc15cc320000002040a8cc53000000946246cf6f00000016"},
	{0x341, "8033d13e000000ae952ad31f000000487d46d72e000000e6b099d84e000000bcf6f3da79"},
	{0x365, "000000d898dbdb2f0000009486badd140000005a3b72df65000000500c1ce2380000002a"},
	{0x389, "d9c5e31000000092a5fce4580000001c2356e86b000000a2d3d6ea5b0000005c0809ec70"},
	{0x3ad, "0000004cc58bee47000000e496c7f072000000062a68f244000000f26e90f30400000078"},
	{0x3d1, "faf8f669000000681212f82b000000a4569efa1b00000028045afc27000000c86d25fd55"},
	{0x3fc, "1e11870a"},
};

/* xattr block 180 */
__attribute__((unused)) static const struct fix_run fix_xattr_block[] = {
	{0x002, "02ea01000000010000002b3bf58972067efc"},
	{0x020, "05017403000000008c0000002b3bf589626c6bc3a9"},
	{0x374, "303132333435363738393031323334353637383930313233343536373839303132333435"},
	{0x398, "363738393031323334353637383930313233343536373839303132333435363738393031"},
	{0x3bc, "323334353637383930313233343536373839303132333435363738393031323334353637"},
	{0x3e0, "3839303132333435363738393031323334353637383930313233343536373839"},
};

/* journal superblock: checksum 0xf3413872 */
__attribute__((unused)) static const struct fix_run fix_jsb[] = {
	{0x000, "c03b399800000004"},
	{0x00e, "0400000004000000000100000004"},
	{0x02b, "1200000000123456789abcdef0112233445566778800000001"},
	{0x050, "04"},
	{0x05b, "27"},
	{0x0fc, "f3413872"},
};

#endif
