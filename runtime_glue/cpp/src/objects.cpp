#include "objects.hpp"

namespace shadergen {

namespace {

using Make = void(SHADERGEN_GL_CALL*)(Int, Name*);
using Delete = void(SHADERGEN_GL_CALL*)(Int, const Name*);

struct Calls {
    Make GL::*make;
    Delete GL::*remove;
};

// Of all kinds but programs, which are made and deleted one by one.
constexpr Calls calls[] = {
    {&GL::GenTextures, &GL::DeleteTextures},         {&GL::GenBuffers, &GL::DeleteBuffers},
    {&GL::GenFramebuffers, &GL::DeleteFramebuffers}, {&GL::GenSamplers, &GL::DeleteSamplers},
    {&GL::GenVertexArrays, &GL::DeleteVertexArrays}, {&GL::GenQueries, &GL::DeleteQueries},
};

}  // namespace

Name Objects::make(Kind kind) {
    Name name = 0;
    if (kind == program) name = gl_->CreateProgram();
    else (gl_->*calls[kind].make)(1, &name);
    made_.push_back({kind, name});
    return name;
}

void Objects::remove() {
    for (; !made_.empty(); made_.pop_back()) {
        const auto& [kind, name] = made_.back();
        if (kind == program) gl_->DeleteProgram(name);
        else (gl_->*calls[kind].remove)(1, &name);
    }
}

}  // namespace shadergen
