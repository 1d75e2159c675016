/* SPDX-License-Identifier: MIT */
/*
 * libc_misc.c: random numbers, time zone, environment, locale, iconv, exit handlers, directory
 * streams, signals, fork.
 */
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/sync/lib.h"

#include <dirent.h>
#include <iconv.h>
#include <locale.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

/* ---- random numbers ---- */

LIB_CALL(LIB_RANDOM, long, random, (void), ())
LIB_VOID(LIB_RANDOM, srandom, (unsigned seed), (seed))
LIB_CALL(LIB_RANDOM, char *, initstate, (unsigned seed, char *state, size_t n), (seed, state, n))
LIB_CALL(LIB_RANDOM, char *, setstate, (char *state), (state))
LIB_CALL(LIB_RANDOM, int, rand, (void), ())
LIB_VOID(LIB_RANDOM, srand, (unsigned seed), (seed))
LIB_CALL(LIB_DRAND48, double, drand48, (void), ())
LIB_CALL(LIB_DRAND48, double, erand48, (unsigned short *x), (x))
LIB_CALL(LIB_DRAND48, long, lrand48, (void), ())
LIB_CALL(LIB_DRAND48, long, nrand48, (unsigned short *x), (x))
LIB_CALL(LIB_DRAND48, long, mrand48, (void), ())
LIB_CALL(LIB_DRAND48, long, jrand48, (unsigned short *x), (x))
LIB_VOID(LIB_DRAND48, srand48, (long seed), (seed))
LIB_CALL(LIB_DRAND48, unsigned short *, seed48, (unsigned short *x), (x))
LIB_VOID(LIB_DRAND48, lcong48, (unsigned short *x), (x))

/* ---- time zone ---- */

static void reads_tm(const struct tm *tm)
{
	shim_tell_read(tm, sizeof(*tm), 1);
}

/* The time was normalised: libc has read some members, and written all. */
static void normalises(const struct tm *tm)
{
	reads_tm(tm);
	shim_tell_written(tm, sizeof(*tm));
}

static void makes_tm(const time_t *when, const struct tm *tm)
{
	shim_tell_read(when, sizeof(*when), 1);
	if (tm)
		shim_tell_written(tm, sizeof(*tm));
}

static void makes_text(const time_t *when, const char *text)
{
	shim_tell_read(when, sizeof(*when), 1);
	if (text)
		shim_tell_written(text, strlen(text) + 1);
}

/* n: characters of that many bytes, without the terminating one; 0: there was no room, or the text is empty. */
static void formats_tm(const struct tm *tm, const void *to, size_t n, size_t bytes)
{
	reads_tm(tm);
	if (n)
		shim_tell_written(to, (n + 1) * bytes);
}

LIB_VOID(LIB_TZ, tzset, (void), ())
LIB_TELLS(LIB_TZ, struct tm *, localtime, (const time_t *when), (when), makes_tm(when, NULL))
LIB_TELLS(LIB_TZ, struct tm *, localtime_r, (const time_t *when, struct tm *tm), (when, tm), makes_tm(when, ret))
LIB_TELLS(LIB_TZ, struct tm *, gmtime, (const time_t *when), (when), makes_tm(when, NULL))
LIB_TELLS(LIB_TZ, struct tm *, gmtime_r, (const time_t *when, struct tm *tm), (when, tm), makes_tm(when, ret))
LIB_TELLS(LIB_TZ, time_t, mktime, (struct tm * tm), (tm), normalises(tm))
LIB_TELLS(LIB_TZ, time_t, timelocal, (struct tm * tm), (tm), normalises(tm))
LIB_TELLS(LIB_TZ, time_t, timegm, (struct tm * tm), (tm), normalises(tm))
LIB_TELLS(LIB_TZ, char *, ctime, (const time_t *when), (when), makes_text(when, NULL))
LIB_TELLS(LIB_TZ, char *, ctime_r, (const time_t *when, char *buf), (when, buf), makes_text(when, ret))
LIB_TELLS(LIB_TZ, size_t, strftime, (char *s, size_t n, const char *fmt, const struct tm *tm), (s, n, fmt, tm),
	  formats_tm(tm, s, ret, 1))
LIB_TELLS(LIB_TZ, size_t, strftime_l, (char *s, size_t n, const char *fmt, const struct tm *tm, locale_t loc),
	  (s, n, fmt, tm, loc), formats_tm(tm, s, ret, 1))
LIB_TELLS(LIB_TZ, size_t, wcsftime, (wchar_t * s, size_t n, const wchar_t *fmt, const struct tm *tm), (s, n, fmt, tm),
	  formats_tm(tm, s, ret, sizeof(*s)))
LIB_TELLS(LIB_TZ, size_t, wcsftime_l, (wchar_t * s, size_t n, const wchar_t *fmt, const struct tm *tm, locale_t loc),
	  (s, n, fmt, tm, loc), formats_tm(tm, s, ret, sizeof(*s)))

/* ---- environment ---- */

LIB_CALL(LIB_ENV, int, setenv, (const char *name, const char *value, int replace), (name, value, replace))
LIB_CALL(LIB_ENV, int, unsetenv, (const char *name), (name))
LIB_CALL(LIB_ENV, int, putenv, (char *entry), (entry))
LIB_CALL(LIB_ENV, int, clearenv, (void), ())

/* ---- locale and character sets ---- */

LIB_CALL(LIB_LOCALE, char *, setlocale, (int category, const char *name), (category, name))
LIB_CALL(LIB_LOCALE, locale_t, newlocale, (int mask, const char *name, locale_t base), (mask, name, base))
LIB_CALL(LIB_LOCALE, locale_t, duplocale, (locale_t loc), (loc))
LIB_VOID(LIB_LOCALE, freelocale, (locale_t loc), (loc))
LIB_CALL(LIB_LOCALE, char *, bindtextdomain, (const char *domain, const char *dir), (domain, dir))
LIB_CALL(LIB_LOCALE, char *, textdomain, (const char *domain), (domain))
LIB_CALL(LIB_ICONV, iconv_t, iconv_open, (const char *to, const char *from), (to, from))
LIB_CALL(LIB_ICONV, int, iconv_close, (iconv_t cd), (cd))

/* ---- exit handlers ---- */

LIB_CALL(LIB_EXIT, int, __cxa_atexit, (void (*fn)(void *), void *arg, void *dso), (fn, arg, dso))
LIB_CALL(LIB_EXIT, int, __cxa_at_quick_exit, (void (*fn)(void *), void *dso), (fn, dso))
LIB_CALL(LIB_EXIT, int, on_exit, (void (*fn)(int, void *), void *arg), (fn, arg))

/* ---- directory streams: a lock each, or shared by a few ---- */

static inline unsigned dir_lock(const DIR *d)
{
	return LIB_DIR + (unsigned)((uintptr_t)d >> 5) % LIB_DIRS;
}

LIB_CALL(dir_lock(d), struct dirent *, readdir, (DIR * d), (d))
LIB_CALL(dir_lock(d), struct dirent64 *, readdir64, (DIR * d), (d))
LIB_CALL(dir_lock(d), int, readdir_r, (DIR * d, struct dirent *e, struct dirent **out), (d, e, out))
LIB_CALL(dir_lock(d), int, readdir64_r, (DIR * d, struct dirent64 *e, struct dirent64 **out), (d, e, out))
LIB_VOID(dir_lock(d), rewinddir, (DIR * d), (d))
LIB_VOID(dir_lock(d), seekdir, (DIR * d, long at), (d, at))
LIB_CALL(dir_lock(d), long, telldir, (DIR * d), (d))
LIB_CALL(dir_lock(d), int, closedir, (DIR * d), (d))

/* ---- locks around an event: a replay takes them in the thread's own turn, not in a donated one ---- */

#define IN_TURN(type, name, params, args)                                                                              \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		if (G.mt && G.mode == SHIM_REPLAY && self && !self->depth)                                             \
			turn_before_event(self);                                                                       \
		return REAL_W(name) args;                                                                              \
	}
IN_TURN(int, pthread_kill, (pthread_t th, int sig), (th, sig))
IN_TURN(int, pthread_sigqueue, (pthread_t th, int sig, const union sigval value), (th, sig, value))
IN_TURN(pid_t, fork, (void), ())
IN_TURN(int, system, (const char *command), (command))
