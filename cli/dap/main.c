/* SPDX-License-Identifier: MIT */
/* main.c: fred-dap FREDCTL mi [OPTION...]: what `fredctl dap` becomes. Ends when the editor does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dap/dap.h"

/* Handles one message of the editor; more may be in the buffer. */
static void take(struct dap *d)
{
	json_t *msg = NULL;
	int r = dap_receive(d, &msg);

	while (r > 0 && !d->done) {
		dap_request(d, msg);
		json_decref(msg);
		msg = NULL;
		if (!memmem(d->in.data ? d->in.data : "", d->in.len, "\r\n\r\n", 4))
			return;
		r = dap_receive(d, &msg);
	}
	json_decref(msg);
	if (r < 0)
		d->done = true;
}

int main(int argc, char **argv)
{
	struct strv command = {0};
	struct dap d = {.command = &command, .on_record = dap_record, .on_gone = dap_waiting_gone};

	if (argc < 2) {
		fprintf(stderr, "fred: this is a part of fredctl dap\n");
		return 2;
	}
	strv_add_all(&command, (const char *const *)argv + 1);
	signal(SIGPIPE, SIG_IGN);
	while (!d.done) {
		struct pollfd p[] = {{.fd = 0, .events = POLLIN},
				     {.fd = d.gdb.pid ? d.gdb.out : -1, .events = POLLIN},
				     {.fd = d.gdb.pid ? d.gdb.err : -1, .events = POLLIN},
				     {.fd = d.job.pid ? d.job.out : -1, .events = POLLIN},
				     {.fd = d.job.pid ? d.job.err : -1, .events = POLLIN}};

		if (poll(p, 5, -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			take(&d);
		/* also handles what came after a command's result, and is in the buffer */
		if (d.gdb.pid)
			dap_listen(&d);
		dap_job_listen(&d);
	}
	dap_job_stop(&d);
	dap_stop_gdb(&d);
	dap_refs_clear(&d);
	dap_breakpoints_fini(&d);
	buf_fini(&d.in);
	buf_fini(&d.said);
	buf_fini(&d.complaint);
	buf_fini(&d.moved);
	buf_fini(&d.job_out);
	buf_fini(&d.job_err);
	free(d.stop_id);
	free(d.stop_text);
	strv_fini(&command);
	return 0;
}
