/* SPDX-License-Identifier: MIT */
/* sys_nr.h: numbers of system calls (x86-64) that the C library's headers may not have yet. */
#ifndef FRED_RECORD_SYS_NR_H
#define FRED_RECORD_SYS_NR_H

#include <sys/syscall.h>

/* The macros of asm/unistd_64.h end with set_mempolicy_home_node (450) on Debian 12. */
#define __NR_uretprobe 335
#define __NR_uprobe 336
#define __NR_cachestat 451
#define __NR_fchmodat2 452
#define __NR_map_shadow_stack 453
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#define __NR_statmount 457
#define __NR_listmount 458
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules 461
#define __NR_mseal 462
#define __NR_setxattrat 463
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#define __NR_open_tree_attr 467
#define __NR_file_getattr 468
#define __NR_file_setattr 469

#endif
