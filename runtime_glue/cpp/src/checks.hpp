// How the parts of a schedule refer to each other: the rules a JSON Schema cannot state. Each rule
// is a sentence of docs/schedule.md, and each refusal an SG0503 that names the member.

#ifndef SHADERGEN_CHECKS_HPP
#define SHADERGEN_CHECKS_HPP

#include <string>

#include "schedule.hpp"
#include "text.hpp"

namespace shadergen {

class Checks {
public:
    Checks(const Schedule& schedule, Error& error) : schedule_(schedule), error_(error) {}

    bool all();

private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    const Texture& texture(std::int32_t index) const { return schedule_.textures[at(index)]; }

    // A slot or texture and a layer, or none, as one number.
    static std::int64_t key(std::int32_t slot, std::int32_t layer) {
        return std::int64_t{slot} * (1 << 16) + layer;
    }

    // Of a place, or of a member there.
    bool refuse(const char* what, Words words, const Place& place, const char* inner = nullptr);
    bool check_range(const Range& range, const Place& member, const char* inner = nullptr);
    bool check_texture(std::size_t index);
    bool check_ports(const char* list, const List<Port>& ports);
    bool check_port(const Port& port, const Place& member);
    bool check_planes(const std::array<std::int64_t, max_rank>& shape, int rank, const Texture& t,
                      bool is_signed, const Place& member);
    bool no_texture(std::string_view name, const Place& member, const char* inner = nullptr);
    bool check_inputs();
    bool check_requirements();
    std::array<std::int64_t, limit_count> largest_use() const;

    // checks_passes.cpp
    bool holds(std::int32_t index, std::int32_t layer) const {
        return given(index) || written_[first_layer_[at(index)] + at(layer)];
    }
    bool given(std::int32_t index) const { return texture(index).has_data || is_input_[at(index)]; }
    bool check_passes();
    bool check_reads(const Pass& pass, std::size_t index, const Place& member);
    bool check_lifetime(const Texture& t, std::size_t index, const Place& place);
    static bool repeats(List<std::string_view>& names);  // which it sorts
    bool check_blocks(const Pass& pass, const Place& member);
    bool check_uniforms(const Pass& pass, const Place& member);
    bool check_images(const Pass& pass, const Place& member);
    bool check_writes(const Pass& pass, std::size_t index, const Place& member);
    bool check_outputs();
    bool check_slots();
    bool clash(const Texture& before, const Texture& after, const char* how);

    const Schedule& schedule_;
    Error& error_;
    List<char> is_input_, is_output_, written_;
    List<std::size_t> first_layer_;
    List<std::int64_t> read_;  // slot and layer, or any
};

}  // namespace shadergen

#endif
