//! Roles of layers by composition: layers that only one simulator loads (REP-158 §1.2.1, §1.4).
//!
//! An asset can add a simulator's opinions in two ways. An entry of the simulator includes the entry of
//! the asset and layers over it, or a variant that is not selected by default includes layers. Names of
//! layers and variants are not considered.

#![expect(
    clippy::indexing_slicing,
    reason = "indices of layers, into lists with an item for each layer"
)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use urdf_usd_stage::{Layer, LayerPrim, Specifier, Stage};

use super::layers::{Content, find, join};
use super::subject::Subject;

/// A layer that another one includes.
struct Inclusion {
    /// The index of the included layer.
    to: usize,
    /// True if it is included with the variants that the asset selects.
    is_default: bool,
}

/// Returns the value of [`Subject::engine_layers`].
pub fn engine_layers(subject: &Subject<'_>) -> Vec<bool> {
    let stage = subject.stage;
    let paths = Paths::of(stage);
    let graph = inclusions(stage, &paths);
    let in_stage = reach(&graph, 0, false);
    let by_default = reach(&graph, 0, true);
    let mut is_engine: Vec<bool> = (in_stage.iter().zip(&by_default))
        .map(|(in_stage, by_default)| *in_stage && !by_default)
        .collect();
    let has = |index: usize, content: Content| find(subject.contents(index), content).is_some();
    let all = 0..stage.layers.len();
    let entries = base_entries(stage, &graph, &paths);
    // The entry of a simulator may itself have layers over it, such as those of a pose.
    let inner = entries.iter().flat_map(|&outer| {
        let included = graph[outer].iter().map(|inclusion| inclusion.to);
        let bases = included.filter(|to| entries.contains(to));
        bases.map(move |base| (outer, base))
    });
    let pairs = entries.iter().map(|&base| (0, base)).chain(inner);
    for (outer, base) in pairs {
        let (of_outer, of_asset) = (reach(&graph, outer, true), reach(&graph, base, true));
        // The layers over the entry of the asset are those of a simulator if each of them has its opinions.
        let is_overlay = |index: usize| {
            let is_elsewhere = of_asset[index] || !of_outer[index];
            is_elsewhere || subject.contents(index).is_empty() || has(index, Content::Vendor)
        };
        let has_physics = all
            .clone()
            .any(|index| of_asset[index] && has(index, Content::Physics));
        if has_physics && all.clone().all(is_overlay) {
            for index in all.clone() {
                is_engine[index] |= of_outer[index] && !of_asset[index];
            }
        }
    }
    is_engine
}

/// Returns the layers that can be the entry of the asset itself: those with a default prim, which the
/// entry of the stage includes as a sublayer or by an arc on its own default prim.
fn base_entries(stage: &Stage, graph: &[Vec<Inclusion>], paths: &Paths<'_>) -> Vec<usize> {
    let Some(root) = stage.root_layer() else {
        return Vec::new();
    };
    let default_prim = |layer: &Layer| {
        let name = layer.metadata.get("defaultPrim");
        name.and_then(urdf_usd_stage::text)
            .map(|name| format!("/{}", name.trim_start_matches('/')))
    };
    let arcs = default_prim(root)
        .and_then(|path| Some(root.prim(&path)?.arcs.iter()))
        .into_iter()
        .flatten()
        .filter_map(|arc| paths.layer_at(root, &arc.asset));
    let local = (0..stage.layers.len()).filter(|&index| stage.layers[index].is_local);
    let defines = |index: usize| {
        let path = default_prim(&stage.layers[index]);
        path.is_some_and(|path| {
            let reached = reach(graph, index, true);
            let layers = stage.layers.iter().zip(reached);
            layers
                .filter(|(_, is_reached)| *is_reached)
                .filter_map(|(layer, _)| layer.prim(&path))
                .any(|prim| prim.specifier == Specifier::Def)
        })
    };
    let mut entries: Vec<usize> = local.chain(arcs).filter(|&index| index > 0).collect();
    entries.retain(|&index| defines(index));
    entries
}

/// Returns the layers that each layer includes by sublayers and arcs.
fn inclusions(stage: &Stage, paths: &Paths<'_>) -> Vec<Vec<Inclusion>> {
    let selected: HashSet<(&str, &str)> = stage
        .prims
        .iter()
        .flat_map(|prim| &prim.variant_sets)
        .filter_map(|set| Some((set.name.as_str(), set.authored.as_deref()?)))
        .collect();
    let is_default =
        |prim: &LayerPrim| selections(&prim.path).all(|selection| selected.contains(&selection));
    let of_layer = |layer: &Layer| {
        let sublayers = layer.sublayers();
        let sublayers = sublayers.into_iter().map(|path| (path, true));
        let arcs = layer.prims.iter().flat_map(|prim| {
            let is_default = is_default(prim);
            prim.arcs
                .iter()
                .map(move |arc| (arc.asset.as_str(), is_default))
        });
        // Many prims may refer to the same layer.
        let authored: BTreeSet<(&str, bool)> = sublayers.chain(arcs).collect();
        (authored.into_iter())
            .filter_map(|(path, is_default)| {
                let to = paths.layer_at(layer, path)?;
                Some(Inclusion { to, is_default })
            })
            .collect()
    };
    stage.layers.iter().map(of_layer).collect()
}

/// Iterates over the variant selections of a path in a layer: `/robot{set=variant}arm`.
fn selections(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}')?.0.split_once('='))
}

/// The indices of layers by path.
struct Paths<'a>(HashMap<&'a Path, usize>);

impl<'a> Paths<'a> {
    fn of(stage: &'a Stage) -> Self {
        let mut indices = HashMap::new();
        for (index, layer) in stage.layers.iter().enumerate() {
            indices.entry(layer.path.as_path()).or_insert(index);
            // A package is entered at its first layer.
            if let Some((file, _)) = package(&layer.path) {
                indices.entry(Path::new(file)).or_insert(index);
            }
        }
        Self(indices)
    }

    /// Returns the index of the layer that an asset path in `layer` leads to.
    fn layer_at(&self, layer: &Layer, authored: &str) -> Option<usize> {
        if authored.is_empty() {
            return None;
        }
        let inside = package(&layer.path).and_then(|(file, inside)| {
            let beside = Path::new(inside).with_file_name(authored);
            let path = format!("{file}[{}]", beside.display());
            self.0.get(Path::new(&path))
        });
        let found = inside.or_else(|| self.0.get(join(layer, authored).as_path()));
        found.copied()
    }
}

/// Splits the path of a layer in a package: `robot.usdz[robot.usda]`.
fn package(path: &Path) -> Option<(&str, &str)> {
    path.to_str()?.strip_suffix(']')?.split_once('[')
}

/// Returns which layers a layer includes, directly or indirectly, and itself.
fn reach(graph: &[Vec<Inclusion>], from: usize, only_default: bool) -> Vec<bool> {
    let mut reached = vec![false; graph.len()];
    let mut next = vec![from];
    while let Some(index) = next.pop() {
        let Some(is_reached) = reached.get_mut(index).filter(|is_reached| !**is_reached) else {
            continue;
        };
        *is_reached = true;
        let included = graph.get(index).into_iter().flatten();
        next.extend(
            included
                .filter(|inclusion| inclusion.is_default || !only_default)
                .map(|inclusion| inclusion.to),
        );
    }
    reached
}
