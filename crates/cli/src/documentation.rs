//! `docs/cli.md`, made from the command line itself: a test holds it against that, and writes it
//! anew with `UPDATE_DOCS=1`.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

/// Text for a table or a paragraph of Markdown.
fn plain(text: impl ToString) -> String {
    text.to_string()
        .replace('|', "\\|")
        .replace('*', "\\*")
        .replace('<', "\\<")
}

/// How an argument is written: `-o`, `--output-dir DIR`.
fn spelling(argument: &Arg) -> String {
    let values: Vec<String> = argument
        .get_value_names()
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    // Also in code, a bar ends the cell of a table.
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

/// The options of a command alone, or those that every command has.
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
            .filter(|_| argument.get_action().takes_values())
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

/// What a command is for, and its options.
fn section(text: &mut String, name: &str, command: &Command) {
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(plain)
        .unwrap_or_default();
    let _ = write!(text, "\n## `urdf_usd {name}`\n\n{about}\n");
    let rows = rows(command, false);
    if !rows.is_empty() {
        let _ = write!(
            text,
            "\n| option | default | what it does |\n|---|---|---|\n{rows}"
        );
    }
}

fn page() -> String {
    let mut text = String::from(
        "# The command line\n\n\
         `urdf_usd COMMAND --help` shows the same. Exit code 0: done, with warnings or without. 1: not done, or not all of it (`convert`\n\
         writes the asset without what has errors, and ends with 1); the messages say why. 2: the command line was wrong. Results go to standard output, messages for people to standard error.\n\n\
         Options of `convert` are [parameters of the node](parameters.md), too: `--gltf-physics` is the parameter `gltf.physics`. A flag\n\
         that may be repeated is singular, its parameter plural: `--package` is the parameter `packages`.\n\n\
         This page is made from the source: `UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_cli documentation`.\n",
    );
    let mut command = Cli::command();
    command.build();
    let own = |command: &&Command| command.get_name() != "help";
    let rows = rows(&command, true);
    let _ = write!(
        text,
        "\n## Options of all commands\n\n| option | default | what it does |\n|---|---|---|\n{rows}"
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
        "docs/cli.md is not what the command line says: run the test with UPDATE_DOCS=1"
    );
    for option in urdf_usd_convert::options::TABLE {
        assert!(
            file.contains(&format!("`--{}", option.about.flag())),
            "{}",
            option.about.name
        );
    }
}
