/* SPDX-License-Identifier: MIT */
/*
 * main.c: fredd. Becomes a daemon, takes the lock of its $FRED_HOME (held until the end, so there is
 * one daemon at most, and a socket found under the lock is a stale one), listens, runs the loop.
 *
 * Locks in $FRED_HOME: fredd.lock is the daemon's, for its life. fredd.start is held by whoever starts
 * one, from before the fork until it listens: a fredctl, or fredd itself without --ready-fd.
 */
#define LOG_DOMAIN "main"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/userns.h"
#include "ckpt/ckpt.h"
#include "ckpt/try.h"
#include "config.h"
#include "loop/loop.h"
#include "loop/sig.h"
#include "ops/operations.h"
#include "rpc/server.h"
#include "wire/addr.h"

/* how long the previous daemon may take to end */
#define LOCK_TIMEOUT_S 5
#define STACK_WANTED (8u << 20)
#define STACK_NEEDED (512u << 10)
#define FILES_NEEDED (8u << 20) /* for what a replay shares with its worker; more for images */

struct daemon {
	struct loop *loop;
	struct loop_sig sig;
	struct server *server;
};

static void on_alarm(int signo)
{
	(void)signo; /* it only makes flock(2) fail with EINTR */
}

static int wait_for_lock(int fd)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	int r;

	sigaction(SIGALRM, &sa, NULL);
	alarm(LOCK_TIMEOUT_S);
	r = flock(fd, LOCK_EX);
	alarm(0);
	return r;
}

/* Returns the descriptor that holds the lock, or -1. */
static int take_lock(const char *home, const char *name, struct err *e)
{
	cleanup_free char *path = path_join(home, name);
	cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (wait_for_lock(fd))
		return err_set(e, ERR_HOST, "%s is held: another fredd runs (fredctl shutdown)", path);
	return steal_fd(&fd);
}

static int write_pid(int fd, struct err *e)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) || pwrite_full(fd, text, (size_t)n, 0))
		return err_errno(e, ERR_HOST, "lock file");
	return 0;
}

static int detach(struct err *e)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return err_fork(e, "fork");
		if (pid > 0)
			_exit(0);
		if (i == 0 && setsid() < 0)
			return err_errno(e, ERR_HOST, "setsid");
	}
	return chdir("/") ? err_errno(e, ERR_HOST, "chdir /") : 0;
}

/* Standard output and error also go to the log, for what libraries and children print. */
static int redirect(const char *log_path, struct err *e)
{
	cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup_close int log = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (null < 0)
		return err_errno(e, ERR_HOST, "/dev/null");
	if (log < 0)
		return err_errno(e, ERR_HOST, "%s", log_path);
	if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		return err_errno(e, ERR_HOST, "dup2");
	return log_open(log_path, e);
}

/* It changes when the executable is replaced, so that a newer client notices. */
static char *build_id(void)
{
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return xstrdup("unknown");
	return str_fmt("%llx-%llx%09lx", (unsigned long long)st.st_ino, (unsigned long long)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec);
}

static void tell_ready(int *fd, const char *text)
{
	if (*fd < 0)
		return;
	if (write_full(*fd, text, strlen(text)))
		log_warn("the client that started it has gone");
	close(*fd);
	*fd = -1;
}

static void on_signal(struct loop_sig *s, int signo)
{
	struct daemon *d = container_of(s, struct daemon, sig);

	log_info("%s, ending", strsignal(signo));
	server_stop(d->server);
}

static int run_loop(struct daemon *d, const struct server_config *sc, int *ready_fd, struct err *e)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	d->server = server_new(d->loop, sc, e);
	if (!d->server)
		return -1;
	r = loop_sig_init(&d->sig, d->loop, &mask, on_signal, e);
	if (!r) {
		tell_ready(ready_fd, "ok\n");
		log_info("fredd %s listens in %s", FRED_VERSION, sc->home);
		r = loop_run(d->loop, e);
		loop_sig_fini(&d->sig);
	}
	server_free(d->server);
	return r;
}

static int serve(const struct config *c, const char *home, const struct wire_addr *addr, const char *log_path,
		 bool plain, int *ready_fd, int *start_lock, struct err *e)
{
	cleanup_free char *build = build_id();
	cleanup_close int lock = take_lock(home, "fredd.lock", e);
	struct daemon d = {0};
	struct server_config sc = {
		.home = home,
		.build = build,
		.ops = operations,
		.log_path = log_path,
		.start_cell = plain ? cell_start_plain : cell_start,
		.idle_ms = c->idle_s * 1000,
	};
	int r;

	if (lock < 0 || write_pid(lock, e))
		return -1;
	sc.listen_fd = wire_listen(addr, e);
	if (sc.listen_fd < 0)
		return -1;
	if (*start_lock >= 0)
		close(steal_fd(start_lock));
	d.loop = loop_new(e);
	r = d.loop ? run_loop(&d, &sc, ready_fd, e) : -1;
	loop_free(d.loop);
	unlink(addr->sa.sun_path); /* the lock is still held, so it is our own */
	close(sc.listen_fd);
	return r;
}

/* For tests: acts as on a host where no namespaces can be made. */
static bool plain_is_wanted(void)
{
	const char *cell = getenv("FRED_CELL");

	return cell && str_eq(cell, "plain");
}

static int end_at_once(void *unused)
{
	(void)unused;
	return 0;
}

static int make_cell(struct err *e)
{
	struct cell cell;
	int status;

	return userns_enter(e) || cell_start(end_at_once, NULL, &cell, e) || cell_join(&cell, &status, e) ? -1 : 0;
}

/*
 * A user namespace may be allowed, while something that a cell needs is refused in it, for example a /proc of its own
 * if parts of the existing one are masked. Tried in a fork, since a process cannot leave a user namespace.
 */
static int try_cell(struct err *e)
{
	cleanup_close int ours = -1, theirs = -1;
	struct err why = {0};
	int fds[2];
	pid_t pid;

	if (userns_has_admin())
		return 0;
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(e, ERR_INTERNAL, "pipe");
	ours = fds[0];
	theirs = fds[1];
	pid = fork();
	if (!pid) {
		make_cell(&why);
		_exit(write_full(theirs, &why, sizeof(why)) ? 1 : 0);
	}
	close(steal_fd(&theirs));
	if (pid < 0 || read_full(ours, &why, sizeof(why)) != sizeof(why))
		err_set(&why, ERR_INTERNAL, "a process that tried to make a cell has ended");
	if (pid > 0)
		cell_wait_pid(pid, NULL, e);
	*e = why;
	return why.kind ? -1 : 0;
}

static void nothing(int signo)
{
	(void)signo;
}

/* Raises a limit, which workers inherit; the hard limit, too, if that is allowed. */
static void lift(__rlimit_resource_t which)
{
	struct rlimit l, none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	if (getrlimit(which, &l) || l.rlim_cur == RLIM_INFINITY || !setrlimit(which, &none))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(which, &l);
}

static int need(__rlimit_resource_t which, rlim_t least, const char *what, const char *option, struct err *e)
{
	struct rlimit l;

	if (getrlimit(which, &l) || l.rlim_cur >= least)
		return 0;
	return err_set(e, ERR_HOST, "%s limited to %llu kB (ulimit %s), and fredd needs %llu kB", what,
		       (unsigned long long)l.rlim_cur >> 10, option, (unsigned long long)least >> 10);
}

/*
 * The daemon outlives the command that starts it, and serves others: so it raises the limits it got from that one. If a
 * limit on files remains, a write beyond it fails with an error.
 */
static int lift_limits(struct err *e)
{
	struct sigaction ours = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct rlimit l;

	lift(RLIMIT_FSIZE);
	lift(RLIMIT_CPU);
	lift(RLIMIT_AS);
	lift(RLIMIT_DATA);
	sigaction(SIGXFSZ, &ours, NULL);
	if (!getrlimit(RLIMIT_STACK, &l) && l.rlim_cur < STACK_WANTED) {
		l.rlim_cur = l.rlim_max < STACK_WANTED ? l.rlim_max : STACK_WANTED;
		if (setrlimit(RLIMIT_STACK, &l))
			return err_errno(e, ERR_HOST, "RLIMIT_STACK");
	}
	return need(RLIMIT_STACK, STACK_NEEDED, "stacks are", "-s", e) ||
			       need(RLIMIT_FSIZE, FILES_NEEDED, "files are", "-f", e)
		       ? -1
		       : 0;
}

static int start(const struct config *c, int *ready_fd, struct err *e)
{
	cleanup_free char *home = home_dir(e);
	cleanup_free char *log_path = home ? path_join(home, "fredd.log") : NULL;
	cleanup_close int start_lock = -1;
	struct wire_addr addr;
	bool plain = false;

	if (!home)
		return -1;
	if (!c->foreground && (detach(e) || redirect(log_path, e)))
		return -1;
	if (lift_limits(e) || wire_addr_init(&addr, home, e))
		return -1;
	if (plain_is_wanted() || try_cell(e) || userns_enter(e)) {
		log_warn("cells have no namespaces: %s", e->kind ? e->text : "FRED_CELL=plain");
		*e = (struct err){0};
		plain = true;
	}
	if (*ready_fd < 0) {
		start_lock = take_lock(home, "fredd.start", e);
		if (start_lock < 0)
			return -1;
	}
	return serve(c, home, &addr, c->foreground ? NULL : log_path, plain, ready_fd, &start_lock, e);
}

static int exec_criu_check(void *criu)
{
	execl(criu, criu, "check", userns_is_own() ? "--unprivileged" : NULL, NULL);
	fprintf(stderr, "%s: %s\n", (const char *)criu, strerror(errno));
	return 127;
}

/* Done in a cell, where checkpoints are made: what CRIU finds there counts. */
static int check_criu(char *criu, struct err *e)
{
	struct cell cell;
	int status;

	if (userns_enter(e) || cell_start(exec_criu_check, criu, &cell, e) || cell_join(&cell, &status, e))
		return -1;
	return status ? err_set(e, ERR_HOST, "criu check failed") : 0;
}

/* How long a checkpoint of two threads takes, or why none can be made. For the pid 1 of a cell. */
static int try_checkpoint(void *unused)
{
	struct ckpt_try t;
	struct err e;

	(void)unused;
	if (ckpt_try(&t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("a process of two threads: dumped in %.0f ms, restored in %.0f ms\n", t.dump_s * 1e3, t.restore_s * 1e3);
	return fflush(stdout) ? 1 : 0;
}

static int check_checkpoint(struct err *e)
{
	struct cell cell;
	int status;

	if (userns_enter(e) || cell_start(try_checkpoint, NULL, &cell, e) || cell_join(&cell, &status, e))
		return -1;
	return status ? err_set(e, ERR_HOST, "there are no checkpoints") : 0;
}

/* Prints the output of --help, --version, --print-criu and the checks. */
static int print(const struct config *c, struct err *e)
{
	cleanup_free char *criu = NULL;

	if (c->help || c->version) {
		fputs(c->help ? config_help() : "fredd " FRED_VERSION "\n", stdout);
		return 0;
	}
	if (c->check_checkpoint)
		return check_checkpoint(e);
	criu = ckpt_criu_path(e);
	if (!criu)
		return -1;
	if (c->check_criu)
		return check_criu(criu, e);
	puts(criu);
	return 0;
}

static int fail(const struct err *e)
{
	fprintf(stderr, "fredd: %s\n", e->text);
	return err_exit_code(e->kind);
}

int main(int argc, char **argv)
{
	struct config c;
	struct err e = {0};

	if (argc == 2 && str_eq(argv[1], CKPT_TRY_OPTION))
		return ckpt_try_answer();
	if (config_parse(&c, argc, argv, &e))
		return fail(&e);
	if (c.help || c.version || c.print_criu || c.check_criu || c.check_checkpoint)
		return print(&c, &e) ? fail(&e) : 0;
	signal(SIGPIPE, SIG_IGN);
	if (c.ready_fd >= 0)
		fcntl(c.ready_fd, F_SETFD, FD_CLOEXEC);
	if (start(&c, &c.ready_fd, &e)) {
		log_error("%s", e.text);
		tell_ready(&c.ready_fd, e.text);
		return err_exit_code(e.kind);
	}
	return 0;
}
