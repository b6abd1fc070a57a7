#include "c_api.hpp"

namespace shadergen::c {

namespace {

thread_local const Loader* current = nullptr;

Function find_current(const char* name) {
    return current->with_user ? current->with_user(current->user, name) : current->plain(name);
}

std::size_t struct_size(const void* given) {
    std::size_t size = 0;
    std::memcpy(&size, given, sizeof size);  // the first member of each
    return size;
}

bool check_struct_size(const void* given, const char* type, Error& error) {
    if (!given) {
        error = null_argument(type);
        return false;
    }
    if (struct_size(given) >= 2 * sizeof(std::size_t)) return true;
    tell(error.help, "set struct_size to sizeof({})", {type});
    return fail(error, "SG0605", "the struct_size of the {} is {}", {type, struct_size(given)});
}

}  // namespace

int answer(Error&& error, shadergen_error** out, const Logger& logger) {
    if (!error) return answer(out);
    const auto status =
        static_cast<int>(std::strtol(error.code.c_str() + 2, nullptr, 10));  // after "SG"
    std::string text = error.render();
    logger(SHADERGEN_LOG_ERROR, text);
    if (out) *out = new shadergen_error{std::move(error), std::move(text)};
    return status;
}

Error null_argument(const char* name) {
    Error error;
    fail(error, "SG0605", "the {} is NULL", {name});
    return error;
}

bool take_sizes(const shadergen_size* sizes, std::size_t count, std::vector<Size>& taken,
                Error& error) {
    if (count && !sizes) {
        error = null_argument("array of sizes");
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!sizes[i].name) {
            error = null_argument("name of a size");
            return false;
        }
        taken.push_back({sizes[i].name, sizes[i].value});
    }
    return true;
}

bool take_bytes(const void* given, const char* type, void* known, std::size_t size, Error& error) {
    if (!check_struct_size(given, type, error)) return false;
    const std::size_t theirs = struct_size(given);
    const auto* const bytes = static_cast<const char*>(given);
    for (std::size_t i = size; i < theirs; ++i) {
        if (!bytes[i]) continue;
        error.why =
            say("this is shadergen {}.{}.{}",
                {SHADERGEN_VERSION_MAJOR, SHADERGEN_VERSION_MINOR, SHADERGEN_VERSION_PATCH});
        error.help = "use a newer library, or set these members to zero";
        return fail(error, "SG0605", "the {} sets members that this library does not have", {type});
    }
    std::memcpy(known, given, theirs < size ? theirs : size);
    return true;
}

bool give_bytes(void* to, const char* type, void* known, std::size_t size, Error& error) {
    if (!check_struct_size(to, type, error)) return false;
    const std::size_t theirs = struct_size(to), shared = theirs < size ? theirs : size;
    std::memcpy(known, &theirs, sizeof theirs);
    std::memcpy(to, known, shared);
    std::memset(static_cast<char*>(to) + shared, 0, theirs - shared);
    return true;
}

bool Loader::check(Error& error) const {
    if (!plain || !with_user) return true;
    error.help = "set one of them";
    return fail(error, "SG0605", "both get_proc_address and get_proc_address_user are set", {});
}

GetProcAddress Loader::function() const { return plain || with_user ? find_current : nullptr; }

Scope::Scope(const Loader& loader) : before_(current) { current = &loader; }
Scope::~Scope() { current = before_; }

}  // namespace shadergen::c

using namespace shadergen;

namespace {

const char* text_of(const shadergen_error* error, std::string Error::*part) {
    return error ? (error->error.*part).c_str() : "";
}

}  // namespace

extern "C" {

int shadergen_version(void) { return SHADERGEN_VERSION; }

void shadergen_format_version(int* major, int* minor) {
    if (major) *major = format_major;
    if (minor) *minor = format_minor;
}

const char* shadergen_error_text(const shadergen_error* error) {
    return error ? error->text.c_str() : "";
}
const char* shadergen_error_code(const shadergen_error* error) {
    return text_of(error, &Error::code);
}
const char* shadergen_error_what(const shadergen_error* error) {
    return text_of(error, &Error::what);
}
size_t shadergen_error_where_count(const shadergen_error* error) {
    return error ? error->error.where.size() : 0;
}
const char* shadergen_error_where(const shadergen_error* error, size_t index) {
    return index < shadergen_error_where_count(error) ? error->error.where[index].c_str() : "";
}
const char* shadergen_error_why(const shadergen_error* error) {
    return text_of(error, &Error::why);
}
const char* shadergen_error_supported(const shadergen_error* error) {
    return text_of(error, &Error::supported);
}
const char* shadergen_error_help(const shadergen_error* error) {
    return text_of(error, &Error::help);
}
void shadergen_error_free(shadergen_error* error) { delete error; }

}  // extern "C"
