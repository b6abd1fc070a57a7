#include "sizes.hpp"

#include <algorithm>
#include <iterator>

#include "text.hpp"

namespace shadergen {

namespace {

constexpr std::int64_t largest = (std::int64_t{1} << 53) - 1;  // what every runtime holds exactly

bool holds(std::int64_t value) { return value >= -largest && value <= largest; }

constexpr char operators[][4] = {"+", "-", "*", "/", "%", "min", "max"};
enum Operator : std::uint8_t { plus, minus, times, divided, rest, least, most, no_operator };

int operator_of(std::string_view word) {
    int i = 0;
    while (i < no_operator && !same(word, operators[i])) ++i;
    return i;
}

// Both values are held exactly. Returns what is wrong, or null.
const char* apply(int how, std::int64_t a, std::int64_t b, std::int64_t& result) {
    constexpr const char* beyond = "it goes beyond 2^53";
    switch (how) {
        case plus: result = a + b; break;
        case minus: result = a - b; break;
        case least: result = a < b ? a : b; break;
        case most: result = a > b ? a : b; break;
        case times: {
            const std::int64_t size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;
            if (size_b != 0 && size_a > largest / size_b) return beyond;
            result = a * b;
            break;
        }
        default: {
            if (b == 0) return "it divides by zero";
            const std::int64_t left = a % b;
            const bool down = left != 0 && (left < 0) != (b < 0);  // C++ rounds to zero
            result = how == divided ? a / b - (down ? 1 : 0) : left + (down ? b : 0);
        }
    }
    return holds(result) ? nullptr : beyond;
}

}  // namespace

bool Sizes::declare(Value sizes, Error& error) {
    constraints_ = sizes["constraints"];
    for (const Value parameter : sizes["parameters"]) {
        const Place member("sizes.parameters", parameters_.size());
        const Parameter taken = {parameter.text("name"), parameter.integer("default"),
                                 parameter.integer("min"), parameter.integer("max")};
        for (const Parameter& known : parameters_)
            if (known.name == taken.name)
                return malformed(error, "the name '{}' is taken", {taken.name},
                                 Place(member, "name").text());
        if (taken.value < taken.low || taken.value > taken.high)
            return malformed(error, "the default {} is out of bounds", {taken.value},
                             Place(member, "default").text());
        parameters_.push_back(taken);
    }
    return true;
}

bool Sizes::set(const std::vector<Size>& wanted, Error& error) {
    List<std::string_view> known;
    for (const Parameter& parameter : parameters_) known.push_back(parameter.name);
    for (const Size& size : wanted) {
        const std::size_t i = find(known, std::string_view(size.name));
        if (i == known.size()) {
            for (const std::string_view name : known) enlist(error.supported, name);
            error.help = did_you_mean(size.name, known);
            if (known.empty()) {
                error.why = "all its sizes are fixed";
                error.help = "compile the model with --input-size dynamic";
            }
            return fail(error, "SG0605", "the build has no dynamic size '{}'", {size.name});
        }
        Parameter& parameter = parameters_[i];
        if (size.value < parameter.low || size.value > parameter.high) {
            error.why = why(size);
            tell(error.supported, "{} to {}", {parameter.low, parameter.high});
            return fail(error, "SG0605", "{} {} is not supported", {size.name, size.value});
        }
        parameter.value = size.value;
    }
    return true;
}

std::string_view Sizes::why(const Size& size) const {
    for (const Value constraint : constraints_) {
        const Value value = constraint["value"];
        if (value.is(Json::array) && value.size() == 1 && value.first().is(Json::text) &&
            value.first().text() == size.name &&
            (size.value < constraint.integer("min") || size.value > constraint.integer("max")))
            return constraint.text("why");
    }
    return {};
}

bool Sizes::refuse(std::string_view why, Error& error) const {
    std::string given;
    for (const Parameter& parameter : parameters_)
        tell(given, given.empty() ? "a {} of {}" : " and a {} of {}",
             {parameter.name, parameter.value});
    error.why = why;
    return fail(error, "SG0605", "the build does not support {}", {given});
}

bool Sizes::check(Value sizes, Error& error) const {
    std::size_t i = 0;
    for (const Value constraint : sizes["constraints"]) {
        std::int64_t value = 0;
        std::string wrong;
        evaluate(constraint["value"], value, wrong);
        if (!wrong.empty())
            return malformed(error, "this size cannot be computed: {}", {wrong},
                             say("sizes.constraints[{}].value", {i}));
        if (value < constraint.integer("min") || value > constraint.integer("max"))
            return refuse(constraint.text("why"), error);
        ++i;
    }
    return true;
}

void Sizes::evaluate(Value value, std::int64_t& result, std::string& wrong) const {
    if (value.kind() == Json::number) {
        result = value.integer();
        return;
    }
    std::int64_t stack[max_terms];  // the form has no longer expressions
    std::size_t depth = 0;
    for (const Value term : value) {
        if (term.kind() == Json::number) {
            stack[depth++] = term.integer();
            continue;
        }
        const int how = operator_of(term.text());
        if (how != no_operator) {
            if (depth < 2) return tell(wrong, "'{}' has fewer than two operands", {term.text()});
            --depth;
            const char* why = apply(how, stack[depth - 1], stack[depth], stack[depth - 1]);
            if (why) return tell(wrong, why, {});
            continue;
        }
        std::size_t k = 0;
        while (k < parameters_.size() && parameters_[k].name != term.text()) ++k;
        if (k == parameters_.size())
            return tell(wrong, "there is no parameter '{}'", {term.text()});
        stack[depth++] = parameters_[k].value;
    }
    if (depth != 1) return tell(wrong, "its expression leaves {} values, not one", {depth});
    result = stack[0];
}

std::int64_t Sizes::operator()(Value value) const {
    std::int64_t result = 0;
    std::string wrong;  // nothing
    evaluate(value, result, wrong);
    return result;
}

}  // namespace shadergen
