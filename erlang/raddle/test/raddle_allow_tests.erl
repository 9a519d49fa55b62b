%% Tests of native, random and external functions: every function whose name ends in _case.
-module(raddle_allow_tests).
-compile([export_all, nowarn_export_all, nowarn_deprecated_function]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

quiet() -> #{file => none}.

values(Fun, Options) -> raddle_use_tests:values(Fun, Options).

error_of(Fun, Options) ->
    #{error := Error, failed := 0} = raddle:explore(Fun, maps:merge(quiet(), Options)),
    unicode:characters_to_list(Error).

%% ---- ports and sockets

what_is_outside_is_refused_with_a_remedy_case() ->
    [begin
         Error = error_of(Fun, #{}),
         ?assertMatch({match, _}, re:run(Error, "^" ++ Name ++ " at raddle_allow_tests.erl:[0-9]+ is not controlled")),
         ?assertMatch({match, _}, re:run(Error, "\nhelp: replace it in the test, for example by a process that simulates the external service$"))
     end
     || {Name, Fun} <- [{"erlang:open_port/2", fun() -> catch open_port({spawn, "ls"}, []) end},
                        {"gen_tcp:listen/2", fun() -> catch gen_tcp:listen(0, []) end},
                        {"gen_udp:open/1", fun() -> catch gen_udp:open(0) end},
                        {"inet:getaddr/2", fun() -> catch inet:getaddr("x", inet) end},
                        {"socket:open/2", fun() -> catch socket:open(inet, stream) end}]],
    ?assertMatch({match, _}, re:run(error_of(fun() -> catch os:cmd("ls") end, #{}), "^os:cmd/1 at .*\n.*--allow os:cmd/1 ")).

they_cannot_be_allowed_case() ->
    [?assertError({raddle_error, "allow " ++ _}, raddle:test(fun() -> ok end, (quiet())#{allow => [Name]}))
     || Name <- [erlang, {erlang, open_port, 2}, "gen_tcp", <<"socket:open/2">>, "a b:c", "crypto:hash", "My.Nif.sum", "file", 7]].

%% In the syntax of both languages.
names_case() ->
    ?assertEqual([{crypto, all}, {crypto, [{hash, 2}]}, {'Elixir.My.Nif', all}, {'Elixir.My.Nif', [{'sum!', 2}]}, {'Elixir.My', [{sum, 0}]},
                  {'OTP-PUB-KEY', all}, {'Elixir.My', all}],
                 raddle_allow:read([crypto, <<"crypto:hash/2">>, "My.Nif", "My.Nif.sum!/2", "Elixir.My:sum/0", "OTP-PUB-KEY", 'Elixir.My'])),
    [?assertEqual([Rule], raddle_allow:read([raddle_allow:write(Rule)])) || Rule <- [{crypto, all}, {'Elixir.My.Nif', [{'sum!', 2}]}, {'Elixir.My', all}]].

%% ---- native functions

%% A module that the host loads by its own function, with these lines.
native(Lines, Case) ->
    raddle_use_tests:with_scratch(fun() -> raddle_use_tests:compiled(["-on_load(init/0).", "init() -> ok." | Lines]), Case() end).

calls_native() -> {raddle_scratch:sum(1, 2)}.
calls_another() -> {raddle_scratch:sum(1, 2), raddle_scratch:pid(self())}.

native_functions_are_refused_by_name_case() ->
    native(["sum(A, B) -> A + B."], fun() ->
        Error = error_of(fun ?MODULE:calls_native/0, #{}),
        ?assertMatch({match, _}, re:run(Error, "^raddle_scratch:sum/2, reached from raddle_allow_tests.erl:[0-9]+, cannot be controlled, "
                                               "so the result is inconclusive: module raddle_scratch has native functions")),
        ?assertMatch({match, _}, re:run(Error, "--allow raddle_scratch:sum/2 or the option allow of raddle:test"))
    end).

native_functions_may_be_allowed_case() ->
    native(["sum(A, B) -> A + B.", "pid(P) -> node(P)."], fun() ->
        [?assertMatch({[{3}], #{passed := 5}}, values(fun ?MODULE:calls_native/0, #{runs => 5, allow => [Name]}))
         || Name <- [raddle_scratch, {raddle_scratch, sum, 2}, "raddle_scratch:sum/2"]],
        %% Allowing one function does not allow the others.
        ?assertMatch("raddle_scratch:pid/1, " ++ _, error_of(fun ?MODULE:calls_another/0, #{allow => [{raddle_scratch, sum, 2}]})),
        ?assertMatch({[{3, 'test@raddle'}], _}, values(fun ?MODULE:calls_another/0, #{runs => 2, allow => [raddle_scratch]})),
        %% The module itself, and no copy of it.
        ?assertEqual(false, erlang:module_loaded('~raddle_scratch')),
        %% An allowance does not persist.
        ?assertMatch("raddle_scratch:sum/2, " ++ _, error_of(fun ?MODULE:calls_native/0, #{}))
    end).

%% Not when the module is loaded, but when the program requests it.
loads_later() -> {raddle_scratch:load(), raddle_scratch:sum(1, 2)}.

a_module_that_loads_native_functions_later_is_one_case() ->
    raddle_use_tests:with_scratch(fun() ->
        raddle_use_tests:compiled(["load() -> element(1, erlang:load_nif(\"no such library\", 0)).", "sum(A, B) -> A + B."]),
        ?assertMatch({match, _}, re:run(error_of(fun ?MODULE:loads_later/0, #{}), "^raddle_scratch:load/0, .*has native functions\n")),
        ?assertMatch({[{error, 3}], _}, values(fun ?MODULE:loads_later/0, #{runs => 1, allow => [raddle_scratch]}))
    end).

asks_for_native() ->
    {erlang:function_exported(raddle_scratch, sum, 2), erlang:function_exported(raddle_scratch, sum, 3), code:ensure_loaded(raddle_scratch)}.

a_native_module_is_there_case() ->
    native(["sum(A, B) -> A + B."], fun() ->
        ?assertMatch({[{true, false, {module, raddle_scratch}}], _}, values(fun ?MODULE:asks_for_native/0, #{runs => 1}))
    end).

fails_with_native() -> {3} = calls_native(), error(x).

a_file_knows_what_was_allowed_case() ->
    native(["sum(A, B) -> A + B."], fun() ->
        File = raddle_use_tests:temporary("failure.json"),
        #{failure := #{fingerprint := Print}} =
            raddle:explore(fun ?MODULE:fails_with_native/0, #{file => File, allow => [{raddle_scratch, sum, 2}]}),
        ?assertMatch(#{divergence := none, fingerprint := Print}, raddle:replay(File))
    end).

%% ---- crypto

with_crypto(Case) ->
    case code:which(crypto) of
        non_existing -> io:format(user, "NOT TESTED: crypto; it is not installed~n", []);
        _ -> Case()
    end.

pure_functions_of_crypto_run_case() ->
    with_crypto(fun() ->
        Hash = crypto:hash(sha256, "x"),
        ?assertMatch({[Hash], _}, values(fun() -> (fun crypto:hash/2)(sha256, "x") end, #{runs => 2})),
        ?assertMatch({[Hash], _}, values(fun() -> crypto:hash_final(crypto:hash_update(crypto:hash_init(sha256), "x")) end, #{runs => 2})),
        ?assertMatch("crypto:generate_key/2 at raddle_allow_tests.erl:" ++ _, error_of(fun() -> crypto:generate_key(ecdh, x25519) end, #{}))
    end).

random() ->
    Self = self(),
    Draw = fun(Name) -> Self ! {Name, [crypto:strong_rand_bytes(N) || N <- [0, 1, 16, 17, 100]], [crypto:rand_uniform(5, 8) || _ <- lists:seq(1, 20)]} end,
    [spawn(fun() -> Draw(Name) end) || Name <- [a, b]],
    [{BytesA, NumbersA}, {BytesB, NumbersB}] = [receive {Name, Bytes, Numbers} -> {Bytes, Numbers} end || Name <- [a, b]],
    [0, 1, 16, 17, 100] = [byte_size(Bytes) || Bytes <- BytesA],
    [5, 6, 7] = lists:usort(NumbersA ++ NumbersB),
    %% Other values, and later ones, are different.
    [_, _, A16, <<A17:16/binary, _>>, <<A100:16/binary, _/binary>>] = BytesA,
    [_, _, B16 | _] = BytesB,
    4 = length(lists:usort([A16, A17, A100, B16])),
    [] = get(),
    {BytesA, BytesB, crypto:rand_seed(), rand:uniform(1000000)}.

random_bytes_are_the_same_in_every_run_case() ->
    {Values, #{passed := 50, partial_orders := Orders}} = values(fun ?MODULE:random/0, #{runs => 50}),
    ?assertMatch({[_], true}, {Values, Orders > 1}).
