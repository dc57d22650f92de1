//! Codes of the diagnostics of the pipeline itself.

use urdf_usd_diagnostic::codes;

codes! {
    SOURCE_KIND Error "source-kind": "The source has a format that can't be converted.", "Nothing is converted.";
    SOURCE_UNREADABLE Error "source-unreadable": "An OpenUSD source can't be opened, or contains no robot.",
        "Nothing is converted.";
    SOURCE_SEVERAL Warning "source-several-robots": "A glTF source has several kinematic models.",
        "The first is converted, or the one that `--robot` names.";
    SOURCE_NO_ROBOT Error "source-no-such-robot": "A glTF source has no kinematic model with the name that is asked for.",
        "Nothing is converted.";
    VARIANTS_UNUSED Info "source-variants-unused": "Variants are chosen, but the source is not an OpenUSD asset.",
        "The choice is ignored.";
    TEXTURE_WITHOUT_COORDINATES Warning "texture-without-coordinates":
        "A texture is assigned to a shape without texture coordinates: a primitive, or a mesh without any.",
        "The shape has the colour of its material, or the mean colour of the texture if the material has none.";
    CONTROLLER_FILE Warning "controller-file-unread": "A file that lists the robot's controllers can't be read.",
        "The file is skipped; without any controllers in other files, the robot has controllers by convention.";
    STAND_IN Info "stand-in":
        "A box replaces a visual mesh that can't be read (`stand_ins`): around the link's colliders, or with its mass and inertia.",
        "The visual is the box, under its own name and with its own material; other unreadable meshes of the link are not shown.";
    NO_STAND_IN Info "stand-in-none":
        "No box can replace a visual mesh that can't be read (`stand_ins`), because the size of the link is unknown.",
        "The visual is not shown.";
    MASS_ASSUMED Info "mass-assumed":
        "A link without a mass in its source gets one from a density (`density`) or a file (`masses_file`).",
        "The mass and the inertia of uniform density are written, and marked as assumed in OpenUSD (`urdf:inertial:assumed`) and glTF.";
    MASS_UNUSED Warning "mass-unused":
        "The file of masses names a link that the robot does not have, or one with a mass in its source.", "The line is ignored.";
    MASSES_FILE Error "masses-file": "The file of masses is not YAML with a positive number for each link.", "Nothing is converted.";
    MERGED Info "links-merged": "Links are merged into the links that they are fixed to, as `merge_fixed` says.",
        "Mass, inertia, visuals and colliders belong to the upper link. The names of removed links and of their joints are in no output.";
    KEEP_UNUSED Warning "keep-unused": "A pattern of links to keep as frames (`keep_frames`) matches no link.", "The pattern is ignored.";
    DRIVES_ASSUMED Info "drive-gains-assumed":
        "The source gives no gains for joints that a simulation must hold. They follow from the inertia and the gravity load of each joint.",
        "Layers for engines, MJCF and SDF have the assumed gains; the neutral OpenUSD layers and the glTF have none.";
    DRIVE_WEAK Info "drive-too-weak":
        "The effort limit of a joint is below the load that gravity puts on it in some configuration.",
        "The drive has the limit of the source, so the joint may give way.";
    DRIVES_FILE Error "drives-file":
        "The file of drives (`drives_file`) is not YAML with the properties of a drive for each pattern of joint names.",
        "Nothing is converted.";
    DRIVE_UNUSED Warning "drive-unused": "A pattern in the file of drives matches no joint.", "The entry is ignored.";
    ARMATURE Info "armature-left-out":
        "Joints of the source have an armature, the inertia of a rotor, which only MJCF and the OpenUSD layers for engines can express.",
        "The finding names the formats that lack it.";
    CONVEX_PARTS Info "convex-parts":
        "The meshes of colliders are decomposed into convex parts (`convex_parts`).",
        "OpenUSD has the parts in the variant `convex_decomposition` of `collision_fidelity`. In MJCF, and in glTF for physics engines, each \
         part is a collider.";
    PRIMITIVES Info "primitives-fitted":
        "Boxes, spheres, cylinders or capsules replace meshes of colliders that they resemble (`fit_primitives`).",
        "All formats have the primitives.";
    NO_POSE Error "start-no-such-pose": "The robot has no pose with the name that is asked for as its start (`pose`).",
        "Nothing is converted.";
    TOUCHING Info "links-touch":
        "Colliders of links that no joint connects touch at the start, or in all of the sampled configurations.",
        "The pairs do not collide in simulations (`self_collision`).";
    TOUCHING_UNTESTED Warning "links-touch-untested":
        "So many colliders are close to each other that not all pairs of links were tested for contact at the start, or more than eight pairs \
         for each link touch.",
        "The other pairs collide.";
    IN_PIECES Info "robot-in-pieces":
        "Most parts of a robot are far from their parents, with all joints at zero. The usual cause is meshes in other axes or units than the \
         robot's.",
        "It is converted unchanged.";
    MESH_LOOKS Info "urdf-mesh-looks":
        "The format of the mesh files of the URDF or the SDF (`mesh_format`) can't express the look of a mesh: STL has no colours, OBJ no occlusion maps \
         and no factors of textures.",
        "The file has the triangles; with STL, the visual has the dominant material of the mesh in the URDF.";
    LOOKS Info "looks-left-out":
        "A robot has several looks (KHR_materials_variants, or variant sets that change only materials), which some of the formats can't \
         express: OpenUSD, URDF, SDF, MJCF.",
        "Files of these formats have the robot's default look.";
    SPHERES_NONE Error "spheres-no-collision": "No link of the robot has collision geometry to cover with the spheres of an XRDF.",
        "Nothing is written.";
    SPHERES_TOO_FINE Error "spheres-too-fine":
        "At most two thousand spheres can't cover the collision geometry of a link within the requested error.",
        "Goes on; the link has no spheres.";
    SPHERES_UNCOVERED Warning "spheres-uncovered-link": "A link has visuals but no collision geometry.",
        "Goes on; the link has no spheres, so planners ignore its collisions.";
    XRDF_OPTION Error "xrdf-option": "An option for writing an XRDF names a joint, link or pose that the robot does not have, \
        or a joint that is a mimic joint or does not have exactly one position.", "Nothing is written.";
    XRDF_ASSUMED_LIMITS Info "xrdf-assumed-limits":
        "A joint has no acceleration or jerk limit, which an XRDF requires. The assumed values are those of NVIDIA's XRDF of the UR10e.",
        "The XRDF has 12 rad/s² (m/s²) and 500 rad/s³ (m/s³) for it.";
    XRDF_ASSUMED_TOOL Info "xrdf-assumed-tool":
        "The tool frame is unknown. The assumed one is the frame below the most joints, the last of those that are rigidly connected.",
        "The XRDF has it as its tool frame.";
    XRDF_TOUCHING Warning "xrdf-touching":
        "Spheres of two links that are not neighbours touch at the default positions, which an XRDF does not allow.",
        "The XRDF ignores the pair: planners do not keep these links apart.";
    OTHER_SOURCE Error "output-other-source":
        "The output directory has an asset of the robot's name from another source.",
        "Nothing is written, unless `--replace` replaces that asset.";
    WOULD_REMOVE Error "output-would-remove":
        "Files of the asset in the output directory would be removed, and the options that they were made with are not known: `fix` or another \
         version made them, or another conversion at the same time.",
        "Nothing is written, unless `--replace` removes them.";
    KEPT Info "output-kept":
        "The asset in the output directory has formats or overlays from an earlier conversion of the same source that this one does not name.",
        "They are written again, with the options that they were written with, so that all files show the same robot.";
    OUTPUT Error "output-unwritable": "The asset can't be written.", "Nothing is published; the last revision stays.";
    UNCHECKED Warning "asset-unchecked": "The requested check of the asset against REP-158 failed to run.",
        "The asset is published unchecked.";
    SIMREADY_INCOMPLETE Warning "simready-incomplete":
        "A field that SimReady's metadata requires is unknown: the robot's author, or its licence.",
        "The field is omitted; SimReady's validation reports it.";
    TYPE_MISSING Warning "ros-type-missing":
        "The sourced ROS workspace (AMENT_PREFIX_PATH) lacks the type of a topic, service or action of the asset.",
        "The interface is written nevertheless. A simulator without the type skips it (REP-158 §2.3).";
    TOO_MUCH_MESH Error "convert-too-much-mesh":
        "The meshes of a robot together have more than 16 Mi triangles, or their files more than 2 GiB.",
        "Nothing is published; the last revision stays.";
    TIMED_OUT Error "convert-timed-out": "The conversion exceeded its time limit.",
        "Nothing is published; the last revision stays.";
    OUT_OF_MEMORY Error "convert-out-of-memory":
        "The process of a conversion, or of another command, exceeded its memory limit (`memory_limit`) or the memory of the machine.",
        "Nothing is published; the last revision stays. The node goes on, and skips the robot until its description, one of its files or a \
         parameter changes.";
    CRASHED Error "convert-crashed": "The process of a conversion, or of another command, ended without a result: a defect of urdf_usd.",
        "Nothing is published; the last revision stays. The node goes on, and skips the robot until its description, one of its files or a \
         parameter changes.";
    CANCELLED Error "convert-cancelled": "The conversion was cancelled.",
        "Nothing is published; the last revision stays.";
    INTERNAL Error "internal-error": "A defect of urdf_usd.", "Nothing is published; the last revision stays.";
}
