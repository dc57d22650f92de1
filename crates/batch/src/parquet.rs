//! The report as a Parquet file: the rows of `report.jsonl`, with `findings` as a map.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::journal::Row;

/// Rows that are written, and held by a reader, at a time.
const ROW_GROUP: usize = 100_000;

/// The columns, in the order in which they are written.
const SCHEMA: &str = "message robots {
    required binary key (STRING);
    required binary source (STRING);
    required binary inputs (STRING);
    required binary status (STRING);
    optional binary robot (STRING);
    optional binary asset (STRING);
    required group counts {
        required int64 links;
        required int64 joints;
        required int64 meshes;
        required int64 triangles;
        required int64 materials;
    }
    required int64 bytes;
    required double seconds;
    required group findings (MAP) {
        repeated group key_value {
            required binary key (STRING);
            required int64 value;
        }
    }
    optional binary message (STRING);
    required double finished;
}";

/// Returns the file with these rows.
pub(crate) fn write(rows: &[&Row]) -> Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, WriterProperties::new().into())?;
    for rows in rows.chunks(ROW_GROUP) {
        let mut group = Group(writer.next_row_group()?);
        group.texts(rows, |row| &row.key)?;
        let sources = rows.iter().map(|row| row.source.to_string_lossy());
        let sources = sources.map(|source| ByteArray::from(source.as_ref()));
        group.column::<ByteArrayType>(sources.collect(), None)?;
        group.texts(rows, |row| &row.inputs)?;
        let status = |row: &&Row| serde_json::to_value(row.status).ok();
        let status: Vec<_> = rows.iter().map(status).collect();
        let status = status
            .iter()
            .map(|status| status.as_ref().and_then(|one| one.as_str()));
        let status = status
            .map(|status| ByteArray::from(status.unwrap_or_default()))
            .collect();
        group.column::<ByteArrayType>(status, None)?;
        group.optional_texts(rows, |row| row.robot.as_deref())?;
        group.optional_texts(rows, |row| row.asset.as_deref())?;
        group.numbers(rows, |row| row.counts.links)?;
        group.numbers(rows, |row| row.counts.joints)?;
        group.numbers(rows, |row| row.counts.meshes)?;
        group.numbers(rows, |row| row.counts.triangles)?;
        group.numbers(rows, |row| row.counts.materials)?;
        group.numbers(rows, |row| usize::try_from(row.bytes).unwrap_or(usize::MAX))?;
        group.column::<DoubleType>(rows.iter().map(|row| row.seconds).collect(), None)?;
        // An empty map has one entry of levels without a value.
        let levels = rows.iter().flat_map(|row| {
            let count = row.findings.len();
            (0..count.max(1)).map(move |index| (i16::from(count > 0), i16::from(index > 0)))
        });
        let (defined, repeated): (Vec<i16>, Vec<i16>) = levels.unzip();
        let levels = (defined.as_slice(), Some(repeated.as_slice()));
        let findings = || rows.iter().flat_map(|row| &row.findings);
        let codes = findings().map(|(code, _)| ByteArray::from(code.as_str()));
        group.column::<ByteArrayType>(codes.collect(), Some(levels))?;
        let counts = findings().map(|(_, count)| integer(*count));
        group.column::<Int64Type>(counts.collect(), Some(levels))?;
        group.optional_texts(rows, |row| row.message.as_deref())?;
        group.column::<DoubleType>(rows.iter().map(|row| row.finished).collect(), None)?;
        group.0.close()?;
    }
    writer.into_inner()
}

fn integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A part of the file's rows, whose columns are written one after the other.
struct Group<'a>(SerializedRowGroupWriter<'a, Vec<u8>>);

impl Group<'_> {
    /// Writes the next column, with its levels of definition and repetition.
    fn column<T: DataType>(
        &mut self,
        values: Vec<T::T>,
        levels: Option<(&[i16], Option<&[i16]>)>,
    ) -> Result<()> {
        let (defined, repeated) = levels.map_or((None, None), |(defined, repeated)| {
            (Some(defined), repeated)
        });
        if let Some(mut column) = self.0.next_column()? {
            column
                .typed::<T>()
                .write_batch(&values, defined, repeated)?;
            column.close()?;
        }
        Ok(())
    }

    fn texts<'r>(&mut self, rows: &[&'r Row], text: impl Fn(&'r Row) -> &'r str) -> Result<()> {
        let values = rows.iter().map(|row| ByteArray::from(text(row)));
        self.column::<ByteArrayType>(values.collect(), None)
    }

    fn optional_texts<'r>(
        &mut self,
        rows: &[&'r Row],
        text: impl Fn(&'r Row) -> Option<&'r str>,
    ) -> Result<()> {
        let texts = || rows.iter().map(|row| text(row));
        let defined: Vec<i16> = texts().map(|text| i16::from(text.is_some())).collect();
        let values = texts().flatten().map(ByteArray::from);
        self.column::<ByteArrayType>(values.collect(), Some((&defined, None)))
    }

    fn numbers(&mut self, rows: &[&Row], number: impl Fn(&Row) -> usize) -> Result<()> {
        let values = rows.iter().map(|row| integer(number(row)));
        self.column::<Int64Type>(values.collect(), None)
    }
}
