// viewer FRAMES | --stdin WxH  [--build FOLDER] [--fps N] [--screenshot N FILE.png]: runs frames through a
// network in a window, before to the left of a line that the mouse drags and after to the right.
//
//   space  pause     tab  before, after, both     escape  leave

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "frames.hpp"
#include "network.hpp"

namespace {

using namespace samples;

struct Arguments {
    std::string frames, build, screenshot;
    int width = 0, height = 0;  // of frames in a pipe
    int fps = 25, screenshot_frame = 0;
};

constexpr int smallest_window = 320, largest_window = 1280;

// Both pictures at the same place, letterboxed. A window's row 0 is the lowest, a texture's the top one.
constexpr const char* window_shader = R"(
uniform sampler2D u_before, u_after;
uniform vec2 u_window;
uniform vec4 u_place;   // where the pictures lie in the window: left, top, width, height
uniform float u_split;  // the column where after begins, in window pixels
out vec4 o;
void main() {
    vec2 p = vec2(gl_FragCoord.x, u_window.y - gl_FragCoord.y);
    vec2 at = (p - u_place.xy) / u_place.zw;
    o = vec4(0.1, 0.1, 0.1, 1.0);
    if (at.x < 0.0 || at.y < 0.0 || at.x > 1.0 || at.y > 1.0) return;
    vec3 before = texture(u_before, at).rgb, after = texture(u_after, at).rgb;
    o = vec4(p.x < u_split ? before : after, 1.0);
    if (abs(p.x - u_split) < 1.0) o = vec4(1.0);
}
)";

bool parse(int count, char** words, Arguments& arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const int left = count - 1 - i;
        if (word == "--stdin" && left >= 1) {
            if (std::sscanf(words[++i], "%dx%d", &arguments.width, &arguments.height) != 2) return false;
        } else if (word == "--build" && left >= 1) {
            arguments.build = words[++i];
        } else if (word == "--fps" && left >= 1) {
            arguments.fps = std::atoi(words[++i]);
        } else if (word == "--screenshot" && left >= 2) {
            arguments.screenshot_frame = std::atoi(words[++i]);
            arguments.screenshot = words[++i];
        } else if (word.rfind("--", 0) == 0 || !arguments.frames.empty()) {
            return false;
        } else {
            arguments.frames = word;
        }
    }
    const bool pipe = arguments.width > 0 && arguments.height > 0;
    return pipe == arguments.frames.empty() && arguments.fps > 0;
}

int fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
}

// A window with the newest context there is: OpenGL ES 3, else OpenGL 4.
GLFWwindow* open_window(int width, int height) {
    const int versions[][3] = {{GLFW_OPENGL_ES_API, 3, 2}, {GLFW_OPENGL_ES_API, 3, 1},
                               {GLFW_OPENGL_ES_API, 3, 0}, {GLFW_OPENGL_API, 4, 5},
                               {GLFW_OPENGL_API, 4, 3}};
    for (const auto& version : versions) {
        glfwDefaultWindowHints();
        glfwWindowHint(GLFW_CLIENT_API, version[0]);
        glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, version[1]);
        glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, version[2]);
        if (version[0] == GLFW_OPENGL_API) glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
        if (GLFWwindow* window = glfwCreateWindow(width, height, "shadergen", nullptr, nullptr)) return window;
    }
    return nullptr;
}

enum class Show { both, after, before };

class Viewer {
public:
    explicit Viewer(Frames& frames) : frames_(frames) {}

    shadergen::Error load(const Arguments& arguments, const Picture& first);
    std::string open();
    std::string play(const Arguments& arguments, Picture& picture);

private:
    bool is_open() const { return !network_.build().sizes().empty(); }
    shadergen::Error take(const Picture& picture);
    void draw();
    std::string shoot(const std::string& path) const;
    static void on_key(GLFWwindow* window, int key, int, int action, int);

    GLFWwindow* window_ = nullptr;
    Frames& frames_;
    Network network_;
    Drawing drawing_;
    Canvas frame_, scaled_;  // as it came, and of the network's size where that is another
    Show show_ = Show::both;
    bool paused_ = false;
    double split_ = 0.5;  // of the window's width
};

// Make what needs no GL, so that the window can have the size of the result.
shadergen::Error Viewer::load(const Arguments& arguments, const Picture& first) {
    shadergen::Options options;
    options.get_proc_address = glfwGetProcAddress;
    auto error = network_.load(arguments.build, options);
    if (!error && is_open()) error = network_.resize(first.width, first.height);
    return error;
}

std::string Viewer::open() {
    const int widest = std::max(network_.result_width(), network_.result_height());
    const double scale = std::clamp(1.0, double(smallest_window) / widest, double(largest_window) / widest);
    window_ = open_window(int(network_.result_width() * scale), int(network_.result_height() * scale));
    if (!window_) return "GLFW gets no OpenGL context";
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window_, this);
    glfwSetKeyCallback(window_, on_key);
    if (!load_gl(glfwGetProcAddress)) return "the GL lacks functions of OpenGL ES 3.0";
    drawing_ = Drawing(window_shader);
    if (!drawing_.ready()) return "this GL does not compile the sample's shader";
    const auto error = network_.init();
    return error ? error.render() : "";
}

// Upload a frame and run the network on it.
shadergen::Error Viewer::take(const Picture& picture) {
    if (picture.width != frame_.width() || picture.height != frame_.height()) {
        if (is_open())
            if (auto error = network_.resize(picture.width, picture.height)) return error;
        frame_ = Canvas(GL_TEXTURE_2D, GL_RGBA8, picture.width, picture.height);
        scaled_ = Canvas();
        if (picture.width != network_.width() || picture.height != network_.height())
            scaled_ = Canvas(GL_TEXTURE_2D, GL_RGBA8, network_.width(), network_.height());
    }
    gl.BindTexture(GL_TEXTURE_2D, frame_.texture());
    gl.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, picture.width, picture.height, GL_RGBA, GL_UNSIGNED_BYTE,
                     picture.pixels.data());
    if (!scaled_.texture()) return network_.run(frame_.texture());
    gl.BindFramebuffer(GL_READ_FRAMEBUFFER, frame_.framebuffer());
    gl.BindFramebuffer(GL_DRAW_FRAMEBUFFER, scaled_.framebuffer());
    gl.BlitFramebuffer(0, 0, frame_.width(), frame_.height(), 0, 0, scaled_.width(), scaled_.height(),
                       GL_COLOR_BUFFER_BIT, GL_LINEAR);
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
    return network_.run(scaled_.texture());
}

void Viewer::draw() {
    int width = 0, height = 0, columns = 0, rows = 0;
    glfwGetFramebufferSize(window_, &width, &height);
    glfwGetWindowSize(window_, &columns, &rows);
    if (glfwGetMouseButton(window_, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS && columns > 0) {
        double x = 0, y = 0;
        glfwGetCursorPos(window_, &x, &y);
        split_ = std::clamp(x / columns, 0.0, 1.0);
    }
    const Canvas& after = network_.result();
    const float scale = std::min(float(width) / float(after.width()), float(height) / float(after.height()));
    const float across = scale * float(after.width()), down = scale * float(after.height());
    const float split = show_ == Show::both ? float(split_ * width) : show_ == Show::after ? -9.0F : 1e9F;
    drawing_.use();
    gl.Uniform2f(drawing_.uniform("u_window"), float(width), float(height));
    gl.Uniform4f(drawing_.uniform("u_place"), (float(width) - across) / 2, (float(height) - down) / 2, across,
                 down);
    gl.Uniform1f(drawing_.uniform("u_split"), split);
    drawing_.texture("u_before", 0, GL_TEXTURE_2D, frame_.texture());
    drawing_.texture("u_after", 1, GL_TEXTURE_2D, after.texture());
    drawing_.draw(0, width, height);
}

void Viewer::on_key(GLFWwindow* window, int key, int, int action, int) {
    auto& viewer = *static_cast<Viewer*>(glfwGetWindowUserPointer(window));
    if (action != GLFW_PRESS) return;
    if (key == GLFW_KEY_ESCAPE) glfwSetWindowShouldClose(window, GLFW_TRUE);
    if (key == GLFW_KEY_SPACE) viewer.paused_ = !viewer.paused_;
    if (key == GLFW_KEY_TAB)
        viewer.show_ = viewer.show_ == Show::both    ? Show::before
                       : viewer.show_ == Show::before ? Show::after
                                                      : Show::both;
}

// Write what the window shows, whose lowest row GL gives first.
std::string Viewer::shoot(const std::string& path) const {
    Picture shot;
    glfwGetFramebufferSize(window_, &shot.width, &shot.height);
    const auto row = static_cast<std::size_t>(shot.width) * 4;
    shot.pixels.resize(row * static_cast<std::size_t>(shot.height));
    gl.ReadPixels(0, 0, shot.width, shot.height, GL_RGBA, GL_UNSIGNED_BYTE, shot.pixels.data());
    for (std::size_t top = 0, low = static_cast<std::size_t>(shot.height) - 1; top < low; ++top, --low)
        std::swap_ranges(&shot.pixels[top * row], &shot.pixels[top * row] + row, &shot.pixels[low * row]);
    return write_png(path, std::move(shot), 3);
}

std::string Viewer::play(const Arguments& arguments, Picture& picture) {
    const std::string model(network_.build().model());
    double due = glfwGetTime();
    bool fresh = true;
    for (int count = 1; !glfwWindowShouldClose(window_);) {
        if (fresh) {
            if (auto error = take(picture)) return error.render();
            char title[200];
            std::snprintf(title, sizeof title, "%s: %d x %d to %d x %d, %.1f ms", model.c_str(),
                          network_.width(), network_.height(), network_.result().width(),
                          network_.result().height(), network_.milliseconds());
            glfwSetWindowTitle(window_, title);
        }
        draw();
        if (fresh && count++ == arguments.screenshot_frame) return shoot(arguments.screenshot);
        glfwSwapBuffers(window_);
        glfwPollEvents();
        fresh = false;
        if (paused_ || frames_.over() || frames_.still() || glfwGetTime() < due) {
            glfwWaitEventsTimeout(0.01);
            continue;
        }
        due = std::max(due + 1.0 / arguments.fps, glfwGetTime());
        const std::string why = frames_.next(picture);
        if (!why.empty()) return why;
        fresh = !frames_.over();
    }
    return {};
}

int view(const Arguments& arguments, Frames& frames, Picture& first) {
    Viewer viewer(frames);
    if (auto error = viewer.load(arguments, first)) return fail(error.render());
    if (!glfwInit()) return fail("GLFW finds no display");
    std::string why = viewer.open();
    if (why.empty()) why = viewer.play(arguments, first);
    return why.empty() ? 0 : fail(why);
}

}  // namespace

int main(int count, char** words) {
    Arguments arguments;
    if (!parse(count, words, arguments))
        return fail("usage: viewer FRAMES | --stdin WxH  [--build FOLDER] [--fps N] [--screenshot N FILE.png]");
    Frames frames;
    Picture picture;
    std::string why;
    if (arguments.width) frames.open_pipe(arguments.width, arguments.height);
    else why = frames.open(arguments.frames);
    if (why.empty()) why = frames.next(picture);
    if (why.empty() && frames.over()) why = "no frame came";
    if (!why.empty()) return fail(why);
    // The viewer has gone before its context does.
    const int status = view(arguments, frames, picture);
    glfwTerminate();
    return status;
}
