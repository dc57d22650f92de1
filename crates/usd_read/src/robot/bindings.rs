//! Material bindings, resolved as `UsdShadeMaterialBindingAPI::ComputeBoundMaterial` does: direct
//! bindings and bindings of collections, their strength and their purpose.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use openusd::sdf;
use openusd::sdf::path_expr::{PathExpressionEval, PredicateLibrary};

use super::scene::Scene;
use crate::codes;
use urdf_usd_stage::{Prim, PrimId, Value};

/// The prefix of relationships that bind a material.
const BINDING: &str = "material:binding";
/// The purposes whose materials show, the preferred one first. Materials of real-time renderers are
/// for `preview`.
const SEEN: [&str; 2] = ["preview", "full"];
/// The purpose of materials that describe contacts.
const PHYSICS: &str = "physics";
/// Maximum number of collections that a collection includes, directly and through others.
const MAX_COLLECTIONS: usize = 10_000;

/// The material bindings of a stage.
pub(super) struct Bindings<'s, 'a> {
    scene: &'s Scene<'a>,
    /// The members of the collections seen so far, by path.
    collections: RefCell<HashMap<String, Rc<Members>>>,
}

/// A binding that applies to a prim.
struct Winner<'a> {
    /// The prim with the relationship.
    prim: PrimId,
    relationship: String,
    target: &'a str,
}

impl<'s, 'a> Bindings<'s, 'a> {
    pub fn new(scene: &'s Scene<'a>) -> Self {
        Self {
            scene,
            collections: RefCell::default(),
        }
    }

    /// Returns the material that a prim shows.
    pub fn seen(&self, id: PrimId) -> Option<PrimId> {
        SEEN.iter().find_map(|purpose| self.bound(id, purpose))
    }

    /// Returns the material with the contact properties of a collider.
    pub fn physics(&self, id: PrimId) -> Option<PrimId> {
        self.bound(id, PHYSICS)
    }

    /// Returns the material bound to a prim for a purpose, or else for all purposes.
    fn bound(&self, id: PrimId, purpose: &str) -> Option<PrimId> {
        let stage = self.scene.stage;
        let winner = [purpose, ""]
            .into_iter()
            .find_map(|purpose| self.winner(id, purpose))?;
        let found = stage.at(winner.target);
        let fault = match found {
            None => "is not there",
            Some(found) if stage[found].type_name != "Material" => "is no material",
            Some(found) => return Some(found),
        };
        let message = format!(
            "{:?} is bound to {}, which {fault}",
            stage[winner.prim].name(),
            winner.target
        );
        self.scene.report(
            &codes::MATERIAL,
            winner.prim,
            Some(&winner.relationship),
            message,
            "bind it to a material that is there",
        );
        None
    }

    /// Returns the binding of exactly this purpose that applies to a prim: the nearest one, unless one
    /// above is stronger than its descendants.
    fn winner(&self, id: PrimId, purpose: &str) -> Option<Winner<'a>> {
        let stage = self.scene.stage;
        let mut winner: Option<Winner<'a>> = None;
        for at in stage.self_and_ancestors(id) {
            let prim = &stage[at];
            let direct = match purpose {
                "" => BINDING.to_owned(),
                purpose => format!("{BINDING}:{purpose}"),
            };
            if let Some(target) = prim.targets(&direct).first()
                && (winner.is_none() || is_stronger(prim, &direct))
            {
                winner = Some(Winner {
                    prim: at,
                    relationship: direct,
                    target,
                });
            }
            for (relationship, [collection, target]) in collections_of(prim, purpose) {
                // A collection on the prim itself wins over its direct binding.
                let is_next = winner.as_ref().is_none_or(|winner| winner.prim == at)
                    || is_stronger(prim, relationship);
                if is_next && self.includes(collection, &stage[id].path) {
                    winner = Some(Winner {
                        prim: at,
                        relationship: relationship.to_owned(),
                        target,
                    });
                    break;
                }
            }
        }
        winner
    }

    /// Returns whether a collection that is applied includes a prim.
    fn includes(&self, collection: &str, path: &str) -> bool {
        let is_applied = self.collection(collection).is_some_and(|(prim, name)| {
            let applied = format!("CollectionAPI:{name}");
            prim.schemas.contains(&applied)
        });
        if !is_applied {
            return false;
        }
        let known = self.collections.borrow().get(collection).cloned();
        let members = known.unwrap_or_else(|| {
            let members = Rc::new(self.members(collection));
            let mut collections = self.collections.borrow_mut();
            collections.insert(collection.to_owned(), Rc::clone(&members));
            members
        });
        members.include(path)
    }

    /// Returns the prim and the name of a collection.
    fn collection<'p>(&self, path: &'p str) -> Option<(&'a Prim, &'p str)> {
        let (prim, name) = path.split_once(".collection:")?;
        Some((&self.scene.stage[self.scene.stage.at(prim)?], name))
    }

    fn members(&self, path: &str) -> Members {
        enum Step<'a> {
            Enter(&'a str),
            Leave,
            Rule(&'a str, Rule),
        }
        let mut rules = HashMap::new();
        // The collections that the current one is included by, which must not include it.
        let mut chain: Vec<&str> = Vec::new();
        let mut count = 0;
        let mut steps = vec![Step::Enter(path)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Leave => {
                    chain.pop();
                }
                Step::Rule(path, rule) => {
                    rules.insert(path.to_owned(), rule);
                }
                Step::Enter(path) => {
                    count += 1;
                    let Some((prim, name)) = self.collection(path) else {
                        continue;
                    };
                    if chain.contains(&path) || count > MAX_COLLECTIONS {
                        continue;
                    }
                    chain.push(path);
                    steps.push(Step::Leave);
                    let property = |property: &str| format!("collection:{name}:{property}");
                    let rule = match prim.text(&property("expansionRule")) {
                        Some("explicitOnly") => Rule::Explicit,
                        _ => Rule::Expand,
                    };
                    // In reverse: includes come first, and a later rule replaces an earlier one.
                    let excludes = prim.targets(&property("excludes")).iter();
                    steps.extend(excludes.rev().map(|path| Step::Rule(path, Rule::Exclude)));
                    if rule == Rule::Expand && prim.flag(&property("includeRoot")) == Some(true) {
                        steps.push(Step::Rule("/", rule));
                    }
                    let includes = prim.targets(&property("includes")).iter();
                    steps.extend(
                        includes
                            .rev()
                            .map(|path| match path.contains(".collection:") {
                                true => Step::Enter(path),
                                false => Step::Rule(path, rule),
                            }),
                    );
                }
            }
        }
        let expression = rules.is_empty().then(|| self.expression(path)).flatten();
        Members { rules, expression }
    }

    /// Returns the membership expression of a collection without includes and excludes.
    fn expression(&self, path: &str) -> Option<PathExpressionEval<()>> {
        let (prim, name) = self.collection(path)?;
        let property = format!("collection:{name}:membershipExpression");
        let Value::PathExpression(expression) = prim.value(&property)? else {
            return None;
        };
        let anchor = sdf::Path::new(&prim.path).ok()?;
        let expression = expression.clone().make_absolute(&anchor);
        let built = PathExpressionEval::build(&expression, &PredicateLibrary::default());
        if let Err(error) = &built {
            let message = format!("the members of the collection {path} are unknown: {error}");
            let id = self.scene.stage.at(&prim.path)?;
            let help = "name the members by collection:NAME:includes";
            self.scene
                .report(&codes::MATERIAL, id, Some(&property), message, help);
        }
        built.ok()
    }
}

/// Returns whether a binding is stronger than those of descendants.
fn is_stronger(prim: &Prim, relationship: &str) -> bool {
    let strength = prim
        .relationships
        .get(relationship)
        .and_then(|relationship| relationship.metadata.get("bindMaterialAs"));
    strength.and_then(urdf_usd_stage::text) == Some("strongerThanDescendants")
}

/// Returns the relationships of a prim that bind collections for a purpose, with the paths of the
/// collection and of the material.
fn collections_of<'a>(
    prim: &'a Prim,
    purpose: &str,
) -> impl Iterator<Item = (&'a str, [&'a str; 2])> {
    let prefix = match purpose {
        "" => format!("{BINDING}:collection:"),
        purpose => format!("{BINDING}:collection:{purpose}:"),
    };
    let is_for_all = purpose.is_empty();
    let names = prim.relationships.range(prefix.clone()..);
    let names = names.map_while(move |(name, relationship)| {
        let rest = name.strip_prefix(&prefix)?;
        Some((name.as_str(), rest, relationship))
    });
    names
        .filter(move |(_, rest, _)| !is_for_all || !rest.contains(':'))
        .filter_map(|(name, _, relationship)| {
            let [first, second] = relationship.targets.as_slice() else {
                return None;
            };
            match (first.contains('.'), second.contains('.')) {
                (true, false) => Some((name, [first.as_str(), second.as_str()])),
                (false, true) => Some((name, [second.as_str(), first.as_str()])),
                _ => None,
            }
        })
}

/// The membership of a path in a collection.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// Excludes it and everything below.
    Exclude,
    /// Includes it alone.
    Explicit,
    /// Includes it and everything below.
    Expand,
}

/// The members of a collection (UsdCollectionAPI).
struct Members {
    rules: HashMap<String, Rule>,
    /// Decides without rules.
    expression: Option<PathExpressionEval<()>>,
}

impl Members {
    /// Returns whether a prim is a member: the rule about the nearest path above it decides.
    fn include(&self, path: &str) -> bool {
        if let Some(expression) = &self.expression {
            let path = sdf::Path::new(path);
            return path.is_ok_and(|path| expression.match_path(&path, &|_| ()).value);
        }
        let mut at = path;
        loop {
            match self.rules.get(at) {
                Some(Rule::Exclude) => return false,
                Some(Rule::Expand) => return true,
                Some(Rule::Explicit) if at == path => return true,
                _ => {}
            }
            at = match at.rfind('/') {
                _ if at == "/" => return false,
                Some(0) => "/",
                Some(end) => at.get(..end).unwrap_or_default(),
                None => return false,
            };
        }
    }
}
