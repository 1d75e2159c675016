/* SPDX-License-Identifier: MIT */
/* html.c: placeholder */
#include "hunt/report.h"
int report_html(struct buf *out, const json_t *report, struct err *e)
{
	(void)out;
	(void)report;
	return err_set(e, ERR_INTERNAL, "no html yet");
}
