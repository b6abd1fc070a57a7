// The files of a build: none from outside its folder, none larger or other than stated.

#ifndef SHADERGEN_FILES_HPP
#define SHADERGEN_FILES_HPP

#include <string>
#include <string_view>

#include "list.hpp"
#include "shadergen/shadergen.hpp"

namespace shadergen {

// Where the files of a build come from.
class Files {
public:
    virtual ~Files() = default;
    // Give the content of a file, if it has no more than `most` bytes: `found` is how many it has.
    virtual bool read(std::string_view path, std::size_t most, List<char>& owned,
                      std::string_view& content, std::size_t& found, Error& error) const = 0;
};

Result<Build> load_from(const Files& files, const std::vector<Size>& sizes,
                        GetProcAddress get_proc_address, const std::string& place);

class FolderFiles final : public Files {
public:
    explicit FolderFiles(const std::string& folder) : folder_(folder) {}
    bool read(std::string_view path, std::size_t most, List<char>& owned, std::string_view& content,
              std::size_t& found, Error& error) const override;

private:
    std::string folder_;
};

class MemoryFiles final : public Files {
public:
    MemoryFiles(const File* files, std::size_t count) : files_(files), count_(count) {}
    bool read(std::string_view path, std::size_t most, List<char>& owned, std::string_view& content,
              std::size_t& found, Error& error) const override;

private:
    const File* files_;
    std::size_t count_;
};

// What an application's callback gives, copied.
class CallbackFiles final : public Files {
public:
    using Give = int (*)(void* user, const char* path, const void** data, std::size_t* size);

    CallbackFiles(Give give, void* user) : give_(give), user_(user) {}
    bool read(std::string_view path, std::size_t most, List<char>& owned, std::string_view& content,
              std::size_t& found, Error& error) const override;

private:
    Give give_;
    void* user_;
};

// Whole files, for the cache of programs too. False where that fails.
bool read_file(const std::string& path, std::size_t most, List<char>& content);
bool write_file(const std::string& path, std::string_view content);

}  // namespace shadergen

#endif
