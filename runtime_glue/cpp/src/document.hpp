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
    std::uint32_t next = 0;   // index of the node after this one and what it holds
    union {
        std::int64_t integer = 0;
        double real;
        std::size_t offset;  // of text
    };
};

constexpr std::size_t max_schedule_bytes = std::size_t{1} << 26;
// Far more than a schedule has: one node for every eight bytes, where JSON can have one for two.
constexpr std::size_t max_nodes = std::size_t{1} << 23;

class Document;

// A node seen as a value. An object's members come as key, value, key, value.
class Value {
public:
    Value() = default;
    Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}

    explicit operator bool() const { return document_ != nullptr; }
    Json kind() const;
    bool is(Json kind) const;
    std::uint32_t size() const;
    bool whole() const;
    std::int64_t integer() const;
    double real() const;
    std::string_view text() const;

    Value first() const { return {document_, index_ + 1}; }  // item, or key
    Value next() const;                                      // the item or key after this
    Value operator[](const char* member) const;              // nothing where it is absent
    std::string_view text(const char* member) const;         // of one that is there
    std::int64_t integer(const char* member) const;

private:
    const Node& node() const;

    const Document* document_ = nullptr;
    std::uint32_t index_ = 0;
};

class Document {
public:
    Value root() const { return {this, 0}; }

private:
    friend class Value;
    friend class Reader;
    List<Node> nodes_;
    std::string texts_;
};

// Read strict JSON: UTF-8, no numbers beyond float64, no member given twice. SG0503.
Error parse(std::string_view content, Document& document);

// Refuse what is no schedule (SG0502) or one of another major version (SG0504).
Error check_version(Value root, bool& newer_minor);

}  // namespace shadergen

#endif
