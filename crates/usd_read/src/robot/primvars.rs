//! Primvars: those of a prim, and constant ones of prims above it (UsdGeomPrimvarsAPI).

use urdf_usd_stage::{Prim, PrimId, Stage, Value, array_len, int_array, pairs, text, vectors};

/// The name of the colour of prims without a material.
pub(super) const COLOR: &str = "displayColor";
/// The name of the opacity of prims without a material.
pub(super) const OPACITY: &str = "displayOpacity";

/// A primvar with a value.
pub(super) struct Primvar<'a> {
    /// The prim that authors it.
    pub prim: &'a Prim,
    /// The name, such as `primvars:st`.
    pub name: String,
    pub value: &'a Value,
}

impl<'a> Primvar<'a> {
    /// Returns a primvar that a prim authors itself.
    pub fn own(prim: &'a Prim, name: &str) -> Option<Self> {
        let name = format!("primvars:{name}");
        let value = prim.value(&name)?;
        Some(Self { prim, name, value })
    }

    /// Returns a primvar of a prim, or else that of the nearest ancestor with one, if it is constant:
    /// others do not fit the points of another prim.
    pub fn find(stage: &'a Stage, id: PrimId, name: &str) -> Option<Self> {
        let own = Self::own(&stage[id], name);
        own.or_else(|| {
            let mut above = stage.ancestors(id);
            let nearest = above.find_map(|id| Self::own(&stage[id], name));
            nearest.filter(Self::is_constant)
        })
    }

    fn interpolation(&self) -> Option<&'a str> {
        let attribute = self.prim.attributes.get(&self.name)?;
        attribute.metadata.get("interpolation").and_then(text)
    }

    /// Returns the interpolation, by default constant.
    pub fn interpolation_or_constant(&self) -> &'a str {
        self.interpolation().unwrap_or("constant")
    }

    pub fn is_constant(&self) -> bool {
        self.interpolation_or_constant() == "constant"
    }

    /// Returns the indices into the values, if there are any.
    pub fn indices(&self) -> Option<&'a [i32]> {
        let indices = self.prim.value(&format!("{}:indices", self.name))?;
        int_array(indices)
    }

    /// Returns the number of elements: of indices, or else of values.
    pub fn count(&self) -> usize {
        let indices = self.indices().map(<[i32]>::len);
        indices.or_else(|| array_len(self.value)).unwrap_or(0)
    }

    /// Returns whether the value differs between the parts of a surface.
    pub fn varies(&self) -> bool {
        !self.is_constant() && self.count() > 1
    }

    /// Returns the value of a primvar that does not vary.
    pub fn single<T: Copy>(&self, values: &[T]) -> Option<T> {
        if self.varies() {
            return None;
        }
        let first = self.indices().map_or(Some(&0), <[i32]>::first)?;
        values.get(usize::try_from(*first).ok()?).copied()
    }

    /// Returns texture coordinates: pairs, or the first two of three coordinates.
    pub fn texture_coordinates(&self) -> Option<Vec<[f64; 2]>> {
        pairs(self.value).or_else(|| {
            let vectors = vectors(self.value)?;
            Some(vectors.into_iter().map(|[u, v, _]| [u, v]).collect())
        })
    }
}
