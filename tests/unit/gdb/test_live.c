/* SPDX-License-Identifier: MIT */
/*
 * test_live.c: a real GDB on real programs: attaching leaves no trace, frames, lines, threads, and
 * expressions that call into a program which is blocked in a raw futex inside a shared library.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "gdb/gdb.h"
#include "live.h"

static const char *c_plain, *c_optimized, *cxx;

static char *eval(struct live *l, const char *expr, pid_t tid, int frame)
{
	struct err e = {0};
	char *value = NULL;

	if (gdb_eval(l->gdb, expr, tid, frame, 0, &value, &e))
		fail_msg("%s: %s", expr, e.text);
	return value;
}

static void expect(struct live *l, const char *expr, pid_t tid, int frame, const char *want)
{
	cleanup_free char *value = eval(l, expr, tid, frame);

	assert_string_equal(value, want);
}

/* "SP PC" as the kernel shows them for a blocked thread, with the system call's arguments. */
static char *syscall_line(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/syscall", pid);
	struct buf b = {0};
	struct err e;

	assert_int_equal(read_file(path, &b, &e), 0);
	return buf_steal(&b);
}

static void wait_state(pid_t pid, char want)
{
	for (int i = 0; i < 10000000 && live_status(pid, "State")[0] != want; i++)
		sched_yield();
	assert_int_equal(live_status(pid, "State")[0], want);
}

/* The wait in the futex goes on as if nothing had been; not one instruction ran. */
static void test_attach_blocked(void **state)
{
	cleanup_free char *before = NULL, *after = NULL;
	struct live l = {0};
	struct err e = {0};

	(void)state;
	l.pid = live_start(c_plain, NULL, 1);
	before = syscall_line(l.pid);
	l.gdb = gdb_new(NULL, &e);
	assert_non_null(l.gdb);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gdb_attach(l.gdb, l.pid, &e), 0);
		assert_int_equal(gdb_target(l.gdb), l.pid);
		expect(&l, "block_returned", 0, 0, "0");
		assert_int_equal(gdb_detach(l.gdb, &e), 0);
		assert_int_equal(gdb_target(l.gdb), 0);
		wait_state(l.pid, 'S');
	}
	after = syscall_line(l.pid);
	assert_string_equal(before, after);
	assert_int_equal(atoi(live_status(l.pid, "TracerPid")), 0);
	live_end(&l);
}

static void read_regs(pid_t pid, struct user_regs_struct *regs)
{
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, NULL, __WALL), pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, regs), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
}

static void test_attach_stopped(void **state)
{
	struct user_regs_struct before, after;
	struct live l = {0};
	struct err e = {0};

	(void)state;
	l.pid = live_start(c_plain, "thread", 2);
	kill(l.pid, SIGSTOP);
	wait_state(l.pid, 'T');
	read_regs(l.pid, &before);
	wait_state(l.pid, 'T');
	l.gdb = gdb_new(NULL, &e);
	assert_non_null(l.gdb);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gdb_attach(l.gdb, l.pid, &e), 0);
		expect(&l, "block_returned", 0, 0, "0");
		assert_int_equal(gdb_detach(l.gdb, &e), 0);
		wait_state(l.pid, 'T');
	}
	read_regs(l.pid, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	live_end(&l);
}

/* From the second detach on the libraries' symbols stay read; threads and values are those of the process alone. */
static void test_libraries_kept(void **state)
{
	cleanup_free char *bfds = NULL, *inferior = NULL;
	struct live l = {0};
	struct err e = {0};

	(void)state;
	l.pid = live_start(c_plain, "thread", 2);
	l.gdb = gdb_new(NULL, &e);
	assert_non_null(l.gdb);
	for (int i = 0; i < 3; i++) {
		struct gdb_thread *threads;
		size_t n;

		assert_int_equal(gdb_attach(l.gdb, l.pid, &e), 0);
		expect(&l, "block_returned", 0, 0, "0");
		assert_int_equal(gdb_threads(l.gdb, &threads, &n, &e), 0);
		assert_int_equal(n, 2);
		assert_int_equal(threads[0].tid, l.pid);
		gdb_threads_free(threads, n);
		assert_int_equal(gdb_detach(l.gdb, &e), 0);
	}
	assert_int_equal(gdb_console(l.gdb, "maint info bfds", &bfds, &e), 0);
	assert_non_null(strstr(bfds, "/libc.so.6"));
	assert_int_equal(gdb_console(l.gdb, "print $_inferior", &inferior, &e), 0);
	assert_non_null(strstr(inferior, "= 1"));
	live_end(&l);
}

/* What GDB has found out of the libraries is kept for the next GDB, but nothing of the program's own. */
static void test_debug_files(void **state)
{
	char home[] = "/tmp/fred-gdb.XXXXXX";
	cleanup_free char *was = str_fmt("%s", getenv("FRED_HOME")), *show = NULL, *again = NULL, *dir = NULL;
	struct gdb_frame *f;
	struct stat made, then;
	struct live l;
	struct err e = {0};
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("FRED_HOME", home, 1);
	dir = str_fmt("%s/gdb-index", home);
	for (int i = 0; i < 2; i++) {
		live_attach(&l, c_plain, NULL, 1);
		assert_int_equal(gdb_debug_files(l.gdb, true, &e), 0);
		assert_int_equal(gdb_backtrace(l.gdb, 0, 0, &f, &n, &e), 0);
		assert_string_equal(f[0].func, "block_here");
		gdb_frames_free(f, n);
		assert_int_equal(gdb_console(l.gdb, "show index-cache", i ? &again : &show, &e), 0);
		assert_int_equal(stat(dir, i ? &then : &made), 0);
		live_end(&l);
	}
	assert_true(path_disk_usage(dir) > 0);
	assert_int_equal(then.st_mtim.tv_nsec, made.st_mtim.tv_nsec);
	assert_non_null(strstr(show, "cache is currently disabled"));
	assert_non_null(strstr(again, "cache is currently disabled"));
	setenv("FRED_HOME", was, 1);
	assert_int_equal(rm_rf(home, &e), 0);
}

static void test_attach_errors(void **state)
{
	struct live l;
	struct err e = {0};
	struct gdb *second;
	pid_t gone;

	(void)state;
	gone = fork();
	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	live_attach(&l, c_plain, NULL, 1);
	assert_int_equal(gdb_attach(l.gdb, l.pid, &e), -1);
	second = gdb_new(NULL, &e);
	assert_non_null(second);
	/* One process has one tracer. */
	assert_int_equal(gdb_attach(second, l.pid, &e), -1);
	assert_int_equal(e.kind, ERR_HOST);
	assert_int_equal(gdb_attach(second, gone, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_null(gdb_dead(second));
	gdb_free(second);
	live_end(&l);
}

static void test_backtrace(void **state)
{
	struct live l;
	struct gdb_frame *f;
	struct err e = {0};
	size_t n;
	int user;

	(void)state;
	live_attach(&l, c_plain, NULL, 1);
	assert_int_equal(gdb_backtrace(l.gdb, 0, 0, &f, &n, &e), 0);
	assert_int_equal(gdb_add_args(l.gdb, 0, f, n, &e), 0);
	assert_true(n >= 5);
	assert_string_equal(f[0].func, "block_here");
	assert_string_equal(f[0].module, "libblock.so");
	user = gdb_frames_user(f, n, "libblock.so");
	assert_string_equal(f[user].func, "innermost");
	assert_string_equal(f[user + 1].func, "inlined_step");
	assert_string_equal(f[user + 2].func, "work");
	assert_string_equal(f[user + 3].func, "main");
	assert_true(str_ends(f[user].fullname, "/target.c"));
	assert_int_equal(f[user].fullname[0], '/');
	assert_true(f[user].line > 0);
	assert_true(str_starts(f[user + 2].args, "n=3, node=0x"));
	assert_int_equal(f[2].level, 2);
	gdb_frames_free(f, n);
	assert_int_equal(gdb_backtrace(l.gdb, 0, 2, &f, &n, &e), 0);
	assert_int_equal(n, 2);
	gdb_frames_free(f, n);
	live_end(&l);
}

static void test_threads(void **state)
{
	struct live l;
	struct gdb_thread *t;
	struct err e = {0};
	size_t n;
	pid_t other = 0;
	char *value = NULL;

	(void)state;
	live_attach(&l, c_plain, "thread", 2);
	assert_int_equal(gdb_threads(l.gdb, &t, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_int_equal(t[0].tid, l.pid);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(t[i].name, "target-plain");
		other = t[i].tid == l.pid ? other : t[i].tid;
	}
	gdb_threads_free(t, n);
	assert_true(other > 0);
	/* Each thread has its own. */
	expect(&l, "tls_counter", l.pid, 1, "5");
	expect(&l, "tls_counter", other, 1, "77");
	expect(&l, "tls_node->value", other, 1, "30");
	assert_int_equal(gdb_select(l.gdb, other, 1, &e), 0);
	assert_int_equal(gdb_console(l.gdb, "print tls_counter", &value, &e), 0);
	assert_string_equal(value, "$1 = 77\n");
	free(value);
	assert_int_equal(gdb_select(l.gdb, l.pid + 100000, 0, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(gdb_eval(l.gdb, "1", l.pid, 99, 0, &value, &e), GDB_UNAVAILABLE);
	live_end(&l);
}

static void test_frame_regs(void **state)
{
	struct live l;
	struct gdb_regs r;
	struct err e = {0};
	int frame;

	(void)state;
	live_attach(&l, c_optimized, NULL, 1);
	frame = live_frame_of(l.gdb, 0, "work");
	for (int i = 0; i <= frame; i++) {
		cleanup_free char *pc = eval(&l, "(unsigned long)$pc", 0, i);
		cleanup_free char *sp = eval(&l, "(unsigned long)$sp", 0, i);
		cleanup_free char *rbx = eval(&l, "(unsigned long)$rbx", 0, i);

		assert_int_equal(gdb_frame_regs(l.gdb, 0, i, &r, &e), 0);
		assert_int_equal(r.value[GDB_REG_PC], strtoull(pc, NULL, 10));
		assert_int_equal(r.value[GDB_REG_SP], strtoull(sp, NULL, 10));
		assert_true(r.valid & 1u << 1);
		assert_int_equal(r.value[1], strtoull(rbx, NULL, 10));
		assert_int_equal(r.scope_pc, r.value[GDB_REG_PC] - (i ? 1 : 0));
	}
	live_end(&l);
}

static void test_line_at(void **state)
{
	struct live l;
	struct gdb_frame *f;
	struct gdb_line line;
	struct err e = {0};
	size_t n;

	(void)state;
	live_attach(&l, c_optimized, NULL, 1);
	assert_int_equal(gdb_backtrace(l.gdb, 0, 0, &f, &n, &e), 0);
	/* The inlined function is named although no frame of its own exists in the machine. */
	for (size_t i = 1; i < n; i++) {
		if (!f[i].file || f[i].addr == f[i - 1].addr)
			continue;
		assert_int_equal(gdb_line_at(l.gdb, f[i].addr - 1, &line, &e), 0);
		assert_string_equal(line.func, f[i].func);
		assert_string_equal(line.fullname, f[i].fullname);
		assert_string_equal(line.file, f[i].file);
		assert_int_equal(line.line, f[i].line);
		gdb_line_fini(&line);
	}
	gdb_frames_free(f, n);
	/* No code there at all. */
	assert_int_equal(gdb_line_at(l.gdb, 16, &line, &e), 0);
	assert_null(line.func);
	assert_null(line.file);
	assert_int_equal(line.line, 0);
	gdb_line_fini(&line);
	live_end(&l);
}

static void test_prev_insn(void **state)
{
	struct live l;
	struct gdb_frame *f;
	struct err e = {0};
	size_t n;
	uint64_t prev, start;
	cleanup_free char *work = NULL, *insn = NULL, *cmd = NULL;

	(void)state;
	live_attach(&l, c_plain, NULL, 1);
	assert_int_equal(gdb_backtrace(l.gdb, 0, 0, &f, &n, &e), 0);
	/* In front of a return address is a call; of the futex's, the system call. */
	assert_int_equal(gdb_prev_insn(l.gdb, f[2].addr, &prev, &e), 0);
	assert_int_equal(prev, f[2].addr - 5);
	assert_int_equal(gdb_prev_insn(l.gdb, f[0].addr, &prev, &e), 0);
	assert_int_equal(prev, f[0].addr - 2);
	cmd = str_fmt("x/i 0x%llx", (unsigned long long)prev);
	assert_int_equal(gdb_console(l.gdb, cmd, &insn, &e), 0);
	assert_non_null(strstr(insn, "syscall"));
	gdb_frames_free(f, n);
	work = eval(&l, "(unsigned long)work", 0, 0);
	start = strtoull(work, NULL, 10);
	assert_int_equal(gdb_prev_insn(l.gdb, start, &prev, &e), 1);
	assert_int_equal(gdb_prev_insn(l.gdb, 16, &prev, &e), 1);
	live_end(&l);
}

static void test_eval(void **state)
{
	static const struct {
		const char *expr, *want;
	} table[] = {
		{"head->value", "-10"},
		{"head->name[0]", "102 'f'"},
		{"head->name", NULL},
		{"real", "-0.25"},
		{"color", "BLUE"},
		{"head->ok", "true"},
		{"head->u", NULL},
		{"bytes", NULL},
		{"local\n+ 1", "7"},
		{"\"a\\\"b\"", "\"a\\\"b\""},
		{"head->text", "\"aaa\\000\\000\\000\\000\""},
	};
	static const char *const absent[] = {"*(int *)0", "nothing->value", "1 / 0", "*(long *)8"};
	static const char *const bad[] = {"1 +", "nosuch", "", " ", "head->nosuch", "int", "first + 1"};
	struct live l;
	struct err e = {0};
	int frame;
	bool yes;

	(void)state;
	live_attach(&l, c_plain, NULL, 1);
	frame = live_frame_of(l.gdb, 0, "work");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup_free char *value = eval(&l, table[i].expr, 0, frame);

		assert_true(*value);
		if (table[i].want)
			assert_string_equal(value, table[i].want);
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		char *value = NULL;

		if (gdb_eval(l.gdb, absent[i], 0, frame, 0, &value, &e) != GDB_UNAVAILABLE || e.kind != ERR_NOT_FOUND)
			fail_msg("%s: %s", absent[i], e.text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *value = NULL;

		if (gdb_eval(l.gdb, bad[i], 0, frame, 0, &value, &e) != -1 || e.kind != ERR_USAGE)
			fail_msg("%s: %s", bad[i], e.text);
	}
	assert_int_equal(gdb_eval_bool(l.gdb, "real < 0 && head", 0, frame, 0, &yes, &e), 0);
	assert_true(yes);
	assert_int_equal(gdb_eval_bool(l.gdb, "nothing", 0, frame, 0, &yes, &e), 0);
	assert_false(yes);
	assert_int_equal(gdb_eval_bool(l.gdb, "first", 0, frame, 0, &yes, &e), -1);
	live_end(&l);
}

/* Calls into the blocked program, as fred makes them on a throw-away copy. */
static void test_calls(void **state)
{
	struct live l;
	struct err e = {0};
	char *value = NULL;
	bool yes = false;
	int frame;

	(void)state;
	live_attach(&l, c_plain, NULL, 1);
	frame = live_frame_of(l.gdb, 0, "work");
	expect(&l, "list_len(head)", 0, 0, "3");
	expect(&l, "list_len(head) <= 10", 0, frame, "1");
	expect(&l, "list_len(here.next) + local", 0, frame, "8");
	expect(&l, "busy(64)", 0, frame, "1");
	assert_int_equal(gdb_eval_bool(l.gdb, "list_len(head) == 4", 0, 0, 0, &yes, &e), 0);
	assert_false(yes);
	/* A crash is unwound: the state is as before, the next call works. */
	assert_int_equal(gdb_eval(l.gdb, "crash(nothing)", 0, frame, 0, &value, &e), GDB_UNAVAILABLE);
	assert_non_null(strstr(e.text, "signaled while in a function"));
	expect(&l, "list_len(head)", 0, frame, "3");
	assert_int_equal(live_frame_of(l.gdb, 0, "work"), frame);
	/* One that does not return is interrupted; GDB stays usable. */
	assert_int_equal(gdb_eval(l.gdb, "forever()", 0, frame, 300, &value, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_null(gdb_dead(l.gdb));
	expect(&l, "list_len(head)", 0, frame, "3");
	assert_int_equal(live_frame_of(l.gdb, 0, "work"), frame);
	/* The wait goes on after all this. */
	assert_int_equal(gdb_detach(l.gdb, &e), 0);
	wait_state(l.pid, 'S');
	live_end(&l);
}

/* A call moves the thread that makes it, no other. */
static void test_call_one_thread(void **state)
{
	struct live l;

	(void)state;
	live_attach(&l, c_plain, "spin", 1);
	for (int i = 0; i < 5; i++) {
		cleanup_free char *before = eval(&l, "spins", l.pid, 0), *after = NULL;

		expect(&l, "busy(64)", l.pid, 0, "1");
		after = eval(&l, "spins", l.pid, 0);
		assert_string_equal(before, after);
	}
	live_end(&l);
}

static void test_calls_cxx(void **state)
{
	struct live l;
	int frame;

	(void)state;
	if (!cxx)
		skip();
	live_attach(&l, cxx, NULL, 1);
	frame = live_frame_of(l.gdb, 0, "shop::Store::run");
	expect(&l, "size() == 4", 0, frame, "true");
	expect(&l, "other.size()", 0, frame, "2");
	expect(&l, "m_next->size() + limit", 0, frame, "8");
	live_end(&l);
}

/* The target dies under GDB's hands: evaluations say so, GDB itself lives. */
static void test_target_killed(void **state)
{
	struct live l;
	struct err e = {0};
	char *value = NULL;

	(void)state;
	live_attach(&l, c_plain, NULL, 1);
	kill(l.pid, SIGKILL);
	assert_int_not_equal(gdb_eval(l.gdb, "list_len(head)", 0, 0, 5000, &value, &e), 0);
	assert_true(e.text[0]);
	live_end(&l);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach_blocked), cmocka_unit_test(test_attach_stopped),
		cmocka_unit_test(test_attach_errors),  cmocka_unit_test(test_backtrace),
		cmocka_unit_test(test_threads),	       cmocka_unit_test(test_frame_regs),
		cmocka_unit_test(test_line_at),	       cmocka_unit_test(test_prev_insn),
		cmocka_unit_test(test_eval),	       cmocka_unit_test(test_calls),
		cmocka_unit_test(test_calls_cxx),      cmocka_unit_test(test_call_one_thread),
		cmocka_unit_test(test_target_killed),  cmocka_unit_test(test_libraries_kept),
		cmocka_unit_test(test_debug_files),
	};

	if (argc < 3)
		return 2;
	c_plain = argv[1];
	c_optimized = argv[2];
	cxx = argc > 3 ? argv[3] : NULL;
	return cmocka_run_group_tests_name("gdb-live", tests, NULL, NULL);
}
