/* SPDX-License-Identifier: MIT */
/* ipc.c: System V message queues and semaphores, POSIX message queues. CFLAGS: -lrt */
#include "check.h"

#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

struct text {
	long type;
	char bytes[64];
};

static void test_msg(void)
{
	int q = msgget(IPC_PRIVATE, IPC_CREAT | 0600), status;
	struct text m = {3, "third"}, got;
	struct msqid_ds ds;
	struct msginfo info;
	pid_t pid;

	NEED(q >= 0);
	CHECK(msgsnd(q, &m, 6, 0) == 0);
	m.type = 1, strcpy(m.bytes, "first");
	CHECK(msgsnd(q, &m, 6, 0) == 0);
	CHECK(msgctl(q, IPC_STAT, &ds) == 0 && ds.msg_qnum == 2 && ds.msg_lspid == getpid());
	CHECK(msgctl(0, IPC_INFO, (struct msqid_ds *)&info) >= 0 && info.msgmni > 0);
	memset(&got, 'x', sizeof(got));
	CHECK(msgrcv(q, &got, sizeof(got.bytes), 1, 0) == 6 && got.type == 1 && !strcmp(got.bytes, "first"));
	CHECK(got.bytes[6] == 'x');
	CHECK(msgrcv(q, &got, 2, 0, 0) == -1 && errno == E2BIG);
	CHECK(msgrcv(q, &got, 2, 0, MSG_NOERROR) == 2 && got.type == 3 && !memcmp(got.bytes, "th", 2));
	CHECK(msgrcv(q, &got, 64, 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		for (int i = 1; i <= 20; i++) {
			m.type = i;
			snprintf(m.bytes, sizeof(m.bytes), "message %d", i);
			if (msgsnd(q, &m, sizeof(m.bytes), 0))
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 1; i <= 20; i++)
		CHECK(msgrcv(q, &got, sizeof(got.bytes), i, 0) == 64 && atoi(got.bytes + 8) == i);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(msgctl(q, IPC_RMID, NULL) == 0 && msgsnd(q, &m, 1, 0) == -1 && errno == EINVAL);
	step("System V messages");
}

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
	struct seminfo *info;
};

static void test_sem(void)
{
	int id = semget(IPC_PRIVATE, 3, IPC_CREAT | 0600), status;
	unsigned short values[3] = {1, 2, 3}, got[3] = {0};
	struct sembuf take[2] = {{0, -1, 0}, {2, -3, 0}}, give = {1, 4, SEM_UNDO}, zero = {0, 0, IPC_NOWAIT};
	struct timespec soon = {0, 2000000};
	struct semid_ds ds;
	union semun arg = {.array = values};
	pid_t pid;

	NEED(id >= 0 && semctl(id, 0, SETALL, arg) == 0);
	arg.array = got;
	CHECK(semctl(id, 0, GETALL, arg) == 0 && got[0] == 1 && got[1] == 2 && got[2] == 3);
	arg.buf = &ds;
	CHECK(semctl(id, 0, IPC_STAT, arg) == 0 && ds.sem_nsems == 3);
	CHECK(semop(id, take, 2) == 0 && semctl(id, 0, GETVAL) == 0 && semctl(id, 2, GETVAL) == 0);
	CHECK(semop(id, &zero, 1) == 0);
	CHECK(semtimedop(id, take, 1, &soon) == -1 && errno == EAGAIN);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0)
		_exit(semop(id, &give, 1) == 0 && semctl(id, 1, GETVAL) == 6 ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(semctl(id, 1, GETVAL) == 2 && semctl(id, 1, GETPID) == pid);
	pid = fork();
	if (pid == 0) {
		take[0].sem_op = 1;
		_exit(semop(id, take, 1));
	}
	CHECK(semop(id, &(struct sembuf){0, -1, 0}, 1) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(semctl(id, 0, IPC_RMID) == 0 && semop(id, &give, 1) == -1 && errno == EINVAL);
	step("System V semaphores");
}

static void on_mq(int sig)
{
	(void)sig;
}

static sem_t told;

static void on_message(union sigval v)
{
	(void)v;
	CHECK(sem_post(&told) == 0);
}

static void test_mq(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 32}, got;
	struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct timespec past = {1, 0};
	char name[40], text[32];
	unsigned prio = 0;
	mqd_t q;

	snprintf(name, sizeof(name), "/fred-test-%d", (int)getpid());
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	NEED(q >= 0);
	signal(SIGUSR1, on_mq);
	CHECK(mq_notify(q, &tell) == 0 && mq_send(q, "low", 4, 1) == 0 && mq_send(q, "high", 5, 9) == 0);
	CHECK(mq_getattr(q, &got) == 0 && got.mq_curmsgs == 2 && got.mq_maxmsg == 4);
	CHECK(mq_receive(q, text, sizeof(text), &prio) == 5 && prio == 9 && !strcmp(text, "high"));
	CHECK(mq_timedreceive(q, text, sizeof(text), NULL, &past) == 4 && !strcmp(text, "low"));
	CHECK(mq_timedreceive(q, text, sizeof(text), &prio, &past) == -1 && errno == ETIMEDOUT);
	CHECK(mq_receive(q, text, 3, NULL) == -1 && errno == EMSGSIZE);
	got.mq_flags = O_NONBLOCK;
	CHECK(mq_setattr(q, &got, &attr) == 0 && mq_receive(q, text, 32, NULL) == -1 && errno == EAGAIN);
	attr.mq_flags = 0;
	tell = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_message};
	CHECK(mq_setattr(q, &attr, NULL) == 0 && sem_init(&told, 0, 0) == 0 && mq_notify(q, &tell) == 0);
	CHECK(mq_send(q, "thread", 7, 0) == 0 && sem_wait(&told) == 0);
	CHECK(mq_receive(q, text, 32, NULL) == 7 && !strcmp(text, "thread"));
	CHECK(mq_close(q) == 0 && mq_unlink(name) == 0 && mq_open(name, O_RDWR) == -1 && errno == ENOENT);
	step("POSIX messages");
}

int main(void)
{
	test_msg();
	test_sem();
	test_mq();
	return check_status();
}
