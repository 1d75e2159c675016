/* SPDX-License-Identifier: MIT */
/* methods.c: look-ups in methods.def. */
#include "wire/methods.h"

#include <string.h>

static const struct wire_method methods[] = {
#define METHOD(name, mode, result, text) {#name, result, text, WIRE_##mode},
#define PARAM(method, name, type, required, text)
#include "wire/methods.def"
#undef METHOD
#undef PARAM
};

static const struct wire_param params_table[] = {
#define METHOD(name, mode, result, text)
#define PARAM(method, name, type, required, text) {#method, #name, text, WIRE_##type, required},
#include "wire/methods.def"
#undef METHOD
#undef PARAM
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct wire_method *wire_method_find(const char *name)
{
	for (size_t i = 0; i < COUNT(methods); i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	return NULL;
}

const struct wire_param *wire_param_at(const struct wire_method *m, size_t i)
{
	for (size_t k = 0; k < COUNT(params_table); k++)
		if (!strcmp(params_table[k].method, m->name) && i-- == 0)
			return &params_table[k];
	return NULL;
}

const char *wire_type_name(enum wire_type t)
{
	static const char *const names[] = {
		[WIRE_ANY] = "any value",
		[WIRE_STRING] = "string",
		[WIRE_INT] = "integer",
		[WIRE_BOOL] = "boolean",
		[WIRE_STRINGS] = "array of strings",
	};

	return names[t];
}

static int is_strings(const json_t *v)
{
	size_t i;
	json_t *s;

	if (!json_is_array(v) || !json_array_size(v))
		return 0;
	json_array_foreach((json_t *)v, i, s) if (!json_is_string(s)) return 0;
	return 1;
}

static int has_type(const json_t *v, enum wire_type t)
{
	switch (t) {
	case WIRE_ANY:
		return 1;
	case WIRE_STRING:
		return json_is_string(v);
	case WIRE_INT:
		return json_is_integer(v);
	case WIRE_BOOL:
		return json_is_boolean(v);
	case WIRE_STRINGS:
		return is_strings(v);
	}
	return 0;
}

static int check_unknown(const struct wire_method *m, const json_t *params, struct err *e)
{
	const struct wire_param *p;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)params, key, v)
	{
		size_t i = 0;

		while ((p = wire_param_at(m, i++)) && strcmp(p->name, key))
			;
		if (!p)
			return err_set(e, ERR_USAGE, "%s: unknown parameter '%.64s'", m->name, key);
	}
	return 0;
}

int wire_params_check(const struct wire_method *m, const json_t *params, struct err *e)
{
	const struct wire_param *p;

	if (params && !json_is_object(params))
		return err_set(e, ERR_USAGE, "%s: params must be an object", m->name);
	for (size_t i = 0; (p = wire_param_at(m, i)); i++) {
		const json_t *v = params ? json_object_get(params, p->name) : NULL;

		if (!v && p->required)
			return err_set(e, ERR_USAGE, "%s: parameter '%s' is missing", m->name, p->name);
		if (v && !has_type(v, p->type))
			return err_set(e, ERR_USAGE, "%s: parameter '%s' must be: %s", m->name, p->name,
				       wire_type_name(p->type));
	}
	return params ? check_unknown(m, params, e) : 0;
}
