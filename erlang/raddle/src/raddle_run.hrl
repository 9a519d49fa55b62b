%% What every controlled process knows of itself, and the words that the runtime and the engine share.

%% The context of a controlled process, in its process dictionary under '$raddle'.
-record(me, {
    session,        % the engine
    table,          % what the run knows: processes, links, names, tables, timers
    actor,          % its number in the engine; -1 for a process that only acts for others
    pid,            % the pid that it and others see
    node,           % the virtual node that it is on
    mailbox,        % objects of the engine: its mailbox and its life
    life,
    searches,       % whether the strategy has to be told all that an operation depends on
    callers = false % whether to remember which lines operations of libraries are made for
}).

%% A process that is not gone, in the table of the run under its pid.
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

%% Places that are in no module of the program.
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
