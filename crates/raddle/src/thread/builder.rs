//! Starting threads.

use super::handle::{Handle, Packet, body};
use super::{JoinHandle, Scope, ScopedJoinHandle, Thread};
use crate::runtime::{self, Freedom, Task};
use raddle_engine::Reply;
use raddle_model::{Kind, Operation, ThreadId};
use std::io;
use std::panic::Location;
use std::sync::Arc;

/// A builder for named threads, as in std.
#[derive(Debug, Default)]
#[must_use = "a builder starts a thread only when `spawn` is called"]
pub struct Builder {
    name: Option<Arc<str>>,
}

impl Builder {
    /// Creates a builder for a thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the name of the thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// No effect: all stacks have the same size.
    pub fn stack_size(self, _size: usize) -> Builder {
        self
    }

    /// Starts the thread; never fails.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        let handle = self.start(location, |packet| Box::new(body(f, packet, location)));
        Ok(JoinHandle(handle))
    }

    /// Starts the thread, whose function need not be `Send`, as all threads of a run share one OS thread.
    #[track_caller]
    pub(crate) fn spawn_local<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
        self.spawn_local_at(Location::caller(), f)
    }

    /// Does [`Builder::spawn_local`] at a location.
    #[track_caller]
    pub(crate) fn spawn_local_at<T: 'static>(
        self,
        location: &'static Location<'static>,
        f: impl FnOnce() -> T + 'static,
    ) -> JoinHandle<T> {
        JoinHandle(self.start(location, |packet| Box::new(body(f, packet, location))))
    }

    /// Starts the thread in a scope; never fails.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let location = Location::caller();
        let handle = self.start(location, |packet| scope.task(Box::new(body(f, packet, location))));
        scope.threads.lock().expect("no code panics while the threads are locked").push(handle.id());
        Ok(ScopedJoinHandle { handle, scope })
    }

    #[track_caller]
    fn start<T>(
        self,
        location: &'static Location<'static>,
        task: impl FnOnce(Arc<Packet<T>>) -> Task,
    ) -> Handle<T> {
        let zero = self.name.as_ref().is_some_and(|name| name.contains('\0'));
        assert!(!zero, "thread name may not contain interior null bytes");
        let packet = Arc::new(Packet::default());
        let reply = runtime::step(|runtime| Operation::new(Kind::Spawn, runtime.location(location)));
        // No effect if the run is over: the handle is of a thread that never ran.
        let id = if let Reply::Spawned(id) = reply { id } else { ThreadId(u32::MAX) };
        let task = task(Arc::clone(&packet));
        if id == ThreadId(u32::MAX) {
            runtime::drop_later(task);
        } else {
            let is_shuttle = runtime::is_shuttle();
            let task = if is_shuttle { runtime::with_start(task, location) } else { task };
            let (thread, free) = runtime::with(|runtime| {
                let free = if is_shuttle { Freedom::None } else { runtime.free };
                runtime.start(id, self.name, task);
                if free != Freedom::None {
                    runtime.delay_start(id, location);
                }
                (Thread::of(runtime, id), free)
            });
            if free == Freedom::Pauses {
                runtime::pause_after_spawn(location);
            }
            return Handle { thread, packet };
        }
        Handle { thread: runtime::with(|runtime| Thread::of(runtime, id)), packet }
    }
}

/// Starts a thread, as in std.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("a thread can always be started")
}
