// Frames: what they compute, call and allocate, what is deleted, and mistakes in words.

#include "promises.hpp"

namespace promises {

namespace {

void check_frame(bool restore) {
    Options options = traced();
    options.restore_state = restore;
    Runner runner(load_fixture("good"), options);
    good(runner.init());
    feed_good(runner);
    good(runner.run());
    trace([&] { good(runner.run()); });
    const std::string allowed =
        "glActiveTexture glBindBuffer glBindBufferBase glBindFramebuffer glBindImageTexture "
        "glBindSampler "
        "glBindTexture glBindVertexArray glColorMask glDisable glDispatchCompute glDrawArrays "
        "glMemoryBarrier glPixelStorei glPolygonMode glUniform4f glUseProgram glViewport glEnable ";
    for (const auto& [name, count] : called()) {
        CHECK(count > 0 && allowed.find(name + " ") != std::string::npos);
        CHECK(restore || (name != "glPixelStorei" && name != "glEnable"));
    }
    CHECK(called()["glDrawArrays"] == 6);
    CHECK(called()["glDispatchCompute"] == 1);
    allocations = 0;
    counting = true;
    for (int i = 0; i < 3; ++i) runner.run(i == 1);
    counting = false;
    CHECK(allocations == 0);
    good(runner.check());
}

}  // namespace

PROMISE(the_good_build_computes_what_it_states) {
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    for (int seed = 0; seed < 2; ++seed) {
        feed_good(runner, seed);
        good(runner.run());
        good(runner.check());
        check_good(runner, seed);
    }
    const auto x = numbers(75, 1);
    std::vector<float> sum(75), halves(15);
    good(runner.read("sum", sum.data(), sum.size()));
    good(runner.read("signed", halves.data(), halves.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const float expected = 2 * expected_good(x[i], i % 5) + x[i];
        CHECK(std::abs(sum[i] - expected) < 1e-5F);
        if (i % 5 == 0) CHECK(std::abs(halves[i / 5] - expected / 2) < 1e-5F);
    }
}

PROMISE(a_frame_only_binds_and_draws_and_does_not_allocate) { check_frame(false); }

PROMISE(a_frame_that_restores_state_asks_nothing_either) { check_frame(true); }

PROMISE(everything_made_is_deleted) {
    trace([] {
        Runner runner(load_fixture("good_dynamic"), traced());
        good(runner.init());
        play_dynamic(runner, 3, 4, 0);
        good(runner.resize(size_of(5, 6)));
        play_dynamic(runner, 5, 6, 1);
        CHECK(runner.resize(size_of(5, 7)));
    });
    for (const char* kind : {"Textures", "Buffers", "Framebuffers", "Samplers", "VertexArrays"}) {
        const int made = called()[std::string("glGen") + kind];
        CHECK(made > 0 && made == called()[std::string("glDelete") + kind]);
    }
    CHECK(called()["glCreateProgram"] == called()["glDeleteProgram"]);
    CHECK(called()["glCreateShader"] == called()["glDeleteShader"]);
    CHECK(called()["glGenQueries"] + called()["glGenQueriesEXT"] ==
          called()["glDeleteQueries"] + called()["glDeleteQueriesEXT"]);
}

PROMISE(an_abandoned_runner_calls_nothing) {
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    trace([&] { runner.abandon(); });
    CHECK(called().empty());
    CHECK(runner.run().what == "the runner is not initialised");
    good(runner.init());
    feed_good(runner);
    good(runner.run());
    check_good(runner);
}

PROMISE(mistakes_are_answered_in_words) {
    Runner runner(load_fixture("good"), traced());
    float few[2] = {};
    CHECK(runner.run().what == "the runner is not initialised");
    CHECK(runner.read("out", few, 2).help == "call init()");
    good(runner.init());
    CHECK(runner.run().what == "the input 'x' has no texture");
    CHECK(runner.upload("y", few, 2).help == "did you mean 'x'?" ||
          runner.upload("y", few, 2).supported == "x, img");
    CHECK(runner.upload("x", few, 2).what ==
          "the input 'x' takes 75 numbers, shape 1x3x5x5, not 2");
    std::vector<float> image(45, 1.5F);
    CHECK(runner.upload("img", image.data(), 45).what ==
          "an image given in floats holds values outside 0 to 1");
    CHECK(runner.output_texture("invertd").error.help == "did you mean 'inverted'?");
    Runner nothing(Build{}, traced());
    CHECK(nothing.init().what == "the runner has no build");
    Runner blind(load_fixture("good"), Options{});
    CHECK(blind.init().code == "SG0601");
    Options nowhere;
    nowhere.get_proc_address = [](const char*) -> Function { return nullptr; };
    Runner lost(load_fixture("good"), nowhere);
    CHECK(lost.init().what == "the GL has no function glActiveTexture");
}

PROMISE(check_reports_errors_of_the_application_too) {
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    plain_gl().Enable(0xFFFF);
    CHECK(runner.check().what ==
          "GL reports GL_INVALID_ENUM while frames are drawn or the application calls GL");
    good(runner.check());
}

PROMISE(two_models_and_two_contexts_live_side_by_side) {
    tests::Context other(desktop);
    Runner third(load_fixture("good"), traced());
    good(third.init());
    feed_good(third, 3);
    Runner first(load_fixture("good"), traced()), second(load_fixture("good_dynamic"), traced());
    good(first.init());
    good(second.init());
    feed_good(first, 1);
    good(first.run());
    play_dynamic(second, 3, 4, 2);
    check_good(first, 1);
    good(third.run());
    check_good(third, 3);
    Runner moved = std::move(first);
    good(moved.run());
    check_good(moved, 1);
}

PROMISE(passes_are_timed_where_the_gl_can) {
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    good(runner.run());
    CHECK(runner.timings().empty());
    good(runner.run(true));
    const auto times = runner.timings();
    CHECK(times.empty() || times.size() == runner.build().passes());
    for (const double time : times) CHECK(time >= 0 && time < 60000);
}

}  // namespace promises
