// The builds of shadergen.h.

#include <algorithm>

#include "c_api.hpp"
#include "files.hpp"

using namespace shadergen;

namespace shadergen::c {

namespace {

std::size_t elements(const PortInfo& port) {
    std::size_t count = 1;  // that of a texture's content, which is of 8 GiB at most
    for (const std::int64_t size : port.shape) count *= static_cast<std::size_t>(size);
    return count;
}

bool check_index(const shadergen_build* build, const char* kind, std::size_t index,
                 std::size_t count, Error& error) {
    if (!build) {
        error = null_argument("build");
        return false;
    }
    if (index < count) return true;
    return fail(error, "SG0605", "index {} is out of range: the build has {} {}",
                {index, count, kind});
}

bool give_port(const PortInfo& port, shadergen_port_info* info, Error& error) {
    shadergen_port_info known = {};
    known.name = port.name.c_str();
    known.shape = port.shape.data(), known.rank = port.shape.size();
    known.count = elements(port);
    known.dtype = static_cast<shadergen_dtype>(port.dtype);
    known.encoding = static_cast<shadergen_encoding>(port.encoding);
    known.kind = port.is_external ? SHADERGEN_TEXTURE_EXTERNAL
                 : port.is_array  ? SHADERGEN_TEXTURE_ARRAY
                                  : SHADERGEN_TEXTURE_2D;
    known.width = port.width, known.height = port.height;
    known.layers = port.layers, known.textures = port.textures;
    known.format = port.format.c_str(), known.gl_format = port.gl_format;
    return give(info, "shadergen_port_info", known, error);
}

void add(std::int64_t& sum, std::int64_t more) {
    sum = sum > INT64_MAX - more ? INT64_MAX : sum + more;
}

// Whether one source of a build is given.
bool check_source(const shadergen_load_desc& desc, Error& error) {
    const int sources = !!desc.folder + !!desc.files + !!desc.read_file;
    if (sources != 1) {
        error.help = "set one of folder, files and read_file";
        return fail(error, "SG0605", "the shadergen_load_desc has {} sources of the build",
                    {sources});
    }
    if (!desc.files) return true;
    for (std::size_t i = 0; i < desc.file_count; ++i)
        if (!desc.files[i].path || (desc.files[i].size && !desc.files[i].data))
            return fail(error, "SG0605", "files[{}] has a path or data that is NULL", {i});
    return true;
}

Result<Build> load(const shadergen_load_desc& desc) {
    Result<Build> result;
    const Loader loader = {desc.get_proc_address, desc.get_proc_address_user,
                           desc.proc_address_user};
    std::vector<Size> sizes;
    if (!check_source(desc, result.error) || !loader.check(result.error) ||
        !take_sizes(desc.sizes, desc.size_count, sizes, result.error))
        return result;
    const Scope scope(loader);
    if (desc.folder) return shadergen::load(desc.folder, sizes, loader.function());
    if (desc.files) return shadergen::load(desc.files, desc.file_count, sizes, loader.function());
    return load_from(CallbackFiles(desc.read_file, desc.read_file_user), sizes, loader.function(),
                     {});
}

}  // namespace

BuildHandle::BuildHandle(Build of)
    : build(std::move(of)),
      model(build.model()),
      variant(build.variant()),
      inputs(build.inputs()),
      outputs(build.outputs()),
      names(build.sizes()) {
    for (std::size_t i = 0; i < build.passes(); ++i) passes.emplace_back(build.pass(i));
    for (const Size& size : names) sizes.push_back({size.name.c_str(), size.value});
}

}  // namespace shadergen::c

using namespace shadergen::c;

extern "C" {

int shadergen_load(const shadergen_load_desc* desc, shadergen_build** build,
                   shadergen_error** error) {
    return guarded([&] {
        if (build) *build = nullptr;
        Error wrong;
        shadergen_load_desc known = {};
        if (!take(desc, "shadergen_load_desc", known, wrong))
            return answer(std::move(wrong), error);
        const Logger logger = {known.logger, known.logger_user};
        if (!build) return answer(null_argument("build"), error, logger);
        Result<Build> result = shadergen::c::load(known);
        if (!result) return answer(std::move(result.error), error, logger);
        *build = new shadergen_build(std::move(result.value));
        if (logger) {
            std::string text =
                say("loaded '{}': {} passes", {(*build)->model, (*build)->passes.size()});
            if (!(*build)->variant.empty()) tell(text, ", variant '{}'", {(*build)->variant});
            logger(SHADERGEN_LOG_INFO, text);
        }
        return answer(error);
    });
}

void shadergen_build_destroy(shadergen_build* build) { delete build; }

const char* shadergen_build_model(const shadergen_build* build) {
    return build ? build->model.c_str() : "";
}

const char* shadergen_build_variant(const shadergen_build* build) {
    return build ? build->variant.c_str() : "";
}

size_t shadergen_build_size_count(const shadergen_build* build) {
    return build ? build->sizes.size() : 0;
}

const shadergen_size* shadergen_build_sizes(const shadergen_build* build) {
    return build && !build->sizes.empty() ? build->sizes.data() : nullptr;
}

int shadergen_build_get_stats(const shadergen_build* build, shadergen_build_stats* stats,
                              shadergen_error** error) {
    return guarded([&] {
        if (!build) return answer(null_argument("build"), error);
        shadergen_build_stats known = {};
        known.inputs = build->inputs.size(), known.outputs = build->outputs.size();
        known.passes = build->passes.size();
        known.texture_bytes = build->build.texture_bytes();
        known.weight_bytes = build->build.weight_bytes();
        for (std::size_t i = 0; i < known.passes; ++i) {
            const PassInfo pass = build->build.pass_info(i);
            add(known.multiply_adds, pass.multiply_adds);
            add(known.bytes_read, pass.bytes_read);
            add(known.bytes_written, pass.bytes_written);
        }
        Error wrong;
        give(stats, "shadergen_build_stats", known, wrong);
        return answer(std::move(wrong), error);
    });
}

int shadergen_build_get_pass(const shadergen_build* build, size_t index, shadergen_pass_info* info,
                             shadergen_error** error) {
    return guarded([&] {
        Error wrong;
        if (check_index(build, "passes", index, build ? build->passes.size() : 0, wrong)) {
            const PassInfo pass = build->build.pass_info(index);
            shadergen_pass_info known = {};
            known.name = build->passes[index].c_str();
            known.is_compute = pass.is_compute;
            known.multiply_adds = pass.multiply_adds;
            known.bytes_read = pass.bytes_read, known.bytes_written = pass.bytes_written;
            give(info, "shadergen_pass_info", known, wrong);
        }
        return answer(std::move(wrong), error);
    });
}

int shadergen_build_get_input(const shadergen_build* build, size_t index, shadergen_port_info* info,
                              shadergen_error** error) {
    return guarded([&] {
        Error wrong;
        if (check_index(build, "inputs", index, build ? build->inputs.size() : 0, wrong))
            give_port(build->inputs[index], info, wrong);
        return answer(std::move(wrong), error);
    });
}

int shadergen_build_get_output(const shadergen_build* build, size_t index,
                               shadergen_port_info* info, shadergen_error** error) {
    return guarded([&] {
        Error wrong;
        if (check_index(build, "outputs", index, build ? build->outputs.size() : 0, wrong))
            give_port(build->outputs[index], info, wrong);
        return answer(std::move(wrong), error);
    });
}

}  // extern "C"
