//! Pictures as PGM (grey) and PPM (RGB) files, and as arrays of a network.

pub struct Picture {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub bytes: Vec<u8>, // rows from the top, channels last
}

impl Picture {
    pub fn read(path: &str) -> Result<Picture, String> {
        let file = std::fs::read(path).map_err(|why| format!("{path}: {why}"))?;
        Picture::parse(&file).ok_or(format!("{path}: not a PGM (P5) or PPM (P6) file of 8 bits"))
    }

    fn parse(file: &[u8]) -> Option<Picture> {
        let (mut at, mut words) = (0, Vec::new());
        while words.len() < 4 {
            while file.get(at)?.is_ascii_whitespace() {
                at += 1;
            }
            if file[at] == b'#' {
                at += file[at..].iter().position(|&byte| byte == b'\n')?;
                continue;
            }
            let end = at + file[at..].iter().position(u8::is_ascii_whitespace)?;
            words.push(std::str::from_utf8(&file[at..end]).ok()?);
            at = end;
        }
        let channels = match words[0] {
            "P5" => 1,
            "P6" => 3,
            _ => return None,
        };
        let (width, height): (usize, usize) = (words[1].parse().ok()?, words[2].parse().ok()?);
        let size = width.checked_mul(height)?.checked_mul(channels)?;
        let bytes = file.get(at + 1..(at + 1).checked_add(size)?)?.to_vec();
        (words[3] == "255").then(|| Picture { height, width, channels, bytes })
    }

    pub fn write(&self, path: &str) -> Result<(), String> {
        let kind = if self.channels == 1 { "P5" } else { "P6" };
        let mut file = format!("{kind}\n{} {}\n255\n", self.width, self.height).into_bytes();
        file.extend(&self.bytes);
        std::fs::write(path, file).map_err(|why| format!("{path}: {why}"))
    }

    /// Height, width and channels of an array of shape 1xHxWxC or 1xCxHxW, and whether the channels
    /// are first.
    fn layout(shape: &[usize]) -> Option<(usize, usize, usize, bool)> {
        match *shape {
            [1, h, w, c @ (1 | 3)] => Some((h, w, c, false)),
            [1, c @ (1 | 3), h, w] => Some((h, w, c, true)),
            _ => None,
        }
    }

    /// Where a byte of the picture is in an array.
    fn place(&self, index: usize, first: bool) -> usize {
        let (pixel, channel) = (index / self.channels, index % self.channels);
        if first {
            channel * self.height * self.width + pixel
        } else {
            index
        }
    }

    /// Numbers 0..1 for an input of a shape; None if the picture is of another size.
    pub fn to_array(&self, shape: &[usize]) -> Option<Vec<f32>> {
        let (height, width, channels, first) = Picture::layout(shape)?;
        if (height, width, channels) != (self.height, self.width, self.channels) {
            return None;
        }
        let mut numbers = vec![0.0; self.bytes.len()];
        for (index, &byte) in self.bytes.iter().enumerate() {
            numbers[self.place(index, first)] = f32::from(byte) / 255.0;
        }
        Some(numbers)
    }

    /// The picture that an output of a shape holds; None if it is none.
    pub fn from_array(numbers: &[f32], shape: &[usize]) -> Option<Picture> {
        let (height, width, channels, first) = Picture::layout(shape)?;
        let mut picture = Picture { height, width, channels, bytes: vec![0; numbers.len()] };
        for index in 0..numbers.len() {
            let number = numbers[picture.place(index, first)];
            picture.bytes[index] = (number * 255.0).round() as u8; // which saturates
        }
        Some(picture)
    }
}
