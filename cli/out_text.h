/* SPDX-License-Identifier: MIT */
/* out_text.h: the parts of results that several commands print as text. */
#ifndef FRED_CLI_OUT_TEXT_H
#define FRED_CLI_OUT_TEXT_H

#include <jansson.h>

/* "event 123 of 456, thread 2 (TID 1003, worker), 0x401234". */
void text_position(const json_t *position);
/* "function at file:line" and the source line, if known. */
void text_location(const json_t *location);
/* Frames, one a line, as GDB prints them. */
void text_frames(const json_t *frames);

#endif
