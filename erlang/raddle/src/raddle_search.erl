%% Minimizes a failing run, and searches for the order that makes it fail. crates/raddle-beam/src/search.rs
%% decides what to try; the runs are executed here. Their number depends on their steps and not on the
%% machine.
-module(raddle_search).
-export([smallest/2]).

%% Returns the failure file of the smallest run, and a sentence about the order that makes it fail, or nil.
%% Returns none if the given run does not fail again.
smallest(Text, Options) ->
    {ok, Search} = raddle_nif:open_search(Text),
    candidates(raddle_nif:first_candidate(Search), Search, Options).

candidates(over, _, _) -> none;
candidates({over, Smallest, Explained}, _, _) -> {Smallest, Explained};
candidates({Session, Wish}, Search, #{seed := Seed} = Options) ->
    Look = fun(_, Table, #{verdict := Verdict} = Result) -> {Verdict, names(Session, Table, Result, Wish)} end,
    case raddle_run:run(Session, {Seed, 0}, Options, Look) of
        {{broken, _}, _} -> none; % Most likely the caller no longer waits for it.
        {_, Names} -> candidates(raddle_nif:next_candidate(Search, Session, Names), Search, Options)
    end.

%% Returns the names of a requested run. An inconclusive run is never requested.
names(Session, Table, #{verdict := {failed, _, _, _, _}}, _) -> raddle_run:names(Session, Table);
names(Session, Table, #{steps := _}, any) -> raddle_run:names(Session, Table);
names(_, _, _, _) -> nil.
