%% Reports of a program by logger and error_logger. Reports at the usual level become part of the output.
%% Reports of OTP's own modules are skipped, except errors, if the run must fail at them (option fail_on), and
%% a supervisor that gives up, which is always recorded.
-module(raddle_log).
-export([allow/2, log/3, crashed/1, gave_up/1]).
-include("raddle_run.hrl").

%% The maximum number of ended children in a report, and the depth of their reasons.
-define(MOST_ENDED, 8).
-define(DEPTH, 12).

%% Returns true if a report is needed. A supervisor reports that it gives up without further operations.
allow(Level, Module) ->
    (is_error(Level) andalso (Module =:= supervisor orelse fails_on(error))) orelse (is_shown(Level) andalso not raddle_modules:is_library(Module)).

is_shown(Level) -> is_error(Level) orelse Level =:= warning orelse Level =:= notice.

is_error(Level) -> lists:member(Level, [error, critical, alert, emergency]).

fails_on(Sort) ->
    #me{table = Table} = raddle_turn:me(),
    lists:member(Sort, raddle_table:find(Table, fail_on, [])).

%% Handles a log event: a report, or a format with arguments.
log(Level, What, Location) ->
    is_shown(Level) andalso not is_report_of_otp(What) andalso raddle_io:log(Level, text(What)),
    is_error(Level) andalso note(What, Location),
    ok.

is_report_of_otp([#{label := _, report := _} | _]) -> true;
is_report_of_otp(_) -> false.

note(What, Location) ->
    #me{table = Table} = Me = raddle_turn:me(),
    restarts(Table, What),
    case gives_up(Table, What) of
        no -> fails_on(error) andalso raddle_turn:fail(Me, ["an error was reported: ", text(What)], Location);
        Text ->
            ets:insert(Table, {gave_up, gave_up, Text}),
            (fails_on(gave_up) orelse fails_on(error)) andalso raddle_turn:fail(Me, Text, Location)
    end.

%% Records that a child of a supervisor has ended, or was not started, and why.
restarts(Table, [#{label := {supervisor, Event}, report := Report} | _]) when Event =:= child_terminated; Event =:= start_error ->
    Key = {ended, proplists:get_value(supervisor, Report)},
    Ended = {child(Report), proplists:get_value(reason, Report)},
    raddle_table:put_list(Table, Key, [Ended | raddle_table:list(Table, Key)]);
restarts(_, _) -> ok.

child(Report) ->
    Offender = proplists:get_value(offender, Report, []),
    case proplists:get_value(id, Offender, undefined) of
        undefined -> element(1, proplists:get_value(mfargs, Offender, {'?'})); % Dynamic children have one kind.
        Id -> Id
    end.

%% Returns the text of a restart storm: a supervisor gave up after its children ended for these reasons, the
%% latest last.
gives_up(Table, [#{label := {supervisor, shutdown}, report := Report} | _]) ->
    Supervisor = proplists:get_value(supervisor, Report),
    case proplists:get_value(reason, Report) of
        reached_max_restart_intensity ->
            Ended = lists:sublist(raddle_table:list(Table, {ended, Supervisor}), ?MOST_ENDED),
            Causes = [io_lib:format("~0tp by ~0tP", [Child, Reason, ?DEPTH]) || {Child, Reason} <- lists:reverse(Ended)],
            raddle_report:plain([io_lib:format("restart storm: supervisor ~0tp gave up because child ~0tp ended too often",
                                               [Supervisor, child(Report)]),
                                 [["; ended children: ", lists:join(", ", Causes)] || Causes =/= []]]);
        _ -> no
    end;
gives_up(_, _) -> no.

text([Fun, Argument | _]) when is_function(Fun, 1) ->
    case Fun(Argument) of
        {Format, Arguments} -> text([Format, Arguments]);
        Report -> text([Report])
    end;
text([Format, Arguments | _]) when is_list(Arguments) ->
    try io_lib:format(Format, Arguments) of
        Text -> raddle_report:plain(Text)
    catch
        _:_ -> text([{Format, Arguments}])
    end;
text([#{label := Label, report := Report} | _]) -> raddle_report:plain(io_lib:format("~0tp: ~0tp", [Label, Report]));
text([{string, Text} | _]) -> text([Text]);
text([Report | _]) ->
    %% A text, with or without binaries in it, or any term.
    Text = try unicode:characters_to_binary(Report) catch error:badarg -> none end,
    raddle_report:plain(if is_binary(Text) -> Text; true -> io_lib:format("~0tp", [Report]) end).

%% Handles the end of a process with an uncaught exception. The VM reports it, unless it is an exit.
crashed({Class, _, _} = Detail) when Class =:= error; Class =:= throw ->
    fails_on(error) andalso raddle_turn:fail(raddle_turn:me(), ["a process crashed: ", raddle_report:reason(Detail)], ?AT_START);
crashed(_) -> ok.

%% Returns a text if a supervisor gave up in this run, to append to another one.
gave_up(Table) ->
    case raddle_table:find(Table, gave_up, none) of
        none -> "";
        Text -> ["; before, ", Text]
    end.
