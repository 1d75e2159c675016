/* SPDX-License-Identifier: MIT */
/* namespaces.h: which setting of the host forbids user namespaces. */
#ifndef FRED_LAUNCH_NAMESPACES_H
#define FRED_LAUNCH_NAMESPACES_H

/* The first of them that does, as a line to type as root; NULL: none is known. */
const char *namespaces_setting(void);

#endif
