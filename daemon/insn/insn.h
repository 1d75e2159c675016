/* SPDX-License-Identifier: MIT */
/*
 * insn.h: what one instruction of x86-64 does to registers and memory, as far as is needed to follow a value back to
 * where it came from (Zydis decodes it). All questions are asked of the state before the instruction.
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
	const struct user_regs_struct *regs; /* before it */
};

enum insn_kind { INSN_OTHER = 0, INSN_BAD, INSN_CALL, INSN_RET, INSN_JUMP, INSN_BRANCH, INSN_SYSCALL };
enum insn_kind insn_kind(const struct insn *i);
/* The instruction's length; 0: it cannot be decoded. */
unsigned insn_len(const struct insn *i);

enum insn_effect {
	INSN_KEEPS = 0, /* it does not write there */
	INSN_COPIES, /* from[0], perhaps extended or cut */
	INSN_DERIVES, /* from[0] and constants */
	INSN_SETS, /* a constant */
	INSN_COMPUTES, /* from several places, or in a way that is not known */
};

#define INSN_SOURCES 4
struct insn_origin {
	enum insn_effect effect;
	struct insn_loc what; /* the part of the requested bytes that it writes */
	struct insn_loc from[INSN_SOURCES];
	unsigned n;
};
/* Where does what `l` holds after the instruction come from? */
void insn_origin(const struct insn *i, const struct insn_loc *l, struct insn_origin *o);

/* A piece of memory that the instruction reads or writes. */
struct insn_access {
	uint64_t addr;
	unsigned len;
	bool writes;
	unsigned base, index; /* INSN_NO_REG: none */
	unsigned scale;
	int64_t disp;
	bool stack; /* push, call, pop, ret: by the stack pointer alone */
};
#define INSN_ACCESSES 4
unsigned insn_accesses(const struct insn *i, struct insn_access v[INSN_ACCESSES]);

/* The operands that the instruction compares, divides by, or jumps to, without constants: at most `most`. */
unsigned insn_operands(const struct insn *i, struct insn_loc *v, unsigned most);

/*
 * What can be told of its accesses to memory without the registers: of the operand that its ModRM byte (or an absolute
 * address) names, or of a string instruction. Accesses by push, pop, call and ret to the stack are not among them.
 */
struct insn_shape {
	unsigned len; /* of the instruction; 0: it cannot be decoded */
	bool call, ret;
	bool jumps; /* a call or jump by an operand in memory */
	bool direct; /* a call of what stands in the instruction itself */
	int64_t target; /* direct: from the address of the instruction */
	/* the operand; bytes 0: it has none */
	unsigned bytes;
	bool reads, writes;
	bool vector; /* it goes to or comes from a vector register */
	bool fs, gs;
	bool locked; /* an atomic operation: with a lock prefix, or xchg */
	bool irregular; /* a gather or scatter, or a mask in a vector register, which say which bytes */
	bool masked, packed; /* by an opmask register; packed: as many elements as it has bits, one after the other */
	unsigned element; /* masked or irregular: bytes */
	unsigned index, count, scale; /* of a gather or scatter: bytes of an index, how many; index 0: it is none */
	int64_t scaled; /* to be added to an address with the 8-bit displacement of EVEX taken as it stands */
	/* a string instruction: bytes of an element; what is read at rsi and rdi, and written at rdi */
	unsigned string;
	bool reads_rsi, reads_rdi, writes_rdi;
};
void insn_shape(const uint8_t *code, size_t n, struct insn_shape *s);

/*
 * Which registers it reads and writes, whole ones, as bits: those numbered above, and the x87 stack and opmasks as one
 * each. The stack pointer is not among them; what it addresses by push, pop, call and leave is told apart.
 */
#define INSN_REGS_X87 49
#define INSN_REGS_MASK 50 /* k0 to k7 */
struct insn_regs {
	uint64_t reads, writes; /* what it writes in part, it reads too */
	bool push, pop; /* 8 bytes below the stack pointer are written, or at it are read */
	bool leave; /* 8 bytes at the frame pointer are read, which are those below the stack pointer after it */
	bool call, jump;
	bool saves; /* it keeps a register for the caller, or gives it back */
};
void insn_regs(const uint8_t *code, size_t n, struct insn_regs *r);

/* The instruction at pc in AT&T's syntax; "(bad)" if it cannot be decoded. */
void insn_text(const uint8_t *code, size_t n, uint64_t pc, char *text, size_t size);

uint64_t insn_reg(const struct user_regs_struct *r, unsigned reg);
const char *insn_reg_name(unsigned reg);

#endif
