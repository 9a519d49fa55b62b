%% Tests of the interface of raddle:test, explore and replay: every function whose name ends in _case.
-module(raddle_use_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

quiet() -> #{file => none}.

%% Returns the values of all runs.
values(Fun, Options) ->
    Self = self(),
    Tag = make_ref(),
    Totals = raddle:explore(Fun, maps:merge(#{file => none, stop => false, each => fun(Result) -> Self ! {Tag, Result} end}, Options)),
    {lists:usort(values(Tag)), Totals}.

values(Tag) -> receive {Tag, Result} -> [maps:get(value, Result, Result) | values(Tag)] after 0 -> [] end.

%% ---- an inconclusive run has not passed

what_decides_nothing_has_not_passed_case() ->
    ?assertError({raddle_error, "erlang:open_port/2 at" ++ _}, raddle:test(fun() -> open_port({spawn, "ls"}, []) end, quiet())),
    ?assertError({raddle_error, _}, raddle:test(fun() -> ok end, (quiet())#{strategy => "no-such-strategy"})),
    ?assertError({raddle_error, "no process reached an operation" ++ _},
                 raddle:test(fun() -> (fun F() -> F() end)() end, (quiet())#{wall => 1})).

an_invalid_test_is_reported_case() ->
    Error = fun(Test) -> {raddle_error, Text} = try raddle:test(Test, quiet()) catch error:Why -> Why end, Text end,
    ?assertMatch("module no_such not found\n" ++ _, Error({no_such, test})),
    ?assertMatch("module raddle_use_tests exports no function fails/0; it exports fails/1, but a test must have no arguments", Error({?MODULE, fails})),
    ?assertMatch("module raddle_use_tests exports no function none/0; without arguments it exports " ++ _, Error(fun ?MODULE:none/0)),
    ?assertMatch("a test must have no arguments, but fun raddle_use_tests:fails/1 has", Error(fun ?MODULE:fails/1)),
    ?assertMatch("a test must be a function without arguments or {Module, Function}, not 7", Error(7)).

%% ---- which code runs

%% Compiles a module in a separate directory, with these lines.
compiled(Lines) -> compiled(Lines, [debug_info]).
compiled(Lines, Options) ->
    Directory = scratch(),
    File = filename:join(Directory, "raddle_scratch.erl"),
    ok = file:write_file(File, ["-module(raddle_scratch).\n-compile([export_all, nowarn_export_all]).\n" | [[Line, "\n"] || Line <- Lines]]),
    {ok, raddle_scratch} = compile:file(File, [{outdir, Directory} | Options]),
    code:add_patha(Directory),
    code:purge(raddle_scratch),
    {module, raddle_scratch} = code:load_file(raddle_scratch),
    ok.

scratch() ->
    Directory = filename:join(filename:dirname(code:which(?MODULE)), "scratch-" ++ os:getpid()),
    ok = filelib:ensure_path(Directory),
    Directory.

%% Removes a scratch module after the case.
with_scratch(Case) ->
    try Case() after
        code:del_path(scratch()),
        file:del_dir_r(scratch()),
        code:purge(raddle_scratch), code:delete(raddle_scratch), code:purge(raddle_scratch)
    end.

a_recompiled_module_is_tested_again_case() ->
    with_scratch(fun() ->
        compiled(["t() -> first."]),
        ?assertMatch({[first], _}, values({raddle_scratch, t}, #{runs => 2})),
        compiled(["t() -> second."]),
        ?assertMatch({[second], _}, values({raddle_scratch, t}, #{runs => 2})),
        %% A module that can no longer be controlled is not replaced by its old copy.
        compiled(["t() -> third."], []),
        ?assertMatch({_, #{error := _, passed := 0}}, values(fun() -> raddle_scratch:t() end, #{runs => 2}))
    end).

where() -> node().

asks(External, Map, Builtin) ->
    fun() -> [{Key}] = maps:keys(Map), {External(), Key(), (maps:get({Key}, Map))(), Builtin() =:= self()} end.

functions_in_the_environment_of_a_test_are_controlled_case() ->
    External = fun ?MODULE:where/0,
    Test = asks(External, #{{External} => fun() -> node() end}, fun erlang:self/0),
    ?assertMatch({[{'test@raddle', 'test@raddle', 'test@raddle', true}], _}, values(Test, #{runs => 1})).

%% ---- replay

temporary(Name) -> filename:join(scratch(), Name).

%% Fails if the child is ended between its two operations. Under dpor there are reads between them.
ended_between() ->
    T = ets:new(t, [public]),
    {P, R} = spawn_monitor(fun() -> ets:insert(T, {a, 1}), ets:insert(T, {b, 1}) end),
    exit(P, kill),
    receive {'DOWN', R, process, P, _} -> ok end,
    true = ets:member(T, a) =:= ets:member(T, b).

a_run_of_a_search_is_repeated_case() ->
    with_scratch(fun() ->
        File = temporary("failure.json"),
        #{failure := #{fingerprint := Print}} =
            raddle:explore(fun ?MODULE:ended_between/0, #{strategy => "dpor", file => File, program => "raddle_use_tests:ended_between"}),
        ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File))
    end).

%% ---- the contents of a failure file

only_on_two_nodes() ->
    S = self(), [Other] = nodes(), spawn(Other, fun() -> S ! there end), receive there -> error(node()) end.

a_file_has_the_data_for_replay_case() ->
    with_scratch(fun() ->
        File = temporary("failure.json"),
        %% The default node is an ordinary one.
        [begin
             #{failure := #{fingerprint := Print}} = raddle:explore(Test, #{file => File, nodes => ['b@x', 'test@raddle']}),
             ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File))
         end || Test <- [fun ?MODULE:only_on_two_nodes/0, {?MODULE, only_on_two_nodes}]],
        %% An expression has no name, so it must be passed.
        Expression = fun() -> only_on_two_nodes() end,
        #{failure := _} = raddle:explore(Expression, #{file => File, nodes => ['b@x', 'test@raddle']}),
        ?assertError({raddle_error, "the recorded test was a function expression" ++ _}, raddle:replay(File)),
        ?assertMatch(#{divergence := none}, raddle:replay(File, #{test => Expression}))
    end).

%% Endless without a limit.
ticks() -> timer:sleep(1000), ticks().
sleeps() -> S = self(), spawn(fun() -> timer:sleep(5000), S ! done end), receive done -> ok end.

a_run_has_a_limit_of_its_virtual_time_case() ->
    Run = fun(Fun, Time) -> raddle:explore(Fun, (quiet())#{runs => 20, virtual_time => Time}) end,
    [?assertMatch(#{passed := 20}, Run(fun ?MODULE:sleeps/0, Time)) || Time <- [infinity, 5000]],
    [?assertMatch(#{failure := #{report := <<"the run did not end within the limit of its virtual time">>}, kinds := #{<<"time-limit">> := 1}},
                  Run(Fun, 4999)) || Fun <- [fun ?MODULE:sleeps/0, fun ?MODULE:ticks/0]],
    with_scratch(fun() ->
        File = temporary("failure.json"),
        #{failure := #{fingerprint := Print}} = raddle:explore(fun ?MODULE:ticks/0, #{file => File, virtual_time => 4999}),
        ?assertMatch(#{divergence := none, fingerprint := Print, time := 4000000000}, raddle:replay(File))
    end).

a_moved_place_is_no_step_case() ->
    with_scratch(fun() ->
        File = temporary("failure.json"),
        compiled(["t() -> self() ! x, error(x)."]),
        #{failure := _} = raddle:explore({raddle_scratch, t}, #{file => File}),
        compiled(["", "t() -> self() ! x, error(x)."]),
        ?assertMatch(#{divergence := {none, <<"location 0 is raddle_scratch.erl:4; in the recorded run it was raddle_scratch.erl:3">>}},
                     raddle:replay(File))
    end).

%% ---- the caller

%% For example when eunit ends a test that takes too long.
nothing_goes_on_without_its_caller_case() ->
    Self = self(),
    Each = fun(_) -> Self ! {worker, self()} end,
    Caller = spawn(fun() -> raddle:explore(fun ?MODULE:where/0, #{runs => 1 bsl 60, each => Each}) end),
    Worker = receive {worker, Pid} -> Pid end,
    Monitor = monitor(process, Worker),
    exit(Caller, kill),
    ?assertEqual(ended, receive {'DOWN', Monitor, process, Worker, _} -> ended after 60000 -> exit(Worker, kill), goes_on end),
    (fun Flush() -> receive {worker, _} -> Flush() after 0 -> ok end end)().

%% ---- the program's view

flags_are_saved_and_restored_case() ->
    ?assertMatch({[{normal, high, low, normal}], _},
                 values(fun() ->
                     Was = process_flag(priority, high), A = process_flag(priority, low), B = process_flag(priority, Was),
                     {Was, A, B, process_flag(priority, normal)} end, #{runs => 1})),
    ?assertMatch({[[badarg]], _}, values(fun() -> [try process_flag(priority, 7) catch error:Why -> Why end] end, #{runs => 1})),
    ?assertMatch({[[]], _}, values(fun() -> process_flag(priority, high), get() end, #{runs => 1})).

%% Stacks have the names of the source, and end where the program does.
fails(X) -> Y = f(X), {Y}.
f(X) when X > 1 -> X.
waits() -> receive never -> ok end, waits.

stacks_are_those_of_the_source_case() ->
    Value = fun(Fun) -> {[Value], _} = values(Fun, #{runs => 1}), Value end,
    Modules = fun(Stack) -> [{Module, Function} || {Module, Function, _, _} <- Stack, Function =:= f orelse Function =:= fails orelse Module =/= ?MODULE] end,
    Known = [{?MODULE, f}, {?MODULE, fails}],
    ?assertEqual(Known, Modules(Value(fun() -> try fails(0) catch error:function_clause:S -> S end end))),
    ?assertEqual(Known, Modules(Value(fun() -> {'EXIT', {function_clause, S}} = (catch fails(0)), S end))),
    ?assertMatch([{lists, reverse} | _], Modules(Value(fun() -> try lists:reverse(hd([a])) catch _:_:S -> S end end))),
    %% A rethrown exception keeps its stack.
    ?assertEqual(Known, Modules(Value(fun() -> try try fails(0) catch C:R:S -> erlang:raise(C, R, S) end catch _:_:T -> T end end))),
    %% The rest of catch is unchanged.
    ?assertMatch([1, {'EXIT', two}, three, {'EXIT', {four, [{?MODULE, _, 0, _} | _]}}],
                 Value(fun() -> [(catch 1), (catch exit(two)), (catch throw(three)), (catch error(four))] end)),
    %% The current stack of a process has them too.
    ?assertMatch({[{?MODULE, waits, 0, [{file, _}, {line, _}]} | _], {?MODULE, waits, 0}, {?MODULE, waits, 0, _}},
                 Value(fun() ->
                     P = spawn(fun() -> waits() end), timer:sleep(1),
                     [{_, Stack}, {_, F}, {_, L}] = process_info(P, [current_stacktrace, current_function, current_location]), {Stack, F, L} end)),
    ?assertMatch([{?MODULE, _, 0, _} | _], Value(fun() -> {_, Stack} = process_info(self(), current_stacktrace), Stack ++ [] end)).

the_start_of_the_host_does_not_show_case() ->
    ?assertMatch({[0], _}, values(fun() -> erlang:system_info(start_time) end, #{runs => 1})).

%% ---- messages

a_refused_module_is_reported_with_its_reason_case() ->
    Error = fun() -> {_, #{error := Error}} = values(fun() -> raddle_scratch:t() end, #{runs => 1}), Error end,
    with_scratch(fun() ->
        compiled(["t() -> ok."], []),
        ?assertMatch(<<"raddle_scratch:t/0, reached from the start, cannot be controlled, so the result is inconclusive: "
                       "module raddle_scratch was compiled without debug_info\n", _/binary>>, Error()),
        %% For the test itself there is no other remedy.
        ?assertError({raddle_error, "module raddle_scratch was compiled without debug_info\nhelp: compile it with erlc +debug_info, or with "
                                    "debug_info in the erl_opts of rebar.config"}, values({raddle_scratch, t}, #{runs => 1})),
        compiled(["-on_load(init/0).", "init() -> ok.", "t() -> ok."]),
        ?assertMatch({match, _}, re:run(Error(), "module raddle_scratch has native functions"))
    end).

%% A call in a guard is evaluated first in the copy, with an additional last clause, which can then be
%% unreachable.
warnings_of_a_copy_are_no_errors_case() ->
    with_scratch(fun() ->
        compiled(["-compile(warnings_as_errors).", "-compile([inline, warnings_as_errors]).",
                  "t() -> f(1).", "f(X) when X =:= self() -> no; f(_) -> ok."]),
        os:putenv("ERL_COMPILER_OPTIONS", "['E']"),
        try ?assertMatch({[ok], _}, values({raddle_scratch, t}, #{runs => 1}))
        after os:unsetenv("ERL_COMPILER_OPTIONS")
        end
    end).

hangs_on_both() -> spawn('b@x', fun() -> receive never -> ok end end), spawn('a@x', fun() -> receive never -> ok end end), receive never -> ok end.

processes_are_named_relative_to_the_test_node_case() ->
    #{failure := #{report := Report}} = raddle:explore(fun ?MODULE:hangs_on_both/0, (quiet())#{nodes => ['a@x', 'b@x']}),
    ?assertEqual([<<"  <0.101.0> on b@x waits">>, <<"  <0.102.0> waits">>, <<"  test waits">>],
                 lists:sort([hd(binary:split(Line, <<" in receive never at ">>)) || Line <- tl(binary:split(Report, <<"\n">>, [global]))])).

%% ---- stable names

%% Two processes, and the schedule decides which of them gets the lower pid; each has a table and a reference.
names_of_two() ->
    S = self(),
    [spawn(fun() -> spawn(fun() -> S ! {N, self(), ets:new(t, [public]), make_ref()} end) end) || N <- [1, 2]],
    [Raw | _] = All = [receive {N, P, T, R} -> {P, T, R} end || N <- [1, 2]],
    {Raw, raddle_table:lasting(raddle_turn:me(), All)}.

names_do_not_depend_on_who_was_first_case() ->
    {Values, _} = values(fun ?MODULE:names_of_two/0, #{runs => 100}),
    {Raw, Lasting} = lists:unzip(Values),
    ?assert(length(lists:usort(Raw)) > 1),
    [[{P1, T1, R1}, {P2, T2, R2}]] = lists:usort(Lasting),
    ?assert(P1 =/= P2 andalso T1 =/= T2 andalso R1 =/= R2).
