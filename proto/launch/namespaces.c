/* SPDX-License-Identifier: MIT */
/* namespaces.c: see namespaces.h. */
#include "launch/namespaces.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fdio.h"

const char *namespaces_setting(void)
{
	static const struct {
		const char *path, *forbids, *type;
	} settings[] = {
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		 "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		cleanup_buf struct buf b = {0};
		struct err ignored;

		if (!read_file(settings[i].path, &b, &ignored) && b.len && b.data[0] == settings[i].forbids[0] &&
		    (b.len == 1 || b.data[1] == '\n'))
			return settings[i].type;
	}
	return NULL;
}
