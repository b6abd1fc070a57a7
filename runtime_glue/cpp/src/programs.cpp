#include "programs.hpp"

#include <algorithm>
#include <cstdio>

#include "cache.hpp"
#include "commands.hpp"
#include "text.hpp"

namespace shadergen {

namespace {

constexpr Uint invalid_index = 0xFFFFFFFF;

template <class Get, class GetLog>
std::string log_of(Get get, GetLog get_log, Name name) {
    Int length = 0;
    get(name, gl::INFO_LOG_LENGTH, &length);
    std::string text;
    text.resize(static_cast<std::size_t>(std::max(length, 0)) + 1);
    Int written = 0;
    get_log(name, static_cast<Int>(text.size()), &written, text.data());
    text.resize(static_cast<std::size_t>(std::max(written, 0)));
    return text;
}

bool pass_fails(Error& error, const char* code, const char* what, Words words,
                std::string_view path, const Pass& pass) {
    locate(error, path);
    locate(error, "pass {}", {pass.name});
    return fail(error, code, what, words);
}

bool shader_fails(Error& error, const char* what, std::string_view which, std::string_view log,
                  std::string_view path, const Pass& pass) {
    pass_fails(error, "SG0603", what, {which}, path, pass);
    std::string layers;
    for (const Value layer : pass.layers) enlist(layers, layer.text());
    if (!layers.empty()) locate(error, "layers {}", {layers});
    error.why = log.empty() ? "the driver gives no reason" : log;
    error.help =
        "copy the whole build folder again, or compile the model again\n"
        "if the build is intact, report this with the driver's name, which "
        "'shadergen doctor' shows";
    return false;
}

// Mesa: 0:12(5): error, ANGLE and Adreno: ERROR: 0:12:, NVIDIA: 0(12) : error
std::size_t line_of(std::string_view complaint) {
    std::size_t i = 0;
    const auto at = [&](std::size_t k) { return k < complaint.size() ? complaint[k] : '\0'; };
    const auto skip = [&](auto wanted) {
        const std::size_t start = i;
        while (wanted(at(i))) ++i;
        return i > start;
    };
    const auto space = [](char c) { return c == ' ' || c == '\t'; };
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    skip(space);
    if (skip(letter)) {
        if (at(i++) != ':') return 0;
        skip(space);
    }
    if (!skip(digit) || (at(i) != ':' && at(i) != '(')) return 0;
    std::size_t number = 0;
    for (++i; digit(at(i)) && number < 10000000; ++i)
        number = number * 10 + static_cast<std::size_t>(at(i) - '0');
    return number;
}

List<std::string_view> lines_of(std::string_view text) {
    List<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return lines;
}

std::string_view stripped(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

namespace {

struct Complaint {
    std::size_t line;
    std::string_view words;

    bool operator<(const Complaint& other) const {
        return line != other.line ? line < other.line : words.data() < other.words.data();
    }
};

}  // namespace

std::string interleave(std::string_view log, std::string_view source) {
    constexpr std::size_t context = 3, most = 100;
    const List<std::string_view> lines = lines_of(source);
    List<Complaint> complaints;
    std::string shown, loose;
    std::size_t read = 0;
    for (const std::string_view line : lines_of(log)) {
        if (++read > most) break;
        const std::size_t number = line_of(line);
        const std::string_view words = stripped(line);
        if (number >= 1 && number <= lines.size()) complaints.push_back({number, words});
        else if (!words.empty()) tell(loose, "{}\n", {words});
    }
    sort(complaints);
    std::size_t last = 0;
    for (const auto& [number, words] : complaints) {
        for (std::size_t n = std::max(last + 1, number > context ? number - context : 1);
             n <= number; ++n) {
            char digits[24];
            std::snprintf(digits, sizeof digits, "%4zu", n);
            tell(shown, "{} | {}\n", {digits, lines[n - 1]});
        }
        tell(shown, "     ^ {}\n", {words});
        last = number;
    }
    shown += loose;
    if (!shown.empty()) shown.resize(shown.size() - 1);
    return shown;
}

void Programs::group(const Source& source, const Schedule& schedule) {
    for (std::size_t i = 0; i < schedule.passes.size(); ++i) {
        const Pass& pass = schedule.passes[i];
        const std::string_view shader = source.shader(pass.shader)->text;
        const std::string_view vertex =
            pass.is_compute ? std::string_view() : source.shader(pass.vertex)->text;
        std::size_t k = 0;
        while (k < linked_.size() && !(linked_[k].compute == pass.is_compute &&
                                       linked_[k].shader == shader && linked_[k].vertex == vertex))
            ++k;
        if (k == linked_.size()) {
            Linked& made = linked_.add();
            made.compute = pass.is_compute, made.shader = shader, made.vertex = vertex;
        }
        linked_[k].users.push_back(i);
    }
}

Name Programs::stage(const GL& gl, Enum kind, std::string_view text) {
    for (const Stage& known : stages_)
        if (known.kind == kind && known.text == text) return known.name;
    const Name name = gl.CreateShader(kind);
    const char* const start = text.empty() ? "" : text.data();
    const Int length = static_cast<Int>(text.size());
    gl.ShaderSource(name, 1, &start, &length);
    gl.CompileShader(name);
    stages_.push_back({kind, text, name});
    return name;
}

bool Programs::build(const GL& gl, const Device& device, Objects& objects, const Source& source,
                     const Schedule& schedule, const std::string& cache, Error& error) {
    group(source, schedule);
    passes.resize(schedule.passes.size());
    const bool cached = !cache.empty() && gl.integer(gl::NUM_PROGRAM_BINARY_FORMATS) > 0;
    // first start all, then ask: drivers may compile side by side
    for (Linked& linked : linked_) {
        linked.name = objects.make(Objects::program);
        if (cached) {
            const std::string key = cache_key(device, linked.vertex, linked.shader);
            linked.from_cache = load_program(gl, cache, key, linked.name);
            if (linked.from_cache) continue;
            gl.ProgramParameteri(linked.name, gl::PROGRAM_BINARY_RETRIEVABLE_HINT, 1);
        }
        if (linked.compute) {
            gl.AttachShader(linked.name, stage(gl, gl::COMPUTE_SHADER, linked.shader));
        } else {
            gl.AttachShader(linked.name, stage(gl, gl::VERTEX_SHADER, linked.vertex));
            gl.AttachShader(linked.name, stage(gl, gl::FRAGMENT_SHADER, linked.shader));
        }
        gl.LinkProgram(linked.name);
    }
    bool good = true;
    for (const Linked& linked : linked_) {
        if (good && !linked.from_cache) {
            good = check(gl, linked, schedule.passes[linked.users[0]], error);
            if (good && cached)
                keep_program(gl, cache, cache_key(device, linked.vertex, linked.shader),
                             linked.name);
        }
        good = good && configure(gl, linked, schedule, error);
    }
    for (const Stage& made : stages_) gl.DeleteShader(made.name);
    stages_.clear();
    if (good) set_uniforms(gl, schedule);
    gl.UseProgram(0);
    return good;
}

bool Programs::check(const GL& gl, const Linked& linked, const Pass& pass, Error& error) const {
    Int done = 0;
    gl.GetProgramiv(linked.name, gl::LINK_STATUS, &done);
    if (done) return true;
    for (const Stage& made : stages_) {
        const bool vertex = made.kind == gl::VERTEX_SHADER;
        if (made.text != (vertex ? linked.vertex : linked.shader)) continue;
        gl.GetShaderiv(made.name, gl::COMPILE_STATUS, &done);
        if (done) continue;
        const std::string_view path = vertex ? pass.vertex : pass.shader;
        const std::string log = log_of(gl.GetShaderiv, gl.GetShaderInfoLog, made.name);
        return shader_fails(error, "the shader '{}' does not compile", path,
                            interleave(log, made.text), path, pass);
    }
    return shader_fails(error, "the shaders of pass '{}' do not link", pass.name,
                        log_of(gl.GetProgramiv, gl.GetProgramInfoLog, linked.name), pass.shader,
                        pass);
}

bool Programs::configure(const GL& gl, const Linked& linked, const Schedule& schedule,
                         Error& error) {
    Int size[3] = {};
    if (linked.compute) gl.GetProgramiv(linked.name, gl::COMPUTE_WORK_GROUP_SIZE, size);
    gl.UseProgram(linked.name);
    List<std::string_view> samplers;  // by unit
    for (const std::size_t user : linked.users) {
        const Pass& pass = schedule.passes[user];
        PassProgram& to = passes[user];
        to.program = linked.name;
        const std::array<std::int64_t, 3> actual = {size[0], size[1], size[2]};
        if (pass.is_compute && pass.workgroup != actual)
            return pass_fails(
                error, "SG0503", "the schedule states workgroup {}, the shader has {}",
                {joined(pass.workgroup.data(), 3, "x"), joined(actual.data(), 3, "x")}, pass.shader,
                pass);
        for (const Read& read : pass.reads) {
            if (read.is_image()) continue;
            to.matrices.push_back(
                read.matrix.empty() ? -1 : gl.GetUniformLocation(linked.name, read.matrix.data()));
            const std::size_t unit = find(samplers, read.uniform);
            to.units.push_back(static_cast<Uint>(unit));
            if (unit < samplers.size()) continue;
            samplers.push_back(read.uniform);
            gl.Uniform1i(gl.GetUniformLocation(linked.name, read.uniform.data()),
                         static_cast<Int>(unit));
        }
        for (const Uniform& uniform : pass.uniforms)
            to.locations.push_back(gl.GetUniformLocation(linked.name, uniform.name.data()));
    }
    return bind_blocks(gl, linked, schedule, error);
}

bool Programs::bind_blocks(const GL& gl, const Linked& linked, const Schedule& schedule,
                           Error& error) {
    List<std::string_view> bound;  // uniform blocks, by binding
    for (const std::size_t user : linked.users) {
        const Pass& pass = schedule.passes[user];
        for (const Block& block : pass.blocks) {
            const Buffer& buffer = schedule.buffers[at(block.buffer)];
            const char* const name = block.block.data();
            Binding binding;
            Int needed = 0;
            if (buffer.is_storage) {
                const Uint index =
                    gl.GetProgramResourceIndex(linked.name, gl::SHADER_STORAGE_BLOCK, name);
                const Enum wanted[] = {gl::BUFFER_BINDING, gl::BUFFER_DATA_SIZE};
                Int found[2] = {};
                if (index != invalid_index) {
                    // OpenGL ES lets only the shader choose the binding of a storage block
                    gl.GetProgramResourceiv(linked.name, gl::SHADER_STORAGE_BLOCK, index, 2, wanted,
                                            2, nullptr, found);
                    binding = {gl::SHADER_STORAGE_BUFFER, static_cast<Uint>(found[0])};
                    needed = found[1];
                }
            } else {
                const Uint index = gl.GetUniformBlockIndex(linked.name, name);
                if (index != invalid_index) {
                    const std::size_t known = find(bound, block.block);
                    binding = {gl::UNIFORM_BUFFER, static_cast<Uint>(known)};
                    if (known == bound.size()) {
                        bound.push_back(block.block);
                        gl.UniformBlockBinding(linked.name, index, binding.index);
                    }
                    gl.GetActiveUniformBlockiv(linked.name, index, gl::UNIFORM_BLOCK_DATA_SIZE,
                                               &needed);
                }
            }
            if (buffer.range.size < needed)
                return pass_fails(
                    error, "SG0503", "the buffer '{}' has {} bytes, the block {} takes {}",
                    {buffer.name, buffer.range.size, block.block, needed}, pass.shader, pass);
            passes[user].bindings.push_back(binding);
        }
    }
    return true;
}

void Programs::set_uniforms(const GL& gl, const Schedule& schedule) {
    struct Found {
        std::string_view name;
        const Uniform* value;
        bool varying;
    };
    List<Found> found;
    const auto known_as = [&](std::string_view name) {
        Found* known = found.begin();
        while (known != found.end() && known->name != name) ++known;
        return known;
    };
    for (const Linked& linked : linked_) {
        found.clear();
        for (const std::size_t user : linked.users)
            for (const Uniform& uniform : schedule.passes[user].uniforms) {
                auto* const known = known_as(uniform.name);
                if (known == found.end()) found.push_back({uniform.name, &uniform, false});
                else if (!(*known->value == uniform)) known->varying = true;
            }
        gl.UseProgram(linked.name);
        for (const std::size_t user : linked.users) {
            const Pass& pass = schedule.passes[user];
            passes[user].varying.clear();
            for (std::size_t i = 0; i < pass.uniforms.size(); ++i) {
                auto* const known = known_as(pass.uniforms[i].name);
                passes[user].varying.push_back(known->varying ? 1 : 0);
                if (known->varying || known->value != &pass.uniforms[i]) continue;
                const Command set = set_uniform(pass.uniforms[i], passes[user].locations[i]);
                replay(gl, &set, &set + 1);
            }
        }
    }
    gl.UseProgram(0);
}

}  // namespace shadergen
