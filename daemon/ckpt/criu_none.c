/* SPDX-License-Identifier: MIT */
/* criu_none.c: in place of criu.c where libcriu was missing when fred was built. */
#include "ckpt/ckpt.h"

static int refuse(struct err *e)
{
	return err_set(e, ERR_HOST, "checkpoints are not available: built without libcriu (run scripts/setup)");
}

int ckpt_dump(const struct ckpt_env *env, pid_t pid, const char *dir, struct err *e)
{
	return refuse(e);
}

int ckpt_restore(const struct ckpt_env *env, const char *dir, pid_t *pid, struct err *e)
{
	return refuse(e);
}
