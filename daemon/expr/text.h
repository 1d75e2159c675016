/* SPDX-License-Identifier: MIT */
/* text.h: where the parts of an expression end: names, quoted texts and what stands in brackets. Pure. */
#ifndef FRED_EXPR_TEXT_H
#define FRED_EXPR_TEXT_H

#include <stdbool.h>

/* A letter, a digit or _. */
bool text_is_name(char c);
/* Is the word in the text, and not only as a part of a longer one? */
bool text_has_word(const char *s, const char *word);
/* " or ' */
bool text_is_quote(char c);
/* Behind the quoted text at s; NULL: it is not closed. */
const char *text_after_quote(const char *s);
/* Behind the bracket or quote that closes the one at s, whatever is quoted in between; NULL: it is not closed. */
const char *text_after_group(const char *s);

#endif
