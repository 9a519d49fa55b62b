%% Tests of OTP's distributed services: rpc, erpc, global, pg and applications, all OTP's own code.
-module(raddle_nodes_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

%% Returns the values of a function of this module on three nodes, under several strategies.
values(Function) -> values(Function, 60).
values(Function, Runs) -> values(?MODULE, Function, Runs).
values(Module, Function, Runs) ->
    S = self(),
    Totals = [raddle:explore({Module, Function}, #{file => none, stop => false, runs => Runs, nodes => ['a@x', 'b@x', 'c@x'], strategy => Spec,
                                                   each => fun(R) -> S ! {value, value(R)} end})
              || Spec <- ["pos", "random-walk", "pct:depth=3,steps=200"]],
    [] = [Error || #{error := Error} <- Totals],
    lists:usort([receive {value, V} -> V end || _ <- lists:seq(1, 3 * Runs)]).

value(#{verdict := passed, value := Value}) -> Value;
value(#{verdict := {failed, Kind, _, Message, _}}) -> {failed, Kind, Message};
value(#{verdict := Other}) -> Other.

forever() -> receive never -> ok end.

%% ---- lives

creations() ->
    S = self(),
    Tell = fun() -> S ! {creation, erlang:system_info(creation)} end,
    Next = fun() -> receive {creation, Known} -> Known end end,
    spawn('b@x', Tell),
    First = Next(),
    raddle:crash('b@x'), raddle:restart('b@x', Tell),
    Second = Next(),
    raddle:crash('b@x'), raddle:restart('b@x', Tell),
    length(lists:usort([First, Second, Next()])).

%% global distinguishes the lives of a node by its creation.
creation_case() -> ?assertEqual([3], values(creations, 20)).

%% ---- calls

rpc_call() -> {rpc:call('b@x', erlang, node, []), rpc:call('b@x', erlang, error, [oops], 1000), rpc:call('x@x', erlang, node, [])}.
rpc_multicall() -> rpc:multicall(erlang, node, []).
rpc_cast() -> register(here, self()), rpc:cast('b@x', erlang, send, [{here, 'a@x'}, hello]), receive M -> M end.
rpc_abcast() -> register(here, self()), rpc:abcast(['a@x', 'x@x'], here, hello), receive M -> M end.
rpc_async() -> K = rpc:async_call('b@x', erlang, node, []), rpc:yield(K).
erpc_call() -> {erpc:call('b@x', fun() -> node() end), (catch erpc:call('b@x', erlang, throw, [ball])), try erpc:call('x@x', erlang, node, []) catch error:{erpc, W} -> W end}.
erpc_multicall() -> raddle:crash('c@x'), [case X of {ok, N} -> N; {error, {erpc, W}} -> W end || X <- erpc:multicall(['a@x', 'b@x', 'c@x'], erlang, node, [])].
erpc_crash() -> spawn(fun() -> raddle:crash('b@x') end), try erpc:call('b@x', erlang, node, []) catch error:{erpc, W} -> W end.

calls_case() ->
    ?assertMatch([{'b@x', {badrpc, {'EXIT', {oops, _}}}, {badrpc, nodedown}}], values(rpc_call)),
    ?assertEqual([{['a@x', 'b@x', 'c@x'], []}], values(rpc_multicall)),
    ?assertEqual([hello], values(rpc_cast)),
    ?assertEqual([hello], values(rpc_abcast)),
    ?assertEqual(['b@x'], values(rpc_async)),
    ?assertMatch([{'b@x', ball, noconnection}], values(erpc_call)),
    ?assertEqual([['a@x', 'b@x', noconnection]], values(erpc_multicall)),
    ?assertEqual(['b@x', noconnection], values(erpc_crash)).

%% ---- names of all nodes

global_register() ->
    P = spawn('b@x', fun forever/0), yes = global:register_name(n, P),
    {global:whereis_name(n) =:= P, rpc:call('c@x', global, whereis_name, [n]) =:= P, global:register_name(n, self())}.
global_race() ->
    S = self(), [spawn(N, fun() -> S ! global:register_name(n, self()), forever() end) || N <- ['b@x', 'c@x']],
    lists:sort([receive X -> X end || _ <- [1, 2]]).
global_crash() ->
    S = self(), spawn('b@x', fun() -> S ! global:register_name(n, self()), forever() end), receive yes -> ok end,
    monitor_node('b@x', true), raddle:crash('b@x'), receive {nodedown, _} -> ok end, gone(20).
gone(0) -> still_there;
gone(N) -> case global:whereis_name(n) of undefined -> gone; _ -> timer:sleep(1), gone(N - 1) end.
global_lock() ->
    S = self(), T = ets:new(t, [public, named_table]), ets:insert(T, {n, 0}),
    [spawn(fun() -> global:trans({l, self()}, fun() -> [{n, V}] = ets:lookup(T, n), ets:insert(T, {n, V + 1}) end), S ! done end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]], ets:lookup(T, n).
global_server() -> {ok, _} = gen_server:start({global, srv}, litmus_otp, 7, []), rpc:call('b@x', gen_server, call, [{global, srv}, get]).
global_restart() ->
    S = self(), yes = global:register_name(n, S), raddle:crash('b@x'),
    raddle:restart('b@x', fun() -> pong = net_adm:ping('a@x'), ok = global:sync(), S ! {names, {global:whereis_name(n) =:= S, lists:member('a@x', nodes())}} end),
    receive {names, X} -> X end.

global_case() ->
    ?assertEqual([{true, true, no}], values(global_register, 20)),
    ?assertEqual([[no, yes]], values(global_race, 20)),
    ?assertEqual([gone], values(global_crash, 20)),
    ?assertEqual([[{n, 2}]], values(global_lock, 20)),
    ?assertEqual([7], values(global_server, 20)),
    %% A node that restarts before all others have observed its end may be disconnected again, as global
    %% prevents overlapping partitions. It may also be connected again and not know the name yet.
    ?assertEqual([{false, false}, {false, true}, {true, true}], values(global_restart, 120)).

%% The servers start when they are first needed, independent of lines, nodes and the first caller.
global_cut() -> raddle:partition('a@x', ['b@x', 'c@x']), R = global:register_name(n, self()), raddle:heal('a@x', ['b@x', 'c@x']), R.
global_cut_meanwhile() -> spawn(fun() -> raddle:partition('a@x', 'b@x') end), global:register_name(n, self()).
global_crash_meanwhile() -> spawn(fun() -> raddle:crash('b@x') end), global:register_name(n, self()).
global_killed() -> P = spawn(fun() -> global:register_name(x, self()) end), exit(P, kill), global:register_name(n, self()).
rpc_killed() -> P = spawn(fun() -> rpc:abcast(['a@x'], n, hello) end), exit(P, kill), rpc:abcast(['a@x'], n, hello).

services_start_case() ->
    %% In a run of global_killed under pct the lockers of global keep each other from the lock until the step
    %% limit.
    [?assertEqual([yes], values(F, Runs) -- [inconclusive]) || {F, Runs} <- [{global_cut, 40}, {global_cut_meanwhile, 40}, {global_crash_meanwhile, 150}, {global_killed, 40}]],
    ?assertEqual([abcast], values(rpc_killed, 40)).

%% ---- groups

pg_members() ->
    [{ok, _} = rpc:call(N, pg, start, [s]) || N <- ['a@x', 'b@x']],
    P = spawn('b@x', fun forever/0), ok = rpc:call('b@x', pg, join, [s, g, P]),
    X = members(20), raddle:crash('b@x'), {X =:= [P], none(20)}.
members(0) -> [];
members(N) -> case pg:get_members(s, g) of [] -> timer:sleep(1), members(N - 1); L -> L end.
none(0) -> still_there;
none(N) -> case pg:get_members(s, g) of [] -> none; _ -> timer:sleep(1), none(N - 1) end.

pg_case() -> ?assertEqual([{true, none}], values(pg_members)).

%% ---- applications

app() -> {application, my_app, [{description, "d"}, {vsn, "1"}, {modules, [?MODULE]}, {registered, []}, {applications, [kernel, stdlib]},
                                {env, [{k, 1}, {j, 2}]}, {mod, {?MODULE, args}}]}.
start(normal, args) -> proc_lib:start_link(?MODULE, run, []).
run() -> register(my_app, self()), process_flag(trap_exit, true), proc_lib:init_ack({ok, self()}), receive {'EXIT', _, shutdown} -> ok end.
stop(_) -> persistent_term:put(stopped, true).

app_life() ->
    application:set_env(my_app, j, 3),
    ok = application:load(app()), {ok, Started} = application:ensure_all_started(my_app),
    Env = {application:get_env(my_app, k), application:get_env(my_app, j)},
    Running = [A || {A, _, _} <- application:which_applications()], X = is_pid(whereis(my_app)), Stop = application:stop(my_app),
    {Started, Env, lists:sort(Running), X, Stop, whereis(my_app), persistent_term:get(stopped), rpc:call('b@x', application, get_env, [my_app, k])}.
app_missing() -> application:start(no_such_application).
app_dead() -> ok = application:load(app()), ok = application:start(my_app), exit(whereis(my_app), kill), wait(20).
wait(0) -> running;
wait(N) -> case lists:keymember(my_app, 1, application:which_applications()) of false -> ended; true -> timer:sleep(1), wait(N - 1) end.

applications_case() ->
    ?assertEqual([{[my_app], {{ok, 1}, {ok, 3}}, [crypto, kernel, my_app, sasl, stdlib], true, ok, undefined, true, undefined}], values(app_life)),
    ?assertMatch([{error, {"no such file or directory", "no_such_application.app"}}], values(app_missing)),
    ?assertEqual([ended], values(app_dead)).

%% ---- timers that repeat

intervals() -> {ok, T} = timer:send_interval(10, tick), [receive tick -> ok end || _ <- [1, 2, 3]], timer:cancel(T), receive tick -> more after 100 -> quiet end.
intervals_case() -> ?assertEqual([quiet], values(intervals)).

%% ---- the remains of a node

ends_itself() ->
    P = spawn('b@x', fun() -> receive go -> raddle:crash('b@x') end end),
    M = monitor(process, P), P ! go, receive {'DOWN', M, _, _, Why} -> Why end.

a_process_that_crashes_its_node_is_not_left_behind_case() ->
    ?assertEqual([noconnection], values(ends_itself, 20)),
    Old = processes(),
    ?assertEqual([noconnection], values(ends_itself, 20)),
    [raddle_tests:gone(Pid) || Pid <- processes() -- Old].

%% ---- faults injected by the search

asks() -> R = make_ref(), spawn('b@x', ?MODULE, answers, []) ! {self(), R}, receive {R, pong} -> ok end.
answers() -> receive {From, R} -> From ! {R, pong}, answers() end.
hellos() -> register(here, self()), spawn('b@x', ?MODULE, hello, []), length([hello || _ <- [1, 2, 3], receive hello -> true after 1000 -> false end]).
hello() -> {here, 'a@x'} ! hello, forever().
reaches() -> case net_adm:ping('b@x') of pong -> ok; pang -> timer:sleep(10), reaches() end.
waits_for_it() -> monitor_node('b@x', true), receive {nodedown, 'b@x'} -> reaches() end.
alive() -> forever(100), node().
forever(0) -> ok;
forever(N) -> erlang:yield(), forever(N - 1).

with_faults(Function, Strategy, Faults) ->
    Options = #{file => none, stop => false, runs => 200, nodes => ['a@x', 'b@x'], strategy => Strategy, faults => Faults},
    S = self(),
    Totals = raddle:explore({?MODULE, Function}, Options#{each => fun(R) -> S ! {value, value(R)} end}),
    ?assertNot(is_map_key(error, Totals)),
    #{passed := Passed, failed := Failed, cut_off := CutOff} = Totals,
    lists:usort([receive {value, V} -> V end || _ <- lists:seq(1, Passed + Failed + CutOff)] -- [cut_off]).

strategies() -> ["portfolio", "pos", "random-walk", "pct:depth=3", "upo", "dpor", "dfs"].

faults_case() ->
    Deadlock = {failed, <<"deadlock">>, <<>>},
    [begin
         ?assertEqual([ok], with_faults(asks, Spec, none)),
         [?assert(lists:member(Deadlock, with_faults(asks, Spec, Faults))) || Faults <- ["crash=1", "partition=1", "disconnect=1", #{crash => 1, restart => 1}]],
         %% A run without a fault is one of them.
         ?assert(lists:member(ok, with_faults(asks, Spec, "crash=1")))
     end || Spec <- strategies(), Spec =/= "dfs"],
    %% The first process runs again, and only then.
    ?assertEqual([0, 1], with_faults(hellos, "portfolio", "crash=1")),
    ?assertEqual([0, 1, 2], with_faults(hellos, "portfolio", "crash=1,restart=1")),
    %% The node of the test does not crash, for any limit.
    [?assertEqual(['a@x'], with_faults(alive, Spec, "crash=9,restart=9")) || Spec <- ["portfolio", "pos"]].

partitions_are_healed_case() ->
    [?assertEqual([ok], with_faults(reaches, Spec, "partition=2")) || Spec <- ["portfolio", "pos", "random-walk", "pct:depth=3"]],
    %% A run without a fault is a deadlock. It is drawn in every second run, however long the faults would
    %% have been held.
    ?assertEqual([ok, {failed, <<"deadlock">>, <<>>}], with_faults(waits_for_it, "portfolio", "partition=1")),
    #{passed := Passed} = raddle:explore({?MODULE, waits_for_it}, #{file => none, stop => false, runs => 200, nodes => ['a@x', 'b@x'],
                                                                    strategy => "pos", faults => "partition=1"}),
    ?assert(Passed > 60 andalso Passed < 140).

faults_are_parsed_case() ->
    ?assertEqual(#{crash => 1, partition => 2}, raddle_faults:parse("crash=1, partition=2")),
    ?assertEqual(#{restart => 0}, raddle_faults:parse([{restart, 0}])),
    [?assertError({bad_fault, _}, raddle_faults:parse(Bad)) || Bad <- ["crash", "crash=x", "flood=1", #{crash => -1}, "crash=-1"]].

faults_repeat_case() ->
    File = filename:join(filename:dirname(code:which(?MODULE)), "faults-" ++ os:getpid() ++ ".json"),
    try
        [begin
             #{failure := #{fingerprint := Print}} =
                 raddle:explore({?MODULE, asks}, #{file => File, nodes => ['a@x', 'b@x'], strategy => Spec, faults => "crash=1,restart=1,partition=1"}),
             ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File))
         end || Spec <- strategies() -- ["dfs"]]
    after
        file:delete(File)
    end.
