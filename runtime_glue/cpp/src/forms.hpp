// What the tables in schema.hpp are made of. They hold indices and no pointers, which a program would
// have to relocate when it starts.

#ifndef SHADERGEN_FORMS_HPP
#define SHADERGEN_FORMS_HPP

#include <cstddef>
#include <cstdint>

namespace shadergen::forms {

enum class Kind : std::uint8_t {
    integer,     // from low to high; `is_open` ones may be expressions of the sizes
    number,      // any
    small_real,  // a number within float32
    text,        // of low to high characters and, where there is one, a pattern
    word,        // the name of one of the members
    whole,       // the integer that one of their names is
    array,       // low to high items, each of the form `items`
    pair,        // two items, the forms `items` and `second`
    object,      // has these members
    either,      // an object with a word of the form `items`, and the form of its member for that
    expression,  // of sizes
    nothing,     // a member that must not be there
};

enum class Pattern : std::uint8_t { any, identifier, parameter, path, sha256, renderer };

using Id = std::uint8_t;  // of a form

struct Form {
    Kind kind;
    Pattern pattern;
    bool is_nullable : 1, is_open : 1, is_unique : 1;
    bool is_exclusive : 1;      // an object that has exactly one of its first two members
    std::uint8_t low, high;     // where they stand in the list of bounds
    Id items, second;           // forms
    std::uint8_t first, count;  // members
};

struct Member {
    std::uint16_t name;  // where it starts in the list of letters
    Id form;
    bool is_required;
};

}  // namespace shadergen::forms

#endif
