/* SPDX-License-Identifier: MIT */
/* cpu.c: see cpu.h. */
#include "base/cpu.h"

#include <cpuid.h>
#include <string.h>

enum { EAX, EBX, ECX, EDX };

struct bit {
	uint32_t leaf, sub;
	uint8_t reg, bit;
	const char *name;
};

static const struct bit bits[] = {
	/* by leaf */
	{1, 0, ECX, 0, "pni"},
	{1, 0, ECX, 1, "pclmulqdq"},
	{1, 0, ECX, 9, "ssse3"},
	{1, 0, ECX, 12, "fma"},
	{1, 0, ECX, 13, "cx16"},
	{1, 0, ECX, 19, "sse4_1"},
	{1, 0, ECX, 20, "sse4_2"},
	{1, 0, ECX, 22, "movbe"},
	{1, 0, ECX, 23, "popcnt"},
	{1, 0, ECX, 25, "aes"},
	{1, 0, ECX, 26, "xsave"},
	{1, 0, ECX, 28, "avx"},
	{1, 0, ECX, 29, "f16c"},
	{1, 0, ECX, 30, "rdrand"},
	{7, 0, EBX, 0, "fsgsbase"},
	{7, 0, EBX, 3, "bmi1"},
	{7, 0, EBX, 4, "hle"},
	{7, 0, EBX, 5, "avx2"},
	{7, 0, EBX, 8, "bmi2"},
	{7, 0, EBX, 9, "erms"},
	{7, 0, EBX, 11, "rtm"},
	{7, 0, EBX, 16, "avx512f"},
	{7, 0, EBX, 17, "avx512dq"},
	{7, 0, EBX, 18, "rdseed"},
	{7, 0, EBX, 19, "adx"},
	{7, 0, EBX, 21, "avx512ifma"},
	{7, 0, EBX, 23, "clflushopt"},
	{7, 0, EBX, 24, "clwb"},
	{7, 0, EBX, 28, "avx512cd"},
	{7, 0, EBX, 29, "sha_ni"},
	{7, 0, EBX, 30, "avx512bw"},
	{7, 0, EBX, 31, "avx512vl"},
	{7, 0, ECX, 1, "avx512vbmi"},
	{7, 0, ECX, 3, "pku"},
	{7, 0, ECX, 6, "avx512_vbmi2"},
	{7, 0, ECX, 8, "gfni"},
	{7, 0, ECX, 9, "vaes"},
	{7, 0, ECX, 10, "vpclmulqdq"},
	{7, 0, ECX, 11, "avx512_vnni"},
	{7, 0, ECX, 12, "avx512_bitalg"},
	{7, 0, ECX, 14, "avx512_vpopcntdq"},
	{7, 0, ECX, 22, "rdpid"},
	{7, 0, ECX, 27, "movdiri"},
	{7, 0, ECX, 28, "movdir64b"},
	{7, 0, EDX, 4, "fsrm"},
	{7, 0, EDX, 8, "avx512_vp2intersect"},
	{7, 0, EDX, 14, "serialize"},
	{7, 0, EDX, 22, "amx_bf16"},
	{7, 0, EDX, 23, "avx512_fp16"},
	{7, 0, EDX, 24, "amx_tile"},
	{7, 0, EDX, 25, "amx_int8"},
	{7, 1, EAX, 4, "avx_vnni"},
	{7, 1, EAX, 5, "avx512_bf16"},
	{0xd, 1, EAX, 0, "xsaveopt"},
	{0xd, 1, EAX, 1, "xsavec"},
	{0xd, 1, EAX, 2, "xgetbv1"},
	{0x80000001, 0, ECX, 0, "lahf_lm"},
	{0x80000001, 0, ECX, 5, "abm"},
	{0x80000001, 0, ECX, 6, "sse4a"},
	{0x80000001, 0, ECX, 11, "xop"},
	{0x80000001, 0, ECX, 16, "fma4"},
};

static const char *const sets[] = {"x87",
				   "sse",
				   "avx",
				   "mpx_bndregs",
				   "mpx_bndcsr",
				   "avx512_opmask",
				   "avx512_zmm_hi256",
				   "avx512_hi16_zmm",
				   "pt",
				   "pkru",
				   "pasid",
				   "cet_u",
				   "cet_s",
				   "hdc",
				   "uintr",
				   "lbr",
				   "hwp",
				   "amx_tilecfg",
				   "amx_tiledata"};

void cpu_features(struct strv *out)
{
	uint32_t leaf = 0, sub = 0, r[4] = {0};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		const struct bit *b = &bits[i];

		/* once for each leaf: in a virtual machine the instruction takes microseconds */
		if ((b->leaf != leaf || b->sub != sub) &&
		    !__get_cpuid_count(leaf = b->leaf, sub = b->sub, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
			memset(r, 0, sizeof(r));
		if (r[b->reg] >> b->bit & 1)
			strv_add(out, b->name);
	}
}

uint64_t cpu_xcr0(void)
{
	uint32_t r[4] = {0}, lo, hi;

	if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) || !(r[ECX] & bit_OSXSAVE))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

void cpu_xcr0_names(uint64_t xcr0, struct strv *out)
{
	for (unsigned i = 0; i < 64; i++) {
		if (!(xcr0 >> i & 1))
			continue;
		if (i < sizeof(sets) / sizeof(sets[0]))
			strv_add(out, sets[i]);
		else
			strv_addf(out, "xcr0_%u", i);
	}
}
