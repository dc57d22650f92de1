//! Conversion options as command-line arguments, generated from their table.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use urdf_usd_convert::Options;
use urdf_usd_convert::option::{About, Kind, Opt, Value};
use urdf_usd_convert::options::{TABLE, heading};
use urdf_usd_resolve as resolve;
use urdf_usd_worker::Limits;

/// Conversion options, as given on the command line.
#[derive(Default)]
pub(super) struct Conversion {
    pub(super) options: Options,
    /// The names of the options that are given.
    pub(super) given: BTreeSet<String>,
}

impl Args for Conversion {
    fn augment_args(command: Command) -> Command {
        command.args(TABLE.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Time and memory limits of any command, declared by the options of a conversion.
pub(super) struct CommandLimits(pub(super) Limits);

impl CommandLimits {
    fn rows() -> impl Iterator<Item = &'static Opt<Options>> {
        TABLE
            .iter()
            .filter(|option| ["time_limit", "memory_limit"].contains(&option.about.name))
    }
}

impl Args for CommandLimits {
    fn augment_args(command: Command) -> Command {
        // The help texts in the table are worded for conversions.
        let help = |option: &Opt<Options>| match option.about.name {
            "time_limit" => {
                "Time limit (view: of each conversion), in s; past it, the command ends without a result. 0.0: no limit"
            }
            _ => {
                "Memory limit (view: of each conversion), in MiB; past it, the command ends without a result. 0: no limit"
            }
        };
        command.args(Self::rows().map(|option| argument(option).help(help(option))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CommandLimits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut under = Self(Limits::default());
        under.update_from_arg_matches(matches)?;
        Ok(under)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let mut options = Options {
            time_limit: self.0.time,
            memory_limit: self.0.memory,
            ..Options::default()
        };
        set_given(Self::rows(), &mut options, matches)?;
        self.0 = Limits {
            time: options.time_limit,
            memory: options.memory_limit,
        };
        Ok(())
    }
}

/// Returns an option as an argument.
fn argument(option: &Opt<Options>) -> Arg {
    let (about, default) = (&option.about, option.get(&Options::default()).to_string());
    let help = help(about);
    let argument = Arg::new(about.name)
        .long(about.flag())
        .aliases(about.list_flag())
        .visible_aliases(about.short_flag)
        .help_heading(heading(about.name))
        .help(help);
    match about.kind {
        Kind::Switch => return argument.action(ArgAction::SetTrue),
        Kind::Choice(names) => argument.value_parser(PossibleValuesParser::new(names())),
        // The help text lists the names already.
        Kind::Choices(names) => argument
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(Names(names))
            .hide_possible_values(true),
        kind if kind.is_list() => argument.action(ArgAction::Append),
        // A negative number is reported as out of range, not as an unknown flag.
        _ => argument.allow_negative_numbers(true),
    }
    .value_name(if about.value_name.is_empty() {
        about.name.to_uppercase().replace('.', "_")
    } else {
        about.value_name.to_owned()
    })
    .default_values(Some(default).filter(|text| !text.is_empty()))
}

/// Names of a list, with or without spaces around them, for clap's errors and shells' completions.
#[derive(Clone)]
struct Names(fn() -> Vec<&'static str>);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let value = value.to_string_lossy();
        PossibleValuesParser::new((self.0)()).parse_ref(command, argument, value.trim().as_ref())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// Returns the help text of an option.
fn help(about: &About) -> String {
    let sentences = about.help.strip_suffix('.').unwrap_or(about.help);
    let list = match about.kind {
        Kind::Choices(_) => format!("{}, separated by commas", about.kind.rule()),
        Kind::Texts(rule) => format!("{rule}; may be given several times"),
        _ if about.is_repeated() => "may be given several times".to_owned(),
        _ => return sentences.to_owned(),
    };
    format!("{sentences} ({list})")
}

impl FromArgMatches for Conversion {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut conversion = Self::default();
        conversion.options.resolve = resolve::Options::from_environment();
        conversion.update_from_arg_matches(matches)?;
        Ok(conversion)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let is_given = |row: &&Opt<Options>| is_given(row, matches);
        let names = TABLE.iter().filter(is_given);
        self.given
            .extend(names.map(|row| row.about.name.to_owned()));
        set_given(TABLE.iter(), &mut self.options, matches)
    }
}

/// Applies the options that are given.
fn set_given(
    rows: impl Iterator<Item = &'static Opt<Options>>,
    options: &mut Options,
    matches: &ArgMatches,
) -> Result<(), Error> {
    // clap's defaults are for the help text: `options` has its own.
    for option in rows.filter(|option| is_given(option, matches)) {
        given(option, matches)
            .and_then(|value| option.set(options, &value))
            .map_err(|why| {
                Error::raw(
                    ErrorKind::ValueValidation,
                    format!("--{}: {why}\n", option.about.flag()),
                )
            })?;
    }
    Ok(())
}

fn is_given(option: &Opt<Options>, matches: &ArgMatches) -> bool {
    matches.value_source(option.about.name) == Some(ValueSource::CommandLine)
}

/// Returns the value that is given for an option.
fn given(option: &Opt<Options>, matches: &ArgMatches) -> Result<Value, String> {
    let name = option.about.name;
    if matches!(option.about.kind, Kind::Switch) {
        return Ok(Value::Bool(matches.get_flag(name)));
    }
    let texts: Vec<String> = matches
        .get_many::<String>(name)
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    option.about.kind.parse(&texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use urdf_usd_node::parameters::Parameters;
    use urdf_usd_ros::Value as RosValue;
    use urdf_usd_ros::parameter::{Change, Store};

    fn command() -> Command {
        Conversion::augment_args(Command::new("convert").no_binary_name(true))
    }

    fn parse(arguments: &[String]) -> Result<Options, Error> {
        Conversion::from_arg_matches(&command().try_get_matches_from(arguments)?)
            .map(|conversion| conversion.options)
    }

    #[test]
    fn every_option_is_in_the_help() {
        let text = command().render_long_help().to_string();
        let shown: Vec<&str> = text.split_whitespace().collect();
        for option in TABLE {
            let flag = format!("--{}", option.about.flag());
            assert!(shown.contains(&flag.as_str()), "{flag}");
            let first = option
                .about
                .help
                .split(' ')
                .take(3)
                .collect::<Vec<_>>()
                .join(" ");
            assert!(shown.join(" ").contains(&first), "{flag}: {first}");
            let hidden = option.about.list_flag().map(|flag| format!("--{flag}"));
            assert!(hidden.is_none_or(|flag| !shown.contains(&flag.as_str())));
        }
    }

    /// Returns a strategy for valid values of an option.
    fn values(option: &'static Opt<Options>) -> BoxedStrategy<Value> {
        let word = "[a-z][a-z0-9_]{0,8}";
        let folder = || "/[a-z]{1,8}(/[a-z]{1,8})?";
        match option.about.kind {
            Kind::Switch => any::<bool>().prop_map(Value::Bool).boxed(),
            Kind::Integer { from, to } => (from..=to).prop_map(Value::Integer).boxed(),
            Kind::Number { from, to } => (from..=to).prop_map(Value::Number).boxed(),
            Kind::Choice(names) => prop::sample::select(names())
                .prop_map(|name| Value::Text(name.to_owned()))
                .boxed(),
            Kind::Choices(names) => {
                let count = names().len();
                let some = prop::sample::subsequence(names(), 1..=count);
                some.prop_map(|names| Value::List(names.into_iter().map(str::to_owned).collect()))
                    .boxed()
            }
            Kind::File | Kind::Folder => ("/nowhere/[a-z]{1,8}").prop_map(Value::Text).boxed(),
            Kind::Folders => prop::collection::vec(folder(), 1..4)
                .prop_map(Value::List)
                .boxed(),
            Kind::NamedFolders => {
                let named = (word, folder()).prop_map(|(name, folder)| format!("{name}={folder}"));
                prop::collection::vec(named, 1..4)
                    .prop_map(Value::List)
                    .boxed()
            }
            Kind::Text(_) if option.about.name == "drive" => {
                let gains = (0.0..1e6_f64, 0.0..1e6_f64);
                gains
                    .prop_map(|(kp, kd)| Value::Text(format!("position:{kp},{kd}")))
                    .boxed()
            }
            Kind::Text(_) => word.prop_map(Value::Text).boxed(),
            Kind::Texts(_) => word
                .prop_map(|text| Value::List(vec![format!("author={text}")]))
                .boxed(),
        }
    }

    fn arguments(about: &About, flag: &str, value: &Value) -> Vec<String> {
        match value {
            Value::Bool(true) => vec![format!("--{flag}")],
            Value::Bool(false) => Vec::new(),
            Value::List(texts) if about.is_repeated() => texts
                .iter()
                .map(|text| format!("--{flag}={text}"))
                .collect(),
            value => vec![format!("--{flag}={value}")],
        }
    }

    fn of_node(value: &Value) -> RosValue {
        match value.clone() {
            Value::Bool(value) => RosValue::Bool(value),
            Value::Integer(value) => RosValue::Integer(value),
            Value::Number(value) => RosValue::Double(value),
            Value::Text(text) => RosValue::String(text),
            Value::List(texts) => RosValue::StringArray(texts),
        }
    }

    fn in_yaml(value: &Value) -> String {
        match value {
            Value::Text(text) => format!("{text:?}"),
            Value::List(texts) => format!("{texts:?}"),
            value => value.to_string(),
        }
    }

    fn declared(text: &str) -> (Store, Parameters) {
        // The node's defaults set limits.
        let limits = [("time_limit", "0.0"), ("memory_limit", "0")];
        let unlimited = limits
            .iter()
            .filter(|(name, _)| !text.contains(name))
            .map(|(name, none)| format!("{name}: {none}, "));
        let text = format!(
            "/**:\n  ros__parameters: {{{}{text}}}\n",
            unlimited.collect::<String>()
        );
        let read = urdf_usd_ros::overrides::read_str(&text, "f.yaml").expect("valid");
        let mut store = Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect());
        let parameters = Parameters::default()
            .declared(|declaration| store.declare(declaration))
            .expect("valid");
        (store, parameters)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// A value has the same effect on the command line under each of its flags, in a parameter
        /// file, and as a change of a running node's parameter.
        #[test]
        fn a_value_has_the_same_effect_through_every_interface(all in TABLE.iter().map(values).collect::<Vec<_>>()) {
            for (option, value) in TABLE.iter().zip(&all) {
                let about = &option.about;
                let json = serde_json::to_string(value).expect("text");
                prop_assert_eq!(&serde_json::from_str::<Value>(&json).expect("a value"), value);
                let mut expected = Options { resolve: resolve::Options::from_environment(), ..Options::default() };
                prop_assert_eq!(option.set(&mut expected, value), Ok(()), "{}", about.name);
                let others = about.list_flag().into_iter().chain(about.short_flag.map(str::to_owned));
                for flag in std::iter::once(about.flag()).chain(others) {
                    let parsed = parse(&arguments(about, &flag, value)).map_err(|error| error.to_string());
                    prop_assert_eq!(parsed.as_ref(), Ok(&expected), "--{}", flag);
                }
                let name = about.name;
                let text = format!("{name}: {}", in_yaml(value));
                let (_, parameters) = declared(&text);
                prop_assert_eq!(&parameters.conversion, &expected, "{}", name);
                let (mut store, mut running) = declared("");
                let changes = store.set(vec![Change { name: name.to_owned(), value: of_node(value) }]);
                for change in changes.map_err(TestCaseError::fail)? {
                    running.apply(&change).map_err(TestCaseError::fail)?;
                }
                prop_assert_eq!(&running.conversion, &expected, "{}", name);
            }
        }
    }

    /// Each interface explains why a value is refused.
    #[test]
    fn every_interface_explains_refusals() {
        for (name, value, part) in [
            ("formats", Value::List(vec!["stl".into()]), "stl"),
            ("overlays", Value::List(vec!["oak".into()]), "oak"),
            ("time_limit", Value::Number(-1.0), "0.0 … 86400.0"),
            ("time_limit", Value::Number(f64::NAN), "0.0 … 86400.0"),
            ("packages", Value::List(vec!["a".into()]), "NAME=DIR"),
            (
                "asset_namespace",
                Value::Text("a b".into()),
                "letters, digits",
            ),
            (
                "srdf_file",
                Value::Text("/dev".into()),
                "not a regular file",
            ),
            (
                "simready_metadata",
                Value::List(vec!["mass=1".into()]),
                "asset_license",
            ),
            ("base", Value::Text("glued".into()), "auto, fixed, floating"),
        ] {
            let option = TABLE
                .iter()
                .find(|option| option.about.name == name)
                .expect("an option");
            let mut options = Options::default();
            let why = option.set(&mut options, &value).expect_err(name);
            assert!(why.contains(part) && options == Options::default(), "{why}");
            let shown = parse(&arguments(&option.about, &option.about.flag(), &value))
                .expect_err(name)
                .to_string();
            // clap itself lists the choices.
            assert!(
                shown.contains(part) || shown.contains("possible values"),
                "{shown}"
            );
            assert!(shown.contains(&option.about.flag()), "{shown}");
            let (mut store, running) = declared("");
            let reason = store
                .set(vec![Change {
                    name: name.to_owned(),
                    value: of_node(&value),
                }])
                .expect_err(name);
            assert!(reason.contains(part) && reason.contains(name), "{reason}");
            assert_eq!(running, declared("").1);
        }
    }
}
