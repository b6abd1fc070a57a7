#include "context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *display, *context;

static shadergen_function egl(const char *name) {
    static void *library;
    if (!library) library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *const address = library ? dlsym(library, name) : NULL;
    shadergen_function function;
    if (!address) {
        fprintf(stderr, "libEGL has no %s\n", name);
        exit(3);
    }
    memcpy(&function, &address, sizeof function);
    return function;
}

shadergen_function find_gl(const char *name) {
    return ((shadergen_function(*)(const char *))egl("eglGetProcAddress"))(name);
}

static unsigned bind(void *which) {
    return ((unsigned (*)(void *, void *, void *, void *))egl("eglMakeCurrent"))(display, NULL, NULL,
                                                                                 which);
}

void open_context(void) {
    enum { surfaceless = 0x31DD, es_api = 0x30A0, renderable = 0x3040, es3_bit = 0x40 };
    enum { none = 0x3038, surface_type = 0x3033, major_version = 0x3098, minor_version = 0x30FB };
    const int32_t wanted[] = {renderable, es3_bit, surface_type, 0, none};
    const int32_t attributes[] = {major_version, 3, minor_version, 1, none};
    void *config = NULL;
    int count = 0;
    display = ((void *(*)(uint32_t, void *, const int32_t *))find_gl("eglGetPlatformDisplayEXT"))(
        surfaceless, NULL, NULL);
    ((unsigned (*)(void *, int *, int *))egl("eglInitialize"))(display, NULL, NULL);
    ((unsigned (*)(uint32_t))egl("eglBindAPI"))(es_api);
    ((unsigned (*)(void *, const int32_t *, void **, int, int *))egl("eglChooseConfig"))(
        display, wanted, &config, 1, &count);
    context = ((void *(*)(void *, void *, void *, const int32_t *))egl("eglCreateContext"))(
        display, config, NULL, attributes);
    if (!context || !bind(context)) {
        fprintf(stderr, "EGL gives no context\n");
        exit(3);
    }
}

void close_context(void) {
    bind(NULL);
    ((unsigned (*)(void *, void *))egl("eglDestroyContext"))(display, context);
}
