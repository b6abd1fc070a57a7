// Words of messages, put together without streams or formats.

#ifndef SHADERGEN_TEXT_HPP
#define SHADERGEN_TEXT_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "list.hpp"
#include "shadergen/shadergen.hpp"

namespace shadergen {

// What takes the place of a {} in a message: text or a number.
struct Word {
    enum Kind : std::uint8_t { text_, c_text, integer, real, hexadecimal };
    union {
        const char* text;
        std::int64_t number;
        double value;
    };
    std::uint32_t size = 0;  // of text
    Kind kind = integer;

    Word(const char* words) : text(words), kind(c_text) {}
    Word(std::string_view words)
        : text(words.data()), size(static_cast<std::uint32_t>(words.size())), kind(text_) {}
    Word(const std::string& words) : Word(std::string_view(words)) {}
    Word(std::int64_t whole) : number(whole) {}
    Word(int whole) : number(whole) {}
    Word(unsigned whole, Kind how = integer) : number(whole), kind(how) {}
    Word(std::size_t whole) : number(static_cast<std::int64_t>(whole)) {}
    Word(double real_) : value(real_), kind(real) {}
};
using Words = std::initializer_list<Word>;

inline Word hex(unsigned number) { return {number, Word::hexadecimal}; }

// A message with each {} replaced by the next word.
std::string say(const char* message, Words words);

// "1x3x5", or that it is a single number
std::string shape_text(const std::int64_t* sizes, std::size_t count);

// An error of a code at one place, or at none.
Error error_of(const char* code, const char* what, Words words, std::string_view where = {});
// SG0503 at a member of the schedule, or at the schedule.
Error malformed(const char* what, Words words, std::string_view member = {});

// "did you mean 'x'?" for the nearest known name, or nothing.
std::string did_you_mean(std::string_view name, const List<std::string_view>& known);

bool is_utf8(std::string_view text);
std::size_t code_points(std::string_view utf8);

constexpr std::string_view schedule_file = "schedule.json";

}  // namespace shadergen

#endif
