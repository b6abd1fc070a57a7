#include "cache.hpp"

#include <cstring>

#include "files.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace shadergen {

namespace {

// A file is a line that says what it is, the driver's format, the checksum of the rest, the rest.
constexpr std::string_view magic = "shadergen program 1\n";
constexpr std::size_t digest_size = 64;
constexpr std::size_t header_size = magic.size() + sizeof(Enum) + digest_size;
constexpr std::size_t max_bytes = std::size_t{1} << 26;

std::string header_of(std::string_view format, std::string_view binary) {
    return say("{}{}{}", {magic, format, sha256(binary)});
}

std::string path_of(const std::string& folder, const std::string& key) {
    return say("{}/{}.program", {folder, key});
}

}  // namespace

std::string cache_key(const Device& device, std::string_view vertex, std::string_view shader) {
    Sha256 sum;
    for (const std::string_view part :
         {std::string_view(device.vendor), std::string_view(device.renderer),
          std::string_view(device.version), vertex, shader}) {
        sum.add(say("{}:", {part.size()}));  // so that no two lists of parts read the same
        sum.add(part);
    }
    return sum.hex();
}

bool load_program(const GL& gl, const std::string& folder, const std::string& key, Name program) {
    List<char> content;
    if (!read_file(path_of(folder, key), max_bytes, content) || content.size() <= header_size)
        return false;
    const std::string_view all(content.begin(), content.size()), binary = all.substr(header_size);
    Enum format = 0;
    const std::string_view stated = all.substr(magic.size(), sizeof format);
    if (all.substr(0, header_size) != header_of(stated, binary)) return false;
    std::memcpy(&format, stated.data(), sizeof format);
    gl.ProgramBinary(program, format, binary.data(), static_cast<Int>(binary.size()));
    Int linked = 0;
    gl.GetProgramiv(program, gl::LINK_STATUS, &linked);
    forget_errors(gl);  // of a format that the driver no longer takes
    return linked != 0;
}

void keep_program(const GL& gl, const std::string& folder, const std::string& key, Name program) {
    Int size = 0;
    gl.GetProgramiv(program, gl::PROGRAM_BINARY_LENGTH, &size);
    if (size <= 0 || static_cast<std::size_t>(size) > max_bytes) return;
    std::string binary;
    binary.resize(static_cast<std::size_t>(size));
    Enum format = 0;
    Int written = 0;
    gl.GetProgramBinary(program, size, &written, &format, binary.data());
    if (written <= 0) return;
    binary.resize(static_cast<std::size_t>(written));
    const std::string_view stated(reinterpret_cast<const char*>(&format), sizeof format);
    std::string content = header_of(stated, binary);
    content += binary;
    write_file(path_of(folder, key), content);
}

}  // namespace shadergen
