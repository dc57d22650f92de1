use super::apply;
use crate::robot::Robot;
use crate::urdf::read;

/// A robot of four links in a chain, the first three of which can collide.
fn robot() -> Robot {
    let link = |name: &str, inside: &str| format!("<link name=\"{name}\">{inside}</link>");
    let shape = "<collision><geometry><sphere radius=\"1\"/></geometry></collision>";
    let joint = |parent: &str, child: &str| {
        format!("<joint name=\"{child}_joint\" type=\"fixed\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
    };
    let text = [
        link("base", shape),
        link("arm", shape),
        link("hand", shape),
        link("tool", ""),
        joint("base", "arm"),
        joint("arm", "hand"),
        joint("hand", "tool"),
    ];
    read(&format!("<robot name=\"r\">{}</robot>", text.concat()), None).robot.unwrap()
}

/// The names of the pairs that `text` leads to, and what is reported: code, line, message.
fn applied(text: &str) -> (Vec<String>, Vec<(&'static str, u32, String)>) {
    let mut robot = robot();
    let diagnostics = apply(text, None, &mut robot);
    let name = |index: usize| robot.links[index].name.clone();
    let pairs = robot.disabled_collisions.iter().map(|(a, b)| format!("{} {}", name(a.0), name(b.0))).collect();
    (pairs, diagnostics.into_iter().map(|d| (d.code, d.place.line, format!("{} ({})", d.message, d.help))).collect())
}

#[test]
fn pairs_are_ordered_and_each_once() {
    let (pairs, findings) = applied(
        "<robot name='r'><group name='g'/>
         <disable_collisions link1='hand' link2='base' reason='Never'/>
         <disable_collisions link1='base' link2='hand'/>
         <disable_collisions link1='base' link2='arm' reason='Adjacent'/></robot>",
    );
    assert_eq!(pairs, ["base arm", "base hand"]);
    assert_eq!(findings, []);
}

#[test]
fn defaults_give_way_to_enabled_pairs_and_those_to_disabled_ones() {
    let defaults = "<robot name='r'><disable_default_collisions link='arm'/>";
    assert_eq!(applied(&format!("{defaults}</robot>")).0, ["base arm", "arm hand"]);
    let enabled = format!("{defaults}<enable_collisions link1='arm' link2='base'/>");
    assert_eq!(applied(&format!("{enabled}</robot>")).0, ["arm hand"]);
    assert_eq!(
        applied(&format!("{enabled}<disable_collisions link1='arm' link2='base'/></robot>")).0,
        ["base arm", "arm hand"]
    );
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let (pairs, findings) = applied(
        "<robot name='other'>
<disable_collisions link1='bass' link2='hand'/>
<disable_collisions link1='bass' link2='arm'/>
<disable_collisions link1='arm'/>
<disable_collisions link1='arm' link2='arm'/></robot>",
    );
    assert_eq!(pairs, [""; 0]);
    let short: Vec<_> = findings.iter().map(|(code, line, _)| (*code, *line)).collect();
    let expected = [("srdf-other-robot", 1), ("srdf-unknown-link", 2), ("srdf-no-link", 4), ("srdf-same-link", 5)];
    assert_eq!(short, expected);
    assert!(findings[1].2.contains("did you mean \"base\"?"), "{findings:?}");
}

#[test]
fn texts_that_are_no_srdf_change_nothing() {
    for (text, code) in [
        ("<sdf/>", "urdf-not-urdf"),
        ("<robot", "urdf-malformed-xml"),
        ("", "urdf-malformed-xml"),
        ("<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:arm/></robot>", "urdf-xacro"),
    ] {
        let (pairs, findings) = applied(text);
        assert_eq!((pairs.len(), findings.len(), findings[0].0), (0, 1, code), "{text}");
    }
    assert!(applied("<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:arm/></robot>").1[0].2.contains("robot.srdf"));
}
