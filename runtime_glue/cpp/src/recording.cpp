#include "recording.hpp"

#include <algorithm>
#include <cstring>

namespace shadergen {

const Enum capabilities[] = {
    gl::BLEND,        gl::CULL_FACE,          gl::DEPTH_TEST,      gl::DITHER,
    gl::SCISSOR_TEST, gl::RASTERIZER_DISCARD, gl::SAMPLE_COVERAGE, gl::SAMPLE_ALPHA_TO_COVERAGE,
    gl::STENCIL_TEST, gl::COLOR_LOGIC_OP,     gl::POLYGON_SMOOTH,
};
const std::size_t desktop_capability_count = std::size(capabilities);
const std::size_t capability_count = desktop_capability_count - 2;

Touched touched_by(const Schedule& schedule, const List<PassProgram>& programs) {
    Touched touched;
    touched.units = 1;  // making and filling textures binds them to the first
    for (const PassProgram& program : programs) {
        for (const Uint unit : program.units) touched.units = std::max(touched.units, unit + 1);
        for (const Binding& binding : program.bindings)
            if (binding.target) add_once(touched.buffers, binding);
    }
    for (const Texture& texture : schedule.textures)
        touched.external = touched.external || texture.is_external;
    for (const Pass& pass : schedule.passes) {
        if (pass.is_compute) add_once(touched.images, static_cast<Uint>(pass.image));
        for (const Read& read : pass.reads)
            if (read.is_image()) add_once(touched.images, static_cast<Uint>(read.image));
    }
    return touched;
}

void Frame::record(const GL& gl, const Schedule& schedule, const Bound& bound) {
    calls.clear(), draws.clear(), textures_.clear(), buffers_.clear(), images_.clear();
    for (Command& last : last_) last = Command{};
    barrier_after = false;
    const std::size_t off = gl.desktop ? desktop_capability_count : capability_count;
    for (std::size_t i = 0; i < off; ++i) add(calls, Command::disable, {capabilities[i]});
    if (gl.desktop) add(calls, Command::polygon_mode, {gl::FILL});
    add(calls, Command::color_mask, {1, 1, 1, 1});
    add(calls, Command::bind_vertex_array, {bound.vertex_array});
    Uint units = 0;
    for (const PassProgram& program : *bound.programs)
        for (const Uint unit : program.units) units = std::max(units, unit + 1);
    samplers_.clear();
    for (Uint unit = 0; unit < units; ++unit) {
        add(calls, Command::bind_sampler, {unit, bound.sampler});
        samplers_.push_back(bound.sampler);
    }
    for (std::size_t i = 0; i < schedule.passes.size(); ++i) record_pass(schedule, bound, i);
}

void Frame::leave_at_zero(const Touched& touched, Commands& after) {
    after.clear();
    for (const Uint unit : touched.images)
        add(after, Command::bind_image, {unit, 0, 0, 0, 0, gl::READ_ONLY, gl::RGBA32F});
    for (Uint unit = touched.units; unit-- > 0;) {  // and end at the first
        add(after, Command::active_texture, {gl::TEXTURE0 + unit});
        for (const Enum target : {gl::TEXTURE_2D, gl::TEXTURE_2D_ARRAY})
            add(after, Command::bind_texture, {target, 0});
        if (touched.external) add(after, Command::bind_texture, {gl::TEXTURE_EXTERNAL_OES, 0});
        add(after, Command::bind_sampler, {unit, 0});
    }
    for (const Binding& binding : touched.buffers)
        add(after, Command::bind_buffer_base, {binding.target, binding.index, 0});
    add(after, Command::bind_vertex_array, {0});
    add(after, Command::bind_framebuffer, {gl::DRAW_FRAMEBUFFER, 0});
    add(after, Command::use_program, {0});
}

void Frame::record_pass(const Schedule& schedule, const Bound& bound, std::size_t index) {
    static constexpr Enum barriers[][2] = {
        {texture_barrier, gl::TEXTURE_FETCH_BARRIER_BIT},
        {image_barrier, gl::SHADER_IMAGE_ACCESS_BARRIER_BIT},
        {framebuffer_barrier, gl::FRAMEBUFFER_BARRIER_BIT},
    };
    const Pass& pass = schedule.passes[index];
    Enum bits = 0;
    for (const auto& [stated, bit] : barriers)
        if (pass.barriers & stated) bits |= bit;
    if (bits) add(calls, Command::memory_barrier, {bits});
    barrier_after = barrier_after || pass.uses_images();
    const PassProgram& program = (*bound.programs)[index];
    set(Command::use_program, {program.program});
    bind_reads(schedule, bound, index);
    bind_blocks(schedule, bound, index);
    for (std::size_t i = 0; i < pass.uniforms.size(); ++i)
        if (program.varying[i])
            calls.push_back(set_uniform(pass.uniforms[i], program.locations[i]));
    if (pass.is_compute) {
        const Write& write = pass.writes[0];
        bind_image(schedule, bound, pass.image, write.texture, write.layer, gl::WRITE_ONLY);
        const auto group = [&](std::size_t i) { return static_cast<Uint>(pass.groups[i]); };
        add(calls, Command::dispatch, {group(0), group(1), group(2)});
    } else {
        set(Command::bind_framebuffer, {gl::DRAW_FRAMEBUFFER, (*bound.framebuffers)[index]});
        set(Command::viewport,
            {0, 0, static_cast<Uint>(pass.viewport[0]), static_cast<Uint>(pass.viewport[1])});
        add(calls, Command::draw, {});
    }
    draws.push_back(calls.size() - 1);
}

void Frame::bind_reads(const Schedule& schedule, const Bound& bound, std::size_t index) {
    const Pass& pass = schedule.passes[index];
    const PassProgram& program = (*bound.programs)[index];
    for (const Read& read : pass.reads)
        if (read.is_image())
            bind_image(schedule, bound, read.image, read.texture, read.layer, gl::READ_ONLY);
    std::size_t sampler = 0;
    for (const Read& read : pass.reads) {
        if (read.is_image()) continue;
        const Uint unit = program.units[sampler];
        const Int matrix = program.matrices[sampler++];
        const auto texture = at(read.texture);
        const auto layer = static_cast<std::size_t>(read.layer == none ? 0 : read.layer);
        const bool external = schedule.textures[texture].is_external;
        const Enum target = target_of(schedule.textures[texture]);
        const Name name = (*bound.textures)[texture][layer];
        if (replace(textures_, target, unit, name)) {
            set(Command::active_texture, {gl::TEXTURE0 + unit});
            add(calls, Command::bind_texture, {target, name});
        }
        // a frame is filtered as its own parameters say, since it has another size
        const Name wanted = external ? 0 : bound.sampler;
        if (samplers_[unit] != wanted) {
            samplers_[unit] = wanted;
            add(calls, Command::bind_sampler, {unit, wanted});
        }
        if (external) bind_external(bound, read.texture.index, matrix);
    }
}

void Frame::bind_external(const Bound& bound, std::int32_t texture, Int location) {
    for (const Matrix& matrix : *bound.matrices) {
        if (matrix.texture != texture) continue;
        add(calls, Command::matrix, {static_cast<Uint>(location)});
        calls.back().numbers = matrix.numbers;
    }
}

void Frame::bind_blocks(const Schedule& schedule, const Bound& bound, std::size_t index) {
    const Pass& pass = schedule.passes[index];
    for (std::size_t i = 0; i < pass.blocks.size(); ++i) {
        const Binding& binding = (*bound.programs)[index].bindings[i];
        if (!binding.target) continue;
        const Name name = (*bound.buffers)[at(pass.blocks[i].buffer)];
        if (replace(buffers_, binding.target, binding.index, name))
            add(calls, Command::bind_buffer_base, {binding.target, binding.index, name});
    }
}

// All layers of an array, or one 2D texture.
void Frame::bind_image(const Schedule& schedule, const Bound& bound, std::int32_t unit,
                       const Ref& texture, std::int32_t layer, Enum access) {
    const Texture& t = schedule.textures[at(texture)];
    const GLTextures& names = (*bound.textures)[at(texture)];
    const Name name = names[t.is_array || layer == none ? 0 : static_cast<std::size_t>(layer)];
    const auto at = static_cast<Uint>(unit);
    const Command bind = call(Command::bind_image,
                              {at, name, 0, t.is_array ? 1U : 0U, 0, access, t.format->internal});
    for (Image& known : images_) {
        if (known.unit != at) continue;
        if (std::memcmp(known.command.a, bind.a, sizeof bind.a) == 0) return;
        known.command = bind;
        calls.push_back(bind);
        return;
    }
    images_.push_back({at, bind});
    calls.push_back(bind);
}

bool Frame::replace(List<Place>& places, Enum target, Uint index, Name name) {
    for (Place& place : places) {
        if (place.target != target || place.index != index) continue;
        const bool other = place.name != name;
        place.name = name;
        return other;
    }
    places.push_back({target, index, name});
    return true;
}

// Record a call unless the last one of its kind was the same.
void Frame::set(Command::Kind kind, std::initializer_list<Uint> arguments) {
    const Command wanted = call(kind, arguments);
    Command& last = last_[kind];
    if (last.kind == kind && std::memcmp(last.a, wanted.a, sizeof wanted.a) == 0) return;
    last = wanted;
    calls.push_back(wanted);
}

}  // namespace shadergen
