#include "device.hpp"

#include <algorithm>

#include "text.hpp"

namespace shadergen {

namespace {

constexpr char external_extension[] = "GL_OES_EGL_image_external_essl3";

struct Extension {
    char name[32];
    bool Device::*there;
};
constexpr Extension extensions[] = {
    {"GL_EXT_color_buffer_float", &Device::draws_float},
    {"GL_EXT_color_buffer_half_float", &Device::draws_half_float},
    {"GL_KHR_robustness", &Device::robust},
    {"GL_EXT_disjoint_timer_query", &Device::disjoint},
    {"GL_OES_EGL_image_external_essl3", &Device::external},
};

// What lets OpenGL have the shaders of OpenGL ES 3.0, 3.1, 3.2.
struct Shaders {
    char extension[27];
    int es;
};
constexpr Shaders shaders[] = {
    {"GL_ARB_ES3_compatibility", 30},
    {"GL_ARB_ES3_1_compatibility", 31},
    {"GL_ARB_ES3_2_compatibility", 32},
};

struct LimitName {
    Enum name;
    std::uint8_t since;  // the first OpenGL ES that knows it
    char text[31];       // after GL_MAX_
};

constexpr LimitName limits[limit_count] = {
    {gl::MAX_TEXTURE_SIZE, 30, "TEXTURE_SIZE"},
    {gl::MAX_ARRAY_TEXTURE_LAYERS, 30, "ARRAY_TEXTURE_LAYERS"},
    {gl::MAX_TEXTURE_IMAGE_UNITS, 30, "TEXTURE_IMAGE_UNITS"},
    {gl::MAX_DRAW_BUFFERS, 30, "DRAW_BUFFERS"},
    {gl::MAX_UNIFORM_BLOCK_SIZE, 30, "UNIFORM_BLOCK_SIZE"},
    {gl::MAX_FRAGMENT_UNIFORM_BLOCKS, 30, "FRAGMENT_UNIFORM_BLOCKS"},
    {gl::MAX_SHADER_STORAGE_BLOCK_SIZE, 31, "SHADER_STORAGE_BLOCK_SIZE"},
    {gl::MAX_FRAGMENT_SHADER_STORAGE_BLOCKS, 31, "FRAGMENT_SHADER_STORAGE_BLOCKS"},
    {gl::MAX_FRAGMENT_IMAGE_UNIFORMS, 31, "FRAGMENT_IMAGE_UNIFORMS"},
    {gl::MAX_COMPUTE_IMAGE_UNIFORMS, 31, "COMPUTE_IMAGE_UNIFORMS"},
    {gl::MAX_COMPUTE_TEXTURE_IMAGE_UNITS, 31, "COMPUTE_TEXTURE_IMAGE_UNITS"},
    {gl::MAX_COMPUTE_UNIFORM_BLOCKS, 31, "COMPUTE_UNIFORM_BLOCKS"},
    {gl::MAX_COMPUTE_WORK_GROUP_INVOCATIONS, 31, "COMPUTE_WORK_GROUP_INVOCATIONS"},
    {gl::MAX_COMPUTE_WORK_GROUP_COUNT, 31, "COMPUTE_WORK_GROUP_COUNT"},
};

// Numbers beyond 2^31 - 1 come back negative.
std::int64_t cut(Int value) { return value >= 0 ? value : INT32_MAX; }

std::int64_t query_limit(const GL& gl, Enum name) {
    if (name != gl::MAX_COMPUTE_WORK_GROUP_COUNT) return cut(gl.integer(name));
    std::int64_t least = INT32_MAX;
    for (Uint axis = 0; axis < 3; ++axis) {
        Int value = 0;
        gl.GetIntegeri_v(name, axis, &value);
        least = std::min(least, cut(value));
    }
    return least;
}

void read_text(const GL& gl, Enum name, std::string& to) {
    const auto* text = reinterpret_cast<const char*>(gl.GetString(name));
    to = text ? text : "";
}

// "OpenGL ES 3.2 Mesa" or "4.6 (Core Profile)": ten times the version.
int parse_version(std::string_view version, bool& desktop) {
    constexpr std::string_view es = "OpenGL ES ";
    const auto digit = [&](std::size_t i) {
        return i < version.size() && version[i] >= '0' && version[i] <= '9' ? version[i] - '0' : -1;
    };
    desktop = version.substr(0, es.size()) != es;
    if (!desktop) version.remove_prefix(es.size());
    if (digit(0) < 0 || digit(2) < 0 || version[1] != '.') return 0;
    return digit(0) * 10 + (digit(3) < 0 ? digit(2) : 9);
}

}  // namespace

bool query_device(GL& gl, Device& device, Error& error) {
    for (const Extension& known : extensions)
        device.*known.there = false;  // another context may have been asked before
    read_text(gl, gl::VERSION, device.version);
    bool desktop = false;
    const int version = parse_version(device.version, desktop);
    if (version < (desktop ? 43 : 30)) {
        tell(error.why,
             device.version.empty() ? "GL reports no version" : "GL_VERSION is '{}'",
             {device.version});
        error.help = "make the application's context current";
        return fail(error, "SG0601",
                    "no context of OpenGL ES 3 or OpenGL 4.3 is current on this thread", {});
    }
    if (!desktop) gl.use_extensions();
    read_text(gl, gl::VENDOR, device.vendor);
    read_text(gl, gl::RENDERER, device.renderer);
    device.es = desktop ? 0 : version;
    const Int count = gl.integer(gl::NUM_EXTENSIONS);
    for (Int i = 0; i < count; ++i) {
        const auto* name =
            reinterpret_cast<const char*>(gl.GetStringi(gl::EXTENSIONS, static_cast<Uint>(i)));
        const std::string_view extension = name ? name : "";
        for (const Extension& known : extensions)
            if (same(extension, known.name)) device.*known.there = true;
        for (const Shaders& known : shaders)
            if (desktop && same(extension, known.extension))
                device.es = std::max(device.es, known.es);
    }
    device.draws_float = device.draws_float || desktop || device.es >= 32;
    device.draws_half_float = device.draws_half_float || device.draws_float;
    device.robust = device.robust && gl.GetGraphicsResetStatus;
    device.timer = (desktop || device.disjoint) && gl.BeginQuery && gl.GetQueryObjectui64v;
    for (std::size_t i = 0; i < limit_count; ++i)
        device.limits[i] =
            desktop || device.es >= limits[i].since ? query_limit(gl, limits[i].name) : 0;
    device.limits[draw_buffers] =
        std::min(device.limits[draw_buffers], cut(gl.integer(gl::MAX_COLOR_ATTACHMENTS)));
    return true;
}

bool check_requirements(const Requires& required, const GL& gl, const Device& device,
                        Error& error) {
    std::string first;
    const auto missing = [&](const char* what, Words words) {
        std::string& told = first.empty() ? first : error.why;
        if (!first.empty())
            told += told.empty() ? "the build also requires " : "\nthe build also requires ";
        tell(told, what, words);
    };
    if (!required.wgsl.empty()) missing("support for WGSL, the build's shader language", {});
    const int need = required.glsl / 10;
    if (device.es < need) {
        if (gl.desktop)
            missing("the shaders of OpenGL ES 3.{} ({})",
                    {need % 10, shaders[need % 10].extension});
        else missing("OpenGL ES 3.{} (this is {}.{})", {need % 10, device.es / 10, device.es % 10});
    }
    if (required.color_buffer == ColorBuffer::floats && !device.draws_float)
        missing("GL_EXT_color_buffer_float, needed to draw to 32-bit float textures", {});
    if (required.color_buffer == ColorBuffer::half_float && !device.draws_half_float)
        missing(
            "GL_EXT_color_buffer_half_float or GL_EXT_color_buffer_float, needed to draw to 16-bit "
            "float textures",
            {});
    if (!required.extensions.empty() && !device.external)
        missing("{}, needed to read the application's external textures", {external_extension});
    for (std::size_t i = 0; i < limit_count; ++i) {
        if (required.limits[i] <= device.limits[i]) continue;
        std::string name = limit_name(i);
        std::replace(name.begin(), name.end(), '_', ' ');
        missing("{} >= {} (GL_MAX_{} is {})",
                {name, required.limits[i], limits[i].text, device.limits[i]});
    }
    if (first.empty()) return true;
    locate(error, "{}, {}", {device.renderer, device.version});
    error.help =
        "compile the model for this device ('shadergen doctor' lists the device's features)";
    return fail(error, "SG0602", "this GL lacks {}", {first});
}

}  // namespace shadergen
