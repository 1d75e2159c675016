/* SPDX-License-Identifier: MIT */
/* altered.c: see altered.h. */
#include "expr/altered.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/*
 * Prints the first argument of a static function that comes in another register than it should. What is in no register
 * at the entry, as without optimisation, says nothing; what has been optimised out would have had its register.
 */
static const char script[] = "python exec(\""
			     "import re\\n"
			     "b = gdb.block_for_pc(%" PRIu64 ")\\n"
			     "f = b.function if b else None\\n"
			     "own = f and any(s.name == f.name for s in f.symtab.static_block())\\n"
			     "t = f.type.target().strip_typedefs().code if own else 0\\n"
			     "if own and t not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):\\n"
			     " text = gdb.execute('info scope *%" PRIu64 "', to_string=True)\\n"
			     " where = dict(re.findall(r'(?ms)^Symbol (\\\\S+) is (.*?)(?=^Symbol |\\\\Z)', text))\\n"
			     " left = ['rdi', 'rsi', 'rdx', 'rcx', 'r8', 'r9']\\n"
			     " for s in b:\\n"
			     "  if not s.is_argument or not left: continue\\n"
			     "  w = where.get(s.name, '')\\n"
			     "  in_reg = re.match(r'(?:multi-location:\\\\s*(?:Base address \\\\S+\\\\s+)?Range "
			     "0x%" PRIx64 "-\\\\S+ )?a variable in .(r\\\\w+)', w)\\n"
			     "  gone = w.startswith(('optimized out', 'a constant'))\\n"
			     "  if in_reg and in_reg.group(1) != left[0]:\\n"
			     "   print(s.name, 'comes in', in_reg.group(1))\\n"
			     "   break\\n"
			     "  if in_reg or gone: left.pop(0)\\n"
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
	cleanup_free char *look = str_fmt(script, address, address, address);
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
