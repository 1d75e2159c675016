/* SPDX-License-Identifier: MIT */
/*
 * libc_nss.c: user, group, host and service databases, the resolver, syslog.
 */
#include "record/core/state.h"
#include "record/shm/group_page.h"
#include "record/sync/lib.h"

#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdarg.h>

/* ---- users and groups ---- */

LIB_CALL(LIB_NSS, struct passwd *, getpwnam, (const char *name), (name))
LIB_CALL(LIB_NSS, struct passwd *, getpwuid, (uid_t id), (id))
LIB_CALL(LIB_NSS, int, getpwnam_r, (const char *name, struct passwd *e, char *buf, size_t n, struct passwd **out),
	 (name, e, buf, n, out))
LIB_CALL(LIB_NSS, int, getpwuid_r, (uid_t id, struct passwd *e, char *buf, size_t n, struct passwd **out),
	 (id, e, buf, n, out))
LIB_CALL(LIB_NSS, struct passwd *, getpwent, (void), ())
LIB_CALL(LIB_NSS, int, getpwent_r, (struct passwd * e, char *buf, size_t n, struct passwd **out), (e, buf, n, out))
LIB_VOID(LIB_NSS, setpwent, (void), ())
LIB_VOID(LIB_NSS, endpwent, (void), ())
LIB_CALL(LIB_NSS, struct group *, getgrnam, (const char *name), (name))
LIB_CALL(LIB_NSS, struct group *, getgrgid, (gid_t id), (id))
LIB_CALL(LIB_NSS, int, getgrnam_r, (const char *name, struct group *e, char *buf, size_t n, struct group **out),
	 (name, e, buf, n, out))
LIB_CALL(LIB_NSS, int, getgrgid_r, (gid_t id, struct group *e, char *buf, size_t n, struct group **out),
	 (id, e, buf, n, out))
LIB_CALL(LIB_NSS, struct group *, getgrent, (void), ())
LIB_CALL(LIB_NSS, int, getgrent_r, (struct group * e, char *buf, size_t n, struct group **out), (e, buf, n, out))
LIB_VOID(LIB_NSS, setgrent, (void), ())
LIB_VOID(LIB_NSS, endgrent, (void), ())
LIB_CALL(LIB_NSS, int, getgrouplist, (const char *user, gid_t group, gid_t *groups, int *n), (user, group, groups, n))
LIB_CALL(LIB_NSS, char *, getlogin, (void), ())
LIB_CALL(LIB_NSS, int, getlogin_r, (char *buf, size_t n), (buf, n))

/* ---- hosts, services, protocols ---- */

LIB_CALL(LIB_NSS, int, getaddrinfo,
	 (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out),
	 (host, service, hints, out))
LIB_CALL(LIB_NSS, int, getnameinfo,
	 (const struct sockaddr *sa, socklen_t len, char *host, socklen_t hostlen, char *serv, socklen_t servlen,
	  int flags),
	 (sa, len, host, hostlen, serv, servlen, flags))
LIB_CALL(LIB_NSS, struct hostent *, gethostbyname, (const char *name), (name))
LIB_CALL(LIB_NSS, struct hostent *, gethostbyname2, (const char *name, int af), (name, af))
LIB_CALL(LIB_NSS, struct hostent *, gethostbyaddr, (const void *addr, socklen_t len, int af), (addr, len, af))
LIB_CALL(LIB_NSS, int, gethostbyname_r,
	 (const char *name, struct hostent *e, char *buf, size_t n, struct hostent **out, int *err),
	 (name, e, buf, n, out, err))
LIB_CALL(LIB_NSS, int, gethostbyname2_r,
	 (const char *name, int af, struct hostent *e, char *buf, size_t n, struct hostent **out, int *err),
	 (name, af, e, buf, n, out, err))
LIB_CALL(LIB_NSS, int, gethostbyaddr_r,
	 (const void *addr, socklen_t len, int af, struct hostent *e, char *buf, size_t n, struct hostent **out,
	  int *err),
	 (addr, len, af, e, buf, n, out, err))
LIB_CALL(LIB_NSS, struct servent *, getservbyname, (const char *name, const char *proto), (name, proto))
LIB_CALL(LIB_NSS, struct servent *, getservbyport, (int number, const char *proto), (number, proto))
LIB_CALL(LIB_NSS, int, getservbyname_r,
	 (const char *name, const char *proto, struct servent *e, char *buf, size_t n, struct servent **out),
	 (name, proto, e, buf, n, out))
LIB_CALL(LIB_NSS, int, getservbyport_r,
	 (int number, const char *proto, struct servent *e, char *buf, size_t n, struct servent **out),
	 (number, proto, e, buf, n, out))
LIB_CALL(LIB_NSS, struct servent *, getservent, (void), ())
LIB_VOID(LIB_NSS, setservent, (int stay), (stay))
LIB_VOID(LIB_NSS, endservent, (void), ())
LIB_CALL(LIB_NSS, struct protoent *, getprotobyname, (const char *name), (name))
LIB_CALL(LIB_NSS, struct protoent *, getprotobynumber, (int number), (number))
LIB_CALL(LIB_NSS, int, getprotobyname_r,
	 (const char *name, struct protoent *e, char *buf, size_t n, struct protoent **out), (name, e, buf, n, out))
LIB_CALL(LIB_NSS, int, getprotobynumber_r, (int number, struct protoent *e, char *buf, size_t n, struct protoent **out),
	 (number, e, buf, n, out))
LIB_CALL(LIB_NSS, struct protoent *, getprotoent, (void), ())
LIB_VOID(LIB_NSS, setprotoent, (int stay), (stay))
LIB_VOID(LIB_NSS, endprotoent, (void), ())

/* ---- syslog ---- */

LIB_VOID(LIB_SYSLOG, vsyslog, (int priority, const char *fmt, va_list ap), (priority, fmt, ap))
LIB_VOID(LIB_SYSLOG, __vsyslog_chk, (int priority, int flag, const char *fmt, va_list ap), (priority, flag, fmt, ap))

LIBC(void, syslog, (int priority, const char *fmt, ...))
{
	va_list ap;

	va_start(ap, fmt);
	w_vsyslog(priority, fmt, ap);
	va_end(ap);
}

LIBC(void, __syslog_chk, (int priority, int flag, const char *fmt, ...))
{
	va_list ap;

	va_start(ap, fmt);
	w___vsyslog_chk(priority, flag, fmt, ap);
	va_end(ap);
}

LIB_VOID(LIB_SYSLOG, openlog, (const char *ident, int option, int facility), (ident, option, facility))
LIB_VOID(LIB_SYSLOG, closelog, (void), ())
LIB_CALL(LIB_SYSLOG, int, setlogmask, (int mask), (mask))
