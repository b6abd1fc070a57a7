// Sizes that a build leaves open, and the integers that are expressions of them.

#ifndef SHADERGEN_SIZES_HPP
#define SHADERGEN_SIZES_HPP

#include <string_view>
#include <utility>
#include <vector>

#include "document.hpp"

namespace shadergen {

// The parameters of a build with their values, in the order of the schedule.
constexpr std::size_t max_terms = 4096;  // of an expression

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

    const List<std::pair<std::string_view, std::int64_t>>& values() const { return values_; }

    // Work out an integer, or an expression in postfix notation, of right form. Returns what is
    // wrong, or nothing.
    std::string evaluate(Value value, std::int64_t& result) const;
    // The same of what has been worked out before.
    std::int64_t operator()(Value value) const;

private:
    // What the constraint on a parameter alone says, which its bounds are for; or nothing.
    std::string_view why(const Size& size) const;

    struct Bounds {
        std::int64_t low, high;
    };
    List<std::pair<std::string_view, std::int64_t>> values_;
    List<Bounds> bounds_;
    Value constraints_;
};

}  // namespace shadergen

#endif
