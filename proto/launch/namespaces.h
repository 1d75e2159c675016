/* SPDX-License-Identifier: MIT */
/* namespaces.h: which setting of the host forbids user namespaces. */
#ifndef FRED_LAUNCH_NAMESPACES_H
#define FRED_LAUNCH_NAMESPACES_H

/* The first such setting that forbids them, as a line to be typed as root; NULL: none is known. */
const char *namespaces_setting(void);

#endif
