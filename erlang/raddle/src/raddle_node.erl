%% The connections between nodes. All nodes of a run exist from its start and are connected; raddle_fault
%% changes that, and a node observes it by the lines that lead to it.
-module(raddle_node).
-export([node/0, nodes/1, nodes/2, nodes/3, is_alive/1, check/1, connect_node/2, disconnect_node/2, monitor_node/3, monitor_node/4, monitor_nodes/3,
         messages/5, lost/3, get_cookie/1, get_cookie/2, set_cookie/2, set_cookie/3]).
-compile({no_auto_import, [node/0, nodes/0, nodes/1, nodes/2, is_alive/0, monitor_node/2, disconnect_node/1]}).
-include("raddle_run.hrl").

node() -> (raddle_turn:me())#me.node.

%% Returns the other nodes to which this one is connected, as far as it knows.
nodes(Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    case raddle_table:find(Table, nodes, []) -- [Node] of
        [] -> [];
        Others ->
            raddle_turn:step(Me, ?READ, Location, ?READS(views(Me))),
            [Other || Other <- Others, raddle_line:is_up(Table, Node, Other)]
    end.

nodes(Sorts, Location) when is_list(Sorts) -> lists:usort(lists:append([nodes(Sort, Location) || Sort <- Sorts]));
nodes(this, _) -> [node()];
nodes(Sort, Location) when Sort =:= visible; Sort =:= connected -> nodes(Location);
nodes(known, _) -> raddle_table:find((raddle_turn:me())#me.table, nodes, []);
nodes(hidden, _) -> [];
nodes(_, _) -> erlang:error(badarg).

nodes(Sort, Options, Location) when is_map(Options) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    [{Other, maps:from_list([{connection_id, raddle_line:connection(Table, Node, Other)} || #{connection_id := true} <- [Options]]
                            ++ [{node_type, visible} || #{node_type := true} <- [Options]])} || Other <- nodes(Sort, Location)];
nodes(_, _, _) -> erlang:error(badarg).

views(#me{node = Node} = Me) -> raddle_table:object(Me, {views, Node}).

is_alive(_) -> true.

%% Checks that there is such a node, up or down.
check(Node) ->
    #me{table = Table} = raddle_turn:me(),
    lists:member(Node, raddle_table:find(Table, nodes, [])).

%% All cookies are the same.
get_cookie(_) -> raddle.
get_cookie(_, _) -> raddle.
set_cookie(_, _) -> true.
set_cookie(_, _, _) -> true.

%% ---- connections

%% Returns whether there is a connection now, and creates one if possible.
connect_node(Other, Location) when is_atom(Other) ->
    #me{table = Table, node = Node, pid = Pid} = Me = raddle_turn:me(),
    case Other =:= Node orelse check(Other) of
        true when Other =:= Node -> true;
        false -> false;
        true ->
            raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(element(2, raddle_line:carrier(Me, Node, Other))), ?READS(views(Me))),
            Up = raddle_line:is_up(Table, Node, Other),
            case raddle_line:state(Table, Node, Other) of
                _ when Up -> true;
                State when State =:= cut; State =:= gone -> false;
                State ->
                    Key = {connecting, Node, Other},
                    raddle_table:put_list(Table, Key, [Pid | raddle_table:list(Table, Key)]),
                    State =:= idle andalso raddle_line:connect(Me, Node, Other),
                    Answer = {'$raddle_connected', Other},
                    raddle_mailbox:'receive'(fun(Message) -> Message =:= Answer end, infinity, Location),
                    true
            end
    end;
connect_node(_, _) -> erlang:error(badarg).

%% Returns whether there was a connection.
disconnect_node(Other, Location) when is_atom(Other) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    case Other =/= Node andalso check(Other) of
        false -> false;
        true ->
            {First, Second} = raddle_line:both(Me, Node, Other),
            raddle_turn:step(Me, ?WRITE, Location, First, Second),
            Up = raddle_line:is_up(Table, Node, Other),
            case raddle_line:state(Table, Node, Other) of
                {connected, _} when Up -> raddle_line:lose(Me, Node, Other, idle, [{Node, disconnect}, {Other, connection_closed}]);
                _ -> ok
            end,
            Up
    end;
disconnect_node(_, _) -> erlang:error(badarg).

%% ---- subscriptions

monitor_node(Other, Flag, Location) -> monitor_node(Other, Flag, [], Location).

%% Each call with true causes one message, unless one with false cancels it.
monitor_node(Other, Flag, Options, Location) when is_atom(Other), is_boolean(Flag), is_list(Options) ->
    #me{table = Table, node = Node, pid = Pid} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(element(2, raddle_line:carrier(Me, Node, Other))), ?READS(views(Me))),
    Key = {node_watch, Node, Other},
    Watchers = raddle_table:list(Table, Key),
    case Flag of
        false -> raddle_table:put_list(Table, Key, lists:delete(Pid, Watchers));
        true ->
            Reachable = case raddle_line:state(Table, Node, Other) of
                            State when State =:= cut; State =:= gone -> raddle_line:is_up(Table, Node, Other);
                            _ -> true
                        end,
            Reachable andalso raddle_table:put_list(Table, Key, [Pid | Watchers]),
            raddle_line:is_up(Table, Node, Other) orelse raddle_line:give(Me, Node, Other, {monitor_node, Pid})
    end,
    true;
monitor_node(_, _, _, _) -> erlang:error(badarg).

%% Like net_kernel:monitor_nodes/1 (Options are none) or /2.
monitor_nodes(Flag, Options, Location) when is_boolean(Flag) ->
    #me{table = Table, node = Node, pid = Pid} = Me = raddle_turn:me(),
    Known = fun(Option) -> lists:member(Option, [nodedown_reason, {node_type, visible}, {node_type, all}, connection_id]) end,
    Wanted = if
                 is_map(Options) -> {map, [Key || {Key, true} <- maps:to_list(Options)] ++ [{node_type, Type} || {node_type, Type} <- maps:to_list(Options)]};
                 Options =:= none -> none;
                 is_list(Options) -> {list, Options};
                 true -> erlang:error(badarg)
             end,
    Wanted =:= none orelse lists:all(Known, element(2, Wanted))
        orelse raddle_turn:refuse({net_kernel, monitor_nodes, 2}, [Flag, Options], Location),
    raddle_turn:step(Me, ?READ, Location, ?READS(views(Me))),
    Key = {nodes_watch, Node},
    Watchers = raddle_table:list(Table, Key),
    raddle_table:put_list(Table, Key, case Flag of
                                          true -> Watchers ++ [{Pid, Wanted}];
                                          false -> [Watcher || Watcher <- Watchers, Watcher =/= {Pid, Wanted}]
                                      end),
    ok;
monitor_nodes(Flag, Options, _) -> {error, {badarg, [Flag, Options]}}.

%% Returns the messages for subscribers on Node to nodes that come and go.
messages(#me{table = Table}, Node, Other, Word, Reason) ->
    [{Pid, case Wanted of
               none -> {Word, Other};
               {list, Options} -> {Word, Other, details(Table, Node, Other, Options, Word, Reason)};
               {map, Options} -> {Word, Other, maps:from_list(details(Table, Node, Other, Options, Word, Reason))}
           end} || {Pid, Wanted} <- raddle_table:list(Table, {nodes_watch, Node}), raddle_table:process(Table, Pid) =/= none].

details(Table, Node, Other, Options, Word, Reason) ->
    [{node_type, visible} || {node_type, _} <- Options]
        ++ [{connection_id, raddle_line:connection(Table, Node, Other)} || connection_id <- Options]
        ++ [{nodedown_reason, Reason} || nodedown_reason <- Options, Word =:= nodedown].

%% Returns the messages for watchers of the connection to Other on Node, each with its receiver: watchers of
%% the node, and those that wait for a process there.
lost(#me{table = Table}, Node, Other) ->
    Watchers = raddle_table:list(Table, {node_watch, Node, Other}),
    ets:delete(Table, {node_watch, Node, Other}),
    [{Pid, {message, Pid, {nodedown, Other}}} || Pid <- lists:reverse(Watchers)]
        ++ raddle_request:lost(Table, Node, Other).
