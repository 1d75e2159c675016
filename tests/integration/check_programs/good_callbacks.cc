// SPDX-License-Identifier: MIT
/* good_callbacks.cc: What callbacks.cc does, without its errors. */
#define BEYOND 0
#include "callbacks.cc"
