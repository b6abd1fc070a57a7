#include "sha256.hpp"

#include <algorithm>
#include <cstring>

namespace shadergen {

namespace {

constexpr std::uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t turn(std::uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

}  // namespace

void Sha256::block(const unsigned char* bytes) {
    std::uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
        const unsigned char* b = bytes + std::size_t{4} * static_cast<unsigned>(i);
        w[i] =
            std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
    }
    for (int i = 16; i < 64; ++i) {
        const std::uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
        const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        const std::uint32_t t1 =
            h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + rounds[i] + w[i];
        const std::uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += sums[i];
}

void Sha256::add(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t filled = length_ % 64;
        const std::size_t taken = std::min(bytes.size(), 64 - filled);
        std::memcpy(buffer_ + filled, bytes.data(), taken);
        bytes.remove_prefix(taken);
        length_ += taken;
        if (filled + taken == 64) block(buffer_);
    }
}

std::string Sha256::hex() {
    const std::uint64_t bits = length_ * 8;
    add("\x80");
    while (length_ % 64 != 56) add(std::string_view("\0", 1));
    char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
    add({length, 8});
    std::string digest;
    for (const std::uint32_t word : state_)
        for (int shift = 28; shift >= 0; shift -= 4)
            digest += "0123456789abcdef"[word >> shift & 15];
    return digest;
}

std::string sha256(std::string_view bytes) {
    Sha256 sum;
    sum.add(bytes);
    return sum.hex();
}

}  // namespace shadergen
