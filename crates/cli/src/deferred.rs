//! Commands whose options are declared only when the command is called, so that a program with many
//! commands starts sooner.

use clap::builder::Resettable;
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
    "Global",
];

/// Sorts options by heading. clap's help has headings in the order of their first options, and
/// options for all commands come first.
fn sort_by_heading(mut command: Command) -> Command {
    for heading in HEADINGS {
        let of_heading = |arg: &&clap::Arg| arg.get_help_heading() == Some(heading);
        let ids: Vec<_> = command
            .get_arguments()
            .filter(of_heading)
            .map(|arg| arg.get_id().clone())
            .collect();
        // Moves each to the end.
        command = ids
            .into_iter()
            .fold(command, |command, id| command.mut_arg(id, |arg| arg));
    }
    command
}

/// Applies `augment` to a command but keeps the command's own description instead of the options'.
fn keep_about(command: Command, augment: impl FnOnce(Command) -> Command) -> Command {
    let (about, long) = (
        command.get_about().cloned(),
        command.get_long_about().cloned(),
    );
    sort_by_heading(augment(command))
        .about(Resettable::from(about))
        .long_about(Resettable::from(long))
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keep_about(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| keep_about(command, T::augment_args_for_update))
    }
}
