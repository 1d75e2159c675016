/* SPDX-License-Identifier: MIT */
/* pause.h: waiting of a background thread that can be stopped. */
#ifndef FRED_RECFILES_PAUSE_H
#define FRED_RECFILES_PAUSE_H

#include <pthread.h>
#include <stdbool.h>

/* Waits for ms, or until *stop is set (under lock, with a broadcast of wake). Returns *stop. */
bool pause_ms(pthread_mutex_t *lock, pthread_cond_t *wake, const bool *stop, unsigned ms);

#endif
