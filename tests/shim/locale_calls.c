/* SPDX-License-Identifier: MIT */
/* locale_calls.c: locales, dates in time zones, character sets, and the databases of names. */
#include "check.h"

#include <grp.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <time.h>
#include <wchar.h>

static void test_locale(void)
{
	wchar_t wide[10];

	CHECK(setlocale(LC_ALL, "") != NULL);
	CHECK(setlocale(LC_ALL, "no_SUCH.locale") == NULL);
	CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL);
	CHECK(!strcmp(nl_langinfo(CODESET), "UTF-8"));
	CHECK(mbstowcs(wide, "h\xc3\xa9", 10) == 2 && wide[1] == 0xe9);
	CHECK(!strcmp(localeconv()->decimal_point, "."));
	step("locale");
}

static void format(const char *zone, time_t t, const char *want)
{
	char text[64];
	struct tm tm;

	setenv("TZ", zone, 1);
	tzset();
	CHECK(localtime_r(&t, &tm) == &tm);
	CHECK(strftime(text, sizeof(text), "%a %F %T %z", &tm) > 0);
	CHECK(!strcmp(text, want));
	printf("%s: %s\n", zone, text);
	CHECK(mktime(&tm) == t);
}

static void test_zones(void)
{
	struct tm tm = {0};

	format("UTC0", 1000000000, "Sun 2001-09-09 01:46:40 +0000");
	format("CET-1CEST,M3.5.0,M10.5.0/3", 1000000000, "Sun 2001-09-09 03:46:40 +0200");
	format("CET-1CEST,M3.5.0,M10.5.0/3", 1700000000, "Tue 2023-11-14 23:13:20 +0100");
	CHECK(strptime("2020-02-29 12:34:56", "%Y-%m-%d %H:%M:%S", &tm) && tm.tm_mday == 29);
	CHECK(timegm(&tm) == 1582979696);
	step("zones");
}

static void test_iconv(void)
{
	char in[] = "gr\xc3\xbc\xc3\x9f", out[32] = "", *from = in, *to = out;
	size_t left = strlen(in), room = sizeof(out);
	iconv_t cd = iconv_open("ISO-8859-1", "UTF-8"); /* loads a module */

	NEED(cd != (iconv_t)-1);
	CHECK(iconv(cd, &from, &left, &to, &room) == 0 && left == 0);
	CHECK(!strcmp(out, "gr\xfc\xdf"));
	CHECK(iconv_close(cd) == 0);
	CHECK(iconv_open("NO-SUCH-SET", "UTF-8") == (iconv_t)-1);
	step("iconv");
}

static void test_databases(void)
{
	struct passwd *pw = getpwuid(0), pwd;
	struct servent *se;
	char buf[4096];

	CHECK(pw && !strcmp(pw->pw_name, "root"));
	CHECK(getpwnam_r("root", &pwd, buf, sizeof(buf), &pw) == 0 && pw && pw->pw_uid == 0);
	CHECK(getpwnam("no-such-user") == NULL);
	CHECK(getgrgid(0) && !strcmp(getgrgid(0)->gr_name, "root"));
	se = getservbyname("domain", "udp");
	printf("%d users' groups, domain is %d\n", getgrnam("root") != NULL, se ? ntohs(se->s_port) : 0);
	step("databases");
}

int main(void)
{
	test_locale();
	test_zones();
	test_iconv();
	test_databases();
	return check_status();
}
