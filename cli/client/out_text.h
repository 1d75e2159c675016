/* SPDX-License-Identifier: MIT */
/* out_text.h: the parts of results that several commands print as text. */
#ifndef FRED_CLIENT_OUT_TEXT_H
#define FRED_CLIENT_OUT_TEXT_H

#include <jansson.h>

/*
 * A result's position: "event 123 of 456, thread 2 (TID 1003, worker), 0x401234"; and of which process, when the
 * recording has several.
 */
void text_position(const json_t *result);
/* "function at file:line" and the source line, if known. */
void text_location(const json_t *location);
/* What the result's `notes` say, on standard error. */
struct cli;
void text_notes(const struct cli *cli, const json_t *result);
/* Frames, one a line, as GDB prints them. */
void text_frames(const json_t *frames);
/* "exit 3", "SIGSEGV", or `otherwise` for NULL; into buf. end: {code} or {signal}. */
void text_exit(const json_t *end, const char *otherwise, char buf[32]);
/* On one line, each argument with a space before it. */
void text_argv(const json_t *argv);

#endif
