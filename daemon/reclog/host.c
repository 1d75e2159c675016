/* SPDX-License-Identifier: MIT */
/* host.c: see host.h. */
#include "reclog/host.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpu.h"
#include "base/fdio.h"
#include "base/str.h"

int rec_host_check(const json_t *meta, struct err *e)
{
	const json_t *host = json_object_get(meta, "host");
	const char *cpu = json_string_value(json_object_get(host, "cpu"));
	uint64_t xcr0 = (uint64_t)json_integer_value(json_object_get(host, "xcr0"));
	cleanup_strv struct strv ours = {0}, missing = {0};
	cleanup_free char *names = NULL;
	json_t *name;
	size_t i;

	cpu_features(&ours);
	json_array_foreach(json_object_get(host, "cpu_features"), i,
			   name) if (json_is_string(name) && !strv_has(&ours, json_string_value(name)))
		strv_add(&missing, json_string_value(name));
	cpu_xcr0_names(xcr0 & ~cpu_xcr0(), &missing);
	if (!missing.n)
		return 0;
	names = strv_join(&missing, ", ");
	return err_set(
		e, ERR_HOST,
		"this processor lacks what the recording was made with: %s. Replay it on one that has it (it was "
		"made on: %s)",
		names, cpu ? cpu : "unknown");
}

bool rec_host_rebooted(const json_t *meta)
{
	const char *then = json_string_value(json_object_get(json_object_get(meta, "host"), "boot_id"));
	cleanup_buf struct buf now = {0};
	struct err ignored;

	if (!then || !*then || read_file("/proc/sys/kernel/random/boot_id", &now, &ignored))
		return false;
	return strncmp(then, buf_str(&now), strlen(then)) != 0;
}
