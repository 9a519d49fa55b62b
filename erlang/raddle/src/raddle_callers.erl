%% Which lines of the program operations of libraries are made for: that gen.erl sends a message says less than who has called gen_server. It takes a look at
%% the stack at each operation, so it is done for runs alone that are made again to be shown.
-module(raddle_callers).
-export([seen/2, note/2, known/1]).
-include("raddle_run.hrl").

%% How much of a stack is looked at.
-define(DEPTH, 40).

%% Does something while stacks can be seen to that depth.
seen(false, Fun) -> Fun();
seen(true, Fun) ->
    Usual = erlang:system_flag(backtrace_depth, ?DEPTH),
    try Fun() after erlang:system_flag(backtrace_depth, Usual) end.

%% A process is about to do something at a place.
note(#me{table = Table, actor = Actor}, Place) ->
    Number = raddle_table:count(Table, {told, Actor, Place}),
    case caller() of
        none -> ok;
        Line -> ets:insert(Table, {caller, {caller, Actor, Place, Number}, Line})
    end.

%% The line of the program that has called the library which the process is in, or none if it is in none, or nobody of the program is left to return to.
caller() ->
    {current_stacktrace, Stack} = erlang:process_info(self(), current_stacktrace),
    Frames = [{raddle_modules:original(Module), Info} || {Module, _, _, Info} <- Stack, raddle_modules:original(Module) =/= Module],
    case lists:dropwhile(fun({Module, _}) -> raddle_modules:is_library(Module) end, Frames) of
        Frames -> none;
        Outside ->
            case [Info || {Module, [_ | _] = Info} <- Outside, not raddle_modules:is_library(Module)] of
                [Info | _] ->
                    unicode:characters_to_binary([filename:basename(proplists:get_value(file, Info, "?")), $:, integer_to_list(proplists:get_value(line, Info, 0))]);
                [] -> none
            end
    end.

%% What was remembered, for raddle_nif:callers/2.
known(Table) -> [{{Actor, Place, Number}, Line} || [Actor, Place, Number, Line] <- ets:match(Table, {caller, {caller, '$1', '$2', '$3'}, '$4'})].
