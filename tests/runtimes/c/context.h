/* A GL ES context without a window, through EGL found at run time: no headers, nothing to link. */

#ifndef SHADERGEN_TESTS_C_CONTEXT_H
#define SHADERGEN_TESTS_C_CONTEXT_H

#include "shadergen/shadergen.h"

/* Make a context and make it current. Ends the program where there is none. */
void open_context(void);
void close_context(void);

/* eglGetProcAddress */
shadergen_function find_gl(const char *name);

#endif
