// Textures and framebuffers of the application.

#include "promises.hpp"

namespace promises {

PROMISE(a_texture_bound_each_frame_allocates_nothing_in_run) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    const Name ring[] = {make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2),
                         make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2)};
    for (int i = 0; i < 6; ++i) {
        good(runner.bind_input("x", ring[i % 2]));
        allocations = 0;
        counting = i > 1;
        runner.run();
        counting = false;
        CHECK(allocations == 0);
    }
    good(runner.check());
}

PROMISE(textures_of_the_application_are_read_and_written_in_place) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    // an image that the application draws
    const Name image = make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3);
    Name framebuffer = 0;
    gl.GenFramebuffers(1, &framebuffer);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    gl.FramebufferTexture2D(gl::DRAW_FRAMEBUFFER, gl::COLOR_ATTACHMENT0, gl::TEXTURE_2D, image, 0);
    const float color[] = {0.2F, 0.4F, 0.6F, 1.0F};
    gl.ClearBufferfv(gl::COLOR, 0, color);
    const Name result = make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3);
    const Name out = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2);
    good(runner.bind_input("img", image));
    good(runner.bind_output("inverted", result));
    good(runner.bind_output("out", out));
    CHECK(runner.output_texture("inverted").value == result);
    CHECK(runner.output_texture("out").value == out);
    CHECK(runner.output_texture("out", 1).error);
    trace([&] { good(runner.run()); });
    CHECK(called()["glTexSubImage2D"] == 0 && called()["glReadPixels"] == 0);
    good(runner.check());
    std::vector<std::uint8_t> bytes(45);
    good(runner.read("inverted", bytes.data(), bytes.size()));
    CHECK(bytes[0] == 204 && bytes[1] == 153 && bytes[2] == 102);
    const auto x = numbers(75);
    std::vector<float> values(75);
    good(runner.read("out", values.data(), values.size()));
    CHECK(std::abs(values[7] - expected_good(x[7], 2)) < 1e-5F);
}

PROMISE(an_output_may_go_to_a_framebuffer) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    Name framebuffer = 0;
    gl.GenFramebuffers(1, &framebuffer);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    const Name screen = make_texture(gl, gl::TEXTURE_2D, 0x8058, 9, 9);
    gl.FramebufferTexture2D(gl::DRAW_FRAMEBUFFER, gl::COLOR_ATTACHMENT0, gl::TEXTURE_2D, screen, 0);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    const Name earlier = runner.output_texture("inverted").value;
    good(runner.bind_output_framebuffer("inverted", framebuffer));
    good(runner.bind_input("img", earlier));  // the network does not write this texture any more
    good(runner.run());
    feed_good(runner);
    good(runner.run());
    good(runner.wait());
    std::uint8_t pixels[4 * 5 * 3] = {};
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, framebuffer);
    gl.ReadPixels(0, 0, 5, 3, gl::RGBA, gl::UNSIGNED_BYTE, pixels);
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, 0);
    for (std::size_t i = 0; i < 45; ++i) CHECK(pixels[i / 3 * 4 + i % 3] == 255 - i * 5);
    std::uint8_t bytes[45];
    CHECK(runner.read("inverted", bytes, 45).what ==
          "the output 'inverted' is drawn to the application's framebuffer");
    Name empty = 0;
    gl.GenFramebuffers(1, &empty);
    CHECK(runner.bind_output_framebuffer("inverted", empty).what.find("cannot go to the framebuffer") !=
          std::string::npos);
    CHECK(runner.bind_output_framebuffer("out", framebuffer).code ==
          "SG0605");  // it has two layers
    CHECK(runner.bind_output_framebuffer("sum", framebuffer).code ==
          "SG0605");  // a dispatch stores it
    good(runner.bind_output("inverted", make_texture(gl, gl::TEXTURE_2D, 0x8058, 5, 3)));
    good(runner.run());
    check_good(runner);
}

PROMISE(textures_that_do_not_fit_are_refused_and_the_old_ones_kept) {
    const GL gl = plain_gl();
    Runner runner(load_fixture("good"), traced());
    good(runner.init());
    feed_good(runner);
    const Name wide = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 6, 3, 2);
    const Name deep = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 3);
    const Name flat = make_texture(gl, gl::TEXTURE_2D, gl::RGBA32F, 5, 3);
    const Name undrawable = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x8C3D, 5, 3, 2);  // RGB9_E5
    const Name other = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x881A, 5, 3, 2);       // RGBA16F
    CHECK(runner.bind_input("x", wide).what.find("width of 6, not 5") != std::string::npos);
    CHECK(runner.bind_input("x", wide).help.find("resize()") != std::string::npos);
    CHECK(runner.bind_output("out", deep).what.find("depth of 3, not 2") != std::string::npos);
    if (gl.GetTexLevelParameteriv)
        CHECK(runner.bind_input("x", flat).what.find("is not an array texture") != std::string::npos);
    CHECK(runner.bind_input("x", flat));
    CHECK(runner.bind_output("out", undrawable).what ==
          std::string("this GL cannot draw to the texture of 'out'") +
              (gl.GetTexLevelParameteriv ? " (GL_RGB9_E5)" : ""));
    CHECK(runner.bind_output("out", undrawable).where[0] == "output 'out'");
    CHECK(runner.bind_output("out", undrawable).why.find("GL_FRAMEBUFFER_") != std::string::npos);
    CHECK(runner.bind_input("img", 0U).what == "'img' takes a 2D texture; 0 is not a texture");
    const Name integers = make_texture(gl, gl::TEXTURE_2D, 0x8D7C, 5, 3);  // RGBA8UI
    const Name depth = make_texture(gl, gl::TEXTURE_2D, 0x81A6, 5, 3);     // DEPTH_COMPONENT24
    if (gl.GetTexLevelParameteriv) {
        CHECK(runner.bind_input("img", integers).what.find("an integer format") !=
              std::string::npos);
        CHECK(runner.bind_output("inverted", integers).code == "SG0605");
        CHECK(runner.bind_input("img", depth).what.find("a depth or stencil format") !=
              std::string::npos);
    }
    if (gl.GetTexLevelParameteriv) {
        const Name grey = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x8229, 5, 3, 2);  // R8
        const Name two = make_texture(gl, gl::TEXTURE_2D_ARRAY, 0x822B, 5, 3, 2);   // RG8
        CHECK(runner.bind_input("x", grey).what.find("has one component for ") !=
              std::string::npos);
        CHECK(runner.bind_input("x", two).what.find("has two components for ") !=
              std::string::npos);
    }
    CHECK(runner.bind_input("img", 4711).what == "there is no texture 4711 in this context");
    CHECK(!gl.IsTexture(4711));
    CHECK(Error().render().empty());
    CHECK(runner.bind_output("sum", other).what ==
          "this texture cannot be bound as the image 'sum'");
    CHECK(runner.bind_input("x", 0).code == "SG0605");
    const Name both = make_texture(gl, gl::TEXTURE_2D_ARRAY, gl::RGBA32F, 5, 3, 2);
    const Name before = runner.output_texture("sum").value;
    good(runner.bind_input("x", both));
    good(runner.bind_output("sum", both));  // its pass adds x again
    const Error same = runner.run();
    CHECK(same.code == "SG0605");
    CHECK(same.what == "the output 'sum' has the texture of the input 'x'");
    CHECK(same.why.find("reads the input, and this pass or an earlier one") != std::string::npos);
    good(runner.bind_output("sum", before));
    feed_good(runner);
    const unsigned two[] = {deep, deep};
    CHECK(runner.bind_input("x", two, 2).what.find("takes an array texture") != std::string::npos);
    good(runner.run());
    good(runner.check());
    check_good(runner);
}

}  // namespace promises
