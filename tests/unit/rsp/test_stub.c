/* SPDX-License-Identifier: MIT */
/* test_stub.c: what the stub answers: a table of packets, and talks of several of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"

/* The answers to these packets, unframed, each after a blank. No acknowledgements. */
static void talk(const char *const *packets, struct buf *text)
{
	struct buf line = {0}, answers = {0}, p = {0};
	struct fake f;
	int served;

	fake_init(&f);
	fake_frame(&line, "QStartNoAckMode", 15);
	for (; *packets; packets++)
		fake_frame(&line, *packets, strlen(*packets));
	fake_talk(&f, line.data, line.len, &answers, &served);
	assert_int_equal(served, 0);
	assert_int_equal(rsp_parse(&answers, &p), RSP_PACKET); /* OK: no more acknowledgements */
	while (rsp_parse(&answers, &p) == RSP_PACKET) {
		buf_add_char(text, ' ');
		buf_add(text, p.data, p.len);
	}
	buf_fini(&line);
	buf_fini(&answers);
	buf_fini(&p);
}

static const struct {
	const char *packets[8]; /* up to a NULL */
	const char *answers;
} talks[] = {
	{{"?"}, " T05thread:10;"},
	{{"vCont;s:11", "?"}, " T05thread:11; T05thread:11;"},
	{{"bs"}, " T05replaylog:begin;thread:10;"},
	{{"bc"}, " T05replaylog:begin;thread:10;"},
	{{"s", "bs", "bs"}, " T05thread:10; T05thread:10; T05replaylog:begin;thread:10;"},
	{{"s", "s", "Hc11", "bs", "bs"}, " T05thread:10; T05thread:10; OK T05thread:11; T05thread:11;"},
	{{"c", "c"}, " T05thread:10; T05replaylog:end;thread:10;"},
	{{"vCont;s:10;c", "vCont;c"}, " T05thread:10; T05replaylog:end;thread:10;"},
	{{"Z0,10008,1", "vCont;c"}, " OK T05swbreak:;thread:11;"},
	{{"Z0,10008,1", "vCont;s:10;c"}, " OK T05swbreak:;thread:11;"},
	{{"Z0,10008,1", "vCont;c:10"}, " OK T05thread:10;"},
	{{"Z0,10008,1", "vCont;s:10", "vCont;s:10", "vCont;c"},
	 " OK T05thread:10; T05thread:10; T05replaylog:end;thread:10;"},
	{{"Z0,10008,1", "vCont;s:10", "vCont;c"}, " OK T05thread:10; T05swbreak:;thread:11;"},
	{{"Z0,10008,1", "vCont;s:10", "qRcmd,6869", "vCont;c"}, " OK T05thread:10; O68690a OK T05thread:10;"},
	{{"Hc10", "Z0,10008,1", "bs", "bs"}, " OK OK T05thread:10; T05replaylog:begin;thread:10;"},
	{{"vCont;s:-1", "vCont;s"}, " T05thread:10; T05thread:10;"},
	{{"vCont;s:77"}, " E.there is no thread 119"},
	{{"vCont", "vCont;", "vCont;x", "vCont;s:"}, " E01 E01 E01 E01"},
	{{"vCont?"}, " vCont;c;C;s;S;r"},
	/* up to 3, and back; an empty range is one step; the next step is one again */
	{{"vCont;r0,3:10", "bs", "bs", "bs", "bs"},
	 " T05thread:10; T05thread:10; T05thread:10; T05thread:10; T05replaylog:begin;thread:10;"},
	{{"vCont;r1,1:10", "bs", "bs"}, " T05thread:10; T05thread:10; T05replaylog:begin;thread:10;"},
	{{"vCont;r0,2:10;c", "s", "bs", "bs", "bs", "bs"},
	 " T05thread:10; T05thread:10; T05thread:10; T05thread:10; T05thread:10; T05replaylog:begin;thread:10;"},
	{{"vCont;r", "vCont;r1:10", "vCont;r3,1:10", "vCont;r1,:10", "vCont;r1,2x"}, " E01 E01 E01 E01 E01"},
	{{"Hg11", "qC", "Hg0", "qC", "Hg-1", "qC"}, " OK QC11 OK QC10 OK QC10"},
	{{"H", "Hg", "Hx10"}, " E01 E01 E01"},
	{{"T10", "T12", "T"}, " OK E01 E01"},
	{{"qfThreadInfo", "qsThreadInfo"}, " m10,11 l"},
	{{"m10000,4", "m1fffe,4", "m0,4", "m10000", "m10000,0"}, " 00010203 feff E01 E01 "},
	{{"M10000,2:abcd", "m10000,2", "M10000,2:ab", "M0,2:abcd", "M10000"}, " OK abcd E01 E.no memory at 0x0 E01"},
	/* a call that fred's own GDB must not make (WHY: "a*b") */
	{{"P7=8000010000000000", "QFred.RefuseCall:612a62", "M10000,2:abcd", "m10000,2", "P0=0000000000000000",
	  "P0=0000000000000000"},
	 " OK OK OK 0001 E.a?b OK"},
	{{"QFred.RefuseCall:61", "vCont;s", "M10000,2:abcd", "m10000,2"}, " OK T05thread:10; OK abcd"},
	/* ... and does not come to: another write, the next call */
	{{"QFred.RefuseCall:61", "M10000,2:abcd", "m10000,2", "P0=0000000000000000"}, " OK OK abcd OK"},
	{{"QFred.RefuseCall:61", "QFred.RefuseCall:", "P0=0000000000000000"}, " OK OK OK"},
	{{"M10000,9:313233343536373839", "qCRC:10000,9", "qCRC:10000,0", "qCRC:1fffe,4", "qCRC:0,1", "qCRC:10000"},
	 " OK C0376e6e7 Cffffffff E01 E01 E01"},
	{{"p10", "pffff", "P10=0500000000000000", "p10", "P10=05", "P10"},
	 " 0000010000000000 E01 OK 0500000000000000 E01 E01"},
	{{"p", "P", "P=00", "G", "Gzz"}, " E01 E01 E01 E01 E01"},
	{{"Z0,10000,1", "z0,10000,1", "Z9,10000,1", "Z0", "Z-1,0,1"}, " OK OK E01 E01 E01"},
	{{"Z0,10000,1;X2,2201;cmds:1,X1,22", "Z0,10000,1;X2,22", "Z0,10000,1;X1,22;X2,zz", "Z0,10000,1;Xfffff,22"},
	 " OK E01 E01 E01"},
	{{"Z3,10000,4", "Z4,10000,10", "Z2,10000,4", "Z2,10000,ffffffff", "z2,10000,ffffffff"}, "  E01 OK E01 E01"},
	{{"qRcmd,6869", "qRcmd,", "qRcmd,zz"},
	 " O68690a OK O0a667265643a206e6f20636f6d6d616e640a OK O0a667265643a206e6f20636f6d6d616e640a OK"},
	{{"qXfer:exec-file:read::0,100", "qXfer:exec-file:read::8,2", "qXfer:exec-file:read::ffff,2"},
	 " l/bin/a}b#c$d*e m#c l"},
	{{"qXfer:nothing:read::0,10", "qXfer:", "qXfer:exec-file:read::", "qXfer:exec-file:write::0,1"}, "    "},
	{{"vFile:open:2f66696c65,0,0", "vFile:pread:0,4,5", "vFile:close:0", "vFile:close:0"}, " F0 F4;text F0 F-1,9"},
	{{"vFile:open:2f66696c65,1,0", "vFile:open:2f6e6f,0,0", "vFile:pread:99,1,0", "vFile:pwrite:0,0,a", "vFile:x"},
	 " F-1,1e F-1,2 F-1,9 F-1,1e "},
	{{"QPassSignals:e;14;1e", "QPassSignals:", "QPassSignals:zz", "QPassSignals:e,14"}, " OK OK E01 E01"},
	{{"vNonsense", "", "qNonsense", "qCRC", "QProgramSignals:e"}, "     "},
	{{"!", "k", "?", "vRun;", "?"}, " OK W00 T05thread:10; T05thread:10;"},
	{{"!", "vKill;1", "?"}, " OK OK W00"},
	{{"D", "?"}, " OK"},
	{{"k", "?"}, ""},
};

static void test_talks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(talks) / sizeof(talks[0]); i++) {
		struct buf text = {0};

		talk(talks[i].packets, &text);
		assert_string_equal(buf_str(&text), talks[i].answers);
		buf_fini(&text);
	}
}

/* GDB may send it in front of what it is to interrupt. At its next prompt it is over. */
static void test_early_interrupts(void **state)
{
	static const char *const packets[] = {"QStartNoAckMode", "\3", "Z0,10000,1", "c", "bc", "\3",
					      "qRcmd,6869",	 "c",  NULL};
	struct buf line = {0}, answers = {0}, p = {0}, text = {0};
	struct fake f;
	int served;

	(void)state;
	fake_init(&f);
	for (const char *const *w = packets; *w; w++)
		**w == '\3' ? buf_add_str(&line, *w) : fake_frame(&line, *w, strlen(*w));
	fake_talk(&f, line.data, line.len, &answers, &served);
	while (rsp_parse(&answers, &p) == RSP_PACKET)
		buf_addf(&text, " %s", buf_str(&p));
	assert_string_equal(buf_str(&text),
			    " OK OK T02thread:10; T05replaylog:begin;thread:10; O68690a OK T05thread:10;");
	buf_fini(&line);
	buf_fini(&answers);
	buf_fini(&p);
	buf_fini(&text);
}

static void test_passed_signals(void **state)
{
	static const char *const packets[] = {"QPassSignals:1;2", "QPassSignals:e;14;1e"};
	struct buf line = {0}, answers = {0};
	struct fake f;
	int served;

	(void)state;
	fake_init(&f);
	for (unsigned i = 0; i < 2; i++)
		fake_frame(&line, packets[i], strlen(packets[i]));
	fake_talk(&f, line.data, line.len, &answers, &served);
	assert_int_equal(f.passed, 3);
	buf_fini(&line);
	buf_fini(&answers);
}

/* All registers of one thread, and the same again. */
static void test_all_registers(void **state)
{
	struct buf line = {0}, answers = {0}, p = {0}, set = {0};
	struct fake f;
	int served;

	(void)state;
	fake_init(&f);
	f.regs.r.rax = 0x1122334455667788;
	fake_frame(&line, "g", 1);
	fake_talk(&f, line.data, line.len, &answers, &served);
	assert_int_equal(rsp_parse(&answers, &p), RSP_PACKET);
	assert_memory_equal(p.data, "8877665544332211", 16);
	buf_addf(&set, "G%s", buf_str(&p));
	memset(&f.regs, 0, sizeof(f.regs));
	buf_clear(&line);
	fake_frame(&line, set.data, set.len);
	buf_clear(&answers);
	fake_talk(&f, line.data, line.len, &answers, &served);
	assert_int_equal(rsp_parse(&answers, &p), RSP_PACKET);
	assert_string_equal(buf_str(&p), "OK");
	assert_true(f.regs.r.rax == 0x1122334455667788);
	buf_fini(&line);
	buf_fini(&answers);
	buf_fini(&p);
	buf_fini(&set);
}

/* The description names as many registers as `g` has, and escapes what XML must have escaped. */
static void test_descriptions(void **state)
{
	static const char *const features[] = {"qXfer:features:read:target.xml:0,fff0", NULL};
	static const char *const names[] = {"qXfer:threads:read::0,fff0", NULL};
	struct buf text = {0};
	unsigned n = 0;

	(void)state;
	talk(features, &text);
	for (const char *p = buf_str(&text); (p = strstr(p, "<reg ")); p++)
		n++;
	assert_int_equal(n, rsp_regs_count());
	buf_clear(&text);
	talk(names, &text);
	assert_non_null(strstr(buf_str(&text), "a&#60;b&#62;&#38;&#34;c&#34;&#9;"));
	buf_fini(&text);
}

static void test_acknowledged(void **state)
{
	static const char line[] = "$?#3f$?#00+$?#3f";
	struct buf answers = {0};
	struct fake f;
	int served;

	(void)state;
	fake_init(&f);
	fake_talk(&f, line, strlen(line), &answers, &served);
	assert_string_equal(buf_str(&answers), "+$T05thread:10;#07-+$T05thread:10;#07");
	buf_fini(&answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_talks),	       cmocka_unit_test(test_early_interrupts),
		cmocka_unit_test(test_passed_signals), cmocka_unit_test(test_all_registers),
		cmocka_unit_test(test_descriptions),   cmocka_unit_test(test_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
