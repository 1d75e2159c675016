/* SPDX-License-Identifier: MIT */
/* state.c: the recorder's state of this process image, and where each thread finds its own. */
#include "record/core/state.h"

struct shim G;
__thread struct thr *self __attribute__((tls_model("initial-exec")));
