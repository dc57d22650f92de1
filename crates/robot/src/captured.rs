//! Merges the ROS interfaces observed on a running robot into the robot that its source describes.

use std::mem::discriminant;

use super::{Captured, Interface, InterfaceKind, LinkId, Pose, Robot, Sensor, SensorKind};
use urdf_usd_diagnostic::Place;

impl Robot {
    /// Merges the interfaces observed on the running robot. An observed interface replaces the one
    /// of the same name from the source. A topic whose messages are in the frame of a link is
    /// assigned to that link, all others to the robot as a whole.
    pub fn take_captured(&mut self, captured: &[Captured]) {
        for seen in captured {
            let frame = seen
                .frame
                .as_deref()
                .and_then(|frame| self.link_of_frame(frame));
            let mut interface = seen.interface.clone();
            if let Some((known, fits)) = self.known(&interface, frame) {
                if let (
                    false,
                    InterfaceKind::Publisher { rate, .. },
                    InterfaceKind::Publisher { rate: said, .. },
                ) = (seen.is_measured, &mut interface.kind, known.kind)
                {
                    *rate = said;
                }
                // A controller's topics exist whether it is active or not.
                interface.starts_enabled = known.starts_enabled;
                if fits {
                    *known = interface;
                    continue;
                }
                // It moves to the link of its frame, away from its former owner.
                self.remove(&interface);
            }
            match frame {
                Some(link) => self.sensors_and_interfaces_mut().0.push(Sensor {
                    name: interface.name.trim_matches('/').replace('/', "_"),
                    kind: SensorKind::Other,
                    link,
                    origin: Pose::identity(),
                    frame: None,
                    frame_name: None,
                    interfaces: vec![interface],
                    place: Place::default(),
                }),
                None => self.interfaces.push(interface),
            }
        }
    }

    /// Returns the link whose frame has this name, with or without a leading slash.
    fn link_of_frame(&self, frame: &str) -> Option<LinkId> {
        let frame = frame.trim_start_matches('/');
        self.link_named(frame)
    }

    /// Returns the same interface of the source, and whether it already belongs to the owner that
    /// `frame` implies.
    fn known(
        &mut self,
        interface: &Interface,
        frame: Option<LinkId>,
    ) -> Option<(&mut Interface, bool)> {
        let (sensors, interfaces) = self.sensors_and_interfaces_mut();
        let of_sensors = sensors.iter_mut().flat_map(|sensor| {
            let fits =
                frame.is_none_or(|frame| frame == sensor.link || Some(frame) == sensor.frame);
            sensor.interfaces.iter_mut().map(move |known| (known, fits))
        });
        let of_robot = interfaces.iter_mut().map(|known| (known, frame.is_none()));
        of_sensors
            .chain(of_robot)
            .find(|(known, _)| is_same(known, interface))
    }

    fn remove(&mut self, interface: &Interface) {
        let (sensors, interfaces) = self.sensors_and_interfaces_mut();
        let of_sensors = sensors.iter_mut().map(|sensor| &mut sensor.interfaces);
        for interfaces in of_sensors.chain([interfaces]) {
            interfaces.retain(|known| !is_same(known, interface));
        }
    }
}

/// Returns whether two interfaces are the same: one name, one direction.
fn is_same(a: &Interface, b: &Interface) -> bool {
    a.name.trim_matches('/') == b.name.trim_matches('/')
        && discriminant(&a.kind) == discriminant(&b.kind)
}
