// Dynamic sizes, and the integers that are expressions of these sizes.

#ifndef SHADERGEN_SIZES_HPP
#define SHADERGEN_SIZES_HPP

#include <string_view>
#include <vector>

#include "document.hpp"

namespace shadergen {

constexpr std::size_t max_terms = 4096;  // of an expression

struct Parameter {
    std::string_view name;
    std::int64_t value = 0, low = 0, high = 0;

    bool operator==(const Parameter& other) const {
        return name == other.name && value == other.value;
    }
};

// The parameters of a build with their values, in the order of the schedule.
class Sizes {
public:
    // Take the parameters of a schedule of right form, at their defaults. SG0503.
    bool declare(Value sizes, Error& error);
    // Give parameters other values; all must be known and within their bounds. SG0605.
    bool set(const std::vector<Size>& wanted, Error& error);
    // Check the constraints of a schedule. SG0605, or SG0503 where one has no value.
    bool check(Value sizes, Error& error) const;
    // Say that the build cannot have these, for a reason. SG0605.
    bool refuse(std::string_view why, Error& error) const;

    const List<Parameter>& parameters() const { return parameters_; }

    // Work out an integer, or an expression in postfix notation, of right form; or tell what is
    // wrong.
    void evaluate(Value value, std::int64_t& result, std::string& wrong) const;
    // The same of what has been worked out before.
    std::int64_t operator()(Value value) const;

private:
    // What the constraint on a parameter alone says, which its bounds are for; or nothing.
    std::string_view why(const Size& size) const;

    List<Parameter> parameters_;
    Value constraints_;
};

}  // namespace shadergen

#endif
