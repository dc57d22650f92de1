//! Formats of the images that an asset names, by content and not by extension.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::rc::Rc;

use image::{ImageDecoder, ImageFormat, ImageReader};
use urdf_usd_resolve::{LFS_HELP, is_lfs_pointer};
use urdf_usd_stage::asset_bytes;

/// The format of an image file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture {
    /// A file that cannot be read, with the reason.
    Unreadable(String),
    /// A format whose header is not parsed, or an unknown one: its name.
    Other(&'static str),
    /// An image with a parsed header.
    Known {
        /// PNG, JPEG, BMP, …
        format: ImageFormat,
        /// Bits per channel; 8 for images with fewer.
        bits: u16,
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
}

/// A cache of image headers by resolved path.
#[derive(Debug, Default)]
pub struct Pictures(RefCell<HashMap<String, Rc<Picture>>>);

impl Pictures {
    /// Returns the image at a resolved path, which is read at the first call.
    pub fn at(&self, path: &str) -> Rc<Picture> {
        if let Some(known) = self.0.borrow().get(path) {
            return Rc::clone(known);
        }
        let picture = Rc::new(asset_bytes(path).map_or_else(
            |e| Picture::Unreadable(e.to_string()),
            |bytes| parse(&bytes),
        ));
        self.0
            .borrow_mut()
            .insert(path.to_owned(), Rc::clone(&picture));
        picture
    }
}

impl Picture {
    /// Returns the name for messages, after "is".
    pub fn name(&self) -> String {
        match self {
            Self::Unreadable(_) => "not an image".to_owned(),
            Self::Other(name) => (*name).to_owned(),
            Self::Known { format, bits, .. } => format!("{bits}-bit {}", format_name(*format)),
        }
    }

    /// Returns the format, if the header was parsed.
    pub fn format(&self) -> Option<ImageFormat> {
        if let Self::Known { format, .. } = self {
            Some(*format)
        } else {
            None
        }
    }
}

fn format_name(format: ImageFormat) -> &'static str {
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

/// Parses the header of an image.
fn parse(bytes: &[u8]) -> Picture {
    if bytes.is_empty() {
        return Picture::Unreadable("the file is empty".to_owned());
    }
    if bytes.starts_with(b"\xabKTX 20\xbb") {
        return Picture::Other("KTX2");
    }
    if is_lfs_pointer(bytes) {
        return Picture::Unreadable(format!("it is a Git LFS pointer: {LFS_HELP}"));
    }
    let Ok(format) = image::guess_format(bytes) else {
        return Picture::Other("of an unknown format");
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
        return Picture::Other(format_name(format));
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
