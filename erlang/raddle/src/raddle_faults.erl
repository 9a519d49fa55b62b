%% Faults that the search injects (option faults): a separate actor, which the test does not know. The
%% strategy chooses the faults, their targets and their times, as for any other actor.
%%
%% A specification limits the number of faults of each kind in a run: crash, restart, partition and
%% disconnect. The node of the test never crashes. A partition is between two nodes and is always healed, and
%% a crashed node is restarted as long as restarts are left, with the function of its first process; both
%% happen before no process can run any more.
%%
%% An actor that may act at any moment mostly acts early, since every step is another chance. So it first
%% draws the number of steps for which it is held: from none to some thousands, with each order of magnitude
%% equally likely. It returns sooner if no other actor can run, now or later. Strategies that search or count
%% all orders have it at every step instead.
-module(raddle_faults).
-export([parse/1, start/3, first/3, act/3]).
-include("raddle_run.hrl").

%% The remaining work: how many faults of each kind, and which must be undone.
-record(faults, {left, cut = [], down = []}).

-define(SORTS, [crash, restart, partition, disconnect]).

%% The number of delays: ?PARTS for each power of two.
-define(DELAYS, 96).
-define(PARTS, 8).

%% Parses a specification such as "crash=1,partition=2", a map or a list of pairs. Returns a map, empty for no
%% faults.
parse(none) -> #{};
parse(Given) when is_map(Given) -> parse(maps:to_list(Given));
parse(Given) when is_binary(Given) -> parse(binary_to_list(Given));
parse([]) -> #{};
parse([{_, _} | _] = Pairs) ->
    [erlang:error({bad_fault, Pair}) || {Sort, Count} = Pair <- Pairs, not lists:member(Sort, ?SORTS) orelse not is_integer(Count) orelse Count < 0],
    maps:from_list(Pairs);
parse(Text) when is_list(Text) -> parse([pair(string:trim(Part)) || Part <- string:split(Text, ",", all)]).

pair(Text) ->
    case string:split(Text, "=") of
        [Word, Number] ->
            case {[Sort || Sort <- ?SORTS, atom_to_list(Sort) =:= Word], string:to_integer(Number)} of
                {[Sort], {Count, []}} when Count >= 0 -> {Sort, Count};
                _ -> erlang:error({bad_fault, Text})
            end;
        _ -> erlang:error({bad_fault, Text})
    end.

%% Adds the actor to a run that has not begun.
start(_, _, Left) when Left =:= #{} -> ok;
start(Session, Table, Left) ->
    {Actor, _} = raddle_nif:add_carrier(Session, 0, ?AT_DELAY),
    ets:insert(Table, [{actor, {actor, Actor}, {faults, #faults{left = Left}, pauses}}, {actor_name, {actor_name, Actor}, "faults"}]),
    raddle_nif:deliver(Session, Actor).

%% Remembers the first process of a node.
first(Table, Node, Fun) -> ets:insert_new(Table, {first, {first, Node}, Fun}).

%% Continues the actor after its announced operation was executed.
act(Me, Who, {Faults, pauses}) -> pause(Me, Who, Faults);
act(#me{session = Session, actor = Actor} = Me, Who, {Faults, delays}) ->
    raddle_nif:hold(Session, Actor, delay(raddle_nif:chosen(Session))),
    become(Me, {faults, Faults, waits}),
    raddle_nif:act_wait(Session, Who, Actor, ?AT_DELAY);
act(Me, Who, {Faults, waits}) -> choose(Me, Who, Faults);
act(#me{session = Session, table = Table} = Me, Who, {Faults, {picks, Options}}) ->
    Option = lists:nth(raddle_nif:chosen(Session) + 1, Options),
    Rest = count(Option, Faults),
    %% The test may have changed the nodes meanwhile.
    case lists:member(Option, options(Table, Faults)) andalso work(Me, Option) of
        {_, _, _} = Work -> announce(Me, Who, Rest, Work);
        {_, _, _, _, _} = Work -> announce(Me, Who, Rest, Work);
        _ -> pause(Me, Who, Rest)
    end;
act(Me, Who, {Faults, {does, Work, Claimed}}) ->
    case (Claimed orelse raddle_fault:claim(Me, Work)) andalso raddle_fault:one(Me, Work) of
        {more, Left} ->
            become(Me, {faults, Faults, {does, Left, true}}),
            next(Me, Who, Left);
        _ -> pause(Me, Who, Faults)
    end.

announce(Me, Who, Faults, Work) ->
    become(Me, {faults, Faults, {does, Work, false}}),
    next(Me, Who, Work).

next(#me{session = Session, actor = Actor} = Me, Who, Work) ->
    {Kind, First, Second} = raddle_fault:touches(Me, Work),
    raddle_nif:act(Session, Who, Actor, Kind, location(element(1, Work)), {First, Second}).

become(#me{table = Table, actor = Actor}, State) -> ets:insert(Table, {actor, {actor, Actor}, State}).

%% Holds the actor for a while, if there is work left.
pause(#me{session = Session, table = Table, actor = Actor} = Me, Who, Faults) ->
    case {options(Table, Faults), raddle_nif:holds(Session)} of
        {[], _} ->
            ets:delete(Table, {actor, Actor}),
            raddle_nif:finish(Session, Who, Actor);
        {_, true} ->
            become(Me, {faults, Faults, delays}),
            raddle_nif:act_choose(Session, Who, Actor, ?AT_DELAY, ?DELAYS);
        {_, false} -> choose(Me, Who, Faults)
    end.

choose(#me{session = Session, table = Table, actor = Actor} = Me, Who, Faults) ->
    case options(Table, Faults) of
        [] -> pause(Me, Who, Faults);
        Options ->
            become(Me, {faults, Faults, {picks, Options}}),
            raddle_nif:act_choose(Session, Who, Actor, ?AT_FAULTS, length(Options))
    end.

delay(Value) -> (1 bsl (Value div ?PARTS)) * (?PARTS + Value rem ?PARTS) div ?PARTS - 1.

%% ---- the available faults

%% The first option is to stop, except for faults that must be undone.
options(Table, #faults{left = Left, cut = Cut, down = Down}) ->
    Nodes = raddle_table:find(Table, nodes, []),
    Main = erlang:node(raddle_table:find(Table, main, none)),
    Up = [Node || Node <- Nodes, not ets:member(Table, {down, Node})],
    Lines = [{Node, Other} || Node <- Up, Other <- Up, Node < Other, raddle_line:state(Table, Node, Other) =/= cut],
    New = [{crash, Node} || maps:get(crash, Left, 0) > 0, Node <- Up, Node =/= Main]
        ++ [{Sort, Line} || Sort <- [partition, disconnect], maps:get(Sort, Left, 0) > 0, Line <- Lines],
    Old = [{heal, Line} || Line <- Cut]
        ++ [{restart, Node} || maps:get(restart, Left, 0) > 0, Node <- Down, raddle_table:find(Table, {down, Node}, up) =:= gone],
    [stop || New =/= []] ++ New ++ Old.

count(stop, #faults{left = Left} = Faults) -> Faults#faults{left = maps:with([restart], Left)};
count({heal, Line}, #faults{cut = Cut} = Faults) -> Faults#faults{cut = Cut -- [Line]};
count({Sort, What}, #faults{left = Left, cut = Cut, down = Down} = Faults) ->
    Counted = Faults#faults{left = Left#{Sort => maps:get(Sort, Left) - 1}},
    case Sort of
        crash -> Counted#faults{down = Down ++ [What]};
        restart -> Counted#faults{down = Down -- [What]};
        partition -> Counted#faults{cut = Cut ++ [What]};
        disconnect -> Counted
    end.

work(_, stop) -> none;
work(Me, {crash, Node}) -> {crash, Node, raddle_fault:others(Me, Node)};
work(#me{table = Table} = Me, {restart, Node}) ->
    {restart, Node, raddle_fault:others(Me, Node), raddle_table:find(Table, {first, Node}, fun() -> ok end), ?AT_RESTART};
work(_, {Sort, {Node, Other}}) -> {Sort, Node, [Other]}.

location(crash) -> ?AT_CRASH;
location(restart) -> ?AT_RESTART;
location(partition) -> ?AT_PARTITION;
location(heal) -> ?AT_HEAL;
location(disconnect) -> ?AT_DISCONNECT.
