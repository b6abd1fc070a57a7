//! upscale BUILD IN OUT: a picture through a network, without a window.

mod egl;
mod ffi;
mod picture;
mod shadergen;

use picture::Picture;
use shadergen::{Build, Error, Runner};

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.text
    }
}

fn upscale(folder: &str, input: &str, output: &str) -> Result<(), String> {
    let build = Build::load(folder)?;
    let picture = Picture::read(input)?;
    let _context = egl::Context::new().ok_or("EGL gives no OpenGL ES 3 context")?;
    let mut runner = Runner::new(&build, egl::find)?; // dropped before the context
    if build.is_dynamic() {
        runner.resize(picture.height, picture.width)?;
    }
    let (low, high) = (runner.build().input(0)?, runner.build().output(0)?);
    let numbers = picture.to_array(&low.shape).ok_or_else(|| {
        let (height, width, channels) = (picture.height, picture.width, picture.channels);
        format!("'{}' has shape {:?}; {input} is {height}x{width}x{channels}", low.name, low.shape)
    })?;
    runner.upload(&numbers)?;
    let milliseconds: f64 = runner.run_timed()?.iter().sum();
    let mut result = vec![0.0; high.count()];
    runner.read(&mut result)?;
    let enlarged = Picture::from_array(&result, &high.shape)
        .ok_or_else(|| format!("'{}' is no picture: its shape is {:?}", high.name, high.shape))?;
    enlarged.write(output)?;
    let stats = runner.build().stats()?;
    println!("{output}: {}x{} pixels, {}", enlarged.width, enlarged.height, build.model());
    println!(
        "{} passes, {} multiply-adds, {} bytes of textures, {milliseconds:.1} ms",
        stats.passes, stats.multiply_adds, stats.texture_bytes
    );
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [build, input, output] => upscale(build, input, output),
        _ => Err("usage: upscale BUILD IN.ppm OUT.ppm".to_string()),
    };
    if let Err(why) = done {
        eprintln!("{why}");
        std::process::exit(2);
    }
}
