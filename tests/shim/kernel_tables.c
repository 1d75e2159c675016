/* SPDX-License-Identifier: MIT */
/*
 * kernel_tables.c: calls that give what lies behind pointers in their arguments: maps of bpf, names of file systems, old
 * requests for bridges. A kernel may lack each, and say so. NONDET-OUTPUT
 */
#include "check.h"

#include <linux/bpf.h>
#include <linux/if_bridge.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static long bpf(int cmd, union bpf_attr *a)
{
	return syscall(SYS_bpf, cmd, a, sizeof(*a));
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void test_map(int fd)
{
	uint32_t key = 0, next = 99;
	struct bpf_map_info info = {0};
	uint64_t value[4], got[4] = {0};
	union bpf_attr a;

	for (uint32_t i = 0; i < 3; i++) {
		for (int k = 0; k < 4; k++)
			value[k] = i * 1000 + (uint64_t)getppid() * 10 + (uint64_t)k;
		a = (union bpf_attr){.map_fd = (uint32_t)fd, .key = address(&i), .value = address(value)};
		CHECK(bpf(BPF_MAP_UPDATE_ELEM, &a) == 0);
	}
	key = 2;
	a = (union bpf_attr){.map_fd = (uint32_t)fd, .key = address(&key), .value = address(got)};
	CHECK(bpf(BPF_MAP_LOOKUP_ELEM, &a) == 0 && !memcmp(got, value, sizeof(got)));
	key = 0;
	a = (union bpf_attr){.map_fd = (uint32_t)fd, .key = address(&key), .next_key = address(&next)};
	CHECK(bpf(BPF_MAP_GET_NEXT_KEY, &a) == 0 && next == 1);
	key = 3;
	a = (union bpf_attr){.map_fd = (uint32_t)fd, .key = address(&key), .value = address(got)};
	CHECK(bpf(BPF_MAP_LOOKUP_ELEM, &a) == -1 && errno == ENOENT && got[3] == value[3]);
	a = (union bpf_attr){.info = {(uint32_t)fd, sizeof(info), address(&info)}};
	CHECK(bpf(BPF_OBJ_GET_INFO_BY_FD, &a) == 0 && info.value_size == sizeof(value) && a.info.info_len > 0);
	CHECK(close(fd) == 0);
}

static void test_bpf(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 32, .max_entries = 3};
	int fd = (int)bpf(BPF_MAP_CREATE, &a);

	if (fd >= 0)
		test_map(fd);
	else
		CHECK(errno == EPERM || errno == ENOSYS);
	CHECK(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, (void *)16, 48) == -1);
	step("maps of bpf");
}

/* The verifier says what is wrong with a program that is none. */
static void test_verifier(void)
{
	struct bpf_insn none = {.code = 0xff};
	char text[4096] = "";
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 1, .insns = address(&none),
			    .license = address("MIT"), .log_level = 1, .log_size = sizeof(text), .log_buf = address(text)};

	CHECK(bpf(BPF_PROG_LOAD, &a) == -1);
	CHECK(errno != EINVAL || text[0]);
	printf("verifier: %s", text);
	step("verifier");
}

static void test_sysfs(void)
{
	long n = syscall(SYS_sysfs, 3);
	char name[256];
	int proc = 0;

	CHECK(n > 0 || errno == ENOSYS);
	for (long i = 0; i < n; i++) {
		CHECK(syscall(SYS_sysfs, 2, i, name) == 0 && name[0]);
		if (!strcmp(name, "proc"))
			CHECK(syscall(SYS_sysfs, 1, name) == i && ++proc);
	}
	CHECK(n <= 0 || proc == 1);
	CHECK(syscall(SYS_sysfs, 4) == -1);
	step("names of file systems");
}

static void test_bridges(void)
{
	int indices[64] = {0}, fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned long get[3] = {BRCTL_GET_BRIDGES, address(indices), 64}, version[3] = {BRCTL_GET_VERSION, 0, 0};
	int n = ioctl(fd, SIOCGIFBR, get);

	NEED(fd >= 0);
	CHECK(n >= 0 || errno == EOPNOTSUPP || errno == ENOPKG);
	for (int i = 0; i < n; i++)
		CHECK(indices[i] > 0);
	CHECK(ioctl(fd, SIOCGIFBR, version) >= 0 || errno == EOPNOTSUPP || errno == ENOPKG);
	CHECK(ioctl(fd, SIOCGIFBR, (void *)16) == -1);
	CHECK(close(fd) == 0);
	step("bridges");
}

int main(void)
{
	test_bpf();
	test_verifier();
	test_sysfs();
	test_bridges();
	return check_status();
}
