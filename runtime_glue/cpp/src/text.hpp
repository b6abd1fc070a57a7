// Words of messages, put together without streams or formats.

#ifndef SHADERGEN_TEXT_HPP
#define SHADERGEN_TEXT_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "shadergen/shadergen.hpp"

namespace shadergen {

// A piece of a message: text, text in quotes, or a number.
struct Piece {
    enum Kind : std::uint8_t { plain, quoted, integer, real, hexadecimal };
    union {
        const char* text;
        std::int64_t number;
        double value;
    };
    std::uint32_t size = 0;  // of text
    Kind kind = plain;

    Piece(const char* words) : Piece(std::string_view(words)) {}
    Piece(std::string_view words, Kind how = plain)
        : text(words.data()), size(static_cast<std::uint32_t>(words.size())), kind(how) {}
    Piece(const std::string& words) : Piece(std::string_view(words)) {}
    Piece(std::int64_t whole) : number(whole), kind(integer) {}
    Piece(int whole) : Piece(std::int64_t{whole}) {}
    Piece(unsigned whole, Kind how = integer) : number(whole), kind(how) {}
    Piece(std::size_t whole) : Piece(static_cast<std::int64_t>(whole)) {}
    Piece(double real_) : value(real_), kind(real) {}
};
using Pieces = std::initializer_list<Piece>;

inline Piece quote(std::string_view text) { return {text, Piece::quoted}; }
inline Piece hex(unsigned number) { return {number, Piece::hexadecimal}; }

std::string say(Pieces pieces);

// "(1, 3, 5)"
std::string tuple_of(const std::int64_t* values, std::size_t count);

// An error of a code at one place, or at none.
Error error_of(const char* code, Pieces what, std::string_view where = {});
// SG0503 at a member of the schedule, or at the schedule.
Error malformed(Pieces what, std::string_view member = {});

// "did you mean 'x'?" for the nearest known name, or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

bool is_utf8(std::string_view text);
std::size_t code_points(std::string_view utf8);

constexpr std::string_view schedule_file = "schedule.json";

}  // namespace shadergen

#endif
