/* banned.h - functions that invite bugs become compile errors with a readable name.
 * Included before every file by the Makefile. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* With fortification, glibc makes macros of these two for clang, and a macro cannot be poisoned. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol gmtime
#pragma GCC poison localtime gets

#endif
