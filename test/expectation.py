"""The expected structure of a converted robot, derived from the URDF by the rules of the docs/output.md: which links become bodies or frames,
and which joints become joint prims. Independent of the program."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Expectation:
    world: str | None  # the link of the default prim
    bodies: set  # link names
    frames: set  # link names
    joints: dict  # joint name → (body0 link or None, body1 link)
    content: dict  # body → the link whose mass and shapes it has: itself, or the one that an empty moving base replaces
    body_of: dict  # link → the body that it is rigidly attached to, None for the world
    holder: dict  # body or frame → the link of its parent prim, None for the default prim
    trees: list  # sets of bodies that joints connect, without those that close loops; their bases are in `bases`
    bases: list  # the body of each tree that no joint moves
    adjacent: set  # frozensets of two bodies that a joint of the URDF connects; a floating one connects nothing

    def weighed(self, urdf, body):
        """Returns the link whose mass a body has, with the frame of its inertia in the body."""
        link = urdf.links[self.content[body]]
        if link.inertial is None:
            return link
        rest = urdf.link_poses()
        return replace(link, inertial=np.linalg.inv(rest[body]) @ rest[link.name] @ link.inertial)

    @property
    def fixed_base(self):
        return any(body0 is None for body0, _ in self.joints.values())


def of(urdf):
    roots = urdf.roots
    below = {joint.parent for joint in urdf.joints.values() if urdf.parent_joint[joint.child] == joint.name}
    world = "world" if "world" in roots and ("world" in below or not urdf.links["world"].empty) else None
    children = {link: [] for link in urdf.links}
    for child, joint in urdf.parent_joint.items():
        children[urdf.joints[joint].parent].append(urdf.joints[joint])

    def order(link):
        yield link
        for joint in children[link]:
            yield from order(joint.child)

    links = [link for root in roots for link in order(root)]
    turns = lambda joint: joint.kind not in ("fixed", "floating")
    #: Whether anything at or below the link needs a body in its tree: it can be seen, touched or weighed, or a joint moves it. What floats
    #: is a tree of its own.
    needs = {link: not urdf.links[link].empty for link in links}
    for joint in filter(turns, urdf.loops):
        needs[joint.parent] = needs[joint.child] = True
    for link in reversed(links):
        needs[link] |= any(turns(j) or j.kind == "fixed" and needs[j.child] for j in children[link])

    def solid_on(link):
        """Returns the first non-empty links on each branch that are fixed to the link, including itself."""
        if not urdf.links[link].empty:
            return [link]
        return [solid for j in children[link] if j.kind == "fixed" for solid in solid_on(j.child)]

    bodies, frames, body_of, content = set(), set(), {}, {}
    for link in links:
        joint = urdf.joints.get(urdf.parent_joint.get(link))
        is_free = joint is None or joint.kind == "floating"
        if link == world:
            body_of[link] = None
        elif joint and joint.kind != "fixed" or not urdf.links[link].empty and link not in content.values() or is_free and needs[link]:
            bodies.add(link)
            body_of[link] = content[link] = link
            # An empty moving base takes the mass of the only link that is fixed to it.
            if is_free and urdf.links[link].empty and len(solid_on(link)) == 1:
                (content[link],) = solid_on(link)
        else:
            frames.add(link)
            body_of[link] = body_of[joint.parent] if joint else None

    joints = {}
    for joint in urdf.joints.values():
        body0, body1 = body_of[joint.parent], body_of[joint.child]
        closes_loop = urdf.parent_joint[joint.child] != joint.name
        if joint.kind == "floating" or body1 is None or body0 == body1:
            continue
        if joint.child in frames and not closes_loop:
            continue
        joints[joint.name] = (body0, body1)

    holder = {}
    for link in bodies | frames:
        joint = urdf.joints.get(urdf.parent_joint.get(link))
        # A floating link begins a separate tree.
        top = joint is None or joint.parent == world or (joint.kind == "floating" and link in bodies)
        holder[link] = None if top else joint.parent

    above = {body1: body0 for name, (body0, body1) in joints.items() if urdf.joints[name] not in urdf.loops}
    bases = [link for link in links if link in bodies and above.get(link) is None]

    def base_of(body):
        return body if above.get(body) is None else base_of(above[body])

    trees = [{body for body in bodies if base_of(body) == base} for base in bases]
    pairs = {frozenset((body_of[j.parent], body_of[j.child])) for j in urdf.joints.values() if j.kind != "floating"}
    adjacent = {pair for pair in pairs if len(pair) == 2 and None not in pair}
    return Expectation(world, bodies, frames, joints, content, body_of, holder, trees, bases, adjacent)
