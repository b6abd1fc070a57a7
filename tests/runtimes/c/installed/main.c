#include <shadergen/shadergen.h>
#include <stdio.h>

int main(int count, char **arguments) {
    if (count < 2) return 2;
    shadergen_build_stats stats = {.struct_size = sizeof stats};
    shadergen_build *build;
    shadergen_load(&(shadergen_load_desc){.struct_size = sizeof(shadergen_load_desc),
                                          .folder = arguments[1]},
                   &build, NULL);
    if (shadergen_build_get_stats(build, &stats, NULL)) return 1;
    printf("%zu passes\n", stats.passes);
    shadergen_build_destroy(build);
    return 0;
}
