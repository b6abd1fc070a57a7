// The programs of a build, each linked once however many passes use it.

#ifndef SHADERGEN_PROGRAMS_HPP
#define SHADERGEN_PROGRAMS_HPP

#include <string>

#include "device.hpp"
#include "gl.hpp"
#include "objects.hpp"
#include "schedule.hpp"

namespace shadergen {

// Where a block is bound; the target is 0 where the compiler has dropped it.
struct Binding {
    Enum target = 0;
    Uint index = 0;

    bool operator==(const Binding& other) const {
        return target == other.target && index == other.index;
    }
};

// What a pass must know of its program.
struct PassProgram {
    Name program = 0;
    List<Uint> units;        // of each read by a sampler, in order
    List<Int> matrices;      // of each of these: where the matrix of an external texture goes
    List<Binding> bindings;  // of each block
    List<Int> locations;     // of each uniform; -1 where the compiler has dropped it
    List<char> varying;      // whether it has other values in other passes
};

class Programs {
public:
    // Compile and link. SG0603 with the numbered source around each complaint; SG0503 when a buffer
    // is smaller than the block it is bound to, or a workgroup other than the shader's.
    bool build(const GL& gl, const Device& device, Objects& objects, const Source& source,
               const Schedule& schedule, const std::string& cache, Error& error);
    // Set the uniforms on which the passes of a program agree. Leaves no program in use.
    void set_uniforms(const GL& gl, const Schedule& schedule);

    List<PassProgram> passes;

private:
    struct Linked {
        std::string_view vertex, shader;  // sources
        Name name = 0;
        bool compute = false, from_cache = false;
        List<std::size_t> users;  // passes
    };
    struct Stage {
        Enum kind;
        std::string_view text;
        Name name;
    };

    void group(const Source& source, const Schedule& schedule);
    Name stage(const GL& gl, Enum kind, std::string_view text);
    bool check(const GL& gl, const Linked& linked, const Pass& pass, Error& error) const;
    bool configure(const GL& gl, const Linked& linked, const Schedule& schedule, Error& error);
    bool bind_blocks(const GL& gl, const Linked& linked, const Schedule& schedule, Error& error);

    List<Linked> linked_;
    List<Stage> stages_;
};

// The compiler's complaints, each under the numbered source lines before it.
std::string interleave(std::string_view log, std::string_view source);

}  // namespace shadergen

#endif
