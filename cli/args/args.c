/* SPDX-License-Identifier: MIT */
/*
 * args.c: parses a command line. Options and arguments may be mixed; "--" ends the options, and so does the first
 * argument of a command that runs a program.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args/args.h"
#include "args/nearest.h"

static const struct cli_option global_options[] = {
	{"json", NULL, "print one JSON object on standard output"},
	{"quiet", NULL, "no progress and no notes", .letter = 'q'},
	{"verbose", NULL, "say more; twice: even more", .letter = 'v', .repeated = true},
	{"help", NULL, "help for this command", .letter = 'h'},
	{0},
};

const struct cli_option *cli_global_options(void)
{
	return global_options;
}

struct parser {
	struct cli *cli;
	char **argv; /* what is left, NULL-terminated */
	bool only_args;
};

static int find_index(const struct cli_command *c, const char *name)
{
	for (int i = 0; c && c->options && c->options[i].name; i++)
		if (!strcmp(c->options[i].name, name))
			return i;
	return -1;
}

const struct strv *cli_values(const struct cli *cli, const char *name)
{
	int i = find_index(cli->command, name);

	if (i < 0)
		abort();
	return &cli->values[i];
}

const char *cli_value(const struct cli *cli, const char *name)
{
	const struct strv *v = cli_values(cli, name);

	return v->n ? v->s[v->n - 1] : NULL;
}

bool cli_has(const struct cli *cli, const char *name)
{
	return cli_values(cli, name)->n > 0;
}

/* An option by its long name (len bytes) or its letter; NULL if the table has no such option. */
static const struct cli_option *lookup(const struct cli_option *o, const char *name, size_t len, char letter)
{
	for (; o && o->name; o++) {
		if (name && strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
		if (letter && o->letter == letter)
			return o;
	}
	return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
	cleanup_strv struct strv v = {0};

	strv_split(&v, choices, " ");
	for (size_t i = 0; i < v.n; i++) {
		if (str_ends(v.s[i], ":") ? str_starts(value, v.s[i]) : str_eq(value, v.s[i]))
			return true;
	}
	return false;
}

static void set_global(struct cli *cli, const struct cli_option *o)
{
	if (o->letter == 'v')
		cli->verbose++;
	else if (o->letter == 'q')
		cli->quiet = true;
	else if (o->letter == 'h')
		cli->help = true;
	else
		cli->json = true;
}

static int set_option(struct cli *cli, const struct cli_option *o, const char *value, struct err *e)
{
	struct strv *v = &cli->values[o - cli->command->options];

	if (v->n && !o->repeated)
		return err_set(e, ERR_USAGE, "--%s is given twice", o->name);
	if (value && o->choices && !is_choice(o->choices, value))
		return err_set(e, ERR_USAGE, "--%s: '%s' is none of: %s", o->name, value, o->choices);
	strv_add(v, value ? value : "");
	if (o->gdb)
		strv_addf(&cli->gdb, "-%s", o->name);
	if (o->gdb && value)
		strv_add(&cli->gdb, value);
	return 0;
}

/* value: the part joined to the option ("--x=v", "-ov"), or NULL: then the next word, if the option needs a value. */
static int got_option(struct parser *p, const struct cli_option *o, const char *value, struct err *e)
{
	if (!o->metavar && value)
		return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
	if (o >= global_options && o < global_options + sizeof(global_options) / sizeof(*o)) {
		set_global(p->cli, o);
		return 0;
	}
	if (o->metavar && !value && !o->joined) {
		value = *p->argv;
		if (!value)
			return err_set(e, ERR_USAGE, "--%s needs a value: %s", o->name, o->metavar);
		p->argv++;
	}
	return set_option(p->cli, o, value, e);
}

static const struct cli_option *find_option(const struct cli *cli, const char *name, size_t len, char letter)
{
	const struct cli_option *o = NULL;

	if (cli->command)
		o = lookup(cli->command->options, name, len, letter);
	return o ? o : lookup(global_options, name, len, letter);
}

static int unknown(const struct cli *cli, const char *word, struct err *e)
{
	const char *name = cli->command ? cli->command->name : NULL;
	struct nearest near = {.word = word + 2, .len = strcspn(word, "=") - 2};

	for (const struct cli_option *o = cli->command ? cli->command->options : NULL; o && o->name && word[1] == '-';
	     o++)
		nearest_try(&near, o->name);
	for (const struct cli_option *o = global_options; o->name && word[1] == '-'; o++)
		nearest_try(&near, o->name);
	return err_set(e, ERR_USAGE, "unknown option '%s'%s%s%s; see fredctl help%s%s", word,
		       near.name ? "; did you mean --" : "", near.name ? near.name : "", near.name ? "?" : "",
		       name ? " " : "", name ? name : "");
}

static int unknown_command(const struct cli *cli, const char *word, struct err *e)
{
	struct nearest near = {.word = word, .len = strlen(word)};

	for (const struct cli_command *const *c = cli->commands; *c; c++)
		if (!(*c)->hidden)
			nearest_try(&near, (*c)->name);
	if (near.name)
		return err_set(e, ERR_USAGE, "unknown command '%s'; did you mean %s? See fredctl help", word,
			       near.name);
	if (strchr(word, '/') && !access(word, X_OK))
		return err_set(e, ERR_USAGE, "unknown command '%s'; to record that program: fredctl record -- %s", word,
			       word);
	return err_set(e, ERR_USAGE, "unknown command '%s'; see fredctl help", word);
}

const struct cli_command *cli_command_find(const struct cli *cli, const char *name, struct err *e)
{
	for (const struct cli_command *const *c = cli->commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	unknown_command(cli, name, e);
	return NULL;
}

static int parse_long(struct parser *p, const char *word, struct err *e)
{
	const char *name = word + 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct cli_option *o = find_option(p->cli, name, len, 0);

	return o ? got_option(p, o, eq ? eq + 1 : NULL, e) : unknown(p->cli, word, e);
}

/* "-qv" is "-q -v"; "-oDIR" is "-o DIR". */
static int parse_short(struct parser *p, const char *word, struct err *e)
{
	const char *name = word + 1, *eq = strchr(name, '=');
	const struct cli_option *whole = find_option(p->cli, name, eq ? (size_t)(eq - name) : strlen(name), 0);

	if (whole && whole->gdb)
		return got_option(p, whole, eq ? eq + 1 : NULL, e);
	for (const char *l = word + 1; *l; l++) {
		const struct cli_option *o = find_option(p->cli, NULL, 0, *l);

		if (!o)
			return unknown(p->cli, word, e);
		if (o->metavar)
			return got_option(p, o, l[1] ? l + 1 : NULL, e);
		if (got_option(p, o, NULL, e))
			return -1;
	}
	return 0;
}

static int parse_arg(struct parser *p, const char *word, struct err *e)
{
	if (!p->cli->command) {
		p->cli->command = cli_command_find(p->cli, word, e);
		return p->cli->command ? 0 : -1;
	}
	strv_add(&p->cli->args, word);
	if (p->cli->command->program)
		p->only_args = true;
	return 0;
}

/*
 * A command that passes other options on to another program takes its own long options only: "-q" and the like are for
 * that program.
 */
static int parse_foreign(struct parser *p, const char *word, struct err *e)
{
	const struct cli_command *c = p->cli->command;
	bool own = str_starts(word, "--") &&
		   (lookup(c->options, word + 2, strcspn(word + 2, "="), 0) || str_eq(word, "--help"));

	p->only_args = str_eq(word, "--args");
	return own ? parse_long(p, word, e) : parse_arg(p, word, e);
}

/* "-qoDIR", whatever is in DIR: the first letter of an option with a value comes after letters of options only. */
static bool has_joined_value(const struct cli *cli, const char *letters)
{
	const struct cli_option *o;

	while (*letters && (o = find_option(cli, NULL, 0, *letters++)))
		if (o->metavar)
			return true;
	return false;
}

/*
 * "-x < 5", "--level > 2" or "-*p": no option begins in this way. "--word" and "--word=a < b" are options, known or
 * not. A command that runs a program takes no expression.
 */
static bool is_expression(const struct cli *cli, const char *word)
{
	const char *name = word + 1 + (word[1] == '-'), *op = name;

	if (!cli->command || cli->command->program)
		return false;
	if (strchr("(*&!~.", word[1]))
		return true;
	if (name == word + 1 && has_joined_value(cli, name))
		return false;
	while (isalnum((unsigned char)*op) || *op == '_' || (*op == '-' && name == word + 2))
		op++;
	if (op == name || *op == '=' || !strpbrk(op, " <>"))
		return false;
	op += strspn(op, " \t");
	return str_starts(op, "==") || (*op && strchr("<>!+-*/%&|^?.[(:", *op));
}

static int parse_word(struct parser *p, const char *word, struct err *e)
{
	if (p->cli->command && p->cli->command->foreign && !p->only_args)
		return parse_foreign(p, word, e);
	if (p->only_args || word[0] != '-' || !word[1])
		return parse_arg(p, word, e);
	if (!strcmp(word, "--")) {
		p->cli->dashes |= !p->cli->args.n;
		p->only_args = true;
		return 0;
	}
	/* "-1" and the like are expressions or positions */
	if ((word[1] >= '0' && word[1] <= '9') || is_expression(p->cli, word))
		return parse_arg(p, word, e);
	return word[1] == '-' ? parse_long(p, word, e) : parse_short(p, word, e);
}

static int check(const struct cli *cli, struct err *e)
{
	const struct cli_command *c = cli->command;

	for (int i = 0; c->options && c->options[i].name; i++)
		if (c->options[i].required && !cli->values[i].n)
			return err_set(e, ERR_USAGE, "%s: --%s %s is needed", c->name, c->options[i].name,
				       c->options[i].metavar);
	if (cli->args.n < c->min_args)
		return err_set(e, ERR_USAGE, "%s: too few arguments; usage: fredctl %s %s", c->name, c->name, c->usage);
	if (cli->args.n > c->max_args)
		return err_set(e, ERR_USAGE, "%s: too many arguments: '%s'; usage: fredctl %s %s", c->name,
			       cli->args.s[c->max_args], c->name, c->usage);
	return 0;
}

int cli_parse(struct cli *cli, const struct cli_command *const *commands, int argc, char **argv, struct err *e)
{
	struct parser p = {.cli = cli, .argv = argv + (argc > 0)};

	*cli = (struct cli){.commands = commands};
	while (*p.argv) {
		const char *word = *p.argv++;

		if (p.only_args && !cli->command)
			p.only_args = false;
		if (!cli->command && str_eq(word, "--version"))
			word = "version";
		if (parse_word(&p, word, e))
			return -1;
	}
	if (cli->help || !cli->command)
		return 0;
	return check(cli, e);
}

void cli_fini(struct cli *cli)
{
	strv_fini(&cli->args);
	strv_fini(&cli->gdb);
	for (size_t i = 0; i < CLI_MAX_OPTIONS; i++)
		strv_fini(&cli->values[i]);
}
