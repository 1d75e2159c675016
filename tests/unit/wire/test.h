// SPDX-License-Identifier: MIT
/* test.h: what every cmocka program here includes. */
#ifndef TEST_WIRE_TEST_H
#define TEST_WIRE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
