// Play a build: everything is made once, then a frame only binds and draws.

#include <algorithm>

#include "device.hpp"
#include "gl.hpp"
#include "objects.hpp"
#include "pixels.hpp"
#include "programs.hpp"
#include "recording.hpp"
#include "state.hpp"
#include "text.hpp"
#include "textures.hpp"

namespace shadergen {

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// The GL objects whose sizes are those of the build's tensors.
struct Sized {
    explicit Sized(const GL& gl) : objects(gl) {}

    Objects objects;
    std::vector<GLTextures> textures;  // by tensor: the player's, or what the application bound
    std::vector<GLTextures> uploads;   // by input
    std::vector<Name> framebuffers;    // by pass: 0 of those that dispatch
    std::vector<bool> foreign;         // by pass: whether its framebuffer is the application's
};

}  // namespace

struct Player::Impl {
    Impl(Build build_, Options options_)
        : build(std::move(build_)), options(std::move(options_)), fixed(gl), sized(gl) {}

    Build build;
    Options options;
    GL gl;
    Device device;
    bool ready = false, recorded = false, timed = false;
    Objects fixed;  // of no size
    Sized sized;
    Programs programs;
    Name vertex_array = 0, sampler = 0, read_framebuffer = 0;
    std::vector<Name> buffers, queries;
    std::vector<GLTextures> constants;  // by tensor
    Touched touched;
    Frame frame;
    Commands after;      // leaves zeros, or what save_state() found
    GLTextures given;    // the application's textures, while they are checked

    const Schedule& schedule() const { return *build.schedule_; }
    const Texture& texture(std::int32_t index) const { return schedule().textures[at(index)]; }
    std::string_view bytes(const Range& range) const {
        return build.source_->weights.substr(static_cast<std::size_t>(range.offset),
                                             static_cast<std::size_t>(range.size));
    }

    Error make();
    void make_constants();
    void make_buffers();
    Error make_sized(const Schedule& of, Sized& to);
    void make_textures_of(const Schedule& of, Sized& to);
    Error attach_pass(const Schedule& of, const Sized& to, std::size_t index) const;
    void remove();

    using Ports = std::vector<Port> Schedule::*;
    Error find(Ports list, std::string_view name, std::size_t& index) const;
    Error check_given(const Port& port, const unsigned* names, std::size_t count);
    Error rebind(const Port& port);
    Error record();
    void run_timed();
    void enter() const {
        if (options.restore_state) gl.ActiveTexture(gl::TEXTURE0);
    }
    void leave() const {
        if (options.restore_state) play(gl, after);
    }
};

namespace {

Error not_ready() {
    Error error = error_of("SG0605", {"the player is not ready"});
    error.help = "call init()";
    return error;
}

}  // namespace

// --- once ----------------------------------------------------------------------------------------

Player::Player(Build build, Options options)
    : impl_(new Impl(std::move(build), std::move(options))) {}
Player::Player(Player&&) noexcept = default;
Player& Player::operator=(Player&& other) noexcept {
    if (this != &other) {
        if (impl_) close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}
Player::~Player() {
    if (impl_) close();
}

Error Player::init() {
    Impl& p = *impl_;
    if (p.ready) return {};
    if (!p.build) return error_of("SG0605", {"the player has no build"});
    Error error = p.gl.load(p.options.get_proc_address);
    if (!error) error = query_device(p.gl, p.device);
    if (!error) error = check_requirements(p.schedule().required, p.gl, p.device);
    if (!error) {
        forget_errors(p.gl);
        error = p.make();
        if (error) p.remove();
    }
    p.ready = !error;
    if (error && !p.build.source_->place.empty())
        error.where.insert(error.where.begin(), p.build.source_->place);
    return error;
}

Error Player::Impl::make() {
    const Name program = options.restore_state ? static_cast<Name>(gl.integer(gl::CURRENT_PROGRAM)) : 0;
    Error error = programs.build(gl, device, fixed, *build.source_, schedule(), options.program_cache);
    if (error) {
        gl.UseProgram(program);
        return error;
    }
    touched = touched_by(schedule(), programs.passes);
    if (options.restore_state) capture(gl, touched, program, after);
    else Frame::leave_at_zero(touched, after);
    enter();
    vertex_array = fixed.make(Objects::vertex_array);
    sampler = make_sampler(gl, fixed);
    read_framebuffer = fixed.make(Objects::framebuffer);
    make_buffers();
    make_constants();
    error = make_sized(schedule(), sized);
    if (!error && device.timer)
        for (std::size_t i = 0; i < schedule().passes.size(); ++i)
            queries.push_back(fixed.make(Objects::query));
    if (!error) error = check_errors(gl, {"the build's GL objects are made"});
    leave();
    return error;
}

void Player::Impl::make_buffers() {
    for (const Buffer& buffer : schedule().buffers) {
        const Enum target = buffer.storage ? gl::SHADER_STORAGE_BUFFER : gl::UNIFORM_BUFFER;
        buffers.push_back(fixed.make(Objects::buffer));
        gl.BindBuffer(target, buffers.back());
        gl.BufferData(target, static_cast<std::ptrdiff_t>(buffer.range.size), bytes(buffer.range).data(),
                      gl::STATIC_DRAW);
        gl.BindBuffer(target, 0);
    }
}

void Player::Impl::make_constants() {
    for (const Texture& t : schedule().textures) {
        constants.emplace_back();
        if (!t.has_data) continue;
        constants.back() = make_textures(gl, fixed, t);
        fill_textures(gl, t, constants.back(), bytes(t.data).data());
    }
}

// Textures of a slot are the same GL textures; the slot has the layers of the deepest.
void Player::Impl::make_textures_of(const Schedule& of, Sized& to) {
    std::vector<const Texture*> deepest;  // by slot
    for (const Texture& t : of.textures) {
        if (t.slot == none || t.has_data) continue;
        if (deepest.size() <= at(t.slot)) deepest.resize(at(t.slot) + 1);
        const Texture*& known = deepest[at(t.slot)];
        if (!known || t.layers > known->layers) known = &t;
    }
    std::vector<GLTextures> slots(deepest.size());
    for (std::size_t slot = 0; slot < deepest.size(); ++slot)
        if (deepest[slot]) slots[slot] = make_textures(gl, to.objects, *deepest[slot]);
    to.textures = constants;
    for (std::size_t i = 0; i < of.textures.size(); ++i) {
        const Texture& t = of.textures[i];
        if (t.slot == none || t.has_data) continue;
        const GLTextures& whole = slots[at(t.slot)];
        to.textures[i].assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(t.objects()));
    }
    to.uploads.resize(of.inputs.size());
}

Error Player::Impl::make_sized(const Schedule& of, Sized& to) {
    make_textures_of(of, to);
    Error error = check_errors(gl, {"textures are made"});
    const float nothing[4] = {};
    for (std::size_t i = 0; i < of.passes.size() && !error; ++i) {
        const Pass& pass = of.passes[i];
        to.framebuffers.push_back(pass.compute ? 0 : to.objects.make(Objects::framebuffer));
        to.foreign.push_back(false);
        if (pass.compute) continue;
        error = attach_pass(of, to, i);
        // make the driver allocate now what it would allocate in the first frame
        gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, to.framebuffers[i]);
        for (std::size_t k = 0; k < pass.writes.size() && !error; ++k)
            gl.ClearBufferfv(gl::COLOR, static_cast<Int>(k), nothing);
        gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    }
    return error ? error : check_errors(gl, {"framebuffers are made"});
}

// Point the framebuffer of a pass at the textures that it writes.
Error Player::Impl::attach_pass(const Schedule& of, const Sized& to, std::size_t index) const {
    std::vector<Target> targets;
    for (const Write& write : of.passes[index].writes) {
        const Texture& t = of.textures[at(write.texture)];
        const Name name = to.textures[at(write.texture)][t.is_array ? 0 : at(write.layer)];
        targets.push_back({&t, name, write.layer});
    }
    return attach(gl, to.framebuffers[index], targets);
}

Error Player::resize(const std::vector<Size>& wanted) {
    Impl& p = *impl_;
    if (!p.build) return error_of("SG0605", {"the player has no build"});
    Sizes sizes = p.schedule().sizes;
    Error error = sizes.set(wanted);
    if (error) return error;
    if (sizes.values() == p.schedule().sizes.values()) return {};
    const auto next = std::make_shared<Schedule>();
    error = resize_schedule(*p.build.source_, sizes, *next);
    if (error || !p.ready) {
        if (!error) p.build.schedule_ = next;
        return error;
    }
    error = check_requirements(next->required, p.gl, p.device);
    for (std::size_t i = 0; i < next->textures.size() && !error; ++i) {
        const Texture &before = p.schedule().textures[i], &after = next->textures[i];
        if (after.has_data && (after.width != before.width || after.height != before.height ||
                               after.layers != before.layers))
            error = malformed({"the size of the constant ", quote(after.name), " depends on sizes"});
    }
    if (error) return error;
    p.enter();
    forget_errors(p.gl);
    Sized sized(p.gl);
    error = p.make_sized(*next, sized);
    if (error) {
        sized.objects.remove();
    } else {
        p.sized.objects.remove();
        p.sized = std::move(sized);
        p.build.schedule_ = next;
        p.recorded = p.timed = false;
        p.programs.set_uniforms(p.gl, *next);
    }
    p.leave();
    return error;
}

void Player::Impl::remove() {
    sized.objects.remove();
    fixed.remove();
    ready = recorded = timed = false;
    buffers.clear(), queries.clear(), constants.clear();
    sized = Sized(gl);
    programs = Programs();
}

void Player::close() {
    if (!impl_) return;
    impl_->remove();
}

void Player::abandon() {
    if (!impl_) return;
    impl_->sized.objects.forget();
    impl_->fixed.forget();
    impl_->remove();
}

Build Player::build() const { return impl_->build; }

// --- textures in and out ---------------------------------------------------------------------------

Error Player::Impl::find(Ports list, std::string_view name, std::size_t& index) const {
    if (!ready) return not_ready();
    const std::vector<Port>& ports = schedule().*list;
    const char* kind = list == &Schedule::inputs ? "input" : "output";
    for (index = 0; index < ports.size(); ++index)
        if (ports[index].name == name) return {};
    Error error = error_of("SG0605", {"the build has no ", kind, " ", quote(name)});
    std::vector<std::string_view> known;
    for (const Port& port : ports) {
        error.supported += say({known.empty() ? "" : ", ", port.name});
        known.push_back(port.name);
    }
    error.help = did_you_mean(name, known);
    return error;
}

// Check the application's textures for a port as far as GL tells; they are in `given` then.
Error Player::Impl::check_given(const Port& port, const unsigned* names, std::size_t count) {
    const Texture& t = texture(port.texture);
    given.assign(names, names + count);
    const bool zero = std::find(given.begin(), given.end(), 0U) != given.end();
    if (zero || static_cast<std::int64_t>(count) != t.objects())
        return error_of("SG0605", {quote(port.name), " takes ",
                                   t.is_array ? std::string("an array texture")
                                              : say({t.objects(), " 2D textures"}),
                                   ", not ", zero ? "texture 0 or " : "", count, " of them"});
    forget_errors(gl);
    Error error = check_sizes(gl, t, given);
    if (error) return error;
    return check_errors(gl, {"the texture of ", quote(port.name), " is bound as ",
                             t.is_array ? "array" : "2d"});
}

Error Player::bind_input(std::string_view name, unsigned texture) {
    return bind_input(name, &texture, 1);
}

Error Player::bind_input(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::inputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().inputs[index];
    p.enter();
    error = p.check_given(port, textures, count);
    p.leave();
    if (error) return error;
    p.sized.textures[at(port.texture)] = p.given;
    p.recorded = false;
    return {};
}

Error Player::bind_output(std::string_view name, unsigned texture) {
    return bind_output(name, &texture, 1);
}

Error Player::bind_output(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    p.enter();
    error = p.check_given(port, textures, count);
    if (!error) {
        GLTextures& bound = p.sized.textures[at(port.texture)];
        const GLTextures before = bound;
        bound = p.given;
        p.recorded = false;
        error = p.rebind(port);
        if (error) {
            bound = before;
            p.rebind(port);
        }
    }
    p.leave();
    return error;
}

// Let all passes write an output to the textures that it has now.
Error Player::Impl::rebind(const Port& port) {
    bool image = false;
    for (const Pass& pass : schedule().passes) {
        for (const Read& read : pass.reads)
            image = image || (read.is_image() && read.texture == port.texture);
        image = image || (pass.compute && pass.writes[0].texture == port.texture);
    }
    Error error;
    if (image) error = check_images(gl, texture(port.texture), sized.textures[at(port.texture)]);
    for (std::size_t i = 0; i < schedule().passes.size() && !error; ++i) {
        const Pass& pass = schedule().passes[i];
        if (pass.compute || std::none_of(pass.writes.begin(), pass.writes.end(), [&](const Write& w) {
                return w.texture == port.texture;
            }))
            continue;
        if (sized.foreign[i]) sized.framebuffers[i] = sized.objects.make(Objects::framebuffer);
        sized.foreign[i] = false;
        error = attach_pass(schedule(), sized, i);
    }
    return error;
}

Error Player::bind_output_framebuffer(std::string_view name, unsigned framebuffer) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    std::size_t writer = 0, writers = 0;
    bool alone = true;
    for (std::size_t i = 0; i < p.schedule().passes.size(); ++i) {
        const Pass& pass = p.schedule().passes[i];
        for (const Read& read : pass.reads) alone = alone && read.texture != port.texture;
        for (const Write& write : pass.writes) {
            if (write.texture != port.texture) continue;
            writer = i, ++writers;
            alone = alone && !pass.compute && pass.writes.size() == 1;
        }
    }
    if (!alone || writers != 1) {
        error = error_of("SG0605", {"the output ", quote(name), " cannot go to a framebuffer"});
        error.why = "more than one draw computes it, a dispatch does, or it is read again";
        error.help = "bind a texture, and blit it to the framebuffer";
        return error;
    }
    p.sized.framebuffers[writer] = framebuffer;
    p.sized.foreign[writer] = true;
    p.recorded = false;
    return {};
}

Result<unsigned> Player::output_texture(std::string_view name, int layer) const {
    Result<unsigned> result;
    const Impl& p = *impl_;
    std::size_t index = 0;
    result.error = p.find(&Schedule::outputs, name, index);
    if (result.error) return result;
    const GLTextures& names = p.sized.textures[at(p.schedule().outputs[index].texture)];
    if (layer < 0 || at(layer) >= names.size())
        result.error = error_of("SG0605", {"the output ", quote(name), " has ", names.size(),
                                           " textures, and no number ", layer});
    else
        result.value = names[at(layer)];
    return result;
}

namespace {

Error check_count(const Port& port, const char* kind, const char* verb, std::size_t count) {
    if (static_cast<std::int64_t>(count) == port.elements()) return {};
    return error_of("SG0605", {"the ", kind, " ", quote(port.name), " ", verb, " ", port.elements(),
                               " numbers, shape ",
                               tuple_of(port.shape.data(), static_cast<std::size_t>(port.rank)),
                               ", not ", count});
}

}  // namespace

Error Player::upload_as(std::string_view name, DType type, const void* data, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::inputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().inputs[index];
    const Texture& texture = p.texture(port.texture);
    std::vector<char> texels;
    error = check_count(port, "input", "takes", count);
    if (!error) error = encode(port, texture, type, data, texels);
    if (error) return error;
    p.enter();
    forget_errors(p.gl);
    GLTextures& own = p.sized.uploads[index];
    if (own.empty()) own = make_textures(p.gl, p.sized.objects, texture);
    fill_textures(p.gl, texture, own, texels.data());
    error = check_errors(p.gl, {"the input ", quote(name), " is uploaded"});
    p.leave();
    GLTextures& bound = p.sized.textures[at(port.texture)];
    if (!error && bound != own) bound = own, p.recorded = false;
    return error;
}

Error Player::read_as(std::string_view name, DType type, void* data, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    error = check_count(port, "output", "gives", count);
    for (std::size_t i = 0; i < p.schedule().passes.size() && !error; ++i)
        if (p.sized.foreign[i] && p.schedule().passes[i].writes[0].texture == port.texture)
            error = error_of("SG0605", {"the output ", quote(name),
                                        " is drawn to the application's framebuffer"});
    if (error) return error;
    const Texture& texture = p.texture(port.texture);
    p.enter();
    forget_errors(p.gl);
    const std::vector<float> texels =
        read_textures(p.gl, p.read_framebuffer, texture, p.sized.textures[at(port.texture)]);
    error = check_errors(p.gl, {"the output ", quote(name), " is read"});
    p.leave();
    if (!error) decode(port, texture, texels.data(), type, data);
    return error;
}

// --- every frame -----------------------------------------------------------------------------------

Error Player::run(bool timed) {
    Impl& p = *impl_;
    if (!p.recorded) {
        Error error = p.ready ? p.record() : not_ready();
        if (error) return error;
    }
    if (timed && !p.queries.empty()) p.run_timed();
    else play(p.gl, p.frame.calls);
    if (p.frame.barrier_after) p.gl.MemoryBarrier(gl::ALL_BARRIER_BITS);
    play(p.gl, p.after);
    return {};
}

Error Player::Impl::record() {
    for (const Port& port : schedule().inputs) {
        if (!sized.textures[at(port.texture)].empty()) continue;
        Error error = error_of("SG0605", {"the input ", quote(port.name), " has no texture"});
        error.help = "call bind_input() or upload() before run()";
        return error;
    }
    frame.record(gl, schedule(),
                 {vertex_array, sampler, &programs.passes, &sized.framebuffers, &sized.textures, &buffers});
    recorded = true;
    return {};
}

// A query spans the draw and not the binds before it, since binding a framebuffer lets some GPUs finish
// the pass before.
void Player::Impl::run_timed() {
    const Command* next = frame.calls.data();
    for (std::size_t i = 0; i < frame.draws.size(); ++i) {
        const Command* draw = frame.calls.data() + frame.draws[i];
        play(gl, next, draw);
        gl.BeginQuery(gl::TIME_ELAPSED, queries[i]);
        play(gl, draw, draw + 1);
        gl.EndQuery(gl::TIME_ELAPSED);
        next = draw + 1;
    }
    timed = true;
}

std::vector<double> Player::timings() {
    Impl& p = *impl_;
    std::vector<double> elapsed;
    if (!p.ready || !p.timed) return elapsed;
    for (const Name query : p.queries) {
        std::uint64_t nanoseconds = 0;
        p.gl.GetQueryObjectui64v(query, gl::QUERY_RESULT, &nanoseconds);
        elapsed.push_back(static_cast<double>(nanoseconds) / 1e6);
    }
    // reading this resets it
    if (p.device.disjoint && p.gl.integer(gl::GPU_DISJOINT)) elapsed.clear();
    return elapsed;
}

Error Player::wait() {
    Impl& p = *impl_;
    if (!p.ready) return not_ready();
    p.enter();
    bool foreign = false;
    for (const bool is_foreign : p.sized.foreign) foreign = foreign || is_foreign;
    if (foreign) p.gl.Finish();
    for (const Port& port : p.schedule().outputs)
        await_textures(p.gl, p.read_framebuffer, p.texture(port.texture),
                       p.sized.textures[at(port.texture)]);
    p.leave();
    return {};
}

Error Player::check() {
    Impl& p = *impl_;
    if (!p.ready) return not_ready();
    if (p.device.robust && p.gl.GetGraphicsResetStatus()) {
        Error error = error_of("SG0604", {"the GL context was lost: the GPU was reset"});
        error.help = "abandon the player, make a new context and a new player";
        return error;
    }
    return check_errors(p.gl, {"frames are drawn"});
}

Error Player::save_state() {
    Impl& p = *impl_;
    if (!p.ready) return not_ready();
    if (!p.options.restore_state) return error_of("SG0605", {"the options have no restore_state"});
    capture(p.gl, p.touched, static_cast<Name>(p.gl.integer(gl::CURRENT_PROGRAM)), p.after);
    return {};
}

}  // namespace shadergen
