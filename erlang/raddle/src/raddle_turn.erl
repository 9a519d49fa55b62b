%% Whose turn it is. Exactly one controlled process runs at a time. Before each operation that others could notice it asks the
%% engine who is next; if that is another process it wakes it by one message and sleeps. Actors without a process (timers, deliveries
%% between nodes, processes that are dying) are played by whoever has asked. Nothing here raises anything that a program could
%% catch: a process whose run is over is killed.
-module(raddle_turn).
-export([me/0, step/4, step/5, step/6, known/3, known/4, roll/2, settle/1, sleep/3, wait/3, take/2, leave/2, refuse/3, over/2, end_process/1, count/1, fail/3]).
-include("raddle_run.hrl").

%% So many calls of functions without an operation are one that takes some nanoseconds of the virtual time, so that others have a
%% turn. After some such turns it is most likely a loop and they take more and more time, so that who waits with a time-out gives up; and then
%% the run fails.
-define(CALLS, 1000000).
-define(TIME, 20000000).
-define(PATIENT_TURNS, 30).
-define(TURNS, 50).

me() -> erlang:get('$raddle').

%% An operation that touches at most two objects. Returns when it is this process's turn to execute it. If there is room, its own life
%% is one of them: whoever ends the process before the operation changes what happens.
step(Me, Kind, Place, First) -> step(Me, Kind, Place, First, ?NONE).
step(#me{life = Life} = Me, Kind, Place, ?NONE, ?NONE) -> step(Me, Kind, Place, ?READS(Life), ?NONE);
step(#me{life = Life} = Me, Kind, Place, First, ?NONE) when First div 2 =/= Life ->
    step(Me, Kind, Place, First, ?READS(Life));
step(Me, Kind, Place, First, Second) -> step(Me, Kind, Place, First, Second, ?NONE).

%% An operation that depends on a third object besides. Only a search is told of that.
step(#me{session = Session, actor = Actor, searches = Searches, callers = Callers} = Me, Kind, Place, First, Second, Third) ->
    Searches andalso look(Me, Place, First, Second, Third),
    Callers andalso raddle_callers:note(Me, Place),
    take(raddle_nif:step(Session, Actor, Kind, Place, First, Second), Me).

%% A look at objects whose state can no longer change, so that the result is known without it. A search has to see it all the same:
%% the operation that led to this state might have come after the look. The others need no operation for it.
known(Me, Place, First) -> known(Me, Place, First, ?NONE).
known(#me{searches = false}, _, _, _) -> ok;
known(Me, Place, First, Second) -> step(Me, ?READ, Place, First, Second).

%% The list of all processes, names or tables of a node. Whoever adds to it or takes from it reads this object, as two of these do not depend on
%% each other, and whoever looks at the whole list writes it.
roll(#me{node = Node} = Me, What) -> raddle_table:object(Me, {roll, Node, What}).

%% If there is no room, a search that goes by touches sees a look at the own life before the operation and one after it, as
%% operations of their own. To end the process between a look and the operation beside it is the same as to do it on the other
%% side of the look, so no outcome is missed. A third object is part of these looks.
look(#me{life = Life}, Place, First, Second, Third) ->
    Room = Third =:= ?NONE andalso (First div 2 =:= Life orelse Second div 2 =:= Life),
    case erlang:get('$raddle_owes') of
        {owes, Owed} when Room; Owed =/= Third, Owed =/= ?NONE, Third =/= ?NONE -> settle(Place);
        _ -> ok
    end,
    Room orelse begin
        Left = case erlang:get('$raddle_owes') of {owes, Known} -> Known; undefined -> ?NONE end,
        erlang:put('$raddle_owes', {owes, max(Left, Third)}),
        settle(Place),
        erlang:put('$raddle_owes', {owes, Third})
    end.

%% The look after the latest operation, if that had no room. Part of whatever the process does next.
settle(Place) ->
    case erlang:erase('$raddle_owes') of
        {owes, Third} ->
            #me{session = Session, actor = Actor, life = Life, callers = Callers} = Me = me(),
            Callers andalso raddle_callers:note(Me, Place),
            take(raddle_nif:step(Session, Actor, ?READ, Place, ?READS(Life), Third), Me);
        undefined -> ok
    end.

%% Sleeps on the virtual clock.
sleep(#me{session = Session, actor = Actor, life = Life, searches = Searches, callers = Callers} = Me, Place, Nanoseconds) ->
    Callers andalso raddle_callers:note(Me, Place),
    Own = if Searches -> ?READS(Life); true -> ?NONE end,
    take(raddle_nif:sleep(Session, Actor, Place, Nanoseconds, Own), Me).

%% Waits until something comes to the own mailbox (go) or the time is over (timeout).
wait(#me{session = Session, actor = Actor, callers = Callers} = Me, Place, Nanoseconds) ->
    Callers andalso raddle_callers:note(Me, Place),
    take(raddle_nif:wait(Session, Actor, Place, Nanoseconds), Me).

%% A function is called that may be part of a loop. Counts, instead of looking at a clock, so that a loop without an operation is told
%% in the same way everywhere.
count(Place) ->
    case erlang:get('$raddle_calls') of
        Calls when Calls < ?CALLS -> erlang:put('$raddle_calls', Calls + 1);
        Calls when is_integer(Calls) -> preempt(me(), Place);
        undefined -> ok
    end.

preempt(#me{session = Session, actor = Actor} = Me, Place) ->
    erlang:put('$raddle_calls', 0),
    settle(Place),
    Steps = raddle_nif:interrupt(Session, Actor),
    case erlang:get('$raddle_loop') of
        {Steps, ?TURNS} ->
            fail(Me, io_lib:format("a loop without an operation: ~w calls of functions since the last one", [?CALLS * ?TURNS]), Place);
        {Steps, Turns} ->
            erlang:put('$raddle_loop', {Steps + 1, Turns + 1}),
            sleep(Me, Place, ?TIME bsl max(0, Turns - ?PATIENT_TURNS));
        %% There was another operation since this was looked at.
        _ -> erlang:put('$raddle_loop', {Steps, 0})
    end.

%% Ends the run: the program is wrong.
fail(#me{session = Session, actor = Actor} = Me, Text, Place) ->
    take(raddle_nif:fail(Session, Actor, Place, unicode:characters_to_binary(Text)), Me).

%% Does what the engine answered, up to where this process goes on.
take(go, _) -> go;
take(timeout, _) -> timeout;
take(Pid, _) when is_pid(Pid) -> Pid ! '$go', doze();
take({timeout, Pid}, _) -> Pid ! '$late', doze();
take(Actor, Me) when is_integer(Actor) ->
    Answer = raddle_signal:act(Actor, Me),
    case erlang:get('$raddle_ended') of
        undefined -> take(Answer, Me);
        true -> leave(Answer, Me#me{actor = -1}) % What it has played was its own end.
    end;
take(stop, Me) -> over(Me, stop).

doze() ->
    receive
        '$go' -> go;
        '$late' -> timeout
    end.

%% As take/2, for a process that is no actor any more: it does nothing more as soon as another one goes on.
leave(Pid, _) when is_pid(Pid) -> Pid ! '$go', linger();
leave({timeout, Pid}, _) -> Pid ! '$late', linger();
leave(go, Me) -> over(Me, {broken, <<"a process that has ended was to go on">>});
leave(Actor, Me) when is_integer(Actor) -> leave(raddle_signal:act(Actor, Me), Me);
leave(stop, Me) -> over(Me, stop).

%% Ends a process of the host whose actor lives on without it. The one that runs plays its part to the end first.
end_process(Real) when Real =:= self() -> erlang:put('$raddle_ended', true);
end_process(Real) -> erlang:exit(Real, kill).

%% Until its death begins, a process that has returned is alive to others, who may look at its mailbox and its dictionary.
linger() ->
    case erlang:get('$raddle_ended') of
        true -> vanish();
        undefined -> receive '$never' -> ok end
    end.

%% No code of the program sees this end, not even one that catches everything.
vanish() ->
    erlang:exit(self(), kill),
    receive '$never' -> ok end.

%% Ends the run without a verdict because the program did what is not controlled.
refuse(What, Arguments, Place) ->
    over(me(), {refused, What, Arguments, Place}).

over(#me{table = Table}, Why) ->
    ets:lookup_element(Table, controller, 3) ! {'$over', Table, Why},
    vanish().
