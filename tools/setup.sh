#!/usr/bin/env bash
# Make a checkout ready to work in: the virtual environment .venv and, where they are absent, the
# system's packages for OpenGL ES and glslang. Run by make; says nothing when nothing is to be done.
#
#   PYTHON=python3.12 tools/setup.sh    choose the Python that .venv is made from
#   tools/setup.sh demo                 only what running builds needs: no Keras, JAX or torch
#   tools/setup.sh gallery              that, and what the gallery is made with
#   tools/setup.sh compare              and what `make bench` compares with
#   tools/setup.sh gpus                 and the Python packages of `make gpus`
#   tools/setup.sh test                 and what `make test` runs builds in C++, in Rust, in
#                                       toolkits, on the web and in video players with
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
python=${PYTHON:-python3}
stamp=.venv/.shadergen-setup # written when all that development needs is installed
light=.venv/.shadergen-demo # written when the extra [run] is installed

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
    else
        return 1
    fi
}

# Install Debian packages; the lists are fetched only when the ones at hand do not do.
apt_install() {
    local log install=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends
        install "$@")
    log=$(mktemp)
    say "installing $* (apt-get)"
    if as_root "${install[@]}" > "$log" 2>&1 ||
        { as_root apt-get -qq update > "$log" 2>&1 && as_root "${install[@]}" > "$log" 2>&1; }; then
        rm -f "$log"
        return 0
    fi
    tail -n 3 "$log" >&2
    rm -f "$log"
    return 1
}

# --- system packages ---------------------------------------------------------------------------

loadable() { "$python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$1" 2> /dev/null; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

# Print what is missing, as Debian names it.
missing_packages() {
    command -v glslangValidator > /dev/null || echo glslang-tools
    missing_gl
}

missing_gl() {
    loadable libEGL.so.1 || echo libegl1
    loadable libGLESv2.so.2 || echo libgles2
    # Something must implement them. Where no vendor has registered, Mesa does, in software too.
    local vendors
    vendors=$(find /usr/share/glvnd/egl_vendor.d /etc/glvnd/egl_vendor.d -name '*.json' \
        2> /dev/null || true)
    if command -v dpkg-query > /dev/null && [ -z "${vendors//*_mesa.json/}" ]; then
        installed libegl-mesa0 || echo libegl-mesa0
        installed libgl1-mesa-dri || echo libgl1-mesa-dri
    fi
}

# The same for what is compared with: Vulkan and, where nothing implements it, Mesa's drivers.
missing_vulkan() {
    loadable libvulkan.so.1 || echo libvulkan1
    [ -n "$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name '*.json' 2> /dev/null)" ] ||
        echo mesa-vulkan-drivers
}

install_vulkan() {
    local missing
    missing=$(missing_vulkan | tr '\n' ' ')
    # shellcheck disable=SC2086  # a list of words
    if [ -n "$missing" ] &&
        ! { command -v apt-get > /dev/null && apt_install $missing; }; then
        say "missing $missing(Debian's names): what needs Vulkan will not be measured"
    fi
}

# What the C++ runtime and the native samples are compiled with.
install_cpp() {
    local missing
    missing=$(command -v c++ > /dev/null || echo g++
        command -v cmake > /dev/null || echo cmake
        command -v ninja > /dev/null || echo ninja-build
        command -v pkg-config > /dev/null || echo pkg-config
        # examples/executor
        [ -e /usr/include/nlohmann/json.hpp ] || echo nlohmann-json3-dev
        # examples/native, whose window is tested on a display in memory
        [ -e /usr/include/EGL/egl.h ] || echo libegl-dev
        [ -e /usr/include/GLES3/gl3.h ] || echo libgles-dev
        [ -e /usr/include/stb/stb_image.h ] || echo libstb-dev
        [ -e /usr/include/GLFW/glfw3.h ] || echo libglfw3-dev
        command -v xvfb-run > /dev/null || echo xvfb xauth)
    # shellcheck disable=SC2086  # a list of words
    if [ -n "$missing" ] && ! { command -v apt-get > /dev/null && apt_install $missing; }; then
        say "missing" $missing "(Debian's names): the C++ runtime will not be tested"
    fi
}

# What examples/rust is compiled with.
install_rust() {
    if ! command -v rustc > /dev/null &&
        ! { command -v apt-get > /dev/null && apt_install rustc; }; then
        say "missing rustc (Debian's name): the Rust sample will not be tested"
    fi
}

# The toolkits in whose GL contexts docs/recipes.md runs networks.
install_toolkits() {
    local missing
    missing=$(pkg-config --exists sdl2 || echo libsdl2-dev
        pkg-config --exists Qt5Widgets || echo qtbase5-dev
        pkg-config --exists gtk4 || echo libgtk-4-dev
        pkg-config --exists libobs || echo libobs-dev
        pkg-config --exists gstreamer-gl-1.0 || echo libgstreamer-plugins-base1.0-dev
        gst-inspect-1.0 --exists glfilterapp 2> /dev/null ||
            echo gstreamer1.0-gl gstreamer1.0-plugins-base gstreamer1.0-tools)
    # shellcheck disable=SC2086  # a list of words
    if [ -n "$missing" ] && ! { command -v apt-get > /dev/null && apt_install $missing; }; then
        say "missing" $missing "(Debian's names): their recipes will not be tested"
    fi
}

# A browser and Node, in which the web runtime is tested.
install_browser() {
    local missing
    missing=$(command -v chromium chromium-browser google-chrome > /dev/null || echo chromium
        command -v node > /dev/null || echo nodejs)
    # shellcheck disable=SC2086  # a list of words
    if [ -n "$missing" ] && ! { command -v apt-get > /dev/null && apt_install $missing; }; then
        say "missing" $missing "(Debian's names): the web runtime will not be tested"
    fi
}

# Players of user shaders, and a display in memory for mpv's window.
install_players() {
    local missing
    missing=$(command -v ffmpeg > /dev/null || echo ffmpeg
        command -v mpv > /dev/null || echo mpv
        command -v xvfb-run > /dev/null || echo xvfb xauth)
    # shellcheck disable=SC2086  # a list of words
    if [ -n "$missing" ] && ! { command -v apt-get > /dev/null && apt_install $missing; }; then
        say "missing" $missing "(Debian's names): user shaders will not be tested in players"
    fi
}

install_system_packages() { # the missing packages, as Debian names them
    local missing=$1
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086  # a list of words
    if ! command -v apt-get > /dev/null; then
        say "missing $missing(Debian's names); install EGL, OpenGL ES and glslang:" \
            "Fedora: dnf install mesa-libEGL libglvnd-gles mesa-dri-drivers glslang;" \
            "Arch: pacman -S mesa glslang; macOS: brew install glslang (compiling only, no EGL)"
    elif ! apt_install $missing; then
        say "could not install them; run: sudo apt-get update && sudo apt-get install $missing"
    fi
}

# --- the virtual environment -------------------------------------------------------------------

# What .venv was made from: another root, Python or pyproject.toml makes it stale.
fingerprint() { printf '%s\n%s\n%s\n' "$root" "$python" "$(cksum pyproject.toml)"; }

make_venv() {
    # Without ensurepip the venv module leaves half a folder behind and fails.
    if ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
        local package
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if ! command -v apt-get > /dev/null || ! apt_install "$package"; then
            fail "$python has no venv module; run: sudo apt-get install $package, then try again"
        fi
    fi
    if [ -L .venv ]; then # clearing it would empty the environment of another checkout
        say "replacing the link .venv to $(readlink .venv) by an environment of this checkout"
        rm .venv
    fi
    "$python" -m venv --clear .venv
}

current() { [ "$(cat "$1" 2> /dev/null)" = "$(fingerprint)" ]; }

# Whether .venv was made here, with this Python, for the demo or for development.
usable() {
    local place
    place=$(fingerprint | head -n 2)
    { [ "$(head -n 2 "$stamp" 2> /dev/null)" = "$place" ] ||
        [ "$(head -n 2 "$light" 2> /dev/null)" = "$place" ]; } &&
        .venv/bin/python -c '' 2> /dev/null
}

install_venv() { # extra in pyproject.toml, the stamp for it, what it is, how long that takes
    ! current "$stamp" && ! current "$2" || return 0
    if ! usable; then
        say "making .venv and installing what $3 needs (once; $4)"
        make_venv
    elif [ -e "$2" ]; then
        say "pyproject.toml has changed: updating .venv"
    else
        say "installing what $3 needs (once; $4)"
    fi
    rm -f "$2"
    .venv/bin/python -m pip --disable-pip-version-check install -qq -e ".[$1]" ||
        fail "pip could not install .[$1] (see above)"
    fingerprint > "$2"
}

# A package that this platform has no wheel of is no reason to measure nothing.
install_extra() { # name in pyproject.toml, what it is for
    local stamp=.venv/.shadergen-$1
    [ "$(cat "$stamp" 2> /dev/null)" != "$(fingerprint)" ] || return 0
    say "installing $2"
    .venv/bin/python -m pip --disable-pip-version-check install -qq -e ".[$1]" ||
        say "pip could not install .[$1] (see above): what needs it will not be measured"
    fingerprint > "$stamp"
}

command -v "$python" > /dev/null ||
    fail "no $python; install Python 3.10 or later, or run: make PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$("$python" --version) is too old, 3.10 is the first that will do;" \
        "run: make PYTHON=/path/to/python3"
if [ "${1:-}" = demo ]; then
    install_system_packages "$(missing_gl | tr '\n' ' ')"
    install_venv run "$light" "the demo" "half a minute"
    exit
fi
if [ "${1:-}" = gallery ]; then
    install_system_packages "$(missing_gl | tr '\n' ' ')"
    install_venv run "$light" "the gallery" "half a minute"
    install_venv gallery .venv/.shadergen-gallery "the gallery" "a minute"
    exit
fi
install_system_packages "$(missing_packages | tr '\n' ' ')"
install_venv dev "$stamp" "development" "a few minutes"
if [ "${1:-}" = test ]; then
    install_browser
    install_cpp
    install_rust
    install_toolkits
    install_vulkan # for WGSL and user shaders
    install_players
fi
if [ "${1:-}" = compare ]; then
    install_vulkan
    install_extra compare "what is compared with"
fi
if [ "${1:-}" = gpus ]; then
    install_extra gpus "what GPU compilers are driven with"
fi
