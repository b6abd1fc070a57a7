/* An application that ships an ESPCN, 16x24 to 32x48, without files. A grey picture stays grey. */
#include "context.h"
#include "upscaler/upscaler.h"

enum { pixels = 16 * 24 };

int main(void) {
    static float low[pixels], high[4 * pixels];
    shadergen_load_desc desc = {.struct_size = sizeof desc,
                                .files = upscaler_files,
                                .file_count = upscaler_file_count};
    shadergen_runner_desc runner_desc = {.struct_size = sizeof runner_desc,
                                         .get_proc_address = find_gl};
    shadergen_build *build;
    shadergen_runner *runner;
    for (int i = 0; i < pixels; ++i) low[i] = 0.5F;
    open_context();
    if (shadergen_load(&desc, &build, NULL) ||
        shadergen_runner_create(build, &runner_desc, &runner, NULL) ||
        shadergen_upload(runner, NULL, SHADERGEN_FLOAT32, low, pixels, NULL) ||
        shadergen_run(runner, NULL) ||
        shadergen_read(runner, NULL, SHADERGEN_FLOAT32, high, 4 * pixels, NULL))
        return 1;
    shadergen_runner_destroy(runner);
    shadergen_build_destroy(build);
    close_context();
    const float middle = high[16 * 48 + 24];
    return middle > 0.45F && middle < 0.55F ? 0 : 2;
}
