/* SPDX-License-Identifier: MIT */
/* plan.c: see plan.h. Only integers are used: two machines must get the same results. */
#include "hunt/plan.h"

#include <stdlib.h>
#include <string.h>

/* weights before any run has failed: unusual orders (chaos) show most bugs of order */
static const uint64_t prior[HUNT_CLASSES] = {3, 1, 12};

#define ONE 65536u
#define DOUBT 8u /* each class counts as if it had had this many more runs without a failure */

void plan_init(struct plan *p, unsigned scheds)
{
	*p = (struct plan){.scheds = scheds};
}

void plan_fini(struct plan *p)
{
	free(p->epochs);
	*p = (struct plan){0};
}

void plan_note(struct plan *p, uint64_t number, enum hunt_class c, bool failed)
{
	uint64_t epoch = number / PLAN_EPOCH;

	if (epoch >= p->nepochs) {
		size_t n = (size_t)epoch + 64;

		p->epochs = xreallocarray(p->epochs, n, sizeof(*p->epochs));
		memset(p->epochs + p->nepochs, 0, (n - p->nepochs) * sizeof(*p->epochs));
		p->nepochs = n;
	}
	p->epochs[epoch].runs[c]++;
	p->epochs[epoch].failed[c] += failed;
}

uint64_t plan_needs(uint64_t number)
{
	uint64_t epoch = number / PLAN_EPOCH;

	return epoch > PLAN_LAG ? (epoch - PLAN_LAG) * PLAN_EPOCH : 0;
}

/* Half of the turns by the prior weights, half by how often each class has failed. */
static void shares(const struct plan *p, uint64_t epoch, uint64_t share[HUNT_CLASSES])
{
	uint64_t rate[HUNT_CLASSES] = {0}, rates = 0, priors = 0;
	struct plan_tally sum = {0};

	for (uint64_t k = 0; k + PLAN_LAG < epoch && k < p->nepochs; k++)
		for (unsigned c = 0; c < HUNT_CLASSES; c++) {
			sum.runs[c] += p->epochs[k].runs[c];
			sum.failed[c] += p->epochs[k].failed[c];
		}
	for (unsigned c = 0; c < HUNT_CLASSES; c++) {
		if (!(p->scheds & 1u << c))
			continue;
		priors += prior[c];
		rate[c] = sum.failed[c] * ONE / (sum.runs[c] + DOUBT);
		rates += rate[c];
	}
	for (unsigned c = 0; c < HUNT_CLASSES; c++) {
		share[c] = p->scheds & 1u << c ? prior[c] * ONE / priors : 0;
		if (rates)
			share[c] = (share[c] + rate[c] * ONE / rates) / 2;
	}
}

static void lay_out(struct plan *p, uint64_t epoch)
{
	uint64_t share[HUNT_CLASSES];
	int64_t credit[HUNT_CLASSES] = {0}, sum = 0; /* below 0: the class has had more turns than its share */

	shares(p, epoch, share);
	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		sum += (int64_t)share[c];
	for (unsigned i = 0; i < PLAN_EPOCH; i++) {
		unsigned best = HUNT_CLASSES;

		for (unsigned c = 0; c < HUNT_CLASSES; c++) {
			credit[c] += (int64_t)share[c];
			if (share[c] && (best == HUNT_CLASSES || credit[c] > credit[best]))
				best = c;
		}
		p->layout[i] = (enum hunt_class)best;
		credit[best] -= sum;
	}
	p->laid = epoch;
	p->is_laid = true;
}

enum hunt_class plan_class(struct plan *p, uint64_t number)
{
	if (!p->is_laid || p->laid != number / PLAN_EPOCH)
		lay_out(p, number / PLAN_EPOCH);
	return p->layout[number % PLAN_EPOCH];
}
