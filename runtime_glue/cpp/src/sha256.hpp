// SHA-256 (FIPS 180-4).

#ifndef SHADERGEN_SHA256_HPP
#define SHADERGEN_SHA256_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace shadergen {

class Sha256 {
public:
    void add(std::string_view bytes);
    std::string hex();  // the digest, in 64 lowercase digits; ends the sum

private:
    void block(const unsigned char* bytes);

    std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char buffer_[64] = {};
    std::uint64_t length_ = 0;  // bytes
};

std::string sha256(std::string_view bytes);

}  // namespace shadergen

#endif
