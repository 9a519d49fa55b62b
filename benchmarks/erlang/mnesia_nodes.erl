%% mnesia as Debian ships it, on several nodes, one of which restarts. The test runs on the first node; the second one
%% restarts. A test fails if a guarantee of mnesia is violated: committed data exists, a schema transaction that has succeeded is visible everywhere, and
%% every request is answered.
%%
%%   commits/0, commits_ram/0     transactions while the other node crashes and restarts
%%   add_copy/0                   a copy of a table is added on a node whose mnesia restarts (the thesis's mnesia-1)
%%   del_copy/0                   a copy of a table is removed from a node whose mnesia restarts (the thesis's mnesia-2)
%%   add_copy_crash/0, del_copy_crash/0   the same with a node that crashes
-module(mnesia_nodes).
-export([boot/0, commits/0, commits_ram/0, add_copy/0, add_copy_crash/0, del_copy/0, del_copy_crash/0]).

%% A generous timeout, because the clock stands still while anything can run.
-define(LONG, 3600000).

boot() -> boot(disc_copies, [node() | nodes()]).

%% mnesia on all nodes, with a table on some of them.
boot(Type, Copies) ->
    Nodes = [node() | nodes()],
    ok = mnesia:create_schema(Nodes),
    [ok = rpc:call(Node, mnesia, start, []) || Node <- Nodes],
    {atomic, ok} = mnesia:create_table(counter, [{Type, Copies}]),
    [ok = rpc:call(Node, mnesia, wait_for_tables, [[counter], ?LONG]) || Node <- Nodes],
    Nodes.

%% Runs functions concurrently, and returns their results.
both(Funs) ->
    Self = self(),
    Workers = [spawn_monitor(fun() -> Self ! {self(), Fun()} end) || Fun <- Funs],
    [receive
         {Pid, Value} -> Value;
         {'DOWN', Monitor, process, Pid, Reason} when Reason =/= normal -> exit(Reason)
     after ?LONG -> exit(no_answer)
     end || {Pid, Monitor} <- Workers].

%% ---- transactions

commits() -> commits(disc_copies).
commits_ram() -> commits(ram_copies).

commits(Type) ->
    [_, Other | _] = Nodes = boot(Type, [node() | nodes()]),
    Add = fun() ->
              mnesia:transaction(fun() ->
                  Value = case mnesia:wread({counter, n}) of [] -> 0; [{counter, n, Known}] -> Known end,
                  mnesia:write({counter, n, Value + 1})
              end)
          end,
    Adds = fun() -> length([done || _ <- [1, 2, 3], Add() =:= {atomic, ok}]) end,
    [One, Two, ok] = both([Adds, Adds, fun() -> crash(Other) end]),
    6 = One + Two,
    Read = fun() -> mnesia:read(counter, n) end,
    [{atomic, [{counter, n, 6}]} = rpc:call(Node, mnesia, transaction, [Read]) || Node <- Nodes].

%% Restarts the node.
crash(Node) ->
    raddle:crash(Node),
    Self = self(),
    raddle:restart(Node, fun() ->
        [net_adm:ping(Other) || Other <- [node(Self)]],
        Self ! {back, mnesia:start(), mnesia:wait_for_tables([counter], ?LONG)}
    end),
    receive {back, ok, ok} -> ok; {back, Start, Wait} -> exit({not_back, Start, Wait}) after ?LONG -> exit(not_back) end.

%% Restarts mnesia.
restart(Node) ->
    stopped = rpc:call(Node, mnesia, stop, []),
    ok = rpc:call(Node, mnesia, start, []),
    ok = rpc:call(Node, mnesia, wait_for_tables, [[schema], ?LONG]).

%% ---- schema transactions

add_copy() -> add_copy(fun restart/1).
add_copy_crash() -> add_copy(fun crash/1).

add_copy(Away) ->
    [First, Other | _] = boot(disc_copies, [node()]),
    [Added, ok] = both([fun() -> mnesia:add_table_copy(counter, Other, disc_copies) end, fun() -> Away(Other) end]),
    agree(case Added of {atomic, ok} -> [First, Other]; {aborted, _} -> [First] end).

del_copy() -> del_copy(fun restart/1).
del_copy_crash() -> del_copy(fun crash/1).

del_copy(Away) ->
    [First, Other | _] = boot(disc_copies, [node(), hd(nodes())]),
    [Deleted, ok] = both([fun() -> mnesia:del_table_copy(counter, Other) end, fun() -> Away(Other) end]),
    agree(case Deleted of {atomic, ok} -> [First]; {aborted, _} -> [First, Other] end).

%% Checks that all nodes report copies of the table on these nodes.
agree(Wanted) ->
    Said = [{Node, lists:sort(rpc:call(Node, mnesia, table_info, [counter, disc_copies]))} || Node <- [node() | nodes()]],
    case [wrong || {_, Copies} <- Said, Copies =/= lists:sort(Wanted)] of
        [] -> ok;
        _ -> exit({schemas, {wanted, Wanted}, {said, Said}})
    end.
