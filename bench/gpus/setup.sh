#!/usr/bin/env bash
# Get Mesa's drivers for GPUs that are not there, for `make gpus`, on Debian 12 or later.
#
#   bench/gpus/setup.sh          does nothing where they are; else unpacks ../shared/gpus/gpucomp.tar.xz
#                                if that lies beside this checkout, else builds them
#   bench/gpus/setup.sh build    builds them from Debian's sources: half an hour on two cores, 1 GB
#
# Mali (panfrost), Adreno (freedreno), VideoCore (v3d) and NVIDIA (nouveau's own compiler) come from
# Mesa 25.0.7. Intel (iris) and AMD (RADV) are the system's drivers; Intel needs a fake kernel
# interface that is built here, AMD none. GPUCOMP chooses another folder than .build/gpus/drivers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
GPUCOMP=${GPUCOMP:-$PWD/.build/gpus/drivers}
archive=$PWD/../shared/gpus/gpucomp.tar.xz
prefix=$GPUCOMP/prefix
mesa=25.0.7 drm=2.4.124 # as in Debian 13; other releases keep their sources, too

say() { printf 'gpus: %s\n' "$*"; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
apt_install() {
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@" \
        > /dev/null
}

# --- what the drivers need ----------------------------------------------------------------------

runtime_packages() {
    local missing=() status
    for package in libegl1 libgles2 libegl-mesa0 libgl1-mesa-dri mesa-vulkan-drivers libvulkan1 \
        glslang-tools spirv-cross libelf1 libexpat1; do
        # Debian renames some with their library's version, as libelf1t64
        status=$(dpkg-query -W -f '${db:Status-Status} ' "$package" "${package}t64" 2> /dev/null ||
            true)
        [[ " $status" == *" installed "* ]] || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] || { say "installing ${missing[*]}" && apt_install "${missing[@]}"; }
}

build_packages() {
    say "installing what Mesa is built with"
    # sources, also of the release that has the versions above, from wherever packages come from
    local list=/etc/apt/sources.list.d uri key
    uri=$(sed -n 's/^URIs: *//p' $list/debian.sources | head -1)
    key=$(sed -n 's/^Signed-By: *//p' $list/debian.sources | head -1)
    for suite in bookworm-backports trixie; do
        printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
            "$uri" "$suite" "$key" | as_root tee "$list/gpus-$suite.sources" > /dev/null
    done
    apt_install build-essential dpkg-dev pkg-config bison flex ninja-build python3-venv \
        libvulkan-dev libegl-dev libgles-dev libelf-dev libexpat1-dev zlib1g-dev libdrm-dev \
        libudev-dev libpciaccess-dev libxml2-dev libarchive-dev liblua5.3-dev
    [ -x "$GPUCOMP/venv/bin/meson" ] || python3 -m venv "$GPUCOMP/venv"
    "$GPUCOMP/venv/bin/pip" install -q meson mako pyyaml ply packaging pycparser
    export PATH="$GPUCOMP/venv/bin:$PATH"
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
}

# --- building -----------------------------------------------------------------------------------

# Unpack the source of a package, of any Debian revision that can be had.
source_of() {
    local name=$1 version=$2 revision
    [ ! -d "$GPUCOMP/src/$name-$version" ] || return 0
    mkdir -p "$GPUCOMP/src"
    cd "$GPUCOMP/src"
    for revision in $(apt-cache showsrc "$name" | sed -n "s/^Version: \($version-.*\)/\1/p" |
        sort -u); do
        apt-get -qq source --download-only --tar-only "$name=$revision" > /dev/null 2>&1 || true
        [ ! -f "${name}_$version.orig.tar.xz" ] || break
    done
    tar xf "${name}_$version.orig.tar.xz"
    cd - > /dev/null
}

configure() { # folder of the build, folder of the source, options
    local build=$1 source=$2
    shift 2
    [ -f "$build/build.ninja" ] ||
        meson setup "$build" "$source" --prefix="$prefix" --libdir=lib -Dbuildtype=release "$@" \
            > /dev/null
}

build_libdrm() {
    say "building libdrm $drm"
    local off=()
    for option in amdgpu intel radeon vmwgfx man-pages valgrind cairo-tests; do
        off+=("-D$option=disabled")
    done
    configure "$GPUCOMP/libdrm" "$GPUCOMP/src/libdrm-$drm" -Dnouveau=enabled -Dtests=false "${off[@]}"
    nice ninja -C "$GPUCOMP/libdrm" install > /dev/null
}

build_mesa() {
    local source=$GPUCOMP/src/mesa-$mesa off=()
    for option in llvm glx gles1 glvnd valgrind libunwind lmsensors shader-cache zstd xmlconfig \
        gallium-va gallium-vdpau gallium-xa intel-rt; do
        off+=("-D$option=disabled")
    done
    # v3d does not build without a shader cache
    sed -i 's/        return screen->disk_cache;/        return NULL;/' \
        "$source/src/gallium/drivers/v3d/v3d_screen.c"
    off+=(-Doptimization=1 -Db_ndebug=true -Dvulkan-drivers= -Dplatforms= -Dvideo-codecs=
        -Dbuild-tests=false)
    say "building Mesa's drivers for Mali, Adreno, VideoCore and NVIDIA (half an hour)"
    configure "$GPUCOMP/mesa" "$source" "${off[@]}" -Dgles2=enabled -Degl=enabled -Dopengl=true \
        -Dgbm=enabled -Dtools=drm-shim -Dgallium-drivers=panfrost,freedreno,v3d,nouveau
    nice ninja -C "$GPUCOMP/mesa" | tail -1
    meson install -C "$GPUCOMP/mesa" --no-rebuild --strip > /dev/null
    say "building the fake kernel interface for Intel"
    local shim=src/intel/tools/libintel_noop_drm_shim.so
    configure "$GPUCOMP/intel" "$source" "${off[@]}" -Dgles2=disabled -Degl=disabled \
        -Dopengl=false -Dgbm=disabled -Dtools=drm-shim,intel -Dgallium-drivers=
    nice ninja -C "$GPUCOMP/intel" $shim | tail -1
    cp "$GPUCOMP/intel/$shim" "$prefix/lib/"
}

# --- in order -----------------------------------------------------------------------------------

if ! command -v dpkg-query > /dev/null; then
    say "this needs Debian's packages; see the script for what it builds"
    exit 1
fi
runtime_packages
[ "${1:-}" = build ] || [ ! -e "$prefix/lib/libintel_noop_drm_shim.so" ] || exit 0
mkdir -p "$prefix/lib"
if [ "${1:-}" != build ] && [ -f "$archive" ]; then
    say "unpacking $archive"
    tar -xJf "$archive" -C "$GPUCOMP" --strip-components=2 tmp/gpucomp/prefix
else
    build_packages
    source_of libdrm $drm
    source_of mesa $mesa
    build_libdrm
    build_mesa
fi
say "the drivers are in $prefix/lib"
