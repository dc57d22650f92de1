//! Indices of nodes are in range.

use super::{Findings, Subject, rule};
use crate::asset::plural;
use urdf_usd_gltf_extension::Field;

rule! {
    severity: Error,
    meaning: "The index of a node is not that of a node.",
    outcome: "Loaders can't find the frame, the degree of freedom or the shape.",
    demand: "`rootNode`, `node`, `visualNodes`, `collisionNodes`, `originNode` and `dofNodes` MUST \
             be indices of nodes of the asset.",
    section: ("glTF schema", "#gltf-schema"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let mut look = Look {
        count: subject.asset.nodes.len(),
        findings,
    };
    for model in &subject.asset.models {
        look.at_one(&model.title(), model.read.root_node());
        for link in &model.links {
            let title = link.title();
            look.at_one(&title, link.read.node());
            look.at_each(
                &title,
                link.read.visual_nodes(),
                link.read.each_visual_node(),
            );
            look.at_each(
                &title,
                link.read.collision_nodes(),
                link.read.each_collision_node(),
            );
        }
        for joint in &model.joints {
            let title = joint.title();
            look.at_one(&title, joint.read.origin_node());
            look.at_each(&title, joint.read.dof_nodes(), joint.read.each_dof_node());
        }
    }
}

struct Look<'f, 'a> {
    /// The number of nodes.
    count: usize,
    findings: &'f mut Findings<'a>,
}

impl Look<'_, '_> {
    fn at_one(&mut self, title: &str, field: Field<'_, '_, usize>) {
        let (what, at) = (field.key, field.at());
        self.at_node(title, what, at, field.value());
    }

    fn at_each(
        &mut self,
        title: &str,
        field: Field<'_, '_, Vec<usize>>,
        nodes: Vec<Option<usize>>,
    ) {
        for (entry, node) in nodes.into_iter().enumerate() {
            self.at_node(title, field.key, format!("{}/{entry}", field.at()), node);
        }
    }

    fn at_node(&mut self, title: &str, what: &str, at: String, node: Option<usize>) {
        let Some(node) = node.filter(|&node| node >= self.count) else {
            return;
        };
        let message = format!(
            "{title}: {what} names node {node}, and the asset has {}",
            plural(self.count, "node")
        );
        self.findings.report(
            at,
            message,
            "give the node's place in the asset's `nodes`, from 0",
        );
    }
}
