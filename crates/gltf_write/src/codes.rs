//! Diagnostic codes of the glTF writer.

use urdf_usd_diagnostic::codes;

codes! {
    LOOP_JOINT Warning "gltf-loop-joint":
        "A joint closes a loop; glTF nodes form a strict tree and EXT_robot_kinematics has no word for loops.",
        "The joint moves nothing in the GLB. It is kept in the model's extras, under `loops`.";
    MIMIC_LEFT_OUT Warning "gltf-mimic-left-out":
        "A mimic relation involves a joint without exactly one degree of freedom, or follows a joint that closes a loop.",
        "The joint is written without `mimic`, so that it can be set on its own.";
    DRIVE Info "gltf-drive-in-extras":
        "A joint has a drive with gains or targets, for which EXT_robot_kinematics has no element.",
        "They are kept in the extras of the joint, from where this program reads them. With `--gltf-physics`, the joint of \
         KHR_physics_rigid_bodies has the drive too.";
    NO_WORD Info "gltf-no-word":
        "The robot has sensors other than cameras, drives without gains, ROS interfaces or contexts that were not read from elements of a \
         URDF, or, without `--gltf-physics`, contact properties or pairs of links with disabled collisions.",
        "They are left out of the glTF. Elements of a URDF are in the extras.";
    TEXTURE_WITHOUT_UVS Warning "gltf-texture-without-coordinates":
        "A material has a texture, but the mesh that it is on has no texture coordinates.",
        "The part has the material's colour.";
    TEXTURES_LEFT_OUT Warning "gltf-textures-left-out":
        "glTF has fixed channels for roughness, metalness, occlusion and opacity; the images that have to be put together for \
         them have more than 256 megapixels.",
        "Those beyond are left out of the GLB.";
    TOO_LARGE Error "gltf-too-large": "The geometry and images need more than the 4 GiB that a GLB can hold.",
        "No GLB is written.";
}
