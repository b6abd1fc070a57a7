// What a runner changes of the application's GL state, as the calls that set it again.

#ifndef SHADERGEN_STATE_HPP
#define SHADERGEN_STATE_HPP

#include "recording.hpp"

namespace shadergen {

// Ask GL for the state that frames and transfers change. `restore` keeps its room.
void capture(const GL& gl, const Touched& touched, Name program, Commands& restore);

}  // namespace shadergen

#endif
