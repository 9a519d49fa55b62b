%% Tests of the application itself: every function whose name ends in _case.
-module(raddle_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

%% A busy machine may take long to instrument the modules of a test.
all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

quiet() -> #{file => none, print => fun(_) -> ok end}.

a_function_expression_runs_under_control_case() ->
    Wanted = {value, 7},
    Result = raddle:explore(fun() -> S = self(), spawn(fun() -> S ! Wanted end), receive X -> X = Wanted end, node() end,
                            #{runs => 1, each => self_tells()}),
    ?assertMatch(#{passed := 1, steps := Steps} when Steps > 2, Result),
    ?assertMatch('test@raddle', result_of(value)).

free_functions_come_along_case() ->
    Send = fun(To) -> To ! self() end,
    ok = raddle:test(fun() -> S = self(), P = spawn(fun() -> Send(S) end), receive P -> ok end end, #{runs => 5}).

self_tells() -> S = self(), fun(Result) -> S ! {result, Result} end.
result_of(Key) -> receive {result, Result} -> maps:get(Key, Result) end.

counter() ->
    T = ets:new(t, [public]), ets:insert(T, {k, 0}), S = self(),
    [spawn(fun() -> [{k, V}] = ets:lookup(T, k), ets:insert(T, {k, V + 1}), S ! done end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    [{k, 2}] = ets:lookup(T, k).

a_failure_is_an_error_with_a_report_case() ->
    ?assertError({raddle_failure, "the test failed: error: {badmatch,[{k,1}]} in raddle_tests:counter/0 (raddle_tests.erl:" ++ _,
                  #{run := _, seed := 1}},
                 raddle:test(fun ?MODULE:counter/0, quiet())).

waits() -> receive never -> ok end.

a_deadlock_report_shows_waiting_processes_case() ->
    #{failure := #{report := Report}} = raddle:explore(fun ?MODULE:waits/0, quiet()),
    ?assertMatch({match, _}, re:run(Report, "^deadlock: no process can continue\n  test waits in receive never at raddle_tests.erl:[0-9]+$")).

asks(Server) -> R = make_ref(), Server ! {ask, R}, receive {reply, R, _} -> ok; {error, X} when X > 1, is_integer(X) -> X end.
unanswered() -> asks(spawn(fun() -> receive {ask, _} -> ok end end)).

a_deadlock_report_shows_patterns_case() ->
    #{failure := #{report := Report}} = raddle:explore(fun ?MODULE:unanswered/0, quiet()),
    ?assertMatch({match, _}, re:run(Report, "test waits in receive {reply, R, _}; {error, X} when X > 1, is_integer\\(X\\) at raddle_tests.erl:")).

%% ---- other failures

spins(N) -> spins(N + 1).
sleeper() -> P = spawn(fun() -> spins(0) end), receive never -> ok after 10 -> exit(P, kill) end.

a_loop_without_operations_ends_the_run_case() ->
    ReportOf = fun(Fun) -> #{failure := #{report := Report}} = raddle:explore(Fun, (quiet())#{runs => 1}), Report end,
    [?assertMatch({match, _}, re:run(ReportOf(Fun), "^the test failed: a loop without an operation: 50000000 function calls"))
     || Fun <- [fun() -> spins(0) end, fun() -> (fun F() -> F() end)() end]],
    %% Other processes run meanwhile, and may end it.
    ?assertMatch(#{passed := 1}, raddle:explore(fun ?MODULE:sleeper/0, (quiet())#{runs => 1})).

a_long_computation_is_no_loop_case() ->
    ?assertMatch(#{passed := 1}, raddle:explore(fun() -> counts(3000000) end, (quiet())#{runs => 1})).
counts(0) -> ok;
counts(N) -> counts(N - 1).

crashes() -> S = self(), spawn(fun() -> S ! here, 1 = S end), receive here -> timer:sleep(1) end.
crashes_later() -> S = self(), P = spawn(fun() -> S ! here, erlang:hibernate(erlang, binary_to_atom, [S]) end), receive here -> P ! x, timer:sleep(1) end.
returns() -> S = self(), spawn(fun() -> S ! here, {error, no, crash} end), receive here -> timer:sleep(1) end.
logs() -> logger:error("~p is bad", [self()]), logger:info("nothing"), ok.

errors_that_are_reported_case() ->
    ReportOf = fun(Fun) -> #{failure := #{report := Report}} = raddle:explore(Fun, (quiet())#{fail_on => [error]}), Report end,
    [?assertMatch(#{failed := 0}, raddle:explore(Fun, (quiet())#{runs => 5})) || Fun <- [fun ?MODULE:crashes/0, fun ?MODULE:logs/0]],
    ?assertMatch({match, _}, re:run(ReportOf(fun ?MODULE:crashes/0), "a process crashed: error: {badmatch,<0.101.0>} in raddle_tests:")),
    ?assertMatch({match, _}, re:run(ReportOf(fun ?MODULE:crashes_later/0), "a process crashed: error: badarg")),
    ?assertMatch(#{failed := 0}, raddle:explore(fun ?MODULE:returns/0, (quiet())#{runs => 5, fail_on => [error]})),
    ?assertMatch({match, _}, re:run(ReportOf(fun ?MODULE:logs/0), "an error was reported: <0.101.0> is bad$")).

init([]) -> {ok, {{one_for_one, 1, 10}, [{child, {?MODULE, start_child, []}, permanent, 100, worker, []}]}}.
start_child() -> {ok, spawn_link(fun() -> timer:sleep(1), exit(boom) end)}.
storm() ->
    process_flag(trap_exit, true),
    {ok, P} = supervisor:start_link(?MODULE, []),
    receive {'EXIT', P, W} -> W end.

a_supervisor_that_gives_up_is_reported_case() ->
    ?assertMatch(#{failed := 0}, raddle:explore(fun ?MODULE:storm/0, (quiet())#{runs => 5})),
    ReportOf = fun(Fun, On) -> #{failure := #{report := Report}} = raddle:explore(Fun, (quiet())#{fail_on => On}), Report end,
    Words = "restart storm: supervisor {<0.10[0-9].0>,raddle_tests} gave up because child child ended too often; "
            "ended children: child by boom, child by boom$",
    ?assertMatch({match, _}, re:run(ReportOf(fun ?MODULE:storm/0, [gave_up]), "^the test failed: " ++ Words)),
    ?assertMatch({match, _}, re:run(ReportOf(fun() -> exit(?MODULE:storm()) end, []), "^the test failed: exit: shutdown in raddle_tests:[^;]*; before, " ++ Words)).

an_endless_run_reaches_the_step_limit_case() ->
    Endless = fun() -> (fun F() -> self() ! x, receive x -> F() end end)() end,
    ?assertMatch(#{inconclusive := 3, failed := 0, most_steps := 500},
                 raddle:explore(Endless, (quiet())#{step_limit => 500, runs => 3})).

what_is_not_controlled_is_refused_by_name_case() ->
    Refused = fun(Fun) -> #{error := Error, failed := 0} = raddle:explore(Fun, quiet()), Error end,
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch open_port({spawn, "ls"}, []) end), "^erlang:open_port/2 at raddle_tests.erl:")),
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch apply(erlang, list_to_atom("halt"), []) end), "^erlang:halt/0 at")),
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch gen_tcp:connect(x, 1, []) end), "^gen_tcp:connect/3 at")),
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch file:set_cwd("x") end), "^file:set_cwd/1 at")),
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch code:purge(x) end), "^code:purge/1 at")),
    ?assertMatch({match, _}, re:run(Refused(fun() -> catch ets:file2tab("x") end), "^ets:file2tab/1 at")).

any_wall_is_taken_case() ->
    [?assertMatch(#{passed := 1}, raddle:explore(fun() -> ok end, (quiet())#{runs => 1, wall => Wall})) || Wall <- [1 bsl 40, infinity]].

nothing_of_the_host_shows_case() ->
    raddle:explore(fun() -> {calendar:universal_time(), os:timestamp(), pid_to_list(self()), rand:uniform(1000000), make_ref(), node()} end,
                   #{runs => 3, each => self_tells()}),
    [{Date, Stamp, _, _, _, _} = Value | Others] = [result_of(value) || _ <- [1, 2, 3]],
    ?assertEqual({{{2020, 9, 13}, {12, 26, 40}}, {1600, 0, 0}}, {Date, Stamp}),
    ?assertEqual([Value, Value], Others).

%% Unordered tables are traversed in an order that is the same in all VMs.
goes_through() ->
    Others = [list_to_atom([C, D]) || C <- "zyxw", D <- "dcba"] ++ [self(), make_ref()], Sorted = [1, 1.0, 3] ++ lists:sort(Others) ++ [{1}, {1.0}, {a}], Keys = [{a}, {1.0}, 1.0, {1}, 3, 1] ++ Others, [A, B] = [ets:new(t, [Type]) || Type <- [set, bag]],
    [ets:insert(T, {K, K}) || T <- [A, B], K <- Keys],
    Walk = fun F(_, '$end_of_table') -> []; F(T, K) -> [K | F(T, ets:next(T, K))] end,
    Chunks = fun F('$end_of_table') -> []; F({L, C}) -> [L | F(ets:select(C))] end,
    [begin
         Sorted = [K || {K, _} <- ets:tab2list(T)], Sorted = [K || [K] <- ets:match(T, {'$1', '_'})],
         Sorted = lists:reverse(ets:foldl(fun({K, _}, L) -> [K | L] end, [], T)),
         Parts = Chunks(ets:select(T, [{{'$1', '_'}, [], ['$1']}], 4)), Sorted = lists:append(Parts), 4 = length(hd(Parts)),
         Sorted = Walk(T, ets:first(T))
     end || T <- [A, B]],
    length(Keys).

tables_have_an_order_case() ->
    raddle:explore(fun ?MODULE:goes_through/0, #{runs => 1, file => none, each => self_tells()}),
    ?assertEqual(24, result_of(value)).

%% So are maps, even if their atoms were created in another order.
maps_in_order() ->
    Map = maps:from_list([{list_to_atom("map_" ++ [C, D]), []} || C <- "zyxw", D <- "ba"]), S = self(), Keys = fun maps:keys/1, Function = hd([keys]),
    Sorted = lists:sort(Keys(Map)),
    Sorted = Keys(Map), Sorted = maps:keys(Map), Sorted = apply(maps, Function, [Map]), Sorted = [K || {K, _} <- maps:to_list(Map)],
    Sorted = lists:reverse(maps:fold(fun(K, _, L) -> [K | L] end, [], Map)),
    maps:foreach(fun(K, _) -> S ! {each, K} end, Map), Sorted = [receive {each, K} -> K end || _ <- Sorted],
    {First, _, _} = maps:next(maps:iterator(Map)), First = hd(Sorted),
    error(Map).

maps_have_an_order_case() ->
    raddle:explore(fun ?MODULE:maps_in_order/0, #{runs => 1, file => none, each => self_tells()}),
    {failed, _, _, Message, _} = result_of(verdict),
    Shown = lists:join(",", [["map_", C, D, " => []"] || C <- "wxyz", D <- "ab"]),
    ?assertNotEqual(nomatch, string:find(Message, unicode:characters_to_binary(["#{", Shown, "}"]))),
    %% A generator of a comprehension, if supported.
    [begin
         raddle:explore({litmus_otp27, map_order}, #{runs => 1, file => none, each => self_tells()}),
         ?assertEqual(["otp27_x", "otp27_y", "otp27_z"], [atom_to_list(Key) || Key <- result_of(value)])
     end || lists:member({map_order, 0}, litmus_otp27:module_info(exports))].

every_builtin_has_a_sort_case() ->
    All = [FA || FA <- erlang:module_info(exports)],
    Sorts = [{F, A, raddle_bif:sort(F, A)} || {F, A} <- All],
    %% The replacement of a builtin exists, with the location as an additional argument.
    [?assert(lists:member({Ours, A + 1}, Module:module_info(exports)))
     || {F, A, {Module, Ours}} <- Sorts, {F, A} =/= {'!', 2}],
    %% No builtin that reaches outside the VM, or depends on data that differs between runs, counts as pure.
    Impure = [open_port, port_command, port_info, halt, load_nif, memory, monitor_node, disconnect_node, trace, system_flag,
              spawn_request, suspend_process, resume_process, process_display, display, send, spawn, self, node, whereis,
              set_cookie, get_cookie, system_profile, system_monitor, load_module, delete_module, purge_module, setnode],
    ?assertEqual([], [{F, A} || {F, A, pure} <- Sorts, lists:member(F, Impure), {F, A} =/= {node, 1}]).

replay_repeats_exactly_case() ->
    File = filename:join(filename:dirname(code:which(?MODULE)), "failure-" ++ os:getpid() ++ ".json"),
    #{failure := #{fingerprint := Print, steps := Steps}} =
        raddle:explore(fun ?MODULE:counter/0, #{file => File, program => "raddle_tests:counter"}),
    try
        [?assertMatch(#{divergence := none, fingerprint := Print, steps := Steps, verdict := {failed, <<"assertion">>, 0, _, _}},
                      raddle:replay(File)) || _ <- [1, 2, 3]],
        %% The same steps with another outcome are not a reproduction.
        {ok, Text} = file:read_file(File),
        Other = binary:replace(Text, <<"{badmatch,[{k,1}]}">>, <<"{badmatch,[{k,7}]}">>, [global]),
        ?assertNotEqual(Text, Other),
        ok = file:write_file(File, Other),
        #{divergence := {_, What}} = raddle:replay(File),
        ?assertMatch({match, _}, re:run(What, "^the steps are the same but the outcome differs: ")),
        ok = file:write_file(File, Text),
        %% Another program diverges from the recorded run, and the report says where.
        ?assertMatch(#{divergence := {Step, _}} when is_integer(Step), raddle:replay(File, #{test => fun ?MODULE:waits/0})),
        %% A function named by a foreign or modified file runs only if the file is trusted.
        Foreign = binary:replace(Text, <<"raddle_tests:counter">>, <<"raddle_tests:waits">>),
        ?assertNotEqual(Text, Foreign),
        ok = file:write_file(File, Foreign),
        ?assertError({raddle_error, _}, raddle:replay(File)),
        ?assertMatch(#{divergence := {_, _}}, raddle:replay(File, #{trust => true}))
    after
        file:delete(File)
    end.

ends() -> S = self(), spawn(fun() -> S ! here, erlang:yield(), error(late) end), receive here -> ok end.

a_failure_near_the_end_of_the_test_replays_case() ->
    File = filename:join(filename:dirname(code:which(?MODULE)), "ends-" ++ os:getpid() ++ ".json"),
    try
        [begin
             #{failure := #{fingerprint := Print}} = raddle:explore(fun ?MODULE:ends/0, #{file => File, strategy => Spec, fail_on => [error]}),
             ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File))
         end || Spec <- ["upo", "dpor", "dfs", "pos"]]
    after
        file:delete(File)
    end.

runs_follow_from_the_seed_case() ->
    Prints = fun(Options) ->
                 raddle:explore(fun ?MODULE:counter/0, maps:merge(#{file => none, stop => false, runs => 20, each => self_tells()}, Options)),
                 [result_of(fingerprint) || _ <- lists:seq(1, 20)]
             end,
    ?assertEqual(Prints(#{}), Prints(#{})),
    ?assertNotEqual(Prints(#{}), Prints(#{seed => 2})).

leaves() -> spawn(fun() -> ets:new(t, []), receive never -> ok end end), catch counter().

nothing_is_left_behind_case() ->
    Count = fun() -> [length(ets:all()), erlang:system_info(atom_count)] end,
    Make = fun(N) -> raddle:explore(fun ?MODULE:leaves/0, #{file => none, stop => false, runs => N}) end,
    Make(50),
    Old = processes(),
    Before = Count(),
    Make(500),
    [gone(Pid) || Pid <- processes() -- Old],
    ?assertEqual([], [Now || {Was, Now} <- lists:zip(Before, Count()), Now > Was]),
    %% Runs do not leave tables to later ones.
    Self = self(),
    raddle:explore(fun ?MODULE:leaves/0, #{file => none, stop => false, runs => 50, each => fun(_) -> Self ! {tables, length(ets:all())} end}),
    [Second | Later] = tl([receive {tables, N} -> N end || _ <- lists:seq(1, 50)]),
    ?assertEqual(Second, lists:last(Later)).

%% A killed process ends soon.
gone(Pid) ->
    Monitor = monitor(process, Pid),
    receive {'DOWN', Monitor, process, Pid, _} -> ok after 60000 -> error({left_behind, erlang:process_info(Pid)}) end.

litmus_programs_do_what_they_do_on_a_real_vm_case() -> ?assertEqual([], raddle_litmus:check(30, 5)).

%% ---- several nodes

two_nodes(Fun) ->
    raddle:explore(Fun, #{file => none, stop => false, runs => 300, nodes => ['a@x', 'b@x', 'c@x'], each => self_tells()}),
    lists:usort([result_of(value) || _ <- lists:seq(1, 300)]).

messages_between_two_nodes_stay_in_order_case() ->
    ?assertEqual([[1, 2]], two_nodes(fun() ->
        S = self(), spawn('b@x', fun() -> S ! 1, S ! 2 end), [receive X -> X end || _ <- [1, 2]] end)).

a_delivery_between_nodes_is_an_operation_of_its_own_case() ->
    Relayed = fun(Relay, Sender) -> fun() ->
        S = self(), C = spawn(Relay, fun() -> receive go -> S ! relayed end end), spawn(Sender, fun() -> S ! direct, C ! go end),
        [receive X -> X end || _ <- [1, 2]] end end,
    %% Inside a node, and if both messages leave on the same line, the direct one comes first.
    [?assertEqual([[direct, relayed]], two_nodes(Relayed(Relay, Sender))) || {Relay, Sender} <- [{'a@x', 'a@x'}, {'b@x', 'b@x'}, {'a@x', 'b@x'}]],
    %% Through a third node the other one may overtake it.
    ?assertEqual([[direct, relayed], [relayed, direct]], two_nodes(Relayed('c@x', 'b@x'))).

signals_between_nodes_case() ->
    ?assertEqual([{boom, noproc}], two_nodes(fun() ->
        process_flag(trap_exit, true),
        P = spawn_link('b@x', fun() -> exit(boom) end),
        A = receive {'EXIT', P, W} -> W end,
        R = monitor(process, P),
        {A, receive {'DOWN', R, process, P, V} -> V end} end)),
    ?assertEqual([{'b@x', killed}], two_nodes(fun() ->
        {P, R} = spawn_monitor('b@x', fun() -> receive never -> ok end end),
        exit(P, kill), receive {'DOWN', R, process, P, W} -> {node(P), W} end end)),
    ?assertEqual([pong], two_nodes(fun() ->
        S = self(), spawn('b@x', fun() -> register(there, self()), S ! up, receive {ping, P} -> P ! pong end end),
        receive up -> ok end, {there, 'b@x'} ! {ping, S}, receive M -> M end end)).

a_server_on_another_node_case() ->
    ?assertEqual([1, 2], two_nodes(fun() ->
        S = self(),
        {ok, P} = gen_server:start(litmus_otp, 0, []),
        F = fun() -> V = gen_server:call(P, get), ok = gen_server:call(P, {set, V + 1}), S ! done end,
        spawn(F), spawn('b@x', F), [receive done -> ok end || _ <- [1, 2]], gen_server:call(P, get) end)).
