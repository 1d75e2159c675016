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
/* Up to size bytes from the start of a file, as many as one read gives. Their number, or -errno. */
long read_head(const char *path, void *buf, size_t size);
/* The digits up to the first other character, which is skipped. Lower case. */
uint64_t parse_number(const char **s, unsigned base);
/* *bias: what is added to the addresses in the program's file. -1: its headers do not say where they are. */
int image_bias(const Elf64_Phdr *p, uint64_t n, uint64_t *bias);

#endif
