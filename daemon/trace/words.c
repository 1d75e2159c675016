/* SPDX-License-Identifier: MIT */
/* words.c: see words.h. */
#include "trace/words.h"

/* Aligned pieces of 8 bytes. */
static unsigned split(const struct trace_words *w, unsigned max, struct trace_word *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++) {
		uint64_t from = w->w[i].addr, to = from + w->w[i].len;

		for (uint64_t c = from & ~7ull; c < to; c += 8) {
			unsigned k = 0;

			while (k < n && out[k].addr != c)
				k++;
			if (k < n)
				continue;
			if (n == max)
				return 0;
			out[n++] = (struct trace_word){c, 8};
		}
	}
	return n;
}

/* A piece of which only an aligned part is read is watched there only: fewer hits. */
static void shrink(const struct trace_words *words, struct trace_word *piece)
{
	for (uint32_t len = 1; len < 8; len *= 2) {
		uint64_t start = 0;
		bool fits = false, all = true;

		for (unsigned i = 0; i < words->n; i++) {
			const struct trace_word *w = &words->w[i];

			if (w->addr + w->len <= piece->addr || w->addr >= piece->addr + 8)
				continue;
			if (!fits)
				start = w->addr & ~(uint64_t)(len - 1);
			fits = true;
			if (w->addr < start || w->addr + w->len > start + len)
				all = false;
		}
		if (fits && all) {
			piece->addr = start;
			piece->len = len;
			return;
		}
	}
}

unsigned trace_words_pieces(const struct trace_words *w, unsigned max, struct trace_word *out)
{
	unsigned n = w->complete ? split(w, max, out) : 0;

	for (unsigned i = 0; i < n; i++)
		shrink(w, &out[i]);
	return n;
}
