/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h: an expression with its names resolved. GDB's agent compiler (GDB 13 to 16) takes names in
 * the scope of a source line at best, never of a frame; it refuses thread-local variables, and
 * arithmetic and comparisons on enumerations, and `!` of a bool. So each variable that this
 * scope does not show as it is becomes the object at its address, and operands of such types get a cast to long.
 */
#ifndef FRED_EXPR_REWRITE_H
#define FRED_EXPR_REWRITE_H

#include "expr/locals.h"
#include "gdb/gdb.h"

enum rewrite_answer {
	REWRITE_KEEP, /* a constant, a function, a type, a keyword ... */
	REWRITE_REPLACE,
	REWRITE_REFUSE, /* a variable that is not in memory */
};

/* Questions about the parts of an expression. If a function is NULL, the part stays as it is. */
struct rewrite_ops {
	/* The replacement for this name; with REWRITE_REPLACE, *by is the text, owned by the caller. */
	enum rewrite_answer (*resolve)(void *ctx, const char *name, char **by);
	/* Must this operand be cast to long for the agent compiler? */
	bool (*needs_cast)(void *ctx, const char *operand);
	/*
	 * What stands for object.what(), object->what() (arrow), object[index], object.at(index) or object.test(index)
	 * (what: "["), in front of a member object-> (what: "->"), object == index and object != index (what: "==",
	 * "!="), and the object itself behind a star (what: "*") or where its value is wanted (what: ""): the caller's;
	 * NULL: it may stay.
	 */
	char *(*member)(void *ctx, const char *object, const char *what, bool arrow, const char *index);
	/* As resolve, for a name whose address is taken; NULL: as for other names. */
	enum rewrite_answer (*resolve_addressed)(void *ctx, const char *name, char **by);
	/* The replacement for object.member (path: ".member", or ".outer.inner") or object->member: as member. */
	char *(*member_at)(void *ctx, const char *object, const char *path);
};

/*
 * Returns 0 and *out (the caller's; the same text if there was nothing to do), or 1: a name was refused,
 * or the syntax is beyond this scanner. Pure: all knowledge comes from ops.
 */
int rewrite_expr(const char *expr, const struct rewrite_ops *ops, void *ctx, char **out);

/*
 * The same with GDB's answers in a thread and frame. at: the option and comma that `maint agent-eval` will
 * be given ("-at FILE:LINE,"), or "". *locals tells of the frame whose variables are used (also on 1).
 * 1: e says why (ERR_NOT_FOUND); -1: GDB failed.
 */
int expr_rewrite(struct gdb *g, const char *expr, pid_t tid, int frame, const char *at, char **out,
		 struct expr_locals *locals, struct err *e);
/*
 * For GDB to evaluate in any frame: variables become the objects at their addresses, the rest stays. 1: it has
 * names that mean this only in this frame (in a register, of a type without a name), or it is beyond the
 * scanner; 0 and -1 as above.
 */
int expr_rewrite_absolute(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct expr_locals *locals,
			  struct err *e);
/*
 * The same, but the frame's own variables become the values that they have now: then the expression describes the same
 * memory in any frame and at any time. *pointer: one of them is a pointer, so there is an object to look at. 1: one of
 * them is neither a number nor an address.
 */
int expr_rewrite_values(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, bool *pointer,
			struct err *e);

/*
 * Replaces members by objects at their distances from the object that they belong to, since GDB's agent compiler does
 * not find members of structs and unions without a name. A bit field becomes bits of a word. A member whose type has no
 * name stays. Returns as expr_rewrite.
 */
int expr_place_members(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e);
/*
 * GDB 13 fails (an internal error) when it computes with a member of a structure that the compiler has split up into
 * registers. So members of copies of such structures are used. Returns as expr_rewrite.
 */
int expr_copy_split(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e);

#endif
