// The form of a schedule: the members and bounds of schedule.schema.json.

#ifndef SHADERGEN_FORM_HPP
#define SHADERGEN_FORM_HPP

#include "document.hpp"
#include "sizes.hpp"

namespace shadergen {

// Refuse a schedule that is not of the form, with expressions evaluated. SG0503.
// `lenient` ignores members that are unknown, which newer minor versions may add.
bool check_form(Value value, const Sizes& sizes, bool lenient, Error& error);

// The same of the member `sizes`, which the others need.
bool check_sizes_form(Value value, bool lenient, Error& error);

}  // namespace shadergen

#endif
