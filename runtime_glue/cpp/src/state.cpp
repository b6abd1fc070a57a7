#include "state.hpp"

namespace shadergen {

namespace {

class Capture {
public:
    Capture(const GL& gl, Commands& restore) : gl_(gl), restore_(restore) { restore_.clear(); }

    void add(Command::Kind kind, std::initializer_list<Uint> arguments) {
        shadergen::add(restore_, kind, arguments);
    }
    Uint ask(Enum what) const { return static_cast<Uint>(gl_.integer(what)); }
    Uint ask(Enum what, Uint index) const {
        Int value = 0;
        gl_.GetIntegeri_v(what, index, &value);
        return static_cast<Uint>(value);
    }

    // Bind again to a target what is bound to it.
    void bound(Command::Kind kind, Enum target, Enum binding) { add(kind, {target, ask(binding)}); }

    void units(Uint count, bool external) {
        const Uint active = ask(gl::ACTIVE_TEXTURE);
        for (Uint unit = 0; unit < count; ++unit) {
            gl_.ActiveTexture(gl::TEXTURE0 + unit);
            add(Command::active_texture, {gl::TEXTURE0 + unit});
            bound(Command::bind_texture, gl::TEXTURE_2D, gl::TEXTURE_BINDING_2D);
            bound(Command::bind_texture, gl::TEXTURE_2D_ARRAY, gl::TEXTURE_BINDING_2D_ARRAY);
            if (external)
                bound(Command::bind_texture, gl::TEXTURE_EXTERNAL_OES,
                      gl::TEXTURE_BINDING_EXTERNAL_OES);
            bound(Command::bind_sampler, unit, gl::SAMPLER_BINDING);
        }
        gl_.ActiveTexture(active);
        add(Command::active_texture, {active});
    }

    void image(Uint unit) {
        Command bind = call(Command::bind_image, {unit});
        std::size_t i = 1;
        for (const Enum what :
             {gl::IMAGE_BINDING_NAME, gl::IMAGE_BINDING_LEVEL, gl::IMAGE_BINDING_LAYERED,
              gl::IMAGE_BINDING_LAYER, gl::IMAGE_BINDING_ACCESS, gl::IMAGE_BINDING_FORMAT})
            bind.a[i++] = ask(what, unit);
        restore_.push_back(bind);
    }

    // Binding to an index binds to the target too, so indices come first.
    void buffers(const List<Binding>& bindings) {
        static constexpr Enum uniform_buffer[] = {
            gl::UNIFORM_BUFFER_BINDING, gl::UNIFORM_BUFFER_START, gl::UNIFORM_BUFFER_SIZE};
        static constexpr Enum storage_buffer[] = {gl::SHADER_STORAGE_BUFFER_BINDING,
                                                  gl::SHADER_STORAGE_BUFFER_START,
                                                  gl::SHADER_STORAGE_BUFFER_SIZE};
        for (const Binding& at : bindings) {
            const auto& [binding, start_of, size_of] =
                at.target == gl::UNIFORM_BUFFER ? uniform_buffer : storage_buffer;
            const Name name = ask(binding, at.index);
            const std::uint64_t start = range(start_of, at.index);
            const std::uint64_t size = range(size_of, at.index);
            if (name && size)
                add(Command::bind_buffer_range,
                    {at.target, at.index, name, low(start), high(start), low(size), high(size)});
            else add(Command::bind_buffer_base, {at.target, at.index, name});
        }
        bound(Command::bind_buffer, gl::UNIFORM_BUFFER, gl::UNIFORM_BUFFER_BINDING);
        if (gl_.DispatchCompute && !bindings.empty())
            for (const Binding& at : bindings)
                if (at.target == gl::SHADER_STORAGE_BUFFER) {
                    bound(Command::bind_buffer, at.target, gl::SHADER_STORAGE_BUFFER_BINDING);
                    break;
                }
        bound(Command::bind_buffer, gl::PIXEL_PACK_BUFFER, gl::PIXEL_PACK_BUFFER_BINDING);
        bound(Command::bind_buffer, gl::PIXEL_UNPACK_BUFFER, gl::PIXEL_UNPACK_BUFFER_BINDING);
    }

    void pixel_store() {
        for (const Enum what :
             {gl::UNPACK_ROW_LENGTH, gl::UNPACK_IMAGE_HEIGHT, gl::UNPACK_SKIP_ROWS,
              gl::UNPACK_SKIP_PIXELS, gl::UNPACK_SKIP_IMAGES, gl::UNPACK_ALIGNMENT,
              gl::PACK_ROW_LENGTH, gl::PACK_SKIP_ROWS, gl::PACK_SKIP_PIXELS, gl::PACK_ALIGNMENT,
              gl::UNPACK_SWAP_BYTES, gl::PACK_SWAP_BYTES}) {
            if (what == gl::UNPACK_SWAP_BYTES && !gl_.desktop) break;  // OpenGL alone has these
            add(Command::pixel_store, {what, ask(what)});
        }
    }

    void drawing() {
        const std::size_t count = gl_.desktop ? desktop_capability_count : capability_count;
        for (std::size_t i = 0; i < count; ++i)
            add(gl_.IsEnabled(capabilities[i]) ? Command::enable : Command::disable,
                {capabilities[i]});
        if (gl_.desktop) {
            Int mode[2] = {};  // front and back where they may differ
            gl_.GetIntegerv(gl::POLYGON_MODE, mode);
            add(Command::polygon_mode, {static_cast<Uint>(mode[0])});
        }
        std::uint8_t mask[4] = {};
        gl_.GetBooleanv(gl::COLOR_WRITEMASK, mask);
        add(Command::color_mask, {mask[0], mask[1], mask[2], mask[3]});
        Command viewport = call(Command::viewport, {});
        gl_.GetIntegerv(gl::VIEWPORT, reinterpret_cast<Int*>(viewport.a));
        restore_.push_back(viewport);
        add(Command::bind_vertex_array, {ask(gl::VERTEX_ARRAY_BINDING)});
        bound(Command::bind_framebuffer, gl::DRAW_FRAMEBUFFER, gl::DRAW_FRAMEBUFFER_BINDING);
        bound(Command::bind_framebuffer, gl::READ_FRAMEBUFFER, gl::READ_FRAMEBUFFER_BINDING);
    }

private:
    std::uint64_t range(Enum what, Uint index) const {
        std::int64_t value = 0;
        gl_.GetInteger64i_v(what, index, &value);
        return static_cast<std::uint64_t>(value);
    }
    static Uint low(std::uint64_t value) { return static_cast<Uint>(value); }
    static Uint high(std::uint64_t value) { return static_cast<Uint>(value >> 32); }

    const GL& gl_;
    Commands& restore_;
};

}  // namespace

void capture(const GL& gl, const Touched& touched, Name program, Commands& restore) {
    Capture state(gl, restore);
    state.units(touched.units, touched.external);
    for (const Uint unit : touched.images) state.image(unit);
    state.buffers(touched.buffers);
    state.pixel_store();
    state.drawing();
    state.add(Command::use_program, {program});
}

}  // namespace shadergen
