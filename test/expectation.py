"""What a converted robot must hold, derived from the URDF by the rules of the README: which links become bodies, which frames,
and which joints become joint prims. Written apart from the program, to be held against it."""

from dataclasses import dataclass


@dataclass
class Expectation:
    world: str | None  # the link that the default prim stands for
    bodies: set  # link names
    frames: set  # link names
    joints: dict  # joint name → (body0 link or None, body1 link)
    body_of: dict  # link → the body that it is rigid with, None where only the world is
    holder: dict  # body or frame → the link whose prim holds its own, None for the default prim
    trees: list  # sets of bodies that joints connect, those that close loops left out, each with its base first in `bases`
    bases: list  # of each tree the body that no joint moves against another
    adjacent: set  # frozensets of two bodies that a joint of the URDF connects; a floating one connects nothing

    @property
    def fixed_base(self):
        return any(body0 is None for body0, _ in self.joints.values())


def of(urdf):
    roots = urdf.roots
    world = roots[0] if roots == ["world"] and urdf.links["world"].empty and len(urdf.links) > 1 else None
    children = {link: [] for link in urdf.links}
    for child, joint in urdf.parent_joint.items():
        children[urdf.joints[joint].parent].append(urdf.joints[joint])

    def order(link):
        yield link
        for joint in children[link]:
            yield from order(joint.child)

    links = [link for root in roots for link in order(root)]
    #: Whether anything below or at the link can be seen, touched or weighed.
    solid = {}
    for link in reversed(links):
        solid[link] = not urdf.links[link].empty or any(solid[j.child] for j in children[link])

    def must_hold_together(link):
        """An empty link without a body above it is one itself if several solid things hang on it, or one that moves."""
        hung = [j for j in children[link] if solid[j.child]]
        return len(hung) > 1 or any(j.kind != "fixed" for j in hung)

    bodies, frames, body_of = set(), set(), {}
    for link in links:
        joint = urdf.joints.get(urdf.parent_joint.get(link))
        above = body_of[joint.parent] if joint else None
        if link == world:
            body_of[link] = None
        elif not urdf.links[link].empty or (joint and joint.kind != "fixed"):
            bodies.add(link)
            body_of[link] = link
        elif above is None and world is None and must_hold_together(link):
            bodies.add(link)
            body_of[link] = link
        else:
            frames.add(link)
            body_of[link] = above

    joints = {}
    for joint in urdf.joints.values():
        body0, body1 = body_of[joint.parent], body_of[joint.child]
        closes_loop = urdf.parent_joint[joint.child] != joint.name
        if joint.kind == "floating" or body1 is None or body0 == body1:
            continue
        if joint.child in frames and not closes_loop:
            continue
        if body0 is not None or world is not None:
            joints[joint.name] = (body0, body1)

    holder = {}
    for link in bodies | frames:
        joint = urdf.joints.get(urdf.parent_joint.get(link))
        # What floats is a tree of its own, beside the one that it floats above.
        top = joint is None or joint.parent == world or (joint.kind == "floating" and link in bodies)
        holder[link] = None if top else joint.parent

    above = {body1: body0 for name, (body0, body1) in joints.items() if urdf.joints[name] not in urdf.loops}
    bases = [link for link in links if link in bodies and above.get(link) is None]

    def base_of(body):
        return body if above.get(body) is None else base_of(above[body])

    trees = [{body for body in bodies if base_of(body) == base} for base in bases]
    pairs = {frozenset((body_of[j.parent], body_of[j.child])) for j in urdf.joints.values() if j.kind != "floating"}
    adjacent = {pair for pair in pairs if len(pair) == 2 and None not in pair}
    return Expectation(world, bodies, frames, joints, body_of, holder, trees, bases, adjacent)
