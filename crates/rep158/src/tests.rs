//! That rules find what breaks them and not what keeps them, and that nothing in an asset makes the checker panic.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};

use super::{Options, RULES, check};
use urdf_usd_diagnostic::Example;

/// The header that an example without one gets.
const HEADER: &str = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    timeCodesPerSecond = 1\n    \
    upAxis = \"Z\"\n)\n\n";

/// The file that a text like `8-bit RGB PNG` or `16-bit L PNG 20x10` describes; none if it describes no image.
fn image(text: &str) -> Option<Vec<u8>> {
    let words: Vec<&str> = text.split(' ').collect();
    let (bits, channels, format, size) = match words[..] {
        ["HDR"] => return Some(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x80\x80\x80\x81".to_vec()),
        ["EXR"] => return Some(b"\x76\x2f\x31\x01\x02\x00\x00\x00".to_vec()),
        ["KTX2"] => return Some(b"\xabKTX 20\xbb\r\n\x1a\n".to_vec()),
        [bits @ ("8-bit" | "16-bit"), channels, format] => (bits, channels, format, "2x2"),
        [bits @ ("8-bit" | "16-bit"), channels, format, size] => (bits, channels, format, size),
        _ => return None,
    };
    let (width, height) = size.split_once('x').unwrap();
    let (width, height) = (width.parse().unwrap(), height.parse().unwrap());
    let format = ImageFormat::from_extension(format.to_lowercase()).unwrap();
    let image = match (bits, channels) {
        ("8-bit", "L") => DynamicImage::new_luma8(width, height),
        ("8-bit", "RGB") => DynamicImage::new_rgb8(width, height),
        ("8-bit", "RGBA") => DynamicImage::new_rgba8(width, height),
        ("16-bit", "L") => DynamicImage::new_luma16(width, height),
        ("16-bit", "RGB") => DynamicImage::new_rgb16(width, height),
        _ => panic!("{text}"),
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    Some(bytes.into_inner())
}

/// Writes the files of an example; returns the first.
fn written(example: Example, folder: &Path) -> PathBuf {
    for (name, text) in example {
        let (file, text) = (folder.join(name), text.unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        if let Some(bytes) = image(text) {
            std::fs::write(file, bytes).unwrap();
            continue;
        }
        let text = if text.starts_with("#usda") { text.to_owned() } else { format!("{HEADER}{text}\n") };
        std::fs::write(file, text).unwrap();
    }
    folder.join(example[0].0)
}

#[test]
fn examples_break_and_keep_their_rules() {
    let interfaces = ["sensor_msgs/msg/JointState", "std_srvs/srv/SetBool"].map(str::to_owned).into();
    let options = Options { interfaces: Some(interfaces), ..Options::default() };
    for rule in RULES {
        let options = Options { select: vec![rule.code.id.to_owned()], ..options.clone() };
        let found = |example| {
            let folder = tempfile::tempdir().unwrap();
            check(&written(example, folder.path()), &options).unwrap()
        };
        assert!(found(rule.breaks).iter().any(|finding| finding.code == rule.code.id), "{}", rule.code.id);
        assert_eq!(found(rule.keeps), [], "{}", rule.code.id);
    }
}

#[test]
fn codes_are_in_order_and_unique() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.code.id).collect();
    let numbers =
        |id: &str| id.strip_prefix("REP158-").unwrap().split('.').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
    assert!(ids.is_sorted_by_key(|id| numbers(id)), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}
