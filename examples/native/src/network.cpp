#include "network.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "espcn.h"

namespace samples {

namespace {

using shadergen::Encoding;
using shadergen::Error;
using shadergen::PortInfo;

Error refusal(const char* code, std::string what, std::string help = {}) {
    Error error;
    error.code = code;
    error.what = std::move(what);
    error.help = std::move(help);
    return error;
}

std::string size_text(int width, int height) {
    return std::to_string(height) + "x" + std::to_string(width);
}

// How many channels a picture has that is of the shape N, H, W, C or N, C, H, W, or 0.
int channels_of(const PortInfo& port) {
    const auto& shape = port.shape;
    if (shape.size() != 4 || shape[0] != 1) return 0;
    const bool last = shape[1] == port.height && shape[2] == port.width;
    const auto channels = last ? shape[3] : shape[1];
    return channels == 1 || channels == 3 || channels == 4 ? static_cast<int>(channels) : 0;
}

GLenum format_of(const std::string& name) {
    const std::pair<const char*, GLenum> formats[] = {
        {"r8", GL_R8},       {"rgba8", GL_RGBA8},     {"r16f", GL_R16F},
        {"r32f", GL_R32F},   {"rgba16f", GL_RGBA16F}, {"rgba32f", GL_RGBA32F}};
    for (const auto& [known, format] : formats)
        if (name == known) return format;
    return GL_RGBA32F;
}

GLenum target_of(const PortInfo& port) { return port.is_array ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D; }

// ITU-R BT.601, full range.
constexpr const char* luma = "const vec3 LUMA = vec3(0.299, 0.587, 0.114);\n";

// The network's input from the picture.
constexpr const char* prepare = R"(
uniform sampler2D u_picture;
out vec4 o;
void main() {
    vec4 v = texelFetch(u_picture, ivec2(gl_FragCoord.xy), 0);
    o = IS_LUMA ? vec4(dot(v.rgb, LUMA)) : v;
}
)";

// A picture from the network's output. Where that is luma, the picture that went in is resized, and its luma
// changed to the network's; resized as `shadergen run` does it, bicubically with a = -0.5, to 8 bits along
// rows and then along columns, so that the same picture results.
constexpr const char* compose = R"(
uniform SAMPLER u_output;
uniform sampler2D u_picture;
uniform vec4 u_scale;  // how many of the picture's texels one of the output's is, at least 1 in zw
out vec4 o;

float weight(float x) {
    x = abs(x);
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1.0;
    return x < 2.0 ? ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0 : 0.0;
}

// In 0 .. 255, where sums are exact; halves go up.
vec3 to_bytes(vec4 sum) { return clamp(floor(sum.rgb / sum.a + 0.5), 0.0, 255.0); }

ivec2 taps(float centre, float radius, int size) {
    return ivec2(max(int(centre - radius + 0.5), 0), min(int(centre + radius + 0.5), size));
}

vec3 row(int y, float centre, ivec2 range) {
    vec4 sum = vec4(0.0);
    for (int x = range.x; x < range.y; ++x) {
        vec3 v = round(texelFetch(u_picture, ivec2(x, y), 0).rgb * 255.0);
        sum += weight((float(x) - centre + 0.5) / u_scale.z) * vec4(v, 1.0);
    }
    return to_bytes(sum);
}

vec3 resized() {
    vec2 centre = gl_FragCoord.xy * u_scale.xy;
    ivec2 size = textureSize(u_picture, 0);
    ivec2 columns = taps(centre.x, 2.0 * u_scale.z, size.x), rows = taps(centre.y, 2.0 * u_scale.w, size.y);
    vec4 sum = vec4(0.0);
    for (int y = rows.x; y < rows.y; ++y)
        sum += weight((float(y) - centre.y + 0.5) / u_scale.w) * vec4(row(y, centre.x, columns), 1.0);
    return to_bytes(sum) / 255.0;
}

void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    vec4 v = texelFetch(u_output, TEXEL(p), 0);
    if (CHANNELS == 1) {
        vec3 colour = resized();
        v.rgb = colour + (v.r - dot(colour, LUMA));
    }
    o = vec4(v.rgb, CHANNELS == 4 ? v.a : 1.0);
}
)";

double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

Error Network::load(const std::string& folder, const shadergen::Options& options) {
    auto loaded = folder.empty() ? shadergen::load(espcn_files, espcn_file_count) : shadergen::load(folder);
    if (!loaded) return loaded.error;
    runner_.emplace(loaded.value, options);
    return take_ports();
}

// Know the build's input and output, and that they are pictures.
Error Network::take_ports() {
    const auto inputs = build().inputs(), outputs = build().outputs();
    if (inputs.size() != 1 || outputs.size() != 1)
        return refusal("SG0605", "the build does not make one picture of one picture");
    for (const auto* port : {&inputs[0], &outputs[0]})
        if (!channels_of(*port) || (port->encoding != Encoding::plain && port->encoding != Encoding::unorm8))
            return refusal("SG0605", "'" + port->name + "' is not a picture of 1, 3 or 4 channels");
    input_ = inputs[0], output_ = outputs[0];
    luma_ = channels_of(input_) == 1;
    channels_ = channels_of(output_);
    return {};
}

Error Network::resize(int width, int height) {
    if (width == input_.width && height == input_.height) return {};
    std::vector<shadergen::Size> sizes;
    for (const auto& open : build().sizes()) {
        if (open.name == "height") sizes.push_back({open.name, height});
        if (open.name == "width") sizes.push_back({open.name, width});
    }
    if (sizes.empty())
        return refusal("SG0605",
                       "the picture is " + size_text(width, height) + ", the build takes " +
                           size_text(input_.width, input_.height),
                       "compile with --input-size " + std::to_string(height) + "x" + std::to_string(width) +
                           ", or dynamic, if the model allows");
    Error error = runner_->resize(sizes);
    if (!error) error = take_ports();
    if (!error && ready_) error = make_canvases();
    return error;
}

Error Network::init() {
    const double start = now();
    Error error = runner_->init();
    milliseconds_ = now() - start;
    if (error) return error;
    prepare_ = Drawing(std::string("#define IS_LUMA ") + (luma_ ? "true\n" : "false\n") + luma + prepare);
    compose_ = Drawing("#define CHANNELS " + std::to_string(channels_) +
                       (output_.is_array ? "\n#define SAMPLER sampler2DArray\n#define TEXEL(p) ivec3(p, 0)\n"
                                         : "\n#define SAMPLER sampler2D\n#define TEXEL(p) p\n") +
                       luma + compose);
    if (!prepare_.ready() || !compose_.ready())
        return refusal("SG0603", "this GL does not compile the sample's shaders");
    ready_ = true;
    return make_canvases();
}

void Network::close() {
    runner_->close();
    prepared_ = Canvas();
    ready_ = false;
}

Error Network::make_canvases() {
    bound_ = 0;
    result_ = Canvas(GL_TEXTURE_2D, GL_RGBA8, output_.width, output_.height);
    if (!prepares()) return {};
    prepared_ = Canvas(target_of(input_), format_of(input_.format), input_.width, input_.height);
    if (!prepared_.complete())
        return refusal("SG0602", "this GL cannot draw to " + input_.format + " textures");
    return runner_->bind_input(input_.name, prepared_.texture());
}

Error Network::run(GLuint picture) {
    if (prepares()) {
        prepare_.use();
        prepare_.texture("u_picture", 0, GL_TEXTURE_2D, picture);
        prepare_.draw(prepared_.framebuffer(), prepared_.width(), prepared_.height());
    } else if (bound_ != picture) {
        if (auto error = runner_->bind_input(input_.name, picture)) return error;
        bound_ = picture;
    }
    // An application would not wait; here each frame is measured alone.
    if (auto error = runner_->wait()) return error;
    const double start = now();
    if (auto error = runner_->run()) return error;
    if (auto error = runner_->wait()) return error;
    milliseconds_ = now() - start;

    const float across = static_cast<float>(input_.width) / static_cast<float>(output_.width);
    const float down = static_cast<float>(input_.height) / static_cast<float>(output_.height);
    compose_.use();
    gl.Uniform4f(compose_.uniform("u_scale"), across, down, std::max(across, 1.0F), std::max(down, 1.0F));
    compose_.texture("u_output", 0, target_of(output_), runner_->output_texture(output_.name).value);
    compose_.texture("u_picture", 1, GL_TEXTURE_2D, picture);
    compose_.draw(result_.framebuffer(), result_.width(), result_.height());
    return runner_->check();
}

}  // namespace samples
