// What rules.cpp, which is made from the Python runtime's rules, is written in.

#ifndef SHADERGEN_RULES_HPP
#define SHADERGEN_RULES_HPP

#include <algorithm>
#include <string>

#include "schedule.hpp"
#include "text.hpp"

namespace shadergen {

constexpr int map_rank = 4;  // N, C, H, W

// A set of keys, in places that follow from them.
class Set {
public:
    void add(std::int64_t key) {
        if (2 * size_ >= places_.size()) {
            const List<std::int64_t> old = std::move(places_);
            places_ = List<std::int64_t>(old.empty() ? 16 : 2 * old.size());
            size_ = 0;
            for (const std::int64_t held : old)
                if (held) add(held - above_zero);
        }
        std::int64_t& held = places_[place(key)];
        if (!held) ++size_;
        held = key + above_zero;
    }
    bool has(std::int64_t key) const { return size_ && places_[place(key)]; }
    std::size_t size() const { return size_; }

private:
    static constexpr std::int64_t above_zero = std::int64_t{1} << 48;  // 0 is an empty place

    std::size_t place(std::int64_t key) const {
        const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15U;
        std::size_t i = mixed >> 32;
        while (places_[i & (places_.size() - 1)] &&
               places_[i & (places_.size() - 1)] != key + above_zero)
            ++i;
        return i & (places_.size() - 1);
    }

    List<std::int64_t> places_;  // a power of two
    std::size_t size_ = 0;
};

// A texture, a layer of one, or of a slot, as one number.
inline std::int64_t key(const Ref& texture) { return texture.index; }
inline std::int64_t key(std::int32_t slot, std::int64_t layer) {
    return std::int64_t{slot} * (1 << 16) + layer;
}
inline std::int64_t key(const Ref& texture, std::int64_t layer) {
    return key(texture.index, layer);
}

inline bool is_none(std::int32_t number) { return number == none; }
inline bool is_none(const std::array<std::int32_t, 2>& numbers) { return numbers[0] == none; }
inline bool is_none(std::string_view name) { return name.empty(); }
inline bool is_none(const Range& range) { return range.size == 0; }

template <class Items>
std::int64_t length(const Items& items) {
    return static_cast<std::int64_t>(items.size());
}
template <class Items, class Test>
std::int64_t count(const Items& items, Test test) {
    std::int64_t found = 0;
    for (const auto& item : items) found += test(item) ? 1 : 0;
    return found;
}
template <class Items, class Test>
bool any(const Items& items, Test test) {
    return count(items, test) > 0;
}
template <class T>
bool has(const List<T>& items, const T& item) {
    return find(items, item) < items.size();
}
template <class T>
bool has(const List<T>& /*named*/, const Ref& name) {
    return name.index != none;
}
// Whether an item is there twice; sorts them.
template <class T>
bool repeats(List<T>& items) {
    sort(items);
    return repeated(items) < items.size();
}

inline std::string listed(const Shape& numbers) {
    return say("[{}]", {joined(numbers.begin(), numbers.size(), ", ")});
}

inline void most(Limits& used, Limit limit, std::int64_t value) {
    used[limit] = std::max(used[limit], value);
}

// The textures that have slots, in the order of those and of their first use.
inline List<const Texture*> by_slot(const Schedule& build) {
    struct Lifetime {
        const Texture* texture;
        bool operator<(const Lifetime& other) const {
            const Texture &a = *texture, &b = *other.texture;
            if (a.slot != b.slot) return a.slot < b.slot;
            return a.first != b.first ? a.first < b.first : &a < &b;
        }
    };
    List<Lifetime> order;
    for (const Texture& texture : build.textures)
        if (texture.slot != none) order.push_back({&texture});
    sort(order);
    List<const Texture*> textures;
    for (const Lifetime& lifetime : order) textures.push_back(lifetime.texture);
    return textures;
}

inline bool refuse(Error& error, const char* what, Words words, const Place& place,
                   const char* inner = nullptr) {
    return malformed(error, what, words, inner ? Place(place, inner).text() : place.text());
}

}  // namespace shadergen

#endif
