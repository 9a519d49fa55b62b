%% mnesia as shipped with OTP on two nodes, one of which restarts. (Failures of mnesia itself need more runs:
%% benchmarks/erlang/mnesia_nodes.erl.) Without mnesia these print a message and pass, unless RADDLE_MNESIA is
%% set.
-module(raddle_mnesia_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

-define(RUNS, 24).
-define(LONG, 3600000).

all_test_() ->
    IsThere = code:which(mnesia) =/= non_existing,
    IsThere orelse os:getenv("RADDLE_MNESIA") =/= false orelse
        io:format(user, "NOT TESTED: mnesia; on Debian the package erlang-mnesia has it~n", []),
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || IsThere orelse os:getenv("RADDLE_MNESIA") =/= false, F <- Cases]}.

runs(Fun) ->
    raddle:explore(Fun, #{file => none, runs => ?RUNS, strategy => "pos", nodes => ['a@x', 'b@x'], minimize => false}).

boot(Copies) ->
    Nodes = [node() | nodes()],
    ok = mnesia:create_schema(Nodes),
    [ok = rpc:call(Node, mnesia, start, []) || Node <- Nodes],
    {atomic, ok} = mnesia:create_table(counter, [{disc_copies, Copies}]),
    [ok = rpc:call(Node, mnesia, wait_for_tables, [[counter], ?LONG]) || Node <- Nodes].

add() ->
    mnesia:transaction(fun() ->
        Value = case mnesia:wread({counter, n}) of [] -> 0; [{counter, n, Known}] -> Known end,
        mnesia:write({counter, n, Value + 1})
    end).

%% The other node crashes while both count, and restarts with the committed data.
restarts() ->
    [Other] = nodes(),
    boot([node(), Other]),
    Self = self(),
    spawn_link(fun() -> Self ! {added, [add() || _ <- [1, 2]]} end),
    raddle:crash(Other),
    raddle:restart(Other, fun() -> net_adm:ping(node(Self)), ok = mnesia:start(), Self ! {back, mnesia:wait_for_tables([counter], ?LONG)} end),
    receive {added, Added} -> [{atomic, ok}, {atomic, ok}] = Added end,
    receive {back, ok} -> ok end,
    {atomic, ok} = add(),
    [{atomic, [{counter, n, 3}]} = rpc:call(Node, mnesia, transaction, [fun() -> mnesia:read(counter, n) end]) || Node <- [node(), Other]],
    ok.

a_node_that_restarts_has_the_table_again_case() ->
    ?assertMatch(#{passed := ?RUNS, failed := 0}, maps:remove(failure, runs(fun ?MODULE:restarts/0))).

%% Two processes on two nodes count without a transaction, so one of them may be lost.
dirty() ->
    [Other] = nodes(),
    boot([node(), Other]),
    Add = fun() ->
              Value = case mnesia:dirty_read(counter, n) of [] -> 0; [{counter, n, Known}] -> Known end,
              mnesia:dirty_write({counter, n, Value + 1})
          end,
    Self = self(),
    [spawn_link(Node, fun() -> Add(), Self ! done end) || Node <- [node(), Other]],
    [receive done -> ok end || _ <- [1, 2]],
    [{counter, n, 2}] = mnesia:dirty_read(counter, n).

a_lost_update_is_found_case() ->
    ?assertMatch(#{failure := #{report := <<"the test failed: error: {badmatch,[{counter,n,1}]}", _/binary>>}}, runs(fun ?MODULE:dirty/0)).
