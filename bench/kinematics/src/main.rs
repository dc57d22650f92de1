//! Times the crate kinematics and the crate `k` on one arm.
//!
//! `urdf_usd_bench_kinematics ROBOT.urdf BASE TIP COUNT ATTEMPTS`: a JSON object with the
//! configurations (by joint name, random within limits), the poses of the tip (4×4, row by row),
//! the middles of all ranges, µs for forward kinematics and Jacobian of the tip, and for each
//! solver and target µs and the solution, or null.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use k::prelude::*;
use serde_json::{Value, json};
use urdf_usd_kinematics::ik::{Goal, Lm, Problem, Restarts, Starts, Target, solve};
use urdf_usd_kinematics::{Chain, Mechanism, Random, Reference, Transform, Twist};
use urdf_usd_robot::Pose;

const ROUNDS: usize = 200;

fn micros(from: Instant) -> f64 {
    from.elapsed().as_secs_f64() * 1e6
}

/// Returns the µs per item, of the best of several rounds over all `items`.
fn each<T>(items: &[T], mut run: impl FnMut(&T)) -> f64 {
    let round = |run: &mut dyn FnMut(&T)| {
        let start = Instant::now();
        items.iter().for_each(run);
        micros(start) / items.len() as f64
    };
    (0..ROUNDS).map(|_| round(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, base, tip, count, attempts] = arguments.as_slice() else {
        return Err("ROBOT BASE TIP COUNT ATTEMPTS".into());
    };
    let (count, attempts): (usize, usize) = (count.parse()?, attempts.parse()?);
    let robot = urdf_usd_urdf::read(&std::fs::read_to_string(file)?, None).robot.ok_or("no robot")?;
    let find = |name: &str| robot.link_named(name).ok_or("no such link");
    let (base, tip) = (find(base)?, find(tip)?);
    let mechanism = Mechanism::of(&robot);
    let chain = Chain::between(&mechanism, base, tip)?;
    let name = |coordinate: usize| robot.joints()[mechanism.coordinates()[coordinate].joint].name();
    let names: Vec<&str> = chain.coordinates().iter().map(|at| name(*at)).collect();
    let mut random = Random::new(5);
    let all: Vec<Vec<f64>> = (0..count)
        .map(|_| {
            let mut q = mechanism.rest();
            mechanism.random_configuration(&mut random, &mut q);
            q
        })
        .collect();
    let own = |q: &Vec<f64>| {
        let mut own = vec![0.0; names.len()];
        chain.gather(q, &mut own);
        own
    };
    let configurations: Vec<Vec<f64>> = all.iter().map(own).collect();
    let targets: Vec<Transform> = configurations.iter().map(|q| chain.forward(q)).collect();

    let mut positions = vec![0.0; mechanism.position_count()];
    let mut poses = vec![Pose::identity(); robot.links().len()];
    let mut columns = vec![Twist::zeros(); names.len()];
    let ours = json!({
        "forward of all links": each(&all, |q| { mechanism.poses(q, &mut positions, &mut poses); black_box(&poses); }),
        "forward of the tip": each(&configurations, |q| { black_box(chain.forward(q)); }),
        "forward and Jacobian": each(&configurations, |q| { black_box(chain.jacobian(q, Reference::TipInBase, &mut columns)); }),
    });

    // Every target from the middle of all ranges.
    let middle: Vec<f64> = mechanism
        .coordinates()
        .iter()
        .map(|c| match c.bounds.sides() {
            (Some(lower), Some(upper)) => 0.5 * (lower + upper),
            _ => 0.0,
        })
        .collect();
    let mut problem = Problem::new(&mechanism, &[Target::new(base, tip, Goal::Pose(targets[0].pose()))])?;
    let mut lm = Lm::default();
    let since = Instant::now();
    let mut starts = Starts::new(&problem, &middle);
    let table = micros(since);
    let mut solved: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, attempts, is_chosen) in [
        ("this, start chosen, restarts", attempts, true),
        ("this, start chosen, one run", 1, true),
        ("this, from the middle, restarts", attempts, false),
        ("this, from the middle, one run", 1, false),
    ] {
        for (seed, target) in targets.iter().enumerate() {
            let mut q = middle.clone();
            let since = Instant::now();
            problem.aim(0, &Goal::Pose(target.pose()));
            if is_chosen {
                starts.choose(&problem, &mut q);
            }
            let outcome = solve(&mut lm, &problem, &mut q, &Restarts { attempts, seed: seed as u64 });
            let time = micros(since);
            solved.entry(name).or_default().push(json!([time, outcome.is_reached.then(|| own(&q))]));
        }
    }

    // `k` moves the joints that it is given, and knows only links that a joint moves.
    let other = k::Chain::<f64>::from_urdf_file(file)?;
    let links_moved = each(&all, |q| {
        let by_name: BTreeMap<&str, f64> =
            mechanism.coordinates().iter().zip(q).map(|(c, q)| (robot.joints()[c.joint].name(), *q)).collect();
        let positions: Vec<f64> =
            other.iter_joints().map(|joint| by_name.get(joint.name.as_str()).copied().unwrap_or(0.0)).collect();
        other.set_joint_positions_unchecked(&positions);
        black_box(other.update_transforms());
    });
    // From the root to the last moving link: in chains that start at another link, `k` mixes the
    // frames of its Jacobian and its poses. So with joints before the base, only links are
    // compared.
    let last = chain
        .joints()
        .iter()
        .map(|joint| &robot.joints()[joint.joint])
        .rfind(|joint| joint.kind().as_str() != "fixed")
        .ok_or("nothing moves")?;
    let arm = k::SerialChain::from_end(other.find(last.name()).ok_or("k has no such joint")?);
    let mut theirs = json!({ "forward of all links": links_moved });
    if arm.dof() == names.len() {
        theirs["forward of the tip"] = each(&configurations, |q| {
            arm.set_joint_positions_unchecked(q);
            black_box(arm.end_transform());
        })
        .into();
        theirs["forward and Jacobian"] = each(&configurations, |q| {
            arm.set_joint_positions_unchecked(q);
            black_box(k::jacobian(&arm));
        })
        .into();
        let solver = k::JacobianIkSolver::new(1e-6, 1e-6, 0.5, 100);
        let of_chain = own(&middle);
        for (q, seed) in configurations.iter().zip(0..) {
            arm.set_joint_positions_unchecked(q);
            let target = arm.end_transform();
            let mut random = Random::new(seed);
            let start = Instant::now();
            let (mut positions, mut reached) = (of_chain.clone(), false);
            for attempt in 0..attempts {
                if attempt > 0 {
                    let mut q = mechanism.rest();
                    mechanism.random_configuration(&mut random, &mut q);
                    chain.gather(&q, &mut positions);
                }
                if arm.set_joint_positions(&positions).is_ok() && solver.solve(&arm, &target).is_ok() {
                    reached = true;
                    break;
                }
            }
            let time = micros(start);
            let found = reached.then(|| arm.joint_positions());
            solved.entry("k").or_default().push(json!([time, found]));
        }
    }
    let rows = |pose: &Transform| {
        let row = |i: usize| [pose.rotation[(i, 0)], pose.rotation[(i, 1)], pose.rotation[(i, 2)], pose.translation[i]];
        [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
    };
    let told = json!({
        "joints": names, "configurations": configurations, "targets": targets.iter().map(rows).collect::<Vec<_>>(), "middle": own(&middle),
        "ours": ours, "k": theirs, "table": table, "solved": solved,
    });
    println!("{told}");
    Ok(())
}
