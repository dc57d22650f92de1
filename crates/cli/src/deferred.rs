//! Commands whose options are declared only when the command is called, so that a program with many
//! commands starts sooner.

use super::GLOBAL;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The boxed options of a command.
///
/// Not for a command with subcommands: `help` and completions would not list them.
pub(super) struct Deferred<T>(pub(super) Box<T>);

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|it| Self(Box::new(it)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Headings of options, in the order of help.
const HEADINGS: [&str; 7] = [
    "Input",
    "Packages",
    "Solver",
    "Output",
    "Physics",
    "Appearance",
    GLOBAL,
];

/// Adds the options that `augment` declares to a command, sorted by heading. clap's help has
/// headings in the order of their first options, and options for all commands come first.
fn add_options(command: Command, augment: impl FnOnce(Command) -> Command) -> Command {
    // They are declared elsewhere and copied: to move each within the command takes clap a search.
    let declared = augment(Command::new(""));
    let mut options: Vec<&clap::Arg> = declared.get_arguments().collect();
    options.sort_by_key(|option| {
        let heading = option.get_help_heading();
        HEADINGS.iter().position(|known| Some(*known) == heading)
    });
    let is_global = |option: &&clap::Arg| option.get_help_heading() == Some(GLOBAL);
    let (global, options): (Vec<_>, Vec<_>) = options.into_iter().partition(is_global);
    let of_all: Vec<_> = command
        .get_arguments()
        .map(|arg| arg.get_id().clone())
        .collect();
    // `mut_arg` moves an option to the end.
    of_all
        .into_iter()
        .fold(command.args(options), |command, id| {
            command.mut_arg(id, |arg| arg)
        })
        .args(global)
        .groups(declared.get_groups())
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| add_options(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| add_options(command, T::augment_args_for_update))
    }
}
