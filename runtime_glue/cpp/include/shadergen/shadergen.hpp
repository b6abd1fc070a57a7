/* shadergen: run a build of `shadergen compile` in an application's own GL context.

   A build is a network as shaders and a schedule (docs/schedule.md). Tensors lie in textures, and a
   frame is a list of draws and dispatches from one texture to the next:

       auto loaded = shadergen::load("build");                   // checked whole, no GL call
       if (!loaded) return fail(loaded.error.render());

       shadergen::Options options;
       options.get_proc_address = eglGetProcAddress;              // or glfwGetProcAddress, ...
       shadergen::Runner runner(loaded.value, options);
       if (auto error = runner.init()) return fail(error.render());
       if (auto error = runner.bind_input("img", camera_texture)) return fail(error.render());
       while (drawing) {
           if (auto error = runner.run()) return fail(error.render());
           show(runner.output_texture("out").value);
       }
       runner.close();                                            // while the context is current

   GL. OpenGL ES 3.0 to 3.2, or OpenGL 4.3 and later, whose shaders take `#version 300 es` from
   ARB_ES3_compatibility and its successors. Nothing is linked: every function comes from
   `get_proc_address`. The context is the application's. It must be current on the calling thread
   in every call of a Runner, except in the constructor and abandon(). Use a Runner on one thread
   at a time. Runners are independent, on one context or on several.

   Textures. Row 0 of a texture is row 0 of the tensor, the top row of a picture; nothing is
   flipped. Bound inputs are read without a copy: RGBA8, RGBA16F or RGBA32F, drawn or uploaded. They
   are sampled nearest and clamped, whatever their own parameters. A camera or video frame is an
   external texture (compile with --input-external): shaders read the texture through a matrix, and
   its own parameters filter it, so the frame may have any size.

   run(). Binds, sets uniforms, draws, dispatches, and issues barriers. It does not allocate,
   compile, read back, wait or query GL, with or without `restore_state`. Exception: the first run()
   after a bind records the GL calls of a frame and allocates memory. check() reports GL errors.

   State. By default a Runner resets its bindings to zero: textures and samplers of the units that
   it used, image units, uniform and storage buffers, vertex array, program, framebuffers. It turns
   off blending, culling, dithering, depth, scissor and stencil tests, rasterizer discard,
   alpha-to-coverage and sample coverage; on desktop OpenGL also the logic op and polygon smoothing,
   and it sets the polygon mode to fill. It sets the color mask to all, and changes the viewport.
   With `restore_state` it restores the state of the last save_state(). init() calls save_state()
   once; call it again if the application's state at the time of run() changes, because run() does
   not query GL. All draw buffers get the restored settings of draw buffer 0, even if glEnablei or
   glColorMaski set them separately.

   Errors are values; no exception is thrown, and sources compile with -fno-exceptions -fno-rtti.
   docs/errors.md lists the codes.

   The library does not make a context, decode or convert pictures, or flip, scale or convert
   colours. Call run() only while no transform feedback, conditional render or query of the
   application is active. Only read(), wait() and timings() wait for the GPU. */

#ifndef SHADERGEN_SHADERGEN_HPP
#define SHADERGEN_SHADERGEN_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#ifndef SHADERGEN_FILE
#define SHADERGEN_FILE
struct shadergen_file {
    const char* path;  // as the schedule names it; "schedule.json" is the schedule itself
    const void* data;
    std::size_t size;  // bytes
};
#endif

namespace shadergen {

// The supported version of the schedule: all minor versions of this major version.
constexpr int format_major = 5;
constexpr int format_minor = 7;

// An error, or none: `if (auto error = runner.init()) ...`
struct Error {
    std::string code;                // SG0503, ...; empty if there is no error
    std::string what;                // one line
    std::vector<std::string> where;  // file, member, pass: the outermost first
    std::string why, supported, help;

    explicit operator bool() const { return !code.empty(); }
    std::string render() const;  // as shadergen prints it, without a final newline
};

// A value, or why there is none.
template <class T>
struct Result {
    T value{};
    Error error;

    explicit operator bool() const { return !error; }
};

// The model's own element type; all but float32 are whole numbers.
enum class DType : std::uint8_t {
    float32,
    int64,
    int32,
    int16,
    int8,
    uint64,
    uint32,
    uint16,
    uint8,
    boolean
};

// The encoding of numbers in texels (docs/schedule.md).
enum class Encoding : std::uint8_t { plain, unorm8, y2rg, y2rg_half };

// An input or output as the application sees it.
struct PortInfo {
    std::string name;
    std::vector<std::int64_t> shape;  // the model's own
    DType dtype = DType::float32;
    Encoding encoding = Encoding::plain;
    bool is_array = false;     // one array texture; otherwise `textures` 2D textures
    bool is_external = false;  // one external texture, of any size
    int width = 0, height = 0, layers = 0, textures = 0;
    // The format of the runtime's own texture: rgba8, r32f, ... Yours may have another, except for an
    // output that a compute shader stores.
    std::string format;
    std::uint32_t gl_format = 0;  // the same for glTexStorage2D: GL_RGBA8, GL_R32F, ...
};

// A draw or dispatch of a frame, and what it does, as the compiler estimates it.
struct PassInfo {
    std::string_view name;
    bool is_compute = false;
    std::int64_t multiply_adds = 0, bytes_read = 0, bytes_written = 0;
};

// A dynamic size of a build, such as {"height", 720}.
struct Size {
    std::string name;
    std::int64_t value = 0;
};

// A file of a build in memory. The memory must outlive the Build. `shadergen compile --embed c`
// writes arrays of such files.
using File = ::shadergen_file;

using Function = void (*)();
using GetProcAddress = Function (*)(const char* name);  // "glDrawArrays", ...

struct Schedule;
struct Source;
class Files;

// A build, read and checked. Copies share its data, and several Runners may run one build.
class Build {
public:
    explicit operator bool() const { return schedule_ != nullptr; }

    std::string_view model() const;                  // the model's name
    std::string_view variant() const;  // the variant's name; empty for the generic build
    std::size_t passes() const;                      // draws and dispatches of a frame
    std::string_view pass(std::size_t index) const;  // the name of a pass
    PassInfo pass_info(std::size_t index) const;     // at the present sizes
    std::vector<PortInfo> inputs() const;
    std::vector<PortInfo> outputs() const;
    std::vector<Size> sizes() const;  // the dynamic sizes; empty in a build of fixed size
    // Bytes of the textures that a Runner creates at these sizes; inputs are the application's.
    std::int64_t texture_bytes() const;
    std::int64_t weight_bytes() const;

private:
    friend class Runner;
    friend Result<Build> load_from(const Files&, const std::vector<Size>&, GetProcAddress,
                                   const std::string&);
    std::shared_ptr<const Source> source_;
    std::shared_ptr<const Schedule> schedule_;
};

// Read and check the build in a folder (UTF-8), at its default sizes or at the given dynamic sizes.
// SG0502 to SG0505 for a bad build, SG0605 for unsupported sizes. Makes no GL call, unless
// `get_proc_address` is given. Then a context must be current. If the build has variants for
// several devices (compile --device A,B,C), the variant for this context is read.
Result<Build> load(const std::string& folder, const std::vector<Size>& sizes = {},
                   GetProcAddress get_proc_address = nullptr);
// Load files in memory, without copying them.
Result<Build> load(const File* files, std::size_t count, const std::vector<Size>& sizes = {},
                   GetProcAddress get_proc_address = nullptr);

struct Options {
    GetProcAddress get_proc_address = nullptr;
    bool restore_state = false;  // see above
    // An existing folder (UTF-8) that keeps linked programs for the next start, or empty. Only the
    // application should be able to write there, because drivers trust its content.
    std::string program_cache;
};

// Runs one build on one GL context: creates all GL objects once; a frame then only binds and draws.
class Runner {
public:
    Runner(Build build, Options options);
    Runner(Runner&&) noexcept;
    Runner& operator=(Runner&&) noexcept;
    ~Runner();  // close()

    // Check what the build requires and make all GL objects; a second call does nothing. SG0602
    // when the GL lacks something, SG0603 when a shader does not compile, SG0604 when GL reports an
    // error.
    Error init();

    // Change dynamic sizes; sizes not named stay. Creates new textures; programs and weights stay.
    // Releases bound and uploaded textures. SG0605 if the build does not support the sizes, SG0602
    // if the GL does not; nothing changes then.
    Error resize(const std::vector<Size>& wanted);

    // Read an input from the application's texture: an array texture, or its 2D textures.
    Error bind_input(std::string_view name, unsigned texture);
    Error bind_input(std::string_view name, const unsigned* textures, std::size_t count);

    // Read an input from the application's external texture through a matrix: 16 numbers, column by
    // column. The matrix maps picture coordinates, (0, 0) at the lower left and (1, 1) at the upper
    // right, to texture coordinates, as Android's SurfaceTexture.getTransformMatrix gives it. A new
    // matrix for the bound texture costs nothing: call bind_input before every frame.
    Error bind_input(std::string_view name, unsigned texture, const float* matrix);

    // Write an output to the application's texture. SG0605 if the texture does not fit. SG0602 if
    // GL cannot draw to the texture, or if shaders use it as an image and its storage is
    // mutable or of another format.
    Error bind_output(std::string_view name, unsigned texture);
    Error bind_output(std::string_view name, const unsigned* textures, std::size_t count);

    // Draw an output to the application's framebuffer, from texel (0, 0) on. Framebuffer 0 is the
    // window, where row 0 is the bottom row. Only for outputs that a single pass draws and no pass
    // reads.
    Error bind_output_framebuffer(std::string_view name, unsigned framebuffer);

    // The GL texture of an output: its array texture, or the 2D texture of a layer.
    Result<unsigned> output_texture(std::string_view name, int layer = 0) const;

    // Copy an array of the model's own shape, in C order, to a texture of the runner, and read this
    // texture. An input of encoding unorm8 takes uint8_t from 0 to 255 or floats from 0 to 1.
    template <class T>
    Error upload(std::string_view name, const T* data, std::size_t count) {
        return upload_as(name, type_of<T>(), data, count);
    }

    // Copy an output to an array of the model's own shape, in C order. Waits for the GPU. An output
    // of encoding unorm8 gives 0..255 as uint8_t and 0..1 as anything else.
    template <class T>
    Error read(std::string_view name, T* data, std::size_t count) {
        return read_as(name, type_of<T>(), data, count);
    }

    // Draw a frame. SG0605 when an input has no texture yet. `timed` measures each pass for
    // timings(), where the GL can.
    Error run(bool timed = false);

    // Milliseconds of each pass in the last timed frame. Waits for the GPU. Empty if no frame was
    // timed, the GL has no timer queries, or the GPU changed its clock meanwhile.
    std::vector<double> timings();

    Error wait();        // return when all frames so far are drawn
    Error check();       // GL errors since the last check, as SG0604
    Error save_state();  // see restore_state

    void close();    // delete all GL objects; the application's textures stay
    void abandon();  // forget all GL objects without a GL call: the context is gone

    Build build() const;  // at its present sizes

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;

    Error upload_as(std::string_view name, DType type, const void* data, std::size_t count);
    Error read_as(std::string_view name, DType type, void* data, std::size_t count);

    template <class T>
    static constexpr DType type_of() {
        static_assert(std::is_same_v<T, float> || std::is_integral_v<T>,
                      "arrays are of float, of integers or of bool");
        if constexpr (std::is_same_v<T, float>) return DType::float32;
        else if constexpr (std::is_same_v<T, bool>) return DType::boolean;
        else if constexpr (sizeof(T) == 8)
            return std::is_signed_v<T> ? DType::int64 : DType::uint64;
        else if constexpr (sizeof(T) == 4)
            return std::is_signed_v<T> ? DType::int32 : DType::uint32;
        else if constexpr (sizeof(T) == 2)
            return std::is_signed_v<T> ? DType::int16 : DType::uint16;
        else return std::is_signed_v<T> ? DType::int8 : DType::uint8;
    }
};

using Player [[deprecated("Player is now called Runner")]] = Runner;  // until 1.0

}  // namespace shadergen

#endif
