/* SPDX-License-Identifier: MIT */
/* input.h: what the program gets without a system call: instructions that bring input in, and the vDSO. */
#ifndef FRED_RECORD_INPUT_H
#define FRED_RECORD_INPUT_H

#include "record/core/state.h"

void patch_loaded(void); /* patches what the linker has loaded at the start */
/* A file was mapped to be executed: len bytes from its offset off on. st: its struct stat */
void patch_mapped(int fd, uint64_t at, uint64_t len, uint64_t off, const uint64_t *st);
void patch_made(uint64_t at, uint64_t len); /* private memory, which can be read, became executable */
/*
 * Changes what it finds in text in memory at [p, end), which has the address vaddr in its file. It calls none of the
 * program's code (replay_ctl.search_addr), and is never inlined.
 */
struct image;
void patch_search(struct image *im, uint8_t *p, uint8_t *end, uint64_t vaddr);
/*
 * The first of these instructions in [p, end) that is as it was; NULL: there is none for certain. random: rdrand,
 * rdseed and rdpid; else rdtsc and rdtscp.
 */
const uint8_t *patch_find(const uint8_t *p, const uint8_t *end, int random);

/* Memory that the program may write code into while it is executable: see written.c. */
void written_mapped(uint64_t at, uint64_t len, int prot, int shared);
void written_unmapped(uint64_t at, uint64_t len); /* it is about to be */
void written_look(void); /* the process is about to end */

long tsc_set(struct thr *t, long how); /* PR_SET_TSC */
int tsc_fault(void *uc); /* was the fault one of these instructions? Then it is handled */

void vdso_init(char **envp); /* as it is at the exec, the auxiliary vector after it */
Elf64_auxv_t *vdso_entry(char **envp); /* the hidden one's; NULL: there is none */
int vdso_call(long nr, const long *a, long *ret); /* recording: 1: made without the kernel */

#endif
