// An application that ships an ESPCN, 16x24 to 32x48, without files. A grey picture stays grey.
#include "context.hpp"
#include "upscaler/upscaler.h"

int main() {
    const auto loaded = shadergen::load(upscaler_files, upscaler_file_count);
    const tests::Context context;
    shadergen::Options options;
    options.get_proc_address = tests::get_proc_address;
    shadergen::Runner runner(loaded.value, options);
    const std::vector<float> low(16 * 24, 0.5F);
    std::vector<float> high(32 * 48);
    if (loaded.error || runner.init() || runner.upload("low", low.data(), low.size()) ||
        runner.run() || runner.read(loaded.value.outputs()[0].name, high.data(), high.size()))
        return 1;
    const float middle = high[16 * 48 + 24];
    return middle > 0.45F && middle < 0.55F ? 0 : 2;
}
