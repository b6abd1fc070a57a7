// load: read builds from standard input, one a line: a folder, and after tabs NAME=SIZE. Write for
// each what load() says, as a line of JSON: {"code": ..., "what": ..., ...}, or what was loaded.

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "json.hpp"
#include "shadergen/shadergen.hpp"

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string folder, size;
        std::getline(words, folder, '\t');
        std::vector<shadergen::Size> sizes;
        while (std::getline(words, size, '\t')) {
            const std::size_t equals = size.find('=');
            sizes.push_back({size.substr(0, equals), std::atoll(size.c_str() + equals + 1)});
        }
        const auto loaded = shadergen::load(folder, sizes);
        if (loaded) {
            std::vector<std::string_view> names;
            for (std::size_t i = 0; i < loaded.value.passes(); ++i)
                names.push_back(loaded.value.pass(i));
            const auto number = [](std::int64_t value) { return std::to_string(value); };
            std::cout << "{\"passes\": " << tests::list(names, tests::text) << ", \"outputs\": "
                      << tests::list(loaded.value.outputs(),
                                     [&](const shadergen::PortInfo& port) {
                                         return tests::list(port.shape, number);
                                     })
                      << "}" << std::endl;
        } else {
            const shadergen::Error& error = loaded.error;
            std::cout << "{\"code\": " << tests::text(error.code)
                      << ", \"what\": " << tests::text(error.what)
                      << ", \"where\": " << tests::list(error.where, tests::text)
                      << ", \"why\": " << tests::text(error.why)
                      << ", \"help\": " << tests::text(error.help)
                      << ", \"rendered\": " << tests::text(error.render()) << "}" << std::endl;
        }
    }
}
