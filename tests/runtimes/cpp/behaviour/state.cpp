// The GL state that an application has, before and after.

#include <filesystem>
#include <fstream>

#include "promises.hpp"
#include "recording.hpp"

namespace promises {

namespace fs = std::filesystem;

namespace {

// Every state that the runtime could have touched.
std::vector<std::int64_t> state_of(const GL& gl) {
    std::vector<std::int64_t> state;
    const auto ask = [&](Enum what, std::size_t count = 1) {
        Int values[4] = {};
        gl.GetIntegerv(what, values);
        state.insert(state.end(), values, values + count);
    };
    const auto active = static_cast<Enum>(gl.integer(gl::ACTIVE_TEXTURE));
    state.push_back(active);
    for (Enum unit = 0; unit < 8; ++unit) {
        gl.ActiveTexture(gl::TEXTURE0 + unit);
        for (const Enum what :
             {gl::TEXTURE_BINDING_2D, gl::TEXTURE_BINDING_2D_ARRAY, gl::SAMPLER_BINDING})
            ask(what);
    }
    gl.ActiveTexture(active);
    for (Uint unit = 0; unit < 4; ++unit)
        for (const Enum what :
             {gl::IMAGE_BINDING_NAME, gl::IMAGE_BINDING_LEVEL, gl::IMAGE_BINDING_LAYERED,
              gl::IMAGE_BINDING_LAYER, gl::IMAGE_BINDING_ACCESS, gl::IMAGE_BINDING_FORMAT}) {
            Int value = 0;
            gl.GetIntegeri_v(what, unit, &value);
            state.push_back(value);
        }
    for (Uint index = 0; index < 6; ++index)
        for (const Enum what : {gl::UNIFORM_BUFFER_BINDING, gl::UNIFORM_BUFFER_START,
                                gl::UNIFORM_BUFFER_SIZE, gl::SHADER_STORAGE_BUFFER_BINDING,
                                gl::SHADER_STORAGE_BUFFER_START, gl::SHADER_STORAGE_BUFFER_SIZE}) {
            std::int64_t value = 0;
            gl.GetInteger64i_v(what, index, &value);
            state.push_back(value);
        }
    for (const Enum what :
         {gl::UNIFORM_BUFFER_BINDING, gl::SHADER_STORAGE_BUFFER_BINDING,
          gl::PIXEL_PACK_BUFFER_BINDING, gl::PIXEL_UNPACK_BUFFER_BINDING, gl::VERTEX_ARRAY_BINDING,
          gl::DRAW_FRAMEBUFFER_BINDING, gl::READ_FRAMEBUFFER_BINDING, gl::CURRENT_PROGRAM,
          gl::UNPACK_ALIGNMENT, gl::UNPACK_ROW_LENGTH, gl::UNPACK_IMAGE_HEIGHT,
          gl::UNPACK_SKIP_ROWS, gl::UNPACK_SKIP_PIXELS, gl::UNPACK_SKIP_IMAGES, gl::PACK_ALIGNMENT,
          gl::PACK_ROW_LENGTH, gl::PACK_SKIP_ROWS, gl::PACK_SKIP_PIXELS})
        ask(what);
    ask(gl::VIEWPORT, 4);
    std::uint8_t mask[4] = {};
    gl.GetBooleanv(gl::COLOR_WRITEMASK, mask);
    state.insert(state.end(), mask, mask + 4);
    for (std::size_t i = 0; i < (gl.desktop ? desktop_capability_count : capability_count); ++i)
        state.push_back(gl.IsEnabled(capabilities[i]));
    if (gl.desktop) ask(gl::POLYGON_MODE);
    return state;
}

// Bind something everywhere, and turn everything on.
void disturb(const GL& gl, Name program) {
    Name name = 0;
    for (Enum unit = 0; unit < 8; ++unit) {
        gl.ActiveTexture(gl::TEXTURE0 + unit);
        gl.BindTexture(gl::TEXTURE_2D, make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 2, 2));
        gl.BindTexture(gl::TEXTURE_2D_ARRAY,
                       make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 2, 2, 2));
        gl.GenSamplers(1, &name);
        gl.BindSampler(unit, name);
    }
    const Name image = make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 2, 2);
    for (Uint unit = 0; unit < 4; ++unit)
        gl.BindImageTexture(unit, image, 0, 0, 0, gl::WRITE_ONLY, gl::RGBA32F);
    for (Uint index = 0; index < 6; ++index)
        for (const Enum target : {gl::UNIFORM_BUFFER, gl::SHADER_STORAGE_BUFFER}) {
            gl.GenBuffers(1, &name);
            gl.BindBuffer(target, name);
            gl.BufferData(target, 4096, nullptr, gl::STATIC_DRAW);
            if (index % 2) gl.BindBufferRange(target, index, name, 256, 512);
            else gl.BindBufferBase(target, index, name);
        }
    for (const Enum target : {gl::PIXEL_PACK_BUFFER, gl::PIXEL_UNPACK_BUFFER}) {
        gl.GenBuffers(1, &name);
        gl.BindBuffer(target, name);
    }
    gl.GenVertexArrays(1, &name);
    gl.BindVertexArray(name);
    for (const Enum target : {gl::DRAW_FRAMEBUFFER, gl::READ_FRAMEBUFFER}) {
        gl.GenFramebuffers(1, &name);
        gl.BindFramebuffer(target, name);
    }
    int value = 1;
    for (const Enum what : {gl::UNPACK_ROW_LENGTH, gl::UNPACK_IMAGE_HEIGHT, gl::UNPACK_SKIP_ROWS,
                            gl::UNPACK_SKIP_PIXELS, gl::UNPACK_SKIP_IMAGES, gl::PACK_ROW_LENGTH,
                            gl::PACK_SKIP_ROWS, gl::PACK_SKIP_PIXELS})
        gl.PixelStorei(what, value++);
    gl.PixelStorei(gl::UNPACK_ALIGNMENT, 8);
    gl.PixelStorei(gl::PACK_ALIGNMENT, 2);
    gl.Viewport(1, 2, 33, 44);
    gl.ColorMask(1, 0, 1, 0);
    for (std::size_t i = 0; i < (gl.desktop ? desktop_capability_count : capability_count); ++i)
        gl.Enable(capabilities[i]);
    if (gl.desktop) gl.PolygonMode(gl::FRONT_AND_BACK, 0x1B01);
    gl.UseProgram(program);
    gl.ActiveTexture(gl::TEXTURE0 + 6);
    CHECK(gl.GetError() == 0);
}

Name any_program(const GL& gl) {
    const char* const sources[] = {"#version 300 es\nvoid main() { gl_Position = vec4(0.0); }\n",
                                   "#version 300 es\nvoid main() {}\n"};
    const Name program = gl.CreateProgram();
    for (int i = 0; i < 2; ++i) {
        const Name shader = gl.CreateShader(i ? gl::FRAGMENT_SHADER : gl::VERTEX_SHADER);
        gl.ShaderSource(shader, 1, &sources[i], nullptr);
        gl.CompileShader(shader);
        gl.AttachShader(program, shader);
    }
    gl.LinkProgram(program);
    return program;
}

}  // namespace

PROMISE(the_state_of_the_application_is_as_it_was) {
    const GL gl = plain_gl();
    disturb(gl, any_program(gl));
    const auto before = state_of(gl);
    Options options = traced();
    options.restore_state = true;
    for (const char* name : {"good", "good_dynamic"}) {
        Runner runner(load_fixture(name), options);
        good(runner.init());
        CHECK(state_of(gl) == before);
        for (const auto& input : runner.build().inputs()) {
            const auto x = numbers(elements(input));
            std::vector<float> halves;
            for (const float value : x) halves.push_back(value / 2 + 0.5F);
            good(runner.upload(input.name, halves.data(), halves.size()));
            CHECK(state_of(gl) == before);
        }
        for (const bool timed : {false, true}) {
            good(runner.run(timed));
            CHECK(state_of(gl) == before);
        }
        for (const auto& output : runner.build().outputs()) {
            std::vector<float> values(elements(output));
            good(runner.read(output.name, values.data(), values.size()));
            CHECK(state_of(gl) == before);
        }
        const auto outputs = runner.build().outputs();
        CHECK(runner.bind_output(outputs[0].name, 1));
        CHECK(state_of(gl) == before);
        if (runner.build().sizes().size()) {
            good(runner.resize(size_of(7, 6)));
            CHECK(runner.resize(size_of(7, 5)));
            CHECK(state_of(gl) == before);
        }
        good(runner.wait());
        CHECK(state_of(gl) == before);
        runner.close();
        CHECK(state_of(gl) == before);
    }
}

PROMISE(a_build_that_fails_restores_state_too) {
    const GL gl = plain_gl();
    disturb(gl, any_program(gl));
    const auto before = state_of(gl);
    const fs::path folder = fs::path(scratch) / "broken";
    fs::remove_all(folder);
    fs::copy(fixtures + "/good", folder, fs::copy_options::recursive);
    std::ofstream(folder / "shaders/mix.frag") << "#version 310 es\nvoid main() { nothing(); }\n";
    Options options = traced();
    options.restore_state = true;
    Runner runner(load(folder.string()).value, options);
    const Error error = runner.init();
    CHECK(error.code == "SG0603");
    CHECK(error.what == "the shader 'shaders/mix.frag' does not compile");
    CHECK(error.where.size() == 4 && error.where[2] == "pass mix" &&
          error.where[3] == "layers mix");
    CHECK(error.why.find("   2 | void main() { nothing(); }\n     ^ ") != std::string::npos);
    CHECK(error.help.find("copy the whole build folder again") == 0);
    CHECK(state_of(gl) == before);
}

PROMISE(a_saved_state_is_the_one_restored) {
    const GL gl = plain_gl();
    Options options = traced();
    options.restore_state = true;
    Runner runner(load_fixture("good"), options);
    good(runner.init());
    feed_good(runner);
    gl.Viewport(0, 0, 17, 19);
    gl.BindTexture(gl::TEXTURE_2D, make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 2, 2));
    good(runner.save_state());
    const auto before = state_of(gl);
    good(runner.run());
    CHECK(state_of(gl) == before);
    check_good(runner);
    CHECK(state_of(gl) == before);
}

PROMISE(a_frame_draws_the_same_whatever_the_state) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    disturb(gl, any_program(gl));
    good(runner.run());
    check_good(runner);
    disturb(gl, any_program(gl));
    feed_good(runner, 1);
    good(runner.run());
    check_good(runner, 1);
}

PROMISE(a_frame_leaves_nothing_bound) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    good(runner.run());
    for (Enum unit = 0; unit < 4; ++unit) {
        gl.ActiveTexture(gl::TEXTURE0 + unit);
        for (const Enum what :
             {gl::TEXTURE_BINDING_2D, gl::TEXTURE_BINDING_2D_ARRAY, gl::SAMPLER_BINDING})
            CHECK(gl.integer(what) == 0);
    }
    for (const Enum what :
         {gl::CURRENT_PROGRAM, gl::DRAW_FRAMEBUFFER_BINDING, gl::VERTEX_ARRAY_BINDING,
          gl::UNIFORM_BUFFER_BINDING, gl::SHADER_STORAGE_BUFFER_BINDING})
        CHECK(gl.integer(what) == 0);
    for (Uint unit = 0; unit < 2; ++unit) {
        Int name = -1;
        gl.GetIntegeri_v(gl::IMAGE_BINDING_NAME, unit, &name);
        CHECK(name == 0);
    }
}

}  // namespace promises
