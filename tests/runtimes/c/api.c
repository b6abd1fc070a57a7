/* api FIXTURES: what the C interface promises, each fact in a context of its own. Writes for each
   "ok NAME", or "failed NAME: why". */

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

static const char *fixtures;
static char failure[512];

#define CHECK(fact)                                                                             \
    do {                                                                                        \
        if (!(fact) && !*failure)                                                               \
            snprintf(failure, sizeof failure, "%.400s (line %d)", #fact, __LINE__);             \
    } while (0)

/* Check that a call fails with a code, and that its error has a word in its text. */
#define REFUSED(call, code, word)                                                               \
    do {                                                                                        \
        shadergen_error *error = NULL;                                                          \
        CHECK((call) == (code));                                                                \
        CHECK(strstr(shadergen_error_text(error), word) != NULL);                               \
        shadergen_error_free(error);                                                            \
    } while (0)

/* Check that a call succeeds. */
#define GOOD(call)                                                                              \
    do {                                                                                        \
        shadergen_error *error = (shadergen_error *)&failure; /* not read */                    \
        if ((call) != 0 && !*failure)                                                           \
            snprintf(failure, sizeof failure, "%.500s", shadergen_error_text(error));           \
        else CHECK(error == NULL);                                                              \
        if (error != (shadergen_error *)&failure) shadergen_error_free(error);                  \
    } while (0)

#define FACT(name) static void name(void)

static const char *path_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", fixtures, name);
    return path;
}

static shadergen_build *load(const char *name) {
    shadergen_load_desc desc = {.struct_size = sizeof desc, .folder = path_of(name)};
    shadergen_build *build;
    GOOD(shadergen_load(&desc, &build, &error));
    return build;
}

static shadergen_runner *make_runner(const char *name) {
    shadergen_build *const build = load(name);
    shadergen_runner_desc desc = {.struct_size = sizeof desc, .get_proc_address = find_gl};
    shadergen_runner *runner;
    GOOD(shadergen_runner_create(build, &desc, &runner, &error));
    shadergen_build_destroy(build); /* before its runner */
    return runner;
}

enum { numbers = 75, bytes = 45 };
static float x[numbers];
static uint8_t img[bytes];

static void fill(void) {
    for (int i = 0; i < numbers; ++i) x[i] = sinf((float)i * 0.7F);
    for (int i = 0; i < bytes; ++i) img[i] = (uint8_t)(i * 5);
}

static float expected(int i) {
    static const float bias[] = {0.25F, -0.5F, 0.75F, 1.0F, -1.25F};
    static const float gain[] = {-1.0F, 2.0F, 0.5F, 1.5F, 3.0F};
    static const float constant[] = {0.125F, 0.25F, 0.5F, -0.75F, -1.5F};
    const int c = i % 5;
    return 0.5F * ((2 * x[i] + bias[c]) * gain[c] + constant[c]);
}

static void upload_good(shadergen_runner *runner) {
    fill();
    GOOD(shadergen_upload(runner, "x", SHADERGEN_FLOAT32, x, numbers, &error));
    GOOD(shadergen_upload(runner, "img", SHADERGEN_UINT8, img, bytes, &error));
}

static void check_good(shadergen_runner *runner) {
    float out[numbers] = {0};
    uint8_t inverted[bytes] = {0};
    GOOD(shadergen_read(runner, "out", SHADERGEN_FLOAT32, out, numbers, &error));
    GOOD(shadergen_read(runner, "inverted", SHADERGEN_UINT8, inverted, bytes, &error));
    for (int i = 0; i < numbers; ++i) CHECK(fabsf(out[i] - expected(i)) < 1e-5F);
    for (int i = 0; i < bytes; ++i) CHECK(inverted[i] == 255 - i * 5);
}

/* --- frames --- */

FACT(a_frame_computes_what_the_build_states) {
    shadergen_runner *const runner = make_runner("good");
    upload_good(runner);
    GOOD(shadergen_run(runner, &error));
    GOOD(shadergen_wait(runner, &error));
    GOOD(shadergen_check(runner, &error));
    check_good(runner);
    shadergen_runner_destroy(runner);
}

FACT(a_build_of_dynamic_sizes_is_resized) {
    shadergen_runner *const runner = make_runner("good_dynamic");
    const shadergen_size sizes[] = {{"height", 5}, {"width", 6}}, odd = {"width", 5};
    enum { count = 5 * 6 * 4 };
    float low[count], up[4 * count];
    for (int i = 0; i < count; ++i) low[i] = (float)i / 100;
    GOOD(shadergen_resize(runner, sizes, 2, &error));
    REFUSED(shadergen_resize(runner, &odd, 1, &error), 605, "the width must be even");
    shadergen_build *const now = shadergen_runner_build(runner);
    CHECK(shadergen_build_size_count(now) == 2);
    CHECK(shadergen_build_sizes(now)[0].value == 5 && shadergen_build_sizes(now)[1].value == 6);
    shadergen_build_destroy(now);
    GOOD(shadergen_upload(runner, NULL, SHADERGEN_FLOAT32, low, count, &error)); /* the only input */
    GOOD(shadergen_run(runner, &error));
    GOOD(shadergen_read(runner, "up", SHADERGEN_FLOAT32, up, 4 * count, &error));
    for (int i = 0; i < 4 * count; ++i) {
        const int c = i % 4, column = i / 4 % 12, row = i / 48;
        CHECK(fabsf(up[i] - 2 * low[(row / 2 * 6 + column / 2) * 4 + c]) < 1e-5F);
    }
    shadergen_runner_destroy(runner);
}

FACT(textures_of_the_application_are_read_and_written) {
    enum { texture_2d = 0x0DE1, rgba8 = 0x8058, rgba = 0x1908, byte_type = 0x1401 };
    enum { framebuffer = 0x8D40, attachment = 0x8CE0, height = 3, width = 5 };
    void (*gen)(int, unsigned *) = (void (*)(int, unsigned *))find_gl("glGenTextures");
    void (*bind)(unsigned, unsigned) = (void (*)(unsigned, unsigned))find_gl("glBindTexture");
    void (*storage)(unsigned, int, unsigned, int, int) =
        (void (*)(unsigned, int, unsigned, int, int))find_gl("glTexStorage2D");
    void (*image)(unsigned, int, int, int, int, int, unsigned, unsigned, const void *) = (void (*)(
        unsigned, int, int, int, int, int, unsigned, unsigned, const void *))find_gl("glTexSubImage2D");
    shadergen_runner *const runner = make_runner("good");
    unsigned textures[2];
    uint8_t pixels[4 * height * width];
    upload_good(runner);
    for (int i = 0; i < 4 * height * width; ++i) pixels[i] = (uint8_t)(i % 4 < 3 ? i / 4 * 15 + i % 4 * 5 : 255);
    gen(2, textures);
    for (int i = 0; i < 2; ++i) {
        bind(texture_2d, textures[i]);
        storage(texture_2d, 1, rgba8, width, height);
        image(texture_2d, 0, 0, 0, width, height, rgba, byte_type, pixels);
    }
    bind(texture_2d, 0);
    GOOD(shadergen_bind_input(runner, "img", textures[0], &error));
    GOOD(shadergen_bind_output_layers(runner, "inverted", &textures[1], 1, &error));
    unsigned output = 0;
    GOOD(shadergen_output_texture(runner, "inverted", 0, &output, &error));
    CHECK(output == textures[1]);
    GOOD(shadergen_run(runner, &error));
    check_good(runner); /* the picture is the one that was uploaded */
    REFUSED(shadergen_bind_input(runner, "img", 0, &error), 605, "0 is not a texture");
    REFUSED(shadergen_bind_output(runner, "inverted", 77, &error), 605, "");
    REFUSED(shadergen_bind_input_layers(runner, "img", textures, 2, &error), 605, "2 given");
    REFUSED(shadergen_output_texture(runner, "inverted", 9, &output, &error), 605, "no texture 9");
    CHECK(output == 0);
    shadergen_runner_destroy(runner);
}

FACT(an_abandoned_runner_starts_again) {
    shadergen_runner *const runner = make_runner("good");
    shadergen_runner_abandon(runner);
    REFUSED(shadergen_run(runner, &error), 605, "not initialised");
    GOOD(shadergen_runner_init(runner, &error));
    upload_good(runner);
    GOOD(shadergen_run(runner, &error));
    check_good(runner);
    shadergen_runner_destroy(runner);
}

FACT(passes_are_timed_where_the_gl_can) {
    shadergen_runner *const runner = make_runner("good");
    double times[16] = {0};
    times[3] = -1;
    upload_good(runner);
    GOOD(shadergen_run(runner, &error));
    CHECK(shadergen_timings(runner, times, 16) == 0);
    GOOD(shadergen_run_timed(runner, &error));
    const size_t count = shadergen_timings(runner, times, 3);
    CHECK(count == 0 || count == 7);
    CHECK(times[3] == -1); /* capacity is kept */
    CHECK(shadergen_timings(runner, NULL, 0) == count);
    for (size_t i = 0; i < 3; ++i) CHECK(times[i] >= 0 && times[i] < 60000);
    shadergen_runner_destroy(runner);
}

FACT(state_is_saved_if_the_descriptor_asks_for_it) {
    shadergen_build *const build = load("good");
    shadergen_runner *runner = make_runner("good");
    REFUSED(shadergen_save_state(runner, &error), 605, "restore_state");
    shadergen_runner_destroy(runner);
    shadergen_runner_desc desc = {
        .struct_size = sizeof desc, .get_proc_address = find_gl, .restore_state = 1};
    GOOD(shadergen_runner_create(build, &desc, &runner, &error));
    GOOD(shadergen_save_state(runner, &error));
    shadergen_runner_destroy(runner);
    shadergen_build_destroy(build);
}

/* --- mistakes --- */

FACT(nulls_are_refused_by_name) {
    shadergen_build *build = (shadergen_build *)&failure;
    shadergen_runner *runner = (shadergen_runner *)&failure;
    shadergen_load_desc desc = {.struct_size = sizeof desc};
    shadergen_runner_desc runner_desc = {.struct_size = sizeof runner_desc};
    shadergen_port_info port = {.struct_size = sizeof port};
    unsigned texture;
    REFUSED(shadergen_load(NULL, &build, &error), 605, "the shadergen_load_desc is NULL");
    CHECK(build == NULL);
    REFUSED(shadergen_load(&desc, &build, &error), 605, "has 0 sources");
    REFUSED(shadergen_load(&desc, NULL, &error), 605, "the build is NULL");
    desc.folder = "x", desc.size_count = 1;
    REFUSED(shadergen_load(&desc, &build, &error), 605, "the array of sizes is NULL");
    const shadergen_size nameless = {NULL, 1};
    desc.sizes = &nameless;
    REFUSED(shadergen_load(&desc, &build, &error), 605, "the name of a size is NULL");
    const shadergen_file file = {NULL, NULL, 0};
    desc.files = &file, desc.file_count = 1;
    REFUSED(shadergen_load(&desc, &build, &error), 605, "has 2 sources");
    desc.folder = NULL;
    REFUSED(shadergen_load(&desc, &build, &error), 605, "files[0]");
    build = load("good");
    REFUSED(shadergen_runner_create(NULL, &runner_desc, &runner, &error), 605, "the build is NULL");
    CHECK(runner == NULL);
    REFUSED(shadergen_runner_create(build, NULL, &runner, &error), 605, "shadergen_runner_desc is NULL");
    REFUSED(shadergen_runner_create(build, &runner_desc, NULL, &error), 605, "the runner is NULL");
    REFUSED(shadergen_runner_create(build, &runner_desc, &runner, &error), 601, "get_proc_address");
    REFUSED(shadergen_run(NULL, &error), 605, "the runner is NULL");
    REFUSED(shadergen_build_get_input(NULL, 0, &port, &error), 605, "the build is NULL");
    REFUSED(shadergen_build_get_input(build, 0, NULL, &error), 605, "shadergen_port_info is NULL");
    REFUSED(shadergen_build_get_stats(build, NULL, &error), 605, "shadergen_build_stats is NULL");
    REFUSED(shadergen_build_get_output(build, 4, &port, &error), 605, "index 4 is out of range: the build has 4 outputs");
    CHECK(shadergen_runner_build(NULL) == NULL && shadergen_timings(NULL, NULL, 0) == 0);
    CHECK(!*shadergen_build_model(NULL) && !shadergen_build_sizes(NULL) && !shadergen_build_sizes(build));
    shadergen_build_destroy(NULL);
    shadergen_runner_destroy(NULL);
    shadergen_runner_abandon(NULL);
    shadergen_error_free(NULL);
    CHECK(!*shadergen_error_text(NULL) && !*shadergen_error_where(NULL, 0));
    shadergen_build_destroy(build);
    runner = make_runner("good");
    REFUSED(shadergen_upload(runner, "x", SHADERGEN_FLOAT32, NULL, 75, &error), 605, "the data is NULL");
    REFUSED(shadergen_read(runner, "out", SHADERGEN_FLOAT32, NULL, 75, &error), 605, "the data is NULL");
    REFUSED(shadergen_bind_input_layers(runner, "x", NULL, 2, &error), 605, "textures is NULL");
    REFUSED(shadergen_bind_output_layers(runner, "out", NULL, 2, &error), 605, "textures is NULL");
    REFUSED(shadergen_bind_input_external(runner, "x", 1, NULL, &error), 605, "the matrix is NULL");
    REFUSED(shadergen_output_texture(runner, "out", 0, NULL, &error), 605, "the texture is NULL");
    REFUSED(shadergen_output_texture(runner, NULL, 0, &texture, &error), 605, "the build has 4 outputs");
    REFUSED(shadergen_bind_input(runner, NULL, 1, &error), 605, "supported: x, img");
    REFUSED(shadergen_resize(runner, NULL, 1, &error), 605, "the array of sizes is NULL");
    shadergen_runner_destroy(runner);
}

FACT(mistakes_are_answered_in_words) {
    shadergen_runner *const runner = make_runner("good");
    float few[2] = {0};
    REFUSED(shadergen_run(runner, &error), 605, "the input 'x' has no texture");
    REFUSED(shadergen_upload(runner, "x", SHADERGEN_FLOAT32, few, 2, &error), 605, "takes 75 numbers");
    REFUSED(shadergen_upload(runner, "x", 10, few, 2, &error), 605, "no element type 10");
    REFUSED(shadergen_read(runner, "out", -1, few, 2, &error), 605, "no element type -1");
    REFUSED(shadergen_read(runner, "outt", SHADERGEN_FLOAT32, few, 2, &error), 605, "did you mean 'out'?");
    REFUSED(shadergen_bind_output_framebuffer(runner, "out", 0, &error), 605, "exactly one draw");
    CHECK(shadergen_run(runner, NULL) == 605); /* errors may be ignored */
    shadergen_error *wrong = NULL;
    CHECK(shadergen_upload(runner, "z", SHADERGEN_FLOAT32, few, 2, &wrong) == 605);
    CHECK(!strcmp(shadergen_error_code(wrong), "SG0605"));
    CHECK(!strcmp(shadergen_error_what(wrong), "the build has no input 'z'"));
    CHECK(!strcmp(shadergen_error_supported(wrong), "x, img"));
    CHECK(!strncmp(shadergen_error_text(wrong), "error[SG0605]: the build has no input 'z'\n", 42));
    shadergen_runner_destroy(runner);
    CHECK(!strcmp(shadergen_error_code(wrong), "SG0605")); /* it is the caller's */
    shadergen_error_free(wrong);
}

static shadergen_function find_nothing(const char *name) {
    (void)name;
    return NULL;
}

FACT(a_loader_that_finds_nothing_is_refused) {
    shadergen_build *const build = load("good");
    shadergen_runner_desc desc = {.struct_size = sizeof desc, .get_proc_address = find_nothing};
    shadergen_runner *runner;
    REFUSED(shadergen_runner_create(build, &desc, &runner, &error), 601, "no function glActiveTexture");
    CHECK(runner == NULL);
    shadergen_build_destroy(build);
}

/* --- structs of other versions --- */

static int give_nothing(void *user, const char *path, const void **data, size_t *size) {
    (void)path, (void)data;
    *size = user ? 8 : 0; /* 8 bytes at NULL, or an empty file */
    return 1;
}

FACT(descriptors_of_other_versions_are_taken_or_refused) {
    struct {
        shadergen_load_desc known;
        void *newer;
    } desc = {{.struct_size = 0, .folder = path_of("good")}, NULL};
    shadergen_build *build;
    REFUSED(shadergen_load(&desc.known, &build, &error), 605, "set struct_size to sizeof(shadergen_load_desc)");
    desc.known.struct_size = sizeof desc;
    GOOD(shadergen_load(&desc.known, &build, &error));
    shadergen_build_destroy(build);
    desc.newer = &desc;
    REFUSED(shadergen_load(&desc.known, &build, &error), 605, "sets members that this library does not have");
    CHECK(build == NULL);
    desc.known.struct_size = offsetof(shadergen_load_desc, files); /* what an older header had */
    desc.known.read_file = give_nothing; /* is not read */
    GOOD(shadergen_load(&desc.known, &build, &error));
    struct {
        shadergen_port_info known;
        int newer;
    } info = {{.struct_size = sizeof info}, 7};
    GOOD(shadergen_build_get_input(build, 0, &info.known, &error));
    CHECK(info.newer == 0 && info.known.struct_size == sizeof info);
    memset(&info, 1, sizeof info);
    info.known.struct_size = offsetof(shadergen_port_info, rank);
    GOOD(shadergen_build_get_input(build, 0, &info.known, &error));
    CHECK(!strcmp(info.known.name, "x") && info.known.shape[3] == 5);
    CHECK(info.known.rank != 4); /* nothing is written behind the caller's struct */
    info.known.struct_size = 1;
    REFUSED(shadergen_build_get_input(build, 0, &info.known, &error), 605, "set struct_size");
    shadergen_build_destroy(build);
}

FACT(the_library_has_the_version_of_its_header) {
    int major = 0, minor = -1;
    CHECK(shadergen_version() == SHADERGEN_VERSION);
    shadergen_format_version(&major, &minor);
    CHECK(major >= 5 && minor >= 0);
    shadergen_format_version(NULL, NULL);
}

/* --- callbacks --- */

struct logged {
    int errors, infos;
    char last[256];
};

static void take_log(void *user, shadergen_log_level level, const char *text) {
    struct logged *const to = user;
    if (level == SHADERGEN_LOG_ERROR) ++to->errors;
    if (level == SHADERGEN_LOG_INFO) ++to->infos;
    snprintf(to->last, sizeof to->last, "%s", text);
}

FACT(the_logger_receives_errors_and_events) {
    struct logged log = {0, 0, ""};
    shadergen_load_desc desc = {.struct_size = sizeof desc,
                                .folder = "/nowhere",
                                .logger = take_log,
                                .logger_user = &log};
    shadergen_build *build;
    CHECK(shadergen_load(&desc, &build, NULL) == 502);
    CHECK(log.errors == 1 && strstr(log.last, "error[SG0502]: there is no build in '/nowhere'"));
    desc.folder = path_of("good_dynamic");
    GOOD(shadergen_load(&desc, &build, &error));
    CHECK(log.infos == 1 && strstr(log.last, "passes"));
    shadergen_runner_desc runner_desc = {.struct_size = sizeof runner_desc,
                                         .get_proc_address = find_gl,
                                         .logger = take_log,
                                         .logger_user = &log};
    shadergen_runner *runner;
    GOOD(shadergen_runner_create(build, &runner_desc, &runner, &error));
    CHECK(log.infos == 2);
    const shadergen_size sizes[] = {{"height", 4}, {"width", 8}};
    GOOD(shadergen_resize(runner, sizes, 2, &error));
    CHECK(log.infos == 3 && strstr(log.last, "height 4 width 8"));
    CHECK(shadergen_run(runner, NULL) == 605);
    CHECK(log.errors == 2);
    shadergen_runner_destroy(runner);
    shadergen_build_destroy(build);
}

static shadergen_function find_counted(void *user, const char *name) {
    ++*(int *)user;
    return find_gl(name);
}

FACT(a_loader_gets_the_pointer_of_its_user) {
    shadergen_build *const build = load("good");
    int count = 0;
    shadergen_runner_desc desc = {.struct_size = sizeof desc,
                                  .get_proc_address_user = find_counted,
                                  .proc_address_user = &count};
    shadergen_runner *runner;
    GOOD(shadergen_runner_create(build, &desc, &runner, &error));
    CHECK(count > 50);
    shadergen_runner_destroy(runner);
    desc.get_proc_address = find_gl;
    REFUSED(shadergen_runner_create(build, &desc, &runner, &error), 605, "both");
    shadergen_build_destroy(build);
}

FACT(the_variant_for_the_context_is_loaded) {
    shadergen_load_desc desc = {.struct_size = sizeof desc, .folder = path_of("good_variants")};
    shadergen_build *build;
    GOOD(shadergen_load(&desc, &build, &error));
    CHECK(!*shadergen_build_variant(build));
    shadergen_build_destroy(build);
    desc.get_proc_address = find_gl;
    GOOD(shadergen_load(&desc, &build, &error));
    CHECK(!strcmp(shadergen_build_variant(build), "software"));
    shadergen_build_destroy(build);
}

FACT(a_callback_that_gives_no_data_is_refused) {
    shadergen_load_desc desc = {.struct_size = sizeof desc, .read_file = give_nothing};
    shadergen_build *build;
    REFUSED(shadergen_load(&desc, &build, &error), 503, "schedule.json"); /* an empty one */
    desc.read_file_user = &desc;
    REFUSED(shadergen_load(&desc, &build, &error), 505, "the callback gave no data for 'schedule.json'");
}

/* --- threads --- */

static void *use_build(void *build) {
    shadergen_port_info info = {.struct_size = sizeof info};
    shadergen_error *error = NULL;
    size_t wrong = 0;
    for (int i = 0; i < 100; ++i) {
        wrong += shadergen_build_get_output(build, 1, &info, NULL) != 0 || strcmp(info.name, "inverted") != 0;
        wrong += shadergen_build_get_output(build, 9, &info, &error) != 605;
        shadergen_error_free(error);
    }
    return wrong ? build : NULL;
}

FACT(several_threads_use_one_build) {
    shadergen_build *const build = load("good");
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, use_build, build));
    for (int i = 0; i < 4; ++i) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    shadergen_build_destroy(build);
}

#define ENTRY(name) {#name, name}
static const struct {
    const char *name;
    void (*check)(void);
} facts[] = {
    ENTRY(a_frame_computes_what_the_build_states),
    ENTRY(a_build_of_dynamic_sizes_is_resized),
    ENTRY(textures_of_the_application_are_read_and_written),
    ENTRY(an_abandoned_runner_starts_again),
    ENTRY(passes_are_timed_where_the_gl_can),
    ENTRY(state_is_saved_if_the_descriptor_asks_for_it),
    ENTRY(nulls_are_refused_by_name),
    ENTRY(mistakes_are_answered_in_words),
    ENTRY(a_loader_that_finds_nothing_is_refused),
    ENTRY(descriptors_of_other_versions_are_taken_or_refused),
    ENTRY(the_library_has_the_version_of_its_header),
    ENTRY(the_logger_receives_errors_and_events),
    ENTRY(a_loader_gets_the_pointer_of_its_user),
    ENTRY(the_variant_for_the_context_is_loaded),
    ENTRY(a_callback_that_gives_no_data_is_refused),
    ENTRY(several_threads_use_one_build),
};

int main(int count, char **arguments) {
    if (count != 2) return 2;
    fixtures = arguments[1];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; ++i) {
        *failure = 0;
        open_context();
        facts[i].check();
        close_context();
        printf("%s %s%s%s\n", *failure ? "failed" : "ok", facts[i].name, *failure ? ": " : "", failure);
    }
    return 0;
}
