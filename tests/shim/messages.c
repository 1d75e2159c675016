/* SPDX-License-Identifier: MIT */
/*
 * messages.c: sockets of all families and the rarer ways to move data: several messages at once, many
 * buffers, ancillary data, splice and its like.
 */
#include "check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static void test_mmsg(void)
{
	struct mmsghdr out[6] = {{{0}, 0}}, in[6] = {{{0}, 0}};
	struct iovec vo[6][2], vi[6][2];
	char text[6][40], a[6][8], b[6][40], control[6][64];
	struct timespec limit = {5, 0};
	int s[2], one = 1;

	NEED(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, s) == 0);
	CHECK(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0);
	for (int i = 0; i < 6; i++) {
		snprintf(text[i], sizeof(text[i]), "message number %d%.*s", i, i * 2, "............");
		vo[i][0] = (struct iovec){text[i], 3};
		vo[i][1] = (struct iovec){text[i] + 3, strlen(text[i]) - 3};
		out[i].msg_hdr = (struct msghdr){.msg_iov = vo[i], .msg_iovlen = 2};
		vi[i][0] = (struct iovec){a[i], 8};
		vi[i][1] = (struct iovec){b[i], sizeof(b[i])};
		in[i].msg_hdr = (struct msghdr){.msg_iov = vi[i], .msg_iovlen = 2, .msg_control = control[i],
						.msg_controllen = sizeof(control[i])};
	}
	CHECK(sendmmsg(s[0], out, 6, 0) == 6 && out[5].msg_len == strlen(text[5]));
	CHECK(recvmmsg(s[1], in, 4, 0, &limit) == 4);
	CHECK(recvmmsg(s[1], in + 4, 2, MSG_DONTWAIT, NULL) == 2);
	for (int i = 0; i < 6; i++) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&in[i].msg_hdr);

		CHECK(in[i].msg_len == strlen(text[i]) && !memcmp(a[i], text[i], 8));
		CHECK(!memcmp(b[i], text[i] + 8, in[i].msg_len - 8));
		CHECK(c && c->cmsg_type == SCM_CREDENTIALS && ((struct ucred *)CMSG_DATA(c))->pid == getpid());
	}
	CHECK(recvmmsg(s[1], in, 6, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
	close(s[0]), close(s[1]);
	step("several messages");
}

static void test_many_buffers(void)
{
	char from[300], to[300] = "";
	struct iovec v[150];
	int p[2];

	for (int i = 0; i < 300; i++)
		from[i] = (char)(i * 7);
	NEED(pipe2(p, O_CLOEXEC) == 0);
	for (int i = 0; i < 150; i++)
		v[i] = (struct iovec){from + 2 * i, 2};
	CHECK(writev(p[1], v, 150) == 300);
	for (int i = 0; i < 150; i++)
		v[i] = (struct iovec){to + 2 * i, 2};
	CHECK(readv(p[0], v, 150) == 300 && !memcmp(from, to, 300));
	close(p[0]), close(p[1]);
	step("many buffers");
}

static void test_truncated(void)
{
	char in[8] = "", text[100];
	struct iovec v = {in, 4};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	int s[2];

	memset(text, 't', sizeof(text));
	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(send(s[0], text, sizeof(text), 0) == 100);
	CHECK(recv(s[1], in, 4, MSG_PEEK) == 4 && in[3] == 't' && in[4] == 0);
	CHECK(recv(s[1], in, 4, MSG_TRUNC) == 100 && in[4] == 0);
	CHECK(recvmsg(s[1], &m, MSG_TRUNC) == 100 && (m.msg_flags & MSG_TRUNC) && in[4] == 0);
	CHECK(recv(s[1], in, 4, 0) == 4);
	close(s[0]);
	CHECK(recv(s[1], in, 4, 0) == 0);
	close(s[1]);
	step("truncated messages");
}

static void test_ip6(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}, from;
	struct timeval limit = {5, 0};
	socklen_t len = sizeof(at);
	int a = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), b = socket(AF_INET6, SOCK_DGRAM, 0), one = 1;
	char text[16] = "", room[128];
	struct iovec v = {text, sizeof(text)};
	struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v, .msg_iovlen = 1,
			   .msg_control = room, .msg_controllen = sizeof(room)};

	if (a >= 0 && bind(a, (struct sockaddr *)&at, sizeof(at)) == 0) {
		CHECK(getsockname(a, (struct sockaddr *)&at, &len) == 0 && at.sin6_port);
		CHECK(setsockopt(a, SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)) == 0);
		CHECK(setsockopt(a, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one)) == 0);
		CHECK(setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
		CHECK(connect(b, (struct sockaddr *)&at, sizeof(at)) == 0 && write(b, "six", 3) == 3);
		CHECK(recvmsg(a, &m, 0) == 3 && !strcmp(text, "six") && m.msg_namelen == sizeof(from));
		CHECK(m.msg_controllen > 16);
	}
	close(a), close(b);
	step("IPv6");
}

static void test_netlink(void)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} ask = {{.nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}, {0}};
	struct sockaddr_nl at = {.nl_family = AF_NETLINK}, own;
	socklen_t len = sizeof(own);
	static char room[32768];
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), loopback = 0, done = 0;
	struct ifreq ifr = {.ifr_name = "lo"};

	NEED(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(getsockname(s, (struct sockaddr *)&own, &len) == 0 && own.nl_pid);
	CHECK(send(s, &ask, sizeof(ask), 0) == sizeof(ask));
	while (!done) {
		long n = recv(s, room, sizeof(room), 0);

		NEED(n > 0);
		for (struct nlmsghdr *h = (void *)room; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			done |= h->nlmsg_type == NLMSG_DONE;
			if (h->nlmsg_type == RTM_NEWLINK)
				loopback |= (int)(((struct ifinfomsg *)NLMSG_DATA(h))->ifi_flags & IFF_LOOPBACK);
		}
	}
	CHECK(loopback);
	close(s);
	s = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(ioctl(s, SIOCGIFINDEX, &ifr) == 0 && ifr.ifr_ifindex == (int)if_nametoindex("lo"));
	CHECK(ioctl(s, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu > 0);
	close(s);
	step("netlink and interfaces");
}

static void test_unix_names(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX}, from;
	socklen_t len = sizeof(from), n;
	int a = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), b = socket(AF_UNIX, SOCK_STREAM, 0), c;

	n = (socklen_t)(2 + snprintf(at.sun_path + 1, 60, "fred-test-%d", (int)getpid()) + 1);
	NEED(bind(a, (struct sockaddr *)&at, n) == 0 && listen(a, 2) == 0);
	CHECK(bind(b, (struct sockaddr *)&at, 2) == 0); /* the kernel chooses a name */
	CHECK(connect(b, (struct sockaddr *)&at, n) == 0);
	c = accept(a, (struct sockaddr *)&from, &len);
	CHECK(c >= 0 && len > 2 && from.sun_path[0] == 0);
	len = 4;
	CHECK(getpeername(b, (struct sockaddr *)&from, &len) == 0 && len == n);
	close(a), close(b), close(c);
	step("abstract names");
}

static void test_splice(void)
{
	int file = open("spliced", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), copy, p[2], q[2];
	char text[64] = "";
	loff_t from = 2, to = 0;
	off_t off = 4;
	struct iovec v = {text, 20};

	NEED(file >= 0 && pipe(p) == 0 && pipe(q) == 0 && write(file, "0123456789", 10) == 10);
	copy = open("copied", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(splice(file, &from, p[1], NULL, 5, 0) == 5 && from == 7);
	CHECK(tee(p[0], q[1], 5, 0) == 5);
	CHECK(read(p[0], text, 20) == 5 && !memcmp(text, "23456", 5));
	CHECK(splice(q[0], NULL, copy, &to, 5, SPLICE_F_MOVE) == 5 && to == 5);
	CHECK(pread(copy, text, 20, 0) == 5 && !memcmp(text, "23456", 5));
	CHECK(sendfile(p[1], file, &off, 3) == 3 && off == 7 && read(p[0], text, 20) == 3 && text[0] == '4');
	from = 0, to = 5;
	CHECK(copy_file_range(file, &from, copy, &to, 10, 0) == 10 && from == 10 && to == 15);
	v.iov_len = 6;
	memcpy(text, "gifted", 6);
	CHECK(vmsplice(p[1], &v, 1, 0) == 6);
	v = (struct iovec){text + 30, 20};
	CHECK(vmsplice(p[0], &v, 1, 0) == 6 && !memcmp(text + 30, "gifted", 6) && text[36] == 0);
	CHECK(splice(file, NULL, copy, NULL, 1, 0) == -1 && errno == EINVAL);
	close(file), close(copy), close(p[0]), close(p[1]), close(q[0]), close(q[1]);
	unlink("spliced"), unlink("copied");
	step("splice and its like");
}

int main(void)
{
	test_mmsg();
	test_many_buffers();
	test_truncated();
	test_ip6();
	test_netlink();
	test_unix_names();
	test_splice();
	return check_status();
}
