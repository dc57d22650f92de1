//! Writes text layers in the binary encoding, so that OpenUSD can compare what is read here with
//! what it reads itself.
//!
//! Standard input names a text layer and an output file a line, separated by a tab. Each line of
//! the output is the answer to one of them: empty, or why the layer is refused.

use std::error::Error;
use std::io::BufRead as _;

use urdf_usd_stage::usda;

fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (input, output) = line.split_once('\t').ok_or("expected INPUT, tab, OUTPUT")?;
        match usda::encode(&std::fs::read(input)?) {
            Ok(bytes) => {
                std::fs::write(output, bytes)?;
                println!();
            }
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
