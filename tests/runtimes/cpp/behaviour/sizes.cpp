// Builds of dynamic sizes, resized.

#include "promises.hpp"

namespace promises {

PROMISE(a_build_is_resized_without_compiling) {
    Runner runner(load_fixture("good_dynamic"), traced());
    good(runner.init());
    play_dynamic(runner, 3, 4, 0);
    const std::int64_t sizes[][2] = {{7, 6}, {2, 2}, {31, 64}, {3, 4}};
    for (const auto& [height, width] : sizes) {
        trace([&, h = height, w = width] { good(runner.resize(size_of(h, w))); });
        CHECK(called()["glCompileShader"] == 0 && called()["glLinkProgram"] == 0);
        CHECK(called()["glBufferData"] == 0 && called()["glGenTextures"] > 0);
        CHECK(called()["glGenTextures"] <= called()["glDeleteTextures"]);
        CHECK(runner.run().what == "the input 'x' has no texture");
        play_dynamic(runner, static_cast<std::size_t>(height), static_cast<std::size_t>(width), 2);
    }
    trace([&] { good(runner.resize(size_of(3, 4))); });
    CHECK(called().empty());  // it has that size
}

PROMISE(a_refused_resize_leaves_the_runner_as_it_was) {
    Runner runner(load_fixture("good_dynamic"), traced());
    good(runner.init());
    play_dynamic(runner, 3, 4, 0);
    struct Refused {
        std::vector<Size> sizes;
        const char* says;
    };
    const Refused refused[] = {{size_of(3, 5), "the width must be even"},
                               {size_of(1, 2), "there must be 4 to 1048576 pixels"},
                               {size_of(5000, 2), "1 to 4096"},
                               {{{"heigth", 2}}, "did you mean 'height'?"}};
    for (const Refused& each : refused) {
        const Error error = runner.resize(each.sizes);
        CHECK(error.code == "SG0605");
        CHECK(error.render().find(each.says) != std::string::npos);
        CHECK(runner.build().sizes()[0].value == 3);
        good(runner.run());  // with what was uploaded
    }
    play_dynamic(runner, 3, 4, 1);
}

PROMISE(sizes_may_be_chosen_before_init) {
    auto loaded = load(fixtures + "/good_dynamic", size_of(5, 6));
    good(loaded.error);
    Runner first(loaded.value, traced());
    good(first.init());
    play_dynamic(first, 5, 6, 0);
    Runner second(load_fixture("good_dynamic"), traced());
    good(second.resize(size_of(5, 6)));
    good(second.init());
    play_dynamic(second, 5, 6, 0);
    CHECK(load(fixtures + "/good_dynamic", size_of(5, 5)).error.code == "SG0605");
    CHECK(load(fixtures + "/good", size_of(5, 5)).error.why == "all its sizes are fixed");
}

// Sizes and frames in turn; what is computed is checked now and then.
void play_frames(int frames) {
    Options options;
    options.get_proc_address = tests::get_proc_address;
    Runner runner(load_fixture("good_dynamic"), options), fixed(load_fixture("good"), options);
    good(runner.init());
    good(fixed.init());
    feed_good(fixed);
    std::size_t height = 3, width = 4;
    for (int i = 0; i < frames && failure.empty(); ++i) {
        if (i % 5 == 4) {
            height = 2 + static_cast<std::size_t>(i * 7 % 31),
            width = 2 + static_cast<std::size_t>(i * 3 % 29) * 2;
            good(runner.resize(
                size_of(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width))));
        }
        play_dynamic(runner, height, width, i);
        good(fixed.run(i % 2 == 0));
        if (i % 97 == 0) {
            check_good(fixed);
            fixed.timings();
            CHECK(runner.resize(size_of(3, 5)));
            runner.close();
            good(runner.init());
        }
    }
}

}  // namespace promises
