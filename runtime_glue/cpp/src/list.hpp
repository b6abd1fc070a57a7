// A growable array that is compiled once for all types, where std::vector and std::sort are
// compiled anew for each: they made a third of the library.

#ifndef SHADERGEN_LIST_HPP
#define SHADERGEN_LIST_HPP

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace shadergen {

// What lists of all types have in common.
class AnyList {
public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

protected:
    AnyList() = default;
    ~AnyList() { ::operator delete(items_); }

    // Room for one more item of so many bytes, at the end; the others are moved byte by byte.
    void* grow(std::size_t item);
    // So many items, those that are new all zeros.
    void resize_scalars(std::size_t count, std::size_t item);
    void swap(AnyList& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }

    void* items_ = nullptr;
    std::size_t size_ = 0, room_ = 0;

private:
    void make_room(std::size_t wanted, std::size_t item);
};

// Holds types that may be moved byte by byte: plain ones, and structs of those and of lists.
template <class T>
class List : public AnyList {
public:
    List() = default;
    explicit List(std::size_t count) { resize(count); }
    List(const List& other) { *this = other; }
    List(List&& other) noexcept { swap(other); }
    List& operator=(const List& other) {
        if (this == &other) return *this;
        clear();
        for (const T& item : other) push_back(item);
        return *this;
    }
    List& operator=(List&& other) noexcept {
        swap(other);
        return *this;
    }
    ~List() {
        if constexpr (!std::is_trivially_destructible_v<T>) clear();
    }

    T* begin() { return static_cast<T*>(items_); }
    T* end() { return begin() + size_; }
    const T* begin() const { return static_cast<const T*>(items_); }
    const T* end() const { return begin() + size_; }
    T& operator[](std::size_t i) { return begin()[i]; }
    const T& operator[](std::size_t i) const { return begin()[i]; }
    T& back() { return begin()[size_ - 1]; }

    // By value: the item may be one of the list's own.
    void push_back(T item) { new (grow(sizeof(T))) T(std::move(item)); }
    // A new item at the end.
    T& add() { return *new (grow(sizeof(T))) T(); }
    void pop_back() { begin()[--size_].~T(); }
    void resize(std::size_t count) {
        if constexpr (std::is_scalar_v<T>) {
            resize_scalars(count, sizeof(T));
        } else {
            while (size_ < count) add();
            while (size_ > count) pop_back();
        }
    }
    void clear() {
        if constexpr (std::is_trivially_destructible_v<T>) size_ = 0;
        while (size_ > 0) pop_back();
    }
};

template <class T>
bool operator==(const List<T>& a, const List<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(a[i] == b[i])) return false;
    return true;
}

// Where an item is first, or the size.
template <class T>
std::size_t find(const List<T>& items, const T& item) {
    std::size_t i = 0;
    while (i < items.size() && !(items[i] == item)) ++i;
    return i;
}

template <class T>
void add_once(List<T>& items, const T& item) {
    if (find(items, item) == items.size()) items.push_back(item);
}

template <class T>
void sort(List<T>& items) {
    if (items.empty()) return;
    std::qsort(items.begin(), items.size(), sizeof(T), [](const void* a, const void* b) {
        const T &left = *static_cast<const T*>(a), &right = *static_cast<const T*>(b);
        return left < right ? -1 : right < left ? 1 : 0;
    });
}

// Where an item of a sorted list is, or where it would be.
template <class T>
std::size_t position(const List<T>& sorted, const T& item) {
    std::size_t low = 0, high = sorted.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (sorted[middle] < item) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Where the first item is that is equal to another, in a sorted list; its size where none is.
template <class T>
std::size_t repeated(const List<T>& sorted) {
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
        if (!(sorted[i] < sorted[i + 1])) return i;
    return sorted.size();
}

}  // namespace shadergen

#endif
