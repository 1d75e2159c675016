// SPDX-License-Identifier: MIT
/* log.c: where lines go is the one piece of state of this library; it is set up before threads start. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fdio.h"

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static struct {
	enum log_level level;
	bool level_set;
	int fd; /* 0: standard error */
	char session[32];
} sink;

int log_level_from_name(const char *name, enum log_level *level)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (!strcmp(name, level_names[i])) {
			*level = (enum log_level)i;
			return 0;
		}
	return -1;
}

void log_set_level(enum log_level level)
{
	sink.level = level;
	sink.level_set = true;
}

enum log_level log_get_level(void)
{
	if (!sink.level_set) {
		const char *env = getenv("FRED_LOG");
		enum log_level level = LOG_LEVEL_WARN;

		if (env)
			log_level_from_name(env, &level);
		log_set_level(level);
	}
	return sink.level;
}

int log_open(const char *path, struct err *e)
{
	int fd = 0;

	if (path) {
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_errno(e, ERR_INTERNAL, "log file %s", path);
	}
	if (sink.fd)
		close(sink.fd);
	sink.fd = fd;
	return 0;
}

void log_session(const char *id)
{
	snprintf(sink.session, sizeof(sink.session), "%s", id ? id : "");
}

static void add_prefix(struct buf *b, enum log_level level, const char *domain)
{
	struct timespec now;
	struct tm tm;

	if (!sink.fd) {
		buf_add_str(b, "fred: ");
		if (level >= LOG_LEVEL_INFO)
			buf_addf(b, "%s: ", domain);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		gmtime_r(&now.tv_sec, &tm);
		buf_addf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03ld %s %s ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			 tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000000, level_names[level], domain);
	}
	if (sink.session[0])
		buf_addf(b, "%s: ", sink.session);
}

void log_write(enum log_level level, const char *domain, const char *fmt, ...)
{
	cleanup_buf struct buf b = {0};
	int saved = errno;
	size_t start;
	va_list ap;

	if (level > log_get_level())
		return;
	add_prefix(&b, level, domain);
	start = b.len;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	for (size_t i = start; i < b.len; i++)
		if (b.data[i] == '\n' || b.data[i] == '\r')
			b.data[i] = ' ';
	while (b.len > start && b.data[b.len - 1] == ' ')
		b.len--;
	buf_add_char(&b, '\n');
	/* if the log cannot be written, the program still continues */
	(void)write_full(sink.fd ? sink.fd : STDERR_FILENO, b.data, b.len);
	errno = saved;
}
