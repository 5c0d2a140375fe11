/* CRC-32 as zlib and `binascii.crc32` give it, eight bytes at a time (Kounavis and Berry, slicing-by-8, ISCC 2005). */

#ifndef CTXRANK_CRC32_H
#define CTXRANK_CRC32_H

#include <stddef.h>
#include <stdint.h>

static uint32_t crc_tables[8][256];

static void make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        crc_tables[0][byte] = crc;
    }
    for (int table = 1; table < 8; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = crc_tables[table - 1][byte];
            crc_tables[table][byte] = crc_tables[0][before & 255] ^ before >> 8;
        }
}

static uint32_t read32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t crc32_of(const uint8_t *at, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (; length >= 8; at += 8, length -= 8) {
        uint32_t low = crc ^ read32(at), high = read32(at + 4);
        crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^ crc_tables[5][low >> 16 & 255] ^
              crc_tables[4][low >> 24] ^ crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255] ^
              crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
    }
    for (; length > 0; at++, length--)
        crc = crc_tables[0][(crc ^ *at) & 255] ^ crc >> 8;
    return ~crc;
}

#endif
