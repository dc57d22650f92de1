//! Checks an asset: for those who write rules.
fn main() {
    for path in std::env::args().skip(1) {
        let options = urdf_usd_rep158::Options { all_variants: true, ..Default::default() };
        match urdf_usd_rep158::check(path.as_ref(), &options) {
            Ok(found) => found.iter().for_each(|finding| {
                println!("{} {} {}: {}", finding.severity, finding.code, finding.place.element, finding.message)
            }),
            Err(error) => println!("{error}"),
        }
    }
}
