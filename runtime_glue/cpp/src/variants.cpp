#include "variants.hpp"

namespace shadergen {

namespace {

bool is_of_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Whether a part of a pattern, without '*', matches the words at a place.
bool starts(std::string_view words, std::string_view part) {
    if (words.size() < part.size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i)
        if (part[i] == '?' ? !is_of_word(words[i]) : words[i] != part[i]) return false;
    return true;
}

}  // namespace

std::string words_of(std::string_view renderer) {
    std::string words = " ";
    std::size_t start = 1;  // of the last word
    const auto end_word = [&] {
        const std::string_view word = std::string_view(words).substr(start);
        if (word == "r" || word == "tm") words.resize(start);
        else if (!word.empty()) words += ' ';
        start = words.size();
    };
    for (char c : renderer) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (is_of_word(c)) words += c;
        else end_word();
    }
    end_word();
    if (words.size() == 1) words += ' ';
    return words;
}

bool matches(std::string_view pattern, std::string_view words) {
    const std::string padded = " " + std::string(pattern) + " ";
    std::string_view rest = padded;
    for (bool more = true; more;) {  // each part between '*' where it is first
        const std::size_t end = rest.find('*');
        more = end != std::string_view::npos;
        const std::string_view part = rest.substr(0, end);
        while (!starts(words, part)) {
            if (words.empty()) return false;
            words.remove_prefix(1);
        }
        words.remove_prefix(part.size());
        if (more) rest.remove_prefix(end + 1);
    }
    return true;
}

}  // namespace shadergen
