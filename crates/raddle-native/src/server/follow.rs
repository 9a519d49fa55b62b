//! Runs that follow a schedule, for minimization and explanations.

use super::begun::{End, Wanted};
use super::state::Server;
use crate::child::batch;
use crate::child::halt::Halt;
use crate::child::known::Known;
use crate::child::results::RunData;
use crate::platform::memory;
use raddle_engine::{Follow, Rng, Strategy};
use raddle_model::native::{Answer, Order};

impl Server {
    /// Executes the run of an order to follow a schedule, in the child that executes many runs if there is one. Returns
    /// `None` in the child that must execute it.
    pub(super) fn follow(&mut self, order: &Order) -> Option<Result<Box<RunData>, Answer>> {
        let end = self.end_of_follower(order);
        let is_first = end.is_none() && self.residents.is_due();
        let begin = |server: &mut Server, halt: Option<Halt>| {
            if is_first && halt.is_none() {
                // It continues to use the memory of the server.
                memory::settle();
                server.stay(None);
            } else {
                memory::begin_run();
            }
            server.install_follower(order, halt)
        };
        self.is_first = is_first;
        let made = self.make(end, &begin)?;
        self.note_no_reset();
        Some(made)
    }

    /// Lets the current child execute the run of an order. `None` if there is no such child.
    fn end_of_follower(&mut self, order: &Order) -> Option<End> {
        let process = self.free_resident()?;
        let text = serde_json::to_vec(order).ok()?;
        if !batch::order_text(&text) {
            return None;
        }
        let end = self.wait(process);
        self.residents.note_run();
        let was_taken = batch::Batch::end().has_last;
        was_taken.then_some(end)
    }

    /// Sets up this process for the run of an order to follow a schedule.
    pub(super) fn install_follower(&self, order: &Order, halt: Option<Halt>) -> Option<()> {
        let Order::Follow { schedule, values, shared, random, .. } = order else { return None };
        let mut follow = Follow::new(schedule.clone());
        // It has its own seed, if it draws at all.
        follow.begin(Rng::for_run(0, 0));
        self.install(Box::new(follow), if *values { Wanted::Details } else { Wanted::Steps });
        self.set_up(*random, self.setup.points, Some(&Known::read(shared)), halt);
        Some(())
    }
}
