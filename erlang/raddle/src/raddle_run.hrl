%% The context of controlled processes, and the constants that the runtime and the engine share.

%% The context of a controlled process, in its process dictionary under '$raddle'.
-record(me, {
    session,        % the engine
    table,          % what the run knows: processes, links, names, tables, timers
    actor,          % its number in the engine; -1 for a process that only acts for others
    pid,            % the pid that it and others see
    node,           % the virtual node that it is on
    mailbox,        % objects of the engine: its mailbox and its life
    life,
    searches,       % true if the strategy needs all dependencies of an operation
    callers = false % true to record the calling lines of library operations
}).

%% A process that has not ended, in the table of the run under its pid.
-record(process, {pid, actor, real, mailbox, life, trap = false, state = alive, leader}).

%% Kinds of operation; the order is that of natives.rs.
-define(READ, 0).
-define(WRITE, 1).
-define(SEND, 2).
-define(SPAWN, 3).
-define(YIELD, 4).
-define(POLL, 5).
-define(UPDATE, 7).

%% Touches of objects.
-define(NONE, -1).
-define(READS(Object), (Object) * 2).
-define(WRITES(Object), (Object) * 2 + 1).

%% Locations outside the modules of the program.
-define(AT_DEATH, 1).
-define(AT_TIMER, 2).
-define(AT_CARRIER, 3).
-define(AT_START, 4).
-define(AT_FAULTS, 5).
-define(AT_CRASH, 6).
-define(AT_RESTART, 7).
-define(AT_PARTITION, 8).
-define(AT_HEAL, 9).
-define(AT_DISCONNECT, 10).
-define(AT_DELAY, 11).
