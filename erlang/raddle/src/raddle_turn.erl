%% Scheduling. Exactly one controlled process runs at a time. Before each observable operation it asks the
%% engine for the next actor; if that is another process it wakes it by one message and sleeps. The asking
%% process acts for actors without a process (timers, deliveries between nodes, dying processes). Nothing here
%% raises an exception that a program could catch: a process whose run is over is killed.
-module(raddle_turn).
-export([me/0, step/4, step/5, step/6, known/3, known/4, roll/2, settle/1, sleep/3, wait/3, take/2, leave/2, refuse/3, over/2, end_process/1, count/1, fail/3]).
-include("raddle_run.hrl").

%% This many function calls without an operation count as one that takes some nanoseconds of virtual time, so
%% that other processes run. After some such turns it is most likely a loop and they take more and more time,
%% so that waits with a time-out expire; then the run fails.
-define(CALLS, 1000000).
-define(TIME, 20000000).
-define(PATIENT_TURNS, 30).
-define(TURNS, 50).

me() -> erlang:get('$raddle').

%% An operation that touches at most two objects. Returns when this process must execute it. If there is room,
%% its own life is one of them: ending the process before the operation changes the outcome.
step(Me, Kind, Location, First) -> step(Me, Kind, Location, First, ?NONE).
step(#me{life = Life} = Me, Kind, Location, ?NONE, ?NONE) -> step(Me, Kind, Location, ?READS(Life), ?NONE);
step(#me{life = Life} = Me, Kind, Location, First, ?NONE) when First div 2 =/= Life ->
    step(Me, Kind, Location, First, ?READS(Life));
step(Me, Kind, Location, First, Second) -> step(Me, Kind, Location, First, Second, ?NONE).

%% An operation that also depends on a third object. Only a search needs that.
step(#me{session = Session, actor = Actor, searches = Searches, callers = Callers} = Me, Kind, Location, First, Second, Third) ->
    Searches andalso look(Me, Location, First, Second, Third),
    Callers andalso raddle_callers:note(Me, Location),
    take(raddle_nif:step(Session, Actor, Kind, Location, First, Second), Me).

%% Reads objects whose state can no longer change, so that the result is known without it. A search must see
%% it nevertheless: the operation that led to this state might have come after the read. Other strategies need
%% no operation for it.
known(Me, Location, First) -> known(Me, Location, First, ?NONE).
known(#me{searches = false}, _, _, _) -> ok;
known(Me, Location, First, Second) -> step(Me, ?READ, Location, First, Second).

%% The list of all processes, names or tables of a node. An operation that adds or removes an entry reads this
%% object, because two of these are independent, and one that reads the whole list writes it.
roll(#me{node = Node} = Me, What) -> raddle_table:object(Me, {roll, Node, What}).

%% If there is no room, a search by touches sees a read of the own life before the operation and one after it,
%% as separate operations. Ending the process between a read and the operation next to it is the same as
%% ending it on the other side of the read, so no outcome is missed. A third object is part of these reads.
look(#me{life = Life}, Location, First, Second, Third) ->
    Room = Third =:= ?NONE andalso (First div 2 =:= Life orelse Second div 2 =:= Life),
    case erlang:get('$raddle_owes') of
        {owes, Owed} when Room; Owed =/= Third, Owed =/= ?NONE, Third =/= ?NONE -> settle(Location);
        _ -> ok
    end,
    Room orelse begin
        Left = case erlang:get('$raddle_owes') of {owes, Known} -> Known; undefined -> ?NONE end,
        erlang:put('$raddle_owes', {owes, max(Left, Third)}),
        settle(Location),
        erlang:put('$raddle_owes', {owes, Third})
    end.

%% The read after the latest operation, if that had no room. Part of the next operation of the process.
settle(Location) ->
    case erlang:erase('$raddle_owes') of
        {owes, Third} ->
            #me{session = Session, actor = Actor, life = Life, callers = Callers} = Me = me(),
            Callers andalso raddle_callers:note(Me, Location),
            take(raddle_nif:step(Session, Actor, ?READ, Location, ?READS(Life), Third), Me);
        undefined -> ok
    end.

%% Sleeps on the virtual clock.
sleep(#me{session = Session, actor = Actor, life = Life, searches = Searches, callers = Callers} = Me, Location, Nanoseconds) ->
    Callers andalso raddle_callers:note(Me, Location),
    Own = if Searches -> ?READS(Life); true -> ?NONE end,
    take(raddle_nif:sleep(Session, Actor, Location, Nanoseconds, Own), Me).

%% Waits for a message to the own mailbox (go) or a time-out (timeout).
wait(#me{session = Session, actor = Actor, callers = Callers} = Me, Location, Nanoseconds) ->
    Callers andalso raddle_callers:note(Me, Location),
    take(raddle_nif:wait(Session, Actor, Location, Nanoseconds), Me).

%% Handles the call of a function that may be part of a loop. Counts, instead of reading a clock, so that a
%% loop without an operation is detected in the same way everywhere.
count(Location) ->
    case erlang:get('$raddle_calls') of
        Calls when Calls < ?CALLS -> erlang:put('$raddle_calls', Calls + 1);
        Calls when is_integer(Calls) -> preempt(me(), Location);
        undefined -> ok
    end.

preempt(#me{session = Session, actor = Actor} = Me, Location) ->
    erlang:put('$raddle_calls', 0),
    settle(Location),
    Steps = raddle_nif:interrupt(Session, Actor),
    case erlang:get('$raddle_loop') of
        {Steps, ?TURNS} ->
            fail(Me, io_lib:format("a loop without an operation: ~w function calls since the last one", [?CALLS * ?TURNS]), Location);
        {Steps, Turns} ->
            erlang:put('$raddle_loop', {Steps + 1, Turns + 1}),
            sleep(Me, Location, ?TIME bsl max(0, Turns - ?PATIENT_TURNS));
        %% There was another operation since the last check.
        _ -> erlang:put('$raddle_loop', {Steps, 0})
    end.

%% Fails the run.
fail(#me{session = Session, actor = Actor} = Me, Text, Location) ->
    take(raddle_nif:fail(Session, Actor, Location, unicode:characters_to_binary(Text)), Me).

%% Follows the engine's answer, until this process continues.
take(go, _) -> go;
take(timeout, _) -> timeout;
take(Pid, _) when is_pid(Pid) -> Pid ! '$go', doze();
take({timeout, Pid}, _) -> Pid ! '$late', doze();
take(Actor, Me) when is_integer(Actor) ->
    Answer = raddle_signal:act(Actor, Me),
    case erlang:get('$raddle_ended') of
        undefined -> take(Answer, Me);
        true -> leave(Answer, Me#me{actor = -1}) % It has executed its own end.
    end;
take(stop, Me) -> over(Me, stop).

doze() ->
    receive
        '$go' -> go;
        '$late' -> timeout
    end.

%% Like take/2, for a process that is no longer an actor: it stops as soon as another one continues.
leave(Pid, _) when is_pid(Pid) -> Pid ! '$go', linger();
leave({timeout, Pid}, _) -> Pid ! '$late', linger();
leave(go, Me) -> over(Me, {broken, <<"a process that has ended was resumed">>});
leave(Actor, Me) when is_integer(Actor) -> leave(raddle_signal:act(Actor, Me), Me);
leave(stop, Me) -> over(Me, stop).

%% Ends a process of the host whose actor continues without it. The running one first acts to the end.
end_process(Real) when Real =:= self() -> erlang:put('$raddle_ended', true);
end_process(Real) -> erlang:exit(Real, kill).

%% Until its death begins, a process that has returned is alive for others, which may read its mailbox and its
%% dictionary.
linger() ->
    case erlang:get('$raddle_ended') of
        true -> vanish();
        undefined -> receive '$never' -> ok end
    end.

%% No code of the program observes this end, not even one that catches everything.
vanish() ->
    erlang:exit(self(), kill),
    receive '$never' -> ok end.

%% Ends the run without a verdict because the program called an uncontrolled function.
refuse(What, Arguments, Location) ->
    over(me(), {refused, What, Arguments, Location}).

over(#me{table = Table}, Why) ->
    ets:lookup_element(Table, controller, 3) ! {'$over', Table, Why},
    vanish().
