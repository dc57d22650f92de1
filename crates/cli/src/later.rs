//! Commands whose options are only taken stock of once they are called: a program with many
//! commands starts sooner that way.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The options of a command, in a box. Not of one that has commands: `help` and completions would
/// not know of them.
pub(super) struct Later<T>(pub(super) Box<T>);

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|it| Self(Box::new(it)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// The command with what `augment` adds. What the options say of themselves does not take the place
/// of what the command is for.
fn with_its_help(command: Command, augment: impl FnOnce(Command) -> Command) -> Command {
    let (about, long) = (
        command.get_about().cloned(),
        command.get_long_about().cloned(),
    );
    augment(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long))
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| with_its_help(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| with_its_help(command, T::augment_args_for_update))
    }
}
