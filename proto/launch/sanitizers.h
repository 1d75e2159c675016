/* SPDX-License-Identifier: MIT */
/*
 * sanitizers.h: what the recorder and fredctl know of programs that were built with a sanitizer (GCC, clang:
 * -fsanitize=...). Freestanding: the shim includes it too.
 *
 * LeakSanitizer, which AddressSanitizer contains, stops all threads by ptrace at the program's end, and fails where it
 * cannot. So the recorder turns it off, by a variable that the program does not see. ThreadSanitizer and
 * MemorySanitizer have their shadow where the recorder has its own memory.
 */
#ifndef FRED_LAUNCH_SANITIZERS_H
#define FRED_LAUNCH_SANITIZERS_H

/*
 * The variable stands before the user's own of that name, and ends with this option, behind the user's options:
 * LeakSanitizer takes the first variable and the last option.
 */
#define LAUNCH_LSAN "LSAN_OPTIONS="
#define LAUNCH_NO_LEAKS "detect_leaks=0"
/*
 * One more variable that the program does not see, if LD_PRELOAD is none either: what is taken out leaves room between
 * the environment and the auxiliary vector, of whole entries of that one (AT_IGNORE), since programs look for it there.
 */
#define LAUNCH_EVEN "FRED_EVEN="

#endif
