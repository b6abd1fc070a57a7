/* load: read builds from standard input through the C interface, one a line: a folder, and after tabs
   NAME=SIZE, or from=memory or from=callback. Write for each what shadergen_load() says, as a line of
   JSON: the parts of the error, or what was loaded. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shadergen/shadergen.h"

enum { longest = 4096, most = 32 };

static char *read_whole(const char *folder, const char *path, size_t *size) {
    char place[longest];
    snprintf(place, sizeof place, "%s/%s", folder, path);
    struct stat status;
    FILE *const file = fopen(place, "rb");
    if (!file || fstat(fileno(file), &status) || !S_ISREG(status.st_mode)) {
        if (file) fclose(file);
        return NULL;
    }
    char *const data = malloc((size_t)status.st_size + 1);
    *size = fread(data, 1, (size_t)status.st_size, file);
    fclose(file);
    return data;
}

/* The last file that was given is freed with the next. */
struct folder {
    const char *path;
    char *last;
};

static int give(void *user, const char *path, const void **data, size_t *size) {
    struct folder *const from = user;
    free(from->last);
    from->last = read_whole(from->path, path, size);
    *data = from->last;
    return from->last != NULL;
}

static void text(const char *words) {
    putchar('"');
    for (; *words; ++words) {
        const unsigned char c = (unsigned char)*words;
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 0x20) printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void member(const char *name, const char *words) {
    printf("\"%s\": ", name);
    text(words);
}

static void print_error(const shadergen_error *error, int status) {
    printf("{\"status\": %d, ", status);
    member("code", shadergen_error_code(error));
    printf(", \"where\": [");
    for (size_t i = 0; i < shadergen_error_where_count(error); ++i) {
        printf("%s", i ? ", " : "");
        text(shadergen_error_where(error, i));
    }
    printf("], ");
    member("what", shadergen_error_what(error));
    printf(", ");
    member("why", shadergen_error_why(error));
    printf(", ");
    member("help", shadergen_error_help(error));
    printf(", ");
    member("rendered", shadergen_error_text(error));
    printf("}\n");
}

typedef int (*get_port)(const shadergen_build *, size_t, shadergen_port_info *, shadergen_error **);

static void print_ports(const char *kind, get_port get, const shadergen_build *build, size_t count) {
    printf("\"%s\": [", kind);
    for (size_t i = 0; i < count; ++i) {
        shadergen_port_info info = {.struct_size = sizeof info};
        if (get(build, i, &info, NULL)) exit(4);
        printf("%s{", i ? ", " : "");
        member("name", info.name);
        printf(", \"shape\": [");
        for (size_t k = 0; k < info.rank; ++k)
            printf("%s%lld", k ? ", " : "", (long long)info.shape[k]);
        printf("], \"count\": %zu, \"dtype\": %d, \"encoding\": %d, \"kind\": %d, ", info.count,
               info.dtype, info.encoding, info.kind);
        printf("\"size\": [%d, %d, %d, %d], \"gl_format\": %u, ", info.width, info.height,
               info.layers, info.textures, (unsigned)info.gl_format);
        member("format", info.format);
        printf("}");
    }
    printf("]");
}

static void print_build(const shadergen_build *build) {
    shadergen_build_stats stats = {.struct_size = sizeof stats};
    if (shadergen_build_get_stats(build, &stats, NULL)) exit(4);
    printf("{");
    member("model", shadergen_build_model(build));
    printf(", ");
    member("variant", shadergen_build_variant(build));
    printf(", ");
    print_ports("inputs", shadergen_build_get_input, build, stats.inputs);
    printf(", ");
    print_ports("outputs", shadergen_build_get_output, build, stats.outputs);
    printf(", \"passes\": [");
    for (size_t i = 0; i < stats.passes; ++i) {
        shadergen_pass_info info = {.struct_size = sizeof info};
        if (shadergen_build_get_pass(build, i, &info, NULL)) exit(4);
        printf("%s{", i ? ", " : "");
        member("name", info.name);
        printf(", \"compute\": %d, \"macs\": %lld, \"read\": %lld, \"written\": %lld}",
               info.is_compute, (long long)info.multiply_adds, (long long)info.bytes_read,
               (long long)info.bytes_written);
    }
    printf("], \"sizes\": {");
    const shadergen_size *const sizes = shadergen_build_sizes(build);
    for (size_t i = 0; i < shadergen_build_size_count(build); ++i) {
        printf("%s", i ? ", " : "");
        text(sizes[i].name);
        printf(": %lld", (long long)sizes[i].value);
    }
    printf("}, \"texture_bytes\": %lld, \"weight_bytes\": %lld, \"macs\": %lld}\n",
           (long long)stats.texture_bytes, (long long)stats.weight_bytes,
           (long long)stats.multiply_adds);
}

/* The files of a build in memory, by the paths that its schedule names: all that are quoted in it. */
static size_t read_all(const char *folder, shadergen_file *files) {
    static const char *const known[] = {"schedule.json", "weights.bin", "shaders/fullscreen.vert"};
    static char paths[most][256];
    size_t count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        snprintf(paths[count], sizeof paths[count], "%s", known[i]);
        files[count].data = read_whole(folder, paths[count], &files[count].size);
        files[count].path = paths[count];
        if (files[count].data) ++count;
    }
    if (!count) return 0;
    const char *const end = (const char *)files[0].data + files[0].size;
    for (const char *at = files[0].data; at + 9 < end && count < most; ++at) {
        if (memcmp(at, "\"shaders/", 9)) continue;
        const char *const close = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (!close || close - at > 255) continue;
        snprintf(paths[count], sizeof paths[count], "%.*s", (int)(close - at - 1), at + 1);
        files[count].data = read_whole(folder, paths[count], &files[count].size);
        files[count].path = paths[count];
        if (files[count].data) ++count;
    }
    return count;
}

int main(void) {
    static char line[2 * longest];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        const char *const folder = strtok(line, "\t");
        shadergen_size sizes[most];
        shadergen_file files[most];
        shadergen_load_desc desc = {.struct_size = sizeof desc, .folder = folder, .sizes = sizes};
        struct folder from = {folder, NULL};
        for (char *word; (word = strtok(NULL, "\t")) != NULL;) {
            char *const equals = strchr(word, '=');
            *equals = 0;
            if (strcmp(word, "from")) {
                sizes[desc.size_count].name = word;
                sizes[desc.size_count++].value = atoll(equals + 1);
                continue;
            }
            desc.folder = NULL;
            if (!strcmp(equals + 1, "callback")) {
                desc.read_file = give;
                desc.read_file_user = &from;
            } else {
                desc.files = files;
                desc.file_count = read_all(folder, files);
            }
        }
        shadergen_build *build;
        shadergen_error *error;
        const int status = shadergen_load(&desc, &build, &error);
        free(from.last);
        if (status) print_error(error, status);
        else print_build(build);
        shadergen_error_free(error);
        shadergen_build_destroy(build);
        for (size_t i = 0; i < desc.file_count; ++i) free((void *)files[i].data);
        fflush(stdout);
    }
    return 0;
}
