/* SPDX-License-Identifier: MIT */
/*
 * containers.c: see containers.h. The layouts are those of libstdc++'s ABI (GCC 5 and later), as its own GDB scripts
 * know them. What is not in the table stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/containers.h"
#include "expr/rewrite.h"

#define VECTOR "std::vector<"
#define STRING "std::__cxx11::basic_string<"
#define LIST "std::__cxx11::list<"
#define DEQUE "std::deque<"
#define UNIQUE "std::unique_ptr<"
#define SHARED "std::shared_ptr<"
#define ATOMIC "std::atomic<"
#define OPTIONAL "std::optional<"
#define VARIANT "std::variant<"
#define ARRAY "std::array<"
#define VIEW "std::basic_string_view<"
#define HELD "(*(%T **)&(%o))" /* the pointer comes first */
#define ATOMIC_VALUE "(*(%T *)&(%o))"
#define OPTIONAL_VALUE "((%o)._M_payload._M_payload._M_value)"
/* the index is a char or a short with all bits set */
#define VALUELESS "((%o)._M_index+1==1<<8*sizeof((%o)._M_index))"
#define ITERATOR "__gnu_cxx::__normal_iterator<"
#define VECTOR_FIRST "((%o)._M_impl._M_start)"
#define VECTOR_END "((%o)._M_impl._M_finish)"
#define MAP "std::map<|std::multimap<"
#define SET "std::set<|std::multiset<"
#define TREE_ITERATOR "std::_Rb_tree_iterator<|std::_Rb_tree_const_iterator<"
#define TREE_AT(node) "((%T *)&((std::_Rb_tree_node<%T > *)" node ")->_M_storage)"
#define HEADER "(%o)._M_t._M_impl._M_header"
#define TREE_FIRST HEADER "._M_left"
#define TREE_LAST "(" HEADER "._M_parent?" HEADER "._M_right:" HEADER "._M_parent)" /* NULL: it is empty */
#define TREE_END "((std::_Rb_tree_node_base *)&" HEADER ")"
#define LIST_ITERATOR "std::_List_iterator<|std::_List_const_iterator<"
#define LIST_AT(node) "((%T *)&((std::_List_node<%T > *)" node ")->_M_storage)"
#define LIST_FIRST "(%o)._M_impl._M_node._M_next"
#define LIST_LAST "(%o)._M_impl._M_node._M_prev"
#define LIST_END "((void *)&(%o)._M_impl._M_node)"
#define HASHED "std::unordered_map<|std::unordered_set<|std::unordered_multimap<|std::unordered_multiset<"
#define HASH_ITERATOR "std::__detail::_Node_iterator<|std::__detail::_Node_const_iterator<"
#define HASH_FIRST "((%o)._M_h._M_before_begin._M_nxt)"
#define HASH_AT "((%T *)((char *)" HASH_FIRST "+%i))"
#define HASH_OFFSET(cached) "(unsigned long)&((std::__detail::_Hash_node<%T, " cached "> *)0)->_M_storage"
#define BOOLS "std::vector<bool,"
#define BITSET "std::bitset<"
#define DEQUE_ITEM "sizeof(*(%o)._M_impl._M_start._M_cur)"
#define DEQUE_NODE "(" DEQUE_ITEM "<512?512/" DEQUE_ITEM ":1)" /* elements in a node */
#define DEQUE_INDEX "((%i)+((%o)._M_impl._M_start._M_cur-(%o)._M_impl._M_start._M_first))"

/*
 * type: how its name begins, one way or another. what: a method without arguments, or as rewrite.h has it. In the text
 * %o is the object, %i the index, %T the first type, %% a percent sign; methods in it are looked up in turn.
 */
static const struct {
	const char *type, *what, *text;
} methods[] = {
	{BOOLS, "size",
	 "((unsigned long)(((%o)._M_impl._M_finish._M_p-(%o)._M_impl._M_start._M_p)*64"
	 "+(%o)._M_impl._M_finish._M_offset))"},
	{BOOLS, "[", "(((%o)._M_impl._M_start._M_p[(%i)/64]>>(%i)%%64&1)!=0)"},
	{BITSET, "[", "((((unsigned char *)&(%o))[(%i)/8]>>(%i)%%8&1)!=0)"},
	{VECTOR, "size", "((unsigned long)((%o)._M_impl._M_finish-(%o)._M_impl._M_start))"},
	{VECTOR, "capacity", "((unsigned long)((%o)._M_impl._M_end_of_storage-(%o)._M_impl._M_start))"},
	{VECTOR, "empty", "((%o)._M_impl._M_finish==(%o)._M_impl._M_start)"},
	{VECTOR, "data", "((%o)._M_impl._M_start)"},
	{VECTOR, "front", "((%o)._M_impl._M_start[0])"},
	{VECTOR, "back", "((%o)._M_impl._M_finish[-1])"},
	{VECTOR, "[", "((%o)._M_impl._M_start[%i])"},
	{STRING, "size", "((%o)._M_string_length)"},
	{STRING, "length", "((%o)._M_string_length)"},
	{STRING, "empty", "((%o)._M_string_length==0)"},
	{STRING, "c_str", "((%o)._M_dataplus._M_p)"},
	{STRING, "data", "((%o)._M_dataplus._M_p)"},
	{STRING, "front", "((%o)._M_dataplus._M_p[0])"},
	{STRING, "back", "((%o)._M_dataplus._M_p[(%o)._M_string_length-1])"},
	{STRING, "[", "((%o)._M_dataplus._M_p[%i])"},
	{LIST, "size", "((%o)._M_impl._M_node._M_size)"},
	{LIST, "empty", "((%o)._M_impl._M_node._M_size==0)"},
	{LIST, "front", "(*" LIST_AT(LIST_FIRST) ")"},
	{LIST, "back", "(*" LIST_AT(LIST_LAST) ")"},
	{MAP, "size", "((%o)._M_t._M_impl._M_node_count)"},
	{MAP, "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{SET, "size", "((%o)._M_t._M_impl._M_node_count)"},
	{SET, "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{HASHED, "size", "((%o)._M_h._M_element_count)"},
	{HASHED, "empty", "((%o)._M_h._M_element_count==0)"},
	{HASHED, "bucket_count", "((%o)._M_h._M_bucket_count)"},
	/* most deques have one node, and then less is read */
	{DEQUE, "size",
	 "((unsigned long)((%o)._M_impl._M_finish._M_node==(%o)._M_impl._M_start._M_node"
	 "?(%o)._M_impl._M_finish._M_cur-(%o)._M_impl._M_start._M_cur"
	 ":((%o)._M_impl._M_finish._M_node-(%o)._M_impl._M_start._M_node-1)*(long)" DEQUE_NODE
	 "+((%o)._M_impl._M_finish._M_cur-(%o)._M_impl._M_finish._M_first)"
	 "+((%o)._M_impl._M_start._M_last-(%o)._M_impl._M_start._M_cur)))"},
	{DEQUE, "empty", "((%o)._M_impl._M_finish._M_cur==(%o)._M_impl._M_start._M_cur)"},
	{DEQUE, "front", "((%o)._M_impl._M_start._M_cur[0])"},
	{DEQUE, "back",
	 "((%o)._M_impl._M_finish._M_cur!=(%o)._M_impl._M_finish._M_first?(%o)._M_impl._M_finish._M_cur[-1]"
	 ":(%o)._M_impl._M_finish._M_node[-1][" DEQUE_NODE "-1])"},
	{DEQUE, "[",
	 "(*((%o)._M_impl._M_start._M_last-(%o)._M_impl._M_start._M_cur>(%i)?(%o)._M_impl._M_start._M_cur+(%i)"
	 ":(%o)._M_impl._M_start._M_node[" DEQUE_INDEX "/" DEQUE_NODE "]+" DEQUE_INDEX "%%" DEQUE_NODE "))"},
	{"std::queue<", "size", "((%o).c.size())"},
	{"std::queue<", "empty", "((%o).c.empty())"},
	{"std::queue<", "front", "((%o).c.front())"},
	{"std::queue<", "back", "((%o).c.back())"},
	{"std::stack<", "size", "((%o).c.size())"},
	{"std::stack<", "empty", "((%o).c.empty())"},
	{"std::stack<", "top", "((%o).c.back())"},
	{"std::priority_queue<", "size", "((%o).c.size())"},
	{"std::priority_queue<", "empty", "((%o).c.empty())"},
	{"std::priority_queue<", "top", "((%o).c.front())"},
	{ARRAY, "[", "(((%T *)&(%o))[%i])"},
	{ARRAY, "data", "((%T *)&(%o))"},
	{ARRAY, "front", "(*(%T *)&(%o))"},
	{ARRAY, "size", "(sizeof(%o)/sizeof(%T))"},
	{VIEW, "size", "((%o)._M_len)"},
	{VIEW, "length", "((%o)._M_len)"},
	{VIEW, "empty", "((%o)._M_len==0)"},
	{VIEW, "data", "((%o)._M_str)"},
	{VIEW, "[", "((%o)._M_str[%i])"},
	{OPTIONAL, "has_value", "((%o)._M_payload._M_engaged)"},
	{OPTIONAL, "value", OPTIONAL_VALUE},
	{OPTIONAL, "->", "(&" OPTIONAL_VALUE ")"},
	{OPTIONAL, "*", "(&" OPTIONAL_VALUE ")"},
	{VARIANT, "index", "(" VALUELESS "?(unsigned long)-1:(unsigned long)(%o)._M_index)"},
	{VARIANT, "valueless_by_exception", VALUELESS},
	{ATOMIC, "load", ATOMIC_VALUE},
	{ATOMIC, "", ATOMIC_VALUE},
	{UNIQUE, "get", HELD},
	{UNIQUE, "->", HELD},
	{UNIQUE, "", HELD},
	{SHARED, "get", "((%o)._M_ptr)"},
	{SHARED, "->", "((%o)._M_ptr)"},
	{SHARED, "", "((%o)._M_ptr)"},
	{SHARED, "use_count", "((%o)._M_refcount._M_pi?(%o)._M_refcount._M_pi->_M_use_count:0)"},
	/* iterators: what they are at, and what two of them are compared by */
	{ITERATOR, "->", "((%o)._M_current)"},
	{ITERATOR, "*", "((%o)._M_current)"},
	{ITERATOR, "[", "((%o)._M_current[%i])"},
	{ITERATOR, "", "((%o)._M_current)"},
	{TREE_ITERATOR, "->", TREE_AT("(%o)._M_node")},
	{TREE_ITERATOR, "*", TREE_AT("(%o)._M_node")},
	{TREE_ITERATOR, "", "((%o)._M_node)"},
	{LIST_ITERATOR, "->", LIST_AT("(%o)._M_node")},
	{LIST_ITERATOR, "*", LIST_AT("(%o)._M_node")},
	{LIST_ITERATOR, "", "((%o)._M_node)"},
	{HASH_ITERATOR, "->", "((%T *)&(%o)._M_cur->_M_storage)"},
	{HASH_ITERATOR, "*", "((%T *)&(%o)._M_cur->_M_storage)"},
	{HASH_ITERATOR, "", "((%o)._M_cur)"},
	{"std::_Deque_iterator<", "->", "((%o)._M_cur)"},
	{"std::_Deque_iterator<", "*", "((%o)._M_cur)"},
};

/*
 * What c.begin(), c.end() and c.rbegin() lead to, whether or not the program has these functions; %o: the container,
 * %T: the type of its elements. first and last: to an element, of which its member or its value is wanted. begin and
 * end: as the iterators above are compared. offset: GDB finds the number for %i, where the program has that type.
 */
static const struct {
	const char *type, *first, *last, *begin, *end, *offset;
} ends[] = {
	{VECTOR, VECTOR_FIRST, "(" VECTOR_END "-1)", VECTOR_FIRST, VECTOR_END, NULL},
	{STRING, "((%o)._M_dataplus._M_p)", "((%o)._M_dataplus._M_p+(%o)._M_string_length-1)",
	 "((%o)._M_dataplus._M_p)", "((%o)._M_dataplus._M_p+(%o)._M_string_length)", NULL},
	{MAP, TREE_AT(TREE_FIRST), TREE_AT(TREE_LAST), "(" TREE_FIRST ")", TREE_END, NULL},
	{SET, TREE_AT(TREE_FIRST), TREE_AT(TREE_LAST), "(" TREE_FIRST ")", TREE_END, NULL},
	{LIST, LIST_AT(LIST_FIRST), LIST_AT(LIST_LAST), "(" LIST_FIRST ")", LIST_END, NULL},
	{DEQUE, "((%o)._M_impl._M_start._M_cur)", NULL, NULL, NULL, NULL},
	{HASHED, HASH_AT, NULL, HASH_FIRST, "0", HASH_OFFSET("false")},
	{HASHED, HASH_AT, NULL, HASH_FIRST, "0", HASH_OFFSET("true")},
};

/* Types that differ from their general template: only rows with these names apply to them. */
static const char *const special[] = {BOOLS, "std::unique_ptr<void,"};

struct speller {
	struct gdb *g;
	pid_t tid;
	int frame;
	bool any;
};

/*
 * Returns for example "std::vector<int, std::allocator<int> >" for an object, or for what a pointer (*points) leads to.
 * NULL: it is not a class.
 */
static char *class_of(const struct speller *p, const char *object, bool *points)
{
	cleanup_free char *cmd = str_fmt("ptype/rmt %s", object), *text = NULL;
	const char *from, *to, *after;
	struct err ignored;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &ignored))
		return NULL;
	from = text + (str_starts(text, "type = ") ? strlen("type = ") : 0);
	from += str_starts(from, "const ") ? strlen("const ") : 0;
	after = strrchr(text, '}');
	if (!after || !(str_starts(from, "class ") || str_starts(from, "struct ")) || !strstr(from, "<"))
		return NULL;
	from += strcspn(from, " ") + 1;
	to = from + strcspn(from, "{\n");
	for (const char *base = from; (base = strstr(base, " : ")) && base < to;)
		to = base;
	while (to > from && to[-1] == ' ')
		to--;
	*points = strchr(after, '*') != NULL;
	return strchr(after, '[') || strstr(after, "**") ? NULL : xstrndup(from, (size_t)(to - from));
}

/* The first argument of a template. */
static char *first_argument(const char *type)
{
	const char *from = strchr(type, '<') + 1, *p = from;

	for (int depth = 0; *p && (depth || (*p != ',' && *p != '>')); p++)
		depth += (*p == '<') - (*p == '>');
	while (p > from && p[-1] == ' ')
		p--;
	return xstrndup(from, (size_t)(p - from));
}

/*
 * The type of a container's elements, from its last argument, the allocator. NULL: the container has another allocator
 * than the library's.
 */
static char *element_of(const char *type)
{
	const char *at = NULL;

	for (const char *p = strchr(type, '<') + 1, *from = p; *p; p++) {
		int depth = 0;

		for (from = p; *p && (depth || (*p != ',' && *p != '>')); p++)
			depth += (*p == '<') - (*p == '>');
		at = from + strspn(from, " ");
		if (*p != ',')
			break;
	}
	return at && (str_starts(at, "std::allocator<") || str_starts(at, "std::pmr::polymorphic_allocator<"))
		       ? first_argument(at)
		       : NULL;
}

/* Does the type's name begin with one of these texts? They are separated by |. */
static bool is_one_of(const char *type, const char *begins)
{
	for (size_t len; *begins; begins += len + (begins[len] == '|')) {
		len = strcspn(begins, "|");
		if (!strncmp(type, begins, len))
			return true;
	}
	return false;
}

static char *fill(const char *text, const char *object, const char *index, const char *first)
{
	struct buf out = {0};

	for (const char *p = text; *p; p++)
		if (p[0] == '%' && p[1])
			buf_add_str(&out, *++p == 'o' ? object : *p == 'i' ? index : *p == '%' ? "%" : first);
		else
			buf_add_char(&out, *p);
	return buf_steal(&out);
}

static const char *text_for(const char *type, const char *what)
{
	const char *own = NULL;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (str_starts(type, special[i]))
			own = special[i];
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (is_one_of(type, methods[i].type) && !strcmp(what, methods[i].what) &&
		    (!own || str_eq(own, methods[i].type)))
			return methods[i].text;
	return NULL;
}

static bool known(const char *what)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(what, methods[i].what))
			return true;
	return false;
}

/* The bytes of a text that is exactly one string literal. -1: it is not, or has an escape that is not known here. */
static int literal(const char *text, struct buf *bytes)
{
	static const char escapes[] = "n\nt\tr\r\\\\\"\"0\0";
	const char *p = text + 1, *known_as;

	if (*text != '"')
		return -1;
	for (; *p && *p != '"'; p++) {
		if (*p != '\\') {
			buf_add_char(bytes, *p);
			continue;
		}
		known_as = *++p ? memchr(escapes, *p, sizeof(escapes) - 1) : NULL;
		if (!known_as || (known_as - escapes) % 2 || (*p == '0' && p[1] >= '0' && p[1] <= '7'))
			return -1;
		buf_add_char(bytes, known_as[1]);
	}
	return *p == '"' && !p[1 + strspn(p + 1, " \t")] ? 0 : -1;
}

/* The largest number type of at most this many bytes, and its size. */
static unsigned piece_of(size_t n, const char **type)
{
	static const struct {
		unsigned size;
		const char *type;
	} pieces[] = {{8, "long"}, {4, "int"}, {2, "short"}, {1, "char"}};
	size_t k = 0;

	while (pieces[k].size > n)
		k++;
	*type = pieces[k].type;
	return pieces[k].size;
}

/*
 * Spells out object == "text" (or !=) without a call, in a way that reads only what matters. Pieces have up to 8 bytes,
 * since GDB looks at the whole expression of the object for each piece, which takes long if there are templates in it.
 */
static char *compare_text(struct speller *p, const char *object, const char *with, bool equal)
{
	cleanup_free char *type = NULL, *first = NULL, *size = NULL, *data = NULL;
	cleanup_buf struct buf bytes = {0}, out = {0};
	const char *number;
	bool points;

	if (literal(with, &bytes))
		return NULL;
	type = class_of(p, object, &points);
	if (!type || points || !(str_starts(type, STRING "char,") || str_starts(type, VIEW "char,")))
		return NULL;
	first = first_argument(type);
	size = fill(text_for(type, "size"), object, "", first);
	data = fill(text_for(type, "data"), object, "", first);
	buf_addf(&out, "(%s%s%zu", size, equal ? "==" : "!=", bytes.len);
	for (size_t i = 0, n; i < bytes.len; i += n) {
		uint64_t v = 0;

		n = piece_of(bytes.len - i, &number);
		memcpy(&v, buf_str(&bytes) + i, n);
		buf_addf(&out, "%s*(unsigned %s *)(%s+%zu)%s0x%llx", equal ? "&&" : "||", number, data, i,
			 equal ? "==" : "!=", (unsigned long long)v);
	}
	buf_add_char(&out, ')');
	p->any = true;
	return buf_steal(&out);
}

/* Is the text a call of this method? *object: what it is called on (for a pointer, what it points to). */
static bool is_call_of(const char *text, const char *method, char **object)
{
	cleanup_free char *dot = str_fmt(".%s()", method), *arrow = str_fmt("->%s()", method);
	size_t len = strlen(text);

	if (len > strlen(arrow) && str_eq(text + len - strlen(arrow), arrow))
		*object = str_fmt("*(%.*s)", (int)(len - strlen(arrow)), text);
	else if (len > strlen(dot) && str_eq(text + len - strlen(dot), dot))
		*object = xstrndup(text, len - strlen(dot));
	else
		return false;
	return true;
}

/*
 * The replacement for the iterator c.begin(), c.end() or c.rbegin() (and cbegin etc.): with `at`, the pointer to its
 * element, else the value by which it is compared. NULL: it is another expression.
 */
static char *at_end(struct speller *p, const char *iterator, bool at)
{
	static const char *const names[] = {"begin", "cbegin", "end", "cend", "rbegin", "crbegin"};
	cleanup_free char *type = NULL, *container = NULL, *element = NULL;
	size_t k = 0;
	bool points;

	while (k < sizeof(names) / sizeof(names[0]) && !is_call_of(iterator, names[k], &container))
		k++;
	type = container ? class_of(p, container, &points) : NULL;
	element = type && !points && !str_starts(type, BOOLS) ? element_of(type) : NULL;
	for (size_t i = 0; element && i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *begin = at ? ends[i].first : ends[i].begin;
		const char *text = k < 2 ? begin : k < 4 ? ends[i].end : at ? ends[i].last : NULL;
		cleanup_free char *ask = ends[i].offset ? fill(ends[i].offset, "", "", element) : NULL, *offset = NULL;
		struct err ignored;

		if (!text || !is_one_of(type, ends[i].type) ||
		    (at && ask && gdb_eval(p->g, ask, p->tid, p->frame, 0, &offset, &ignored)))
			continue;
		p->any = true;
		return fill(text, container, offset ? offset : "", element);
	}
	return NULL;
}

static char *spelled_out(void *ctx, const char *object, const char *what, bool arrow, const char *index);

static const struct rewrite_ops spelling = {.member = spelled_out};

/* The object that a method is called on may be behind pointers that are objects themselves: these are replaced, too. */
static char *spelled_out(void *ctx, const char *object, const char *what, bool arrow, const char *index)
{
	struct speller *p = ctx;
	cleanup_free char *type = NULL, *first = NULL, *on = NULL, *by = NULL;
	const char *text;
	bool points, equal = !strcmp(what, "==");
	char *inner;

	if (equal || !strcmp(what, "!="))
		return *index == '"' ? compare_text(p, object, index, equal) : compare_text(p, index, object, equal);
	if (!known(what))
		return NULL;
	inner = !strcmp(what, "->") || !strcmp(what, "*") || !*what ? at_end(p, object, *what != '\0') : NULL;
	if (inner)
		return inner;
	type = class_of(p, object, &points);
	text = type && points == arrow ? text_for(type, what) : NULL;
	if (!text)
		return NULL;
	p->any = true;
	on = arrow ? str_fmt("*(%s)", object) : xstrdup(object);
	first = first_argument(type);
	by = fill(text, on, index ? index : "", first);
	if (!strstr(text, "()") || rewrite_expr(by, &spelling, p, &inner))
		return steal_ptr(&by);
	return inner;
}

int expr_without_containers(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e)
{
	struct speller of = {.g = g, .tid = tid, .frame = frame};
	cleanup_free char *text = NULL;
	int r;

	if (!strpbrk(expr, "-.[=!<>+*/&|?"))
		return 1;
	r = rewrite_expr(expr, &spelling, &of, &text);
	if (gdb_check(g, e))
		return -1;
	if (r || !of.any)
		return 1;
	*out = steal_ptr(&text);
	return 0;
}
