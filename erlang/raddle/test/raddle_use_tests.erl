%% Tests of what those meet who call raddle:test, explore and replay: every function whose name ends in _case.
-module(raddle_use_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

quiet() -> #{file => none}.

%% The values of all runs.
values(Fun, Options) ->
    Self = self(),
    Tag = make_ref(),
    Totals = raddle:explore(Fun, maps:merge(#{file => none, stop => false, each => fun(Result) -> Self ! {Tag, Result} end}, Options)),
    {lists:usort(values(Tag)), Totals}.

values(Tag) -> receive {Tag, Result} -> [maps:get(value, Result, Result) | values(Tag)] after 0 -> [] end.

%% ---- what nothing can be said about has not passed

what_decides_nothing_has_not_passed_case() ->
    ?assertError({raddle_error, "erlang:open_port/2 at" ++ _}, raddle:test(fun() -> open_port({spawn, "ls"}, []) end, quiet())),
    ?assertError({raddle_error, _}, raddle:test(fun() -> ok end, (quiet())#{strategy => "no-such-strategy"})),
    ?assertError({raddle_error, "no process came to an operation" ++ _},
                 raddle:test(fun() -> (fun F() -> F() end)() end, (quiet())#{wall => 1})).
