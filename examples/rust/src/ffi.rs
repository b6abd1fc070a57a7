//! A part of shadergen.h, as Rust declares C functions. `bindgen` writes the same for the whole header.

#![allow(non_camel_case_types)]
#![allow(dead_code)] // applications bind textures; the sample does not

use std::ffi::c_void;
use std::os::raw::{c_char, c_double, c_int, c_uint};

pub enum shadergen_build {}
pub enum shadergen_runner {}
pub enum shadergen_error {}

pub type shadergen_function = Option<unsafe extern "C" fn()>;
pub type shadergen_get_proc_address =
    Option<unsafe extern "C" fn(*const c_char) -> shadergen_function>;
pub type shadergen_get_proc_address_user =
    Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> shadergen_function>;
pub type shadergen_read_file = Option<
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const c_void, *mut usize) -> c_int,
>;
pub type shadergen_log = Option<unsafe extern "C" fn(*mut c_void, i32, *const c_char)>;

#[repr(C)]
pub struct shadergen_file {
    pub path: *const c_char,
    pub data: *const c_void,
    pub size: usize,
}

#[repr(C)]
pub struct shadergen_size {
    pub name: *const c_char,
    pub value: i64,
}

#[repr(C)]
pub struct shadergen_load_desc {
    pub struct_size: usize,
    pub folder: *const c_char,
    pub files: *const shadergen_file,
    pub file_count: usize,
    pub read_file: shadergen_read_file,
    pub read_file_user: *mut c_void,
    pub sizes: *const shadergen_size,
    pub size_count: usize,
    pub get_proc_address: shadergen_get_proc_address,
    pub get_proc_address_user: shadergen_get_proc_address_user,
    pub proc_address_user: *mut c_void,
    pub logger: shadergen_log,
    pub logger_user: *mut c_void,
}

#[repr(C)]
pub struct shadergen_runner_desc {
    pub struct_size: usize,
    pub get_proc_address: shadergen_get_proc_address,
    pub get_proc_address_user: shadergen_get_proc_address_user,
    pub proc_address_user: *mut c_void,
    pub restore_state: c_int,
    pub program_cache: *const c_char,
    pub logger: shadergen_log,
    pub logger_user: *mut c_void,
}

#[repr(C)]
pub struct shadergen_build_stats {
    pub struct_size: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub passes: usize,
    pub texture_bytes: i64,
    pub weight_bytes: i64,
    pub multiply_adds: i64,
    pub bytes_read: i64,
    pub bytes_written: i64,
}

#[repr(C)]
pub struct shadergen_port_info {
    pub struct_size: usize,
    pub name: *const c_char,
    pub shape: *const i64,
    pub rank: usize,
    pub count: usize,
    pub dtype: i32,
    pub encoding: i32,
    pub kind: i32,
    pub width: i32,
    pub height: i32,
    pub layers: i32,
    pub textures: i32,
    pub format: *const c_char,
    pub gl_format: u32,
}

pub const SHADERGEN_FLOAT32: i32 = 0;
pub const SHADERGEN_UINT8: i32 = 8;

#[link(name = "shadergen_c")]
extern "C" {
    pub fn shadergen_error_code(error: *const shadergen_error) -> *const c_char;
    pub fn shadergen_error_text(error: *const shadergen_error) -> *const c_char;
    pub fn shadergen_error_free(error: *mut shadergen_error);

    pub fn shadergen_load(
        desc: *const shadergen_load_desc,
        build: *mut *mut shadergen_build,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_build_destroy(build: *mut shadergen_build);
    pub fn shadergen_build_size_count(build: *const shadergen_build) -> usize;
    pub fn shadergen_build_model(build: *const shadergen_build) -> *const c_char;
    pub fn shadergen_build_get_stats(
        build: *const shadergen_build,
        stats: *mut shadergen_build_stats,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_build_get_input(
        build: *const shadergen_build,
        index: usize,
        info: *mut shadergen_port_info,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_build_get_output(
        build: *const shadergen_build,
        index: usize,
        info: *mut shadergen_port_info,
        error: *mut *mut shadergen_error,
    ) -> c_int;

    pub fn shadergen_runner_create(
        build: *const shadergen_build,
        desc: *const shadergen_runner_desc,
        runner: *mut *mut shadergen_runner,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_runner_destroy(runner: *mut shadergen_runner);
    pub fn shadergen_runner_build(runner: *const shadergen_runner) -> *mut shadergen_build;
    pub fn shadergen_resize(
        runner: *mut shadergen_runner,
        sizes: *const shadergen_size,
        count: usize,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_bind_input(
        runner: *mut shadergen_runner,
        name: *const c_char,
        texture: c_uint,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_output_texture(
        runner: *const shadergen_runner,
        name: *const c_char,
        layer: c_int,
        texture: *mut c_uint,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_upload(
        runner: *mut shadergen_runner,
        name: *const c_char,
        dtype: i32,
        data: *const c_void,
        count: usize,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_read(
        runner: *mut shadergen_runner,
        name: *const c_char,
        dtype: i32,
        data: *mut c_void,
        count: usize,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_run_timed(
        runner: *mut shadergen_runner,
        error: *mut *mut shadergen_error,
    ) -> c_int;
    pub fn shadergen_run(runner: *mut shadergen_runner, error: *mut *mut shadergen_error) -> c_int;
    pub fn shadergen_timings(
        runner: *mut shadergen_runner,
        milliseconds: *mut c_double,
        capacity: usize,
    ) -> usize;
}
