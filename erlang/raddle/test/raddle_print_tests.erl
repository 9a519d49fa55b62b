%% Tests of output and logging: every function whose name ends in _case.
-module(raddle_print_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").
-include_lib("kernel/include/logger.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

%% Returns the output of the first failing run of a test.
printed(Fun) -> printed(Fun, #{}).
printed(Fun, Options) ->
    #{failure := #{printed := Printed}} = raddle:explore(Fun, maps:merge(#{file => none, runs => 100}, Options)),
    Printed.

every_way_to_print_is_reported_case() ->
    ?assertEqual(<<"a\n1 b\nc d e{f}\n{g}\nerror\nuser\nä\n"/utf8>>,
                 printed(fun() ->
                     io:format("a~n"), io:format("~p ~s~n", [1, "b"]), io:put_chars("c "), io:fwrite(standard_io, "d ~w", [e]), io:write({f}), io:nl(),
                     io:write(standard_io, {g}), io:nl(standard_io),
                     io:format(standard_error, "error~n", []), io:put_chars(user, ["user", <<"\n">>]), io:put_chars(standard_io, unicode, [228, $\n]),
                     error(now) end)),
    %% Empty output is empty, and a term that is not a text is an error, as on a real VM.
    ?assertEqual(<<>>, printed(fun() -> error(now) end)),
    ?assertEqual(<<>>, printed(fun() -> badarg = try io:format("~p~n", tl([1])) catch error:Why -> Why end, error(now) end)),
    ?assertEqual(<<>>, printed(fun() -> badarg = try io:put_chars([a]) catch error:Why -> Why end, error(now) end)).

%% The failing run is not the first, and the report omits the output of the others.
races() ->
    S = self(), [spawn(fun() -> io:format("~w by ~p~n", [N, self()]), S ! N end) || N <- [1, 2]],
    First = receive N -> N end, io:format("~w is first~n", [First]), receive _ -> ok end,
    First = 1.

each_run_has_its_own_case() ->
    Runs = [begin
                #{failure := #{printed := Output, run := Run}} =
                    raddle:explore(fun ?MODULE:races/0, #{file => none, seed => Seed, minimize => Small, strategy => "random-walk"}),
                ?assertMatch({match, _}, re:run(Output, "^([12] by <0.10[23].0>\n){0,2}2 is first\n([12] by <0.10[23].0>\n)?$")),
                Run
            end || Seed <- [1, 2, 3, 4], Small <- [false, true]],
    ?assert(lists:max(Runs) > 0),
    %% A replay prints the same.
    File = filename:join(filename:dirname(code:which(?MODULE)), "printed-" ++ os:getpid() ++ ".json"),
    try
        #{failure := #{printed := Printed}} = raddle:explore(fun ?MODULE:races/0, #{file => File}),
        ?assertMatch(#{divergence := none, printed := Printed}, raddle:replay(File)),
        Quiet = #{file => none, print => fun(_) -> ok end},
        ?assertError({raddle_failure, _, #{printed := Printed}}, raddle:test(fun ?MODULE:races/0, Quiet))
    after
        file:delete(File)
    end.

long_output_is_truncated_case() ->
    Printed = printed(fun() -> [io:format("line ~w~n", [N]) || N <- lists:seq(1, 30000)], error(now) end, #{runs => 1}),
    ?assert(byte_size(Printed) =< 65536 andalso byte_size(Printed) > 65000),
    [First | Lines] = binary:split(Printed, <<"\n">>, [global]),
    ?assertMatch(<<"line ", _/binary>>, First),
    ?assertEqual([<<"line 30000">>, <<>>], lists:nthtail(length(Lines) - 2, Lines)).

%% Processes of the program that are devices or group leaders get the output.
device() ->
    S = self(),
    spawn(fun() -> (fun Loop(Text) ->
                        receive
                            {io_request, From, As, {put_chars, unicode, M, F, A}} -> From ! {io_reply, As, ok}, Loop(Text ++ lists:flatten(apply(M, F, A)));
                            {io_request, From, As, {put_chars, unicode, Chars}} -> From ! {io_reply, As, ok}, Loop(Text ++ unicode:characters_to_list(Chars));
                            {io_request, From, As, {get_line, unicode, _}} -> From ! {io_reply, As, "line\n"}, Loop(Text);
                            stop -> S ! {text, Text}
                        end
                    end)("") end).

what_devices_of_the_program_take_is_theirs_case() ->
    Taken = fun(Test) ->
                {[Text], _} = raddle_use_tests:values(fun() -> D = device(), Test(D), D ! stop, receive {text, Text} -> Text end end, #{runs => 5}),
                Text
            end,
    ?assertEqual("1 two\n", Taken(fun(D) -> io:format(D, "~w ", [1]), io:put_chars(D, "two"), io:nl(D) end)),
    ?assertEqual("led", Taken(fun(D) -> group_leader(D, self()), io:put_chars("led"), io:put_chars(user, "not this") end)),
    ?assertEqual("named", Taken(fun(D) -> register(device, D), io:put_chars(device, "named") end)),
    ?assertEqual("", Taken(fun(D) -> "line\n" = io:get_line(D, "") end)),
    ?assertEqual(<<"loose\n">>, printed(fun() -> D = device(), io:format(D, "taken", []), io:format("loose~n"), error(now) end)),
    ?assertEqual(<<>>, printed(fun() -> P = spawn(fun() -> ok end), R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end,
                                        terminated = try io:format(P, "x", []) catch error:Why -> Why end, error(now) end)).

logs() ->
    ?LOG_WARNING("~w is late", [one]), ?LOG_NOTICE("so it is"), ?LOG_INFO("nobody cares"), logger:error(#{what => bad}),
    logger:warning(fun(X) -> {"lazy ~w", [X]} end, 1), error_logger:info_msg("old ~w", [way]), error_logger:error_msg("worse"),
    error(now).

log_events_are_reported_case() ->
    ?assertEqual(<<"warning: one is late\nnotice: so it is\nerror: #{what => bad}\nwarning: lazy 1\nnotice: old way\nerror: worse\n">>,
                 printed(fun ?MODULE:logs/0)).
