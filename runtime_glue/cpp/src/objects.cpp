#include "objects.hpp"

namespace shadergen {

Name Objects::make(Kind kind) {
    Name name = 0;
    switch (kind) {
        case texture: gl_->GenTextures(1, &name); break;
        case buffer: gl_->GenBuffers(1, &name); break;
        case framebuffer: gl_->GenFramebuffers(1, &name); break;
        case sampler: gl_->GenSamplers(1, &name); break;
        case vertex_array: gl_->GenVertexArrays(1, &name); break;
        case query: gl_->GenQueries(1, &name); break;
        case program: name = gl_->CreateProgram(); break;
    }
    made_.push_back({kind, name});
    return name;
}

void Objects::remove() {
    for (; !made_.empty(); made_.pop_back()) {
        const auto& [kind, name] = made_.back();
        switch (kind) {
            case texture: gl_->DeleteTextures(1, &name); break;
            case buffer: gl_->DeleteBuffers(1, &name); break;
            case framebuffer: gl_->DeleteFramebuffers(1, &name); break;
            case sampler: gl_->DeleteSamplers(1, &name); break;
            case vertex_array: gl_->DeleteVertexArrays(1, &name); break;
            case query: gl_->DeleteQueries(1, &name); break;
            case program: gl_->DeleteProgram(name); break;
        }
    }
}

}  // namespace shadergen
