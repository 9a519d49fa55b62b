%% Faults of nodes and of the lines between them. Each breaks one line after the other, and each of these is an operation: what a node sends after
%% its line to one other node has gone is lost as if it had been on its way, so a crash looks to the others as if it were at once.
-module(raddle_fault).
-export([crash/2, restart/3, partition/3, heal/3, disconnect/3, halt/1, halt/2, halt/3]).
-compile({no_auto_import, [halt/0, halt/1, halt/2]}).
-include("raddle_run.hrl").

others(#me{table = Table}, Node) -> raddle_table:find(Table, nodes, []) -- [Node].

is_down(Table, Node) -> ets:member(Table, {down, Node}).

%% The operation that changes a line.
at_line(Me, Node, Other, Place) ->
    {First, Second} = raddle_line:both(Me, Node, Other),
    raddle_turn:step(Me, ?WRITE, Place, First, Second).

%% ---- nodes

%% The node ends: others lose their connections to it, one after the other, and nothing of it is left but its disk. Not for the node of the test.
crash(Node, Place) ->
    #me{table = Table, node = Own} = Me = raddle_turn:me(),
    raddle_node:check(Node) andalso not is_down(Table, Node)
        andalso erlang:node(raddle_table:find(Table, main, none)) =/= Node orelse erlang:error(badarg),
    ets:insert(Table, {down, {down, Node}, going}),
    [begin
         at_line(Me, Node, Other, Place),
         case raddle_line:state(Table, Node, Other) of
             cut -> ok;
             _ -> raddle_line:lose(Me, Node, Other, gone, [{Other, connection_closed}])
         end
     end || Other <- others(Me, Node)],
    raddle_turn:step(Me, ?WRITE, Place, ?WRITES(raddle_table:object(Me, {node, Node}))),
    ets:insert(Table, {down, {down, Node}, gone}),
    sweep(Me, Node),
    raddle_file:crashed(Me, Node),
    case Node of
        Own -> raddle_process:vanish(Me);
        _ -> ok
    end.

%% A node that stops itself is gone for the others as if it had crashed.
halt(Place) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    case erlang:node(raddle_table:find(Table, main, none)) of
        Node -> raddle_turn:refuse({erlang, halt, 0}, [], Place); % The test would end without a verdict.
        _ -> crash(Node, Place)
    end.
halt(_, Place) -> halt(Place).
halt(_, _, Place) -> halt(Place).

%% The node is there again, with Fun as its first process, and is connected to none.
restart(Node, Fun, Place) when is_function(Fun, 0) ->
    #me{table = Table} = Me = raddle_turn:me(),
    raddle_table:find(Table, {down, Node}, going) =:= gone orelse erlang:error(badarg),
    [begin
         at_line(Me, Node, Other, Place),
         raddle_line:state(Table, Node, Other) =:= gone andalso not is_down(Table, Other)
             andalso raddle_line:set(Table, Node, Other, idle)
     end || Other <- others(Me, Node)],
    raddle_turn:step(Me, ?SPAWN, Place, ?WRITES(raddle_table:object(Me, {node, Node}))),
    ets:delete(Table, {down, Node}),
    raddle_file:restarted(Me, Node),
    First = fun() ->
                raddle_service:again(raddle_turn:me(), Place),
                Fun()
            end,
    raddle_process:spawned(Me, Node, First, raddle_table:pid(Node, 1));
restart(_, _, _) -> erlang:error(badarg).

%% ---- lines

partition(Some, Others, Place) -> pairs(Some, Others, fun(Me, Node, Other) -> part(Me, Node, Other, cut, net_tick_timeout, Place) end).

disconnect(Some, Others, Place) -> pairs(Some, Others, fun(Me, Node, Other) -> part(Me, Node, Other, idle, connection_closed, Place) end).

part(#me{table = Table} = Me, Node, Other, State, Reason, Place) ->
    at_line(Me, Node, Other, Place),
    case raddle_line:state(Table, Node, Other) of
        Known when Known =:= State; Known =:= gone, State =:= idle; Known =:= cut -> ok;
        _ -> raddle_line:lose(Me, Node, Other, State, [{Node, Reason}, {Other, Reason}])
    end.

heal(Some, Others, Place) ->
    pairs(Some, Others, fun(#me{table = Table} = Me, Node, Other) ->
        at_line(Me, Node, Other, Place),
        Down = is_down(Table, Node) orelse is_down(Table, Other),
        raddle_line:state(Table, Node, Other) =:= cut
            andalso raddle_line:set(Table, Node, Other, if Down -> gone; true -> idle end)
    end).

pairs(Some, Others, Do) ->
    Me = raddle_turn:me(),
    Pairs = [{Node, Other} || Node <- lists:flatten([Some]), Other <- lists:flatten([Others])],
    lists:all(fun({Node, Other}) -> Node =/= Other andalso raddle_node:check(Node) andalso raddle_node:check(Other) end, Pairs)
        orelse erlang:error(badarg),
    [Do(Me, Node, Other) || {Node, Other} <- lists:usort([{min(Node, Other), max(Node, Other)} || {Node, Other} <- Pairs])],
    ok.

%% ---- what goes with a node

sweep(#me{session = Session, table = Table, actor = Own} = Me, Node) ->
    Rows = lists:sort(ets:tab2list(Table)),
    Known = [Actor || #process{pid = Pid, actor = Actor} <- Rows, erlang:node(Pid) =:= Node],
    [begin
         ets:delete(Table, Pid),
         ets:delete(Table, {actor, Actor}),
         Actor =:= Own orelse begin
             raddle_nif:cancel(Session, Actor),
             raddle_turn:end_process(Real)
         end
     end || #process{pid = Pid, actor = Actor, real = Real} <- Rows, erlang:node(Pid) =:= Node],
    [begin
         ets:delete(Table, {actor, Actor}),
         raddle_nif:cancel(Session, Actor)
     end || {actor, {actor, Actor}, State} <- Rows, is_of(State, Node), not lists:member(Actor, [Own | Known])],
    [ets:delete(Table, element(2, Row)) || Row <- Rows, belongs(Row, Node)],
    raddle_ets:node_died(Me, Node),
    raddle_service:node_died(Me, Node),
    raddle_line:forget(Me, Node).

%% Actors of the node that have no process.
is_of({timer, _, _, _, Node}, Node) -> true;
is_of({notices, Node, _, _}, Node) -> true;
is_of({dying, Pid, _, _}, Node) -> erlang:node(Pid) =:= Node;
is_of(_, _) -> false.

belongs({name, {name, Node, _}, _}, Node) -> true;
belongs({name_of, {name_of, Pid}, _}, Node) -> erlang:node(Pid) =:= Node;
belongs({list, {Word, Pid}, _}, Node) when is_pid(Pid) ->
    erlang:node(Pid) =:= Node andalso lists:member(Word, [links, watchers, tables, early]);
belongs({list, {nodes_watch, Node}, _}, Node) -> true;
belongs({list, {node_watch, Node, _}, _}, Node) -> true;
belongs({list, {connecting, Node, _}, _}, Node) -> true;
belongs({monitor, _, Pid, _, _}, Node) -> erlang:node(Pid) =:= Node;
belongs({alias, _, Pid, _}, Node) -> erlang:node(Pid) =:= Node;
belongs({target, _, Pid}, Node) -> erlang:node(Pid) =:= Node;
belongs({timer, {timer, Reference}, _, _}, Node) -> erlang:node(Reference) =:= Node;
belongs({request, {request, Reference}, _, _, _, _, _, _}, Node) -> erlang:node(Reference) =:= Node;
belongs({service, {service, Node, _}, _}, Node) -> true;
belongs({persistent, {persistent, Node, _}, _}, Node) -> true;
belongs({environment, {environment, Node, _, _}, _}, Node) -> true;
belongs(_, _) -> false.
