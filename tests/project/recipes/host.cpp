// What the applications of docs/recipes.md have beside a recipe. The picture is one colour; what is
// shown is read back and printed, and the third frame ends the application.

#include <GLES3/gl3.h>

#include <cstdio>
#include <cstdlib>

#if defined(RECIPE_SDL2)
#include <SDL.h>
static void quit() {
    SDL_Event event;
    event.type = SDL_QUIT;
    SDL_PushEvent(&event);
}
#elif defined(RECIPE_QT)
#include <QCoreApplication>
static void quit() { QCoreApplication::quit(); }
#elif defined(RECIPE_GTK4)
#include <gio/gio.h>
static void quit() { g_application_quit(g_application_get_default()); }
#else
static void quit() {}  // the end of the stream does it
#endif

#ifdef RECIPE_GSTREAMER
extern "C"
#else
void draw_picture(int width, int height);
void draw_picture(int width, int height) {
    glViewport(0, 0, width, height);
    glClearColor(0.2F, 0.4F, 0.6F, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}
#endif
void show_texture(GLuint texture, int width, int height);

void show_texture(GLuint texture, int width, int height) {
    static int frames = 0;
    GLint target = 0;
    GLuint source = 0;
    unsigned char pixel[4] = {};
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &target);
    glGenFramebuffers(1, &source);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, source);
    glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    glBlitFramebuffer(0, 0, 8, 8, 0, 0, width, height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(target));
    glReadPixels(width / 2, height / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    glDeleteFramebuffers(1, &source);
    std::printf("frame %d: %d %d %d, GL error %u\n", ++frames, pixel[0], pixel[1], pixel[2], glGetError());
    std::fflush(stdout);
    if (frames == 3) quit();
}
