//! Data that URDF does not define is kept.

use super::{clean, text};
use urdf_usd_robot::Element;

/// Formats an element in short.
fn shown(element: &Element) -> String {
    let attributes: String = element
        .attributes
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    let children: Vec<String> = element.children.iter().map(shown).collect();
    format!(
        "{}{attributes}[{}{}]",
        element.name,
        element.text,
        children.join("")
    )
}

fn all(elements: &[Element]) -> Vec<String> {
    elements.iter().map(shown).collect()
}

#[test]
fn attributes_and_elements_stay_with_their_owner() {
    let robot = clean(&text(
        r#"<link name="a" group="left" xmlns:g="urn:g" g:w="1">
             <inertial note="x"><mass value="1" density="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
             <visual shadow="no"><origin frame="b"/><geometry><mesh filename="m" up="z"/></geometry>
               <material name="m" finish="matt"><color rgba="1 0 0 1" space="srgb"/><shine>0.5</shine></material></visual>
             <collision><geometry><box size="1 1 1"/></geometry><material name="m"/><g:surface/></collision>
             <sensor name="s"> one <!-- comment --> <b/> two </sensor>
           </link>
           <material name="m" kind="metal"><color rgba="1 0 0 1"/></material>
           <link name="b"/>
           <joint name="j" type="revolute" group="left"><parent link="a" side="l"/><child link="b"/>
             <limit lower="0" upper="1" effort="1" velocity="1" acceleration="3" jerk="4"/><hint/><hint/></joint>
           <gazebo><plugin name="p"><![CDATA[a < b]]></plugin></gazebo>
           <gazebo reference="a"><mu1>0.2</mu1></gazebo>"#,
    ));
    let link = &robot.links().as_slice()[0];
    let attribute = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        link.custom.attributes,
        [
            attribute("xmlns:g", "urn:g"),
            attribute("group", "left"),
            attribute("g:w", "1")
        ]
    );
    assert_eq!(
        all(&link.custom.elements),
        [
            "inertial note=x[mass density=2[]]",
            "sensor name=s[one twob[]]"
        ]
    );
    assert_eq!(
        link.visuals[0].custom.attributes,
        [attribute("shadow", "no")]
    );
    assert_eq!(
        all(&link.visuals[0].custom.elements),
        [
            "origin frame=b[]",
            "geometry[mesh up=z[]]",
            "material name=m finish=matt[color space=srgb[]shine[0.5]]"
        ]
    );
    assert_eq!(
        all(&link.collisions[0].custom.elements),
        ["material name=m[]", "g:surface[]"]
    );
    let joint = &robot.joints().as_slice()[0];
    assert_eq!(joint.custom.attributes, [attribute("group", "left")]);
    assert_eq!(
        all(&joint.custom.elements),
        [
            "parent side=l[]",
            "limit acceleration=3 jerk=4[]",
            "hint[]",
            "hint[]"
        ]
    );
    assert_eq!(
        all(&robot.custom.elements),
        [
            "material name=m kind=metal[]",
            "gazebo[plugin name=p[a < b]]",
            "gazebo reference=a[mu1[0.2]]"
        ]
    );
    let mu = &robot.custom.elements[2].children[0];
    assert_eq!(
        (mu.place.line, mu.place.element.as_str()),
        (14, "gazebo \"a\" / mu1")
    );
}
