#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints a C table of system call names, from the kernel's headers: sysnames.sh COMPILER...
set -e
echo '/* SPDX-License-Identifier: MIT */'
echo '/* Made at build time from asm/unistd_64.h. Indexed by system call number. */'
echo 'static const char *const sysnames[] = {'
echo '#include <asm/unistd_64.h>' | "$@" -E -dM - |
	sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9][0-9]*\)$/\2 \1/p' | sort -n |
	sed 's/^\([0-9]*\) \(.*\)$/\t[\1] = "\2",/'
echo '};'
