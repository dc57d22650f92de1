//! Generates `docs/cli.md` from the command line; a test compares it, and rewrites it with
//! `UPDATE_DOCS=1`.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::{Cli, examples};

/// Escapes text for a table or a paragraph of Markdown.
fn plain(text: impl ToString) -> String {
    text.to_string()
        .replace('|', "\\|")
        .replace('*', "\\*")
        .replace('<', "\\<")
}

/// Returns the spelling of an argument: `-o`, `--output-dir DIR`.
fn spelling(argument: &Arg) -> String {
    let values: Vec<String> = argument
        .get_value_names()
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    // A bar ends the cell of a table even within code.
    let values = if argument.get_action().takes_values() {
        values.join(" ").replace('|', "\\|")
    } else {
        String::new()
    };
    let short = argument.get_short().map(|short| format!("`-{short}`"));
    let long = argument
        .get_long()
        .map(|long| format!("`{}`", format!("--{long} {values}").trim()));
    let aliases = argument.get_visible_aliases().into_iter().flatten();
    let aliases = aliases.map(|alias| format!("`--{alias}`"));
    let named: Vec<String> = short.into_iter().chain(long).chain(aliases).collect();
    if named.is_empty() {
        format!("`{values}`")
    } else {
        named.join(", ")
    }
}

/// Returns table rows for a command's own options, or for the global ones.
fn rows(command: &Command, is_global: bool) -> String {
    let mut text = String::new();
    let shown = |argument: &&Arg| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    for argument in command
        .get_arguments()
        .filter(shown)
        .filter(|argument| argument.is_global_set() == is_global)
    {
        let defaults = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy().into_owned());
        let default = if argument.get_action().takes_values() {
            defaults.collect::<Vec<_>>().join(",")
        } else {
            String::new()
        };
        let default = if default.is_empty() {
            default
        } else {
            format!("`{default}`")
        };
        let names: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|_| {
                argument.get_action().takes_values() && !argument.is_hide_possible_values_set()
            })
            .map(|v| format!("`{}`", v.get_name()))
            .collect();
        let help = argument.get_help().map(plain).unwrap_or_default();
        let help = if names.is_empty() {
            help
        } else {
            format!("{help} ({})", names.join(", "))
        };
        let _ = writeln!(text, "| {} | {default} | {help} |", spelling(argument));
    }
    text
}

/// Writes the section of a command: its description and options.
fn section(text: &mut String, name: &str, command: &Command) {
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(plain)
        .unwrap_or_default();
    let _ = write!(text, "\n## `urdf_usd {name}`\n\n{about}\n");
    write_examples(text, name);
    let rows = rows(command, false);
    if !rows.is_empty() {
        let _ = write!(
            text,
            "\n| option | default | description |\n|---|---|---|\n{rows}"
        );
    }
}

/// Appends the examples of a command.
fn write_examples(text: &mut String, name: &str) {
    if let Some(examples) = examples::of(name) {
        let _ = write!(text, "\n```\n{}\n```\n", examples.join("\n"));
    }
}

fn page() -> String {
    let mut text = String::from(
        "# The command line\n\n\
         `urdf_usd COMMAND --help` prints the same text. Exit code 0: success, possibly with warnings. 1: failure, or partial success (`convert`\n\
         writes an incomplete asset and ends with 1 if parts of the robot have errors); messages give the reason. 2: usage error. Results go to standard output, messages for people to standard error.\n\n\
         Options of `convert` are [parameters of the node](parameters.md), too: `--gltf-physics` is the parameter `gltf.physics`. A flag\n\
         that may be given several times has a name in the singular, and its parameter in the plural: `--package` is the parameter `packages`.\n\n\
         This page is generated from the source: `UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_cli documentation`.\n",
    );
    let mut command = Cli::command();
    command.build();
    let own = |command: &&Command| command.get_name() != "help";
    let rows = rows(&command, true);
    let _ = write!(
        text,
        "\n## Options of all commands\n\n| option | default | description |\n|---|---|---|\n{rows}"
    );
    for command in command.get_subcommands().filter(own) {
        section(&mut text, command.get_name(), command);
        for below in command.get_subcommands().filter(own) {
            section(
                &mut text,
                &format!("{} {}", command.get_name(), below.get_name()),
                below,
            );
        }
    }
    text
}

#[test]
fn the_page_is_made_from_the_command_line() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, page()).expect("written");
    }
    let file = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        file == page(),
        "docs/cli.md does not match the command line: run the test with UPDATE_DOCS=1"
    );
    for option in urdf_usd_convert::options::TABLE {
        assert!(
            file.contains(&format!("`--{}", option.about.flag())),
            "{}",
            option.about.name
        );
    }
}
