//! The layers of an asset, and the layer stacks that they form.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use openusd::ar::{ResolvedPath, Resolver, split_package_relative_path_inner};
use openusd::sdf::{self, AbstractData as _, LayerData, LayerOffset, LayerRegistry};

use super::super::layer::{Layer, LayerId};
use super::super::shallow::{self, Shallow};
use super::super::{CompositionError, Value, text};
use super::graph::StackId;
use super::messages::{file_name, shorten};
use super::paths::{PathId, Paths};
use super::relocates::Relocates;

/// Maximum number of layers in a layer stack, counted with repetitions.
pub const MAX_SUBLAYERS: usize = 1024;

/// Fields that need more than the opinions at the sites of the parent.
pub(crate) mod fields {
    pub const REFERENCES: u8 = 1;
    pub const PAYLOAD: u8 = 1 << 1;
    pub const INHERITS: u8 = 1 << 2;
    pub const SPECIALIZES: u8 = 1 << 3;
    pub const VARIANT_SETS: u8 = 1 << 4;
    pub const SELECTIONS: u8 = 1 << 5;
    pub const INSTANCEABLE: u8 = 1 << 6;
    pub const ORDER: u8 = 1 << 7;
}

/// The prim of a layer at a path.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    /// An index into [`Layer::prims`].
    pub prim: usize,
    /// The [`fields`] that it has.
    pub fields: u8,
}

/// An open layer.
pub(crate) struct Opened {
    pub layer: Layer,
    pub data: LayerData,
    /// The location that relative asset paths are relative to.
    pub location: ResolvedPath,
    pub specs: HashMap<PathId, Spec>,
    pub time_codes_per_second: f64,
}

impl Opened {
    /// Returns a field of a prim of the layer.
    pub fn field(&self, spec: Spec, key: &str) -> Option<Value> {
        let prim = self.layer.prims.get(spec.prim)?;
        let value = self.data.try_field(&prim.key, key).ok()??;
        Some(value.into_owned())
    }

    /// Returns the path of the default prim.
    pub fn default_prim(&self) -> Option<sdf::Path> {
        let name = self.layer.metadata.get("defaultPrim").and_then(text)?;
        sdf::Path::new(name)
            .ok()
            .filter(|path| path.is_prim_path() && !path.as_str().starts_with('.'))
            .map(|path| sdf::Path::abs_root().make_absolute(&path))
    }
}

/// A layer of a layer stack.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub layer: LayerId,
    /// Maps the times of the layer to those of the layer stack.
    pub offset: LayerOffset,
}

/// A layer with its sublayers, the strongest first.
pub(crate) struct Stack {
    pub members: Vec<Member>,
    /// The root layer.
    pub root: LayerId,
    /// The variables of expressions in asset paths and variant selections.
    pub variables: Rc<HashMap<String, Value>>,
    /// The layer stack whose variables those are, for layer stacks below.
    variables_of: StackId,
    pub relocates: Relocates,
}

/// A layer that cannot be opened.
pub(crate) enum Fault {
    Missing,
    /// With the reason.
    Unreadable(String),
}

/// All layers and layer stacks of an asset.
pub(crate) struct Layers {
    resolver: Shallow,
    opened: Vec<Opened>,
    by_location: HashMap<String, Result<LayerId, String>>,
    /// The layers that were opened, by identifier.
    by_identifier: HashMap<String, LayerId>,
    /// The identifiers of the asset paths of each layer: the resolver asks the file system for each.
    identifiers: RefCell<HashMap<Option<LayerId>, HashMap<String, String>>>,
    stacks: Vec<Stack>,
    /// Number of prims of all open layers.
    prims: usize,
    /// True if a layer stack has relocates.
    pub has_relocates: bool,
    by_root: HashMap<(LayerId, StackId), StackId>,
    pub errors: Vec<CompositionError>,
}

impl Layers {
    pub fn new(resolver: Shallow) -> Self {
        Self {
            resolver,
            opened: Vec::new(),
            by_location: HashMap::new(),
            by_identifier: HashMap::new(),
            identifiers: RefCell::default(),
            stacks: Vec::new(),
            prims: 0,
            has_relocates: false,
            by_root: HashMap::new(),
            errors: Vec::new(),
        }
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "only this table makes ids of layers"
    )]
    pub fn opened(&self, id: LayerId) -> &Opened {
        &self.opened[id.0]
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "only this table makes ids of layers"
    )]
    pub fn layer(&self, id: LayerId) -> &Layer {
        &self.opened[id.0].layer
    }

    pub fn into_layers(self) -> Vec<Layer> {
        self.opened.into_iter().map(|opened| opened.layer).collect()
    }

    pub fn all(&self) -> &[Opened] {
        &self.opened
    }

    /// Returns the number of prims of all open layers.
    pub fn prims(&self) -> usize {
        self.prims
    }

    /// Returns the relocates of a layer stack, if it has any.
    pub fn moved(&self, stack: StackId) -> Option<&Relocates> {
        let relocates = self.has_relocates.then(|| &self.stack(stack).relocates);
        relocates.filter(|relocates| !relocates.is_empty())
    }

    pub fn resolver(&self) -> &Shallow {
        &self.resolver
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "only this table makes ids of stacks"
    )]
    pub fn stack(&self, id: StackId) -> &Stack {
        &self.stacks[id.0 as usize]
    }

    /// Returns the specs of a site, the strongest first.
    pub fn specs(
        &self,
        stack: StackId,
        path: PathId,
    ) -> impl DoubleEndedIterator<Item = (Member, Spec)> {
        let members = self.stack(stack).members.iter();
        members.filter_map(move |member| {
            let spec = self.opened(member.layer).specs.get(&path)?;
            Some((*member, *spec))
        })
    }

    /// Returns whether a layer has a spec at a site.
    pub fn has_specs(&self, stack: StackId, path: PathId) -> bool {
        self.specs(stack, path).next().is_some()
    }

    /// Returns the [`fields`] of all specs of a site.
    pub fn fields(&self, stack: StackId, path: PathId) -> u8 {
        self.specs(stack, path)
            .fold(0, |all, (_, spec)| all | spec.fields)
    }

    /// Returns the identifier of a layer for an asset path in another layer.
    pub fn identifier(&self, asset: &str, anchor: Option<LayerId>) -> String {
        let mut identifiers = self.identifiers.borrow_mut();
        let known = identifiers.entry(anchor).or_default();
        if let Some(known) = known.get(asset) {
            return known.clone();
        }
        let anchor = anchor.map(|id| &self.opened(id).location);
        let identifier = self.resolver.create_identifier(asset, anchor);
        known.insert(asset.to_owned(), identifier.clone());
        identifier
    }

    /// Opens a layer, unless it is open.
    pub fn open(&mut self, paths: &mut Paths, identifier: &str) -> Result<LayerId, Fault> {
        if let Some(known) = self.by_identifier.get(identifier) {
            return Ok(*known);
        }
        let Some(location) = self.resolver.resolve(identifier) else {
            return Err(Fault::Missing);
        };
        let key = location.to_string_lossy().into_owned();
        let read = match self.by_location.get(&key) {
            Some(known) => known.clone(),
            None => self.read(paths, identifier, location),
        };
        self.by_location.insert(key, read.clone());
        let layer = read.map_err(Fault::Unreadable)?;
        self.by_identifier.insert(identifier.to_owned(), layer);
        Ok(layer)
    }

    fn read(
        &mut self,
        paths: &mut Paths,
        identifier: &str,
        location: ResolvedPath,
    ) -> Result<LayerId, String> {
        let name = location.to_string_lossy();
        // A layer in a package has the extension of its name there.
        let inner = split_package_relative_path_inner(&name).map(|(_, inner)| inner);
        let file = Path::new(inner.as_deref().unwrap_or(&name));
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let format = LayerRegistry::find_by_extension(&extension).ok_or_else(|| {
            let path = shallow::file_path(&name);
            format!(
                "{} does not have the extension of an OpenUSD file",
                file_name(&path)
            )
        })?;
        let light = self.resolver.light(&location);
        let data = match light.map_err(|error| shorten(&error.to_string()))? {
            Some(data) => Box::new(data),
            None => format
                .read(&self.resolver, &location)
                .map_err(|error| shorten(&error.to_string()))?,
        };
        let id = LayerId(self.opened.len());
        let layer = self.resolver.known_layer(&name, id).map(|layer| Layer {
            identifier: identifier.to_owned(),
            is_local: false,
            ..layer
        });
        let layer = layer.unwrap_or_else(|| {
            let path = PathBuf::from(shallow::file_path(&name).as_ref());
            let is_binary = shallow::is_binary_layer(&path.to_string_lossy());
            let layer = Layer::read(id, identifier.to_owned(), path, data.as_ref(), is_binary);
            self.resolver.keep_layer(&name, &layer);
            layer
        });
        self.adopt(paths, layer, data, location.clone());
        Ok(id)
    }

    fn adopt(&mut self, paths: &mut Paths, layer: Layer, data: LayerData, location: ResolvedPath) {
        self.prims += layer.prims.len();
        let mut specs = HashMap::with_capacity(layer.prims.len());
        for (index, prim) in layer.prims.iter().enumerate() {
            let has = prim.metadata.iter().fold(0, |all, key| {
                all | match key.as_str() {
                    "references" => fields::REFERENCES,
                    "payload" => fields::PAYLOAD,
                    "inheritPaths" => fields::INHERITS,
                    "specializes" => fields::SPECIALIZES,
                    "variantSetNames" => fields::VARIANT_SETS,
                    "variantSelection" => fields::SELECTIONS,
                    "instanceable" => fields::INSTANCEABLE,
                    "primOrder" => fields::ORDER,
                    _ => 0,
                }
            });
            if prim.metadata.iter().any(|key| key == "relocates") {
                self.errors.push(CompositionError {
                    message: "the relocates of a prim have no effect: OpenUSD reads only those of the metadata of the layer; write them there".to_owned(),
                    layer: Some(layer.identifier.clone()),
                    path: Some(prim.path.clone()),
                });
            }
            if let Some(path) = paths.parse(&prim.path) {
                specs.insert(
                    path,
                    Spec {
                        prim: index,
                        fields: has,
                    },
                );
            }
        }
        let rate = |key| layer.metadata.get(key).and_then(super::super::double);
        let time_codes_per_second = rate("timeCodesPerSecond")
            .or_else(|| rate("framesPerSecond"))
            .unwrap_or(24.0);
        self.opened.push(Opened {
            layer,
            data,
            location,
            specs,
            time_codes_per_second,
        });
    }

    /// Returns the layer stack of a root layer that is used by another layer stack.
    pub fn stack_of(
        &mut self,
        paths: &mut Paths,
        root: LayerId,
        above: Option<StackId>,
    ) -> StackId {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "stacks are fewer than layers"
        )]
        let id = StackId(self.stacks.len() as u32);
        let variables_of = above.map_or(id, |above| self.stack(above).variables_of);
        if let Some(known) = self.by_root.get(&(root, variables_of)) {
            return *known;
        }
        let outer = above.map(|above| Rc::clone(&self.stack(above).variables));
        let outer = outer.unwrap_or_default();
        let own = self
            .layer(root)
            .metadata
            .contains_key("expressionVariables");
        let variables = match own {
            true => {
                let data = self.opened(root).data.as_ref();
                let variables = sdf::expr::stack_expression_variables(data, &outer);
                variables.map_or(outer, Rc::new)
            }
            false => outer,
        };
        let members = self.members(paths, root, &variables);
        let relocates = self.relocates(paths, &members);
        self.has_relocates |= !relocates.is_empty();
        self.stacks.push(Stack {
            members,
            root,
            relocates,
            variables,
            variables_of: if own || above.is_none() {
                id
            } else {
                variables_of
            },
        });
        // The root layer stack has a session layer in OpenUSD: a reference to its root layer leads to another
        // layer stack.
        if above.is_some() {
            self.by_root.insert((root, variables_of), id);
        }
        id
    }

    /// Adds layers in front of those of the root layer stack.
    pub fn overlay(&mut self, paths: &mut Paths, root: StackId, overlay: LayerId) {
        let variables = Rc::clone(&self.stack(root).variables);
        let rate = self.opened(self.stack(root).root).time_codes_per_second;
        let scale = rate / self.opened(overlay).time_codes_per_second;
        let mut members = self.members(paths, overlay, &variables);
        for member in &mut members {
            member.offset = LayerOffset::scale_only(scale).concatenate(&member.offset);
            self.set_local(member.layer);
        }
        if let Some(stack) = self.stacks.get_mut(root.0 as usize) {
            let own = stack
                .members
                .iter()
                .position(|member| member.layer == stack.root);
            stack
                .members
                .splice(own.unwrap_or(0)..own.unwrap_or(0), members);
            let members = stack.members.clone();
            let relocates = self.relocates(paths, &members);
            self.has_relocates |= !relocates.is_empty();
            if let Some(stack) = self.stacks.get_mut(root.0 as usize) {
                stack.relocates = relocates;
            }
        }
    }

    /// Marks a layer as one of the root layer stack.
    pub fn set_local(&mut self, id: LayerId) {
        if let Some(opened) = self.opened.get_mut(id.0) {
            opened.layer.is_local = true;
        }
    }

    /// Returns a layer with its sublayers, depth first.
    fn members(
        &mut self,
        paths: &mut Paths,
        root: LayerId,
        variables: &HashMap<String, Value>,
    ) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        let first = Member {
            layer: root,
            offset: LayerOffset::IDENTITY,
        };
        // Layers to add, with the number of those that include each.
        let mut stack: Vec<(Member, usize)> = vec![(first, 0)];
        let mut above: Vec<LayerId> = Vec::new();
        while let Some((member, depth)) = stack.pop() {
            above.truncate(depth);
            above.push(member.layer);
            if members.len() >= MAX_SUBLAYERS {
                let message = format!(
                    "its layer stack has more than {MAX_SUBLAYERS} layers, counted with repetitions; the others are not composed: include each layer once"
                );
                self.report(message, root);
                break;
            }
            members.push(member);
            let sublayers = self.sublayers(paths, root, member, &above, variables);
            stack.extend(
                sublayers
                    .into_iter()
                    .rev()
                    .map(|sublayer| (sublayer, depth + 1)),
            );
        }
        members
    }

    /// Adds an error about a layer.
    pub(super) fn report(&mut self, message: String, layer: LayerId) {
        self.errors.push(CompositionError {
            message,
            layer: Some(self.layer(layer).identifier.clone()),
            path: None,
        });
    }

    /// Opens the sublayers of a layer. `above` are the layer and those that include it.
    fn sublayers(
        &mut self,
        paths: &mut Paths,
        root: LayerId,
        member: Member,
        above: &[LayerId],
        variables: &HashMap<String, Value>,
    ) -> Vec<Member> {
        let layer = self.layer(member.layer);
        let authored: Vec<String> = layer.sublayers().into_iter().map(str::to_owned).collect();
        let offsets = match layer.metadata.get("subLayerOffsets") {
            Some(Value::LayerOffsetVec(offsets)) => offsets.clone(),
            _ => Vec::new(),
        };
        let mut found = Vec::new();
        for (index, asset) in authored.into_iter().enumerate() {
            let evaluated = sdf::expr::evaluate_string(&asset, variables);
            for error in evaluated.errors {
                self.report(
                    format!("the sublayer @{asset}@ cannot be evaluated: {error}"),
                    member.layer,
                );
            }
            let Some(evaluated) = evaluated.value.filter(|path| !path.is_empty()) else {
                continue;
            };
            let name = self.identifier(&evaluated, Some(member.layer));
            let opened = self.open(paths, &name);
            let sublayer = match opened {
                Ok(sublayer) => sublayer,
                Err(Fault::Missing) => {
                    self.report(
                        format!("the sublayer @{asset}@ does not exist"),
                        member.layer,
                    );
                    continue;
                }
                Err(Fault::Unreadable(reason)) => {
                    self.report(
                        format!("the sublayer @{asset}@ cannot be read: {reason}"),
                        member.layer,
                    );
                    continue;
                }
            };
            if above.contains(&sublayer) {
                let message = format!(
                    "the sublayer {} includes itself, directly or by another layer",
                    file_name(&self.layer(sublayer).identifier)
                );
                self.report(message, root);
                continue;
            }
            let mut offset = offsets.get(index).copied().unwrap_or_default();
            if !offset.is_valid_composition() {
                self.report(
                    format!(
                        "the time offset of the sublayer @{asset}@ is not valid, and is ignored"
                    ),
                    member.layer,
                );
                offset = LayerOffset::IDENTITY;
            }
            let rate = |layer| self.opened(layer).time_codes_per_second;
            offset.scale *= rate(member.layer) / rate(sublayer);
            found.push(Member {
                layer: sublayer,
                offset: member.offset.concatenate(&offset),
            });
        }
        found
    }
}
