//! The tree of groups, and which task, operation and timer belongs to which.
//!
//! Members are in doubly linked lists over one slab: to join and to leave costs no search and, in the steady state, no
//! allocation.

use std::rc::Rc;
use std::task::Waker;

use slab::Slab;

use super::source::Ticket;
use super::tasks::TaskRef;

/// No member, no neighbour.
pub(crate) const NONE: u32 = u32::MAX;

/// Failures that a group keeps the texts of; the rest are counted.
const FAILURES: usize = 64;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct GroupRef {
    slot: u32,
    generation: u32,
}

/// What belongs to a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Task(TaskRef),
    Operation { source: u32, ticket: Ticket },
}

#[derive(Clone, Copy, Debug)]
struct Member {
    kind: Kind,
    group: u32,
    before: u32,
    after: u32,
}

#[derive(Debug)]
struct Node {
    generation: u32,
    name: Rc<str>,
    parent: Option<u32>,
    children: Vec<u32>,
    first: u32,
    last: u32,
    /// Members, and children that have some.
    load: usize,
    waiters: Vec<Waker>,
    fail_fast: bool,
    report: GroupReport,
}

/// How the tasks of a group ended so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct GroupReport {
    /// Tasks that ended by themselves, with success or without.
    pub done: u64,
    /// Tasks of [`Cx::try_spawn`](super::Cx::try_spawn) that ended with an error.
    pub failed: u64,
    /// Tasks that panicked.
    pub panicked: u64,
    /// The texts of the first 64 failures.
    pub failures: Vec<String>,
}

/// How one task ended.
pub(crate) enum TaskEnd {
    Done,
    Failed(String),
    Panicked,
}

#[derive(Debug, Default)]
pub(crate) struct Groups {
    nodes: Slab<Node>,
    members: Slab<Member>,
    generation: u32,
}

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A new group; `None` where its parent has ended.
    pub(crate) fn add(
        &mut self,
        parent: Option<GroupRef>,
        name: Rc<str>,
        fail_fast: bool,
    ) -> Option<GroupRef> {
        if let Some(parent) = parent {
            self.node(parent)?;
        }
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let slot = u32::try_from(self.nodes.insert(Node {
            generation,
            name,
            parent: parent.map(|parent| parent.slot),
            children: Vec::new(),
            first: NONE,
            last: NONE,
            load: 0,
            waiters: Vec::new(),
            fail_fast,
            report: GroupReport::default(),
        }))
        .ok()?;
        if let Some(parent) = parent
            && let Some(node) = self.nodes.get_mut(parent.slot as usize)
        {
            node.children.push(slot);
        }
        Some(GroupRef { slot, generation })
    }

    fn node(&self, group: GroupRef) -> Option<&Node> {
        self.nodes
            .get(group.slot as usize)
            .filter(|node| node.generation == group.generation)
    }

    fn node_mut(&mut self, group: GroupRef) -> Option<&mut Node> {
        self.nodes
            .get_mut(group.slot as usize)
            .filter(|node| node.generation == group.generation)
    }

    pub(crate) fn is_alive(&self, group: GroupRef) -> bool {
        self.node(group).is_some()
    }

    pub(crate) fn name(&self, group: GroupRef) -> Option<Rc<str>> {
        self.node(group).map(|node| node.name.clone())
    }

    pub(crate) fn report(&self, group: GroupRef) -> GroupReport {
        self.node(group)
            .map(|node| node.report.clone())
            .unwrap_or_default()
    }

    /// Whether nothing runs in it or below it.
    pub(crate) fn is_idle(&self, group: GroupRef) -> bool {
        self.node(group).is_none_or(|node| node.load == 0)
    }

    /// Wakes `waker` when the group is idle.
    pub(crate) fn wait(&mut self, group: GroupRef, waker: &Waker) {
        if let Some(node) = self.node_mut(group)
            && !node.waiters.iter().any(|known| known.will_wake(waker))
        {
            node.waiters.push(waker.clone());
        }
    }

    /// Takes in a member; `None` where the group has ended.
    pub(crate) fn join(&mut self, group: GroupRef, kind: Kind) -> Option<u32> {
        let last = self.node(group)?.last;
        let member = u32::try_from(self.members.insert(Member {
            kind,
            group: group.slot,
            before: last,
            after: NONE,
        }))
        .ok()?;
        if let Some(before) = self.members.get_mut(last as usize) {
            before.after = member;
        }
        if let Some(node) = self.node_mut(group) {
            if node.first == NONE {
                node.first = member;
            }
            node.last = member;
        }
        self.heavier(group.slot);
        Some(member)
    }

    /// Lets a member go; whom to wake because a group is idle now is added to `wake`.
    pub(crate) fn leave(&mut self, member: u32, wake: &mut Vec<Waker>) {
        let Some(Member {
            group,
            before,
            after,
            ..
        }) = self.members.try_remove(member as usize)
        else {
            return;
        };
        if let Some(before) = self.members.get_mut(before as usize) {
            before.after = after;
        } else if let Some(node) = self.nodes.get_mut(group as usize) {
            node.first = after;
        }
        if let Some(after) = self.members.get_mut(after as usize) {
            after.before = before;
        } else if let Some(node) = self.nodes.get_mut(group as usize) {
            node.last = before;
        }
        self.lighter(group, wake);
    }

    fn heavier(&mut self, slot: u32) {
        let mut next = Some(slot);
        while let Some(node) = next.and_then(|slot| self.nodes.get_mut(slot as usize)) {
            node.load += 1;
            next = if node.load == 1 { node.parent } else { None };
        }
    }

    fn lighter(&mut self, slot: u32, wake: &mut Vec<Waker>) {
        let mut next = Some(slot);
        while let Some(node) = next.and_then(|slot| self.nodes.get_mut(slot as usize)) {
            node.load = node.load.saturating_sub(1);
            if node.load > 0 {
                return;
            }
            wake.append(&mut node.waiters);
            next = node.parent;
        }
    }

    /// Notes how a task of a group ended; true where that ends the group.
    pub(crate) fn note(&mut self, group: GroupRef, end: TaskEnd) -> bool {
        let Some(node) = self.node_mut(group) else {
            return false;
        };
        match end {
            TaskEnd::Done => {
                node.report.done += 1;
                false
            }
            TaskEnd::Failed(text) => {
                node.report.done += 1;
                node.report.failed += 1;
                if node.report.failures.len() < FAILURES {
                    node.report.failures.push(text);
                }
                node.fail_fast
            }
            TaskEnd::Panicked => {
                node.report.panicked += 1;
                node.fail_fast
            }
        }
    }

    /// Ends a group and all below it: from here on nothing can join them. Their members are given back, children first,
    /// in the order in which they joined, for the caller to end.
    pub(crate) fn remove(&mut self, group: GroupRef, ended: &mut Vec<Kind>, wake: &mut Vec<Waker>) {
        let Some(node) = self.node(group) else { return };
        let parent = node.parent;
        if node.load > 0
            && let Some(parent) = parent
        {
            self.lighter(parent, wake);
        }
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent as usize)) {
            parent.children.retain(|child| *child != group.slot);
        }
        // Depth is what the application nests, so no recursion.
        let mut order = Vec::new();
        let mut stack = vec![group.slot];
        while let Some(slot) = stack.pop() {
            order.push(slot);
            if let Some(node) = self.nodes.get(slot as usize) {
                stack.extend(node.children.iter().copied());
            }
        }
        for slot in order.into_iter().rev() {
            let Some(mut node) = self.nodes.try_remove(slot as usize) else {
                continue;
            };
            wake.append(&mut node.waiters);
            let mut next = node.first;
            while let Some(member) = self.members.try_remove(next as usize) {
                ended.push(member.kind);
                next = member.after;
            }
        }
    }
}
