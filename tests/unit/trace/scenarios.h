/* SPDX-License-Identifier: MIT */
/* scenarios.h: what the targets do. Their variables have the same addresses in test and target. */
#ifndef FRED_TESTS_TRACE_SCENARIOS_H
#define FRED_TESTS_TRACE_SCENARIOS_H

#include "target.h"

extern volatile uint64_t counter, other;
extern volatile uint32_t flag;
extern volatile uint64_t iterations;
struct near {
	char buffer[64], neighbour[64];
};
extern struct near near;
extern char big[1 << 20];
extern volatile char *pointer;
extern volatile uint64_t table[16];
struct node {
	struct node *next;
	uint64_t value;
};
extern struct node *volatile list;

/* Labels of the stores that the searches must find. */
extern const char store_flag[], store_flag_end[];
extern const char push_store[], push_store_end[];
extern const char rare_flag[], rare_flag_end[], words_store[], words_store_end[];
extern const char store_counter[], store_counter_end[];
extern const char rep_movs[], rep_movs_end[], rep_stos[], rep_stos_end[];
extern const char call_insn[], call_insn_end[];

void scenario_exit(struct target_ctl *ctl);    /* ends with status 7 */
void scenario_spin(struct target_ctl *ctl);    /* counts for ever */
void scenario_store(struct target_ctl *ctl);   /* a few known stores */
void scenario_threads(struct target_ctl *ctl); /* others spin while one waits */
void scenario_signal(struct target_ctl *ctl);  /* kills itself with SIGUSR1, which has a handler */
void scenario_sleep(struct target_ctl *ctl);   /* nanosleep: a call with a restart block */
void scenario_fault(struct target_ctl *ctl);   /* SIGSEGV */
void scenario_queued(struct target_ctl *ctl);  /* counts for ever; a SIGSEGV that it has sent to itself is blocked */

void scenario_pair(struct target_ctl *ctl);   /* counter++, other++, 70 times; then the counter alone */
void scenario_rare(struct target_ctl *ctl);   /* flag = 1 at 70 % of `iterations`; counter++ each */
void scenario_memcpy(struct target_ctl *ctl); /* buffer overruns into neighbour */
void scenario_stos(struct target_ctl *ctl);
void scenario_call(struct target_ctl *ctl);  /* stack memory is overwritten by a call */
void scenario_list(struct target_ctl *ctl);  /* the list grows, and once loses its tail */
void scenario_push(struct target_ctl *ctl);  /* a list grows at its head */
void scenario_words(struct target_ctl *ctl); /* more words than debug registers */

#endif
