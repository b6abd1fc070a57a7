// A growable array that is compiled once for all types, where std::vector and std::sort are
// compiled anew for each: they made a third of the library.

#ifndef SHADERGEN_LIST_HPP
#define SHADERGEN_LIST_HPP

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace shadergen {

// Move items to where there is room for more, byte by byte. Returns them there.
void* grow(void* items, std::size_t size, std::size_t& room, std::size_t item);

// Holds types that may be moved byte by byte: plain ones, and structs of those and of lists.
template <class T>
class List {
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
        clear();
        ::operator delete(items_);
    }

    T* begin() { return items_; }
    T* end() { return items_ + size_; }
    const T* begin() const { return items_; }
    const T* end() const { return items_ + size_; }
    T& operator[](std::size_t i) { return items_[i]; }
    const T& operator[](std::size_t i) const { return items_[i]; }
    T& back() { return items_[size_ - 1]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    // By value: the item may be one of the list's own.
    void push_back(T item) {
        if (size_ == room_) items_ = static_cast<T*>(grow(items_, size_, room_, sizeof(T)));
        new (static_cast<void*>(items_ + size_++)) T(std::move(item));
    }
    // A new item at the end.
    T& add() {
        if (size_ == room_) items_ = static_cast<T*>(grow(items_, size_, room_, sizeof(T)));
        return *new (static_cast<void*>(items_ + size_++)) T();
    }
    void pop_back() { items_[--size_].~T(); }
    void resize(std::size_t count) {
        while (size_ < count) push_back(T());
        while (size_ > count) pop_back();
    }
    void clear() {
        while (size_ > 0) pop_back();
    }

private:
    void swap(List& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }

    T* items_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

template <class T>
bool operator==(const List<T>& a, const List<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(a[i] == b[i])) return false;
    return true;
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

template <class T>
bool contains(const List<T>& sorted, const T& item) {
    const std::size_t at = position(sorted, item);
    return at < sorted.size() && !(item < sorted[at]);
}

// Where the first item is that is equal to another, in a sorted list; its size where none is.
template <class T>
std::size_t repeated(const List<T>& sorted) {
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
        if (!(sorted[i] < sorted[i + 1])) return i;
    return sorted.size();
}

template <class T>
void drop_repeated(List<T>& sorted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
        if (i == 0 || sorted[kept - 1] < sorted[i]) sorted[kept++] = sorted[i];
    sorted.resize(kept);
}

}  // namespace shadergen

#endif
