/* SPDX-License-Identifier: MIT */
/*
 * guards.cc: C++: threads that come to a function's static variable while another one initializes it, which computes, waits for a
 * lock, needs a second variable, or throws the first times.
 * CFLAGS: -std=c++17
 */
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <stdexcept>

static int failed;

#define CHECK(cond) (void)((cond) || (failed = 1, std::fprintf(stderr, "guards.cc:%d: failed: %s\n", __LINE__, #cond)))
#define THREADS 4
#define EACH 40

static pthread_barrier_t together;
static std::mutex lock;
static long made, tries;

static long computed(long x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005l + 1;
	return x;
}

struct Computes {
	long v;
	explicit Computes(int n) : v(computed(n)) {}
};

struct Locks {
	long v;
	explicit Locks(int n)
	{
		std::lock_guard<std::mutex> hold(lock);
		v = computed(n) + ++made;
	}
};

template <int N> static long plain()
{
	static Computes it(N);
	return it.v;
}

template <int N> static long locking()
{
	static Locks it(N);
	return it.v + plain<N>();
}

template <int N> struct Needs {
	long v;
	Needs() : v(locking<N>() * 3) {}
};

template <int N> static long nested()
{
	static Needs<N> it;
	return it.v;
}

template <int N> struct Throws {
	long v;
	Throws()
	{
		std::lock_guard<std::mutex> hold(lock);
		if (++tries % 3)
			throw std::runtime_error("not yet");
		v = tries;
	}
};

template <int N> static long throwing()
{
	for (;;) {
		try {
			static Throws<N> it;
			return it.v;
		} catch (const std::runtime_error &) {
		}
	}
}

template <int N> static long all()
{
	if constexpr (N == 0) {
		return 0;
	} else {
		pthread_barrier_wait(&together);
		return nested<N>() + plain<N>() + (N % 4 ? 0 : throwing<N>()) + all<N - 1>();
	}
}

static void *work(void *arg)
{
	*(long *)arg = all<EACH>();
	return nullptr;
}

int main()
{
	pthread_t t[THREADS];
	long sum[THREADS];

	CHECK(pthread_barrier_init(&together, nullptr, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], nullptr, work, &sum[i]) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(t[i], nullptr) == 0);
		CHECK(sum[i] == sum[0]);
	}
	CHECK(made == EACH && tries == 3 * (EACH / 4));
	std::puts(failed ? "not ok guards" : "ok guards");
	return failed;
}
