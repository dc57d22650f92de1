//! Conversion of values of any precision.

use openusd::sdf::Value;

/// Returns a number of any precision. A single-precision number is converted by its shortest decimal
/// form: to 4.2, not to 4.199999809265137.
pub fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::Float(number) => Some(shortest(*number)),
        Value::Half(number) => Some(f64::from(f32::from(*number))),
        Value::Int(number) => Some(f64::from(*number)),
        Value::Uint(number) => Some(f64::from(*number)),
        #[expect(clippy::cast_precision_loss, reason = "no count is that large")]
        Value::Int64(number) => Some(*number as f64),
        #[expect(clippy::cast_precision_loss, reason = "no count is that large")]
        Value::Uint64(number) => Some(*number as f64),
        Value::Uchar(number) => Some(f64::from(*number)),
        Value::TimeCode(time) => Some(time.value()),
        _ => None,
    }
}

/// Returns the double with the same shortest decimal form as a single-precision number.
fn shortest(number: f32) -> f64 {
    if number.is_finite() {
        number
            .to_string()
            .parse()
            .unwrap_or_else(|_| f64::from(number))
    } else {
        f64::from(number)
    }
}

/// Returns a string, token or asset path.
pub fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Token(text) => Some(text.as_str()),
        Value::AssetPath(path) => Some(path.as_str()),
        _ => None,
    }
}

/// Returns the elements of an array of strings or tokens.
pub fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::StringVec(texts) => Some(texts.iter().map(String::as_str).collect()),
        Value::TokenVec(texts) => Some(texts.iter().map(|text| text.as_str()).collect()),
        _ => None,
    }
}

/// Returns the components of a vector, quaternion (real part first) or matrix (by rows), or a single
/// number.
pub fn doubles(value: &Value) -> Option<Vec<f64>> {
    let single = |components: &[f32]| Some(components.iter().map(|&c| shortest(c)).collect());
    let half = |components: &[f32]| Some(components.iter().map(|&c| f64::from(c)).collect());
    match value {
        Value::Vec2f(v) => single(&[v.x, v.y]),
        Value::Vec3f(v) => single(&[v.x, v.y, v.z]),
        Value::Vec4f(v) => single(&[v.x, v.y, v.z, v.w]),
        Value::Vec2d(v) => Some(vec![v.x, v.y]),
        Value::Vec3d(v) => Some(vec![v.x, v.y, v.z]),
        Value::Vec4d(v) => Some(vec![v.x, v.y, v.z, v.w]),
        Value::Vec2h(v) => half(&[v.x.into(), v.y.into()]),
        Value::Vec3h(v) => half(&[v.x.into(), v.y.into(), v.z.into()]),
        Value::Vec4h(v) => half(&[v.x.into(), v.y.into(), v.z.into(), v.w.into()]),
        Value::Vec2i(v) => Some([v.x, v.y].map(f64::from).to_vec()),
        Value::Vec3i(v) => Some([v.x, v.y, v.z].map(f64::from).to_vec()),
        Value::Vec4i(v) => Some([v.x, v.y, v.z, v.w].map(f64::from).to_vec()),
        Value::Quatf(q) => Some([q.w, q.x, q.y, q.z].map(f64::from).to_vec()),
        Value::Quath(q) => half(&[q.w.into(), q.x.into(), q.y.into(), q.z.into()]),
        Value::Quatd(q) => Some(vec![q.w, q.x, q.y, q.z]),
        Value::Matrix2d(m) => Some(m.0.to_vec()),
        Value::Matrix3d(m) => Some(m.0.to_vec()),
        Value::Matrix4d(m) => Some(m.0.to_vec()),
        _ => double(value).map(|number| vec![number]),
    }
}

/// Returns the components of a value, if there are `N`.
pub fn numbers<const N: usize>(value: &Value) -> Option<[f64; N]> {
    doubles(value)?.try_into().ok()
}

/// Returns the elements of an array of numbers.
pub fn double_array(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::DoubleVec(numbers) => Some(numbers.clone()),
        Value::FloatVec(numbers) => Some(numbers.iter().map(|&n| f64::from(n)).collect()),
        Value::HalfVec(numbers) => Some(numbers.iter().map(|&n| f64::from(f32::from(n))).collect()),
        Value::IntVec(numbers) => Some(numbers.iter().map(|&n| f64::from(n)).collect()),
        _ => None,
    }
}

/// Returns the elements of an array of 32-bit integers.
pub fn int_array(value: &Value) -> Option<&[i32]> {
    match value {
        Value::IntVec(numbers) => Some(numbers),
        _ => None,
    }
}

/// Returns the elements of an array of three-component vectors.
pub fn vectors(value: &Value) -> Option<Vec<[f64; 3]>> {
    match value {
        Value::Vec3fVec(vectors) => Some(
            vectors
                .iter()
                .map(|v| [v.x, v.y, v.z].map(f64::from))
                .collect(),
        ),
        Value::Vec3dVec(vectors) => Some(vectors.iter().map(|v| [v.x, v.y, v.z]).collect()),
        Value::Vec3hVec(vectors) => Some(
            vectors
                .iter()
                .map(|v| [v.x, v.y, v.z].map(|c| f64::from(f32::from(c))))
                .collect(),
        ),
        _ => None,
    }
}

/// Returns the length of an array; `None` for other values.
pub fn array_len(value: &Value) -> Option<usize> {
    macro_rules! lengths {
        ($($kind:ident)*) => {
            match value {
                $(Value::$kind(elements) => Some(elements.len()),)*
                _ => None,
            }
        };
    }
    lengths!(BoolVec UcharVec IntVec UintVec Int64Vec Uint64Vec HalfVec FloatVec DoubleVec StringVec TokenVec AssetPathVec QuathVec QuatfVec
        QuatdVec Vec2hVec Vec2fVec Vec2dVec Vec2iVec Vec3hVec Vec3fVec Vec3dVec Vec3iVec Vec4hVec Vec4fVec Vec4dVec Vec4iVec Matrix2dVec
        Matrix3dVec Matrix4dVec)
}

/// Returns the asset paths in a value, also in dictionaries and lists, as authored and as resolved.
pub fn asset_paths(value: &Value) -> Vec<(String, Option<String>)> {
    let path = |path: &openusd::sdf::AssetPath| {
        let resolved = path.resolved_path().map(|location| {
            let file = super::shallow::file_path(location);
            // A package was entered at its first layer; its own path is meant.
            match path.authored_path.ends_with(".usdz") && *file != *location {
                true => file
                    .rsplit_once('[')
                    .map_or(&*file, |(package, _)| package)
                    .to_owned(),
                false => file.into_owned(),
            }
        });
        (path.authored_path.clone(), resolved)
    };
    match value {
        Value::AssetPath(one) if one.is_empty() => Vec::new(),
        Value::AssetPath(one) => vec![path(one)],
        Value::AssetPathVec(many) => many.iter().map(path).collect(),
        Value::Dictionary(entries) => entries.values().flat_map(asset_paths).collect(),
        Value::ValueVec(values) => values.iter().flat_map(asset_paths).collect(),
        Value::TimeSamples(samples) => samples
            .iter()
            .flat_map(|(_, value)| asset_paths(value))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the elements of an array of quaternions, real part first.
pub fn quaternions(value: &Value) -> Option<Vec<[f64; 4]>> {
    match value {
        Value::QuathVec(all) => Some(
            all.iter()
                .map(|q| [q.w, q.x, q.y, q.z].map(|c| f64::from(f32::from(c))))
                .collect(),
        ),
        Value::QuatfVec(all) => Some(
            all.iter()
                .map(|q| [q.w, q.x, q.y, q.z].map(f64::from))
                .collect(),
        ),
        Value::QuatdVec(all) => Some(all.iter().map(|q| [q.w, q.x, q.y, q.z]).collect()),
        _ => None,
    }
}

/// Returns the elements of an array of two-component vectors, such as texture coordinates.
pub fn pairs(value: &Value) -> Option<Vec<[f64; 2]>> {
    match value {
        Value::Vec2fVec(all) => Some(all.iter().map(|v| [v.x, v.y].map(f64::from)).collect()),
        Value::Vec2dVec(all) => Some(all.iter().map(|v| [v.x, v.y]).collect()),
        Value::Vec2hVec(all) => Some(
            all.iter()
                .map(|v| [v.x, v.y].map(|c| f64::from(f32::from(c))))
                .collect(),
        ),
        _ => None,
    }
}

/// Returns the elements of an array of integers of any size.
pub fn long_array(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::IntVec(numbers) => Some(numbers.iter().map(|&n| i64::from(n)).collect()),
        Value::UintVec(numbers) => Some(numbers.iter().map(|&n| i64::from(n)).collect()),
        Value::Int64Vec(numbers) => Some(numbers.clone()),
        _ => None,
    }
}
