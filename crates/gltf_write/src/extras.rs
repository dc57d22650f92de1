//! Conversion of the robot's properties that neither glTF nor the extension can express to extras
//! of nodes, links and joints.

use super::limits::limits_its_dofs;
use super::numbers::finite;
use crate::json::extras::{
    Custom, Drive, Element, Form, Inertial, JointExtras, LinkExtras, Placement, ShapeExtras,
};
use crate::json::limit::Limit;
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{self as robot, Connector};

impl ShapeExtras {
    /// Returns the extras of `shape`.
    pub fn of(shape: &robot::Shape) -> Self {
        Self {
            shape_name: shape.name.clone().filter(|name| !name.is_empty()),
            geometry: Form::of(&shape.geometry),
            stand_in_for: shape.stand_in_for.clone(),
            custom: Custom::of(&shape.custom),
        }
    }
}

impl Form {
    fn of(geometry: &robot::Geometry) -> Self {
        match *geometry {
            robot::Geometry::Box { size } => Self::Box {
                size: axes::vector(&size),
            },
            robot::Geometry::Cylinder { radius, length } => Self::Cylinder { radius, length },
            robot::Geometry::Sphere { radius } => Self::Sphere { radius },
            robot::Geometry::Capsule { radius, length } => Self::Capsule { radius, length },
            robot::Geometry::Mesh { .. } | robot::Geometry::Missing { .. } => Self::Mesh,
        }
    }
}

impl LinkExtras {
    /// Returns the extras of `link`.
    pub fn of(link: &robot::Link) -> Self {
        Self {
            inertial: link.inertial.as_ref().map(Inertial::of),
            connector: link.connector.map(Connector::as_str),
            custom: Custom::of(&link.custom),
        }
    }
}

impl Inertial {
    fn of(inertial: &robot::Inertial) -> Self {
        let i = &inertial.inertia;
        // glTF's x, y, z are y, z, x in ROS axes.
        let inertia = [i.m22, i.m23, i.m12, i.m33, i.m13, i.m11];
        Self {
            mass: inertial.mass,
            origin: Placement::of(&inertial.origin),
            inertia,
            assumed: inertial.is_assumed,
        }
    }
}

impl Placement {
    /// Returns the placement of `pose`, in glTF axes.
    pub fn of(pose: &robot::Pose) -> Self {
        Self {
            translation: axes::vector(&pose.translation.vector),
            rotation: axes::rotation(&pose.rotation),
        }
    }
}

impl JointExtras {
    /// Returns the extras of `joint`.
    pub fn of(joint: &robot::Joint) -> Self {
        let limit = joint
            .limit
            .filter(|_| !limits_its_dofs(joint.kind()))
            .map(|limit| Limit::of(&limit))
            .filter(|limit| *limit != Limit::default());
        let reference_position = finite(joint.calibration.and_then(|c| c.reference_position));
        Self {
            limit,
            reference_position,
            drive: joint.drive().and_then(|drive| Drive::of(&drive)),
            custom: Custom::of(&joint.custom),
        }
    }
}

impl Drive {
    /// Returns a drive with gains; `None` if it has none.
    fn of(drive: &robot::Drive) -> Option<Self> {
        let gains = drive.gains?;
        Some(Self {
            command: drive.command.as_str(),
            stiffness: gains.stiffness,
            damping: gains.damping,
            initial_position: finite(drive.initial_position),
            target_position: finite(gains.target_position),
            target_velocity: finite(gains.target_velocity),
            max_force: finite(gains.max_force),
            acceleration: gains.is_acceleration,
        })
    }
}

impl Custom {
    /// Returns all of `custom`.
    pub fn of(custom: &robot::Custom) -> Self {
        Self {
            attributes: custom.attributes.clone(),
            elements: custom.elements.iter().map(Element::of).collect(),
        }
    }
}

impl Element {
    fn of(element: &robot::Element) -> Self {
        Self {
            name: element.name.clone(),
            attributes: element.attributes.clone(),
            text: element.text.clone(),
            children: element.children.iter().map(Self::of).collect(),
        }
    }
}
