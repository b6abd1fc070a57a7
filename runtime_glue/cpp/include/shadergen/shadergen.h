/* shadergen.h: run a build of `shadergen compile` from C, and from all that can call C.

   The C interface of the runtime in shadergen.hpp, whose manual says what a build, a context and a
   frame are. C99, includable from C++. A program, without its checks for errors:

       #include <shadergen/shadergen.h>

       shadergen_build *build;
       shadergen_load(&(shadergen_load_desc){
           .struct_size = sizeof(shadergen_load_desc),
           .folder = "build",
       }, &build, NULL);

       shadergen_runner *runner;                      // the GL context is current from here on
       shadergen_runner_create(build, &(shadergen_runner_desc){
           .struct_size = sizeof(shadergen_runner_desc),
           .get_proc_address = eglGetProcAddress,     // or glfwGetProcAddress, ...
       }, &runner, NULL);

       shadergen_bind_input(runner, "img", camera_texture, NULL);
       unsigned result;
       shadergen_output_texture(runner, "out", 0, &result, NULL);
       while (drawing) {
           shadergen_run(runner, NULL);
           show(result);
       }
       shadergen_runner_destroy(runner);
       shadergen_build_destroy(build);

   Errors. Functions that can fail return an int: 0, or the number of the error's code: 605 is
   SG0605 (docs/errors.md lists the codes). The last parameter, `shadergen_error **error`, may be
   NULL. On failure it receives an error that belongs to the caller: read its parts, then call
   shadergen_error_free(). On success it receives NULL, and `*error` is never read. On failure all
   other results are zeros. A NULL where a pointer is needed is an error too, SG0605. No C++
   exception leaves the library. If memory runs out, the process is ended (std::terminate).

   Descriptors. Set `struct_size` to the sizeof of the struct and the members that you need; zero
   and NULL mean the default. The sizes keep programs compatible: a library reads and writes only
   members that both know. A program that sets a member that an older library does not have is
   refused (SG0605). Structs with a struct_size grow at the end, shadergen_file and shadergen_size
   never change, enumerators keep their values, and functions stay the same within a version of the
   shared library (libshadergen_c.so.0).

   Names. Inputs, outputs and sizes are named as `shadergen inspect` prints them. A NULL for the name
   of an input or output means the only one of the build.

   Strings are UTF-8. Strings and arrays that a build, an error or a port returns belong to this
   handle and live as long. The library copies all strings and descriptors that it is given, but not
   the memory of `files`, which must outlive the build and its runners.

   Threads. A build is constant: any thread may use it, several at the same time. Several runners may
   run one build. A runner belongs to the GL context of shadergen_runner_create(); this context must
   be current on the calling thread in each call with the runner, except shadergen_runner_abandon()
   and shadergen_runner_build(). One thread at a time may use a runner. Errors belong to no thread.
   The library has no global state.

   Logger. `logger` of a descriptor, if given, receives every error, also where `error` is NULL, and
   one line for each build that is loaded and each runner that is created or resized. It is called on
   the calling thread, within the call. Text and level live for the call. Callbacks must return: no
   longjmp, no exception and no panic may leave them, and they must not call a function with the same
   runner.

   GL state, textures, `run` and `restore_state`: as in shadergen.hpp. In short: row 0 of a texture is
   the top row of a picture. Bound textures are not copied. shadergen_run() only binds, draws and
   dispatches; the first one after a bind also records the frame. Without `restore_state` it leaves
   its bindings at zero.

   Linking. The shared library libshadergen_c exports the functions of this header and nothing else;
   link it with -lshadergen_c, `pkg-config shadergen-c`, or shadergen::shadergen_c in CMake. The static
   library libshadergen.a holds the same functions: link it as C++ (or add -lstdc++).

   The library does not make a context, load or save pictures, convert colours, flip, scale or crop,
   wait for the GPU in shadergen_run(), choose a variant by name (the context chooses), run WGSL
   builds, or call GL from more than the calling thread. It reads no environment variables and writes
   no files except to `program_cache`. */

#ifndef SHADERGEN_SHADERGEN_H
#define SHADERGEN_SHADERGEN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SHADERGEN_C_EXPORTS)
#define SHADERGEN_API __declspec(dllexport)
#elif defined(_WIN32) && defined(SHADERGEN_C_SHARED)
#define SHADERGEN_API __declspec(dllimport)
#elif defined(__GNUC__) && defined(SHADERGEN_C_EXPORTS)
#define SHADERGEN_API __attribute__((visibility("default")))
#else
#define SHADERGEN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- versions ----------------------------------------------------------------------------------- */

#define SHADERGEN_VERSION_MAJOR 0
#define SHADERGEN_VERSION_MINOR 1
#define SHADERGEN_VERSION_PATCH 0
#define SHADERGEN_VERSION \
    (SHADERGEN_VERSION_MAJOR * 10000 + SHADERGEN_VERSION_MINOR * 100 + SHADERGEN_VERSION_PATCH)

/* SHADERGEN_VERSION of the library that runs, which may be newer than this header. */
SHADERGEN_API int shadergen_version(void);
/* The two numbers of the newest schedule version that it supports (docs/schedule.md). Parameters may
   be NULL. */
SHADERGEN_API void shadergen_format_version(int *major, int *minor);

/* --- errors ------------------------------------------------------------------------------------- */

typedef struct shadergen_error shadergen_error;

/* The text as shadergen prints it, several lines without a final newline. All texts of a NULL error
   are "". */
SHADERGEN_API const char *shadergen_error_text(const shadergen_error *error);
/* Its parts. */
SHADERGEN_API const char *shadergen_error_code(const shadergen_error *error); /* "SG0605" */
SHADERGEN_API const char *shadergen_error_what(const shadergen_error *error); /* one line */
SHADERGEN_API size_t shadergen_error_where_count(const shadergen_error *error);
SHADERGEN_API const char *shadergen_error_where(const shadergen_error *error, size_t index);
SHADERGEN_API const char *shadergen_error_why(const shadergen_error *error);
SHADERGEN_API const char *shadergen_error_supported(const shadergen_error *error);
SHADERGEN_API const char *shadergen_error_help(const shadergen_error *error);
SHADERGEN_API void shadergen_error_free(shadergen_error *error); /* NULL: nothing */

/* --- callbacks ---------------------------------------------------------------------------------- */

typedef int32_t shadergen_log_level;
enum {
    SHADERGEN_LOG_ERROR = 1, /* a call fails */
    SHADERGEN_LOG_INFO = 2   /* a build was loaded, a runner was created or resized */
};

typedef void (*shadergen_log)(void *user, shadergen_log_level level, const char *text);

/* Returns a function of GL, or NULL: "glDrawArrays", ... Called in shadergen_load(),
   shadergen_runner_create() and shadergen_runner_init() only. */
typedef void (*shadergen_function)(void);
typedef shadergen_function (*shadergen_get_proc_address)(const char *name);
typedef shadergen_function (*shadergen_get_proc_address_user)(void *user, const char *name);

/* Gives a file of a build, by its path as the schedule names it: "schedule.json", which is read
   first, "shaders/00_conv.frag", ... Sets `*data` and `*size` and returns 1, or returns 0 if there is
   no such file. The library copies the memory, which must stay until the next call of the callback,
   or until shadergen_load() returns. Paths are relative, with / and without "..". */
typedef int (*shadergen_read_file)(void *user, const char *path, const void **data, size_t *size);

/* --- builds ------------------------------------------------------------------------------------- */

/* A file in memory. `shadergen compile --embed c` writes arrays of such files. */
#ifndef SHADERGEN_FILE
#define SHADERGEN_FILE
struct shadergen_file {
    const char *path; /* as the schedule names it; "schedule.json" is the schedule itself */
    const void *data;
    size_t size; /* bytes */
};
#endif
typedef struct shadergen_file shadergen_file;

/* A dynamic size, such as {"height", 720}. */
typedef struct shadergen_size {
    const char *name;
    int64_t value;
} shadergen_size;

typedef struct shadergen_load_desc {
    size_t struct_size; /* sizeof(shadergen_load_desc) */

    /* Exactly one source: a folder, files in memory, or a callback. */
    const char *folder;
    const shadergen_file *files; /* not copied: must outlive the build and its runners */
    size_t file_count;
    shadergen_read_file read_file;
    void *read_file_user;

    const shadergen_size *sizes; /* dynamic sizes; those not named have their defaults */
    size_t size_count;

    /* One of both, with a context current, if the build has variants for several devices: the
       variant for this context is loaded. Without them the generic build is. */
    shadergen_get_proc_address get_proc_address;
    shadergen_get_proc_address_user get_proc_address_user;
    void *proc_address_user;

    shadergen_log logger;
    void *logger_user;
} shadergen_load_desc;

typedef struct shadergen_build shadergen_build;

/* Read and check a build: SG0502 to SG0505 if it is bad, SG0605 if it does not support the sizes.
   Without get_proc_address no GL call is made. */
SHADERGEN_API int shadergen_load(const shadergen_load_desc *desc, shadergen_build **build,
                                 shadergen_error **error);
/* Runners keep what they need: a build may be destroyed before its runners. NULL: nothing. */
SHADERGEN_API void shadergen_build_destroy(shadergen_build *build);

/* All functions of a build answer a NULL build, or an index that does not exist, with "", 0 or
   NULL. */
SHADERGEN_API const char *shadergen_build_model(const shadergen_build *build);
/* The name of the variant, or "" for the generic build. */
SHADERGEN_API const char *shadergen_build_variant(const shadergen_build *build);
SHADERGEN_API size_t shadergen_build_size_count(const shadergen_build *build); /* 0: fixed */
SHADERGEN_API const shadergen_size *shadergen_build_sizes(const shadergen_build *build);

typedef struct shadergen_build_stats {
    size_t struct_size;
    size_t inputs, outputs, passes; /* passes are draws and dispatches of a frame */
    /* Bytes of the textures that a runner creates at these sizes. Inputs are the application's. */
    int64_t texture_bytes;
    int64_t weight_bytes;
    /* Sums over the passes of a frame, as the compiler estimates them at these sizes. */
    int64_t multiply_adds, bytes_read, bytes_written;
} shadergen_build_stats;

SHADERGEN_API int shadergen_build_get_stats(const shadergen_build *build,
                                            shadergen_build_stats *stats, shadergen_error **error);

typedef struct shadergen_pass_info {
    size_t struct_size;
    const char *name;
    int is_compute; /* 1: a dispatch, 0: a draw */
    int64_t multiply_adds, bytes_read, bytes_written;
} shadergen_pass_info;

SHADERGEN_API int shadergen_build_get_pass(const shadergen_build *build, size_t index,
                                           shadergen_pass_info *info, shadergen_error **error);

/* The type of an array's elements, and the model's own; all but float32 are whole numbers. */
typedef int32_t shadergen_dtype;
enum {
    SHADERGEN_FLOAT32 = 0,
    SHADERGEN_INT64 = 1,
    SHADERGEN_INT32 = 2,
    SHADERGEN_INT16 = 3,
    SHADERGEN_INT8 = 4,
    SHADERGEN_UINT64 = 5,
    SHADERGEN_UINT32 = 6,
    SHADERGEN_UINT16 = 7,
    SHADERGEN_UINT8 = 8,
    SHADERGEN_BOOL = 9 /* a byte, 0 or 1 */
};

/* The encoding of numbers in texels (docs/schedule.md). */
typedef int32_t shadergen_encoding;
enum {
    SHADERGEN_ENCODING_PLAIN = 0,
    SHADERGEN_ENCODING_UNORM8 = 1, /* 0..255 as bytes, 0..1 in shaders */
    SHADERGEN_ENCODING_Y2RG = 2,
    SHADERGEN_ENCODING_Y2RG_HALF = 3
};

typedef int32_t shadergen_texture_kind;
enum {
    SHADERGEN_TEXTURE_2D = 0,      /* `textures` 2D textures, one for each layer */
    SHADERGEN_TEXTURE_ARRAY = 1,   /* one array texture of `layers` layers */
    SHADERGEN_TEXTURE_EXTERNAL = 2 /* one external texture, of any size */
};

/* An input or an output. */
typedef struct shadergen_port_info {
    size_t struct_size;
    const char *name;
    const int64_t *shape; /* the model's own; `rank` numbers */
    size_t rank;
    size_t count; /* of elements: the product of the shape */
    shadergen_dtype dtype;
    shadergen_encoding encoding;
    shadergen_texture_kind kind;
    int32_t width, height, layers, textures;
    const char *format; /* "rgba8", "r32f", ... */
    uint32_t gl_format; /* the same for glTexStorage2D: GL_RGBA8, GL_R32F, ... */
} shadergen_port_info;

SHADERGEN_API int shadergen_build_get_input(const shadergen_build *build, size_t index,
                                            shadergen_port_info *info, shadergen_error **error);
SHADERGEN_API int shadergen_build_get_output(const shadergen_build *build, size_t index,
                                             shadergen_port_info *info, shadergen_error **error);

/* --- runners ------------------------------------------------------------------------------------ */

typedef struct shadergen_runner_desc {
    size_t struct_size; /* sizeof(shadergen_runner_desc) */

    shadergen_get_proc_address get_proc_address; /* one of both is needed */
    shadergen_get_proc_address_user get_proc_address_user;
    void *proc_address_user; /* must stay for shadergen_runner_init() */

    int restore_state; /* 1: restore the GL state of the last shadergen_save_state() */
    /* An existing folder that keeps linked programs for the next start, or NULL. Only the
       application should be able to write there, because drivers trust its content. */
    const char *program_cache;

    shadergen_log logger;
    void *logger_user;
} shadergen_runner_desc;

typedef struct shadergen_runner shadergen_runner;

/* Check what the build requires and make all GL objects, in the current context: SG0601 and SG0602
   if the GL lacks something, SG0603 if a shader does not compile, SG0604 if GL reports an error. */
SHADERGEN_API int shadergen_runner_create(const shadergen_build *build,
                                          const shadergen_runner_desc *desc,
                                          shadergen_runner **runner, shadergen_error **error);
/* Delete all GL objects; the application's textures stay. NULL: nothing. */
SHADERGEN_API void shadergen_runner_destroy(shadergen_runner *runner);
/* Forget all GL objects without a GL call, because the context is gone. Then destroy the runner, or
   make its objects again in the next context with shadergen_runner_init(); bind and upload again. */
SHADERGEN_API void shadergen_runner_abandon(shadergen_runner *runner);
SHADERGEN_API int shadergen_runner_init(shadergen_runner *runner, shadergen_error **error);

/* The build at its present sizes, a new handle for the caller to destroy. NULL for NULL. */
SHADERGEN_API shadergen_build *shadergen_runner_build(const shadergen_runner *runner);

/* Change dynamic sizes; sizes not named stay. Nothing is compiled. Releases bound and uploaded
   textures and changes the textures of outputs. SG0605 if the build does not support the sizes,
   SG0602 if the GL does not; nothing changes then. */
SHADERGEN_API int shadergen_resize(shadergen_runner *runner, const shadergen_size *sizes,
                                   size_t count, shadergen_error **error);

/* Read an input from the application's texture: an array texture, or its only 2D texture. */
SHADERGEN_API int shadergen_bind_input(shadergen_runner *runner, const char *name, unsigned texture,
                                       shadergen_error **error);
/* The same for an input of several 2D textures, one for each layer. */
SHADERGEN_API int shadergen_bind_input_layers(shadergen_runner *runner, const char *name,
                                              const unsigned *textures, size_t count,
                                              shadergen_error **error);
/* Read an input from an external texture through a matrix of 16 numbers, column by column, as
   Android's SurfaceTexture.getTransformMatrix gives it. A new matrix for the same texture makes no GL
   call: call this before every frame. */
SHADERGEN_API int shadergen_bind_input_external(shadergen_runner *runner, const char *name,
                                                unsigned texture, const float *matrix,
                                                shadergen_error **error);

/* Write an output to the application's texture. SG0605 if the texture does not fit, SG0602 if GL
   cannot draw to it. */
SHADERGEN_API int shadergen_bind_output(shadergen_runner *runner, const char *name,
                                        unsigned texture, shadergen_error **error);
SHADERGEN_API int shadergen_bind_output_layers(shadergen_runner *runner, const char *name,
                                               const unsigned *textures, size_t count,
                                               shadergen_error **error);
/* Draw an output to a framebuffer, from texel (0, 0) on; 0 is the window, where row 0 is the bottom
   row. Only for outputs that a single pass draws and no pass reads. */
SHADERGEN_API int shadergen_bind_output_framebuffer(shadergen_runner *runner, const char *name,
                                                    unsigned framebuffer, shadergen_error **error);

/* The GL texture of an output: its array texture (layer 0), or the 2D texture of a layer. */
SHADERGEN_API int shadergen_output_texture(const shadergen_runner *runner, const char *name,
                                           int layer, unsigned *texture, shadergen_error **error);

/* Copy an array of the model's shape, in C order, to a texture of the runner, and read this texture.
   `count` is the number of elements. An input of encoding unorm8 takes bytes, or floats 0..1. */
SHADERGEN_API int shadergen_upload(shadergen_runner *runner, const char *name, shadergen_dtype type,
                                   const void *data, size_t count, shadergen_error **error);
/* Copy an output to an array of the model's shape, in C order. Waits for the GPU. An output of
   encoding unorm8 gives 0..255 as bytes and 0..1 as anything else. */
SHADERGEN_API int shadergen_read(shadergen_runner *runner, const char *name, shadergen_dtype type,
                                 void *data, size_t count, shadergen_error **error);

/* Draw a frame. SG0605 if an input has no texture yet. */
SHADERGEN_API int shadergen_run(shadergen_runner *runner, shadergen_error **error);
/* Draw a frame and measure each pass, if the GL can. */
SHADERGEN_API int shadergen_run_timed(shadergen_runner *runner, shadergen_error **error);
/* Copy the milliseconds of each pass in the last timed frame, at most `capacity` numbers. Returns how
   many there are: the passes of the build, or 0 if no frame was timed, the GL has no timer queries,
   or the GPU changed its clock meanwhile. Waits for the GPU. */
SHADERGEN_API size_t shadergen_timings(shadergen_runner *runner, double *milliseconds,
                                       size_t capacity);

/* Return when all frames so far are drawn. */
SHADERGEN_API int shadergen_wait(shadergen_runner *runner, shadergen_error **error);
/* GL errors since the last check, and a lost context, as SG0604. */
SHADERGEN_API int shadergen_check(shadergen_runner *runner, shadergen_error **error);
/* Query the GL state that shadergen_run() restores, if the descriptor has restore_state. */
SHADERGEN_API int shadergen_save_state(shadergen_runner *runner, shadergen_error **error);

#ifdef __cplusplus
}
#endif

#endif
