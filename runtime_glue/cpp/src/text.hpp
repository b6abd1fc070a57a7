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

// What takes the place of a {} in a message: text or a number. As small as can be, since programs
// consist of them in good part.
struct Word {
    enum Kind : std::size_t { hexadecimal = SIZE_MAX - 3, real, c_text, integer };  // or a size
    union {
        const char* text;
        std::int64_t number;
        double value;
    };
    std::size_t kind = integer;  // or how long the text is

    Word(const char* words) : text(words), kind(c_text) {}
    Word(std::string_view words) : text(words.data()), kind(words.size()) {}
    Word(const std::string& words) : text(words.c_str()), kind(words.size()) {}
    Word(std::int64_t whole) : number(whole) {}
    Word(int whole) : number(whole) {}
    Word(unsigned whole, Kind how = integer) : number(whole), kind(how) {}
    Word(std::size_t whole) : number(static_cast<std::int64_t>(whole)) {}
    Word(double real_) : value(real_), kind(real) {}
};
using Words = std::initializer_list<Word>;

inline Word hex(unsigned number) { return {number, Word::hexadecimal}; }

// A message with each {} replaced by the next word; tell() adds it to a text.
std::string say(const char* message, Words words);
void tell(std::string& text, const char* message, Words words);
// Add an item to a list in words.
void enlist(std::string& list, Word item);
void enlist_once(std::string& list, std::string_view item);

// Numbers with words between them: "1x3x5"
std::string joined(const std::int64_t* numbers, std::size_t count, const char* between);

// Where something is in a schedule, `outer.member[index]`: put into words when it is wrong.
struct Place {
    static constexpr std::size_t none_at = SIZE_MAX;

    const Place* outer = nullptr;
    const char* member = nullptr;
    std::size_t index = none_at;

    Place(const char* member_, std::size_t index_ = none_at) : member(member_), index(index_) {}
    Place(const Place& outer_, const char* member_, std::size_t index_ = none_at)
        : outer(&outer_), member(member_), index(index_) {}
    std::string text() const;
};

// What can fail returns true, or false with an error, which it gets without one. It is these:
// an error of a code,
bool fail(Error& error, const char* code, const char* what, Words words);
// and SG0503 at a member of the schedule, or at the schedule.
bool malformed(Error& error, const char* what, Words words, std::string_view member = {});

// Say where an error is: within all places known so far, or around them.
void locate(Error& error, std::string_view place, bool outermost = false);
void locate(Error& error, const char* message, Words words);

// "did you mean 'x'?" for the nearest known name, or nothing.
std::string did_you_mean(std::string_view name, const List<std::string_view>& known);

// What == says, in less code where it is called.
bool same(std::string_view text, const char* word);
bool is_utf8(std::string_view text);
std::size_t code_points(std::string_view utf8);

constexpr std::string_view schedule_file = "schedule.json";

}  // namespace shadergen

#endif
