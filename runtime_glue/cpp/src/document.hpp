// JSON as a flat list of nodes, each followed by what it holds: no pointers, nothing to free one by
// one.

#ifndef SHADERGEN_DOCUMENT_HPP
#define SHADERGEN_DOCUMENT_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "list.hpp"
#include "shadergen/shadergen.hpp"

namespace shadergen {

enum class Json : std::uint8_t { null, boolean, number, text, array, object };

struct Node {
    Json kind = Json::null;
    bool whole = false;       // a number that is an integer: JSON's 640, and 640.0
    std::uint32_t count = 0;  // bytes of text, items of an array, members of an object
    std::uint32_t nodes = 1;  // this one and what it holds
    union {
        std::int64_t integer = 0;
        double real;
        const char* text;
    };
};

// Far more than a schedule has: one node for every eight bytes, where JSON can have one for two.
constexpr std::size_t max_nodes = std::size_t{1} << 23;

// A node seen as a value. An object's members come as key, value, key, value.
class Value {
public:
    Value() = default;
    explicit Value(const Node* node) : node_(node) {}

    explicit operator bool() const { return node_ != nullptr; }
    Json kind() const { return node_->kind; }
    bool is(Json kind) const { return node_ && node_->kind == kind; }
    std::uint32_t size() const { return node_->count; }
    bool whole() const { return node_->whole; }
    std::int64_t integer() const { return node_->integer; }
    double real() const { return node_->whole ? static_cast<double>(node_->integer) : node_->real; }
    std::string_view text() const { return {node_->text, node_->count}; }  // and a zero after it

    Value first() const { return Value(node_ + 1); }    // item, or key
    Value next() const { return Value(after(node_)); }  // the item or key after this
    Value operator[](const char* member) const {        // nothing where it is absent
        return Value(find(node_, member));
    }
    std::string_view text(const char* member) const {  // of one that is there
        return Value(find(node_, member)).text();
    }
    std::int64_t integer(const char* member) const { return find(node_, member)->integer; }

    // for (const Value item : array)
    struct Iterator {
        const Node* node;
        Value operator*() const { return Value(node); }
        void operator++() { node = after(node); }
        bool operator!=(const Iterator& other) const { return node != other.node; }
    };
    Iterator begin() const { return {node_ + 1}; }
    Iterator end() const { return {after(node_)}; }

private:
    // Not members: a value that these are called upon would have to lie in memory.
    static const Node* after(const Node* node);
    static const Node* find(const Node* object, const char* member);

    const Node* node_ = nullptr;
};

class Document {
public:
    Value root() const { return Value(nodes_.begin()); }

private:
    friend class Reader;
    List<Node> nodes_;
    std::string texts_;  // what nodes point into, so that it never grows beyond its first room
};

// Read strict JSON: UTF-8, no numbers beyond float64, no member given twice. SG0503.
bool parse(std::string_view content, Document& document, Error& error);

// Refuse what is no schedule (SG0502) or one of another major version (SG0504).
bool check_version(Value root, bool& newer_minor, Error& error);

}  // namespace shadergen

#endif
