//! Examples of commands, for help, manual pages and `docs/cli.md`.

use clap::Command;

/// Two examples of each command, by its words.
const EXAMPLES: &[(&str, [&str; 2])] = &[
    (
        "convert",
        [
            "urdf_usd convert robot.urdf -o assets",
            "urdf_usd convert package://my_robot/urdf/robot.urdf.xacro arms:=2 --formats usd,mjcf --overlays isaac",
        ],
    ),
    (
        "batch",
        [
            "urdf_usd batch robots -o converted --tiers high",
            "urdf_usd batch robots.csv -o converted --shard 1/8 --retry",
        ],
    ),
    (
        "inspect",
        [
            "urdf_usd inspect assets/robot",
            "urdf_usd inspect robot.urdf --json",
        ],
    ),
    (
        "check",
        [
            "urdf_usd check robot.urdf --format sarif",
            "urdf_usd check assets/robot --all-variants --ignore REP158-2.*",
        ],
    ),
    (
        "fix",
        [
            "urdf_usd fix robot.usd -o fixed",
            "urdf_usd fix robot.usd -o fixed --variant physics=full --json",
        ],
    ),
    (
        "xrdf check",
        [
            "urdf_usd xrdf check robot.urdf robot.xrdf",
            "urdf_usd xrdf check robot.urdf.xacro robot.xrdf prefix:=left_ --strict",
        ],
    ),
    (
        "xrdf write",
        [
            "urdf_usd xrdf write robot.urdf -o robot.xrdf",
            "urdf_usd xrdf write robot.urdf --error 0.01 --tool-frame tool0 -o -",
        ],
    ),
    (
        "isaac tree",
        [
            "urdf_usd isaac tree robot.usd",
            "urdf_usd isaac tree robot.usd --robot /World/robot --json",
        ],
    ),
    (
        "isaac populate",
        [
            "urdf_usd isaac populate robot.usd",
            "urdf_usd isaac populate robot.usd --sites-last -o assets",
        ],
    ),
    (
        "isaac recalculate",
        [
            "urdf_usd isaac recalculate robot.usd",
            "urdf_usd isaac recalculate robot.usd --no-sites",
        ],
    ),
    (
        "isaac validate",
        [
            "urdf_usd isaac validate assets/robot",
            "urdf_usd isaac validate robot.usd --json",
        ],
    ),
    (
        "isaac migrate",
        [
            "urdf_usd isaac migrate robot.usd",
            "urdf_usd isaac migrate robot.usd -o assets",
        ],
    ),
    (
        "pose",
        [
            "urdf_usd pose robot.urdf --set elbow_joint=1.2 --frame tool0",
            "urdf_usd ik robot.urdf --tip tool0 --target 0.3,0,0.5 | urdf_usd pose robot.urdf --set-from -",
        ],
    ),
    (
        "pose list",
        [
            "urdf_usd pose list assets/robot",
            "urdf_usd pose list assets/robot --json",
        ],
    ),
    (
        "pose get",
        [
            "urdf_usd pose get assets/robot home",
            "urdf_usd pose get assets/robot home --group arm",
        ],
    ),
    (
        "pose store",
        [
            "urdf_usd pose store assets/robot up --set elbow_joint=1.2",
            "urdf_usd pose store assets/robot low --from up --set shoulder_joint=-0.5",
        ],
    ),
    (
        "pose delete",
        [
            "urdf_usd pose delete assets/robot up",
            "urdf_usd pose delete assets/robot up --group arm",
        ],
    ),
    (
        "pose apply",
        [
            "urdf_usd pose apply assets/robot home",
            "urdf_usd pose apply assets/robot home -o posed",
        ],
    ),
    (
        "pose export",
        [
            "urdf_usd pose export assets/robot poses.json",
            "urdf_usd pose export assets/robot - --degrees",
        ],
    ),
    (
        "pose import",
        [
            "urdf_usd pose import assets/robot poses.json",
            "urdf_usd pose import assets/robot - -o assets",
        ],
    ),
    (
        "ik",
        [
            "urdf_usd ik robot.urdf --tip tool0 --target 0.3,0,0.5",
            "urdf_usd ik robot.urdf --tip tool0 --target 0.3,0,0.5,0,0,0,1 --set elbow_joint=1 --json",
        ],
    ),
    (
        "schema",
        [
            "urdf_usd schema -o schemas",
            "urdf_usd schema -o schemas && export PXR_PLUGINPATH_NAME=$PWD/schemas",
        ],
    ),
    (
        "view",
        [
            "urdf_usd view robot.urdf",
            "urdf_usd view --port 9000 --no-open",
        ],
    ),
    (
        "bridge",
        [
            "urdf_usd bridge --ros-args -p output_dir:=assets",
            "urdf_usd bridge --ros-args -r robot_description:=/arm/robot_description --params-file bridge.yaml",
        ],
    ),
    ("demo", ["urdf_usd demo", "urdf_usd demo --once -o demo"]),
    (
        "completions",
        [
            "urdf_usd completions bash > ~/.local/share/bash-completion/completions/urdf_usd",
            "urdf_usd completions zsh > ~/.zfunc/_urdf_usd",
        ],
    ),
    (
        "man",
        [
            "urdf_usd man | man -l -",
            "urdf_usd man -o ~/.local/share/man/man1",
        ],
    ),
];

/// Returns the examples of a command, by its words: `pose store`.
#[cfg(test)]
pub(super) fn of(name: &str) -> Option<&'static [&'static str; 2]> {
    let (_, examples) = EXAMPLES.iter().find(|(command, _)| *command == name)?;
    Some(examples)
}

/// Adds the examples to the help of each command.
pub(super) fn add(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let help = format!("Examples:\n  {}", examples.join("\n  "));
        let words: Vec<&str> = name.split(' ').collect();
        add_to(command, &words, help)
    })
}

fn add_to(command: Command, words: &[&str], help: String) -> Command {
    match words {
        [] => command.after_help(help),
        [first, rest @ ..] => command.mut_subcommand(*first, |command| add_to(command, rest, help)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::{EXAMPLES, of};

    /// Returns the words of all commands that do something.
    fn commands(command: &Command, words: &str) -> Vec<String> {
        let own = command
            .get_subcommands()
            .filter(|it| it.get_name() != "help");
        let below = own.flat_map(|below| {
            let words = format!("{words} {}", below.get_name());
            commands(below, words.trim())
        });
        let is_one = !command.is_subcommand_required_set() && !words.is_empty();
        is_one
            .then(|| words.to_owned())
            .into_iter()
            .chain(below)
            .collect()
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut command = crate::command();
        command.build();
        for name in commands(&command, "") {
            assert!(of(&name).is_some(), "{name} has no examples");
        }
        for example in EXAMPLES.iter().flat_map(|(_, examples)| examples) {
            for line in example.split(" | ").flat_map(|line| line.split(" && ")) {
                let words = line.split(" > ").next().unwrap().split(' ');
                if line.starts_with("urdf_usd") {
                    let parsed = crate::command().try_get_matches_from(words);
                    assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                }
            }
        }
    }
}
