/* SPDX-License-Identifier: MIT */
/*
 * hostile.c: what a stranger may put into a recording in the place of its program or of its recorder. The recording's
 * own arguments say which attack it tries: PROGRAM ATTACK FOLDER OUTSIDE-PID PORT SOCKET. The exit status tells the
 * result, since nothing else gets out of a cell: GOT when the attack has worked, NOTHING when it was refused.
 *
 * -DLIBRARY: a library, for the recorder's place, that attacks before the program begins. Else a program, linked
 * statically, so that no recorder is loaded.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GOT = 100, NOTHING = 99, UNKNOWN = 98, CHILDREN = 30000 };

static char **arg; /* ATTACK FOLDER OUTSIDE-PID PORT SOCKET */

static const char *in_folder(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", arg[1], name);
	return path;
}

/* In the folder that the worker shares with the replay: FRED=p:NNNN:FOLDER/rec */
static const char *in_cell(const char *name)
{
	static char path[4096];
	const char *fred = getenv("FRED"), *end = fred && strlen(fred) > 7 ? strstr(fred + 7, "/rec") : NULL;

	snprintf(path, sizeof(path), "%.*s/%s", end ? (int)(end - fred - 7) : 9, end ? fred + 7 : "/run/fred", name);
	return path;
}

static int can_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int can_read(const char *path)
{
	char c;
	int fd = open(path, O_RDONLY), got = fd >= 0 && read(fd, &c, 1) == 1;

	if (fd >= 0)
		close(fd);
	return got;
}

/* Did a call come further than to the check of rights? */
static int allowed(long r)
{
	return r >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS && errno != EROFS && errno != ENOENT);
}

static int write_file(void)
{
	int fd = open(in_folder("victim"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	return fd >= 0 && write(fd, "evil", 4) == 4;
}

static int read_shadow(void)
{
	return can_read("/etc/shadow");
}

static int read_ssh(void)
{
	return can_read(in_folder(".ssh/id"));
}

static int read_environment(void)
{
	char path[64];

	/* of the worker, and of whatever is there */
	for (int pid = 1; pid < 65536; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		if (pid != getpid() && can_read(path))
			return 1;
	}
	return 0;
}

static int connect_tcp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arg[3])),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static int connect_to(const char *name, int abstract)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path + abstract, sizeof(a.sun_path) - (size_t)abstract, "%s", name);
	return fd >= 0 && !connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
									 (size_t)abstract + strlen(name)));
}

static int connect_daemon(void)
{
	return connect_to(arg[4], 0);
}

static int connect_abstract(void)
{
	return connect_to(arg[1], 1);
}

static int signal_outside(void)
{
	return !kill(atoi(arg[2]), SIGTERM);
}

/* The worker goes on: else nobody could tell the result. */
static int signal_worker(void)
{
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	kill(getppid(), SIGKILL);
	kill(getppid(), SIGSTOP);
	return 0;
}

static int trace(void)
{
	return !ptrace(PTRACE_SEIZE, atoi(arg[2]), 0, 0) || !ptrace(PTRACE_SEIZE, 1, 0, 0);
}

static int proc_mem(void)
{
	char path[64];

	for (int pid = 1; pid < 65536; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		if (pid != getpid() && can_open(path, O_RDWR))
			return 1;
	}
	return 0;
}

static int mounts(void)
{
	return !mount("tmpfs", "/", "tmpfs", 0, NULL) || !mount("none", "/", NULL, MS_REMOUNT | MS_BIND, NULL) ||
	       !mount("none", "/run/fred", NULL, MS_REMOUNT | MS_BIND, NULL) || !umount2("/run/fred", MNT_DETACH) ||
	       !umount2("/proc", MNT_DETACH);
}

static int chroot_escape(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	mkdir("/x", 0700);
	if (!chroot("/x") || !chroot("/proc"))
		return 1;
	for (int i = 0; i < 30; i++)
		if (fchdir(fd) || chdir(".."))
			break;
	if (can_open("etc/shadow", O_RDONLY) || can_open(in_folder("secret"), O_RDONLY))
		return 1;
	for (int pid = 1; pid < 65536; pid++) {
		char path[4200];

		for (int k = 0; k < 2; k++) {
			snprintf(path, sizeof(path), "/proc/%d/%s%s", pid, k ? "root" : "cwd/../../../../../..",
				 in_folder("secret"));
			if (can_open(path, O_RDONLY))
				return 1;
		}
	}
	return 0;
}

static int user_namespace(void)
{
	return !unshare(CLONE_NEWUSER);
}

static int other_namespaces(void)
{
	return !unshare(CLONE_NEWNS) || !unshare(CLONE_NEWNET) || !unshare(CLONE_NEWPID);
}

static int devices(void)
{
	static const char *const where[] = {"/mem", "/run/mem", "/run/fred/mem", "/tmp/mem", "mem", "/dev/shm/mem"};

	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		if (!mknod(where[i], S_IFCHR | 0600, makedev(1, 1)) || !mknod(where[i], S_IFBLK | 0600, makedev(8, 0)))
			return 1;
	return can_open("/dev/mem", O_RDWR) || can_open("/dev/kmsg", O_RDWR) || can_open("/dev/sda", O_RDWR) ||
	       can_open("/dev/kvm", O_RDWR) || can_open("/dev/fuse", O_RDWR) || can_open("/dev/userfaultfd", O_RDWR);
}

/* More than 128 MiB into any one file, or many files. */
static int fill_disk(void)
{
	/* what counts is what is left of it elsewhere: a cell's own files are bounded */
	static const char *const where[] = {"/x", "/run/x", "/run/fred/x", "/tmp/x", "x", "/dev/shm/x", "/run/fred/out.0001",
					    "/run/fred/ctl.0001", "/run/fred/rec/x", "/var/tmp/x"};
	static char block[1 << 20];
	long sum = 0;

	signal(SIGXFSZ, SIG_IGN);
	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		int fd = open(where[i], O_WRONLY | O_CREAT | O_APPEND, 0600);

		for (int k = 0; fd >= 0 && k < 256 && write(fd, block, sizeof(block)) == sizeof(block); k++)
			sum++;
	}
	return sum > 128;
}

static int fork_bomb(void)
{
	int n = 0;

	for (; n < CHILDREN; n++) {
		pid_t pid = fork();

		if (!pid) {
			pause();
			_exit(0);
		}
		if (pid < 0)
			break;
	}
	return n == CHILDREN;
}

/*
 * Is it not the first to be killed for want of memory, or can it become one of the last? A kernel lets it go back to what
 * it was started with, unless that was set with CAP_SYS_RESOURCE.
 */
static int use_memory(void)
{
	char text[16] = "";
	int fd = open("/proc/self/oom_score_adj", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || atoi(text) != 1000)
		return 1;
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	return fd >= 0 && write(fd, "-1", 2) == 2;
}

static int write_recording(void)
{
	static const char *const names[] = {"rec/meta.json", "rec/p0001/t0001.log", "rec/control", "rec/p0001/image",
					    "rec/files/libfred-record.so", "sched.0001"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = in_cell(names[i]);

		if (can_open(name, O_WRONLY) || !unlink(name) || !truncate(name, 0) || !chmod(name, 0777) ||
		    !rename(name, "other"))
			return 1;
	}
	return can_open(in_cell("rec/new"), O_WRONLY | O_CREAT) || !mkdir(in_cell("rec/dir"), 0700);
}

/* What the worker opens later must not lead elsewhere. */
static int plant_links(void)
{
	return !symlink("/etc/passwd", in_cell("ctl.0002")) || !symlink("/etc/passwd", in_cell("out.0002")) ||
	       !rename(in_cell("ctl.0001"), "x") || !unlink(in_cell("ctl.0001")) || !symlink("/etc/passwd", "/run/x");
}

/* A process that is left must not be there when the worker is gone; its name is for the test to find. */
static int stay(void)
{
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			setsid();
			prctl(PR_SET_PDEATHSIG, 0);
			prctl(PR_SET_NAME, "fred-stays");
			for (int sig = 1; sig < 32; sig++)
				signal(sig, SIG_IGN);
			if (fork())
				_exit(0);
			for (;;)
				pause();
		}
	return 0;
}

static int set_user(void)
{
	return !setuid(1000) || !setreuid(1000, 1000) || !setgid(1000) || !setgroups(0, NULL) ||
	       !setresuid(1, (uid_t)-1, (uid_t)-1) || (getuid() && !setresuid(0, 0, 0));
}

/* The bounding set, which a user may not reduce, gives nothing without an exec that may give rights. */
static int capabilities(void)
{
	char text[4096], kind[4], *p;
	unsigned long long set = ~0ull;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	for (p = text; (p = strstr(p, "\nCap")); p++)
		if (sscanf(p, "\nCap%3[^:]: %llx", kind, &set) != 2 ||
		    (set & ~(1ull << 40) && (!geteuid() || strcmp(kind, "Bnd"))))
			return 1;
	return set == ~0ull || !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static int kernel_code(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return allowed(syscall(SYS_init_module, NULL, 0, "")) || allowed(syscall(SYS_finit_module, 0, "", 0)) ||
	       allowed(syscall(SYS_delete_module, "nosuch", 0)) || syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)) >= 0 ||
	       allowed(syscall(SYS_kexec_load, 0, 0, NULL, 0)) || allowed(syscall(SYS_ioperm, 0x80, 1, 1)) ||
	       allowed(syscall(SYS_iopl, 3));
}

static int write_sysctl(void)
{
	static const char *const name[] = {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
					   "/proc/sys/vm/drop_caches", "/proc/sys/kernel/ns_last_pid",
					   "/proc/sysrq-trigger", "/sys/kernel/mm/ksm/run", "/proc/irq/default_smp_affinity"};

	for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (can_open(name[i], O_WRONLY))
			return 1;
	return 0;
}

static int hostname(void)
{
	return !sethostname("evil", 4) || !setdomainname("evil", 4);
}

static int set_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return !clock_settime(CLOCK_REALTIME, &now);
}

static int open_by_handle(void)
{
	char room[sizeof(struct file_handle) + 128] = {0};
	struct file_handle *h = (struct file_handle *)room;

	h->handle_bytes = 8;
	h->handle_type = 1;
	return allowed(open_by_handle_at(AT_FDCWD, h, O_RDONLY));
}

static int keys(void)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "fred-confined-test", 0) > 0;
}

static int shared_memory(void)
{
	return syscall(SYS_shmget, 0x46520000 + atoi(arg[3]), 0, 0) >= 0;
}

static int priority(void)
{
	struct sched_param p = {.sched_priority = 1};

	return !sched_setscheduler(0, SCHED_FIFO, &p) || !setpriority(PRIO_PROCESS, 0, -10);
}

static int descriptors(void)
{
	struct stat st;

	for (int fd = 0; fd < 1024; fd++)
		if (!fstat(fd, &st) && !(fd < 3 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
			return 1;
	return 0;
}

/* A ring opens files by itself, past a filter of system calls: io_uring_setup(2). */
static int io_ring(void)
{
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	char *sq, *cq;
	struct io_uring_sqe *sqe;

	if (fd < 0)
		return 0;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		return 0;
	*sqe = (struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .open_flags = O_RDONLY};
	sqe->addr = (uintptr_t)in_folder(".ssh/id");
	*(unsigned *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 &&
	       ((struct io_uring_cqe *)(cq + p.cq_off.cqes))->res >= 0;
}

/* Does a program that is in memory only, and came with an exec, get more? */
static int execute_memory(void)
{
	static char block[65536];
	char *argv[] = {"again", "write-file", arg[1], arg[2], arg[3], arg[4], NULL}, *env[] = {NULL};
	int from = open("/proc/self/exe", O_RDONLY), fd = memfd_create("again", MFD_CLOEXEC), status;
	ssize_t n;
	pid_t pid;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (write(fd, block, (size_t)n) != n)
			return 0;
	pid = fork();
	if (!pid) {
		syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
		fexecve(fd, argv, env);
		_exit(write_file() ? GOT : NOTHING);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == GOT;
}

/* Of the worker, of its parent, and of a process outside: memory, descriptors, namespaces; limits and processors. */
static int other_processes(void)
{
	const pid_t pids[] = {1, getppid(), atoi(arg[2])};
	struct rlimit limit = {0, 0};
	unsigned long one = 1;
	char byte = 0;

	for (unsigned i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		struct iovec to = {&byte, 1}, from = {(void *)0x400000, 1};
		int pidfd = (int)syscall(SYS_pidfd_open, pids[i], 0);

		if (pids[i] <= 0 || pids[i] == getpid())
			continue;
		errno = 0; /* EFAULT: it was allowed to look, and there is nothing */
		if (syscall(SYS_process_vm_readv, pids[i], &to, 1, &from, 1, 0) >= 0 || errno == EFAULT)
			return 1;
		if (pidfd >= 0 && (syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0 ||
				   !syscall(SYS_setns, pidfd, CLONE_NEWNS | CLONE_NEWPID)))
			return 1;
		/* the worker's own: it could only hinder its own replay */
		if (pids[i] != atoi(arg[2]))
			continue;
		if (pidfd >= 0 && !syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0))
			return 1;
		if (!syscall(SYS_prlimit64, pids[i], RLIMIT_NOFILE, &limit, NULL) ||
		    !syscall(SYS_sched_setaffinity, pids[i], sizeof(one), &one) ||
		    !setpriority(PRIO_PROCESS, (id_t)pids[i], 19) || syscall(SYS_kcmp, pids[i], pids[i], 0, 0, 0) >= 0)
			return 1;
	}
	return 0;
}

/* A signal that the kernel sends for it, when a descriptor is ready. */
static int signal_by_kernel(void)
{
	struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = atoi(arg[2])};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGTERM};
	timer_t timer;
	int fds[2];

	event._sigev_un._tid = atoi(arg[2]);
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		return 1;
	if (pipe(fds))
		return 0;
	return !fcntl(fds[0], F_SETOWN, atoi(arg[2])) || !fcntl(fds[0], F_SETOWN_EX, &owner);
}

static const struct attack {
	const char *name;
	int (*try)(void);
} attacks[] = {
	{"write-file", write_file},
	{"read-shadow", read_shadow},
	{"read-ssh", read_ssh},
	{"read-environment", read_environment},
	{"connect-tcp", connect_tcp},
	{"connect-daemon", connect_daemon},
	{"connect-abstract", connect_abstract},
	{"signal-outside", signal_outside},
	{"signal-worker", signal_worker},
	{"trace", trace},
	{"proc-mem", proc_mem},
	{"mount", mounts},
	{"chroot-escape", chroot_escape},
	{"user-namespace", user_namespace},
	{"other-namespaces", other_namespaces},
	{"devices", devices},
	{"fill-disk", fill_disk},
	{"fork-bomb", fork_bomb},
	{"use-memory", use_memory},
	{"write-recording", write_recording},
	{"plant-links", plant_links},
	{"stay", stay},
	{"set-user", set_user},
	{"capabilities", capabilities},
	{"kernel-code", kernel_code},
	{"write-sysctl", write_sysctl},
	{"hostname", hostname},
	{"set-clock", set_clock},
	{"open-by-handle", open_by_handle},
	{"keys", keys},
	{"shared-memory", shared_memory},
	{"priority", priority},
	{"descriptors", descriptors},
	{"io-ring", io_ring},
	{"execute-memory", execute_memory},
	{"other-processes", other_processes},
	{"signal-by-kernel", signal_by_kernel},
};

static int attack(char **argv)
{
	arg = argv;
	for (unsigned i = 0; arg[0] && i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(attacks[i].name, arg[0]))
			return attacks[i].try() ? GOT : NOTHING;
	return UNKNOWN;
}

#ifdef LIBRARY
static void __attribute__((constructor)) begin(int argc, char **argv)
{
	_exit(argc < 6 ? UNKNOWN : attack(argv + 1));
}
#else
int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		for (unsigned i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
			puts(attacks[i].name);
	return argc < 6 ? UNKNOWN : attack(argv + 1);
}
#endif
