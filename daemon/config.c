/* SPDX-License-Identifier: MIT */
/* config.c: see config.h. */
#include "config.h"

#include <getopt.h>

#include "base/log.h"
#include "base/str.h"

#define DEFAULT_IDLE_S 600

const char *config_help(void)
{
	return "usage: fredd [--foreground] [--idle SECONDS] [--log-level LEVEL]\n"
	       "\n"
	       "The daemon of fred. fredctl starts it when it is needed.\n"
	       "\n"
	       "  -f, --foreground       stay in the foreground, log to standard error\n"
	       "      --idle SECONDS     end after this time without clients; 0: never (600)\n"
	       "      --log-level LEVEL  error, warn, info or debug (info)\n"
	       "      --check-checkpoint dump and restore a process in a cell\n"
	       "      --check-criu       run criu check in a cell\n"
	       "      --print-criu       print which CRIU would be used\n"
	       "      --ready-fd FD      write \"ok\" or an error there when started\n"
	       "  -h, --help\n"
	       "      --version\n";
}

enum { OPT_CHECK_CHECKPOINT = 256, OPT_CHECK_CRIU, OPT_IDLE, OPT_LOG_LEVEL, OPT_PRINT_CRIU, OPT_READY_FD, OPT_VERSION };

static const struct option options[] = {
	{"check-checkpoint", no_argument, NULL, OPT_CHECK_CHECKPOINT},
	{"check-criu", no_argument, NULL, OPT_CHECK_CRIU},
	{"foreground", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{"idle", required_argument, NULL, OPT_IDLE},
	{"log-level", required_argument, NULL, OPT_LOG_LEVEL},
	{"print-criu", no_argument, NULL, OPT_PRINT_CRIU},
	{"ready-fd", required_argument, NULL, OPT_READY_FD},
	{"version", no_argument, NULL, OPT_VERSION},
	{0},
};

static int set_number(const char *name, const char *text, uint64_t max, uint64_t *out, struct err *e)
{
	if (str_u64(text, 10, 0, max, out))
		return err_set(e, ERR_USAGE, "%s: '%s' is not a number in range", name, text);
	return 0;
}

static int set_level(const char *name, struct err *e)
{
	enum log_level level;

	if (log_level_from_name(name, &level))
		return err_set(e, ERR_USAGE, "--log-level: there is no level '%s'", name);
	log_set_level(level);
	return 0;
}

static int apply(struct config *c, int opt, struct err *e)
{
	uint64_t n;

	switch (opt) {
	case 'f':
		c->foreground = true;
		return 0;
	case 'h':
		c->help = true;
		return 0;
	case OPT_VERSION:
		c->version = true;
		return 0;
	case OPT_CHECK_CHECKPOINT:
		c->check_checkpoint = true;
		return 0;
	case OPT_CHECK_CRIU:
		c->check_criu = true;
		return 0;
	case OPT_PRINT_CRIU:
		c->print_criu = true;
		return 0;
	case OPT_IDLE:
		return set_number("--idle", optarg, 1u << 30, &c->idle_s, e);
	case OPT_LOG_LEVEL:
		return set_level(optarg, e);
	case OPT_READY_FD:
		if (set_number("--ready-fd", optarg, 1 << 20, &n, e))
			return -1;
		c->ready_fd = (int)n;
		return 0;
	}
	return err_set(e, ERR_USAGE, "wrong option; see fredd --help");
}

int config_parse(struct config *c, int argc, char **argv, struct err *e)
{
	int opt;

	*c = (struct config){.ready_fd = -1, .idle_s = DEFAULT_IDLE_S};
	log_set_level(LOG_LEVEL_INFO);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "fh", options, NULL)) != -1)
		if (apply(c, opt, e))
			return -1;
	if (optind < argc)
		return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[optind]);
	return 0;
}
