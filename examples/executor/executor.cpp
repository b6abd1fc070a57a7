// Run a build of fixed size with plain OpenGL ES, as docs/schedule.md specifies.
//
//     executor BUILD INPUT... OUTPUT...
//
// Files hold raw float32: N, C, H, W for feature maps, row after row for row-packed tensors.
// Nothing is checked here that compile has checked: run only builds that you made.

#include <GLES3/gl31.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "helpers.hpp"

using nlohmann::json;
using std::map, std::string, std::vector;

struct Format { GLenum internal, format, type; };
const map<string, Format> formats = {
    {"r8", {GL_R8, GL_RED, GL_UNSIGNED_BYTE}},
    {"rg8", {GL_RG8, GL_RG, GL_UNSIGNED_BYTE}},
    {"rgba8", {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE}},
    {"r16f", {GL_R16F, GL_RED, GL_HALF_FLOAT}},
    {"rg16f", {GL_RG16F, GL_RG, GL_HALF_FLOAT}},
    {"rgba16f", {GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT}},
    {"r32f", {GL_R32F, GL_RED, GL_FLOAT}},
    {"rg32f", {GL_RG32F, GL_RG, GL_FLOAT}},
    {"rgba32f", {GL_RGBA32F, GL_RGBA, GL_FLOAT}},
};
const map<string, GLbitfield> barriers = {{"texture", GL_TEXTURE_FETCH_BARRIER_BIT},
                                          {"image", GL_SHADER_IMAGE_ACCESS_BARRIER_BIT},
                                          {"framebuffer", GL_FRAMEBUFFER_BARRIER_BIT}};

// A tensor's GL textures: one array texture, or a 2D texture for each layer.
struct Texture {
    bool array = false;
    Format format{};
    vector<GLuint> names;
    GLenum target() const { return array ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D; }
    GLuint of(int layer) const { return names[array ? 0 : layer]; }
};
struct Pass { json data; GLuint program, framebuffer; };

// Make the textures of a tensor with `layers` layers; fill them if there are texels.
Texture make_texture(const json& tensor, const Format& format, int layers,
                     const void* texels = nullptr, size_t bytes = 0) {
    require(tensor["kind"] != "external", "external textures are not supported");
    Texture made{tensor["kind"] == "array", format, {}};
    const GLsizei width = tensor["width"], height = tensor["height"];
    const GLenum target = made.target();
    made.names.resize(made.array ? 1 : layers);
    glGenTextures(GLsizei(made.names.size()), made.names.data());
    auto from = static_cast<const char*>(texels);
    for (const GLuint name : made.names) {
        glBindTexture(target, name);
        if (made.array) glTexStorage3D(target, 1, format.internal, width, height, layers);
        else glTexStorage2D(target, 1, format.internal, width, height);
        // Shaders may sample beyond the border and rely on the border's texel there.
        for (const GLenum wrap : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T})
            glTexParameteri(target, wrap, GL_CLAMP_TO_EDGE);
        for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
            glTexParameteri(target, filter, GL_NEAREST);
        if (!from) continue;
        if (made.array)
            glTexSubImage3D(target, 0, 0, 0, 0, width, height, layers, format.format, format.type,
                            from);
        else glTexSubImage2D(target, 0, 0, 0, width, height, format.format, format.type, from);
        from += bytes / made.names.size();
    }
    return made;
}

map<string, Texture> make_textures(const json& schedule, const string& weights) {
    map<string, Texture> textures;
    map<int, int> depth;      // of a slot: the layers of its deepest tensor
    map<int, Texture> slots;  // tensors of one slot are never in use at the same time: they alias
    for (const json& t : schedule["textures"])
        if (t["slot"].is_number())
            depth[t["slot"]] = std::max(depth[t["slot"]], t["layers"].get<int>());
    for (const json& t : schedule["textures"]) {
        const Format& format = formats.at(t["format"]);
        const json& data = t["data"];
        if (data.is_object()) {  // a constant
            const char* texels = &weights[data["offset"]];
            textures[t["name"]] = make_texture(t, format, t["layers"], texels, data["size"]);
        } else if (t["slot"].is_number()) {
            Texture& slot = slots[t["slot"]];
            if (slot.names.empty()) slot = make_texture(t, format, depth[t["slot"]]);
            textures[t["name"]] = slot;
        }  // otherwise an input: the application's texture
    }
    return textures;
}

void attach(GLenum target, GLenum point, const Texture& texture, int layer) {
    if (texture.array) glFramebufferTextureLayer(target, point, texture.of(layer), 0, layer);
    else glFramebufferTexture2D(target, point, GL_TEXTURE_2D, texture.of(layer), 0);
}

Pass make_pass(const string& folder, const json& pass, map<string, Texture>& textures) {
    const string shader = folder + pass["shader"].get<string>();
    if (pass["stage"] == "compute") return {pass, link_program({{GL_COMPUTE_SHADER, shader}}), 0};
    const string vertex = folder + pass["vertex"].get<string>();
    GLuint framebuffer = 0;
    vector<GLenum> points;
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
    for (const json& write : pass["writes"]) {  // attachment i is writes[i]
        points.push_back(GL_COLOR_ATTACHMENT0 + GLenum(points.size()));
        attach(GL_DRAW_FRAMEBUFFER, points.back(), textures[write["texture"]], write["layer"]);
    }
    glDrawBuffers(GLsizei(points.size()), points.data());
    const GLuint program =
        link_program({{GL_VERTEX_SHADER, vertex}, {GL_FRAGMENT_SHADER, shader}});
    return {pass, program, framebuffer};
}

// For brevity names are looked up in every frame. A renderer looks them up once.
void run(const Pass& pass, map<string, Texture>& textures, map<string, GLuint>& buffers) {
    const auto location = [&](const json& name) {
        return glGetUniformLocation(pass.program, name.get<string>().c_str());
    };
    const auto bind_image = [](const json& unit, const Texture& texture, int layer, GLenum access) {
        glBindImageTexture(unit, texture.of(layer), 0, texture.array, 0, access,
                           texture.format.internal);  // an array is bound whole
    };
    GLbitfield bits = 0;
    for (const json& barrier : pass.data["barriers"]) bits |= barriers.at(barrier);
    if (bits) glMemoryBarrier(bits);
    glUseProgram(pass.program);
    GLint unit = 0;
    for (const json& read : pass.data["reads"]) {
        const Texture& texture = textures[read["texture"]];
        const int layer = read.value("layer", 0);
        if (read.contains("image")) bind_image(read["image"], texture, layer, GL_READ_ONLY);
        else {
            glActiveTexture(GL_TEXTURE0 + unit);
            glBindTexture(texture.target(), texture.of(layer));
            glUniform1i(location(read["uniform"]), unit++);
        }
    }
    GLuint binding = 0;
    for (const json& block : pass.data["blocks"]) {
        const string name = block["block"];
        const GLuint index = glGetUniformBlockIndex(pass.program, name.c_str());
        if (index == GL_INVALID_INDEX) continue;  // the driver removed an unused block
        glUniformBlockBinding(pass.program, index, binding);
        glBindBufferBase(GL_UNIFORM_BUFFER, binding++, buffers[block["buffer"]]);
    }
    for (const json& uniform : pass.data["uniforms"]) {
        const GLint at = location(uniform["name"]);
        const json& value = uniform["value"];
        if (uniform["type"] == "int") glUniform1i(at, value[0]);
        if (uniform["type"] == "float") glUniform1f(at, value[0]);
        if (uniform["type"] == "ivec2") glUniform2i(at, value[0], value[1]);
        if (uniform["type"] == "vec4") glUniform4f(at, value[0], value[1], value[2], value[3]);
    }
    if (pass.data["stage"] == "compute") {
        const json &write = pass.data["writes"][0], &groups = pass.data["groups"];
        bind_image(pass.data["image"], textures[write["texture"]], write["layer"], GL_WRITE_ONLY);
        glDispatchCompute(groups[0], groups[1], groups[2]);
    } else {
        glBindFramebuffer(GL_DRAW_FRAMEBUFFER, pass.framebuffer);
        glViewport(0, 0, pass.data["viewport"][0], pass.data["viewport"][1]);
        glDrawArrays(GL_TRIANGLES, 0, 3);  // a triangle that covers the viewport, without vertices
    }
}

Shape shape_of(const json& t) {
    return {t["packing"] == "rows", t["width"],    t["height"],
            t["layers"],            t["channels"], t["batch"]};
}

int main(int count, char** arguments) {
    require(count > 2, "usage: executor BUILD INPUT... OUTPUT...");
    const string folder = string(arguments[1]) + "/";
    const json schedule = json::parse(read_file(folder + "schedule.json"));
    const size_t ports = schedule["inputs"].size() + schedule["outputs"].size();
    require(size_t(count) == 2 + ports, "give one file for each input, then for each output");
    require(!schedule.contains("sizes"), "dynamic sizes are not supported");
    require(schedule["requires"].contains("glsl"), "WGSL is not supported");
    require(make_context(), "there is no OpenGL ES 3 context");
    glDisable(GL_DITHER);                   // the one state that a new context has wrong
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);  // rows of texels are tightly packed

    // Once: textures, buffers, programs, framebuffers.
    const string weights = read_file(folder + schedule["weights"]["file"].get<string>());
    map<string, Texture> textures = make_textures(schedule, weights);
    map<string, json> tensors;
    for (const json& t : schedule["textures"]) tensors[t["name"]] = t;
    char** file = arguments + 2;
    for (const json& input : schedule["inputs"]) {
        const json& t = tensors[input["texture"]];
        const vector<float> texels = texels_of(read_file(*file++), shape_of(t));
        // The application's texture may have any colour format.
        textures[t["name"]] = make_texture(t, formats.at("rgba32f"), t["layers"], texels.data(),
                                           texels.size() * sizeof(float));
    }
    map<string, GLuint> buffers;
    for (const json& buffer : schedule["buffers"]) {
        require(buffer["kind"] == "uniform", "storage blocks are not supported");
        GLuint& name = buffers[buffer["name"]];
        glGenBuffers(1, &name);
        glBindBuffer(GL_UNIFORM_BUFFER, name);
        glBufferData(GL_UNIFORM_BUFFER, buffer["size"], &weights[buffer["offset"]], GL_STATIC_DRAW);
    }
    vector<Pass> passes;
    for (const json& pass : schedule["passes"]) passes.push_back(make_pass(folder, pass, textures));

    // A frame.
    for (const Pass& pass : passes) run(pass, textures, buffers);
    if (schedule["requires"]["glsl"] > 300) glMemoryBarrier(GL_ALL_BARRIER_BITS);

    // To look at the outputs here: read them back.
    GLuint framebuffer = 0;
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
    for (const json& output : schedule["outputs"]) {
        require(output["encoding"] == "float", "outputs of other encodings are not supported");
        const Shape shape = shape_of(tensors[output["texture"]]);
        vector<float> texels(shape.texels() * 4);
        for (int layer = 0; layer < shape.layers; ++layer) {
            attach(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, textures[output["texture"]], layer);
            glReadPixels(0, 0, shape.width, shape.height, GL_RGBA, GL_FLOAT,
                         &texels[texels.size() / shape.layers * layer]);
        }
        write_file(*file++, elements_of(texels, shape));
    }
    require(glGetError() == GL_NO_ERROR, "GL reports an error");
}
