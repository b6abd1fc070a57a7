// OpenGL's functions, found through the application's loader, and the constants in use.

#ifndef SHADERGEN_GL_HPP
#define SHADERGEN_GL_HPP

#include <cstddef>
#include <cstdint>

#include "shadergen/shadergen.hpp"
#include "text.hpp"

#ifdef _WIN32
#define SHADERGEN_GL_CALL __stdcall
#else
#define SHADERGEN_GL_CALL
#endif

namespace shadergen {

using Enum = std::uint32_t;
using Name = std::uint32_t;
using Int = std::int32_t;
using Uint = std::uint32_t;

// result, name, arguments: of OpenGL ES 3.0 and OpenGL 4.3
#define SHADERGEN_GL_ALWAYS(X)                                                                 \
    X(void, ActiveTexture, (Enum))                                                             \
    X(void, AttachShader, (Name, Name))                                                        \
    X(void, BindBuffer, (Enum, Name))                                                          \
    X(void, BindBufferBase, (Enum, Uint, Name))                                                \
    X(void, BindBufferRange, (Enum, Uint, Name, std::ptrdiff_t, std::ptrdiff_t))               \
    X(void, BindFramebuffer, (Enum, Name))                                                     \
    X(void, BindSampler, (Uint, Name))                                                         \
    X(void, BindTexture, (Enum, Name))                                                         \
    X(void, BindVertexArray, (Name))                                                           \
    X(void, BufferData, (Enum, std::ptrdiff_t, const void*, Enum))                             \
    X(Enum, CheckFramebufferStatus, (Enum))                                                    \
    X(void, ClearBufferfv, (Enum, Int, const float*))                                          \
    X(void, ColorMask, (std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t))               \
    X(void, CompileShader, (Name))                                                             \
    X(Name, CreateProgram, ())                                                                 \
    X(Name, CreateShader, (Enum))                                                              \
    X(void, DeleteBuffers, (Int, const Name*))                                                 \
    X(void, DeleteFramebuffers, (Int, const Name*))                                            \
    X(void, DeleteProgram, (Name))                                                             \
    X(void, DeleteSamplers, (Int, const Name*))                                                \
    X(void, DeleteShader, (Name))                                                              \
    X(void, DeleteTextures, (Int, const Name*))                                                \
    X(void, DeleteVertexArrays, (Int, const Name*))                                            \
    X(void, Disable, (Enum))                                                                   \
    X(void, DrawArrays, (Enum, Int, Int))                                                      \
    X(void, DrawBuffers, (Int, const Enum*))                                                   \
    X(void, Enable, (Enum))                                                                    \
    X(void, Finish, ())                                                                        \
    X(void, FramebufferTexture2D, (Enum, Enum, Enum, Name, Int))                               \
    X(void, FramebufferTextureLayer, (Enum, Enum, Name, Int, Int))                             \
    X(void, GenBuffers, (Int, Name*))                                                          \
    X(void, GenFramebuffers, (Int, Name*))                                                     \
    X(void, GenSamplers, (Int, Name*))                                                         \
    X(void, GenTextures, (Int, Name*))                                                         \
    X(void, GenVertexArrays, (Int, Name*))                                                     \
    X(void, GetActiveUniformBlockiv, (Name, Uint, Enum, Int*))                                 \
    X(void, GetBooleanv, (Enum, std::uint8_t*))                                                \
    X(Enum, GetError, ())                                                                      \
    X(void, GetFramebufferAttachmentParameteriv, (Enum, Enum, Enum, Int*))                     \
    X(void, GetInteger64i_v, (Enum, Uint, std::int64_t*))                                      \
    X(void, GetIntegeri_v, (Enum, Uint, Int*))                                                 \
    X(void, GetIntegerv, (Enum, Int*))                                                         \
    X(void, GetProgramBinary, (Name, Int, Int*, Enum*, void*))                                 \
    X(void, GetProgramInfoLog, (Name, Int, Int*, char*))                                       \
    X(void, GetProgramiv, (Name, Enum, Int*))                                                  \
    X(void, GetShaderInfoLog, (Name, Int, Int*, char*))                                        \
    X(void, GetShaderiv, (Name, Enum, Int*))                                                   \
    X(const std::uint8_t*, GetString, (Enum))                                                  \
    X(const std::uint8_t*, GetStringi, (Enum, Uint))                                           \
    X(void, GetTexParameteriv, (Enum, Enum, Int*))                                             \
    X(Uint, GetUniformBlockIndex, (Name, const char*))                                         \
    X(Int, GetUniformLocation, (Name, const char*))                                            \
    X(std::uint8_t, IsEnabled, (Enum))                                                         \
    X(std::uint8_t, IsTexture, (Name))                                                         \
    X(void, LinkProgram, (Name))                                                               \
    X(void, PixelStorei, (Enum, Int))                                                          \
    X(void, ProgramBinary, (Name, Enum, const void*, Int))                                     \
    X(void, ProgramParameteri, (Name, Enum, Int))                                              \
    X(void, ReadBuffer, (Enum))                                                                \
    X(void, ReadPixels, (Int, Int, Int, Int, Enum, Enum, void*))                               \
    X(void, SamplerParameteri, (Name, Enum, Int))                                              \
    X(void, ShaderSource, (Name, Int, const char* const*, const Int*))                         \
    X(void, TexParameteri, (Enum, Enum, Int))                                                  \
    X(void, TexStorage2D, (Enum, Int, Enum, Int, Int))                                         \
    X(void, TexStorage3D, (Enum, Int, Enum, Int, Int, Int))                                    \
    X(void, TexSubImage2D, (Enum, Int, Int, Int, Int, Int, Enum, Enum, const void*))           \
    X(void, TexSubImage3D, (Enum, Int, Int, Int, Int, Int, Int, Int, Enum, Enum, const void*)) \
    X(void, Uniform1f, (Int, float))                                                           \
    X(void, Uniform1i, (Int, Int))                                                             \
    X(void, Uniform2i, (Int, Int, Int))                                                        \
    X(void, Uniform4f, (Int, float, float, float, float))                                      \
    X(void, UniformBlockBinding, (Name, Uint, Uint))                                           \
    X(void, UniformMatrix4fv, (Int, Int, std::uint8_t, const float*))                          \
    X(void, UseProgram, (Name))                                                                \
    X(void, Viewport, (Int, Int, Int, Int))

// of OpenGL ES 3.1; null where there is no such
#define SHADERGEN_GL_31(X)                                                               \
    X(void, BindImageTexture, (Uint, Name, Int, std::uint8_t, Int, Enum, Enum))          \
    X(void, DispatchCompute, (Uint, Uint, Uint))                                         \
    X(Uint, GetProgramResourceIndex, (Name, Enum, const char*))                          \
    X(void, GetProgramResourceiv, (Name, Enum, Uint, Int, const Enum*, Int, Int*, Int*)) \
    X(void, GetTexLevelParameteriv, (Enum, Int, Enum, Int*))                             \
    X(void, MemoryBarrier, (std::uint32_t))

// of OpenGL, and under other names of extensions of OpenGL ES; null where there is no such
#define SHADERGEN_GL_SOMETIMES(X)                                 \
    X(void, BeginQuery, (Enum, Name))                             \
    X(void, BeginQueryEXT, (Enum, Name))                          \
    X(void, DeleteQueries, (Int, const Name*))                    \
    X(void, DeleteQueriesEXT, (Int, const Name*))                 \
    X(void, EndQuery, (Enum))                                     \
    X(void, EndQueryEXT, (Enum))                                  \
    X(void, GenQueries, (Int, Name*))                             \
    X(void, GenQueriesEXT, (Int, Name*))                          \
    X(void, GetQueryObjectui64v, (Name, Enum, std::uint64_t*))    \
    X(void, GetQueryObjectui64vEXT, (Name, Enum, std::uint64_t*)) \
    X(Enum, GetGraphicsResetStatus, ())                           \
    X(Enum, GetGraphicsResetStatusKHR, ())                        \
    X(void, PolygonMode, (Enum, Enum))

struct GL {
#define SHADERGEN_DECLARE(result, name, arguments) result(SHADERGEN_GL_CALL* name) arguments;
    SHADERGEN_GL_ALWAYS(SHADERGEN_DECLARE)
    SHADERGEN_GL_31(SHADERGEN_DECLARE)
    SHADERGEN_GL_SOMETIMES(SHADERGEN_DECLARE)
#undef SHADERGEN_DECLARE

    bool desktop = true;  // OpenGL, not OpenGL ES

    // Find all functions. SG0601 when one that every GL offers is not found.
    bool load(GetProcAddress find, Error& error);
    // OpenGL ES has some functions under the names of extensions.
    void use_extensions();

    Int integer(Enum what) const;
};

// Take the errors that the application left, so that they are not laid at our door.
void forget_errors(const GL& gl);
// What GL reports, to complete "while ...": SG0604.
bool check_errors(const GL& gl, Error& error, const char* doing, Words words = {});

namespace gl {
enum : Enum {
    ALL_BARRIER_BITS = 0xFFFFFFFF,
    TEXTURE_FETCH_BARRIER_BIT = 0x8,
    SHADER_IMAGE_ACCESS_BARRIER_BIT = 0x20,
    FRAMEBUFFER_BARRIER_BIT = 0x400,
    TRIANGLES = 0x4,
    OUT_OF_MEMORY = 0x505,
    FRONT_AND_BACK = 0x408,
    CULL_FACE = 0xB44,
    DEPTH_TEST = 0xB71,
    STENCIL_TEST = 0xB90,
    VIEWPORT = 0xBA2,
    DITHER = 0xBD0,
    BLEND = 0xBE2,
    COLOR_LOGIC_OP = 0xBF2,
    SCISSOR_TEST = 0xC11,
    COLOR_WRITEMASK = 0xC23,
    POLYGON_MODE = 0xB40,
    POLYGON_SMOOTH = 0xB41,
    FILL = 0x1B02,
    UNPACK_SKIP_ROWS = 0xCF3,
    UNPACK_SKIP_PIXELS = 0xCF4,
    UNPACK_ROW_LENGTH = 0xCF2,
    UNPACK_ALIGNMENT = 0xCF5,
    UNPACK_SWAP_BYTES = 0xCF0,
    PACK_SWAP_BYTES = 0xD00,
    UNPACK_SKIP_IMAGES = 0x806D,
    UNPACK_IMAGE_HEIGHT = 0x806E,
    PACK_ROW_LENGTH = 0xD02,
    PACK_SKIP_ROWS = 0xD03,
    PACK_SKIP_PIXELS = 0xD04,
    PACK_ALIGNMENT = 0xD05,
    MAX_TEXTURE_SIZE = 0xD33,
    TEXTURE_2D = 0xDE1,
    UNSIGNED_BYTE = 0x1401,
    INT = 0x1404,
    UNSIGNED_INT = 0x1405,
    FLOAT = 0x1406,
    HALF_FLOAT = 0x140B,
    COLOR = 0x1800,
    RED = 0x1903,
    RGBA = 0x1908,
    RG = 0x8227,
    VENDOR = 0x1F00,
    RENDERER = 0x1F01,
    VERSION = 0x1F02,
    EXTENSIONS = 0x1F03,
    NEAREST = 0x2600,
    TEXTURE_MAG_FILTER = 0x2800,
    TEXTURE_MIN_FILTER = 0x2801,
    TEXTURE_WRAP_S = 0x2802,
    TEXTURE_WRAP_T = 0x2803,
    TEXTURE_WIDTH = 0x1000,
    TEXTURE_HEIGHT = 0x1001,
    TEXTURE_INTERNAL_FORMAT = 0x1003,
    TEXTURE_DEPTH = 0x8071,
    TEXTURE_IMMUTABLE_FORMAT = 0x912F,
    TEXTURE_BINDING_2D = 0x8069,
    SAMPLE_ALPHA_TO_COVERAGE = 0x809E,
    SAMPLE_COVERAGE = 0x80A0,
    CLAMP_TO_EDGE = 0x812F,
    NUM_EXTENSIONS = 0x821D,
    PROGRAM_BINARY_RETRIEVABLE_HINT = 0x8257,
    TEXTURE0 = 0x84C0,
    ACTIVE_TEXTURE = 0x84E0,
    VERTEX_ARRAY_BINDING = 0x85B5,
    PROGRAM_BINARY_LENGTH = 0x8741,
    NUM_PROGRAM_BINARY_FORMATS = 0x87FE,
    QUERY_RESULT = 0x8866,
    TIME_ELAPSED = 0x88BF,
    GPU_DISJOINT = 0x8FBB,
    RGBA32F = 0x8814,
    TEXTURE_RED_SIZE = 0x805C,
    TEXTURE_GREEN_SIZE = 0x805D,
    TEXTURE_BLUE_SIZE = 0x805E,
    TEXTURE_SWIZZLE_G = 0x8E43,
    TEXTURE_SWIZZLE_B = 0x8E44,
    GREEN = 0x1904,
    BLUE = 0x1905,
    TEXTURE_STENCIL_SIZE = 0x88F1,
    TEXTURE_RED_TYPE = 0x8C10,
    TEXTURE_DEPTH_TYPE = 0x8C16,
    READ_ONLY = 0x88B8,
    WRITE_ONLY = 0x88B9,
    STATIC_DRAW = 0x88E4,
    PIXEL_PACK_BUFFER = 0x88EB,
    PIXEL_UNPACK_BUFFER = 0x88EC,
    PIXEL_PACK_BUFFER_BINDING = 0x88ED,
    PIXEL_UNPACK_BUFFER_BINDING = 0x88EF,
    FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE = 0x8211,
    MAX_DRAW_BUFFERS = 0x8824,
    MAX_TEXTURE_IMAGE_UNITS = 0x8872,
    MAX_ARRAY_TEXTURE_LAYERS = 0x88FF,
    SAMPLER_BINDING = 0x8919,
    UNIFORM_BUFFER = 0x8A11,
    UNIFORM_BUFFER_BINDING = 0x8A28,
    UNIFORM_BUFFER_START = 0x8A29,
    UNIFORM_BUFFER_SIZE = 0x8A2A,
    MAX_FRAGMENT_UNIFORM_BLOCKS = 0x8A2D,
    MAX_UNIFORM_BLOCK_SIZE = 0x8A30,
    UNIFORM_BLOCK_DATA_SIZE = 0x8A40,
    FRAGMENT_SHADER = 0x8B30,
    VERTEX_SHADER = 0x8B31,
    COMPILE_STATUS = 0x8B81,
    LINK_STATUS = 0x8B82,
    INFO_LOG_LENGTH = 0x8B84,
    CURRENT_PROGRAM = 0x8B8D,
    TEXTURE_2D_ARRAY = 0x8C1A,
    TEXTURE_BINDING_2D_ARRAY = 0x8C1D,
    RASTERIZER_DISCARD = 0x8C89,
    TEXTURE_EXTERNAL_OES = 0x8D65,
    TEXTURE_BINDING_EXTERNAL_OES = 0x8D67,
    DRAW_FRAMEBUFFER_BINDING = 0x8CA6,
    READ_FRAMEBUFFER = 0x8CA8,
    DRAW_FRAMEBUFFER = 0x8CA9,
    READ_FRAMEBUFFER_BINDING = 0x8CAA,
    FRAMEBUFFER_COMPLETE = 0x8CD5,
    FRAMEBUFFER_INCOMPLETE_ATTACHMENT = 0x8CD6,
    FRAMEBUFFER_UNSUPPORTED = 0x8CDD,
    MAX_COLOR_ATTACHMENTS = 0x8CDF,
    COLOR_ATTACHMENT0 = 0x8CE0,
    IMAGE_BINDING_NAME = 0x8F3A,
    IMAGE_BINDING_LEVEL = 0x8F3B,
    IMAGE_BINDING_LAYERED = 0x8F3C,
    IMAGE_BINDING_LAYER = 0x8F3D,
    IMAGE_BINDING_ACCESS = 0x8F3E,
    IMAGE_BINDING_FORMAT = 0x906E,
    SHADER_STORAGE_BUFFER = 0x90D2,
    SHADER_STORAGE_BUFFER_BINDING = 0x90D3,
    SHADER_STORAGE_BUFFER_START = 0x90D4,
    SHADER_STORAGE_BUFFER_SIZE = 0x90D5,
    MAX_FRAGMENT_SHADER_STORAGE_BLOCKS = 0x90DA,
    MAX_SHADER_STORAGE_BLOCK_SIZE = 0x90DE,
    COMPUTE_SHADER = 0x91B9,
    MAX_COMPUTE_UNIFORM_BLOCKS = 0x91BB,
    MAX_COMPUTE_TEXTURE_IMAGE_UNITS = 0x91BC,
    MAX_COMPUTE_IMAGE_UNIFORMS = 0x91BD,
    MAX_COMPUTE_WORK_GROUP_COUNT = 0x91BE,
    MAX_COMPUTE_WORK_GROUP_INVOCATIONS = 0x90EB,
    MAX_FRAGMENT_IMAGE_UNIFORMS = 0x90CE,
    COMPUTE_WORK_GROUP_SIZE = 0x8267,
    SHADER_STORAGE_BLOCK = 0x92E6,
    BUFFER_BINDING = 0x9302,
    BUFFER_DATA_SIZE = 0x9303,
};
}  // namespace gl

}  // namespace shadergen

#endif
