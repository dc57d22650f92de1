#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| urdf_usd_fuzz::usd::usd(bytes));
