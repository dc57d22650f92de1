//! What a running robot was seen to offer, taken into the robot that its source describes.

use std::mem::discriminant;

use super::{Captured, Interface, InterfaceKind, LinkId, Pose, Robot, Sensor, SensorKind};
use crate::diagnostic::Place;

impl Robot {
    /// Takes in what the running robot was seen to have. An interface that the source names already becomes what was seen. A topic
    /// whose messages are in the frame of a link belongs to that link, everything else to the robot as a whole.
    pub fn take_captured(&mut self, captured: &[Captured]) {
        for seen in captured {
            let frame = seen.frame.as_deref().and_then(|frame| self.link_of_frame(frame));
            let mut interface = seen.interface.clone();
            if let Some((known, fits)) = self.known(&interface, frame) {
                if let (false, InterfaceKind::Publisher { rate, .. }, InterfaceKind::Publisher { rate: said, .. }) =
                    (seen.is_measured, &mut interface.kind, known.kind)
                {
                    *rate = said;
                }
                // The topics of a controller are there whether it is active or not.
                interface.starts_enabled = known.starts_enabled;
                if fits {
                    *known = interface;
                    continue;
                }
                self.remove(&interface);
            }
            match frame {
                Some(link) => self.sensors.push(Sensor {
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

    /// The link whose frame has this name, with the slash of old in front or without.
    fn link_of_frame(&self, frame: &str) -> Option<LinkId> {
        let frame = frame.trim_start_matches('/');
        self.links.iter().position(|link| link.name == frame).map(LinkId)
    }

    /// The interface of the source that is the same, and whether it stands where messages in `frame` belong.
    fn known(&mut self, interface: &Interface, frame: Option<LinkId>) -> Option<(&mut Interface, bool)> {
        let of_sensors = self.sensors.iter_mut().flat_map(|sensor| {
            let fits = frame.is_none_or(|frame| frame == sensor.link || Some(frame) == sensor.frame);
            sensor.interfaces.iter_mut().map(move |known| (known, fits))
        });
        let of_robot = self.interfaces.iter_mut().map(|known| (known, frame.is_none()));
        of_sensors.chain(of_robot).find(|(known, _)| is_same(known, interface))
    }

    fn remove(&mut self, interface: &Interface) {
        self.sensors.iter_mut().for_each(|sensor| sensor.interfaces.retain(|known| !is_same(known, interface)));
        self.interfaces.retain(|known| !is_same(known, interface));
    }
}

/// Whether two interfaces are one: under one name, at the same end.
fn is_same(a: &Interface, b: &Interface) -> bool {
    a.name.trim_matches('/') == b.name.trim_matches('/') && discriminant(&a.kind) == discriminant(&b.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::Qos;

    const QOS: Qos = Qos::Seen { is_reliable: false, is_latched: false, depth: None };

    fn robot() -> Robot {
        let text = "<robot name='r'><link name='base'/><link name='laser'/>
            <joint name='j' type='fixed'><parent link='base'/><child link='laser'/></joint>
            <gazebo reference='base'><sensor name='lidar' type='ray'><update_rate>7</update_rate><topic>scan</topic></sensor></gazebo></robot>";
        crate::urdf::read(text, None).robot.unwrap()
    }

    fn seen(name: &str, frame: Option<&str>, rate: Option<f64>) -> Captured {
        let kind = InterfaceKind::Publisher { rate: rate.unwrap_or(1.0), qos: QOS };
        let interface = Interface { name: name.to_owned(), type_name: "a/msg/B".to_owned(), kind, starts_enabled: true };
        Captured { interface, is_measured: rate.is_some(), frame: frame.map(str::to_owned) }
    }

    fn rate(interface: &Interface) -> f64 {
        let InterfaceKind::Publisher { rate, .. } = interface.kind else { panic!("{interface:?}") };
        rate
    }

    #[test]
    fn what_the_source_names_becomes_what_was_seen() {
        let mut robot = robot();
        assert_eq!(robot.sensors[0].interfaces[0].name, "scan");
        robot.take_captured(&[seen("scan", Some("base"), None)]);
        let scan = &robot.sensors[0].interfaces[0];
        // The rate was not measured, so what the source says stands.
        assert_eq!((scan.type_name.as_str(), rate(scan), robot.sensors.len()), ("a/msg/B", 7.0, 1));
        robot.take_captured(&[seen("scan", None, Some(12.0))]);
        assert_eq!(rate(&robot.sensors[0].interfaces[0]), 12.0);
    }

    #[test]
    fn what_starts_disabled_still_does_when_it_was_seen() {
        let mut robot = robot();
        robot.interfaces = vec![Interface { starts_enabled: false, ..seen("a/commands", None, None).interface }];
        robot.take_captured(&[seen("a/commands", None, Some(3.0)), seen("b/commands", None, None)]);
        let starts: Vec<bool> = robot.interfaces.iter().map(|interface| interface.starts_enabled).collect();
        assert_eq!((rate(&robot.interfaces[0]), starts), (3.0, vec![false, true]));
    }

    #[test]
    fn it_moves_to_the_frame_of_its_messages() {
        let mut robot = robot();
        robot.take_captured(&[seen("scan", Some("/laser"), None)]);
        assert!(robot.sensors[0].interfaces.iter().all(|interface| interface.name != "scan"));
        assert_eq!((robot.sensors[1].name.as_str(), robot.sensors[1].link), ("scan", LinkId(1)));
        assert_eq!(rate(&robot.sensors[1].interfaces[0]), 7.0);
        // Seen again, it stays there.
        robot.take_captured(&[seen("scan", Some("laser"), Some(3.0))]);
        assert_eq!((robot.sensors.len(), rate(&robot.sensors[1].interfaces[0])), (2, 3.0));
    }

    #[test]
    fn what_is_new_belongs_to_its_frame_or_to_the_robot() {
        let mut robot = robot();
        let action = Interface { kind: InterfaceKind::ActionServer, ..seen("dock", None, None).interface };
        let action = Captured { interface: action, is_measured: false, frame: None };
        robot.take_captured(&[seen("front/image", Some("laser"), None), seen("odom", Some("odom"), None), action]);
        assert_eq!(robot.sensors[1].name, "front_image");
        assert_eq!(robot.interfaces.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["odom", "dock"]);
    }
}
