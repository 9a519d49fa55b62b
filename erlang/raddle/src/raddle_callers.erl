%% The calling lines of library operations: the caller of gen_server is more informative than the send in
%% gen.erl. It inspects the stack at each operation, so it is used only for runs that are repeated for a
%% report.
-module(raddle_callers).
-export([seen/2, note/2, known/1]).
-include("raddle_run.hrl").

%% The maximum stack depth that is inspected.
-define(DEPTH, 40).

%% Calls Fun while stacks are available to that depth.
seen(false, Fun) -> Fun();
seen(true, Fun) ->
    Usual = erlang:system_flag(backtrace_depth, ?DEPTH),
    try Fun() after erlang:system_flag(backtrace_depth, Usual) end.

%% Records that a process is about to execute an operation at a location.
note(#me{table = Table, actor = Actor}, Location) ->
    Number = raddle_table:count(Table, {occurrence, Actor, Location}),
    case caller() of
        none -> ok;
        Line -> ets:insert(Table, {caller, {caller, Actor, Location, Number}, Line})
    end.

%% Returns the line of the program that called the current library function, or none outside libraries, or if
%% no frame of the program is left.
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

%% Returns the recorded lines, for raddle_nif:callers/2.
known(Table) -> [{{Actor, Location, Number}, Line} || [Actor, Location, Number, Line] <- ets:match(Table, {caller, {caller, '$1', '$2', '$3'}, '$4'})].
