//! Builds and runners as Rust has them: errors are results, handles free themselves, and a runner
//! stays on its thread.

#![allow(dead_code)] // applications bind textures; the sample does not

use crate::ffi::*;
use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::mem::{size_of, zeroed};
use std::os::raw::{c_char, c_int};
use std::ptr::{null, null_mut};

pub struct Error {
    pub code: String, // "SG0605"
    pub text: String, // as shadergen prints it
}

fn text(words: *const c_char) -> String {
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// Call a function whose last parameter receives an error.
fn call(function: impl FnOnce(*mut *mut shadergen_error) -> c_int) -> Result<(), Error> {
    let mut error = null_mut();
    if function(&mut error) == 0 {
        return Ok(());
    }
    let result = unsafe {
        Error { code: text(shadergen_error_code(error)), text: text(shadergen_error_text(error)) }
    };
    unsafe { shadergen_error_free(error) };
    Err(result)
}

/// Zero means the default in every descriptor.
fn descriptor<T>() -> T {
    unsafe { zeroed() }
}

pub struct Port {
    pub name: String,
    pub shape: Vec<usize>,
}

impl Port {
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

pub struct Build {
    handle: *mut shadergen_build,
}

// A build is constant: any thread may use it.
unsafe impl Send for Build {}
unsafe impl Sync for Build {}

type GetPort = unsafe extern "C" fn(
    *const shadergen_build,
    usize,
    *mut shadergen_port_info,
    *mut *mut shadergen_error,
) -> c_int;

impl Build {
    pub fn load(folder: &str) -> Result<Build, Error> {
        let folder = CString::new(folder).expect("a path has no zero");
        let mut desc: shadergen_load_desc = descriptor();
        desc.struct_size = size_of::<shadergen_load_desc>();
        desc.folder = folder.as_ptr();
        let mut handle = null_mut();
        call(|error| unsafe { shadergen_load(&desc, &mut handle, error) })?;
        Ok(Build { handle })
    }

    pub fn model(&self) -> String {
        text(unsafe { shadergen_build_model(self.handle) })
    }

    pub fn is_dynamic(&self) -> bool {
        unsafe { shadergen_build_size_count(self.handle) > 0 }
    }

    pub fn stats(&self) -> Result<shadergen_build_stats, Error> {
        let mut stats: shadergen_build_stats = descriptor();
        stats.struct_size = size_of::<shadergen_build_stats>();
        call(|error| unsafe { shadergen_build_get_stats(self.handle, &mut stats, error) })?;
        Ok(stats)
    }

    pub fn input(&self, index: usize) -> Result<Port, Error> {
        self.port(shadergen_build_get_input, index)
    }

    pub fn output(&self, index: usize) -> Result<Port, Error> {
        self.port(shadergen_build_get_output, index)
    }

    fn port(&self, get: GetPort, index: usize) -> Result<Port, Error> {
        let mut info: shadergen_port_info = descriptor();
        info.struct_size = size_of::<shadergen_port_info>();
        call(|error| unsafe { get(self.handle, index, &mut info, error) })?;
        let shape: &[i64] = match info.rank {
            0 => &[], // info.shape may be null, of which no slice can be made
            rank => unsafe { std::slice::from_raw_parts(info.shape, rank) },
        };
        Ok(Port { name: text(info.name), shape: shape.iter().map(|&size| size as usize).collect() })
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        unsafe { shadergen_build_destroy(self.handle) }
    }
}

/// What arrays may consist of; the header has more.
pub trait Element {
    const DTYPE: i32;
}
impl Element for f32 {
    const DTYPE: i32 = SHADERGEN_FLOAT32;
}
impl Element for u8 {
    const DTYPE: i32 = SHADERGEN_UINT8;
}

type Loader = Box<dyn Fn(&CStr) -> shadergen_function>;

/// The context must be current whenever a runner is used or dropped.
pub struct Runner {
    handle: *mut shadergen_runner,
    _loader: Box<Loader>,                 // for as long as the runner
    _on_its_thread: PhantomData<*mut ()>, // neither Send nor Sync
}

unsafe extern "C" fn find(user: *mut c_void, name: *const c_char) -> shadergen_function {
    let loader = &*(user as *const Loader);
    loader(CStr::from_ptr(name))
}

impl Runner {
    /// `loader` finds the functions of the current context's GL. It must not panic.
    pub fn new(
        build: &Build,
        loader: impl Fn(&CStr) -> shadergen_function + 'static,
    ) -> Result<Runner, Error> {
        let loader: Box<Loader> = Box::new(Box::new(loader));
        let mut desc: shadergen_runner_desc = descriptor();
        desc.struct_size = size_of::<shadergen_runner_desc>();
        desc.get_proc_address_user = Some(find);
        desc.proc_address_user = &*loader as *const Loader as *mut c_void;
        let mut handle = null_mut();
        call(|error| unsafe { shadergen_runner_create(build.handle, &desc, &mut handle, error) })?;
        Ok(Runner { handle, _loader: loader, _on_its_thread: PhantomData })
    }

    /// The build at the runner's present sizes.
    pub fn build(&self) -> Build {
        Build { handle: unsafe { shadergen_runner_build(self.handle) } }
    }

    pub fn resize(&mut self, height: usize, width: usize) -> Result<(), Error> {
        let (names, values) = ([c_str(b"height\0"), c_str(b"width\0")], [height, width]);
        let sizes = [0, 1]
            .map(|i: usize| shadergen_size { name: names[i].as_ptr(), value: values[i] as i64 });
        call(|error| unsafe { shadergen_resize(self.handle, sizes.as_ptr(), sizes.len(), error) })
    }

    /// Copy an array of the model's shape to the only input.
    pub fn upload<T: Element>(&mut self, data: &[T]) -> Result<(), Error> {
        let values = data.as_ptr() as *const c_void;
        call(|error| unsafe {
            shadergen_upload(self.handle, null(), T::DTYPE, values, data.len(), error)
        })
    }

    /// Read the only input from a texture of the application, without a copy.
    pub fn bind_input(&mut self, texture: u32) -> Result<(), Error> {
        call(|error| unsafe { shadergen_bind_input(self.handle, null(), texture, error) })
    }

    pub fn run(&mut self) -> Result<(), Error> {
        call(|error| unsafe { shadergen_run(self.handle, error) })
    }

    /// Run a frame and return the milliseconds of its passes, or nothing if the GL cannot measure.
    pub fn run_timed(&mut self) -> Result<Vec<f64>, Error> {
        call(|error| unsafe { shadergen_run_timed(self.handle, error) })?;
        let count = unsafe { shadergen_timings(self.handle, null_mut(), 0) };
        let mut times = vec![0.0; count];
        let known = unsafe { shadergen_timings(self.handle, times.as_mut_ptr(), count) };
        times.truncate(known);
        Ok(times)
    }

    /// Copy the only output to an array of the model's shape.
    pub fn read<T: Element>(&mut self, data: &mut [T]) -> Result<(), Error> {
        let values = data.as_mut_ptr() as *mut c_void;
        call(|error| unsafe {
            shadergen_read(self.handle, null(), T::DTYPE, values, data.len(), error)
        })
    }

    /// The texture of the only output.
    pub fn output_texture(&self) -> Result<u32, Error> {
        let mut texture = 0;
        call(|error| unsafe {
            shadergen_output_texture(self.handle, null(), 0, &mut texture, error)
        })?;
        Ok(texture)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        unsafe { shadergen_runner_destroy(self.handle) }
    }
}

fn c_str(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(bytes).expect("one zero at the end")
}
