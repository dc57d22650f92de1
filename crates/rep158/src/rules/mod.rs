//! The rules of REP-158, a folder each.
//!
//! The folder of a rule has the number of its code and a name: `r3_5_1_repeated_meshes` reports
//! `REP158-3.5.1`. Its `mod.rs` declares the rule and checks it; the files of its examples are in
//! `breaks` and `keeps`. Rules of the public checker (`ros-openusd-compliance-checker`) have the same
//! numbers there; the rules that only this program has follow them in each section.

use urdf_usd_diagnostic::{IdForm, ModuleId, rule, rules};

use super::Rule;
use super::findings::Findings;
use super::subject::Subject;

const fn id(module: &str) -> ModuleId {
    ModuleId::new("REP158-", module, IdForm::Number)
}

/// Builds an example from the listed files in a rule's folder `breaks` or `keeps`, by default
/// `robot.usda`. The content of a file can be `from` a file of another name, or a text (`=`).
macro_rules! example {
    ($folder:literal) => {
        example!($folder ["robot.usda"])
    };
    ($folder:literal [$($name:literal $(from $file:literal)? $(= $text:literal)?),+ $(,)?]) => {
        vec![$(($name, Some(example!(@text $folder $name $(from $file)? $(= $text)?)))),+]
    };
    (@text $folder:literal $name:literal) => {
        include_str!(concat!($folder, "/", $name)).trim_end()
    };
    (@text $folder:literal $name:literal from $file:literal) => {
        example!(@text $folder $file)
    };
    (@text $folder:literal $name:literal = $text:literal) => {
        $text
    };
}

rules! {
    r0_1_composition,
    r0_2_targets,
    r0_3_files,
    r1_1_1_meters_per_unit,
    r1_1_2_kilograms_per_unit,
    r1_1_3_up_axis,
    r1_1_4_root_transform,
    r1_1_5_time_codes_per_second,
    r1_1_6_kinematic_stack,
    r1_1_7_kinematic_scale,
    r1_1_8_layer_units,
    r1_1_9_matrices_and_angles,
    r1_1_10_scale_of_groups,
    r1_1_11_pivot,
    r1_2_1_default_prim,
    r1_2_2_asset_identifier,
    r1_2_3_asset_version,
    r1_2_4_asset_paths,
    r1_2_6_kind_in_component,
    r1_2_7_variant_selection,
    r1_2_8_inherits,
    r1_2_9_prefabs,
    r1_2_10_payload_contents,
    r1_2_11_point_instancer,
    r1_2_12_binary_schemas,
    r1_2_13_text_arrays,
    r1_2_14_kind_of_root,
    r1_2_15_model_hierarchy,
    r1_2_16_functional_layers,
    r1_2_17_geometry_layers,
    r1_2_18_layer_names,
    r1_2_19_heavy_payloads,
    r1_2_20_entry_layer,
    r1_2_21_provenance,
    r1_2_22_self_contained,
    r1_2_23_default_state,
    r1_2_24_clones,
    r1_3_1_joint_limits,
    r1_3_2_articulation_root,
    r1_3_3_mass,
    r1_3_4_collider_purpose,
    r1_3_5_physics_material,
    r1_3_7_mimic_joint,
    r1_3_8_instanceable,
    r1_3_9_mimic_schema,
    r1_3_10_limit_values,
    r1_3_11_joint_bodies,
    r1_3_12_loops,
    r1_3_13_anchor,
    r1_3_14_kinematic,
    r1_3_15_static_body,
    r1_3_16_static_collider,
    r1_3_17_dummy_frame,
    r1_3_18_inertia,
    r1_3_19_principal_axes,
    r1_3_20_inertia_matrix,
    r1_3_21_joint_placement,
    r1_3_22_collision_variants,
    r1_3_23_collision_default,
    r1_3_24_visual_and_collision,
    r1_3_25_visual_variants,
    r1_3_26_visual_names,
    r1_3_27_collision_groups,
    r1_3_28_missing_root,
    r1_3_29_drive_instance,
    r1_4_1_vendor_opinions,
    r1_4_2_core_physics,
    r2_1_1_context_in_payload,
    r2_1_2_parent_frame,
    r2_1_3_namespace,
    r2_1_4_namespace_unique,
    r2_1_5_context_on_default_prim,
    r2_1_6_domain_id,
    r2_1_7_parent_frame_form,
    r2_2_1_interface_in_payload,
    r2_2_2_interface_on_body,
    r2_2_3_one_interface,
    r2_2_4_interface_type,
    r2_2_5_no_context,
    r2_2_6_sensor_on_link,
    r2_2_7_robot_wide,
    r2_2_8_declared_twice,
    r2_2_9_attribute,
    r2_3_1_name,
    r2_3_2_type_form,
    r2_3_3_type_unknown,
    r2_3_4_name_clash,
    r2_4_1_topic_role,
    r2_4_2_topic_name,
    r2_4_3_topic_type,
    r2_4_4_publish_rate,
    r2_4_5_qos,
    r2_4_6_topic_enabled,
    r2_4_7_override_frame_form,
    r2_4_8_match_publisher,
    r2_4_9_depth,
    r2_4_10_override_frame_here,
    r2_4_11_sensor_qos,
    r2_4_12_override_frame_type,
    r2_5_1_service,
    r2_5_2_service_enabled,
    r2_6_1_action,
    r2_6_2_action_enabled,
    r2_7_1_frame_on_body,
    r2_7_2_frame_id,
    r2_7_3_frame_static,
    r2_7_4_frame_type,
    r2_7_5_frame_unique,
    r2_7_6_frame_prim_name,
    r2_7_7_frame_moves,
    r2_8_1_optical_frame,
    r2_8_2_camera_topic,
    r2_9_1_clock_name,
    r2_9_2_prohibited_type,
    r2_10_1_joint_name,
    r2_10_2_joint_name_form,
    r2_10_3_joint_name_unique,
    r2_10_4_joint_name_aligned,
    r3_1_1_preview_surface,
    r3_1_2_udim,
    r3_1_3_texture_range,
    r3_1_4_subset_family,
    r3_1_5_binding_api,
    r3_2_1_texture_format,
    r3_2_2_data_map,
    r3_2_3_jpeg_alpha,
    r3_2_4_environment,
    r3_2_5_texture_there,
    r3_2_6_texture_size,
    r3_3_1_procedural,
    r3_3_2_vertex_colors,
    r3_3_3_texture_coordinates,
    r3_4_1_triangles,
    r3_4_2_orientation,
    r3_4_3_double_sided,
    r3_4_4_watertight,
    r3_4_5_winding,
    r3_4_6_topology,
    r3_4_7_crossings,
    r3_4_8_inverted_faces,
    r3_5_1_repeated_meshes,
    r3_5_2_instanceable_without_arc,
    r3_6_1_area_light,
    r3_6_2_core_light,
    r4_2_1_mimic_follower,
    r4_2_2_mimic_leader,
    r4_2_3_mimic_circle,
    r4_2_4_actuator,
    r4_2_5_clamping,
    r4_2_6_extended_names,
    r4_2_7_core_prefix,
    r4_2_8_native_prims,
    r4_2_9_no_transport,
    r4_2_11_controllers_apart,
    r4_2_12_controller_place,
    r4_2_13_controller_targets,
    r4_2_14_sensor_prim,
    r4_2_15_ground_truth,
    r4_2_16_registry_controllers,
    r4_2_17_neutral_extension,
}
