/* SPDX-License-Identifier: MIT */
/* pause.h: how a thread that works in the background waits between two goes. */
#ifndef FRED_RECFILES_PAUSE_H
#define FRED_RECFILES_PAUSE_H

#include <pthread.h>
#include <stdbool.h>

/* Waits, until *stop (under lock; whoever sets it broadcasts wake) or ms are over. Returns *stop. */
bool pause_ms(pthread_mutex_t *lock, pthread_cond_t *wake, const bool *stop, unsigned ms);

#endif
