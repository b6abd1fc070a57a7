// The runners of shadergen.h.

#include <algorithm>

#include "c_api.hpp"

using namespace shadergen;
using namespace shadergen::c;

struct shadergen_runner {
    Runner runner;
    Loader loader;
    Logger logger;
    std::vector<std::string> inputs, outputs;  // their names
};

namespace {

using Names = std::vector<std::string> shadergen_runner::*;

std::vector<std::string> names_of(const std::vector<PortInfo>& ports) {
    std::vector<std::string> names;
    names.reserve(ports.size());
    for (const PortInfo& port : ports) names.push_back(port.name);
    return names;
}

Options options_of(const shadergen_runner_desc& desc, const Loader& loader) {
    Options options;
    options.get_proc_address = loader.function();
    options.restore_state = desc.restore_state != 0;
    if (desc.program_cache) options.program_cache = desc.program_cache;
    return options;
}

Error init(shadergen_runner& runner) {
    const Scope scope(runner.loader);
    Error error = runner.runner.init();
    if (!error && runner.logger) {
        const Build build = runner.runner.build();
        runner.logger(SHADERGEN_LOG_INFO,
                      say("'{}' is ready: {} passes, {} bytes of textures",
                          {build.model(), build.passes(), build.texture_bytes()}));
    }
    return error;
}

// Call a runner, if there is one.
template <class Call>
int with(const shadergen_runner* runner, shadergen_error** error, Call call) {
    return guarded([&] {
        if (!runner) return answer(null_argument("runner"), error);
        return answer(call(), error, runner->logger);
    });
}

// Call it with the name of an input or output, for which NULL stands if there is one only.
template <class Call>
int with_port(const shadergen_runner* runner, Names names, const char* name,
              shadergen_error** error, Call call) {
    return with(runner, error, [&]() -> Error {
        if (name) return call(name);
        const std::vector<std::string>& known = runner->*names;
        if (known.size() == 1) return call(known[0].c_str());
        Error wrong;
        for (const std::string& each : known) enlist(wrong.supported, each);
        wrong.help = "give its name";
        fail(wrong, "SG0605", "the build has {} {}",
             {known.size(), names == &shadergen_runner::inputs ? "inputs" : "outputs"});
        return wrong;
    });
}

// Call `use` with a null pointer of the type of a dtype's elements.
template <class Use>
Error with_type(shadergen_dtype type, Use use) {
    switch (type) {
        case SHADERGEN_FLOAT32: return use(static_cast<float*>(nullptr));
        case SHADERGEN_INT64: return use(static_cast<std::int64_t*>(nullptr));
        case SHADERGEN_INT32: return use(static_cast<std::int32_t*>(nullptr));
        case SHADERGEN_INT16: return use(static_cast<std::int16_t*>(nullptr));
        case SHADERGEN_INT8: return use(static_cast<std::int8_t*>(nullptr));
        case SHADERGEN_UINT64: return use(static_cast<std::uint64_t*>(nullptr));
        case SHADERGEN_UINT32: return use(static_cast<std::uint32_t*>(nullptr));
        case SHADERGEN_UINT16: return use(static_cast<std::uint16_t*>(nullptr));
        case SHADERGEN_UINT8: return use(static_cast<std::uint8_t*>(nullptr));
        case SHADERGEN_BOOL: return use(static_cast<bool*>(nullptr));
        default: break;
    }
    Error wrong;
    wrong.supported = "SHADERGEN_FLOAT32 (0) to SHADERGEN_BOOL (9)";
    fail(wrong, "SG0605", "there is no element type {}", {type});
    return wrong;
}

}  // namespace

extern "C" {

int shadergen_runner_create(const shadergen_build* build, const shadergen_runner_desc* desc,
                            shadergen_runner** runner, shadergen_error** error) {
    return guarded([&] {
        if (runner) *runner = nullptr;
        Error wrong;
        shadergen_runner_desc known = {};
        if (!take(desc, "shadergen_runner_desc", known, wrong))
            return answer(std::move(wrong), error);
        const Logger logger = {known.logger, known.logger_user};
        if (!runner) return answer(null_argument("runner"), error, logger);
        if (!build) return answer(null_argument("build"), error, logger);
        const Loader loader = {known.get_proc_address, known.get_proc_address_user,
                               known.proc_address_user};
        if (!loader.check(wrong)) return answer(std::move(wrong), error, logger);
        auto* const made =
            new shadergen_runner{Runner(build->build, options_of(known, loader)), loader, logger,
                                 names_of(build->inputs), names_of(build->outputs)};
        wrong = init(*made);
        if (wrong) delete made;
        else *runner = made;
        return answer(std::move(wrong), error, logger);
    });
}

void shadergen_runner_destroy(shadergen_runner* runner) { delete runner; }

void shadergen_runner_abandon(shadergen_runner* runner) {
    if (runner) runner->runner.abandon();
}

int shadergen_runner_init(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return init(*runner); });
}

shadergen_build* shadergen_runner_build(const shadergen_runner* runner) {
    return guarded([&] { return runner ? new shadergen_build(runner->runner.build()) : nullptr; });
}

int shadergen_resize(shadergen_runner* runner, const shadergen_size* sizes, size_t count,
                     shadergen_error** error) {
    return with(runner, error, [&] {
        std::vector<Size> taken;
        Error wrong;
        if (!take_sizes(sizes, count, taken, wrong)) return wrong;
        wrong = runner->runner.resize(taken);
        if (!wrong && runner->logger) {
            std::string text = "resized:";
            for (const Size& size : runner->runner.build().sizes())
                tell(text, " {} {}", {size.name, size.value});
            runner->logger(SHADERGEN_LOG_INFO, text);
        }
        return wrong;
    });
}

int shadergen_bind_input(shadergen_runner* runner, const char* name, unsigned texture,
                         shadergen_error** error) {
    return with_port(runner, &shadergen_runner::inputs, name, error,
                     [&](const char* port) { return runner->runner.bind_input(port, texture); });
}

int shadergen_bind_input_layers(shadergen_runner* runner, const char* name,
                                const unsigned* textures, size_t count, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::inputs, name, error, [&](const char* port) {
        if (!textures) return null_argument("array of textures");
        return runner->runner.bind_input(port, textures, count);
    });
}

int shadergen_bind_input_external(shadergen_runner* runner, const char* name, unsigned texture,
                                  const float* matrix, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::inputs, name, error, [&](const char* port) {
        if (!matrix) return null_argument("matrix");
        return runner->runner.bind_input(port, texture, matrix);
    });
}

int shadergen_bind_output(shadergen_runner* runner, const char* name, unsigned texture,
                          shadergen_error** error) {
    return with_port(runner, &shadergen_runner::outputs, name, error,
                     [&](const char* port) { return runner->runner.bind_output(port, texture); });
}

int shadergen_bind_output_layers(shadergen_runner* runner, const char* name,
                                 const unsigned* textures, size_t count, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::outputs, name, error, [&](const char* port) {
        if (!textures) return null_argument("array of textures");
        return runner->runner.bind_output(port, textures, count);
    });
}

int shadergen_bind_output_framebuffer(shadergen_runner* runner, const char* name,
                                      unsigned framebuffer, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::outputs, name, error, [&](const char* port) {
        return runner->runner.bind_output_framebuffer(port, framebuffer);
    });
}

int shadergen_output_texture(const shadergen_runner* runner, const char* name, int layer,
                             unsigned* texture, shadergen_error** error) {
    if (texture) *texture = 0;
    return with_port(runner, &shadergen_runner::outputs, name, error, [&](const char* port) {
        if (!texture) return null_argument("texture");
        const Result<unsigned> result = runner->runner.output_texture(port, layer);
        *texture = result.value;
        return result.error;
    });
}

int shadergen_upload(shadergen_runner* runner, const char* name, shadergen_dtype type,
                     const void* data, size_t count, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::inputs, name, error, [&](const char* port) {
        if (!data) return null_argument("data");
        return with_type(type, [&](auto* element) {
            return runner->runner.upload(
                port, static_cast<decltype(element)>(const_cast<void*>(data)), count);
        });
    });
}

int shadergen_read(shadergen_runner* runner, const char* name, shadergen_dtype type, void* data,
                   size_t count, shadergen_error** error) {
    return with_port(runner, &shadergen_runner::outputs, name, error, [&](const char* port) {
        if (!data) return null_argument("data");
        return with_type(type, [&](auto* element) {
            return runner->runner.read(port, static_cast<decltype(element)>(data), count);
        });
    });
}

int shadergen_run(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return runner->runner.run(); });
}

int shadergen_run_timed(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return runner->runner.run(true); });
}

size_t shadergen_timings(shadergen_runner* runner, double* milliseconds, size_t capacity) {
    if (!runner) return 0;
    const auto times = guarded([&] { return runner->runner.timings(); });
    if (milliseconds) std::copy_n(times.begin(), std::min(capacity, times.size()), milliseconds);
    return times.size();
}

int shadergen_wait(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return runner->runner.wait(); });
}

int shadergen_check(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return runner->runner.check(); });
}

int shadergen_save_state(shadergen_runner* runner, shadergen_error** error) {
    return with(runner, error, [&] { return runner->runner.save_state(); });
}

}  // extern "C"
