//! The description that the node publishes for a file that is not a URDF.

use super::*;
use urdf_usd_convert::{Context, convert};
use urdf_usd_ros::msg::rcl_interfaces::{
    SetParameters, SetParametersResponse, SetParametersResult,
};

const ARM: &str = "<robot name='arm'><link name='base'><visual><geometry><mesh filename='a b.stl'/></geometry></visual></link>\
    <link name='tip'><inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>\
    <joint name='turn' type='revolute'><parent link='base'/><child link='tip'/><origin xyz='0 0 1'/><axis xyz='0 0 1'/>\
    <limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>";

const OTHER: &str = "<robot name='none'><link name='none'/></robot>";

/// Converts a URDF to the asset for the node.
fn make(folder: &std::path::Path, text: &str) -> PathBuf {
    fs::write(
        folder.join("a b.stl"),
        "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nendsolid\n",
    )
    .unwrap();
    fs::write(folder.join("arm.urdf"), text).unwrap();
    let job = Job::new(Source::File(folder.join("arm.urdf")), folder.join("given"));
    convert(&job, &Context::default())
        .unwrap()
        .file("usda")
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_of_an_asset_is_published_and_given_to_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let path = make(&folder, ARM);
    let mut bed = real_bed(|parameters| {
        (parameters.asset_file, parameters.publish_description) = (Some(path.clone()), true);
        parameters.description_to = Some("*/robot_state_publisher".to_owned());
    });
    let mut descriptions = bed.node.listen::<std_msgs::String>("/robot_description");
    let mut sets = bed
        .node
        .answer::<SetParameters>("/r/robot_state_publisher/set_parameters");
    let first = within(descriptions.next()).await.unwrap().message.data;
    let robot = urdf_usd_urdf::read(&first, None);
    assert!(robot.robot.unwrap().joint_named("turn").is_some());
    // Its mesh is where the URDF says.
    let [mesh] = &robot.references.meshes[..] else {
        panic!("{first}")
    };
    let mesh = percent_encoding::percent_decode_str(mesh.uri.strip_prefix("file://").unwrap())
        .decode_utf8()
        .unwrap();
    assert!(fs::metadata(&*mesh).unwrap().is_file(), "{first}");
    assert_eq!(
        (
            bed.asset().await.robot.as_str(),
            bed.node.listeners("/robot_description") > 1
        ),
        ("arm", true)
    );

    // robot_state_publisher has to be started with some robot, which must not become an asset: that
    // of the file follows.
    bed.node.say(
        "/robot_description",
        &std_msgs::String {
            data: OTHER.to_owned(),
        },
        9,
    );

    // A node that starts later gets the parameter once, and its publication of it is ignored.
    let nodes = vec!["/r/robot_state_publisher".to_owned(), "/r/other".to_owned()];
    bed.node.set_graph(Graph {
        nodes,
        ..Graph::default()
    });
    let request = within(sets.next()).await.unwrap();
    let [parameter] = &request.request.parameters[..] else {
        panic!("{:?}", request.request)
    };
    assert_eq!(
        (parameter.name.as_str(), parameter.value.clone().value()),
        ("robot_description", Some(Value::String(first.clone())))
    );
    let done = SetParametersResult {
        successful: true,
        reason: String::new(),
    };
    request
        .responder
        .send(SetParametersResponse {
            results: vec![done],
        })
        .unwrap();
    bed.node.say(
        "/robot_description",
        &std_msgs::String {
            data: first.clone(),
        },
        9,
    );

    // The asset changes, and with it the description; the next asset comes from the file, not from
    // the topic.
    make(&folder, &ARM.replace("0 0 1'/><axis", "0 0 2'/><axis"));
    let second = loop {
        let text = within(descriptions.next()).await.unwrap().message.data;
        if text != first && text != OTHER {
            break text;
        }
    };
    assert!(second.contains("xyz=\"0 0 2\""), "{second}");
    let asset = bed.asset().await;
    assert_eq!((asset.robot.as_str(), asset.revision), ("arm", 2));
    let again = within(sets.next()).await.unwrap();
    assert_eq!(
        again.request.parameters[0].value.clone().value(),
        Some(Value::String(second))
    );

    // Publishing stops on request.
    bed.node.set("publish_description", Value::Bool(false));
    make(&folder, &ARM.replace("0 0 1'/><axis", "0 0 3'/><axis"));
    assert_eq!(bed.asset().await.revision, 3);
    assert!(descriptions.try_next().is_none());
}
