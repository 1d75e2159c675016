/* SPDX-License-Identifier: MIT */
/*
 * deques.cc: deques, their ends, and iterators of them.
 *
 * LEVELS: -O0
 * EXPR: dq.back() < 11
 * AS: dq._M_impl._M_finish._M_cur[-1] < 11
 * EXPR: dq.front() < 4
 * AS: *dq._M_impl._M_start._M_cur < 4
 * EXPR: dq.end() - dq.begin() < 7
 * AS: dq._M_impl._M_finish._M_cur - dq._M_impl._M_start._M_cur < 7
 * EXPR: *at != 6
 * AS: *at._M_cur != 6
 * EXPR: st.top() < 20
 * AS: st.c._M_impl._M_finish._M_cur[-1] < 20
 */
#include <deque>
#include <stack>
#include <unistd.h>

volatile int pass;
std::deque<int> dq;
std::stack<int> st;
std::deque<int>::iterator at;

static void step(int i)
{
	dq.push_back(i);
	st.push(2 * i);
	if (i % 3 == 2)
		dq.pop_front();
	if (i % 5 == 4)
		st.pop();
	at = dq.begin();
	if (dq.size() > 2)
		at += 2;
}

int main()
{
	for (int i = 0; i < 16; i++) {
		pass = i;
		step(i);
		if (i % 4 == 0)
			getppid();
	}
	at = dq.begin();
	while (*at != 6)
		*at++ = 6;
	getppid();
	_exit(1);
}
