/* SPDX-License-Identifier: MIT */
/* altered.c: see altered.h. */
#include "expr/altered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/*
 * The block of the function whose own code is at an address: blocks in a function, and those of functions that were
 * inlined into it, may begin where it begins.
 */
#define FUNCTION_AT                                                                                                    \
	"def fred_function_at(pc):\\n"                                                                                 \
	"  b, outer = gdb.block_for_pc(pc), None\\n"                                                                   \
	"  while b and not b.is_static and not b.is_global and b.start <= pc < b.end:\\n"                              \
	"    if b.function: outer = b\\n"                                                                              \
	"    b = b.superblock\\n"                                                                                      \
	"  return outer\\n"

/*
 * Prints the first argument of a static function that comes in another register than it should. What is in no register
 * at the entry, as without optimisation, says nothing; what has been optimised out would have had its register.
 * `info scope` tells of the innermost function at an address, so it is asked at one that no inlined function has.
 */
static const char script[] = "python exec(\"" FUNCTION_AT "import re\\n"
			     "def fred_innermost(pc):\\n"
			     "  b = gdb.block_for_pc(pc)\\n"
			     "  while b and not b.function: b = b.superblock\\n"
			     "  return b and (b.start, b.end, b.function.name)\\n"
			     "entry = %" PRIu64 "\\n"
			     "b = fred_function_at(entry)\\n"
			     "f = b.function if b else None\\n"
			     "own = f and any(s.name == f.name for s in f.symtab.static_block())\\n"
			     "t = f.type.target().strip_typedefs().code if own else 0\\n"
			     "if own and t not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):\\n"
			     " whole = (b.start, b.end, f.name)\\n"
			     " pcs = range(entry, min(b.end, entry + 65536))\\n"
			     " at = next((pc for pc in pcs if fred_innermost(pc) == whole), None)\\n"
			     " text = gdb.execute('info scope *{}'.format(at), to_string=True) if at else ''\\n"
			     " where = dict(re.findall(r'(?ms)^Symbol (\\\\S+) is (.*?)(?=^Symbol |\\\\Z)', text))\\n"
			     " left = ['rdi', 'rsi', 'rdx', 'rcx', 'r8', 'r9']\\n"
			     " for s in b:\\n"
			     "  if not s.is_argument or not left: continue\\n"
			     "  if not at:\\n"
			     "   print('all its code is of functions that were inlined into it')\\n"
			     "   break\\n"
			     "  w = where.get(s.name, '')\\n"
			     "  in_reg = re.match(r'(?:multi-location:\\\\s*(?:Base address \\\\S+\\\\s+)?Range "
			     "0x%" PRIx64 "-\\\\S+ )?a variable in .(r\\\\w+)', w)\\n"
			     "  gone = w.startswith(('optimized out', 'a constant'))\\n"
			     "  if in_reg and in_reg.group(1) != left[0]:\\n"
			     "   print(s.name, 'comes in', in_reg.group(1))\\n"
			     "   break\\n"
			     "  if in_reg or gone: left.pop(0)\\n"
			     "\")";

/*
 * Prints the entries of the functions that a name can mean, with any scope in front of it; where one of them was
 * inlined into another function, there is nothing to call.
 */
static const char named[] = "python exec(\"" FUNCTION_AT "import re\\n"
			    "def fred_is_named(b, name):\\n"
			    "  n = '::' + b.function.print_name + '('\\n"
			    "  return any('::' + name + '(' in x for x in (n, re.sub('<.*>', '', n)))\\n"
			    "for pc in set(sal.pc for sal in gdb.decode_line('%s')[1] or ()):\\n"
			    "  b = fred_function_at(pc)\\n"
			    "  if b and fred_is_named(b, '%s'): print(int(b.function.value().address))\\n"
			    "\")";

/* "list_len.constprop.0.isra in section .text", "Stack::size() const [clone .isra.0] in section ...". */
static bool is_clone(const char *symbol)
{
	static const char *const suffixes[] = {".isra", ".constprop", ".part"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		for (const char *p = symbol; (p = strstr(p, suffixes[i])); p++)
			if (strchr(". ]", p[strlen(suffixes[i])]))
				return true;
	return false;
}

static int ask(struct gdb *g, const struct expr_place *at, const char *cmd, char **out, struct err *e)
{
	if (!gdb_console_at(g, at->tid, at->frame, 0, cmd, out, e))
		return 0;
	return gdb_dead(g) ? -1 : 1;
}

int expr_altered(struct gdb *g, const struct expr_place *at, uint64_t address, char **how, struct err *e)
{
	cleanup_free char *cmd = str_fmt("info symbol 0x%" PRIx64, address), *symbol = NULL, *args = NULL;
	cleanup_free char *look = str_fmt(script, address, address);
	int r = ask(g, at, cmd, &symbol, e);

	*how = NULL;
	if (r)
		return r;
	if (is_clone(symbol)) {
		const char *end = strstr(symbol, " in section");

		*how = xstrndup(symbol, end ? (size_t)(end - symbol) : strcspn(symbol, "\n"));
		return 0;
	}
	r = ask(g, at, look, &args, e);
	if (!r && args[strcspn(args, "\n")])
		*how = xstrndup(args, strcspn(args, "\n"));
	return r;
}

const char *expr_last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		depth += (*p == '<') - (*p == '>');
		if (!depth && str_starts(p, "::"))
			last = p + 2;
	}
	return last;
}

int expr_altered_named(struct gdb *g, const struct expr_place *at, const char *name, char **how, struct err *e)
{
	cleanup_free char *look = str_fmt(named, name, expr_last_part(name)), *entries = NULL;
	cleanup_strv struct strv v = {0};
	int r = ask(g, at, look, &entries, e);

	*how = NULL;
	if (r)
		return r;
	strv_split(&v, entries, "\n");
	for (size_t i = 0; i < v.n && r >= 0 && !*how; i++)
		r = expr_altered(g, at, strtoull(v.s[i], NULL, 10), how, e);
	return r < 0 ? -1 : 0;
}
