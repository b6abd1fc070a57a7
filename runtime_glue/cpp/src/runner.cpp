// Run a build: create all GL objects once; a frame then only binds and draws.

#include "impl.hpp"

namespace shadergen {

bool Runner::Impl::is_ready(Error& error) const {
    if (ready) return true;
    error.help = "call init()";
    return fail(error, "SG0605", "the runner is not initialised", {});
}

// --- once ---

Runner::Runner(Build build, Options options) : impl_(new Impl()) {
    impl_->build = std::move(build);
    impl_->options = std::move(options);
}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&& other) noexcept {
    if (this != &other) {
        if (impl_) close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}
Runner::~Runner() {
    if (impl_) close();
}

Error Runner::init() {
    Impl& p = *impl_;
    Error error;
    if (p.ready) return error;
    if (!p.build) {
        fail(error, "SG0605", "the runner has no build", {});
        return error;
    }
    if (p.gl.load(p.options.get_proc_address, error) && query_device(p.gl, p.device, error) &&
        check_requirements(p.schedule().required, p.gl, p.device, error)) {
        forget_errors(p.gl);
        p.ready = p.make(error);
        if (!p.ready) p.remove();
    }
    if (!p.ready && !p.build.source_->place.empty()) locate(error, p.build.source_->place, true);
    return error;
}

bool Runner::Impl::make(Error& error) {
    const Name program =
        options.restore_state ? static_cast<Name>(gl.integer(gl::CURRENT_PROGRAM)) : 0;
    if (!programs.build(gl, device, fixed, *build.source_, schedule(), options.program_cache,
                        error)) {
        gl.UseProgram(program);
        return false;
    }
    touched = touched_by(schedule(), programs.passes);
    if (options.restore_state) capture(gl, touched, program, after);
    else Frame::leave_at_zero(touched, after);
    for (std::size_t i = 0; i < schedule().textures.size(); ++i)
        if (schedule().textures[i].is_external)
            matrices.add().texture = static_cast<std::int32_t>(i);
    enter();
    vertex_array = fixed.make(Objects::vertex_array);
    sampler = make_sampler(gl, fixed);
    read_framebuffer = fixed.make(Objects::framebuffer);
    make_buffers();
    make_constants();
    const bool made = make_sized(schedule(), sized, error);
    if (made && device.timer)
        for (std::size_t i = 0; i < schedule().passes.size(); ++i)
            queries.push_back(fixed.make(Objects::query));
    const bool good = made && check_errors(gl, error, "the build's GL objects are made");
    leave();
    return good;
}

void Runner::Impl::make_buffers() {
    for (const Buffer& buffer : schedule().buffers) {
        const Enum target = buffer.is_storage ? gl::SHADER_STORAGE_BUFFER : gl::UNIFORM_BUFFER;
        buffers.push_back(fixed.make(Objects::buffer));
        gl.BindBuffer(target, buffers.back());
        gl.BufferData(target, static_cast<std::ptrdiff_t>(buffer.range.size),
                      bytes(buffer.range).data(), gl::STATIC_DRAW);
        gl.BindBuffer(target, 0);
    }
}

void Runner::Impl::make_constants() {
    for (const Texture& t : schedule().textures) {
        constants.push_back({});
        if (!t.has_data) continue;
        constants.back() = make_textures(gl, fixed, t);
        fill_textures(gl, t, constants.back(), bytes(t.data).data());
    }
}

// Textures of a slot are the same GL textures; the slot has the layers of the deepest.
void Runner::Impl::make_textures_of(const Schedule& of, Sized& to) const {
    List<const Texture*> deepest;  // by slot
    for (const Texture& t : of.textures) {
        if (t.slot == none || t.has_data) continue;
        if (deepest.size() <= at(t.slot)) deepest.resize(at(t.slot) + 1);
        const Texture*& known = deepest[at(t.slot)];
        if (!known || t.layers > known->layers) known = &t;
    }
    List<GLTextures> slots(deepest.size());
    for (std::size_t slot = 0; slot < deepest.size(); ++slot)
        if (deepest[slot]) slots[slot] = make_textures(gl, to.objects, *deepest[slot]);
    to.textures = constants;
    for (std::size_t i = 0; i < of.textures.size(); ++i) {
        const Texture& t = of.textures[i];
        if (t.slot == none || t.has_data) continue;
        const GLTextures& whole = slots[at(t.slot)];
        to.textures[i] = whole;
        to.textures[i].resize(static_cast<std::size_t>(t.objects()));
    }
    to.uploads.resize(of.inputs.size());
}

bool Runner::Impl::make_sized(const Schedule& of, Sized& to, Error& error) const {
    make_textures_of(of, to);
    if (!check_errors(gl, error, "textures are made")) return false;
    const float nothing[4] = {};
    for (std::size_t i = 0; i < of.passes.size(); ++i) {
        const Pass& pass = of.passes[i];
        to.framebuffers.push_back(pass.is_compute ? 0 : to.objects.make(Objects::framebuffer));
        to.foreign.push_back(false);
        if (pass.is_compute) continue;
        if (!attach_pass(of, to, i, error)) return false;
        // make the driver allocate now what it would allocate in the first frame
        gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, to.framebuffers[i]);
        for (std::size_t k = 0; k < pass.writes.size(); ++k)
            gl.ClearBufferfv(gl::COLOR, static_cast<Int>(k), nothing);
        gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    }
    return check_errors(gl, error, "framebuffers are made");
}

// Point the framebuffer of a pass at the textures that it writes.
bool Runner::Impl::attach_pass(const Schedule& of, const Sized& to, std::size_t index,
                               Error& error) const {
    List<Target> targets;
    for (const Write& write : of.passes[index].writes) {
        const Texture& t = of.textures[at(write.texture)];
        const Name name = to.textures[at(write.texture)][t.is_array ? 0 : at(write.layer)];
        targets.push_back({&t, name, write.layer});
    }
    return attach(gl, to.framebuffers[index], targets, error);
}

Error Runner::resize(const std::vector<Size>& wanted) {
    Error error;
    impl_->resize(wanted, error);
    return error;
}

bool Runner::Impl::resize(const std::vector<Size>& wanted, Error& error) {
    if (!build) return fail(error, "SG0605", "the runner has no build", {});
    Sizes sizes = schedule().sizes;
    if (!sizes.set(wanted, error)) return false;
    if (sizes.parameters() == schedule().sizes.parameters()) return true;
    const auto next = std::make_shared<Schedule>();
    if (!resize_schedule(*build.source_, sizes, *next, error)) return false;
    if (ready && !remake(*next, error)) return false;
    build.schedule_ = next;
    return true;
}

// Make what has a size anew for a schedule; nothing changes when that fails.
bool Runner::Impl::remake(const Schedule& next, Error& error) {
    if (!check_requirements(next.required, gl, device, error)) return false;
    for (std::size_t i = 0; i < next.textures.size(); ++i) {
        const Texture &before = schedule().textures[i], &now = next.textures[i];
        if (now.has_data && (now.width != before.width || now.height != before.height ||
                             now.layers != before.layers))
            return malformed(error, "the constant '{}' has a dynamic size", {now.name});
    }
    enter();
    forget_errors(gl);
    Sized made(gl);
    const bool good = make_sized(next, made, error);
    (good ? sized : made).objects.remove();
    if (good) {
        sized = std::move(made);
        recorded = timed = false;
        programs.set_uniforms(gl, next);
    }
    leave();
    return good;
}

void Runner::Impl::remove() {
    sized.objects.remove();
    fixed.remove();
    ready = recorded = timed = false;
    buffers.clear(), queries.clear(), constants.clear(), matrices.clear();
    sized = Sized(gl);
    programs = Programs();
}

void Runner::close() {
    if (!impl_) return;
    impl_->remove();
}

void Runner::abandon() {
    if (!impl_) return;
    impl_->sized.objects.forget();
    impl_->fixed.forget();
    impl_->remove();
}

Build Runner::build() const { return impl_->build; }

// --- every frame ---

Error Runner::run(bool timed) {
    Impl& p = *impl_;
    Error error;
    if (!p.recorded && !p.record(error)) return error;
    if (timed && !p.queries.empty()) p.run_timed();
    else replay(p.gl, p.frame.calls);
    if (p.frame.barrier_after) p.gl.MemoryBarrier(gl::ALL_BARRIER_BITS);
    replay(p.gl, p.after);
    return error;
}

bool Runner::Impl::record(Error& error) {
    if (!is_ready(error)) return false;
    for (const Port& port : schedule().inputs) {
        if (!bound(port).empty()) continue;
        error.help = "call bind_input() or upload() before run()";
        return fail(error, "SG0605", "the input '{}' has no texture", {port.name});
    }
    if (!check_apart(error)) return false;
    frame.record(gl, schedule(),
                 {vertex_array, sampler, &programs.passes, &sized.framebuffers, &sized.textures,
                  &matrices, &buffers});
    recorded = true;
    return true;
}

// A query spans the draw and not the binds before it, since binding a framebuffer lets some GPUs
// finish the pass before.
void Runner::Impl::run_timed() {
    const Command* next = frame.calls.begin();
    for (std::size_t i = 0; i < frame.draws.size(); ++i) {
        const Command* draw = frame.calls.begin() + frame.draws[i];
        replay(gl, next, draw);
        gl.BeginQuery(gl::TIME_ELAPSED, queries[i]);
        replay(gl, draw, draw + 1);
        gl.EndQuery(gl::TIME_ELAPSED);
        next = draw + 1;
    }
    timed = true;
}

std::vector<double> Runner::timings() {
    Impl& p = *impl_;
    std::vector<double> elapsed(p.ready && p.timed ? p.queries.size() : 0);
    if (elapsed.empty()) return elapsed;
    for (std::size_t i = 0; i < elapsed.size(); ++i) {
        std::uint64_t nanoseconds = 0;
        p.gl.GetQueryObjectui64v(p.queries[i], gl::QUERY_RESULT, &nanoseconds);
        elapsed[i] = static_cast<double>(nanoseconds) / 1e6;
    }
    // reading this resets it
    if (p.device.disjoint && p.gl.integer(gl::GPU_DISJOINT)) elapsed.clear();
    return elapsed;
}

Error Runner::wait() {
    Impl& p = *impl_;
    Error error;
    if (!p.is_ready(error)) return error;
    p.enter();
    bool foreign = false;
    for (const bool is_foreign : p.sized.foreign) foreign = foreign || is_foreign;
    if (foreign) p.gl.Finish();
    for (const Port& port : p.schedule().outputs)
        await_textures(p.gl, p.read_framebuffer, p.texture(port.texture), p.bound(port));
    p.leave();
    return error;
}

Error Runner::check() {
    Impl& p = *impl_;
    Error error;
    if (!p.is_ready(error)) return error;
    if (p.device.robust && p.gl.GetGraphicsResetStatus()) {
        error.help = "abandon the runner, make a new context and a new runner";
        fail(error, "SG0604", "the GL context was lost: the GPU was reset", {});
    } else {
        check_errors(p.gl, error, "frames are drawn or the application calls GL");
    }
    return error;
}

Error Runner::save_state() {
    Impl& p = *impl_;
    Error error;
    if (!p.is_ready(error)) return error;
    if (p.options.restore_state)
        capture(p.gl, p.touched, static_cast<Name>(p.gl.integer(gl::CURRENT_PROGRAM)), p.after);
    else fail(error, "SG0605", "the options have no restore_state", {});
    return error;
}

}  // namespace shadergen
