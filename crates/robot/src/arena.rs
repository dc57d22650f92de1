//! Typed handles into arenas, so that an index of one kind is never used for another.
//!
//! An [`Arena`] only grows, and only its owner can make a [`Handle`], so a handle is always the
//! index of an existing element. A handle is meaningful for the arena that made it; another arena
//! of the same type may have no such element, and indexing panics. The handles in a
//! [`Robot`](crate::Robot) are all its own.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The position of a `T` in its [`Arena`].
pub struct Handle<T> {
    index: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            index,
            element: PhantomData,
        }
    }

    /// Returns the position in the arena, from 0.
    pub fn index(self) -> usize {
        self.index
    }
}

// Derived implementations would put the same bounds on `T`.
impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl<T> Eq for Handle<T> {}

impl<T> PartialOrd for Handle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Handle<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.cmp(&other.index)
    }
}

impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index)
    }
}

/// Elements of one type, referred to by [`Handle`].
#[derive(Clone, Debug, PartialEq)]
pub struct Arena<T> {
    elements: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            elements: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    /// Adds an element. The arenas of a [`Robot`](crate::Robot) grow by its own methods only.
    pub fn push(&mut self, element: T) -> Handle<T> {
        self.elements.push(element);
        Handle::new(self.elements.len() - 1)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns all elements with their handles, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Handle<T>, &T)> + ExactSizeIterator {
        self.elements
            .iter()
            .enumerate()
            .map(|(index, element)| (Handle::new(index), element))
    }

    /// Returns all elements with their handles, in order, for changes.
    pub(crate) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Handle<T>, &mut T)> {
        self.elements
            .iter_mut()
            .enumerate()
            .map(|(index, element)| (Handle::new(index), element))
    }

    /// Returns all elements, in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.elements.iter()
    }

    /// Returns all elements, in order, for changes.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.elements.iter_mut()
    }

    /// Returns all elements, in order, as they are laid out in memory.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// Returns the handles of all elements, in order.
    pub fn handles(
        &self,
    ) -> impl DoubleEndedIterator<Item = Handle<T>> + ExactSizeIterator + use<T> {
        (0..self.elements.len()).map(Handle::new)
    }

    /// Returns the handle of the element at `index`, if there is one: for indices that come from
    /// outside, such as those of a [`Model`](crate::kinematics::Model).
    pub fn handle(&self, index: usize) -> Option<Handle<T>> {
        (index < self.elements.len()).then(|| Handle::new(index))
    }

    /// Returns whether the handle refers to an existing element.
    pub fn contains(&self, handle: Handle<T>) -> bool {
        handle.index < self.elements.len()
    }

    /// Returns the handle of the first element for which `predicate` holds.
    pub fn position(&self, predicate: impl FnMut(&T) -> bool) -> Option<Handle<T>> {
        self.elements.iter().position(predicate).map(Handle::new)
    }
}

impl<T> Index<Handle<T>> for Arena<T> {
    type Output = T;

    #[allow(
        clippy::indexing_slicing,
        reason = "only this arena makes its handles, and it only grows"
    )]
    fn index(&self, handle: Handle<T>) -> &T {
        &self.elements[handle.index]
    }
}

impl<T> IndexMut<Handle<T>> for Arena<T> {
    #[allow(
        clippy::indexing_slicing,
        reason = "only this arena makes its handles, and it only grows"
    )]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        &mut self.elements[handle.index]
    }
}

/// A value for each element of an [`Arena`], such as the role of each link.
pub struct ArenaMap<T, V> {
    values: Vec<V>,
    element: PhantomData<fn() -> T>,
}

impl<T, V> ArenaMap<T, V> {
    /// Computes the value of each element of `arena`.
    pub fn new(arena: &Arena<T>, mut value: impl FnMut(Handle<T>, &T) -> V) -> Self {
        Self {
            values: arena
                .iter()
                .map(|(handle, element)| value(handle, element))
                .collect(),
            element: PhantomData,
        }
    }

    /// Gives each element of `arena` the same value.
    pub fn filled(arena: &Arena<T>, value: V) -> Self
    where
        V: Clone,
    {
        Self {
            values: vec![value; arena.len()],
            element: PhantomData,
        }
    }

    /// Computes another value of each element.
    pub fn map<W>(&self, value: impl FnMut(&V) -> W) -> ArenaMap<T, W> {
        ArenaMap {
            values: self.values.iter().map(value).collect(),
            element: PhantomData,
        }
    }

    /// Returns all values with the handles of their elements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Handle<T>, &V)> + ExactSizeIterator {
        self.values
            .iter()
            .enumerate()
            .map(|(index, value)| (Handle::new(index), value))
    }

    /// Returns all values, in order.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.values.iter()
    }

    /// Returns all values, in order, for changes.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.values.iter_mut()
    }

    /// Returns all values, in order, as they are laid out in memory.
    pub fn as_slice(&self) -> &[V] {
        &self.values
    }
}

impl<T, V> Index<Handle<T>> for ArenaMap<T, V> {
    type Output = V;

    #[allow(
        clippy::indexing_slicing,
        reason = "there is a value for each element of the arena"
    )]
    fn index(&self, handle: Handle<T>) -> &V {
        &self.values[handle.index]
    }
}

impl<T, V> IndexMut<Handle<T>> for ArenaMap<T, V> {
    #[allow(
        clippy::indexing_slicing,
        reason = "there is a value for each element of the arena"
    )]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut V {
        &mut self.values[handle.index]
    }
}

impl<T, V: Clone> Clone for ArenaMap<T, V> {
    fn clone(&self) -> Self {
        Self {
            values: self.values.clone(),
            element: PhantomData,
        }
    }
}

impl<T, V: fmt::Debug> fmt::Debug for ArenaMap<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

impl<T, V: PartialEq> PartialEq for ArenaMap<T, V> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Arena<String> {
        let mut arena = Arena::default();
        for word in ["a", "b", "a"] {
            arena.push(word.to_owned());
        }
        arena
    }

    #[test]
    fn handles_are_of_elements_that_exist() {
        let mut arena = words();
        let handle = arena.push("c".to_owned());
        assert_eq!((arena[handle].as_str(), handle.index()), ("c", 3));
        assert_eq!(arena.handle(3), Some(handle));
        assert_eq!(arena.handle(4), None);
        assert!(arena.contains(handle) && !words().contains(handle));
        assert_eq!(format!("{handle:?}"), "#3");
        arena[handle].push('d');
        assert_eq!(arena.values().last().map(String::as_str), Some("cd"));
    }

    #[test]
    fn elements_are_in_the_order_in_which_they_came() {
        let arena = words();
        assert_eq!((arena.len(), arena.is_empty()), (3, false));
        let handles: Vec<_> = arena.handles().collect();
        assert!(handles.is_sorted_by(|a, b| a < b));
        assert!(
            arena
                .iter()
                .map(|(handle, _)| handle)
                .eq(handles.iter().copied())
        );
        assert_eq!(arena.position(|word| word == "a"), Some(handles[0]));
        assert_eq!(arena.position(|word| word == "c"), None);
        assert_eq!(arena.as_slice(), ["a", "b", "a"]);
    }

    #[test]
    fn a_map_has_a_value_for_each_element() {
        let arena = words();
        let mut map = ArenaMap::new(&arena, |handle, word| format!("{word}{}", handle.index()));
        assert_eq!(map.as_slice(), ["a0", "b1", "a2"]);
        let second = arena.handle(1).unwrap();
        map[second].clear();
        assert_eq!(map.map(String::len).as_slice(), [2, 0, 2]);
        assert_eq!(map.iter().nth(1), Some((second, &String::new())));
        assert_eq!(ArenaMap::filled(&arena, 7).as_slice(), [7; 3]);
    }
}
