%% Cross-check of dpor: a program has the same outcomes under it as under dfs, which omits no order, and under
%% random strategies.
%%
%%   raddle_cross:check(Program, Nodes, Runs)    the differences, with this many runs of each of the others
%%   raddle_cross:generated(From, To)            the generated programs of these seeds, and their differences
%%   raddle_cross:wide(From, To, Workers, Actions, Runs)   the same for those of raddle_wide
%%   raddle_cross:table()                        the number of schedules that dpor needs for each litmus
%%   program
-module(raddle_cross).
-export([check/3, check_scripts/2, scripts/3, generated/2, generated/5, wide/5, table/0, outcomes/4]).

%% The maximum number of runs for dpor; if it is exceeded, only the other direction is checked.
-define(MOST, 20000).

check(Program, Nodes, Runs) ->
    {Exact, Ended, _} = outcomes(Program, Nodes, "dpor", ?MOST),
    {All, AllEnded, _} = outcomes(Program, Nodes, "dfs", Runs),
    Random = [element(1, outcomes(Program, Nodes, Spec, max(1, Runs div 10))) || Spec <- ["random-walk", "pos"]],
    Known = lists:usort(lists:append([All | Random])),
    [{dpor_missed, Known -- Exact} || Ended, Known -- Exact =/= []]
        ++ [{only_dpor, Exact -- All} || AllEnded, Exact -- All =/= []].

generated(From, To) -> generated(From, To, 2, 3, 2000).
generated(From, To, Workers, Actions, Runs) ->
    [{Seed, Scripts, Differs} || Seed <- lists:seq(From, To), Scripts <- [raddle_actors:scripts(Seed, Workers, Actions)],
                                 Differs <- [check_scripts(Scripts, Runs)], Differs =/= []].

%% The same for programs of raddle_wide.
wide(From, To, Workers, Actions, Runs) ->
    [{Seed, Program, Differs} || Seed <- lists:seq(From, To), Program <- [raddle_wide:program(Seed, Workers, Actions)],
                                 Differs <- [check(fun() -> raddle_wide:run(Program) end, ['test@raddle'], Runs)], Differs =/= []].

%% The same for scripts of raddle_actors.
check_scripts(Scripts, Runs) -> check(fun() -> raddle_actors:run(Scripts) end, ['test@raddle'], Runs).
scripts(Scripts, Spec, Runs) -> outcomes(fun() -> raddle_actors:run(Scripts) end, ['test@raddle'], Spec, Runs).

%% Returns the outcomes of the runs, whether the search was exhaustive, and the numbers of executed and pruned
%% runs.
outcomes(Program, Nodes, Spec, Runs) ->
    Owner = self(),
    Tag = make_ref(),
    #{exhausted := Ended, passed := Passed, failed := Failed, cut_off := CutOff} = Totals =
        raddle:explore(Program, #{strategy => Spec, runs => Runs, stop => false, file => none, minimize => false,
                                  each => fun(Result) -> Owner ! {Tag, outcome(Result)} end, step_limit => 5000, nodes => Nodes}),
    Seen = lists:usort(drain(Tag)),
    {[Outcome || Outcome <- Seen, Outcome =/= cut_off] ++ [{error, Error} || #{error := Error} <- [Totals]], Ended, {Passed + Failed, CutOff}}.

outcome(#{verdict := passed, value := Value}) -> Value;
outcome(#{verdict := cut_off}) -> cut_off;
outcome(#{verdict := {failed, <<"assertion">>, _, Message, _}}) -> {failed, Message};
outcome(#{verdict := {failed, Kind, _, _, _}}) -> {failed, Kind};
outcome(#{verdict := Other}) -> Other.

drain(Tag) -> drain(Tag, #{}).
drain(Tag, Seen) ->
    receive {Tag, Outcome} -> drain(Tag, Seen#{Outcome => true})
    after 0 -> maps:keys(Seen)
    end.

table() ->
    [begin
         {Outcomes, Ended, {Done, CutOff}} = outcomes(P, raddle_litmus:nodes(P), "dpor", 4000),
         io:format("~w:~w ~w ~w ~w ~w~n", [Module, F, Done, CutOff, length(Outcomes), Ended])
     end || {Module, F} = P <- raddle_litmus:programs(), erlang:function_exported(Module, F, 0) orelse code:ensure_loaded(Module) =/= error],
    ok.
