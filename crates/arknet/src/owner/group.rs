//! Groups: what belongs together and ends together.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::core::Core;
use super::cx::Cx;
use super::groups::{GroupRef, GroupReport};

/// Tasks, callbacks, timers and groups that end together: a player, a match, a room.
///
/// It is a [`Cx`] for what is in it. Dropping it cancels it. A group ends with its parent at the latest.
pub struct Group<W> {
    cx: Cx<W>,
}

impl<W> Group<W> {
    pub(crate) fn new(cx: Cx<W>) -> Self {
        Self { cx }
    }

    /// A handle for what is in the group, to be kept in the world and in callbacks. It does not keep the group.
    pub fn cx(&self) -> Cx<W> {
        self.cx.clone()
    }

    /// Ends the group and those below it, and returns how many tasks, callbacks and timers that ended.
    ///
    /// When it returns, no callback and no poll of them runs any more, and their futures have been dropped, on this
    /// thread. The exception is a task that cancels its own group: it ends at its next await. Operations that were
    /// submitted are finished where they are, and their results thrown away, unless they were told to be
    /// [withdrawn](super::OnCancel::Withdraw).
    pub fn cancel(&self) -> usize {
        self.cx
            .group
            .map(|group| self.cx.core.cancel_group(group))
            .unwrap_or_default()
    }

    /// Whether it has ended.
    pub fn is_cancelled(&self) -> bool {
        self.cx
            .group
            .is_none_or(|group| !self.cx.core.groups.borrow().is_alive(group))
    }

    /// How its tasks ended so far; empty once it has been cancelled.
    pub fn report(&self) -> GroupReport {
        self.cx
            .group
            .map(|group| self.cx.core.groups.borrow().report(group))
            .unwrap_or_default()
    }

    /// Waits until no task, callback or timer of it and of the groups below it is left. It must be awaited outside of the
    /// group, since a task of it would wait for itself.
    ///
    /// Dropping this future leaves the group as it is.
    pub fn join(&self) -> GroupJoin<W> {
        GroupJoin {
            core: self.cx.core.clone(),
            group: self.cx.group,
            report: self.report(),
        }
    }
}

impl<W> std::ops::Deref for Group<W> {
    type Target = Cx<W>;

    fn deref(&self) -> &Cx<W> {
        &self.cx
    }
}

impl<W> Drop for Group<W> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<W> std::fmt::Debug for Group<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("cx", &self.cx).finish()
    }
}

/// Waits until a group is empty: see [`Group::join`].
pub struct GroupJoin<W> {
    core: Rc<Core<W>>,
    group: Option<GroupRef>,
    report: GroupReport,
}

impl<W> Future for GroupJoin<W> {
    type Output = GroupReport;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<GroupReport> {
        let Some(group) = self.group else {
            return Poll::Ready(GroupReport::default());
        };
        let core = self.core.clone();
        let mut groups = core.groups.borrow_mut();
        if groups.is_alive(group) {
            self.report = groups.report(group);
        }
        if groups.is_idle(group) {
            return Poll::Ready(std::mem::take(&mut self.report));
        }
        groups.wait(group, cx.waker());
        Poll::Pending
    }
}

impl<W> std::fmt::Debug for GroupJoin<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupJoin").finish_non_exhaustive()
    }
}
