/* SPDX-License-Identifier: MIT */
/* mi_quote.h: a text as a GDB/MI c-string, for the arguments of MI commands. */
#ifndef FRED_GDB_MI_QUOTE_H
#define FRED_GDB_MI_QUOTE_H

/*
 * Returns text in double quotes, with everything escaped that would end the argument or the line.
 * To be freed by the caller; NULL when memory is short.
 */
char *mi_quote(const char *text);

#endif
