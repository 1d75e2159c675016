/* SPDX-License-Identifier: MIT */
/* sockets.c: loopback TCP and UDP, unix sockets, messages with descriptors, names and addresses. */
#include "check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static int listener;

static void *serve(void *arg)
{
	for (int i = 0; i < 5; i++) {
		char buf[4096];
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(listener, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);
		long n;

		NEED(fd >= 0);
		CHECK(peer.sin_family == AF_INET);
		while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
			for (long k = 0; k < n; k++)
				buf[k] ^= 0x20;
			CHECK(send(fd, buf, (size_t)n, MSG_NOSIGNAL) == n);
		}
		close(fd);
	}
	return arg;
}

static void talk(const struct sockaddr_in *addr)
{
	char buf[2000], back[2000];
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	size_t got = 0;

	NEED(fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0);
	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
	memset(buf, 'a', sizeof(buf));
	CHECK(send(fd, buf, sizeof(buf), 0) == sizeof(buf));
	while (got < sizeof(back)) {
		long n = recv(fd, back + got, sizeof(back) - got, 0);

		NEED(n > 0);
		got += (size_t)n;
	}
	CHECK(back[0] == 'A' && back[1999] == 'A');
	CHECK(shutdown(fd, SHUT_WR) == 0 && recv(fd, back, 1, 0) == 0);
	close(fd);
}

static void test_tcp(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int type = 0;
	pthread_t t;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	NEED(listener >= 0 && bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	NEED(listen(listener, 5) == 0 && getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
	len = sizeof(type);
	CHECK(getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM);
	NEED(pthread_create(&t, NULL, serve, NULL) == 0);
	for (int i = 0; i < 5; i++)
		talk(&addr);
	pthread_join(t, NULL);
	close(listener);
	step("TCP");
}

static void test_udp(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(addr);
	char buf[100] = "datagram";

	NEED(a >= 0 && b >= 0 && bind(a, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	CHECK(getsockname(a, (struct sockaddr *)&addr, &len) == 0);
	for (int i = 1; i <= 50; i++)
		CHECK(sendto(b, buf, (size_t)i, 0, (struct sockaddr *)&addr, sizeof(addr)) == i);
	for (int i = 1; i <= 50; i++) {
		len = sizeof(from);
		CHECK(recvfrom(a, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len) == i);
	}
	CHECK(recv(a, buf, sizeof(buf), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	close(a), close(b);
	step("UDP");
}

static void send_fd(int via, int fd)
{
	char byte = 'f', room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(via, &msg, 0) == 1);
}

static int receive_fd(int via)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	int fd = -1;

	CHECK(recvmsg(via, &msg, 0) == 1 && byte == 'f');
	c = CMSG_FIRSTHDR(&msg);
	NEED(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void test_unix(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int pair[2], ends[2], fd;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	char text[20] = "";

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	CHECK(write(pair[0], "across", 6) == 6 && read(pair[1], text, 20) == 6);
	CHECK(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.pid == getpid());
	send_fd(pair[0], ends[1]);
	fd = receive_fd(pair[1]);
	CHECK(fd >= 0 && write(fd, "passed", 6) == 6 && read(ends[0], text, 20) == 6);
	CHECK(!strcmp(text, "passed"));
	close(pair[0]), close(pair[1]), close(ends[0]), close(ends[1]), close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1 && errno == ENOENT);
	CHECK(bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(fd, 1) == 0);
	CHECK(unlink("socket") == 0);
	close(fd);
	step("unix sockets");
}

static void test_names(void)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *list;
	char text[INET6_ADDRSTRLEN], host[256];

	CHECK(getaddrinfo("127.0.0.1", "80", &hints, &list) == 0);
	CHECK(((struct sockaddr_in *)list->ai_addr)->sin_port == htons(80));
	CHECK(getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0);
	CHECK(!strcmp(text, "127.0.0.1"));
	freeaddrinfo(list);
	CHECK(getaddrinfo("not numeric", NULL, &hints, &list) == EAI_NONAME);
	hints.ai_flags = 0;
	hints.ai_family = AF_INET;
	CHECK(getaddrinfo("localhost", NULL, &hints, &list) == 0);
	CHECK(((struct sockaddr_in *)list->ai_addr)->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	freeaddrinfo(list);
	CHECK(gethostname(host, sizeof(host)) == 0 && host[0]);
	step("names");
}

int main(void)
{
	test_tcp();
	test_udp();
	test_unix();
	test_names();
	return check_status();
}
