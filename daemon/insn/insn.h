/* SPDX-License-Identifier: MIT */
/*
 * insn.h: what one x86-64 instruction does to registers and memory, as far as this is needed to follow a value back to
 * its origin. (Zydis decodes the instruction.) All functions describe the state before the instruction.
 */
#ifndef FRED_INSN_INSN_H
#define FRED_INSN_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define INSN_BYTES 15 /* the longest instruction */

/* Registers: the general ones as the processor numbers them, then the vector ones. */
enum {
	INSN_RAX = 0,
	INSN_RCX,
	INSN_RDX,
	INSN_RBX,
	INSN_RSP,
	INSN_RBP,
	INSN_RSI,
	INSN_RDI,
	INSN_R12 = 12,
	INSN_R15 = 15,
	INSN_XMM0 = 16,
	INSN_FLAGS = 48,
	INSN_NO_REG = 255
};

enum insn_where { INSN_NOWHERE = 0, INSN_IN_REG, INSN_IN_MEM };

/* Some bytes of a register or of memory. */
struct insn_loc {
	enum insn_where where;
	unsigned reg, off; /* INSN_IN_REG: from byte `off` on */
	uint64_t addr; /* INSN_IN_MEM */
	unsigned len;
};

struct insn {
	const uint8_t *code;
	size_t n; /* bytes at `code` */
	const struct user_regs_struct *regs; /* their values before the instruction */
};

enum insn_kind { INSN_OTHER = 0, INSN_BAD, INSN_CALL, INSN_RET, INSN_JUMP, INSN_BRANCH, INSN_SYSCALL };
enum insn_kind insn_kind(const struct insn *i);
/* The instruction's length; 0: it cannot be decoded. */
unsigned insn_len(const struct insn *i);

enum insn_effect {
	INSN_KEEPS = 0, /* it does not write there */
	INSN_COPIES, /* copies from[0], which may be extended or cut */
	INSN_DERIVES, /* computes it from from[0] and constants */
	INSN_SETS, /* a constant */
	INSN_COMPUTES, /* computes it from several places, or in a way that is not known */
};

#define INSN_SOURCES 4
struct insn_origin {
	enum insn_effect effect;
	struct insn_loc what; /* the part of the requested bytes that it writes */
	struct insn_loc from[INSN_SOURCES];
	unsigned n;
};
/* Where does the value come from that is in `l` after the instruction? */
void insn_origin(const struct insn *i, const struct insn_loc *l, struct insn_origin *o);

/* A piece of memory that the instruction reads or writes. */
struct insn_access {
	uint64_t addr;
	unsigned len;
	bool writes;
	unsigned base, index; /* INSN_NO_REG: none */
	unsigned scale;
	int64_t disp;
	bool stack; /* push, call, pop, ret: addressed only by the stack pointer */
};
#define INSN_ACCESSES 4
unsigned insn_accesses(const struct insn *i, struct insn_access v[INSN_ACCESSES]);

/* The operands that the instruction compares, divides by, or jumps to, without constants; at most `most`. */
unsigned insn_operands(const struct insn *i, struct insn_loc *v, unsigned most);

/*
 * What is known about its accesses to memory without the registers' values: of the operand that its ModRM byte (or an
 * absolute address) names, or of a string instruction. Accesses to the stack by push, pop, call and ret do not count.
 */
struct insn_shape {
	unsigned len; /* the instruction's length; 0: it cannot be decoded */
	bool call, ret;
	bool jumps; /* a call or jump by an operand in memory */
	bool direct; /* a call whose target is in the instruction itself */
	int64_t target; /* with direct: the distance from the address of the instruction */
	/* the operand; bytes 0: it has none */
	unsigned bytes;
	bool reads, writes;
	bool vector; /* the other operand is a vector register */
	bool fs, gs;
	bool locked; /* an atomic operation: with a lock prefix, or xchg */
	bool irregular; /* a gather or scatter, or its mask is in a vector register: these determine which bytes */
	/* with an opmask register; packed: the elements are one after the other, as many as the mask has bits */
	bool masked, packed;
	unsigned element; /* masked or irregular: bytes */
	/* of a gather or scatter: bytes of an index, number of indices; index 0: it is another instruction */
	unsigned index, count, scale;
	int64_t scaled; /* to be added to an address with the 8-bit displacement of EVEX taken as it stands */
	/* a string instruction: bytes of an element; what is read at rsi and rdi, and written at rdi */
	unsigned string;
	bool reads_rsi, reads_rdi, writes_rdi;
};
void insn_shape(const uint8_t *code, size_t n, struct insn_shape *s);

/*
 * Which registers it reads and writes, as bits. A bit is a whole register: those numbered above; the x87 stack and the
 * opmasks have one bit each. The stack pointer is not among them; accesses by push, pop, call and leave have their own
 * fields.
 */
#define INSN_REGS_X87 49
#define INSN_REGS_MASK 50 /* k0 to k7 */
struct insn_regs {
	uint64_t reads, writes; /* a register that is written in part counts as read, too */
	bool push, pop; /* 8 bytes below the stack pointer are written, or 8 bytes at it are read */
	bool leave; /* 8 bytes at the frame pointer are read; afterwards these are just below the stack pointer */
	bool call, jump;
	bool saves; /* saves a register for the caller, or restores it */
};
void insn_regs(const uint8_t *code, size_t n, struct insn_regs *r);

/* The instruction at pc in AT&T's syntax; "(bad)" if it cannot be decoded. */
void insn_text(const uint8_t *code, size_t n, uint64_t pc, char *text, size_t size);

uint64_t insn_reg(const struct user_regs_struct *r, unsigned reg);
const char *insn_reg_name(unsigned reg);

#endif
