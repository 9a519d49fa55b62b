%% The virtual clock and timers. Time stands still while any process can run; it begins at the same moment in
%% every run.
-module(raddle_time).
-export([monotonic_time/1, monotonic_time/2, system_time/1, system_time/2, time_offset/1, time_offset/2, timestamp/1, now/1,
         localtime/1, universaltime/1, date/1, time/1, unique_integer/1, unique_integer/2, send_after/4, send_after/5,
         start_timer/4, start_timer/5, cancel_timer/2, cancel_timer/3, read_timer/2, read_timer/3]).
-compile({no_auto_import, [now/0, date/0, time/0]}).
-include("raddle_run.hrl").

%% 2020-09-13 12:26:40 UTC, in nanoseconds.
-define(BEGINNING, 1600000000000000000).

nanoseconds() -> raddle_nif:now((raddle_turn:me())#me.session).

monotonic_time(_) -> nanoseconds().
monotonic_time(Unit, _) -> erlang:convert_time_unit(nanoseconds(), nanosecond, unit(Unit)).
system_time(_) -> ?BEGINNING + nanoseconds().
system_time(Unit, _) -> erlang:convert_time_unit(?BEGINNING + nanoseconds(), nanosecond, unit(Unit)).
time_offset(_) -> ?BEGINNING.
time_offset(Unit, _) -> erlang:convert_time_unit(?BEGINNING, nanosecond, unit(Unit)).

%% A native unit of time is always a nanosecond here.
unit(native) -> nanosecond;
unit(perf_counter) -> nanosecond;
unit(Unit) -> Unit.

timestamp(_) ->
    Micro = (?BEGINNING + nanoseconds()) div 1000,
    {Micro div 1000000000000, Micro div 1000000 rem 1000000, Micro rem 1000000}.

%% Never returns the same value twice.
now(Location) ->
    Unique = monotonic(Location),
    {Mega, Seconds, Micro} = timestamp(Location),
    Later = Micro + Unique,
    {Mega, Seconds + Later div 1000000, Later rem 1000000}.

universaltime(Location) -> calendar:system_time_to_universal_time(system_time(second, Location), second).
localtime(Location) -> universaltime(Location).
date(Location) -> element(1, universaltime(Location)).
time(Location) -> element(2, universaltime(Location)).

%% Depends only on the requesting process and the number of its requests; unless it must be ordered with those
%% of others.
unique_integer(_) ->
    Number = case erlang:get('$raddle_unique') of undefined -> 1; Last -> Last + 1 end,
    erlang:put('$raddle_unique', Number),
    Number bsl 24 + (raddle_turn:me())#me.actor.
unique_integer(Options, Location) ->
    case lists:member(monotonic, Options) of
        true -> monotonic(Location);
        false -> unique_integer(Location)
    end.

monotonic(Location) ->
    #me{session = Session} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(raddle_table:object(Me, {unique, monotonic}))),
    raddle_nif:unique(Session).

%% ---- timers

send_after(Time, Target, Message, Location) -> send_after(Time, Target, Message, [], Location).
send_after(Time, Target, Message, Options, Location) ->
    Me = raddle_turn:me(),
    start(Me, raddle_table:reference(Me), Time, Target, Message, Options, Location).

start_timer(Time, Target, Message, Location) -> start_timer(Time, Target, Message, [], Location).
start_timer(Time, Target, Message, Options, Location) ->
    Me = raddle_turn:me(),
    Reference = raddle_table:reference(Me),
    start(Me, Reference, Time, Target, {timeout, Reference, Message}, Options, Location).

%% No other process knows the timer yet, so this is not an operation.
start(#me{session = Session, table = Table, actor = Actor, node = Node} = Me, Reference, Time, Target, Message, Options, Location) ->
    is_integer(Time) orelse erlang:error(badarg),
    To = if
             is_pid(Target), erlang:node(Target) =:= Node -> Target;
             is_atom(Target) -> {Target, Node};
             true -> erlang:error(badarg)
         end,
    Span = case lists:keyfind(abs, 1, Options) of
               {abs, true} -> max(0, Time - raddle_nif:now(Session) div 1000000);
               _ when Time >= 0 -> Time;
               _ -> erlang:error(badarg)
           end * 1000000,
    Object = raddle_table:object(Me, {timer, Reference}),
    Timer = raddle_nif:add_timer(Session, Actor, Span, Location, ?WRITES(Object)),
    ets:insert(Table, {timer, {timer, Reference}, Timer, raddle_nif:now(Session) + Span}),
    raddle_signal:timer(Me, Timer, Reference, To, Message),
    Reference.

cancel_timer(Reference, Location) -> cancel_timer(Reference, [], Location).
cancel_timer(Reference, Options, Location) when is_reference(Reference) ->
    #me{session = Session, table = Table, pid = Pid} = Me = raddle_turn:me(),
    case ets:member(Table, {timer, Reference}) of
        true -> raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(raddle_table:object(Me, {timer, Reference})));
        false -> raddle_turn:known(Me, Location, ?READS(raddle_table:object(Me, {timer, Reference})))
    end,
    Left = case ets:take(Table, {timer, Reference}) of
               [{_, _, Timer, End}] ->
                   Left0 = max(0, End - raddle_nif:now(Session)),
                   ets:delete(Table, {actor, Timer}),
                   %% An expired timer is about to act, and will find that there is nothing to do.
                   Left0 > 0 andalso raddle_nif:cancel(Session, Timer),
                   Left0 div 1000000;
               [] -> false
           end,
    reply(Me, Pid, cancel_timer, Reference, Left, Options);
cancel_timer(_, _, _) -> erlang:error(badarg).

read_timer(Reference, Location) -> read_timer(Reference, [], Location).
read_timer(Reference, Options, Location) when is_reference(Reference) ->
    #me{session = Session, table = Table, pid = Pid} = Me = raddle_turn:me(),
    case ets:member(Table, {timer, Reference}) of
        true -> raddle_turn:step(Me, ?READ, Location, ?READS(raddle_table:object(Me, {timer, Reference})));
        false -> raddle_turn:known(Me, Location, ?READS(raddle_table:object(Me, {timer, Reference})))
    end,
    Left = case ets:lookup(Table, {timer, Reference}) of
               [{_, _, _, End}] -> max(0, End - raddle_nif:now(Session)) div 1000000;
               [] -> false
           end,
    reply(Me, Pid, read_timer, Reference, Left, Options);
read_timer(_, _, _) -> erlang:error(badarg).

reply(Me, Pid, What, Reference, Left, Options) ->
    Info = not lists:member({info, false}, Options),
    case lists:member({async, true}, Options) of
        true when Info -> raddle_signal:post(Me, Pid, {What, Reference, Left}), ok;
        true -> ok;
        false when Info -> Left;
        false -> ok
    end.
