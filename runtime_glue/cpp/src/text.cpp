#include "text.hpp"

#include <cstdio>
#include <cstring>

namespace shadergen {

std::string Error::render() const {
    if (code.empty()) return {};  // no error
    std::string text = say("error[{}]: {}", {code, what});
    for (std::size_t i = 0; i < where.size(); ++i)
        tell(text, i ? ": {}" : "\n  --> {}", {where[i]});
    const std::string* const parts[] = {&why, &supported, &help};
    const char* const labels[] = {"why", "supported", "help"};
    for (int i = 0; i < 3; ++i) {
        std::string_view rest = *parts[i];
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            tell(text, "\n  = {}: {}", {labels[i], rest.substr(0, end)});
            rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        }
    }
    return text;
}

void AnyList::make_room(std::size_t wanted, std::size_t item) {
    if (wanted <= room_) return;
    room_ = wanted;
    void* const larger = ::operator new(room_* item);
    if (size_) std::memcpy(larger, items_, size_ * item);
    ::operator delete(items_);
    items_ = larger;
}

void* AnyList::grow(std::size_t item) {
    if (size_ == room_) make_room(size_ ? 2 * size_ : 4, item);
    return static_cast<char*>(items_) + size_++ * item;
}

void AnyList::resize_scalars(std::size_t count, std::size_t item) {
    if (count > size_) {
        make_room(count, item);
        std::memset(static_cast<char*>(items_) + size_ * item, 0, (count - size_) * item);
    }
    size_ = count;
}

std::string say(const char* message, Words words) {
    std::string text;
    tell(text, message, words);
    return text;
}

void enlist(std::string& list, Word item) { tell(list, list.empty() ? "{}" : ", {}", {item}); }

void enlist_once(std::string& list, std::string_view item) {
    if (list.find(item) == std::string::npos) enlist(list, item);
}

void tell(std::string& text, const char* message, Words words) {
    const Word* word = words.begin();
    for (; *message; ++message) {
        if (message[0] != '{' || word == words.end()) {
            text += *message;
            continue;
        }
        ++message;  // the closing one
        char digits[32];
        const char* shown = digits;
        switch (word->kind) {
            case Word::c_text: shown = word->text; break;
            case Word::integer:
                std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(word->number));
                break;
            case Word::hexadecimal:
                std::snprintf(digits, sizeof digits, "0x%04llx",
                              static_cast<long long>(word->number));
                break;
            case Word::real: std::snprintf(digits, sizeof digits, "%g", word->value); break;
            default: text.append(word->text, word->kind); shown = "";
        }
        text += shown;
        ++word;
    }
}

std::string joined(const std::int64_t* numbers, std::size_t count, const char* between) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) tell(text, "{}{}", {i ? between : "", numbers[i]});
    return text;
}

std::string Place::text() const {
    std::string text = outer ? outer->text() : std::string();
    if (member) tell(text, text.empty() ? "{}" : ".{}", {member});
    if (index != none_at) tell(text, "[{}]", {index});
    return text;
}

bool fail(Error& error, const char* code, const char* what, Words words) {
    error.code = code;
    error.what = say(what, words);
    return false;
}

void locate(Error& error, const char* message, Words words) { locate(error, say(message, words)); }

void locate(Error& error, std::string_view place, bool outermost) {
    error.where.emplace_back(place);
    for (std::size_t i = error.where.size() - 1; outermost && i > 0; --i)
        error.where[i].swap(error.where[i - 1]);
}

bool malformed(Error& error, const char* what, Words words, std::string_view member) {
    locate(error, member.empty() ? "{}" : "{}: {}", {schedule_file, member});
    return fail(error, "SG0503", what, words);
}

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Characters in common blocks: the longest one, and what lies to its left and right (Ratcliff).
std::size_t in_common(std::string_view a, std::string_view b) {
    std::size_t best = 0, at_a = 0, at_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t k = 0;
            while (i + k < a.size() && j + k < b.size() && folded(a[i + k]) == folded(b[j + k]))
                ++k;
            if (k > best) best = k, at_a = i, at_b = j;
        }
    }
    if (!best) return 0;
    return best + in_common(a.substr(0, at_a), b.substr(0, at_b)) +
           in_common(a.substr(at_a + best), b.substr(at_b + best));
}

}  // namespace

std::string did_you_mean(std::string_view name, const List<std::string_view>& known) {
    constexpr std::size_t longest = 64;
    constexpr double cutoff = 0.7;
    double best = cutoff;
    std::string_view nearest;
    for (const std::string_view candidate : known) {
        if (candidate.size() > longest || name.size() > longest) continue;
        const auto both = static_cast<double>(name.size() + candidate.size());
        const double ratio = 2.0 * static_cast<double>(in_common(name, candidate)) / both;
        if (ratio >= best) best = ratio, nearest = candidate;
    }
    return nearest.empty() ? std::string() : say("did you mean '{}'?", {nearest});
}

bool same(std::string_view text, const char* word) { return text == word; }

bool is_utf8(std::string_view text) {
    std::size_t i = 0;
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    while (i < text.size()) {
        const unsigned first = byte(i++);
        if (first < 0x80) continue;
        const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || text.size() - i < static_cast<std::size_t>(more))
            return false;
        const unsigned second = byte(i);  // overlong forms, surrogates, and beyond U+10FFFF
        if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
            (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
            return false;
        for (int k = 0; k < more; ++k)
            if ((byte(i++) & 0xC0) != 0x80) return false;
    }
    return true;
}

std::size_t code_points(std::string_view utf8) {
    std::size_t count = 0;
    for (const char c : utf8) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

}  // namespace shadergen
