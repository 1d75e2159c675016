/* SPDX-License-Identifier: MIT */
/* test_thread_list.c: threads at the places that their numbers say. */
#include "../base/test.h"

#include "visibility/thread_list.h"

/* Of a forked process with threads 1 and 4: 2 was its parent's, 3 is nobody's; the parent's 1 comes after. */
static void places(void **state)
{
	struct thread_list l = {0};

	thread_list_add(&l, 2, 1, 200, 30);
	thread_list_add(&l, 2, 4, 201, 31);
	thread_list_add(&l, 1, 1, 100, 1);
	thread_list_add(&l, 1, 2, 101, 5);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.v[0].id, 200);
	assert_int_equal(l.v[1].id, 101);
	assert_int_equal(l.v[2].process, 0);
	assert_int_equal(l.v[3].id, 201);
	assert_int_equal(l.v[4].id, 100);
	assert_ptr_equal(thread_list_find(&l, 1, 100), &l.v[4]);
	assert_ptr_equal(thread_list_find(&l, 1, 200), &l.v[0]);
	assert_ptr_equal(thread_list_find(&l, 1, 7), &l.v[0]); /* in a PID namespace TIDs are others */
	assert_null(thread_list_find(&l, 3, 0));
	thread_list_fini(&l);
}

/* The kernel gave one TID twice. */
static void one_tid_of_two(void **state)
{
	struct thread_list l = {0};

	thread_list_add(&l, 1, 1, 10, 1);
	thread_list_add(&l, 1, 2, 11, 5);
	thread_list_add(&l, 1, 3, 11, 9);
	assert_int_equal(l.v[1].id, 11);
	assert_int_not_equal(l.v[2].id, 11);
	assert_ptr_equal(thread_list_by_id(&l, l.v[2].id), &l.v[2]);
	assert_ptr_equal(thread_list_by_id(&l, 11), &l.v[1]);
	assert_null(thread_list_by_id(&l, 12));
	thread_list_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(one_tid_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
