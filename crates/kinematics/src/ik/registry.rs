//! Solvers by name.

use super::{Lm, Outcome, Problem};

/// A way to solve a [`Problem`].
pub trait Solver {
    /// Changes the mechanism's coordinates `q` until the problem is solved, or as near as it comes.
    /// What the problem does not depend on, or holds, stays as it is; all else ends within the
    /// problem's bounds.
    fn solve(&mut self, problem: &Problem<'_>, q: &mut [f64]) -> Outcome;

    /// The same where [`Solver::solve`] gives up too early: `q` is the nearest that was found, and
    /// all that is wanted is to come nearer still.
    fn refine(&mut self, problem: &Problem<'_>, q: &mut [f64]) -> Outcome {
        self.solve(problem, q)
    }
}

/// Makes a solver.
type Make = Box<dyn Fn() -> Box<dyn Solver>>;

/// Solvers by name, one of which is the default.
pub struct Registry {
    solvers: Vec<(String, Make)>,
    default: String,
}

impl Registry {
    /// The name of [`Lm`].
    pub const LM: &'static str = "lm";

    /// Adds a solver, or replaces the one of that name; with `is_default` it is the one that is
    /// meant where none is named.
    pub fn register(
        &mut self,
        name: &str,
        make: impl Fn() -> Box<dyn Solver> + 'static,
        is_default: bool,
    ) {
        self.solvers.retain(|(known, _)| known != name);
        self.solvers.push((name.to_owned(), Box::new(make)));
        if is_default {
            name.clone_into(&mut self.default);
        }
    }

    /// A new solver of that name; `None`: the default one. `None` if there is none of that name.
    pub fn get(&self, name: Option<&str>) -> Option<Box<dyn Solver>> {
        let name = name.unwrap_or(&self.default);
        self.solvers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, make)| make())
    }

    /// The names, in the order of registration.
    pub fn available(&self) -> impl Iterator<Item = &str> {
        self.solvers.iter().map(|(name, _)| name.as_str())
    }
}

impl Default for Registry {
    /// With [`Lm`] as `lm`, the default.
    fn default() -> Self {
        let mut registry = Self {
            solvers: Vec::new(),
            default: String::new(),
        };
        registry.register(Self::LM, || Box::new(Lm::default()), true);
        registry
    }
}
