/* SPDX-License-Identifier: MIT */
/*
 * resolve.c: implements rewrite.h with GDB's answers about the names in an expression, in the scope of a thread's
 * frame.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/rewrite.h"
#include "expr/type.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct resolver {
	struct gdb *g;
	pid_t tid;
	int frame;
	const char *at; /* the scope in which the result is compiled */
	struct expr_locals *locals;
	struct err *e;
	bool pointer; /* resolve_value: one of the variables was a pointer */
	bool scoped; /* resolve_absolute: a name had to stay, which has its meaning only in this frame */
};

/* What GDB prints for a console command, without "type = " and the line end; NULL: GDB refused. */
static char *ask(const struct resolver *p, const char *command, const char *operand)
{
	cleanup_free char *cmd = str_fmt("%s%s", command, operand), *text = NULL;
	struct err ignored;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &ignored))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return xstrdup(str_starts(text, "type = ") ? text + 7 : text);
}

/* Enumerations and truth values need a cast; GDB 13's "!" does not take a bool. */
static bool ask_cast(void *ctx, const char *operand)
{
	cleanup_free char *type = ask(ctx, "ptype/r ", operand);

	if (!type)
		return false;
	return (str_starts(type, "enum") && str_ends(type, "}")) || !strcmp(type, "bool") || !strcmp(type, "_Bool");
}

static int ask_number(const struct resolver *p, const char *prefix, const char *name, uint64_t *value)
{
	cleanup_free char *expr = str_fmt("(unsigned long)%s(%s)", prefix, name), *text = NULL;
	struct err ignored;

	if (gdb_eval(p->g, expr, p->tid, p->frame, 0, &text, &ignored))
		return -1;
	return str_u64(text, 10, 1, UINT64_MAX, value);
}

/* Notes an object on the stack, or an object there one of whose members was used by its name alone. */
static void note_owner(const struct resolver *p, uint64_t addr)
{
	if (!p->locals->any)
		expr_locals_owner(p->g, p->tid, p->frame, addr, p->locals);
}

/* To GDB, `this` is not a variable: it has no address, and never changes. */
static enum rewrite_answer resolve_this(const struct resolver *p, char **by)
{
	cleanup_free char *type = ask(p, "whatis/r ", "this");
	uint64_t value;

	if (!type || ask_number(p, "", "this", &value))
		return REWRITE_KEEP;
	note_owner(p, value);
	*by = str_fmt("((%s)0x%llx)", type, (unsigned long long)value);
	return REWRITE_REPLACE;
}

/*
 * What GDB says about the place of a variable. If pieces of it are missing, GDB 13 prints an error in the middle, which
 * is taken as part of the text.
 */
static char *where_is(const struct resolver *p, const char *name)
{
	cleanup_free char *cmd = str_fmt("info address %s", name);
	struct err why;
	char *text;

	if (!gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &why))
		return text;
	return xstrdup(strstr(why.text, "Corrupted DWARF") ? "multi-location: piece" : "");
}

/* A name without an address: a constant or type may stay, a variable is in a register or nowhere. */
static enum rewrite_answer resolve_unaddressed(const struct resolver *p, const char *name)
{
	cleanup_free char *where = where_is(p, name);

	if (!(strstr(where, "a variable") || strstr(where, "optimized out") || strstr(where, "multi-location") ||
	      strstr(where, "complex DWARF")))
		return REWRITE_KEEP;
	err_set(p->e, ERR_NOT_FOUND, "'%s' is not in memory here (a register, or optimized out)", name);
	return REWRITE_REFUSE;
}

/*
 * A function becomes its address as a number: GDB 13 compiles `&f` to 0, and f without debug
 * information not at all. An indirect function's address is not what pointers to it hold.
 */
static enum rewrite_answer resolve_function(const struct resolver *p, const char *type, const char *name, char **by)
{
	uint64_t addr;

	if (strstr(type, "indirect") || ask_number(p, "&", name, &addr)) {
		err_set(p->e, ERR_NOT_FOUND, "the function '%s'", name);
		return REWRITE_REFUSE;
	}
	*by = str_fmt("((long)0x%llx)", (unsigned long long)addr);
	return REWRITE_REPLACE;
}

/* 'a': GDB does not compile character constants. ('file.c'::x looks similar, but has an address.) */
static enum rewrite_answer resolve_character(const struct resolver *p, const char *name, char **by)
{
	cleanup_free char *type = ask(p, "whatis/r ", name), *expr = str_fmt("(long)%s", name);
	cleanup_free char *number = NULL;
	struct err ignored;

	if (!type || gdb_eval(p->g, expr, p->tid, p->frame, 0, &number, &ignored))
		return REWRITE_KEEP;
	*by = str_fmt("((%s)%s)", type, number);
	return REWRITE_REPLACE;
}

/*
 * Whether the agent compiler, in its scope, takes the name for the same static object: then it needs no
 * replacement. Its listing of the address is a single constant.
 */
static bool compiles_as(const struct resolver *p, const char *name, uint64_t addr)
{
	cleanup_free char *cmd = str_fmt("maint agent-eval %s&(%s)", p->at, name), *out = NULL;
	struct err ignored;
	unsigned long long value;
	const char *body;
	int end = 0;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &out, &ignored))
		return false;
	body = strstr(out, "Reg mask:");
	body = body ? strchr(body, '\n') : NULL;
	return body && sscanf(body, " 0 const%*u %llu %*u end%n", &value, &end) == 1 && end &&
	       !strstr(body, "Scope:") && value == addr;
}

/*
 * (*(TYPE *)ADDRESS). The name of the type may mean another type in the frame's scope than where the
 * variable was declared: then it is refused.
 */
static enum rewrite_answer resolve_variable(const struct resolver *p, const char *name, const char *type, uint64_t addr,
					    char **by)
{
	cleanup_free char *cast = str_fmt("(*(%s)0x%llx)", type, (unsigned long long)addr);
	struct expr_type want = {0}, got = {0};
	struct err ignored;
	bool same = !expr_type_of(p->g, name, p->tid, p->frame, &want, &ignored) &&
		    !expr_type_of(p->g, cast, p->tid, p->frame, &got, &ignored);

	/* A reference is its object: the address taken is the object's. */
	if (same && !want.is_reference)
		same = !strcmp(want.definition, got.definition) && want.size == got.size;
	expr_type_fini(&want);
	expr_type_fini(&got);
	if (!same) {
		err_set(p->e, ERR_NOT_FOUND, "the type of '%s' has no name here", name);
		return REWRITE_REFUSE;
	}
	*by = steal_ptr(&cast);
	return REWRITE_REPLACE;
}

static bool is_function(const char *type)
{
	return strstr(type, "(*)(") || str_starts(type, "<text");
}

/* If GDB has died, the next question shows it. */
static void note_local(const struct resolver *p, const char *name)
{
	struct err ignored;

	expr_locals_add(p->g, p->tid, p->frame, name, p->locals, &ignored);
}

static enum rewrite_answer resolve(void *ctx, const char *name, char **by)
{
	const struct resolver *p = ctx;
	cleanup_free char *address_of = str_fmt("&(%s)", name), *type = NULL;
	uint64_t addr;

	if (!strcmp(name, "this"))
		return resolve_this(p, by);
	if (!strcmp(name, "bool") || !strcmp(name, "_Bool")) {
		/* the compiler would cut it to 8 bits */
		err_set(p->e, ERR_NOT_FOUND, "a cast to bool");
		return REWRITE_REFUSE;
	}
	type = ask(p, "whatis/r ", address_of);
	if (type && is_function(type))
		return resolve_function(p, type, name, by);
	if (!type && *name == '\'')
		return resolve_character(p, name, by);
	note_local(p, name);
	if (!type || ask_number(p, "&", name, &addr))
		return resolve_unaddressed(p, name);
	note_owner(p, addr);
	if (compiles_as(p, name, addr))
		return REWRITE_KEEP;
	return resolve_variable(p, name, type, addr, by);
}

/* As resolve, for `print`: functions and constants may stay. */
static enum rewrite_answer resolve_absolute(void *ctx, const char *name, char **by)
{
	struct resolver *p = ctx;
	cleanup_free char *address_of = str_fmt("&(%s)", name), *type = NULL;
	enum rewrite_answer a;
	uint64_t addr;

	if (!strcmp(name, "this"))
		return resolve_this(p, by);
	type = ask(p, "whatis/r ", address_of);
	if ((type && is_function(type)) || (!type && *name == '\''))
		return REWRITE_KEEP;
	note_local(p, name);
	if (!type || ask_number(p, "&", name, &addr)) {
		a = resolve_unaddressed(p, name);
	} else {
		note_owner(p, addr);
		a = resolve_variable(p, name, type, addr, by);
	}
	p->scoped |= a == REWRITE_REFUSE;
	return a == REWRITE_REFUSE ? REWRITE_KEEP : a;
}

/* Is it a struct, union or array? (GDB 13 casts a struct to a number by its first member.) */
static bool is_made_of_members(const struct resolver *p, const char *name)
{
	cleanup_free char *type = ask(p, "whatis/r ", name), *first = NULL;

	if (type && strchr(type, '['))
		return true;
	if (!type || str_ends(type, "*"))
		return false;
	first = ask(p, "ptype ", name);
	return first && strchr(first, '{') && !str_starts(first, "enum ");
}

/* A variable of the frame becomes the value that it has now, if that is a number or an address. */
static enum rewrite_answer resolve_value(void *ctx, const char *name, char **by)
{
	struct resolver *p = ctx;
	struct expr_locals locals = {0};
	cleanup_free char *type = NULL;
	struct err ignored;
	uint64_t value;

	if (!strcmp(name, "this") || expr_locals_add(p->g, p->tid, p->frame, name, &locals, &ignored) ||
	    is_made_of_members(p, name))
		return resolve_absolute(ctx, name, by);
	type = ask(p, "whatis/r ", name);
	if (!type || strstr(type, "float") || strstr(type, "double") || ask_number(p, "", name, &value)) {
		err_set(p->e, ERR_NOT_FOUND, "the value of '%s' is not a number", name);
		return REWRITE_REFUSE;
	}
	p->pointer |= str_ends(type, "*");
	*by = str_fmt("((%s)0x%llx)", type, (unsigned long long)value);
	return REWRITE_REPLACE;
}

static int rewrite(struct resolver *p, const struct rewrite_ops *ops, const char *expr, char **out)
{
	int r;

	err_set(p->e, ERR_NOT_FOUND, "too complicated to be compiled");
	r = rewrite_expr(expr, ops, p, out);
	if (gdb_check(p->g, p->e))
		return -1;
	return r;
}

int expr_rewrite(struct gdb *g, const char *expr, pid_t tid, int frame, const char *at, char **out,
		 struct expr_locals *locals, struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = resolve, .needs_cast = ask_cast};
	struct resolver of = {.g = g, .tid = tid, .frame = frame, .at = at, .locals = locals, .e = e};

	return rewrite(&of, &ops, expr, out);
}

/* Rewrites for GDB in any frame: 1 also if a name has its meaning only in this frame. */
static int rewrite_for_any_frame(struct resolver *of, const struct rewrite_ops *ops, const char *expr, char **out)
{
	int r = rewrite(of, ops, expr, out);

	if (r || !of->scoped)
		return r;
	free(*out);
	*out = NULL;
	return 1;
}

int expr_rewrite_absolute(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct expr_locals *locals,
			  struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = resolve_absolute};
	struct resolver of = {.g = g, .tid = tid, .frame = frame, .at = "", .locals = locals, .e = e};

	return rewrite_for_any_frame(&of, &ops, expr, out);
}

int expr_rewrite_values(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, bool *pointer, struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = resolve_value, .resolve_addressed = resolve_absolute};
	struct expr_locals locals = {0};
	struct resolver of = {.g = g, .tid = tid, .frame = frame, .at = "", .locals = &locals, .e = e};
	int r = rewrite_for_any_frame(&of, &ops, expr, out);

	*pointer = of.pointer;
	return r;
}

static int number_of(const struct resolver *p, uint64_t *value, const char *format, const char *a, const char *b,
		     const char *c)
{
	cleanup_free char *expr = str_fmt(format, a, b, c);

	return ask_number(p, "", expr, value);
}

/* The member's distance from the beginning of `of`. -1: it has none. If the type has a name, no object is needed. */
static int distance(const struct resolver *p, const char *of, const char *type, const char *member, uint64_t *out)
{
	static const char format[] = "(unsigned long)&%s.%s-(unsigned long)&%s";
	cleanup_free char *none = str_fmt("(*(%s *)0)", type), *one = str_fmt("(%s)", of);
	uint64_t size;

	if (number_of(p, &size, "%s(%s)%s", "sizeof", of, "") ||
	    (number_of(p, out, format, none, member, none) && number_of(p, out, format, one, member, one)))
		return -1;
	return *out < size ? 0 : -1; /* else the member is static, or a reference */
}

/*
 * Prints "bits POSITION SIZE SIGNED BYTES" of a bit field, "whole" of another member; nothing if there is none, or if
 * it is one of a virtual base.
 */
static const char bits_script[] =
	"python exec(\""
	"def bases(t):\\n"
	" return [f for f in t.fields() if f.is_base_class]\\n"
	"def plain(t):\\n"
	" return not bases(t) or 'virtual' not in gdb.execute('ptype ' + str(t), to_string=True).split('{')[0]\\n"
	"def find(t, name):\\n"
	" t = t.strip_typedefs()\\n"
	" fields = [f for f in t.fields() if isinstance(getattr(f, 'bitpos', None), int)]\\n"
	" for f in fields:\\n"
	"  if f.name == name and not f.is_base_class: return f.bitpos, f.bitsize, f.type\\n"
	" for f in fields:\\n"
	"  if f.name and not (f.is_base_class and plain(t)): continue\\n"
	"  inner = f.type.strip_typedefs().code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and find(f.type, "
	"name)\\n"
	"  if inner: return (f.bitpos + inner[0],) + inner[1:]\\n"
	"def type_of(text):\\n"
	" return gdb.parse_and_eval(bytes.fromhex(text).decode()).type\\n"
	"try: t = type_of('%s')\\n"
	"except gdb.error: t = type_of('%s')\\n"
	"pos, got = 0, (0, 0, t)\\n"
	"for name in '%s'.split('.'):\\n"
	" got = got and find(got[2], name)\\n"
	" pos += got[0] if got else 0\\n"
	"if got and got[1]:\\n"
	" k = got[2].strip_typedefs()\\n"
	" signed = k.code != gdb.TYPE_CODE_BOOL and k.is_signed\\n"
	" print('bits', pos, got[1], int(signed), t.sizeof)\\n"
	"elif got: print('whole')\\n"
	"\")";

struct bits {
	unsigned at, n, is_signed, size; /* size: bytes of the object that it is in */
};

static char *in_hex(const char *text)
{
	char *out = xcalloc(strlen(text) + 1, 2);

	for (size_t i = 0; text[i]; i++)
		sprintf(out + 2 * i, "%02x", (unsigned char)text[i]);
	return out;
}

/* Is the member a bit field? -1: not known. */
static int find_bits(const struct resolver *p, const char *of, const char *type, const char *member, struct bits *b)
{
	cleanup_free char *none = str_fmt("(*(%s *)0)", type), *one = in_hex(of), *other = in_hex(none), *cmd = NULL;
	cleanup_free char *text = NULL;
	struct err ignored;

	if (member[strspn(member, NAME_CHARS ".")])
		return -1;
	cmd = str_fmt(bits_script, other, one, member);
	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &ignored))
		return -1;
	if (sscanf(text, "bits %u %u %u %u", &b->at, &b->n, &b->is_signed, &b->size) == 4)
		return 1;
	return str_starts(text, "whole") ? 0 : -1;
}

/*
 * The bits of an object as a number of this type, taken from a word that lies in the object. NULL: no word contains
 * them all.
 */
static char *bits_of(const char *address, const char *type, const struct bits *b)
{
	static const char *const words[] = {"unsigned char", "unsigned short", "unsigned int", "unsigned long"};
	unsigned first = b->at / 8, last = (b->at + b->n - 1) / 8;

	for (unsigned i = 0, n = 1; i < 4; i++, n *= 2) {
		unsigned from = first + n <= b->size ? first : b->size - n, shift = b->at - 8 * from;

		if (n > b->size || from + n <= last)
			continue;
		return str_fmt("((%s)((%s long)((unsigned long)(*(%s *)((char *)%s+%u))<<%u)>>%u))", type,
			       b->is_signed ? "signed" : "unsigned", words[i], address, from, 64 - shift - b->n,
			       64 - b->n);
	}
	return NULL;
}

static char *member_at(void *ctx, const char *object, const char *path)
{
	const struct resolver *p = ctx;
	bool arrow = *path == '-';
	const char *member = path + (arrow ? 2 : 1);
	cleanup_free char *of = str_fmt(arrow ? "*(%s)" : "%s", object), *address = str_fmt("&((%s).%s)", of, member);
	cleanup_free char *type = ask(p, "whatis/r ", of), *pointer = type ? ask(p, "whatis/r ", address) : NULL;
	cleanup_free char *begin = str_fmt("%s(%s)", arrow ? "" : "&", object);
	struct bits bits;
	uint64_t n;
	int is_bits;

	if (!pointer || strchr(pointer, '{') || !strchr(pointer, '*'))
		return NULL;
	is_bits = find_bits(p, of, type, member, &bits);
	if (is_bits > 0) {
		*strrchr(pointer, '*') = '\0';
		return bits_of(begin, pointer, &bits);
	}
	if (is_bits < 0 || distance(p, of, type, member, &n))
		return NULL;
	return str_fmt("(*(%s)((char *)%s+%llu))", pointer, begin, (unsigned long long)n);
}

int expr_place_members(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e)
{
	static const struct rewrite_ops ops = {.member_at = member_at};
	struct resolver of = {.g = g, .tid = tid, .frame = frame, .at = "", .e = e};

	return rewrite(&of, &ops, expr, out);
}

/* Is it a structure of which the compiler keeps pieces in registers? */
static bool is_split(const struct resolver *p, const char *name)
{
	cleanup_free char *where = name[strspn(name, NAME_CHARS)] ? NULL : where_is(p, name);

	return where && strstr(where, "piece");
}

static char *of_copy(void *ctx, const char *object, const char *path)
{
	return *path == '.' && is_split(ctx, object) ? str_fmt("{%s}[0]%s", object, path) : NULL;
}

int expr_copy_split(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e)
{
	static const struct rewrite_ops ops = {.member_at = of_copy};
	struct resolver of = {.g = g, .tid = tid, .frame = frame, .at = "", .e = e};

	return rewrite(&of, &ops, expr, out);
}
