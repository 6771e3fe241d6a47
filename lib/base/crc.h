/* SPDX-License-Identifier: MIT */
/* Checksums of the format. All take and return the raw register: no pre- or post-inversion. */
#ifndef XW_BASE_CRC_H
#define XW_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, reflected); ext4 starts it with ~0. Hardware where the CPU has it. */
uint32_t xw_crc32c(uint32_t crc, const void *buf, size_t len);
/* The inverse of xw_crc32c(): the register before `buf`, given the register after it. */
uint32_t xw_crc32c_back(uint32_t crc, const void *buf, size_t len);
/* The portable implementation, exported so that tests can compare both. */
uint32_t xw_crc32c_sw(uint32_t crc, const void *buf, size_t len);
/* CRC-32 (IEEE 802.3, big-endian bit order as jbd2's v1 commit checksum uses it). */
uint32_t xw_crc32_be(uint32_t crc, const void *buf, size_t len);
/* CRC-16 (0x8005 reflected): group descriptors under uninit_bg; starts with ~0. */
uint16_t xw_crc16(uint16_t crc, const void *buf, size_t len);

#endif
