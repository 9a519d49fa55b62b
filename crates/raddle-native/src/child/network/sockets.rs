//! The table of simulated sockets, and what calls other than reading and writing do to them.

use super::address::Address;
use super::calls::{self, Name};
use super::wire::Wire;
use libc::c_int;

/// The state of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Not connected.
    Fresh,
    Listening,
    /// The request is in flight.
    Connecting,
    Connected,
    /// No socket listened where it wanted to connect.
    Refused,
    /// The connection was reset.
    Reset,
}

/// An option that the program has set: level, name and value.
pub(crate) type SetOption = (c_int, c_int, Vec<u8>);

/// A simulated socket.
pub(crate) struct Socket {
    /// Its descriptors, duplicates included. Empty before it is accepted, and once it is closed.
    pub(crate) files: Vec<c_int>,
    /// The number of the open file; 0 before it is accepted.
    inode: u64,
    /// The other end of the kernel's socket; -1 if there is none.
    pub(super) hidden: c_int,
    pub(crate) family: c_int,
    pub(crate) state: State,
    pub(crate) local: Option<Address>,
    pub(crate) peer: Option<Address>,
    pub(crate) options: Vec<SetOption>,
    /// The sets of `epoll` that it was added to, each with its file and the event in C's layout.
    pub(crate) registrations: Vec<(c_int, [u8; 12])>,
    /// The wires of its connection: that by which it sends, and that by which it receives.
    pub(crate) wires: Option<[usize; 2]>,
    /// Of a listener: the name that connections use, and the sockets that wait to be accepted.
    name: Option<Name>,
    pub(super) queue: Vec<usize>,
    /// True if the run has connected to it.
    pub(crate) was_reached: bool,
    /// True if the program has shut its receiving side down.
    pub(super) ignores: bool,
    /// True if closing it resets the connection.
    pub(super) resets: bool,
    /// True if the program has seen the outcome of connecting.
    has_seen: bool,
    /// The size of its buffer before the request filled it.
    buffer: c_int,
}

impl Socket {
    /// Returns false for the server's socket of a connection that was not accepted yet.
    pub(super) fn was_opened(&self) -> bool {
        self.inode != 0
    }

    fn new(family: c_int, state: State) -> Socket {
        Socket {
            files: Vec::new(),
            inode: 0,
            hidden: -1,
            family,
            state,
            local: None,
            peer: None,
            options: Vec::new(),
            registrations: Vec::new(),
            wires: None,
            name: None,
            queue: Vec::new(),
            was_reached: false,
            ignores: false,
            resets: false,
            has_seen: false,
            buffer: 0,
        }
    }
}

/// The simulated network of a run.
#[derive(Default)]
pub(crate) struct Network {
    /// The settings. The budgets of faults are what is left of them.
    pub(crate) settings: raddle_model::Network,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) wires: Vec<Wire>,
    /// The listener to which all clients connect, and its name.
    hub: Option<(c_int, Name)>,
    ports: u16,
    pub(super) bytes: Vec<u8>,
}

/// The first port of those that the network chooses.
const FIRST_PORT: u16 = 40_000;

fn is_set(value: &[u8]) -> bool {
    value.iter().take(4).any(|&byte| byte != 0)
}

impl Network {
    /// Returns true if the run has no simulated socket.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Creates a stream socket of an internet family. Returns its file.
    pub(crate) fn socket(&mut self, family: c_int, flags: c_int) -> Result<c_int, c_int> {
        let file = calls::socket(flags)?;
        self.add(family, State::Fresh, file);
        Ok(file)
    }

    /// Adds a socket with this file, or none if it is negative.
    fn add(&mut self, family: c_int, state: State, file: c_int) -> usize {
        self.sockets.push(Socket::new(family, state));
        let socket = self.sockets.len() - 1;
        if file >= 0 {
            self.open(socket, file);
        }
        socket
    }

    fn open(&mut self, socket: usize, file: c_int) {
        self.note_closed(file);
        self.sockets[socket].files.push(file);
        self.sockets[socket].inode = calls::inode(file);
    }

    /// Returns the socket of a file.
    pub(crate) fn find(&mut self, file: c_int) -> Option<usize> {
        let socket = self.sockets.iter().position(|socket| socket.files.contains(&file))?;
        // Files may be closed by calls that are not seen.
        if self.sockets[socket].inode == calls::inode(file) {
            return Some(socket);
        }
        self.note_closed(file);
        None
    }

    /// Records that a file was closed.
    pub(crate) fn note_closed(&mut self, file: c_int) {
        for socket in &mut self.sockets {
            socket.files.retain(|&known| known != file);
            socket.registrations.retain(|(set, _)| *set != file);
        }
    }

    /// Records that a file was duplicated.
    pub(crate) fn note_copied(&mut self, from: c_int, to: c_int) {
        if self.is_empty() {
            return;
        }
        self.note_closed(to);
        if let Some(socket) = self.find(from) {
            self.sockets[socket].files.push(to);
        }
    }

    fn choose_port(&mut self) -> u16 {
        loop {
            let port = FIRST_PORT + self.ports % (u16::MAX - FIRST_PORT);
            self.ports = self.ports.wrapping_add(1);
            let has = |socket: &Socket| socket.local.is_some_and(|local| local.port == port);
            if !self.sockets.iter().any(has) {
                return port;
            }
        }
    }

    /// Gives a socket an address.
    pub(crate) fn bind(&mut self, socket: usize, mut address: Address) -> Result<(), c_int> {
        if self.sockets[socket].local.is_some() || self.sockets[socket].state != State::Fresh {
            return Err(libc::EINVAL);
        }
        if address.port == 0 {
            address.port = self.choose_port();
        }
        let shares = |socket: &Socket| {
            let reuses = |option: &&SetOption| option.0 == libc::SOL_SOCKET && option.1 == libc::SO_REUSEADDR;
            socket.state != State::Listening
                && socket.options.iter().find(reuses).is_some_and(|option| is_set(&option.2))
        };
        let new = shares(&self.sockets[socket]);
        // The sockets of accepted connections have the address of their listener, whose port stays usable.
        let is_in_use = |other: &Socket| {
            !other.files.is_empty()
                && matches!(other.state, State::Fresh | State::Listening)
                && other.local.is_some_and(|local| local.conflicts(&address))
                && !(new && shares(other))
        };
        if self.sockets.iter().any(is_in_use) {
            return Err(libc::EADDRINUSE);
        }
        self.sockets[socket].local = Some(address);
        Ok(())
    }

    /// Lets a socket listen.
    pub(crate) fn listen(&mut self, socket: usize, backlog: c_int) -> Result<(), c_int> {
        let Some(&file) = self.sockets[socket].files.first() else { return Err(libc::EBADF) };
        match self.sockets[socket].state {
            State::Listening => return calls::set_backlog(file, backlog),
            State::Fresh => {}
            _ => return Err(libc::EINVAL),
        }
        if self.sockets[socket].local.is_none() {
            self.bind(socket, Address::any(self.sockets[socket].family))?;
        }
        self.sockets[socket].name = Some(calls::listen(file, backlog)?);
        self.sockets[socket].state = State::Listening;
        Ok(())
    }

    /// Returns the listener that a connection to `target` reaches.
    pub(crate) fn listener(&self, target: &Address) -> Option<usize> {
        let listens = |socket: &Socket| socket.state == State::Listening && !socket.files.is_empty();
        let exact = |socket: &Socket| socket.local == Some(*target);
        let reaches = |socket: &Socket| socket.local.is_some_and(|local| local.receives(target));
        let mut all = self.sockets.iter();
        let found = all.position(|socket| listens(socket) && exact(socket));
        found.or_else(|| self.sockets.iter().position(|socket| listens(socket) && reaches(socket)))
    }

    /// Sends a request to connect a socket with an address on which the run listens. Adds two wires, of which
    /// the first delivers the request.
    pub(crate) fn connect(&mut self, socket: usize, target: Address) -> Result<[usize; 2], c_int> {
        let (family, file) = (self.sockets[socket].family, self.sockets[socket].files[0]);
        let hub = match self.hub {
            Some(hub) => hub,
            None => {
                let file = calls::hide(calls::socket(calls::QUIET)?)?;
                let name = calls::listen(file, c_int::from(i16::MAX))?;
                *self.hub.insert((file, name))
            }
        };
        let buffer = calls::option(file, libc::SO_SNDBUF);
        calls::set_option(file, libc::SO_SNDBUF, &1_i32.to_ne_bytes());
        calls::connect(file, &hub.1)?;
        let hidden = calls::hide(calls::accept(hub.0, calls::QUIET)?)?;
        while calls::send(file, &[0; 4096]).is_ok() {}
        if self.sockets[socket].local.is_none_or(|local| local.port == 0) {
            let port = self.choose_port();
            self.sockets[socket].local = Some(Address { port, ..target });
        }
        let client = &mut self.sockets[socket];
        let local = Address { port: client.local.map_or(0, |local| local.port), ..target };
        (client.local, client.peer) = (Some(local), Some(target));
        (client.state, client.hidden, client.buffer) = (State::Connecting, hidden, buffer);
        let server = self.add(family, State::Connecting, -1);
        (self.sockets[server].local, self.sockets[server].peer) = (Some(target), Some(local));
        let connection = self.wires.len() / 2 + 1;
        let first = self.wires.len();
        let short = self.settings.faults.short;
        self.wires.push(Wire::new(connection, true, [socket, server], short));
        self.wires.push(Wire::new(connection, false, [server, socket], short));
        self.sockets[socket].wires = Some([first, first + 1]);
        self.sockets[server].wires = Some([first + 1, first]);
        Ok([first, first + 1])
    }

    /// Establishes the connection of a client whose request has arrived at a listener.
    pub(super) fn establish(&mut self, client: usize, server: usize) -> Result<(), c_int> {
        let target = self.sockets[client].peer.ok_or(libc::ECONNREFUSED)?;
        let listener = self.listener(&target).ok_or(libc::ECONNREFUSED)?;
        let name = self.sockets[listener].name.ok_or(libc::ECONNREFUSED)?;
        let hidden = calls::hide(calls::socket(calls::QUIET)?)?;
        if let Err(error) = calls::connect(hidden, &name) {
            calls::close(hidden);
            return Err(error);
        }
        self.sockets[listener].queue.push(server);
        self.sockets[listener].was_reached = true;
        let family = self.sockets[listener].family;
        let accepted = &mut self.sockets[server];
        (accepted.family, accepted.hidden, accepted.state) = (family, hidden, State::Connected);
        self.empty(client);
        self.sockets[client].state = State::Connected;
        Ok(())
    }

    /// Removes the bytes that fill the buffer of a client.
    fn empty(&mut self, client: usize) {
        let Socket { hidden, buffer, .. } = self.sockets[client];
        let mut bytes = [0; 4096];
        while calls::receive(hidden, &mut bytes, false).is_ok_and(|count| count > 0) {}
        if let Some(&file) = self.sockets[client].files.first() {
            // The kernel doubles the number.
            calls::set_option(file, libc::SO_SNDBUF, &(buffer / 2).to_ne_bytes());
        }
    }

    /// Tells a client that no socket listens. Its bytes without meaning make the kernel report an error.
    pub(super) fn refuse(&mut self, client: usize) {
        self.sockets[client].state = State::Refused;
        calls::close(std::mem::replace(&mut self.sockets[client].hidden, -1));
    }

    /// Breaks the connection of a socket, as it perceives it.
    pub(super) fn reset(&mut self, socket: usize) {
        let hidden = std::mem::replace(&mut self.sockets[socket].hidden, -1);
        if hidden < 0 {
            return;
        }
        self.sockets[socket].state = State::Reset;
        // The kernel reports an error if the other end is closed with unread bytes.
        if let Some(&file) = self.sockets[socket].files.first()
            && calls::ready(hidden, libc::POLLIN) & libc::POLLIN == 0
        {
            let _ = calls::send(file, &[0]);
        }
        calls::close(hidden);
    }

    /// Closes the hidden ends of a connection.
    pub(super) fn hang_up(&mut self, sockets: [usize; 2]) {
        for socket in sockets {
            calls::close(std::mem::replace(&mut self.sockets[socket].hidden, -1));
        }
    }

    /// Assigns the file of an accepted connection. Returns its socket.
    pub(crate) fn accepted(&mut self, listener: usize, file: c_int) -> Option<usize> {
        if self.sockets[listener].queue.is_empty() {
            return None;
        }
        let socket = self.sockets[listener].queue.remove(0);
        self.open(socket, file);
        Some(socket)
    }

    /// Accepts a connection without waiting. Returns its file.
    pub(crate) fn accept(&mut self, listener: c_int, flags: c_int) -> isize {
        match calls::accept(listener, flags) {
            Ok(file) => file as isize,
            Err(error) => -(error as isize),
        }
    }

    /// Records that the program shuts down a side of a socket. Returns false if it is not connected.
    pub(crate) fn shut_down(&mut self, socket: usize, how: c_int) -> bool {
        let entry = &mut self.sockets[socket];
        if matches!(how, libc::SHUT_RD | libc::SHUT_RDWR) {
            entry.ignores = true;
        }
        matches!(entry.state, State::Listening | State::Connected | State::Reset)
    }

    /// Sets an option.
    pub(crate) fn set_option(&mut self, socket: usize, option: SetOption) -> isize {
        let entry = &mut self.sockets[socket];
        let (level, name, value) = (option.0, option.1, option.2.clone());
        entry.options.retain(|known| (known.0, known.1) != (level, name));
        entry.options.push(option);
        if level != libc::SOL_SOCKET {
            return 0;
        }
        match (name, entry.files.first()) {
            (libc::SO_LINGER, _) => {
                let is_zero = value.get(4..8).is_some_and(|time| !is_set(time));
                entry.resets = is_set(&value) && is_zero;
                0
            }
            (libc::SO_RCVTIMEO | libc::SO_SNDTIMEO, Some(&file)) => calls::set_option(file, name, &value),
            (libc::SO_SNDBUF, _) if entry.state == State::Connecting => 0,
            (libc::SO_SNDBUF | libc::SO_RCVBUF, Some(&file)) => calls::set_option(file, name, &value),
            _ => 0,
        }
    }

    /// Returns the value of an option that the simulation determines.
    pub(crate) fn option(&mut self, socket: usize, level: c_int, name: c_int) -> Option<Vec<u8>> {
        let entry = &mut self.sockets[socket];
        let number = |value: c_int| Some(value.to_ne_bytes().to_vec());
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => return number(entry.family),
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => return number(libc::IPPROTO_TCP),
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                let file = *entry.files.first()?;
                return number(self.take_error(file, socket));
            }
            (libc::SOL_SOCKET, libc::SO_TYPE | libc::SO_ACCEPTCONN | libc::SO_SNDBUF | libc::SO_RCVBUF) => {
                return None;
            }
            _ => {}
        }
        let set = entry.options.iter().find(|known| (known.0, known.1) == (level, name));
        match set {
            Some((.., value)) => Some(value.clone()),
            None if level == libc::SOL_SOCKET => None,
            None => number(0),
        }
    }

    /// Returns and forgets the pending error of a socket.
    pub(crate) fn take_error(&mut self, file: c_int, socket: usize) -> c_int {
        let error = calls::option(file, libc::SO_ERROR);
        self.meaning(socket, error)
    }

    /// Returns the error that the program would get from a real socket.
    pub(crate) fn meaning(&self, socket: usize, error: c_int) -> c_int {
        match (self.sockets[socket].state, error) {
            (State::Refused, libc::ECONNRESET) => libc::ECONNREFUSED,
            (State::Fresh | State::Listening, libc::EINVAL) => libc::ENOTCONN,
            (State::Fresh | State::Listening, libc::ENOTCONN) => libc::EPIPE,
            (_, error) => error,
        }
    }

    /// Returns true for the first time after the outcome of connecting is known.
    pub(crate) fn tell(&mut self, socket: usize) -> bool {
        !std::mem::replace(&mut self.sockets[socket].has_seen, true)
    }

    /// Returns the files of listeners to which the run has not connected.
    pub(crate) fn unreached(&self) -> impl Iterator<Item = c_int> + '_ {
        let listeners =
            self.sockets.iter().filter(|socket| socket.state == State::Listening && !socket.was_reached);
        listeners.flat_map(|socket| socket.files.iter().copied())
    }

    /// Returns the files that become ready when something is in flight on wires on which nothing is.
    pub(crate) fn quiet_files(&self) -> Vec<libc::pollfd> {
        let quiet = self.wires.iter().filter(|wire| wire.is_quiet());
        let files = quiet.map(|wire| self.sockets[wire.sockets[0]].hidden).filter(|&file| file >= 0);
        files.map(|fd| libc::pollfd { fd, events: libc::POLLIN | libc::POLLRDHUP, revents: 0 }).collect()
    }

    /// Records a change of a set of `epoll`.
    pub(crate) fn note_registration(&mut self, set: c_int, operation: c_int, file: c_int, event: [u8; 12]) {
        let Some(socket) = self.find(file) else { return };
        let registrations = &mut self.sockets[socket].registrations;
        registrations.retain(|(known, _)| *known != set);
        if operation != libc::EPOLL_CTL_DEL {
            registrations.push((set, event));
        }
    }

    /// Waits a moment for the answer to the request of a real socket. Returns the negative error, or 0.
    pub(crate) fn await_answer(&self, file: c_int) -> isize {
        const MOMENT_MS: c_int = 100;
        match calls::ready_within(file, libc::POLLOUT, MOMENT_MS) {
            0 => -(libc::EINPROGRESS as isize),
            _ => -(calls::option(file, libc::SO_ERROR) as isize),
        }
    }

    /// Returns the flags of a file, as for `socket`.
    pub(crate) fn flags(&self, file: c_int) -> c_int {
        calls::flags(file)
    }

    /// Forgets a socket that is replaced by a real one. Returns its files, and what was set.
    pub(crate) fn give_up(&mut self, socket: usize) -> Socket {
        let family = self.sockets[socket].family;
        std::mem::replace(&mut self.sockets[socket], Socket::new(family, State::Reset))
    }
}
