//! An OpenGL ES context without a window.

use crate::ffi::shadergen_function;
use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int, c_uint};
use std::ptr::null_mut;

#[link(name = "EGL")]
extern "C" {
    fn eglGetDisplay(native: *mut c_void) -> *mut c_void;
    fn eglInitialize(display: *mut c_void, major: *mut c_int, minor: *mut c_int) -> c_uint;
    fn eglBindAPI(api: c_uint) -> c_uint;
    fn eglChooseConfig(
        display: *mut c_void,
        wanted: *const c_int,
        configs: *mut *mut c_void,
        size: c_int,
        count: *mut c_int,
    ) -> c_uint;
    fn eglCreateContext(
        display: *mut c_void,
        config: *mut c_void,
        share: *mut c_void,
        wanted: *const c_int,
    ) -> *mut c_void;
    fn eglMakeCurrent(
        display: *mut c_void,
        draw: *mut c_void,
        read: *mut c_void,
        context: *mut c_void,
    ) -> c_uint;
    fn eglDestroyContext(display: *mut c_void, context: *mut c_void) -> c_uint;
    fn eglGetProcAddress(name: *const c_char) -> shadergen_function;
}

const OPENGL_ES_API: c_uint = 0x30A0;
const SURFACE_TYPE: c_int = 0x3033;
const RENDERABLE_TYPE: c_int = 0x3040;
const OPENGL_ES3_BIT: c_int = 0x40;
const CONTEXT_MAJOR_VERSION: c_int = 0x3098;
const PLATFORM_SURFACELESS_MESA: c_uint = 0x31DD;
const NONE: c_int = 0x3038;

/// Current on the thread that makes it.
pub struct Context {
    display: *mut c_void,
    context: *mut c_void,
}

impl Context {
    pub fn new() -> Option<Context> {
        let wanted = [SURFACE_TYPE, 0, RENDERABLE_TYPE, OPENGL_ES3_BIT, NONE];
        let version = [CONTEXT_MAJOR_VERSION, 3, NONE];
        let (mut config, mut count) = (null_mut(), 0);
        unsafe {
            let mut display = eglGetDisplay(null_mut());
            if eglInitialize(display, null_mut(), null_mut()) == 0 {
                display = surfaceless(); // no window system
                if eglInitialize(display, null_mut(), null_mut()) == 0 {
                    return None;
                }
            }
            if eglBindAPI(OPENGL_ES_API) == 0 {
                return None;
            }
            eglChooseConfig(display, wanted.as_ptr(), &mut config, 1, &mut count);
            let context = eglCreateContext(display, config, null_mut(), version.as_ptr());
            if context.is_null() || eglMakeCurrent(display, null_mut(), null_mut(), context) == 0 {
                return None;
            }
            Some(Context { display, context })
        }
    }
}

/// The display of Mesa that needs no window system, or null.
unsafe fn surfaceless() -> *mut c_void {
    type GetPlatformDisplay =
        unsafe extern "C" fn(c_uint, *mut c_void, *const c_int) -> *mut c_void;
    let name = b"eglGetPlatformDisplayEXT\0".as_ptr() as *const c_char;
    match eglGetProcAddress(name) {
        Some(function) => {
            let get: GetPlatformDisplay = std::mem::transmute(function);
            get(PLATFORM_SURFACELESS_MESA, null_mut(), null_mut())
        }
        None => null_mut(),
    }
}

pub fn find(name: &CStr) -> shadergen_function {
    unsafe { eglGetProcAddress(name.as_ptr()) }
}

impl Drop for Context {
    fn drop(&mut self) {
        unsafe {
            eglMakeCurrent(self.display, null_mut(), null_mut(), null_mut());
            eglDestroyContext(self.display, self.context);
        }
    }
}
