// Read a build. Everything is checked before a GL object is made: the form, the files, and how the
// parts refer to each other. Of a build with variants, the one for the current context is read.

#include <algorithm>

#include "device.hpp"
#include "files.hpp"
#include "form.hpp"
#include "schedule.hpp"
#include "sha256.hpp"
#include "text.hpp"
#include "variants.hpp"

namespace shadergen {

namespace {

constexpr std::size_t max_schedule_bytes = std::size_t{1} << 26;
constexpr std::size_t max_shader_bytes = std::size_t{1} << 24;

// The text of a schedule, of which one too large has no content.
struct Text {
    List<char> owned;
    std::string_view content;
    std::size_t size = 0;
};

bool read_document(const Text& text, Source& source, Sizes& sizes, Error& error) {
    if (text.size > max_schedule_bytes)
        return malformed(error, "{} is larger than {} MiB",
                         {schedule_file, max_schedule_bytes >> 20});
    if (!parse(text.content, source.document, error)) return false;
    const Value root = source.document.root();
    if (!check_version(root, source.lenient, error)) return false;
    const Value open = root["sizes"];
    return !open || (check_sizes_form(open, source.lenient, error) && sizes.declare(open, error));
}

bool read_shaders(const Files& files, const Schedule& schedule, Source& source, Error& error) {
    List<std::string_view> paths;
    for (const Pass& pass : schedule.passes) {
        paths.push_back(pass.shader);
        if (!pass.is_compute) paths.push_back(pass.vertex);
    }
    sort(paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (i && paths[i] == paths[i - 1]) continue;
        std::string_view text;
        std::size_t found = 0;
        if (!files.read(paths[i], max_shader_bytes, source.owned.add(), text, found, error))
            return false;
        const bool large = found > max_shader_bytes;
        if (large || !is_utf8(text)) {
            locate(error, paths[i]);
            return large ? fail(error, "SG0505", "the shader is larger than {} MiB",
                                {max_shader_bytes >> 20})
                         : fail(error, "SG0505", "the shader is not UTF-8", {});
        }
        source.shaders.push_back({paths[i], text});
    }
    return true;
}

bool read_weights(const Files& files, const Weights& weights, Source& source, Error& error) {
    const auto size = static_cast<std::size_t>(weights.size);
    std::size_t found = 0;
    if (!files.read(weights.file, size, source.owned.add(), source.weights, found, error))
        return false;
    if (found == size && sha256(source.weights) == weights.sha256) return true;
    locate(error, weights.file);
    error.help = "copy the whole build folder again, or compile the model again";
    if (found == size) {
        error.why = "the schedule lists another SHA-256 checksum";
        return fail(error, "SG0505", "the weights file has been altered", {});
    }
    tell(error.why, "it has {} bytes, the schedule says {}", {found, size});
    return fail(error, "SG0505", "the weights file is {}",
                {found < size ? "truncated" : "too long"});
}

bool read_defaults(const Source& source, const Sizes& sizes, Schedule& schedule, Error& error) {
    if (read_schedule(source, sizes, schedule, error)) return true;
    if (!same(error.code, "SG0605")) return false;
    std::string why;
    why.swap(error.why);
    return malformed(error, "the default sizes break a constraint: {}", {why});
}

// A build without its files, at its default sizes.
struct Opened {
    std::shared_ptr<Source> source = std::make_shared<Source>();
    std::shared_ptr<Schedule> schedule = std::make_shared<Schedule>();
};

bool read_text(const Files& files, std::string_view path, Text& text, Error& error) {
    return files.read(path, max_schedule_bytes, text.owned, text.content, text.size, error);
}

bool open(const Text& text, Opened& to, Error& error) {
    Sizes sizes;
    return read_document(text, *to.source, sizes, error) &&
           read_defaults(*to.source, sizes, *to.schedule, error);
}

bool open_variant(const Files& files, Value entry, Opened& to, Error& error) {
    const std::string_view path = entry.text("schedule");
    to.source->variant = entry.text("name");
    Text text;
    if (!read_text(files, path, text, error)) return false;
    if (open(text, to, error)) {
        if (!to.source->document.root()["variants"]) return true;
        malformed(error, "the schedule of a variant cannot list variants", {}, "variants");
    }
    const auto rename = [&](std::string& said) {  // it lies in another file
        const std::size_t at = said.find(schedule_file);
        if (at != std::string::npos) said.replace(at, schedule_file.size(), path);
    };
    rename(error.what);
    for (std::string& where : error.where) rename(where);
    return false;
}

// Work out another schedule if sizes are wanted.
bool take_sizes(const std::vector<Size>& wanted, Opened& of, Error& error) {
    if (wanted.empty()) return true;
    Sizes sizes = of.schedule->sizes;
    of.schedule = std::make_shared<Schedule>();
    return sizes.set(wanted, error) && resize_schedule(*of.source, sizes, *of.schedule, error);
}

bool any_matches(Value patterns, std::string_view words) {
    for (const Value pattern : patterns)
        if (matches(pattern.text(), words)) return true;
    return false;
}

// Take the first variant for the renderer whose requirements the GL meets at the sizes, if any.
bool pick(const Files& files, const std::vector<Size>& wanted, GetProcAddress get_proc_address,
          Opened& build, Error& error) {
    const Value variants = build.source->document.root()["variants"];
    if (!variants) return true;
    GL gl{};
    Device device;
    if (!gl.load(get_proc_address, error) || !query_device(gl, device, error)) return false;
    const std::string words = words_of(device.renderer);
    for (const Value entry : variants) {
        if (!any_matches(entry["renderers"], words) || any_matches(entry["others"], words))
            continue;
        Opened found;
        if (!open_variant(files, entry, found, error)) return false;
        Error unmet;
        Opened sized = found;
        if (take_sizes(wanted, sized, unmet) &&
            check_requirements(sized.schedule->required, gl, device, unmet)) {
            build = found;
            return true;
        }
    }
    return true;
}

bool read_build(const Files& files, const std::vector<Size>& wanted,
                GetProcAddress get_proc_address, Opened& build, Error& error) {
    Text text;
    if (!read_text(files, schedule_file, text, error) || !open(text, build, error) ||
        (get_proc_address && !pick(files, wanted, get_proc_address, build, error)))
        return false;
    return read_shaders(files, *build.schedule, *build.source, error) &&
           read_weights(files, build.schedule->weights, *build.source, error) &&
           take_sizes(wanted, build, error);
}

std::vector<PortInfo> described(const Schedule& schedule, const List<Port>& ports) {
    std::vector<PortInfo> result(ports.size());
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const Port& port = ports[i];
        const Texture& texture = schedule.textures[at(port.texture)];
        PortInfo& info = result[i];
        info.name = std::string(port.name);
        info.shape.assign(port.shape.begin(), port.shape.end());
        info.dtype = port.dtype;
        info.encoding = port.encoding;
        info.is_array = texture.is_array;
        info.is_external = texture.is_external;
        info.width = static_cast<int>(texture.width),
        info.height = static_cast<int>(texture.height);
        info.layers = static_cast<int>(texture.layers);
        info.textures = static_cast<int>(texture.objects());
        info.format = texture.format->name;
        info.gl_format = texture.format->internal;
    }
    return result;
}

}  // namespace

Result<Build> load_from(const Files& files, const std::vector<Size>& sizes,
                        GetProcAddress get_proc_address, const std::string& place) {
    Result<Build> result;
    Opened build;
    if (read_build(files, sizes, get_proc_address, build, result.error)) {
        build.source->place = place;
        result.value.source_ = build.source, result.value.schedule_ = build.schedule;
    } else if (!place.empty()) {
        locate(result.error, place, true);
    }
    return result;
}

Result<Build> load(const std::string& folder, const std::vector<Size>& sizes,
                   GetProcAddress get_proc_address) {
    return load_from(FolderFiles(folder), sizes, get_proc_address, folder);
}

Result<Build> load(const File* files, std::size_t count, const std::vector<Size>& sizes,
                   GetProcAddress get_proc_address) {
    return load_from(MemoryFiles(files, count), sizes, get_proc_address, {});
}

std::string_view Build::variant() const {
    return source_ ? std::string_view(source_->variant) : std::string_view();
}

std::string_view Build::model() const { return schedule_ ? schedule_->model : std::string_view(); }

std::size_t Build::passes() const { return schedule_ ? schedule_->passes.size() : 0; }

std::string_view Build::pass(std::size_t index) const {
    return index < passes() ? schedule_->passes[index].name : std::string_view();
}

PassInfo Build::pass_info(std::size_t index) const {
    PassInfo info;
    if (index >= passes()) return info;
    const Pass& pass = schedule_->passes[index];
    const Sizes& sizes = schedule_->sizes;
    info.name = pass.name;
    info.is_compute = pass.is_compute;
    info.multiply_adds = sizes(pass.macs);
    info.bytes_read = sizes(pass.bytes["read"]), info.bytes_written = sizes(pass.bytes["written"]);
    return info;
}

std::vector<PortInfo> Build::inputs() const {
    return schedule_ ? described(*schedule_, schedule_->inputs) : std::vector<PortInfo>();
}

std::vector<PortInfo> Build::outputs() const {
    return schedule_ ? described(*schedule_, schedule_->outputs) : std::vector<PortInfo>();
}

std::vector<Size> Build::sizes() const {
    if (!schedule_) return {};
    const List<Parameter>& parameters = schedule_->sizes.parameters();
    std::vector<Size> result(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i)
        result[i].name = parameters[i].name, result[i].value = parameters[i].value;
    return result;
}

std::int64_t Build::weight_bytes() const { return schedule_ ? schedule_->weights.size : 0; }

std::int64_t Build::texture_bytes() const {
    if (!schedule_) return 0;
    std::int64_t bytes = 0;
    List<std::int64_t> slots;  // the textures of one are the same, of the size of the deepest
    for (const Texture& texture : schedule_->textures) {
        if (texture.has_data) bytes += texture.bytes();
        if (texture.has_data || texture.slot == none) continue;
        const auto slot = static_cast<std::size_t>(texture.slot);
        if (slots.size() <= slot) slots.resize(slot + 1);
        slots[slot] = std::max(slots[slot], texture.bytes());
    }
    for (const std::int64_t size : slots) bytes += size;
    return bytes;
}

}  // namespace shadergen
