/* SPDX-License-Identifier: MIT */
/* flow_rules.h: which operation (flow.h) an instruction is, by its mnemonic. */
#ifndef FRED_INSN_FLOW_RULES_H
#define FRED_INSN_FLOW_RULES_H

#include <Zydis/Zydis.h>

#include "insn/flow.h"

struct flow_rule {
	ZydisMnemonic mnemonic;
	enum flow_op op;
	uint8_t element; /* bytes; 0: as the operand has it */
	uint8_t wide; /* enum flow_permute; 0: none */
};

/* NULL: none is known. */
const struct flow_rule *flow_rule_of(ZydisMnemonic mnemonic);

#endif
