//! An OBJ file, and after the line `#mtl` the material library that it uses.

#![no_main]

const DIVIDER: &[u8] = b"\n#mtl\n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let at = bytes.windows(DIVIDER.len()).position(|window| window == DIVIDER);
    let (obj, mtl) = at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + DIVIDER.len()..]));
    let obj = [b"mtllib a.mtl\n", obj].concat();
    urdf_usd_fuzz::mesh("a.obj", &obj, &[("a.mtl", mtl)]);
});
