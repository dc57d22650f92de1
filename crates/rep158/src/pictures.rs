//! The images that an asset names, by what is in them and not by their names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::rc::Rc;

use image::{ImageDecoder, ImageFormat, ImageReader};
use urdf_usd_stage::asset_bytes;

/// What a file is as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture {
    /// It can't be read, for this reason.
    Unreadable(String),
    /// An image of a kind that is not looked into, or of no known one: its name.
    Other(&'static str),
    /// A PNG, JPEG, BMP, … with this many bits for a channel.
    Known {
        /// PNG, JPEG, BMP, …
        format: ImageFormat,
        /// Bits for a channel; 8 for what has fewer.
        bits: u16,
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
}

/// What is known of files so far, by their resolved paths.
#[derive(Debug, Default)]
pub struct Pictures(RefCell<HashMap<String, Rc<Picture>>>);

impl Pictures {
    /// The image at a resolved path; each is read once.
    pub fn at(&self, path: &str) -> Rc<Picture> {
        if let Some(known) = self.0.borrow().get(path) {
            return Rc::clone(known);
        }
        let picture = Rc::new(asset_bytes(path).map_or_else(
            |e| Picture::Unreadable(e.to_string()),
            |bytes| of_bytes(&bytes),
        ));
        self.0
            .borrow_mut()
            .insert(path.to_owned(), Rc::clone(&picture));
        picture
    }
}

impl Picture {
    /// What it is, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Unreadable(_) => "no image".to_owned(),
            Self::Other(name) => (*name).to_owned(),
            Self::Known { format, bits, .. } => format!("{bits}-bit {}", shown(*format)),
        }
    }

    /// Its format, if that is known.
    pub fn format(&self) -> Option<ImageFormat> {
        if let Self::Known { format, .. } = self {
            Some(*format)
        } else {
            None
        }
    }
}

fn shown(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        ImageFormat::Tiff => "TIFF",
        ImageFormat::Bmp => "BMP",
        ImageFormat::Dds => "DDS",
        ImageFormat::Hdr => "Radiance HDR",
        ImageFormat::OpenExr => "OpenEXR",
        ImageFormat::Avif => "AVIF",
        _ => "an image of another format",
    }
}

/// Reads the header.
fn of_bytes(bytes: &[u8]) -> Picture {
    if bytes.is_empty() {
        return Picture::Unreadable("it is empty".to_owned());
    }
    if bytes.starts_with(b"\xabKTX 20\xbb") {
        return Picture::Other("KTX2");
    }
    // What Git LFS has not fetched is text.
    if bytes.starts_with(b"version https://git-lfs") {
        return Picture::Unreadable(
            "it is a pointer of Git LFS: fetch it with `git lfs pull`".to_owned(),
        );
    }
    let Ok(format) = image::guess_format(bytes) else {
        return Picture::Other("of no known format");
    };
    if !matches!(
        format,
        ImageFormat::Png
            | ImageFormat::Jpeg
            | ImageFormat::Bmp
            | ImageFormat::Gif
            | ImageFormat::Tiff
            | ImageFormat::WebP
    ) {
        return Picture::Other(shown(format));
    }
    match ImageReader::with_format(Cursor::new(bytes), format).into_decoder() {
        Ok(decoder) => {
            let color = decoder.color_type();
            let (width, height) = decoder.dimensions();
            let bits =
                8 * u16::from(color.bytes_per_pixel()) / u16::from(color.channel_count().max(1));
            Picture::Known {
                format,
                bits,
                width,
                height,
            }
        }
        Err(error) => Picture::Unreadable(error.to_string()),
    }
}
