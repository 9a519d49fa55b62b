%% Makes a failing run smaller, and looks for the order that makes it fail. What to try is decided by crates/raddle-beam/src/search.rs; the runs are made
%% here. How many there are depends on their steps and on nothing of the machine.
-module(raddle_search).
-export([smallest/2]).

%% The text of the failure file of the smallest run that was found, and a sentence about the order that makes it fail, or nil. Nothing if
%% the run that is given does not fail again.
smallest(Text, Options) ->
    {ok, Search} = raddle_nif:open_search(Text),
    candidates(raddle_nif:first_candidate(Search), Search, Options).

candidates(over, _, _) -> none;
candidates({over, Smallest, Explained}, _, _) -> {Smallest, Explained};
candidates({Session, Wish}, Search, #{seed := Seed} = Options) ->
    Look = fun(_, Table, #{verdict := Verdict} = Result) -> {Verdict, names(Session, Table, Result, Wish)} end,
    case raddle_run:run(Session, {Seed, 0}, Options, Look) of
        {{broken, _}, _} -> none; % Most likely nobody waits for it any more.
        {_, Names} -> candidates(raddle_nif:next_candidate(Search, Session, Names), Search, Options)
    end.

%% The names of a run that is wanted. One that decides nothing never is.
names(Session, Table, #{verdict := {failed, _, _, _, _}}, _) -> raddle_run:names(Session, Table);
names(Session, Table, #{steps := _}, any) -> raddle_run:names(Session, Table);
names(_, _, _, _) -> nil.
