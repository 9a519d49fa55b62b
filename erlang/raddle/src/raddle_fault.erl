%% Faults of nodes and of the lines between them. Each breaks one line after the other, and each of these is
%% an operation: what a node sends after its line to one other node broke is lost like a message in transit,
%% so a crash looks instantaneous to the others.
-module(raddle_fault).
-export([crash/2, restart/3, partition/3, heal/3, disconnect/3, halt/1, halt/2, halt/3, orphaned/2, act/3]).
-export([others/2, claim/2, touches/2, one/2]). % for raddle_faults
-compile({no_auto_import, [halt/0, halt/1, halt/2]}).
-include("raddle_run.hrl").

others(#me{table = Table}, Node) -> raddle_table:find(Table, nodes, []) -- [Node].

is_down(Table, Node) -> ets:member(Table, {down, Node}).

%% Returns true if lines lead to the node, or will soon. Two nodes that are restarted at once must find each
%% other.
is_coming(Table, Node) -> lists:member(raddle_table:find(Table, {down, Node}, up), [up, coming]).

%% ---- nodes

%% Crashes the node: others lose their connections to it, one after the other, and only its disk remains. Not
%% allowed for the node of the test.
crash(Node, Location) ->
    #me{table = Table} = Me = raddle_turn:me(),
    raddle_node:check(Node) andalso not is_down(Table, Node)
        andalso erlang:node(raddle_table:find(Table, main, none)) =/= Node orelse erlang:error(badarg),
    'begin'(Me, {crash, Node, others(Me, Node)}, Location),
    case Me of
        #me{node = Node} -> raddle_process:vanish(Me);
        _ -> ok
    end.

%% A node that halts looks crashed to the others.
halt(Location) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    case erlang:node(raddle_table:find(Table, main, none)) of
        Node -> raddle_turn:refuse({erlang, halt, 0}, [], Location); % The test would end without a verdict.
        _ -> crash(Node, Location)
    end.
halt(_, Location) -> halt(Location).
halt(_, _, Location) -> halt(Location).

%% Restarts the node, with Fun as its first process and without connections.
restart(Node, Fun, Location) when is_function(Fun, 0) ->
    #me{table = Table} = Me = raddle_turn:me(),
    raddle_table:find(Table, {down, Node}, going) =:= gone orelse erlang:error(badarg),
    'begin'(Me, {restart, Node, others(Me, Node), Fun, Location}, Location);
restart(_, _, _) -> erlang:error(badarg).

%% ---- the steps of a fault: a line each, then the node

%% Executes them in the running process, unless another one has begun the same fault before.
'begin'(Me, Work, Location) ->
    {Kind, First, Second} = touches(Me, Work),
    raddle_turn:step(Me, Kind, Location, First, Second),
    claim(Me, Work) orelse erlang:error(badarg),
    continue(Me, Work, Location).

claim(#me{table = Table}, {crash, Node, _}) -> ets:insert_new(Table, {down, {down, Node}, going});
claim(#me{table = Table}, {restart, Node, _, _, _}) ->
    raddle_table:find(Table, {down, Node}, going) =:= gone andalso ets:insert(Table, {down, {down, Node}, coming});
claim(_, _) -> true.

continue(#me{table = Table, pid = Pid} = Me, Work, Location) ->
    case one(Me, Work) of
        {more, Left} ->
            {Kind, First, Second} = touches(Me, Left),
            ets:insert(Table, {work, {work, Pid}, Left}),
            raddle_turn:step(Me, Kind, Location, First, Second),
            ets:delete(Table, {work, Pid}),
            continue(Me, Left, Location);
        {done, Value} -> Value
    end.

%% Continues the faults of a process that has ended, in an actor, so that no node is left in between.
orphaned(#me{session = Session, table = Table, actor = Actor} = Me, Pid) ->
    case raddle_table:find(Table, {work, Pid}, none) of
        none -> ok;
        Work ->
            ets:delete(Table, {work, Pid}),
            {Kind, First, Second} = touches(Me, Work),
            Task = raddle_nif:add_task(Session, max(Actor, 0), Kind, ?AT_CARRIER, {First, Second}),
            Word = case element(1, Work) of crash -> "crash"; restart -> "restart" end,
            ets:insert(Table, [{actor, {actor, Task}, {work, Work}},
                               {actor_name, {actor_name, Task}, io_lib:format("~s of ~ts", [Word, element(2, Work)])}]),
            ok
    end.

act(#me{session = Session, table = Table, actor = Actor} = Me, Who, Work) ->
    case one(Me, Work) of
        {more, Left} ->
            ets:insert(Table, {actor, {actor, Actor}, {work, Left}}),
            {Kind, First, Second} = touches(Me, Left),
            raddle_nif:act(Session, Who, Actor, Kind, ?AT_CARRIER, {First, Second});
        {done, _} ->
            ets:delete(Table, {actor, Actor}),
            raddle_nif:finish(Session, Who, Actor)
    end.

%% Returns the kind and the touches of the next operation.
touches(Me, Work) ->
    case {element(2, Work), element(3, Work)} of
        {Node, []} -> {?WRITE, ?WRITES(raddle_table:object(Me, {node, Node})), ?NONE};
        {Node, [Other | _]} -> {First, Second} = raddle_line:both(Me, Node, Other), {?WRITE, First, Second}
    end.

%% Executes one part after its operation.
one(#me{table = Table} = Me, {crash, Node, [Other | Left]}) ->
    case raddle_line:state(Table, Node, Other) of
        cut -> ok;
        _ -> raddle_line:lose(Me, Node, Other, gone, [{Other, connection_closed}])
    end,
    {more, {crash, Node, Left}};
one(#me{table = Table} = Me, {crash, Node, []}) ->
    ets:insert(Table, {down, {down, Node}, gone}),
    sweep(Me, Node),
    raddle_file:crashed(Me, Node),
    {done, ok};
one(#me{table = Table}, {restart, Node, [Other | Left], Fun, Location}) ->
    raddle_line:state(Table, Node, Other) =:= gone andalso is_coming(Table, Other)
        andalso raddle_line:set(Table, Node, Other, idle),
    {more, {restart, Node, Left, Fun, Location}};
one(#me{table = Table} = Me, {restart, Node, [], Fun, Location}) ->
    ets:delete(Table, {down, Node}),
    raddle_table:count(Table, {restarts, Node}),
    raddle_file:restarted(Me, Node),
    First = fun() ->
                raddle_service:again(raddle_turn:me(), Location),
                Fun()
            end,
    {done, raddle_process:arrived(Me, Node, First, raddle_table:pid(Node, 1))};
one(Me, {partition, Node, [Other]}) -> {done, part(Me, Node, Other, cut, net_tick_timeout)};
one(Me, {disconnect, Node, [Other]}) -> {done, part(Me, Node, Other, idle, connection_closed)};
one(#me{table = Table}, {heal, Node, [Other]}) ->
    Both = is_coming(Table, Node) andalso is_coming(Table, Other),
    {done, raddle_line:state(Table, Node, Other) =:= cut
               andalso raddle_line:set(Table, Node, Other, if Both -> idle; true -> gone end)}.

%% ---- lines

partition(Some, Others, Location) -> pairs(partition, Some, Others, Location).
disconnect(Some, Others, Location) -> pairs(disconnect, Some, Others, Location).
heal(Some, Others, Location) -> pairs(heal, Some, Others, Location).

pairs(Sort, Some, Others, Location) ->
    Me = raddle_turn:me(),
    Pairs = [{Node, Other} || Node <- lists:flatten([Some]), Other <- lists:flatten([Others])],
    lists:all(fun({Node, Other}) -> Node =/= Other andalso raddle_node:check(Node) andalso raddle_node:check(Other) end, Pairs)
        orelse erlang:error(badarg),
    [begin
         {Kind, First, Second} = touches(Me, {Sort, Node, [Other]}),
         raddle_turn:step(Me, Kind, Location, First, Second),
         one(Me, {Sort, Node, [Other]})
     end || {Node, Other} <- lists:usort([{min(Node, Other), max(Node, Other)} || {Node, Other} <- Pairs])],
    ok.

part(#me{table = Table} = Me, Node, Other, State, Reason) ->
    case raddle_line:state(Table, Node, Other) of
        Known when Known =:= State; Known =:= gone, State =:= idle; Known =:= cut -> ok;
        _ -> raddle_line:lose(Me, Node, Other, State, [{Node, Reason}, {Other, Reason}])
    end.

%% ---- the end of a node's resources

sweep(#me{session = Session, table = Table, actor = Own} = Me, Node) ->
    Rows = lists:sort(ets:tab2list(Table)),
    Known = [Actor || #process{pid = Pid, actor = Actor} <- Rows, erlang:node(Pid) =:= Node],
    [begin
         ets:delete(Table, Pid),
         ets:delete(Table, {actor, Actor}),
         Actor =:= Own orelse begin
             raddle_nif:cancel(Session, Actor),
             raddle_turn:end_process(Real),
             orphaned(Me, Pid)
         end
     end || #process{pid = Pid, actor = Actor, real = Real} <- Rows, erlang:node(Pid) =:= Node],
    [begin
         ets:delete(Table, {actor, Actor}),
         raddle_nif:cancel(Session, Actor)
     end || {actor, {actor, Actor}, State} <- Rows, is_of(State, Node), not lists:member(Actor, [Own | Known])],
    raddle_service:node_died(Me, Node),
    [ets:delete(Table, element(2, Row)) || Row <- Rows, belongs(Row, Node)],
    raddle_ets:node_died(Me, Node),
    raddle_line:forget(Me, Node).

%% Returns true for an actor of the node without a process.
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
