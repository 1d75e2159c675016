/* SPDX-License-Identifier: MIT */
/* util.h: the little that the recorder would otherwise take from libc: CRC-32C, text building, small files. */
#ifndef FRED_RECORD_UTIL_H
#define FRED_RECORD_UTIL_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *p, size_t n);
char *fmt_str(char *p, char *end, const char *s);
char *fmt_dec(char *p, char *end, uint64_t v, int width);
char *fmt_hex(char *p, char *end, uint64_t v);
/* Reads up to size bytes from the start of a file, by one read. Returns their number, or -errno. */
long read_head(const char *path, void *buf, size_t size);
/* Parses the digits (lower case) up to the first other character, and skips that. */
uint64_t parse_number(const char **s, unsigned base);
/* *bias: what is to be added to addresses in the program's file. -1: its headers do not tell. */
int image_bias(const Elf64_Phdr *p, uint64_t n, uint64_t *bias);

#endif
