%% Tests of minimization and explanation by raddle:test: every function whose name ends in _case.
-module(raddle_search_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

with_file(Case) ->
    File = filename:join(filename:dirname(code:which(?MODULE)), "search-" ++ os:getpid() ++ ".json"),
    try Case(File) after file:delete(File) end.

%% Two processes count, and one update may be lost; Others are irrelevant. The function has no name.
lost(Others) ->
    fun() ->
        T = ets:new(t, [public]),
        ets:insert(T, {n, 0}),
        S = self(),
        Count = fun() -> [{n, N}] = ets:lookup(T, n), ets:insert(T, {n, N + 1}), S ! done end,
        [spawn(Fun) || Fun <- [Count, Count] ++ [fun() -> [ets:insert(T, {I, J}) || J <- [1, 2, 3]], S ! done end || I <- lists:seq(1, Others)]],
        [receive done -> ok end || _ <- lists:seq(1, Others + 2)],
        io:format("~p~n", [ets:lookup(T, n)]),
        [{n, 2}] = ets:lookup(T, n)
    end.

a_function_expression_is_minimized_and_explained_case() ->
    with_file(fun(File) ->
        Options = #{strategy => "random-walk", seed => 3, file => File},
        #{failure := #{steps := Long, run := Run, explanation := none}} = raddle:explore(lost(3), Options#{minimize => false}),
        {ok, AsFound} = file:read_file(File),
        ?assertEqual(nomatch, re:run(AsFound, "\"steps_before\"")),
        #{failure := #{steps := Short, run := Run, interleaving := Steps} = Failure} = raddle:explore(lost(3), Options),
        #{report := Report, explanation := Why, printed := Printed, fingerprint := Print} = Failure,
        ?assert(Short =< Long),
        %% The first reads, the second reads and writes, and the first writes.
        {match, [Switches]} = re:run(Steps, "^Made smaller by [0-9]+ runs: switches between processes [0-9]+ -> ([0-9]+), steps ",
                                     [{capture, all_but_first, list}]),
        ?assert(list_to_integer(Switches) =< 7),
        ?assertMatch({match, _}, re:run(Steps, "\n +1 .*\n", [dotall])),
        ?assertMatch({match, _}, re:run(Why, "^process <0.10[0-9].0> (read|wrote|updated) `n in table .*if they are swapped, the run passes$")),
        ?assertEqual({<<"[{n,1}]\n">>, match}, {Printed, re:run(Report, "^the test failed: error: {badmatch,\\[{n,1}\\]}", [{capture, none}])}),
        %% The file has the minimized run, which reproduces.
        ?assertMatch(#{divergence := none, fingerprint := Print, steps := Short, printed := Printed, interleaving := Steps},
                     raddle:replay(File, #{test => lost(3)})),
        {ok, Small} = file:read_file(File),
        ?assertMatch({match, _}, re:run(Small, "\"steps_before\"")),
        %% The same search has the same result.
        #{failure := #{interleaving := Steps, explanation := Why}} = raddle:explore(lost(3), Options)
    end).

%% The error is short, and the report is complete.
failures_are_reported_case() ->
    Failed = fun(Test, Options) ->
                 Self = self(),
                 Error = try raddle:test(Test, Options#{print => fun(Text) -> Self ! {report, Text} end}) catch error:Why -> Why end,
                 {Error, receive {report, Text} -> Text end}
             end,
    with_file(fun(File) ->
        {{raddle_failure, Short, #{file := File, seed := 1, run := _, printed := <<"[{n,1}]\n">>}}, Report} = Failed(lost(0), #{file => File}),
        ?assertMatch({match, _}, re:run(Short, "^the test failed: error: {badmatch,\\[{n,1}\\]} .*; process .*; if they are swapped, the run passes$")),
        ?assertMatch({match, _}, re:run(Report, "^\nraddle: the test failed: error: {badmatch,\\[{n,1}\\]} .*\n"
                                              "process .*; if they are swapped, the run passes\\.\n\n"
                                              "Made smaller by .*\nstep .*\n\nIt printed:\n  \\[{n,1}\\]\n"
                                              "\nReplay: raddle:replay\\(\".*\", #{test => Fun}\\)\n$", [dotall])),
        {_, Named} = Failed({?MODULE, waits}, #{file => File}),
        ?assertMatch({match, _}, re:run(Named, "^\nraddle: deadlock: .*\nReplay: raddle:replay\\(\".*\"\\)\n$", [dotall]))
    end).

waits() -> S = self(), spawn(fun() -> S ! 1 end), spawn(fun() -> S ! 2 end), receive 2 -> receive never -> ok end; 1 -> ok end.

%% A search for all failures does not minimize them.
all_failures_are_reported_without_minimization_case() ->
    #{failure := #{interleaving := Steps}, failed := Failed} = raddle:explore(lost(0), #{file => none, stop => false, runs => 50}),
    ?assertEqual({true, nomatch}, {Failed > 1, re:run(Steps, "Made smaller")}).

%% Minimized runs keep faults, several nodes and time-outs.
gone() -> [Other] = nodes(), monitor_node(Other, true), receive {nodedown, Other} -> error(gone) after 1000 -> ok end.

what_the_search_puts_into_a_run_stays_there_case() ->
    with_file(fun(File) ->
        #{failure := #{interleaving := Steps, fingerprint := Print}} =
            raddle:explore(fun() -> gone() end, #{file => File, nodes => ['a@x', 'b@x'], faults => "crash=1,restart=1"}),
        ?assertMatch({match, _}, re:run(Steps, "Made smaller")),
        ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File, #{test => fun() -> gone() end}))
    end).

%% Library operations are reported with the calling line.
init(N) -> {ok, N}.
handle_call(get, _, N) -> {reply, N, N};
handle_call({set, N}, _, _) -> {reply, ok, N}.
handle_cast(_, N) -> {noreply, N}.

asks() ->
    {ok, P} = gen_server:start_link({local, server}, ?MODULE, 0, []), S = self(),
    [spawn_link(fun() -> N = gen_server:call(P, get), ok = gen_server:call(P, {set, N + 1}), S ! done end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    2 = gen_server:call(P, get).

callers_are_reported_case() ->
    #{failure := #{interleaving := Steps}} = raddle:explore(fun() -> asks() end, #{file => none}),
    ?assertMatch({match, [_, _, _, _]}, re:run(Steps, "<0\\.10[34]\\.0> +send mailbox of server <0\\.102\\.0> at raddle_search_tests\\.erl:[0-9]+\n", [global])),
    %% A server's own operations have no caller.
    ?assertMatch({match, _}, re:run(Steps, "receive mailbox of server <0\\.102\\.0> at gen_server\\.erl:[0-9]+\n")),
    ?assertEqual(8, erlang:system_flag(backtrace_depth, 8)).

a_missing_function_is_reported_by_name_case() ->
    #{failure := #{report := Report}} = raddle:explore(fun() -> {no_such:function(1)} end, #{file => none}),
    ?assertMatch({match, _}, re:run(Report, "^the test failed: error: undef: there is no no_such:function/1 in raddle_search_tests:.* \\(raddle_search_tests\\.erl:[0-9]+\\)$")).

%% A run in which a process does nothing for long costs as much as many steps.
spins() -> S = self(), spawn(fun() -> S ! 1 end), spawn(fun() -> S ! 2 end), receive 2 -> (fun F() -> F() end)(); 1 -> ok end.

loops_are_not_made_again_and_again_case() ->
    #{failure := #{interleaving := Steps, report := Report}} = raddle:explore(fun() -> spins() end, #{file => none}),
    ?assertMatch({match, _}, re:run(Report, "^the test failed: a loop without an operation")),
    {match, [Runs]} = re:run(Steps, "^(?:Made smaller by|It has .*;) ([0-9]+) runs?", [{capture, all_but_first, list}]),
    ?assert(list_to_integer(Runs) < 20).
