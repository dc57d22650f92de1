//! Compares type hashes with those that rosidl 4.6.5 (ROS 2 Jazzy) wrote beside the installed
//! interfaces, `share/PACKAGE/{msg,srv}/NAME.json`.

use super::*;
use crate::msg::{self, Interface};

#[rustfmt::skip]
const JAZZY: &[(&str, &str)] = &[
    ("builtin_interfaces/msg/Duration", "e8d009f659816f758b75334ee1a9ca5b5c0b859843261f14c7f937349599d93b"),
    ("builtin_interfaces/msg/Time", "b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197"),
    ("diagnostic_msgs/msg/DiagnosticArray", "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e"),
    ("diagnostic_msgs/msg/DiagnosticStatus", "b0e3e692ea2d54a8af2f4ef1930e81556a2db55216b771f8a7d2724ed47bf0e4"),
    ("diagnostic_msgs/msg/KeyValue", "d68081eaa540288c5440753baecef0c4e16e81a5f78ad68902ded5100413bb42"),
    ("geometry_msgs/msg/Point", "6963084842a9b04494d6b2941d11444708d892da2f4b09843b9c43f42a7f6881"),
    ("geometry_msgs/msg/Point32", "2fc4db7cae16a4582c79a56b66173a8d48d52c7dc520ddc55a0d4bcf2a4bfdbc"),
    ("geometry_msgs/msg/Polygon", "3782f9f0bf044964d692d6c017d705e37611afb1f0bf6a9dee248a7dda0f784a"),
    ("geometry_msgs/msg/Pose", "d501954e9476cea2996984e812054b68026ae0bfae789d9a10b23daf35cc90fa"),
    ("geometry_msgs/msg/PoseStamped", "10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8"),
    ("geometry_msgs/msg/Quaternion", "8a765f66778c8ff7c8ab94afcc590a2ed5325a1d9a076ffff38fbce36f458684"),
    ("geometry_msgs/msg/Transform", "beb83fbe698636351461f6f35d1abb20010c43d55374d81bd041f1ba2581fddc"),
    ("geometry_msgs/msg/TransformStamped", "0a241f87d04668d94099cbb5ba11691d5ad32c2f29682e4eb5653424bd275206"),
    ("geometry_msgs/msg/Twist", "9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a"),
    ("geometry_msgs/msg/Vector3", "cc12fe83e4c02719f1ce8070bfd14aecd40f75a96696a67a2a1f37f7dbb0765d"),
    ("geometry_msgs/msg/Wrench", "018e8519d57c16adbe97c9fe1460ef21fec7e31bc541de3d653a35895677ce52"),
    ("moveit_msgs/msg/AttachedCollisionObject", "7fdfe7951a33a857f20fc42c9ed410a38d06dd0c209ac774ecea746dc487dc41"),
    ("moveit_msgs/msg/BoundingVolume", "00bb0df2edac637497dedf1778d8f217187c8d9d10f41dcfccc4d8578123ef13"),
    ("moveit_msgs/msg/CollisionObject", "74b0acd6d56be032bf4f764b2c2633f50588b5fb2bd71e97206c59052747cf7e"),
    ("moveit_msgs/msg/Constraints", "71718200459ae8fecdc4f2c9631215f7eba5ff686c701a32e231ba8b11b3592b"),
    ("moveit_msgs/msg/JointConstraint", "4996641a8e12f5b7fde07f1cec1490324e1c4035ac5fc989ce99c9600c31e30d"),
    ("moveit_msgs/msg/MoveItErrorCodes", "dcda8a9950cf6dd6ac221c2c0d2509f52f136afa0403dd19beacdf07e83e4a07"),
    ("moveit_msgs/msg/OrientationConstraint", "7a1917ac47886eb1fc170317952198b203bb797f07270475a7bbaf692cad2871"),
    ("moveit_msgs/msg/PositionConstraint", "3758504dabfe337a1a660b29917e3405e5e858fdd6e9976edba04275396523df"),
    ("moveit_msgs/msg/PositionIKRequest", "200709be614f71f4d11d0bdd672785db28d27f7a10b516d9b961706a0c7f6d7d"),
    ("moveit_msgs/msg/RobotState", "7c516dc15713e545cb2836c5ca745fbdcfcc10de4855a41c83e6b4bf1afc3f83"),
    ("moveit_msgs/msg/VisibilityConstraint", "2b479935307de421623221520ee5d9ffab494af7f4b1945114fc7e4831856c75"),
    ("moveit_msgs/srv/GetPositionFK", "2f16ec361a135d84b85a29385abeb9eeb025e39c09038bd6b2826645edc7edad"),
    ("moveit_msgs/srv/GetPositionIK", "054ed6f6f71a09b01b5246c5d80beb4dacc6f444f58df039849c76292933e9e3"),
    ("object_recognition_msgs/msg/ObjectType", "5eb3ee3976403366d7c50d7dbee8bec96b3bced1e752674a7194a35841632134"),
    ("rcl_interfaces/msg/FloatingPointRange", "e6af23a23c177fee5f3075c8b1e435162a9b63c863d78c06017460b49684262d"),
    ("rcl_interfaces/msg/IntegerRange", "f7b7fdc0f65f07702e099218e13288c3963bcb9345bde78b560e6cd19800fc5a"),
    ("rcl_interfaces/msg/ListParametersResult", "237ae3428413dcbcfb452b510c42355f3a2b021dc091afa3e18526d57022f1cd"),
    ("rcl_interfaces/msg/Log", "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac"),
    ("rcl_interfaces/msg/Parameter", "ddfe6442cffc462317adb5c92536a7b6dd55858c5c3e1e328165a6b73c2831af"),
    ("rcl_interfaces/msg/ParameterDescriptor", "52175dbfda6c51153101d33d2a9da05743f66f02d5ab2ca9ec4709b46b73d704"),
    ("rcl_interfaces/msg/ParameterEvent", "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204"),
    ("rcl_interfaces/msg/ParameterValue", "115fc089a387e23c7ecd3525c9189c379109119d6ab82e8dfbde0fdf6a7f9b68"),
    ("rcl_interfaces/msg/SetParametersResult", "cfcc0fb0371ee5159b403960ef4300f8f9d2f1fd6117c8666b7f9654d528a9b1"),
    ("rcl_interfaces/srv/DescribeParameters", "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff"),
    ("rcl_interfaces/srv/GetParameterTypes", "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca"),
    ("rcl_interfaces/srv/GetParameters", "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc"),
    ("rcl_interfaces/srv/ListParameters", "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d"),
    ("rcl_interfaces/srv/SetParameters", "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0"),
    ("rcl_interfaces/srv/SetParametersAtomically", "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd"),
    ("rmw_dds_common/msg/Gid", "ab6f21cfbb0a6dbb837161e1110c2051a2850ed9f9c53944d7115d9bcebedf71"),
    ("rmw_dds_common/msg/NodeEntitiesInfo", "8ffef65ee2d088c63b1e8fcd31e800ba9fc8dbe0ee15ca60d1676de5218087a7"),
    ("rmw_dds_common/msg/ParticipantEntitiesInfo", "91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e"),
    ("rosgraph_msgs/msg/Clock", "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"),
    ("sensor_msgs/msg/JointState", "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"),
    ("sensor_msgs/msg/MultiDOFJointState", "4d4ded702cfba7ff3ec783835c1a1425f75e53939a430ff355d1fee4b3bbc40b"),
    ("service_msgs/msg/ServiceEventInfo", "41bcbbe07a75c9b52bc96bfd5c24d7f0fc0a08c0cb7921b3373c5732345a6f45"),
    ("shape_msgs/msg/Mesh", "f2150b82d8ee7e8bc3f396a2b158aefb4b9a5510a474be271ba1268aebb55289"),
    ("shape_msgs/msg/MeshTriangle", "618e5c073eeb729e433ef6226e72c01d995c459fb7d76348c9700409a5020bd0"),
    ("shape_msgs/msg/Plane", "dfbfe8314689c850615d4a727af017e9aa86c10e369a606c8c851ef8f16c58c8"),
    ("shape_msgs/msg/SolidPrimitive", "2802a15190aadc3f496584df4b0b4c5824d8a0b31aaef839faa75bc34dda38ac"),
    ("std_msgs/msg/Header", "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01"),
    ("std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"),
    ("tf2_msgs/msg/TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"),
    ("trajectory_msgs/msg/JointTrajectory", "179b33eba59d676f6d967ac71fe35e7ca2f64b2f3928f4a018cec115e213796e"),
    ("trajectory_msgs/msg/JointTrajectoryPoint", "de8907036d8bd45aac6f30cc9044a3d4a329c42cbf719aff7d95a584cfa532d7"),
    ("type_description_interfaces/msg/Field", "c0b01379cd4226281285ccaf6be46653968f855f7c5e41614ff5d7a854efef7c"),
    ("type_description_interfaces/msg/FieldType", "a70b6dd919645a03a3586f7f821defbc886ea3e531a1d95cc0f380a3973ccaa6"),
    ("type_description_interfaces/msg/IndividualTypeDescription", "55c827d86c3c141bdd318fe6c22e11190e4d3b37c8f4f9751a084aa05ce96560"),
    ("type_description_interfaces/msg/KeyValue", "274fe56bf14f33c7512e34c646a37579ee36779f745f049a9760763e817f0c42"),
    ("type_description_interfaces/msg/TypeDescription", "739f2508c9fa3a6f330913ff5b9d25fb74159a077da71e1087f51a60c12a080b"),
    ("type_description_interfaces/msg/TypeSource", "faeaec7596c04ecf5b6e99ad225e4c7cbb997ad5435f793526fb3984d011aae5"),
    ("type_description_interfaces/srv/GetTypeDescription", "69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5"),
];

#[test]
fn hashes_are_those_of_rosidl() {
    for (name, known) in JAZZY {
        let hash = msg::find(name).map(Type::hash);
        assert_eq!(hash, Some(format!("RIHS01_{known}")), "{name}");
    }
    assert_eq!(msg::all().count(), JAZZY.len(), "all are checked");
    assert!(msg::find("std_msgs/msg/Missing").is_none());
}

#[test]
fn services_have_halves_and_messages_do_not() {
    let service = msg::rcl_interfaces::GetParameters::TYPE;
    let names = service
        .halves()
        .map(|(request, response)| (request.name, response.name));
    assert_eq!(
        names,
        Some((
            "rcl_interfaces/srv/GetParameters_Request",
            "rcl_interfaces/srv/GetParameters_Response"
        ))
    );
    assert!(
        msg::rcl_interfaces::ParameterDescriptor::TYPE
            .halves()
            .is_none()
    );
    assert!(msg::geometry_msgs::Point::TYPE.halves().is_none());
}

#[test]
fn defaults_are_those_of_the_definitions() {
    let quaternion = msg::geometry_msgs::Quaternion::default();
    assert_eq!((quaternion.x, quaternion.w), (0.0, 1.0));
    let defaults = |described: &Type| {
        let defaults = described.fields.iter().map(|field| field.default);
        defaults.collect::<Vec<_>>().join(",")
    };
    assert_eq!(
        defaults(msg::geometry_msgs::Quaternion::TYPE),
        "0.0,0.0,0.0,1.0"
    );
    assert_eq!(
        defaults(msg::rcl_interfaces::ParameterDescriptor::TYPE),
        ",,,,False,False,,"
    );
}
