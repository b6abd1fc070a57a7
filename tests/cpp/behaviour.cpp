// behaviour FIXTURES SCRATCH: what the runtime promises, tried on the fixture builds. Writes "ok
// NAME" or "failed NAME: why" for each promise. behaviour FIXTURES SCRATCH --frames N plays N
// frames with resizes.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <new>

#include "recording.hpp"
#include "trace.hpp"

namespace {
bool counting = false;
int allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
    if (counting) ++allocations;
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

namespace fs = std::filesystem;
using namespace shadergen;
using tests::called;

std::string fixtures, scratch, failure;

#define CHECK(fact)                                                                    \
    do {                                                                               \
        if (!(fact) && failure.empty())                                                \
            failure = std::string(#fact) + " (line " + std::to_string(__LINE__) + ")"; \
    } while (false)

void good(const Error& error) {
    if (error && failure.empty()) failure = error.render();
}

Options traced() {
    Options options;
    options.get_proc_address = tests::traced_proc_address;
    return options;
}

Build load_fixture(const char* name) {
    auto loaded = load(fixtures + "/" + name);
    good(loaded.error);
    return loaded.value;
}

// Numbers that differ, in -1..1.
std::vector<float> numbers(std::size_t count, int seed = 0) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(static_cast<float>(i) * 0.7F + static_cast<float>(seed));
    return values;
}

std::size_t elements(const PortInfo& port) {
    std::size_t count = 1;
    for (const auto size : port.shape) count *= static_cast<std::size_t>(size);
    return count;
}

void feed_good(Player& player, int seed = 0) {
    const auto x = numbers(75, seed);
    std::vector<std::uint8_t> image(45);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 5);
    good(player.upload("x", x.data(), x.size()));
    good(player.upload("img", image.data(), image.size()));
}

float expected_good(float x, std::size_t channel) {
    const float bias[] = {0.25F, -0.5F, 0.75F, 1.0F, -1.25F},
                gain[] = {-1.0F, 2.0F, 0.5F, 1.5F, 3.0F};
    const float constant[] = {0.125F, 0.25F, 0.5F, -0.75F, -1.5F};
    return 0.5F * ((2 * x + bias[channel]) * gain[channel] + constant[channel]);
}

void check_good(Player& player, int seed = 0) {
    const auto x = numbers(75, seed);
    std::vector<float> out(75);
    good(player.read("out", out.data(), out.size()));
    for (std::size_t i = 0; i < out.size(); ++i)
        CHECK(std::abs(out[i] - expected_good(x[i], i % 5)) < 1e-5F);
    std::vector<std::uint8_t> inverted(45);
    good(player.read("inverted", inverted.data(), inverted.size()));
    for (std::size_t i = 0; i < inverted.size(); ++i) CHECK(inverted[i] == 255 - i * 5);
}

void play_dynamic(Player& player, std::size_t height, std::size_t width, int seed) {
    const auto x = numbers(height * width * 4, seed);
    good(player.upload("x", x.data(), x.size()));
    good(player.run());
    std::vector<float> up(x.size() * 4), y(x.size());
    good(player.read("up", up.data(), up.size()));
    good(player.read("y", y.data(), y.size()));
    good(player.check());
    for (std::size_t i = 0; i < up.size() && failure.empty(); ++i) {
        const std::size_t c = i % 4, column = i / 4 % (2 * width), row = i / 4 / (2 * width);
        CHECK(std::abs(up[i] - 2 * x[(row / 2 * width + column / 2) * 4 + c]) < 1e-5F);
    }
    for (std::size_t i = 0; i < y.size() && failure.empty(); ++i) {
        const std::size_t pixel = height * width - 1 - i / 4;
        CHECK(std::abs(y[i] - (2 * x[pixel * 4 + i % 4] + x[i])) < 1e-5F);
    }
}

std::vector<Size> size_of(std::int64_t height, std::int64_t width) {
    return {{"height", height}, {"width", width}};
}

template <class Use>
void trace(Use use) {
    called().clear();
    tests::tracing = true;
    use();
    tests::tracing = false;
}

// --- a GL state that an application might have ---

GL plain_gl() {
    GL gl;
    good(gl.load(tests::get_proc_address));
    std::string version = reinterpret_cast<const char*>(gl.GetString(gl::VERSION));
    if (version.find("OpenGL ES") == 0) gl.use_extensions();
    return gl;
}

Name make_texture(const GL& gl, Enum target, Enum format, Int width, Int height, Int layers = 0) {
    Name name = 0;
    gl.GenTextures(1, &name);
    gl.BindTexture(target, name);
    if (layers) gl.TexStorage3D(target, 1, format, width, height, layers);
    else gl.TexStorage2D(target, 1, format, width, height);
    gl.BindTexture(target, 0);
    return name;
}

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

// --- the promises ---

void the_good_build_computes_what_it_states() {
    Player player(load_fixture("good"), traced());
    good(player.init());
    for (int seed = 0; seed < 2; ++seed) {
        feed_good(player, seed);
        good(player.run());
        good(player.check());
        check_good(player, seed);
    }
    const auto x = numbers(75, 1);
    std::vector<float> sum(75), halves(15);
    good(player.read("sum", sum.data(), sum.size()));
    good(player.read("signed", halves.data(), halves.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const float expected = 2 * expected_good(x[i], i % 5) + x[i];
        CHECK(std::abs(sum[i] - expected) < 1e-5F);
        if (i % 5 == 0) CHECK(std::abs(halves[i / 5] - expected / 2) < 1e-5F);
    }
}

void check_frame(bool restore) {
    Options options = traced();
    options.restore_state = restore;
    Player player(load_fixture("good"), options);
    good(player.init());
    feed_good(player);
    good(player.run());
    trace([&] { good(player.run()); });
    const std::string allowed =
        "glActiveTexture glBindBuffer glBindBufferBase glBindFramebuffer glBindImageTexture "
        "glBindSampler "
        "glBindTexture glBindVertexArray glColorMask glDisable glDispatchCompute glDrawArrays "
        "glMemoryBarrier glPixelStorei glPolygonMode glUniform4f glUseProgram glViewport glEnable ";
    for (const auto& [name, count] : called()) {
        CHECK(count > 0 && allowed.find(name + " ") != std::string::npos);
        CHECK(restore || (name != "glPixelStorei" && name != "glEnable"));
    }
    CHECK(called()["glDrawArrays"] == 6);
    CHECK(called()["glDispatchCompute"] == 1);
    allocations = 0;
    counting = true;
    for (int i = 0; i < 3; ++i) player.run(i == 1);
    counting = false;
    CHECK(allocations == 0);
    good(player.check());
}

void a_frame_only_binds_and_draws_and_does_not_allocate() { check_frame(false); }
void a_frame_that_restores_state_asks_nothing_either() { check_frame(true); }

void a_texture_bound_each_frame_allocates_nothing_in_run() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    const Name ring[] = {make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2),
                         make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2)};
    for (int i = 0; i < 6; ++i) {
        good(player.bind_input("x", ring[i % 2]));
        allocations = 0;
        counting = i > 1;
        player.run();
        counting = false;
        CHECK(allocations == 0);
    }
    good(player.check());
}

void the_state_of_the_application_is_as_it_was() {
    const GL gl = plain_gl();
    disturb(gl, any_program(gl));
    const auto before = state_of(gl);
    Options options = traced();
    options.restore_state = true;
    for (const char* name : {"good", "good_dynamic"}) {
        Player player(load_fixture(name), options);
        good(player.init());
        CHECK(state_of(gl) == before);
        for (const auto& input : player.build().inputs()) {
            const auto x = numbers(elements(input));
            std::vector<float> halves;
            for (const float value : x) halves.push_back(value / 2 + 0.5F);
            good(player.upload(input.name, halves.data(), halves.size()));
            CHECK(state_of(gl) == before);
        }
        for (const bool timed : {false, true}) {
            good(player.run(timed));
            CHECK(state_of(gl) == before);
        }
        for (const auto& output : player.build().outputs()) {
            std::vector<float> values(elements(output));
            good(player.read(output.name, values.data(), values.size()));
            CHECK(state_of(gl) == before);
        }
        const auto outputs = player.build().outputs();
        CHECK(player.bind_output(outputs[0].name, 1));
        CHECK(state_of(gl) == before);
        if (player.build().sizes().size()) {
            good(player.resize(size_of(7, 6)));
            CHECK(player.resize(size_of(7, 5)));
            CHECK(state_of(gl) == before);
        }
        good(player.wait());
        CHECK(state_of(gl) == before);
        player.close();
        CHECK(state_of(gl) == before);
    }
}

void a_build_that_fails_restores_state_too() {
    const GL gl = plain_gl();
    disturb(gl, any_program(gl));
    const auto before = state_of(gl);
    const fs::path folder = fs::path(scratch) / "broken";
    fs::remove_all(folder);
    fs::copy(fixtures + "/good", folder, fs::copy_options::recursive);
    std::ofstream(folder / "shaders/mix.frag") << "#version 310 es\nvoid main() { nothing(); }\n";
    Options options = traced();
    options.restore_state = true;
    Player player(load(folder.string()).value, options);
    const Error error = player.init();
    CHECK(error.code == "SG0603");
    CHECK(error.what == "the shader 'shaders/mix.frag' does not compile");
    CHECK(error.where.size() == 4 && error.where[2] == "pass mix" &&
          error.where[3] == "layers mix");
    CHECK(error.why.find("   2 | void main() { nothing(); }\n     ^ ") != std::string::npos);
    CHECK(state_of(gl) == before);
}

void a_saved_state_is_the_one_restored() {
    const GL gl = plain_gl();
    Options options = traced();
    options.restore_state = true;
    Player player(load_fixture("good"), options);
    good(player.init());
    feed_good(player);
    gl.Viewport(0, 0, 17, 19);
    gl.BindTexture(gl::TEXTURE_2D, make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 2, 2));
    good(player.save_state());
    const auto before = state_of(gl);
    good(player.run());
    CHECK(state_of(gl) == before);
    check_good(player);
    CHECK(state_of(gl) == before);
}

void a_frame_draws_the_same_whatever_the_state() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    disturb(gl, any_program(gl));
    good(player.run());
    check_good(player);
    disturb(gl, any_program(gl));
    feed_good(player, 1);
    good(player.run());
    check_good(player, 1);
}

void a_frame_leaves_nothing_bound() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    good(player.run());
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

void everything_made_is_deleted() {
    trace([] {
        Player player(load_fixture("good_dynamic"), traced());
        good(player.init());
        play_dynamic(player, 3, 4, 0);
        good(player.resize(size_of(5, 6)));
        play_dynamic(player, 5, 6, 1);
        CHECK(player.resize(size_of(5, 7)));
    });
    for (const char* kind : {"Textures", "Buffers", "Framebuffers", "Samplers", "VertexArrays"}) {
        const int made = called()[std::string("glGen") + kind];
        CHECK(made > 0 && made == called()[std::string("glDelete") + kind]);
    }
    CHECK(called()["glCreateProgram"] == called()["glDeleteProgram"]);
    CHECK(called()["glCreateShader"] == called()["glDeleteShader"]);
    CHECK(called()["glGenQueries"] + called()["glGenQueriesEXT"] ==
          called()["glDeleteQueries"] + called()["glDeleteQueriesEXT"]);
}

void an_abandoned_player_calls_nothing() {
    Player player(load_fixture("good"), traced());
    good(player.init());
    trace([&] { player.abandon(); });
    CHECK(called().empty());
    CHECK(player.run().what == "the player is not ready");
    good(player.init());
    feed_good(player);
    good(player.run());
    check_good(player);
}

void a_build_is_resized_without_compiling() {
    Player player(load_fixture("good_dynamic"), traced());
    good(player.init());
    play_dynamic(player, 3, 4, 0);
    const std::int64_t sizes[][2] = {{7, 6}, {2, 2}, {31, 64}, {3, 4}};
    for (const auto& [height, width] : sizes) {
        trace([&, h = height, w = width] { good(player.resize(size_of(h, w))); });
        CHECK(called()["glCompileShader"] == 0 && called()["glLinkProgram"] == 0);
        CHECK(called()["glBufferData"] == 0 && called()["glGenTextures"] > 0);
        CHECK(called()["glGenTextures"] <= called()["glDeleteTextures"]);
        CHECK(player.run().what == "the input 'x' has no texture");
        play_dynamic(player, static_cast<std::size_t>(height), static_cast<std::size_t>(width), 2);
    }
    trace([&] { good(player.resize(size_of(3, 4))); });
    CHECK(called().empty());  // it has that size
}

void a_refused_resize_leaves_the_player_as_it_was() {
    Player player(load_fixture("good_dynamic"), traced());
    good(player.init());
    play_dynamic(player, 3, 4, 0);
    struct Refused {
        std::vector<Size> sizes;
        const char* says;
    };
    const Refused refused[] = {{size_of(3, 5), "the width must be even"},
                               {size_of(1, 2), "there must be 4 to 1048576 pixels"},
                               {size_of(5000, 2), "1 to 4096"},
                               {{{"heigth", 2}}, "did you mean 'height'?"}};
    for (const Refused& each : refused) {
        const Error error = player.resize(each.sizes);
        CHECK(error.code == "SG0605");
        CHECK(error.render().find(each.says) != std::string::npos);
        CHECK(player.build().sizes()[0].value == 3);
        good(player.run());  // with what was uploaded
    }
    play_dynamic(player, 3, 4, 1);
}

void sizes_may_be_chosen_before_init() {
    auto loaded = load(fixtures + "/good_dynamic", size_of(5, 6));
    good(loaded.error);
    Player first(loaded.value, traced());
    good(first.init());
    play_dynamic(first, 5, 6, 0);
    Player second(load_fixture("good_dynamic"), traced());
    good(second.resize(size_of(5, 6)));
    good(second.init());
    play_dynamic(second, 5, 6, 0);
    CHECK(load(fixtures + "/good_dynamic", size_of(5, 5)).error.code == "SG0605");
    CHECK(load(fixtures + "/good", size_of(5, 5)).error.why == "all its sizes are fixed");
}

void textures_of_the_application_are_read_and_written_in_place() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    // an image that the application draws
    const Name image = make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3);
    Name framebuffer = 0;
    gl.GenFramebuffers(1, &framebuffer);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    gl.FramebufferTexture2D(gl::DRAW_FRAMEBUFFER, gl::COLOR_ATTACHMENT0, gl::TEXTURE_2D, image, 0);
    const float color[] = {0.2F, 0.4F, 0.6F, 1.0F};
    gl.ClearBufferfv(gl::COLOR, 0, color);
    const Name result = make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3);
    const Name out = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2);
    good(player.bind_input("img", image));
    good(player.bind_output("inverted", result));
    good(player.bind_output("out", out));
    CHECK(player.output_texture("inverted").value == result);
    CHECK(player.output_texture("out").value == out);
    CHECK(player.output_texture("out", 1).error);
    trace([&] { good(player.run()); });
    CHECK(called()["glTexSubImage2D"] == 0 && called()["glReadPixels"] == 0);
    good(player.check());
    std::vector<std::uint8_t> bytes(45);
    good(player.read("inverted", bytes.data(), bytes.size()));
    CHECK(bytes[0] == 204 && bytes[1] == 153 && bytes[2] == 102);
    const auto x = numbers(75);
    std::vector<float> values(75);
    good(player.read("out", values.data(), values.size()));
    CHECK(std::abs(values[7] - expected_good(x[7], 2)) < 1e-5F);
}

void an_output_may_go_to_a_framebuffer() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    Name framebuffer = 0;
    gl.GenFramebuffers(1, &framebuffer);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    const Name screen = make_texture(gl, gl::TEXTURE_2D, 0x8058, 9, 9);
    gl.FramebufferTexture2D(gl::DRAW_FRAMEBUFFER, gl::COLOR_ATTACHMENT0, gl::TEXTURE_2D, screen, 0);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    good(player.bind_output_framebuffer("inverted", framebuffer));
    good(player.run());
    good(player.wait());
    std::uint8_t pixels[4 * 5 * 3] = {};
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, framebuffer);
    gl.ReadPixels(0, 0, 5, 3, gl::RGBA, gl::UNSIGNED_BYTE, pixels);
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, 0);
    for (std::size_t i = 0; i < 45; ++i) CHECK(pixels[i / 3 * 4 + i % 3] == 255 - i * 5);
    std::uint8_t bytes[45];
    CHECK(player.read("inverted", bytes, 45).what ==
          "the output 'inverted' is drawn to the application's framebuffer");
    CHECK(player.bind_output_framebuffer("out", framebuffer).code ==
          "SG0605");  // it has two layers
    CHECK(player.bind_output_framebuffer("sum", framebuffer).code ==
          "SG0605");  // a dispatch stores it
    good(player.bind_output("inverted", make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3)));
    good(player.run());
    check_good(player);
}

void textures_that_do_not_fit_are_refused_and_the_old_ones_kept() {
    const GL gl = plain_gl();
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    const Name wide = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 6, 3, 2);
    const Name deep = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 3);
    const Name flat = make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 5, 3);
    const Name undrawable = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x8C3D, 5, 3, 2);  // RGB9_E5
    const Name other = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x881A, 5, 3, 2);       // RGBA16F
    CHECK(player.bind_input("x", wide).what.find("width of 6, not 5") != std::string::npos);
    CHECK(player.bind_output("out", deep).what.find("depth of 3, not 2") != std::string::npos);
    CHECK(player.bind_input("x", flat));
    CHECK(player.bind_output("out", undrawable).what ==
          "this GL cannot draw to 'y', 'y' (rgba32f)");
    CHECK(player.bind_output("sum", other).what ==
          "shaders cannot have this texture as the image 'sum'");
    CHECK(player.bind_input("x", 0).code == "SG0605");
    const unsigned two[] = {deep, deep};
    CHECK(player.bind_input("x", two, 2).what.find("takes an array texture") != std::string::npos);
    good(player.run());
    good(player.check());
    check_good(player);
}

void mistakes_are_answered_in_words() {
    Player player(load_fixture("good"), traced());
    float few[2] = {};
    CHECK(player.run().what == "the player is not ready");
    CHECK(player.read("out", few, 2).help == "call init()");
    good(player.init());
    CHECK(player.run().what == "the input 'x' has no texture");
    CHECK(player.upload("y", few, 2).help == "did you mean 'x'?" ||
          player.upload("y", few, 2).supported == "x, img");
    CHECK(player.upload("x", few, 2).what ==
          "the input 'x' takes 75 numbers, shape (1, 3, 5, 5), not 2");
    std::vector<float> image(45, 1.5F);
    CHECK(player.upload("img", image.data(), 45).what ==
          "an image given in floats holds values outside 0 to 1");
    CHECK(player.output_texture("invertd").error.help == "did you mean 'inverted'?");
    Player nothing(Build{}, traced());
    CHECK(nothing.init().what == "the player has no build");
    Player blind(load_fixture("good"), Options{});
    CHECK(blind.init().code == "SG0601");
    Options nowhere;
    nowhere.get_proc_address = [](const char*) -> Function { return nullptr; };
    Player lost(load_fixture("good"), nowhere);
    CHECK(lost.init().what == "the GL has no function glActiveTexture");
}

void two_models_and_two_contexts_live_side_by_side(bool desktop) {
    tests::Context other(desktop);
    Player third(load_fixture("good"), traced());
    good(third.init());
    feed_good(third, 3);
    Player first(load_fixture("good"), traced()), second(load_fixture("good_dynamic"), traced());
    good(first.init());
    good(second.init());
    feed_good(first, 1);
    good(first.run());
    play_dynamic(second, 3, 4, 2);
    check_good(first, 1);
    good(third.run());
    check_good(third, 3);
    Player moved = std::move(first);
    good(moved.run());
    check_good(moved, 1);
}

void linked_programs_are_kept_and_damaged_ones_made_again() {
    const fs::path folder = fs::path(scratch) / "programs";
    fs::remove_all(folder);
    fs::create_directories(folder);
    Options options = traced();
    options.program_cache = folder.string();
    const auto compiled = [&] {
        trace([&] {
            Player player(load_fixture("good"), options);
            good(player.init());
            feed_good(player);
            good(player.run());
            good(player.check());
            check_good(player);
        });
        return called()["glCompileShader"];
    };
    CHECK(compiled() == 7);
    if (plain_gl().integer(gl::NUM_PROGRAM_BINARY_FORMATS) == 0)
        return;  // the driver gives none away
    CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 6);
    CHECK(compiled() == 0);
    int n = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const auto size = fs::file_size(entry);
        if (n == 0) fs::resize_file(entry, size - 1);
        if (n == 1) fs::resize_file(entry, 10);
        if (n == 2) fs::resize_file(entry, 0);
        if (n == 3) {
            std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(size / 2));
            file.put('!');
        }
        ++n;
    }
    CHECK(compiled() > 0);
    CHECK(compiled() == 0);
    options.program_cache = (folder / "nowhere").string();
    CHECK(compiled() == 7);
}

void a_build_in_memory_plays_and_is_not_copied() {
    std::vector<std::string> paths, contents;
    const fs::path root = fixtures + "/good";
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        paths.push_back(entry.path().lexically_relative(root).generic_string());
        contents.emplace_back(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
    }
    std::vector<File> files;
    for (std::size_t i = 0; i < paths.size(); ++i)
        files.push_back({paths[i].c_str(), contents[i].data(), contents[i].size()});
    auto loaded = load(files.data(), files.size());
    good(loaded.error);
    Player player(loaded.value, traced());
    good(player.init());
    feed_good(player);
    good(player.run());
    check_good(player);
    CHECK(load(files.data(), 0).error.code == "SG0502");
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::vector<File> without = files;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        const bool schedule = paths[i] == "schedule.json";
        CHECK(load(without.data(), without.size()).error.code == (schedule ? "SG0502" : "SG0505"));
    }
}

void passes_are_timed_where_the_gl_can() {
    Player player(load_fixture("good"), traced());
    good(player.init());
    feed_good(player);
    good(player.run());
    CHECK(player.timings().empty());
    good(player.run(true));
    const auto times = player.timings();
    CHECK(times.empty() || times.size() == player.build().passes());
    for (const double time : times) CHECK(time >= 0 && time < 60000);
}

// Sizes and frames in turn; what is computed is checked now and then.
void play_frames(int frames) {
    Options options;
    options.get_proc_address = tests::get_proc_address;
    Player player(load_fixture("good_dynamic"), options), fixed(load_fixture("good"), options);
    good(player.init());
    good(fixed.init());
    feed_good(fixed);
    std::size_t height = 3, width = 4;
    for (int i = 0; i < frames && failure.empty(); ++i) {
        if (i % 5 == 4) {
            height = 2 + static_cast<std::size_t>(i * 7 % 31),
            width = 2 + static_cast<std::size_t>(i * 3 % 29) * 2;
            good(player.resize(
                size_of(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width))));
        }
        play_dynamic(player, height, width, i);
        good(fixed.run(i % 2 == 0));
        if (i % 97 == 0) {
            check_good(fixed);
            fixed.timings();
            CHECK(player.resize(size_of(3, 5)));
            player.close();
            good(player.init());
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    fixtures = arguments[1], scratch = arguments[2];
    bool desktop = false;
    int frames = 0;
    for (int i = 3; i < count; ++i) {
        if (std::string(arguments[i]) == "--desktop") desktop = true;
        if (std::string(arguments[i]) == "--frames") frames = std::atoi(arguments[++i]);
    }
    const auto promise = [&](const char* name, const std::function<void()>& keep) {
        failure.clear();
        const tests::Context context(desktop);
        keep();
        std::cout << (failure.empty() ? "ok " : "failed ") << name << (failure.empty() ? "" : ": ")
                  << failure << std::endl;
    };
#define PROMISE(name) promise(#name, name)
    if (frames) {
        promise("frames", [&] { play_frames(frames); });
        return !failure.empty();
    }
    PROMISE(the_good_build_computes_what_it_states);
    PROMISE(a_frame_only_binds_and_draws_and_does_not_allocate);
    PROMISE(a_frame_that_restores_state_asks_nothing_either);
    PROMISE(a_texture_bound_each_frame_allocates_nothing_in_run);
    PROMISE(the_state_of_the_application_is_as_it_was);
    PROMISE(a_build_that_fails_restores_state_too);
    PROMISE(a_saved_state_is_the_one_restored);
    PROMISE(a_frame_draws_the_same_whatever_the_state);
    PROMISE(a_frame_leaves_nothing_bound);
    PROMISE(everything_made_is_deleted);
    PROMISE(an_abandoned_player_calls_nothing);
    PROMISE(a_build_is_resized_without_compiling);
    PROMISE(a_refused_resize_leaves_the_player_as_it_was);
    PROMISE(sizes_may_be_chosen_before_init);
    PROMISE(textures_of_the_application_are_read_and_written_in_place);
    PROMISE(an_output_may_go_to_a_framebuffer);
    PROMISE(textures_that_do_not_fit_are_refused_and_the_old_ones_kept);
    PROMISE(mistakes_are_answered_in_words);
    promise("two_models_and_two_contexts_live_side_by_side",
            [&] { two_models_and_two_contexts_live_side_by_side(desktop); });
    PROMISE(linked_programs_are_kept_and_damaged_ones_made_again);
    PROMISE(a_build_in_memory_plays_and_is_not_copied);
    PROMISE(passes_are_timed_where_the_gl_can);
}
