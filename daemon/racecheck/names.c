/* SPDX-License-Identifier: MIT */
/* names.c: see names.h. */
#include "racecheck/names.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define DEEP 32 /* fields nested in fields */

void name_fini(struct name *n)
{
	free(n->text);
	free(n->variable);
	free(n->type);
	*n = (struct name){0};
}

/* ---- types ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

static bool is_std_atomic(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name &&
	       (str_starts(name, "atomic<") || str_starts(name, "__atomic_base<") || !strcmp(name, "atomic_flag"));
}

/* Removes typedefs and qualifiers. */
static bool peel(Dwarf_Die *type, bool *atomic)
{
	for (int i = 0; i < DEEP; i++) {
		int tag = dwarf_tag(type);

		*atomic |= tag == DW_TAG_atomic_type || (tag == DW_TAG_structure_type && is_std_atomic(type)) ||
			   (tag == DW_TAG_class_type && is_std_atomic(type));
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_atomic_type && tag != DW_TAG_restrict_type)
			return true;
		if (!type_of(type, type))
			return false;
	}
	return false;
}

static uint64_t member_offset(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Word off = 0;

	if (dwarf_attr_integrate(die, DW_AT_data_member_location, &a))
		dwarf_formudata(&a, &off);
	return off;
}

/* The member at this offset; base classes are members, too. */
static bool member_at(Dwarf_Die *type, uint64_t off, Dwarf_Die *member)
{
	Dwarf_Die die, t;
	Dwarf_Word size;

	if (dwarf_child(type, &die))
		return false;
	do {
		uint64_t at;

		if (dwarf_tag(&die) != DW_TAG_member && dwarf_tag(&die) != DW_TAG_inheritance)
			continue;
		if (dwarf_hasattr(&die, DW_AT_external) || !type_of(&die, &t) || dwarf_aggregate_size(&t, &size))
			continue;
		at = member_offset(&die);
		if (off >= at && off < at + size) {
			*member = die;
			return true;
		}
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* The size of an element of the array's outermost dimension; 0: not known. */
static uint64_t element_bytes(Dwarf_Die *array, Dwarf_Die *element)
{
	Dwarf_Word size;

	return type_of(array, element) && !dwarf_aggregate_size(element, &size) ? size : 0;
}

static void append(struct name *out, const char *dot, const char *name)
{
	str_set(&out->text, "%s%s%s", out->text, dot, name);
	str_set(&out->variable, "%s", name);
}

/* Goes down into the type, to the member at this offset. */
static void descend(struct name *out, Dwarf_Die *type, uint64_t off)
{
	for (int i = 0; i < DEEP && peel(type, &out->atomic); i++) {
		Dwarf_Die inner;
		uint64_t bytes;

		switch (dwarf_tag(type)) {
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			if (out->atomic || !member_at(type, off, &inner))
				goto there;
			off -= member_offset(&inner);
			if (dwarf_tag(&inner) == DW_TAG_member && dwarf_diename(&inner))
				append(out, ".", dwarf_diename(&inner));
			if (!type_of(&inner, type))
				return;
			break;
		case DW_TAG_array_type:
			bytes = element_bytes(type, &inner);
			if (!bytes)
				goto there;
			str_set(&out->text, "%s[%llu]", out->text, (unsigned long long)(off / bytes));
			off %= bytes;
			*type = inner;
			break;
		default:
			goto there;
		}
	}
there:
	if (dwarf_diename(type))
		out->type = xstrdup(dwarf_diename(type));
}

static bool name_of(Dwarf_Die *var, uint64_t off, struct name *out)
{
	Dwarf_Attribute a;
	const char *name = dwarf_attr_integrate(var, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;
	Dwarf_Die type;

	*out = (struct name){0};
	if (!name)
		return false;
	out->text = xstrdup(name);
	out->variable = xstrdup(name);
	if (type_of(var, &type))
		descend(out, &type, off);
	return true;
}

bool name_of_static(struct code_file *m, uint64_t addr, struct name *out)
{
	const struct module_var *v = module_var_at(m, addr);
	Dwarf_Die *unit = NULL, die;
	Dwarf_Addr bias;
	Dwarf *dw = v ? dwfl_module_getdwarf(m->mod, &bias) : NULL;
	const char *symbol;
	GElf_Off off;
	GElf_Sym sym;

	(void)unit;
	if (dw && dwarf_offdie(dw, v->die, &die))
		return name_of(&die, addr - v->addr, out);
	if (!m->mod)
		return false;
	/* without debug information: what the symbol table has */
	symbol = dwfl_module_addrinfo(m->mod, addr, &off, &sym, NULL, NULL, NULL);
	if (!symbol || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || off >= sym.st_size)
		return false;
	/* names that compilers make are in no line of source */
	*out = (struct name){.variable = strchr(symbol, '.') || str_starts(symbol, "_Z") ? NULL : xstrdup(symbol)};
	out->text = off ? str_fmt("%s+%llu", symbol, (unsigned long long)off) : xstrdup(symbol);
	return true;
}

/* ---- local variables ---- */

struct frame {
	uint64_t addr; /* from the end of the frame */
	struct name *out;
};

static bool in_frame(Dwarf_Die *die, const struct frame *f)
{
	Dwarf_Attribute a;
	Dwarf_Die type;
	Dwarf_Word size;
	Dwarf_Op *op;
	size_t n;
	int64_t at;

	if (!dwarf_attr_integrate(die, DW_AT_location, &a) || dwarf_getlocation(&a, &op, &n) || n != 1 ||
	    op->atom != DW_OP_fbreg || !type_of(die, &type) || dwarf_aggregate_size(&type, &size))
		return false;
	at = (int64_t)op->number;
	return (int64_t)f->addr >= at && (int64_t)f->addr < at + (int64_t)size &&
	       name_of(die, (uint64_t)((int64_t)f->addr - at), f->out);
}

static bool search(Dwarf_Die *parent, const struct frame *f)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && in_frame(&die, f))
			return true;
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && search(&die, f))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* Are the frame's locations relative to the CFA? So they are with GCC and clang, except for clang's frames by rbp. */
static bool counts_from_cfa(Dwarf_Die *function, int64_t *off)
{
	Dwarf_Attribute a;
	Dwarf_Op *op;
	size_t n;

	*off = 0;
	if (!dwarf_attr(function, DW_AT_frame_base, &a) || dwarf_getlocation(&a, &op, &n) || n != 1)
		return false;
	if (op->atom == DW_OP_reg6) { /* rbp, which points to where the caller's is kept */
		*off = 16;
		return true;
	}
	return op->atom == DW_OP_call_frame_cfa;
}

bool name_of_local(struct code_file *m, uint64_t pc, uint64_t cfa, uint64_t addr, struct name *out)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = module_unit(m, pc, &bias), *scopes = NULL;
	int n = unit ? dwarf_getscopes(unit, pc - bias, &scopes) : 0;
	bool found = false;
	int64_t off;

	for (int i = 0; i < n && !found; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram && counts_from_cfa(&scopes[i], &off)) {
			const struct frame f = {(uint64_t)((int64_t)(addr - cfa) + off), out};

			found = search(&scopes[i], &f);
		}
	free(scopes);
	return found;
}

/* ---- what a line of source names ---- */

/*
 * Removes pointers, arrays, references and qualifiers; *atomic: a type on the way is atomic, by its kind or its name.
 */
static bool strip(Dwarf_Die *type, bool *atomic)
{
	for (int i = 0; i < DEEP; i++) {
		const char *name = dwarf_diename(type);
		int tag = dwarf_tag(type);

		*atomic |= tag == DW_TAG_atomic_type || (name && strstr(name, "atomic"));
		if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
		    tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type)
			return true;
		if (!type_of(type, type))
			return false;
	}
	return false;
}

/* The type of the member of this name, also of a base class or of a member without a name. */
static bool member_type(Dwarf_Die *type, const char *name, int deep, Dwarf_Die *out)
{
	Dwarf_Die die, t;
	bool atomic = false;

	if (deep == DEEP || dwarf_child(type, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *has = dwarf_diename(&die);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance && tag != DW_TAG_variable) || !type_of(&die, &t))
			continue;
		if (str_eq(has, name)) {
			*out = t;
			return true;
		}
		if (!has && strip(&t, &atomic) && member_type(&t, name, deep + 1, out))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/*
 * The type of a variable that code in these scopes, the innermost first, refers to by this name; members of C++'s
 * `this` need no `this->`.
 */
static bool variable_type(Dwarf_Die *scopes, int n, const char *name, Dwarf_Die *type)
{
	Dwarf_Die var, self;
	bool atomic = false;
	int at = dwarf_getscopevar(scopes, n, name, 0, NULL, 0, 0, &var);
	int tag = at >= 0 ? dwarf_tag(&scopes[at]) : 0;

	if ((at < 0 || tag == DW_TAG_compile_unit || tag == DW_TAG_namespace) &&
	    dwarf_getscopevar(scopes, n, "this", 0, NULL, 0, 0, &self) >= 0 && type_of(&self, type) &&
	    strip(type, &atomic) && member_type(type, name, 0, type))
		return true;
	return at >= 0 && type_of(&var, type);
}

/* Does the debug information tell of _Atomic? Only since DWARF 5 is there a tag for it. */
static bool tells_atomic(Dwarf_Die *unit)
{
	Dwarf_Half version;

	return !dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) && version >= 5;
}

bool name_is_plain(struct code_file *m, uint64_t pc, const char *const *names, size_t n)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = module_unit(m, pc, &bias), *scopes = NULL, type;
	int around = unit && n && tells_atomic(unit) ? dwarf_getscopes(unit, pc - bias, &scopes) : 0;
	bool atomic = false, known = around > 0 && variable_type(scopes, around, names[0], &type);

	known = known && strip(&type, &atomic);
	for (size_t i = 1; known && !atomic && i < n; i++)
		known = member_type(&type, names[i], 0, &type) && strip(&type, &atomic);
	free(scopes);
	return known && !atomic;
}
