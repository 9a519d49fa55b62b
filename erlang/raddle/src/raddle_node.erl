%% Virtual nodes. A node is a name; all nodes of a run exist from its start and are connected.
-module(raddle_node).
-export([node/0, nodes/1, nodes/2, is_alive/1, check/1]).
-compile({no_auto_import, [node/0, nodes/0, nodes/1, nodes/2, is_alive/0]}).
-include("raddle_run.hrl").

node() -> (raddle_turn:me())#me.node.

%% The other nodes.
nodes(_) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    raddle_table:find(Table, nodes, []) -- [Node].

nodes(Sorts, Place) when is_list(Sorts) -> lists:usort(lists:append([nodes(Sort, Place) || Sort <- Sorts]));
nodes(this, _) -> [node()];
nodes(Sort, Place) when Sort =:= visible; Sort =:= connected -> nodes(Place);
nodes(known, Place) -> [node() | nodes(Place)];
nodes(hidden, _) -> [];
nodes(_, _) -> erlang:error(badarg).

is_alive(_) -> true.

%% Whether there is such a node.
check(Node) ->
    #me{table = Table} = raddle_turn:me(),
    lists:member(Node, raddle_table:find(Table, nodes, [])).
