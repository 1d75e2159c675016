/* SPDX-License-Identifier: MIT */
/* call_text.h: where the calls in the text of an expression are, and the objects of member calls. Pure. */
#ifndef FRED_EXPR_CALL_TEXT_H
#define FRED_EXPR_CALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* One call in a text: [name, name_end) is the function, (open, close) are the arguments. */
struct call_text {
	size_t object; /* where a member call's object begins; == name: no member */
	size_t object_end;
	bool arrow;
	size_t name, name_end, open, close;
};

/* Finds the first call at or after *i, and moves *i behind its bracket. */
bool call_text_next(const char *s, size_t *i, struct call_text *f);
/* Finds the object of a member call. false: it is not of a form known here. */
bool call_text_receiver(const char *s, struct call_text *f);
/* Finds the last call whose arguments contain no other call. false: there is none. */
bool call_text_last(const char *s, struct call_text *f);

#endif
