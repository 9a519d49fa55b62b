//! Consistency check of a file that was read: every id it contains has a name.

use super::{FileError, TraceFile};
use crate::{Failure, FreedBlock, LocationId, ObjectId, ThreadId};

impl TraceFile {
    pub(super) fn check(&self) -> Result<(), FileError> {
        let wrong = |step: usize, message: String| Err(FileError::Inconsistent { step, message });
        for (step, entry) in self.steps.iter().enumerate() {
            if entry.thread as usize >= self.threads.len() {
                return wrong(step, format!("thread {} of {}", entry.thread, self.threads.len()));
            }
            if entry.operation.location.index() >= self.locations.len() {
                return wrong(
                    step,
                    format!("location {} of {}", entry.operation.location.0, self.locations.len()),
                );
            }
            if let Some((object, _)) =
                entry.operation.objects().find(|(o, _)| o.index() >= self.objects.len())
            {
                return wrong(step, format!("object {} of {}", object.0, self.objects.len()));
            }
        }
        for pick in self.picks() {
            if pick.value >= pick.arity || pick.step as usize >= self.steps.len() {
                return wrong(pick.step as usize, format!("answer {} of {}", pick.value, pick.arity));
            }
        }
        for value in &self.values.list {
            let object = self.values.cells.get(value.cell as usize).map(|cell| cell.object);
            if value.step as usize >= self.steps.len()
                || object.is_none_or(|o| o.index() >= self.objects.len())
            {
                return wrong(value.step as usize, "a value has no step or no object".to_owned());
            }
        }
        match self.verdict.failure() {
            Some(failure) => self.check_failure(failure),
            None => Ok(()),
        }
    }

    fn check_failure(&self, failure: &Failure) -> Result<(), FileError> {
        let mut named = Named { threads: Vec::new(), objects: Vec::new(), locations: Vec::new() };
        named.add(failure);
        let of = |what: &str, mut ids: Box<dyn Iterator<Item = u32> + '_>, names: &[String]| match ids
            .find(|&id| id as usize >= names.len())
        {
            Some(id) => Err(FileError::Verdict { message: format!("{what} {id} of {}", names.len()) }),
            None => Ok(()),
        };
        of("thread", Box::new(named.threads.iter().map(|id| id.0)), &self.threads)?;
        of("object", Box::new(named.objects.iter().map(|id| id.0)), &self.objects)?;
        of("location", Box::new(named.locations.iter().map(|id| id.0)), &self.locations)?;
        match failure {
            Failure::DataRace { first, second, .. }
                if first.step >= second.step || second.step as usize >= self.steps.len() =>
            {
                let message = format!("a race of steps {} and {}", first.step, second.step);
                Err(FileError::Verdict { message })
            }
            _ => Ok(()),
        }
    }
}

/// The ids that a failure contains.
struct Named {
    threads: Vec<ThreadId>,
    objects: Vec<ObjectId>,
    locations: Vec<LocationId>,
}

impl Named {
    fn add(&mut self, failure: &Failure) {
        match failure {
            Failure::Assertion { thread, location, .. } | Failure::Signal { thread, location, .. } => {
                self.place(*thread, *location);
            }
            Failure::Deadlock { blocked, cycle } => {
                self.threads.extend(cycle);
                for entry in blocked {
                    self.place(entry.thread, entry.location);
                    self.objects.extend(entry.object);
                    self.threads.extend(&entry.held_by);
                }
            }
            Failure::TimeLimit { .. }
            | Failure::Output { .. }
            | Failure::Exit { .. }
            | Failure::Panic { .. } => {}
            Failure::StepLimit { spinning, .. } => self.threads.extend(spinning),
            Failure::Misuse { thread, object, location, .. } => {
                self.place(*thread, *location);
                self.objects.push(*object);
            }
            Failure::DataRace { object, first, second } => {
                self.objects.push(*object);
                self.place(first.thread, first.location);
                self.place(second.thread, second.location);
            }
            Failure::UseAfterFree { thread, location, block, .. }
            | Failure::DoubleFree { thread, location, block } => {
                self.place(*thread, *location);
                let FreedBlock { allocated_by, allocated_at, freed_by, freed_at, .. } = *block;
                self.place(allocated_by, allocated_at);
                self.place(freed_by, freed_at);
            }
        }
    }

    fn place(&mut self, thread: ThreadId, location: LocationId) {
        self.threads.push(thread);
        self.locations.push(location);
    }
}
